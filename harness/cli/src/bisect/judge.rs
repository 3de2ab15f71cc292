//! The figure that a search follows, and how versions are judged by it.

use clap::ValueEnum;
use cqldyno_reports::measure::{ALLOCATIONS, CPU_TIME, Figure, INSTRUCTIONS, SYSTEM_CALLS};
use cqldyno_reports::{Analysis, Contender, Difference, Pass, Verdict};
use serde::{Deserialize, Serialize};

use super::search::Seen;

/// A figure this near to an end's, as a share of the difference between the ends, is the end's.
const NEAR: f64 = 0.1;

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

    pub fn words(self) -> String {
        format!("{}{} per statement", if self == Searched::Cpu { "us of " } else { "" }, self.figure().name)
    }

    /// Under how many names each version runs: two runs of one build show how far its counts vary.
    pub fn names(self) -> usize {
        if self.pass().is_some() { 2 } else { 1 }
    }

    /// The versions of a run; or the place of the first one without a figure, and the reason.
    pub fn beside(self, analysis: &Analysis) -> Result<Beside, (usize, String)> {
        let place = analysis.places().next().ok_or_else(|| (0, "The run has no scenario.".to_owned()))?;
        let all: Vec<&Contender> = analysis.run.contenders.iter().collect();
        let versions: Vec<&[&Contender]> = all.chunks(self.names()).collect();
        let figure = self.figure();
        let rows = analysis.figures(place, &all, figure).map_err(|(at, why)| (at / self.names(), why))?;
        // One measure for all versions: callgrind's instructions are no match for the processor's.
        let used = figure.ids.iter().position(|id| rows.first().is_some_and(|row| row.meter == *id));
        let figure = Figure { ids: used.map_or(figure.ids, |at| &figure.ids[at..=at]), ..*figure };
        let between = |before: usize, after: usize| {
            let blamed = |(at, why)| (if at < self.names() { before } else { after }, why);
            analysis.difference(place, [versions[before], versions[after]], &figure).map_err(blamed)
        };
        Ok(match versions.len() {
            2 => Beside { ends: between(0, 1)?, here: None },
            3 => Beside { ends: between(0, 1)?, here: Some([between(0, 2)?, between(1, 2)?]) },
            _ => return Err((0, "The run has not all of its versions.".to_owned())),
        })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The first two.
    ends: Difference,
    /// The third one beside each of them.
    here: Option<[Difference; 2]>,
}

impl Beside {
    /// Per statement, in the order in which they were asked for.
    pub fn figures(&self) -> Vec<f64> {
        let here = self.here.iter().map(|[older, _]| older.after);
        [self.ends.before, self.ends.after].into_iter().chain(here).collect()
    }

    /// Whether both runs of each version had the same figure.
    pub fn has_no_spread(&self) -> bool {
        self.here.iter().flatten().chain([&self.ends]).all(|one| one.interval.is_none() && one.spread == Some(0.0))
    }

    /// Whether the second one has more than the first; `None` if they may have as much.
    pub fn rises(&self) -> Option<bool> {
        let verdict = self.ends.verdict.as_ref().ok().filter(|verdict| verdict.differs())?;
        Some(*verdict == Verdict::Dearer)
    }

    /// Which end the third version is like: the first one is the older end, the second one the newer, which has more if it `rises`.
    pub fn seen(&self, rises: bool) -> Seen {
        let by = |one: &Difference| (one.after - one.before).abs();
        let near = NEAR * by(&self.ends);
        let is_like = |end: &Difference| !end.beyond(near).differs();
        match &self.here {
            Some(both) if self.rises() == Some(rises) && both.iter().all(|one| one.verdict.is_ok()) => {
                match both.each_ref().map(is_like) {
                    [true, true] => Seen::Unclear,
                    [true, false] => Seen::Older,
                    [false, true] => Seen::Newer,
                    [false, false] if by(&both[0]) < by(&both[1]) => Seen::NearerOlder,
                    [false, false] => Seen::NearerNewer,
                }
            }
            _ => Seen::Unclear,
        }
    }
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::measure::{CALLGRIND_INSTRUCTIONS, CPU_PER_STATEMENT, PROCESSOR_INSTRUCTIONS};
    use cqldyno_reports::{Cell, Measure, Run, Unit};

    use super::*;
    use crate::sample;

    /// A run of versions with both counts of each.
    fn counted<const N: usize>(by: Searched, counts: [[f64; 2]; N]) -> Beside {
        let (mut run, cells) = sample::run();
        run.scenarios.truncate(1);
        let (who, template) =
            (run.contenders[0].clone(), cells.iter().find(|cell| cell.pass == Pass::Counting).unwrap());
        let mut all = Vec::new();
        run.contenders.clear();
        for (at, value) in counts.as_flattened().iter().enumerate() {
            let id = format!("v{at}");
            let measures = by.figure().ids.iter().map(|id| ((*id).to_owned(), Measure::value(*value, Unit::Count)));
            let measures = measures.collect::<Vec<_>>().into_iter().collect();
            let pass = by.figure().pass;
            all.push(Cell { contender: id.clone(), label: id.clone(), pass, measures, ..template.clone() });
            run.contenders.push(Contender { id, ..who.clone() });
        }
        by.beside(&Analysis::new(&run, &all)).unwrap()
    }

    fn seen(counts: [[f64; 2]; 3], rises: bool) -> Seen {
        counted(Searched::Syscalls, counts).seen(rises)
    }

    #[test]
    fn counts_that_come_out_the_same_twice_leave_no_doubt() {
        let twice = |counts: [f64; 3]| seen(counts.map(|one| [one; 2]), counts[1] > counts[0]);
        assert_eq!(twice([3.3, 0.4, 3.3]), Seen::Older);
        assert_eq!(twice([3.3, 0.4, 0.4]), Seen::Newer);
        assert_eq!(twice([0.0, 1.0, 0.0]), Seen::Older, "none at all is a figure, too");
        assert_eq!(twice([3.3, 0.4, 3.1]), Seen::Older, "a tenth of the difference is none");
        assert_eq!(twice([3.3, 0.4, 2.0]), Seen::NearerOlder);
        assert_eq!(twice([3.3, 0.4, 1.0]), Seen::NearerNewer);
        assert_eq!(twice([3.3, 0.4, 5.0]), Seen::NearerOlder, "beyond an end is neither's");
        assert_eq!(twice([1.0, 1.0, 1.0]), Seen::Unclear);
        let exact = counted(Searched::Syscalls, [[1.0; 2], [2.0; 2]]);
        assert!(exact.has_no_spread() && exact.rises() == Some(true) && exact.figures() == [1.0, 2.0]);
        assert_eq!(counted(Searched::Syscalls, [[2.0; 2], [1.0; 2]]).rises(), Some(false));
    }

    #[test]
    fn counts_that_vary_are_told_apart_by_three_times_the_spread_of_one_build() {
        let varied = [[3.3, 3.31], [0.4, 0.41], [3.31, 3.3]];
        assert_eq!(seen(varied, false), Seen::Older);
        assert_eq!(seen(varied, true), Seen::Unclear, "the ends differ the other way round");
        assert!(!counted(Searched::Syscalls, varied).has_no_spread());
        assert_eq!(seen([[1.0, 1.1], [1.2, 1.1], [1.1, 1.2]], true), Seen::Unclear);
    }

    #[test]
    fn a_change_of_a_count_must_be_as_great_as_for_a_pull_request() {
        let rises = |by: Searched, of: [f64; 2]| counted(by, of.map(|one| [one; 2])).rises();
        assert_eq!(rises(Searched::Allocations, [0.028, 0.021]), None);
        assert_eq!(rises(Searched::Allocations, [10.0, 11.0]), Some(true));
        assert_eq!(rises(Searched::Syscalls, [0.028, 0.035]), None);
        assert_eq!(rises(Searched::Syscalls, [3.04, 0.029]), Some(false));
        assert_eq!(rises(Searched::Instructions, [15_000.0, 15_060.0]), None);
        assert_eq!(rises(Searched::Instructions, [15_000.0, 15_450.0]), Some(true));
    }

    /// Two versions in 12 generations, the second one first if they are `turned`.
    fn timed(turned: bool) -> (Run, Vec<Cell>) {
        let (mut run, mut cells) = sample::blocks(12);
        let is_here = |id: &str| ["scylla", "cdrs-tokio"].contains(&id);
        run.contenders.retain(|one| is_here(&one.id));
        run.scenarios.truncate(1);
        cells.retain(|cell| is_here(&cell.contender) && cell.scenario == run.scenarios[0].name);
        if turned {
            run.contenders.reverse();
        }
        (run, cells)
    }

    #[test]
    fn times_are_told_apart_by_the_interval_of_the_run_against_the_version_before() {
        let (run, cells) = timed(false);
        let compared = Searched::Cpu.beside(&Analysis::new(&run, &cells)).unwrap();
        let [before, after] = compared.figures()[..] else { panic!("two versions") };
        assert_eq!(compared.rises(), Some(after > before), "{compared:?}");
        let (turned, _) = timed(true);
        assert_eq!(Searched::Cpu.beside(&Analysis::new(&turned, &cells)).unwrap().rises(), Some(after < before));
        let few: Vec<_> = cells.iter().filter(|cell| cell.block < 4).cloned().collect();
        let unknown = Searched::Cpu.beside(&Analysis::new(&run, &few)).unwrap();
        assert_eq!(unknown.rises(), None, "without an interval nothing is told apart");
        // The interval is known to a percent.
        let near = |share: f64| {
            let cost = |cell: &Cell| cell.get(CPU_PER_STATEMENT).filter(|_| cell.contender == "cdrs-tokio");
            let mut cells = cells.clone();
            for cell in &mut cells {
                if let Some(cost) = cost(cell) {
                    let value = Measure::value(cost / (after / before) * share, Unit::Microseconds);
                    cell.measures.insert(CPU_PER_STATEMENT.to_owned(), value);
                }
            }
            Searched::Cpu.beside(&Analysis::new(&run, &cells)).unwrap().rises()
        };
        assert_eq!((near(1.015), near(1.05)), (None, Some(true)), "2 % may be the order of functions in memory");
    }

    #[test]
    fn all_versions_are_judged_by_one_measure_that_all_have() {
        let (mut run, cells) = sample::run();
        run.scenarios.truncate(1);
        let (who, template) =
            (run.contenders[0].clone(), cells.iter().find(|cell| cell.pass == Pass::Counting).unwrap());
        let ids = ["v0", "v0#2", "v1", "v1#2", "v2", "v2#2"];
        run.contenders = ids.map(|id| Contender { id: id.to_owned(), ..who.clone() }).to_vec();
        let cell = |(at, id): (usize, &&str)| {
            let version = at / 2;
            // The last version has no count of callgrind.
            let counts = [(PROCESSOR_INSTRUCTIONS, 100.0), (CALLGRIND_INSTRUCTIONS, 1_000.0)];
            let counts = counts.into_iter().take(if version == 2 { 1 } else { 2 });
            let value = |one: f64| Measure::value(one * (version + 1) as f64, Unit::Count);
            let measures = counts.map(|(meter, one)| (meter.to_owned(), value(one))).collect();
            Cell { contender: (*id).to_owned(), pass: Pass::Instructions, measures, ..template.clone() }
        };
        let cells: Vec<Cell> = ids.iter().enumerate().map(cell).collect();
        let found = Searched::Instructions.beside(&Analysis::new(&run, &cells)).unwrap();
        assert_eq!(found.figures(), [100.0, 200.0, 300.0]);
        run.contenders.truncate(4);
        let found = Searched::Instructions.beside(&Analysis::new(&run, &cells)).unwrap();
        assert_eq!(found.figures(), [1_000.0, 2_000.0]);
    }

    #[test]
    fn who_has_no_figure_is_named_with_the_reason() {
        let (mut run, mut cells) = timed(false);
        let (at, why) = Searched::Cpu.beside(&Analysis::new(&run, &[])).unwrap_err();
        assert_eq!((at, why.as_str()), (0, "This was not measured in this run."));
        run.contenders[1].unavailable = Some("It cannot be built.".to_owned());
        cells.retain(|cell| cell.contender != run.contenders[1].id);
        let (at, why) = Searched::Cpu.beside(&Analysis::new(&run, &cells)).unwrap_err();
        assert_eq!((at, why.as_str()), (1, "It cannot be built."));
    }
}
