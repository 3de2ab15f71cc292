//! The adapter for the crate `cdrs-tokio` 5: a pool of connections, each of which has one request in flight.
#![deny(missing_docs)]

// As the files call it that adapters for crates of other names share.
extern crate cdrs_tokio as driver;

mod adapter;
#[path = "../../src/before_8_1.rs"]
mod before_8_1;
#[path = "../../src/errors.rs"]
mod errors;
mod release;
mod session;
#[path = "../../src/values.rs"]
mod values;

pub use adapter::CdrsTokio;
pub use session::{CdrsTokioSession, CdrsTokioStatement};
