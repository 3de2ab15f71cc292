//! Rows out, through the driver's own typed deserialisation.

use cqldyno_driver_api::{DriverError, ErrorKind, Rows};
use scylla::deserialize::row::{ColumnIterator, RawColumn};
use uuid::Uuid;

use crate::release::{self, CqlTimestamp, DeserializeValue, NativeType, QueryResult, native_type};

/// Decodes one page into `rows`, if the answer has rows.
#[inline]
pub(crate) fn decode(page: QueryResult, rows: &mut Rows) -> Result<(), DriverError> {
    if !page.is_rows() {
        return Ok(());
    }
    let page = page.into_rows_result().map_err(codec)?;
    for row in page.rows::<ColumnIterator>().map_err(codec)? {
        for column in row.map_err(codec)? {
            decode_column(column.map_err(codec)?, rows)?;
        }
        rows.end_row();
    }
    rows.end_page();
    Ok(())
}

#[inline]
fn decode_column<'frame>(column: RawColumn<'frame, '_>, rows: &mut Rows) -> Result<(), DriverError> {
    if column.slice.is_none() {
        rows.push_null();
        return Ok(());
    }
    match native_type(column.spec.typ()) {
        Some(NativeType::BigInt) => rows.push_bigint(typed(column)?),
        Some(NativeType::Int) => rows.push_int(typed(column)?),
        Some(NativeType::Boolean) => rows.push_boolean(typed(column)?),
        Some(NativeType::Double) => rows.push_double(typed(column)?),
        Some(NativeType::Timestamp) => rows.push_timestamp(typed::<CqlTimestamp>(column)?.0),
        Some(NativeType::Uuid) => rows.push_uuid(typed::<Uuid>(column)?.into_bytes()),
        Some(NativeType::Text | NativeType::Ascii) => rows.push_text(typed::<&'frame str>(column)?),
        Some(NativeType::Blob) => rows.push_blob(typed::<&'frame [u8]>(column)?),
        _ => release::decode(column, rows)?,
    }
    Ok(())
}

/// The driver's own check of the type, then its own decoding.
#[inline]
pub(crate) fn typed<'frame, 'metadata, T>(column: RawColumn<'frame, 'metadata>) -> Result<T, DriverError>
where
    T: DeserializeValue<'frame, 'metadata>,
{
    let kind = column.spec.typ();
    T::type_check(kind).map_err(codec)?;
    T::deserialize(kind, column.slice).map_err(codec)
}

#[cold]
pub(crate) fn codec(error: impl std::fmt::Display) -> DriverError {
    DriverError::new(ErrorKind::Codec, error)
}
