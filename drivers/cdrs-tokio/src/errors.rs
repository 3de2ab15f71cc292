//! The driver's errors, by kind.

pub(crate) use cqldyno_driver_api::wire::codec;
use cqldyno_driver_api::{DriverError, ErrorKind};
use driver::Error;
use tokio::time::error::Elapsed;

use crate::CONNECTS_WITHIN;

/// An error while connecting.
pub(crate) fn connect(error: Error) -> DriverError {
    DriverError::new(of_server(&error).unwrap_or(ErrorKind::Connect), error)
}

/// The driver went on trying without an error.
pub(crate) fn silent(_: Elapsed) -> DriverError {
    DriverError::new(
        ErrorKind::Connect,
        format_args!(
            "the driver neither connected nor gave up within {} seconds; check that the address is right and that the \
             server answers",
            CONNECTS_WITHIN.as_secs()
        ),
    )
}

/// An error of a statement or a preparation. The driver's general error means a connection that is gone or missing.
#[cold]
pub(crate) fn execution(error: Error) -> DriverError {
    let kind = of_server(&error).unwrap_or(match &error {
        Error::Io(_) | Error::General(_) => ErrorKind::ConnectionLost,
        #[cfg(since = "6.0")]
        Error::Timeout(_) => ErrorKind::ConnectionLost,
        #[cfg(since = "7.0")]
        Error::UnexpectedAuthResponse(_) | Error::UnexpectedStartupResponse(_) => ErrorKind::Other,
        _ => ErrorKind::Codec,
    });
    DriverError::new(kind, error)
}

/// The kind of what the server said, or said wrong.
fn of_server(error: &Error) -> Option<ErrorKind> {
    Some(match error {
        #[cfg(before = "7.0")]
        Error::Server(body) => ErrorKind::from_code(body.error_code),
        #[cfg(all(since = "7.0", before = "8.1"))]
        Error::Server { body, .. } => ErrorKind::from_code(body.error_code),
        #[cfg(since = "8.1")]
        Error::Server { body, .. } => ErrorKind::from_code(body.ty.to_error_code()),
        #[cfg(since = "8.1")]
        Error::InvalidProtocol(_) => ErrorKind::Protocol,
        // Release 6 leaves the server's code only in the text of the error that breaks the connection.
        #[cfg(all(since = "6.0", before = "7.0"))]
        Error::General(message) => {
            let (_, code) = message.split_once("error_code: ")?;
            ErrorKind::from_code(code.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?)
        }
        _ => return None,
    })
}
