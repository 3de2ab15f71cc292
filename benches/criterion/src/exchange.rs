//! `floor` and the embedded node, which exchange bytes without a socket.

use std::io;
use std::iter;

use cqldyno_cluster::SocketlessNode;
use cqldyno_cluster::codec::response::frame_len;
use cqldyno_driver_api::{DriverError, Value};
use cqldyno_driver_floor::parts::{PreparedExecute, prepare, query, startup};
use cqldyno_scenarios::{Permutation, builtin};

/// Rows of the table, and statements that go over one connection; their keys are all below.
pub const ROWS: u64 = 65_536;

/// EXECUTEs that the node reads at once, as from a driver with so many in flight.
pub const IN_FLIGHT: usize = 1_024;

/// What did not go as it must.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The runtime of a node.
    #[error("the node without sockets could not start: {0}")]
    Start(#[from] io::Error),
    /// A frame.
    #[error("floor could not encode or decode a frame: {0}")]
    Floor(#[from] DriverError),
    /// The scenario `mixed`, whose statements these are.
    #[error("the scenario mixed has no statement {0}; the bench is made for its `insert` and `select`")]
    Scenario(&'static str),
    /// Answers of the node.
    #[error("the node gave {found} bytes where {expected} were due for {requests} requests")]
    Answers {
        /// EXECUTEs sent.
        requests: usize,
        /// Bytes that their answers have.
        expected: usize,
        /// Bytes that came.
        found: usize,
    },
}

/// One of the two statements of the scenario `mixed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)`
    Insert,
    /// `SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?`
    Select,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Insert, Kind::Select];

    /// Its name in the scenario.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Insert => "insert",
            Kind::Select => "select",
        }
    }

    /// Lends the values that `key` gives.
    #[inline]
    pub fn values<T>(self, key: u64, lend: impl FnOnce(&[Value<'_>]) -> T) -> T {
        let key = key as i64;
        match self {
            Kind::Insert => lend(&[Value::Bigint(key), Value::Bigint(2 * key), Value::Bigint(3 * key)]),
            Kind::Select => lend(&[Value::Bigint(key)]),
        }
    }

    fn cql(self) -> Result<String, ExchangeError> {
        let scenario = builtin("mixed").ok_or(ExchangeError::Scenario(self.name()))?;
        let found = scenario.statements.into_iter().find(|statement| statement.name == self.name());
        found.map(|statement| statement.cql).ok_or(ExchangeError::Scenario(self.name()))
    }
}

/// A node whose table has [`ROWS`] rows, and the two statements prepared on it.
#[derive(Debug)]
pub struct Exchange {
    node: SocketlessNode,
    insert: PreparedExecute,
    select: PreparedExecute,
}

/// EXECUTEs on all keys in a scattered order, and how long one of them and its answer are.
#[derive(Debug)]
pub struct Requests {
    frames: Vec<u8>,
    length: usize,
    answer_length: usize,
}

impl Exchange {
    /// Creates the table, prepares, and inserts every row.
    ///
    /// # Errors
    /// When the node refuses any of it.
    pub fn new() -> Result<Exchange, ExchangeError> {
        let node = SocketlessNode::new(None)?;
        let mut input = Vec::new();
        startup(&mut input)?;
        let schema = builtin("mixed").map(|scenario| scenario.schema).unwrap_or_default();
        schema.iter().try_for_each(|cql| query(cql, &mut input))?;
        prepare(&Kind::Insert.cql()?, &mut input)?;
        prepare(&Kind::Select.cql()?, &mut input)?;
        let answers = node.connection([input.as_slice()]);
        let mut prepared = frames(&answers).skip(1 + schema.len()).map(PreparedExecute::new);
        let mut next = |name| prepared.next().ok_or(ExchangeError::Scenario(name));
        let (insert, select) = (next("insert")??, next("select")??);
        let exchange = Exchange { node, insert, select };
        let inserts = exchange.requests(Kind::Insert)?;
        exchange.execute(&inserts, ROWS)?;
        Ok(exchange)
    }

    /// The statement as `floor` has it.
    pub fn prepared(&self, kind: Kind) -> &PreparedExecute {
        match kind {
            Kind::Insert => &self.insert,
            Kind::Select => &self.select,
        }
    }

    /// The frame of one EXECUTE.
    ///
    /// # Errors
    /// As [`PreparedExecute::encode`].
    pub fn request(&self, kind: Kind, key: u64) -> Result<Vec<u8>, ExchangeError> {
        let mut frame = Vec::new();
        kind.values(key, |values| self.prepared(kind).encode(values, 1, &mut frame))?;
        Ok(frame)
    }

    /// The frame by which the node answers one EXECUTE.
    ///
    /// # Errors
    /// As [`PreparedExecute::encode`].
    pub fn answer(&self, kind: Kind, key: u64) -> Result<Vec<u8>, ExchangeError> {
        let mut input = Vec::new();
        startup(&mut input)?;
        input.extend(self.request(kind, key)?);
        let answers = self.node.connection([input.as_slice()]);
        Ok(frames(&answers).nth(1).unwrap_or_default().to_vec())
    }

    /// [`ROWS`] EXECUTEs, each on another key.
    ///
    /// # Errors
    /// As [`PreparedExecute::encode`].
    pub fn requests(&self, kind: Kind) -> Result<Requests, ExchangeError> {
        let keys = Permutation::new(ROWS, 1);
        let mut frames = Vec::new();
        for index in 0..ROWS {
            let stream = (index % IN_FLIGHT as u64) as i16;
            kind.values(keys.apply(index), |values| self.prepared(kind).encode(values, stream, &mut frames))?;
        }
        let length = frames.len() / ROWS as usize;
        Ok(Requests { frames, length, answer_length: self.answer(kind, 1)?.len() })
    }

    /// Has the node answer the first `count` requests, at most [`ROWS`], over a connection of their own.
    ///
    /// # Errors
    /// When the answers are not as long as they must be.
    pub fn execute(&self, requests: &Requests, count: u64) -> Result<(), ExchangeError> {
        let mut opening = Vec::new();
        startup(&mut opening)?;
        let wanted = requests.frames.get(..count as usize * requests.length).unwrap_or(&requests.frames);
        let pieces = wanted.chunks(IN_FLIGHT * requests.length);
        let answers = self.node.connection(iter::once(opening.as_slice()).chain(pieces));
        let ready = frame_len(&answers);
        let sent = wanted.len() / requests.length;
        let (expected, found) = (ready + sent * requests.answer_length, answers.len());
        if found == expected { Ok(()) } else { Err(ExchangeError::Answers { requests: sent, expected, found }) }
    }
}

/// The node's frames, one after the other.
fn frames(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    iter::from_fn(move || {
        let (frame, rest) = bytes.split_at_checked(frame_len(bytes)).filter(|(frame, _)| !frame.is_empty())?;
        bytes = rest;
        Some(frame)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::{ErrorKind, Rows};

    #[test]
    fn what_floor_encodes_the_node_answers_and_floor_decodes_the_row() {
        let exchange = Exchange::new().unwrap();
        let mut rows = Rows::new();
        let answer = exchange.answer(Kind::Select, 77).unwrap();
        exchange.prepared(Kind::Select).decode(&answer, &mut rows).unwrap();
        let row = rows.get(0).unwrap();
        let values: Vec<_> = (0..row.len()).filter_map(|index| row.get(index)).collect();
        assert_eq!(values, [Value::Bigint(77), Value::Bigint(154), Value::Bigint(231)]);
        assert_eq!(rows.len(), 1);

        rows.clear();
        let answer = exchange.answer(Kind::Insert, 77).unwrap();
        exchange.prepared(Kind::Insert).decode(&answer, &mut rows).unwrap();
        assert!(rows.is_empty());
    }

    #[test]
    fn every_request_is_answered_with_a_row_and_others_with_fewer_bytes_are_found_out() {
        let exchange = Exchange::new().unwrap();
        let mut requests = exchange.requests(Kind::Select).unwrap();
        exchange.execute(&requests, ROWS).unwrap();
        exchange.execute(&requests, 1).unwrap();
        let key = requests.length - 12;
        requests.frames[key] = 0x7F;
        let error = exchange.execute(&requests, 10).unwrap_err().to_string();
        assert!(error.starts_with("the node gave") && error.ends_with("for 10 requests"), "{error}");
    }

    #[test]
    fn an_error_of_the_node_is_not_taken_for_a_prepared_statement() {
        let exchange = Exchange::new().unwrap();
        let mut input = Vec::new();
        startup(&mut input).unwrap();
        prepare("SELECT nothing FROM cqldyno.bench", &mut input).unwrap();
        let answers = exchange.node.connection([input.as_slice()]);
        let error = PreparedExecute::new(frames(&answers).nth(1).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
