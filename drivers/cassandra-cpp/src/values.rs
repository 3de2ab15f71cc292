//! Values in and rows out, through the crate's typed API.

use cassandra_cpp::{CassResult, LendingIterator, Statement, ValueType};
use cqldyno_driver_api::{DriverError, ErrorKind, Rows, Value};
use uuid::Uuid;

use crate::errors;

/// Binds `values` by index.
#[inline]
pub(crate) fn bind(statement: &mut Statement, values: &[Value<'_>]) -> Result<(), DriverError> {
    for (index, value) in values.iter().enumerate() {
        let bound = match *value {
            Value::Null => statement.bind_null(index),
            Value::Boolean(value) => statement.bind_bool(index, value),
            Value::Int(value) => statement.bind_int32(index, value),
            Value::Bigint(value) | Value::Timestamp(value) => statement.bind_int64(index, value),
            Value::Double(value) => statement.bind_double(index, value),
            Value::Uuid(value) => statement.bind_uuid(index, Uuid::from_bytes(value).into()),
            Value::Text(value) => statement.bind_string(index, value),
            Value::Blob(value) => statement.bind_bytes(index, value.to_vec()),
        };
        bound.map_err(errors::at_bind)?;
    }
    Ok(())
}

/// Decodes every column of every row of `page` into `rows`; `false` when the answer is not one of kind Rows.
#[inline]
pub(crate) fn decode(page: &CassResult, rows: &mut Rows) -> Result<bool, DriverError> {
    let columns = page.column_count() as usize;
    if columns == 0 {
        return Ok(false);
    }
    let mut iterator = page.iter();
    while let Some(row) = iterator.next() {
        for column in 0..columns {
            let value = row.get_column(column).map_err(errors::at_decode)?;
            push(&value, rows)?;
        }
        rows.end_row();
    }
    rows.end_page();
    Ok(true)
}

#[inline]
fn push(value: &cassandra_cpp::Value<'_>, rows: &mut Rows) -> Result<(), DriverError> {
    if value.is_null() {
        rows.push_null();
        return Ok(());
    }
    let pushed = match value.get_type() {
        ValueType::BIGINT | ValueType::COUNTER => value.get_i64().map(|value| rows.push_bigint(value)),
        ValueType::TIMESTAMP => value.get_i64().map(|value| rows.push_timestamp(value)),
        ValueType::INT => value.get_i32().map(|value| rows.push_int(value)),
        ValueType::BOOLEAN => value.get_bool().map(|value| rows.push_boolean(value)),
        ValueType::DOUBLE => value.get_f64().map(|value| rows.push_double(value)),
        ValueType::UUID | ValueType::TIMEUUID => {
            value.get_uuid().map(|value| rows.push_uuid(*Uuid::from(value).as_bytes()))
        }
        ValueType::TEXT | ValueType::VARCHAR | ValueType::ASCII => value.get_str().map(|value| rows.push_text(value)),
        ValueType::BLOB => value.get_bytes().map(|value| rows.push_blob(value)),
        other => {
            return Err(DriverError::new(
                ErrorKind::Codec,
                format!("a column of type {other} was answered, which scenarios do not use"),
            ));
        }
    };
    pushed.map_err(errors::at_decode)
}
