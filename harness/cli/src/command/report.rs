//! `cqldyno report`: earlier runs rendered again.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_reports::{Recorded, csv_of_runs, html_of_runs, json_of_runs, markdown_of_runs, plain, table_of_runs};

use crate::arguments::heading::OUTPUT;
use crate::format::{Format, NAMES, explained};
use crate::outcome::{Outcome, usage};
use crate::recorded::read;
use crate::terminal::{self, Detail};

const EXAMPLES: &str = "\
Examples:
  cqldyno report latest                        the newest run in cqldyno-runs
  cqldyno report latest --wide                 with all columns
  cqldyno report RUN --format markdown
  cqldyno report RUN --reference cdrs-tokio    against another reference
  cqldyno report LAPTOP SERVER                 two runs side by side
  cqldyno report LAPTOP SERVER --format html > both.html

Several runs show medians side by side: ratios hold within one run only.
Exit codes: 0 done, 1 a run cannot be read, 2 wrong usage.";

/// Show earlier runs again; several side by side
#[derive(clap::Args)]
#[command(after_help = "Example: cqldyno report latest --wide\nAll options: cqldyno report --help")]
#[command(after_long_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// Run folders, files from `--format json`, or `latest`
    #[arg(required = true, value_name = "RUN")]
    run: Vec<PathBuf>,
    /// Take ratios against this contender [default: the run's own reference]
    #[arg(long, value_name = "CONTENDER")]
    #[arg(value_parser = crate::known::Known(super::drivers::names), hide_possible_values = true)]
    reference: Option<String>,
    #[command(flatten)]
    detail: Detail,
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT)]
    #[arg(help = NAMES, hide_possible_values = true)]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let runs = arguments.run.iter().map(|path| read(path)).collect::<Result<Vec<Recorded>>>()?;
    let text = match runs.as_slice() {
        [one] => {
            let reference = arguments.reference.as_ref().map(|asked| known(one, asked)).transpose()?;
            one.notes.iter().for_each(|note| terminal::say(note));
            let look = terminal::look(&arguments.detail);
            arguments.format.render(&one.run, &one.cells, reference.as_deref(), look)?
        }
        several => beside(arguments, several)?,
    };
    terminal::print(&text)?;
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

fn beside(arguments: &Arguments, runs: &[Recorded]) -> Result<String> {
    if arguments.reference.is_some() {
        return Err(usage(
            "a reference was named for several runs, and no ratios are taken across runs; name one run, or leave --reference out",
        ));
    }
    let names = arguments.run.iter().map(|path| path.display().to_string());
    let named: Vec<(String, &Recorded)> = names.zip(runs).collect();
    match arguments.format {
        Format::Table => Ok(table_of_runs(&named, terminal::look(&arguments.detail))),
        Format::Markdown => Ok(markdown_of_runs(&named)),
        Format::Csv => {
            for (name, one) in &named {
                one.notes.iter().for_each(|note| terminal::say(&format!("{name}: {note}")));
            }
            Ok(csv_of_runs(&named))
        }
        Format::Json => Ok(json_of_runs(&named)?),
        Format::Html => Ok(html_of_runs(&named, env!("CARGO_PKG_VERSION"))),
        Format::Time => Err(usage(
            "several runs were asked for as `time`, which shows one; use table, markdown, csv, json or html, or show one run at a time",
        )),
    }
}
