//! The names and ways of releases from 0.11 to 0.13, where those of others differ.

use std::time::Duration;

pub(crate) use scylla::frame::value::CqlTimestamp;
pub(crate) use scylla::load_balancing::DefaultPolicy;
pub(crate) use scylla::serialize::value::SerializeCql as SerializeValue;
pub(crate) use scylla::serialize::writers::RowWriter;
pub(crate) use scylla::transport::Compression;
pub(crate) use scylla::transport::session::PoolSize;
pub(crate) use scylla::{ExecutionProfile, SessionBuilder};

use cqldyno_driver_api::ConnectOptions;
use scylla::batch::Batch;
use scylla::frame::response::result::{ColumnSpec, ColumnType};
use scylla::prepared_statement::PreparedStatement;
use scylla::query::Query;
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

/// Not an option of these releases.
pub(crate) fn timestamps(builder: SessionBuilder) -> SessionBuilder {
    builder
}

/// Stands in for a method that a release lacks; its own goes first.
#[allow(dead_code, reason = "files that families share do not all use it")]
trait Lacking {
    /// Since 0.13.
    fn set_use_cached_result_metadata(&mut self, _: bool) {}
}

impl Lacking for PreparedStatement {}

/// The session's profile has the consistency.
pub(crate) fn configure(prepared: &mut PreparedStatement, options: &ConnectOptions) {
    if options.option("metadata") == Some("cached") {
        prepared.set_use_cached_result_metadata(true);
    }
}

pub(crate) fn configure_query(_: &mut Query, _: &ConnectOptions) {}

pub(crate) fn configure_batch(_: &mut Batch, _: &ConnectOptions) {}
