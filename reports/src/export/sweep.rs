//! Sweeps as tables: compact ones, and every point.

use super::part::{Field, Notes, Part, Sheet, TableRow, by_role};
use crate::quantity::{rate, three_digits, whole};
use crate::{Axis, Contender, Run, Sweep, Swept, SweptFigures, short};

fn figures(all: &SweptFigures) -> Vec<String> {
    let us = |us: Option<f64>| us.map_or(NONE.to_owned(), three_digits);
    let latency = |at: usize| us(all.latency_us.map(|both| both[at]));
    vec![rate(all.rate), us(all.cpu_us), latency(0), latency(1)]
}

const NONE: &str = "-";
const FIGURES: [&str; 4] = ["state-\nments/s", "CPU us", "p50 us", "p99 us"];

/// The compact tables of each scenario: its knees, or what connections, shards and arrangements change if there are several.
pub(crate) fn compact(run: &Run, sweeps: &[Sweep]) -> Vec<Sheet> {
    let of = |(of, sweeps): (&str, Vec<&Sweep>)| match sweeps.as_slice() {
        [one] => vec![knees(run, one)],
        several => across(run, of, several),
    };
    Sweep::by_scenario(sweeps).into_iter().flat_map(of).collect()
}

/// One row per contender: its knee with the figures there, and the most statements per second.
fn knees(run: &Run, sweep: &Sweep) -> Sheet {
    let row = |curve: &Swept| {
        let knee = curve.knee().and_then(|knee| curve.figures().find(|(at, _)| *at == knee));
        let mut fields = match &knee {
            Some((at, all)) => std::iter::once(whole(*at as f64)).chain(figures(all)).collect(),
            None => vec![NONE.to_owned(); 1 + FIGURES.len()],
        };
        fields.extend([most(curve, |all| Some(rate(all.rate))), most_at(curve)]);
        TableRow::of(&short(run, curve.contender), fields.into_iter().map(Field::of).collect())
    };
    let columns = [&["knee"], &FIGURES[..], &["most\n/s", "at"]].concat();
    Sheet::of(format!("{}, at the knee", sweep.name()), "contender", columns, grouped(&[sweep], |all| row(all[0])))
}

/// A column per number of connections and shards and per arrangement: most statements per second, the CPU time there, and the knee.
fn across(run: &Run, of: &str, sweeps: &[&Sweep]) -> Vec<Sheet> {
    let column = |sweep: &&Sweep| {
        let over = sweep.over.iter().map(|(axis, number)| axis.count(*number).replacen(' ', "\n", 1));
        over.chain(sweep.on.clone()).collect::<Vec<_>>().join("\n")
    };
    let table = |what: &str, field: &dyn Fn(&Swept) -> String| {
        let row = |all: &[&Swept]| {
            TableRow::of(&short(run, all[0].contender), all.iter().map(|one| Field::of(field(one))).collect())
        };
        Sheet::of(format!("{of}, {what}"), "contender", sweeps.iter().map(column), grouped(sweeps, row))
    };
    let knee = |curve: &Swept| curve.knee().map_or(NONE.to_owned(), |knee| whole(knee as f64));
    vec![
        table("most statements per second", &|curve| most(curve, |all| Some(rate(all.rate)))),
        table("CPU us per statement there", &|curve| most(curve, |all| all.cpu_us.map(three_digits))),
        table("statements in flight there", &most_at),
        table("statements in flight at the knee", &knee),
    ]
}

fn most(curve: &Swept, figure: impl Fn(&SweptFigures) -> Option<String>) -> String {
    let most = curve.most().and_then(|point| point.figures.as_ref().ok());
    most.and_then(figure).unwrap_or_else(|| NONE.to_owned())
}

fn most_at(curve: &Swept) -> String {
    curve.most().map_or(NONE.to_owned(), |point| whole(point.in_flight as f64))
}

/// One row per contender and number; a note says why a point has no figures.
pub(crate) fn points(run: &Run, sweep: &Sweep, notes: &mut Notes) -> Sheet {
    let mut groups = Vec::new();
    for curve in &sweep.curves {
        let mut rows = Vec::new();
        for point in &curve.points {
            let mut fields = vec![Field::of(whole(point.in_flight as f64))];
            if sweep.axis != Axis::InFlight {
                fields.insert(0, Field::of(sweep.axis.number(point.at)));
            }
            match &point.figures {
                Ok(all) => fields.extend(figures(all).into_iter().map(Field::of)),
                Err(why) => fields.extend(vec![Field::missing(notes.number(why)); FIGURES.len()]),
            }
            fields[0].note = point.waits.as_ref().map(|why| notes.number(&crate::text::sentence(why)));
            rows.push(TableRow::of(&short(run, curve.contender), fields));
        }
        groups.push(rows);
    }
    let (what, numbers) = match sweep.axis {
        Axis::InFlight => ("every point", &["in\nflight"][..]),
        Axis::Connections => ("by connections", &["connec-\ntions", "in\nflight"][..]),
        Axis::Shards => ("by shards per node", &["shards", "in\nflight"][..]),
        Axis::Delay => ("by delay", &["delay", "in\nflight"][..]),
    };
    Sheet::of(format!("{}, {what}", sweep.name()), "contender", [numbers, &FIGURES[..]].concat(), groups)
}

pub(super) fn every_point(run: &Run, sweeps: &[Sweep]) -> Vec<Part> {
    let mut notes = Notes::default();
    let mut parts: Vec<Part> = sweeps.iter().map(|sweep| Part::Sheet(points(run, sweep, &mut notes))).collect();
    parts.extend(notes.part());
    parts
}

/// A row per contender from its curves in these sweeps: the drivers, then floor.
fn grouped(sweeps: &[&Sweep], row: impl Fn(&[&Swept]) -> TableRow) -> Vec<Vec<TableRow>> {
    let Some(first) = sweeps.first() else { return Vec::new() };
    let curves = |one: &Contender| {
        let nth = first.curves.iter().position(|curve| curve.contender.id == one.id);
        sweeps.iter().filter_map(|sweep| sweep.curves.get(nth?)).collect::<Vec<_>>()
    };
    by_role(first.curves.iter().map(|curve| curve.contender), |one| row(&curves(one)))
}
