//! The classic table of driver comparisons: what Linux' `time` prints, per driver and workload.

use std::cmp::Ordering;
use std::io::Write;

use super::column::times;
use super::document::{At, doubts, trouble};
use super::exporter::{ExportError, Exporter, Look};
use super::head::{arrangement, sized, title};
use super::part::{Field, Notes, Part, Sheet, TableRow, by_role};
use super::table::terminal;
use crate::measure::WALL;
use crate::text::plain;
use crate::{Analysis, Cell, Contender, Pass, Place};

pub(super) struct Time;

impl Exporter for Time {
    fn names(&self) -> [&'static str; 3] {
        ["time", "The classic table: real, user and sys as Linux' time prints them", "time.txt"]
    }

    /// One table per arrangement, a row per contender and a column per scenario: the sums over all turns. Where
    /// each turn issued all statements, it is the one with the median real time.
    fn write(&self, analysis: &Analysis, look: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        let run = analysis.run;
        let [mut parts, doubts] = doubts(analysis);
        parts.push(Part::Text(title(run)));
        let what = "Time to run all statements of a scenario, as `time` prints it";
        parts.push(Part::Text(match (run.plan.repeats_all(), run.blocks()) {
            (false, _) => format!("{what}: the sums over all turns."),
            (true, 1) => format!("{what}."),
            (true, turns) => format!("{what}: of the one of {turns} turns with the median real time."),
        }));
        parts.extend(sized(analysis).into_iter().map(Part::Text));
        parts.extend(doubts);
        let mut notes = Notes::default();
        for one in &run.plan.arrangements {
            let places: Vec<Place> = analysis.places().filter(|place| place.arrangement.id == one.id).collect();
            parts.push(Part::Text(arrangement(one)));
            parts.push(Part::Sheet(sheet(analysis, &places, &mut notes)));
        }
        parts.extend(notes.part());
        Ok(out.write_all(terminal(&parts, look).as_bytes())?)
    }
}

fn sheet(analysis: &Analysis, places: &[Place], notes: &mut Notes) -> Sheet {
    // The control is the reference once more.
    let shown = analysis.run.contenders.iter().filter(|one| !one.control);
    let groups = by_role(shown, |one| {
        let fields = places.iter().map(|place| field(analysis, *place, one, notes)).collect();
        TableRow::of(&one.label, fields)
    });
    Sheet::of("", "contender", places.iter().map(|place| plain(&place.scenario.name)), groups)
}

/// Three lines, or why there are none.
fn field(analysis: &Analysis, place: Place, contender: &Contender, notes: &mut Notes) -> Field {
    let columns = times();
    let at = At { analysis, columns: &columns, place };
    let cells = at.cells_of(contender, Pass::Timing);
    // All three are of one cell: user and sys of another would not add up to its CPU time.
    let mut by_time: Vec<&&Cell> = cells.iter().filter(|cell| cell.get(WALL).is_some()).collect();
    by_time.sort_by(|one, other| one.get(WALL).partial_cmp(&other.get(WALL)).unwrap_or(Ordering::Equal));
    let summed = match by_time.get(by_time.len().saturating_sub(1) / 2) {
        Some(cell) if analysis.run.plan.repeats_all() => Some(std::slice::from_ref(*cell)),
        None if analysis.run.plan.total.is_none() => None,
        _ => Some(cells.as_slice()),
    };
    let fields = at.fields(contender, summed, notes);
    let mut noted = |why: &str, word: &str| Field { note: Some(notes.number(why)), ..Field::bad(word) };
    let why = cells.iter().find_map(|cell| cell.failed.as_ref().or(cell.void.as_ref()));
    match (&contender.unavailable, why) {
        (Some(why), _) => noted(why, "missing"),
        (_, Some(why)) => noted(why, &trouble(&cells)),
        _ if fields.iter().skip(1).all(|field| field.text == "-") => fields[0].clone(),
        _ => {
            let lines = ["real", "user", "sys "].iter().zip(&fields);
            let text: Vec<String> = lines.map(|(name, field)| format!("{name} {}", field.shown())).collect();
            Field::of(text.join("\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, Run, TurnsInfo, Unit, exporter, sample};

    #[test]
    fn what_a_total_took_is_the_sum_over_its_turns_in_every_table() {
        let (mut run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing) {
            cell.measures.insert(WALL.to_owned(), Measure::value(1.5, Unit::Seconds));
            cell.round = Some(1);
        }
        (run.plan.turns, run.plan.total) = (TurnsInfo { count: 250_000, rounds: 2 }, Some(6_000_000));
        let shown = |run: &Run, format: &str| {
            let look = Look { wide: true, ..Look::default() };
            exporter(format).unwrap().one(&Analysis::new(run, &cells), look).unwrap()
        };
        for format in ["time", "table", "markdown"] {
            assert!(shown(&run, format).contains("0m18.000s"), "{format}: {}", shown(&run, format));
        }
        run.plan.total = None;
        assert!(shown(&run, "markdown").contains("0m1.500s") && shown(&run, "time").contains("0m18.000s"));
    }
}
