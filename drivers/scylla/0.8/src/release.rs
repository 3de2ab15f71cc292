//! The names and ways of releases from 0.8 to 0.10, where those of others differ.

/// What holds a policy.
pub(crate) use std::boxed::Box as Policy;
use std::time::Duration;

pub(crate) use crate::before_1::*;

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

/// Stands in for methods that a release lacks; its own go first.
#[allow(dead_code, reason = "some of these releases have their own")]
pub(crate) trait Lacking: Sized {
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
