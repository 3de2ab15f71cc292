//! The run folder: `run.json` first, a line of `cells.jsonl` as each cell ends, `hdr/` and `logs/`.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cqldyno_meter::Artifact;
use cqldyno_reports::{Cell, Run};
use serde::Serialize;

/// The folder of all runs whose own folder nobody named.
pub const DEFAULT_PARENT: &str = "cqldyno-runs";

/// The plan and what was found of contenders and machine.
pub(crate) const RUN: &str = "run.json";
/// `run.json` before it has all its lines.
const RUN_IN_PART: &str = "run.json.part";
/// One line per cell.
pub(crate) const CELLS: &str = "cells.jsonl";
const HISTOGRAMS: &str = "hdr";
/// What workers and servers wrote on standard error.
const LOGS: &str = "logs";
/// The lock files of workers that were built on demand.
const LOCKS: &str = "locks";

/// A run folder that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is a run in it.
    #[error(
        "the run was to be kept in {0}, and there is a run in it; name another folder with --out, or go on with that run with \
         --resume {0}"
    )]
    Taken(PathBuf),
    /// There is no run in it, and something else.
    #[error(
        "the run was to be kept in {0}, which has other files in it and no run; name a new or an empty folder with --out"
    )]
    Foreign(PathBuf),
    /// Another process is writing it.
    #[error("the run in {0} is being written by another cqldyno; wait for its end")]
    Busy(PathBuf),
    /// The system refused.
    #[error("the run could not be kept in {0}: {1}; name another folder with --out")]
    Io(PathBuf, io::Error),
}

/// A run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    cells: File,
    /// Whether the folder itself is ours.
    made: bool,
}

impl RunFolder {
    /// Makes the folder `out`, or one below [`DEFAULT_PARENT`] named after the time `started`. What a run left there that broke off
    /// before its first cell is reused.
    ///
    /// # Errors
    /// When there is a run or anything else in it, or it cannot be made.
    pub fn create(out: Option<&Path>, started: jiff::Timestamp) -> Result<RunFolder, FolderError> {
        let path = out.map_or_else(|| default_path(started), Path::to_path_buf);
        let has_cells = fs::metadata(path.join(CELLS)).is_ok_and(|cells| cells.len() > 0);
        if has_cells || path.join(RUN).exists() {
            return Err(FolderError::Taken(path));
        }
        if !has_only_ours(&path) {
            return Err(FolderError::Foreign(path));
        }
        let made = !path.exists();
        for folder in [HISTOGRAMS, LOGS] {
            let folder = path.join(folder);
            fs::create_dir_all(&folder).map_err(|error| FolderError::Io(folder, error))?;
        }
        let folder = RunFolder { made, ..RunFolder::open(path)? };
        sync_folder(&folder.path).map_err(|error| FolderError::Io(folder.path.clone(), error))?;
        Ok(folder)
    }

    /// Opens the folder for more cells. Nobody else writes it meanwhile.
    ///
    /// # Errors
    /// When the system refuses, or another process has it open.
    pub(crate) fn open(path: PathBuf) -> Result<RunFolder, FolderError> {
        let file = path.join(CELLS);
        let cells = OpenOptions::new().create(true).append(true).open(&file);
        let cells = cells.map_err(|error| FolderError::Io(file, error))?;
        // A file system without locks has nobody to tell apart.
        match cells.try_lock() {
            Err(TryLockError::WouldBlock) => Err(FolderError::Busy(path)),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(RunFolder { path, cells, made: false }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the log `name` goes, and the name that results give it.
    pub fn log(&self, name: &str) -> (PathBuf, String) {
        let relative = format!("{LOGS}/{name}.log");
        (self.path.join(&relative), relative)
    }

    /// Writes `run.json`, whole or not at all, and waits until it is on the disk.
    pub fn write_run(&self, run: &Run) -> Result<(), FolderError> {
        let path = self.path.join(RUN);
        let beside = self.path.join(RUN_IN_PART);
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(&to_json(run, true)?)?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            sync_folder(&self.path)
        };
        write().map_err(|error| FolderError::Io(path.clone(), error))
    }

    /// Appends the cell's line and waits until it is on the disk: a crash loses no cell that has ended.
    ///
    /// # Errors
    /// When the system refuses, as a full disk does; the file then is as it was before.
    pub fn append(&self, cell: &Cell) -> Result<(), FolderError> {
        let path = self.path.join(CELLS);
        let written = to_json(cell, false).and_then(|line| append(&self.cells, &line));
        written.map(drop).map_err(|error| FolderError::Io(path, error))
    }

    /// Cuts `cells.jsonl` down to its first `bytes`.
    pub(crate) fn cut(&self, bytes: u64) -> Result<(), FolderError> {
        let cut = self.cells.set_len(bytes).and_then(|()| self.cells.sync_data());
        cut.map_err(|error| FolderError::Io(self.path.join(CELLS), error))
    }

    /// Keeps a meter's file as `KIND/NAME.EXTENSION`. Without a name it is added to `KIND/turns.EXTENSION`, which has all turns. Waits
    /// until it is on the disk, so that the cell's line never lacks it. Returns its name in results.
    pub(crate) fn keep_artifact(&self, name: Option<&str>, artifact: &Artifact) -> Result<String, FolderError> {
        let relative = format!("{}/{}.{}", artifact.kind, name.unwrap_or("turns"), artifact.extension);
        let (folder, path) = (self.path.join(artifact.kind), self.path.join(&relative));
        let keep = || -> io::Result<()> {
            fs::create_dir_all(&folder)?;
            let mut options = OpenOptions::new();
            let file = options.create(true).write(true).append(name.is_none()).truncate(name.is_some()).open(&path)?;
            if append(&file, &artifact.bytes)? == 0 { sync_folder(&folder) } else { Ok(()) }
        };
        keep().map(|()| relative).map_err(|error| FolderError::Io(path.clone(), error))
    }

    /// Keeps a copy of a worker's lock file. Returns its name in results.
    pub(crate) fn keep_lock_file(&self, id: &str, lock_file: &Path) -> Result<String, FolderError> {
        let name = format!("{LOCKS}/{}.lock", file_stem(id));
        let path = self.path.join(&name);
        let keep = || fs::create_dir_all(self.path.join(LOCKS)).and_then(|()| fs::copy(lock_file, &path));
        keep().map(|_| name).map_err(|error| FolderError::Io(path.clone(), error))
    }

    /// Removes a run without a cell. What else is in the folder stays, as does what the system does not remove: why there is no run
    /// matters more, and [`RunFolder::create`] takes such a folder.
    pub(crate) fn discard(&self) {
        for file in [CELLS, RUN] {
            let _ = fs::remove_file(self.path.join(file));
        }
        for folder in [LOGS, LOCKS] {
            let _ = fs::remove_dir_all(self.path.join(folder));
        }
        let _ = fs::remove_dir(self.path.join(HISTOGRAMS));
        if self.made {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Whether only a run or the system put anything into the folder; hidden files do not count, and what cannot be read fails later.
fn has_only_ours(path: &Path) -> bool {
    let ours = [CELLS, RUN_IN_PART, HISTOGRAMS, LOGS, LOCKS];
    let is_passed_over = |name: &str| ours.contains(&name) || name.starts_with('.') || name == "lost+found";
    let is_ours = |entry: io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_passed_over))
    };
    fs::read_dir(path).map_or(true, |mut entries| entries.all(is_ours))
}

/// Appends to the file, whole or not at all, and waits until that is on the disk. Returns how long the file was.
fn append(mut file: &File, bytes: &[u8]) -> io::Result<u64> {
    let before = file.metadata()?.len();
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // A part of a line that stays all the same is dropped when the run goes on.
        let _ = file.set_len(before);
    }
    written.map(|()| before)
}

/// Waits until the folder's entries are on the disk: a file that was renamed is found under its new name afterwards.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn default_path(started: jiff::Timestamp) -> PathBuf {
    // A colon is no part of a file name everywhere.
    let name = jiff::fmt::strtime::format("%Y-%m-%dT%H-%M-%SZ", started).unwrap_or_else(|_| "run".to_owned());
    let parent = Path::new(DEFAULT_PARENT);
    let free = |path: &PathBuf| !path.exists();
    let first = parent.join(&name);
    std::iter::once(first.clone())
        .chain((2..1_000).map(|nth| parent.join(format!("{name}-{nth}"))))
        .find(free)
        .unwrap_or(first)
}

fn to_json<T: Serialize>(value: &T, pretty: bool) -> io::Result<Vec<u8>> {
    let mut bytes = if pretty { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) }?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// `text` as a part of a file name.
pub(crate) fn file_stem(text: &str) -> String {
    let mut stem: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '-' }).collect();
    stem.truncate(100);
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_a_run_in_it_is_not_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a/b");
        let folder = RunFolder::create(Some(&out), jiff::Timestamp::UNIX_EPOCH).unwrap();
        assert!(folder.path().join("hdr").is_dir() && folder.path().join("logs").is_dir());
        fs::write(out.join("run.json"), "{}").unwrap();
        let error = RunFolder::create(Some(&out), jiff::Timestamp::UNIX_EPOCH).unwrap_err().to_string();
        assert!(error.contains("a/b") && error.contains("--out") && error.contains("--resume"), "{error}");
        fs::remove_file(out.join("run.json")).unwrap();
        fs::write(out.join("cells.jsonl"), "{}").unwrap();
        assert!(matches!(RunFolder::create(Some(&out), jiff::Timestamp::UNIX_EPOCH), Err(FolderError::Taken(_))));
    }

    #[test]
    fn a_run_that_is_discarded_leaves_a_folder_that_was_there() {
        let dir = tempfile::tempdir().unwrap();
        for (out, stays) in [(dir.path().join("new"), false), (dir.path().to_path_buf(), true)] {
            let folder = RunFolder::create(Some(&out), jiff::Timestamp::UNIX_EPOCH).unwrap();
            fs::write(folder.log("hello-scylla").0, "x").unwrap();
            fs::write(folder.path().join(RUN), "{}").unwrap();
            assert_eq!(
                folder.keep_lock_file("scylla@0.3.1", &folder.path().join(RUN)).unwrap(),
                "locks/scylla-0.3.1.lock"
            );
            folder.discard();
            assert_eq!(out.exists(), stays);
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_with_other_files_is_not_taken_and_what_a_run_left_that_broke_off_at_its_start_is() {
        let dir = tempfile::tempdir().unwrap();
        let create = || RunFolder::create(Some(dir.path()), jiff::Timestamp::UNIX_EPOCH);
        let folder = create().unwrap();
        fs::write(folder.log("hello-scylla").0, "x").unwrap();
        fs::write(dir.path().join("run.json.part"), "{").unwrap();
        fs::write(dir.path().join(".gitignore"), "*").unwrap();
        drop(folder);
        drop(create().unwrap());
        fs::write(dir.path().join("notes"), "mine").unwrap();
        let error = create().unwrap_err();
        assert!(matches!(error, FolderError::Foreign(_)));
        assert!(error.to_string().contains("which has other files in it and no run; name a new or an empty folder"));
    }

    #[test]
    fn a_file_of_a_cell_is_there_under_its_name_and_an_error_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(Some(dir.path()), jiff::Timestamp::UNIX_EPOCH).unwrap();
        let artifact = Artifact { kind: "hdr", extension: "hlog", bytes: b"HIST".to_vec() };
        assert_eq!(folder.keep_artifact(Some("001-writes"), &artifact).unwrap(), "hdr/001-writes.hlog");
        assert_eq!(fs::read(dir.path().join("hdr/001-writes.hlog")).unwrap(), b"HIST");
        fs::remove_dir_all(dir.path().join("hdr")).unwrap();
        fs::write(dir.path().join("hdr"), "a file").unwrap();
        let error = folder.keep_artifact(Some("002"), &artifact).unwrap_err().to_string();
        assert!(error.contains("hdr/002.hlog"), "{error}");
    }

    #[test]
    fn two_processes_do_not_write_one_run() {
        let dir = tempfile::tempdir().unwrap();
        let first = RunFolder::create(Some(dir.path()), jiff::Timestamp::UNIX_EPOCH).unwrap();
        let error = RunFolder::open(dir.path().to_path_buf()).unwrap_err().to_string();
        assert!(error.contains("is being written by another cqldyno"), "{error}");
        drop(first);
        RunFolder::open(dir.path().to_path_buf()).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_refused_with_the_systems_words() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let error = RunFolder::create(Some(&file.join("run")), jiff::Timestamp::UNIX_EPOCH).unwrap_err().to_string();
        assert!(error.contains("could not be kept in") && error.contains("Not a directory"), "{error}");
    }

    #[test]
    fn a_full_disk_refuses_the_cell_with_its_words() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", dir.path().join("cells.jsonl")).unwrap();
        let folder = RunFolder::create(Some(dir.path()), jiff::Timestamp::UNIX_EPOCH).unwrap();
        let error = folder.append(&Cell::default()).unwrap_err().to_string();
        assert!(error.contains("cells.jsonl") && error.contains("No space left on device"), "{error}");
    }

    #[test]
    fn a_run_without_a_folder_is_named_by_its_start() {
        let path = default_path("2026-01-02T03:04:05Z".parse().unwrap());
        assert_eq!(path, Path::new("cqldyno-runs/2026-01-02T03-04-05Z"));
        assert_eq!(file_stem("cassandra-cpp+lib=/opt/x"), "cassandra-cpp-lib--opt-x");
    }
}
