//! Where the sources of the adapters and of the load generator are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::BuildError;

/// The environment variable that names them.
pub const SOURCES_VARIABLE: &str = "CQLDYNO_SOURCES";
/// The folder beside the executable in which `make build` leaves a copy.
pub const SOURCES_FOLDER: &str = "cqldyno-sources";

/// A checkout of cqldyno, or a copy of the parts that workers are built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources(PathBuf);

impl Sources {
    /// What `CQLDYNO_SOURCES` names, else the copy beside the executable `program`, else the checkout that it was built from.
    ///
    /// # Errors
    /// [`BuildError::NoSources`] if there are none.
    pub fn find(program: &Path) -> Result<Sources, BuildError> {
        let named = env::var_os(SOURCES_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let places = match named {
            Some(folder) => vec![folder],
            None => {
                let beside = program.parent().map(|folder| folder.join(SOURCES_FOLDER));
                beside.into_iter().chain([Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")]).collect()
            }
        };
        Sources::first(&places)
    }

    fn first(places: &[PathBuf]) -> Result<Sources, BuildError> {
        let found = places.iter().find_map(|folder| Sources::at(folder));
        found.ok_or_else(|| {
            let places: Vec<String> = places.iter().map(|folder| folder.display().to_string()).collect();
            BuildError::NoSources(places.join(" and "))
        })
    }

    /// Those in `folder`, if they are there.
    pub fn at(folder: &Path) -> Option<Sources> {
        let has = |file: &str| folder.join(file).is_file();
        let is_whole = has("Cargo.toml") && has("Cargo.lock") && has("harness/worker/Cargo.toml");
        folder.canonicalize().ok().filter(|_| is_whole).map(Sources)
    }

    /// Their folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The names of drivers that have a folder of their own.
    pub(crate) fn drivers(&self) -> Vec<String> {
        let folders = fs::read_dir(self.0.join("drivers")).into_iter().flatten().flatten();
        let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Sources of which the folders below `drivers` have these manifests.
    pub(crate) fn sources_of(manifests: &[(&str, &str)]) -> (tempfile::TempDir, Sources) {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("Cargo.toml", include_str!("../../../Cargo.toml"));
        write("Cargo.lock", "version = 4\n");
        write("harness/worker/Cargo.toml", "[package]\nname = \"cqldyno-worker\"\n");
        write("harness/worker/src/lib.rs", "");
        for (folder, manifest) in manifests {
            write(&format!("drivers/{folder}/Cargo.toml"), manifest);
            write(&format!("drivers/{folder}/src/main.rs"), "//! A worker.\n\nfn main() {}\n");
            write(&format!("drivers/{folder}/src/lib.rs"), "");
        }
        let sources = Sources::at(dir.path()).unwrap();
        (dir, sources)
    }

    #[test]
    fn the_checkout_that_the_program_was_built_from_is_found_and_a_folder_without_sources_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let found = Sources::first(&[dir.path().to_path_buf(), here.clone()]).unwrap();
        assert_eq!(found.folder(), here.canonicalize().unwrap());
        assert!(found.drivers().contains(&"scylla".to_owned()));
        let error = Sources::first(&[dir.path().to_path_buf()]).unwrap_err().to_string();
        assert!(error.contains(&dir.path().display().to_string()), "{error}");
        assert!(error.ends_with("build cqldyno with `make build`, or name its checkout in CQLDYNO_SOURCES"), "{error}");
    }
}
