//! How steady a count is: its greatest difference between runs of one build.
//!
//! A count comes from one cell and has no spread of its own. The shares below cover what seven runs of one build showed, in cells
//! of 20,000 statements on two busy cores. Allocations differed by up to 0.7 %, instructions under callgrind by 2.9 %, and system
//! calls of one or two threads by 2.7 %. Allocated bytes differed by 8.0 % and frees by 5.8 %; both weigh less in longer cells.
//! System calls of several threads, which wake each other, differed by up to eight times.

use crate::measure::{self, SYSCALLS_PER_STATEMENT, THREADS};
use crate::text::count;
use crate::{Cell, Recorded, SummaryRow};

/// Counts that hardly depend on the machine's speed and load, not cycles and cache misses: how much each differs nevertheless, in cells of
/// at least so many statements.
const STEADY: [(&str, f64, f64); 6] = [
    (SYSCALLS_PER_STATEMENT, 0.03, 20e3),
    ("allocations_per_statement", 0.01, 20e3),
    ("allocated_bytes_per_statement", 0.04, 50e3),
    ("frees_per_statement", 0.03, 50e3),
    ("processor_instructions_per_statement", 0.03, 20e3),
    ("callgrind_instructions_per_statement", 0.03, 20e3),
];

/// More threads than these wake each other: the one that runs everything, and one of the driver's own.
const THREADS_ALONE: f64 = 2.0;
const CURRENT: &str = "current";

/// The share by which runs of one build may differ in the meter, at most.
pub fn share(meter: &str) -> Option<f64> {
    STEADY.iter().find(|(id, ..)| *id == meter).map(|(_, share, _)| *share)
}

/// The share by which the count may differ between runs of one build, or why that is not known.
pub fn unsteadiness(row: &SummaryRow, recorded: &Recorded, rows: [&[SummaryRow]; 2]) -> Result<f64, String> {
    let Some((_, share, least)) = STEADY.iter().find(|(id, ..)| *id == row.meter) else {
        return Err("nobody knows how steady it is; judge allocations or instructions".to_owned());
    };
    if row.meter == SYSCALLS_PER_STATEMENT {
        let runtime =
            recorded.run.plan.arrangements.iter().find(|one| one.id == row.arrangement).map(|one| one.runtime.as_str());
        let threads = rows.iter().filter_map(|rows| threads(row, rows)).reduce(f64::max);
        if runtime != Some(CURRENT) || threads.is_none_or(|threads| threads > THREADS_ALONE) {
            let threads =
                threads.map_or("several threads".to_owned(), |threads| count(threads.ceil() as u64, "thread"));
            return Err(format!(
                "the worker had {threads} on {}, and how often threads wake each other differs in every run; judge allocations or \
                 instructions",
                row.arrangement
            ));
        }
    }
    let statements =
        recorded.cells.iter().filter(|cell| is_of(cell, row)).filter_map(|cell| cell.get(measure::STATEMENTS));
    // What happens once per cell weighs more in a shorter one.
    Ok(share * least / statements.fold(*least, f64::min).max(1.0))
}

/// Whether the row's figure comes from the cell.
fn is_of(cell: &Cell, row: &SummaryRow) -> bool {
    (&cell.contender, &cell.scenario, &cell.arrangement) == (&row.contender, &row.scenario, &row.arrangement)
        && cell.get(&row.meter).is_some()
}

/// How many threads the contender's worker had.
fn threads(row: &SummaryRow, rows: &[SummaryRow]) -> Option<f64> {
    let is = |one: &&SummaryRow| {
        one.meter == THREADS
            && (&one.contender, &one.scenario, &one.arrangement) == (&row.contender, &row.scenario, &row.arrangement)
    };
    rows.iter().find(is)?.median
}
