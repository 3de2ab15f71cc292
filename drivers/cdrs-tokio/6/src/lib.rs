//! The adapter for the crate `cdrs-tokio` 6: the newest one's files, and what differs in `release`.
#![deny(missing_docs)]

// As the files call it that adapters for crates of other names share.
extern crate cdrs_tokio as driver;

#[path = "../../src/adapter.rs"]
mod adapter;
#[path = "../../7/src/before_8.rs"]
mod before_8;
#[path = "../../src/before_8_1.rs"]
mod before_8_1;
#[path = "../../src/errors.rs"]
mod errors;
#[path = "../../src/options.rs"]
mod options;
mod release;
#[path = "../../src/session.rs"]
mod session;
#[path = "../../src/values.rs"]
mod values;

pub use adapter::CdrsTokio;
pub use session::{CdrsTokioSession, CdrsTokioStatement};
