//! `cqldyno run`: everything about one contender.

use std::io::Write;

use anyhow::{Context, Result};
use cqldyno_bench::{Finished, Programs};
use cqldyno_reports::pointers;

use crate::command::compare::{Start, measure, outcome, show};
use crate::format::{Format, explained, formats, names, render};
use crate::outcome::Outcome;
use crate::plan::{Asked, Kind};
use crate::terminal;

/// How often a contender is run where nothing was said.
const BLOCKS: u32 = 3;

const EXAMPLES: &str = "\
Examples:
  cqldyno run scylla --scenario writes               one driver, one scenario
  cqldyno run cassandra-cpp --count 10M --blocks 3   longer, and three times
  cqldyno run scylla --concurrency 1 --count 50k     one statement at a time

Exit codes: 0 done, 1 the contender failed, is void or is missing, 2 wrong usage,
130 ended by Ctrl-C; what is finished is shown and kept.";

/// Runs one contender and tells everything about it: settings, versions, every measure, latency, the series by second.
#[derive(clap::Args)]
#[command(after_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// Who is run: NAME[@VERSION][+KEY=VALUE], for example scylla
    contender: String,
    #[command(flatten)]
    asked: Asked,
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table", hide_possible_values = true)]
    #[arg(help = format!("How the result is printed on standard output: {}", names()))]
    format: Format,
}

pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let kind = Kind { blocks: BLOCKS, compares: false, within: None };
    let plan = arguments.asked.plan(std::slice::from_ref(&arguments.contender), None, &programs, kind)?;
    let finished = measure(&Start::Anew(&plan), &programs, arguments.asked.quiet)?;
    show(&finished, arguments.asked.quiet, out, |Finished { run, cells, .. }| {
        let look = terminal::look();
        let text = render(arguments.format, run, cells, None, look)?;
        Ok(if arguments.format.name() == "table" { text + &pointers(look, None) } else { text })
    })?;
    Ok(outcome(&finished, true))
}
