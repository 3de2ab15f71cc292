//! The adapter for the crate `cdrs`, which blocks.

pub(crate) mod adapter;
pub(crate) mod session;
mod threads;
