//! A PostgreSQL on this machine, for the price of durable writes: the installed one, started with data of its own on a free port of
//! 127.0.0.1, and stopped with the process that needs it.
//!
//! Files go from an order to a server in this order: `order`, `machine` (what is installed, and as whom it runs), `server`, `log` (what
//! its write-ahead log says was committed).
#![deny(missing_docs)]

mod error;
mod log;
mod machine;
mod order;
mod server;

pub use error::PostgresError;
pub use log::{Committed, Position};
pub use machine::{check, on_disk};
pub use order::{Order, PASSWORD_LENGTH, USER};
pub use server::{MOST_CONNECTIONS, Server, Start};
