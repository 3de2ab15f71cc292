//! The names and ways of release 0.15, where those of others differ.

use std::sync::Arc;
use std::time::Duration;

pub(crate) use scylla::batch::{Batch, BatchType};
pub(crate) use scylla::deserialize::DeserializeValue;
pub(crate) use scylla::frame::response::result::ColumnType as NativeType;
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

#[inline(always)]
pub(crate) fn column_type<'a>(column: &'a ColumnSpec<'_>) -> &'a ColumnType<'a> {
    column.typ()
}

#[inline(always)]
pub(crate) fn native_type<'a, 'b>(column: &'a ColumnType<'b>) -> Option<&'a ColumnType<'b>> {
    Some(column)
}

pub(crate) fn no_retries() -> Arc<dyn RetryPolicy> {
    Arc::new(FallthroughRetryPolicy::new())
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
    prepared.get_result_set_col_specs().len() > 0
}

pub(crate) fn cache_metadata(prepared: &mut PreparedStatement) {
    prepared.set_use_cached_result_metadata(true);
}
