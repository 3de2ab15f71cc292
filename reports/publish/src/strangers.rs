//! What lies in the folder of a published run and does not belong there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cqldyno_reports::PACKED_CELLS;

use crate::store::{CELLS, FILES, PAGE, RUN, TABLE, folders, name_of};

/// Files and folders that no published run has, and what nothing names in its archive of `packed` files.
pub(crate) fn strangers<'a>(
    folder: &Path,
    named: &BTreeSet<String>,
    packed: impl Iterator<Item = &'a String>,
    shown: &str,
    found: &mut Vec<String>,
) {
    let lying = files_in(folder)
        .into_iter()
        .filter(|name| ![RUN, CELLS, PACKED_CELLS, FILES, PAGE, TABLE].contains(&name.as_str()));
    found.extend(lying.map(|name| stranger(shown, &name)));
    let below = folders(folder).unwrap_or_default();
    found.extend(
        below
            .iter()
            .map(|inner| format!("{shown}/{}/: it is no folder of a published run; remove it.", name_of(inner))),
    );
    // A run of schema version 1 does not name its histograms.
    let unnamed = packed.filter(|name| match named.is_empty() {
        true => !name.starts_with("hdr/"),
        false => !named.contains(*name),
    });
    found.extend(unnamed.map(|name| format!("{shown}/{FILES}: nothing names its {name}; publish the run again.")));
}

pub(crate) fn stranger(shown: &str, name: &str) -> String {
    format!("{shown}/{name}: it is no file of a published run; remove it.")
}

pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<String> = entries.filter(|path| !path.is_dir()).map(|path| name_of(&path)).collect();
    names.sort();
    names
}
