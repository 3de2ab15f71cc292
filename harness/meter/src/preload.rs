//! Libraries of ours that are loaded into the worker's process: they lie beside `cqldyno`, or where its workers do.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable with further folders to look in (that of the workers).
const FOLDERS_VARIABLE: &str = "CQLDYNO_WORKERS";
/// The environment variable with libraries that the dynamic loader loads first (ld.so(8)).
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// There is no such library: where was looked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {file} in {folders}")]
pub struct NoLibrary {
    /// The library's file name.
    file: String,
    /// The folders.
    folders: String,
}

/// Where the library with this file name lies.
pub(crate) fn library(file: &str) -> Result<PathBuf, NoLibrary> {
    in_folders(file, &folders())
}

fn folders() -> Vec<PathBuf> {
    let named = env::var_os(FOLDERS_VARIABLE).unwrap_or_default();
    let named = env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
    let own = env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    named.chain(own).collect()
}

fn in_folders(file: &str, folders: &[PathBuf]) -> Result<PathBuf, NoLibrary> {
    let found = folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
    // The dynamic loader takes a path that begins with a slash as it is, and looks for any other in its own folders.
    found.map(|path| path.canonicalize().unwrap_or(path)).ok_or_else(|| {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        NoLibrary { file: file.to_owned(), folders: folders.join(", ") }
    })
}

/// The variable that has the dynamic loader load `library` first, and behind it what this process' own environment names.
pub(crate) fn variable(library: &Path) -> (OsString, OsString) {
    (PRELOAD_VARIABLE.into(), before(library, env::var_os(PRELOAD_VARIABLE)))
}

fn before(library: &Path, inherited: Option<OsString>) -> OsString {
    let mut value = library.as_os_str().to_owned();
    if let Some(inherited) = inherited.filter(|libraries| !libraries.is_empty()) {
        value.push(":");
        value.push(inherited);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_found_in_the_first_folder_that_has_it_or_the_folders_are_named() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = [first.path().to_path_buf(), second.path().to_path_buf()];
        let error = in_folders("libx.so", &folders).unwrap_err().to_string();
        assert!(error.starts_with("there is no libx.so in ") && error.contains(", "), "{error}");
        std::fs::write(second.path().join("libx.so"), "").unwrap();
        assert_eq!(in_folders("libx.so", &folders), Ok(second.path().canonicalize().unwrap().join("libx.so")));
    }

    #[test]
    fn what_was_preloaded_before_stays_behind() {
        assert_eq!(before(Path::new("/a.so"), None), "/a.so");
        assert_eq!(before(Path::new("/a.so"), Some("".into())), "/a.so");
        assert_eq!(before(Path::new("/a.so"), Some("/b.so".into())), "/a.so:/b.so");
    }
}
