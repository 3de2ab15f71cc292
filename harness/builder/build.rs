//! Packs what workers are built from into an archive, which the program carries with it.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Drivers and load generator, with the lock file that every build starts from.
const PARTS: [&str; 7] =
    ["Cargo.toml", "Cargo.lock", "drivers", "harness/protocol", "harness/script", "harness/worker", "scenarios"];
/// What no worker is built from: folders and files of these names, and files that end so.
const WITHOUT: [&str; 7] = ["benches", "examples", "node_modules", "__pycache__", "target", "tests", "Cargo.lock"];
const WITHOUT_ENDS: [&str; 2] = ["md", "svg"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("../..").canonicalize()?;
    let out = File::create(PathBuf::from(env::var("OUT_DIR")?).join("sources.tar.gz"))?;
    let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::best()));
    // The same sources are the same bytes, whenever and by whomever they are packed.
    archive.mode(tar::HeaderMode::Deterministic);
    archive.follow_symlinks(false);
    println!("cargo::rerun-if-changed=build.rs");
    for part in PARTS {
        println!("cargo::rerun-if-changed={}", root.join(part).display());
        for file in files(&root.join(part))? {
            archive.append_path_with_name(&file, file.strip_prefix(&root)?)?;
        }
    }
    archive.into_inner()?.finish()?;
    Ok(())
}

/// The file at `path`, or those below it that a worker may be built from, in order.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() || path.is_symlink() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries: io::Result<Vec<PathBuf>> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect();
    let mut entries = entries?;
    entries.retain(|entry| !is_left_out(entry));
    entries.sort();
    let all: io::Result<Vec<Vec<PathBuf>>> = entries.iter().map(|entry| files(entry)).collect();
    Ok(all?.concat())
}

fn is_left_out(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or(".");
    let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
    name.starts_with('.') || WITHOUT.contains(&name) || WITHOUT_ENDS.contains(&end)
}
