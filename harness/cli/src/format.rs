//! The formats in which a result can be had.

use anyhow::Result;
use clap::ValueEnum;
use cqldyno_reports::{Cell, Look, Run, csv, html, json, markdown, table};

/// A format of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for a terminal
    Table,
    /// Tables for GitHub
    Markdown,
    /// One row a measure
    Csv,
    /// Everything: run, cells, summary and warnings
    Json,
    /// One page that holds tables, charts and the data
    Html,
}

impl Format {
    /// The result in this format.
    ///
    /// # Errors
    /// When it has no JSON form, which none of its types brings about, or cannot be compressed.
    pub fn render(self, run: &Run, cells: &[Cell], look: Look) -> Result<String> {
        Ok(match self {
            Format::Table => table(run, cells, look),
            Format::Markdown => markdown(run, cells),
            Format::Csv => csv(run, cells),
            Format::Json => json(run, cells)?,
            Format::Html => html(run, cells)?,
        })
    }
}
