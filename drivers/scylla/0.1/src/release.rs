//! The ways of releases 0.1 and 0.2, where those of others differ.

use cqldyno_driver_api::ConnectOptions;
pub(crate) use scylla::SessionBuilder;

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

/// Stands in for a method that these releases lack.
pub(crate) trait Lacking: Sized {
    /// Since 0.4.
    fn fetch_schema_metadata(self, _: bool) -> Self {
        self
    }
}

impl Lacking for SessionBuilder {}

/// Statements have the consistency, and a node has one connection: the session has no setting for either.
pub(crate) fn configure(builder: SessionBuilder, _: &ConnectOptions) -> SessionBuilder {
    builder
}
