//! The driver's errors, by kind.

use std::fmt::Display;

use cqldyno_driver_api::{DriverError, ErrorKind};
use tokio::time::error::Elapsed;

use crate::release::{self, Error};

/// An error while connecting.
pub(crate) fn connect(error: Error) -> DriverError {
    DriverError::new(release::kind_at_connect(&error), error)
}

/// An error of `SessionBuilder::build`.
#[allow(dead_code, reason = "an older family, which shares this file, builds without errors")]
pub(crate) fn build(error: impl Display) -> DriverError {
    DriverError::new(ErrorKind::Connect, error)
}

/// The driver went on trying without an error.
pub(crate) fn silent(_: Elapsed) -> DriverError {
    DriverError::new(
        ErrorKind::Connect,
        format!(
            "the driver neither connected nor gave up within {} seconds; check that the address is right and that the \
             server answers",
            crate::adapter::CONNECTS_WITHIN.as_secs()
        ),
    )
}

/// An error of a statement or a preparation.
#[cold]
pub(crate) fn execution(error: Error) -> DriverError {
    DriverError::new(release::kind_at_execution(&error), error)
}

/// An answer that could not be decoded.
#[cold]
pub(crate) fn codec(error: Error) -> DriverError {
    DriverError::new(ErrorKind::Codec, error)
}
