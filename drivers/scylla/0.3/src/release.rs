//! The ways of releases from 0.3 to 0.7, where those of others differ.

use cqldyno_driver_api::ConnectOptions;
use scylla::batch::Batch;
use scylla::prepared_statement::PreparedStatement;
use scylla::query::Query;

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

/// The session has the consistency.
pub(crate) fn configure(_: &mut PreparedStatement, _: &ConnectOptions) {}

pub(crate) fn configure_query(_: &mut Query, _: &ConnectOptions) {}

pub(crate) fn configure_batch(_: &mut Batch, _: &ConnectOptions) {}
