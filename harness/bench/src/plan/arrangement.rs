//! How client and server sit on the machine: `current`, `multi:N`, and either with `pinned+` before it.

use std::fmt;
use std::str::FromStr;

use cqldyno_protocol::Runtime;

/// The worker's async runtime, and whether worker and server have cores of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The runtime that the driver runs on.
    pub runtime: Runtime,
    /// Whether worker and server run on cores that do not overlap; otherwise both may use all.
    pub pinned: bool,
}

/// The most threads that an arrangement may have.
const MOST_WORKERS: usize = 1_024;

/// An arrangement that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the arrangement {0:?} was asked for; write `current` (tokio's current-thread runtime) or `multi:N` (N threads, 1 to \
     {MOST_WORKERS}), with `pinned+` before it to give worker and server cores of their own"
)]
pub struct ArrangementError(String);

impl FromStr for Arrangement {
    type Err = ArrangementError;

    fn from_str(text: &str) -> Result<Arrangement, ArrangementError> {
        let (pinned, runtime) = text.strip_prefix("pinned+").map_or((false, text), |runtime| (true, runtime));
        let workers = || {
            let workers = runtime.strip_prefix("multi:")?.parse().ok()?;
            (1..=MOST_WORKERS).contains(&workers).then_some(workers)
        };
        let runtime = match runtime {
            "current" => Runtime::Current,
            _ => match workers() {
                Some(workers) => Runtime::Multi { workers },
                None => return Err(ArrangementError(text.to_owned())),
            },
        };
        Ok(Arrangement { runtime, pinned })
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}{}", if self.pinned { "pinned+" } else { "" }, self.runtime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read_and_printed_again() {
        for text in ["current", "multi:1", "multi:2", "pinned+current", "pinned+multi:16"] {
            assert_eq!(text.parse::<Arrangement>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn other_forms_are_refused_with_what_to_write() {
        for text in
            ["", "multi", "multi:", "multi:0", "multi:x", "multi:9999", "pinned", "pinned+", "single", "current "]
        {
            let error = text.parse::<Arrangement>().unwrap_err().to_string();
            assert!(error.contains(&format!("{text:?}")) && error.contains("write `current`"), "{error}");
        }
    }
}
