//! The formats of a result.

use anyhow::Result;
use clap::ValueEnum;
use cqldyno_reports::{
    Cell, Look, Run, csv, html_against, json_against, left_out_first, markdown_against, table_against, times, wrap,
};

/// A format of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for a terminal, one row per contender
    Table,
    /// The classic table: real, user and sys as Linux' `time` prints them
    Time,
    /// Tables for GitHub
    Markdown,
    /// One row per measure of every cell, for pandas.read_csv and others
    Csv,
    /// Everything: run, cells, summary and warnings
    Json,
    /// A page to publish with tables, charts and the data
    Html,
}

/// What `--format` takes.
pub const NAMES: &str = "table, time, markdown, csv, json, html";

impl Format {
    /// The result in this format. Ratios are against the contender with the id `reference`, or against the run's own reference;
    /// `time` and `csv` have none.
    ///
    /// # Errors
    /// When the data of a page or a document cannot be written as JSON.
    pub fn render(self, run: &Run, cells: &[Cell], reference: Option<&str>, look: Look) -> Result<String> {
        Ok(match self {
            Format::Table => table_against(run, cells, reference, look),
            Format::Time => times(run, cells, look),
            Format::Markdown => markdown_against(run, cells, reference),
            Format::Csv => csv(run, cells),
            Format::Json => json_against(run, cells, reference)?,
            Format::Html => html_against(run, cells, reference)?,
        })
    }
}

/// The formats, and the columns that a narrow terminal leaves out, for the end of a help text.
pub fn explained() -> String {
    let mut out = "Formats:\n".to_owned();
    for value in Format::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        out.push_str(&format!("  {:<9} {}\n", value.get_name(), wrap(&help, 68, 12)));
    }
    let mut order = left_out_first();
    let stays = order.pop().unwrap_or_default();
    let sentence = format!(
        "A narrow terminal leaves columns out, in this order: {}; {stays} stays. Pipes and files have all columns.",
        order.join(", ")
    );
    out + "\n" + &wrap(&sentence, 80, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_named_and_explained() {
        let explained = explained();
        for value in Format::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
            assert!(NAMES.split([',', ' ']).any(|name| name == value.get_name()), "{}", value.get_name());
            assert!(explained.contains(&format!("\n  {:<9} ", value.get_name())), "{explained}");
        }
        assert!(explained.lines().all(|line| line.len() <= 80), "{explained}");
        let words = explained.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("threads, data connections, errors, peak MiB"), "{explained}");
    }
}
