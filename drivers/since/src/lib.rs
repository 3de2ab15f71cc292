//! Tells an adapter's code which release of its driver it is compiled with, so that one crate serves releases with different APIs.
//!
//! The build script of the adapter calls [`tell`]. For `0.5`, `#[cfg(since = "0.5")]` then holds in 0.5.0 and later releases, and
//! `#[cfg(before = "0.5")]` in earlier ones.
#![deny(missing_docs)]

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Names the lock file in force, if it is not the nearest one above the adapter's manifest.
const LOCK_FILE: &str = "CQLDYNO_LOCK_FILE";
/// Before the driver's name, the name of every adapter.
const ADAPTER: &str = "cqldyno-driver-";

/// Sets `since` or `before` for each of these releases, which are written `MAJOR.MINOR`.
///
/// # Errors
/// When no lock file has the driver's version.
pub fn tell(releases: &[&str]) -> Result<(), Box<dyn Error>> {
    let adapter = env::var("CARGO_PKG_NAME")?;
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    println!("cargo::rerun-if-env-changed={LOCK_FILE}");
    let named = env::var_os(LOCK_FILE).filter(|file| !file.is_empty()).map(PathBuf::from);
    let above = || manifest.ancestors().map(|folder| folder.join("Cargo.lock")).find(|file| file.is_file());
    let file =
        named.or_else(above).ok_or("no Cargo.lock lies above the adapter; build it with cargo in its workspace")?;
    println!("cargo::rerun-if-changed={}", file.display());
    let driver = adapter.strip_prefix(ADAPTER).unwrap_or(&adapter);
    let found =
        version(&fs::read_to_string(&file)?, &adapter, driver).ok_or_else(|| unknown(&file, &adapter, driver))?;
    let values = releases.iter().map(|release| format!("{release:?}")).collect::<Vec<_>>().join(", ");
    for word in ["since", "before"] {
        println!("cargo::rustc-check-cfg=cfg({word}, values({values}))");
    }
    for release in releases {
        let word = if numbers(release) <= found { "since" } else { "before" };
        println!("cargo::rustc-cfg={word}={release:?}");
    }
    Ok(())
}

fn unknown(file: &Path, adapter: &str, driver: &str) -> String {
    format!("{} has no version of {driver} for {adapter}; build the adapter with cargo", file.display())
}

/// The version of `driver` that `adapter` depends on. An entry names the version if the lock file has several.
fn version(lock: &str, adapter: &str, driver: &str) -> Option<(u64, u64)> {
    let package = |name: &str| {
        let begin = format!("\nname = \"{name}\"\n");
        lock.split("[[package]]").find(|entry| entry.starts_with(&begin))
    };
    let depends = package(adapter)?.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
    let mut depends = depends.filter_map(|entry| entry.split_once(' ').or(Some((entry, ""))));
    match depends.find(|(name, _)| *name == driver)? {
        (_, "") => package(driver)?.lines().find_map(|line| line.strip_prefix("version = \"")).map(numbers),
        (_, version) => Some(numbers(version)),
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> (u64, u64) {
    let mut numbers = version.split(['.', '-', '"', ' ']).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "cqldyno-driver-a"
version = "0.1.0"
dependencies = [
 "a",
 "b 0.13.2",
]

[[package]]
name = "a"
version = "1.10.0-dev"

[[package]]
name = "b"
version = "1.9.0"

[[package]]
name = "b"
version = "0.13.2"
"#;

    #[test]
    fn the_version_that_an_adapter_depends_on_is_found_among_several() {
        assert_eq!(version(LOCK, "cqldyno-driver-a", "a"), Some((1, 10)));
        assert_eq!(version(LOCK, "cqldyno-driver-a", "b"), Some((0, 13)));
        assert_eq!(version(LOCK, "cqldyno-driver-a", "c"), None);
        assert_eq!(version(LOCK, "cqldyno-driver-b", "b"), None);
    }

    #[test]
    fn releases_are_compared_by_number() {
        assert!(numbers("0.9") < numbers("0.10.2") && numbers("0.10") <= numbers("0.10.0") && numbers("4.0") < (5, 0));
    }
}
