//! The adapter for the crate `scylla`, 0.15.
#![deny(missing_docs)]

#[path = "../../src/bound.rs"]
mod bound;
#[path = "../../src/compression.rs"]
mod compression;
#[path = "../../src/connect.rs"]
mod connect;
#[path = "../../src/consistency.rs"]
mod consistency;
#[path = "../../src/driver.rs"]
mod driver;
#[path = "../../0.3/src/errors.rs"]
mod errors;
#[path = "../../src/options.rs"]
mod options;
mod release;
#[path = "../../src/rows.rs"]
mod rows;
#[path = "../../src/session.rs"]
mod session;

pub use driver::Scylla;
pub use session::{ScyllaSession, ScyllaStatement};
