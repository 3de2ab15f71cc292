//! Ladders: the highest rate that each contender holds, and every step of the way there.

use super::part::{Field, Notes, Part, Sheet, TableRow, by_role};
use crate::ladder::distance;
use crate::quantity::{rate, three_digits};
use crate::text::{plain, unique};
use crate::{Analysis, Climbed, Contender, LadderInfo, Limit, climbed, grouped, short};

const NONE: &str = "-";

/// Per scenario: the highest rate held, the CPU time there, and what limited it.
pub(crate) fn compact(analysis: &Analysis) -> Vec<Part> {
    let run = analysis.run;
    let Some(bound) = &run.plan.ladder else { return Vec::new() };
    let all = climbed(run, analysis.every_cell);
    let held =
        format!("statements/s with {} below {}: highest held / lowest failed", bound.percentile(), bound.bound());
    let mut notes = Notes::default();
    let mut parts = Vec::new();
    let kinds = grouped(all.iter().map(|one| ((one.place.scenario.kind(), &one.place.arrangement.id), one)));
    for ((kind, on), climbed) in kinds {
        let distances = unique(climbed.iter().map(|one| distance(run, one.place.scenario)));
        let mut sheet = |what: &str, field: &mut dyn FnMut(&Climbed) -> Field| {
            let row = |one: &Contender| {
                let at = |away: &String| {
                    let is_it = |found: &&&Climbed| {
                        found.contender.id == one.id && distance(run, found.place.scenario) == *away
                    };
                    climbed.iter().find(is_it).map_or(Field::of(NONE), |found| field(found))
                };
                TableRow::of(&short(run, one), distances.iter().map(at).collect())
            };
            let is_here = |one: &&Contender| climbed.iter().any(|found| found.contender.id == one.id);
            let rows = by_role(run.contenders.iter().filter(is_here), row);
            let columns = distances.iter().map(|distance| format!("delay\n{distance}"));
            let title = format!("{}{}, {what}", plain(kind), run.on(on));
            parts.push(Part::Sheet(Sheet::of(title, "contender", columns, rows)));
        };
        sheet(&held, &mut between);
        sheet("CPU us per statement at the rate held", &mut |one| {
            Field::of(one.ladder.cpu_us().map_or(NONE.to_owned(), three_digits))
        });
        sheet("what failed at the lowest rate that failed", &mut |one| {
            one.ladder.limit().map_or(Field::of(NONE), |limit| why(limit, "", bound, &mut notes))
        });
    }
    parts.extend(notes.part());
    parts
}

/// The limit in a few words, and a note with the sentence if there is one.
fn why(limit: &Limit, before: &str, bound: &LadderInfo, notes: &mut Notes) -> Field {
    let note = limit.why.as_ref().map(|why| notes.number(why));
    Field { note, ..Field::of(format!("{before}{}", limit.words(bound))) }
}

fn between(one: &Climbed) -> Field {
    let shown = |found: Option<u64>| found.map_or("none".to_owned(), |found| rate(found as f64));
    let (held, failed) = (one.ladder.held(), one.ladder.failed());
    let open = if one.ladder.next().is_some() { "?" } else { "" };
    Field {
        sort: held.map(|held| held as f64),
        is_bad: held.is_none(),
        ..Field::of(format!("{} / {}{open}", shown(held), shown(failed)))
    }
}

pub(crate) fn steps(analysis: &Analysis) -> Vec<Part> {
    let run = analysis.run;
    let Some(bound) = &run.plan.ladder else { return Vec::new() };
    let mut notes = Notes::default();
    let sheet = |one: &Climbed| {
        let (scenario, on) = (one.place.scenario, run.on(&one.place.arrangement.id));
        let at = format!("{}{on} with a delay of {}", plain(scenario.kind()), distance(run, scenario));
        let title = format!("{}, {at}, every step", short(run, one.contender));
        Part::Sheet(step_sheet(one, bound, title, &mut notes))
    };
    let sheets: Vec<Part> = climbed(run, analysis.every_cell).iter().map(sheet).collect();
    sheets.into_iter().chain(notes.part()).collect()
}

fn step_sheet(one: &Climbed, bound: &LadderInfo, title: String, notes: &mut Notes) -> Sheet {
    let row = |(nth, step): (usize, &crate::Step)| {
        let figure =
            |found: Option<f64>, scale: f64| Field::of(found.map_or(NONE.to_owned(), |one| three_digits(one / scale)));
        let verdict = step.limit.as_ref().map_or(Field::of("held"), |limit| why(limit, "not held: ", bound, notes));
        let disturbed = if step.disturbed { ", disturbed" } else { "" };
        let fields = vec![
            Field::of(rate(step.rate as f64)),
            figure(step.percentile_us, 1e3),
            figure(step.rate_held, 1.0),
            figure(step.cpu_us, 1.0),
            Field { text: format!("{}{disturbed}", verdict.text), ..verdict },
        ];
        TableRow::of(&(nth + 1).to_string(), fields)
    };
    let percentile = format!("{}\nms", bound.percentile());
    let columns = ["state-\nments/s", &percentile, "held\n%", "CPU us", "verdict"];
    Sheet::of(title, "step", columns, vec![one.ladder.steps.iter().enumerate().map(row).collect()])
}
