//! Messages as lines.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest line that either side takes, in bytes; a longer one is not a message.
pub const MAX_LINE_BYTES: usize = 16 << 20;

/// A line that is no message.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// Not a JSON object of the protocol.
    #[error("a message of the worker protocol was expected, and the line {line:?} was found: {error}")]
    NotAMessage {
        /// The line's beginning.
        line: String,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// Longer than [`MAX_LINE_BYTES`].
    #[error(
        "a message of the worker protocol was expected, and a line of {0} bytes was found; at most {MAX_LINE_BYTES} are allowed"
    )]
    TooLong(usize),
}

/// The message as one line, with its line feed.
///
/// # Errors
/// When the message cannot be written as JSON, which none of the protocol's messages brings about.
pub fn encode<M: Serialize>(message: &M) -> Result<String, serde_json::Error> {
    let mut line = serde_json::to_string(message)?;
    line.push('\n');
    Ok(line)
}

/// The message in `line`, with or without its line feed.
///
/// # Errors
/// When the line is too long or not a message; the error shows the line's first 80 characters.
pub fn decode<M: DeserializeOwned>(line: &str) -> Result<M, LineError> {
    if line.len() > MAX_LINE_BYTES {
        return Err(LineError::TooLong(line.len()));
    }
    serde_json::from_str(line)
        .map_err(|error| LineError::NotAMessage { line: line.trim_end().chars().take(80).collect(), error })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Done, End, ParentMessage, WorkerMessage};

    #[test]
    fn messages_are_one_line_and_come_back_equal() {
        let end = WorkerMessage::End(End {
            wall_ns: 1,
            at_ns: Some(8),
            user_us: 2,
            sys_us: 3,
            voluntary_switches: 4,
            involuntary_switches: 5,
            minor_faults: 6,
            major_faults: 7,
            steady: None,
        });
        let mut done = Done { issued: 5, ..Done::default() };
        done.errors.entry(cqldyno_driver_api::ErrorKind::RequestTimeout).or_default().count = 2;
        for message in [end, WorkerMessage::Done(Box::new(done)), WorkerMessage::Progress { issued: 3 }] {
            let line = encode(&message).unwrap();
            assert_eq!(line.find('\n'), Some(line.len() - 1));
            assert_eq!(decode::<WorkerMessage>(&line).unwrap(), message);
        }
        assert_eq!(encode(&ParentMessage::Go { at_ns: None }).unwrap(), "{\"type\":\"go\"}\n");
    }

    #[test]
    fn garbage_is_shown_shortened() {
        let error = decode::<WorkerMessage>(&"x".repeat(500)).unwrap_err().to_string();
        assert!(error.starts_with("a message of the worker protocol was expected"), "{error}");
        assert!(error.len() < 300, "{error}");
        assert!(decode::<WorkerMessage>("{\"type\":\"nonsense\"}").is_err());
    }

    #[test]
    fn a_job_never_shows_its_password_in_debug_output() {
        let credentials = crate::Credentials { user: "u".into(), password: "secret".into() };
        assert!(!format!("{credentials:?}").contains("secret"));
    }
}
