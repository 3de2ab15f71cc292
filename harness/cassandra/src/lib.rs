//! A real Apache Cassandra on this machine, without a container: fetched from Maven Central once, started on loopback addresses, and
//! stopped with the process that needs it.
//!
//! Files go from an order to a cluster in this order: `order`, `machine` (what it needs of this machine), `fetch`, `client` (a few
//! queries), `node` (configuration and process), `play` (a script's steps), `cluster`, `kept` (one that outlives us).
#![deny(missing_docs)]

mod client;
mod cluster;
mod error;
mod fetch;
mod kept;
mod machine;
mod node;
mod order;
mod play;

pub use cluster::{Cluster, Start};
pub use error::CassandraError;
pub use fetch::is_fetched;
pub use kept::{Condition, Kept, KeptNode};
pub use machine::{check, on_path};
pub use node::{Gate, JVM_VARIABLE};
pub use order::{OPTIONS, Order, RELEASES};
pub use play::plays;
