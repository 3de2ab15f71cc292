//! One row per measure: tidy, for pandas, R, DuckDB and spreadsheets.

use std::io::Write;

use super::exporter::{ExportError, Exporter, Look};
use crate::text::plain;
use crate::{Analysis, Cell, Contender, History, Measure, Recorded, Unit, climbed};

const HEADER: &str = "contender,label,control,scenario,arrangement,block,round,pass,\
     attempt,started,measure,value,unit,unavailable,counts,void,failed";

pub(super) struct Csv;

impl Exporter for Csv {
    fn names(&self) -> [&'static str; 3] {
        ["csv", "One row per measure of every cell, for pandas, R and spreadsheets", "cells.csv"]
    }

    /// Every measure of every cell as a row of its own, under a header (RFC 4180).
    ///
    /// `value` is a number, or empty if `unavailable` says why there is none. `control` is `true` in the rows of the reference's
    /// second run, `counts` in those that the tables use. A cell that failed before any measure, or a missing contender, is a row
    /// without a measure. A text from outside that a spreadsheet would run as a formula gets an apostrophe.
    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut part = String::new();
        put(&mut part, [HEADER]);
        of_no_cell(&mut part, None, analysis);
        for cell in analysis.every_cell {
            out.write_all(part.as_bytes())?;
            part.clear();
            rows(&mut part, None, analysis, cell);
        }
        Ok(out.write_all(part.as_bytes())?)
    }

    /// The same with a column `run` before the others.
    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
        let mut out = String::new();
        put(&mut out, ["run", HEADER]);
        for (name, one) in named {
            let analysis = Analysis::new(&one.run, &one.cells);
            of_no_cell(&mut out, Some(name), &analysis);
            one.cells.iter().for_each(|cell| rows(&mut out, Some(name), &analysis, cell));
        }
        Some(Ok(out))
    }

    fn history(&self, history: &History, _: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(of_history(history)))
    }
}

const OF_HISTORY: &str =
    "group,run,started,scenario,scenario_hash,arrangement,measure,contender,version,median,least,greatest,blocks,gap";

/// One row per point, with a header (RFC 4180).
///
/// If there is no figure, `gap` says in a sentence why. A run that is left out is a row with its name and the gap alone.
fn of_history(history: &History) -> String {
    let mut out = String::new();
    put(&mut out, [OF_HISTORY]);
    for (at, group) in history.groups.iter().enumerate() {
        for panel in &group.panels {
            for line in &panel.lines {
                for point in &line.points {
                    let run = &group.runs[point.run];
                    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
                    let fields = [
                        (at + 1).to_string(),
                        text(&run.name),
                        run.started.to_string(),
                        text(&panel.scenario),
                        text(&panel.scenario_hash),
                        text(&panel.arrangement),
                        text(&panel.meter),
                        text(&line.contender),
                        text(&point.version),
                        number(point.median),
                        number(point.spread.map(|[least, _]| least)),
                        number(point.spread.map(|[_, most]| most)),
                        point.blocks.to_string(),
                        text(point.gap.as_deref().unwrap_or_default()),
                    ];
                    put(&mut out, fields);
                }
            }
        }
    }
    for one in &history.left_out {
        let (run, why) = (text(&one.run), text(&format!("Left out: {}", one.why)));
        // Neither a group nor a figure.
        put(&mut out, ["", &run, ",,,,,,,,,,", &why]);
    }
    out
}

/// A row per contender that is missing, and two per ladder: the highest rate that held and the lowest that failed. Each is after the run's
/// name, if any.
fn of_no_cell(out: &mut String, name: Option<&str>, analysis: &Analysis) {
    let who =
        |one: &Contender| name.map(text).into_iter().chain([text(&one.id), text(&one.label), one.control.to_string()]);
    for one in &analysis.run.contenders {
        if let Some(why) = &one.unavailable {
            // It has no place and no measure.
            put(out, who(one).chain(vec![String::new(); 10]).chain([text(why), "false,,".to_owned()]));
        }
    }
    for one in climbed(analysis.run, analysis.every_cell) {
        for (measure, found) in [("ladder_held", one.ladder.held()), ("ladder_failed", one.ladder.failed())] {
            let Some(rate) = found else { continue };
            let place = [text(&one.place.scenario.name), text(&one.place.arrangement.id)];
            let figure = [measure, &rate.to_string(), Unit::PerSecond.symbol(), ",true,,"].map(str::to_owned);
            put(out, who(one.contender).chain(place).chain(vec![String::new(); 5]).chain(figure));
        }
    }
}

/// The rows of a cell, each after the run's name, if any.
fn rows(out: &mut String, name: Option<&str>, analysis: &Analysis, cell: &Cell) {
    let contender = analysis.run.contender(&cell.contender);
    let place = [
        text(&cell.contender),
        text(&cell.label),
        contender.is_some_and(|contender| contender.control).to_string(),
        text(&cell.scenario),
        text(&cell.arrangement),
        cell.block.to_string(),
        cell.round.map(|round| round.to_string()).unwrap_or_default(),
        cell.pass.name().to_owned(),
        cell.attempt.to_string(),
        cell.started.to_string(),
    ];
    let before = name.map(text).into_iter().chain(place).collect::<Vec<_>>().join(",");
    let [void, failed] = [&cell.void, &cell.failed].map(|why| text(why.as_deref().unwrap_or_default()));
    let after = format!("{},{void},{failed}", cell.counts() && analysis.counts(cell));
    let mut figure = |[measure, value, unit, why]: [&str; 4]| put(out, [&before, measure, value, unit, why, &after]);
    if cell.measures.is_empty() {
        figure([""; 4]);
    }
    for (measure, found) in &cell.measures {
        match found {
            Measure::Value { value, unit } => figure([&text(measure), &value.to_string(), unit.symbol(), ""]),
            Measure::Unavailable { unavailable } => figure([&text(measure), "", "", &text(unavailable)]),
        }
    }
}

fn put<T: AsRef<str>>(out: &mut String, fields: impl IntoIterator<Item = T>) {
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
fn text(from_outside: &str) -> String {
    let text = plain(from_outside);
    let field = if text.starts_with(FORMULA) { format!("'{text}") } else { text };
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
