//! From Maven Central into the cache, once.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

use crate::error::{CassandraError, Result, of};
use crate::machine::on_path;
use crate::node::{Gate, quiet};
use crate::order::Order;

/// The digests of all jars, as `sha256sum` writes and checks them. A folder without it is no release.
const SUMS: &str = "SHA256SUMS";
/// What copies a release and all that it needs.
const PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The folder of a release in `cache`.
fn folder(version: &str, cache: &Path) -> PathBuf {
    cache.join("cassandra").join(version)
}

/// Whether the cache has this release.
pub fn is_fetched(version: &str, cache: &Path) -> bool {
    folder(version, cache).join(SUMS).is_file()
}

/// Holds the lock `file` until what is returned is dropped. While another process holds it, `waits` hears of it once.
pub(crate) fn alone(file: &Path, waits: &mut dyn FnMut(), cancelled: &dyn Fn() -> bool) -> Result<File> {
    file.parent().map_or(Ok(()), fs::create_dir_all).map_err(of(file))?;
    let held = File::create(file).map_err(of(file))?;
    let mut waited = false;
    // A file system without locks has nobody to tell apart.
    while let Err(TryLockError::WouldBlock) = held.try_lock() {
        if cancelled() {
            return Err(CassandraError::Cancelled);
        }
        if !std::mem::replace(&mut waited, true) {
            waits();
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(held)
}

/// The folder with the jars of the release, which are fetched first if need be. Every file is the one that was fetched.
pub(crate) fn jars(order: &Order, cache: &Path, gate: Gate<'_>, cancelled: &dyn Fn() -> bool) -> Result<PathBuf> {
    let folder = folder(&order.version, cache);
    let parent = cache.join("cassandra");
    // Another one may fetch.
    let _alone = alone(&parent.join("lock"), &mut || (), cancelled)?;
    if is_fetched(&order.version, cache) {
        verify(&folder)?;
        return Ok(folder);
    }
    let part = folder.with_extension("part");
    let fetched = fetch(order, &part, gate, cancelled);
    let keep = || {
        let sums = part.join(SUMS);
        write_sums(&part).map_err(of(&sums))?;
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&part, &folder).map_err(of(&folder))
    };
    let kept = fetched.and_then(|()| keep());
    let _ = fs::remove_dir_all(&part);
    kept.map(|()| folder)
}

/// Maven's own repository on this machine may hold files that nobody verified, so it is a fresh one: every file comes from the
/// repository that the user's settings name, and must have the checksum that lies beside it there.
fn fetch(order: &Order, part: &Path, gate: Gate<'_>, cancelled: &dyn Fn() -> bool) -> Result<()> {
    let maven = on_path("mvn").ok_or_else(|| CassandraError::NoMaven(order.name()))?;
    let _ = fs::remove_dir_all(part);
    fs::create_dir_all(part).map_err(of(part))?;
    let (project, repository, log) = (part.join("pom.xml"), part.join("repository"), part.join("maven.log"));
    fs::write(&project, pom(&order.version)).map_err(of(&project))?;
    let output = File::create(&log).map_err(of(&log))?;
    let mut command = gate.command(&maven);
    command.args(["--batch-mode", "--quiet", "--strict-checksums", "--no-transfer-progress", "--file"]).arg(&project);
    command.arg(format!("-Dmaven.repo.local={}", repository.display())).arg(PLUGIN);
    command.arg("-DincludeScope=runtime").arg(format!("-DoutputDirectory={}", part.display()));
    command.stdin(Stdio::piped()).stdout(quiet(&output, &log)?).stderr(quiet(&output, &log)?).process_group(0);
    let mut child = command.spawn().map_err(of(&maven))?;
    gate.open(&mut child).map_err(of(&maven))?;
    let status = loop {
        match child.try_wait().map_err(of(&maven))? {
            Some(status) => break status,
            None if cancelled() => {
                // mvn is a script that becomes Java; a group has both.
                let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
                let _ = child.wait();
                return Err(CassandraError::Cancelled);
            }
            None => std::thread::sleep(LOOK_EVERY),
        }
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    let is_there = part.join(format!("cassandra-all-{}.jar", order.version)).is_file();
    if !status.success() || !is_there {
        let error = said.lines().find_map(|line| line.split_once("ERROR] ").map(|(_, error)| error));
        let why = error.or(said.lines().next()).unwrap_or("it said nothing");
        return Err(CassandraError::Fetch(order.name(), why.trim_end_matches('.').to_owned()));
    }
    for path in [&project, &log] {
        fs::remove_file(path).map_err(of(path))?;
    }
    fs::remove_dir_all(&repository).map_err(of(&repository))
}

/// A project that needs this release and nothing else.
fn pom(version: &str) -> String {
    format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n<modelVersion>4.0.0</modelVersion>\n\
         <groupId>cqldyno</groupId><artifactId>cassandra</artifactId><version>1</version><packaging>pom</packaging>\n\
         <dependencies><dependency><groupId>org.apache.cassandra</groupId><artifactId>cassandra-all</artifactId>\
         <version>{version}</version></dependency></dependencies>\n</project>\n"
    )
}

/// The names of all files but the list of digests. Java takes every jar of the folder.
fn names(folder: &Path) -> io::Result<BTreeSet<String>> {
    let name = |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    fs::read_dir(folder)?.map(name).filter(|name| !name.as_ref().is_ok_and(|name| name == SUMS)).collect()
}

fn write_sums(folder: &Path) -> io::Result<()> {
    let mut sums = String::new();
    for name in names(folder)? {
        sums += &format!("{}  {name}\n", digest(File::open(folder.join(&name))?)?);
    }
    fs::write(folder.join(SUMS), sums)
}

/// Every file is as it was fetched, and there is no other.
fn verify(folder: &Path) -> Result<()> {
    let sums = folder.join(SUMS);
    let damaged = |what: String| Err(CassandraError::Damaged(what, folder.to_path_buf()));
    let text = fs::read_to_string(&sums).map_err(of(&sums))?;
    let listed: Vec<(&str, &str)> = text.lines().map(|line| line.split_once("  ").unwrap_or_default()).collect();
    if listed.is_empty() {
        return damaged(format!("the list of fetched files {} is empty", sums.display()));
    }
    let of_name = |name: &str| folder.join(name).display().to_string();
    for (sum, name) in &listed {
        let found = File::open(folder.join(name)).and_then(digest);
        if found.ok().as_deref() != Some(sum) {
            return damaged(format!("{} is not the file that was fetched", of_name(name)));
        }
    }
    let unlisted = |name: &String| listed.iter().all(|(_, other)| other != name);
    match names(folder).map_err(of(folder))?.into_iter().find(unlisted) {
        Some(name) => damaged(format!("{} is none of the files that were fetched", of_name(&name))),
        None => Ok(()),
    }
}

pub(crate) fn digest(mut input: impl Read) -> io::Result<String> {
    let (mut hash, mut part) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match input.read(&mut part)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            length => hash.update(&part[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_of_which_a_file_is_missing_or_changed_or_added_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second, sums] = ["a.jar", "b.jar", SUMS].map(|name| folder.path().join(name));
        let refusal = |change: &dyn Fn()| {
            fs::write(&first, "as it was").unwrap();
            fs::write(&second, "as it was").unwrap();
            write_sums(folder.path()).unwrap();
            assert!(verify(folder.path()).is_ok());
            change();
            let error = verify(folder.path()).unwrap_err().to_string();
            let advice = format!("; delete the folder {}, and it is fetched again", folder.path().display());
            let what = error.strip_suffix(&advice).unwrap_or_else(|| panic!("{error}"));
            what.replace(&format!("{}/", folder.path().display()), "")
        };
        let changed = "a.jar is not the file that was fetched";
        assert_eq!(refusal(&|| fs::write(&first, "another").unwrap()), changed);
        assert_eq!(refusal(&|| fs::remove_file(&first).unwrap()), changed);
        assert_eq!(refusal(&|| fs::write(&sums, "").unwrap()), "the list of fetched files SHA256SUMS is empty");
        let without_last = || {
            let text = fs::read_to_string(&sums).unwrap();
            fs::write(&sums, text.lines().next().unwrap()).unwrap();
        };
        assert_eq!(refusal(&without_last), "b.jar is none of the files that were fetched");
        let added = folder.path().join("c.jar");
        assert_eq!(refusal(&|| fs::write(&added, "").unwrap()), "c.jar is none of the files that were fetched");
        fs::remove_file(added).unwrap();
        fs::write(&sums, "no digest").unwrap();
        assert!(verify(folder.path()).is_err());
    }
}
