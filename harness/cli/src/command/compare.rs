//! `cqldyno compare`: contenders side by side.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use cqldyno_bench::{BenchError, Cancel, Finished, Plan, Programs, run as carry_out};
use cqldyno_reports::{Cell, Contender, Look, Role};

use crate::format::Format;
use crate::interrupt::on_interrupt;
use crate::outcome::{Outcome, usage};
use crate::plan::Asked;
use crate::progress::Progress;
use crate::terminal;

/// Who is compared where nobody was named.
const CONTENDERS: [&str; 5] = ["scylla", "cdrs-tokio", "cassandra-cpp", "floor", "noop"];

const EXAMPLES: &str = "\
Examples:
  cqldyno compare                         all drivers and scenarios, a minute
  cqldyno compare --count 10M             10 million statements each, once
  cqldyno compare scylla cdrs-tokio --scenario reads
  cqldyno compare --arrangement multi:2,current      a table for each of both
  cqldyno compare --target 10.0.0.1,10.0.0.2 --user ada --password-file ~/.ada
  cqldyno compare --format json > result.json        run, cells and summary

A contender is NAME[@VERSION][+KEY=VALUE], for example scylla@1.9.0 or
cassandra-cpp+lib=/opt/lib/libcassandra.so.2.";

/// Runs every contender on every scenario and shows them side by side.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Who is compared [default: scylla cdrs-tokio cassandra-cpp floor noop]
    contender: Vec<String>,
    #[command(flatten)]
    asked: Asked,
    /// The contender that ratios are taken against [default: the first driver]
    #[arg(long, value_name = "CONTENDER")]
    reference: Option<String>,
    /// How the result is printed on standard output: table, markdown, csv or json
    #[arg(long, value_name = "FORMAT", default_value = "table", hide_possible_values = true)]
    format: Format,
}

pub fn run(arguments: &Arguments, out: &mut impl Write) -> Result<Outcome> {
    arguments.format.check()?;
    let programs = Programs::find().context("the program does not know where it lies")?;
    let contenders = match arguments.contender.as_slice() {
        [] => CONTENDERS.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let plan = arguments.asked.plan(&contenders, arguments.reference.clone(), &programs)?;
    let finished = measure(&plan, &programs, arguments.asked.quiet, out, |finished| {
        arguments.format.render(&finished.run, &finished.cells, terminal::look())
    })?;
    Ok(outcome(&finished, !arguments.contender.is_empty()))
}

/// Carries out `plan` with its progress on standard error, writes to `out` what `render` makes of the result, and keeps it
/// in every format beside the results.
///
/// # Errors
/// When the plan cannot be carried out, or its result not be kept or written: a folder that is full does not cost the
/// result on `out`, nor the other way round.
pub fn measure(
    plan: &Plan,
    programs: &Programs,
    quiet: bool,
    out: &mut impl Write,
    render: impl FnOnce(&Finished) -> Result<String>,
) -> Result<Finished> {
    let cancel = Cancel::new();
    on_interrupt(&cancel)?;
    let mut progress = Progress::new(quiet, terminal::draws_progress(), plan.warmup);
    let finished = carry_out(plan, programs, &mut progress, &cancel).map_err(|error| match error {
        BenchError::Plan(error) => usage(error),
        error => anyhow::Error::new(error),
    });
    progress.end();
    let finished = finished?;
    let text = render(&finished)?;
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    keep(&finished)?;
    progress.kept(&finished.folder);
    written?;
    Ok(finished)
}

/// Writes the result into the run's folder, in every format.
fn keep(finished: &Finished) -> Result<()> {
    let files = [
        ("table.txt", Format::Table),
        ("table.md", Format::Markdown),
        ("cells.csv", Format::Csv),
        ("result.json", Format::Json),
    ];
    for (name, format) in files {
        let path = finished.folder.join(name);
        let text = format.render(&finished.run, &finished.cells, Look::default())?;
        std::fs::write(&path, text)
            .with_context(|| format!("the result cannot be kept in {}", Path::display(&path)))?;
    }
    Ok(())
}

/// Whether everybody did what was asked. A driver that cannot be asked is no failure unless it was `named`: the table says
/// why.
pub fn outcome(finished: &Finished, named: bool) -> Outcome {
    let could_be_asked = |one: &Contender| one.unavailable.is_none() || (!named && one.role == Role::Driver);
    if finished.run.interrupted {
        Outcome::Interrupted
    } else if finished.cells.iter().all(Cell::counts) && finished.run.contenders.iter().all(could_be_asked) {
        Outcome::Done
    } else {
        Outcome::Failed
    }
}
