//! What `compare` is asked.

mod conflicts;
mod generator;
mod ladder;
mod releases;
mod values;

use std::time::Duration;

use anyhow::Result;
use clap::builder::{ArgPredicate, PossibleValuesParser, TypedValueParser};
use cqldyno_bench::builder::Builder;
use cqldyno_bench::{Arrangement, CONCURRENCY, Contender, KNOWN, Pin, Programs, Target};
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_reports::{LadderInfo, LoadersInfo, Pass};

use crate::access::{Access, AskedTarget};
use crate::count::{Delays, Limit, Numbers, blocks, count, count_or_none, delays, milliseconds, numbers, or, patience};
use crate::heading::{LIMITS, OUTPUT, SETUP, SIZE, WHAT};
use crate::known::Known;
use crate::names::drivers::{self, no_driver};
use crate::names::scenarios;
use crate::nodes::Nodes;
use crate::outcome::usage;
use crate::plan::ladder::AskedRate;
use crate::plan::values::{AskedLimits, Writing, answers, consistency, limits, loaders, passes, settings, width};

/// The arrangements of a run for publication.
const PUBLISHED_ARRANGEMENTS: &str = "multi:2,current";
/// The passes that say why a driver is dearer.
pub const EXPLAINING_PASSES: [Pass; 3] = [Pass::Syscalls, Pass::Allocations, Pass::Flamegraph];

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

/// What the flags say.
impl Asked {
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

    /// The numbers in flight, those of connections and those of shards; none of the last two for the defaults.
    fn numbers(&self) -> [&[u64]; 3] {
        let given = [(&self.concurrency, &[CONCURRENCY][..]), (&self.connections, &[]), (&self.shards, &[])];
        given.map(|(numbers, usual)| numbers.as_ref().map_or(usual, |numbers| numbers.0.as_slice()))
    }

    /// Whether there are several of them, so that points of a sweep are asked for.
    fn is_numbered(&self) -> bool {
        self.numbers().iter().any(|numbers| numbers.len() > 1)
    }

    /// Whether curves over the number in flight are asked for.
    pub fn sweeps(&self) -> bool {
        self.numbers()[0].len() > 1
    }

    /// Whether floor speaks the target's protocol.
    pub fn has_floor(&self) -> bool {
        !matches!(self.target.target, Target::Postgres(_))
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

    fn is_whole(&self) -> bool {
        matches!(self.turn, Some(Limit(None)))
    }

    /// What to know before the run starts.
    pub fn remark(&self) -> Option<&'static str> {
        self.quick
            .then_some("--quick gives figures in about 30 s, without intervals and verdicts; leave it out for those.")
    }
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
