//! Values in and rows out, through the driver's own typed serialisation.

use cqldyno_driver_api::{BatchRows, Consistency, DriverError, ErrorKind, Rows, Value};
use scylla::cluster::metadata::{ColumnType, NativeType};
use scylla::deserialize::row::{ColumnIterator, RawColumn};
use scylla::deserialize::value::DeserializeValue;
use scylla::response::query_result::QueryResult;
use scylla::serialize::SerializationError;
use scylla::serialize::batch::{BatchValues, BatchValuesIterator};
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::value::SerializeValue;
use scylla::serialize::writers::RowWriter;
use scylla::value::CqlTimestamp;
use uuid::Uuid;

pub(crate) fn consistency(consistency: Consistency) -> scylla::statement::Consistency {
    match consistency {
        Consistency::One => scylla::statement::Consistency::One,
        Consistency::Two => scylla::statement::Consistency::Two,
        Consistency::Three => scylla::statement::Consistency::Three,
        Consistency::Quorum => scylla::statement::Consistency::Quorum,
        Consistency::All => scylla::statement::Consistency::All,
        Consistency::LocalQuorum => scylla::statement::Consistency::LocalQuorum,
        Consistency::EachQuorum => scylla::statement::Consistency::EachQuorum,
        Consistency::LocalOne => scylla::statement::Consistency::LocalOne,
    }
}

/// The values of one statement, in the order of its markers.
pub(crate) struct Bound<'a>(pub(crate) &'a [Value<'a>]);

#[derive(Debug, thiserror::Error)]
#[error("the statement has {markers} markers and {values} values were bound")]
struct WrongArity {
    markers: usize,
    values: usize,
}

impl SerializeRow for Bound<'_> {
    #[inline]
    fn serialize(
        &self,
        context: &RowSerializationContext<'_>,
        writer: &mut RowWriter,
    ) -> Result<(), SerializationError> {
        let columns = context.columns();
        if columns.len() != self.0.len() {
            return Err(SerializationError::new(WrongArity { markers: columns.len(), values: self.0.len() }));
        }
        for (column, value) in columns.iter().zip(self.0) {
            let (kind, cell) = (column.typ(), writer.make_cell_writer());
            match value {
                Value::Null => cell.set_null(),
                Value::Boolean(value) => value.serialize(kind, cell)?,
                Value::Int(value) => value.serialize(kind, cell)?,
                Value::Bigint(value) => value.serialize(kind, cell)?,
                Value::Double(value) => value.serialize(kind, cell)?,
                Value::Timestamp(value) => CqlTimestamp(*value).serialize(kind, cell)?,
                Value::Uuid(value) => Uuid::from_bytes(*value).serialize(kind, cell)?,
                Value::Text(value) => value.serialize(kind, cell)?,
                Value::Blob(value) => value.serialize(kind, cell)?,
            };
        }
        Ok(())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The rows of a batch.
pub(crate) struct BoundRows<'a>(pub(crate) BatchRows<'a>);

/// See [`BoundRows`].
pub(crate) struct BoundRowsIterator<'a> {
    rows: BatchRows<'a>,
    next: usize,
}

impl BatchValues for BoundRows<'_> {
    type BatchValuesIter<'r>
        = BoundRowsIterator<'r>
    where
        Self: 'r;

    #[inline]
    fn batch_values_iter(&self) -> BoundRowsIterator<'_> {
        BoundRowsIterator { rows: self.0, next: 0 }
    }
}

impl<'a> BoundRowsIterator<'a> {
    #[inline]
    fn next(&mut self) -> Option<Bound<'a>> {
        let row = self.next;
        self.next += 1;
        (row < self.rows.len()).then(|| Bound(self.rows.get(row)))
    }
}

impl<'a> BatchValuesIterator<'a> for BoundRowsIterator<'a> {
    #[inline]
    fn serialize_next(
        &mut self,
        context: &RowSerializationContext<'_>,
        writer: &mut RowWriter,
    ) -> Option<Result<(), SerializationError>> {
        self.next().map(|row| row.serialize(context, writer))
    }

    #[inline]
    fn is_empty_next(&mut self) -> Option<bool> {
        self.next().map(|row| row.is_empty())
    }

    #[inline]
    fn skip_next(&mut self) -> Option<()> {
        self.next().map(drop)
    }
}

/// Decodes one page into `rows`.
#[inline]
pub(crate) fn decode(page: QueryResult, rows: &mut Rows) -> Result<(), DriverError> {
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
    match column.spec.typ() {
        ColumnType::Native(NativeType::BigInt) => rows.push_bigint(typed(column)?),
        ColumnType::Native(NativeType::Int) => rows.push_int(typed(column)?),
        ColumnType::Native(NativeType::Boolean) => rows.push_boolean(typed(column)?),
        ColumnType::Native(NativeType::Double) => rows.push_double(typed(column)?),
        ColumnType::Native(NativeType::Timestamp) => rows.push_timestamp(typed::<CqlTimestamp>(column)?.0),
        ColumnType::Native(NativeType::Uuid) => rows.push_uuid(typed::<Uuid>(column)?.into_bytes()),
        ColumnType::Native(NativeType::Text | NativeType::Ascii) => rows.push_text(typed::<&'frame str>(column)?),
        ColumnType::Native(NativeType::Blob) => rows.push_blob(typed::<&'frame [u8]>(column)?),
        other => {
            return Err(DriverError::new(
                ErrorKind::Codec,
                format!(
                    "column {} has the type {other:?}; an adapter decodes bigint, int, boolean, double, timestamp, uuid, \
                     text and blob",
                    column.spec.name()
                ),
            ));
        }
    }
    Ok(())
}

/// The driver's own check of the type, then its own decoding.
#[inline]
fn typed<'frame, 'metadata, T>(column: RawColumn<'frame, 'metadata>) -> Result<T, DriverError>
where
    T: DeserializeValue<'frame, 'metadata>,
{
    let kind = column.spec.typ();
    T::type_check(kind).map_err(codec)?;
    T::deserialize(kind, column.slice).map_err(codec)
}

#[cold]
fn codec(error: impl std::fmt::Display) -> DriverError {
    DriverError::new(ErrorKind::Codec, error)
}
