//! Rows out, through the driver's own typed deserialisation.

use cqldyno_driver_api::wire::codec;
use cqldyno_driver_api::{DriverError, Rows};
#[cfg(since = "1.0")]
use scylla::client::pager::{QueryPager, TypedRowStream};
use scylla::deserialize::row::{ColumnIterator, RawColumn};
use scylla::deserialize::{DeserializationError, TypeCheckError};
use scylla::frame::response::result::ColumnSpec;
#[cfg(before = "1.0")]
use scylla::transport::iterator::{QueryPager, TypedRowStream};
use uuid::Uuid;

use crate::names::{CqlTimestamp, DeserializeRow, DeserializeValue, NativeType, QueryResult};
#[cfg(since = "1.0")]
use crate::{names::ColumnType, types};

/// Decodes one page into `rows`, if the answer has rows.
#[inline]
pub(crate) fn decode(page: QueryResult, rows: &mut Rows) -> Result<(), DriverError> {
    if !page.is_rows() {
        return Ok(());
    }
    let page = page.into_rows_result().map_err(codec)?;
    for row in page.rows::<ColumnIterator>().map_err(codec)? {
        decode_row(row.map_err(codec)?, rows)?;
    }
    rows.end_page();
    Ok(())
}

#[inline]
fn decode_row(row: ColumnIterator<'_, '_>, rows: &mut Rows) -> Result<(), DriverError> {
    for column in row {
        decode_column(column.map_err(codec)?, rows)?;
    }
    rows.end_row();
    Ok(())
}

/// One row of a stream, which takes types that own what they decode.
pub(crate) struct Owned(Rows);

impl<'frame, 'metadata> DeserializeRow<'frame, 'metadata> for Owned {
    fn type_check(_: &[ColumnSpec<'_>]) -> Result<(), TypeCheckError> {
        // Each column is checked as it is decoded.
        Ok(())
    }

    fn deserialize(row: ColumnIterator<'frame, 'metadata>) -> Result<Owned, DeserializationError> {
        let mut own = Rows::new();
        decode_row(row, &mut own).map_err(DeserializationError::new)?;
        Ok(Owned(own))
    }
}

pub(crate) fn stream(pager: QueryPager) -> Result<TypedRowStream<Owned>, DriverError> {
    pager.rows_stream().map_err(codec)
}

/// Copies a row of a stream.
pub(crate) fn take(Owned(mut row): Owned, rows: &mut Rows) -> Result<(), DriverError> {
    if let Some(only) = row.only() {
        (0..only.len()).filter_map(|column| only.get(column)).for_each(|value| rows.push(value));
    }
    rows.end_row();
    row.clear();
    Ok(())
}

#[inline]
fn decode_column<'frame>(column: RawColumn<'frame, '_>, rows: &mut Rows) -> Result<(), DriverError> {
    if column.slice.is_none() {
        rows.push_null();
        return Ok(());
    }
    #[cfg(since = "1.0")]
    let native = if let ColumnType::Native(native) = column.spec.typ() { Some(native) } else { None };
    #[cfg(before = "1.0")]
    let native = Some(column.spec.typ());
    match native {
        Some(NativeType::BigInt) => rows.push_bigint(typed(column)?),
        Some(NativeType::Int) => rows.push_int(typed(column)?),
        Some(NativeType::Boolean) => rows.push_boolean(typed(column)?),
        Some(NativeType::Double) => rows.push_double(typed(column)?),
        Some(NativeType::Timestamp) => rows.push_timestamp(typed::<CqlTimestamp>(column)?.0),
        Some(NativeType::Uuid) => rows.push_uuid(typed::<Uuid>(column)?.into_bytes()),
        Some(NativeType::Text | NativeType::Ascii) => rows.push_text(typed::<&'frame str>(column)?),
        Some(NativeType::Blob) => rows.push_blob(typed::<&'frame [u8]>(column)?),
        #[cfg(since = "1.0")]
        _ => types::decode(column, rows)?,
        #[cfg(before = "1.0")]
        _ => return Err(unknown(column)),
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

#[cfg(before = "1.0")]
#[cold]
fn unknown(column: RawColumn<'_, '_>) -> DriverError {
    let (name, kind) = (column.spec.name(), column.spec.typ());
    codec(format_args!("column {name} has the type {kind:?}, which this adapter does not decode"))
}
