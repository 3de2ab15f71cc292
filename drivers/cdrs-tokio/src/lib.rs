//! The adapter for the crate `cdrs-tokio`, and for `cdrs`, whose successor it is.
//!
//! The modules here are for the newest releases. `before` has those that take their places in older ones, and `blocking` those for
//! `cdrs`. `cfg` says when ([`since`](../../since)).
#![deny(missing_docs)]

#[cfg(before = "5.0")]
extern crate cdrs as driver;
#[cfg(since = "5.0")]
extern crate cdrs_tokio as driver;

use std::time::Duration;

#[cfg(since = "6.0")]
mod adapter;
#[cfg(before = "8.1")]
mod before;
#[cfg(before = "5.0")]
mod blocking;
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
#[cfg(all(since = "5.0", before = "6.0"))]
use before::{adapter, session};

/// The time limit for a connection and for the whole session, and for waiting until a pool has one free: the driver tries for ever.
const CONNECTS_WITHIN: Duration = Duration::from_secs(10);

#[cfg(since = "5.0")]
pub use adapter::CdrsTokio;
#[cfg(before = "5.0")]
pub use blocking::{
    adapter::Cdrs,
    session::{CdrsSession, CdrsStatement},
};
#[cfg(since = "5.0")]
pub use session::{CdrsTokioSession, CdrsTokioStatement};
