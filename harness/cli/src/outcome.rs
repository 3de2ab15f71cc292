//! How the program ends.

use std::fmt;
use std::process::ExitCode;

use cqldyno_bench::BenchError;

/// How a command ended that printed a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was asked for was done.
    Done,
    /// A contender failed or is missing, or a check failed; the result says which.
    Failed,
    /// What was to be shown cannot be measured here; the result says why.
    Unmeasurable,
    /// The user ended it early; what was finished is shown.
    Interrupted,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        ExitCode::from(match outcome {
            Outcome::Done => 0,
            Outcome::Failed => 1,
            Outcome::Unmeasurable => 3,
            // As a shell reports a process that SIGINT ended: 128 + 2.
            Outcome::Interrupted => 130,
        })
    }
}

/// Wrong usage: exit code 2. Other errors end with code 1, or 3 where 1 is an answer.
#[derive(Debug)]
struct Usage(String);

impl fmt::Display for Usage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// An error of wrong usage with this text.
pub fn usage(what: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Usage(what.to_string()))
}

/// An error that leaves a question open: exit code 3.
#[derive(Debug)]
struct Open(&'static str);

impl fmt::Display for Open {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }
}

/// The error of a command whose code 1 is an answer: `what` is open, unless it was used wrongly or ended by the user.
pub fn leaves_open(error: anyhow::Error, what: &'static str) -> anyhow::Error {
    let is_ended = matches!(error.downcast_ref(), Some(BenchError::Ended));
    if is_ended || error.is::<Usage>() { error } else { error.context(Open(what)) }
}

/// The exit code of an error.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref() {
        Some(BenchError::Ended) => Outcome::Interrupted.into(),
        _ if error.is::<Open>() => Outcome::Unmeasurable.into(),
        _ => ExitCode::from(if error.is::<Usage>() { 2 } else { 1 }),
    }
}
