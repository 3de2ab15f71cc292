//! The processes of a run: which programs there are, how they start, what is said to them, and how they end.

pub(crate) mod cancel;
pub(crate) mod child;
pub(crate) mod executable;
pub(crate) mod failure;
pub mod gate;
pub(crate) mod introduction;
pub(crate) mod load_generator;
pub mod loader;
pub(crate) mod loaders;
pub(crate) mod log;
pub(crate) mod programs;
pub(crate) mod server;
pub(crate) mod transcript;
pub(crate) mod worker;
