//! What a worker is played with: a node in this process with its tables and rows, and the job.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use cqldyno_cluster::{Delay, Node, NodeOptions, Snapshot};
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{Done, Job, Mode, Runtime, Tape};
use cqldyno_scenarios::{Scenario, Workload};
use tempfile::{NamedTempFile, TempPath};

use crate::judge::Evidence;
use crate::judge::agreement::Counted;
use crate::judge::latency::read;
use crate::plan::pass::{Load, Shape};
use crate::plan::tape;
use crate::process::failure::CellFailure;

/// Data connections to the node: one more than a worker has by itself.
pub(super) const CONNECTIONS: usize = 2;
/// Rows per page.
const PAGE_SIZE: u32 = 5_000;
/// Chooses the order of the keys.
const SEED: u64 = 1;
/// How often progress is asked for.
const PROGRESS_MS: u64 = 500;
/// What is added to the values that are loaded, so that nobody knows them beforehand.
const SHIFT: i64 = 271_828_183;

/// The share of the slots that has a statement in flight on average: some while a runtime starts on a busy machine, and no more than all.
const BUSY: RangeInclusive<f64> = 0.25..=1.05;

/// A node with tables, and what is asked of the worker.
pub(super) struct Stage {
    /// None for a worker that sends nothing.
    pub node: Option<Node>,
    pub scenario: Scenario,
    pub workload: Workload,
    pub load: Load,
    /// Data connections that are asked for.
    pub connections: usize,
    pub tape: Option<TempPath>,
}

impl Stage {
    /// A fresh node that answers after `delay`, if the worker needs one, without tables yet; and an empty tape, if it `plays` one.
    pub(super) fn new(
        scenario: &Scenario,
        load: Load,
        (is_offline, plays): (bool, bool),
        delay: Delay,
    ) -> Result<Stage, CellFailure> {
        let mut scenario = scenario.shifted(SHIFT);
        scenario.page_size = Some(PAGE_SIZE);
        let load = load.within(&scenario);
        let workload = Workload::new(&scenario, load.count, load.warmup, SEED);
        let workload = workload.map_err(|error| CellFailure::Machine(error.to_string()))?;
        let node = || {
            Node::start(NodeOptions { delay, ..NodeOptions::default() })
                .map_err(|error| CellFailure::Server(error.to_string()))
        };
        let node = (!is_offline).then(node).transpose()?;
        let tape = plays.then(|| NamedTempFile::with_prefix("cqldyno-tape-")).transpose().map_err(|error| {
            CellFailure::Machine(format!("a temporary file for the worker's tape could not be made: {error}"))
        })?;
        let tape = tape.map(NamedTempFile::into_temp_path);
        Ok(Stage { node, scenario, workload, load, connections: CONNECTIONS, tape })
    }

    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        self.node.as_ref().map(Node::stats)
    }

    /// What the node counted since then.
    pub(super) fn counted(&self, before: Option<&Snapshot>) -> Option<Counted> {
        Some(Counted::between(before?, &self.snapshot()?, &self.scenario))
    }

    /// The job of the worker, or of floor beside it.
    pub(super) fn job(&self, mode: Mode, turns: u32) -> Job {
        let mut scenario = self.scenario.clone();
        if mode != Mode::ReadBack {
            // Nobody else need know what is read back.
            scenario.statements.iter_mut().for_each(|statement| statement.read_back = None);
        }
        let is_floors = mode != Mode::Measure;
        Job {
            mode,
            scenario,
            count: self.load.count,
            turns,
            warmup: self.load.warmup,
            concurrency: self.load.concurrency,
            rate: if let Shape::AtRate(rate) = self.load.shape { Some(rate) } else { None },
            seed: SEED,
            runtime: if is_floors { Runtime::Current } else { Runtime::Multi { workers: 2 } },
            target: self.node.iter().map(Node::address).collect(),
            credentials: None,
            tls: None,
            datacenter: None,
            connections: if is_floors { 1 } else { self.connections },
            consistency: Consistency::LocalOne,
            page_size: PAGE_SIZE.cast_signed(),
            request_timeout_ms: None,
            settings: Settings::Equal,
            options: BTreeMap::new(),
            progress_ms: PROGRESS_MS,
            trace: None,
            slice: None,
            tape: self
                .tape
                .as_ref()
                .filter(|_| mode != Mode::ReadBack)
                .map(|path| Tape { path: path.to_path_buf(), statements: tape::types(&self.scenario) }),
        }
    }

    /// Every deviation of a window of `asked` statements, as a run finds it.
    pub(super) fn deviations(
        &self,
        asked: u64,
        (done, wall_ns): (&Done, u64),
        counted: Option<&Counted>,
        due: usize,
    ) -> Vec<String> {
        let evidence = Evidence {
            uncommitted: &[],
            workers: 1,
            is_bad_day: false,
            is_encrypted: false,
            scenario: &self.scenario,
            workload: &self.workload,
            load: &self.load,
            asked,
            done,
            wall_ns,
            counted,
            connections: counted.map(|counted| (counted.connections, due as u64, 1)),
        };
        evidence.voids().into_iter().chain(histogram(done)).collect()
    }
}

/// Why the histogram of a window does not have every answer, if there is one.
pub(super) fn histogram(done: &Done) -> Option<String> {
    match read(done.histogram.as_deref()?) {
        Err(why) => Some(why),
        Ok(histogram) if histogram.len() != done.answered => Some(format!(
            "The histogram has {} latencies, and the worker says that {} statements were answered.",
            histogram.len(),
            done.answered
        )),
        Ok(_) => None,
    }
}

/// Why the latencies of a window of `wall_ns` cannot be true, if so: as long as every slot has a statement in flight, their sum is
/// the time of all slots (Little's law). A slot may be idle while the worker waits for a core.
pub(super) fn untimely(done: &Done, wall_ns: u64, slots: usize) -> Option<String> {
    let histogram = read(done.histogram.as_deref()?).ok()?;
    let in_flight = histogram.mean() * histogram.len() as f64 / wall_ns.max(1) as f64;
    (!BUSY.contains(&(in_flight / slots as f64))).then(|| {
        format!(
            "According to its latencies and `wall_ns`, {in_flight:.1} statements were in flight on average; {slots} were asked for."
        )
    })
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine};
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Serializer, V2Serializer};

    use super::*;

    #[test]
    fn latencies_of_all_slots_together_are_the_time_of_the_window() {
        let said = |latency_ns| {
            let mut latencies = Histogram::<u64>::new(3).unwrap();
            latencies.record_n(latency_ns, 4_000).unwrap();
            let mut bytes = Vec::new();
            V2Serializer::new().serialize(&latencies, &mut bytes).unwrap();
            let done = Done { histogram: Some(BASE64_STANDARD.encode(bytes)), ..Done::default() };
            untimely(&done, 100_000_000, 64)
        };
        // Each of 64 slots has 62.5 of 4,000 statements in 100 ms.
        assert_eq!((said(1_600_000), said(800_000)), (None, None));
        let sentence =
            "According to its latencies and `wall_ns`, 4.0 statements were in flight on average; 64 were asked for.";
        assert_eq!(said(100_000).unwrap(), sentence);
        assert!(said(2_000_000).is_some(), "more than there are slots");
    }
}
