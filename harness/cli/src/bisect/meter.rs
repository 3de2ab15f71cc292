//! What is searched by, and what figures side by side say.

use clap::ValueEnum;
use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::{Analysis, Contender, Pass, Verdict, student_quantile};
use serde::{Deserialize, Serialize};

use super::search::Seen;
use crate::pr::judge::COUNTS;
use crate::prices::{COUNTED, counted};

/// Runs after which counts are compared. If two runs leave it open, further ones follow.
pub const LOOKS: [usize; 2] = [2, 5];
/// The chance that an interval misses, shared by both looks: together they hold with 95 %.
const TAIL: f64 = 0.05 / LOOKS.len() as f64;
/// The meter of a time.
const TIMED: &[&str] = &[CPU_PER_STATEMENT];
/// A figure this near to an end's, as a share of the difference between the ends, is the end's.
const NEAR: f64 = 0.1;

/// What adapters of one driver may be off by, as a ratio of CPU times.
const BETWEEN_ADAPTERS: f64 = 1.02;

/// What is searched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meter {
    Syscalls,
    Allocations,
    Instructions,
    Cpu,
}

impl Meter {
    /// Its row of what is counted; `None` of a time.
    fn row(self) -> Option<usize> {
        match self {
            Meter::Syscalls => Some(0),
            Meter::Allocations => Some(1),
            Meter::Instructions => Some(2),
            Meter::Cpu => None,
        }
    }

    /// The pass in which it is counted; `None` of a time, which is taken in turns.
    pub fn pass(self) -> Option<Pass> {
        Some([Pass::Counting, Pass::Allocations, Pass::Instructions][self.row()?])
    }

    /// The smallest change that is one, beside a figure of `base`: the same as for a pull request. Of a time its interval decides.
    fn least(self, base: f64) -> f64 {
        let [instructions, calls, allocations] = COUNTS.map(|count| count.least);
        self.row().map_or(0.0, |row| [calls, allocations, instructions][row].of(base))
    }

    /// Counts side by side; see [`Compared::of_counts`].
    pub fn compared(self, runs: &[Vec<f64>]) -> Compared {
        let base = runs.first().and_then(|run| run.first()).copied().unwrap_or_default();
        Compared::of_counts(runs, self.least(base))
    }

    /// Its words.
    pub fn words(self) -> String {
        let what = self.row().map_or("us of CPU time", |row| COUNTED[row].0);
        format!("{what} per statement")
    }

    /// Its figure for every contender of a run, in their order; the first one without a figure, and the reason.
    pub fn figures(self, analysis: &Analysis) -> Result<Vec<f64>, (usize, String)> {
        let meters = self.row().map_or(TIMED, |row| COUNTED[row].2);
        let place = analysis.places().next();
        let figure = |(at, one): (usize, &Contender)| {
            let missing = |why: &String| Err((at, why.clone()));
            let found = || {
                place.map_or_else(
                    || Err("It was not measured.".to_owned()),
                    |place| counted(analysis, place, one, meters),
                )
            };
            one.unavailable.as_ref().map_or_else(|| found().map_err(|why| (at, why)), missing)
        };
        analysis.run().contenders.iter().enumerate().map(figure).collect()
    }
}

/// The folder of the adapter that a contender was built with.
pub fn adapter(one: &Contender) -> Option<&str> {
    one.built.as_ref().map(|built| built.adapter.as_str())
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
    /// The smallest change that is one, in the same unit.
    least: f64,
}

impl Compared {
    /// Of counts: one row per run, one column per version. Runs that all came out the same leave no doubt.
    fn of_counts(runs: &[Vec<f64>], least: f64) -> Compared {
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
            least,
        }
    }

    /// Of CPU time: by the intervals of the run against each of its contenders, which must lie beyond 2 % if adapters differ. Without
    /// an interval that holds nothing is told apart.
    pub fn of_times(analysis: &Analysis, figures: Vec<f64>) -> Compared {
        let contenders = &analysis.run().contenders;
        let mut apart = Vec::new();
        for (a, base) in contenders.iter().enumerate() {
            let against = analysis.turned(&base.id);
            let interval = |(b, other): (usize, &Contender)| {
                let row = against.places().next().and_then(|place| against.row(place, other, CPU_PER_STATEMENT));
                let holds = row.filter(|row| row.verdict.is_some_and(Verdict::holds));
                let margin = if adapter(base) == adapter(other) { 0.0 } else { BETWEEN_ADAPTERS.ln() };
                let known =
                    holds.and_then(|row| row.interval).map(|[low, high]| [low.ln() - margin, high.ln() + margin]);
                if a == b { [0.0; 2] } else { known.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]) }
            };
            apart.push(contenders.iter().enumerate().map(interval).collect());
        }
        Compared { figures, exact: false, apart, least: 0.0 }
    }

    /// Whether `b` has more than `a`; `None` if they may have as much.
    pub fn rises(&self, a: usize, b: usize) -> Option<bool> {
        match self.apart[a][b] {
            [low, _] if low > self.least => Some(true),
            [_, high] if high < -self.least => Some(false),
            _ => None,
        }
    }

    /// Which end the third version is like: the first one is the older end, the second one the newer, which has more if it `rises`.
    pub fn seen(&self, rises: bool) -> Seen {
        let middle = |[low, high]: [f64; 2]| f64::midpoint(low, high);
        if self.rises(0, 1) != Some(rises) {
            return Seen::Unclear;
        }
        let near = middle(self.apart[0][1]).abs() * NEAR;
        let is_like = |end: usize| {
            let [low, high] = self.apart[end][2];
            low <= near && high >= -near
        };
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
    use cqldyno_reports::BuiltOnDemand;

    use super::*;
    use crate::sample;

    fn seen(runs: &[[f64; 3]], rises: bool) -> Seen {
        Compared::of_counts(&runs.iter().map(|run| run.to_vec()).collect::<Vec<_>>(), 0.0).seen(rises)
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
        let exact = Compared::of_counts(&[vec![1.0, 2.0], vec![1.0, 2.0]], 0.0);
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
        assert!(!Compared::of_counts(&five.map(|run| run.to_vec()), 0.0).exact);
    }

    #[test]
    fn a_change_of_a_count_must_be_as_great_as_for_a_pull_request() {
        let rises = |meter: Meter, of: [f64; 2]| meter.compared(&[of.to_vec(), of.to_vec()]).rises(0, 1);
        assert_eq!(rises(Meter::Allocations, [0.028, 0.021]), None);
        assert_eq!(rises(Meter::Allocations, [10.0, 11.0]), Some(true));
        assert_eq!(rises(Meter::Syscalls, [0.028, 0.035]), None);
        assert_eq!(rises(Meter::Syscalls, [3.04, 0.029]), Some(false));
        assert_eq!(rises(Meter::Instructions, [15_000.0, 15_060.0]), None);
        assert_eq!(rises(Meter::Instructions, [15_000.0, 15_450.0]), Some(true));
    }

    #[test]
    fn times_are_told_apart_by_the_intervals_of_the_run_against_each_contender() {
        let (mut run, mut cells) = sample::blocks(12);
        let is_here = |id: &str| ["scylla", "cdrs-tokio"].contains(&id);
        run.contenders.retain(|one| is_here(&one.id));
        run.scenarios.truncate(1);
        cells.retain(|cell| is_here(&cell.contender) && cell.scenario == run.scenarios[0].name);
        let analysis = Analysis::new(&run, &cells);
        let figures = Meter::Cpu.figures(&analysis).unwrap();
        let compared = Compared::of_times(&analysis, figures.clone());
        assert_eq!(compared.rises(0, 1), Some(figures[1] > figures[0]), "{compared:?}");
        assert_eq!(compared.rises(1, 0), Some(figures[1] < figures[0]));
        assert_eq!(compared.rises(0, 0), None);
        let few: Vec<_> = cells.iter().filter(|cell| cell.block < 4).cloned().collect();
        let analysis = Analysis::new(&run, &few);
        let unknown = Compared::of_times(&analysis, figures.clone());
        assert_eq!(unknown.rises(0, 1), None, "without an interval nothing is told apart");
        run.contenders[1].built =
            Some(BuiltOnDemand { adapter: "drivers/other".to_owned(), ..BuiltOnDemand::default() });
        let other = Compared::of_times(&Analysis::new(&run, &cells), figures);
        let [[low, high], [near, far]] = [compared.apart[0][1], other.apart[0][1]];
        assert!(near < low && far > high, "another adapter needs 2 % more");
    }

    #[test]
    fn who_has_no_figure_is_named_with_the_reason() {
        let (mut run, cells) = sample::blocks(12);
        run.contenders.truncate(2);
        let (at, why) = Meter::Instructions.figures(&Analysis::new(&run, &cells)).unwrap_err();
        assert_eq!((at, why.as_str()), (0, "It was not measured."));
        run.contenders[1].unavailable = Some("It cannot be built.".to_owned());
        let (at, why) = Meter::Cpu.figures(&Analysis::new(&run, &cells)).unwrap_err();
        assert_eq!((at, why.as_str()), (1, "It cannot be built."));
    }
}
