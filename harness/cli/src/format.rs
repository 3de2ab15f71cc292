//! The formats in which a result can be had.

use anyhow::Result;
use clap::ValueEnum;
use cqldyno_reports::{
    Cell, Look, Run, csv, html_against, json_against, left_out_first, markdown_against, table_against, times, wrap,
};

/// A format of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for a terminal, a row a contender
    Table,
    /// The classic table: real, user and sys as Linux' `time` prints them, by driver and scenario
    Time,
    /// The tables as GitHub shows them
    Markdown,
    /// One row a measure of every cell, as pandas.read_csv and others load it
    Csv,
    /// Everything: run, cells, summary and warnings
    Json,
    /// One page to publish that holds tables, charts and the data
    Html,
}

/// What the flag is said to take; [`explained`] says what each is.
pub const NAMES: &str = "table, time, markdown, csv, json or html";

impl Format {
    /// The result in this format, with ratios against the contender of the id `reference`, or against the run's own reference where
    /// none is named; `time` and `csv` have no ratios.
    ///
    /// # Errors
    /// When it has no JSON form, which none of its types brings about, or cannot be compressed.
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

/// What each format is, and what a table on a narrow terminal leaves out: for the end of a help text.
pub fn explained() -> String {
    let mut out = "Formats:\n".to_owned();
    for value in Format::value_variants().iter().filter_map(ValueEnum::to_possible_value) {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        out.push_str(&format!("  {:<9} {}\n", value.get_name(), wrap(&help, 68, 12)));
    }
    let mut order = left_out_first();
    let stays = order.pop().unwrap_or_default();
    let sentence = format!(
        "A terminal that is too narrow for a table's columns is shown fewer of them, which a line under the table names: {} are left \
         out, in this order; {stays} stays. A pipe (`| less -S`) and a file have them all.",
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
        assert!(explained.contains("threads, data connections, errors, peak MiB"), "{explained}");
    }
}
