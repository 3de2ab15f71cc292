//! What stands for a module of the same name in releases that have an older API.

#[cfg(all(since = "5.0", before = "6.0"))]
pub(crate) mod adapter;
#[cfg(all(since = "6.0", before = "8.1"))]
pub(crate) mod connect;
#[cfg(before = "6.0")]
pub(crate) mod requests;
#[cfg(all(since = "5.0", before = "6.0"))]
pub(crate) mod session;
pub(crate) mod types;
