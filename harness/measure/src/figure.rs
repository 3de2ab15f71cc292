//! The figures that commands compare between builds of a driver, and the smallest change of each that counts.

use crate::Pass;
use crate::list::{
    ALLOCATED_BYTES_PER_STATEMENT, ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS, CPU_PER_STATEMENT,
    FREES_PER_STATEMENT, PROCESSOR_INSTRUCTIONS, SYSCALLS_PER_STATEMENT,
};

/// The smallest change of a figure that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    /// As a share of the figure before.
    Share(f64),
    /// Per statement.
    Count(f64),
}

impl Least {
    /// In the unit of the figures.
    pub fn of(self, before: f64) -> f64 {
        match self {
            Least::Share(share) => share * before,
            Least::Count(count) => count,
        }
    }
}

/// A figure per statement.
#[derive(Debug, PartialEq)]
pub struct Figure {
    /// In words; of a count in the plural.
    pub name: &'static str,
    /// The ids of the measures that have it. The first one with a figure counts.
    pub ids: &'static [&'static str],
    /// The pass that measures it.
    pub pass: Pass,
    /// The smallest change that counts.
    pub least: Least,
}

const fn figure(name: &'static str, ids: &'static [&'static str], pass: Pass, least: Least) -> Figure {
    Figure { name, ids, pass, least }
}

/// Callgrind's come first, because they hardly vary.
pub const INSTRUCTIONS: Figure =
    figure("instructions", &[CALLGRIND_INSTRUCTIONS, PROCESSOR_INSTRUCTIONS], Pass::Instructions, Least::Share(0.005));
/// The count whose parts have names.
pub const SYSTEM_CALLS: Figure = figure("system calls", &[SYSCALLS_PER_STATEMENT], Pass::Counting, Least::Count(0.01));
/// Those of C and C++ libraries included.
pub const ALLOCATIONS: Figure =
    figure("allocations", &[ALLOCATIONS_PER_STATEMENT], Pass::Allocations, Least::Count(0.1));
/// The order of functions in memory alone may change it by its smallest change.
pub const CPU_TIME: Figure = figure("CPU time", &[CPU_PER_STATEMENT], Pass::Timing, Least::Share(0.02));

/// The share by which a count differs at most between runs of one build, and the least number of statements per cell for that. `None`
/// for a measure that depends on the machine's speed and load.
///
/// The shares cover what seven runs of one build showed, in cells of 20,000 statements on two busy cores. Allocations differed by up
/// to 0.7 %, instructions under callgrind by 2.9 %, and system calls of one or two threads by 2.7 %. Allocated bytes differed by 8.0 %
/// and frees by 5.8 %; both weigh less in longer cells.
pub fn margin(id: &str) -> Option<(f64, f64)> {
    Some(match id {
        ALLOCATIONS_PER_STATEMENT => (0.01, 20e3),
        SYSCALLS_PER_STATEMENT | PROCESSOR_INSTRUCTIONS | CALLGRIND_INSTRUCTIONS => (0.03, 20e3),
        FREES_PER_STATEMENT => (0.03, 50e3),
        ALLOCATED_BYTES_PER_STATEMENT => (0.04, 50e3),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{COUNTS, definitions};

    #[test]
    fn every_figure_is_of_declared_measures_of_its_pass_and_every_count_of_a_pass_has_a_margin() {
        for figure in [&INSTRUCTIONS, &SYSTEM_CALLS, &ALLOCATIONS, &CPU_TIME] {
            for id in figure.ids {
                let declared = definitions().chain(COUNTS).find(|declared| declared.id == *id);
                assert_eq!(declared.and_then(|declared| declared.pass), Some(figure.pass), "{id}");
                assert_eq!(margin(id).is_some(), *figure != CPU_TIME, "{id}");
            }
        }
        assert!(COUNTS.iter().all(|declared| margin(declared.id).is_some()));
        assert_eq!((Least::Share(0.5).of(8.0), Least::Count(0.5).of(8.0)), (4.0, 0.5));
    }
}
