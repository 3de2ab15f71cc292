//! Ladders: the highest rate that each contender holds, and every step of the way there.

use super::part::{Field, Notes, Part, Sheet, TableRow, by_role};
use crate::ladder::distance;
use crate::quantity::{rate, three_digits};
use crate::text::{plain, unique};
use crate::{Analysis, Climbed, LadderInfo, Limit, Run, climbed, grouped, short};

const NONE: &str = "-";

/// Those of one scenario in one arrangement, at every distance.
struct Kind<'c, 'a> {
    name: String,
    distances: Vec<String>,
    climbed: Vec<&'c Climbed<'a>>,
}

impl<'c, 'a> Kind<'c, 'a> {
    fn all(run: &Run, climbed: &'c [Climbed<'a>]) -> Vec<Kind<'c, 'a>> {
        let key = |one: &&'c Climbed<'a>| (one.place.scenario.kind(), one.place.arrangement.id.as_str());
        let kind = |((kind, on), climbed): ((&str, &str), Vec<&'c Climbed<'a>>)| {
            let on = if run.plan.arrangements.len() > 1 { format!(" on {}", plain(on)) } else { String::new() };
            let distances = unique(climbed.iter().map(|one| distance(run, one.place.scenario)));
            Kind { name: format!("{}{on}", plain(kind)), distances, climbed }
        };
        grouped(climbed.iter().map(|one| (key(&one), one))).into_iter().map(kind).collect()
    }

    /// A row per contender with a field for every distance.
    fn sheet(&self, run: &Run, what: &str, mut field: impl FnMut(&Climbed) -> Field) -> Sheet {
        let row = |one: &'_ crate::Contender| {
            let at = |away: &String| {
                let is_it =
                    |found: &&&Climbed| found.contender.id == one.id && distance(run, found.place.scenario) == *away;
                self.climbed.iter().find(is_it).map_or(Field::of(NONE), |found| field(found))
            };
            TableRow::of(&short(run, one), self.distances.iter().map(at).collect())
        };
        let contenders =
            run.contenders.iter().filter(|one| self.climbed.iter().any(|found| found.contender.id == one.id));
        let columns = self.distances.iter().map(|distance| format!("delay\n{distance}"));
        Sheet::of(format!("{}, {what}", self.name), "contender", columns, by_role(contenders, row))
    }
}

/// Per scenario: the highest rate held, the CPU time there, and what limited it.
pub(crate) fn compact(analysis: &Analysis) -> Vec<Part> {
    let run = analysis.run;
    let Some(bound) = &run.plan.ladder else { return Vec::new() };
    let all = climbed(run, analysis.every_cell);
    let mut notes = Notes::default();
    let sheets = |kind: Kind| {
        let held =
            format!("statements/s with {} below {}: highest held / lowest failed", bound.percentile(), bound.bound());
        vec![
            kind.sheet(run, &held, between),
            kind.sheet(run, "CPU us per statement at the rate held", |one| {
                Field::of(one.ladder.cpu_us().map_or(NONE.to_owned(), three_digits))
            }),
            kind.sheet(run, "what failed at the lowest rate that failed", |one| {
                one.ladder.limit().map_or(Field::of(NONE), |limit| why(limit, "", bound, &mut notes))
            }),
        ]
    };
    let sheets: Vec<Sheet> = Kind::all(run, &all).into_iter().flat_map(sheets).collect();
    with_notes(sheets, notes)
}

/// The limit in a few words, and a note with the sentence if there is one.
fn why(limit: &Limit, before: &str, bound: &LadderInfo, notes: &mut Notes) -> Field {
    let note = limit.why.as_ref().map(|why| notes.number(why));
    Field { note, ..Field::of(format!("{before}{}", limit.words(bound))) }
}

fn with_notes(sheets: Vec<Sheet>, notes: Notes) -> Vec<Part> {
    let notes = (!notes.0.is_empty()).then_some(Part::Notes(notes.0));
    sheets.into_iter().map(Part::Sheet).chain(notes).collect()
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

/// Every step of every ladder, a table each.
pub(crate) fn steps(analysis: &Analysis) -> Vec<Part> {
    let run = analysis.run;
    let Some(bound) = &run.plan.ladder else { return Vec::new() };
    let mut notes = Notes::default();
    let mut sheet = |one: &Climbed| {
        let on = if run.plan.arrangements.len() > 1 {
            format!(" on {}", plain(&one.place.arrangement.id))
        } else {
            String::new()
        };
        let at =
            format!("{}{on} with a delay of {}", plain(one.place.scenario.kind()), distance(run, one.place.scenario));
        step_sheet(one, bound, format!("{}, {at}, every step", short(run, one.contender)), &mut notes)
    };
    let sheets = climbed(run, analysis.every_cell).iter().map(&mut sheet).collect();
    with_notes(sheets, notes)
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
