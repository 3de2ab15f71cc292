//! A run that was kept: a run folder, or what `--format json` printed.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_bench::DEFAULT_PARENT;
use cqldyno_reports::{Recorded, read_cells};
use serde_json::Value;

use crate::outcome::usage;
use crate::{repetition, terminal};

/// The command of a run that is composed anew, in words of this version.
const COMPARE: &str = "cqldyno compare";

/// How deep run folders may lie.
const DEPTH: usize = 8;

/// The word for the run that started last.
pub const LATEST: &str = "latest";

/// The path as it was given, or that of the run below `cqldyno-runs` that started last for the word `latest`.
pub fn path_of(given: &Path) -> Result<PathBuf> {
    if given != Path::new(LATEST) {
        return Ok(given.to_path_buf());
    }
    let folders = std::fs::read_dir(DEFAULT_PARENT).into_iter().flatten().flatten().map(|entry| entry.path());
    let started = |folder: PathBuf| {
        let run: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("run.json")).ok()?).ok()?;
        Some((run["started"].as_str()?.to_owned(), folder))
    };
    let (_, found) = folders.filter_map(started).max().ok_or_else(|| {
        usage(format!("there is no run in {DEFAULT_PARENT}; name a run folder, or make a run with `cqldyno compare`"))
    })?;
    terminal::say(&format!("The latest run is {}.", found.display()));
    Ok(found)
}

/// Reads the run in `given`, a path or the word `latest`.
pub fn read(given: &Path) -> Result<Recorded> {
    let path = &path_of(given)?;
    let shown = path.display();
    if !path.exists() {
        return Err(usage(format!("there is no run {shown}; name a run folder, a result in JSON, or `{LATEST}`")));
    }
    let unreadable = |file: &Path| {
        let file = file.display().to_string();
        move || format!("{file} cannot be read; name a run folder, a result in JSON, or `{LATEST}`")
    };
    let bytes = |file: &Path| std::fs::read(file).with_context(unreadable(file));
    let found = if path.is_dir() {
        let run = String::from_utf8_lossy(&bytes(&path.join("run.json"))?).into_owned();
        Recorded::from_folder(&run, read_cells(path).with_context(unreadable(&path.join("cells.jsonl")))?)
    } else {
        Recorded::from_document(&String::from_utf8_lossy(&bytes(path)?))
    };
    let mut found = found.map_err(|error| anyhow::anyhow!("the run {shown} cannot be used: {error}"))?;
    // What another question asked cannot be told from the plan.
    let other = found.run.command.take().filter(|command| !command.starts_with(COMPARE));
    found.run.command = other.or_else(|| Some(repetition::command(&found.run)));
    Ok(found)
}

/// The run folders in and below `folder` in the order of their names, and the folders that cannot be read, each with the reason; links are
/// not followed.
pub fn runs_in(folder: &Path) -> (Vec<PathBuf>, Vec<(PathBuf, String)>) {
    let (mut found, mut unreadable) = (Vec::new(), Vec::new());
    search(folder, DEPTH, &mut found, &mut unreadable);
    found.sort();
    (found, unreadable)
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, unreadable: &mut Vec<(PathBuf, String)>) {
    if folder.join("run.json").is_file() {
        found.push(folder.to_path_buf());
        return;
    }
    if depth == 0 {
        return;
    }
    match std::fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(entries) => {
            for entry in entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
                search(&entry.path(), depth - 1, found, unreadable);
            }
        }
        Err(error) => {
            let why = format!("the folder {} cannot be read: {error}", folder.display());
            unreadable.push((folder.to_path_buf(), why));
        }
    }
}
