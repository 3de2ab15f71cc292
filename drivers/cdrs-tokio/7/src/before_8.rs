//! What `cdrs-tokio` has under the same names before 8.0.0: no heartbeat.

use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfig;
use cqldyno_driver_api::{ConnectOptions, DriverError, DriverOption, Settings};

use crate::adapter::CONNECTS_WITHIN;
use crate::options;

/// The options that these releases have.
pub(crate) const OPTIONS: &[DriverOption] =
    &[options::ROUTING, options::BUFFER, options::COMPRESSION, options::NODELAY];

/// The pool of a node: as many connections as asked for, or the driver's own number.
pub(crate) fn pool(options: &ConnectOptions) -> Result<ConnectionPoolConfig, DriverError> {
    Ok(match options.settings {
        Settings::Equal => ConnectionPoolConfig::new(options.connections, options.connections, Some(CONNECTS_WITHIN)),
        Settings::Default => ConnectionPoolConfig::default(),
    })
}
