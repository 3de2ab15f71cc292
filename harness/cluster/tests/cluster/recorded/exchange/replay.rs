//! Sending recorded requests to a server.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::answer::decode;
use super::mask::mask;
use super::recording::{Part, Recording, Request, paging_state, prepared_id};
use super::relay::read_frame;
use cqldyno_cluster::codec::frame::{EVENT_STREAM, Header, Opcode};
use cqldyno_cluster::types::write;

/// How long an answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(30);

/// How long no event may come before there are no more, where their number is not known.
const QUIET: Duration = Duration::from_secs(2);

/// How long a connection is looked at for an event before the next one is.
const GLANCE: Duration = Duration::from_millis(20);

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// One decoded answer per request.
    pub answers: Vec<Value>,
    /// The events that came unasked, by connection.
    pub events: BTreeMap<usize, Vec<Value>>,
}

impl Replayed {
    /// The answers without the server's own data, see [`mask`]. Events for the tables of a dropped keyspace are sorted, because
    /// Cassandra sends them in the order of a hash table.
    pub fn masked(self, keyspace: &str) -> Replayed {
        let masked =
            |answers: Vec<Value>| -> Vec<Value> { answers.into_iter().map(|answer| mask(answer, keyspace)).collect() };
        let events = self.events.into_iter().map(|(connection, events)| {
            let mut events: Vec<Value> = masked(events);
            events.chunk_by_mut(|one, next| is_dropped_table(one) && is_dropped_table(next)).for_each(|tables| {
                tables.sort_by_key(|event| event["body"]["change"].to_string());
            });
            (connection, events)
        });
        Replayed { events: events.collect(), answers: masked(self.answers) }
    }

    /// How many events came.
    pub fn event_count(&self) -> usize {
        self.events.values().map(Vec::len).sum()
    }

    /// One JSON answer per line; the last line holds the events.
    pub fn to_lines(&self) -> String {
        let events = json!({ "events": self.events });
        self.answers.iter().chain([&events]).map(|line| format!("{line}\n")).collect()
    }

    /// Reads what [`Replayed::to_lines`] wrote.
    ///
    /// # Errors
    /// When it is not that.
    pub fn from_lines(text: &str) -> Result<Replayed, serde_json::Error> {
        let mut answers: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let events = answers.pop().map_or(Value::Null, |mut line| line["events"].take());
        Ok(Replayed { answers, events: serde_json::from_value(events)? })
    }
}

/// Why requests could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// Nobody there.
    #[error("There is no server at {address}: {source}. Start one there, or name another HOST:PORT")]
    Connect {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// No answer.
    #[error(
        "Request {number}, {request}, got no answer: {source}. The server closed the connection or is stuck: see its log"
    )]
    Answer {
        /// Counting from 0.
        number: usize,
        /// The request in words.
        request: String,
        /// Why.
        source: io::Error,
    },
    /// A recording that says what cannot be.
    #[error("Request {number} of the recording is not whole: {why}. Record the session again")]
    Recording {
        /// Counting from 0.
        number: usize,
        /// What is wrong.
        why: String,
    },
}

#[derive(Default)]
struct Replay {
    connections: BTreeMap<usize, TcpStream>,
    /// The raw answers so far; none where there was nothing to ask.
    frames: Vec<Option<Vec<u8>>>,
    replayed: Replayed,
}

/// Sends the requests one after the other, each on its recorded connection. Prepared ids and paging states are those that this
/// server gave for the same requests. A request whose paging state this server did not give is skipped, and its answer says so.
/// Then waits until `events` events have come in all, or for two seconds without one.
///
/// # Errors
/// When there is no server, or it does not answer, or the recording is not whole.
pub fn replay(recording: &Recording, server: SocketAddr, events: Option<usize>) -> Result<Replayed, ReplayError> {
    let mut replay = Replay::default();
    for (number, request) in recording.requests.iter().enumerate() {
        let answer = match replay.body(number, request)? {
            Ok(body) => {
                let frame = replay.ask(request, &body, server).map_err(|error| match error {
                    Asked::Connect(source) => ReplayError::Connect { address: server, source },
                    Asked::Answer(source) => {
                        ReplayError::Answer { number, request: request.words(&recording.requests), source }
                    }
                })?;
                let answer = decode(&frame);
                replay.frames.push(Some(frame));
                answer
            }
            Err(why) => {
                replay.frames.push(None);
                json!({ "not_asked": why })
            }
        };
        replay.replayed.answers.push(answer);
    }
    replay.wait_for_events(recording, events);
    Ok(replay.replayed)
}

enum Asked {
    Connect(io::Error),
    Answer(io::Error),
}

impl Replay {
    /// The bytes of a request's body, or why it cannot be asked of this server.
    fn body(&self, number: usize, request: &Request) -> Result<Result<Vec<u8>, String>, ReplayError> {
        let broken = |why: String| ReplayError::Recording { number, why };
        let mut body = Vec::new();
        for part in &request.body {
            match part {
                Part::Cql(cql) => write::long_string(&mut body, cql),
                Part::Hex(digits) => {
                    let bytes = from_hex(digits).ok_or_else(|| broken(format!("{digits:?} is not hexadecimal")))?;
                    body.extend_from_slice(&bytes);
                }
                Part::Prepared(by) | Part::Page(by) if *by >= number => {
                    return Err(broken(format!("it needs the answer to request {by}, which is not before it")));
                }
                Part::Prepared(by) => match self.frames[*by].as_deref().and_then(prepared_id) {
                    Some(id) => write::short_bytes(&mut body, id),
                    None => return Ok(Err(format!("request {by} gave no prepared id"))),
                },
                Part::Page(by) => match self.frames[*by].as_deref().and_then(paging_state) {
                    Some(state) => write::bytes(&mut body, Some(state)),
                    None => return Ok(Err(format!("request {by} gave no paging state"))),
                },
            }
        }
        Ok(Ok(body))
    }

    fn ask(&mut self, request: &Request, body: &[u8], server: SocketAddr) -> Result<Vec<u8>, Asked> {
        if let Entry::Vacant(connection) = self.connections.entry(request.connection) {
            let stream = TcpStream::connect(server).map_err(Asked::Connect)?;
            stream.set_nodelay(true).map_err(Asked::Connect)?;
            stream.set_read_timeout(Some(ANSWERS_WITHIN)).map_err(Asked::Connect)?;
            connection.insert(stream);
        }
        let lost = || Asked::Answer(io::ErrorKind::NotConnected.into());
        let mut stream = self.connections.get(&request.connection).ok_or_else(lost)?;
        let opcode = Opcode::ALL.iter().find(|(_, name)| *name == request.opcode);
        let header = Header {
            version: request.version,
            flags: request.flags,
            stream: request.stream,
            opcode: opcode.map_or(u8::MAX, |(opcode, _)| *opcode as u8),
            length: body.len(),
        };
        let whole = [&header.encode(false)[..], body].concat();
        stream.write_all(&whole).map_err(Asked::Answer)?;
        loop {
            let frame = read_frame(&mut stream).map_err(Asked::Answer)?;
            if !is_event(&frame) {
                return Ok(frame);
            }
            self.replayed.events.entry(request.connection).or_default().push(decode(&frame));
        }
    }

    fn wait_for_events(&mut self, recording: &Recording, expected: Option<usize>) {
        let registered: Vec<usize> = recording
            .requests
            .iter()
            .filter(|request| request.opcode == Opcode::Register.name())
            .map(|request| request.connection)
            .collect();
        let patience = expected.map_or(QUIET, |_| ANSWERS_WITHIN);
        let mut last = Instant::now();
        while last.elapsed() < patience && expected.is_none_or(|expected| self.replayed.event_count() < expected) {
            for connection in &registered {
                let Some(mut stream) = self.connections.get(connection) else { continue };
                // Only looked at, so that no part of a frame is lost when the time is over.
                let is_there =
                    stream.set_read_timeout(Some(GLANCE)).is_ok() && stream.peek(&mut [0]).is_ok_and(|n| n > 0);
                if !is_there || stream.set_read_timeout(Some(ANSWERS_WITHIN)).is_err() {
                    continue;
                }
                let Ok(frame) = read_frame(&mut stream) else { continue };
                self.replayed.events.entry(*connection).or_default().push(decode(&frame));
                last = Instant::now();
            }
        }
    }
}

fn is_dropped_table(event: &Value) -> bool {
    let change = &event["body"]["change"];
    change[0] == "DROPPED" && change[1] == "TABLE"
}

fn is_event(frame: &[u8]) -> bool {
    frame.get(2..4) == Some(&EVENT_STREAM.to_be_bytes()[..])
}

fn from_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
    rest.is_empty().then(|| pairs.iter().map(byte).collect()).flatten()
}
