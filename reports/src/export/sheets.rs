//! The tables after the main one of a scenario in an arrangement: further measures under their meters' headings, and breakdowns.
//! Nothing here knows a meter.

use std::collections::{BTreeMap, BTreeSet};

use super::column::{COLUMNS, Entry};
use super::document::At;
use super::part::{Field, Notes, Sheet, TableRow, by_role};
use crate::explain::breakdown;
use crate::measure::{
    ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS, CPU_PER_STATEMENT, PEAK_RSS, STATEMENTS, SYSCALLS_PER_STATEMENT,
};
use crate::quantity::{figure, three_digits};
use crate::text::plain;
use crate::{Cell, Contender, LoaderPart, Measure, MeasureInfo, Pass, SummaryRow, Unit};

type CellsOf<'a> = (&'a Contender, Vec<&'a Cell>);

/// Figures of a breakdown that are below this in every contender are summed up.
const LEAST: f64 = 0.001;

impl At<'_> {
    /// The further tables, in the order of the passes; none without any figure or reason.
    pub(crate) fn more(&self, notes: &mut Notes) -> Vec<Sheet> {
        let mut sheets = Vec::new();
        let passes = &self.analysis.run.plan.passes;
        for pass in Pass::ALL.into_iter().filter(|pass| *pass == Pass::Timing || passes.contains(pass)) {
            sheets.extend(self.measures(pass, notes));
            sheets.extend(self.breakdowns(pass));
        }
        sheets.extend(self.loaders());
        sheets
    }

    /// A row per contender and loader: sums and means over the turns.
    fn loaders(&self) -> Option<Sheet> {
        let drivers = self.analysis.run.contenders.iter().filter(|one| !one.control);
        let rows: Vec<TableRow> = drivers.flat_map(|one| self.loaders_of(one)).collect();
        let columns = [
            "cores",
            "statements",
            "CPU us\n/statement",
            "peak RSS",
            "starts\nlate us",
            "ends\nearly us",
            "clock\n±us",
        ];
        (!rows.is_empty()).then(|| Sheet::of("each loader", "loader", columns, vec![rows]))
    }

    fn loaders_of(&self, contender: &Contender) -> Vec<TableRow> {
        let cells = self.cells_of(contender, Pass::Timing);
        let mut hosts: Vec<Vec<&LoaderPart>> = Vec::new();
        for (nth, part) in cells.iter().flat_map(|cell| cell.loaders.iter().enumerate()) {
            hosts.resize_with(hosts.len().max(nth + 1), Vec::new);
            hosts[nth].push(part);
        }
        let row = |parts: &Vec<&LoaderPart>| {
            let all =
                |of: &dyn Fn(&LoaderPart) -> Option<f64>| parts.iter().filter_map(|part| of(part)).collect::<Vec<_>>();
            let read = |id: &'static str| all(&|part| part.measures.get(id).and_then(Measure::get));
            let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            let most = |values: Vec<f64>| values.into_iter().fold(f64::NAN, f64::max);
            let figures = [
                (parts[0].cores.into(), Unit::Count),
                (read(STATEMENTS).iter().sum(), Unit::Count),
                (mean(read(CPU_PER_STATEMENT)), Unit::Microseconds),
                (most(read(PEAK_RSS)), Unit::Bytes),
                (mean(all(&|part| Some(part.began_after_us))), Unit::Microseconds),
                (mean(all(&|part| Some(part.ended_before_us))), Unit::Microseconds),
                (most(all(&|part| Some(part.clock_error_ns as f64 / 1e3))), Unit::Microseconds),
            ];
            let shown =
                |(value, unit): (f64, Unit)| if value.is_nan() { "n/a".to_owned() } else { figure(value, unit) };
            let label = format!("{} on {}", contender.label, parts[0].host);
            TableRow::of(&label, figures.into_iter().map(|one| Field::of(shown(one))).collect())
        };
        hosts.iter().filter(|parts| !parts.is_empty()).map(row).collect()
    }

    /// A row per contender, a column per measure that its meter gave a heading and the main table does not have.
    fn measures(&self, pass: Pass, notes: &mut Notes) -> Option<Sheet> {
        let run = self.analysis.run;
        // Counts beside CPU time stand in the table of their pass as well.
        let in_main = |id: &str| {
            ![ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS].contains(&id)
                && COLUMNS.iter().any(|column| column.meter == id)
        };
        let mut measures: Vec<(&MeasureInfo, &str)> = run
            .measures
            .iter()
            .filter(|measure| measure.pass == pass && !in_main(&measure.id))
            .filter(|measure| self.has_any(&measure.id))
            .filter_map(|measure| Some((measure, measure.column.as_deref()?)))
            .collect();
        // Instructions in user mode are half of the work: the kernel's part is asked for by system calls.
        let beside = |measure: &&MeasureInfo| pass == Pass::Instructions && measure.id == SYSCALLS_PER_STATEMENT;
        if !measures.is_empty() && run.plan.passes.contains(&Pass::Counting) {
            measures.extend(run.measures.iter().find(beside).map(|measure| (measure, "system\ncalls")));
        }
        let shown = run.contenders.iter().filter(|one| one.unavailable.is_none() && !one.control);
        let groups = by_role(shown.filter(|one| !self.cells_of(one, pass).is_empty()), |one| {
            let row = |measure: &MeasureInfo| self.analysis.row(self.place, one, &measure.id);
            let fields = measures.iter().map(|(measure, _)| entry(row(measure)).field(notes));
            TableRow::of(&one.label, fields.collect())
        });
        let title = if pass == Pass::Timing { "more of the same cells" } else { pass.title() };
        let columns = measures.iter().map(|(_, title)| title.lines().map(plain).collect::<Vec<_>>().join("\n"));
        let sheet = Sheet::of(title, "contender", columns, groups);
        (!measures.is_empty() && !sheet.groups.is_empty()).then_some(sheet)
    }

    /// Whether a cell here has that measure, or the reason why it has no value.
    fn has_any(&self, id: &str) -> bool {
        let contenders = self.analysis.run.contenders.iter();
        let mut mine = contenders.flat_map(|one| Pass::ALL.into_iter().flat_map(|pass| self.cells_of(one, pass)));
        mine.any(|cell| cell.measures.contains_key(id))
    }

    /// A row per name, the greatest first, and a column per contender.
    fn breakdowns(&self, pass: Pass) -> Vec<Sheet> {
        let mine = |one: &'_ Contender| {
            let cells = self.cells_of(one, pass).into_iter();
            cells.filter(|cell| cell.counts() && !cell.breakdowns.is_empty()).collect::<Vec<_>>()
        };
        let contenders = self.analysis.run.contenders.iter();
        let found: Vec<CellsOf> = contenders.map(|one| (one, mine(one))).filter(|(_, all)| !all.is_empty()).collect();
        let kinds: BTreeSet<&String> =
            found.iter().flat_map(|(_, all)| all).flat_map(|one| one.breakdowns.keys()).collect();
        kinds.into_iter().map(|kind| of_kind(kind, pass, &found)).collect()
    }
}

fn of_kind(kind: &str, pass: Pass, found: &[CellsOf]) -> Sheet {
    let columns: Vec<(String, BTreeMap<String, f64>)> = found
        .iter()
        .map(|(contender, cells)| (plain(&contender.label), breakdown(cells, kind).unwrap_or_default()))
        .collect();
    let names = greatest_first(columns.iter().flat_map(|(_, figures)| figures).map(|(name, value)| (&**name, *value)));
    let (shown, others): (Vec<_>, Vec<_>) = names.into_iter().partition(|(_, most)| *most >= LEAST);
    let row = |label: &str, value: &dyn Fn(&BTreeMap<String, f64>) -> f64| {
        let share = |value: f64| if value == 0.0 { "-".to_owned() } else { three_digits(value) };
        TableRow::of(label, columns.iter().map(|(_, figures)| Field::of(share(value(figures)))).collect())
    };
    let mut rows: Vec<TableRow> =
        shown.iter().map(|(name, _)| row(name, &|figures| figures.get(*name).copied().unwrap_or(0.0))).collect();
    if !others.is_empty() {
        let sum = |figures: &BTreeMap<String, f64>| others.iter().filter_map(|(name, _)| figures.get(*name)).sum();
        rows.push(row("others", &sum));
    }
    let total = row("all", &|figures| figures.values().sum());
    let title = format!("{} per statement", if kind == pass.name() { pass.title() } else { kind });
    let labels = columns.iter().map(|(label, _)| label.replace('+', "+\n"));
    Sheet::of(title, "name", labels, vec![vec![total], rows])
}

pub(crate) fn greatest_first<'a>(figures: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, f64)> {
    let mut greatest: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, value) in figures {
        let most = greatest.entry(name).or_default();
        *most = most.max(value);
    }
    let mut names: Vec<(&str, f64)> = greatest.into_iter().collect();
    names.sort_by(|(a, x), (b, y)| y.total_cmp(x).then(a.cmp(b)));
    names
}

fn entry(row: Option<&SummaryRow>) -> Entry {
    match row {
        None => Entry::Missing("This was not measured in this run.".to_owned()),
        Some(SummaryRow { median: None, unavailable, .. }) => Entry::Missing(unavailable.clone().unwrap_or_default()),
        Some(SummaryRow { void: Some(_), .. }) => Entry::Void,
        Some(SummaryRow { median: Some(median), unit, .. }) => {
            Entry::Figure(figure(*median, unit.unwrap_or(Unit::Count)))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::export::shown::{markdown, wide};
    use crate::{Better, Cell, Measure, MeasureInfo, Pass, Run, Unit, sample};

    /// The sample with a pass that no reader knows by name.
    fn with_allocations() -> (Run, Vec<Cell>) {
        let (mut run, mut cells) = sample::run();
        let told = |id: &str, column: Option<&str>, pass| MeasureInfo {
            id: id.to_owned(),
            unit: Unit::Count,
            better: Better::Lower,
            pass,
            about: "what it says".to_owned(),
            column: column.map(str::to_owned),
        };
        run.plan.passes = vec![Pass::Counting, Pass::Allocations];
        run.measures = vec![
            told("mallocs", Some("mallocs\n/statement"), Pass::Allocations),
            told("hidden", None, Pass::Allocations),
            told("of_no_pass", Some("nothing"), Pass::Instructions),
            told("faults", Some("page faults"), Pass::Timing),
        ];
        let first: Vec<Cell> = cells.iter().filter(|cell| cell.pass == Pass::Counting).cloned().collect();
        for (nth, cell) in first.into_iter().enumerate() {
            let value = |value| Measure::value(value, Unit::Count);
            let measures = [("mallocs", value(2.5 + nth as f64)), ("hidden", value(77_777.0))];
            let calls = [("malloc", 2.0), ("calloc", 0.5 * nth as f64), ("memalign", 0.000_4), ("valloc", 0.000_2)];
            cells.push(Cell {
                pass: Pass::Allocations,
                measures: measures.map(|(id, value)| (id.to_owned(), value)).into(),
                breakdowns: [("calls".to_owned(), calls.map(|(name, n)| (name.to_owned(), n)).into())].into(),
                ..cell
            });
        }
        for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing && cell.contender != "floor") {
            cell.measures.insert("faults".to_owned(), Measure::value(3.0, Unit::Count));
        }
        (run, cells)
    }

    #[test]
    fn a_measure_that_no_reader_knows_stands_in_the_table_of_its_pass_under_its_meters_heading() {
        let (run, cells) = with_allocations();
        expect_test::expect_file![
            "golden/a_measure_that_no_reader_knows_stands_in_the_table_of_its_pass_under_its_meters_heading.txt"
        ]
        .assert_eq(&wide(&run, &cells, 80));
        let text = markdown(&run, &cells);
        assert!(text.contains("Allocations:\n\n| contender | mallocs /statement |"), "{text}");
        assert!(!text.contains("77,777") && !text.contains("nothing |"), "{text}");
    }
}
