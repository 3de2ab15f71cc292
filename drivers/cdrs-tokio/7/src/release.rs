//! What `cdrs-tokio` 7 does otherwise than other releases.

use std::sync::Arc;

use cdrs_tokio::Error;
use cdrs_tokio::cluster::session::{SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::cluster::{KeyspaceHolder, TcpConnectionManager};
use cdrs_tokio::frame::Version;
use cdrs_tokio::frame_encoding::ProtocolFrameEncodingFactory;
use cdrs_tokio::retry::NeverReconnectionPolicy;
use cqldyno_driver_api::{Capability, DriverError, ErrorKind, Tls};

use crate::adapter::Authenticator;
pub(crate) use crate::before_8::*;
pub(crate) use crate::before_8_1::*;
use crate::options::Chosen;
use crate::session::{DriverSession, Routing};
pub(crate) use crate::since_7::*;

/// What these releases cannot do. They read on from a connection that the server closed, and go on without a control connection.
pub(crate) const LACKS: &[Capability] = &[Capability::RequestTimeout, Capability::NoticesClose, Capability::Connect];

/// What holds for these releases and not for all.
pub(crate) const CAVEATS: &[&str] = &[DECODES_TWICE, "It does not notice that the server closed a connection."];

/// The kind of an error while connecting.
pub(crate) fn kind_at_connect(error: &Error) -> ErrorKind {
    match error {
        Error::Server { body, .. } => ErrorKind::from_code(body.error_code),
        _ => ErrorKind::Connect,
    }
}

/// The kind of an error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
pub(crate) fn kind_at_execution(error: &Error) -> ErrorKind {
    match error {
        Error::Server { body, .. } => ErrorKind::from_code(body.error_code),
        Error::Io(_) | Error::General(_) | Error::Timeout(_) => ErrorKind::ConnectionLost,
        Error::UnexpectedAuthResponse(_) | Error::UnexpectedStartupResponse(_) => ErrorKind::Other,
        _ => ErrorKind::Codec,
    }
}

/// Makes connections outside of a session, each with one attempt.
pub(crate) fn connections(
    authenticator: Authenticator,
    keyspace: Arc<KeyspaceHolder>,
    chosen: &Chosen,
    _: Option<&Tls>,
) -> Result<Manager, DriverError> {
    Ok(TcpConnectionManager::new(
        authenticator,
        keyspace,
        Arc::new(NeverReconnectionPolicy),
        Box::new(ProtocolFrameEncodingFactory),
        chosen.compression,
        chosen.buffer,
        chosen.nodelay,
        Version::V4,
    ))
}

/// Builds the session, which goes on connecting by itself.
pub(crate) async fn build(builder: TcpSessionBuilder<Routing>) -> Result<DriverSession, DriverError> {
    builder.build().map_err(no_session)
}
