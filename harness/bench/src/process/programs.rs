//! Where the executables are: `cqldyno` itself and the workers, as with git's and cargo's subcommands.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::plan::contender::KNOWN;

/// The beginning of a worker's file name; the driver's name follows.
pub const WORKER_PREFIX: &str = "cqldyno-driver-";

/// The driver of ours that makes tables, loads rows and reads them back.
pub(crate) const FLOOR: &str = "floor";
/// The driver of ours that sends nothing.
pub(crate) const NOOP: &str = "noop";

/// The environment variable with folders of workers that come before the executable's own, separated by `:`.
pub const WORKERS_VARIABLE: &str = "CQLDYNO_WORKERS";

/// The executables of this installation.
#[derive(Clone, Debug)]
pub struct Programs {
    /// `cqldyno`: gate and embedded cluster.
    pub cqldyno: PathBuf,
    /// Folders with workers, the first one that has a worker gives it.
    pub worker_folders: Vec<PathBuf>,
}

/// A driver without a worker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("There is no worker for {name}: no executable {WORKER_PREFIX}{name} in {folders}; {advice}.")]
pub struct NoWorker {
    /// The driver.
    pub name: String,
    /// Where was looked.
    pub folders: String,
    /// What to do.
    pub advice: String,
    /// Whether a build was tried before and left its reason; another driver's worker is built when it is first asked for.
    pub has_failed: bool,
}

impl Programs {
    /// This executable, the folders of `CQLDYNO_WORKERS`, and then the executable's own folder.
    ///
    /// # Errors
    /// When the system does not say where this executable is.
    pub fn find() -> io::Result<Programs> {
        let cqldyno = env::current_exe()?;
        let named = env::var_os(WORKERS_VARIABLE).unwrap_or_default();
        let named = env::split_paths(&named).filter(|folder| !folder.as_os_str().is_empty());
        let worker_folders = named.chain(cqldyno.parent().map(Path::to_path_buf)).collect();
        Ok(Programs { cqldyno, worker_folders })
    }

    /// The worker of the driver `name`.
    ///
    /// # Errors
    /// When there is none; the message says where was looked and what to do. A file `cqldyno-driver-NAME.reason` beside
    /// the executables, which the build leaves where a worker could not be built, is quoted.
    pub fn worker(&self, name: &str) -> Result<PathBuf, NoWorker> {
        let file = format!("{WORKER_PREFIX}{name}");
        if let Some(path) = self.file(&file) {
            return Ok(path);
        }
        let reason = self
            .worker_folders
            .iter()
            .find_map(|folder| fs::read_to_string(folder.join(format!("{file}.reason"))).ok())
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|reason| !reason.is_empty());
        let has_failed = reason.is_some();
        let advice = match reason {
            Some(reason) => format!("it was not built: {}", reason.trim_end_matches('.')),
            None if KNOWN.contains(&name) => format!("`cqldyno compare {name}` builds it"),
            None => format!(
                "there are {}; put another driver's worker beside cqldyno, or in a folder named in {WORKERS_VARIABLE}",
                self.names().join(", ")
            ),
        };
        let folders: Vec<String> = self.worker_folders.iter().map(|folder| folder.display().to_string()).collect();
        Err(NoWorker { name: name.to_owned(), folders: folders.join(", "), advice, has_failed })
    }

    /// The worker with a release of the driver `name` that lies beside the one with the driver's own: `cqldyno-driver-NAME-RELEASE`.
    pub(crate) fn release(&self, name: &str, release: &semver::Version) -> Option<PathBuf> {
        self.file(&format!("{WORKER_PREFIX}{name}-{release}"))
    }

    /// The releases of the driver `name` that have a worker of their own, as contenders are written.
    pub fn releases(&self, name: &str) -> Vec<String> {
        let beginning = format!("{WORKER_PREFIX}{name}-");
        let release = |file: String| file.strip_prefix(&beginning)?.parse::<semver::Version>().ok();
        let releases: BTreeSet<_> = self.files().filter_map(release).collect();
        releases.into_iter().map(|release| format!("{name}@{release}")).collect()
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.worker_folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file())
    }

    /// The names of all drivers that have a worker here or should have one: the known ones first, then others by name.
    pub fn names(&self) -> Vec<String> {
        let names = self.files().filter_map(|file| file.strip_prefix(WORKER_PREFIX).map(str::to_owned));
        // Build systems leave files such as `cqldyno-driver-scylla.d` beside the executable.
        let others: BTreeSet<String> =
            names.filter(|name| !name.contains('.') && !KNOWN.contains(&name.as_str())).collect();
        KNOWN.iter().map(|name| (*name).to_owned()).chain(others).collect()
    }

    fn files(&self) -> impl Iterator<Item = String> {
        let entries = self.worker_folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> (tempfile::TempDir, Programs) {
        let dir = tempfile::tempdir().unwrap();
        let programs = Programs { cqldyno: dir.path().join("cqldyno"), worker_folders: vec![dir.path().to_path_buf()] };
        (dir, programs)
    }

    #[test]
    fn every_driver_of_the_list_has_a_folder_with_its_package() {
        let drivers = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers");
        for name in KNOWN.iter() {
            let manifest = |file| fs::read_to_string(drivers.join(name).join(file)).unwrap_or_default();
            let package = manifest("Cargo.toml").contains(&format!("name = \"{WORKER_PREFIX}{name}\""));
            let is_native = manifest("releases.toml").contains("[[family]]") && !manifest("native").is_empty();
            assert!(package || is_native, "{name}");
        }
    }

    #[test]
    fn a_release_has_a_worker_of_its_own_and_is_no_driver() {
        let (dir, programs) = programs();
        for file in ["cqldyno-driver-gocql-1.7.0", "cqldyno-driver-gocql-1.7.0.reason", "cqldyno-driver-gocql-next"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        assert_eq!(
            programs.release("gocql", &"1.7.0".parse().unwrap()),
            Some(dir.path().join("cqldyno-driver-gocql-1.7.0"))
        );
        assert_eq!(programs.release("gocql", &"1.6.0".parse().unwrap()), None);
        assert_eq!(programs.releases("gocql"), ["gocql@1.7.0"]);
        assert_eq!(programs.names(), [&KNOWN[..], &["gocql-next"]].concat());
    }

    #[test]
    fn a_worker_is_an_executable_by_its_name_and_others_than_the_known_are_listed() {
        let (dir, programs) = programs();
        for file in ["cqldyno-driver-scylla", "cqldyno-driver-mine", "cqldyno-driver-mine.d", "cqldyno"] {
            fs::write(dir.path().join(file), "").unwrap();
        }
        assert_eq!(programs.worker("scylla"), Ok(dir.path().join("cqldyno-driver-scylla")));
        assert_eq!(programs.names(), [&KNOWN[..], &["mine"]].concat());
    }

    #[test]
    fn a_missing_worker_says_where_was_looked_and_what_to_do() {
        let (dir, programs) = programs();
        let missing = programs.worker("cassandra-cpp").unwrap_err();
        let error = missing.to_string();
        assert!(error.contains(&dir.path().display().to_string()), "{error}");
        assert!(error.ends_with("; `cqldyno compare cassandra-cpp` builds it.") && !missing.has_failed, "{error}");
        fs::write(dir.path().join("cqldyno-driver-cassandra-cpp.reason"), "libcassandra was not\nfound.\n").unwrap();
        let missing = programs.worker("cassandra-cpp").unwrap_err();
        let error = missing.to_string();
        assert!(error.ends_with("it was not built: libcassandra was not found.") && missing.has_failed, "{error}");
        let error = programs.worker("nothing").unwrap_err().to_string();
        assert!(error.contains("there are scylla, cdrs-tokio"), "{error}");
    }
}
