//! What is searched by, and what figures side by side say.

use clap::ValueEnum;
use cqldyno_reports::measure::{ALLOCATIONS, CPU_TIME, Figure, INSTRUCTIONS, SYSTEM_CALLS};
use cqldyno_reports::{Analysis, Contender, Pass, Verdict, judged, same_time, student_quantile};
use serde::{Deserialize, Serialize};

use super::search::Seen;

/// Runs after which counts are compared. If two runs leave it open, further ones follow.
pub const LOOKS: [usize; 2] = [2, 5];
/// The chance that an interval misses, shared by both looks: together they hold with 95 %.
const TAIL: f64 = 0.05 / LOOKS.len() as f64;
/// A figure this near to an end's, as a share of the difference between the ends, is the end's.
const NEAR: f64 = 0.1;

/// What is searched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Searched {
    Syscalls,
    Allocations,
    Instructions,
    Cpu,
}

impl Searched {
    fn figure(self) -> &'static Figure {
        match self {
            Searched::Syscalls => &SYSTEM_CALLS,
            Searched::Allocations => &ALLOCATIONS,
            Searched::Instructions => &INSTRUCTIONS,
            Searched::Cpu => &CPU_TIME,
        }
    }

    /// The pass in which it is counted; `None` of a time, which is taken in turns.
    pub fn pass(self) -> Option<Pass> {
        Some(self.figure().pass).filter(|pass| *pass != Pass::Timing)
    }

    /// Its words.
    pub fn words(self) -> String {
        format!("{}{} per statement", if self == Searched::Cpu { "us of " } else { "" }, self.figure().name)
    }

    /// Its figure for every contender of a run, in their order; the first one without a figure, and the reason.
    pub fn figures(self, analysis: &Analysis) -> Result<Vec<f64>, (usize, String)> {
        let place = analysis.places().next().ok_or_else(|| (0, "The run has no scenario.".to_owned()))?;
        let all: Vec<&Contender> = analysis.run().contenders.iter().collect();
        Ok(analysis.figures(place, &all, self.figure())?.iter().filter_map(|row| row.level).collect())
    }

    /// Counts side by side: one row per run, one column per version. Runs that all came out the same leave no doubt.
    pub fn compared(self, runs: &[Vec<f64>]) -> Compared {
        let base = runs.first().and_then(|run| run.first()).copied().unwrap_or_default();
        let least = self.figure().least.of(base);
        let number = runs.len() as f64;
        let versions = runs.first().map_or(0, Vec::len);
        let mean = |of: &dyn Fn(&Vec<f64>) -> f64| runs.iter().map(of).sum::<f64>() / number;
        let between = |a: usize, b: usize| {
            let difference = move |run: &Vec<f64>| run[b] - run[a];
            let middle = mean(&difference);
            let squares: f64 = runs.iter().map(|run| (difference(run) - middle).powi(2)).sum();
            let error = (squares / (number - 1.0) / number).sqrt();
            let half = if error > 0.0 { student_quantile(TAIL, number - 1.0) * error } else { 0.0 };
            [middle - half, middle + half]
        };
        Compared {
            figures: (0..versions).map(|at| mean(&|run: &Vec<f64>| run[at])).collect(),
            exact: runs.windows(2).all(|pair| pair[0] == pair[1]),
            apart: (0..versions).map(|a| (0..versions).map(|b| between(a, b)).collect()).collect(),
            same: [-least, least],
        }
    }
}

/// Versions that were measured side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Per statement, in the order in which they were asked for.
    pub figures: Vec<f64>,
    /// Whether every run had the same figures.
    pub exact: bool,
    /// `apart[a][b]` is where the figure of `b` lies above that of `a`: of counts the difference, of times the logarithm of the ratio.
    apart: Vec<Vec<[f64; 2]>>,
    /// What is no change, in the same unit.
    same: [f64; 2],
}

impl Compared {
    /// Of CPU time: by the intervals of the run against each of its contenders. Without an interval that holds nothing is told apart.
    pub fn of_times(analysis: &Analysis, figures: Vec<f64>) -> Compared {
        let contenders = &analysis.run().contenders;
        let over = |base: &Contender| {
            let against = analysis.turned(&base.id);
            let interval = |other: &Contender| match against.places().next().map(|at| against.time_over(at, &[other])) {
                _ if other.id == base.id => [0.0; 2],
                Some((Some(interval), Ok(_))) => interval.map(f64::ln),
                _ => [f64::NEG_INFINITY, f64::INFINITY],
            };
            contenders.iter().map(interval).collect()
        };
        let apart = contenders.iter().map(over).collect();
        Compared { figures, exact: false, apart, same: same_time().map(f64::ln) }
    }

    /// Whether `b` has more than `a`; `None` if they may have as much.
    pub fn rises(&self, a: usize, b: usize) -> Option<bool> {
        let verdict = judged(self.apart[a][b], self.same);
        verdict.differs().then_some(verdict == Verdict::Dearer)
    }

    /// Which end the third version is like: the first one is the older end, the second one the newer, which has more if it `rises`.
    pub fn seen(&self, rises: bool) -> Seen {
        let middle = |[low, high]: [f64; 2]| f64::midpoint(low, high);
        if self.rises(0, 1) != Some(rises) {
            return Seen::Unclear;
        }
        let near = middle(self.apart[0][1]).abs() * NEAR;
        let is_like = |end: usize| !judged(self.apart[end][2], [-near, near]).differs();
        match (is_like(0), is_like(1)) {
            (true, true) => Seen::Unclear,
            (true, false) => Seen::Older,
            (false, true) => Seen::Newer,
            (false, false) if middle(self.apart[0][2]).abs() < middle(self.apart[1][2]).abs() => Seen::NearerOlder,
            (false, false) => Seen::NearerNewer,
        }
    }
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::measure::CPU_PER_STATEMENT;
    use cqldyno_reports::{Measure, Unit};

    use super::*;
    use crate::sample;

    /// System calls, of which every change of these tests counts.
    fn compared(runs: &[Vec<f64>]) -> Compared {
        Searched::Syscalls.compared(runs)
    }

    fn seen(runs: &[[f64; 3]], rises: bool) -> Seen {
        compared(&runs.iter().map(|run| run.to_vec()).collect::<Vec<_>>()).seen(rises)
    }

    #[test]
    fn counts_that_come_out_the_same_twice_leave_no_doubt() {
        let twice = |run: [f64; 3]| seen(&[run, run], run[1] > run[0]);
        assert_eq!(twice([3.3, 0.4, 3.3]), Seen::Older);
        assert_eq!(twice([3.3, 0.4, 0.4]), Seen::Newer);
        assert_eq!(twice([0.0, 1.0, 0.0]), Seen::Older, "none at all is a figure, too");
        assert_eq!(twice([3.3, 0.4, 3.1]), Seen::Older, "a tenth of the difference is none");
        assert_eq!(twice([3.3, 0.4, 2.0]), Seen::NearerOlder);
        assert_eq!(twice([3.3, 0.4, 1.0]), Seen::NearerNewer);
        assert_eq!(twice([3.3, 0.4, 5.0]), Seen::NearerOlder, "beyond an end is neither's");
        assert_eq!(twice([1.0, 1.0, 1.0]), Seen::Unclear);
        let exact = compared(&[vec![1.0, 2.0], vec![1.0, 2.0]]);
        assert!(exact.exact && exact.rises(0, 1) == Some(true) && exact.rises(1, 0) == Some(false));
    }

    #[test]
    fn counts_that_vary_are_told_apart_by_their_interval() {
        assert_eq!(seen(&[[3.3, 0.40, 3.31], [3.31, 0.41, 3.3]], false), Seen::Older, "two runs are enough for it");
        let wide = [[1.0, 1.2, 1.1], [1.1, 1.1, 1.2]];
        assert_eq!(seen(&wide, true), Seen::Unclear);
        let five = [[1.0, 1.2, 1.19], [1.01, 1.21, 1.2], [0.99, 1.19, 1.2], [1.0, 1.21, 1.21], [1.0, 1.2, 1.2]];
        assert_eq!(seen(&five, true), Seen::Newer);
        assert_eq!(seen(&five, false), Seen::Unclear, "the ends differ the other way round");
        assert!(!compared(&five.map(|run| run.to_vec())).exact);
    }

    #[test]
    fn a_change_of_a_count_must_be_as_great_as_for_a_pull_request() {
        let rises = |by: Searched, of: [f64; 2]| by.compared(&[of.to_vec(), of.to_vec()]).rises(0, 1);
        assert_eq!(rises(Searched::Allocations, [0.028, 0.021]), None);
        assert_eq!(rises(Searched::Allocations, [10.0, 11.0]), Some(true));
        assert_eq!(rises(Searched::Syscalls, [0.028, 0.035]), None);
        assert_eq!(rises(Searched::Syscalls, [3.04, 0.029]), Some(false));
        assert_eq!(rises(Searched::Instructions, [15_000.0, 15_060.0]), None);
        assert_eq!(rises(Searched::Instructions, [15_000.0, 15_450.0]), Some(true));
    }

    #[test]
    fn times_are_told_apart_by_the_intervals_of_the_run_against_each_contender() {
        let (mut run, mut cells) = sample::blocks(12);
        let is_here = |id: &str| ["scylla", "cdrs-tokio"].contains(&id);
        run.contenders.retain(|one| is_here(&one.id));
        run.scenarios.truncate(1);
        cells.retain(|cell| is_here(&cell.contender) && cell.scenario == run.scenarios[0].name);
        let analysis = Analysis::new(&run, &cells);
        let figures = Searched::Cpu.figures(&analysis).unwrap();
        let compared = Compared::of_times(&analysis, figures.clone());
        assert_eq!(compared.rises(0, 1), Some(figures[1] > figures[0]), "{compared:?}");
        assert_eq!(compared.rises(1, 0), Some(figures[1] < figures[0]));
        assert_eq!(compared.rises(0, 0), None);
        let few: Vec<_> = cells.iter().filter(|cell| cell.block < 4).cloned().collect();
        let analysis = Analysis::new(&run, &few);
        let unknown = Compared::of_times(&analysis, figures.clone());
        assert_eq!(unknown.rises(0, 1), None, "without an interval nothing is told apart");
        // The interval is known to a percent.
        let near = |share: f64| {
            let cost =
                |cell: &cqldyno_reports::Cell| cell.get(CPU_PER_STATEMENT).filter(|_| cell.contender == "cdrs-tokio");
            let mut cells = cells.clone();
            for cell in &mut cells {
                if let Some(cost) = cost(cell) {
                    let value = Measure::value(cost / (figures[1] / figures[0]) * share, Unit::Microseconds);
                    cell.measures.insert(CPU_PER_STATEMENT.to_owned(), value);
                }
            }
            let analysis = Analysis::new(&run, &cells);
            Compared::of_times(&analysis, figures.clone()).rises(0, 1)
        };
        assert_eq!((near(1.015), near(1.05)), (None, Some(true)), "2 % may be the order of functions in memory");
    }

    #[test]
    fn who_has_no_figure_is_named_with_the_reason() {
        let (mut run, mut cells) = sample::blocks(12);
        run.contenders.truncate(2);
        let (at, why) = Searched::Instructions.figures(&Analysis::new(&run, &cells)).unwrap_err();
        assert_eq!((at, why.as_str()), (0, "This was not measured in this run."));
        run.contenders[1].unavailable = Some("It cannot be built.".to_owned());
        cells.retain(|cell| cell.contender != run.contenders[1].id);
        let (at, why) = Searched::Cpu.figures(&Analysis::new(&run, &cells)).unwrap_err();
        assert_eq!((at, why.as_str()), (1, "It cannot be built."));
    }
}
