//! The adapter for the crate `scylla`, from 0.8 to 0.10.
#![deny(missing_docs)]

mod before_1;
#[path = "../../0.3/src/bound.rs"]
mod bound;
#[path = "../../src/connect.rs"]
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
