//! What stands for a module of the same name in releases that have an older API, and the pools of the oldest.

#[cfg(before = "6.0")]
pub(crate) mod adapter;
#[cfg(before = "5.0")]
mod blocking;
#[cfg(all(since = "6.0", before = "8.1"))]
pub(crate) mod connect;
#[cfg(all(since = "5.0", before = "6.0"))]
mod pool;
#[cfg(before = "6.0")]
pub(crate) mod session;
#[cfg(before = "5.0")]
mod threads;
pub(crate) mod types;

#[cfg(before = "5.0")]
use blocking as pool;
