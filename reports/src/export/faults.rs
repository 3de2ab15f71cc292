//! Bad days: what an application saw of each, driver by driver.

use super::part::{Field, Notes, Part, Sheet, TableRow};
use crate::measure::CPU_PER_STATEMENT;
use crate::quantity::{figure, three_digits, whole};
use crate::text::{count, list, plain};
use crate::{Analysis, Cell, Contender, Pass, Place, Unit, median, short};

/// What a contender has that keeps its driver's own defaults beside those with equal settings.
pub const OWN_DEFAULTS: &str = "+settings=default";

/// The figures of a day by themselves, after the failed statements: id, heading.
const FIGURES: [(&str, &str); 9] = [
    ("unanswered", "unan-\nswered"),
    ("lost", "lost"),
    ("doubled", "doubled"),
    ("stored_though_failed", "failed,\nstored"),
    ("sent_again", "sent\nagain"),
    ("longest_gap", "gap s"),
    ("below_rate", "below\n90 % s"),
    ("connections_accepted", "new con-\nnections"),
    (CPU_PER_STATEMENT, "CPU us"),
];

/// A table of failed statements and gaps: a row per day, a column per contender; then what no application should see.
pub(crate) fn compact(analysis: &Analysis) -> Vec<Part> {
    let all: Vec<&Contender> = shown(analysis).collect();
    let (own, equal): (Vec<&Contender>, Vec<&Contender>) = all.iter().partition(|one| one.id.contains(OWN_DEFAULTS));
    let has_both = !own.is_empty() && !equal.is_empty();
    let with = [(equal, ", with equal settings"), (own, ", with each driver's own defaults")];
    let statements = analysis.run.statements(|number| whole(number as f64));
    let mut parts: Vec<Part> = Vec::new();
    for (contenders, which) in with.into_iter().filter(|(contenders, _)| !contenders.is_empty()) {
        let which = if has_both { which } else { "" };
        let title = format!("Failed of {statements} statements, and the longest gap without a right answer{which}");
        let row = |place: Place| {
            let fields = contenders.iter().map(|one| failed_and_gap(analysis, place, one));
            TableRow::of(&place.scenario.name, fields.collect())
        };
        let labels = contenders.iter().map(|one| plain(&one.label).replace(OWN_DEFAULTS, "").replace('+', "\n+"));
        parts.push(Part::Sheet(Sheet::of(title, "day", labels, vec![analysis.places().map(row).collect()])));
    }
    parts.extend(Part::list(alarms(analysis)));
    parts
}

/// Every figure of every day, with the errors by kind below, and at last the notes.
pub(crate) fn every_figure(analysis: &Analysis) -> Vec<Part> {
    let (mut parts, mut notes) = (Vec::new(), Notes::default());
    for place in analysis.places() {
        let row = |one: &'_ Contender| {
            let cells = cells(analysis, place, one);
            let mut fields = vec![why_none(analysis, place, one).unwrap_or_else(|| Field::of(whole(failed(&cells))))];
            fields.extend(FIGURES.iter().map(|(id, _)| one_figure(&cells, id, &mut notes)));
            fields.push(Field::of(slowest(&cells).map_or("-".to_owned(), three_digits)));
            TableRow::of(&one.label, fields)
        };
        let rows: Vec<TableRow> = shown(analysis).map(row).collect();
        let columns = FIGURES.iter().map(|(_, heading)| *heading);
        let columns = std::iter::once("failed").chain(columns).chain(["p99 ms"]);
        parts.push(Part::Title(plain(&place.scenario.name)));
        parts.push(Part::Text(plain(&place.scenario.about)));
        parts.push(Part::Sheet(Sheet::of("", "contender", columns, vec![rows])));
        parts.extend(Part::list(shown(analysis).filter_map(|one| kinds(analysis, place, one)).collect()));
    }
    parts.extend(notes.part());
    parts
}

fn shown<'a>(analysis: &'a Analysis) -> impl Iterator<Item = &'a Contender> {
    analysis.run.contenders.iter().filter(|one| !one.control)
}

fn cells<'a>(analysis: &Analysis<'a>, place: Place, contender: &Contender) -> Vec<&'a Cell> {
    analysis.cells_of(place, contender, Pass::Timing)
}

/// The median of the measure over the generations.
fn of(cells: &[&Cell], id: &str) -> Option<f64> {
    median(&mut cells.iter().filter_map(|cell| cell.get(id)).collect::<Vec<_>>())
}

/// Statements that failed or had no answer: the median of the generations.
fn failed(cells: &[&Cell]) -> f64 {
    let each = cells.iter().map(|cell| cell.errors() as f64 + cell.get("unanswered").unwrap_or(0.0));
    median(&mut each.collect::<Vec<_>>()).unwrap_or(0.0)
}

/// The time within which 99 % of the statements were answered, in milliseconds: the median of the generations.
fn slowest(cells: &[&Cell]) -> Option<f64> {
    let each = cells.iter().filter_map(|cell| Some(cell.latency.as_ref()?.p99_us / 1_000.0));
    median(&mut each.collect::<Vec<_>>())
}

fn why_none(analysis: &Analysis, place: Place, contender: &Contender) -> Option<Field> {
    if contender.unavailable.is_some() {
        return Some(Field::bad("missing"));
    }
    if place.scenario.left_out.contains_key(&contender.id) {
        return Some(Field::of("n/a"));
    }
    let cells = cells(analysis, place, contender);
    let is_any = |what: fn(&Cell) -> bool| cells.iter().any(|cell| what(cell));
    match () {
        () if cells.is_empty() => Some(Field::of("not run")),
        () if is_any(|cell| cell.failed.is_some()) => Some(Field::bad("failed")),
        () if is_any(|cell| cell.void.is_some()) => Some(Field::bad("void")),
        () => None,
    }
}

fn failed_and_gap(analysis: &Analysis, place: Place, contender: &Contender) -> Field {
    let cells = cells(analysis, place, contender);
    why_none(analysis, place, contender).unwrap_or_else(|| {
        let gap = of(&cells, "longest_gap").map_or("n/a".to_owned(), |gap| format!("{gap:.2} s"));
        let failed = failed(&cells);
        Field { sort: Some(failed), ..Field::of(format!("{} / {gap}", whole(failed))) }
    })
}

fn one_figure(cells: &[&Cell], id: &str, notes: &mut Notes) -> Field {
    let unit = |cell: &&Cell| cell.measures.get(id).and_then(|measure| measure.unit());
    // The median of some generations would hide the others.
    let reason = cells.iter().find_map(|cell| cell.measures.get(id)?.reason());
    match (of(cells, id).filter(|_| reason.is_none()), cells.iter().find_map(unit)) {
        (Some(value), Some(Unit::Count)) => Field::of(whole(value)),
        (Some(value), Some(Unit::Seconds)) => Field::of(format!("{value:.2}")),
        (Some(value), Some(unit)) => Field::of(figure(value, unit)),
        _ => reason.map_or(Field::of("-"), |why| Field::missing(notes.number(why))),
    }
}

/// The errors of the generation with the most, by kind.
fn kinds(analysis: &Analysis, place: Place, contender: &Contender) -> Option<String> {
    let cells = cells(analysis, place, contender);
    let most = cells.iter().max_by_key(|cell| cell.errors()).filter(|cell| cell.errors() > 0)?;
    let kind = |line: &crate::ErrorLine| format!("{} {}", whole(line.count as f64), plain(&line.kind));
    let first = most.error_kinds.iter().max_by_key(|line| line.count)?;
    Some(format!(
        "{}: {}, such as \"{}\".",
        short(analysis.run, contender),
        list(&most.error_kinds.iter().map(kind).collect::<Vec<_>>()),
        plain(first.first.trim_end_matches('.'))
    ))
}

/// What no application should see, whatever happens: a sentence for each, with the contenders and days.
fn alarms(analysis: &Analysis) -> Vec<String> {
    let alarm = |what: &str, amount: &dyn Fn(&[&Cell]) -> Option<String>| {
        let of_day = |place: Place<'_>| {
            let of = |one: &Contender| {
                Some(format!("{}{}", short(analysis.run, one), amount(&cells(analysis, place, one))?))
            };
            let who: Vec<String> = shown(analysis).filter_map(of).collect();
            (!who.is_empty()).then(|| format!("{} on {}", list(&who), plain(&place.scenario.name)))
        };
        let days: Vec<String> = analysis.places().filter_map(of_day).collect();
        (!days.is_empty()).then(|| format!("{what}: {}.", days.join("; ")))
    };
    let more = |id: &'static str| {
        move |cells: &[&Cell]| {
            let most =
                cells.iter().filter_map(|cell| cell.get(id)).max_by(f64::total_cmp).filter(|most| *most > 0.0)?;
            Some(format!(" {}", whole(most)))
        }
    };
    let is_back = |cell: &&Cell| cell.measures.get("below_rate").is_none_or(|one| one.reason().is_none());
    let all = [
        alarm("Acknowledged writes that were lost", &more("lost")),
        alarm("Writes that were executed twice", &more("doubled")),
        alarm("Statements without an answer a minute later", &more("unanswered")),
        alarm("Below 90 % of the rate until the window ended", &|cells| (!cells.iter().all(is_back)).then(String::new)),
    ];
    let mut said: Vec<String> = all.into_iter().flatten().collect();
    let all = shown(analysis).flat_map(|one| analysis.places().flat_map(move |place| cells(analysis, place, one)));
    let written: Vec<&Cell> = all.filter(|cell| cell.get("read_back").is_none_or(|rows| rows > 0.0)).collect();
    let read_back = written.iter().filter_map(|cell| cell.get("read_back")).sum::<f64>();
    let is_known = written.iter().all(|cell| cell.counts() && cell.get("lost").is_some());
    if is_known && read_back > 0.0 && !said.iter().any(|one| one.starts_with("Acknowledged")) {
        said.insert(0, format!("No acknowledged write was lost: floor read {} back.", count(read_back as u64, "row")));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown;
    use crate::{ErrorLine, Measure, Run, sample};

    /// Bad days of the sample's drivers, one of which keeps its own defaults.
    fn bad_days() -> (Run, Vec<Cell>) {
        let (mut run, mut cells) = sample::blocks(1);
        (run.plan.faults, run.plan.rate) = (true, Some(2_000));
        run.contenders.retain(|one| one.role == crate::Role::Driver && !one.control);
        for one in run.contenders.iter_mut().filter(|one| one.id == "cdrs-tokio") {
            (one.id, one.label) =
                ("cdrs-tokio+settings=default".to_owned(), "cdrs-tokio 9.0.2+settings=default".to_owned());
        }
        cells.retain(|cell| cell.pass == Pass::Timing);
        for cell in &mut cells {
            if cell.contender == "cdrs-tokio" {
                cell.contender = "cdrs-tokio+settings=default".to_owned();
            }
            let count = |value| Measure::value(value, Unit::Count);
            let all = [
                ("longest_gap", Measure::value(0.31, Unit::Seconds)),
                ("read_back", count(6_000.0)),
                ("lost", count(0.0)),
            ];
            cell.measures.extend(all.map(|(id, measure)| (id.to_owned(), measure)));
        }
        (run, cells)
    }

    #[test]
    fn a_day_is_a_row_and_a_contender_a_column_in_the_table_of_its_settings() {
        let (run, mut cells) = bad_days();
        let bad = cells.iter_mut().find(|cell| cell.contender == "scylla" && cell.scenario == "reads").unwrap();
        let first = "the node went away.".to_owned();
        bad.error_kinds = vec![ErrorLine { kind: "connection_lost".to_owned(), count: 17, first }];
        bad.measures.insert("errors".to_owned(), Measure::value(17.0, Unit::Count));
        bad.measures.insert("unanswered".to_owned(), Measure::value(3.0, Unit::Count));
        bad.measures.insert("below_rate".to_owned(), Measure::unavailable("It was not back."));
        let text = shown::table(&run, &cells, shown::at(80));
        assert!(
            text.starts_with("500k statements per day at 2,000 per second on multi:2, time limit 30000 ms with"),
            "{text}"
        );
        let line = |at: usize| text.lines().filter(|line| line.starts_with("reads")).nth(at).unwrap().to_owned();
        let wide = shown::wide(&run, &cells, 120);
        assert!(line(0).contains("20 / 0.31 s") && line(1).contains("0 / 0.31 s"), "{text}");
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("with each driver's own defaults"), "{text}");
        assert!(flat.contains("Statements without an answer a minute later: scylla 3 on reads."), "{text}");
        assert!(flat.contains("Below 90 % of the rate until the window ended: scylla on reads."), "{text}");
        assert!(flat.contains("No acknowledged write was lost: floor read"), "{text}");
        assert!(wide.contains("17 connection_lost, such as \"the node went away\"."), "{wide}");
        assert!(
            shown::markdown(&run, &cells).contains("| reads |") && shown::html(&run, &cells).contains("20 / 0.31 s")
        );
    }

    #[test]
    fn every_figure_stands_under_its_heading() {
        let (run, mut cells) = bad_days();
        let ids = ["unanswered", "lost", "doubled", "stored_though_failed", "sent_again"];
        let times = [("longest_gap", 6.0), ("below_rate", 7.0)];
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla") {
            let counts = ids.iter().zip(1..).map(|(id, value)| (*id, Measure::value(f64::from(value), Unit::Count)));
            let times = times.iter().map(|(id, value)| (*id, Measure::value(*value, Unit::Seconds)));
            let last = [("connections_accepted", Measure::value(8.0, Unit::Count))];
            cell.measures.extend(counts.chain(times).chain(last).map(|(id, measure)| (id.to_owned(), measure)));
        }
        let text = shown::markdown(&run, &cells);
        let mut lines = text.lines().skip_while(|line| !line.starts_with("| contender | failed"));
        let heading = "| contender | failed | unanswered | lost | doubled | failed, stored | sent again | gap s | below 90 % s | new \
                       connections | CPU us | p99 ms |";
        assert_eq!(lines.next(), Some(heading), "{text}");
        let row = lines.nth(1).unwrap();
        assert!(row.starts_with("| scylla@1.9.0 | 1 | 1 | 2 | 3 | 4 | 5 | 6.00 | 7.00 | 8 | "), "{row}");
    }

    #[test]
    fn a_lost_row_is_said_and_who_has_no_figures_says_why() {
        let (run, mut cells) = bad_days();
        cells.retain(|cell| cell.contender != "scylla" || cell.scenario != "reads");
        for cell in &mut cells {
            match (cell.contender.as_str(), cell.scenario.as_str()) {
                ("scylla", "writes") => drop(cell.measures.insert("lost".to_owned(), Measure::value(2.0, Unit::Count))),
                ("cdrs-tokio+settings=default", "writes") => cell.failed = Some("It crashed.".to_owned()),
                ("cdrs-tokio+settings=default", "reads") => cell.void = Some("Wrong rows.".to_owned()),
                _ => {}
            }
        }
        let text = shown::table(&run, &cells, shown::at(100));
        assert!(text.contains("Acknowledged writes that were lost: scylla 2 on writes."), "{text}");
        assert!(!text.contains("No acknowledged"), "{text}");
        for word in ["missing", "failed", "void", "not run"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
