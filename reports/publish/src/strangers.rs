//! What lies in the folder of a published run and is none of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::store::{CELLS, PAGE, RUN, TABLE, folders, name_of};

/// Files of which nobody knows what they are, and folders that hold none that a cell names.
pub(crate) fn strangers(folder: &Path, named: &BTreeSet<&str>, shown: &str, found: &mut Vec<String>) {
    for name in files_in(folder) {
        if ![RUN, CELLS, PAGE, TABLE].contains(&name.as_str()) && !named.contains(name.as_str()) {
            found.push(stranger(shown, &name));
        }
    }
    // A run of schema version 1 does not name its histograms.
    let hdr = named.is_empty().then(|| "hdr".to_owned());
    let known: BTreeSet<String> = named.iter().flat_map(|file| folders_above(file)).chain(hdr).collect();
    let mut below: Vec<String> = folder_names(folder, "");
    while let Some(inner) = below.pop() {
        if !known.contains(&inner) {
            found.push(format!("{shown}/{inner}/: it is no folder of a published run; remove it."));
            continue;
        }
        for name in files_in(&folder.join(&inner)).into_iter().map(|name| format!("{inner}/{name}")) {
            if !named.is_empty() && !named.contains(name.as_str()) {
                found.push(stranger(shown, &name));
            }
        }
        below.extend(folder_names(folder, &inner));
    }
}

pub(crate) fn stranger(shown: &str, name: &str) -> String {
    format!("{shown}/{name}: it is no file of a published run; remove it.")
}

/// The folders that a file lies in: `a` and `a/b` of `a/b/c`.
fn folders_above(file: &str) -> Vec<String> {
    file.match_indices('/').map(|(at, _)| file[..at].to_owned()).collect()
}

pub(crate) fn files_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut names: Vec<String> = entries.filter(|path| !path.is_dir()).map(|path| name_of(&path)).collect();
    names.sort();
    names
}

/// The folders in `inner` of `folder`, as they are called from there.
fn folder_names(folder: &Path, inner: &str) -> Vec<String> {
    let found = folders(&folder.join(inner)).unwrap_or_default();
    let called = |path: &PathBuf| match inner {
        "" => name_of(path),
        inner => format!("{inner}/{}", name_of(path)),
    };
    found.iter().map(called).collect()
}
