//! Builds workers on demand: any release of a driver, a checkout of it, other dependencies, another allocator, LTO.
//!
//! An [`Order`] says what is wanted. [`Builder::build`] finds the adapter [`Family`] that speaks the release, writes a package of its own
//! into the cache, lets cargo lock and build it, and keeps the worker beside its lock file. What was built once is found again.
//!
//! Files go from an order to a worker in this order: `order`, `version`, `sources`, `family`, `checkout`, `package`, `key`, `cargo`,
//! `inputs`, `lockfile`, `builder`. What cargo does not build takes `native` instead. `range` lists what can be ordered between two
//! versions, `cached` what builds left.
#![deny(missing_docs)]

mod builder;
mod cached;
mod cargo;
mod checkout;
mod error;
mod family;
mod inputs;
mod key;
mod lockfile;
mod native;
mod order;
mod package;
mod range;
mod sources;
mod version;

pub use builder::{Builder, Built, CACHE_VARIABLE, Watch, cache};
pub use cached::{Cached, busy, cached};
pub use cargo::Progress;
pub use error::BuildError;
pub use family::Family;
pub use order::{ALLOCATORS, LTO, Order, TIMERS};
pub use range::{Point, Range};
pub use sources::{SOURCES_VARIABLE, Sources};
pub use version::Version;
