//! A turn of a worker, as files hold it: the only one of a cell, or one of several.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

pub use cqldyno_measure::Pass;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{ByName, Measure, measure, plain};

/// A turn of a worker, or its only one: who, on what, and what was read off. One line of `cells.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cell {
    /// [`crate::Contender::id`].
    pub contender: String,
    /// The contender's label, for example `scylla@1.9.0`.
    pub label: String,
    /// [`crate::ScenarioInfo::name`].
    pub scenario: String,
    /// [`crate::ScenarioInfo::hash`].
    pub scenario_hash: String,
    /// [`crate::ArrangementInfo::id`].
    pub arrangement: String,
    /// The generation, from 1; of other passes than timing the repetition.
    pub block: u32,
    /// The kind of figures that the cell is for.
    pub pass: Pass,
    /// From 1; more if its generation broke off and ran again.
    pub attempt: u32,
    /// The round of the generation, from 1; absent in other passes than timing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Whether other turns of its worker followed. The last one has what holds for all of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// What its round had of the cores; the last turn of a round has it, unless [`crate::PlanInfo::noise_share`] is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<RoundCores>,
    /// Each loader's part, if several shared the load; the figures of the cell are their sums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaders: Vec<LoaderPart>,
    /// When it started.
    pub started: jiff::Timestamp,
    /// What was measured, keyed with the ids of [`crate::measure`].
    pub measures: ByName<Measure>,
    /// Statements issued per statement name of the scenario.
    #[serde(default)]
    pub issued_by_statement: ByName<u64>,
    /// The window in seconds.
    #[serde(default)]
    pub series: crate::Series,
    /// Which of several cells per contender its pass runs; absent for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Figures per statement by kind and name, for example `syscalls` per system call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub breakdowns: BTreeMap<String, BTreeMap<String, f64>>,
    /// Files of the cell by kind, relative to the run folder.
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    pub files: ByName<String>,
    /// Latency of the answered statements, from issue to answer.
    #[serde(default)]
    pub latency: Option<Latency>,
    /// Errors per kind, with the first message of each.
    #[serde(default)]
    pub error_kinds: Vec<ErrorLine>,
    /// Settings as the driver took them in this cell.
    #[serde(default, deserialize_with = "Setting::read_shared")]
    pub settings: &'static [Setting],
    /// Findings that do not void the cell, each a full sentence.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Why the cell's figures must not be compared, as a full sentence: an error, a wrong row, a count that differs.
    #[serde(default)]
    pub void: Option<String>,
    /// Why there are no figures, as a full sentence.
    #[serde(default)]
    pub failed: Option<String>,
    /// The worker's log, relative to the run folder.
    #[serde(default)]
    pub log: Option<String>,
}

impl Cell {
    /// The figure of the measure `id`, if there is one.
    pub fn get(&self, id: &str) -> Option<f64> {
        self.measures.get(id).and_then(Measure::get)
    }

    /// Whether its figures may be compared: it ran to its end and nothing voids it.
    pub fn counts(&self) -> bool {
        self.failed.is_none() && self.void.is_none()
    }

    /// Errors of the cell; 0 if they were not counted.
    pub fn errors(&self) -> u64 {
        self.get(measure::ERRORS).map_or(0, |errors| errors as u64)
    }
}

/// What one of several loaders did in a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LoaderPart {
    /// The host as it was named, else its own name and the loader's number.
    pub host: String,
    /// Cores that the loader may use.
    pub cores: u32,
    /// The release of its kernel.
    pub kernel: String,
    /// How far its clock is ahead of that of cqldyno, in nanoseconds; 0 if they share one.
    pub clock_ahead_ns: i64,
    /// The most that this may be wrong by, in nanoseconds: half of the shortest round trip.
    pub clock_error_ns: u64,
    /// How long after the first loader it began, in microseconds.
    pub began_after_us: f64,
    /// How long before the last loader it ended, in microseconds.
    pub ended_before_us: f64,
    /// What was read there.
    pub measures: ByName<Measure>,
}

/// Percentiles of the latency of a cell's answered statements, in microseconds.
///
/// Outside [`Pass::Latency`] the load is a closed loop: by Little's law they then are throughput and belong to no comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latency {
    /// Half of the statements took at most this.
    pub p50_us: f64,
    /// 90 % took at most this.
    pub p90_us: f64,
    /// 99 % took at most this.
    pub p99_us: f64,
    /// 99.9 % took at most this.
    pub p999_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// What a round had of the cores that its workers and nodes may use, or why that is not known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum RoundCores {
    /// What was found.
    Found {
        /// How many cores there are.
        cores: u32,
        /// The loader's host that they are of, which is the one where others used most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
        /// How long the round took, in seconds.
        wall_s: f64,
        /// CPU time of other processes on these cores in the round, in seconds.
        others_s: f64,
        /// Their time that the hypervisor gave to others, in seconds.
        steal_s: f64,
        /// CPU time per statement in the round of floor and its own node, in microseconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        witness_us: Option<f64>,
    },
    /// Nothing.
    Unknown {
        /// Why, as a full sentence.
        unavailable: String,
    },
}

/// What others used is known to some hundredths of a second: the kernel samples it at its ticks.
const RESOLUTION_SECONDS: f64 = 0.05;

impl RoundCores {
    /// Why the cores were busy if others may use such a `share` of them, as the rest of a sentence; `None` if they were not.
    pub(crate) fn busy(&self, share: f64) -> Option<String> {
        let (cores, host, wall_s, used_s) = match self {
            RoundCores::Unknown { unavailable } => return Some(plain(unavailable.trim_end_matches('.'))),
            RoundCores::Found { cores, host, wall_s, others_s, steal_s, .. } => {
                (*cores, host, *wall_s, others_s + steal_s)
            }
        };
        let used = used_s / (wall_s * f64::from(cores));
        // Without cores, or without time, it is no number.
        let is_free = used < share || used_s <= RESOLUTION_SECONDS;
        let of = host.as_ref().map_or_else(String::new, |host| format!(" of {}", plain(host)));
        (!is_free).then(|| format!("others used {:.0} % of the cores{of}", used * 100.0))
    }
}

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorLine {
    /// The kind, as the worker protocol names it.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// The first one's message.
    pub first: String,
}

/// One of the settings that are equal for all, with the driver's value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// What the driver runs with.
    pub value: String,
    /// Whether that is what was asked.
    pub as_asked: bool,
}

impl Setting {
    /// The only copy of these settings in the process, for [`crate::Cell::settings`].
    pub fn shared(settings: Vec<Setting>) -> &'static [Setting] {
        static COPIES: Mutex<BTreeSet<&[Setting]>> = Mutex::new(BTreeSet::new());
        cqldyno_measure::shared(&COPIES, settings)
    }

    pub(super) fn read_shared<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static [Setting], D::Error> {
        Vec::deserialize(deserializer).map(Setting::shared)
    }
}
