//! Exact versions, from the lock file that this worker was built with.

use cqldyno_driver_api::{DriverError, ErrorKind, Library};

use crate::packages::packages;

const LOCK_FILE: &str = include_str!(env!("CQLDYNO_LOCK_FILE"));

/// The version of `package`, the highest one if the lock file has several; then [`version_used_by`] is the better question.
///
/// # Errors
/// [`ErrorKind::Other`] when the lock file has no such package.
pub fn version_of(package: &str) -> Result<&'static str, DriverError> {
    highest(LOCK_FILE, package).ok_or_else(|| missing(format_args!("{package} has no version in Cargo.lock")))
}

/// The version of `package` that `dependent` was built with.
///
/// # Errors
/// [`ErrorKind::Other`] when `dependent` is not in the lock file, or does not depend on `package`.
pub fn version_used_by(dependent: &str, package: &str) -> Result<&'static str, DriverError> {
    used_by(LOCK_FILE, dependent, package)
        .ok_or_else(|| missing(format_args!("{dependent} has no dependency {package} in Cargo.lock")))
}

/// `package` as it stands in [`cqldyno_driver_api::DriverInfo::libraries`], with the version of [`version_of`].
///
/// # Errors
/// As [`version_of`].
pub fn library(package: &str) -> Result<Library, DriverError> {
    Ok(Library { name: package.to_owned(), version: version_of(package)?.to_owned(), origin: None })
}

fn missing(what: std::fmt::Arguments<'_>) -> DriverError {
    DriverError::new(ErrorKind::Other, format_args!("{what}; name a package that the worker is built with"))
}

fn highest<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let versions = packages(lock).filter(|found| found.name == package).map(|found| found.version);
    versions.max_by_key(|version| sort_key(version))
}

fn used_by<'a>(lock: &'a str, dependent: &str, package: &str) -> Option<&'a str> {
    let dependents = packages(lock).filter(|found| found.name == dependent);
    let mut dependencies = dependents.flat_map(|found| found.dependencies(lock));
    dependencies.find(|found| found.name == package).map(|found| found.version)
}

/// Orders versions by their numbers; a pre-release comes before its release.
fn sort_key(version: &str) -> (Vec<u64>, bool) {
    let (release, is_release) = match version.split_once('-') {
        Some((release, _)) => (release, false),
        None => (version, true),
    };
    let numbers = release.split(['.', '+']).map(|number| number.parse().unwrap_or(0)).collect();
    (numbers, is_release)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::tests::LOCK;

    #[test]
    fn a_dependents_own_version_is_found_among_several() {
        assert_eq!(used_by(LOCK, "driver", "hash"), Some("0.2.0"));
        assert_eq!(used_by(LOCK, "driver", "only"), Some("3.1.4"));
        assert_eq!(used_by(LOCK, "driver", "driver"), None);
        assert_eq!(used_by(LOCK, "only", "hash"), None);
    }

    #[test]
    fn the_highest_version_is_compared_by_number_and_above_its_pre_release() {
        assert_eq!(highest(LOCK, "hash"), Some("0.10.0"));
    }

    #[test]
    fn the_workspaces_own_lock_file_is_read() {
        assert_eq!(version_of("cqldyno-worker").unwrap(), env!("CARGO_PKG_VERSION"));
        assert_eq!(version_of("scylla").unwrap(), "1.9.0");
        assert_eq!(version_used_by("scylla", "tokio").unwrap(), library("tokio").unwrap().version);
        let error = version_of("no-such-package").unwrap_err().to_string();
        assert!(error.contains("no-such-package"), "{error}");
    }
}
