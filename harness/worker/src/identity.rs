//! What a worker is built from: named parts, each with its value or a digest of it.
//!
//! Files of the load generator decide whether two workers may be compared. Libraries, compiler and profile are a part of the contender.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::packages::{Package, field, packages};

/// The crate that every worker is built with; its dependencies among our crates follow from its manifest.
const WORKER: &str = "harness/worker";

/// Parts by their names: files by their paths, then `library NAME`.
pub type Parts = BTreeMap<String, String>;

/// The sources and libraries of the load generator in `workspace`, built with the versions of `lock`.
///
/// Only what is compiled into a worker counts: no tests, and no optional dependency.
///
/// # Errors
/// When a file of the load generator cannot be read.
pub fn parts(workspace: &Path, lock: &str) -> io::Result<Parts> {
    let root = fs::read_to_string(workspace.join("Cargo.toml"))?;
    let mut parts = Parts::new();
    let mut libraries = Vec::new();
    let (mut open, mut seen) = (vec![WORKER.to_owned()], Vec::new());
    while let Some(folder) = open.pop() {
        if seen.contains(&folder) {
            continue;
        }
        let manifest = fs::read_to_string(workspace.join(&folder).join("Cargo.toml"))?;
        let mut files = vec![workspace.join(&folder).join("Cargo.toml")];
        sources(&workspace.join(&folder).join("src"), &mut files)?;
        for file in files {
            let name = file.strip_prefix(workspace).unwrap_or(&file).display().to_string();
            parts.insert(name, digest(&fs::read(&file)?));
        }
        let name = section(&manifest, "package", "name").unwrap_or_default().trim_matches('"');
        let own = packages(lock).find(|package| package.name == name);
        let locked: Vec<Package<'_>> = own.into_iter().flat_map(|package| package.dependencies(lock)).collect();
        for name in dependencies(&manifest) {
            let declaration = section(&root, "workspace.dependencies", name).unwrap_or_default();
            match declaration.split_once("path = \"").and_then(|(_, path)| path.split_once('"')) {
                Some((path, _)) => open.push(path.to_owned()),
                None => libraries.extend(locked.iter().filter(|package| package.name == name)),
            }
        }
        seen.push(folder);
    }
    for (name, versions) in versions(lock, libraries) {
        parts.insert(format!("library {name}"), versions.join(" and "));
    }
    Ok(parts)
}

/// These packages and all that they depend on, directly or not: the versions of each name, with the source of what does not come
/// from crates.io.
fn versions<'a>(lock: &'a str, roots: impl IntoIterator<Item = Package<'a>>) -> BTreeMap<&'a str, Vec<String>> {
    let mut open: Vec<Package<'_>> = roots.into_iter().collect();
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    while let Some(package) = open.pop() {
        let source = match field(package.entry, "source") {
            Some("registry+https://github.com/rust-lang/crates.io-index") => String::new(),
            source => format!(" from {}", source.unwrap_or("a folder")),
        };
        let version = format!("{}{source}", package.version);
        let known = found.entry(package.name).or_default();
        if let Err(at) = known.binary_search(&version) {
            known.insert(at, version);
            open.extend(package.dependencies(lock));
        }
    }
    found
}

/// The names of the dependencies in a manifest that every build has.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    lines(manifest, "dependencies")
        .filter(|(_, value)| !value.contains("optional = true"))
        .map(|(name, _)| name.split('.').next().unwrap_or(name))
}

/// The keys and values of one table of a manifest, each on its line.
pub fn lines<'a>(manifest: &'a str, table: &str) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
    let header = format!("[{table}]");
    let lines = manifest.lines().map(str::trim).skip_while(move |line| *line != header).skip(1);
    lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        Some((key.trim(), value.trim()))
    })
}

fn section<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    lines(manifest, table).find(|(found, _)| *found == key).map(|(_, value)| value)
}

/// Adds the Rust files below `folder` but those that only tests are built from.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_for_tests = path.file_stem().is_some_and(|name| name == "tests");
        if path.is_dir() && !is_for_tests {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_for_tests {
            files.push(path);
        }
    }
    Ok(())
}

/// One text that changes with any file.
pub fn id(parts: &Parts) -> String {
    let files = parts.iter().filter(|(name, _)| name.contains('/'));
    let lines: Vec<String> = files.map(|(name, value)| format!("{name}\t{value}\n")).collect();
    digest(lines.concat().as_bytes())
}

/// FNV-1a in 128 bits (Fowler, Noll and Vo): nobody forges a build of their own, so a plain hash will do.
fn digest(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(*byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packages::tests::LOCK;

    #[test]
    fn a_package_is_built_with_what_is_beneath_it_and_from_where() {
        let roots = packages(LOCK).filter(|package| package.name == "generator");
        let found: Vec<_> = versions(LOCK, roots).into_iter().map(|(name, all)| (name, all.join(", "))).collect();
        assert_eq!(
            found.iter().map(|(name, versions)| (*name, versions.as_str())).collect::<Vec<_>>(),
            [
                ("beneath", "1.0.0 from a folder"),
                ("generator", "0.1.0 from a folder"),
                ("hash", "0.10.0 from git+https://example.org/hash#0123"),
                ("only", "3.1.4")
            ]
        );
    }

    /// A copy of what the load generator is built from, with its lock file.
    fn copy() -> (tempfile::TempDir, String) {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let copy = tempfile::tempdir().unwrap();
        let lock = fs::read_to_string(workspace.join("Cargo.lock")).unwrap();
        for name in parts(&workspace, &lock).unwrap().keys().filter(|name| name.contains('/')) {
            let to = copy.path().join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(workspace.join(name), to).unwrap();
        }
        fs::copy(workspace.join("Cargo.toml"), copy.path().join("Cargo.toml")).unwrap();
        (copy, lock)
    }

    fn change(file: &Path, from: &str, to: &str) {
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains(from), "{}", file.display());
        fs::write(file, text.replacen(from, to, 1)).unwrap();
    }

    fn changed(before: &Parts, after: &Parts) -> Vec<String> {
        let differs = |name: &&String| before.get(*name) != after.get(*name);
        before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))).filter(differs).cloned().collect()
    }

    #[test]
    fn the_load_generator_is_its_four_crates_and_their_libraries_without_drivers_and_tests() {
        let (copy, lock) = copy();
        let parts = parts(copy.path(), &lock).unwrap();
        for name in [
            "drivers/api/src/rows.rs",
            "harness/worker/src/cell.rs",
            "harness/protocol/Cargo.toml",
            "scenarios/src/zipf.rs",
        ] {
            assert!(parts.contains_key(name), "{name}");
        }
        assert!(parts.keys().all(|name| !name.contains("tests")), "{parts:?}");
        for name in ["library tokio", "library mio", "library serde_json"] {
            assert!(parts.contains_key(name), "{name}");
        }
        for name in ["library scylla", "library cqldyno-cluster", "library proptest", "library strsim-no"] {
            assert!(!parts.contains_key(name), "{name}");
        }
    }

    #[test]
    fn another_crate_or_another_version_of_a_driver_changes_nothing() {
        let (copy, lock) = copy();
        let before = parts(copy.path(), &lock).unwrap();
        change(&copy.path().join("Cargo.toml"), "members = [", "members = [\n    \"drivers/added\",");
        change(&copy.path().join("Cargo.toml"), "scylla = \"=", "added = \"1.0\"\nscylla = \"=9");
        let added = "\n[[package]]\nname = \"added\"\nversion = \"1.0.0\"\ndependencies = [\n \"tokio\",\n]\n";
        let other = lock.replace("name = \"scylla\"\nversion = \"", "name = \"scylla\"\nversion = \"9") + added;
        assert_ne!(other.len(), lock.len() + added.len());
        assert_eq!(changed(&before, &parts(copy.path(), &other).unwrap()), [""; 0]);
    }

    #[test]
    fn a_changed_byte_and_a_new_file_are_another_load_generator_and_another_library_is_not() {
        let (copy, lock) = copy();
        let before = parts(copy.path(), &lock).unwrap();
        let now = || parts(copy.path(), &lock).unwrap();
        change(&copy.path().join("harness/worker/src/gauge.rs"), "\n", " \n");
        assert_eq!(changed(&before, &now()), ["harness/worker/src/gauge.rs"]);
        assert_ne!(id(&before), id(&now()));
        change(&copy.path().join("harness/worker/src/gauge.rs"), " \n", "\n");
        fs::write(copy.path().join("scenarios/src/new.rs"), "").unwrap();
        assert_eq!(changed(&before, &now()), ["scenarios/src/new.rs"]);
        assert_ne!(id(&before), id(&now()));
        fs::remove_file(copy.path().join("scenarios/src/new.rs")).unwrap();
        let other = lock.replace("name = \"mio\"\nversion = \"", "name = \"mio\"\nversion = \"9");
        let other = parts(copy.path(), &other).unwrap();
        assert_eq!(changed(&before, &other), ["library mio"]);
        assert_eq!(id(&before), id(&other));
    }
}
