//! The columns of a table: one definition each, which every exporter uses.

use std::collections::BTreeMap;

use crate::measure::{
    CONNECTIONS, CPU_PER_STATEMENT, ERRORS, PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYS, SYSCALLS_PER_STATEMENT, THREADS,
    THROUGHPUT, USER, WALL,
};
use crate::quantity::{mebibytes, three_digits, time, whole};
use crate::{Bottleneck, Contender, SummaryRow, Verdict};

/// Below this CPU time, in seconds, its split into user and sys means little: the kernel samples it by its tick.
const LEAST_CPU_FOR_SPLIT: f64 = 0.5;

/// One row of a table before it is text.
pub(crate) struct Row<'a> {
    pub contender: &'a Contender,
    /// The summary's rows by meter.
    pub figures: BTreeMap<&'a str, &'a SummaryRow>,
    /// Errors of all of the row's cells.
    pub errors: u64,
    /// The peak memory of noop in the same place.
    pub noop_peak: Option<f64>,
    /// The threads of noop in the same place: the main one and the runtime's.
    pub noop_threads: Option<f64>,
    /// What the contender is to the ratios.
    pub standing: Standing,
}

/// What a contender is to the ratios of its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// They are taken against it.
    Reference,
    /// The reference once more.
    Control,
    /// It is compared with the reference.
    Compared,
    /// It is ours, and only stands beside the others.
    Apart,
}

impl Row<'_> {
    fn median(&self, meter: &str) -> Option<f64> {
        self.figures.get(meter).and_then(|row| row.median)
    }
}

/// What stands in one field.
#[derive(Debug, PartialEq)]
pub(crate) enum Entry {
    Figure(String),
    /// There is a word, and what must be said of it.
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
}

/// One column: what it is called, what it shows and how.
pub(crate) struct Column {
    /// The heading, in lines.
    pub title: &'static [&'static str],
    /// What a sentence calls it.
    pub name: &'static str,
    /// When it is left out where room is short, the lowest first; equal ones together.
    pub stays: u8,
    /// The measure that it shows.
    pub meter: &'static str,
    /// Whether it is only comparable where all statements were answered, so that a void row has none.
    needs_all_answers: bool,
    /// Whether the run has anything to show in it.
    is_shown: fn(&[SummaryRow]) -> bool,
    show: fn(&Row, f64) -> Entry,
}

impl Column {
    pub fn entry(&self, row: &Row) -> Entry {
        let Some(figure) = row.figures.get(self.meter) else {
            return Entry::Missing("This was not measured in this run.".to_owned());
        };
        match figure.median {
            Some(_) if self.needs_all_answers && figure.void.is_some() => Entry::Void,
            Some(median) => (self.show)(row, median),
            None => Entry::Missing(figure.unavailable.clone().unwrap_or_default()),
        }
    }
}

/// The columns behind the contender's, in the order in which they stand. Statements a second go before the bottleneck does: a
/// throughput is never shown without what limited it.
pub(crate) const COLUMNS: &[Column] = &[
    Column {
        title: &["real"],
        name: "real",
        stays: 9,
        meter: WALL,
        needs_all_answers: true,
        is_shown: always,
        show: |_, value| Entry::Figure(time(value)),
    },
    Column {
        title: &["user"],
        name: "user",
        stays: 7,
        meter: USER,
        needs_all_answers: true,
        is_shown: always,
        show: split,
    },
    Column {
        title: &["sys"],
        name: "sys",
        stays: 7,
        meter: SYS,
        needs_all_answers: true,
        is_shown: always,
        show: split,
    },
    Column {
        title: &["statements", "/s"],
        name: "statements/s",
        stays: 5,
        meter: THROUGHPUT,
        needs_all_answers: true,
        is_shown: always,
        show: |_, value| Entry::Figure(whole(value)),
    },
    Column {
        title: &["CPU us", "/statement"],
        name: "CPU us",
        stays: 12,
        meter: CPU_PER_STATEMENT,
        needs_all_answers: true,
        is_shown: always,
        show: precise,
    },
    Column {
        title: &["CPU time / reference's", "(95 % interval)"],
        name: "ratio and interval",
        stays: 11,
        meter: CPU_PER_STATEMENT,
        needs_all_answers: true,
        is_shown: has_intervals,
        show: ratio,
    },
    Column {
        title: &["verdict"],
        name: "verdict",
        stays: 10,
        meter: CPU_PER_STATEMENT,
        needs_all_answers: true,
        is_shown: has_intervals,
        show: verdict,
    },
    Column {
        title: &["smallest", "difference"],
        name: "smallest difference",
        stays: 4,
        meter: CPU_PER_STATEMENT,
        needs_all_answers: true,
        is_shown: has_intervals,
        show: smallest,
    },
    Column {
        title: &["bottleneck"],
        name: "bottleneck",
        stays: 6,
        meter: CPU_PER_STATEMENT,
        needs_all_answers: false,
        is_shown: |rows| rows.iter().any(|row| row.bottleneck.is_some()),
        show: bottleneck,
    },
    Column {
        title: &["system", "calls", "/statement"],
        name: "system calls",
        stays: 8,
        meter: SYSCALLS_PER_STATEMENT,
        needs_all_answers: true,
        is_shown: always,
        show: precise,
    },
    Column {
        title: &["server", "CPU us", "/statement"],
        name: "server CPU us",
        stays: 3,
        meter: SERVER_CPU_PER_STATEMENT,
        needs_all_answers: true,
        is_shown: always,
        show: precise,
    },
    Column {
        title: &["peak MiB", "(over noop)"],
        name: "peak MiB",
        stays: 2,
        meter: PEAK_RSS,
        needs_all_answers: false,
        is_shown: always,
        show: peak,
    },
    Column {
        title: &["threads", "(its own)"],
        name: "threads",
        stays: 0,
        meter: THREADS,
        needs_all_answers: false,
        is_shown: |rows| rows.iter().any(|row| row.meter == THREADS && row.median.is_some()),
        show: threads,
    },
    Column {
        title: &["data con-", "nections"],
        name: "data connections",
        stays: 1,
        meter: CONNECTIONS,
        needs_all_answers: false,
        is_shown: always,
        show: |_, value| Entry::Figure(whole(value)),
    },
    Column {
        title: &["errors"],
        name: "errors",
        stays: 1,
        meter: ERRORS,
        needs_all_answers: false,
        is_shown: always,
        show: |row, _| Entry::Figure(whole(row.errors as f64)),
    },
];

/// Those of the columns in which a run with these rows has anything to show.
pub(crate) fn columns(rows: &[SummaryRow]) -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| (column.is_shown)(rows)).collect()
}

/// What a table on a terminal leaves out first, next and so on, where the terminal is too narrow for all columns.
pub fn left_out_first() -> Vec<&'static str> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    columns.sort_by_key(|column| column.stays);
    columns.into_iter().map(|column| column.name).collect()
}

/// Those that Linux' `time` prints.
pub(crate) fn times() -> Vec<&'static Column> {
    COLUMNS.iter().filter(|column| [WALL, USER, SYS].contains(&column.meter)).collect()
}

fn always(_: &[SummaryRow]) -> bool {
    true
}

fn has_intervals(rows: &[SummaryRow]) -> bool {
    rows.iter().any(|row| !row.exploratory && row.interval.is_some())
}

fn primary<'a>(row: &'a Row) -> Option<&'a SummaryRow> {
    row.figures.get(CPU_PER_STATEMENT).copied()
}

fn ratio(row: &Row, _: f64) -> Entry {
    let Some((figure, ratio)) = primary(row).and_then(|figure| Some((figure, figure.ratio?))) else {
        return Entry::figure("-");
    };
    Entry::Figure(match (row.standing, figure.interval) {
        (Standing::Reference, _) => "1".to_owned(),
        (_, Some([low, high])) => format!("{ratio:.3} ({low:.3} to {high:.3})"),
        (_, None) => format!("{ratio:.3}"),
    })
}

fn verdict(row: &Row, _: f64) -> Entry {
    let figure = primary(row);
    Entry::figure(match (row.standing, figure.and_then(|figure| figure.verdict)) {
        (Standing::Reference, _) => "reference",
        (Standing::Control, _) => "control",
        (_, Some(verdict)) => name(verdict),
        (Standing::Apart, None) => "-",
        (Standing::Compared, None) => match figure {
            Some(SummaryRow { interval: Some(_), .. }) => return withheld(row.contender),
            Some(SummaryRow { no_interval: Some(why), .. }) => return Entry::Missing(why.clone()),
            _ => "-",
        },
    })
}

/// Where a control differs or has no interval, a warning over all tables says so; why a control itself has no verdict beside another
/// reference is said by a note.
fn withheld(contender: &Contender) -> Entry {
    let withheld = "withheld".to_owned();
    match contender.label.rsplit_once('#').filter(|_| contender.control) {
        Some((of, _)) => Entry::Noted(
            withheld,
            format!(
                "A control is given no verdict: {} is {} once more, whose row has the verdict.",
                contender.label, of
            ),
        ),
        None => Entry::Figure(withheld),
    }
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Cheaper => "cheaper",
        Verdict::Dearer => "dearer",
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Inconclusive => "inconclusive",
    }
}

fn smallest(row: &Row, _: f64) -> Entry {
    let found = primary(row).and_then(|figure| figure.detectable);
    Entry::Figure(found.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)))
}

fn bottleneck(row: &Row, _: f64) -> Entry {
    let found = primary(row).and_then(|figure| figure.bottleneck);
    Entry::figure(found.map_or("-", Bottleneck::name))
}

fn precise(_: &Row, value: f64) -> Entry {
    Entry::Figure(three_digits(value))
}

fn split(row: &Row, value: f64) -> Entry {
    match row.median(USER).zip(row.median(SYS)) {
        Some((user, sys)) if user + sys < LEAST_CPU_FOR_SPLIT => Entry::Missing(format!(
            "The kernel samples how CPU time splits into user and sys, which means little below {LEAST_CPU_FOR_SPLIT} s of \
             it; the sum is exact. Give a greater --count to see the split."
        )),
        _ => Entry::Figure(time(value)),
    }
}

fn peak(row: &Row, value: f64) -> Entry {
    Entry::Figure(match row.noop_peak {
        Some(noop) if row.contender.role != crate::Role::Noop => {
            let over = value - noop;
            let sign = if over < 0.0 { '-' } else { '+' };
            format!("{} ({sign}{})", mebibytes(value), mebibytes(over.abs()))
        }
        _ => mebibytes(value),
    })
}

/// Those that the driver makes are the ones that noop does not have.
fn threads(row: &Row, value: f64) -> Entry {
    Entry::Figure(match row.noop_threads {
        Some(noop) if row.contender.role != crate::Role::Noop => {
            format!("{} ({})", whole(value), whole((value - noop).max(0.0)))
        }
        _ => whole(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::definition;

    #[test]
    fn cpu_time_and_what_is_said_of_it_are_left_out_last() {
        let order = left_out_first();
        assert_eq!(order.len(), COLUMNS.len());
        assert_eq!(order[0], "threads");
        assert_eq!(order[order.len() - 4..], ["real", "verdict", "ratio and interval", "CPU us"]);
        let place = |name| order.iter().position(|known| *known == name).unwrap();
        assert!(place("statements/s") < place("bottleneck"), "{order:?}");
    }

    #[test]
    fn every_column_shows_a_measure_that_is_defined() {
        for column in COLUMNS {
            assert!(definition(column.meter).is_some(), "{}", column.meter);
        }
    }
}
