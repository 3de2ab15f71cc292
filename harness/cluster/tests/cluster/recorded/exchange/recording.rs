//! The requests of a session, in a form that can be asked of another server, and be read.

use std::collections::HashMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::relay::Passed;
use cqldyno_cluster::codec::frame::{HEADER_LEN, Header, Opcode};
use cqldyno_cluster::codec::request::{self, BatchQuery};
use cqldyno_cluster::codec::response::{KIND_PREPARED, KIND_ROWS, ROWS_HAS_MORE_PAGES};
use cqldyno_cluster::error::Hex;
use cqldyno_cluster::types::{Malformed, Reader};

/// A piece of a request's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// A statement, as `[long string]`.
    Cql(String),
    /// The id that the answer to this request (counting from 0) gave, as `[short bytes]`.
    Prepared(usize),
    /// The paging state that the answer to this request gave, as `[bytes]`.
    Page(usize),
    /// Bytes as they are, in hexadecimal.
    Hex(String),
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Which of the session's connections, counting from 0 in the order in which they were opened.
    pub connection: usize,
    /// The protocol version.
    #[serde(default = "usual_version", skip_serializing_if = "is_usual_version")]
    pub version: u8,
    /// The header's flags.
    #[serde(default, skip_serializing_if = "has_no_flags")]
    pub flags: u8,
    /// The header's stream.
    pub stream: i16,
    /// The opcode's name.
    pub opcode: String,
    /// The body, piece after piece.
    pub body: Vec<Part>,
}

fn usual_version() -> u8 {
    4
}

fn is_usual_version(version: &u8) -> bool {
    *version == usual_version()
}

fn has_no_flags(flags: &u8) -> bool {
    *flags == 0
}

/// The requests of a session, in the order in which they were sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// See there.
    pub requests: Vec<Request>,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// What was sent is not the protocol.
    #[error(
        "Request {number} ({opcode}) could not be read: {why}. Record a session without compression, of protocol version 3 or 4"
    )]
    Request {
        /// Counting from 0.
        number: usize,
        /// The opcode's name.
        opcode: String,
        /// What is wrong.
        why: Malformed,
    },
    /// A frame that is none.
    #[error("A frame of {0} bytes has no header that this node knows. Record a session of protocol version 3 or 4")]
    Header(usize),
    /// A line of a file is not a request.
    #[error(
        "Line {line} of the recording is no request: {source}. Record the session again, or take the file of the last commit"
    )]
    Line {
        /// Counting from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
}

/// What of a recorded session is known so far.
#[derive(Default)]
struct Known {
    /// Requests that are not answered, by connection and stream.
    pending: HashMap<(usize, i16), usize>,
    /// The requests whose answers gave these ids.
    ids: HashMap<Vec<u8>, usize>,
    /// The requests whose answers gave these paging states.
    pages: HashMap<Vec<u8>, usize>,
}

impl Recording {
    /// Makes a recording of frames in the order in which they passed a relay.
    ///
    /// # Errors
    /// When a request is not one of protocol version 3 or 4, uncompressed.
    pub fn of(passed: &[Passed]) -> Result<Recording, RecordingError> {
        let (mut requests, mut known) = (Vec::new(), Known::default());
        for frame in passed {
            if frame.is_answer {
                known.answer(frame.connection, &frame.bytes);
                continue;
            }
            let bytes = &frame.bytes;
            let (Ok(Some(header)), Some(body)) = (Header::parse(bytes), bytes.get(HEADER_LEN..)) else {
                return Err(RecordingError::Header(bytes.len()));
            };
            let opcode = Opcode::from_byte(header.opcode).map_or("unknown", Opcode::name).to_owned();
            let number = requests.len();
            let body = known.parts(&header, body).map_err(|why| RecordingError::Request {
                number,
                opcode: opcode.clone(),
                why,
            })?;
            known.pending.insert((frame.connection, header.stream), number);
            let (version, flags, stream) = (header.version, header.flags, header.stream);
            requests.push(Request { connection: frame.connection, version, flags, stream, opcode, body });
        }
        Ok(Recording { requests })
    }

    /// Reads what [`Recording::to_lines`] wrote.
    ///
    /// # Errors
    /// When a line is no request.
    pub fn from_lines(text: &str) -> Result<Recording, RecordingError> {
        let read = |(at, line)| serde_json::from_str(line).map_err(|source| RecordingError::Line { line: at, source });
        Ok(Recording { requests: (1..).zip(text.lines()).map(read).collect::<Result<_, _>>()? })
    }

    /// One JSON object a line.
    pub fn to_lines(&self) -> String {
        self.requests.iter().filter_map(|request| serde_json::to_string(request).ok()).fold(
            String::new(),
            |mut lines, line| {
                lines.push_str(&line);
                lines.push('\n');
                lines
            },
        )
    }
}

impl Request {
    /// The request in a few words: its opcode and its statement, given all requests of the recording.
    pub fn words(&self, all: &[Request]) -> String {
        let mut words = self.opcode.clone();
        for part in &self.body {
            match part {
                Part::Cql(cql) => {
                    let _ = write!(words, " {cql:?}");
                }
                Part::Prepared(number) => {
                    let cql = all.get(*number).and_then(Request::cql).unwrap_or("of an unknown statement");
                    let _ = write!(words, " {cql:?}");
                }
                Part::Page(number) => {
                    let _ = write!(words, " after the page of request {number}");
                }
                Part::Hex(_) => {}
            }
        }
        words
    }

    /// The first statement in the body.
    pub fn cql(&self) -> Option<&str> {
        self.body.iter().find_map(|part| match part {
            Part::Cql(cql) => Some(cql.as_str()),
            _ => None,
        })
    }
}

impl Known {
    fn answer(&mut self, connection: usize, frame: &[u8]) {
        let Some(&[_, _, s0, s1, opcode, ..]) = frame.first_chunk::<HEADER_LEN>() else { return };
        let Some(number) = self.pending.remove(&(connection, i16::from_be_bytes([s0, s1]))) else { return };
        if opcode != Opcode::Result as u8 {
            return;
        }
        match (prepared_id(frame), paging_state(frame)) {
            (Some(id), _) => drop(self.ids.insert(id.to_vec(), number)),
            (_, Some(state)) => drop(self.pages.insert(state.to_vec(), number)),
            _ => {}
        }
    }

    /// The body in pieces.
    fn parts(&self, header: &Header, body: &[u8]) -> Result<Vec<Part>, Malformed> {
        let mut cuts = Vec::new();
        let state = match Opcode::from_byte(header.opcode) {
            Some(Opcode::Prepare) => {
                cuts.push(cql(body, request::prepare(body)?));
                None
            }
            Some(Opcode::Query) => {
                let query = request::query(body, header.version)?;
                cuts.push(cql(body, query.query));
                query.parameters.paging_state
            }
            Some(Opcode::Execute) => {
                let execute = request::execute(body, header.version)?;
                cuts.extend(self.id(body, execute.id));
                execute.parameters.paging_state
            }
            Some(Opcode::Batch) => {
                for (what, _) in request::batch(body, header.version)?.statements {
                    match what {
                        BatchQuery::Text(text) => cuts.push(cql(body, text)),
                        BatchQuery::Id(id) => cuts.extend(self.id(body, id)),
                    }
                }
                None
            }
            _ => None,
        };
        if let Some(state) = state
            && let Some(number) = self.pages.get(state)
        {
            cuts.push(cut(body, 4, state, Part::Page(*number)));
        }
        let (mut parts, mut at) = (Vec::new(), 0);
        for (start, end, part) in cuts {
            put_hex(&mut parts, &body[at..start]);
            parts.push(part);
            at = end;
        }
        put_hex(&mut parts, &body[at..]);
        Ok(parts)
    }

    /// An id that no answer gave stays as it is.
    fn id(&self, body: &[u8], id: &[u8]) -> Option<(usize, usize, Part)> {
        self.ids.get(id).map(|number| cut(body, 2, id, Part::Prepared(*number)))
    }
}

fn put_hex(parts: &mut Vec<Part>, bytes: &[u8]) {
    if !bytes.is_empty() {
        parts.push(Part::Hex(Hex(bytes).to_string()));
    }
}

fn cql(body: &[u8], text: &str) -> (usize, usize, Part) {
    cut(body, 4, text.as_bytes(), Part::Cql(text.to_owned()))
}

/// Where a piece of the body is, with the length before it.
fn cut(body: &[u8], length_len: usize, piece: &[u8], part: Part) -> (usize, usize, Part) {
    let start = piece.as_ptr() as usize - body.as_ptr() as usize;
    (start - length_len, start + piece.len(), part)
}

/// The id in a RESULT Prepared.
pub(super) fn prepared_id(frame: &[u8]) -> Option<&[u8]> {
    let mut body = Reader::new(frame.get(HEADER_LEN..)?);
    (body.int().ok()? == KIND_PREPARED).then(|| body.short_bytes().ok()).flatten()
}

/// The paging state in a RESULT Rows.
pub(super) fn paging_state(frame: &[u8]) -> Option<&[u8]> {
    let mut body = Reader::new(frame.get(HEADER_LEN..)?);
    if body.int().ok()? != KIND_ROWS || body.int().ok()? & ROWS_HAS_MORE_PAGES == 0 {
        return None;
    }
    let _columns = body.int().ok()?;
    body.bytes().ok()?
}
