//! Exact versions, from the lock file that this worker was built with.

#[cfg(test)]
mod closure;

use cqldyno_driver_api::{DriverError, ErrorKind, Library};

const LOCK_FILE: &str = include_str!("../../../Cargo.lock");

/// The version of `package` in the workspace's lock file; the highest one if there are several (then
/// [`version_used_by`] is the better question).
///
/// # Errors
/// [`ErrorKind::Other`] when the lock file has no such package.
pub fn version_of(package: &str) -> Result<&'static str, DriverError> {
    packages(LOCK_FILE)
        .filter(|found| found.name == package)
        .map(|found| found.version)
        .max_by_key(|version| sort_key(version))
        .ok_or_else(|| missing(package))
}

/// The version of `package` that `dependent` was built with, for packages of which the lock file may have several.
///
/// # Errors
/// [`ErrorKind::Other`] when the lock file does not have `dependent`, or `dependent` does not depend on `package`.
pub fn version_used_by(dependent: &str, package: &str) -> Result<&'static str, DriverError> {
    dependency_version(LOCK_FILE, dependent, package).ok_or_else(|| {
        DriverError::new(
            ErrorKind::Other,
            format!(
                "the version of the package {package} that {dependent} uses was asked for, and Cargo.lock has none"
            ),
        )
    })
}

/// `package` as it stands in [`cqldyno_driver_api::DriverInfo::libraries`], with the version of [`version_of`].
///
/// # Errors
/// As [`version_of`].
pub fn library(package: &str) -> Result<Library, DriverError> {
    Ok(Library { name: package.to_owned(), version: version_of(package)?.to_owned(), origin: None })
}

fn missing(package: &str) -> DriverError {
    DriverError::new(
        ErrorKind::Other,
        format!("the version of the package {package} was asked for, and Cargo.lock has no such package"),
    )
}

struct Package<'a> {
    name: &'a str,
    version: &'a str,
    block: &'a str,
}

impl<'a> Package<'a> {
    /// Each entry is `NAME`, or `NAME VERSION` where the lock file has several versions of NAME.
    fn dependencies(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let list = self.block.split_once("\ndependencies = [").map_or("", |(_, list)| list);
        let list = list.split_once(']').map_or("", |(list, _)| list);
        list.lines().map(|line| line.trim().trim_matches([',', '"'])).filter(|entry| !entry.is_empty())
    }
}

fn packages(lock: &str) -> impl Iterator<Item = Package<'_>> {
    lock.split("[[package]]").filter_map(|block| {
        let field = |key: &str| block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        let unquoted = |key| field(key).map(|value| value.trim().trim_matches('"'));
        Some(Package { name: unquoted("name")?, version: unquoted("version")?, block })
    })
}

fn dependency_version<'a>(lock: &'a str, dependent: &str, package: &str) -> Option<&'a str> {
    packages(lock).filter(|found| found.name == dependent).flat_map(|found| found.dependencies()).find_map(|entry| {
        let mut words = entry.split(' ');
        if words.next() != Some(package) {
            return None;
        }
        match words.next() {
            Some(version) => Some(version),
            None => packages(lock).find(|found| found.name == package).map(|found| found.version),
        }
    })
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

    const SMALL: &str = r#"
version = 4

[[package]]
name = "driver"
version = "1.9.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = [
 "hash 0.2.0",
 "only",
]

[[package]]
name = "hash"
version = "0.2.0"

[[package]]
name = "hash"
version = "0.10.0"

[[package]]
name = "hash"
version = "0.10.0-rc.1"

[[package]]
name = "only"
version = "3.1.4"
"#;

    #[test]
    fn a_dependents_own_version_is_found_among_several() {
        assert_eq!(dependency_version(SMALL, "driver", "hash"), Some("0.2.0"));
        assert_eq!(dependency_version(SMALL, "driver", "only"), Some("3.1.4"));
        assert_eq!(dependency_version(SMALL, "driver", "driver"), None);
        assert_eq!(dependency_version(SMALL, "only", "hash"), None);
    }

    #[test]
    fn the_highest_version_is_compared_by_number_and_above_its_pre_release() {
        let highest = packages(SMALL).filter(|p| p.name == "hash").map(|p| p.version).max_by_key(|v| sort_key(v));
        assert_eq!(highest, Some("0.10.0"));
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
