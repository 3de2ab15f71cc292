//! Values in and rows out, through the crate's typed API.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use cassandra_cpp::{CassResult, LendingIterator, PreparedStatement, Statement, ValueType};
use cqldyno_driver_api::{DriverError, Rows, Value};

use crate::{errors, types};

/// Binds `values` by index; a prepared statement knows the user-defined types of its markers.
#[inline(always)]
pub(crate) fn bind(
    statement: &mut Statement,
    values: &[Value<'_>],
    prepared: Option<&PreparedStatement>,
) -> Result<(), DriverError> {
    for (index, value) in values.iter().enumerate() {
        // The commonest type comes first, so that its few instructions lie together in the caller.
        if let Value::Bigint(value) = *value {
            if let Err(error) = statement.bind_int64(index, value) {
                return Err(errors::at_value(error));
            }
        } else {
            types::bind(statement, index, *value, prepared)?;
        }
    }
    Ok(())
}

/// What is known of a statement's answers.
///
/// Asking each value for its type and for null takes two more calls into libcassandra. A program that knows its table saves them,
/// and so does this after the first answer. No scenario alters its table within a cell.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// The columns' types, from the first answer; none if it was not of kind Rows.
    types: OnceLock<Vec<ValueType>>,
    /// A value was not of its column's type; for the getters null is such a value. From now on every value is asked, because a
    /// getter's error costs more.
    ask_values: AtomicBool,
}

impl Columns {
    /// Whether answers have rows; assumed until the first one.
    #[inline]
    pub(crate) fn may_be_answered(&self) -> bool {
        self.types.get().is_none_or(|types| !types.is_empty())
    }

    /// The first answer was not of kind Rows.
    #[cold]
    fn are_not_answered(&self) {
        self.types.get_or_init(Vec::new);
    }

    /// Appends a value that is not of the commonest type, or null.
    #[inline(never)]
    fn push_other(
        &self,
        kind: ValueType,
        value: &cassandra_cpp::Value<'_>,
        rows: &mut Rows,
    ) -> Result<(), DriverError> {
        if types::decode(kind, value, rows).is_ok() {
            return Ok(());
        }
        self.ask_values.store(true, Ordering::Relaxed);
        push(value, rows)
    }

    /// The types of the columns of `page`, at least one; `None` if its values have to be asked one by one.
    #[inline]
    fn types_of(&self, page: &CassResult, count: usize) -> Option<&[ValueType]> {
        let types = self.types.get_or_init(|| (0..count).map(|column| page.column_type(column)).collect());
        (types.len() == count && !self.ask_values.load(Ordering::Relaxed)).then_some(types)
    }
}

/// Decodes every column of every row of `page` into `rows`; `false` if the answer is not of kind Rows.
#[inline(always)]
pub(crate) fn decode(page: &CassResult, columns: &Columns, rows: &mut Rows) -> Result<bool, DriverError> {
    match page.column_count() as usize {
        0 => {
            if columns.may_be_answered() {
                columns.are_not_answered();
            }
            Ok(false)
        }
        count => decode_rows(page, count, columns, rows).map(|()| true),
    }
}

#[inline]
fn decode_rows(page: &CassResult, count: usize, columns: &Columns, rows: &mut Rows) -> Result<(), DriverError> {
    let Some(types) = columns.types_of(page, count) else { return decode_one_by_one(page, count, rows) };
    let mut iterator = page.iter();
    while let Some(row) = iterator.next() {
        for (column, &kind) in types.iter().enumerate() {
            let value = match row.get_column(column) {
                Ok(value) => value,
                Err(error) => return Err(errors::at_value(error)),
            };
            // The commonest type comes first, so that its few instructions lie together in the caller.
            if kind == ValueType::BIGINT
                && let Ok(value) = value.get_i64()
            {
                rows.push_bigint(value);
            } else {
                columns.push_other(kind, &value, rows)?;
            }
        }
        rows.end_row();
    }
    rows.end_page();
    Ok(())
}

/// Decodes values of unknown types.
#[inline(never)]
fn decode_one_by_one(page: &CassResult, count: usize, rows: &mut Rows) -> Result<(), DriverError> {
    let mut iterator = page.iter();
    while let Some(row) = iterator.next() {
        for column in 0..count {
            push(&row.get_column(column).map_err(errors::at_value)?, rows)?;
        }
        rows.end_row();
    }
    rows.end_page();
    Ok(())
}

/// Appends a value of whatever type it has.
#[cold]
fn push(value: &cassandra_cpp::Value<'_>, rows: &mut Rows) -> Result<(), DriverError> {
    if value.is_null() {
        rows.push_null();
        return Ok(());
    }
    types::decode(value.get_type(), value, rows)
}
