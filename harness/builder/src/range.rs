//! What lies between two versions of a driver: releases in the order of their numbers, commits along their first parents.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::builder::{Builder, Watch};
use crate::cargo::Cargo;
use crate::checkout::{commit, git, repository};
use crate::error::BuildError;
use crate::lockfile::packages;
use crate::version::Version;

/// All versions between two ends, and the ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The older ones first.
    pub points: Vec<Point>,
    /// Whether the end that was named first is the newer one.
    pub reversed: bool,
}

/// One version of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// What is ordered: a whole release, or a whole commit.
    pub version: Version,
    /// What people call it: a release's number, or a commit's first digits with its subject.
    pub name: String,
}

impl Builder {
    /// All versions of `driver` between two releases, or between two commits of a checkout, with both ends and the older one first.
    ///
    /// Releases are those that cargo would choose: none that was withdrawn, and no pre-release. Commits are those of the newer end's first
    /// parents, so that a merge is one step. `Git::url` of the ends is a folder.
    ///
    /// # Errors
    /// When an end is no such version, neither commit comes before the other, or the registry cannot be reached.
    pub fn range<'a>(&'a self, driver: &str, ends: [&Version; 2], watch: &mut Watch<'a>) -> Result<Range, BuildError> {
        let families = self.families(driver)?;
        let library = families.iter().find_map(|family| family.library.clone());
        let library = library.ok_or_else(|| BuildError::NoOtherVersion(driver.to_owned()))?;
        match ends {
            [Version::Release(one), Version::Release(other)] => {
                let _lock = self.lock(&self.cache().join("range"), watch)?;
                let points =
                    self.between(&library, [one.min(other), one.max(other)], &self.bare(watch.log, watch.cancelled))?;
                Ok(Range { points, reversed: one > other })
            }
            [Version::Git { url, revision: one }, Version::Git { revision: other, .. }] => {
                commits(url, [one, other], &self.bare(watch.log, watch.cancelled))
            }
            [one, other] => Err(BuildError::Failed(format!(
                "there is no range from {one} to {other}; name two releases such as 1.9.0, or two commits of a checkout"
            ))),
        }
    }

    /// cargo itself lists no releases, so it chooses the newest one again and again, each time below the one before.
    fn between(
        &self,
        library: &str,
        [older, newer]: [&semver::Version; 2],
        cargo: &Cargo<'_>,
    ) -> Result<Vec<Point>, BuildError> {
        let mut found = vec![newer.clone()];
        while let Some(release) = self.newest(library, &format!(">{older}, <{}", found[found.len() - 1]), cargo)? {
            found.push(release);
        }
        found.push(older.clone());
        found.dedup();
        let point = |release: semver::Version| Point { name: release.to_string(), version: Version::Release(release) };
        Ok(found.into_iter().rev().map(point).collect())
    }

    fn newest(
        &self,
        library: &str,
        requirement: &str,
        cargo: &Cargo<'_>,
    ) -> Result<Option<semver::Version>, BuildError> {
        let folder = self.cache().join("range");
        let (manifest, lock) = (folder.join("Cargo.toml"), folder.join("Cargo.lock"));
        let text = format!(
            "[package]\nname = \"range\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[workspace]\n[lib]\npath = \"range.rs\"\n\
             [dependencies]\n{library} = \"{requirement}\"\n"
        );
        let write = || {
            fs::create_dir_all(&folder)?;
            if lock.exists() {
                fs::remove_file(&lock)?;
            }
            fs::write(folder.join("range.rs"), "")?;
            fs::write(&manifest, text)
        };
        write().map_err(self.failed())?;
        let arguments = ["update", "--manifest-path"].map(OsStr::new);
        match cargo.run(arguments.into_iter().chain([manifest.as_os_str(), OsStr::new("--quiet")]), &mut |_| ()) {
            Ok(_) => {}
            Err(BuildError::Failed(why)) if why.contains(&format!("for the requirement `{library} = ")) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let locked = packages(&fs::read_to_string(&lock).map_err(self.failed())?);
        let chosen = locked.iter().find(|package| package.name == library);
        let chosen = chosen.and_then(|package| semver::Version::parse(&package.version).ok());
        let unknown = || BuildError::Failed(format!("cargo chose no release of {library} that fits {requirement}"));
        chosen.map(Some).ok_or_else(unknown)
    }
}

fn commits(url: &str, ends: [&str; 2], cargo: &Cargo<'_>) -> Result<Range, BuildError> {
    let wrong = |why: String| BuildError::Checkout(url.to_owned(), why);
    let folder = Path::new(url)
        .canonicalize()
        .map_err(|error| wrong(format!("{error}; name the folder of a git checkout, and clone what lies elsewhere")))?;
    let git = |arguments: &[&str]| git(cargo, &folder, arguments);
    let root = repository(&folder, cargo)?.display().to_string();
    let [one, other] = [commit(&folder, ends[0], cargo)?, commit(&folder, ends[1], cargo)?];
    let comes_before = |older: &str, newer: &str| match git(&["merge-base", "--is-ancestor", older, newer]) {
        Err(BuildError::Failed(_)) => Ok(false),
        said => said.map(|_| true),
    };
    let (older, newer, reversed) = if comes_before(&one, &other)? {
        (one, other, false)
    } else if comes_before(&other, &one)? {
        (other, one, true)
    } else {
        return Err(wrong(format!(
            "neither {} nor {} comes before the other; name two commits of one line of history",
            ends[0], ends[1]
        )));
    };
    let listed = |range: &[&str]| git(&[&["log", "--first-parent", "--reverse", "--format=%H %s"], range].concat());
    let lines = [listed(&["--max-count=1", &older])?, listed(&[&format!("{older}..{newer}")])?].join("\n");
    let point = |line: &str| {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        let version = Version::Git { url: root.clone(), revision: commit.to_owned() };
        Point { version, name: format!("{} {subject}", commit.get(..10).unwrap_or(commit)).trim_end().to_owned() }
    };
    let points = lines.lines().filter(|line| !line.is_empty()).map(point).collect();
    Ok(Range { points, reversed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::tests::{Workshop, repository};

    fn range(workshop: &Workshop, ends: [&str; 2]) -> Result<(Vec<String>, bool), String> {
        let [one, other] = ends.map(|end| end.parse::<Version>().unwrap());
        let mut watch = Watch { progress: &mut |_| (), cancelled: &|| false, log: None };
        let found = workshop.builder.range("a", [&one, &other], &mut watch);
        let names = |found: Range| (found.points.into_iter().map(|one| one.name).collect(), found.reversed);
        found.map(names).map_err(|error| error.to_string())
    }

    #[test]
    fn releases_are_those_that_cargo_chooses_one_below_the_other() {
        let workshop = Workshop::new();
        let all = ["1.1.0", "1.2.0", "1.2.1", "1.4.0"].map(str::to_owned).to_vec();
        assert_eq!(range(&workshop, ["1.1.0", "1.4.0"]), Ok((all.clone(), false)));
        assert_eq!(range(&workshop, ["1.4.0", "1.1.0"]), Ok((all.clone(), true)), "either end may be the newer one");
        assert_eq!(range(&workshop, ["1.2.1", "1.2.0"]), Ok((all[1..3].to_vec(), true)));
        assert_eq!(range(&workshop, ["1.1.0", "1.1.0"]), Ok((all[..1].to_vec(), false)));
        workshop.goes_offline();
        let error = range(&workshop, ["1.1.0", "1.4.0"]).unwrap_err();
        assert!(error.starts_with("cargo could not download"), "{error}");
        let error = range(&workshop, ["1.1.0", "newest"]).unwrap_err();
        assert!(error.contains("there is no range from 1.1.0 to newest; name two releases"), "{error}");
    }

    #[test]
    fn commits_follow_the_first_parents_so_that_a_merge_is_one_step() {
        let (workshop, (driver, git)) = (Workshop::new(), repository());
        let commit = |message: &str| git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        git(&["tag", "first"]);
        commit("Second");
        git(&["checkout", "--quiet", "-b", "side", "first"]);
        commit("Aside");
        git(&["checkout", "--quiet", "main"]);
        git(&["merge", "--quiet", "--no-ff", "-m", "Merge side", "side"]);
        let end = |revision: &str| format!("git:{}#{revision}", driver.path().display());
        let subjects = |ends: [&str; 2]| {
            let (names, reversed) = range(&workshop, ends.map(end).each_ref().map(String::as_str))?;
            let subjects = names.iter().map(|name| name.split_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>();
            Ok::<_, String>((subjects, reversed))
        };
        let all = ["First", "Second", "Merge side"].map(str::to_owned).to_vec();
        assert_eq!(subjects(["first", "main"]), Ok((all.clone(), false)));
        assert_eq!(subjects(["main", "first"]), Ok((all.clone(), true)));
        assert_eq!(subjects(["main", "main"]), Ok((all[2..].to_vec(), false)));
        git(&["branch", "second", "main^1"]);
        let error = subjects(["second", "side"]).unwrap_err();
        assert!(
            error.ends_with("neither second nor side comes before the other; name two commits of one line of history")
        );
        let error = subjects(["first", "none"]).unwrap_err();
        assert!(
            error.ends_with("they have no commit, tag or branch \"none\"; name one that `git log` shows"),
            "{error}"
        );
        let elsewhere = tempfile::tempdir().unwrap();
        let end = format!("git:{}#main", elsewhere.path().display());
        let error = range(&workshop, [&end, &end]).unwrap_err();
        assert!(error.ends_with("they are in no git repository; name the folder of the driver's checkout"), "{error}");
    }
}
