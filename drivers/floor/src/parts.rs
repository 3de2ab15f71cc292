//! The codec without a socket, for `benches/criterion`: each function calls what a session calls.

use cqldyno_driver_api::wire::{ColumnType, malformed};
use cqldyno_driver_api::{Consistency, DriverError, Rows, Value};

use crate::answers::Answer;
use crate::requests::{self, ExecuteTemplate, HEADER};

pub use crate::requests::{prepare, startup};

/// The page size that is asked for.
const PAGE_SIZE: i32 = 5_000;

/// Appends the frame of a QUERY at LOCAL_ONE, on stream 0.
///
/// # Errors
/// When the statement is longer than the protocol allows.
pub fn query(cql: &str, out: &mut Vec<u8>) -> Result<(), DriverError> {
    requests::query(cql, Consistency::LocalOne, out)
}

/// A prepared statement.
#[derive(Debug)]
pub struct PreparedExecute {
    execute: ExecuteTemplate,
    columns: Box<[ColumnType]>,
}

impl PreparedExecute {
    /// From the frame that answered a PREPARE.
    ///
    /// # Errors
    /// When it is an ERROR or malformed.
    pub fn new(frame: &[u8]) -> Result<PreparedExecute, DriverError> {
        let prepared = answer(frame)?.into_prepared()?;
        let returns_rows = !prepared.columns.is_empty();
        let execute =
            ExecuteTemplate::new(&prepared.id, prepared.markers, returns_rows, Consistency::LocalOne, PAGE_SIZE)?;
        Ok(PreparedExecute { execute, columns: prepared.columns })
    }

    /// Appends the frame of an EXECUTE.
    ///
    /// # Errors
    /// When number or types of the values are not those of the markers.
    #[inline]
    pub fn encode(&self, values: &[Value<'_>], stream: i16, out: &mut Vec<u8>) -> Result<(), DriverError> {
        let start = out.len();
        self.execute.encode(values, None, out)?;
        requests::set_stream(out, start, stream);
        Ok(())
    }

    /// Decodes the frame that answered an EXECUTE: every column of every row.
    ///
    /// # Errors
    /// When it is an ERROR or malformed.
    #[inline]
    pub fn decode(&self, frame: &[u8], rows: &mut Rows) -> Result<(), DriverError> {
        answer(frame)?.into_rows(&self.columns, rows).map(drop)
    }
}

#[inline]
fn answer(frame: &[u8]) -> Result<Answer<'_>, DriverError> {
    match frame.split_first_chunk::<HEADER>() {
        Some(([_, flags, _, _, opcode, ..], body)) => Ok(Answer { flags: *flags, opcode: *opcode, body }),
        None => Err(malformed("there is no whole header")),
    }
}
