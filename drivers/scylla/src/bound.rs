//! Values in, through the driver's own typed serialisation.

use cqldyno_driver_api::{BatchRows, Value};
use scylla::serialize::SerializationError;
use scylla::serialize::batch::{BatchValues, BatchValuesIterator};
use scylla::serialize::row::{RowSerializationContext, SerializeRow};
use scylla::serialize::writers::{CellWriter, RowWriter, WrittenCellProof};
use uuid::Uuid;

use crate::names::{ColumnType, CqlTimestamp, SerializeValue};
#[cfg(since = "1.0")]
use crate::types;

/// The values of one statement, in the order of its markers.
pub(crate) struct Bound<'a>(pub(crate) &'a [Value<'a>]);

/// Values that the driver is not even given, and why.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Refused(String);

#[cold]
pub(crate) fn refused(why: String) -> SerializationError {
    SerializationError::new(Refused(why))
}

/// Binds a value of any type.
#[inline(always)]
pub(crate) fn serialize<'b>(
    value: &Value<'_>,
    kind: &ColumnType,
    cell: CellWriter<'b>,
) -> Result<WrittenCellProof<'b>, SerializationError> {
    match value {
        Value::Null => Ok(cell.set_null()),
        Value::Boolean(value) => value.serialize(kind, cell),
        Value::Int(value) => value.serialize(kind, cell),
        Value::Bigint(value) => value.serialize(kind, cell),
        Value::Double(value) => value.serialize(kind, cell),
        Value::Timestamp(value) => CqlTimestamp(*value).serialize(kind, cell),
        Value::Uuid(value) => Uuid::from_bytes(*value).serialize(kind, cell),
        Value::Text(value) => value.serialize(kind, cell),
        Value::Blob(value) => value.serialize(kind, cell),
        #[cfg(since = "1.0")]
        other => types::serialize(other, kind, cell),
        // Not reached: a scenario with such a value is not asked of older releases.
        #[cfg(before = "1.0")]
        other => Err(refused(format!("this adapter binds no {} here", other.type_name()))),
    }
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
            let (markers, values) = (columns.len(), self.0.len());
            return Err(refused(format!("the statement has {markers} markers and {values} values were bound")));
        }
        for (column, value) in columns.iter().zip(self.0) {
            #[cfg(since = "0.15")]
            let kind = column.typ();
            #[cfg(before = "0.15")]
            let kind = &column.typ;
            let cell = writer.make_cell_writer();
            serialize(value, kind, cell)?;
        }
        Ok(())
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The rows of a batch.
pub(crate) fn rows(rows: BatchRows<'_>) -> BoundRows<'_> {
    BoundRows(rows)
}

/// See [`rows`].
pub(crate) struct BoundRows<'a>(BatchRows<'a>);

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
