//! What is compared: the [`Driver`] and [`Session`] traits that put a CQL driver on the dyno.
//!
//! A new driver is one crate that implements the two traits and a `main` of one line; nothing else in the
//! workspace changes. The traits are generic on the hot path: the load generator is compiled once per
//! adapter, with no dynamic dispatch and no boxed future.
#![deny(missing_docs)]

mod batch;
mod driver;
mod error;
mod info;
mod options;
mod rows;
#[cfg(feature = "suite")]
pub mod suite;
mod value;

pub use batch::BatchRows;
pub use driver::{Driver, Session};
pub use error::{DriverError, ErrorKind};
pub use info::{Capability, DriverInfo, Library, Setting};
pub use options::{ConnectOptions, Consistency, Credentials, Settings};
pub use rows::{Row, Rows};
pub use value::Value;
