//! The [`Driver`] and [`Session`] traits, through which every CQL driver is measured.
//!
//! A new driver is one crate that implements both traits, and a `main` of one line (`drivers/README.md`). The load generator is
//! compiled once per adapter, without dynamic dispatch or boxed futures.
#![deny(missing_docs)]

mod batch;
mod driver;
mod error;
mod info;
mod items;
mod options;
mod rows;
pub mod token;
mod value;
pub mod varint;
pub mod wire;
mod words;

pub use batch::BatchRows;
pub use driver::{Driver, Session};
pub use error::{DriverError, ErrorKind};
pub use info::{Capability, DriverInfo, DriverOption, LATER_TYPES, Library, Setting};
pub use items::{Elements, Item, Items};
pub use options::{ClientCertificate, ConnectOptions, Consistency, Credentials, Settings, Tls};
pub use rows::{Row, Rows};
pub use value::{DAY, Nested, Scalar, Value};
