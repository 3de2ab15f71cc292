//! The ways of releases from 0.3 to 0.7, where those of others differ.

use std::num::NonZeroUsize;
use std::time::Duration;

use cqldyno_driver_api::ConnectOptions;
pub(crate) use scylla::SessionBuilder;
use scylla::transport::session::PoolSize;

use crate::shared::consistency;

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

/// Stands in for methods that a release lacks; its own go first.
#[allow(dead_code, reason = "some of these releases have their own")]
pub(crate) trait Lacking: Sized {
    /// Since 0.5.
    fn request_timeout(self, _: Option<Duration>) -> Self {
        self
    }

    /// Since 0.4.
    fn fetch_schema_metadata(self, _: bool) -> Self {
        self
    }
}

impl Lacking for SessionBuilder {}

/// The equal settings that releases before 0.3 lack.
pub(crate) fn configure(builder: SessionBuilder, options: &ConnectOptions) -> SessionBuilder {
    let connections = NonZeroUsize::new(options.connections).unwrap_or(NonZeroUsize::MIN);
    builder
        .default_consistency(consistency::level(options.consistency))
        .request_timeout(options.request_timeout)
        .pool_size(PoolSize::PerHost(connections))
}
