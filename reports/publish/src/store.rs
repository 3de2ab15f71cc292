//! Published results: `reports/published/DATE/NAME`, a folder a run.
//!
//! A published run is what was measured (`run.json`, `cells.jsonl`, and the files that cells name in `files.tar.gz`) and what is
//! rendered from it (`page.html`, `table.md`). A date also has `README.md` and `chart.svg`, made from its runs, and `notes.md`,
//! written by hand if there is something to tell. `cqldyno report DIR --format F` makes every other rendering.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use cqldyno_reports::{CELLS, Cell, PublishedRun, Recorded, Run, read_cells};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use tar::{Archive, Builder, HeaderMode};

use crate::path::machine_path;

pub(crate) const RUN: &str = "run.json";
pub(crate) const FILES: &str = "files.tar.gz";
pub(crate) const PAGE: &str = "page.html";
pub(crate) const TABLE: &str = "table.md";
pub(crate) const NOTES: &str = "notes.md";
pub(crate) const README: &str = "README.md";
pub(crate) const CHART: &str = "chart.svg";

/// The contenders of every published run: those of a comparison without names.
pub(crate) fn everybody() -> impl Iterator<Item = &'static str> {
    let lines = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/LIST")).lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#') && !line.contains(' '))
}

pub(crate) fn used(path: &Path) -> impl Fn() -> String {
    move || {
        format!("{} could not be used; name folders of runs, and start this in the repository's root", path.display())
    }
}

pub(crate) fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(used(path))
}

/// The run in a folder, under the folder's name.
pub(crate) fn read(folder: &Path) -> Result<PublishedRun> {
    let run = text(&folder.join(RUN))?;
    let cells = read_cells(folder).with_context(used(&folder.join(CELLS)))?;
    let recorded = Recorded::from_folder(&run, cells);
    let recorded = recorded.with_context(|| format!("the run {} cannot be used", folder.display()))?;
    Ok(PublishedRun { name: name_of(folder), folder: folder.to_path_buf(), recorded })
}

/// Whether a cell's file of that kind is published. Profiles of callgrind name the folders of every source file; their totals are measures.
/// The histogram that thousands of turns share is large; their percentiles stand in the cells.
pub(crate) fn is_published(kind: &str, file: &str) -> bool {
    kind != "callgrind" && !(kind == "hdr" && file.ends_with("/turns.hlog"))
}

/// The files beside `run.json` and `cells.jsonl` that they name and that are published: those of cells, and the lock files of workers
/// built on demand.
pub(crate) fn named(run: &Run, cells: &[Cell]) -> BTreeSet<String> {
    let locks = run.contenders.iter().filter_map(|one| one.built.as_ref()).map(|built| &built.lock_file);
    let files = cells.iter().flat_map(|cell| cell.files.iter()).filter(|(kind, file)| is_published(kind, file));
    files.map(|(_, file)| file).chain(locks).cloned().collect()
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

pub(crate) fn runs(date: &Path) -> Result<Vec<PublishedRun>> {
    folders(date)?.iter().map(|folder| read(folder)).collect()
}

/// Packs the files of `folder` with these names into `to`; the same files give the same archive.
pub(crate) fn pack(folder: &Path, names: &BTreeSet<String>, to: &Path) -> Result<()> {
    let file = File::create(to).with_context(used(to))?;
    let mut archive = Builder::new(GzEncoder::new(file, Compression::best()));
    archive.mode(HeaderMode::Deterministic);
    for name in names {
        let path = folder.join(name);
        archive.append_path_with_name(&path, name).with_context(used(&path))?;
    }
    archive.into_inner().and_then(GzEncoder::finish).map(drop).with_context(used(to))
}

pub(crate) fn pack_cells(folder: &Path, to: &Path) -> Result<()> {
    let mut cells = read_cells(folder).with_context(used(&folder.join(CELLS)))?;
    let mut packed = GzEncoder::new(File::create(to).with_context(used(to))?, Compression::best());
    io::copy(&mut cells, &mut packed).and_then(|_| packed.finish()).map(drop).with_context(used(to))
}

pub(crate) fn unpack(path: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    for entry in Archive::new(GzDecoder::new(File::open(path)?)).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        found.insert(name, bytes);
    }
    Ok(found)
}
