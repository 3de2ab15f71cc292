//! The names and ways of releases from 0.8 to 0.10, where those of others differ.

use std::time::Duration;

pub(crate) use scylla::load_balancing::DefaultPolicy;
pub(crate) use scylla::transport::Compression;
pub(crate) use scylla::transport::session::PoolSize;
pub(crate) use scylla::{ExecutionProfile, SessionBuilder};

use cqldyno_driver_api::ConnectOptions;
use scylla::batch::Batch;
use scylla::prepared_statement::PreparedStatement;
use scylla::query::Query;
use scylla::retry_policy::{FallthroughRetryPolicy, RetryPolicy};

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

pub(crate) fn no_retries() -> Box<dyn RetryPolicy> {
    Box::new(FallthroughRetryPolicy::new())
}

/// Stands in for methods that a release lacks; its own go first.
#[allow(dead_code, reason = "files that families share do not all use it")]
trait Lacking: Sized {
    /// Since 0.8.2; an option since 0.9.
    fn write_coalescing(self, _: bool) -> Self {
        self
    }

    /// Since 0.10.
    fn cluster_metadata_refresh_interval(self, _: Duration) -> Self {
        self
    }
}

impl Lacking for SessionBuilder {}

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

/// The session's profile has the consistency.
pub(crate) fn configure(_: &mut PreparedStatement, _: &ConnectOptions) {}

pub(crate) fn configure_query(_: &mut Query, _: &ConnectOptions) {}

pub(crate) fn configure_batch(_: &mut Batch, _: &ConnectOptions) {}
