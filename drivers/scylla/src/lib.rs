//! The adapter for the crate `scylla` from 1.0 on. Folders beside it have those for older releases (README.md).
#![deny(missing_docs)]

mod bound;
mod connect;
mod errors;
mod release;
mod rows;
mod session;
mod shared;
mod types;

pub use session::{ScyllaSession, ScyllaStatement};
pub use shared::driver::Scylla;
