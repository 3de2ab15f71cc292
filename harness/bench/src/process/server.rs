//! The embedded cluster as a child process: `cqldyno serve --control`, one JSON object a line on its standard input and
//! output.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cqldyno_cluster::{Control, Listening};
use cqldyno_meter::Span;
use cqldyno_protocol::encode;
use serde::de::DeserializeOwned;

use crate::judge::agreement::{Reads, Snapshot};
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;
use crate::process::child::{AtGate, Launch, Process, Silence};
use crate::judge::redaction::Redaction;

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

/// What the cluster counted, as it is compared with the worker's account.
fn counted(counters: cqldyno_cluster::Snapshot) -> Snapshot {
    let statements = ["QUERY", "EXECUTE", "BATCH"].iter().filter_map(|opcode| counters.opcodes.get(*opcode)).sum();
    let received = counters.execute_times.iter().map(|(id, times)| {
        let text = counters.prepared.get(id).unwrap_or(id).clone();
        (text, Span { first_ns: times.first_ns, last_ns: times.last_ns })
    });
    let received = received.collect();
    let mut executes = BTreeMap::new();
    let mut reads = BTreeMap::new();
    for connection in counters.connections {
        let (count, frames, bytes) = (connection.reads, connection.frames, connection.read_bytes);
        reads.insert(connection.id, Reads { count, frames, bytes });
        for (id, count) in connection.executes {
            // An id without a text cannot be a statement of the scenario: those were prepared before the window.
            let text = counters.prepared.get(&id).cloned().unwrap_or(id);
            *executes.entry((text, connection.id)).or_default() += count;
        }
    }
    let text_of = |id: String| counters.prepared.get(&id).cloned().unwrap_or(id);
    let by_text = |counts: BTreeMap<String, u64>| {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        counts.into_iter().for_each(|(id, count)| *sums.entry(text_of(id)).or_default() += count);
        sums
    };
    let cpu_ns = (counters.cpu_user_us + counters.cpu_sys_us) * 1_000;
    Snapshot {
        cpu_ns,
        requests: counters.frames,
        executes,
        reads,
        statements,
        rows: counters.rows,
        received,
        forgotten_executes: by_text(counters.executes_forgotten),
        forgotten_connections: by_text(counters.executes_forgotten_connections),
        operations: counters.operations,
        opened: counters.connections_ever,
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
            environment: &[],
            library_folder: None,
            cores: launch.cores,
            log: launch.log.clone(),
            redaction: Redaction::default(),
        })
        .map_err(|error| error.to_string())
        .and_then(AtGate::open)
        .map_err(|error| CellFailure::Server(format!("The embedded server could not be started: {error}.")))?;
        let mut server = Server { process, nodes: Vec::new() };
        let there: Listening = server.answer(START_WITHIN, "to listen", cancel)?;
        server.nodes.push(there.listening);
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
        let line = encode(&Control::snapshot()).map_err(|error| CellFailure::Machine(error.to_string()))?;
        if self.process.send(&line).is_err() {
            return Err(self.ended().unwrap_or_else(|| {
                CellFailure::Server("The embedded server no longer reads what it is asked.".to_owned())
            }));
        }
        self.answer(ANSWER_WITHIN, "to give its counters", cancel).map(counted)
    }

    /// Why the server is gone, if it is.
    pub(crate) fn ended(&mut self) -> Option<CellFailure> {
        self.process.ended().map(|how| CellFailure::Server(format!("The embedded server {how}.")))
    }

    fn answer<A: DeserializeOwned>(&mut self, within: Duration, what: &str, cancel: &Cancel) -> Result<A, CellFailure> {
        let failure = |sentence: String| Err(CellFailure::Server(sentence));
        match self.process.line(Instant::now() + within, cancel, &mut || None) {
            Ok(line) => serde_json::from_str(&line).or_else(|error| {
                let line: String = line.trim_end().chars().take(80).collect();
                failure(format!("The embedded server was {what} and said {line:?}: {error}."))
            }),
            Err(Silence::Cancelled) => Err(CellFailure::Cancelled),
            Err(Silence::Broken(failure)) => Err(failure),
            Err(Silence::Ended(how)) => failure(format!("The embedded server was {what}, and {how}.")),
            Err(Silence::TimedOut) => {
                let log = self.process.end_and_quote();
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
    use cqldyno_cluster::{ConnectionSnapshot, ExecuteTimes};

    #[test]
    fn counters_become_executes_by_text_and_connection() {
        let connection = |id, executes: &[(&str, u64)]| ConnectionSnapshot {
            id,
            frames: 10 * id,
            reads: id,
            read_bytes: 100 * id,
            executes: executes.iter().map(|(id, count)| ((*id).to_owned(), *count)).collect(),
            ..ConnectionSnapshot::default()
        };
        let snapshot = counted(cqldyno_cluster::Snapshot {
            connections: vec![connection(1, &[("aa", 5)]), connection(2, &[("aa", 7), ("bb", 1)])],
            frames: 20,
            opcodes: [("QUERY", 3), ("EXECUTE", 13), ("BATCH", 1), ("OPTIONS", 3)]
                .map(|(of, n)| (of.to_owned(), n))
                .into(),
            execute_times: [("aa".to_owned(), ExecuteTimes { first_ns: 5, last_ns: 9 })].into(),
            rows: 11,
            prepared: [("aa".to_owned(), "INSERT".to_owned())].into(),
            cpu_user_us: 3,
            cpu_sys_us: 4,
            ..cqldyno_cluster::Snapshot::default()
        });
        assert_eq!(snapshot.executes[&("INSERT".to_owned(), 2)], 7);
        assert_eq!(snapshot.executes[&("bb".to_owned(), 2)], 1);
        assert_eq!(snapshot.reads[&2], Reads { count: 2, frames: 20, bytes: 200 });
        assert_eq!((snapshot.cpu_ns, snapshot.requests, snapshot.statements, snapshot.rows), (7_000, 20, 17, 11));
        assert_eq!(snapshot.received["INSERT"], Span { first_ns: 5, last_ns: 9 });
    }
}
