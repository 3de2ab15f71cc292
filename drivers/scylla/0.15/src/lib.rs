//! The adapter for the crate `scylla`, 0.15.
#![deny(missing_docs)]

#[path = "../../0.8/src/before_1.rs"]
mod before_1;
#[path = "../../src/before_1_0.rs"]
mod before_1_0;
#[path = "../../src/bound.rs"]
mod bound;
#[path = "../../src/connect.rs"]
mod connect;
#[path = "../../0.3/src/errors.rs"]
mod errors;
mod release;
#[path = "../../src/rows.rs"]
mod rows;
#[path = "../../src/session.rs"]
mod session;
#[path = "../../src/shared/mod.rs"]
mod shared;

pub use session::{ScyllaSession, ScyllaStatement};
pub use shared::driver::Scylla;
