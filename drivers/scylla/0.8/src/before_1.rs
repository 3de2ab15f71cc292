//! The names of releases with execution profiles before 1.0.

pub(crate) use scylla::load_balancing::DefaultPolicy;
pub(crate) use scylla::retry_policy::FallthroughRetryPolicy;
pub(crate) use scylla::transport::Compression;
pub(crate) use scylla::transport::session::PoolSize;
pub(crate) use scylla::{ExecutionProfile, SessionBuilder};

/// Not an option of these releases.
pub(crate) fn timestamps(builder: SessionBuilder) -> SessionBuilder {
    builder
}
