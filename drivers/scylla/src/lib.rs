//! The adapter for the crate `scylla` from 1.0 on. Folders beside it have those for older releases (README.md).
#![deny(missing_docs)]

mod bound;
mod compression;
mod connect;
mod consistency;
mod driver;
mod errors;
mod options;
mod release;
mod rows;
mod session;

pub use driver::Scylla;
pub use session::{ScyllaSession, ScyllaStatement};
