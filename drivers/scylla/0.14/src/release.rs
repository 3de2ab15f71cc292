//! The names and ways of release 0.14, where those of others differ.

use std::time::Duration;

pub(crate) use scylla::batch::{Batch, BatchType};
pub(crate) use scylla::frame::value::CqlTimestamp;
pub(crate) use scylla::load_balancing::DefaultPolicy;
pub(crate) use scylla::prepared_statement::PreparedStatement;
pub(crate) use scylla::query::Query as Statement;
pub(crate) use scylla::serialize::value::SerializeValue;
pub(crate) use scylla::serialize::writers::RowWriter;
pub(crate) use scylla::statement::{PagingState, PagingStateResponse};
pub(crate) use scylla::transport::Compression;
pub(crate) use scylla::transport::session::PoolSize;
pub(crate) use scylla::{ExecutionProfile, QueryResult, Session, SessionBuilder};

use scylla::frame::response::result::{ColumnSpec, ColumnType};
use scylla::retry_policy::{FallthroughRetryPolicy, RetryPolicy};

pub(crate) fn milliseconds(timestamp: CqlTimestamp) -> i64 {
    timestamp.0
}

#[inline(always)]
pub(crate) fn column_type(column: &ColumnSpec) -> &ColumnType {
    &column.typ
}

pub(crate) fn no_retries() -> Box<dyn RetryPolicy> {
    Box::new(FallthroughRetryPolicy::new())
}

pub(crate) fn coalescing(builder: SessionBuilder, on: bool) -> SessionBuilder {
    builder.write_coalescing(on)
}

pub(crate) fn refresh(builder: SessionBuilder, every: Duration) -> SessionBuilder {
    builder.cluster_metadata_refresh_interval(every)
}

/// Not an option of this release.
pub(crate) fn timestamps(builder: SessionBuilder) -> SessionBuilder {
    builder
}

/// Whether answers to the statement have rows, as the server announced when it was prepared.
pub(crate) fn has_rows(prepared: &PreparedStatement) -> bool {
    !prepared.get_result_set_col_specs().is_empty()
}

pub(crate) fn cache_metadata(prepared: &mut PreparedStatement) {
    prepared.set_use_cached_result_metadata(true);
}
