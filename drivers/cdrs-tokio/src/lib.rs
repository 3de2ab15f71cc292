//! The adapter for the crate `cdrs-tokio`, and for `cdrs`, whose successor it is.
//!
//! The modules here are for the newest releases. `before` has those that take their places in older ones, and `cfg` says when
//! ([`since`](../../since)).
#![deny(missing_docs)]

#[cfg(before = "5.0")]
extern crate cdrs as driver;
#[cfg(since = "5.0")]
extern crate cdrs_tokio as driver;

use std::net::SocketAddr;
use std::time::Duration;

use cqldyno_driver_api::{ConnectOptions, DriverError, ErrorKind};
use tokio::time::timeout;

#[cfg(since = "6.0")]
mod adapter;
#[cfg(before = "8.1")]
mod before;
#[cfg(since = "8.1")]
mod connect;
mod errors;
#[cfg(since = "8.1")]
mod manager;
mod names;
#[cfg(since = "6.0")]
mod options;
#[cfg(since = "6.0")]
mod session;
#[cfg(since = "8.1")]
mod types;
mod values;

#[cfg(all(since = "6.0", before = "8.1"))]
use before::connect;
#[cfg(before = "8.1")]
use before::types;
#[cfg(before = "6.0")]
use before::{adapter, session};

pub use adapter::CdrsTokio;
pub use session::{CdrsTokioSession, CdrsTokioStatement};

/// The time limit for a connection and for the whole session, and for waiting until a pool has one free: the driver tries for ever.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

/// Opens and closes one connection, to learn of a refusal: a refused session or pool reports nothing, or no kind of error, and tries
/// again for ever.
async fn try_one_connection<T, F: Future<Output = Result<T, driver::Error>>>(
    options: &ConnectOptions,
    connect: impl Fn(SocketAddr) -> F,
) -> Result<(), DriverError> {
    let mut last = DriverError::new(ErrorKind::Connect, "no contact point was given; give at least one address");
    for &address in &options.contact_points {
        match timeout(CONNECTS_WITHIN, connect(address)).await {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error)) => last = errors::connect(error),
            Err(elapsed) => last = errors::silent(elapsed),
        }
    }
    Err(last)
}
