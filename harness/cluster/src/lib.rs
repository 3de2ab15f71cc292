//! The embedded cluster: an in-memory node that answers as Cassandra 5.0 does.
//!
//! A room uses only the rooms above it in this list, which a test of the program checks:
//!
//! - `types`, `error`: values and their bytes, refusals
//! - `ring`, `consistency`: who owns a key when there are several nodes, and how many must answer
//! - `cql`, `schema`, `prepared`: text to statements, the catalog, what the executor runs
//! - `codec`: frames to requests and answers to frames
//! - `analyze`: statements to plans
//! - `storage`: the rows of tables
//! - `system`: the tables that describe the node
//! - `counters`: what the node counts
//! - `execute`: plans on rows
//! - `node`: `alarm`, `auth`, `delay`, `tls`, `statement`, `script`, `state`, `play`, `statement_cache`, `requests`, `connection`, `server`, `socketless`, `rehearsal`, `control`, `serve`

mod analyze;
pub mod codec;
mod consistency;
mod counters;
mod cql;
pub mod error;
mod execute;
mod node;
mod prepared;
mod ring;
mod schema;
mod storage;
mod system;
pub mod types;

pub use cqldyno_driver_api::{Credentials, token};

pub use counters::operations::{Request, reads_system_table, without_comment};
pub use counters::snapshot::{ConnectionSnapshot, ExecuteTimes, OperationSnapshot, Routed, Snapshot};
pub use node::control::{Control, ControlError, Listening, PlayedAll};
pub use node::delay::Delay;
pub use node::rehearsal::{Rehearsal, Rehearsed};
pub use node::serve::{ServeError, ServeOptions, serve};
pub use node::server::{Node, StartError, StoppedNode};
pub use node::socketless::SocketlessNode;
pub use node::state::{Answers, NodeOptions, check_keyspace};
pub use node::tls::{Encryption, EncryptionError};
pub use ring::{Topology, TopologyError};
pub use schema::{Altered, ChangeType, Changed, SchemaChange};

/// What the fuzzer runs without a connection.
pub mod statements {
    pub use crate::analyze::analyze;
    pub use crate::prepared::CqlPlan;
    pub use crate::schema::Catalog;
    pub use crate::system::catalog;
}
