//! The adapter for the crate `scylla`, from 0.3 to 0.7.
#![deny(missing_docs)]

mod bound;
mod connect;
mod errors;
mod release;
mod rows;
mod session;
#[path = "../../src/shared/mod.rs"]
mod shared;

pub use session::{ScyllaSession, ScyllaStatement};
pub use shared::driver::Scylla;
