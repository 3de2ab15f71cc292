//! `cqldyno run`: one contender by itself.

use anyhow::{Context, Result};
use cqldyno_bench::{Programs, run as carry_out};

use crate::format::{Format, explained, formats, names};
use crate::heading::OUTPUT;
use crate::known::Known;
use crate::outcome::Outcome;
use crate::plan::{Asked, Conditions};
use crate::terminal::{self, Detail};
use crate::trial::{conduct, show};

const EXAMPLES: &str = "\
Examples:
  cqldyno run scylla --scenario writes               one driver, one scenario
  cqldyno run cassandra-cpp -n 10M --blocks 3        longer, and three times
  cqldyno run scylla -c 1 -n 50k                     one statement at a time

Exit codes: 0 done, 1 the contender failed, is void or is missing, 2 wrong usage,
130 Ctrl-C; finished cells are shown and kept.";

/// Run one driver by itself; --wide shows every figure of every cell
#[derive(clap::Args)]
#[command(after_help = "All options: cqldyno run --help", after_long_help = format!("{EXAMPLES}\n\n{}", explained()))]
pub struct Arguments {
    /// A driver as NAME[@VERSION][+KEY=VALUE], such as scylla
    #[arg(value_parser = Known(crate::names::drivers::names), hide_possible_values = true)]
    contender: String,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    detail: Detail,
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table", help_heading = OUTPUT)]
    #[arg(help = names(), hide_possible_values = true)]
    format: Format,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let Arguments { contender, asked, conditions, detail, format } = arguments;
    let programs = Programs::find().context("the program does not know where it lies")?;
    let mut plan = asked.plan(std::slice::from_ref(contender), None, conditions, &programs, false)?;
    plan.named = true;
    let finished = conduct(conditions.quiet, |progress, cancel| {
        asked.remark().into_iter().for_each(|remark| progress.say(remark));
        carry_out(&plan, &programs, progress, cancel)
    })?;
    show(&finished, *format, terminal::look(detail), conditions.quiet, true)
}
