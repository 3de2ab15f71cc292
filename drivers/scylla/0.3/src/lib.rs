//! The adapter for the crate `scylla`, from 0.3 to 0.7.
#![deny(missing_docs)]

mod bound;
#[path = "../../src/compression.rs"]
mod compression;
mod connect;
#[path = "../../src/consistency.rs"]
mod consistency;
#[path = "../../src/driver.rs"]
mod driver;
mod errors;
#[path = "../../src/options.rs"]
mod options;
mod release;
mod rows;
mod session;

pub use driver::Scylla;
pub use session::{ScyllaSession, ScyllaStatement};
