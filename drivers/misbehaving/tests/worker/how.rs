//! The ways to misbehave.

use cqldyno_driver_api::{ConnectOptions, DriverError, DriverOption, ErrorKind};

/// The contender's options.
pub const OPTION: &str = "how";

/// One way to misbehave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Not at all: what is around the client disturbs nothing.
    Honestly,
    /// Waits for the answer and leaves it undecoded.
    SkipsDecoding,
    /// Decodes one column and leaves the others.
    DecodesOneColumn,
    /// Waits for the answer, leaves it undecoded, and makes up the row that the built-in scenarios have for the key.
    MakesUpRows,
    /// Reads the table while it connects, and answers from memory.
    AnswersFromCache,
    /// Sends 999 of 1,000 statements.
    DropsEveryThousandth,
    /// Sends every thousandth statement twice, as after a time-out.
    RetriesSilently,
    /// Sends every thousandth statement a second time under another text.
    RetriesUnderAnotherText,
    /// Sends every statement twice and takes the first answer.
    Doubles,
    /// Opens one connection more than it was told.
    OpensMoreConnections,
    /// Answers with an error at once.
    FailsAtOnce,
    /// Answers an insert before the server did.
    AnswersEarly,
    /// Inserts another value than it was given.
    WritesOtherValues,
    /// Inserts the same few rows over and over.
    WritesFewRows,
    /// Sends each batch as two.
    SplitsBatches,
    /// Prepares once, and remembers it whatever the text.
    PreparesOnce,
    /// Has one session, however often it is asked to connect.
    ReusesItsSession,
    /// Leaves the connections of closed sessions open.
    LeavesConnectionsOpen,
    /// Says that the window took half the time.
    HalvesWallTime,
    /// Says that it used half the CPU time.
    HalvesCpuTime,
    /// Says of each turn that it used 9 ms of CPU time less, which is within what the clocks of one turn may differ by.
    HidesCpuTime,
    /// Says that half of what it used between the edges of a turn was used at these.
    ShiftsCpuTime,
    /// Says that the window took half the time and when it ended, so that both fit together.
    BeginsLate,
    /// Pauses for 200 ms once a second, and is quick otherwise.
    Pauses,
    /// Works half of the time, whether or not it is its turn.
    NeverSleeps,
    /// Exits while others take their turns.
    ExitsAsleep,
    /// Grows by 64 MiB while others take their turns.
    GrowsAsleep,
    /// Sends its last statement once more whenever nothing is asked of it.
    ExecutesBetweenTurns,
    /// Never answers a statement of the warm-up.
    HangsInWarmUp,
    /// Answers no more from the middle of the window on.
    Hangs,
    /// Waits for ever for the answer to one statement, as a driver without a time limit does.
    LosesAnAnswer,
    /// Keeps a mebibyte a statement.
    Leaks,
    /// Panics in the middle of the window.
    Panics,
    /// Aborts in the middle of the window.
    Aborts,
    /// Exits in the middle of the window.
    Exits,
    /// Routes by MurmurHash3 as its author published it, which is not Cassandra's.
    RoutesByTextbook,
    /// Writes to its log without end.
    FloodsLog,
    /// Writes what is no message to its standard output in the middle of the window.
    PrintsGarbage,
}

/// Each with its name.
pub const ALL: [(&str, How); 38] = [
    ("honestly", How::Honestly),
    ("skips-decoding", How::SkipsDecoding),
    ("decodes-one-column", How::DecodesOneColumn),
    ("makes-up-rows", How::MakesUpRows),
    ("answers-from-cache", How::AnswersFromCache),
    ("drops-every-thousandth", How::DropsEveryThousandth),
    ("retries-silently", How::RetriesSilently),
    ("retries-under-another-text", How::RetriesUnderAnotherText),
    ("doubles", How::Doubles),
    ("opens-more-connections", How::OpensMoreConnections),
    ("fails-at-once", How::FailsAtOnce),
    ("answers-early", How::AnswersEarly),
    ("writes-other-values", How::WritesOtherValues),
    ("writes-few-rows", How::WritesFewRows),
    ("splits-batches", How::SplitsBatches),
    ("prepares-once", How::PreparesOnce),
    ("reuses-its-session", How::ReusesItsSession),
    ("leaves-connections-open", How::LeavesConnectionsOpen),
    ("halves-wall-time", How::HalvesWallTime),
    ("halves-cpu-time", How::HalvesCpuTime),
    ("hides-cpu-time", How::HidesCpuTime),
    ("shifts-cpu-time", How::ShiftsCpuTime),
    ("begins-late", How::BeginsLate),
    ("pauses", How::Pauses),
    ("never-sleeps", How::NeverSleeps),
    ("exits-asleep", How::ExitsAsleep),
    ("grows-asleep", How::GrowsAsleep),
    ("executes-between-turns", How::ExecutesBetweenTurns),
    ("hangs-in-warm-up", How::HangsInWarmUp),
    ("hangs", How::Hangs),
    ("loses-an-answer", How::LosesAnAnswer),
    ("leaks", How::Leaks),
    ("panics", How::Panics),
    ("aborts", How::Aborts),
    ("exits", How::Exits),
    ("routes-by-textbook", How::RoutesByTextbook),
    ("floods-log", How::FloodsLog),
    ("prints-garbage", How::PrintsGarbage),
];

/// What it can be told.
pub const OPTIONS: [DriverOption; 1] = [DriverOption::new(OPTION, "WAY", "honestly", "How it misbehaves.")];

impl How {
    /// The way of that name.
    pub fn named(name: &str) -> Option<How> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, how)| *how)
    }

    /// What the contender's options say.
    pub fn of(options: &ConnectOptions) -> Result<How, DriverError> {
        options.check("misbehaving", &OPTIONS)?;
        let name = options.option(OPTION).unwrap_or("honestly");
        How::named(name).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
            let message = format!("misbehaving was asked to do it `{name}`; it can do it {}", known.join(", "));
            DriverError::new(ErrorKind::Other, message)
        })
    }
}
