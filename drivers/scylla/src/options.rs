//! The options of `scylla+KEY=VALUE`.

use cqldyno_driver_api::DriverOption;

/// Those that the release has.
pub(crate) const OPTIONS: &[DriverOption] = &[
    DriverOption::new(
        "routing",
        "token-aware|round-robin",
        "token-aware",
        "Sends each statement to a replica of its row, or to any node.",
    ),
    DriverOption::new(
        "compression",
        "none|lz4|snappy",
        "none",
        "Compresses frames in both directions; refused if the server does not offer it.",
    ),
    DriverOption::new(
        "api",
        "page|pager",
        "page",
        "Reads rows page by page, or as the stream of the driver's pager (`execute_iter`), which its documentation recommends.",
    ),
    #[cfg(since = "0.4")]
    DriverOption::new(
        "schema",
        "fetched|none",
        "fetched",
        "Reads the schema whenever it reads the cluster's metadata, or never.",
    ),
    #[cfg(since = "0.9")]
    DriverOption::new(
        "coalescing",
        "on|off",
        "on",
        "Lets other tasks run once before each write, so that their requests go out with it.",
    ),
    #[cfg(since = "0.10")]
    DriverOption::new(
        "refresh",
        "SECONDS",
        "60",
        "Reads the cluster's metadata again every so many seconds; from 1.9 on, see `refresh-mode`.",
    ),
    #[cfg(since = "1.9")]
    DriverOption::new(
        "refresh-mode",
        "affected|full",
        "affected",
        "Reads with each refresh only the keyspaces that changed, or all metadata.",
    ),
    #[cfg(since = "0.13")]
    DriverOption::new(
        "metadata",
        "each|cached",
        "each",
        "Asks for the columns' names and types with every SELECT, or keeps those of its PREPARE.",
    ),
    #[cfg(since = "1.0")]
    DriverOption::new(
        "timestamps",
        "server|client",
        "server",
        "Leaves the time of a write to the server, or sends one of the client's own, which only grows.",
    ),
];
