//! What is to be built.

use std::collections::BTreeMap;
use std::fmt;

use crate::version::Version;

/// What `+allocator=` takes; the first is what a worker has without it.
pub const ALLOCATORS: [&str; 3] = ["system", "jemalloc", "mimalloc"];
/// What `+lto=` takes; the first is what a worker has without it.
pub const LTO: [&str; 3] = ["off", "thin", "fat"];

/// A worker that is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The driver's name.
    pub driver: String,
    /// Its version; `None` for the one that its newest family depends on.
    pub version: Option<Version>,
    /// Dependencies with the exact version that each is to have.
    pub pins: BTreeMap<String, String>,
    /// One of [`ALLOCATORS`]; `None` for the first.
    pub allocator: Option<String>,
    /// One of [`LTO`]; `None` for the first.
    pub lto: Option<String>,
    /// The seed of the order in which the linker lays out functions, from 1 on; `None` for the compiler's own order.
    pub layout: Option<u32>,
}

impl Order {
    /// Whether its version means the same release or sources tomorrow.
    pub(crate) fn is_exact(&self) -> bool {
        self.version.as_ref().is_none_or(Version::is_exact)
    }

    /// The allocator that is built in, if it is not the system's.
    pub fn own_allocator(&self) -> Option<&str> {
        self.allocator.as_deref().filter(|allocator| *allocator != ALLOCATORS[0])
    }
}

/// As a contender is written.
impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.driver)?;
        if let Some(version) = &self.version {
            write!(out, "@{version}")?;
        }
        let layout = self.layout.map(|seed| seed.to_string());
        let keys = [("allocator", &self.allocator), ("layout", &layout), ("lto", &self.lto)];
        let keys = keys.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let pins = self.pins.iter().map(|(name, version)| (name.as_str(), version));
        pins.chain(keys).try_for_each(|(key, value)| write!(out, "+{key}={value}"))
    }
}
