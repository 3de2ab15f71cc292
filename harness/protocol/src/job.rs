//! Messages from the parent.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;

use cqldyno_driver_api::{Capability, Consistency, Credentials, Settings, Tls};
use cqldyno_scenarios::{Operation, Scenario};
use serde::{Deserialize, Serialize};

/// A message from the parent to a worker, on the worker's standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParentMessage {
    /// What to run; the answer to `hello`.
    Job(Box<Job>),
    /// Start the window of a turn; the answer to `ready`, and to `done` if there are further turns.
    Go {
        /// When to start, by CLOCK_MONOTONIC in nanoseconds; absent for at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ns: Option<u64>,
    },
    /// The parent has read its meters; the answer to `end`.
    Ack,
    /// End this turn early: issue no more, wait for the statements in flight, then `end` as usual.
    Stop,
}

/// What one cell runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Job {
    /// What the statements are for.
    pub mode: Mode,
    /// The statements.
    pub scenario: Scenario,
    /// Statements of all turns together.
    pub count: u64,
    /// How many turns share them, each with a `go` of its own; at least 1. More only for a worker that takes turns.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub turns: u32,
    /// Statements before the first turn, on keys outside of it.
    pub warmup: u64,
    /// Statements in flight; at a rate the most of them.
    pub concurrency: usize,
    /// Statements per second to start in the window, independently of the answers (an open loop). Absent for a closed loop, in which
    /// each answer starts the next statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Chooses the order of the keys.
    pub seed: u64,
    /// The async runtime that the driver runs on.
    pub runtime: Runtime,
    /// Addresses of the cluster's nodes.
    pub target: Vec<SocketAddr>,
    /// User and password, if the cluster asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Encrypt all connections; absent for plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// The datacenter whose nodes get the statements; absent for the nodes of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
    /// Data connections per node.
    pub connections: usize,
    /// Consistency of every statement.
    pub consistency: Consistency,
    /// Rows per page.
    pub page_size: i32,
    /// The client's own time limit per statement, in milliseconds; absent is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_timeout_ms: Option<u64>,
    /// Equal settings or the driver's own.
    pub settings: Settings,
    /// Options of the contender (`NAME+KEY=VALUE`).
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// How often to report `progress`, in milliseconds; 0 for never.
    pub progress_ms: u64,
    /// Has the worker keep track of single statements. Needs a rate, or the mode `read_back`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// The part of the tickets that this worker issues where several share them; absent for all. Needs the mode `measure`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Slice>,
    /// What is issued, and what must come back, for a worker that plays it; in the mode `load` the tape to write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tape: Option<Tape>,
}

impl Job {
    /// The worker's own tickets of `0..count`.
    pub fn share(&self, count: u64) -> Range<u64> {
        self.slice.map_or(0..count, |slice| slice.tickets(count))
    }

    /// Its own ones of the turn `nth`, from 0: each turn is shared by itself.
    pub fn share_of_turn(&self, count: u64, nth: u32) -> Range<u64> {
        let turn = tickets(count, self.turns, nth);
        let own = self.share(turn.end - turn.start);
        turn.start + own.start..turn.start + own.end
    }
}

/// One of several equal parts of a job's tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Slice {
    /// Which one, from 0.
    pub part: u32,
    /// How many there are.
    pub of: u32,
}

impl Slice {
    /// Its part of `count`, in their order; parts differ by one at most.
    pub fn tickets(self, count: u64) -> Range<u64> {
        tickets(count, self.of, self.part)
    }
}

/// A file with every statement of a job: its bound values, and the rows that must come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tape {
    /// Its absolute path.
    pub path: PathBuf,
    /// The types of each statement of the scenario, in its order.
    pub statements: Vec<TapeTypes>,
}

/// The types of a statement's values, as CQL writes them; those of a user-defined type are `udt<int, text>`, in the order of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TapeTypes {
    /// Of each bind marker.
    pub values: Vec<String>,
    /// Of each column that comes back; none if no rows are due.
    pub columns: Vec<String>,
}

/// How single statements are kept track of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trace {
    /// How long after the last statement's intended start answers are waited for, in milliseconds. Statements without one by then
    /// are unanswered.
    pub patience_ms: u64,
}

/// The tickets of the turn `nth` (from 0) where `turns` share the tickets `0..count`, in their order and as evenly as can be.
pub fn tickets(count: u64, turns: u32, nth: u32) -> Range<u64> {
    let edge = |nth: u32| (u128::from(count) * u128::from(nth) / u128::from(turns.max(1))) as u64;
    edge(nth)..edge(nth.saturating_add(1)).min(count)
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_one(turns: &u32) -> bool {
    *turns == 1
}

/// What a job's statements are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Issue the scenario's statements and measure them.
    Measure,
    /// Connect, prepare the scenario's statements, execute one and close the session, `count` times one after the other. The
    /// histogram has the times from connecting to the answer.
    Connect,
    /// Create the schema and load the rows that the scenario reads; what `floor` does before a contender's cell.
    Load,
    /// Select a sample of the rows that the window wrote and check them; what `floor` does after a contender's window.
    ReadBack,
}

/// What a worker with these capabilities lacks for issuing statements as `operation`: the capability as it is written, or `None`.
///
/// Every worker executes prepared statements.
pub fn lacking(operation: Operation, capabilities: &BTreeSet<Capability>) -> Option<&'static str> {
    let needed = match operation {
        Operation::Execute => return None,
        Operation::Batch => Capability::Batch,
        Operation::Prepare => Capability::Prepare,
        Operation::Unprepared => Capability::Unprepared,
        Operation::Connect => Capability::Connect,
    };
    (!capabilities.contains(&needed)).then(|| operation.name())
}

/// The async runtime of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Runtime {
    /// tokio's current-thread runtime.
    Current,
    /// tokio's multi-thread runtime.
    Multi {
        /// Its worker threads.
        workers: usize,
    },
}

impl fmt::Display for Runtime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Runtime::Current => out.write_str("current"),
            Runtime::Multi { workers } => write!(out, "multi:{workers}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_named_as_the_operation_that_needs_it() {
        for operation in Operation::ALL {
            match lacking(operation, &BTreeSet::new()) {
                None => assert_eq!(operation, Operation::Execute),
                Some(capability) => {
                    let named: Capability = serde_json::from_value(capability.into()).unwrap();
                    assert_eq!(lacking(operation, &BTreeSet::from([named])), None);
                }
            }
        }
    }

    #[test]
    fn the_slices_of_all_workers_are_all_tickets_of_each_turn_once() {
        for (count, of) in [(10, 3), (7, 7), (1_000_003, 16), (1, 2)] {
            let slices: Vec<Range<u64>> = (0..of).map(|part| Slice { part, of }.tickets(count)).collect();
            assert!(slices.windows(2).all(|pair| pair[0].end == pair[1].start), "{slices:?}");
            assert_eq!((slices[0].start, slices[slices.len() - 1].end), (0, count));
        }
    }

    #[test]
    fn turns_share_all_tickets_in_their_order_and_differ_by_one_at_most() {
        for (count, turns) in [(10, 1), (10, 3), (2, 3), (0, 2), (u64::MAX, 7)] {
            let shares: Vec<Range<u64>> = (0..turns).map(|nth| tickets(count, turns, nth)).collect();
            assert_eq!((shares[0].start, shares[shares.len() - 1].end), (0, count));
            assert!(shares.windows(2).all(|pair| pair[0].end == pair[1].start), "{shares:?}");
            assert!(shares.iter().all(|share| (share.end - share.start).abs_diff(count / u64::from(turns)) <= 1));
        }
    }
}
