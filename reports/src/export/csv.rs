//! One row a measure: tidy, for pandas, R, DuckDB and spreadsheets.

use crate::attempts::Attempts;
use crate::text::plain;
use crate::{Cell, Measure, Recorded, Run};

/// One record of the file; the names are its header.
const HEADER: [&str; 16] = [
    "contender",
    "label",
    "control",
    "scenario",
    "arrangement",
    "block",
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

/// Every measure of every cell as a row of its own, under a header (RFC 4180), without anything before it.
///
/// `value` is a number, or empty where `unavailable` says in a sentence why there is none. `control` is `true` in the rows of the
/// reference's second run, `counts` in those that the tables are made of: of a cell that ended well, in an attempt that was not
/// repeated. A cell that failed before it had any measure, and a contender that could not be asked, is a row without a measure.
///
/// A text from outside that a spreadsheet would run as a formula has an apostrophe before it.
pub fn csv(run: &Run, cells: &[Cell]) -> String {
    let mut out = String::new();
    put(&mut out, HEADER);
    rows(&mut out, None, run, cells);
    out
}

/// The rows of [`csv`] of several runs, with the name that each is to have before them, in a column `run`.
pub fn csv_of_runs(named: &[(String, &Recorded)]) -> String {
    let mut out = String::new();
    put(&mut out, std::iter::once("run").chain(HEADER));
    for (name, one) in named {
        rows(&mut out, Some(name), &one.run, &one.cells);
    }
    out
}

/// Every row of a run, each behind the name that it is to have, if any.
fn rows(out: &mut String, name: Option<&str>, run: &Run, cells: &[Cell]) {
    for contender in &run.contenders {
        if let Some(why) = &contender.unavailable {
            let (id, label) = (&contender.id, &contender.label);
            let record = Record { contender: id, label, control: contender.control, ..Record::default() };
            Record { unavailable: why, ..record }.write(out, name);
        }
    }
    let attempts = Attempts::of(cells);
    for cell in cells {
        let blank = Record {
            contender: &cell.contender,
            label: &cell.label,
            control: run.contender(&cell.contender).is_some_and(|contender| contender.control),
            scenario: &cell.scenario,
            arrangement: &cell.arrangement,
            block: cell.block.to_string(),
            pass: cell.pass.name(),
            attempt: cell.attempt.to_string(),
            started: cell.started.to_string(),
            counts: cell.counts() && attempts.counts(cell),
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

/// A line of fields that are as they are to stand.
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

/// A text from outside as a field: on one line, quoted where it must be, and with an apostrophe before what a spreadsheet would
/// run as a formula. Never to be given a number, which may begin with a minus.
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
