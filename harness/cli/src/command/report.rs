//! `cqldyno report`: earlier runs rendered again.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_reports::{Analysis, Recorded, plain};

use crate::format::{Shown, explained, print};
use crate::outcome::{Outcome, usage};
use crate::recorded::{LATEST, path_of, read};
use crate::terminal;

const EXAMPLES: &str = "\
Examples:
  cqldyno report                               the newest run in cqldyno-runs
  cqldyno report latest --wide                 with all columns
  cqldyno report RUN --format markdown
  cqldyno report RUN --reference cdrs-tokio    against another reference
  cqldyno report MONDAY TUESDAY FRIDAY         runs of one plan, combined
  cqldyno report LAPTOP SERVER --format html > both.html

Runs of one plan (the same contenders and builds, scenarios, arrangements, count
and settings; machines may differ) have a combined table: its intervals hold what
changes between runs, and `held` says in how many runs the verdict was the same.
--wide shows each run below it. Other runs stand side by side, without ratios.
Exit codes: 0 done, 1 a run cannot be read, 2 wrong usage.";

/// Show earlier runs again; runs of one plan combined
#[derive(clap::Args)]
#[command(after_help = "Example: cqldyno report latest --wide\nAll options: cqldyno report --help")]
#[command(after_long_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// Run folders, files from `--format json`, or `latest`
    #[arg(value_name = "RUN", default_value = LATEST)]
    run: Vec<PathBuf>,
    /// Take ratios against this contender [default: the run's own reference]
    #[arg(long, value_name = "CONTENDER")]
    #[arg(value_parser = crate::known::Known(crate::names::drivers::names), hide_possible_values = true)]
    reference: Option<String>,
    #[command(flatten)]
    shown: Shown,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let paths = arguments.run.iter().map(|given| path_of(given)).collect::<Result<Vec<PathBuf>>>()?;
    let runs = paths.iter().map(|path| read(path)).collect::<Result<Vec<Recorded>>>()?;
    match runs.as_slice() {
        [one] => {
            let reference = arguments.reference.as_ref().map(|asked| known(one, asked)).transpose()?;
            one.notes.iter().for_each(|note| terminal::say(note));
            let analysis = Analysis::against(&one.run, &one.cells, reference.as_deref());
            print(arguments.shown.format, &analysis, terminal::look(&arguments.shown.detail), &paths[0])?;
        }
        several => terminal::print(&beside(arguments, &paths, several)?)?,
    }
    Ok(Outcome::Done)
}

/// The id of the contender with this id or label.
pub fn known(recorded: &Recorded, asked: &str) -> Result<String> {
    let run = &recorded.run;
    let found = run.contenders.iter().find(|one| (one.id == asked || one.label == asked) && !one.control);
    found.map(|one| one.id.clone()).ok_or_else(|| {
        let ids: Vec<String> = run.contenders.iter().filter(|one| !one.control).map(|one| plain(&one.id)).collect();
        usage(format!("the reference {asked:?} is none of the run's contenders: {}", ids.join(", ")))
    })
}

fn beside(arguments: &Arguments, paths: &[PathBuf], runs: &[Recorded]) -> Result<String> {
    if arguments.reference.is_some() {
        return Err(usage(
            "a reference was named for several runs, which keep their own; name one run, or leave --reference out",
        ));
    }
    let names = paths.iter().map(|path| path.display().to_string());
    let named: Vec<(String, &Recorded)> = names.zip(runs).collect();
    // Only CSV has no place for the notes.
    for (name, one) in named.iter().filter(|_| arguments.shown.format.name() == "csv") {
        one.notes.iter().for_each(|note| terminal::say(&format!("{name}: {note}")));
    }
    let text = arguments.shown.format.several(&named, terminal::look(&arguments.shown.detail)).ok_or_else(|| {
        let name = arguments.shown.format.name();
        usage(format!(
            "several runs were asked for as `{name}`, which shows one; use another format, or show one run at a time"
        ))
    })?;
    Ok(text?)
}
