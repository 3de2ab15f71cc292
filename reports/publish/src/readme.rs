//! The repository's README and that of a date, generated from what is published.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cqldyno_reports::{Front, of_date};

use crate::store::{CHART, NOTES, README, folders, name_of, runs, text, used};

/// How the line before what is generated begins.
const BEGIN: &str = "<!-- generated from reports/published/";
const END: &str = "<!-- end of what is generated -->";

/// Writes the README's section, README and chart of the newest date that compares drivers, and the README of later ones, below
/// `repository`; returns the files.
///
/// # Errors
/// When something cannot be read, drawn or written, or the README has no place for the tables.
pub fn write(repository: &Path) -> Result<Vec<PathBuf>> {
    let files = generated(repository)?;
    for (path, text) in &files {
        fs::write(path, text).with_context(used(path))?;
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

/// The files that follow from what `repository` has published, with their text.
///
/// # Errors
/// As [`write`].
pub fn generated(repository: &Path) -> Result<Vec<(PathBuf, String)>> {
    let published = repository.join("reports/published");
    let mut files = Vec::new();
    let dates = folders(&published)?;
    let of_dates = dates.iter().map(|folder| runs(folder)).collect::<Result<Vec<_>>>()?;
    for (folder, shown) in dates.iter().zip(&of_dates).rev() {
        let date = name_of(folder);
        let notes = match folder.join(NOTES) {
            path if path.exists() => text(&path)?,
            _ => String::new(),
        };
        let front = Front::of(shown).map(|front| front.beside(of_dates.iter().flatten()));
        files.push((folder.join(README), of_date(&date, shown, front.as_ref(), &notes)));
        if let Some(front) = front {
            let readme = repository.join(README);
            let section = put(&readme, &text(&readme)?, &date, &front.section(&date))?;
            files.extend([(readme, section), (folder.join(CHART), front.chart())]);
            return Ok(files);
        }
    }
    bail!(
        "{} holds no published run that compares drivers; publish one with `make publish RUNS=DIR`",
        published.display()
    )
}

fn put(path: &Path, readme: &str, date: &str, section: &str) -> Result<String> {
    let found = readme.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = found.with_context(|| {
        format!(
            "{} has no line that begins with `{BEGIN}`, followed by one with `{END}`; put both where the tables are to stand",
            path.display()
        )
    })?;
    Ok(format!("{before}{BEGIN}{date} by make readme -->\n\n{}\n\n{END}{after}", section.trim()))
}
