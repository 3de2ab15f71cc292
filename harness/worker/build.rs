//! Records how the worker is built: an identity of everything that shapes the load generator, the compiler and the profile.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[path = "src/lock/closure.rs"]
mod closure;

/// What is compiled into every worker beside its adapter, relative to the workspace.
const SOURCES: [&str; 4] = ["drivers/api/src", "harness/protocol/src", "harness/worker/src", "scenarios/src"];

/// Where profiles and features are chosen.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "harness/worker/Cargo.toml"];

/// What besides sources and manifests changes the code that the compiler makes.
const VARIABLES: [&str; 7] = [
    "TARGET",
    "PROFILE",
    "OPT_LEVEL",
    "DEBUG",
    "CARGO_CFG_PANIC",
    "CARGO_CFG_TARGET_FEATURE",
    "CARGO_ENCODED_RUSTFLAGS",
];

fn main() -> Result<(), Box<dyn Error>> {
    let manifest_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = manifest_dir.join("../..").canonicalize()?;
    let mut identity = Identity::new();

    let lock_file = workspace.join("Cargo.lock");
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", workspace.join(source).display());
        collect_rust_files(&workspace.join(source), &mut files)?;
    }
    println!("cargo:rerun-if-changed={}", lock_file.display());
    println!("cargo:rerun-if-changed=build.rs");
    files.sort();
    for file in &files {
        identity.add(file.strip_prefix(&workspace)?.as_os_str().as_encoded_bytes());
        identity.add(&fs::read(file)?);
    }
    println!("cargo:rustc-env=CQLDYNO_GENERATOR_ID={:032x}", identity.0);
    // Only what the load generator is built with: two versions of a driver may need other libraries of their own.
    let locked = closure::closure(&fs::read_to_string(&lock_file)?, &env::var("CARGO_PKG_NAME")?);
    let mut lock = Identity::new();
    locked.iter().for_each(|package| lock.add(package.as_bytes()));
    println!("cargo:rustc-env=CQLDYNO_LOCK_ID={:032x}", lock.0);
    identity.add(lock.0.to_string().as_bytes());

    let compiler = Command::new(env::var("RUSTC")?).arg("-vV").output()?;
    identity.add(&compiler.stdout);
    for variable in VARIABLES {
        identity.add(env::var(variable).unwrap_or_default().as_bytes());
    }
    for manifest in MANIFESTS {
        println!("cargo:rerun-if-changed={}", workspace.join(manifest).display());
        identity.add(&fs::read(workspace.join(manifest))?);
    }
    // A profile's settings (lto, codegen-units and so on) may come from the environment, too.
    for setting in ["LTO", "CODEGEN_UNITS", "PANIC", "OPT_LEVEL", "DEBUG"] {
        let variable = format!("CARGO_PROFILE_{}_{setting}", env::var("PROFILE")?.to_uppercase());
        println!("cargo:rerun-if-env-changed={variable}");
        identity.add(env::var(variable).unwrap_or_default().as_bytes());
    }

    let version_line = String::from_utf8(compiler.stdout)?.lines().next().unwrap_or_default().to_owned();
    println!("cargo:rustc-env=CQLDYNO_BUILD_ID={:032x}", identity.0);
    println!("cargo:rustc-env=CQLDYNO_COMPILER={version_line}");
    println!("cargo:rustc-env=CQLDYNO_PROFILE={}", env::var("PROFILE")?);
    Ok(())
}

fn collect_rust_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_rust_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// FNV-1a in 128 bits (Fowler, Noll and Vo): nobody forges a build of their own, so a plain hash will do.
struct Identity(u128);

impl Identity {
    fn new() -> Identity {
        Identity(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
