//! `cqldyno regress`: a reported regression, repeated.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_bench::{DEFAULT_PARENT, Programs};
use cqldyno_reports::{Analysis, Part, list};
use cqldyno_scenarios::{Expected, Regression, Trial, regressions, suggestion};

use crate::heading::OUTPUT;
use crate::known::Known;
use crate::outcome::{Outcome, text_of, usage};
use crate::recorded::read;
use crate::regress::judgement::{Judgement, judge, outcome};
use crate::regress::page::{self, JudgedTrial};
use crate::regress::plan::{is_exact, plan};
use crate::regress::text;
use crate::repetition::quoted;
use crate::terminal;
use crate::trial::{carried_out, stamp};

const EXAMPLES: &str = "\
Examples:
  cqldyno regress                              list them
  cqldyno regress unbuffered-io                repeat one
  cqldyno regress unbuffered-io --exact        judge counts only, in less time
  cqldyno regress mine.toml                    one of your own

Exit codes: 0 reproduced, 1 not reproduced, 2 wrong usage, 3 cannot be measured
here, 130 Ctrl-C.";

/// List reported regressions, or repeat one and say whether it shows here
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A regression, or the path of a TOML file
    #[arg(value_name = "NAME|FILE", value_parser = Known(names), hide_possible_values = true)]
    regression: Option<String>,
    /// Judge counts only: system calls, allocations, instructions, polls
    ///
    /// Noise does not change counts, so one generation is enough. Times are not judged.
    #[arg(long, requires = "regression")]
    exact: bool,
    /// Only the run with this name, if the regression has several
    #[arg(long, value_name = "RUN", requires = "regression")]
    run: Option<String>,
    /// Judge the runs in this folder again instead of measuring
    #[arg(long, value_name = "DIR", requires = "regression", conflicts_with = "out")]
    from: Option<PathBuf>,
    /// Write the result into this Markdown page, and its charts beside it
    #[arg(long, value_name = "FILE", requires = "regression", help_heading = OUTPUT)]
    page: Option<PathBuf>,
    /// Folder of the runs [default: cqldyno-runs/NAME-TIME]
    #[arg(long, value_name = "DIR", requires = "regression", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

fn names() -> Vec<String> {
    regressions().into_iter().map(|one| one.name).collect()
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let Some(asked) = &arguments.regression else {
        terminal::print(&text::listed(&regressions()))?;
        return Ok(Outcome::Done);
    };
    let regression = find(asked)?;
    let called = if regressions().contains(&regression) { &regression.name } else { asked };
    terminal::print_parts(&text::head(&regression))?;
    let is_named = |trial: &&Trial| arguments.run.as_ref().is_none_or(|name| trial.name == *name);
    let named: Vec<&Trial> = regression.runs.iter().filter(is_named).collect();
    if let Some(name) = arguments.run.as_ref().filter(|_| named.is_empty()) {
        let names: Vec<String> = regression.runs.iter().map(|trial| trial.name.clone()).collect();
        return Err(usage(format!("{} has no run {name:?}; it has {}", regression.name, list(&names))));
    }
    let own = || Path::new(DEFAULT_PARENT).join(format!("{}-{}", regression.name, stamp()));
    let folder = arguments.from.clone().or_else(|| arguments.out.clone()).unwrap_or_else(own);
    let programs = Programs::find().context("the program does not know where it lies")?;
    // What is wrong in any of them is said before the first one takes its time.
    for trial in &named {
        plan(trial, arguments.exact, folder.clone(), &programs)?;
    }
    let mut all: Vec<JudgedTrial> = Vec::new();
    let counts = |trial: &&Trial| trial.expectations.iter().any(|expected| is_exact(&expected.meter));
    for trial in named.into_iter().filter(|trial| !arguments.exact || counts(trial)) {
        // The regression's own folder if it has only one run.
        let folder = if regression.runs.len() == 1 { folder.clone() } else { folder.join(&trial.name) };
        let recorded = match &arguments.from {
            Some(_) => read(&folder)?,
            None => {
                let plan = plan(trial, arguments.exact, folder.clone(), &programs)?;
                let command = command(called, Some(&trial.name), arguments.exact);
                carried_out(&plan, &programs, arguments.quiet, Some(command))?
            }
        };
        let interrupted = recorded.run.interrupted;
        let analysis = Analysis::new(&recorded.run, &recorded.cells);
        let judgements = judged(trial, &analysis, arguments.exact);
        terminal::print(&format!("\n{}", terminal::set(&text::run(trial, &judgements))))?;
        if interrupted {
            return Ok(Outcome::Interrupted);
        }
        all.push(JudgedTrial { trial, recorded, folder, judgements });
    }
    let verdict = Part::Text(text::verdict(&regression.name, page::judgements(&all)));
    terminal::print(&format!("\n{}", terminal::set(&[verdict])))?;
    if let Some(page) = &arguments.page {
        page::write(page, &regression, &all, &command(called, arguments.run.as_deref(), arguments.exact))?;
    }
    Ok(outcome(page::judgements(&all)))
}

/// The regression of that name, or the one in the TOML file of that path.
fn find(asked: &str) -> Result<Regression> {
    let all = regressions();
    if let Some(known) = all.iter().find(|one| one.name == asked) {
        return Ok(known.clone());
    }
    if !(asked.contains('/') || asked.ends_with(".toml")) {
        let meant = suggestion(asked, all.iter().map(|one| one.name.as_str()));
        return Err(usage(format!(
            "there is no regression {asked:?}; `cqldyno regress` lists them, and a path names your own.{meant}"
        )));
    }
    let text = text_of("regression", Path::new(asked), "give the path of a TOML file")?;
    Regression::from_toml(&text, asked).map_err(usage)
}

fn judged<'a>(trial: &'a Trial, analysis: &Analysis, exact: bool) -> Vec<(&'a Expected, Judgement)> {
    let wanted = trial.expectations.iter().filter(|expected| !exact || is_exact(&expected.meter));
    wanted.map(|expected| (expected, judge(expected, analysis))).collect()
}

/// The command that repeats the regression of that name or file, or one run of it.
fn command(called: &str, run: Option<&str>, exact: bool) -> String {
    let run = run.map(|name| format!(" --run {name}")).unwrap_or_default();
    format!("cqldyno regress {}{run}{}", quoted(called), if exact { " --exact" } else { "" })
}
