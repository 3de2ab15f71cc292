//! What answers: the embedded nodes.

pub mod plan;
pub mod schema;
pub mod token;
pub mod types;
