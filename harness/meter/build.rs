//! Builds the interposer, which the program carries with it: a library that is preloaded cannot be linked into the program.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

/// What it is built from, from this crate's folder.
const SOURCES: [&str; 3] = ["../interposer", "../../Cargo.toml", "../../Cargo.lock"];
/// What would put another compiler or another folder in the place of this call's.
const WITHOUT: [&str; 2] = ["RUSTC_WORKSPACE_WRAPPER", "CARGO_BUILD_BUILD_DIR"];

fn main() -> Result<(), Box<dyn Error>> {
    let (target, out) = (env::var("TARGET")?, PathBuf::from(env::var("OUT_DIR")?));
    println!("cargo::rerun-if-changed=build.rs");
    SOURCES.iter().for_each(|path| println!("cargo::rerun-if-changed={path}"));
    // With a folder of its own it waits for no other cargo, least of all for the one that runs this.
    let folder = out.join("interposer");
    let mut cargo = Command::new(env::var_os("CARGO").ok_or("cargo does not say where it is")?);
    cargo.args(["build", "--release", "--locked", "--lib", "--manifest-path", "../interposer/Cargo.toml"]);
    cargo.args(["--config", "profile.release.strip=true", "--target", &target, "--target-dir"]).arg(&folder);
    for name in WITHOUT {
        cargo.env_remove(name);
    }
    let status = cargo.status()?;
    let library = folder.join(&target).join("release/libcqldyno_interposer.so");
    if !status.success() || !library.is_file() {
        return Err(format!("the library that counts allocations could not be built for {target} ({status})").into());
    }
    println!("cargo::rustc-env=CQLDYNO_INTERPOSER={}", library.display());
    Ok(())
}
