//! From Maven Central into the cache, once.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use sha2::{Digest, Sha256};

use crate::error::{CassandraError, of};
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

/// The folder with the jars of the release, which are fetched first if need be. Every file is the one that was fetched.
pub(crate) fn jars(
    order: &Order,
    cache: &Path,
    gate: Gate<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Result<PathBuf, CassandraError> {
    let folder = folder(&order.version, cache);
    let parent = cache.join("cassandra");
    fs::create_dir_all(&parent).map_err(of(&parent))?;
    let lock = parent.join("lock");
    let held = File::create(&lock).map_err(of(&lock))?;
    while held.try_lock().is_err() {
        // Another one fetches.
        if cancelled() {
            return Err(CassandraError::Cancelled);
        }
        std::thread::sleep(LOOK_EVERY);
    }
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
fn fetch(order: &Order, part: &Path, gate: Gate<'_>, cancelled: &dyn Fn() -> bool) -> Result<(), CassandraError> {
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

fn write_sums(folder: &Path) -> std::io::Result<()> {
    let mut names: Vec<String> =
        fs::read_dir(folder)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".jar"));
    names.sort_unstable();
    let mut sums = String::new();
    for name in names {
        sums += &format!("{}  {name}\n", digest(&folder.join(&name))?);
    }
    File::create(folder.join(SUMS))?.write_all(sums.as_bytes())
}

/// Every jar is as it was fetched.
fn verify(folder: &Path) -> Result<(), CassandraError> {
    let sums = folder.join(SUMS);
    for line in fs::read_to_string(&sums).map_err(of(&sums))?.lines() {
        let (sum, name) = line.split_once("  ").unwrap_or_default();
        if digest(&folder.join(name)).ok().as_deref() != Some(sum) {
            return Err(CassandraError::Damaged(folder.join(name).display().to_string(), folder.to_path_buf()));
        }
    }
    Ok(())
}

fn digest(path: &Path) -> std::io::Result<String> {
    let (mut file, mut hash, mut part) = (File::open(path)?, Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            length => hash.update(&part[..length]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jar_that_changed_after_it_was_fetched_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let jar = folder.path().join("a.jar");
        fs::write(&jar, "as it was").unwrap();
        write_sums(folder.path()).unwrap();
        assert!(verify(folder.path()).is_ok());
        fs::write(&jar, "another").unwrap();
        let error = verify(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a.jar is not the file that was fetched; delete the folder"), "{error}");
        fs::remove_file(&jar).unwrap();
        assert!(verify(folder.path()).is_err());
    }
}
