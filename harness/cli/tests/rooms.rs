//! The rooms of the crate use each other in one direction only.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::{Path, PathBuf};

/// Each room uses only those before it.
const ROOMS: [&str; 24] = [
    "heading",
    "count",
    "outcome",
    "terminal",
    "known",
    "names",
    "login",
    "access",
    "nodes",
    "progress",
    "interrupt",
    "repetition",
    "format",
    "recorded",
    "trial",
    "plan",
    "prices",
    "regress",
    "pr",
    "bisect",
    "ladder",
    "command",
    "arguments",
    "refusal",
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The product's lines: what a test uses is its own affair.
fn product(file: &Path) -> String {
    match file.ends_with("tests.rs") {
        true => String::new(),
        false => fs::read_to_string(file).unwrap().split("#[cfg(test)]").next().unwrap_or_default().to_owned(),
    }
}

#[test]
fn no_room_uses_one_that_comes_after_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut circles = Vec::new();
    for (at, room) in ROOMS.iter().enumerate() {
        for file in files(&src.join(room)).into_iter().chain([src.join(format!("{room}.rs"))]) {
            let text = product(&file);
            let lists = text.lines().filter_map(|line| line.trim_start().strip_prefix("use crate::{"));
            let listed: Vec<&str> = lists.flat_map(|list| list.split([',', ' ', '}'])).collect();
            let uses = |room: &str| text.contains(&format!("crate::{room}::")) || listed.contains(&room);
            let later = ROOMS[at + 1..].iter().filter(|later| uses(later));
            circles.extend(later.map(|later| format!("{} uses {later}", file.display())));
        }
    }
    assert_eq!(circles, [""; 0]);
}

#[test]
fn every_file_is_in_a_room() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let is_room = |path: &PathBuf| ROOMS.contains(&path.file_stem().unwrap().to_str().unwrap());
    let others: Vec<PathBuf> =
        fs::read_dir(src).unwrap().map(|entry| entry.unwrap().path()).filter(|path| !is_room(path)).collect();
    assert!(others.iter().all(|path| path.ends_with("main.rs")), "{others:?}");
}
