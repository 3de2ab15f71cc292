//! The adapter for the crate `scylla`, from 0.8 to 0.10.
#![deny(missing_docs)]

#[path = "../../0.3/src/bound.rs"]
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
#[path = "../../0.3/src/rows.rs"]
mod rows;
#[path = "../../0.3/src/session.rs"]
mod session;

pub use driver::Scylla;
pub use session::{ScyllaSession, ScyllaStatement};
