//! The adapter for the crate `scylla`, 0.1 and 0.2.
#![deny(missing_docs)]

#[path = "../../0.3/src/bound.rs"]
mod bound;
#[path = "../../0.3/src/connect.rs"]
mod connect;
#[path = "../../0.3/src/errors.rs"]
mod errors;
mod release;
#[path = "../../0.3/src/rows.rs"]
mod rows;
#[path = "../../0.3/src/session.rs"]
mod session;
#[path = "../../src/shared/mod.rs"]
mod shared;

pub use session::{ScyllaSession, ScyllaStatement};
pub use shared::driver::Scylla;
