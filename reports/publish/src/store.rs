//! Published results: `reports/published/DATE/NAME`, a folder a run.
//!
//! A published run is what was measured (`run.json`, `cells.jsonl`, and the files that cells name in `files.tar.gz`) and what is
//! rendered from it (`page.html`, `table.md`). A date also has `README.md` and `chart.svg`, made from its runs, and `notes.md`,
//! written by hand if there is something to tell. `cqldyno report DIR --format F` makes every other rendering.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use cqldyno_reports::{ExportError, Recorded, RecordedError};

use crate::shortened::command;

pub(crate) const RUN: &str = "run.json";
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
pub(crate) const BLOCKS: &str = "blocks";

/// The contenders of every published run: those of a comparison without names.
pub(crate) const EVERYBODY: [&str; 5] = ["scylla", "cdrs-tokio", "cassandra-cpp", "floor", "noop"];

/// Why something could not be published, or a published run not be read.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// The system refused.
    #[error("{path} could not be used: {error}; name folders of runs, and start this in the repository's root")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A run that cannot be read.
    #[error("the run {path} cannot be used: {error}")]
    Run {
        /// Its folder.
        path: PathBuf,
        /// What is wrong.
        error: RecordedError,
    },
    /// A cell names a file that is none of the run's.
    #[error(
        "the run {run} cannot be published: its cells name the file {file:?}, which does not lie in the run's folder; take the files as \
         they were written, or run the comparison again"
    )]
    Outside {
        /// The run's folder.
        run: PathBuf,
        /// As the cell names it.
        file: String,
    },
    /// There is one.
    #[error("{run} was to be published as {path}, which is there already; remove that first to replace it")]
    Taken {
        /// The run's folder.
        run: PathBuf,
        /// Where it was to go.
        path: PathBuf,
    },
    /// What was to be published is not what may be.
    #[error(
        "nothing was published, because this was found:\n{}\nMeasure again, or name the cell that failed or is void as above in {}",
        found.join("\n"),
        notes.display()
    )]
    Unsound {
        /// Full sentences.
        found: Vec<String>,
        /// Where it may be told.
        notes: PathBuf,
    },
    /// A page could not be made.
    #[error("the page of {path} could not be made: {error}")]
    Page {
        /// The run's folder.
        path: PathBuf,
        /// What is wrong.
        error: ExportError,
    },
    /// The README has no place for what is generated.
    #[error(
        "{path} has no line that begins with `{begin}`, followed by one with `{end}`; put both where the tables are to stand"
    )]
    NoPlace {
        /// The README.
        path: PathBuf,
        /// How the first line begins.
        begin: &'static str,
        /// The last line.
        end: &'static str,
    },
    /// There is nothing to show.
    #[error("{0} holds no published run; publish one with `make publish RUNS=DIR`")]
    Nothing(PathBuf),
}

pub(crate) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PublishError {
    move |error| PublishError::Io { path: path.to_path_buf(), error }
}

pub(crate) fn text(path: &Path) -> Result<String, PublishError> {
    fs::read_to_string(path).map_err(io_error(path))
}

/// A run that is published.
pub(crate) struct PublishedRun {
    /// [`CLASSIC`] or [`BLOCKS`], or as its folder is called.
    pub name: String,
    pub folder: PathBuf,
    pub recorded: Recorded,
}

impl PublishedRun {
    pub fn read(folder: &Path) -> Result<PublishedRun, PublishError> {
        let recorded = recorded(folder)?;
        Ok(PublishedRun { name: name_of(folder), folder: folder.to_path_buf(), recorded })
    }
}

pub(crate) fn recorded(folder: &Path) -> Result<Recorded, PublishError> {
    let run = text(&folder.join(RUN))?;
    let cells = fs::read(folder.join(CELLS)).map_err(io_error(&folder.join(CELLS)))?;
    let found = Recorded::from_folder(&run, &cells);
    let mut recorded = found.map_err(|error| PublishError::Run { path: folder.to_path_buf(), error })?;
    recorded.run.command = command(&recorded.run);
    Ok(recorded)
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
pub(crate) fn folders(folder: &Path) -> Result<Vec<PathBuf>, PublishError> {
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(io_error(folder))?;
    let mut found: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// The folders of all dates below `published`, the oldest first.
///
/// # Errors
/// When `published` cannot be read.
pub fn dates(published: &Path) -> Result<Vec<PathBuf>, PublishError> {
    folders(published)
}

/// The runs of one date.
pub(crate) fn runs(date: &Path) -> Result<Vec<PublishedRun>, PublishError> {
    folders(date)?.iter().map(|folder| PublishedRun::read(folder)).collect()
}
