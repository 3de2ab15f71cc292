//! Rows out, of the `CqlValue` that releases before 0.15 decode into.

use cqldyno_driver_api::{DriverError, ErrorKind, Rows};
use scylla::frame::response::result::{CqlValue, Row};
use scylla::transport::iterator::RowIterator;

use crate::names::QueryResult;

/// Takes one page into `rows`, if the answer has rows.
#[inline]
pub(crate) fn decode(page: QueryResult, rows: &mut Rows) -> Result<(), DriverError> {
    let Some(page) = page.rows else { return Ok(()) };
    for row in page {
        take(row, rows)?;
    }
    rows.end_page();
    Ok(())
}

/// The rows of a pager.
pub(crate) fn stream(pager: RowIterator) -> Result<RowIterator, DriverError> {
    Ok(pager)
}

/// Takes one row.
#[inline]
pub(crate) fn take(row: Row, rows: &mut Rows) -> Result<(), DriverError> {
    for column in row.columns {
        match column {
            None => rows.push_null(),
            Some(CqlValue::BigInt(value)) => rows.push_bigint(value),
            Some(CqlValue::Int(value)) => rows.push_int(value),
            Some(CqlValue::Boolean(value)) => rows.push_boolean(value),
            Some(CqlValue::Double(value)) => rows.push_double(value),
            #[cfg(since = "0.11")]
            Some(CqlValue::Timestamp(value)) => rows.push_timestamp(value.0),
            #[cfg(before = "0.11")]
            Some(CqlValue::Timestamp(value)) => rows.push_timestamp(value.num_milliseconds()),
            Some(CqlValue::Uuid(value)) => rows.push_uuid(*value.as_bytes()),
            Some(CqlValue::Text(value) | CqlValue::Ascii(value)) => rows.push_text(&value),
            Some(CqlValue::Blob(value)) => rows.push_blob(&value),
            Some(other) => return Err(unknown(&other)),
        }
    }
    rows.end_row();
    Ok(())
}

#[cold]
fn unknown(value: &CqlValue) -> DriverError {
    DriverError::new(
        ErrorKind::Codec,
        format_args!(
            "a column holds {value:?}; an adapter decodes bigint, int, boolean, double, timestamp, uuid, text and blob"
        ),
    )
}
