//! The adapter for the blocking crate `cdrs`. Its values and errors are the files of the adapter for its successor, `cdrs-tokio`.
#![deny(missing_docs)]

// As the files call it that adapters for crates of other names share.
extern crate cdrs as driver;

mod adapter;
#[path = "../../cdrs-tokio/src/before_8_1.rs"]
mod before_8_1;
#[path = "../../cdrs-tokio/src/errors.rs"]
mod errors;
#[path = "../../cdrs-tokio/5/src/release.rs"]
mod release;
mod session;
mod threads;
#[path = "../../cdrs-tokio/src/values.rs"]
mod values;

pub use adapter::Cdrs;
pub use session::{CdrsSession, CdrsStatement};
