//! `cqldyno history`: runs of many dates, one line per contender.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cqldyno_reports::{By, History, LeftOut};

use crate::format::{Format, formats};
use crate::heading::OUTPUT;
use crate::outcome::{Outcome, usage};
use crate::recorded::{read, runs_in};
use crate::terminal::{self, Detail};

const EXAMPLES: &str = "\
Examples:
  cqldyno history cqldyno-runs                         each contender, by date
  cqldyno history reports/published --format html > history.html
  cqldyno history cqldyno-runs --by version --format csv

Runs with different machines, kernels, targets, settings or counts stay apart.
A run that cannot be used is named and left out.
Exit codes: 0 all runs are shown, 1 some or all could not be used, 2 wrong usage.";

/// Show each contender over many runs, by date or by version
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A folder with run folders, up to eight levels deep
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Order of the points: date of the run, or version of the driver
    #[arg(long, value_name = "date|version", default_value = "date", hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(["date", "version"]).map(order))]
    by: By,
    /// table, markdown, csv, json or html
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table", help_heading = OUTPUT)]
    #[arg(hide_possible_values = true)]
    format: Format,
}

/// Only the two words come through the parser.
fn order(word: String) -> By {
    if word == "version" { By::Version } else { By::Date }
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let name = arguments.format.name();
    if ["time", "bencher", "svg"].contains(&name) {
        return Err(usage(format!(
            "a history was asked for as `{name}`, which shows one run; use table, markdown, csv, json or html"
        )));
    }
    let folder = &arguments.folder;
    if !folder.is_dir() {
        return Err(usage(format!(
            "there is no folder {}; name one with run folders, such as cqldyno-runs",
            folder.display()
        )));
    }
    let (found, unreadable) = runs_in(folder);
    if found.is_empty() && unreadable.is_empty() {
        return Err(usage(format!(
            "no folder in {} holds a run (a run.json); name one with run folders, such as cqldyno-runs",
            folder.display()
        )));
    }
    let name = |path: &Path| match path.strip_prefix(folder) {
        Ok(below) if below != Path::new("") => below.display().to_string(),
        _ => path.display().to_string(),
    };
    let mut runs = Vec::new();
    let mut left_out: Vec<LeftOut> =
        unreadable.into_iter().map(|(path, why)| LeftOut { run: name(&path), why }).collect();
    for path in found {
        match read(&path) {
            Ok(recorded) => runs.push((name(&path), recorded)),
            Err(error) => left_out.push(LeftOut { run: name(&path), why: format!("{error:#}") }),
        }
    }
    left_out.iter().for_each(|one| terminal::say(&format!("Left out: {}", one.why)));
    if runs.is_empty() {
        bail!("none of the runs in {} can be used; the reasons are above", folder.display());
    }
    let outcome = if left_out.is_empty() { Outcome::Done } else { Outcome::Failed };
    let history = History::new(arguments.by, &runs, left_out);
    let shown = arguments.format.history(&history, terminal::look(&Detail::default()));
    let text = shown.context("this format shows no history")??;
    terminal::print(&text)?;
    Ok(outcome)
}
