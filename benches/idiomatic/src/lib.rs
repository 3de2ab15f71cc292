//! What the hand-written programs share, so that they differ from each other in nothing but the driver: the settings, which
//! key each ticket is, the slots, and the worker protocol, by which `cqldyno` runs them as it runs an adapter's worker.
//!
//! There is no load generator of ours in it: no chunks of tickets, no histogram, no clock read a statement, no values of any type. So
//! `cqldyno compare NAME idiomatic-NAME` shows what the adapter and the load generator add: both run in the same blocks,
//! on equal nodes with equal rows.
#![deny(missing_docs)]

mod asked;
mod parent;
mod slots;
mod tickets;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_driver_api::Driver;

pub use tickets::{Statement, Tickets};
pub use worker::main;

/// Its markers are pk, v1 = 2 * pk and v2 = 3 * pk.
pub const INSERT: &str = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)";
/// Its marker is pk.
pub const SELECT: &str = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?";
/// Rows a page of a select, as the equal settings of all contenders have it.
pub const PAGE_SIZE: i32 = 5_000;
/// The client's time limit for a statement where the driver has one, as in the equal settings of all contenders.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The program that a driver's documentation would have you write.
pub trait Program: Send + Sync + Sized + 'static {
    /// The adapter that it is held against, which says of which versions the driver is.
    type Adapter: Driver;

    /// Connects to `node` with the equal settings, and prepares [`INSERT`] and [`SELECT`].
    fn connect(node: SocketAddr) -> impl Future<Output = anyhow::Result<Self>> + Send;

    /// What each slot does: takes tickets until there are no more, executes them one by one, and gives the number of right answers.
    fn execute_some(
        client: Arc<Self>,
        tickets: Arc<Tickets>,
    ) -> impl Future<Output = anyhow::Result<u64>> + Send + 'static;
}
