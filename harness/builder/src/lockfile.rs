//! What cargo's lock file says.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::error::BuildError;

/// One package of a lock file.
#[derive(Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: Option<String>,
}

/// The packages of a lock file; none if it is none.
pub(crate) fn packages(lock: &str) -> Vec<Locked> {
    let lock: toml::Table = lock.parse().unwrap_or_default();
    lock.get("package").and_then(|packages| packages.clone().try_into().ok()).unwrap_or_default()
}

/// The package that keeps `name` where it is although both are released in step, such as `futures` of `futures-util`.
pub(crate) fn in_step(refusal: &str, lock: &str, name: &str) -> Option<String> {
    let (_, by) = refusal.split_once("required by package `")?;
    let (other, version) = by.split_once('`')?.0.split_once(" v")?;
    let version = version.split(' ').next()?;
    (is_in(lock, name, version) && is_in(lock, other, version)).then(|| other.to_owned())
}

/// Whether a lock file has the package in this version, whatever build metadata comes after it.
pub(crate) fn is_in(lock: &str, name: &str, version: &str) -> bool {
    ['"', '+'].iter().any(|end| lock.contains(&format!("name = \"{name}\"\nversion = \"{version}{end}")))
}

/// How cargo calls the package `name` of which another version is wanted: among several, the one that is compatible with it.
pub(crate) fn locked(lock: &str, name: &str, wanted: &str) -> Result<String, BuildError> {
    let versions: BTreeSet<String> =
        packages(lock).into_iter().filter(|package| package.name == name).map(|package| package.version).collect();
    let line = |version: &str| {
        let version = semver::Version::parse(version).ok()?;
        Some((version.major, if version.major == 0 { version.minor } else { 0 }))
    };
    let compatible = |version: &&String| line(version).is_some_and(|own| line(wanted) == Some(own));
    match (versions.len(), versions.iter().find(compatible)) {
        (0, _) => Err(BuildError::Failed(format!(
            "version {wanted} of {name} was asked for, and the worker does not depend on {name}; name one of its dependencies"
        ))),
        (1, _) => Ok(name.to_owned()),
        (_, Some(version)) => Ok(format!("{name}@{version}")),
        (_, None) => {
            let there: Vec<String> = versions.into_iter().collect();
            Err(BuildError::Failed(format!(
                "version {wanted} of {name} was asked for, and the worker has {name} {}, which that cannot replace",
                there.join(" and ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_versions_in_a_lock_file_the_compatible_one_is_replaced() {
        let lock = "[[package]]\nname = \"x\"\nversion = \"0.2.1\"\n\n[[package]]\nname = \"x\"\nversion = \"1.5.0\"\n";
        assert_eq!(locked(lock, "x", "1.0.0").unwrap(), "x@1.5.0");
        assert_eq!(locked(lock, "x", "0.2.9").unwrap(), "x@0.2.1");
        let error = locked(lock, "x", "2.0.0").unwrap_err().to_string();
        assert!(error.contains("the worker has x 0.2.1 and 1.5.0, which that cannot replace"), "{error}");
    }
}
