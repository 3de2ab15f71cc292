//! The adapter for the crate `scylla`.
//!
//! The modules here are for the newest releases. `before` has those that take their places in older ones: a driver's APIs changed one
//! by one, and `cfg` says when ([`since`](../../since)).
#![deny(missing_docs)]

#[cfg(before = "1.0")]
mod before;
#[cfg(since = "0.11")]
mod bound;
mod compression;
#[cfg(since = "0.8")]
mod connect;
mod consistency;
mod driver;
#[cfg(since = "1.0")]
mod errors;
mod names;
mod options;
mod pager;
#[cfg(since = "0.14")]
mod pages;
#[cfg(since = "0.15")]
mod rows;
mod session;
#[cfg(since = "1.0")]
mod types;

#[cfg(before = "0.11")]
use before::bound;
#[cfg(before = "0.8")]
use before::connect;
#[cfg(before = "1.0")]
use before::errors;
#[cfg(before = "0.14")]
use before::pages;
#[cfg(before = "0.15")]
use before::rows;

pub use driver::Scylla;
pub use session::{ScyllaSession, ScyllaStatement};
