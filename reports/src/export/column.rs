//! The columns of a table: one definition each, which every exporter uses.

use std::collections::BTreeMap;

use super::part::{Field, Notes};
use crate::measure::{
    ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS, CONNECTIONS, CPU_PER_STATEMENT, ERRORS, PEAK_RSS,
    SERVER_CPU_PER_STATEMENT, SYS, SYSCALLS_PER_STATEMENT, THREADS, THROUGHPUT, TO_REPLICA, TO_SHARD, USER, WALL,
};
use crate::quantity::{mebibytes, three_digits, time, whole};
use crate::{Bottleneck, Contender, Role, SummaryRow};

/// Below this CPU time, in seconds, its split into user and sys means little: the kernel samples it once per tick.
const LEAST_CPU_FOR_SPLIT: f64 = 0.5;

/// One row of a table before it is text.
pub(crate) struct ContenderRow<'a> {
    pub contender: &'a Contender,
    pub figures: BTreeMap<&'a str, &'a SummaryRow>,
    /// What stands in place of the medians of [`SUMMED`], if anything does.
    pub instead: Option<BTreeMap<&'static str, f64>>,
    pub errors: u64,
    /// The peak memory of noop in the same place.
    pub noop_peak: Option<f64>,
    /// The threads of noop in the same place: the main one and the runtime's.
    pub noop_threads: Option<f64>,
    pub ratio_role: RatioRole,
}

/// A contender's part in the ratios of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RatioRole {
    /// They are taken against it.
    Reference,
    /// The reference once more.
    Control,
    /// It is compared with the reference.
    Compared,
    /// It is floor or noop and has no part in them.
    Apart,
}

impl ContenderRow<'_> {
    fn median(&self, meter: &str) -> Option<f64> {
        match &self.instead {
            Some(instead) if SUMMED.contains(&meter) => instead.get(meter).copied(),
            _ => self.figures.get(meter).and_then(|row| row.median),
        }
    }

    /// The figure with how far it is from noop's, which has no such addition itself.
    fn beside_noop(&self, figure: String, noop: Option<f64>, over: impl FnOnce(f64) -> String) -> Entry {
        Entry::Figure(match noop.filter(|_| self.contender.role != Role::Noop) {
            Some(noop) => format!("{figure} ({})", over(noop)),
            None => figure,
        })
    }
}

#[derive(Debug, PartialEq)]
pub(crate) enum Entry {
    Figure(String),
    /// A word, and a sentence about it.
    Noted(String, String),
    /// There is no figure, and why.
    Missing(String),
    /// There is a figure that must not be compared.
    Void,
}

impl Entry {
    fn figure(text: &str) -> Entry {
        Entry::Figure(text.to_owned())
    }

    pub fn field(self, notes: &mut Notes) -> Field {
        match self {
            Entry::Figure(text) => Field::of(text),
            Entry::Noted(text, why) => Field { note: Some(notes.number(&why)), ..Field::of(text) },
            Entry::Void => Field::bad("void"),
            Entry::Missing(why) => Field::missing(notes.number(&why)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Figure,
    Ratio,
    Verdict,
    Smallest,
    Bottleneck,
}

pub(crate) struct Column {
    pub title: &'static str,
    pub kind: Kind,
    pub meter: &'static str,
    /// Whether it is only comparable if all statements were answered, so that a void row has none.
    needs_all_answers: bool,
    /// Whether the run has anything to show in it.
    is_shown: fn(&[SummaryRow]) -> bool,
    show: Show,
}

/// From a row, its figures of the column's meter, and the median of these.
type Show = fn(&ContenderRow, &SummaryRow, f64) -> Entry;

impl Column {
    pub fn entry(&self, row: &ContenderRow) -> Entry {
        let Some(figure) = row.figures.get(self.meter) else {
            return Entry::Missing("This was not measured in this run.".to_owned());
        };
        match row.median(self.meter) {
            Some(_) if self.needs_all_answers && figure.void.is_some() => Entry::Void,
            Some(median) => (self.show)(row, figure, median),
            None => Entry::Missing(figure.unavailable.clone().unwrap_or_default()),
        }
    }
}

const fn column(title: &'static str, meter: &'static str, show: Show) -> Column {
    Column { title, kind: Kind::Figure, meter, needs_all_answers: true, is_shown: |_| true, show }
}

const fn compared(kind: Kind, title: &'static str, meter: &'static str, show: Show) -> Column {
    Column { kind, ..column(title, meter, show).shown_if(has_intervals) }
}

impl Column {
    const fn shown_if(self, is_shown: fn(&[SummaryRow]) -> bool) -> Column {
        Column { is_shown, ..self }
    }

    const fn of_void_rows(self) -> Column {
        Column { needs_all_answers: false, ..self }
    }
}

/// The columns after the contender's, in the order in which they stand.
pub(crate) const COLUMNS: &[Column] = &[
    column("real", WALL, |_, _, value| Entry::Figure(time(value))),
    column("user", USER, split),
    column("sys", SYS, split),
    column("CPU us\n/statement", CPU_PER_STATEMENT, precise),
    compared(Kind::Ratio, "CPU time / reference's\n(95 % interval)", CPU_PER_STATEMENT, ratio),
    compared(Kind::Verdict, "verdict on\nCPU time", CPU_PER_STATEMENT, verdict),
    column("system\ncalls\n/statement", SYSCALLS_PER_STATEMENT, precise).shown_if(|rows| !has_range(rows)),
    column("system calls\n/statement\n(least-most)", SYSCALLS_PER_STATEMENT, |_, figure, value| {
        let [least, most] = figure.range.unwrap_or([value; 2]).map(three_digits);
        Entry::Figure(format!("{} ({least}-{most})", three_digits(value)))
    })
    .shown_if(has_range),
    column("alloca-\ntions\n/statement", ALLOCATIONS_PER_STATEMENT, precise)
        .shown_if(|rows| has(rows, ALLOCATIONS_PER_STATEMENT)),
    column("instruc-\ntions\n/statement", CALLGRIND_INSTRUCTIONS, rounded)
        .shown_if(|rows| has(rows, CALLGRIND_INSTRUCTIONS)),
    column("server\nCPU us\n/statement", SERVER_CPU_PER_STATEMENT, precise),
    column("statements\n/s", THROUGHPUT, rounded),
    compared(Kind::Ratio, "statements/s\n/ reference's\n(95 % interval)", THROUGHPUT, ratio),
    compared(Kind::Verdict, "verdict on\nstatements/s", THROUGHPUT, verdict),
    compared(Kind::Smallest, "smallest\ndifference", CPU_PER_STATEMENT, |_, figure, _| {
        Entry::Figure(figure.detectable.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)))
    }),
    Column {
        kind: Kind::Bottleneck,
        ..column("bottleneck", CPU_PER_STATEMENT, |_, figure, _| {
            Entry::figure(figure.bottleneck.map_or("-", Bottleneck::name))
        })
        .of_void_rows()
        .shown_if(|rows| rows.iter().any(|row| row.bottleneck.is_some()))
    },
    column("peak MiB\n(over noop)", PEAK_RSS, |row, _, value| {
        row.beside_noop(mebibytes(value), row.noop_peak, |noop| {
            let over = mebibytes(value - noop);
            // What rounds to nothing has no sign of its own.
            if over.starts_with('-') && over != "-0.0" { over } else { format!("+{}", over.trim_start_matches('-')) }
        })
    })
    .of_void_rows(),
    // noop has all threads but those that a driver makes.
    column("threads\n(its own)", THREADS, |row, _, value| {
        row.beside_noop(whole(value), row.noop_threads, |noop| whole((value - noop).max(0.0)))
    })
    .of_void_rows()
    .shown_if(|rows| has(rows, THREADS)),
    column("data con-\nnections", CONNECTIONS, rounded).of_void_rows(),
    column("to a\nreplica", TO_REPLICA, share).of_void_rows().shown_if(|rows| has(rows, TO_REPLICA)),
    column("to its\nshard", TO_SHARD, share).of_void_rows().shown_if(|rows| has(rows, TO_SHARD)),
    column("errors", ERRORS, |row, _, _| Entry::Figure(whole(row.errors as f64))).of_void_rows(),
];

/// The columns for which a run with these rows has figures.
pub(crate) fn columns(rows: &[SummaryRow]) -> Vec<&'static Column> {
    // A run that only counts has no rows of times.
    let has_rows = |column: &Column| rows.is_empty() || rows.iter().any(|row| row.meter == column.meter);
    COLUMNS.iter().filter(|column| (column.is_shown)(rows) && has_rows(column)).collect()
}

/// The meters that Linux' `time` prints, whose figures add up over turns.
pub(crate) const SUMMED: [&str; 3] = [WALL, USER, SYS];

pub(crate) fn times() -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| SUMMED.contains(&column.meter)).collect()
}

fn has_intervals(rows: &[SummaryRow]) -> bool {
    rows.iter().any(|row| row.is_primary() && row.interval.is_some())
}

fn has(rows: &[SummaryRow], meter: &str) -> bool {
    rows.iter().any(|row| row.meter == meter && row.median.is_some())
}

fn ratio(row: &ContenderRow, figure: &SummaryRow, _: f64) -> Entry {
    match row.ratio_role == RatioRole::Reference && figure.ratio.is_some() {
        true => Entry::figure("1"),
        false => Entry::Figure(figure.ratio_within(3, " to ").unwrap_or("-".to_owned())),
    }
}

/// The verdict, with the count that contradicts it; or why there is none.
fn verdict(row: &ContenderRow, figure: &SummaryRow, _: f64) -> Entry {
    Entry::figure(match (row.ratio_role, figure.verdict_name()) {
        (RatioRole::Reference, _) => "reference",
        (RatioRole::Control, _) => "control",
        (_, Some(verdict)) => {
            return match figure.contradicted.clone() {
                Some(why) => Entry::Noted(verdict, why),
                None => Entry::Figure(verdict),
            };
        }
        (RatioRole::Apart, None) => "-",
        (RatioRole::Compared, None) => match figure {
            SummaryRow { no_verdict: Some(why), bottleneck, .. } => {
                let is_bound = *bottleneck == Some(Bottleneck::Server);
                return Entry::Noted(if is_bound { "server-bound" } else { "no verdict" }.to_owned(), why.clone());
            }
            SummaryRow { interval: Some(_), .. } => return withheld(row.contender),
            SummaryRow { no_interval: Some(why), .. } => return Entry::Missing(why.clone()),
            _ => "-",
        },
    })
}

/// A warning says why a control that differs takes verdicts away; why a control itself has none is a note.
fn withheld(contender: &Contender) -> Entry {
    let withheld = "withheld".to_owned();
    match contender.label.rsplit_once('#').filter(|_| contender.control) {
        Some((of, _)) => {
            let label = &contender.label;
            let why = format!("A control gets no verdict: {label} is {of} once more, whose row has the verdict.");
            Entry::Noted(withheld, why)
        }
        None => Entry::Figure(withheld),
    }
}

fn share(_: &ContenderRow, _: &SummaryRow, value: f64) -> Entry {
    Entry::Figure(format!("{value:.2} %"))
}

fn rounded(_: &ContenderRow, _: &SummaryRow, value: f64) -> Entry {
    Entry::Figure(whole(value))
}

fn has_range(rows: &[SummaryRow]) -> bool {
    rows.iter().any(|row| row.meter == SYSCALLS_PER_STATEMENT && row.range.is_some())
}

fn precise(_: &ContenderRow, _: &SummaryRow, value: f64) -> Entry {
    Entry::Figure(three_digits(value))
}

fn split(row: &ContenderRow, _: &SummaryRow, value: f64) -> Entry {
    match row.median(USER).zip(row.median(SYS)) {
        Some((user, sys)) if user + sys < LEAST_CPU_FOR_SPLIT => Entry::Missing(format!(
            "Below {LEAST_CPU_FOR_SPLIT} s of CPU time its split into user and sys means little, because the kernel samples it; \
             the sum is exact. More statements show the split."
        )),
        _ => Entry::Figure(time(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown::wide;
    use crate::measure::definition;
    use crate::{Measure, Pass, Unit, sample};

    #[test]
    fn system_calls_of_several_cells_have_the_least_and_the_most_beside_them() {
        let (run, mut cells) = sample::run();
        assert!(!wide(&run, &cells, 160).contains("(least-most)"));
        let first: Vec<_> = cells.iter().filter(|cell| cell.pass == Pass::Counting).cloned().collect();
        for (block, more) in [(2, 1.5), (3, 4.0)] {
            for cell in &first {
                let mut cell = crate::Cell { block, ..cell.clone() };
                let Some(calls) = cell.get(SYSCALLS_PER_STATEMENT) else { continue };
                let calls = Measure::value(calls * more, Unit::Count);
                cell.measures.insert(SYSCALLS_PER_STATEMENT.to_owned(), calls);
                cells.push(cell);
            }
        }
        let least = first[0].get(SYSCALLS_PER_STATEMENT).unwrap();
        let [middle, least, most] = [1.5 * least, least, 4.0 * least].map(three_digits);
        let text = wide(&run, &cells, 160);
        assert!(text.contains("(least-most)") && text.contains(&format!("{middle} ({least}-{most})")), "{text}");
    }

    #[test]
    fn every_column_shows_a_measure_that_is_defined() {
        for column in
            COLUMNS.iter().filter(|column| ![ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS].contains(&column.meter))
        {
            assert!(definition(column.meter).is_some(), "{}", column.meter);
        }
    }
}
