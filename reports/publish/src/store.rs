//! Published results: `reports/published/DATE/NAME`, a folder a run.
//!
//! A published run is what was measured (`run.json`, `cells.jsonl`, and the files that cells name in `files.tar.gz`) and what is
//! rendered from it (`page.html`, `table.md`). A date also has `README.md` and `chart.svg`, made from its runs, and `notes.md`,
//! written by hand if there is something to tell. `cqldyno report DIR --format F` makes every other rendering.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_reports::{Cell, Recorded, Run, read_cells};

use serde_json::Value;

use crate::path::machine_path;

pub(crate) const RUN: &str = "run.json";
/// Packed where generations have several rounds, and so thousands of turns.
pub(crate) const CELLS: &str = "cells.jsonl";
/// The files that cells name, packed.
pub(crate) const FILES: &str = "files.tar.gz";
pub(crate) const PAGE: &str = "page.html";
pub(crate) const TABLE: &str = "table.md";
pub(crate) const NOTES: &str = "notes.md";
pub(crate) const README: &str = "README.md";
pub(crate) const CHART: &str = "chart.svg";
/// The name of a run in which every cell was run once.
pub(crate) const CLASSIC: &str = "classic";
/// The name of a run of several blocks.
const BLOCKS: &str = "blocks";

/// How the name of a run that compares all releases of a driver begins.
const RELEASES: &str = "releases-";

/// The name of the first run of a plan.
pub(crate) fn plan_name(run: &Run) -> String {
    match run.plan.releases.first() {
        Some(all) => format!("{RELEASES}{}", all.split('@').next().unwrap_or_default()),
        None => if run.plan.blocks > 1 { BLOCKS } else { CLASSIC }.to_owned(),
    }
}

/// Whether a run is named by its plan; every other name was chosen when it was published.
pub(crate) fn is_of_a_plan(name: &str) -> bool {
    let name = unnumbered(name);
    name == BLOCKS || name == CLASSIC || name.starts_with(RELEASES)
}

/// The name of one of several runs of a plan: `blocks`, `blocks-2`, ...
pub(crate) fn numbered(name: &str, number: usize) -> String {
    if number == 1 { name.to_owned() } else { format!("{name}-{number}") }
}

/// The name of the first run of the same plan.
pub(crate) fn unnumbered(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((first, number)) if number.parse::<usize>().is_ok() => first,
        _ => name,
    }
}

/// The contenders of every published run: those of a comparison without names.
pub(crate) fn everybody() -> impl Iterator<Item = &'static str> {
    let lines = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/LIST")).lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#') && !line.contains(' '))
}

/// The context of an error of the system.
pub(crate) fn used(path: &Path) -> impl Fn() -> String {
    move || {
        format!("{} could not be used; name folders of runs, and start this in the repository's root", path.display())
    }
}

pub(crate) fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(used(path))
}

/// A run that is published, or is to be.
pub(crate) struct PublishedRun {
    /// As its folder is called: [`plan_name`] or a chosen name, with a number from the second of a plan on.
    pub name: String,
    pub folder: PathBuf,
    pub recorded: Recorded,
}

impl PublishedRun {
    pub fn read(folder: &Path) -> Result<PublishedRun> {
        Ok(PublishedRun { name: name_of(folder), folder: folder.to_path_buf(), recorded: recorded(folder)? })
    }
}

pub(crate) fn recorded(folder: &Path) -> Result<Recorded> {
    let run = text(&folder.join(RUN))?;
    let cells = read_cells(folder).with_context(used(&folder.join(CELLS)))?;
    Recorded::from_folder(&run, cells).with_context(|| format!("the run {} cannot be used", folder.display()))
}

/// Whether a file of that kind is published. Profiles of callgrind name the folders of every source file; their totals are measures. The
/// histograms of thousands of turns are large; their percentiles stand in the cells.
pub(crate) fn is_published(cell: &Cell, kind: &str) -> bool {
    kind != "callgrind" && (kind != "hdr" || has_own_histogram(cell))
}

/// Whether the cell does not share the file of its histogram with all turns.
pub(crate) fn has_own_histogram(cell: &Cell) -> bool {
    cell.files.get("hdr").map_or(cell.round.is_none(), |file| !file.ends_with("/turns.hlog"))
}

/// The files beside `run.json` and `cells.jsonl` that they name and that are published: those of cells, and the lock files of workers
/// built on demand.
pub(crate) fn named(run: &Run, cells: &[Cell]) -> BTreeSet<String> {
    let locks = run.contenders.iter().filter_map(|one| one.built.as_ref()).map(|built| &built.lock_file);
    let of_cell = |cell: &'_ Cell| -> Vec<String> {
        cell.files.iter().filter(|(kind, _)| is_published(cell, kind)).map(|(_, file)| file.clone()).collect()
    };
    cells.iter().flat_map(of_cell).chain(locks.cloned()).collect()
}

/// A run's `run.json` without the folders of the machine in which its libraries lay: of such a path the last two parts stay.
pub(crate) fn without_folders(text: &str) -> Result<String> {
    let mut run: Value = serde_json::from_str(text)?;
    let mut changed = false;
    let contenders = run["contenders"].as_array_mut().into_iter().flatten();
    for library in contenders.flat_map(|one| one["libraries"].as_array_mut().into_iter().flatten()) {
        let Some(path) = library["origin"].as_str().filter(|path| machine_path(path).is_some()) else { continue };
        let parts: Vec<&str> = path.rsplitn(3, '/').take(2).collect();
        library["origin"] = parts.into_iter().rev().collect::<Vec<_>>().join("/").into();
        changed = true;
    }
    Ok(if changed { serde_json::to_string_pretty(&run)? + "\n" } else { text.to_owned() })
}

/// Whether a file that a cell names lies in the run's folder.
pub(crate) fn is_inside(file: &str) -> bool {
    let mut parts = Path::new(file).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

pub(crate) fn name_of(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The folders in `folder`, in the order of their names.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).with_context(used(folder))?;
    let mut found: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// The runs of one date.
pub(crate) fn runs(date: &Path) -> Result<Vec<PublishedRun>> {
    folders(date)?.iter().map(|folder| PublishedRun::read(folder)).collect()
}
