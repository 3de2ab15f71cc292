//! What PostgreSQL needs of this machine, looked at before anything is started.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use cqldyno_cassandra::on_path;
use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::unistd::{Gid, Uid, User, geteuid};

use crate::error::{PostgresError, Result};

/// Where Debian has a folder for each major version.
const INSTALLED: &str = "/usr/lib/postgresql";
/// The programs that are run.
const PROGRAMS: [&str; 4] = ["initdb", "postgres", "psql", "pg_waldump"];
/// As whom it runs if we are root: the first one that there is.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// The programs, and as whom they run.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    folder: Option<PathBuf>,
    /// The user to run them as, if it is not ours.
    pub user: Option<(Uid, Gid)>,
    setpriv: Option<PathBuf>,
}

/// Looks whether this machine has what a PostgreSQL needs: its programs, and somebody to run it as.
///
/// # Errors
/// The first thing that is missing, with what to do.
pub fn check() -> Result<()> {
    Machine::look(Path::new(INSTALLED)).map(drop)
}

impl Machine {
    pub(crate) fn here() -> Result<Machine> {
        Machine::look(Path::new(INSTALLED))
    }

    /// The newest version below `installed`, else the one on the path.
    fn look(installed: &Path) -> Result<Machine> {
        let versions = fs::read_dir(installed).into_iter().flatten().flatten();
        let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
        let newest = versions.map(|entry| entry.path()).max_by_key(number);
        let folder = newest.map(|version| version.join("bin")).filter(|bin| bin.join(PROGRAMS[1]).is_file());
        let mut machine = Machine { folder, user: None, setpriv: None };
        if let Some(missing) = PROGRAMS.into_iter().find(|name| machine.program(name).is_none()) {
            return Err(PostgresError::Missing(missing, installed.display().to_string()));
        }
        if geteuid().is_root() {
            let found = USERS.iter().find_map(|name| User::from_name(name).ok().flatten());
            let user = found.ok_or(PostgresError::AsRoot("there is no user postgres or nobody"))?;
            let setpriv = on_path("setpriv").ok_or(PostgresError::AsRoot("no `setpriv` was found"))?;
            (machine.user, machine.setpriv) = (Some((user.uid, user.gid)), Some(setpriv));
        }
        Ok(machine)
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        match &self.folder {
            Some(folder) => Some(folder.join(name)).filter(|program| program.is_file()),
            None => on_path(name),
        }
    }

    /// A program as whoever runs it, with the words that come before its arguments. It ends with the thread that started it.
    pub(crate) fn words(&self, name: &'static str) -> Result<Vec<OsString>> {
        let missing = || PostgresError::Missing(name, INSTALLED.to_owned());
        let program = self.program(name).ok_or_else(missing)?.into_os_string();
        Ok(match (&self.setpriv, self.user) {
            (Some(setpriv), Some((uid, gid))) => {
                let (uid, gid) = (format!("--reuid={uid}"), format!("--regid={gid}"));
                // A change of user takes away that the kernel ends it with us.
                let own = [uid.as_str(), gid.as_str(), "--clear-groups", "--pdeathsig=QUIT"].map(OsString::from);
                std::iter::once(setpriv.clone().into_os_string()).chain(own).chain([program]).collect()
            }
            _ => vec![program],
        })
    }
}

/// Refuses a folder that no disk has.
///
/// # Errors
/// When it is in memory.
pub fn on_disk(folder: &Path) -> Result<()> {
    match statfs(folder) {
        Ok(found) if found.filesystem_type() == TMPFS_MAGIC => Err(PostgresError::InMemory(folder.to_path_buf())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_postgresql_the_sentence_says_what_to_install() {
        let empty = tempfile::tempdir().unwrap();
        match Machine::look(empty.path()) {
            Ok(_) => assert!(on_path("postgres").is_some(), "it is on the path"),
            Err(error) => {
                let told = error.to_string();
                let known = ["install it (Debian: the package postgresql)", "which does not run as root"];
                assert!(known.iter().any(|known| told.contains(known)), "{told}");
            }
        }
    }

    #[test]
    fn a_folder_in_memory_is_refused() {
        let memory = Path::new("/dev/shm");
        if statfs(memory).is_ok_and(|found| found.filesystem_type() == TMPFS_MAGIC) {
            let error = on_disk(memory).unwrap_err().to_string();
            assert!(error.contains("/dev/shm, which is in memory") && error.contains("with --out"), "{error}");
        }
        assert!(on_disk(Path::new("/proc")).is_ok());
    }
}
