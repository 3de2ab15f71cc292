//! Messages from a worker.

use std::collections::BTreeMap;

use cqldyno_driver_api::{DriverInfo, ErrorKind, Setting};
use serde::{Deserialize, Serialize};

use crate::tickets::Tickets;

/// A message from a worker to its parent, on the worker's standard output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkerMessage {
    /// The first message, unasked.
    Hello(Box<Hello>),
    /// Connected, prepared and warmed up.
    Ready(Ready),
    /// How far the warm-up is, or the window; any number of these before `ready` and between `go` and `end`.
    Progress {
        /// Statements of the warm-up issued, before `ready`; statements issued since `go`, after it.
        issued: u64,
    },
    /// The window is over; written before any other work.
    End(End),
    /// What was counted in the turn; the last message of the last turn.
    Done(Box<Done>),
    /// The cell cannot go on; the last message.
    Failed(Failed),
}

/// The worker's identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hello {
    /// The version of the protocol that the worker speaks: [`crate::PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The driver, with exact versions.
    pub driver: DriverInfo,
    /// What the driver makes of the equal settings.
    pub settings: Vec<Setting>,
    /// How the worker was built.
    pub build: BuildInfo,
    /// Whether it takes several turns in one job, and sleeps between them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turns: bool,
    /// Whether it plays tapes, and needs one in every job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tape: bool,
    /// The language that programs use the driver from; absent for Rust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The machine that the worker runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// The machine of a worker, as the worker sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Machine {
    /// The host's name.
    pub host: String,
    /// Cores that the worker may use.
    pub cores: u64,
    /// The kernel's release.
    pub kernel: String,
}

/// How a worker was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BuildInfo {
    /// Identifies the load generator with its libraries, compiler and profile, whatever the adapter. Empty for a worker that has a load
    /// generator of its own.
    pub id: String,
    /// What `id` was made of, to name what differs: values or digests by the names of sources, libraries and settings. May be empty.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, String>,
    /// Identifies the executable with its adapter, by the build id that the linker wrote (NT_GNU_BUILD_ID, hexadecimal); empty where
    /// it wrote none or the worker does not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub adapter: String,
    /// The compiler's version line.
    pub compiler: String,
    /// `release` or `debug`.
    pub profile: String,
}

/// The worker is ready for `go`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Ready {
    /// What the driver made of the job's settings.
    pub settings: Vec<Setting>,
    /// Data connections per node, if they are not as many as the job says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// Threads of the process now.
    pub threads: u64,
}

/// The window's edges as the worker saw them: differences between `go` and the last answer, of the whole process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct End {
    /// From `go`, on which the first statement is issued, to the last answer, by the monotonic clock, in nanoseconds.
    pub wall_ns: u64,
    /// When the last answer came, by CLOCK_MONOTONIC, which all processes of a machine share, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// CPU time in user mode, in microseconds (getrusage).
    pub user_us: u64,
    /// CPU time in the kernel, in microseconds.
    pub sys_us: u64,
    /// Context switches because the process waited.
    pub voluntary_switches: u64,
    /// Context switches because the kernel gave the core to another.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// The part of the window in which all slots were at work; absent if it was too short, or the worker does not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<Steady>,
}

/// The window without its edges, on which not all slots are at work: from the moment when all have had two statements to the one
/// at which the last statement is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Steady {
    /// How long it lasted, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of the process in it, in nanoseconds.
    pub cpu_ns: u64,
    /// Statements that were taken in it; as many were answered.
    pub statements: u64,
}

/// What was counted in the window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Done {
    /// Statements issued.
    pub issued: u64,
    /// Statements answered, with or without an error.
    pub answered: u64,
    /// Statements answered as the scenario says: no error, the right rows.
    pub verified: u64,
    /// Statements issued, by the scenario's statement name.
    pub issued_by_statement: BTreeMap<String, u64>,
    /// Errors by kind.
    pub errors: BTreeMap<ErrorKind, ErrorCount>,
    /// Statements issued while fewer than 99 % of the slots were at work; absent where the worker does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_concurrency: Option<u64>,
    /// How often the futures of all statements were polled; absent where the worker does not count it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub polls: Option<u64>,
    /// What the runtime's own records say of allocations; absent where an interposer sees them, or the worker does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocations: Option<Allocations>,
    /// Threads of the process at the end of the window.
    pub threads: u64,
    /// Latency of every answered statement in nanoseconds, from its issue to its answer: an HdrHistogram in its V2 form,
    /// base64. In a closed loop this is throughput by Little's law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<String>,
    /// How the window kept its rate; absent without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
    /// Statements answered in each second of the window; empty where the worker does not count them.
    #[serde(default)]
    pub per_second: Vec<u64>,
    /// What became of single statements; only for a job with `trace`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Traced>,
    /// CPU time that the language's runtime used for itself; absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeShare>,
}

/// The part of the window's CPU time that the language's runtime used for itself. The CPU time of `end` has it, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuntimeShare {
    /// Garbage collection, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gc_cpu_ns: Option<u64>,
    /// Compilation at run time, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jit_cpu_ns: Option<u64>,
}

/// What became of single statements. Those that were issued and are in neither list were answered right.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Traced {
    /// Tickets whose statements failed: runs as [first, how many], ascending.
    pub failed: Tickets,
    /// Tickets without an answer when the patience ended, in the same form.
    pub unanswered: Tickets,
    /// Right answers in each 10 ms of the window; the first begins with the first statement's intended start.
    pub answers_per_10ms: Vec<u64>,
}

/// Allocations in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Allocations {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many were given back.
    pub frees: u64,
}

/// How a window with a rate went: statement `i` was to start at the first one's time plus `i` over the rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Pace {
    /// Statements per second that the job asked for.
    pub rate: u64,
    /// From the intended start of the first statement to the last answer, in nanoseconds.
    pub lasted_ns: u64,
    /// Time from the intended start of every answered statement to its answer in nanoseconds: an HdrHistogram in its V2 form, base64.
    pub response: String,
    /// Time from the intended start to the issue, in nanoseconds, in the same form.
    pub lateness: String,
    /// A statement issued later than this after its intended start is late, in nanoseconds.
    pub late_after_ns: u64,
    /// Statements issued late.
    pub late: u64,
    /// The longest lateness, in nanoseconds.
    pub latest_ns: u64,
}

/// Errors of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorCount {
    /// How many.
    pub count: u64,
    /// The first one's message.
    pub first: String,
}

/// Why a cell cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Failed {
    /// By which a row is marked.
    pub kind: FailureKind,
    /// A full sentence; never a password.
    pub message: String,
}

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The driver cannot describe itself, for example because a native library is missing.
    Describe,
    /// The job asks for what the worker or its driver cannot do.
    Job,
    /// The driver did not connect.
    Connect,
    /// The cluster refused user or password: another try may lock the account.
    BadCredentials,
    /// A schema statement failed.
    Schema,
    /// A keyspace or table that a schema statement makes exists already.
    Exists,
    /// A statement could not be prepared.
    Prepare,
    /// A row could not be loaded.
    Load,
    /// The warm-up had errors.
    WarmUp,
    /// The parent broke the protocol.
    Protocol,
    /// The driver panicked.
    Crash,
}
