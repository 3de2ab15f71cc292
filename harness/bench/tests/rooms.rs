//! The rooms of the crate use each other in one direction only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

/// Each room uses only those before it.
const ROOMS: [&str; 7] = ["plan", "judge", "process", "record", "cell", "run", "conform"];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The product's lines: what a test uses is its own affair.
fn product(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    match file.ends_with("tests.rs") {
        true => String::new(),
        false => text.split("#[cfg(test)]").next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn no_room_uses_one_that_comes_after_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut circles = Vec::new();
    for (at, room) in ROOMS.iter().enumerate() {
        for file in files(&src.join(room)).into_iter().chain([src.join(format!("{room}.rs"))]) {
            let text = product(&file);
            let later = ROOMS[at + 1..].iter().filter(|later| text.contains(&format!("crate::{later}::")));
            circles.extend(later.map(|later| format!("{} uses {later}", file.display())));
        }
    }
    assert_eq!(circles, [""; 0]);
}
