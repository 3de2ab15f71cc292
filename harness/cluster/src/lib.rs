//! What answers: the embedded nodes.

pub mod analyze;
pub mod codec;
pub mod cql;
pub mod plan;
pub mod schema;
pub mod storage;
pub mod system;
pub mod token;
pub mod types;
