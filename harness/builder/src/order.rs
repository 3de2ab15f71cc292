//! What is to be built.

use std::collections::BTreeMap;
use std::fmt;

use crate::version::Version;

/// What `+allocator=` takes; the first is what a worker has without it.
pub const ALLOCATORS: [&str; 3] = ["system", "jemalloc", "mimalloc"];
/// What `+lto=` takes; the first is what a worker has without it.
pub const LTO: [&str; 3] = ["off", "thin", "fat"];

/// What `+timer=` takes, tokio's own and its alternative one; the first is what a worker has without it.
pub const TIMERS: [&str; 2] = ["own", "alternative"];

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
    /// One of [`TIMERS`]; `None` for the first.
    pub timer: Option<String>,
    /// The seed of the order in which the linker lays out functions, from 1 on; `None` for the compiler's own order.
    pub layout: Option<u32>,
}

impl Order {
    /// For people: as a contender is written, with the first digits of a whole commit.
    pub fn label(&self) -> String {
        let version = match &self.version {
            Some(Version::Git { url, revision }) if revision.len() == 40 => {
                let revision = revision.chars().take(10).collect();
                Some(Version::Git { url: url.clone(), revision })
            }
            version => version.clone(),
        };
        Order { version, ..self.clone() }.to_string()
    }

    /// Whether its version means the same release or sources tomorrow.
    pub(crate) fn is_exact(&self) -> bool {
        self.version.as_ref().is_none_or(Version::is_exact)
    }

    /// The allocator that is built in, if it is not the system's.
    pub fn own_allocator(&self) -> Option<&str> {
        self.allocator.as_deref().filter(|allocator| *allocator != ALLOCATORS[0])
    }

    pub(crate) fn has_alternative_timer(&self) -> bool {
        self.timer.as_deref() == Some(TIMERS[1])
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
        let keys = [("allocator", &self.allocator), ("layout", &layout), ("lto", &self.lto), ("timer", &self.timer)];
        let keys = keys.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)));
        let pins = self.pins.iter().map(|(name, version)| (name.as_str(), version));
        pins.chain(keys).try_for_each(|(key, value)| write!(out, "+{key}={value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_the_first_digits_of_a_commit() {
        let of = |version: &str| {
            let order = Order { driver: "a".to_owned(), version: Some(version.parse().unwrap()), ..Order::default() };
            (order.label(), order.to_string())
        };
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let (label, whole) = of(&format!("git:/x/y#{commit}"));
        assert_eq!((label.as_str(), whole), ("a@git:/x/y#0123456789", format!("a@git:/x/y#{commit}")));
        for version in ["git:/x/y#main", "1.9.0", "path:x"] {
            assert_eq!(of(version).0, format!("a@{version}"));
        }
    }
}
