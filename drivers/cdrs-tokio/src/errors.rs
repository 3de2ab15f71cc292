//! The driver's errors, by kind.

use cdrs_tokio::Error;
use cdrs_tokio::cluster::session::SessionBuildError;
use cqldyno_driver_api::{DriverError, ErrorKind};
use tokio::time::error::Elapsed;

/// An error while connecting.
pub(crate) fn connect(error: Error) -> DriverError {
    let kind = match &error {
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        _ => ErrorKind::Connect,
    };
    DriverError::new(kind, error)
}

/// An error of `SessionBuilder::build`.
pub(crate) fn build(error: SessionBuildError) -> DriverError {
    DriverError::new(ErrorKind::Connect, error)
}

/// The driver went on trying without an error.
pub(crate) fn silent(_: Elapsed) -> DriverError {
    DriverError::new(
        ErrorKind::Connect,
        format!(
            "the driver neither connected nor gave up within {} seconds; check that the address is right and that the \
             server answers",
            crate::CONNECTS_WITHIN.as_secs()
        ),
    )
}

/// An error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
#[cold]
pub(crate) fn execution(error: Error) -> DriverError {
    let kind = match &error {
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        Error::Io(_) | Error::General(_) | Error::Timeout(_) => ErrorKind::ConnectionLost,
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        Error::UnexpectedAuthResponse(_) | Error::UnexpectedStartupResponse(_) => ErrorKind::Other,
        _ => ErrorKind::Codec,
    };
    DriverError::new(kind, error)
}

/// An answer that could not be decoded.
#[cold]
pub(crate) fn codec(error: Error) -> DriverError {
    DriverError::new(ErrorKind::Codec, error)
}
