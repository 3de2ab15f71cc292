//! One call of `compare`, as it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::measure::{self, MeasureInfo};
use crate::model::ladder::LadderInfo;
use crate::quantity::whole;
use crate::text::{count, plain, short_hash, unique};
use crate::{Checksum, Pass, Setting};

/// The version of the result model that is written; version 1 is converted when it is read, and any other one is refused.
pub const SCHEMA_VERSION: u32 = 2;

pub(super) const OLDEST_VERSION: u32 = 1;

/// Ends the id and the label of a control that nobody named.
pub const CONTROL_MARK: &str = "#control";

/// A comparison: what was asked, of whom, on what machine. `run.json` of a run folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// The version of the result model, [`SCHEMA_VERSION`] of the program that wrote it.
    #[cfg_attr(test, schemars(range(min = SCHEMA_VERSION, max = SCHEMA_VERSION)))]
    pub schema: u32,
    /// The version of cqldyno.
    pub cqldyno: String,
    /// When it started.
    pub started: jiff::Timestamp,
    /// When it ended; absent while it runs.
    pub ended: Option<jiff::Timestamp>,
    /// Whether it was ended before its plan was.
    pub interrupted: bool,
    /// Which blocks it left out to end in time; absent if it has all of its plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
    /// The passes besides the timing blocks that it left out to end in time, in whole or in part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes_left_out: Vec<Pass>,
    /// When it went on after it was ended, broke off or was cut short.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<jiff::Timestamp>,
    /// The command that repeats the run; absent where nobody composed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// SHA-256 of cqldyno's executable, the embedded cluster included, in hexadecimal; empty if it could not be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub executable: String,
    /// What was asked.
    pub plan: PlanInfo,
    /// The machine.
    pub environment: Environment,
    /// Who was asked, in the order of the command line.
    pub contenders: Vec<Contender>,
    /// What was asked of each.
    pub scenarios: Vec<ScenarioInfo>,
    /// How the workers' builds differ in libraries, compiler and profile, a full sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<String>,
    /// What was measured; empty in runs of the first version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<MeasureInfo>,
    /// Shows that the cells are as they were measured; absent while the run has no end, and in runs of the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<Checksum>,
}

impl Run {
    /// The measure `id` as the run describes it, else as this version knows it.
    pub fn measure(&self, id: &str) -> Option<MeasureInfo> {
        let told = self.measures.iter().find(|measure| measure.id == id);
        told.cloned().or_else(|| measure::definition(id).map(MeasureInfo::from))
    }

    /// The load generators' builds, each once, as short hashes.
    pub(crate) fn load_generators(&self) -> String {
        let builds = self.contenders.iter().filter(|one| !one.build.is_empty());
        let builds: BTreeSet<&str> = builds.map(|one| short_hash(&one.build)).collect();
        Vec::from_iter(builds).join(" ")
    }

    /// The contenders as they were asked for: without the control, and without the number of one that was named twice.
    pub fn asked(&self) -> Vec<&str> {
        let all = self.contenders.iter().map(|row| row.id.as_str());
        let ids: Vec<&str> = all.filter(|id| !id.ends_with(CONTROL_MARK)).collect();
        let mut asked = ids.clone();
        for (at, id) in ids.iter().enumerate() {
            // A path may have a number sign of its own.
            let first = id.rsplit_once('#').map(|(first, _)| first).filter(|first| ids[..at].contains(first));
            asked[at] = first.unwrap_or(id);
        }
        asked
    }

    /// The contender of that id.
    pub fn contender(&self, id: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.id == id)
    }

    /// The drivers that are compared, without the control.
    pub(crate) fn drivers(&self) -> impl Iterator<Item = &Contender> + Clone {
        self.contenders.iter().filter(|one| one.role == Role::Driver && !one.control)
    }

    /// After a scenario's name: the arrangement if the run has several.
    pub(crate) fn on(&self, arrangement: &str) -> String {
        if self.plan.arrangements.len() > 1 { format!(" on {}", plain(arrangement)) } else { String::new() }
    }

    /// The generations of every scenario and arrangement: those of the plan, or fewer if the run was cut short.
    pub fn blocks(&self) -> u32 {
        self.cut_short.map_or(self.plan.blocks, |cut_short| cut_short.blocks)
    }

    /// Whether it came to its end: nobody stopped it, and it did not break off.
    pub fn is_complete(&self) -> bool {
        !self.interrupted && self.ended.is_some()
    }

    /// Whether nobody knows how many generations ran: they are as many as there was time for, and the run was ended before.
    pub(crate) fn is_open(&self) -> bool {
        self.cut_short.is_none() && !self.is_complete()
    }

    /// The statements of a timing cell or a turn: one number, or the least and the greatest if scenarios have limits of their own.
    pub fn statements(&self, shown: impl Fn(u64) -> String) -> String {
        let issued = self.plan.issued_in(self.plan.blocks);
        let of = |one: &ScenarioInfo| one.count(issued).div_ceil(self.rounds(one).max(1).into());
        self.of_scenarios(of, shown)
    }

    /// The rounds of a generation of the scenario: one if its contenders lived one after the other.
    pub fn rounds(&self, scenario: &ScenarioInfo) -> u32 {
        if scenario.apart.is_some() { 1 } else { self.plan.turns.rounds }
    }

    /// The statements in flight in the same way, for example `1 to 64 in flight`, and how many loaders issue them.
    pub fn in_flight(&self) -> String {
        let number = self.of_scenarios(|one| one.in_flight(self.plan.concurrency), |number| whole(number as f64));
        let loaders = self.plan.loaders.as_ref();
        let from = loaders.map(|loaders| format!(" from {}", count(loaders.number.into(), "loader")));
        format!("{number} in flight{}", from.unwrap_or_default())
    }

    /// The statements before each window in the same way.
    pub(crate) fn warmup(&self) -> String {
        self.of_scenarios(|one| one.warmup(self.plan.warmup), |number| whole(number as f64))
    }

    fn of_scenarios(&self, of: impl Fn(&ScenarioInfo) -> u64, shown: impl Fn(u64) -> String) -> String {
        let numbers: BTreeSet<u64> = self.scenarios.iter().map(of).collect();
        let ends = [numbers.first(), numbers.last()].into_iter().flatten();
        unique(ends.map(|number| shown(*number))).join(" to ")
    }

    /// How many generations ran of every scenario and arrangement, for example `12 generations`; `generations` if nobody knows.
    pub fn generations(&self) -> String {
        if self.is_open() { "generations".to_owned() } else { count(self.blocks().into(), "generation") }
    }

    /// How much was run of every scenario and arrangement, for example `12 generations of 5 rounds of 50,000 statements`.
    pub fn size(&self) -> String {
        let statements = self.statements(|number| whole(number as f64));
        format!(
            "{} of {} of {statements} statements",
            self.generations(),
            count(self.plan.turns.rounds.into(), "round")
        )
    }
}

/// The generations that a run left out to end in time.
///
/// It is a finished run: every scenario and arrangement has as many, and the other passes are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CutShort {
    /// The time limit in milliseconds, since the run began or last went on.
    pub within_ms: u64,
    /// The generations that ran; the plan has how many were asked for.
    pub blocks: u32,
    /// The estimated time of the missing ones, in milliseconds.
    pub missing_ms: u64,
}

/// A run that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Written by another version of the program.
    #[error(
        "the run has schema version {found} and this cqldyno reads versions {OLDEST_VERSION} to \
         {SCHEMA_VERSION}; render it with the version of \
         cqldyno that wrote it, or run the comparison again"
    )]
    Version {
        /// The version that was found.
        found: u32,
    },
    /// Not the JSON form of a run.
    #[error("a run in JSON was expected, as `run.json` of a run folder holds it: {0}")]
    NotARun(serde_json::Error),
}

/// What was asked for, equal for all contenders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlanInfo {
    /// Chooses the order of keys and of contenders.
    pub seed: u64,
    /// The statements that were asked for, by which passes are sized.
    pub count: u64,
    /// How contenders take turns.
    pub turns: TurnsInfo,
    /// Statements of each contender in all turns together; absent if there were as many as there was time for. A run of an earlier version
    /// has none either: each of its generations was one turn of all statements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// Whether all statements of a generation were asked for in one turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Statements per counting cell; 0 without a counting pass.
    pub counting_count: u64,
    /// Statements per second of the latency pass; absent for half of what the slowest driver reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// The passes after the generations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passes: Vec<Pass>,
    /// Statements in flight.
    pub concurrency: u64,
    /// The orders of functions that generations of the drivers' workers take turns with; absent for workers as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layouts: Option<u32>,
    /// Generations; the most of them without a total.
    pub blocks: u32,
    /// The share of the cores' time, from 0 to 1, that steal and other processes may take in a round that counts; absent for no limit.
    #[serde(default)]
    pub noise_share: Option<f64>,
    /// The run's time limit in milliseconds; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_ms: Option<u64>,
    /// The half width, as a share, at which the run ends once no interval of CPU time is wider; absent if widths do not end it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// Statements before the window.
    pub warmup: u64,
    /// Data connections per node.
    pub connections: u64,
    /// Rows per page.
    pub page_size: i32,
    /// Consistency of every statement.
    pub consistency: String,
    /// The client's time limit per statement, in milliseconds; absent for none.
    #[serde(default)]
    pub request_timeout_ms: Option<u64>,
    /// `equal` or `default`.
    pub settings: String,
    /// Whether the contenders were named, so that short tables show floor and noop, too; absent if all drivers run by default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// The contenders as they were named if one of them, such as `scylla@all`, stands for many releases; else empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub releases: Vec<String>,
    /// Whether only counts were wanted: times of the timing cells are kept and not shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact: bool,
    /// Whether each scenario is a bad day: its statements start at the rate, and errors and differences of counts are figures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub faults: bool,
    /// What the highest rate is searched for with; absent for a run that searches none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ladder: Option<LadderInfo>,
    /// The id of the contender that ratios are taken against; absent if there is none.
    pub reference: Option<String>,
    /// Further arguments of the embedded cluster, for example `--answers each`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serve_arguments: Vec<String>,
    /// How long a worker may issue nothing in the window before it is ended, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_ms: Option<u64>,
    /// Resident memory at which a worker is ended; absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// Whether a user logged in; never who.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_user: bool,
    /// How connections were encrypted; absent for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsInfo>,
    /// The datacenter whose nodes got the statements; absent for the nodes of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// The replicas that were asked for in the place of those of the scenarios' schemas, such as `3` or `dc1=3,dc2=2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replication: Option<String>,
    /// Whether keyspaces that existed were used, and all stayed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// Keyspaces of an existing cluster that are the run's own and may be there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keyspaces: Vec<String>,
    /// How client and server sat on the machine.
    pub arrangements: Vec<ArrangementInfo>,
    /// Who answered.
    pub target: TargetInfo,
    /// The loaders that share the load of each contender; absent for one worker beside cqldyno.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaders: Option<LoadersInfo>,
}

/// Several workers of each contender, each behind a launcher command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoadersInfo {
    /// How many there are of each contender.
    pub number: u32,
    /// Their hosts, as they were named; empty if only their number was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The launcher command; `{host}` in it stands for the host. Empty for loaders that cqldyno starts itself.
    pub launch: String,
}

/// How connections were encrypted. No file is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TlsInfo {
    /// Whether the nodes' certificates were verified.
    pub verified: bool,
    /// Whether clients showed a certificate of their own.
    pub client_certificate: bool,
}

/// The turns of a generation: contenders that are alive at once take them in rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TurnsInfo {
    /// Statements of a turn at most.
    pub count: u64,
    /// Rounds of a generation.
    pub rounds: u32,
}

impl PlanInfo {
    /// The run's time limit.
    pub fn within(&self) -> Option<Duration> {
        self.within_ms.map(Duration::from_millis)
    }

    /// Sets the run's time limit.
    pub fn limit(&mut self, within: Option<Duration>) {
        self.within_ms = within.and_then(|time| u64::try_from(time.as_millis()).ok());
    }

    /// What follows a flag in the arguments of the embedded cluster.
    pub fn serve_argument(&self, flag: &str) -> Option<&str> {
        self.serve_arguments.iter().skip_while(|word| *word != flag).nth(1).map(String::as_str)
    }

    /// Whether each generation issues all statements in one turn, as in runs of earlier versions.
    pub fn repeats_all(&self) -> bool {
        self.total.is_none() && self.turns.rounds == 1
    }

    /// Whether as many generations ran as there was time for.
    pub fn is_open(&self) -> bool {
        self.total.is_none() && !self.repeats_all()
    }

    /// Statements of a timing cell, or of a turn: the longest one of a total.
    pub fn statements(&self) -> u64 {
        self.issued_in(self.blocks).div_ceil(self.turns.rounds.max(1).into())
    }

    /// Statements of each contender in the generation with this number, from 1, before the limits of its scenario.
    pub fn issued_in(&self, generation: u32) -> u64 {
        let TurnsInfo { count, rounds } = self.turns;
        self.total.map_or(count.saturating_mul(rounds.into()), |total| share(total, self.blocks, generation))
    }
}

/// The part with this number, from 1, of so many `parts` that share `all` as evenly as can be.
pub fn share(all: u64, parts: u32, number: u32) -> u64 {
    let edge = |number: u32| u128::from(all) * u128::from(number) / u128::from(parts.max(1));
    (edge(number) - edge(number.saturating_sub(1))) as u64
}

/// How client and server sit on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ArrangementInfo {
    /// As on the command line, for example `multi:2` or `pinned+multi:1`.
    pub id: String,
    /// The worker's async runtime, for example `multi:2` or `current`.
    pub runtime: String,
    /// The cores that the worker may use.
    pub worker_cores: Vec<u32>,
    /// The cores that the server may use; empty if it is not ours.
    pub server_cores: Vec<u32>,
    /// What a reader must know about the cores, as a full sentence, for example why worker and server share them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Who answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetInfo {
    /// `embedded` or the addresses, as on the command line.
    pub id: String,
    /// What it says of itself, for example `embedded, release 5.0`; never a password.
    pub about: String,
    /// Whether it is the embedded cluster, which counts requests.
    pub embedded: bool,
}

/// How the target of a Cassandra that was started for the run describes itself.
const STARTED: &str = "Apache Cassandra ";

impl TargetInfo {
    /// A Cassandra that was started for the run, in words: release, nodes, heap and place.
    pub(crate) fn started(&self) -> Option<&str> {
        self.about.starts_with(STARTED).then(|| self.about.split("; ").next().unwrap_or_default())
    }
}

/// The machine and the build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Environment {
    /// The processor's model.
    pub cpu: String,
    /// Cores that the program may use.
    pub cores: u32,
    /// Main memory in bytes.
    pub memory_bytes: u64,
    /// The kernel's name and release, for example `Linux 6.18.0`.
    pub kernel: String,
    /// The compiler of cqldyno itself.
    pub compiler: String,
    /// `release` or `debug`.
    pub profile: String,
    /// Further facts by name, for example `load average at start`, `steal`, `governor`.
    #[serde(default)]
    pub more: BTreeMap<String, String>,
}

/// A row of a table: a driver at a version with settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Contender {
    /// As on the command line, unique in the run, for example `scylla` or `cassandra-cpp+lib=/opt/lib`.
    pub id: String,
    /// With its exact versions, for example `cassandra-cpp@3.0.2+lib=scylla-2.16.2`; the id if it did not state them.
    pub label: String,
    /// What it is in a comparison.
    pub role: Role,
    /// Whether it is another contender of the run once more, under a second name.
    #[serde(default)]
    pub control: bool,
    /// The driver's exact version; empty if it did not state one.
    pub version: String,
    /// The language that programs use the driver from; absent for Rust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Libraries that shape the figure, with exact versions.
    pub libraries: Vec<Library>,
    /// What the driver makes of the settings asked for.
    pub settings: Vec<Setting>,
    /// Advantages and handicaps here, each a full sentence.
    pub caveats: Vec<String>,
    /// Identifies the sources of the worker's load generator; empty if it did not state them.
    pub build: String,
    /// SHA-256 of the worker's executable, adapter included, in hexadecimal; empty if it could not be read.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub executable: String,
    /// The worker's compiler; empty if it did not state one.
    #[serde(default)]
    pub compiler: String,
    /// The statements that it has in flight, if its connections take fewer than [`PlanInfo::concurrency`]; it then has no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u64>,
    /// SHA-256 of its workers with other orders of functions, which generations take turns with; empty if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layouts: Vec<String>,
    /// How its worker was built; absent if it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub built: Option<BuiltOnDemand>,
    /// Why it could not run at all, as a full sentence; it then has no cells.
    pub unavailable: Option<String>,
}

/// How a worker was built on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BuiltOnDemand {
    /// The adapter, by its folder, for example `drivers/scylla/0.3`.
    pub adapter: String,
    /// The version that was asked for, for example `0.5` or `path:../checkout`; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The commit of the driver's own sources; absent for a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Whether files differed from the commit's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dirty: bool,
    /// Dependencies of which a version was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dependencies: BTreeMap<String, String>,
    /// The allocator that was asked for; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocator: Option<String>,
    /// The link-time optimisation that was asked for; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lto: Option<String>,
    /// The timer of tokio that was asked for; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer: Option<String>,
    /// The order of functions that was asked for, from 1 on; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    /// A digest of everything that it was built from.
    pub key: String,
    /// The run folder's copy of its lock file, for example `locks/scylla-0.3.1.lock`.
    pub lock_file: String,
}

/// What a contender is in a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A driver that is compared.
    #[default]
    Driver,
    /// Ours: the least that a client can cost on this machine.
    Floor,
    /// Ours: what the harness itself costs.
    Noop,
}

/// A library at work in a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Library {
    /// Its name.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// Its origin if that is not the lock file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// What is asked of every contender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ScenarioInfo {
    /// Its name.
    pub name: String,
    /// Its sentence.
    pub about: String,
    /// SHA-256 of its canonical form, in hexadecimal.
    pub hash: String,
    /// Its statement, and limits below the plan's; absent if there is nothing to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Why its contenders lived one after the other, as a full sentence; absent if they were alive together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<String>,
    /// The ids of contenders that it leaves out, with the reason as a full sentence.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub left_out: BTreeMap<String, String>,
    /// Which point of a sweep it is; absent if it is of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<PointInfo>,
    /// The scenario itself, in its JSON form; absent in runs of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
}

impl ScenarioInfo {
    /// What all of its points have in common; its own name if it is of no sweep.
    pub fn kind(&self) -> &str {
        self.point.as_ref().map_or(&self.name, |point| &point.of)
    }

    /// Statements of one of its cells if `asked` are asked for: its own limit may be lower.
    pub fn count(&self, asked: u64) -> u64 {
        self.limited("count", asked)
    }

    /// Statements before the window if `asked` are asked for.
    pub(crate) fn warmup(&self, asked: u64) -> u64 {
        self.limited("warmup", asked)
    }

    /// Statements in flight if `asked` are asked for.
    pub(crate) fn in_flight(&self, asked: u64) -> u64 {
        let submit = self.definition.as_ref().and_then(|one| one.get("submit"));
        match submit.is_some_and(|way| way == "sequential") {
            true => 1,
            false => self.limited("concurrency", self.point.as_ref().map_or(asked, |point| asked.min(point.in_flight))),
        }
    }

    fn limited(&self, what: &str, asked: u64) -> u64 {
        let limit = self.definition.as_ref().and_then(|one| one.get("limits")?.get(what)?.as_u64());
        limit.map_or(asked, |most| asked.min(most))
    }
}

/// One combination of the numbers of a sweep that a scenario was run with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointInfo {
    /// What all of its points have in common: the scenario, with its way of submitting.
    pub of: String,
    /// Statements in flight.
    pub in_flight: u64,
    /// Data connections per node; absent for one per shard of the point, or for [`PlanInfo::connections`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u64>,
    /// Shards of each embedded node; absent for those of [`PlanInfo::serve_arguments`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// Nanoseconds by which the embedded cluster delays each answer; absent for those of [`PlanInfo::serve_arguments`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ns: Option<u64>,
    /// The ids of contenders in which some of the statements wait, with the reason as a clause.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub waits: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_another_schema_version_is_refused_with_what_to_do() {
        let error = Run::from_json(r#"{"schema": 99, "later": true}"#).unwrap_err().to_string();
        assert!(error.starts_with("the run has schema version 99 and this cqldyno reads versions 1 to 2"), "{error}");
        assert!(error.contains("run the comparison again"), "{error}");
    }

    #[test]
    fn what_is_no_run_is_refused() {
        for text in ["", "[]", "{}", r#"{"schema": 1}"#] {
            let error = Run::from_json(text).unwrap_err().to_string();
            assert!(error.starts_with("a run in JSON was expected"), "{text}: {error}");
        }
    }
}
