//! The embedded cluster as a child process: `cqldyno serve --control`, one JSON object a line on its standard input and
//! output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::agreement::Snapshot;
use crate::cancel::Cancel;
use crate::failure::CellFailure;
use crate::process::{AtGate, Launch, Process, Silence};
use crate::redaction::Redaction;

/// How long the server may take to listen: its table is touched beforehand.
const START_WITHIN: Duration = Duration::from_secs(60);
/// How long it may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What to start.
pub(crate) struct ServerLaunch<'a> {
    /// `cqldyno`.
    pub program: &'a Path,
    /// Rows that its table is made for.
    pub expect_rows: u64,
    /// Further arguments of `serve`.
    pub arguments: &'a [String],
    /// The cores it may use; `None` for all.
    pub cores: Option<&'a [usize]>,
    /// Where its standard error goes.
    pub log: Option<PathBuf>,
}

/// A running embedded cluster. It is killed when this is dropped.
pub(crate) struct Server {
    process: Process,
    nodes: Vec<SocketAddr>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Answer {
    Listening { addresses: Vec<SocketAddr> },
    Snapshot(Box<Counters>),
}

/// The part of the server's snapshot that is compared with the worker's account.
#[derive(Deserialize)]
struct Counters {
    connections: Vec<ConnectionCounters>,
    frames: u64,
    prepared: BTreeMap<String, String>,
    cpu_user_us: u64,
    cpu_sys_us: u64,
}

#[derive(Deserialize)]
struct ConnectionCounters {
    id: u64,
    executes: BTreeMap<String, u64>,
}

impl From<Counters> for Snapshot {
    fn from(counters: Counters) -> Snapshot {
        let mut executes = BTreeMap::new();
        for connection in counters.connections {
            for (id, count) in connection.executes {
                // An id without a text cannot be a statement of the scenario: those were prepared before the window.
                let text = counters.prepared.get(&id).cloned().unwrap_or(id);
                *executes.entry((text, connection.id)).or_default() += count;
            }
        }
        Snapshot { cpu_ns: (counters.cpu_user_us + counters.cpu_sys_us) * 1_000, requests: counters.frames, executes }
    }
}

impl Server {
    /// Starts the server and waits until it listens.
    pub(crate) fn start(launch: &ServerLaunch<'_>, cancel: &Cancel) -> Result<Server, CellFailure> {
        let mut arguments: Vec<OsString> =
            ["serve", "--control", "--port", "0", "--expect-rows"].map(OsString::from).into();
        arguments.push(launch.expect_rows.to_string().into());
        arguments.extend(launch.arguments.iter().map(OsString::from));
        let process = AtGate::start(Launch {
            gate: launch.program,
            program: launch.program,
            arguments,
            environment: Vec::new(),
            cores: launch.cores,
            log: launch.log.clone(),
            redaction: Redaction::default(),
        })
        .and_then(AtGate::open)
        .map_err(|error| CellFailure::Server(format!("The embedded server could not be started: {error}.")))?;
        let mut server = Server { process, nodes: Vec::new() };
        match server.answer(START_WITHIN, "to listen", cancel)? {
            Answer::Listening { addresses } if !addresses.is_empty() => server.nodes = addresses,
            _ => return Err(CellFailure::Server("The embedded server started and named no address.".to_owned())),
        }
        Ok(server)
    }

    /// The server's process id.
    pub(crate) fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// One address a node.
    pub(crate) fn nodes(&self) -> &[SocketAddr] {
        &self.nodes
    }

    /// What it has counted so far.
    pub(crate) fn snapshot(&mut self, cancel: &Cancel) -> Result<Snapshot, CellFailure> {
        if self.process.send("{\"type\":\"snapshot\"}\n").is_err() {
            return Err(self.ended().unwrap_or_else(|| {
                CellFailure::Server("The embedded server no longer reads what it is asked.".to_owned())
            }));
        }
        match self.answer(ANSWER_WITHIN, "to give its counters", cancel)? {
            Answer::Snapshot(counters) => Ok((*counters).into()),
            Answer::Listening { .. } => Err(CellFailure::Server(
                "The embedded server was asked for its counters and gave addresses.".to_owned(),
            )),
        }
    }

    /// Why the server is gone, if it is.
    pub(crate) fn ended(&mut self) -> Option<CellFailure> {
        self.process.ended().map(|how| CellFailure::Server(format!("The embedded server {how}.")))
    }

    fn answer(&mut self, within: Duration, what: &str, cancel: &Cancel) -> Result<Answer, CellFailure> {
        let failure = |sentence: String| Err(CellFailure::Server(sentence));
        match self.process.line(Instant::now() + within, cancel) {
            Ok(line) => serde_json::from_str(&line).or_else(|error| {
                let line: String = line.trim_end().chars().take(80).collect();
                failure(format!("The embedded server was {what} and said {line:?}: {error}."))
            }),
            Err(Silence::Cancelled) => Err(CellFailure::Cancelled),
            Err(Silence::Ended(how)) => failure(format!("The embedded server was {what}, and {how}.")),
            Err(Silence::TimedOut) => {
                let log = self.process.log_tail(Duration::ZERO);
                failure(format!("The embedded server was {what} and had not after {} s{log}.", within.as_secs()))
            }
            Err(Silence::TooLong(length)) => {
                failure(format!("The embedded server was {what} and said a line of {length} bytes."))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_become_executes_by_text_and_connection() {
        let text = r#"{"type":"snapshot","connections":[{"id":1,"executes":{"aa":5}},{"id":2,"executes":{"aa":7,"bb":1}}],
            "frames":20,"prepared":{"aa":"INSERT"},"cpu_user_us":3,"cpu_sys_us":4,"more":"ignored"}"#;
        let Answer::Snapshot(counters) = serde_json::from_str(text).unwrap() else { panic!() };
        let snapshot = Snapshot::from(*counters);
        assert_eq!(snapshot.executes[&("INSERT".to_owned(), 2)], 7);
        assert_eq!(snapshot.executes[&("bb".to_owned(), 2)], 1);
        assert_eq!((snapshot.cpu_ns, snapshot.requests), (7_000, 20));
    }
}
