//! What a worker was compiled from, as cargo lists it, and whether all of it is as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::checkout::state;

/// What is noted of a file that changed during the build: no file is ever like this.
const CHANGED_MEANWHILE: &str = "?";

/// Files, folders and links, each with its [`state`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inputs(BTreeMap<PathBuf, String>);

impl Inputs {
    /// The paths as they are after a build that began `since`.
    pub(crate) fn after(paths: BTreeSet<PathBuf>, since: SystemTime) -> Inputs {
        let note = |path: PathBuf| {
            // Not the time of its contents: a file that takes another's place keeps its own.
            let has_changed = fs::symlink_metadata(&path).is_ok_and(|found| placed(&found) >= since);
            let state = if has_changed { CHANGED_MEANWHILE.to_owned() } else { now(&path) };
            (path, state)
        };
        Inputs(paths.into_iter().map(note).collect())
    }

    /// Those that were noted in `file`, if there are any.
    pub(crate) fn read(file: &Path) -> Option<Inputs> {
        let text = fs::read_to_string(file).ok()?;
        let line = |line: &str| line.split_once(' ').map(|(state, path)| (PathBuf::from(path), state.to_owned()));
        Some(Inputs(text.lines().filter_map(line).collect()))
    }

    pub(crate) fn now(&self) -> Inputs {
        Inputs(self.0.keys().map(|path| (path.clone(), now(path))).collect())
    }

    /// A line for each, with the state first.
    pub(crate) fn text(&self) -> String {
        self.0.iter().map(|(path, state)| format!("{state} {}\n", path.display())).collect()
    }

    /// Whether one that was noted in `file` changed and cargo cannot know it. cargo goes by times, and a file that takes another's place
    /// may be older; it looks at no link.
    pub(crate) fn changed_unseen(file: &Path) -> bool {
        let (Some(noted), Some(then)) = (Inputs::read(file), modified(file)) else { return true };
        let is_unseen = |path: &Path| path.is_symlink() || modified(path).is_some_and(|time| time <= then);
        noted.0.iter().any(|(path, state)| *state != now(path) && is_unseen(path))
    }
}

fn now(path: &Path) -> String {
    state(path).unwrap_or_else(|_| "-".to_owned())
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::symlink_metadata(path).and_then(|found| found.modified()).ok()
}

/// When it became what it is, where it is.
fn placed(found: &Metadata) -> SystemTime {
    let seconds = u64::try_from(found.ctime()).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(found.ctime_nsec().unsigned_abs())
}

/// The files that cargo's dep-info names, with the manifests above them; none below the folders `without`.
pub(crate) fn listed(dep_info: &str, without: &[&Path]) -> BTreeSet<PathBuf> {
    let files = dep_info.split_once(": ").map_or("", |(_, files)| files);
    // A space in a path has a backslash before it.
    let files = files.trim_end().replace("\\ ", "\0");
    let files = files.split(' ').filter(|file| !file.is_empty()).map(|file| PathBuf::from(file.replace('\0', " ")));
    let files: BTreeSet<PathBuf> =
        files.filter(|file| !without.iter().any(|folder| file.starts_with(folder))).collect();
    let folders: BTreeSet<&Path> = files.iter().flat_map(|file| file.ancestors().skip(1)).collect();
    let manifests = folders.into_iter().map(|folder| folder.join("Cargo.toml")).filter(|manifest| manifest.is_file());
    let manifests: Vec<PathBuf> = manifests.collect();
    files.into_iter().chain(manifests).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn dep_info_is_read_with_spaces_and_manifests_and_without_what_a_build_writes() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Cargo.toml"), "").unwrap();
        let [file, generated] = ["src/a b.rs", "target/out/c.rs"].map(|file| dir.path().join(file));
        let dep_info = format!("/x: {} {}\n", file.display().to_string().replace(' ', "\\ "), generated.display());
        let target = dir.path().join("target");
        let all: Vec<PathBuf> = listed(&dep_info, &[&target]).into_iter().collect();
        assert_eq!(all, [dir.path().join("Cargo.toml"), file]);
        assert!(listed("", &[]).is_empty());
    }

    #[test]
    fn what_changed_is_noticed_and_what_cargo_cannot_see_is_told_from_what_it_sees() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let (file, link, noted) = (path("file"), path("link"), path("noted"));
        fs::write(&file, "a").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        let at = |path: &Path, seconds: u64| {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
        };
        let note = || {
            let paths = BTreeSet::from([file.clone(), link.clone(), path("none")]);
            fs::write(&noted, Inputs::after(paths, SystemTime::now() + Duration::from_secs(9)).text()).unwrap();
            at(&noted, 1_000);
            Inputs::read(&noted).unwrap()
        };
        let before = note();
        assert!(before == before.now() && !Inputs::changed_unseen(&noted));
        fs::write(&file, "b").unwrap();
        assert_ne!(before, before.now());
        at(&file, 900);
        assert!(Inputs::changed_unseen(&noted), "an older file took its place");
        fs::remove_file(&link).unwrap();
        at(&file, 1_100);
        assert!(!Inputs::changed_unseen(&noted), "cargo sees what is newer, and what is missing");
        note();
        std::os::unix::fs::symlink("noted", &link).unwrap();
        assert!(Inputs::changed_unseen(&noted), "cargo looks at no link");
        assert!(Inputs::changed_unseen(&path("none")), "nothing is known of an earlier build");
    }

    #[test]
    fn a_file_that_changes_during_the_build_is_never_taken_for_what_was_built() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let since = SystemTime::now() - Duration::from_secs(9);
        fs::write(&file, "a").unwrap();
        let inputs = Inputs::after(BTreeSet::from([file]), since);
        assert_ne!(inputs, inputs.now());
    }
}
