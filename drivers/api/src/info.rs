//! What a driver says of itself.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// What a driver can do beyond preparing and executing. The behaviour suite checks what is declared and that what is
/// not declared is really missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Has a time limit a statement of its own.
    RequestTimeout,
    /// Reads a result page by page.
    Paging,
    /// Prepares again by itself when the server no longer knows the prepared id.
    Reprepare,
    /// Reconnects by itself when a server that was gone is back.
    Reconnect,
    /// Goes on when its control connection breaks and its data connections do not.
    ControlConnection,
    /// Logs in with user and password.
    Credentials,
    /// Sends nothing at all: no cluster is needed (noop).
    Offline,
    /// Sends several rows of a prepared statement as one unlogged BATCH.
    Batch,
    /// Takes values with a statement that was not prepared.
    Unprepared,
    /// Preparing is asking the server, each time.
    Prepare,
    /// A session can be made, used and closed again and again in one process.
    Connect,
}

/// A library at work in the worker, as read from the build or the running process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Its name, for example `tokio` or `libcassandra`.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// Where it came from when that is not the lock file, for example the path of a shared object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// One of the settings that are equal for all, and what the driver made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name: `protocol version`, `consistency`, `compression`, `retries`, `speculative execution`, `routing`,
    /// `connections`, `page size`, `request timeout`.
    pub name: String,
    /// What the driver runs with.
    pub value: String,
    /// Whether that is what was asked; `false` is a caveat of the row.
    pub as_asked: bool,
}

impl Setting {
    /// A setting that the driver took as asked.
    pub fn taken(name: &str, value: impl ToString) -> Setting {
        Setting { name: name.to_owned(), value: value.to_string(), as_asked: true }
    }

    /// A setting that the driver cannot take; `value` says what it does instead.
    pub fn refused(name: &str, value: impl ToString) -> Setting {
        Setting { name: name.to_owned(), value: value.to_string(), as_asked: false }
    }
}

/// What a driver says of itself, in `hello` and in every result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverInfo {
    /// The driver's name: `scylla`, `cdrs-tokio`, `cassandra-cpp`.
    pub name: String,
    /// The driver's exact version, from the lock file of the build.
    pub version: String,
    /// What distinguishes this contender beyond name and version, as it stands behind a `+` in its label, for example
    /// `lib=scylla-2.16.2`; empty for most.
    #[serde(default)]
    pub variant: String,
    /// The libraries that shape the figure: the async runtime, a native library, a TLS stack.
    pub libraries: Vec<Library>,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// Full sentences shown beside the row: what would favour the driver or hinder it here.
    pub caveats: Vec<String>,
}

impl DriverInfo {
    /// The contender's label: `NAME@VERSION`, with `+VARIANT` where there is one.
    pub fn label(&self) -> String {
        match self.variant.as_str() {
            "" => format!("{}@{}", self.name, self.version),
            variant => format!("{}@{}+{variant}", self.name, self.version),
        }
    }
}
