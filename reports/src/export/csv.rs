//! One row a measure: tidy, for pandas, R, DuckDB and spreadsheets.

use crate::attempts::Attempts;
use crate::text::plain;
use crate::{Cell, Measure, Run};

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
pub fn csv(run: &Run, cells: &[Cell]) -> String {
    let mut out = HEADER.join(",") + "\r\n";
    for contender in &run.contenders {
        if let Some(why) = &contender.unavailable {
            let (id, label) = (&contender.id, &contender.label);
            let record = Record { contender: id, label, control: contender.control, ..Record::default() };
            Record { unavailable: why, ..record }.write(&mut out);
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
            blank.write(&mut out);
        }
        for (measure, found) in &cell.measures {
            let record = Record { measure, ..blank.clone() };
            match found {
                Measure::Value { value, unit } => {
                    Record { value: value.to_string(), unit: unit.symbol(), ..record }.write(&mut out);
                }
                Measure::Unavailable { unavailable } => Record { unavailable, ..record }.write(&mut out),
            }
        }
    }
    out
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
    fn write(&self, out: &mut String) {
        let said = |yes: bool| if yes { "true" } else { "false" };
        let fields: [&str; HEADER.len()] = [
            self.contender,
            self.label,
            said(self.control),
            self.scenario,
            self.arrangement,
            &self.block,
            self.pass,
            &self.attempt,
            &self.started,
            self.measure,
            &self.value,
            self.unit,
            self.unavailable,
            said(self.counts),
            self.void,
            self.failed,
        ];
        let fields: Vec<String> = fields.iter().map(|field| quoted(&plain(field))).collect();
        out.push_str(&fields.join(","));
        out.push_str("\r\n");
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

#[cfg(test)]
mod pandas;
