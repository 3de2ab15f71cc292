//! The ways of releases from 0.3 to 0.7, where those of others differ.

use cqldyno_driver_api::{ConnectOptions, Settings};
use scylla::batch::Batch;
use scylla::prepared_statement::PreparedStatement;
use scylla::query::Query;

pub(crate) fn milliseconds(timestamp: chrono::Duration) -> i64 {
    timestamp.num_milliseconds()
}

/// The session has the consistency; only a statement can do without a serial one.
pub(crate) fn configure(prepared: &mut PreparedStatement, options: &ConnectOptions) {
    if options.settings == Settings::Equal {
        prepared.set_serial_consistency(None);
    }
}

pub(crate) fn configure_query(query: &mut Query, options: &ConnectOptions) {
    if options.settings == Settings::Equal {
        query.set_serial_consistency(None);
    }
}

pub(crate) fn configure_batch(batch: &mut Batch, options: &ConnectOptions) {
    if options.settings == Settings::Equal {
        batch.set_serial_consistency(None);
    }
}
