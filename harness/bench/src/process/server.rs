//! The embedded cluster as a child process: `cqldyno serve --control`, one JSON object per line on its standard input and output.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use cqldyno_cluster::{Control, Listening, PlayedAll, Snapshot};
use cqldyno_protocol::encode;
use cqldyno_script::{Played, Step};
use serde::de::DeserializeOwned;

use crate::process::cancel::Cancel;
use crate::process::child::{Launch, Process, Silence};
use crate::process::failure::CellFailure;

/// How long the server may take to listen: its table is touched beforehand.
const START_WITHIN: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// A running embedded cluster. It is killed when this is dropped.
pub(crate) struct Server {
    process: Process,
    nodes: Vec<SocketAddr>,
}

impl Server {
    /// Starts `cqldyno serve` with tables for so many rows and further `arguments`, and waits until it listens.
    pub(crate) fn start(
        launch: Launch<'_>,
        rows: u64,
        arguments: Vec<OsString>,
        cancel: &Cancel,
    ) -> Result<Server, CellFailure> {
        let own = ["serve", "--control", "--port", "0", "--expect-rows", &rows.to_string()].map(OsString::from);
        let arguments = own.into_iter().chain(arguments).collect();
        let process = Process::at_gate(Launch { arguments, ..launch })
            .map_err(|error| error.to_string())
            .and_then(Process::open)
            .map_err(|error| CellFailure::Server(format!("The embedded cluster could not be started: {error}.")))?;
        let mut server = Server { process, nodes: Vec::new() };
        let there: Listening = server.answer(START_WITHIN, "to listen", cancel)?;
        server.nodes = if there.nodes.is_empty() { vec![there.listening] } else { there.nodes };
        Ok(server)
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.pid()
    }

    pub(crate) fn nodes(&self) -> &[SocketAddr] {
        &self.nodes
    }

    pub(crate) fn snapshot(&mut self, cancel: &Cancel) -> Result<Snapshot, CellFailure> {
        self.asked(&Control::Snapshot(true), "to give its counters", cancel)
    }

    /// Gives it the script of connections to come.
    pub(crate) fn set_script(&mut self, steps: Vec<Step>, cancel: &Cancel) -> Result<(), CellFailure> {
        self.asked::<Control>(&Control::Script(steps), "to take its script", cancel).map(drop)
    }

    pub(crate) fn play(&mut self, cancel: &Cancel) -> Result<(), CellFailure> {
        self.asked::<Control>(&Control::Play(true), "to start its script", cancel).map(drop)
    }

    /// Ends its script: what each step did.
    pub(crate) fn end_script(&mut self, cancel: &Cancel) -> Result<Vec<Played>, CellFailure> {
        let all: PlayedAll = self.asked(&Control::Play(false), "to end its script", cancel)?;
        Ok(all.played)
    }

    fn asked<A: DeserializeOwned>(&mut self, command: &Control, what: &str, cancel: &Cancel) -> Result<A, CellFailure> {
        let line = encode(command).map_err(|error| CellFailure::Machine(error.to_string()))?;
        if self.process.send(&line).is_err() {
            return Err(self.ended().unwrap_or_else(|| {
                CellFailure::Server("The embedded cluster no longer reads what it is asked.".to_owned())
            }));
        }
        self.answer(ANSWER_WITHIN, what, cancel)
    }

    pub(crate) fn ended(&mut self) -> Option<CellFailure> {
        self.process.ended().map(|how| CellFailure::Server(format!("The embedded cluster {how}.")))
    }

    /// Why nobody gets an answer from the server, if so: it is gone, it is stopped, or it is asked and does not answer.
    pub(crate) fn silent(&mut self, cancel: &Cancel) -> Option<CellFailure> {
        let stopped = || {
            let state = self.process.state()?;
            matches!(state, 'T' | 't').then(|| {
                CellFailure::Server(format!(
                    "The embedded cluster was stopped, as SIGSTOP does (state {state} of process {}), so nobody got an answer. Find \
                     out what stopped it, and run this again.",
                    self.process.pid()
                ))
            })
        };
        stopped().or_else(|| self.ended()).or_else(|| self.snapshot(cancel).err())
    }

    fn answer<A: DeserializeOwned>(&mut self, within: Duration, what: &str, cancel: &Cancel) -> Result<A, CellFailure> {
        let failure = |sentence: String| Err(CellFailure::Server(sentence));
        match self.process.line(Instant::now() + within, cancel, &mut || None) {
            Ok(line) => serde_json::from_str(&line).or_else(|error| {
                let line: String = line.trim_end().chars().take(80).collect();
                failure(format!("The embedded cluster was {what} and said {line:?}: {error}."))
            }),
            Err(Silence::Cancelled) => Err(CellFailure::Cancelled),
            Err(Silence::Broken(failure)) => Err(failure),
            Err(Silence::Ended(how)) => failure(format!("The embedded cluster was {what}, and {how}.")),
            Err(Silence::TimedOut) => {
                let log = self.process.end_and_quote();
                failure(format!("The embedded cluster was {what} and had not after {} s{log}.", within.as_secs()))
            }
            Err(Silence::TooLong(length)) => {
                failure(format!("The embedded cluster was {what} and said a line of {length} bytes."))
            }
        }
    }
}
