//! What `compare` is asked, and the plan that follows from it.

mod ladder;
mod releases;

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Result;
use clap::builder::{ArgPredicate, PossibleValuesParser, TypedValueParser};
use cqldyno_bench::builder::Builder;
use cqldyno_bench::{Arrangement, CONCURRENCY, Contender, Deadlines, KNOWN, Pin, Plan, Programs, Target, recorded};
use cqldyno_cluster::Answers;
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_reports::{LEAST_BLOCKS, LadderInfo, LoadersInfo, Pass, PlanInfo};
use cqldyno_scenarios::Scenario;

use crate::access::{Access, AskedTarget, AskedTls};
use crate::count::{
    DAY, Delays, Limit, Numbers, ONE_PART, bytes, count, count_or_none, delays, duration, numbers, options, or, parts,
    patience,
};
use crate::heading::{LIMITS, OUTPUT, SETUP, SIZE, WHAT};
use crate::known::Known;
use crate::names::drivers::{self, no_driver};
use crate::names::scenarios;
use crate::nodes::Nodes;
use crate::outcome::usage;
use crate::plan::ladder::AskedRate;
use crate::plan::releases::{Named, is_all, named};

/// Statements of a turn of `--quick`: three of all drivers and scenarios fit into its time on a busy machine, too.
const QUICK_COUNT: u64 = 100_000;
/// Statements of a turn of a sweep where most are in flight; turns with fewer take as long.
const SWEEP_COUNT: u64 = 200_000;
/// Generations of a sweep, and of a run without verdicts (`--quick`).
const FEW_BLOCKS: u32 = 3;
/// Generations, and statements of their only turn, of a run for publication on a cluster that is not embedded.
const PUBLISHED: (u32, u64) = (20, 1_000_000);
/// The arrangements of a run for publication, its orders of functions, and its passes beside the system calls.
const PUBLISHED_ARRANGEMENTS: &str = "multi:2,current";
const PUBLISHED_LAYOUTS: u32 = 6;
const PUBLISHED_PASSES: [Pass; 2] = [Pass::Allocations, Pass::Instructions];
/// The share of others' time that is noise unless another one is asked for.
pub const NOISE_SHARE: f64 = 0.1;
/// The passes that say why a driver is dearer.
pub const EXPLAINING_PASSES: [Pass; 3] = [Pass::Syscalls, Pass::Allocations, Pass::Flamegraph];
/// A comparison of releases by counts: statements and number of its generations, and its runtime.
const EXACT: (u64, u32) = (50_000, 3);
const EXACT_ARRANGEMENT: &str = "current";
/// Statements of a turn of releases: so many take turns that a round of the usual time would have short ones.
const RELEASES_TURN: u64 = 50_000;
/// The time limit of a comparison of no fixed size.
const WITHIN: Duration = Duration::from_secs(5 * 60);
/// The same for publication, and where it may end before, at a width.
const LONG: Duration = Duration::from_secs(20 * 60);
/// The time limit of `--quick`.
const QUICK: Duration = Duration::from_secs(30);
/// The most generations of a run, against a slip of the hand.
const MOST_BLOCKS: u32 = 100_000;
const TOO_MANY: &str = "a run has at most 100000 generations; ask for fewer, or for longer turns with --turn";

/// What every contender is asked for.
#[derive(clap::Args)]
pub struct Asked {
    /// Name or TOML file [default: writes, reads, mixed]
    ///
    /// Several with commas, or once per scenario. `cqldyno scenarios` lists the built-in ones; `new FILE` after it writes one.
    /// people.toml,tape=FILE plays the rows of an Arrow or Parquet file, with columns named as the markers. reads+stream submits
    /// through one `buffer_unordered` per thread, reads+spawn in a task per statement. Also slots (the default), stream-unconstrained, spawn-all, unlimited,
    /// sequential.
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', help_heading = WHAT)]
    #[arg(value_parser = Known(scenarios::names), hide_possible_values = true)]
    scenario: Vec<String>,
    /// Contender to take ratios against [default: first]
    #[arg(long, value_name = "NAME", help_heading = WHAT)]
    #[arg(value_parser = Known(drivers::names), hide_possible_values = true)]
    reference: Option<String>,
    /// Runtime: current or multi:N [default: multi:2]
    ///
    /// Tokio on one thread or N. `pinned+` in front: own cores for both. Several with commas.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = WHAT)]
    #[arg(default_value_if("publish", ArgPredicate::IsPresent, PUBLISHED_ARRANGEMENTS))]
    #[arg(value_parser = str::parse::<Arrangement>)]
    arrangement: Vec<Arrangement>,
    /// HOST[:PORT],..., or cassandra
    ///
    /// `embedded` is in memory. Addresses name nodes of a running cluster. `cassandra` starts Apache Cassandra 5.0 here, fetched once
    /// from Maven Central; it needs Java 11 or 17. Also cassandra:4.1; options follow: nodes=3,heap=1G,port=9042,commitlog=batch. `postgres` starts an installed PostgreSQL for the contender postgres. Last come
    /// replication=3 or replication=dc1=3,dc2=2, for any cluster. After addresses, datacenter=NAME sends statements to that datacenter
    /// alone, and `keep` uses keyspaces cqldyno_N that exist and drops none.
    #[arg(long, value_name = "NODES", value_parser = AskedTarget::read, default_value = "embedded", help_heading = WHAT)]
    target: AskedTarget,
    /// equal for all, or default
    ///
    /// `default`: as in each driver's first documented example.
    #[arg(long, value_name = "HOW", default_value = "equal", help_heading = WHAT, hide_possible_values = true)]
    #[arg(value_parser = PossibleValuesParser::new(["equal", "default"]).map(settings))]
    settings: Settings,
    /// Share the load among N workers, or among hosts: a,b,c
    ///
    /// Each issues its share; counts, CPU time and histograms are added. Hosts need cqldyno and its workers under the same paths as here.
    #[arg(long, value_name = "N|HOST,...", value_parser = loaders, help_heading = WHAT, hide_short_help = true)]
    loaders: Option<LoadersInfo>,
    /// Command that starts a loader, such as 'ssh {host}' [default: none]
    ///
    /// Also 'srun -N1 -n1 -w {host}', 'kubectl exec -i {host} --'. {host} is each host.
    #[arg(long, value_name = "COMMAND", default_value = "", hide_default_value = true, requires = "loaders", help_heading = WHAT)]
    #[arg(allow_hyphen_values = true, hide_short_help = true)]
    launch: String,
    /// More figures: latency, syscalls, ... or all
    ///
    /// Each adds short cells after the timed ones. `counting`, which counts system calls, always runs except in sweeps or with `none`;
    /// `syscalls` counts by name; `latency` takes response times below saturation; `flamegraph` samples stacks. `explain` names what a
    /// dearer driver has more of. Separate several with commas.
    #[arg(long, value_name = "PASS", value_delimiter = ',', help_heading = WHAT)]
    #[arg(value_parser = PossibleValuesParser::new(passes()), hide_possible_values = true)]
    pass: Vec<String>,
    /// Statements per second of the latency pass, for 3 s [default: half of the slowest driver's]
    ///
    /// With a bound instead, such as --ladder 'p99<5ms', each driver's highest rate that keeps a percentile of its response times below a
    /// time: p50, p90, p99, p99.9 or max. Several --delay make it a curve over distances. 'p99<5ms,step=1s' sets how long a step lasts.
    #[arg(long, visible_alias = "ladder", value_name = "N|BOUND", value_parser = ladder::rate, help_heading = WHAT)]
    #[arg(hide_short_help = true)]
    rate: Option<AskedRate>,

    /// About 30 s: figures, no verdicts
    #[arg(long, conflicts_with_all = ["blocks", "publish"], help_heading = SIZE)]
    quick: bool,
    /// Statements per contender, in turns, such as 10M
    #[arg(short = 'n', long, value_name = "N", value_parser = count, help_heading = SIZE)]
    count: Option<u64>,
    /// Statements in flight, or several [default: 1024]
    ///
    /// Several, such as 1,2,4,...,8192, make a sweep: curves beside that of `floor`, and knees. For the scenario `connect` it is the number
    /// of sessions at once, from 1 to 1000 [default: 1].
    #[arg(short, long, value_name = "N", value_parser = numbers, help_heading = SIZE)]
    concurrency: Option<Numbers>,
    /// Generations of one turn of --count each
    #[arg(long, value_name = "N", value_parser = blocks, help_heading = SIZE)]
    blocks: Option<u32>,
    /// 20 minutes on multi:2 and current, with more counts
    ///
    /// Adds passes `allocations` and `instructions`. With --target: 20 generations of one turn of 1M.
    #[arg(long, conflicts_with_all = ["count", "blocks", "rate"], help_heading = SIZE)]
    publish: bool,
    /// Statements per turn, or all of --count [default: 20k, 500k with --loaders]
    ///
    /// Fewer where a round would take long. `all` issues --count in one piece, as `time` would.
    #[arg(long, value_name = "N|all", value_parser = or("all", count), conflicts_with_all = ["blocks", "quick"], help_heading = SIZE)]
    #[arg(hide_short_help = true)]
    turn: Option<Limit<u64>>,
    /// Link each worker in N orders of functions, one per generation [default: 0, --publish 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100), help_heading = SIZE)]
    #[arg(hide_short_help = true)]
    layouts: Option<u32>,
    /// End when all CPU intervals are within WIDTH, such as 2%
    ///
    /// WIDTH is half an interval. Looks at widths from generation 8 on, never at who leads.
    #[arg(long, value_name = "WIDTH", value_parser = width, help_heading = SIZE)]
    #[arg(conflicts_with_all = ["count", "blocks", "quick"])]
    until: Option<f64>,
    /// Statements before each window, which are not measured
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "20k", help_heading = SIZE)]
    #[arg(hide_short_help = true)]
    warmup: u64,

    #[command(flatten)]
    nodes: Nodes,
    /// Shards of each embedded node, or several, such as 1,2,4 [default: none]
    ///
    /// With ScyllaDB's sharding extension. Several make a sweep; unless --connections is set, each has a connection per shard.
    #[arg(long, value_name = "N", value_parser = numbers, help_heading = SETUP)]
    shards: Option<Numbers>,
    /// Data connections to each node, or several, such as 1,2,4 [default: 1, or one per shard]
    #[arg(long, value_name = "N", value_parser = numbers, help_heading = SETUP)]
    connections: Option<Numbers>,
    /// Replicas that must answer: ONE, QUORUM, LOCAL_ONE, ...
    #[arg(long, value_name = "LEVEL", value_parser = consistency, default_value = "LOCAL_ONE", help_heading = SETUP)]
    consistency: Consistency,
    /// The driver's own time limit per statement, such as 5s, or `none`
    #[arg(long, value_name = "TIME|none", value_parser = or("none", milliseconds), default_value = "none")]
    #[arg(help_heading = SETUP)]
    request_timeout: Limit<u64>,
    /// Physical cores of worker and server: auto, off, or as in 2-3/0-1
    ///
    /// `auto` splits four or more cores. 2-3/0-1: the worker has cores 2 and 3.
    #[arg(long, value_name = "WORKER/SERVER", value_parser = str::parse::<Pin>, default_value = "auto")]
    #[arg(help_heading = SETUP)]
    pin: Pin,
    /// How the embedded cluster writes answers [default: batched]
    ///
    /// `batched`: one write per read. `cassandra`: as many per write as Cassandra 5.0. COUNT: at most so many; `each`: one.
    #[arg(long, value_name = "batched|cassandra|COUNT|each", value_parser = answers, help_heading = SETUP)]
    answers: Option<Writing>,
    /// Delay of every answer by the embedded cluster, such as 100us or 0.5ms±20%, or several [default: 0]
    ///
    /// The distance of a server in a network. Several, such as 0,0.2ms,1ms, make a sweep. With ±20%, or +-20%, each write is late by a time between 80% and 120% of it, evenly drawn.
    #[arg(long, value_name = "TIME[±N%]", value_parser = delays, help_heading = SETUP, allow_hyphen_values = true)]
    delay: Option<Delays>,

    /// What leaves a round out, and what ends a worker: noise=10%,stall=30s,memory=4G
    ///
    /// `noise`: the share of the cores that other processes and the hypervisor may use in a round, or `none`. `stall`, from 1s to a day:
    /// ends a worker that issues nothing for so long. `memory`: ends a worker with more resident memory; no limit by default.
    #[arg(long, value_name = "KEY=VALUE,...", value_parser = limits, default_value = "noise=10%,stall=30s")]
    #[arg(help_heading = LIMITS)]
    limits: AskedLimits,
    /// Seed for the order of scenarios, contenders and keys
    #[arg(long, value_name = "N", value_parser = count_or_none, default_value = "1", help_heading = LIMITS)]
    seed: u64,
}

/// What a resumed run may be asked again.
#[derive(clap::Args)]
pub struct Conditions {
    /// Time limit [default: 5min without --count or --blocks]
    ///
    /// Or `none`. One generation of everything always runs. --quick has 30s, --until and --publish 20min, --ladder 30min, --target none.
    /// NAME@all compares counts alone, and with a time CPU time, too.
    #[arg(long, value_name = "TIME", value_parser = or("none", patience), help_heading = SIZE)]
    within: Option<Limit<Duration>>,
    #[command(flatten)]
    pub access: Access,
    /// Only errors and failures on standard error
    #[arg(short, long, help_heading = OUTPUT)]
    pub quiet: bool,
}

impl Conditions {
    /// The time limit, or that there is to be none, if it was asked for.
    pub fn within(&self) -> Option<Option<Duration>> {
        self.within.map(|Limit(time)| time)
    }
}

impl Asked {
    /// The plan for `contenders`, each as it was typed; `own` are scenarios beside those that were named.
    pub fn plan(
        &self,
        contenders: &[String],
        own: &[Scenario],
        conditions: &Conditions,
        programs: &Programs,
    ) -> Result<Plan> {
        let AskedTarget { target, datacenter, replication, keep } = &self.target;
        let access = self.access(conditions)?;
        let releases = contenders.iter().any(|text| is_all(text));
        let exact = releases && conditions.within.is_none();
        self.check_size(contenders, exact)?;
        let Named { contenders: each, newest } = named(contenders, programs)?;
        let [in_flight, over, shards] = self.numbers();
        shards.iter().try_for_each(|number| self.nodes.topology(Some(*number)).map(drop))?;
        self.check_ladder(releases)?;
        let is_numbered = [in_flight, over, shards].iter().any(|numbers| numbers.len() > 1);
        let away = self.distances();
        let is_swept = is_numbered || away.len() > 1;
        if let (Some(several), false) = (self.shards.as_ref().filter(|all| all.0.len() > 1), target.is_embedded()) {
            return Err(usage(format!(
                "--shards {several} was given with the target {target}, and only the embedded cluster is started for each number of shards; \
                 leave --shards out"
            )));
        }
        let serve_arguments = self.serve_arguments(conditions.access.tls == Some(AskedTls::Own));
        if let (false, [_, _, ..]) = (target.is_embedded(), away.as_slice()) {
            return Err(usage(format!(
                "several times of --delay were given with the target {target}, and only the embedded cluster delays answers; leave --delay or \
                 --target out"
            )));
        }
        if let (false, Some(flag)) = (target.is_embedded(), serve_arguments.first()) {
            return Err(usage(format!(
                "{flag} was given with the target {target}, and works on the embedded cluster alone; leave {flag} out, or start a cluster with `cqldyno \
                 serve {}` and name its address",
                serve_arguments.join(" ")
            )));
        }
        let unfit = first([("NAME@all, whose chart is over releases", releases), ("--publish", self.publish)]);
        if let (Some(flag), true) = (unfit, away.len() > 1) {
            return Err(usage(format!(
                "several times of --delay were given together with {flag}; give one, or leave that out"
            )));
        }
        if let (Some(flag), true) = (self.unfit_for_sweeps(releases), is_numbered) {
            return Err(usage(format!(
                "several numbers of --concurrency, --connections or --shards were given together with {flag}; give one number, or leave that \
                 out"
            )));
        }
        let is_open = !exact && self.is_open();
        if let (Some(flag), false) = (self.of_open(), is_open) {
            let instead = if self.sweeps() { "give one number in flight" } else { "leave out --publish" };
            return Err(usage(format!("{flag} was given for a run of a fixed size; leave it out, or {instead}")));
        }
        let found = each.iter().map(|text| contender(text, programs)).collect::<Result<_>>()?;
        let named = scenarios::all(&self.scenario)?;
        let scenarios: Vec<Scenario> = own.iter().cloned().chain(named).collect();
        let mut scenarios = match (scenarios.is_empty(), self.ladder()) {
            (false, _) => scenarios,
            (true, None) => cqldyno_scenarios::defaults(),
            (true, Some(_)) => scenarios::find(ladder::SCENARIO)?,
        };
        if self.concurrency.is_some() {
            scenarios.iter_mut().for_each(|one| one.limits = one.limits.asked());
        }
        let ladder = self.ladder().map(ladder::checked).transpose()?;
        let recordings = recorded(&mut scenarios).map_err(usage)?;
        // A file is played once unless the size of the run was asked for.
        let is_sized = conditions.within.is_some() || self.publish || self.until.is_some();
        let rows = recordings.values().map(|one| one.rows()).max().filter(|_| is_open && !is_sized);
        let new = Plan::new(found, self.replicated(scenarios)?);
        let layouts = self.layouts.or((self.publish && is_open).then_some(PUBLISHED_LAYOUTS));
        let info = PlanInfo {
            layouts: layouts.filter(|orders| *orders > 0),
            concurrency: most(in_flight),
            warmup: self.warmup,
            passes: self.passes(releases),
            rate: self.fixed_rate(),
            noise_share: self.limits.noise.filter(|_| !exact && ladder.is_none()),
            ladder,
            until: self.until,
            connections: if self.connections.is_some() { most(over) } else { most(shards) },
            request_timeout_ms: self.request_timeout.0,
            datacenter: datacenter.clone(),
            replication: replication.as_ref().map(ToString::to_string),
            keep: *keep,
            seed: self.seed,
            releases: if releases { contenders.to_vec() } else { Vec::new() },
            exact,
            reference: self.reference.clone().or(newest),
            serve_arguments,
            memory_limit_bytes: self.limits.memory,
            loaders: self.loaders.clone().map(|loaders| LoadersInfo { launch: self.launch.clone(), ..loaders }),
            ..new.info
        };
        let mut plan = Plan {
            info,
            arrangements: match (self.arrangement.as_slice(), releases) {
                ([], true) => vec![EXACT_ARRANGEMENT.parse().map_err(usage)?],
                ([], false) => new.arrangements,
                (asked, _) => asked.to_vec(),
            },
            pin: self.pin.clone(),
            control: !self.quick && !exact && self.ladder().is_none(),
            consistency: self.consistency,
            settings: self.settings,
            target: target.clone(),
            access,
            deadlines: Deadlines { stall: self.limits.stall, ..Deadlines::default() },
            recordings,
            ..new
        };
        plan.limit(if exact || rows.is_some() { None } else { self.time_limit(conditions) });
        let swept = |plan: Plan| match is_swept {
            true => plan.with_sweep(in_flight, over, shards, &away).map_err(usage),
            false => Ok(plan),
        };
        // The number in flight shortens turns, and places shorten generations.
        let plan = if self.sweeps() { swept(self.sized(plan, rows))? } else { self.sized(swept(plan)?, rows) };
        if plan.blocks > MOST_BLOCKS {
            return Err(usage(TOO_MANY.to_owned()));
        }
        let plan = plan.with(|plan| plan.control &= !self.sweeps() || plan.blocks as usize >= LEAST_BLOCKS);
        let has_default = |one: &Contender| one.own.settings.unwrap_or(plan.settings) == Settings::Default;
        if plan.datacenter.is_some() && plan.contenders.iter().any(has_default) {
            return Err(usage(
                "a datacenter was given together with the settings `default`, under which some drivers ignore it; leave one of them out",
            ));
        }
        let given = [
            ("--connections", self.connections.is_some()),
            ("--request-timeout", self.request_timeout.0.is_some()),
            ("--consistency", self.consistency != Consistency::LocalOne),
        ];
        if let (Some(flag), true) = (first(given), plan.contenders.iter().all(has_default)) {
            return Err(usage(format!(
                "{flag} was given together with the settings `default`, with which every driver keeps its own; leave one of them out"
            )));
        }
        Ok(plan)
    }

    /// The plan with its generations and turns, of so many `rows` of a file if it is played once.
    fn sized(&self, plan: Plan, rows: Option<u64>) -> Plan {
        let usual = match (self.quick, self.sweeps()) {
            (true, _) => QUICK_COUNT,
            (false, true) => SWEEP_COUNT,
            (false, false) => plan.count,
        }
        .max(plan.longest_turn());
        let plan = match (self.blocks, self.count.or(rows)) {
            (blocks, count) if plan.exact => plan.with_blocks(blocks.unwrap_or(EXACT.1), count.unwrap_or(EXACT.0)),
            (Some(blocks), count) => plan.with_blocks(blocks, count.unwrap_or(usual)),
            _ if plan.ladder.is_some() => plan.with_blocks(1, usual),
            (None, Some(count)) if self.is_whole() => plan.with_blocks(1, count),
            (None, Some(count)) if self.quick => plan.with_total(count, Some(count.div_ceil(FEW_BLOCKS.into()))),
            (None, Some(count)) => plan.with_total(count, self.turn.and_then(|turn| turn.0)),
            _ if self.is_open() => {
                let releases = (!plan.releases.is_empty()).then_some(RELEASES_TURN);
                plan.with_turns(self.turn.and_then(|turn| turn.0).or(releases))
            }
            _ if self.publish => plan.with_blocks(PUBLISHED.0, PUBLISHED.1),
            _ => plan.with_blocks(FEW_BLOCKS, usual),
        };
        plan.with(|plan| plan.whole = self.is_whole())
    }

    fn is_whole(&self) -> bool {
        matches!(self.turn, Some(Limit(None)))
    }

    /// Refuses what makes no sense with ladders.
    fn check_ladder(&self, releases: bool) -> Result<()> {
        if self.ladder().is_none() {
            return Ok(());
        }
        let several = |numbers: &Option<Numbers>| numbers.as_ref().is_some_and(|numbers| numbers.0.len() > 1);
        let sizes = [
            ("--pass", !self.pass.is_empty()),
            ("--quick", self.quick),
            ("--count", self.count.is_some()),
            ("--blocks", self.blocks.is_some()),
            ("--publish", self.publish),
            ("--turn", self.turn.is_some()),
            ("--layouts", self.layouts.is_some()),
            ("--until", self.until.is_some()),
            ("--reference", self.reference.is_some()),
            ("NAME@all", releases),
        ];
        if let Some(flag) = first(sizes) {
            return Err(usage(format!(
                "{flag} was given together with --ladder, which chooses rates itself and has no generations; leave one of them out"
            )));
        }
        let numbers = [
            ("--concurrency", several(&self.concurrency)),
            ("--connections", several(&self.connections)),
            ("--shards", several(&self.shards)),
        ];
        match first(numbers) {
            None => Ok(()),
            Some(flag) => Err(usage(format!(
                "several numbers of {flag} were given together with --ladder, whose curves are over --delay; give one number"
            ))),
        }
    }

    /// The delays of answers in nanoseconds.
    fn distances(&self) -> Vec<u64> {
        self.delay.as_ref().map(Delays::ns).unwrap_or_default()
    }

    fn ladder(&self) -> Option<&LadderInfo> {
        if let Some(AskedRate::Below(ladder)) = &self.rate { Some(ladder) } else { None }
    }

    fn fixed_rate(&self) -> Option<u64> {
        if let Some(AskedRate::Fixed(rate)) = self.rate { Some(rate) } else { None }
    }

    /// Whether the highest rate of each driver is searched for.
    pub fn climbs(&self) -> bool {
        self.ladder().is_some()
    }

    /// Refuses a size without statements, and what belongs to time if releases are compared by counts.
    fn check_size(&self, contenders: &[String], exact: bool) -> Result<()> {
        if self.is_whole() && self.count.is_none() {
            return Err(usage(
                "--turn all was given without --count, all of which it issues in one turn; give --count",
            ));
        }
        if self.quick && self.explains() {
            return Err(usage(
                "--quick was given together with --pass explain, which needs intervals; leave out one or the other",
            ));
        }
        let of_time = [
            ("--quick", self.quick),
            ("--publish", self.publish),
            ("--pass explain", self.explains()),
            ("--rate", self.fixed_rate().is_some()),
            ("--layouts", self.layouts.is_some()),
        ];
        let of_time = first(of_time).or(self.of_open());
        match (contenders.iter().find(|text| exact && is_all(text)), of_time) {
            (Some(text), Some(flag)) => Err(usage(format!(
                "{flag} was given, and {text} is compared by counts; add --within 20min, or leave {flag} out"
            ))),
            _ => Ok(()),
        }
    }

    /// What it takes to be let in to a cluster, and that only one that exists is asked for it.
    fn access(&self, conditions: &Conditions) -> Result<cqldyno_bench::Access> {
        let AskedTarget { target, datacenter, keep, .. } = &self.target;
        let own = [("`datacenter`", datacenter.is_some()), ("`keep`", *keep)];
        let is_own = matches!(target, Target::Addresses { .. });
        match &conditions.access.tls {
            Some(AskedTls::Own) if is_own => {
                return Err(usage(format!(
                    "--tls was given without a CA for the target {target}; write --tls ca=FILE, or --tls unverified"
                )));
            }
            Some(AskedTls::Existing(_)) if !is_own => {
                let instead = if target.is_embedded() { "write --tls alone" } else { "leave --tls out" };
                return Err(usage(format!(
                    "--tls was given with the target {target} and a value, which existing clusters need; {instead}, or name a cluster of \
                     yours with --target"
                )));
            }
            _ => {}
        }
        if let Some((word, _)) = own.into_iter().find(|(_, given)| *given && !is_own) {
            return Err(usage(format!(
                "{word} was given with the target {target}, which is started for the run; leave {word} out, or name a cluster of yours \
                 with --target"
            )));
        }
        let access = conditions.access.read()?;
        if access.credentials.is_some() && !is_own {
            return Err(usage(format!(
                "a user was given for the target {target}, which is started without users; leave --user out, or name a cluster of yours \
                 with --target"
            )));
        }
        Ok(access)
    }

    /// The numbers in flight, those of connections and those of shards; none of the last two for the defaults.
    fn numbers(&self) -> [&[u64]; 3] {
        let given = [(&self.concurrency, &[CONCURRENCY][..]), (&self.connections, &[]), (&self.shards, &[])];
        given.map(|(numbers, usual)| numbers.as_ref().map_or(usual, |numbers| numbers.0.as_slice()))
    }

    /// Whether curves over the number in flight are asked for.
    pub fn sweeps(&self) -> bool {
        self.numbers()[0].len() > 1
    }

    /// Whether floor speaks the target's protocol.
    pub fn has_floor(&self) -> bool {
        !matches!(self.target.target, Target::Postgres(_))
    }

    /// What was asked for that is of one number in flight, of connections and of shards.
    fn unfit_for_sweeps(&self, releases: bool) -> Option<&'static str> {
        first([
            ("NAME@all, whose chart is over releases", releases),
            ("--publish", self.publish),
            ("--pass explain", self.explains()),
            ("--rate", self.fixed_rate().is_some()),
            ("--pass latency", self.pass.iter().any(|name| ["latency", "all"].contains(&name.as_str()))),
            ("--answers cassandra", matches!(self.answers, Some(Writing::Cassandra))),
        ])
    }

    /// What was asked of runs that go on as long as there is time.
    fn of_open(&self) -> Option<&'static str> {
        first([("--turn", self.turn.is_some() && self.count.is_none()), ("--until", self.until.is_some())])
    }

    /// Whether as many generations run as there is time for: in comparisons that the user does not size.
    fn is_open(&self) -> bool {
        let is_sized = self.quick || self.climbs() || self.blocks.is_some() || self.count.is_some() || self.sweeps();
        !is_sized && (self.target.target.is_embedded() || !self.publish)
    }

    /// Whether it is to say why a driver is dearer.
    fn explains(&self) -> bool {
        self.pass.iter().any(|name| name == "explain")
    }

    fn replicated(&self, scenarios: Vec<Scenario>) -> Result<Vec<Scenario>> {
        let Some(replication) = &self.target.replication else { return Ok(scenarios) };
        let replicated = |scenario: &Scenario| {
            scenario.with_replication(replication).ok_or_else(|| {
                usage(format!(
                    "`replication` was given, and the schema of the scenario {} creates no keyspace with a replication; leave \
                     `replication` out, or add the CREATE KEYSPACE",
                    scenario.label()
                ))
            })
        };
        scenarios.iter().map(replicated).collect()
    }

    /// What to know before the run starts.
    pub fn remark(&self) -> Option<&'static str> {
        self.quick
            .then_some("--quick gives figures in about 30 s, without intervals and verdicts; leave it out for those.")
    }

    /// The passes after the generations, in the order in which they run.
    fn passes(&self, releases: bool) -> Vec<Pass> {
        if self.climbs() {
            return vec![Pass::Latency];
        }
        let names = |name: &str| self.pass.iter().any(|one| one == name);
        let is_asked = |pass: &Pass| match pass {
            // A sweep is long without them.
            Pass::Counting if !self.sweeps() => !names("none"),
            Pass::Latency if self.fixed_rate().is_some() => true,
            pass if (self.publish || releases) && PUBLISHED_PASSES.contains(pass) => true,
            pass if self.explains() && EXPLAINING_PASSES.contains(pass) => true,
            pass => names("all") || names(pass.name()),
        };
        cqldyno_bench::passes().map(|(pass, _)| pass).filter(is_asked).collect()
    }

    /// A run of a fixed size takes the time that it needs, and so does one on a cluster of unknown speed.
    fn time_limit(&self, conditions: &Conditions) -> Option<Duration> {
        match conditions.within {
            Some(Limit(asked)) => asked,
            None if self.quick => Some(QUICK),
            None if self.climbs() => Some(ladder::WITHIN),
            None => {
                let usual = self.target.target.is_embedded().then_some(WITHIN);
                let is_long = self.publish || self.until.is_some();
                let limit = if is_long { Some(LONG) } else { usual };
                let is_sized = self.blocks.is_some() || self.count.is_some();
                limit.filter(|_| self.is_open() || (self.sweeps() && !is_sized))
            }
        }
    }

    /// What the embedded cluster is started with, as it was typed.
    fn serve_arguments(&self, with_tls: bool) -> Vec<String> {
        let [in_flight, over, shards] = self.numbers();
        let shards = if let [only] = shards { Some(*only) } else { None };
        let in_flight = most(in_flight) / most(over).max(1);
        let answers = self.answers.map(|how| ["--answers".to_owned(), how.on_connection(in_flight).to_string()]);
        let delay = match self.delay.as_ref().map(|all| all.0.as_slice()) {
            Some([only]) => Some(["--delay".to_owned(), only.clone()]),
            _ => None,
        };
        let tls = with_tls.then(|| "--tls".to_owned());
        let others = [answers, delay].into_iter().flatten().flatten().chain(tls);
        self.nodes.arguments(shards).into_iter().chain(others).collect()
    }
}

fn first<const N: usize>(given: [(&'static str, bool); N]) -> Option<&'static str> {
    given.into_iter().find_map(|(flag, given)| given.then_some(flag))
}

fn most(numbers: &[u64]) -> u64 {
    numbers.last().copied().unwrap_or(1)
}

/// What `--answers` takes.
#[derive(Clone, Copy, Debug)]
enum Writing {
    /// As Cassandra 5.0 writes (harness/cluster/ANSWERS.md).
    Cassandra,
    /// As the embedded cluster is told.
    As(Answers),
}

impl Writing {
    /// How a connection with so many statements in flight is answered.
    fn on_connection(self, in_flight: u64) -> Answers {
        match self {
            Writing::As(answers) => answers,
            Writing::Cassandra => {
                let most = usize::try_from(in_flight.isqrt()).unwrap_or(usize::MAX);
                Answers::UpTo(NonZeroUsize::new(most).unwrap_or(NonZeroUsize::MIN))
            }
        }
    }
}

fn answers(text: &str) -> Result<Writing, String> {
    match text {
        "cassandra" => Ok(Writing::Cassandra),
        "reordered" => {
            let serve = "`cqldyno serve --answers reordered`";
            Err(format!("answers are reordered by {serve} alone; start it, and name its address with --target"))
        }
        other => other.parse().map(Writing::As).map_err(|_| {
            format!("answers can be written batched, as cassandra does, each or at most COUNT per write, not {text:?}")
        }),
    }
}

/// What `--pass` takes.
fn passes() -> impl Iterator<Item = &'static str> {
    cqldyno_bench::passes().map(|(pass, _)| pass.name()).chain(["all", "none", "explain"])
}

/// The most loaders of a contender.
const MOST_LOADERS: u32 = 1_000;

/// What `--loaders` takes.
fn loaders(text: &str) -> Result<LoadersInfo, String> {
    let how = || format!("write how many there are, from 1 to {MOST_LOADERS}, or their hosts with commas between");
    let hosts: Vec<String> = match text.parse::<u32>() {
        Ok(_) => Vec::new(),
        Err(_) => text.split(',').map(|host| host.trim().to_owned()).collect(),
    };
    let is_named = hosts.iter().all(|host| !host.is_empty() && !host.contains(char::is_whitespace));
    let number = text.parse().or_else(|_| u32::try_from(hosts.len())).map_err(|_| how())?;
    let is_known = is_named && (1..=MOST_LOADERS).contains(&number);
    is_known.then(|| LoadersInfo { number, hosts, launch: String::new() }).ok_or_else(how)
}

fn settings(name: String) -> Settings {
    if name == "default" { Settings::Default } else { Settings::Equal }
}

fn consistency(text: &str) -> Result<Consistency, String> {
    let level = text.to_ascii_uppercase().replace('-', "_");
    serde_json::from_value(level.into()).map_err(|error| error.to_string())
}

fn noise_share(text: &str) -> Result<f64, String> {
    let share = parts(text).filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "write a share above 0, at most 100%, such as 10% or 0.1".to_owned())
}

/// What leaves a round out, and what ends a worker.
#[derive(Clone, Copy, Debug)]
struct AskedLimits {
    /// The share of the cores that others may use.
    noise: Option<f64>,
    /// How long a worker may issue nothing.
    stall: Duration,
    /// Resident memory in bytes.
    memory: Option<u64>,
}

/// Reads what `--limits` takes; what it does not name keeps its default.
fn limits(text: &str) -> Result<AskedLimits, String> {
    let (other, found) = options(text, &["noise", "stall", "memory"].map(|key| (key, ONE_PART)))?;
    if !other.is_empty() || found.is_empty() {
        return Err("write noise=SHARE or noise=none, stall=TIME and memory=BYTES with commas between".to_owned());
    }
    let usual = AskedLimits { noise: Some(NOISE_SHARE), stall: Deadlines::default().stall, memory: None };
    found.iter().try_fold(usual, |limits, (key, value)| {
        let limits = match *key {
            "noise" => or("none", noise_share)(value).map(|Limit(noise)| AskedLimits { noise, ..limits }),
            "stall" => patience(value).map(|stall| AskedLimits { stall, ..limits }),
            _ => bytes(value).map(|memory| AskedLimits { memory: Some(memory), ..limits }),
        };
        limits.map_err(|why| format!("{key} cannot be {value:?}: {why}"))
    })
}

/// The half width of an interval, as a share.
fn width(text: &str) -> Result<f64, String> {
    let share = text.ends_with('%').then(|| parts(text)).flatten().filter(|share| (0.001..=0.5).contains(share));
    share.ok_or_else(|| "write a percentage from 0.1% to 50%, such as 2% or 2.5%".to_owned())
}

pub fn milliseconds(text: &str) -> Result<u64, String> {
    let time = duration(text)?;
    let is_whole = !time.is_zero() && time.subsec_nanos() % 1_000_000 == 0;
    let ms = u64::try_from(time.as_millis()).ok().filter(|_| is_whole && time <= DAY);
    ms.ok_or_else(|| "write a whole number of milliseconds, from 1ms to a day (1440min)".to_owned())
}

pub fn blocks(text: &str) -> Result<u32, String> {
    let blocks = u32::try_from(count(text)?).ok().filter(|blocks| *blocks <= MOST_BLOCKS);
    blocks.ok_or_else(|| TOO_MANY.to_owned())
}

/// A contender whose driver is known, whether or not it is built here.
pub fn contender(text: &str, programs: &Programs) -> Result<Contender> {
    let contender: Contender = text.parse().map_err(usage)?;
    let name = contender.name();
    let can_be_built = || Builder::find().is_ok_and(|builder| builder.any_families(name).is_ok());
    if KNOWN.contains(&name) || programs.worker(name).is_ok() || can_be_built() {
        return Ok(contender);
    }
    Err(no_driver(name, programs))
}
