//! What a measure is, before any number.

/// Which way a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither: the measure describes the cell.
    Neither,
}

/// The pass whose cells a measure is taken in; all but the first disturb time, so their times mean nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Cells without any counter.
    Timing,
    /// Cells whose system calls are counted.
    Counting,
    /// Cells whose system calls are counted by name.
    Syscalls,
    /// Cells whose allocations are counted.
    Allocations,
    /// Cells whose instructions are counted.
    Instructions,
    /// Cells whose stacks are sampled.
    Flamegraph,
    /// Cells below saturation.
    Latency,
    /// Every cell.
    Any,
}

impl Pass {
    /// Whether a measure of this pass is taken in a cell of the pass `cell`.
    pub fn taken_in(self, cell: Pass) -> bool {
        self == Pass::Any || self == cell
    }
}

/// Where a measure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// A counter attached to the process before its program starts, read at `go` and `end`.
    BeforeExec,
    /// Read from outside by the parent at `go` and `end`.
    AtEdges,
    /// Told by the worker.
    FromWorker,
    /// Told by the server.
    FromServer,
}

/// One measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name in results, for example `cpu_per_statement`.
    pub id: &'static str,
    /// What its values count: `s`, `us`, `B`, `1/s`, or `1` for a plain number.
    pub unit: &'static str,
    /// Which way is better.
    pub better: Better,
    /// The cells it is taken in.
    pub pass: Pass,
    /// Where it comes from.
    pub hook: Hook,
    /// One line for people.
    pub about: &'static str,
    /// The heading of its column, with line feeds, in the tables that show what their readers did not ask for by name; `None`
    /// where it has a place of its own or none.
    pub column: Option<&'static str>,
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
