//! Values in, through the serialisation that releases before 0.11 have.

use std::borrow::Cow;

use cqldyno_driver_api::{BatchRows, Value};
use scylla::frame::value::{SerializedResult, SerializedValues, Value as Serialize, ValueList, ValueTooBig};

/// The values of one statement, in the order of its markers.
pub(crate) struct Bound<'a>(pub(crate) &'a [Value<'a>]);

/// One of them.
struct Cell<'a>(Value<'a>);

impl Serialize for Cell<'_> {
    #[inline]
    fn serialize(&self, buffer: &mut Vec<u8>) -> Result<(), ValueTooBig> {
        match self.0 {
            Value::Null => None::<i32>.serialize(buffer),
            Value::Boolean(value) => value.serialize(buffer),
            Value::Int(value) => value.serialize(buffer),
            Value::Bigint(value) | Value::Timestamp(value) => value.serialize(buffer),
            Value::Double(value) => value.serialize(buffer),
            Value::Text(value) => value.serialize(buffer),
            Value::Uuid(value) => bytes(&value, buffer),
            Value::Blob(value) => bytes(value, buffer),
            // Not reached: a scenario with such a value is not asked of these releases.
            _ => Err(ValueTooBig),
        }
    }
}

/// As these releases write a blob and a UUID, of which they take owned ones only, or those of another version of `uuid`.
#[inline]
fn bytes(value: &[u8], buffer: &mut Vec<u8>) -> Result<(), ValueTooBig> {
    let length = i32::try_from(value.len()).map_err(|_| ValueTooBig)?;
    buffer.extend_from_slice(&length.to_be_bytes());
    buffer.extend_from_slice(value);
    Ok(())
}

impl ValueList for Bound<'_> {
    #[inline]
    fn serialized(&self) -> SerializedResult<'_> {
        // The size in memory, as these releases do for a tuple.
        let mut values = SerializedValues::with_capacity(size_of_val(self.0));
        for value in self.0 {
            values.add_value(&Cell(*value))?;
        }
        Ok(Cow::Owned(values))
    }
}

/// The rows of a batch.
pub(crate) fn rows(rows: BatchRows<'_>) -> Vec<Bound<'_>> {
    rows.iter().map(Bound).collect()
}
