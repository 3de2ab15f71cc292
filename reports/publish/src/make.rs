//! From run folders to what is published.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cqldyno_reports::{Analysis, Cell, EXPORTERS, Look, Recorded, Run};

use crate::archive::pack;
use crate::check::check;
use crate::store::{
    BLOCKS, CELLS, CLASSIC, FILES, NOTES, PAGE, PublishError, PublishedRun, RUN, TABLE, dates, io_error, is_inside,
    recorded, runs,
};

/// Publishes the runs in `folders` below `published`: copies what was measured, renders page and table, and checks all of it.
///
/// Returns the folders that were made. The workers' logs and the other renderings are left out.
///
/// # Errors
/// When a run cannot be read, is there already, or is not as a published one must be; nothing is left behind then.
pub fn publish(folders: &[PathBuf], published: &Path) -> Result<Vec<PathBuf>, PublishError> {
    let mut made = Vec::new();
    let done = folders.iter().try_for_each(|folder| one(folder, published, &mut made));
    let done = done.and_then(|()| {
        let dates: BTreeSet<&Path> = made.iter().filter_map(|path| path.parent()).collect();
        let found: Vec<(PathBuf, Vec<String>)> = dates
            .into_iter()
            .map(|date| (date.join(NOTES), check(date)))
            .filter(|(_, found)| !found.is_empty())
            .collect();
        match found.into_iter().next() {
            Some((notes, found)) => Err(PublishError::Unsound { found, notes }),
            None => Ok(()),
        }
    });
    if done.is_err() {
        for path in &made {
            // The error above matters more than a part that stays.
            let _ = fs::remove_dir_all(path);
            let _ = path.parent().map(fs::remove_dir);
        }
    }
    done.map(|()| made)
}

fn one(folder: &Path, published: &Path, made: &mut Vec<PathBuf>) -> Result<(), PublishError> {
    let Recorded { run, cells, .. } = recorded(folder)?;
    if let Some(file) = cells.iter().flat_map(|cell| cell.files.values()).find(|file| !is_inside(file)) {
        return Err(PublishError::Outside { run: folder.to_path_buf(), file: file.clone() });
    }
    let name = if run.plan.blocks > 1 { BLOCKS } else { CLASSIC };
    let to = published.join(run.started.strftime("%Y-%m-%d").to_string()).join(name);
    if to.exists() {
        return Err(PublishError::Taken { run: folder.to_path_buf(), path: to });
    }
    fs::create_dir_all(&to).map_err(io_error(&to))?;
    made.push(to.clone());
    for file in [RUN, CELLS] {
        fs::copy(folder.join(file), to.join(file)).map_err(io_error(&folder.join(file)))?;
    }
    let files: BTreeSet<String> = cells.iter().flat_map(|cell| cell.files.values().cloned()).collect();
    pack(folder, &files, &to.join(FILES))?;
    render(&to, &run, &cells)
}

/// Writes what is made from a run into its folder.
fn render(folder: &Path, run: &Run, cells: &[Cell]) -> Result<(), PublishError> {
    let analysis = Analysis::new(run, cells);
    for format in EXPORTERS.into_iter().filter(|one| [PAGE, TABLE].contains(&one.file())) {
        let text = format.one(&analysis, Look::default());
        let text = text.map_err(|error| PublishError::Page { path: folder.to_path_buf(), error })?;
        let name = format.file();
        let path = folder.join(name);
        fs::write(&path, text).map_err(io_error(&path))?;
    }
    Ok(())
}

/// Renders page and table of every published run again; returns the runs' folders.
///
/// # Errors
/// When a run cannot be read or its page not be made or written.
pub fn render_again(published: &Path) -> Result<Vec<PathBuf>, PublishError> {
    let mut done = Vec::new();
    for date in dates(published)? {
        for PublishedRun { folder, recorded: Recorded { run, cells, .. }, .. } in runs(&date)? {
            render(&folder, &run, &cells)?;
            done.push(folder);
        }
    }
    Ok(done)
}
