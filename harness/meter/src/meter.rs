//! The seam between the supervisor of a cell and what is read off.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::{Declaration, Latencies};

/// A kind of reading: what it measures, whether this machine allows it, and how it is attached to a cell.
pub trait Meter: Send + Sync {
    /// Its measures.
    fn declarations(&self) -> &'static [Declaration];

    /// The meter's name for `doctor`, in words.
    fn name(&self) -> &'static str;

    /// What it needs of the machine, in words.
    fn needs(&self) -> &'static str {
        "nothing"
    }

    /// What it adds to the worker's work in the window, in words; `None` where that is nothing.
    fn costs(&self) -> Option<&'static str> {
        None
    }

    /// What a user should know of how it works on this machine: full sentences; `None` where there is nothing to say.
    fn remark(&self) -> Option<String> {
        None
    }

    /// Tries whether this machine allows it; what needs nothing is allowed.
    fn probe(&self) -> Probe {
        Probe::Available
    }

    /// Attaches to the worker, which exists but has not started its program yet. What cannot be attached is a reading
    /// that is unavailable with the reason, never an error.
    fn attach(&self, subject: &Subject) -> Box<dyn Attachment>;
}

/// Whether this machine allows a meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It was tried and works.
    Available,
    /// It does not work.
    Unavailable {
        /// Why not: a full sentence, the same in every result.
        sentence: String,
        /// What to change: a full sentence, with the command where there is one.
        remedy: String,
    },
}

impl Probe {
    /// What stands in a result in place of a figure: sentence and remedy. `None` when the meter is available.
    pub fn reason(&self) -> Option<String> {
        match self {
            Probe::Available => None,
            Probe::Unavailable { sentence, remedy } => Some(format!("{sentence} {remedy}")),
        }
    }
}

/// A meter at one cell.
pub trait Attachment: Send {
    /// Just before the worker is told to start.
    fn at_go(&mut self) {}

    /// Every 100 ms at most of the window, while the parent waits for its end: for a few microseconds.
    fn meanwhile(&mut self) {}

    /// Just after the worker has told that the window is over; it waits meanwhile.
    fn at_end(&mut self) {}

    /// The readings, when the worker has told what it counted.
    fn read(&mut self, window: &Window) -> Outcome;
}

/// The processes of one cell.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The worker's process id.
    pub worker: i32,
    /// The server's process id, or the sentence that says why there is none to measure.
    pub server: Result<i32, String>,
    /// The cores that the processes of the cell may use, by the kernel's numbers.
    pub cores: Vec<usize>,
    /// A folder of the cell's own, empty before the worker starts and gone afterwards.
    pub scratch: PathBuf,
    /// The nodes that the worker is sent to; empty where it sends nothing.
    pub nodes: Vec<SocketAddr>,
}

/// What worker and server told of the window: differences between its edges.
#[derive(Clone, Debug)]
pub struct Window {
    /// From `go` to the last answer, nanoseconds, by the worker's clock.
    pub wall_ns: u64,
    /// When the last answer came, by CLOCK_MONOTONIC, nanoseconds; `None` when the worker does not tell.
    pub at_ns: Option<u64>,
    /// CPU time in user mode, microseconds, by the worker's getrusage.
    pub user_us: u64,
    /// CPU time in the kernel, microseconds, by the worker's getrusage.
    pub sys_us: u64,
    /// Context switches because the worker waited.
    pub voluntary_switches: u64,
    /// Context switches because the kernel gave the core to another.
    pub involuntary_switches: u64,
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Statements issued.
    pub issued: u64,
    /// Statements answered as the scenario says; every rate divides by these.
    pub verified: u64,
    /// Statements answered with an error or with wrong rows.
    pub errors: u64,
    /// Rows of the statements issued, where not all of these are EXECUTEs.
    pub rows: Option<u64>,
    /// Statements issued while fewer than 99 % of the slots were at work; `None` where the worker does not count them.
    pub below_concurrency: Option<u64>,
    /// The server's side, or the sentence that says why it is not known.
    pub server: Result<ServerWindow, String>,
    /// Data connections of the worker, or the sentence that says why they could not be counted.
    pub connections: Result<u64, String>,
    /// How long answers took; `None` where the worker does not tell.
    pub latencies: Option<Latencies>,
}

/// The server's own account of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerWindow {
    /// EXECUTEs of the scenario's statements.
    pub executes: u64,
    /// Requests of any kind.
    pub requests: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Requests that were none of the scenario's EXECUTEs: the driver's own control traffic.
    pub control_requests: u64,
    /// CPU time of the server process by its own account, nanoseconds.
    pub cpu_ns: u64,
    /// When it received the first and the last of these EXECUTEs; `None` when there was none.
    pub received: Option<Span>,
}

/// Two moments by CLOCK_MONOTONIC, which all processes of a machine share, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first_ns: u64,
    /// The last.
    pub last_ns: u64,
}

/// One value, or the sentence that says why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The measure, with its id and unit.
    pub measure: Declaration,
    /// The value in the measure's unit.
    pub value: Result<f64, String>,
}

/// What one meter read off one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// One reading a measure.
    pub readings: Vec<Reading>,
    /// Full sentences about what does not fit together.
    pub findings: Vec<String>,
    /// Full sentences about what does not fit together and makes the cell's figures worthless.
    pub voids: Vec<String>,
    /// Figures that are many of one kind, by kind and name, each a statement: `syscalls` by the system call's name, for example.
    pub breakdowns: BTreeMap<&'static str, BTreeMap<String, f64>>,
    /// One figure a second of the window, by what they are of.
    pub series: BTreeMap<&'static str, Vec<u64>>,
    /// What is kept beside the figures.
    pub files: Vec<Artifact>,
}

/// A file that a meter leaves in the run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// What it is, which is the name of its folder, for example `flamegraph`.
    pub kind: &'static str,
    /// The end of its name without a dot, for example `svg`.
    pub extension: &'static str,
    /// What is in it.
    pub bytes: Vec<u8>,
}

impl Outcome {
    /// The readings of `measures`, value by value in their order.
    pub(crate) fn of(measures: &[Declaration], values: impl IntoIterator<Item = Result<f64, String>>) -> Outcome {
        let readings =
            measures.iter().copied().zip(values).map(|(measure, value)| Reading { measure, value }).collect();
        Outcome { readings, ..Outcome::default() }
    }
}

/// What is said where a window had no end.
pub(crate) const UNFINISHED: &str = "The window was not finished.";

/// What a counter said at the window's edges.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    pub(crate) go: Option<io::Result<u64>>,
    pub(crate) end: Option<io::Result<u64>>,
}

impl Edges {
    /// How far the counter went in between, or a sentence: `what` could not be read.
    pub(crate) fn difference(&self, what: &str) -> Result<u64, String> {
        match (&self.go, &self.end) {
            (Some(Ok(go)), Some(Ok(end))) => Ok(end.saturating_sub(*go)),
            (Some(Err(error)), _) | (_, Some(Err(error))) => Err(format!("{what} could not be read: {error}.")),
            _ => Err(UNFINISHED.to_owned()),
        }
    }
}

/// `amount` shared among the verified statements of the window.
pub(crate) fn per_statement(amount: f64, window: &Window) -> Result<f64, String> {
    match window.verified {
        0 => Err("No statement was answered as the scenario says, so there is nothing to divide by.".to_owned()),
        verified => Ok(amount / verified as f64),
    }
}

/// Beyond the highest process id that Linux gives (PID_MAX_LIMIT, 2^22).
#[cfg(test)]
pub(crate) const NO_PROCESS: i32 = (1 << 22) + 1;

/// A cell of the process `worker`, without a server.
#[cfg(test)]
pub(crate) fn subject(worker: i32) -> Subject {
    Subject {
        worker,
        server: Err("There is no server.".to_owned()),
        cores: vec![0],
        scratch: PathBuf::new(),
        nodes: Vec::new(),
    }
}

#[cfg(test)]
pub(crate) fn window() -> Window {
    Window {
        wall_ns: 2_000_000_000,
        at_ns: None,
        user_us: 700_000,
        sys_us: 300_000,
        voluntary_switches: 10,
        involuntary_switches: 5,
        minor_faults: 3,
        major_faults: 0,
        issued: 1_000_000,
        verified: 1_000_000,
        errors: 0,
        rows: None,
        below_concurrency: Some(100),
        server: Ok(ServerWindow {
            executes: 1_000_000,
            requests: 1_000_007,
            opened: 0,
            control_requests: 7,
            cpu_ns: 500_000_000,
            received: None,
        }),
        connections: Ok(1),
        latencies: None,
    }
}
