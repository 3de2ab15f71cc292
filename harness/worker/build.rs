//! Records what this worker is built from: the load generator's sources, libraries, compiler, target and profile.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/identity.rs"]
mod identity;
#[path = "src/packages.rs"]
mod packages;

use packages::packages;

/// Names the lock file in force, if it is not the nearest one above the target folder.
const LOCK_FILE: &str = "CQLDYNO_LOCK_FILE";
/// Set if the worker is to have tokio's alternative timer.
const TIMER: &str = "CQLDYNO_ALTERNATIVE_TIMER";
/// What cargo tells of target and profile.
const VARIABLES: [&str; 7] = [
    "TARGET",
    "PROFILE",
    "OPT_LEVEL",
    "DEBUG",
    "CARGO_CFG_PANIC",
    "CARGO_CFG_TARGET_FEATURE",
    "CARGO_ENCODED_RUSTFLAGS",
];
/// What of a profile cargo does not tell.
const UNTOLD: [&str; 2] = ["LTO", "CODEGEN_UNITS"];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let workspace = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    println!("cargo:rerun-if-env-changed={LOCK_FILE}");
    let named = env::var_os(LOCK_FILE).filter(|file| !file.is_empty()).map(PathBuf::from);
    let lock_file = named.or_else(|| lock_file(&out)).unwrap_or_else(|| workspace.join("Cargo.lock"));
    let root = lock_file.with_file_name("Cargo.toml");
    let mut parts = identity::parts(&workspace, &fs::read_to_string(&lock_file)?)?;

    let files = parts.keys().filter(|name| name.contains('/')).map(|name| workspace.join(name));
    let folders: Vec<PathBuf> = files.filter_map(|file| file.parent().map(Path::to_path_buf)).collect();
    for path in [&lock_file, &root, &workspace.join("Cargo.toml"), &workspace.join("harness/worker/build.rs")] {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    for folder in &folders {
        println!("cargo:rerun-if-changed={}", folder.display());
    }

    parts.extend(VARIABLES.map(|name| (name.to_owned(), env::var(name).unwrap_or_default())));
    let features = env::vars().filter_map(|(name, _)| name.strip_prefix("CARGO_FEATURE_").map(str::to_lowercase));
    parts.insert("features".to_owned(), features.collect::<Vec<_>>().join(" "));
    // The folder above `build/PACKAGE/out` is named after the profile; that of `dev` is called `debug`.
    let folder = out.ancestors().nth(3).and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
    let profile = if folder == "debug" { "dev" } else { folder };
    let root = fs::read_to_string(&root)?;
    for setting in UNTOLD {
        let variable = format!("CARGO_PROFILE_{}_{setting}", profile.to_uppercase().replace('-', "_"));
        println!("cargo:rerun-if-env-changed={variable}");
        let key = setting.to_lowercase().replace('_', "-");
        let stated = identity::lines(&root, &format!("profile.{profile}")).find(|(name, _)| *name == key);
        let stated = stated.map(|(_, value)| value.trim_matches('"').to_owned());
        parts.insert(setting.to_owned(), env::var(&variable).ok().or(stated).unwrap_or_default());
    }
    // Flags from a cargo configuration come before those that the builder of a contender adds.
    println!("cargo:rerun-if-env-changed={TIMER}");
    if env::var_os(TIMER).is_some() && env::var_os("CARGO_CFG_CQLDYNO_ALTERNATIVE_TIMER").is_none() {
        return Err("the alternative timer was asked for, and a cargo configuration has `rustflags` that cargo takes instead of those for \
                    it; set them in RUSTFLAGS"
            .into());
    }
    let compiler = Command::new(env::var("RUSTC")?).arg("-vV").output()?;
    let compiler = String::from_utf8(compiler.stdout)?.lines().next().unwrap_or_default().to_owned();
    parts.insert("compiler".to_owned(), compiler.clone());

    println!("cargo:rustc-env=CQLDYNO_LOCK_FILE={}", lock_file.display());
    println!("cargo:rustc-env=CQLDYNO_BUILD_ID={}", identity::id(&parts));
    println!("cargo:rustc-env=CQLDYNO_COMPILER={compiler}");
    println!("cargo:rustc-env=CQLDYNO_PROFILE={}", env::var("PROFILE")?);
    let lines: Vec<String> = parts.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect();
    fs::write(out.join("parts"), lines.concat())?;
    Ok(())
}

/// The lock file of the workspace that is built, which may not be this crate's: the nearest above the target folder.
fn lock_file(out: &Path) -> Option<PathBuf> {
    let has_worker = |lock: &PathBuf| {
        let text = fs::read_to_string(lock).unwrap_or_default();
        packages(&text).any(|package| package.name == env!("CARGO_PKG_NAME"))
    };
    out.ancestors().map(|folder| folder.join("Cargo.lock")).find(has_worker)
}
