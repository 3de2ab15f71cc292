//! Values in and rows out, through the driver's own conversions.

use std::error::Error;

use bytes::BytesMut;
use cqldyno_driver_api::{DriverError, ErrorKind, Rows, Value};
use tokio_postgres::Row;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// A value of a statement.
#[derive(Debug)]
pub(crate) struct Bound<'a>(pub(crate) &'a Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Bigint(value) => value.to_sql_checked(kind, out),
            Value::Text(value) => value.to_sql_checked(kind, out),
            Value::Blob(value) => value.to_sql_checked(kind, out),
            other => Err(format!("this adapter binds no {}", other.type_name()).into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        // Each value is checked as it is bound.
        true
    }

    to_sql_checked!();
}

/// Decodes every column of a row.
pub(crate) fn decode(row: &Row, rows: &mut Rows) -> Result<(), DriverError> {
    let codec = |failed: tokio_postgres::Error| DriverError::new(ErrorKind::Codec, failed);
    for (at, column) in row.columns().iter().enumerate() {
        let kind = column.type_();
        if *kind == Type::INT8 {
            push(row.try_get::<_, Option<i64>>(at).map_err(codec)?, rows, Rows::push_bigint);
        } else if *kind == Type::TEXT {
            push(row.try_get::<_, Option<&str>>(at).map_err(codec)?, rows, Rows::push_text);
        } else if *kind == Type::BYTEA {
            push(row.try_get::<_, Option<&[u8]>>(at).map_err(codec)?, rows, Rows::push_blob);
        } else {
            let why = format_args!("column {} has the type {kind}, which this adapter does not decode", column.name());
            return Err(DriverError::new(ErrorKind::Codec, why));
        }
    }
    rows.end_row();
    Ok(())
}

fn push<T>(value: Option<T>, rows: &mut Rows, as_one: fn(&mut Rows, T)) {
    match value {
        Some(value) => as_one(rows, value),
        None => rows.push_null(),
    }
}
