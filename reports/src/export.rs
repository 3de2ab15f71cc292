//! One exporter per format: from an analysis to text. An exporter prints nothing and opens nothing.

mod chart;
pub(crate) mod check;
pub(crate) mod column;
mod csv;
pub(crate) mod document;
pub(crate) mod head;
mod history;
mod html;
mod json;
mod live;
mod markdown;
pub(crate) mod part;
mod published;
pub(crate) mod quantity;
mod releases;
mod sheets;
mod short;
mod side_by_side;
mod story;
mod sweep;
mod table;
pub(crate) mod text;
mod time;

use std::io::{self, Write};

pub use chart::{Curve, growth_chart};
pub use html::{PAGE_LIMIT, stand_ins};
pub use live::{live, live_line};
pub use markdown::markdown;
pub use published::{Front, PublishedRun, is_of_a_plan, of_date, plan_name, unnumbered};
pub use side_by_side::NO_RATIOS;
pub use table::{Look, terminal};

use crate::{Analysis, History, Recorded};

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

/// All formats; the first is the default.
pub static EXPORTERS: [&dyn Exporter; 6] =
    [&table::Table, &time::Time, &markdown::Markdown, &csv::Csv, &json::Json, &html::Html];

/// The format of that name.
pub fn exporter(name: &str) -> Option<&'static dyn Exporter> {
    EXPORTERS.into_iter().find(|one| one.name() == name)
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

/// What the tests show, without an analysis of their own.
#[cfg(test)]
pub(crate) mod shown {
    use super::*;
    use crate::{Cell, Run};

    pub fn at(width: usize) -> Look {
        Look { width, colour: false, all_columns: false, wide: false, notes: false }
    }

    pub fn wide(run: &Run, cells: &[Cell], width: usize) -> String {
        table(run, cells, Look { wide: true, notes: true, ..at(width) })
    }

    pub fn table(run: &Run, cells: &[Cell], look: Look) -> String {
        table::Table.one(&Analysis::new(run, cells), look).unwrap()
    }

    pub fn times(run: &Run, cells: &[Cell], look: Look) -> String {
        time::Time.one(&Analysis::new(run, cells), look).unwrap()
    }

    pub fn story(run: &Run, cells: &[Cell], look: Look) -> String {
        table::terminal(&super::story::story(&Analysis::new(run, cells), look.width), look)
    }

    pub fn markdown(run: &Run, cells: &[Cell]) -> String {
        markdown::Markdown.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    pub fn csv(run: &Run, cells: &[Cell]) -> String {
        csv::Csv.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    pub fn json(run: &Run, cells: &[Cell]) -> String {
        json::Json.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    /// Against the contender of that id.
    pub fn against(format: &str, run: &Run, cells: &[Cell], reference: &str) -> String {
        let analysis = Analysis::against(run, cells, Some(reference));
        exporter(format).unwrap().one(&analysis, Look { width: 2_000, ..Look::default() }).unwrap()
    }

    pub fn html(run: &Run, cells: &[Cell]) -> String {
        html::Html.one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    pub fn several(format: &str, named: &[(String, &Recorded)], look: Look) -> String {
        exporter(format).unwrap().several(named, look).unwrap().unwrap()
    }
}
