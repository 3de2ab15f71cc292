//! Where the sources of the adapters and of the load generator are.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use flate2::read::GzDecoder;
use sha2::{Digest, Sha256};

use crate::cached::entries;
use crate::error::BuildError;
use crate::key::hexadecimal;

/// The environment variable that names them.
pub const SOURCES_VARIABLE: &str = "CQLDYNO_SOURCES";
/// Where the cache has those that came with a program.
pub(crate) const SOURCES_FOLDER: &str = "sources";
/// Those that came with this program: `build.rs` packed them.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.tar.gz"));

/// A checkout of cqldyno, or a copy of the parts that workers are built from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources(PathBuf);

impl Sources {
    /// What `CQLDYNO_SOURCES` names, else those that came with this program, unpacked in `cache`.
    ///
    /// # Errors
    /// [`BuildError::NoSources`] if there are none, or when the cache cannot be written.
    pub fn find(cache: &Path) -> Result<Sources, BuildError> {
        match env::var_os(SOURCES_VARIABLE).filter(|folder| !folder.is_empty()).map(PathBuf::from) {
            Some(folder) => Sources::at(&folder).ok_or(BuildError::NoSources(folder)),
            None => Sources::unpacked(cache).map_err(|error| BuildError::Cache(cache.to_path_buf(), error)),
        }
    }

    /// Those that came with this program: another program of other sources has another folder.
    fn unpacked(cache: &Path) -> io::Result<Sources> {
        let folder = cache.join(SOURCES_FOLDER).join(&hexadecimal(&Sha256::digest(PACKED))[..16]);
        if let Some(found) = Sources::at(&folder) {
            return Ok(found);
        }
        // Whole when it has its name, whoever else unpacks it now.
        let part = folder.with_extension(process::id().to_string());
        let unpacked = tar::Archive::new(GzDecoder::new(PACKED)).unpack(&part);
        let renamed = unpacked.and_then(|()| fs::rename(&part, &folder));
        let _ = fs::remove_dir_all(&part);
        Sources::at(&folder).ok_or_else(|| renamed.err().unwrap_or_else(|| io::ErrorKind::NotFound.into()))
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
    pub fn drivers(&self) -> Vec<String> {
        let folders = entries(&self.0.join("drivers")).into_iter();
        folders.filter_map(|folder| folder.file_name()?.to_str().map(str::to_owned)).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::family::Family;

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
    fn a_program_brings_all_that_its_workers_are_built_from_and_unpacks_it_once() {
        let dir = tempfile::tempdir().unwrap();
        let checkout = Sources::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap();
        let found = Sources::unpacked(dir.path()).unwrap();
        assert_eq!(found, Sources::unpacked(dir.path()).unwrap());
        assert_eq!(fs::read_dir(dir.path().join(SOURCES_FOLDER)).unwrap().count(), 1);
        let mut compared = 0;
        // The behaviour suite is in no worker.
        for driver in checkout.drivers().into_iter().filter(|name| name != "tests") {
            let all = |sources| Family::all(sources, &driver).unwrap_or_default();
            let (ours, theirs) = (all(&checkout), all(&found));
            assert_eq!(ours.len(), theirs.len(), "{driver}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                // Manifests of all crates that it depends on are read for this.
                crate::key::sources(&found, theirs).unwrap();
                assert_eq!(ours.versions, theirs.versions);
                compared += 1;
            }
        }
        assert!(compared >= 10, "{compared}");
        for name in ["cpp", "gocql", "java", "nodejs", "python", "cassandra-cpp"] {
            let native = found.folder().join("drivers").join(name).join("native");
            assert!(native.metadata().unwrap().permissions().mode() & 0o111 != 0, "{name} can be started");
        }
    }

    #[test]
    fn a_folder_without_sources_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Sources::at(dir.path()), None);
        let error = BuildError::NoSources("/x".into()).to_string();
        assert_eq!(
            error,
            "CQLDYNO_SOURCES names /x, where there are no sources of cqldyno's adapters; name a checkout of cqldyno, or unset it"
        );
    }
}
