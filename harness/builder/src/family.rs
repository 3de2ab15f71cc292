//! Adapter families: a driver's releases with one API share an adapter, which is a folder with a `Cargo.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use semver::VersionReq;
use serde::Deserialize;
use toml::{Table, Value};

use crate::cached::entries;
use crate::error::BuildError;
use crate::order::Order;
use crate::sources::Sources;
use crate::version::Version;

/// An adapter for some releases of a driver. `drivers/NAME` is the newest, `drivers/NAME/RELEASE` are older ones.
///
/// Its manifest says most of it in `[package.metadata.cqldyno]`, or `releases.toml` does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Family {
    /// Its folder.
    #[serde(skip)]
    pub folder: PathBuf,
    /// The driver's name.
    #[serde(skip)]
    pub driver: String,
    /// The dependency that is the driver; `None` for a driver of ours, which has none.
    #[serde(rename = "crate")]
    pub library: Option<String>,
    /// The releases that it speaks, as its manifest says it.
    pub versions: String,
    /// The releases that its tests are run against; the last is the newest.
    pub tested: Vec<semver::Version>,
    /// The calls of the driver that statements go through, by the word for how a scenario issues them, such as `execute`.
    pub calls: BTreeMap<String, String>,
    /// Folders of other adapters, from its own, of which it takes source files.
    pub(crate) shares: Vec<String>,
    #[serde(skip)]
    pub(crate) manifest: Table,
    /// Releases that no family speaks, and why: what follows `because`.
    unspoken: BTreeMap<semver::Version, String>,
    #[serde(skip)]
    requirement: VersionReq,
    /// Capabilities by their names in the worker protocol, each with the releases that lack it.
    lacks: BTreeMap<String, VersionReq>,
    /// CQL types that all of its releases lack, by name.
    lacks_types: Vec<String>,
    /// Whose releases they are, if a fork's: what follows the `-` of each.
    fork: Option<String>,
}

/// What a family is asked for: cargo chooses by the requirement; `None` leaves the dependency as the manifest has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) family: usize,
    pub(crate) requirement: Option<String>,
}

impl Family {
    /// The families of `driver`, the newest first.
    ///
    /// # Errors
    /// When there is none, or a manifest cannot be used.
    pub fn all(sources: &Sources, driver: &str) -> Result<Vec<Family>, BuildError> {
        let folder = sources.folder().join("drivers").join(driver);
        let mut families = Vec::new();
        for folder in [folder.clone()].into_iter().chain(entries(&folder)) {
            families.extend(Family::read(sources, driver, &folder)?);
        }
        families.sort_by(|a, b| b.tested.last().cmp(&a.tested.last()).then_with(|| a.folder.cmp(&b.folder)));
        match families.is_empty() {
            false => Ok(families),
            true => {
                let is_driver = |name: &String| {
                    let folder = sources.folder().join("drivers").join(name);
                    let older = entries(&folder);
                    [folder].into_iter().chain(older).any(|folder| folder.join("src/main.rs").is_file())
                };
                let known = sources.drivers().into_iter().filter(is_driver);
                Err(BuildError::NoAdapter(driver.to_owned(), known.collect::<Vec<_>>().join(", ")))
            }
        }
    }

    fn read(sources: &Sources, driver: &str, folder: &Path) -> Result<Option<Family>, BuildError> {
        let path = folder.join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        let wrong = |why: &dyn std::fmt::Display| BuildError::Manifest(path.clone(), why.to_string());
        let manifest: Table = text.parse().map_err(|error| wrong(&error))?;
        let package = manifest.get("package");
        let name = package.and_then(|package| package.get("name")?.as_str());
        if name != Some(&*format!("cqldyno-driver-{driver}")) {
            return Ok(None);
        }
        let own = package.and_then(|package| package.get("metadata")?.get("cqldyno")).cloned();
        let own: Result<Family, _> = own.map_or_else(|| Ok(Family::default()), Value::try_into);
        let mut own = own.map_err(|error| wrong(&error))?;
        own.library = own.library.or_else(|| declared(sources, &manifest, driver).map(|_| driver.to_owned()));
        if own.versions.is_empty() {
            // Without a table of its own a family speaks the release that it depends on.
            let depends_on = own.library.as_deref().and_then(|library| declared(sources, &manifest, library));
            own.versions = depends_on.unwrap_or_default();
        }
        own.of(driver, folder, manifest).map(Some).map_err(|error| wrong(&error))
    }

    /// With what follows from its place and from what it says of itself.
    pub(crate) fn of(mut self, driver: &str, folder: &Path, manifest: Table) -> Result<Family, semver::Error> {
        if self.versions.is_empty() {
            self.versions = "*".to_owned();
        }
        let requirement = VersionReq::parse(&self.versions)?;
        if self.tested.is_empty() {
            self.tested.extend(semver::Version::parse(self.versions.trim_start_matches('=')));
        }
        if let Some(fork) = &self.fork {
            self.versions += &format!(" of {fork}, written with -{fork}");
        }
        Ok(Family { folder: folder.to_path_buf(), driver: driver.to_owned(), manifest, requirement, ..self })
    }

    /// Whether it speaks this release.
    pub fn speaks(&self, version: &semver::Version) -> bool {
        match &self.fork {
            Some(fork) => version.pre.as_str() == fork && self.requirement.matches(&without_word(version)),
            None => self.requirement.matches(version) || self.tested.contains(version),
        }
    }

    /// The capabilities and types that `release` lacks; those that all of its releases lack if it is not known.
    pub(crate) fn lacks(&self, release: Option<&semver::Version>) -> BTreeSet<String> {
        // A requirement takes no pre-release.
        let release = release.map(without_word);
        let is_lacked = |of: &VersionReq| match &release {
            Some(release) => of.matches(release),
            None => *of == VersionReq::STAR,
        };
        let capabilities = self.lacks.iter().filter(|(_, of)| is_lacked(of)).map(|(name, _)| name);
        capabilities.chain(&self.lacks_types).cloned().collect()
    }

    /// Its folder below that of the sources.
    pub fn name(&self, sources: &Sources) -> String {
        self.folder.strip_prefix(sources.folder()).unwrap_or(&self.folder).display().to_string()
    }
}

/// The release without what follows its `-`.
fn without_word(release: &semver::Version) -> semver::Version {
    semver::Version { pre: semver::Prerelease::EMPTY, ..release.clone() }
}

/// The newest release of each minor one that the families were tested on, the oldest first.
pub(crate) fn releases(families: &[Family]) -> Result<Vec<semver::Version>, BuildError> {
    if let Some(ours) = families.iter().find(|family| family.library.is_none()) {
        return Err(BuildError::NoOtherVersion(ours.driver.clone()));
    }
    let mut newest: BTreeMap<(u64, u64), &semver::Version> = BTreeMap::new();
    for release in families.iter().flat_map(|family| &family.tested) {
        let known = newest.entry((release.major, release.minor)).or_insert(release);
        *known = release.max(*known);
    }
    Ok(newest.into_values().cloned().collect())
}

/// The version of a dependency as the manifest declares it, itself or through the workspace.
fn declared(sources: &Sources, manifest: &Table, name: &str) -> Option<String> {
    let version = |entry: &Value| entry.as_str().or_else(|| entry.get("version")?.as_str()).map(str::to_owned);
    let entry = manifest.get("dependencies")?.get(name)?;
    version(entry).or_else(|| {
        let root: Table = fs::read_to_string(sources.folder().join("Cargo.toml")).ok()?.parse().ok()?;
        version(root.get("workspace")?.get("dependencies")?.get(name)?)
    })
}

/// The newest family that speaks `version`. `found` is the version in a folder or a commit.
pub(crate) fn choose(
    families: &[Family],
    version: Option<&Version>,
    found: Option<&semver::Version>,
) -> Result<Choice, BuildError> {
    let Some(version) = version else { return Ok(Choice { family: 0, requirement: None }) };
    let driver = families.first().map(|family| family.driver.clone()).unwrap_or_default();
    if families.iter().all(|family| family.library.is_none()) {
        return Err(BuildError::NoOtherVersion(driver));
    }
    let first = |wanted: &semver::Version| families.iter().position(|family| family.speaks(wanted));
    let family = match (version, found) {
        // What comes after a release is spoken as that release.
        (_, Some(found)) => first(found).or_else(|| first(&without_word(found))),
        (Version::Release(release), None) => first(release),
        (Version::Begins(beginning), None) => {
            let most = 999_999;
            let last = semver::Version::new(beginning.major, beginning.minor.unwrap_or(most), most);
            let mut tested = families.iter().flat_map(|family| family.tested.iter().rev());
            first(&last)
                .or_else(|| tested.find(|tested| version.takes(tested)).and_then(first))
                .or_else(|| first(&semver::Version::new(beginning.major, beginning.minor.unwrap_or(0), 0)))
        }
        _ => Some(0),
    };
    let Some(family) = family else {
        let versions = families.iter().map(|family| family.versions.clone()).collect::<Vec<_>>();
        let asked = found.map_or_else(|| version.to_string(), |found| format!("{found} ({version})"));
        let is_meant = |release: &semver::Version| found.map_or(version.takes(release), |found| found == release);
        let mut unspoken = families.iter().flat_map(|family| &family.unspoken);
        let why = unspoken
            .find(|(release, _)| is_meant(release))
            .map_or(String::new(), |(_, why)| format!(", because {why}"));
        return Err(BuildError::NotSpoken(driver, asked, why, versions.join(" or ")));
    };
    let spoken = &families[family].versions;
    let requirement = version.requirement().map(|wanted| match version {
        Version::Release(_) => wanted,
        Version::Newest => spoken.clone(),
        _ => format!("{wanted}, {spoken}"),
    });
    Ok(Choice { family, requirement })
}

/// The release that is ordered, with its family. A beginning means the newest that is listed, and no version the newest of all; nothing else
/// of an order can be built.
pub(crate) fn native_release<'a>(
    families: &'a [Family],
    order: &Order,
) -> Result<(&'a Family, semver::Version), BuildError> {
    let plain = Order { version: order.version.clone(), ..Order { driver: order.driver.clone(), ..Order::default() } };
    let no_adapter = || BuildError::NoAdapter(order.driver.clone(), "crates alone".to_owned());
    let none_listed = |family: &Family| {
        let tested: Vec<String> = family.tested.iter().map(ToString::to_string).collect();
        BuildError::NotSpoken(
            order.driver.clone(),
            order.version.as_ref().map_or_else(String::new, ToString::to_string),
            ", because no release that is listed begins so".to_owned(),
            tested.join(", "),
        )
    };
    if plain != *order {
        return Err(no_adapter());
    }
    let version = order.version.as_ref().unwrap_or(&Version::Newest);
    let family = &families[choose(families, Some(version), None)?.family];
    let newest = || family.tested.iter().rev().find(|tested| version.takes(tested)).cloned();
    let release = match version {
        Version::Release(release) => Some(release.clone()),
        Version::Begins(_) | Version::Newest => newest(),
        Version::Path(_) | Version::Git { .. } => None,
    };
    match version {
        Version::Begins(_) if release.is_none() => Err(none_listed(family)),
        _ => release.map(|release| (family, release)).ok_or_else(no_adapter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::tests::sources_of;

    const NEWEST: &str = r#"
        [package]
        name = "cqldyno-driver-a"
        version.workspace = true
        [package.metadata.cqldyno]
        crate = "a"
        versions = ">=1.0.0, <2.0.0"
        tested = ["1.0.0", "1.9.0"]
        unspoken = { "0.12.1" = "its authors withdrew it from crates.io" }
        [dependencies]
        a.workspace = true
    "#;
    const OLDER: &str = r#"
        [package]
        name = "cqldyno-driver-a"
        version = "0.1.0"
        [package.metadata.cqldyno]
        crate = "a"
        versions = ">=0.2.1, <0.11.0"
        tested = ["0.3.0", "0.4.7"]
        [workspace]
        [dependencies]
        a = "=0.4.7"
    "#;

    fn families() -> Vec<Family> {
        let (_dir, sources) =
            sources_of(&[("a", NEWEST), ("a/0.2", OLDER), ("b", &NEWEST.replace("driver-a", "driver-b"))]);
        Family::all(&sources, "a").unwrap()
    }

    fn chosen(version: &str) -> Result<(usize, Option<String>), String> {
        let choice = choose(&families(), Some(&version.parse().unwrap()), None).map_err(|error| error.to_string())?;
        Ok((choice.family, choice.requirement))
    }

    #[test]
    fn families_are_found_by_their_package_and_the_newest_comes_first() {
        let families = families();
        assert_eq!(families.len(), 2);
        assert_eq!(families[0].versions, ">=1.0.0, <2.0.0");
        assert_eq!(families[1].tested.last(), Some(&semver::Version::new(0, 4, 7)));
    }

    #[test]
    fn every_adapter_of_a_crate_declares_the_calls_that_statements_go_through() {
        let sources = Sources::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))).unwrap();
        let drivers = sources.drivers();
        let families = drivers.iter().filter_map(|driver| Family::all(&sources, driver).ok()).flatten();
        let of_crates: Vec<Family> = families.filter(|family| family.library.is_some()).collect();
        assert!(of_crates.len() >= 4, "{of_crates:?}");
        for Family { folder, calls, .. } in of_crates {
            let operations: Vec<&str> = calls.keys().map(String::as_str).collect();
            assert_eq!(operations, ["batch", "execute", "prepare", "unprepared"], "{}", folder.display());
        }
    }

    #[test]
    fn a_version_chooses_the_family_that_speaks_it() {
        assert_eq!(chosen("1.9.0"), Ok((0, Some("=1.9.0".to_owned()))));
        assert_eq!(chosen("0.3.1"), Ok((1, Some("=0.3.1".to_owned()))));
        assert_eq!(chosen("0.5"), Ok((1, Some("~0.5, >=0.2.1, <0.11.0".to_owned()))));
        assert_eq!(chosen("1"), Ok((0, Some("~1, >=1.0.0, <2.0.0".to_owned()))));
        assert_eq!(chosen("0"), Ok((1, Some("~0, >=0.2.1, <0.11.0".to_owned()))), "its newest tested release");
        assert_eq!(chosen("newest"), Ok((0, Some(">=1.0.0, <2.0.0".to_owned()))));
        assert_eq!(choose(&families(), None, None).unwrap(), Choice { family: 0, requirement: None });
    }

    #[test]
    fn releases_are_the_newest_of_each_minor_one_in_order() {
        let newer = OLDER.replace(r#"["0.3.0", "0.4.7"]"#, r#"["0.3.0", "0.10.2", "0.3.11", "0.3.2"]"#);
        let noop = "[package]\nname = \"cqldyno-driver-noop\"\n";
        let (_dir, sources) = sources_of(&[("a", NEWEST), ("a/0.2", &newer), ("noop", noop)]);
        let of = |driver: &str| releases(&Family::all(&sources, driver).unwrap());
        let found: Vec<String> = of("a").unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(found, ["0.3.11", "0.10.2", "1.0.0", "1.9.0"]);
        let error = of("noop").unwrap_err().to_string();
        assert!(error.starts_with("noop is a part of cqldyno and has no other version"), "{error}");
    }

    #[test]
    fn what_a_release_lacks_is_known_from_the_manifest() {
        let lacks = "lacks = { connect = \"<1.2.9\", tls = \"*\" }\nlacks_types = [\"duration\"]\ntested";
        let (_dir, sources) = sources_of(&[("a", &NEWEST.replace("tested", lacks))]);
        let family = Family::all(&sources, "a").unwrap().remove(0);
        let of = |release: &str| Vec::from_iter(family.lacks(Some(&release.parse().unwrap())));
        assert_eq!(of("1.2.8"), ["connect", "duration", "tls"]);
        assert_eq!(of("1.2.8-beta.1"), ["connect", "duration", "tls"]);
        assert_eq!(of("1.2.9"), ["duration", "tls"]);
        assert_eq!(Vec::from_iter(family.lacks(None)), ["duration", "tls"], "whatever the release is");
    }

    #[test]
    fn the_manifests_lack_what_the_behaviour_suite_found_missing() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let sources = Sources::at(&root).unwrap();
        let table = fs::read_to_string(root.join("drivers/VERSIONS.md")).unwrap();
        let rows = table.lines().filter_map(|row| row.split_once("| passes"));
        let mut compared = BTreeSet::new();
        for (begin, found) in rows {
            let [_, driver, release, ..] = begin.split('|').map(str::trim).collect::<Vec<_>>()[..] else { continue };
            let families = Family::all(&sources, driver).unwrap();
            let release = semver::Version::parse(release).unwrap();
            let family = families.iter().find(|family| family.speaks(&release)).unwrap();
            // The suite names capabilities as the code does, and types, which begin with a small letter.
            let named = found.split([' ', ',']).filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
            let word = |name: &str| name.chars().filter(|c| *c != '_').collect::<String>();
            let named: BTreeSet<String> = named.map(str::to_ascii_lowercase).collect();
            let lacks = family.lacks(Some(&release));
            let lacks = lacks.iter().filter(|name| *name != "tls" && !family.lacks_types.contains(name));
            assert_eq!(lacks.map(|name| word(name)).collect::<BTreeSet<_>>(), named, "{driver}@{release}");
            compared.insert(format!("{driver} {release}"));
        }
        for driver in ["cassandra-cpp", "cdrs", "cdrs-tokio", "scylla"] {
            let families = Family::all(&sources, driver).unwrap();
            let tested = families.iter().flat_map(|family| &family.tested).map(|release| format!("{driver} {release}"));
            assert_eq!(tested.filter(|row| !compared.contains(row)).collect::<Vec<_>>(), [""; 0], "untested");
        }
    }

    #[test]
    fn a_folder_is_spoken_by_the_version_in_it() {
        let of = |found: &str| choose(&families(), Some(&"path:x".parse().unwrap()), Some(&found.parse().unwrap()));
        assert_eq!(of("0.4.0").unwrap(), Choice { family: 1, requirement: None });
        assert_eq!(of("1.10.0-dev").unwrap(), Choice { family: 0, requirement: None });
        assert!(of("2.0.0").unwrap_err().to_string().contains("a 2.0.0 (path:x) was asked for"));
    }

    #[test]
    fn what_no_family_speaks_is_refused_with_the_releases_that_one_does() {
        assert_eq!(
            chosen("0.12.0").unwrap_err(),
            "a 0.12.0 was asked for, and no adapter of cqldyno speaks it: they speak >=1.0.0, <2.0.0 or >=0.2.1, <0.11.0; ask for one of \
             these"
        );
        assert!(chosen("3").is_err() && chosen("0.20").is_err());
        for asked in ["0.12.1", "0.12"] {
            let begin = format!(
                "a {asked} was asked for, and no adapter of cqldyno speaks it, because its authors withdrew it"
            );
            let error = chosen(asked).unwrap_err();
            assert!(error.starts_with(&begin), "{error}");
        }
    }

    #[test]
    fn without_a_table_of_its_own_a_family_speaks_the_release_that_it_depends_on() {
        let plain = "[package]\nname = \"cqldyno-driver-c\"\n[dependencies]\nc = \"=3.0.2\"\n";
        let ours = "[package]\nname = \"cqldyno-driver-noop\"\n";
        let (_dir, sources) = sources_of(&[("c", plain), ("noop", ours)]);
        let family = Family::all(&sources, "c").unwrap().remove(0);
        assert_eq!((family.library.as_deref(), family.versions.as_str()), (Some("c"), "=3.0.2"));
        assert!(family.speaks(&semver::Version::new(3, 0, 2)) && !family.speaks(&semver::Version::new(3, 0, 3)));
        let noop = Family::all(&sources, "noop").unwrap();
        let error = choose(&noop, Some(&"0.2".parse().unwrap()), None).unwrap_err().to_string();
        assert!(error.starts_with("noop is a part of cqldyno and has no other version"), "{error}");
        let error = Family::all(&sources, "d").unwrap_err().to_string();
        assert_eq!(error, "cqldyno has no adapter for d that could be built; there are adapters for c, noop");
    }
}
