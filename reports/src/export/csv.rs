//! One row per measure: tidy, for pandas, R, DuckDB and spreadsheets.

use std::io::Write;

use super::text::plain;
use super::{ExportError, Exporter, Look};
use crate::{Analysis, Cell, History, Measure, Recorded};

/// One record of the file; the names are its header.
const HEADER: [&str; 17] = [
    "contender",
    "label",
    "control",
    "scenario",
    "arrangement",
    "block",
    "round",
    "pass",
    "attempt",
    "started",
    "measure",
    "value",
    "unit",
    "unavailable",
    "counts",
    "void",
    "failed",
];

/// `--format csv`.
pub(super) struct Csv;

impl Exporter for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "One row per measure of every cell, for pandas, R and spreadsheets"
    }

    fn file(&self) -> &'static str {
        "cells.csv"
    }

    /// Every measure of every cell as a row of its own, under a header (RFC 4180).
    ///
    /// `value` is a number, or empty if `unavailable` says why there is none. `control` is `true` in the rows of the reference's
    /// second run, `counts` in those that the tables use. A cell that failed before any measure, or a missing contender, is a row
    /// without a measure. A text from outside that a spreadsheet would run as a formula gets an apostrophe.
    fn one(&self, analysis: &Analysis, _: Look) -> Result<String, ExportError> {
        let mut out = String::new();
        table(analysis, |rows| {
            out.push_str(rows);
            Ok(())
        })?;
        Ok(out)
    }

    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        table(analysis, |rows| Ok(out.write_all(rows.as_bytes())?))
    }

    /// The same with a column `run` before the others.
    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
        let mut out = String::new();
        put(&mut out, std::iter::once("run").chain(HEADER));
        for (name, one) in named {
            let analysis = Analysis::new(&one.run, &one.cells);
            missing(&mut out, Some(name), &analysis);
            one.cells.iter().for_each(|cell| rows(&mut out, Some(name), &analysis, cell));
        }
        Some(Ok(out))
    }

    fn history(&self, history: &History, _: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(super::history::csv(history)))
    }
}

/// The table of one run, the rows of a cell at a time.
fn table(analysis: &Analysis, mut take: impl FnMut(&str) -> Result<(), ExportError>) -> Result<(), ExportError> {
    let mut part = String::new();
    put(&mut part, HEADER);
    missing(&mut part, None, analysis);
    take(&part)?;
    for cell in analysis.every_cell() {
        part.clear();
        rows(&mut part, None, analysis, cell);
        take(&part)?;
    }
    Ok(())
}

/// A row per contender that is missing, each after the run's name, if any.
fn missing(out: &mut String, name: Option<&str>, analysis: &Analysis) {
    for contender in &analysis.run().contenders {
        if let Some(why) = &contender.unavailable {
            let (id, label) = (&contender.id, &contender.label);
            let record = Record { contender: id, label, control: contender.control, ..Record::default() };
            Record { unavailable: why, ..record }.write(out, name);
        }
    }
}

/// The rows of a cell, each after the run's name, if any.
fn rows(out: &mut String, name: Option<&str>, analysis: &Analysis, cell: &Cell) {
    let contender = analysis.run().contender(&cell.contender);
    let blank = Record {
        contender: &cell.contender,
        label: &cell.label,
        control: contender.is_some_and(|contender| contender.control),
        scenario: &cell.scenario,
        arrangement: &cell.arrangement,
        block: cell.block.to_string(),
        round: cell.round.map(|round| round.to_string()).unwrap_or_default(),
        pass: cell.pass.name(),
        attempt: cell.attempt.to_string(),
        started: cell.started.to_string(),
        counts: cell.counts() && analysis.counts(cell),
        void: cell.void.as_deref().unwrap_or_default(),
        failed: cell.failed.as_deref().unwrap_or_default(),
        ..Record::default()
    };
    if cell.measures.is_empty() {
        blank.write(out, name);
    }
    for (measure, found) in &cell.measures {
        let record = Record { measure, ..blank.clone() };
        match found {
            Measure::Value { value, unit } => {
                Record { value: value.to_string(), unit: unit.symbol(), ..record }.write(out, name);
            }
            Measure::Unavailable { unavailable } => Record { unavailable, ..record }.write(out, name),
        }
    }
}

/// A row.
#[derive(Clone, Default)]
struct Record<'a> {
    contender: &'a str,
    label: &'a str,
    control: bool,
    scenario: &'a str,
    arrangement: &'a str,
    block: String,
    round: String,
    pass: &'a str,
    attempt: String,
    started: String,
    measure: &'a str,
    value: String,
    unit: &'a str,
    unavailable: &'a str,
    counts: bool,
    void: &'a str,
    failed: &'a str,
}

impl Record<'_> {
    fn write(&self, out: &mut String, name: Option<&str>) {
        let said = |yes: bool| if yes { "true" } else { "false" }.to_owned();
        let fields: [String; HEADER.len()] = [
            text(self.contender),
            text(self.label),
            said(self.control),
            text(self.scenario),
            text(self.arrangement),
            self.block.clone(),
            self.round.clone(),
            self.pass.to_owned(),
            self.attempt.clone(),
            self.started.clone(),
            text(self.measure),
            self.value.clone(),
            self.unit.to_owned(),
            text(self.unavailable),
            said(self.counts),
            text(self.void),
            text(self.failed),
        ];
        put(out, name.map(text).into_iter().chain(fields));
    }
}

/// A line of finished fields.
pub(super) fn put<T: AsRef<str>>(out: &mut String, fields: impl IntoIterator<Item = T>) {
    for (place, field) in fields.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        out.push_str(field.as_ref());
    }
    out.push_str("\r\n");
}

/// What a spreadsheet takes for the beginning of a formula (OWASP, CSV Injection), in full width as well.
const FORMULA: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A text from outside as a field: on one line, quoted if necessary, with an apostrophe before what a spreadsheet would run as a
/// formula. Not for numbers, which may begin with a minus.
pub(super) fn text(from_outside: &str) -> String {
    let text = plain(from_outside);
    quoted(if text.starts_with(FORMULA) { format!("'{text}") } else { text })
}

fn quoted(field: String) -> String {
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown::csv;
    use crate::sample;

    #[test]
    fn what_a_spreadsheet_would_run_has_an_apostrophe_and_a_number_has_none() {
        for (found, expected) in [
            ("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\""),
            (" +1", "'+1"),
            ("-2", "'-2"),
            ("@SUM", "'@SUM"),
            ("\u{ff1d}1", "'\u{ff1d}1"),
            ("\t=1", "'=1"),
            ("scylla@1.9.0", "scylla@1.9.0"),
            ("cassandra-cpp+lib=x", "cassandra-cpp+lib=x"),
        ] {
            assert_eq!(text(found), expected);
        }
        let (mut run, mut cells) = sample::run();
        run.contenders.truncate(1);
        cells.truncate(1);
        cells[0].label = "=1+1".to_owned();
        cells[0].measures = [("@wall".to_owned(), Measure::value(-1.5, crate::Unit::Seconds))].into_iter().collect();
        let line = csv(&run, &cells).lines().nth(1).unwrap().to_owned();
        assert!(line.contains(",'=1+1,") && line.contains(",'@wall,-1.5,s,"), "{line}");
    }
}
