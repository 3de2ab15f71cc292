//! `cqldyno durable`: one row per commit, on servers that sync it to the disk before they answer and on others that do not.

use std::fs::{File, create_dir_all};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use cqldyno_bench::{BenchError, DEFAULT_PARENT, Finished, Plan, Programs, Target};
use cqldyno_reports::{Analysis, CELLS, Part, sentence};
use cqldyno_scenarios::{Limits, builtin};

use crate::count::{Numbers, count, numbers};
use crate::durable::{ServerRun, disk, is_durable, tables, together};
use crate::format::{Shown, is_table, page};
use crate::heading::{OUTPUT, SIZE, WHAT};
use crate::known::Known;
use crate::names::drivers;
use crate::outcome::{Outcome, usage};
use crate::plan::contender;
use crate::terminal::{self, look};
use crate::trial::{carried_out, keep, outcome, show, stamp, supervised};

const TARGETS: [&str; 5] = [
    "cassandra,commitlog=batch",
    "cassandra,commitlog=group",
    "postgres",
    "postgres,synchronous_commit=off",
    "cassandra",
];
const SCENARIO: &str = "writes";
/// The worker that speaks PostgreSQL's protocol.
const POSTGRES: &str = "postgres";
/// An answer that waits for no disk is some twenty times as quick.
const QUICKER: u64 = 20;
/// The most statements of a number in flight.
const MOST: u64 = 60_000;
/// The share of them that is issued before, to warm up.
const WARM_UP: u64 = 4;

const EXAMPLES: &str = "\
Examples:
  cqldyno durable                          all five, about 7 minutes
  cqldyno durable postgres -c 1,16,256     one, in seconds
  cqldyno durable cassandra:4.1,commitlog=group 10.0.0.1
  cqldyno report DIR --format html         the chart again

Each INSERT is one commit. On PostgreSQL each statement in flight has a
connection of its own, because commits on a connection follow each other; a CQL
driver has one connection. Servers are not compared: no verdict across rows.

Exit codes: 0 done, 1 a server is missing, failed or is void, 2 wrong usage,
130 Ctrl-C.";

/// Measure inserts that wait for the disk
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Servers, each as `compare --target` takes it [default: all five]
    ///
    /// Cassandra needs Java 11 or 17; PostgreSQL must be installed. The five: cassandra,commitlog=batch, cassandra,commitlog=group, postgres, postgres,synchronous_commit=off, and cassandra.
    #[arg(value_name = "TARGET")]
    target: Vec<String>,
    /// Driver for targets that speak CQL
    #[arg(long, value_name = "DRIVER", default_value = "scylla", help_heading = WHAT)]
    #[arg(value_parser = Known(drivers::names), hide_possible_values = true)]
    driver: String,
    /// Statements in flight
    #[arg(short, long, value_name = "N,...", value_parser = numbers, default_value = "1,2,4,...,256", help_heading = SIZE)]
    concurrency: Numbers,
    /// Statements per slot
    ///
    /// 20 times as many if the answer does not wait for the disk. At most 60k for each number in flight.
    #[arg(short = 'n', long, value_name = "N", value_parser = count, default_value = "200", help_heading = SIZE)]
    count: u64,
    /// Folder of the runs and of the chart [default: cqldyno-runs/TIME-durable]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    #[command(flatten)]
    shown: Shown,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    let programs = Programs::find().context("the program does not know where it lies")?;
    let usual = || Path::new(DEFAULT_PARENT).join(format!("{}-durable", stamp()));
    let folder = arguments.out.clone().unwrap_or_else(usual);
    let plans = plans(arguments, &programs, &folder)?;
    if folder.join("run.json").exists() {
        return Err(usage(format!("{} holds a run already; name another folder with --out", folder.display())));
    }
    create_dir_all(&folder).with_context(|| format!("the folder {} cannot be made", folder.display()))?;
    let command = command(arguments);
    let (mut servers, mut disks) = (Vec::new(), Vec::new());
    for (name, plan) in plans {
        // The disk of another minute may be another one.
        let measured = supervised(arguments.quiet, "Ending: what is finished is kept.", |_, cancel| {
            Ok((disk(&folder, cancel)?, cancel.is_cancelled()))
        })?;
        let (measured, is_cancelled) = measured;
        if is_cancelled {
            break;
        }
        disks.push(measured);
        let found = match carried_out(&plan, &programs, arguments.quiet, None) {
            Err(error) => match error.downcast::<BenchError>()? {
                BenchError::Ended => return Ok(Outcome::Interrupted),
                // The others are there.
                error @ BenchError::Target(_) => {
                    terminal::say(&format!("{name} is missing: {error}"));
                    Err(sentence(&error.to_string()))
                }
                error => return Err(error.into()),
            },
            found => Ok(found?),
        };
        let is_over = found.as_ref().is_ok_and(|one| one.run.interrupted);
        servers.push(ServerRun { name, is_durable: is_durable(&plan.target), found });
        if is_over {
            break;
        }
    }
    let Some((mut run, cells)) = together(&servers, &disks) else {
        let why: Vec<&str> = servers.iter().filter_map(|one| one.found.as_ref().err()).map(String::as_str).collect();
        return Err(anyhow!("no server could be asked: {}", why.join(" ")));
    };
    run.command = Some(command);
    let lines: Vec<String> = cells.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    let kept =
        File::create(folder.join(CELLS)).and_then(|mut file| file.write_all((lines.join("\n") + "\n").as_bytes()));
    kept.with_context(|| format!("the result cannot be kept in {}", folder.display()))?;
    let finished = Finished { run, cells, folder, trouble: None, nothing_left: false };
    if !is_table(arguments.shown.format) {
        return show(&finished, arguments.shown.format, look(&arguments.shown.detail), arguments.quiet, true);
    }
    let analysis = Analysis::new(&finished.run, &finished.cells);
    keep(&finished, &analysis)?;
    let title = "Durable writes: one row per commit, by server and statements in flight";
    // Where a curve levels off says nothing of a disk, and is in the page.
    let is_odd = |found: &&String| !found.contains(" level off: ");
    let found = analysis.findings.iter().filter(is_odd).cloned().map(Part::Text);
    let last = Part::Text(format!("page with the chart: {}", page(&finished.folder).display()));
    let parts = std::iter::once(Part::Title(title.to_owned()))
        .chain(tables(&analysis, &servers, &disks))
        .chain(found)
        .chain([last]);
    terminal::print_parts(&parts.collect::<Vec<_>>())?;
    Ok(outcome(&analysis, true))
}

/// A plan for each target, by its name; all are read before anything runs.
fn plans(arguments: &Arguments, programs: &Programs, folder: &Path) -> Result<Vec<(String, Plan)>> {
    let usual = TARGETS.map(str::to_owned);
    let named = if arguments.target.is_empty() { &usual[..] } else { &arguments.target };
    let mut plans = Vec::new();
    for (at, name) in named.iter().enumerate() {
        if named[..at].contains(name) {
            return Err(usage(format!("the target {name} was named twice; name it once")));
        }
        let target = Target::parse(name).map_err(usage)?;
        let plan = plan(arguments, programs, target)?.with(|plan| {
            let kind: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
            plan.out = Some(folder.join(format!("{}-{kind}", at + 1)));
        });
        plan.check(&cqldyno_bench::Topology::read(&[0])).map_err(usage)?;
        plans.push((name.clone(), plan));
    }
    Ok(plans)
}

fn plan(arguments: &Arguments, programs: &Programs, target: Target) -> Result<Plan> {
    let driver = if matches!(target, Target::Postgres(_)) { POSTGRES } else { &arguments.driver };
    let scenario = builtin(SCENARIO).context("there is no scenario of inserts")?;
    let in_flight = &arguments.concurrency.0;
    let each = arguments.count.saturating_mul(if is_durable(&target) == Some(false) { QUICKER } else { 1 });
    let statements = |number: u64| number.saturating_mul(each).min(MOST);
    let most = in_flight.iter().copied().map(statements).max().unwrap_or(1);
    let mut plan = Plan::new(vec![contender(driver, programs)?], vec![scenario]);
    (plan.target, plan.named, plan.noise_share) = (target, true, None);
    (plan.concurrency, plan.warmup) = (in_flight.last().copied().unwrap_or(1), most.div_ceil(WARM_UP));
    plan.passes.clear();
    let mut plan = plan.with_blocks(1, most).with_sweep(in_flight, &[], &[], &[]).map_err(usage)?;
    for scenario in &mut plan.scenarios {
        let count = statements(scenario.point.map_or(1, |point| point.in_flight));
        scenario.limits = Limits { count: Some(count), warmup: Some(count.div_ceil(WARM_UP)), ..scenario.limits };
    }
    Ok(plan)
}

fn command(arguments: &Arguments) -> String {
    let Arguments { target, driver, concurrency, count, .. } = arguments;
    let targets = if target.is_empty() { TARGETS.join(" ") } else { target.join(" ") };
    format!("cqldyno durable {targets} --driver {driver} --concurrency {concurrency} --count {count}")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{self, Command};

    fn read(words: &[&str]) -> Arguments {
        let line = ["cqldyno", "durable"].iter().chain(words);
        match arguments::Arguments::try_parse_from(line).unwrap().command {
            Command::Durable(arguments) => arguments,
            _ => unreachable!(),
        }
    }

    fn planned(words: &[&str]) -> Result<Vec<(String, Plan)>> {
        let folder = tempfile::tempdir().unwrap();
        let worker = |name: &str| std::fs::write(folder.path().join(format!("cqldyno-driver-{name}")), "").unwrap();
        [POSTGRES, "scylla"].into_iter().for_each(worker);
        let programs = Programs { cqldyno: folder.path().join("cqldyno"), worker_folders: vec![folder.path().into()] };
        plans(&read(words), &programs, Path::new("runs"))
    }

    #[test]
    fn five_servers_are_asked_at_nine_numbers_in_flight_and_those_without_a_disk_for_longer() {
        let plans = planned(&[]).unwrap();
        let named: Vec<&str> = plans.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(named, TARGETS);
        let counts =
            |at: usize| -> Vec<u64> { plans[at].1.scenarios.iter().map(|one| one.limits.count(u64::MAX)).collect() };
        assert_eq!(counts(0), [200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200]);
        assert_eq!(counts(3)[..3], [4_000, 8_000, 16_000]);
        let drivers: Vec<String> = plans.iter().map(|(_, plan)| plan.contenders[0].to_string()).collect();
        assert_eq!(drivers, ["scylla", "scylla", "postgres", "postgres", "scylla"]);
        assert_eq!(plans[1].1.out.as_deref(), Some(Path::new("runs/2-cassandra-commitlog-group")));
        let again = command(&read(&["postgres", "-c", "1,8"]));
        assert_eq!(again, "cqldyno durable postgres --driver scylla --concurrency 1,8 --count 200");
    }

    #[test]
    fn what_cannot_be_asked_is_refused_before_anything_runs() {
        let error = |words: &[&str]| planned(words).map(drop).unwrap_err().to_string();
        assert!(error(&["cassandra,commitlog=always"]).contains("is not one of batch, group and periodic"));
        assert!(error(&["postgres,fsync=off"]).contains("write postgres[,synchronous_commit=on|off]"));
        assert_eq!(error(&["postgres", "postgres"]), "the target postgres was named twice; name it once");
        assert!(error(&["postgres", "-c", "1,2048"]).contains("each statement in flight has a connection of its own"));
        assert!(error(&["cassandra", "--driver", "postgres"]).contains("; add --target postgres"));
    }
}
