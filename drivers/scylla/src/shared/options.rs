//! The options of `scylla+KEY=VALUE`.

use cqldyno_driver_api::DriverOption;
use cqldyno_worker::lock;

/// Each option, and the first release that has it.
const OPTIONS: [((u64, u64), DriverOption); 7] = [
    (
        (0, 1),
        DriverOption::new(
            "routing",
            "token-aware|round-robin",
            "token-aware",
            "Sends each statement to a replica of its row, or to any node.",
        ),
    ),
    (
        (0, 1),
        DriverOption::new(
            "compression",
            "none|lz4|snappy",
            "none",
            "Compresses frames in both directions; refused if the server does not offer it.",
        ),
    ),
    (
        (0, 4),
        DriverOption::new(
            "schema",
            "fetched|none",
            "fetched",
            "Reads the schema whenever it reads the cluster's metadata, or never.",
        ),
    ),
    (
        (0, 9),
        DriverOption::new(
            "coalescing",
            "on|off",
            "on",
            "Lets other tasks run once before each write, so that their requests go out with it.",
        ),
    ),
    (
        (0, 10),
        DriverOption::new(
            "refresh",
            "SECONDS",
            "60",
            "Reads the cluster's metadata again every so many seconds; from 1.9 on, only keyspaces that changed.",
        ),
    ),
    (
        (0, 13),
        DriverOption::new(
            "metadata",
            "each|cached",
            "each",
            "Asks for the columns' names and types with every SELECT, or keeps those of its PREPARE.",
        ),
    ),
    (
        (1, 0),
        DriverOption::new(
            "timestamps",
            "server|client",
            "server",
            "Leaves the time of a write to the server, or sends one of the client's own, which only grows.",
        ),
    ),
];

/// The options that this release has.
pub(crate) fn options() -> Vec<DriverOption> {
    OPTIONS.into_iter().filter(|((major, minor), _)| since(*major, *minor)).map(|(_, option)| option).collect()
}

/// Whether the worker is built with release `major.minor` or a later one.
pub(crate) fn since(major: u64, minor: u64) -> bool {
    let version = lock::version_used_by(env!("CARGO_PKG_NAME"), "scylla").unwrap_or_default();
    let mut numbers = version.split('.').map(|number| number.parse::<u64>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}
