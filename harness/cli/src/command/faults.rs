//! `cqldyno faults`: what an application sees of each driver on bad days.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use cqldyno_bench::{Arrangement, Contender, Deadlines, PATIENCE, Plan, Programs, Serve, Target, run as carry_out};
use cqldyno_cassandra::plays;
use cqldyno_cluster::Topology;
use cqldyno_reports::OWN_DEFAULTS;
use cqldyno_scenarios::{Scenario, builtin_toml, day, days, suggestion};

use crate::count::{Limit, blocks, count, duration, milliseconds, or};
use crate::format::Shown;
use crate::heading::{OUTPUT, SETUP, SIZE, WHAT};
use crate::known::Known;
use crate::names::{drivers, scenarios};
use crate::nodes::Nodes;
use crate::outcome::{Outcome, text_of, usage};
use crate::plan::contender;
use crate::terminal::look;
use crate::trial::{conduct, show};

/// Statements in flight at most: those that wait for a node that does not answer.
const CONCURRENCY: u64 = 2_048;
const WARMUP: u64 = 2_000;
/// Without a sign of life for so long after its patience has ended, a worker is ended.
const STALL: Duration = Duration::from_secs(30);
/// Nodes unless others are asked for: as many as the days have replicas.
const NODES: u64 = 3;
/// For how long statements start: on a Cassandra until a node that was started is there again.
const LASTS: Duration = Duration::from_secs(6);
const LASTS_ON_CASSANDRA: Duration = Duration::from_secs(30);

const EXAMPLES: &str = "\
Examples:
  cqldyno faults                               all drivers, all days: about 7 minutes
  cqldyno faults scylla --day node-stopped     one driver on one day
  cqldyno scenarios node-stopped >mine.toml    a day to start from
  cqldyno faults --day mine.toml --wide        your own, every figure
  cqldyno faults --target cassandra            a node of a real cluster is killed

Statements start at a rate, whatever the answers do. Half of them insert rows,
and floor reads every row back afterwards. Errors are figures here.

Exit codes: 0 done, even if statements failed, 1 a driver crashed, returned
wrong rows or is missing, 2 wrong usage, 130 Ctrl-C.";

/// Show what an application sees of each driver on bad days
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Drivers, such as scylla@1.8.0 [default: scylla, cdrs-tokio, cassandra-cpp, gocql]
    #[arg(value_name = "DRIVER", value_parser = Known(drivers::names), hide_possible_values = true)]
    contender: Vec<String>,
    /// Days, or TOML files [default: all]
    ///
    /// calm, closed, half-closed, node-stopped, node-frozen, errors, no-answer, late-answer, slow-node, forgotten, events, control-lost. A
    /// file has `name`, `about` and [[script]] steps (scenarios/SCRIPT.md); with statements it is a scenario.
    #[arg(long, value_name = "NAME|FILE,...", value_delimiter = ',', help_heading = WHAT)]
    #[arg(value_parser = Known(names), hide_possible_values = true)]
    day: Vec<String>,
    /// Settings of the drivers: equal, default, or both for two tables
    ///
    /// `equal`: one time limit and no retries. `default`: as in each driver's first documented example.
    #[arg(long, value_name = "HOW,...", value_delimiter = ',', default_value = "equal", help_heading = WHAT)]
    #[arg(value_parser = PossibleValuesParser::new(["equal", "default"]).map(|how| how == "default"), hide_possible_values = true)]
    settings: Vec<bool>,
    /// Statements that start per second
    #[arg(long, value_name = "N", value_parser = count, default_value = "2000", help_heading = SIZE)]
    rate: u64,
    /// For how long statements start [default: 6s, on Cassandra 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = SIZE)]
    lasts: Option<Duration>,
    /// Runs of each day; tables show medians
    #[arg(long, value_name = "N", value_parser = blocks, default_value = "1", help_heading = SIZE)]
    blocks: u32,
    /// embedded, or cassandra[:VERSION] for days that stop or freeze a node [default: embedded]
    ///
    /// `cassandra` starts three nodes of Apache Cassandra here. `stop` kills a node's process, and `hold` freezes it. Options follow:
    /// cassandra:4.1,nodes=5,heap=1G.
    #[arg(long, value_name = "NODES", help_heading = SETUP)]
    target: Option<String>,
    #[command(flatten)]
    nodes: Nodes,
    /// Shards of each embedded node, with ScyllaDB's sharding extension [default: without it]
    #[arg(long, value_name = "N", value_parser = count, help_heading = SETUP)]
    shards: Option<u64>,
    /// The driver's own time limit per statement with equal settings, or `none`
    #[arg(long, value_name = "TIME|none", value_parser = or("none", milliseconds), default_value = "500ms", help_heading = SETUP)]
    request_timeout: Limit<u64>,
    /// Runtime: current or multi:N
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Arrangement>, default_value = "multi:2", help_heading = SETUP)]
    arrangement: Arrangement,
    /// Folder of the run [default: cqldyno-runs/TIME]
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    out: Option<PathBuf>,
    #[command(flatten)]
    shown: Shown,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    quiet: bool,
}

fn names() -> Vec<String> {
    days().into_iter().map(|day| day.name).collect()
}

pub fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.shown.format.name() == "svg" {
        return Err(usage("--format svg was given, and bad days have tables and no chart; choose another format"));
    }
    let programs = Programs::find().context("the program does not know where it lies")?;
    let plan = plan(arguments, &programs)?;
    let finished = conduct(arguments.quiet, |progress, cancel| carry_out(&plan, &programs, progress, cancel))?;
    show(&finished, arguments.shown.format, look(&arguments.shown.detail), arguments.quiet, true)
}

fn plan(arguments: &Arguments, programs: &Programs) -> Result<Plan> {
    let usual = ["scylla", "cdrs-tokio", "cassandra-cpp", "gocql"].map(str::to_owned);
    let named = if arguments.contender.is_empty() { &usual[..] } else { &arguments.contender };
    let with = |is_default: &bool| {
        let ending = if *is_default { OWN_DEFAULTS } else { "" };
        named.iter().map(move |name| format!("{name}{ending}"))
    };
    let contenders: Vec<Contender> =
        arguments.settings.iter().flat_map(with).map(|name| contender(&name, programs)).collect::<Result<_>>()?;
    let target = target(arguments)?;
    let is_playable = |day: &Scenario| match &target {
        Target::Cassandra(order) => day.script.iter().all(|step| plays(step, order.nodes.into()).is_ok()),
        _ => true,
    };
    let days = match arguments.day.as_slice() {
        [] => days().into_iter().filter(is_playable).collect(),
        named => named.iter().map(|name| find(name)).collect::<Result<_>>()?,
    };
    let is_embedded = target.is_embedded();
    let lasts = arguments.lasts.unwrap_or(if is_embedded { LASTS } else { LASTS_ON_CASSANDRA });
    let count = (u128::from(arguments.rate) * lasts.as_nanos()).div_ceil(1_000_000_000);
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let mut plan = Plan::new(contenders, days);
    (plan.arrangements, plan.out) = (vec![arguments.arrangement], arguments.out.clone());
    // Where all slots wait, nothing more is issued.
    plan.deadlines = Deadlines { stall: lasts.saturating_add(PATIENCE + STALL), ..plan.deadlines };
    arguments.nodes.topology(arguments.shards)?;
    let own = Serve { nodes: arguments.nodes.nodes, shards: arguments.shards, ..Serve::default() };
    if is_embedded {
        let usual = Topology::new(NODES, 1, 1, None).map_err(usage)?;
        plan.serve = Serve { nodes: own.nodes.or(Some(usual)), ..own };
    } else if let Some(flag) = own.words().first() {
        return Err(usage(format!(
            "{flag} was asked for on {target}, and is for embedded nodes; write the number of nodes with the target: cassandra,nodes=5"
        )));
    }
    (plan.target, plan.connections, plan.noise_share) = (target, arguments.shards.unwrap_or(1), None);
    (plan.faults, plan.named, plan.rate) = (true, true, Some(arguments.rate));
    (plan.concurrency, plan.warmup, plan.request_timeout_ms) = (CONCURRENCY, WARMUP, arguments.request_timeout.0);
    plan.passes.clear();
    Ok(plan.with_blocks(arguments.blocks, count))
}

/// Who answers: nodes that may be stopped.
fn target(arguments: &Arguments) -> Result<Target> {
    let Some(text) = &arguments.target else { return Ok(Target::Embedded) };
    let read = |text: &str| Target::parse(text).map_err(|error| usage(error.to_string()));
    match read(text)? {
        Target::Addresses { .. } | Target::Postgres(_) => Err(usage(format!(
            "the target {text} was asked for, and bad days need nodes that may be stopped; write embedded, or cassandra for nodes that are \
             started for the run"
        ))),
        // As many as the days have replicas.
        Target::Cassandra(_) if !text.contains("nodes=") => read(&format!("{text},nodes=3")),
        target => Ok(target),
    }
}

/// The day of that name, or the one in the TOML file of that path.
fn find(name: &str) -> Result<Scenario> {
    let all = days();
    if let Some(known) = all.iter().find(|day| day.name == name) {
        return Ok(known.clone());
    }
    if name.ends_with(".json") {
        return scenarios::find(name)?.pop().context("the file holds no scenario");
    }
    if !(name.contains('/') || name.ends_with(".toml")) {
        let is_scenario = builtin_toml(name).is_some();
        let known = names();
        let meant = suggestion(name, known.iter().map(String::as_str));
        let also = if is_scenario { " It is the name of a scenario, which `compare` runs." } else { "" };
        return Err(usage(format!(
            "there is no day {name:?}: there are {}, and any TOML file by its path, for example ./mine.toml.{also}{meant}",
            known.join(", ")
        )));
    }
    day(&text_of("day", Path::new(name), "give the path of a TOML file")?, name).map_err(usage)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use cqldyno_reports::Run;

    use super::*;
    use crate::arguments::{self, Command};
    use crate::repetition;

    fn read(words: &[&str]) -> Arguments {
        let line = ["cqldyno", "faults"].iter().chain(words);
        match arguments::Arguments::try_parse_from(line).unwrap().command {
            Command::Faults(arguments) => arguments,
            _ => unreachable!(),
        }
    }

    fn planned(words: &[&str]) -> Result<Plan> {
        plan(&read(words), &Programs::find().unwrap())
    }

    #[test]
    fn all_days_run_at_the_rate_on_three_nodes_with_a_time_limit() {
        let plan = planned(&[]).unwrap();
        assert_eq!((plan.contenders.len(), plan.scenarios.len(), plan.blocks, plan.count), (4, 12, 1, 12_000));
        assert_eq!((plan.rate, plan.request_timeout_ms, plan.faults), (Some(2_000), Some(500), true));
        assert_eq!(plan.serve.words(), ["--nodes", "3"]);
        assert!(plan.deadlines.stall > PATIENCE && plan.passes.is_empty() && plan.noise_share.is_none());
    }

    #[test]
    fn both_settings_are_contenders_of_one_run() {
        let plan = planned(&["scylla", "gocql", "--settings", "equal,default", "--day", "calm,errors"]).unwrap();
        let ids: Vec<String> = plan.contenders.iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["scylla", "gocql", "scylla+settings=default", "gocql+settings=default"]);
        assert_eq!(plan.scenarios.len(), 2);
    }

    #[test]
    fn a_day_that_is_not_there_is_refused_with_those_that_are() {
        let error = planned(&["--day", "eror"]).unwrap_err().to_string();
        assert!(error.starts_with("there is no day \"eror\": there are calm, closed,"), "{error}");
        let error = planned(&["--day", "writes"]).unwrap_err().to_string();
        assert!(error.contains("It is the name of a scenario, which `compare` runs."), "{error}");
        let plan = planned(&["--day", "calm", "--rate", "100k", "--lasts", "1min"]).unwrap();
        let error = plan.check(&cqldyno_bench::Topology::read(&[0, 1])).unwrap_err().to_string();
        assert!(error.contains("6,000,000 statements were asked for, and at most 1,000,000 can be tracked"), "{error}");
        let error = planned(&["--day", "./nowhere.toml"]).unwrap_err().to_string();
        assert!(error.starts_with("the day ./nowhere.toml cannot be read:"), "{error}");
    }

    #[test]
    fn a_cassandra_has_three_nodes_and_the_days_that_it_can_play() {
        let plan = planned(&["--target", "cassandra:4.1,heap=512M"]).unwrap();
        let days: Vec<&str> = plan.scenarios.iter().map(|day| day.name.as_str()).collect();
        assert_eq!((days, plan.count), (vec!["calm", "node-stopped", "node-frozen"], 60_000));
        let Target::Cassandra(order) = &plan.target else { panic!("{}", plan.target) };
        assert_eq!((order.nodes, &plan.serve), (3, &Serve::default()));
        let refused = |words: &[&str]| {
            let plan = planned(words).map_err(|error| error.to_string());
            plan.and_then(|plan| plan.check(&cqldyno_bench::Topology::read(&[0, 1])).map_err(|error| error.to_string()))
                .map(drop)
                .unwrap_err()
        };
        let error = refused(&["--target", "cassandra", "--day", "errors"]);
        assert!(error.contains("errors cannot be played: Apache Cassandra cannot play the step error"), "{error}");
        let error = refused(&["--target", "cassandra,nodes=1", "--day", "node-frozen"]);
        assert!(
            error.contains("names node 2, and Cassandra has 1; ask for more with --target cassandra,nodes=2"),
            "{error}"
        );
        let error = refused(&["--target", "cassandra", "--nodes", "5"]);
        assert!(error.starts_with("--nodes was asked for on cassandra:5.0.9,nodes=3, and is for embedded"), "{error}");
        let error = refused(&["--target", "127.0.0.1"]);
        assert!(error.contains("bad days need nodes that may be stopped; write embedded, or cassandra"), "{error}");
    }

    #[test]
    fn the_command_of_a_run_asks_for_it_again() {
        let published = concat!(env!("CARGO_MANIFEST_DIR"), "/../../reports/published/2026-11-27/bad-days/run.json");
        let mut run = Run::from_json(&std::fs::read_to_string(published).unwrap()).unwrap();
        let planned = |run: &Run| {
            let line = repetition::command(run);
            planned(&line.strip_prefix("cqldyno faults ").unwrap().split(' ').collect::<Vec<_>>()).unwrap()
        };
        let same = |run: &Run| {
            let (plan, asked) = (planned(run), &run.plan);
            let ids: Vec<String> = plan.contenders.iter().map(ToString::to_string).collect();
            assert_eq!(ids, run.asked());
            let days: Vec<&String> = plan.scenarios.iter().map(|day| &day.name).collect();
            assert_eq!(days, run.scenarios.iter().map(|day| &day.name).collect::<Vec<_>>());
            assert_eq!((plan.rate, plan.count, plan.blocks), (asked.rate, asked.count, asked.blocks));
            assert_eq!(
                (plan.request_timeout_ms, &plan.serve.words()),
                (asked.request_timeout_ms, &asked.serve_arguments)
            );
            assert_eq!((plan.connections, plan.faults, plan.seed), (asked.connections, true, asked.seed));
            assert_eq!(plan.target.to_string(), asked.target.id);
        };
        same(&run);
        run.scenarios.truncate(2);
        (run.plan.count, run.plan.blocks, run.plan.request_timeout_ms) = (3_000, 5, None);
        (run.plan.connections, run.plan.serve_arguments) =
            (2, "--nodes 4 --shards 2".split(' ').map(str::to_owned).collect());
        same(&run);
        run.plan.serve_arguments.clear();
        run.plan.connections = 1;
        (run.plan.target.id, run.plan.target.embedded) = ("cassandra:5.0.9,nodes=3".to_owned(), false);
        same(&run);
    }
}
