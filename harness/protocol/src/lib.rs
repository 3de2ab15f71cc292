//! The worker protocol: one JSON object per line between `cqldyno` and a worker.
//!
//! `drivers/PROTOCOL.md` describes it for workers in any language; these are the same messages as Rust types, from which
//! `drivers/protocol.schema.json` is made. Passwords travel in [`Job`] only, over the worker's standard input.

use std::time::Duration;

mod executable;
mod job;
mod line;
mod report;
#[cfg(test)]
#[path = "schema/tests.rs"]
mod schema;
pub mod tape;
mod tickets;

pub use cqldyno_driver_api::Credentials;
pub use executable::build_id;
pub use job::{Job, Mode, ParentMessage, Runtime, Slice, Tape, TapeTypes, Trace, lacking, tickets};
pub use line::{LineError, MAX_LINE_BYTES, decode, encode};
pub use report::{
    Allocations, BuildInfo, Done, End, ErrorCount, Failed, FailureKind, Hello, Machine, Pace, Ready, RuntimeShare,
    Steady, Traced, WorkerMessage,
};
pub use tickets::{NoRun, Tickets};

/// The version of this protocol; a worker says it in `hello`, and the parent refuses another one.
pub const PROTOCOL_VERSION: u32 = 3;

/// The most statements that a job may have in flight: a worker has a slot for each.
pub const MOST_IN_FLIGHT: usize = 1 << 20;

/// The most statements of a job with [`Trace`]: what became of each fits into one line, however they alternate.
pub const MOST_TRACED: u64 = 1_000_000;

/// The longest window of a job with [`Trace`], with its patience.
pub const LONGEST_TRACE: Duration = Duration::from_secs(3_600);
