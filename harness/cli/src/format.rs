//! The formats in which a result can be had.

use anyhow::Result;
use clap::ValueEnum;
use cqldyno_reports::{Cell, Look, Run, csv, json, markdown, table};

use crate::outcome::usage;

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
    #[value(hide = true)]
    Html,
}

impl Format {
    /// Refuses what cannot be had yet, before anything is run.
    ///
    /// # Errors
    /// For a page in HTML.
    pub fn check(self) -> Result<()> {
        match self {
            Format::Html => Err(usage(
                "a page in HTML was asked for, which this version cannot write; use table, markdown, csv or json, and keep the \
                 run's folder: a later version reads it",
            )),
            _ => Ok(()),
        }
    }

    /// The result in this format.
    ///
    /// # Errors
    /// For a page in HTML.
    pub fn render(self, run: &Run, cells: &[Cell], look: Look) -> Result<String> {
        self.check()?;
        Ok(match self {
            Format::Markdown => markdown(run, cells),
            Format::Csv => csv(run, cells),
            Format::Json => json(run, cells)?,
            Format::Table | Format::Html => table(run, cells, look),
        })
    }
}
