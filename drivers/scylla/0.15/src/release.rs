//! The names and ways of release 0.15, where those of others differ.

/// What holds a policy.
pub(crate) use std::sync::Arc as Policy;

pub(crate) use crate::before_1::*;
pub(crate) use crate::before_1_0::serialize;
pub(crate) use scylla::batch::{Batch, BatchType};
pub(crate) use scylla::deserialize::DeserializeValue;
pub(crate) use scylla::frame::response::result::ColumnType as NativeType;
pub(crate) use scylla::frame::value::CqlTimestamp;
pub(crate) use scylla::prepared_statement::PreparedStatement;
pub(crate) use scylla::query::Query as Statement;
pub(crate) use scylla::serialize::value::SerializeValue;
pub(crate) use scylla::serialize::writers::RowWriter;
pub(crate) use scylla::statement::{PagingState, PagingStateResponse};
pub(crate) use scylla::{QueryResult, Session};

use cqldyno_driver_api::{DriverError, Rows};
use scylla::deserialize::row::RawColumn;
use scylla::frame::response::result::{ColumnSpec, ColumnType};

use crate::rows::codec;

#[inline(always)]
pub(crate) fn column_type<'a>(column: &'a ColumnSpec<'_>) -> &'a ColumnType<'a> {
    column.typ()
}

#[inline(always)]
pub(crate) fn native_type<'a, 'b>(column: &'a ColumnType<'b>) -> Option<&'a ColumnType<'b>> {
    Some(column)
}

/// Refuses a column that is not of the commonest types.
#[cold]
pub(crate) fn decode(column: RawColumn<'_, '_>, _: &mut Rows) -> Result<(), DriverError> {
    let (name, kind) = (column.spec.name(), column.spec.typ());
    Err(codec(format_args!("column {name} has the type {kind:?}, which this adapter does not decode")))
}
