//! What builds left in the cache, to be listed and removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileTimes, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::Value;

use crate::lockfile::packages;
use crate::sources::SOURCES_FOLDER;

/// In a worker's folder: what it was built from.
pub(crate) const BUILT: &str = "built.json";
/// In a worker's folder: the name of the package's folder that it was built in.
pub(crate) const PACKAGE: &str = "package";

/// Something that a build or a download left.
#[derive(Clone, Debug)]
pub struct Cached {
    /// A worker as a contender is written, or what else it is, with `@` and its release if it has one.
    pub name: String,
    /// The size of its files.
    pub bytes: u64,
    /// When it was last used; a file system may be a day behind. `None` if it has no files.
    pub used: Option<SystemTime>,
    paths: Vec<PathBuf>,
}

impl Cached {
    fn new(name: &str, paths: Vec<PathBuf>) -> Option<Cached> {
        let mut files = Vec::new();
        paths.iter().for_each(|path| collect(path, &mut files));
        // cargo links one file under several names.
        let bytes: BTreeMap<(u64, u64), u64> =
            files.iter().map(|(_, file)| ((file.dev(), file.ino()), file.len())).collect();
        // A look for any worker reads what all were built from.
        let own = files.iter().filter(|(path, _)| !path.ends_with(BUILT));
        let used = own.flat_map(|(_, file)| [file.accessed().ok(), file.modified().ok()]).flatten().max();
        let is_there = !paths.is_empty();
        is_there.then(|| Cached { name: name.to_owned(), bytes: bytes.values().sum(), used, paths })
    }

    /// Whether `asked` is its name, or that without its release.
    pub fn is(&self, asked: &str) -> bool {
        asked == self.name || self.name.split(['@', '+']).next() == Some(asked)
    }

    /// Removes it.
    ///
    /// # Errors
    /// When some of it cannot be removed.
    pub fn remove(&self) -> io::Result<()> {
        self.paths.iter().try_for_each(|path| match path.is_dir() && !path.is_symlink() {
            true => fs::remove_dir_all(path),
            false if path.symlink_metadata().is_ok() => fs::remove_file(path),
            false => Ok(()),
        })
    }
}

/// Everything that builds and downloads left in `cache`: workers by name, then what they were built from and with.
pub fn cached(cache: &Path) -> Vec<Cached> {
    let mut workers: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    let (mut known, mut leftovers) = (BTreeSet::new(), Vec::new());
    for folder in entries(&cache.join("workers")) {
        match name(&folder) {
            Some(name) => {
                let own = || folder.file_name().map(|key| key.to_string_lossy().into_owned());
                let package = fs::read_to_string(folder.join(PACKAGE)).ok().or_else(own).unwrap_or_default();
                let package = cache.join("packages").join(package);
                let all = workers.entry(name).or_default();
                all.extend(package.is_dir().then(|| package.clone()).filter(|package| known.insert(package.clone())));
                all.push(folder);
            }
            None => leftovers.push(folder),
        }
    }
    leftovers.extend(entries(&cache.join("packages")).into_iter().filter(|package| !known.contains(package)));
    leftovers.extend(entries(&cache.join("logs")));
    let of = |name: &str, folder: &str| {
        let releases = entries(&cache.join(folder)).into_iter().filter(|path| path.is_dir());
        let release = |path: &PathBuf| path.file_name().map(|release| release.to_string_lossy().into_owned());
        let named = releases.filter_map(|path| Some((format!("{name}@{}", release(&path)?), vec![path])));
        // Those of a cluster that is kept have an owner of their own.
        named.filter(|(name, _)| !name.contains("@kept")).collect::<Vec<_>>()
    };
    let checkouts = ["git", "range"].iter().flat_map(|folder| entries(&cache.join(folder))).collect();
    let mut compiled = entries(&cache.join("target"));
    compiled.retain(|path| !path.ends_with(LIBRARY));
    let others = [("checkouts", checkouts), ("compiled", compiled), ("leftovers", leftovers)];
    let others = others.map(|(name, paths)| (name.to_owned(), paths));
    let all = workers.into_iter().chain(of("cassandra", "cassandra")).chain(of(LIBRARY, "target/libcassandra"));
    let all = all.chain(others).chain(of(SOURCES_FOLDER, SOURCES_FOLDER));
    all.filter_map(|(name, paths)| Cached::new(&name, paths)).collect()
}

/// The library that cassandra-cpp links, which its build may have fetched.
const LIBRARY: &str = "libcassandra";

/// What a process that builds or fetches in `cache`, or runs a worker from it, has locked, if there is one.
pub fn busy(cache: &Path) -> Option<PathBuf> {
    let folders = ["packages", "git"].iter().flat_map(|folder| entries(&cache.join(folder)));
    let own = ["target", "range", "cassandra"].map(|folder| cache.join(folder));
    let workers = entries(&cache.join("workers")).into_iter().flat_map(|folder| entries(&folder));
    let locks = folders.chain(own).map(|folder| folder.join("lock")).chain(workers);
    let is_held =
        |lock: &PathBuf| File::open(lock).is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)));
    locks.into_iter().find(is_held)
}

/// Workers that this process uses, each with a shared lock as long as it lives.
static USED: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Notes that a worker is used from now on.
pub(crate) fn mark_used(worker: &Path) {
    let Ok(worker) = File::open(worker) else { return };
    // Not every file system notes it. One that cannot be marked is only listed as older.
    let _ = worker.set_times(FileTimes::new().set_accessed(SystemTime::now()));
    let _ = worker.try_lock_shared();
    USED.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
}

/// The worker in `folder` as a contender is written, with the release of its lock file if none was asked for.
fn name(folder: &Path) -> Option<String> {
    let built: Value = serde_json::from_str(&fs::read_to_string(folder.join(BUILT)).ok()?).ok()?;
    let order = built.get("order")?.as_str()?;
    let (driver, keys) = order.split_at(order.find(['@', '+']).unwrap_or(order.len()));
    let lock = fs::read_to_string(folder.join("Cargo.lock")).unwrap_or_default();
    let release = packages(&lock).into_iter().find(|package| package.name == driver);
    Some(match release.filter(|_| !keys.starts_with('@')) {
        Some(release) => format!("{driver}@{}{keys}", release.version),
        None => order.to_owned(),
    })
}

/// What is in a folder, in order; nothing if it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// The files at or below `path`, without following links.
fn collect(path: &Path, files: &mut Vec<(PathBuf, Metadata)>) {
    let Ok(found) = path.symlink_metadata() else { return };
    match found.is_dir() {
        true => entries(path).iter().for_each(|entry| collect(entry, files)),
        false => files.push((path.to_path_buf(), found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(cache: &Path, file: &str, text: &str) {
        let path = cache.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn all_that_builds_left_is_listed_and_what_is_removed_leaves_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path();
        assert!(cached(&cache.join("none")).is_empty());
        for (key, order) in [("1", "a@1.2.3"), ("2", "a@1.2.3"), ("3", "a+lto=fat"), ("4", "floor")] {
            put(cache, &format!("workers/{key}/built.json"), &format!("{{\"order\":\"{order}\"}}"));
            put(cache, &format!("workers/{key}/cqldyno-driver"), "it");
            put(cache, &format!("workers/{key}/package"), &format!("of-{key}"));
            put(cache, &format!("packages/of-{key}/Cargo.toml"), "");
        }
        put(cache, "workers/3/Cargo.lock", "[[package]]\nname = \"a\"\nversion = \"1.9.0\"\n");
        put(cache, "workers/5.part/cqldyno-driver", "");
        put(cache, "packages/of-6/Cargo.toml", "");
        put(cache, "logs/build-floor.log", "");
        put(cache, "cassandra/5.0.9/SHA256SUMS", "");
        put(cache, "cassandra/kept/state.json", "");
        put(cache, "target/release/x", &"x".repeat(10_000));
        fs::hard_link(cache.join("target/release/x"), cache.join("target/release/y")).unwrap();
        put(cache, "target/libcassandra/scylla-2.16.2/libcassandra.so", "");
        put(cache, "git/0123/HEAD", "");
        put(cache, "sources/0123/Cargo.toml", "");
        put(cache, "runs/1/run.json", "");
        let names = || cached(cache).into_iter().map(|one| one.name).collect::<Vec<_>>();
        let others =
            ["cassandra@5.0.9", "libcassandra@scylla-2.16.2", "checkouts", "compiled", "leftovers", "sources@0123"];
        assert_eq!(names(), [&["a@1.2.3", "a@1.9.0+lto=fat", "floor"][..], &others].concat());
        let all = cached(cache);
        let find = |name: &str| all.iter().find(|one| one.name == name).unwrap();
        assert!((10_000..20_000).contains(&find("compiled").bytes), "{:?}", find("compiled"));
        assert!(all.iter().all(|one| one.used.is_some()));
        assert!(find("a@1.2.3").is("a") && find("a@1.2.3").is("a@1.2.3") && !find("floor").is("a"));

        all.iter().filter(|one| one.is("a")).for_each(|one| one.remove().unwrap());
        assert_eq!(names(), [&["floor"][..], &others].concat());
        assert!(!cache.join("packages/of-1").exists() && cache.join("packages/of-4").exists());
        find("compiled").remove().unwrap();
        assert!(names().contains(&"libcassandra@scylla-2.16.2".to_owned()));
        cached(cache).iter().for_each(|one| one.remove().unwrap());
        assert!(names().is_empty(), "{:?}", names());
        assert!(cache.join("runs/1/run.json").exists() && cache.join("cassandra/kept/state.json").exists());
    }

    #[test]
    fn a_build_that_goes_on_and_a_worker_that_runs_are_noticed_by_their_locks() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "packages/x/lock", "");
        assert_eq!(busy(dir.path()), None);
        let lock = dir.path().join("packages/x/lock");
        let held = File::open(&lock).unwrap();
        held.try_lock().unwrap();
        assert_eq!(busy(dir.path()), Some(lock));
        drop(held);
        put(dir.path(), "workers/1/cqldyno-driver-floor", "");
        assert_eq!(busy(dir.path()), None);
        let worker = dir.path().join("workers/1/cqldyno-driver-floor");
        mark_used(&worker);
        assert_eq!(busy(dir.path()), Some(worker));
    }
}
