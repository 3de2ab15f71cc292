//! What tells two builds apart.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toml::{Table, Value};

use crate::cargo::NOT_OURS;
use crate::checkout::digest;
use crate::family::Family;
use crate::sources::Sources;

/// Environment variables that change what cargo builds, and those whose names go on from these with `_`, such as `CC_x86_64_...`.
const VARIABLES: [&str; 15] = [
    "AR",
    "CARGO_BUILD",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_PROFILE",
    "CARGO_TARGET",
    "CC",
    "CFLAGS",
    "CPPFLAGS",
    "CXX",
    "CXXFLAGS",
    "JEMALLOC_SYS",
    "LDFLAGS",
    "RUSTC",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// Folders that no worker is built from.
pub(crate) const WITHOUT: [&str; 3] = ["tests", "examples", "benches"];

/// A digest of named parts, in their order.
pub(crate) fn key(parts: &[(&str, &str)]) -> String {
    let mut all = Sha256::new();
    for (name, value) in parts {
        all.update(format!("{name} {}\n", value.len()));
        all.update(value);
    }
    hexadecimal(&all.finalize())[..32].to_owned()
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of the adapter and of the load generator: all families of the driver and other folders that share files with them, and our
/// crates below them.
pub(crate) fn sources(sources: &Sources, family: &Family) -> io::Result<String> {
    let mut all = digest(&sources.folder().join("drivers").join(&family.driver), &WITHOUT)?;
    let root: Table = parse(&fs::read_to_string(sources.folder().join("Cargo.toml"))?);
    let (mut open, mut seen) = (paths(&family.manifest, &family.folder, &root, sources), Vec::new());
    open.extend(family.shares.iter().map(|folder| family.folder.join(folder)));
    while let Some(folder) = open.pop() {
        let folder = folder.canonicalize()?;
        if seen.contains(&folder) {
            continue;
        }
        all += &digest(&folder, &WITHOUT)?;
        let manifest = parse(&fs::read_to_string(folder.join("Cargo.toml"))?);
        open.extend(paths(&manifest, &folder, &root, sources));
        seen.push(folder);
    }
    Ok(all)
}

fn parse(manifest: &str) -> Table {
    manifest.parse().unwrap_or_default()
}

/// The folders of the crates of ours that a manifest depends on.
fn paths(manifest: &Table, folder: &Path, root: &Table, sources: &Sources) -> Vec<PathBuf> {
    let shared = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let tables = ["dependencies", "build-dependencies"];
    let dependencies = tables.iter().filter_map(|name| manifest.get(*name)?.as_table()).flatten();
    dependencies
        .filter_map(|(name, entry)| {
            let path = |entry: &Value| entry.get("path").and_then(Value::as_str).map(PathBuf::from);
            path(entry)
                .map(|path| folder.join(path))
                .or_else(|| path(shared?.get(name)?).map(|path| sources.folder().join(path)))
        })
        .collect()
}

/// What else cargo takes flags from: the environment, and its configuration files.
pub(crate) fn flags(sources: &Sources, environment: impl Iterator<Item = (OsString, OsString)>) -> String {
    let environment = environment.map(|(name, value)| (name.to_string_lossy().into_owned(), value));
    let changes = |name: &str| {
        let mut rests = VARIABLES.iter().filter_map(|known| name.strip_prefix(known));
        rests.any(|rest| rest.is_empty() || rest.starts_with('_')) && !NOT_OURS.contains(&name)
    };
    let mut set: Vec<String> = environment
        .filter(|(name, _)| changes(name))
        .map(|(name, value)| format!("{name}={}\n", value.to_string_lossy()))
        .collect();
    set.sort();
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let files = sources.folder().ancestors().map(|folder| folder.join(".cargo")).chain(home);
    let files = files.flat_map(|folder| ["config.toml", "config"].map(|name| folder.join(name)));
    let files = files.filter_map(|file| fs::read_to_string(file).ok());
    set.into_iter().chain(files).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::tests::sources_of;

    #[test]
    fn a_changed_byte_of_adapter_or_load_generator_is_another_key_and_a_test_is_none() {
        let manifest = "[package]\nname = \"cqldyno-driver-a\"\nmetadata.cqldyno.shares = [\"../c\"]\n[dependencies]\n\
                        cqldyno-worker.workspace = true\n[build-dependencies]\nd.path = \"../d\"\n";
        let (dir, found) = sources_of(&[("a", manifest), ("b", manifest), ("c", manifest), ("d", manifest)]);
        let family = Family::all(&found, "a").unwrap().remove(0);
        let now = || sources(&found, &family).unwrap();
        let before = now();
        for (file, changes) in [
            ("drivers/a/src/lib.rs", true),
            ("harness/worker/src/lib.rs", true),
            ("drivers/b/src/lib.rs", false),
            ("drivers/c/src/lib.rs", true),
            ("drivers/d/src/lib.rs", true),
            ("drivers/a/target/built", false),
            ("drivers/a/tests/behaviour.rs", false),
        ] {
            let path = dir.path().join(file);
            let text = fs::read_to_string(&path).unwrap_or_default();
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text.clone() + "x").unwrap();
            assert_eq!(now() != before, changes, "{file}");
            fs::write(&path, text).unwrap();
        }
        assert_eq!(now(), before);
    }

    #[test]
    fn a_variable_that_changes_what_is_built_is_another_key_and_one_that_cargo_does_not_see_is_none() {
        use std::os::unix::ffi::OsStringExt;
        let (_dir, found) = sources_of(&[]);
        let with = |name: &str, value: &[u8]| {
            flags(&found, std::iter::once((name.into(), OsString::from_vec(value.to_vec()))))
        };
        let none = flags(&found, std::iter::empty());
        for name in [
            "RUSTFLAGS",
            "RUSTC_WRAPPER",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS",
            "CARGO_PROFILE_RELEASE_LTO",
            "CXXFLAGS",
            "CC_x86_64-unknown-linux-gnu",
        ] {
            assert!(with(name, b"x") != none && with(name, b"x") != with(name, b"y"), "{name}");
        }
        for name in ["CARGO_TARGET_DIR", "CARGO_HOME_PAGE", "CCACHE", "RUST_LOG"] {
            assert_eq!(with(name, b"x"), none, "{name}");
        }
        assert_ne!(with("CFLAGS", b"\xff"), none, "a value need not be text");
    }

    #[test]
    fn parts_of_other_lengths_never_make_the_same_key() {
        assert_ne!(key(&[("a", "xy"), ("b", "")]), key(&[("a", "x"), ("b", "y")]));
        assert_eq!(key(&[("a", "x")]), key(&[("a", "x")]));
    }
}
