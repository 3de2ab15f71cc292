//! Why there is no PostgreSQL.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no PostgreSQL.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// What was asked for, and what is wrong with it.
    #[error("the target {0:?} was asked for, and {1}; write postgres[,synchronous_commit=on|off]")]
    Order(String, String),
    /// A program that was not found, and where was looked.
    #[error(
        "PostgreSQL was asked for, and no `{0}` was found in {1} or on the PATH; install it (Debian: the package postgresql) and start this \
         again"
    )]
    Missing(&'static str, String),
    /// As root without anybody to become.
    #[error(
        "PostgreSQL was asked for, which does not run as root, and {0}; start this as another user, or install the package postgresql and \
         util-linux"
    )]
    AsRoot(&'static str),
    /// The folder of the data.
    #[error(
        "the server's data would be in {0}, which is in memory, so nothing would be on a disk; name a folder on a disk with --out"
    )]
    InMemory(PathBuf),
    /// What was done, how it ended, and the log.
    #[error("PostgreSQL was started and {0} ({1}); its log is {2}")]
    NotReady(&'static str, String, PathBuf),
    /// A query of ours, and what was said.
    #[error("PostgreSQL's commits cannot be read: {0}")]
    NoAnswer(String),
    /// A file or a process of ours, and what the system said.
    #[error("{0} cannot be used: {1}")]
    Io(PathBuf, io::Error),
    /// The user ended it.
    #[error("the start of PostgreSQL was ended; nothing of it is left running")]
    Cancelled,
}

pub(crate) type Result<T, E = PostgresError> = std::result::Result<T, E>;

/// Names the file in an error of the system.
pub(crate) fn of(path: &Path) -> impl Fn(io::Error) -> PostgresError + use<> {
    let path = path.to_path_buf();
    move |error| PostgresError::Io(path.clone(), error)
}
