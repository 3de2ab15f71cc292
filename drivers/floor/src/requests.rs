//! Request frames: native_protocol_v4.spec sections 2 and 4.1.

use cqldyno_driver_api::wire::{self, ColumnType, codec};
use cqldyno_driver_api::{BatchRows, Consistency, Credentials, DriverError, Value};

/// Length of a frame's header.
pub(crate) const HEADER: usize = 9;

const VERSION: u8 = 0x04;
const STARTUP: u8 = 0x01;
const QUERY: u8 = 0x07;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0A;
const BATCH: u8 = 0x0D;
const AUTH_RESPONSE: u8 = 0x0F;

/// Kinds of a BATCH (section 4.1.7).
const LOGGED: u8 = 0;
const UNLOGGED: u8 = 1;
/// Kind of a statement in a BATCH.
const PREPARED: u8 = 1;

const WITH_VALUES: u8 = 0x01;
const SKIP_METADATA: u8 = 0x02;
const WITH_PAGE_SIZE: u8 = 0x04;
const WITH_PAGING_STATE: u8 = 0x08;

/// Appends a frame whose body `body` writes; stream 0 until [`set_stream`].
fn frame(
    opcode: u8,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    let start = out.len();
    out.extend_from_slice(&[VERSION, 0, 0, 0, opcode, 0, 0, 0, 0]);
    body(out)?;
    close(out, start)
}

/// Writes the body's length into the header of the frame that begins at `start` and ends where `out` does.
#[inline]
fn close(out: &mut [u8], start: usize) -> Result<(), DriverError> {
    let too_long = || codec("a frame is longer than the protocol allows");
    let length = i32::try_from(out.len() - start - HEADER).map_err(|_| too_long())?;
    let field = out.get_mut(start + 5..start + HEADER).ok_or_else(too_long)?;
    field.copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// Writes the stream id into the header of the frame that begins at `start`.
#[inline]
pub(crate) fn set_stream(out: &mut [u8], start: usize, stream: i16) {
    if let Some(field) = out.get_mut(start + 2..start + 4) {
        field.copy_from_slice(&stream.to_be_bytes());
    }
}

fn short(length: usize) -> Result<[u8; 2], DriverError> {
    u16::try_from(length).map(u16::to_be_bytes).map_err(|_| codec("a field is longer than the protocol allows"))
}

fn string(text: &str, out: &mut Vec<u8>) -> Result<(), DriverError> {
    out.extend_from_slice(&short(text.len())?);
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Appends the frame of a STARTUP (section 4.1.1), on stream 0.
///
/// # Errors
/// None: what it says is short enough.
pub fn startup(out: &mut Vec<u8>) -> Result<(), DriverError> {
    frame(STARTUP, out, |out| {
        let options =
            [("CQL_VERSION", "3.0.0"), ("DRIVER_NAME", "cqldyno floor"), ("DRIVER_VERSION", env!("CARGO_PKG_VERSION"))];
        out.extend_from_slice(&short(options.len())?);
        options.iter().try_for_each(|(key, value)| string(key, out).and_then(|()| string(value, out)))
    })
}

/// AUTH_RESPONSE with the token of SASL PLAIN, which Cassandra's PasswordAuthenticator takes: section 4.1.2.
pub(crate) fn auth_response(credentials: &Credentials, out: &mut Vec<u8>) -> Result<(), DriverError> {
    let token = format!("\0{}\0{}", credentials.user, credentials.password);
    frame(AUTH_RESPONSE, out, |out| wire::bytes(token.as_bytes(), out))
}

/// QUERY without values: section 4.1.4.
pub(crate) fn query(cql: &str, consistency: Consistency, out: &mut Vec<u8>) -> Result<(), DriverError> {
    frame(QUERY, out, |out| {
        wire::bytes(cql.as_bytes(), out)?;
        out.extend_from_slice(&consistency_code(consistency).to_be_bytes());
        out.push(0);
        Ok(())
    })
}

/// QUERY with values, whose answer has metadata: section 4.1.4.
pub(crate) fn query_values(
    cql: &str,
    consistency: Consistency,
    values: &[Value<'_>],
    page_size: i32,
    paging_state: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), DriverError> {
    frame(QUERY, out, |out| {
        wire::bytes(cql.as_bytes(), out)?;
        out.extend_from_slice(&consistency_code(consistency).to_be_bytes());
        let with_state = if paging_state.is_some() { WITH_PAGING_STATE } else { 0 };
        out.push(WITH_VALUES | WITH_PAGE_SIZE | with_state);
        out.extend_from_slice(&short(values.len())?);
        // The markers' types are unknown: the server takes the bytes as its own types.
        values.iter().try_for_each(|value| wire::encode(value, &ColumnType::of(value), out))?;
        out.extend_from_slice(&page_size.to_be_bytes());
        paging_state.map_or(Ok(()), |state| wire::bytes(state, out))
    })
}

/// A BATCH of one prepared statement: section 4.1.7.
pub(crate) fn batch(
    id: &[u8],
    execute: &ExecuteTemplate,
    rows: BatchRows<'_>,
    consistency: Consistency,
    out: &mut Vec<u8>,
) -> Result<(), DriverError> {
    frame(BATCH, out, |out| {
        out.push(if rows.is_logged { LOGGED } else { UNLOGGED });
        out.extend_from_slice(&short(rows.len())?);
        for row in rows.iter() {
            out.push(PREPARED);
            out.extend_from_slice(&short(id.len())?);
            out.extend_from_slice(id);
            out.extend_from_slice(&short(row.len())?);
            execute.encode_values(row, out)?;
        }
        out.extend_from_slice(&consistency_code(consistency).to_be_bytes());
        out.push(0);
        Ok(())
    })
}

/// Appends the frame of a PREPARE (section 4.1.5), on stream 0.
///
/// # Errors
/// When the statement is longer than the protocol allows.
pub fn prepare(cql: &str, out: &mut Vec<u8>) -> Result<(), DriverError> {
    frame(PREPARE, out, |out| wire::bytes(cql.as_bytes(), out))
}

fn consistency_code(consistency: Consistency) -> u16 {
    match consistency {
        Consistency::One => 0x0001,
        Consistency::Two => 0x0002,
        Consistency::Three => 0x0003,
        Consistency::Quorum => 0x0004,
        Consistency::All => 0x0005,
        Consistency::LocalQuorum => 0x0006,
        Consistency::EachQuorum => 0x0007,
        Consistency::LocalOne => 0x000A,
    }
}

/// The EXECUTE frame of one prepared statement (section 4.1.6); only its values differ between executions.
#[derive(Debug)]
pub(crate) struct ExecuteTemplate {
    /// Header, prepared id, consistency, flags and number of values.
    head: Box<[u8]>,
    /// Where in `head` the flags are.
    flags_at: usize,
    markers: Box<[ColumnType]>,
    /// What follows the values: the page size of a statement that returns rows.
    tail: Box<[u8]>,
}

impl ExecuteTemplate {
    pub(crate) fn new(
        id: &[u8],
        markers: Box<[ColumnType]>,
        returns_rows: bool,
        consistency: Consistency,
        page_size: i32,
    ) -> Result<ExecuteTemplate, DriverError> {
        let mut head = vec![VERSION, 0, 0, 0, EXECUTE, 0, 0, 0, 0];
        head.extend_from_slice(&short(id.len())?);
        head.extend_from_slice(id);
        head.extend_from_slice(&consistency_code(consistency).to_be_bytes());
        let flags_at = head.len();
        let (flags, tail) = match returns_rows {
            true => (SKIP_METADATA | WITH_PAGE_SIZE, page_size.to_be_bytes().to_vec()),
            false => (0, Vec::new()),
        };
        if markers.is_empty() {
            head.push(flags);
        } else {
            head.push(flags | WITH_VALUES);
            head.extend_from_slice(&short(markers.len())?);
        }
        Ok(ExecuteTemplate { head: head.into(), flags_at, markers, tail: tail.into() })
    }

    /// Appends the frame; stream 0 until [`set_stream`]. On an error `out` may have a part of it.
    #[inline]
    pub(crate) fn encode(
        &self,
        values: &[Value<'_>],
        paging_state: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), DriverError> {
        if values.len() != self.markers.len() {
            return Err(self.wrong_number(values));
        }
        let start = out.len();
        out.extend_from_slice(&self.head);
        for (value, wanted) in values.iter().zip(&self.markers) {
            wire::encode(value, wanted, out)?;
        }
        out.extend_from_slice(&self.tail);
        if let Some(state) = paging_state {
            if let Some(flags) = out.get_mut(start + self.flags_at) {
                *flags |= WITH_PAGING_STATE;
            }
            wire::bytes(state, out)?;
        }
        close(out, start)
    }

    /// Appends the values alone, as they follow their number in a BATCH.
    fn encode_values(&self, values: &[Value<'_>], out: &mut Vec<u8>) -> Result<(), DriverError> {
        if values.len() != self.markers.len() {
            return Err(self.wrong_number(values));
        }
        values.iter().zip(&self.markers).try_for_each(|(value, wanted)| wire::encode(value, wanted, out))
    }

    #[cold]
    fn wrong_number(&self, values: &[Value<'_>]) -> DriverError {
        codec(format_args!("{} values were bound to a statement with {} markers", values.len(), self.markers.len()))
    }
}
