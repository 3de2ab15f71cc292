//! The lines between a parent and `serve --control`: one JSON object per line, commands on stdin, replies on stdout.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// The first line on stdout: the node is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// The first node's address.
    pub listening: SocketAddr,
    /// The addresses of all nodes.
    #[serde(default)]
    pub nodes: Vec<SocketAddr>,
    /// The version of cqldyno.
    pub version: String,
    /// The version of Cassandra in `system.local`.
    pub release_version: String,
    /// The process id.
    pub pid: u32,
}

/// A line on stdin: `{"snapshot":true}`, `{"delay_us":100}` or `{"shutdown":true}`. The end of stdin is a shutdown, so that
/// the server ends with its parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Control {
    /// Asks for a [`crate::Snapshot`] on one line, with the times of EXECUTEs since the snapshot before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub snapshot: bool,
    /// Delays each answer by this many microseconds from now on; the reply is `{"delay_us":N}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_us: Option<u64>,
    /// Ends the node, without a reply.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shutdown: bool,
}

impl Control {
    /// Asks for a snapshot.
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

/// The reply to a line that is no command.
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
