//! Names of drivers.

use cqldyno_bench::{COMPARED, KNOWN, Programs, WORKERS_VARIABLE};
use cqldyno_scenarios::suggestion;

use crate::outcome::usage;

/// The drivers of this project, for completion.
pub fn names() -> Vec<String> {
    KNOWN.iter().map(|name| (*name).to_owned()).collect()
}

/// Those that a comparison without names has.
pub fn compared() -> Vec<String> {
    COMPARED.iter().map(|name| (*name).to_owned()).collect()
}

/// The error of a name that no driver has.
pub fn no_driver(name: &str, programs: &Programs) -> anyhow::Error {
    let known = programs.names();
    usage(format!(
        "there is no driver {name:?}: there are {}.{} drivers/PROTOCOL.md says how to add one: as an executable cqldyno-driver-NAME \
         beside cqldyno, or in a folder that {WORKERS_VARIABLE} names",
        known.join(", "),
        suggestion(name, known.iter().map(String::as_str))
    ))
}
