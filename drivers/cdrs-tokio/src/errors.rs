//! The driver's errors, by kind.

use cqldyno_driver_api::{DriverError, ErrorKind};
use driver::Error;
use tokio::time::error::Elapsed;

use crate::release;

/// An error while connecting.
pub(crate) fn connect(error: Error) -> DriverError {
    DriverError::new(release::kind_at_connect(&error), error)
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
