//! Why a worker was not built.

use std::io;
use std::path::PathBuf;

/// Why a worker was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The folder in which the sources of the adapters should be.
    #[error(
        "CQLDYNO_SOURCES names {0}, where there are no sources of cqldyno's adapters; name a checkout of cqldyno, or unset it"
    )]
    NoSources(PathBuf),
    /// A driver without an adapter, and those that have one.
    #[error("cqldyno has no adapter for {0} that could be built; there are adapters for {1}")]
    NoAdapter(String, String),
    /// A driver, the version that was asked for, why no adapter speaks it if that is known, and the releases that adapters speak.
    #[error("{0} {1} was asked for, and no adapter of cqldyno speaks it{2}: they speak {3}; ask for one of these")]
    NotSpoken(String, String, String, String),
    /// A driver of ours, which has one version only.
    #[error("{0} is a part of cqldyno and has no other version than cqldyno's; leave the version out")]
    NoOtherVersion(String),
    /// An adapter's manifest that cannot be used, and why.
    #[error("the adapter's manifest {0} cannot be used: {1}")]
    Manifest(PathBuf, String),
    /// The driver's own sources, and what is wrong with them.
    #[error("the driver's sources {0} cannot be used: {1}")]
    Checkout(String, String),
    /// A program that is missing, and how to get it.
    #[error("{0} was not found, and a worker is built with it; {1}")]
    NoProgram(&'static str, &'static str),
    /// cargo reached no registry.
    #[error("cargo could not download what the worker needs ({0}); connect this machine to the network and try again")]
    NoNetwork(String),
    /// What cargo or the compiler said first.
    #[error("it could not be built: {0}")]
    Failed(String),
    /// The cache cannot be used.
    #[error("the cache {0} cannot be used: {1}; name another folder in CQLDYNO_CACHE")]
    Cache(PathBuf, io::Error),
    /// The user ended it.
    #[error("the build was ended")]
    Cancelled,
}

impl BuildError {
    /// Whether the order itself is wrong, so that nothing else of a run need be tried. A driver without an adapter may have a worker.
    pub fn is_refusal(&self) -> bool {
        matches!(self, BuildError::NotSpoken(..) | BuildError::NoOtherVersion(_))
    }
}
