//! Values in and rows out, through the driver's own typed conversions.

use cqldyno_driver_api::{ConnectOptions, Consistency, DriverError, ErrorKind, Rows, Settings, Value};
use driver::consistency::Consistency as Level;
use driver::frame::Opcode;
use driver::query::QueryValues;
use driver::types::blob::Blob;
use driver::types::rows::Row;
use driver::types::{ByIndex, CBytes, IntoRustByIndex};
use uuid::Uuid;

use crate::names::{self, Answer, ColSpec, ColType};
use crate::{errors, types};

/// The kind of a RESULT that is Rows (native_protocol_v4.spec section 4.2.5).
const ROWS: [u8; 4] = [0, 0, 0, 2];

/// Consistency and rows per page: as asked for, or as the driver has them by itself.
pub(crate) fn consistency_and_page_size(options: &ConnectOptions) -> (Level, Option<i32>) {
    match options.settings {
        Settings::Equal => (level(options.consistency), Some(options.page_size)),
        Settings::Default => (Level::default(), None),
    }
}

fn level(consistency: Consistency) -> Level {
    match consistency {
        Consistency::One => Level::One,
        Consistency::Two => Level::Two,
        Consistency::Three => Level::Three,
        Consistency::Quorum => Level::Quorum,
        Consistency::All => Level::All,
        Consistency::LocalQuorum => Level::LocalQuorum,
        Consistency::EachQuorum => Level::EachQuorum,
        Consistency::LocalOne => Level::LocalOne,
    }
}

/// The least capacity of `query_values!`' vector: a smaller one would compete with the driver for malloc's free lists, and cost
/// more than it saves.
const LEAST_ROOM: usize = 4;

/// The values as the driver takes them: one vector of values that own their bytes, as `query_values!` makes it.
#[inline]
pub(crate) fn bind(values: &[Value<'_>]) -> Option<QueryValues> {
    if values.is_empty() {
        return None;
    }
    let mut bound = Vec::with_capacity(values.len().max(LEAST_ROOM));
    for value in values {
        bound.push(match *value {
            Value::Null => names::null(),
            Value::Boolean(value) => value.into(),
            Value::Int(value) => value.into(),
            Value::Bigint(value) => value.into(),
            Value::Double(value) => value.into(),
            Value::Timestamp(value) => value.into(),
            Value::Uuid(value) => Uuid::from_bytes(value).into(),
            Value::Text(value) => value.into(),
            Value::Blob(value) => Blob::from(value.to_vec()).into(),
            other => types::bind(other),
        });
    }
    Some(QueryValues::SimpleValues(bound))
}

/// A column's type, as far as adapters decode it.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Boolean,
    Int,
    Bigint,
    Double,
    Timestamp,
    Uuid,
    Text,
    Blob,
    /// A type that not every release has.
    Other(types::Type),
}

impl Kind {
    pub(crate) fn of(column: &ColSpec) -> Result<Kind, DriverError> {
        match &column.col_type.id {
            ColType::Boolean => Ok(Kind::Boolean),
            ColType::Int => Ok(Kind::Int),
            ColType::Bigint => Ok(Kind::Bigint),
            ColType::Double => Ok(Kind::Double),
            ColType::Timestamp => Ok(Kind::Timestamp),
            ColType::Uuid => Ok(Kind::Uuid),
            ColType::Varchar | ColType::Ascii => Ok(Kind::Text),
            ColType::Blob => Ok(Kind::Blob),
            other => types::Type::of(&column.col_type).map(Kind::Other).ok_or_else(|| {
                DriverError::new(
                    ErrorKind::Codec,
                    format!(
                        "column {} has the type {other:?}, which this adapter does not decode",
                        column.name.as_str()
                    ),
                )
            }),
        }
    }
}

/// Whether the answer has rows.
#[inline]
pub(crate) fn is_page(answer: &Answer) -> bool {
    answer.opcode == Opcode::Result && answer.body.starts_with(&ROWS)
}

/// Decodes one page into `rows`; returns the paging state if there are more pages.
#[inline]
pub(crate) fn decode(answer: &Answer, columns: &[Kind], rows: &mut Rows) -> Result<Option<CBytes>, DriverError> {
    let mut page = match names::page(answer) {
        Ok(Some(page)) => page,
        Ok(None) => return Err(DriverError::new(ErrorKind::Codec, "the answer is no page of rows")),
        Err(error) => return Err(errors::codec(error)),
    };
    let paging_state = page.metadata.paging_state.take();
    let found;
    let columns = if page.metadata.columns_count as usize == columns.len() {
        columns
    } else {
        // A lightweight transaction's PREPARED announces no columns, and its answer has some.
        found = page.metadata.col_specs.iter().map(Kind::of).collect::<Result<Vec<_>, _>>()?;
        &found
    };
    let mut apart = types::apart(&mut page, columns);
    for row in names::rows(page) {
        for (index, kind) in columns.iter().enumerate() {
            match kind {
                Kind::Boolean => push(&row, index, rows, Rows::push_boolean)?,
                Kind::Int => push(&row, index, rows, Rows::push_int)?,
                Kind::Bigint => push(&row, index, rows, Rows::push_bigint)?,
                Kind::Double => push(&row, index, rows, Rows::push_double)?,
                Kind::Timestamp => push(&row, index, rows, Rows::push_timestamp)?,
                Kind::Uuid => push(&row, index, rows, |rows, value: Uuid| rows.push_uuid(*value.as_bytes()))?,
                Kind::Text => push(&row, index, rows, |rows, value: String| rows.push_text(&value))?,
                Kind::Blob => push(&row, index, rows, |rows, value: Blob| rows.push_blob(&value.into_vec()))?,
                Kind::Other(kind) => types::decode(kind, &row, index, &mut apart, rows)?,
            }
        }
        rows.end_row();
    }
    rows.end_page();
    Ok(paging_state)
}

/// Decodes one column with the driver's typed getter, which checks the column's type.
#[inline]
fn push<T>(row: &Row, index: usize, rows: &mut Rows, push: impl FnOnce(&mut Rows, T)) -> Result<(), DriverError>
where
    Row: IntoRustByIndex<T>,
{
    match typed(row, index)? {
        Some(value) => push(rows, value),
        None => rows.push_null(),
    }
    Ok(())
}

/// The same, for the caller to push.
#[inline]
pub(crate) fn typed<T>(row: &Row, index: usize) -> Result<Option<T>, DriverError>
where
    Row: IntoRustByIndex<T>,
{
    row.by_index(index).map_err(errors::codec)
}
