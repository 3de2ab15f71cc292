//! Libraries of ours that the dynamic loader loads into the worker. They lie beside `cqldyno` or beside its workers.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The environment variable with further folders to look in (that of the workers).
const FOLDERS_VARIABLE: &str = "CQLDYNO_WORKERS";
/// The environment variable with libraries that the dynamic loader loads first (ld.so(8)).
const PRELOAD_VARIABLE: &str = "LD_PRELOAD";

/// Where the library with this file name lies.
///
/// # Errors
/// Where it was not found, as the end of a sentence.
pub(crate) fn library(file: &str) -> Result<PathBuf, String> {
    in_folders(file, &folders())
}

fn folders() -> Vec<PathBuf> {
    let named = env::var_os(FOLDERS_VARIABLE).unwrap_or_default();
    let named = env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
    let own = env::current_exe().ok().and_then(|path| path.parent().map(Path::to_path_buf));
    named.chain(own).collect()
}

fn in_folders(file: &str, folders: &[PathBuf]) -> Result<PathBuf, String> {
    let found = folders.iter().map(|folder| folder.join(file)).find(|path| path.is_file());
    // The dynamic loader takes an absolute path as it is, and looks for any other in its own folders.
    found.map(|path| path.canonicalize().unwrap_or(path)).ok_or_else(|| {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("there is no {file} in {}", folders.join(", "))
    })
}

/// The variable that makes the dynamic loader load `library` first, then what this process' environment names.
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
        let error = in_folders("libx.so", &folders).unwrap_err();
        assert!(error.starts_with("there is no libx.so in ") && error.contains(", "), "{error}");
        std::fs::write(second.path().join("libx.so"), "").unwrap();
        assert_eq!(in_folders("libx.so", &folders), Ok(second.path().canonicalize().unwrap().join("libx.so")));
    }

    #[test]
    fn what_was_preloaded_before_comes_after() {
        assert_eq!(before(Path::new("/a.so"), None), "/a.so");
        assert_eq!(before(Path::new("/a.so"), Some("".into())), "/a.so");
        assert_eq!(before(Path::new("/a.so"), Some("/b.so".into())), "/a.so:/b.so");
    }
}
