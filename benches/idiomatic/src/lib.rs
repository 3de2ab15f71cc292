//! What the hand-written programs share, so that they differ from each other in nothing but the driver: the command
//! line, the settings, which key each ticket is, the slots, and the clock and CPU time of the window.
//!
//! There is no harness of ours in it: no worker protocol, no histogram, no clock read per statement. An adapter's CPU
//! time a statement is compared with that of such a program.
#![deny(missing_docs)]

mod arguments;
mod slots;
mod tickets;
mod window;

use std::time::Duration;

pub use arguments::{Arguments, Runtime, Scenario};
pub use slots::execute_all;
pub use tickets::{Statement, Tickets};
pub use window::Window;

/// The keyspace, created before the window.
pub const CREATE_KEYSPACE: &str =
    "CREATE KEYSPACE IF NOT EXISTS cqldyno WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}";
/// The table, created before the window; rows that are already there stay.
pub const CREATE_TABLE: &str = "CREATE TABLE IF NOT EXISTS cqldyno.bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)";
/// Its markers are pk, v1 = 2 * pk and v2 = 3 * pk.
pub const INSERT: &str = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)";
/// Its marker is pk.
pub const SELECT: &str = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?";
/// Rows a page of a select, as the equal settings of all contenders have it.
pub const PAGE_SIZE: i32 = 5_000;
/// The client's time limit for a statement where the driver has one, as in the equal settings of all contenders.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
