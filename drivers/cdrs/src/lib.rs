//! The adapter for the blocking crate `cdrs`. Its values and errors are the files of the adapter for its successor, `cdrs-tokio`.
#![deny(missing_docs)]

mod adapter;
#[path = "../../cdrs-tokio/src/errors.rs"]
mod errors;
mod release;
mod session;
mod threads;
#[path = "../../cdrs-tokio/src/values.rs"]
mod values;

pub use adapter::Cdrs;
pub use session::{CdrsSession, CdrsStatement};
