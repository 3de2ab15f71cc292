//! The columns of a table: one definition each, which every exporter uses.

use std::collections::BTreeMap;

use crate::measure::{
    CONNECTIONS, CPU_PER_STATEMENT, ERRORS, PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYS, SYSCALLS_PER_STATEMENT,
    THROUGHPUT, USER, WALL,
};
use crate::quantity::{mebibytes, three_digits, time, whole};
use crate::{Contender, SummaryRow};

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
    /// There is no figure, and why.
    Missing(String),
    /// There is a figure that must not be compared.
    Void,
}

/// One column: what it is called, what it shows and how.
pub(crate) struct Column {
    /// The heading, in lines.
    pub title: &'static [&'static str],
    /// The measure that it shows.
    pub meter: &'static str,
    /// Whether it is only comparable where all statements were answered, so that a void row has none.
    needs_all_answers: bool,
    show: fn(&Row, f64) -> Result<String, String>,
}

impl Column {
    pub fn entry(&self, row: &Row) -> Entry {
        let Some(figure) = row.figures.get(self.meter) else {
            return Entry::Missing("This was not measured in this run.".to_owned());
        };
        match figure.median {
            Some(_) if self.needs_all_answers && figure.void.is_some() => Entry::Void,
            Some(median) => (self.show)(row, median).map_or_else(Entry::Missing, Entry::Figure),
            None => Entry::Missing(figure.unavailable.clone().unwrap_or_default()),
        }
    }
}

/// The columns behind the contender's, in the order in which they stand and, where the terminal is too narrow for all of
/// them, in which they are stacked.
pub(crate) const COLUMNS: &[Column] = &[
    Column { title: &["real"], meter: WALL, needs_all_answers: true, show: |_, value| Ok(time(value)) },
    Column { title: &["user"], meter: USER, needs_all_answers: true, show: split },
    Column { title: &["sys"], meter: SYS, needs_all_answers: true, show: split },
    Column {
        title: &["statements", "/s"],
        meter: THROUGHPUT,
        needs_all_answers: true,
        show: |_, value| Ok(whole(value)),
    },
    Column { title: &["CPU us", "/statement"], meter: CPU_PER_STATEMENT, needs_all_answers: true, show: precise },
    Column {
        title: &["system", "calls", "/statement"],
        meter: SYSCALLS_PER_STATEMENT,
        needs_all_answers: true,
        show: precise,
    },
    Column {
        title: &["server", "CPU us", "/statement"],
        meter: SERVER_CPU_PER_STATEMENT,
        needs_all_answers: true,
        show: precise,
    },
    Column { title: &["peak MiB", "(over noop)"], meter: PEAK_RSS, needs_all_answers: false, show: peak },
    Column {
        title: &["data con-", "nections"],
        meter: CONNECTIONS,
        needs_all_answers: false,
        show: |_, value| Ok(whole(value)),
    },
    Column { title: &["errors"], meter: ERRORS, needs_all_answers: false, show: |row, _| Ok(whole(row.errors as f64)) },
];

fn precise(_: &Row, value: f64) -> Result<String, String> {
    Ok(three_digits(value))
}

fn split(row: &Row, value: f64) -> Result<String, String> {
    match row.median(USER).zip(row.median(SYS)) {
        Some((user, sys)) if user + sys < LEAST_CPU_FOR_SPLIT => Err(format!(
            "The kernel samples how CPU time splits into user and sys, which means little below {LEAST_CPU_FOR_SPLIT} s of \
             it; the sum is exact. Give a greater --count to see the split."
        )),
        _ => Ok(time(value)),
    }
}

fn peak(row: &Row, value: f64) -> Result<String, String> {
    Ok(match row.noop_peak {
        Some(noop) if row.contender.role != crate::Role::Noop => {
            let over = value - noop;
            let sign = if over < 0.0 { '-' } else { '+' };
            format!("{} ({sign}{})", mebibytes(value), mebibytes(over.abs()))
        }
        _ => mebibytes(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::definition;

    #[test]
    fn every_column_shows_a_measure_that_is_defined() {
        for column in COLUMNS {
            assert!(definition(column.meter).is_some(), "{}", column.meter);
        }
    }
}
