//! The lines between a parent and `serve --control`: one JSON object per line, commands on stdin, replies on stdout.

use std::net::SocketAddr;

use cqldyno_script::{Played, Step};
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

/// A line on stdin: `{"snapshot":true}`, `{"delay_us":100}`, `{"script":[...]}`, `{"play":true}` or `{"shutdown":true}`. The end of stdin is a shutdown, so that
/// the server ends with its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Control {
    /// Asks for a [`crate::Snapshot`] on one line, with the times of EXECUTEs since the snapshot before.
    Snapshot(bool),
    /// Delays each answer by this many microseconds from now on, give or take the jitter of `--delay`; the reply is `{"delay_us":N}`.
    DelayUs(u64),
    /// Sets the script of connections that come from now on; the reply is the same line. Nothing of it happens before `{"play":true}`.
    Script(Vec<Step>),
    /// Starts the script; the reply is `{"play":true}`. `false` ends it; the reply is [`PlayedAll`].
    Play(bool),
    /// Ends the node, without a reply.
    Shutdown(bool),
}

/// The reply to `{"play":false}`: what each step did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayedAll {
    /// One per step.
    pub played: Vec<Played>,
}

/// The reply to a line that is no command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlError {
    /// What is wrong with it.
    pub error: String,
}

#[cfg(test)]
mod tests {
    use cqldyno_script::Action;

    use super::*;

    #[test]
    fn commands_are_the_lines_that_are_documented() {
        for (command, line) in [
            (Control::Snapshot(true), r#"{"snapshot":true}"#),
            (Control::DelayUs(100), r#"{"delay_us":100}"#),
            (Control::Script(vec![Step::new(Action::Forget)]), r#"{"script":[{"do":"forget"}]}"#),
            (Control::Play(false), r#"{"play":false}"#),
            (Control::Shutdown(true), r#"{"shutdown":true}"#),
        ] {
            assert_eq!(serde_json::to_string(&command).unwrap(), line);
            assert_eq!(serde_json::from_str::<Control>(line).unwrap(), command);
        }
        assert!(serde_json::from_str::<Control>(r#"{"snapshto":true}"#).is_err());
    }
}
