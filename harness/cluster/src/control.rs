//! The lines that a parent and `serve --control` exchange: one JSON object a line, commands on stdin, replies on stdout.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The first line on stdout: the node is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// Where it listens.
    pub listening: SocketAddr,
    /// The version of cqldyno.
    pub version: String,
    /// The version of Cassandra that the node says it is.
    pub release_version: String,
    /// The process.
    pub pid: u32,
}

/// A line on stdin. One command a line: `{"snapshot":true}`, `{"delay_us":100}` or `{"shutdown":true}`. The end of stdin is a
/// shutdown, so that a parent that died leaves no server behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Answered by a [`crate::Snapshot`] on one line, whose times of EXECUTEs are those since the snapshot before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub snapshot: bool,
    /// Holds each answer back for this many microseconds from now on; answered by `{"delay_us":N}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_us: Option<u64>,
    /// Ends the node; not answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shutdown: bool,
}

impl Control {
    /// Asks for what was counted.
    pub fn snapshot() -> Control {
        Control { snapshot: true, ..Control::default() }
    }

    /// Sets the delay.
    pub fn delay_us(micros: u64) -> Control {
        Control { delay_us: Some(micros), ..Control::default() }
    }

    /// Ends the node.
    pub fn shutdown() -> Control {
        Control { shutdown: true, ..Control::default() }
    }
}

/// The answer to a line that is no command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlError {
    /// What is wrong with it.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_the_lines_that_are_documented() {
        for (command, line) in [
            (Control::snapshot(), r#"{"snapshot":true}"#),
            (Control::delay_us(100), r#"{"delay_us":100}"#),
            (Control::shutdown(), r#"{"shutdown":true}"#),
        ] {
            assert_eq!(serde_json::to_string(&command).unwrap(), line);
            assert_eq!(serde_json::from_str::<Control>(line).unwrap(), command);
        }
        assert!(serde_json::from_str::<Control>(r#"{"snapshto":true}"#).is_err());
    }
}
