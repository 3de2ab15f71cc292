//! What `cdrs-tokio` from 8.1.0 on does otherwise than older releases.

use std::sync::Arc;
use std::time::Duration;

use cdrs_tokio::Error;
use cdrs_tokio::cluster::connection_pool::{ConnectionPoolConfig, ConnectionPoolConfigBuilder};
use cdrs_tokio::cluster::session::SessionBuilder;
use cdrs_tokio::cluster::{KeyspaceHolder, TcpConnectionManager};
use cdrs_tokio::frame::Version;
use cdrs_tokio::frame_encoding::ProtocolFrameEncodingFactory;
use cqldyno_driver_api::{Capability, ConnectOptions, DriverError, DriverOption, ErrorKind, Settings};

use crate::adapter::{Authenticator, CONNECTS_WITHIN, TcpSession};
use crate::options::{self, Chosen};
use crate::session::DriverSession;
pub(crate) use crate::since_7::*;
pub(crate) use crate::types::*;

/// The options that these releases have.
pub(crate) const OPTIONS: &[DriverOption] =
    &[options::ROUTING, options::BUFFER, options::COMPRESSION, options::NODELAY, HEARTBEAT];

const HEARTBEAT: DriverOption = DriverOption::new(
    "heartbeat",
    "SECONDS",
    "30",
    "Time between two OPTIONS requests that keep each data connection alive.",
);

/// What these releases cannot do.
pub(crate) const LACKS: &[Capability] = &[Capability::RequestTimeout, Capability::ControlConnection];

/// The types that these releases lack: their `Duration` has not Cassandra's encoding.
pub(crate) const LACKS_TYPES: &[&str] = &["duration"];

/// What holds for these releases and not for all.
pub(crate) const CAVEATS: &[&str] = &[
    DECODES_TWICE,
    "If only its control connection breaks, it gives up every node that reports its broadcast port (Cassandra 4.0 and later), \
     until its control connection breaks again.",
];

/// The kind of an error while connecting.
pub(crate) fn kind_at_connect(error: &Error) -> ErrorKind {
    match error {
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        _ => ErrorKind::Connect,
    }
}

/// The kind of an error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
pub(crate) fn kind_at_execution(error: &Error) -> ErrorKind {
    match error {
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        Error::Io(_) | Error::General(_) | Error::Timeout(_) => ErrorKind::ConnectionLost,
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        Error::UnexpectedAuthResponse(_) | Error::UnexpectedStartupResponse(_) => ErrorKind::Other,
        _ => ErrorKind::Codec,
    }
}

/// Makes connections outside of a session.
pub(crate) fn connections(
    authenticator: Authenticator,
    keyspace: Arc<KeyspaceHolder>,
    chosen: &Chosen,
) -> TcpConnectionManager {
    TcpConnectionManager::new(
        authenticator,
        keyspace,
        Box::new(ProtocolFrameEncodingFactory),
        chosen.compression,
        chosen.buffer,
        chosen.nodelay,
        Version::V4,
    )
}

/// The pool of a node: as many connections as asked for (or the driver's own number), and the heartbeat.
pub(crate) fn pool(options: &ConnectOptions) -> Result<ConnectionPoolConfig, DriverError> {
    let mut pool = ConnectionPoolConfigBuilder::new();
    if options.settings == Settings::Equal {
        let connections = options.connections;
        pool =
            pool.with_local_size(connections).with_remote_size(connections).with_connect_timeout(Some(CONNECTS_WITHIN));
    }
    if let Some(seconds) = options.number("cdrs-tokio", "heartbeat")? {
        pool = pool.with_heartbeat_interval(Duration::from_secs(seconds.into()));
    }
    Ok(pool.build())
}

/// Builds the session, which connects.
pub(crate) async fn build(builder: TcpSession) -> Result<DriverSession, DriverError> {
    builder.build().await.map_err(no_session)
}
