//! The names and ways of releases from 0.11 to 0.13, where those of others differ.

/// What holds a policy.
pub(crate) use std::boxed::Box as Policy;

pub(crate) use crate::before_1::*;
pub(crate) use crate::before_1_0::serialize;
pub(crate) use scylla::frame::value::CqlTimestamp;
pub(crate) use scylla::serialize::value::SerializeCql as SerializeValue;
pub(crate) use scylla::serialize::writers::RowWriter;

use scylla::frame::response::result::{ColumnSpec, ColumnType};

pub(crate) fn milliseconds(timestamp: CqlTimestamp) -> i64 {
    timestamp.0
}

#[inline(always)]
pub(crate) fn column_type(column: &ColumnSpec) -> &ColumnType {
    &column.typ
}
