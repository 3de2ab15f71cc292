//! The versions of a worker's dependencies.

use std::ffi::OsStr;
use std::fs;
use std::io;

use super::Builder;
use super::prepare::Prepared;
use crate::cargo::{Cargo, Progress};
use crate::error::BuildError;
use crate::lockfile::{Locked, in_step, is_in, locked, packages};
use crate::order::Order;

/// How often cargo may refuse a dependency's version before that is the end.
const MOST_TURNS: usize = 20;
/// The first tokio with the alternative timer.
const FIRST_TIMER: semver::Version = semver::Version::new(1, 49, 0);

impl Builder {
    /// The lock file of the package: what was chosen once stays, unless a newer release may be meant by now.
    pub(super) fn resolve(
        &self,
        order: &Order,
        prepared: &Prepared,
        cargo: &Cargo<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<String, BuildError> {
        let (folder, failed) = (&prepared.folder, self.failed());
        let (manifest, lock, is_locked) = (folder.join("Cargo.toml"), folder.join("Cargo.lock"), folder.join("locked"));
        if let Some(chosen) = prepared.locked(order) {
            return Ok(chosen);
        }
        progress(Progress::Locking);
        let write = || -> io::Result<()> {
            prepared.unlock()?;
            fs::write(folder.join("main.rs"), &prepared.package.main)?;
            fs::write(&manifest, &prepared.package.manifest)?;
            fs::copy(self.base_lock(), &lock).map(drop)
        };
        write().map_err(&failed)?;
        let update = |further: &[&str]| {
            let arguments = ["update", "--manifest-path"].map(OsStr::new).into_iter().chain([manifest.as_os_str()]);
            cargo.run(arguments.chain(further.iter().map(OsStr::new)), &mut |_| ())
        };
        update(&["--workspace", "--quiet"])?;
        if let (false, Some(library)) = (order.is_exact(), &prepared.library) {
            // Ours has a release that may be meant, but need not be the newest.
            update(&["--package", library])?;
        }
        let mut open: Vec<(String, String)> = order.pins.clone().into_iter().collect();
        // One may stand in another's way until that has its turn.
        let mut refused = None;
        let mut turns = MOST_TURNS;
        while let Some((name, version)) = open.pop() {
            let text = fs::read_to_string(&lock).map_err(&failed)?;
            match update(&["--package", &locked(&text, &name, &version)?, "--precise", &version]) {
                Ok(_) => refused = None,
                Err(BuildError::Failed(why)) => {
                    turns -= 1;
                    let behind = in_step(&why, &text, &name).map(|other| (other, version.clone()));
                    let why = BuildError::Failed(format!("{name} cannot be had at {version}: {why}"));
                    let is_last = open.is_empty() && behind.is_none();
                    let first = refused.take().unwrap_or(why);
                    if is_last || turns == 0 {
                        return Err(first);
                    }
                    refused = Some(first);
                    match behind {
                        Some(behind) => open.extend([(name, version), behind]),
                        None => open.insert(0, (name, version)),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let text = fs::read_to_string(&lock).map_err(&failed)?;
        // One that was chosen later may have moved it.
        if let Some((name, version)) = order.pins.iter().find(|(name, version)| !is_in(&text, name, version)) {
            let why = format!("{name} cannot be had at {version}: another dependency needs another version of it");
            return Err(BuildError::Failed(why));
        }
        let tokio = packages(&text).into_iter().find(|one| one.name == "tokio" && order.has_alternative_timer());
        let lacks = |one: &Locked| semver::Version::parse(&one.version).is_ok_and(|version| version < FIRST_TIMER);
        if let Some(Locked { version: tokio, .. }) = tokio.filter(lacks) {
            return Err(BuildError::Failed(format!(
                "tokio's alternative timer was asked for, and the worker has tokio {tokio}, which has none before {FIRST_TIMER}; leave \
                 `timer` out, or ask for a later tokio"
            )));
        }
        fs::write(&is_locked, "").map_err(&failed)?;
        Ok(text)
    }
}
