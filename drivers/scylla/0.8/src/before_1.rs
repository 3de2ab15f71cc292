//! The names of releases with execution profiles before 1.0.

use cqldyno_driver_api::{ConnectOptions, DriverError};
pub(crate) use scylla::load_balancing::{DefaultPolicy, LoadBalancingPolicy};
pub(crate) use scylla::retry_policy::FallthroughRetryPolicy;
pub(crate) use scylla::transport::Compression;
pub(crate) use scylla::transport::session::PoolSize;
pub(crate) use scylla::{ExecutionProfile, SessionBuilder};

/// Not in the adapter for these releases, which has TLS by OpenSSL alone.
pub(crate) fn tls(builder: SessionBuilder, _: &ConnectOptions) -> Result<SessionBuilder, DriverError> {
    Ok(builder)
}

/// Not an option of these releases.
pub(crate) fn timestamps(builder: SessionBuilder) -> SessionBuilder {
    builder
}
