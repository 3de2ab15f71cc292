//! `cqldyno prices`: what each setting of a driver costs.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::builder::PossibleValuesParser;
use cqldyno_bench::builder::Builder;
use cqldyno_bench::{Arrangement, Cancel, Contender, KNOWN, Plan, Programs, drivers};
use cqldyno_driver_api::Settings;
use cqldyno_reports::{Analysis, Notes, Part, Recorded, markdown, plain, sentence};
use serde_json::json;

use crate::count::{blocks, count, patience};
use crate::heading::{OUTPUT, SIZE, WHAT};
use crate::known::Known;
use crate::names::scenarios;
use crate::outcome::{Outcome, usage};
use crate::pr::plan::PASSES;
use crate::prices::{Prices, absent, settings};
use crate::recorded::read;
use crate::terminal;
use crate::trial::{carried_out, supervised, with_workers};

const EXAMPLES: &str = "\
Examples:
  cqldyno prices scylla
  cqldyno prices cdrs-tokio --scenario reads --arrangement current
  cqldyno prices scylla --only tls=on --only timeout=30s
  cqldyno prices scylla --scenario rows --only page-size=10 --blocks 16 --count 10k

The first row is the driver as it is compared. Every other row is what one changed
setting costs (+) or saves (-). All take turns in up to 240 generations, so that CPU
time has a narrow 95 % interval; with little time or many settings there is none.
Exit codes: 0 done, 1 nothing could be measured, 2 wrong usage, 130 Ctrl-C.";

/// Statements of a turn: a round of so many settings takes a few seconds.
const TURN_COUNT: u64 = 30_000;

/// Show what each setting of a driver costs or saves
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A driver as NAME[@VERSION][+KEY=VALUE], such as scylla
    #[arg(value_parser = Known(crate::names::drivers::names), hide_possible_values = true)]
    driver: String,
    /// Name or TOML file; several times for several [default: writes, reads]
    #[arg(long, value_name = "NAME|FILE", help_heading = WHAT)]
    #[arg(value_parser = Known(scenarios::names), hide_possible_values = true)]
    scenario: Vec<String>,
    /// Runtime: current or multi:N
    #[arg(long, value_name = "NAME", default_value = "multi:2", help_heading = WHAT)]
    #[arg(value_parser = str::parse::<Arrangement>)]
    arrangement: Arrangement,
    /// Only these settings, as KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", help_heading = WHAT)]
    only: Vec<String>,
    /// Statements per generation of --blocks
    #[arg(short = 'n', long, value_name = "N", value_parser = count, default_value = "100k", help_heading = SIZE)]
    count: u64,
    /// Statements in flight
    #[arg(short, long, value_name = "N", value_parser = count, default_value = "1024", help_heading = SIZE)]
    concurrency: u64,
    /// Time for turns and for counting
    #[arg(long, value_name = "TIME", value_parser = patience, default_value = "15min", help_heading = SIZE)]
    within: Duration,
    /// Generations of one turn, instead of as many as fit
    #[arg(long, value_name = "N", value_parser = blocks, conflicts_with = "within", help_heading = SIZE)]
    blocks: Option<u32>,
    /// table, markdown or json
    #[arg(long, value_name = "FORMAT", default_value = "table", help_heading = OUTPUT, hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(["table", "markdown", "json"]))]
    format: String,
    /// Show the run in this folder again instead of measuring
    #[arg(long, value_name = "DIR", conflicts_with = "out", help_heading = OUTPUT)]
    from: Option<PathBuf>,
    /// Folder of the run [default: cqldyno-runs/TIME]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let base: Contender = arguments.driver.parse().map_err(usage)?;
    let is_missing = KNOWN.contains(&base.name()) && programs.worker(base.name()).is_err();
    let programs = if is_missing {
        let built = supervised(arguments.quiet, "Ending: nothing was measured.", |progress, cancel| {
            let (programs, failed) = with_workers(&programs, [base.name()], progress, cancel);
            match failed.first() {
                Some(why) if arguments.from.is_none() => Err(anyhow!("nothing was measured: {why}")),
                _ => Ok((!cancel.is_cancelled()).then_some(programs)),
            }
        })?;
        let Some(programs) = built else { return Ok(Outcome::Interrupted) };
        programs
    } else {
        programs
    };
    let known = drivers(&programs, &Cancel::new()).into_iter().find(|one| one.name == base.name());
    let known =
        known.ok_or_else(|| usage(format!("there is no driver {:?}; `cqldyno drivers` lists them", base.name())))?;
    let is_ours = Builder::find().is_ok_and(|builder| builder.families(base.name()).is_ok());
    let (driver, base_name) = (known.hello.map(|hello| hello.driver), base.name().to_owned());
    let is_wanted =
        |(row, _): &(&str, &str)| arguments.only.is_empty() || arguments.only.iter().any(|only| only == row);
    let absent: Vec<(&str, &str)> = driver
        .as_ref()
        .map_or_else(|_| Vec::new(), |driver| absent(driver, is_ours).into_iter().filter(is_wanted).collect());
    let recorded = match (&arguments.from, &driver) {
        (Some(folder), _) => read(folder)?,
        (None, Ok(driver)) => measured(arguments, &programs, base, &settings(driver, is_ours), &absent)?,
        (None, Err(why)) => return Err(anyhow!("the driver {base_name} is not available: {why}")),
    };
    let analysis = Analysis::new(&recorded.run, &recorded.cells);
    let prices = Prices::of(&analysis, driver.as_ref().ok(), &absent);
    if prices.is_empty() {
        return Err(anyhow!(
            "the run lacks the driver without changes, which prices are taken against; `cqldyno drivers` says why one is missing"
        ));
    }
    let unknown = driver.as_ref().err().map(|why| {
        sentence(&format!(
            "what {base_name}'s settings change, and which of them cannot be measured, is not known: {why}"
        ))
    });
    let warnings: Vec<String> = warnings(&analysis).into_iter().chain(unknown).collect();
    let explains = arguments.format == "markdown";
    let mut notes = Notes::default();
    let sheets: Vec<Part> = prices.iter().map(|one| Part::Sheet(one.sheet(explains, &mut notes))).collect();
    let label = analysis.reference.map_or("", |one| one.label.as_str());
    let title = format!("{label}: what one changed setting costs (+) or saves (-)");
    let parts = std::iter::once(Part::Title(title))
        .chain(warnings.iter().map(|warning| Part::Warning(plain(warning))))
        .chain(sheets)
        .chain(notes.part())
        .chain([Part::Text(measured_on(&recorded))]);
    match arguments.format.as_str() {
        "json" => {
            let places: Vec<_> = prices.iter().map(Prices::json).collect();
            let value = json!({ "driver": arguments.driver, "warnings": warnings, "places": places });
            terminal::print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        }
        "markdown" => terminal::print(&markdown(&parts.collect::<Vec<_>>()))?,
        _ => {
            let more = Part::Text(format!("`cqldyno drivers {base_name}` explains each setting."));
            terminal::print_parts(&parts.chain([more]).collect::<Vec<_>>())?;
        }
    }
    Ok(if recorded.run.interrupted { Outcome::Interrupted } else { Outcome::Done })
}

/// What is doubtful about the figures, and why there is no interval if there is none.
fn warnings(analysis: &Analysis) -> Vec<String> {
    let none = || analysis.rows.iter().find_map(|row| row.no_interval.clone());
    let has_interval = analysis.rows.iter().any(|row| row.interval.is_some());
    analysis.warnings.iter().cloned().chain(if has_interval { None } else { none() }).collect()
}

/// What it takes to repeat it.
fn measured_on(recorded: &Recorded) -> String {
    let run = &recorded.run;
    format!(
        "{}, {}, on the embedded cluster; measured on {} on {} cores, {}.",
        run.size(),
        run.in_flight(),
        run.started.strftime("%Y-%m-%d"),
        run.environment.cores,
        plain(&run.environment.cpu),
    )
}

/// Runs the driver as it is and with each of `all` settings, or with those that were asked for and are not `absent`.
fn measured(
    arguments: &Arguments,
    programs: &Programs,
    base: Contender,
    all: &[String],
    absent: &[(&str, &str)],
) -> Result<Recorded> {
    let given = base.to_string();
    let is_other = |setting: &&String| {
        let key = setting.split('=').next().unwrap_or_default();
        !given.split('+').skip(1).any(|own| own.split('=').next() == Some(key))
    };
    let wanted: Vec<&String> = match arguments.only.as_slice() {
        [] => all.iter().filter(is_other).collect(),
        only => only.iter().filter(|setting| absent.iter().all(|(row, _)| row != setting)).collect(),
    };
    let with = |setting: &String| format!("{given}+{setting}").parse::<Contender>().map_err(usage);
    let mut others = wanted.into_iter().map(with).collect::<Result<Vec<_>>>()?;
    if arguments.only.is_empty() {
        others.retain(|other| other.check(Settings::Equal).is_ok());
    }
    let scenarios = scenarios::named(&arguments.scenario)?;
    let mut plan = Plan::new(std::iter::once(base).chain(others).collect(), scenarios);
    (plan.arrangements, plan.concurrency) = (vec![arguments.arrangement], arguments.concurrency);
    (plan.passes, plan.control) = (PASSES.to_vec(), true);
    (plan.reference, plan.out) = (Some(given), arguments.out.clone());
    let plan = match arguments.blocks {
        Some(blocks) => plan.with_blocks(blocks, arguments.count),
        None => plan.with(|plan| plan.limit(Some(arguments.within))).with_turns(Some(TURN_COUNT)),
    };
    carried_out(&plan, programs, arguments.quiet, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_list_says_what_its_run_cannot_tell_and_how_much_ran() {
        let (run, cells) = sample::run();
        let said = warnings(&Analysis::new(&run, &cells));
        assert!(said.iter().any(|one| one.contains("An interval needs at least 8 generations")), "{said:?}");
        let (run, mut cells) = sample::blocks(12);
        assert_eq!(warnings(&Analysis::new(&run, &cells)), [""; 0]);
        for cell in cells.iter_mut().filter(|cell| cell.contender.ends_with("#control")) {
            let cpu = cell.measures.get_mut("cpu_per_statement").unwrap();
            *cpu = cqldyno_reports::Measure::value(cpu.get().unwrap() * 2.0, cqldyno_reports::Unit::Microseconds);
        }
        let said = warnings(&Analysis::new(&run, &cells));
        assert!(said[0].contains("control"), "{said:?}");
        let recorded = Recorded { run, cells, notes: Vec::new() };
        assert!(measured_on(&recorded).starts_with(&recorded.run.size()), "{}", measured_on(&recorded));
    }
}
