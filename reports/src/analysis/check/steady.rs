//! How steady a count is: by how much it differs between two runs of one build.
//!
//! A count is of one cell and so tells no spread of its own. What is taken for it is what was seen of drivers in seven runs of one build, on
//! two cores that others used as well, in cells of 20,000 statements: allocations differed by up to 0.7 %, instructions under
//! callgrind (in three of the runs) by 2.9 %, system calls of workers of one or two threads on the current-thread runtime by 2.7 %; allocated bytes by 8.0 %
//! (a buffer that was made in the window or before it) and frees by 5.8 % (those of the statements in flight at its ends), both of
//! which weigh less in longer cells. System calls of several threads, which wake each other, differed by up to eight times.

use crate::measure::{self, SYSCALLS_PER_STATEMENT, THREADS};
use crate::text::count;
use crate::{Cell, Recorded, SummaryRow};

/// A count that hardly depends on how fast the machine is or what else it does.
struct Steady {
    meter: &'static str,
    /// By how much it differs all the same.
    share: f64,
    /// In cells of so many statements, or more.
    statements: f64,
}

/// Cycles and misses of caches, which are counted as well, do depend on the machine.
const STEADY: [Steady; 6] = [
    Steady { meter: SYSCALLS_PER_STATEMENT, share: 0.03, statements: 20e3 },
    Steady { meter: "allocations_per_statement", share: 0.01, statements: 20e3 },
    Steady { meter: "allocated_bytes_per_statement", share: 0.04, statements: 50e3 },
    Steady { meter: "frees_per_statement", share: 0.03, statements: 50e3 },
    Steady { meter: "processor_instructions_per_statement", share: 0.03, statements: 20e3 },
    Steady { meter: "callgrind_instructions_per_statement", share: 0.03, statements: 20e3 },
];

/// More threads than these wake each other: the one that runs everything, and one that a driver has beside it.
const THREADS_ALONE: f64 = 2.0;
const CURRENT: &str = "current";

/// Whether it is judged at all.
pub fn is_judged(meter: &str) -> bool {
    STEADY.iter().any(|one| one.meter == meter)
}

/// The share by which the count may differ between two runs of one build, or the sentence why nobody knows.
pub fn unsteadiness(row: &SummaryRow, recorded: &Recorded, rows: [&[SummaryRow]; 2]) -> Result<f64, String> {
    let Some(steady) = STEADY.iter().find(|one| one.meter == row.meter) else {
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
                "the worker had {threads} on {}, and how often threads wake each other is another number in every run; judge allocations \
                 or instructions",
                row.arrangement
            ));
        }
    }
    let statements =
        recorded.cells.iter().filter(|cell| is_of(cell, row)).filter_map(|cell| cell.get(measure::STATEMENTS));
    // What a cell has once weighs more in a shorter one.
    Ok(steady.share * steady.statements / statements.fold(steady.statements, f64::min).max(1.0))
}

/// Whether the row's figure is the cell's.
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
