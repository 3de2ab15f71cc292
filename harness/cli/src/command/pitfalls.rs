//! `cqldyno pitfalls`: how far naive figures of a driver are from a sound one.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::ArgAction;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cqldyno_bench::{Arrangement, Programs, run as carry_out};

use crate::count::{blocks, count};
use crate::heading::{OUTPUT, SIZE};
use crate::known::Known;
use crate::outcome::Outcome;
use crate::pitfalls;
use crate::plan::contender;
use crate::progress::Progress;
use crate::terminal;
use crate::trial::conduct;

/// Statements per cell: more than the stream ids of a connection, so that without a limit they do not all fit.
const COUNT: &str = "100k";

const EXAMPLES: &str = "\
Examples:
  cqldyno pitfalls scylla                 about a minute
  cqldyno pitfalls cdrs-tokio --blocks 1  faster, and noisier

Every row changes one thing of the sound measurement, which is the last row.
Exit codes: 0 done, 1 the driver is missing, 2 wrong usage, 130 Ctrl-C.";

/// Measure a driver wrongly in five ways, and show how far off each is
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A driver as NAME[@VERSION][+KEY=VALUE], such as scylla
    #[arg(value_name = "DRIVER", value_parser = Known(crate::names::drivers::names), hide_possible_values = true)]
    contender: String,
    /// Runtimes, such as multi:2,current: a table for each
    #[arg(long, value_name = "NAME,...", default_value = "multi:2", value_delimiter = ',', help_heading = SIZE)]
    #[arg(value_parser = str::parse::<Arrangement>)]
    arrangement: Vec<Arrangement>,
    /// Statements per cell; one at a time at most 20k
    #[arg(short = 'n', long, value_name = "N", value_parser = count, default_value = COUNT, help_heading = SIZE)]
    count: u64,
    /// Runs of every method; the table has their medians
    #[arg(long, value_name = "N", value_parser = blocks, default_value = "3", help_heading = SIZE)]
    blocks: u32,
    /// table or json
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT, hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(["table", "json"]).map(|format| format == "json"), action = ArgAction::Set)]
    format: bool,
    /// Folder of the run [default: cqldyno-runs/TIME]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let contender = contender(&arguments.contender, &programs)?;
    let mut plan = pitfalls::plan(contender, arguments.arrangement.clone(), arguments.count, arguments.blocks)?;
    plan.out = arguments.out.clone();
    let mut finished = conduct(arguments.quiet, |progress, cancel| carry_out(&plan, &programs, progress, cancel))?;
    let Arguments { contender, count, blocks, .. } = arguments;
    let arrangements: Vec<String> = arguments.arrangement.iter().map(ToString::to_string).collect();
    finished.run.command = Some(format!(
        "cqldyno pitfalls {contender} --arrangement {} --count {count} --blocks {blocks}",
        arrangements.join(",")
    ));
    let measured = |name: String| Ok((name.clone(), pitfalls::measured(&finished.run, &finished.cells, &name)?));
    let measured = arrangements.into_iter().map(measured).collect::<Result<Vec<_>>>()?;
    Progress::new(arguments.quiet, false).say(&format!("The run is kept in {}.", finished.folder.display()));
    match arguments.format {
        true => terminal::print(&format!("{:#}\n", pitfalls::json(&finished.run, &finished.cells, &measured)))?,
        false => terminal::print_parts(&pitfalls::parts(&finished.run, &measured))?,
    }
    if let Some(trouble) = finished.trouble {
        anyhow::bail!("{trouble}");
    }
    Ok(match &finished.run {
        run if run.interrupted => Outcome::Interrupted,
        run if run.contenders.iter().any(|one| one.unavailable.is_some()) => Outcome::Failed,
        _ => Outcome::Done,
    })
}
