//! The adapter for the crate `cdrs-tokio` from 8.1.0 on. Older families (the folders beside `src`) share its files; what differs
//! between releases is in `release`.
#![deny(missing_docs)]

// As the files call it that adapters for crates of other names share.
extern crate cdrs_tokio as driver;

mod adapter;
mod errors;
mod manager;
mod options;
mod release;
mod session;
mod since_7;
mod types;
mod values;

pub use adapter::CdrsTokio;
pub use session::{CdrsTokioSession, CdrsTokioStatement};
