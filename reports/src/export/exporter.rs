//! What a format of the result is.

use std::io::{self, Write};

use crate::{Analysis, History, Recorded};

/// How a text for a terminal or a file is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether it shows colours: bold, red and dim only.
    pub colour: bool,
    /// Whether nothing limits a line: a file or a pipe.
    pub all_columns: bool,
    /// The tables with every column; of one contender every measure of every cell, too.
    pub wide: bool,
    /// Notes: versions, settings, caveats, how it was measured and judged.
    pub notes: bool,
    /// Which of a run's charts, from 0, in a format that shows one.
    pub chart: usize,
}

impl Default for Look {
    /// What a file keeps: everything.
    fn default() -> Look {
        Look { width: 160, colour: false, all_columns: true, wide: true, notes: true, chart: 0 }
    }
}

/// A format of the result.
pub trait Exporter: Sync {
    /// [`Exporter::name`], [`Exporter::about`] and [`Exporter::file`].
    fn names(&self) -> [&'static str; 3];

    /// Its name, as `--format` takes it.
    fn name(&self) -> &'static str {
        self.names()[0]
    }

    /// What it is, on one line.
    fn about(&self) -> &'static str {
        self.names()[1]
    }

    /// The name of its file in a run's folder.
    fn file(&self) -> &'static str {
        self.names()[2]
    }

    /// Why the format has nothing to show of the run, and what to do, as the end of a sentence that names both.
    fn lacks(&self, _analysis: &Analysis) -> Option<&'static str> {
        None
    }

    /// Writes one run: cell by cell in a format that has them all.
    ///
    /// # Errors
    /// When the data have no JSON form, which none of their types brings about, or cannot be compressed, and when `out` takes no more.
    fn write(&self, analysis: &Analysis, look: Look, out: &mut dyn Write) -> Result<(), ExportError>;

    /// The text of [`Exporter::write`].
    ///
    /// # Errors
    /// As [`Exporter::write`].
    fn one(&self, analysis: &Analysis, look: Look) -> Result<String, ExportError> {
        let mut out = Vec::new();
        self.write(analysis, look, &mut out)?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Several runs by the names given: those of one plan combined, others beside each other without ratios between them. `None` if the
    /// format shows one run only.
    fn several(&self, _named: &[(String, &Recorded)], _look: Look) -> Option<Result<String, ExportError>> {
        None
    }

    /// Runs of many dates; `None` if the format does not show them.
    fn history(&self, _history: &History, _look: Look) -> Option<Result<String, ExportError>> {
        None
    }
}

/// Why a result has no such text.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The model has no JSON form.
    #[error("the data could not be written as JSON: {0}")]
    Data(#[from] serde_json::Error),
    /// The data could not be made smaller.
    #[error("the data of the page could not be compressed: {0}")]
    Compress(io::Error),
    /// The text could not be written.
    #[error("the text could not be written: {0}")]
    Write(#[from] io::Error),
}
