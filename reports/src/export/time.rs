//! The classic table of driver comparisons: what Linux' `time` prints, by driver and workload.

use tabled::Table as Grid;
use tabled::builder::Builder;
use tabled::settings::Alignment;
use tabled::settings::object::Columns;

use crate::document::{Document, Field, Table, TableRow, mark};
use crate::export::table::{LEAST_WIDTH, LONGEST_LABEL_PART, Look, alarm, foot, head, paragraph, put, ruled};
use crate::quantity::whole;
use crate::summary::places;
use crate::text::{count, label_lines};
use crate::{Cell, Run};

/// What `time` calls its three lines.
const LINES: &str = "real\nuser\nsys";

/// real, user and sys as Linux' `time` prints them: one table an arrangement, three lines a contender, a column a scenario.
///
/// Of several blocks these are medians, which is said over the tables. Where the width is too small for all scenarios, they stand
/// in several tables below each other; no time is ever broken or left out.
pub fn times(run: &Run, cells: &[Cell], look: Look) -> String {
    let document = Document::of_times(run, cells);
    let width = look.width.max(LEAST_WIDTH);
    let mut out = String::new();
    head(&mut out, &document, width);
    out.push('\n');
    for warning in &document.warnings {
        alarm(&mut out, warning, width, look.colour);
    }
    paragraph(&mut out, &what(run), width, 0);
    let mut by_arrangement: Vec<(&str, Vec<&Table>)> = Vec::new();
    for ((_, arrangement), table) in places(run).zip(&document.tables) {
        match by_arrangement.iter_mut().find(|(id, _)| *id == arrangement.id) {
            Some((_, tables)) => tables.push(table),
            None => by_arrangement.push((&arrangement.id, vec![table])),
        }
    }
    for (_, tables) in &by_arrangement {
        out.push('\n');
        paragraph(&mut out, &tables[0].arrangement, width, 2);
        for part in parts(tables, width, look.all_columns) {
            out.push('\n');
            put(&mut out, &grid(part, look.colour));
        }
        let remarks = remarks(tables);
        if !remarks.is_empty() {
            out.push('\n');
        }
        for remark in remarks {
            paragraph(&mut out, &remark, width, 2);
        }
    }
    out.push('\n');
    foot(&mut out, &document, width);
    out
}

/// What the times are of.
fn what(run: &Run) -> String {
    let plan = &run.plan;
    let statements = count(plan.count, "statement");
    let in_flight = whole(plan.concurrency as f64);
    let blocks = match run.blocks() {
        0 | 1 => "measured once".to_owned(),
        blocks => format!("medians of {} blocks, each by itself", whole(blocks.into())),
    };
    format!(
        "The time that {statements} of each scenario took through each driver, {in_flight} in flight, as `time` prints it: {blocks}."
    )
}

/// As many scenarios beside each other as there is room for.
fn parts<'a, 't>(tables: &'a [&'t Table], width: usize, all: bool) -> Vec<&'a [&'t Table]> {
    let mut parts = Vec::new();
    let mut rest = tables;
    while !rest.is_empty() {
        let fits = |some: &usize| all || grid(&rest[..*some], false).total_width() <= width;
        let some = (1..=rest.len()).rev().find(fits).unwrap_or(1);
        parts.push(&rest[..some]);
        rest = &rest[some..];
    }
    parts
}

fn grid(tables: &[&Table], colour: bool) -> Grid {
    let mut builder = Builder::default();
    let titles = tables.iter().map(|table| table.title.clone());
    builder.push_record(["contender".to_owned(), String::new()].into_iter().chain(titles));
    let mut rules = vec![1];
    let mut bad = Vec::new();
    // Every scenario has the same contenders in the same order.
    for (group, members) in tables[0].sheets[0].groups.iter().enumerate() {
        for (member, first) in members.iter().enumerate() {
            if tables.iter().any(|table| !table.sheets[0].groups[group][member].trouble.is_empty()) {
                bad.push((builder.count_records(), 0));
            }
            let mut record = vec![label(first), LINES.to_owned()];
            for (place, table) in tables.iter().enumerate() {
                let row = &table.sheets[0].groups[group][member];
                if row.fields.iter().any(|field| field.is_bad) {
                    bad.push((builder.count_records(), place + 2));
                }
                record.push(row.fields.iter().map(Field::shown).collect::<Vec<_>>().join("\n"));
            }
            builder.push_record(record);
        }
        rules.push(builder.count_records());
    }
    rules.pop();
    let mut grid = ruled(builder, &rules, &bad, colour);
    grid.modify(Columns::one(1), Alignment::left());
    grid
}

/// In three lines at most where it can be, beside which the times stand.
fn label(row: &TableRow) -> String {
    let label = label_lines(&row.label, LONGEST_LABEL_PART);
    let label = format!("{label}{}", mark(row.note));
    if row.trouble.is_empty() { label } else { format!("{label}\n{}", row.trouble) }
}

/// Why there are no times, each once with the scenarios of which it is said.
fn remarks(tables: &[&Table]) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for table in tables {
        for remark in &table.remarks {
            match said.iter_mut().find(|(known, _)| known == remark) {
                Some((_, of)) => of.push(&table.title),
                None => said.push((remark, vec![&table.title])),
            }
        }
    }
    let everywhere = |of: &[&str]| of.len() == tables.len();
    let sentence = |(remark, of): (&str, Vec<&str>)| match everywhere(&of) {
        true => remark.to_owned(),
        false => format!("{}: {remark}", of.join(", ")),
    };
    said.into_iter().map(sentence).collect()
}
