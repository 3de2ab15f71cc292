//! What a node counts, and the snapshots that show it.

pub(crate) mod operations;
pub(crate) mod snapshot;
pub(crate) mod stats;
