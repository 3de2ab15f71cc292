//! The names and ways of release 0.14, where those of others differ.

/// What holds a policy.
pub(crate) use std::boxed::Box as Policy;

pub(crate) use crate::before_1::*;
pub(crate) use crate::before_1_0::serialize;
pub(crate) use scylla::batch::{Batch, BatchType};
pub(crate) use scylla::frame::value::CqlTimestamp;
pub(crate) use scylla::prepared_statement::PreparedStatement;
pub(crate) use scylla::query::Query as Statement;
pub(crate) use scylla::serialize::value::SerializeValue;
pub(crate) use scylla::serialize::writers::RowWriter;
pub(crate) use scylla::statement::{PagingState, PagingStateResponse};
pub(crate) use scylla::{QueryResult, Session};

use scylla::frame::response::result::{ColumnSpec, ColumnType};

pub(crate) fn milliseconds(timestamp: CqlTimestamp) -> i64 {
    timestamp.0
}

#[inline(always)]
pub(crate) fn column_type(column: &ColumnSpec) -> &ColumnType {
    &column.typ
}
