//! Why a cell has no figures.

/// Why a cell has no figures. The text is the row's reason: a full sentence, without a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellFailure {
    /// The run is to end; such a cell leaves no row.
    #[error("The run was ended before the cell was.")]
    Cancelled,
    /// The cluster refused user or password. Another try may lock the account, so the run ends.
    #[error("{0}")]
    Refused(String),
    /// A keyspace or table that was to be made exists.
    #[error("{0}")]
    Exists(String),
    /// There is no such contender here.
    #[error("{0}")]
    Unavailable(String),
    /// A worker failed: the contender's, or floor beside it.
    #[error("{0}")]
    Worker(String),
    /// The embedded cluster failed.
    #[error("{0}")]
    Server(String),
    /// The machine failed us.
    #[error("The cell could not be run: {0}.")]
    Machine(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// From the start of the process to `hello`.
    Hello,
    /// From `job` to `ready`: connect, prepare, warm up.
    Ready,
    /// From `go` to `end`: the window.
    End,
    /// From `stop` to `end`.
    Stopped,
    /// From `ack` to `done`.
    Done,
}

impl Phase {
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Phase::Hello => "`hello`",
            Phase::Ready => "`ready`",
            Phase::End | Phase::Stopped => "`progress` or `end`",
            Phase::Done => "`done`",
        }
    }

    pub(crate) fn doing(self) -> &'static str {
        match self {
            Phase::Hello => "before it had said `hello`",
            Phase::Ready => "while it connected, prepared and warmed up, before `ready`",
            Phase::End => "in the window, between `go` and `end`",
            Phase::Stopped => "in the window, after `stop`",
            Phase::Done => "after the window, before `done`",
        }
    }
}
