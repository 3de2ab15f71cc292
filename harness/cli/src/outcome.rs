//! How the program ends.

use std::fmt;
use std::path::Path;
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
            Outcome::Unmeasurable => OPEN,
            // As a shell reports a process that SIGINT ended: 128 + 2.
            Outcome::Interrupted => 130,
        })
    }
}

/// An error with an exit code of its own. Others end with code 1.
#[derive(Debug)]
struct Coded(u8, String);

const USAGE: u8 = 2;
/// The code of what leaves a question open where code 1 is an answer.
const OPEN: u8 = 3;

impl fmt::Display for Coded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.1)
    }
}

impl std::error::Error for Coded {}

pub fn usage(what: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(Coded(USAGE, what.to_string()))
}

/// The text of a file that the user named as `what`; the error ends with `advice`.
pub fn text_of(what: &str, path: &Path, advice: &str) -> anyhow::Result<String> {
    let failed = |error| usage(format!("the {what} {} cannot be read: {error}; {advice}", path.display()));
    std::fs::read_to_string(path).map_err(failed)
}

/// The error of a command whose code 1 is an answer: `what` is open, unless it was used wrongly or ended by the user.
pub fn leaves_open(error: anyhow::Error, what: &str) -> anyhow::Error {
    let is_ended = matches!(error.downcast_ref(), Some(BenchError::Ended));
    if is_ended || error.is::<Coded>() { error } else { error.context(Coded(OPEN, what.to_owned())) }
}

pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    match error.downcast_ref() {
        Some(BenchError::Ended) => Outcome::Interrupted.into(),
        _ => ExitCode::from(error.downcast_ref().map_or(1, |Coded(code, _)| *code)),
    }
}
