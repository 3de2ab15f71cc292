//! What the hand-written programs share: settings, keys, slots and the worker protocol. So they differ in nothing but the driver.
//!
//! They have no load generator of ours: no chunks of tickets, no histogram, no clock read per statement, no values of any type.
//! So `cqldyno compare NAME idiomatic-NAME` shows what adapter and load generator add.
#![deny(missing_docs)]

mod asked;
mod parent;
mod slots;
mod tickets;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;

use cqldyno_driver_api::Driver;

pub use tickets::{Statement, Tickets};
pub use worker::main;

/// Its markers are pk, v1 = 2 * pk and v2 = 3 * pk.
pub const INSERT: &str = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)";
/// Its marker is pk.
pub const SELECT: &str = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?";
/// Rows per page of a select, as in the equal settings.
pub const PAGE_SIZE: i32 = 5_000;

/// The program that a driver's documentation would have you write.
pub trait Program: Send + Sync + Sized + 'static {
    /// The adapter to compare with, which knows the driver's versions.
    type Adapter: Driver;

    /// Connects to `node` with the equal settings, and prepares [`INSERT`] and [`SELECT`].
    fn connect(node: SocketAddr) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// What each slot does: takes tickets until there are none, executes them one by one, and returns the number of right
    /// answers.
    fn execute_some(
        client: Arc<Self>,
        tickets: Arc<Tickets>,
    ) -> impl Future<Output = anyhow::Result<u64>> + Send + 'static;
}
