//! Errors that the client itself finds.

use std::fmt::Display;

use cqldyno_driver_api::{DriverError, ErrorKind};

pub(crate) use cqldyno_driver_api::wire::{codec, malformed};

/// No connection, or one that broke.
#[cold]
pub(crate) fn lost(why: impl Display) -> DriverError {
    DriverError::new(ErrorKind::ConnectionLost, why)
}
