//! What answers: the embedded nodes.
//!
//! Data flows one way: `codec` (bytes to requests) -> `connection` (buffering, and what is executed together) -> `requests` (one
//! request) -> `analyze` (text to a plan) -> `execute` (a plan on rows) -> `storage` (rows). [`Node`] starts and stops one.

pub mod analyze;
mod auth;
mod clock;
pub mod codec;
mod connection;
mod control;
pub mod cql;
mod database;
pub mod exchange;
mod execute;
mod operations;
pub mod plan;
mod prepared_statements;
mod requests;
pub mod schema;
mod serve;
mod server;
mod snapshot;
mod socketless;
mod state;
mod statement;
mod statement_cache;
mod stats;
mod storage;
pub mod system;
pub mod token;
pub mod types;

pub use auth::Credentials;
pub use control::{Control, ControlError, Listening};
pub use operations::{Request, without_comment};
pub use serve::{ServeError, ServeOptions, serve};
pub use server::{Answers, Node, NodeOptions, StartError, StoppedNode};
pub use snapshot::{ConnectionSnapshot, ExecuteTimes, OperationSnapshot, Snapshot};
pub use socketless::SocketlessNode;
