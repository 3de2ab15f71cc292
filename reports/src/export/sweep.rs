//! Sweeps as tables: a compact one, and every point.

use super::part::{Field, Notes, Part, Sheet, TableRow};
use super::quantity::{rate, three_digits, whole};
use crate::{Contender, Role, Run, Sweep, Swept, SweptFigures, short};

/// The figures of a point, from statements per second on.
fn figures(all: &SweptFigures) -> Vec<String> {
    let us = |us: Option<f64>| us.map_or("-".to_owned(), three_digits);
    let latency = |at: usize| us(all.latency_us.map(|both| both[at]));
    vec![rate(all.rate), us(all.cpu_us), latency(0), latency(1)]
}

const FIGURES: [&str; 4] = ["state-\nments/s", "CPU us", "p50 us", "p99 us"];

fn sheet(title: String, columns: &[&str], groups: Vec<Vec<TableRow>>) -> Sheet {
    let columns = columns.iter().map(|title| title.lines().map(str::to_owned).collect()).collect();
    Sheet { title, first: "contender".to_owned(), words: 0, columns, groups }
}

/// One row per contender: its knee with the figures there, and the most statements per second.
pub(super) fn knees(run: &Run, sweep: &Sweep) -> Part {
    let row = |curve: &Swept| {
        let most = curve.figures().max_by(|one, other| one.1.rate.total_cmp(&other.1.rate));
        let knee = curve.knee().and_then(|knee| curve.figures().find(|(at, _)| *at == knee));
        let mut fields = match &knee {
            Some((at, all)) => std::iter::once(whole(*at as f64)).chain(figures(all)).collect(),
            None => vec!["-".to_owned(); 1 + FIGURES.len()],
        };
        let [most, at] = most.map_or(["-".to_owned(), "-".to_owned()], |(at, all)| [rate(all.rate), whole(at as f64)]);
        fields.extend([most, at]);
        TableRow::of(&short(run, curve.contender), fields.into_iter().map(Field::of).collect())
    };
    let columns = [&["knee"], &FIGURES[..], &["most\n/s", "at"]].concat();
    Part::Sheet(sheet(format!("{}, at the knee", sweep.name), &columns, grouped(sweep, row)))
}

/// One row per contender and number in flight; a note says why a point has no figures.
pub(crate) fn points(run: &Run, sweep: &Sweep, notes: &mut Notes) -> Sheet {
    let mut groups = Vec::new();
    for curve in &sweep.curves {
        let mut rows = Vec::new();
        for point in &curve.points {
            let mut fields = vec![Field::of(whole(point.in_flight as f64))];
            match &point.figures {
                Ok(all) => fields.extend(figures(all).into_iter().map(Field::of)),
                Err(why) => fields.extend(vec![Field::missing(notes.number(why)); FIGURES.len()]),
            }
            fields[0].note = point.waits.as_ref().map(|why| notes.number(&super::text::sentence(why)));
            rows.push(TableRow::of(&short(run, curve.contender), fields));
        }
        groups.push(rows);
    }
    sheet(format!("{}, every point", sweep.name), &[&["in\nflight"], &FIGURES[..]].concat(), groups)
}

/// The tables of every point with their notes.
pub(super) fn every_point(run: &Run, sweeps: &[Sweep]) -> Vec<Part> {
    let mut notes = Notes::default();
    let mut parts: Vec<Part> = sweeps.iter().map(|sweep| Part::Sheet(points(run, sweep, &mut notes))).collect();
    parts.extend((!notes.0.is_empty()).then_some(Part::Notes(notes.0)));
    parts
}

/// The drivers, then floor.
fn grouped(sweep: &Sweep, row: impl Fn(&Swept) -> TableRow) -> Vec<Vec<TableRow>> {
    let is_driver = |contender: &Contender| contender.role == Role::Driver;
    let of = |drivers: bool| sweep.curves.iter().filter(|one| is_driver(one.contender) == drivers).map(&row).collect();
    let mut groups: Vec<Vec<TableRow>> = vec![of(true), of(false)];
    groups.retain(|group| !group.is_empty());
    groups
}
