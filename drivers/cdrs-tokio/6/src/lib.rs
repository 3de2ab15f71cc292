//! The adapter for the crate `cdrs-tokio` 6: the newest one's files, and what differs in `release`.
#![deny(missing_docs)]

#[path = "../../src/adapter.rs"]
mod adapter;
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
