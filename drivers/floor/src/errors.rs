//! Errors that the client itself finds.

use std::fmt::Display;

use cqldyno_driver_api::{DriverError, ErrorKind};

/// An answer that ended early or is not what the protocol says.
#[cold]
pub(crate) fn malformed(what: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Protocol, format!("the server's answer is malformed: {what}"))
}

/// A value or a column that cannot be encoded or decoded.
#[cold]
pub(crate) fn codec(what: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Codec, what)
}

/// No connection, or one that broke.
#[cold]
pub(crate) fn lost(why: impl Display) -> DriverError {
    DriverError::new(ErrorKind::ConnectionLost, why)
}
