//! The ways of releases 0.1 and 0.2, where those of others differ.

use cqldyno_driver_api::{ConnectOptions, Settings};
use scylla::batch::Batch;
use scylla::prepared_statement::PreparedStatement;
use scylla::query::Query;
use scylla::statement::Consistency;

use crate::consistency;

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

/// Statements have the consistency: the session has no setting for it.
fn level(options: &ConnectOptions) -> Option<Consistency> {
    (options.settings == Settings::Equal).then(|| consistency::level(options.consistency))
}

pub(crate) fn configure(prepared: &mut PreparedStatement, options: &ConnectOptions) {
    if let Some(level) = level(options) {
        prepared.set_consistency(level);
    }
}

pub(crate) fn configure_query(query: &mut Query, options: &ConnectOptions) {
    if let Some(level) = level(options) {
        query.set_consistency(level);
    }
}

pub(crate) fn configure_batch(batch: &mut Batch, options: &ConnectOptions) {
    if let Some(level) = level(options) {
        batch.set_consistency(level);
    }
}
