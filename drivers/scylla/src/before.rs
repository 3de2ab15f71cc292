//! What stands for a module of the same name in releases that have an older API.

#[cfg(before = "0.11")]
pub(crate) mod bound;
#[cfg(before = "0.8")]
pub(crate) mod connect;
pub(crate) mod errors;
#[cfg(before = "0.14")]
pub(crate) mod pages;
#[cfg(before = "0.15")]
pub(crate) mod rows;
