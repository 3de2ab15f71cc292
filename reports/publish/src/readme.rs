//! The repository's README, and that of a date, as they follow from what is published.

use std::fs;
use std::path::{Path, PathBuf};

use crate::chart::chart;
use crate::front::{Shown, front, of_date};
use crate::store::{CHART, NOTES, PublishError, README, dates, io_error, name_of, runs, text};

/// How the line before what is generated begins.
const BEGIN: &str = "<!-- generated from reports/published/";
/// The line behind it.
const END: &str = "<!-- end of what is generated -->";

/// Files as they would be generated, with their text.
struct Generated {
    date: String,
    files: Vec<(PathBuf, String)>,
}

/// A file that is not what would be generated.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} is not what follows from reports/published/{date}; run `make readme`, and change what makes it instead of the file"
)]
pub struct Stale {
    /// The file.
    pub path: PathBuf,
    /// The date of which it is.
    pub date: String,
}

/// Writes the README's tables, and README and chart of the newest date, below `repository`; gives the files.
///
/// # Errors
/// When something cannot be read, drawn or written, or the README has no place for the tables.
pub fn write(repository: &Path) -> Result<Vec<PathBuf>, PublishError> {
    let Generated { files, .. } = generated(repository)?;
    for (path, text) in &files {
        fs::write(path, text).map_err(io_error(path))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The files of `repository` that are not what [`write`] would write.
///
/// # Errors
/// As [`write`].
pub fn stale(repository: &Path) -> Result<Vec<Stale>, PublishError> {
    let Generated { date, files } = generated(repository)?;
    let differs = |(path, text): &(PathBuf, String)| fs::read_to_string(path).ok().as_ref() != Some(text);
    Ok(files.into_iter().filter(differs).map(|(path, _)| Stale { path, date: date.clone() }).collect())
}

fn generated(repository: &Path) -> Result<Generated, PublishError> {
    let published = repository.join("reports/published");
    let newest = dates(&published)?.pop().ok_or(PublishError::Nothing(published))?;
    let date = name_of(&newest);
    let runs = runs(&newest)?;
    let shown: Vec<Shown> = runs.iter().map(|run| Shown { name: &run.name, run: &run.recorded }).collect();
    let notes = match newest.join(NOTES) {
        path if path.exists() => text(&path)?,
        _ => String::new(),
    };
    // Intervals need blocks: the chart is of the run that has most.
    let most =
        shown.iter().max_by_key(|one| one.run.run.plan.blocks).ok_or_else(|| PublishError::Nothing(newest.clone()))?;
    let drawn = chart(&most.run.run, &most.run.cells)
        .map_err(|error| PublishError::Chart { path: newest.clone(), why: error.to_string() })?;
    let readme = repository.join(README);
    let front = put(&readme, &text(&readme)?, &date, &front(&date, &shown, &notes))?;
    let of_date = of_date(&date, &shown, &notes);
    let files = vec![(readme, front), (newest.join(README), of_date), (newest.join(CHART), drawn)];
    Ok(Generated { date, files })
}

/// The README with `section` between the lines.
fn put(path: &Path, readme: &str, date: &str, section: &str) -> Result<String, PublishError> {
    let place = || {
        let begin = readme.find(BEGIN)?;
        let end = begin + readme[begin..].find(END)?;
        Some((begin, end))
    };
    let (begin, end) =
        place().ok_or_else(|| PublishError::NoPlace { path: path.to_path_buf(), begin: BEGIN, end: END })?;
    Ok(format!("{}{BEGIN}{date} by make readme -->\n\n{}\n\n{}", &readme[..begin], section.trim(), &readme[end..]))
}
