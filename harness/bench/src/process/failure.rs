//! Why a cell has no figures.

/// The step of a cell at which it failed, in the words of the worker protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From the start of the process to `hello`.
    Hello,
    /// From `job` to `ready`: connect, prepare, warm up.
    Ready,
    /// From `go` to `end`: the window.
    End,
    /// From `ack` to `done`.
    Done,
}

impl Step {
    /// What the worker was to say.
    pub fn expected(self) -> &'static str {
        match self {
            Step::Hello => "`hello`",
            Step::Ready => "`ready`",
            Step::End => "`progress` or `end`",
            Step::Done => "`done`",
        }
    }

    /// What the worker was doing.
    fn doing(self) -> &'static str {
        match self {
            Step::Hello => "before it had said `hello`",
            Step::Ready => "while it connected, prepared and warmed up, before `ready`",
            Step::End => "in the window, between `go` and `end`",
            Step::Done => "after the window, before `done`",
        }
    }
}

/// Why a cell has no figures. The text is the row's reason: a full sentence, without a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellFailure {
    /// The run is to end; such a cell leaves no row.
    #[error("The run was ended before the cell was.")]
    Cancelled,
    /// The contender cannot be had at all.
    #[error("{0}")]
    Unavailable(String),
    /// The program could not be started.
    #[error("The worker {worker} could not be started: {error}.")]
    NotStarted {
        /// The worker's file name.
        worker: String,
        /// What the system said.
        error: String,
    },
    /// The process ended by itself.
    #[error("The worker {worker} {how}; that was {}.", step.doing())]
    Ended {
        /// The worker's file name.
        worker: String,
        /// How it ended, with the last lines of its log.
        how: String,
        /// When.
        step: Step,
    },
    /// Nothing came in time.
    #[error("The worker {worker} said nothing new for {seconds} s and was ended; that was {}{log}.", step.doing())]
    Hung {
        /// The worker's file name.
        worker: String,
        /// How long.
        seconds: u64,
        /// When.
        step: Step,
        /// The last lines of its log.
        log: String,
    },
    /// It took more memory than it may.
    #[error(
        "The worker {worker} had {found} resident, more than the limit of {limit}, and was ended; that was {}{log}.",
        step.doing()
    )]
    Memory {
        /// The worker's file name.
        worker: String,
        /// How much it had, with the unit.
        found: String,
        /// How much it may have, with the unit.
        limit: String,
        /// When.
        step: Step,
        /// The last lines of its log.
        log: String,
    },
    /// A worker other than noop's that sends nothing.
    #[error(
        "The worker {worker} declares that it sends nothing (capability `offline`), and only noop may: the load generator would \
         put the expected rows in the place of those that it did not read, and no server could count its statements."
    )]
    Offline {
        /// The worker's file name.
        worker: String,
    },
    /// A line that is no message.
    #[error("The worker {worker} broke the worker protocol where {} was expected: {error}{log}.", step.expected())]
    Garbage {
        /// The worker's file name.
        worker: String,
        /// When.
        step: Step,
        /// What is wrong with the line.
        error: String,
        /// The last lines of its log.
        log: String,
    },
    /// A message in the wrong place.
    #[error("The worker {worker} broke the worker protocol: {} was expected and `{found}` came{log}.", step.expected())]
    OutOfOrder {
        /// The worker's file name.
        worker: String,
        /// When.
        step: Step,
        /// The message that came.
        found: &'static str,
        /// The last lines of its log.
        log: String,
    },
    /// Another version of the protocol.
    #[error(
        "The worker {worker} speaks version {found} of the worker protocol, and this cqldyno speaks version {}; build both \
         from one source.",
        cqldyno_protocol::PROTOCOL_VERSION
    )]
    OtherProtocol {
        /// The worker's file name.
        worker: String,
        /// Its version.
        found: u32,
    },
    /// Another worker than the one that was introduced.
    #[error(
        "The worker {worker} is another than at the start of the run: its {what} was {introduced:?} and is {found:?} now; \
         run it again, without building meanwhile."
    )]
    Changed {
        /// The worker's file name.
        worker: String,
        /// What differs.
        what: &'static str,
        /// At the start of the run.
        introduced: String,
        /// In this cell.
        found: String,
    },
    /// The worker says that it cannot go on.
    #[error("The worker {worker} failed {}: {message}", step.doing())]
    Told {
        /// The worker's file name.
        worker: String,
        /// When.
        step: Step,
        /// Its sentence.
        message: String,
    },
    /// The embedded server failed.
    #[error("{0}")]
    Server(String),
    /// The schema could not be made or the rows not be loaded.
    #[error("Floor could not make the tables or load their rows: {0}")]
    Load(String),
    /// There is nothing to take the rate from.
    #[error("{0}, and no rate was asked for; ask for one with --rate.")]
    NoRate(String),
    /// The machine failed us.
    #[error("The cell could not be run: {0}.")]
    Machine(String),
}
