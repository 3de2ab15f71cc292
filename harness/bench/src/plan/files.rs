//! How many files a process may have open here: a connection takes one in the worker and one in the node.

use nix::sys::resource::{Resource, getrlimit};

/// Files that worker and node have open besides data connections: their streams, logs, pipes and control connections.
pub(crate) const OTHER_FILES: u64 = 64;

/// What workers and nodes inherit; where the system does not tell, it will when they open them.
pub(crate) fn open_files() -> u64 {
    getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft)
}
