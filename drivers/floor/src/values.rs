//! Values in and cells out: native_protocol_v4.spec section 6.

use cqldyno_driver_api::{DriverError, Rows, Value};

use crate::errors::{codec, malformed};

/// The type of a marker or a column, by its option id (native_protocol_v4.spec section 4.2.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Bigint,
    Blob,
    Boolean,
    Double,
    Int,
    Text,
    Timestamp,
    Uuid,
    /// A type that scenarios do not use, with its option id.
    Other(u16),
}

impl ColumnType {
    /// The type of a value; a null is of any.
    pub(crate) fn of(value: &Value<'_>) -> ColumnType {
        match value {
            Value::Null => ColumnType::Other(0),
            Value::Boolean(_) => ColumnType::Boolean,
            Value::Int(_) => ColumnType::Int,
            Value::Bigint(_) => ColumnType::Bigint,
            Value::Double(_) => ColumnType::Double,
            Value::Timestamp(_) => ColumnType::Timestamp,
            Value::Uuid(_) => ColumnType::Uuid,
            Value::Text(_) => ColumnType::Text,
            Value::Blob(_) => ColumnType::Blob,
        }
    }

    pub(crate) fn from_option_id(id: u16) -> ColumnType {
        match id {
            0x0001 | 0x000D => ColumnType::Text,
            0x0002 | 0x0005 => ColumnType::Bigint,
            0x0003 => ColumnType::Blob,
            0x0004 => ColumnType::Boolean,
            0x0007 => ColumnType::Double,
            0x0009 => ColumnType::Int,
            0x000B => ColumnType::Timestamp,
            0x000C | 0x000F => ColumnType::Uuid,
            other => ColumnType::Other(other),
        }
    }
}

/// Appends `value` as a `[value]` for a marker of type `wanted`.
#[inline]
pub(crate) fn encode(value: &Value<'_>, wanted: ColumnType, out: &mut Vec<u8>) -> Result<(), DriverError> {
    match (*value, wanted) {
        (Value::Bigint(value), ColumnType::Bigint) | (Value::Timestamp(value), ColumnType::Timestamp) => {
            let mut bytes = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
            bytes[4..].copy_from_slice(&value.to_be_bytes());
            out.extend_from_slice(&bytes);
        }
        (Value::Null, _) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        (Value::Boolean(value), ColumnType::Boolean) => out.extend_from_slice(&[0, 0, 0, 1, u8::from(value)]),
        (Value::Int(value), ColumnType::Int) => bytes(&value.to_be_bytes(), out)?,
        (Value::Double(value), ColumnType::Double) => bytes(&value.to_be_bytes(), out)?,
        (Value::Uuid(value), ColumnType::Uuid) => bytes(&value, out)?,
        (Value::Text(value), ColumnType::Text) => bytes(value.as_bytes(), out)?,
        (Value::Blob(value), ColumnType::Blob) => bytes(value, out)?,
        (value, wanted) => {
            return Err(codec(format_args!(
                "a value of type {} was bound to a marker of type {wanted:?}",
                value.type_name()
            )));
        }
    }
    Ok(())
}

/// Appends a `[bytes]`, or what is written like one: a `[long string]` (native_protocol_v4.spec section 3).
pub(crate) fn bytes(value: &[u8], out: &mut Vec<u8>) -> Result<(), DriverError> {
    let length = i32::try_from(value.len())
        .map_err(|_| codec("a value or statement is longer than the 2 GiB that the protocol allows"))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
    Ok(())
}

/// Decodes one cell of type `column` into the current row.
#[inline]
pub(crate) fn decode(cell: Option<&[u8]>, column: ColumnType, rows: &mut Rows) -> Result<(), DriverError> {
    let Some(cell) = cell else {
        rows.push_null();
        return Ok(());
    };
    match column {
        ColumnType::Bigint => rows.push_bigint(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Timestamp => rows.push_timestamp(i64::from_be_bytes(exact(cell)?)),
        ColumnType::Int => rows.push_int(i32::from_be_bytes(exact(cell)?)),
        ColumnType::Double => rows.push_double(f64::from_be_bytes(exact(cell)?)),
        ColumnType::Uuid => rows.push_uuid(exact(cell)?),
        ColumnType::Boolean => {
            let [byte] = exact(cell)?;
            rows.push_boolean(byte != 0);
        }
        ColumnType::Text => {
            rows.push_text(
                std::str::from_utf8(cell).map_err(|error| codec(format_args!("a text is not UTF-8: {error}")))?,
            );
        }
        ColumnType::Blob => rows.push_blob(cell),
        ColumnType::Other(id) => {
            return Err(codec(format_args!(
                "a column has the type with option id {id:#06x}, which scenarios do not use"
            )));
        }
    }
    Ok(())
}

#[inline]
fn exact<const N: usize>(cell: &[u8]) -> Result<[u8; N], DriverError> {
    cell.try_into().map_err(|_| malformed(format_args!("a value of {} bytes came where {N} were due", cell.len())))
}
