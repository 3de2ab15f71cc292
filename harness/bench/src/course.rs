//! A run under way: block after block, and a block again where others disturbed it.
//!
//! The rule is fixed in the plan and looks at no result: a block of timing cells of which one was noisy is run again, right
//! away and whole, until an attempt is quiet or the plan's most attempts are made, and only while repeats take no more than
//! [`REPEATS`] times what the blocks take once: by the estimate beforehand, or by the cells that ended where these are slower.
//! Every attempt is kept; the last one that is whole counts.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cqldyno_reports::{Cell, Run};

use crate::estimate::Estimate;
use crate::folder::FolderError;
use crate::noise::noise;
use crate::observer::{CellStart, Observer, Stage};
use crate::plan::{Plan, PlannedCell};
use crate::schedule::{Block, Schedule};

/// Repeats take at most this many times what the blocks take once.
pub const REPEATS: f64 = 0.5;

/// Runs one cell. The supervisor of processes is one; tests have another.
pub(crate) trait Executor {
    /// The cell with its figures or the reason why it has none; `None` when the run is to end.
    /// `cells` are those that ended before.
    fn execute(&mut self, cell: &PlannedCell, cells: &[Cell], stage: &mut dyn FnMut(Stage)) -> Option<Cell>;
}

/// Takes each cell as it ends.
pub(crate) type Keep<'a> = &'a mut dyn FnMut(&Cell) -> Result<(), FolderError>;

/// How a course ended.
pub(crate) struct Ended {
    /// All cells of the run, with those that were there before.
    pub cells: Vec<Cell>,
    /// Whether every block was run.
    pub complete: bool,
    /// Why the cells could no longer be kept.
    pub trouble: Option<FolderError>,
}

/// A run, as far as its order goes.
pub(crate) struct Course<'a> {
    pub plan: &'a Plan,
    pub schedule: &'a Schedule,
    pub run: &'a Run,
}

/// What there is of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Attempts {
    /// The number of the last one, whole or not; 0 without any.
    last: u32,
    /// Those with a cell of every contender.
    whole: u32,
    /// Whether the last whole one had a noisy cell.
    noisy: bool,
}

impl Course<'_> {
    /// Runs what is missing behind the cells `there`.
    pub(crate) fn run(
        &self,
        there: Vec<Cell>,
        executor: &mut dyn Executor,
        observer: &mut dyn Observer,
        keep: Keep<'_>,
    ) -> Ended {
        let blocks = self.schedule.blocks();
        // Blocks before the last one with a cell were left behind by the rule of repeats.
        let under_way = blocks.iter().rposition(|block| self.attempts(&there, block).last > 0);
        let is_left = |at: usize, attempts: Attempts| match attempts.whole {
            0 => true,
            _ => Some(at) == under_way && self.again(attempts),
        };
        let left: Vec<Block> = (0..blocks.len())
            .filter(|at| is_left(*at, self.attempts(&there, &blocks[*at])))
            .map(|at| blocks[at])
            .collect();

        let mut estimate = Estimate::new(self.plan);
        let of_blocks = |estimate: &Estimate<'_>, blocks: &[Block]| estimate.of(self.schedule.first_attempts(blocks));
        let whole = of_blocks(&estimate, &left);
        let repeats = if self.plan.noise_share.is_some() && self.plan.most_attempts > 1 {
            whole.mul_f64(REPEATS)
        } else {
            Duration::ZERO
        };
        observer.starts(self.schedule.first_attempts(&left).count(), whole, repeats);

        let mut repeating = Duration::ZERO;
        let mut ended = Ended { cells: there, complete: false, trouble: None };
        for (at, block) in left.iter().enumerate() {
            let behind = &left[at + 1..];
            loop {
                let attempts = self.attempts(&ended.cells, block);
                if attempts.whole > 0 {
                    if !self.again(attempts) {
                        break;
                    }
                    let most = whole.max(of_blocks(&estimate, &left)).mul_f64(REPEATS);
                    if repeating + of_blocks(&estimate, &[*block]) > most {
                        break;
                    }
                    observer.repeats(&self.sentence(block, attempts));
                }
                let began = Instant::now();
                if !self.attempt(block, attempts.last + 1, behind, &mut estimate, &mut ended, executor, observer, keep)
                {
                    return ended;
                }
                if attempts.whole > 0 {
                    repeating += began.elapsed();
                }
            }
        }
        ended.complete = true;
        ended
    }

    /// Runs every cell of the block once; whether the run goes on.
    #[expect(clippy::too_many_arguments, reason = "they are what a run consists of")]
    fn attempt(
        &self,
        block: &Block,
        attempt: u32,
        behind: &[Block],
        estimate: &mut Estimate<'_>,
        ended: &mut Ended,
        executor: &mut dyn Executor,
        observer: &mut dyn Observer,
        keep: Keep<'_>,
    ) -> bool {
        let cells = self.schedule.cells(block, attempt);
        let left = |estimate: &Estimate<'_>, from: usize| {
            estimate.of(cells[from..].iter().copied().chain(self.schedule.first_attempts(behind)))
        };
        for (at, planned) in cells.iter().enumerate() {
            observer.cell_starts(&CellStart {
                number: ended.cells.len() + 1,
                of: ended.cells.len() + cells.len() - at + self.schedule.first_attempts(behind).count(),
                label: &self.run.contenders[planned.contender].label,
                scenario: &self.run.scenarios[planned.scenario].name,
                arrangement: &self.run.plan.arrangements[planned.arrangement].id,
                block: planned.block,
                pass: planned.pass,
                step: planned.step,
                attempt,
                count: planned.count,
                left: left(estimate, at),
                behind: left(estimate, at + 1),
            });
            let began = Instant::now();
            let Some(mut cell) = executor.execute(planned, &ended.cells, &mut |stage| observer.stage(stage)) else {
                return false;
            };
            cell.noisy = noise(&cell, self.plan.noise_share, self.cores(planned));
            // A cell that failed says nothing about the time that others take.
            if cell.failed.is_none() {
                estimate.ended(planned, began.elapsed());
            }
            let kept = keep(&cell);
            observer.cell_ended(&cell, left(estimate, at + 1));
            ended.cells.push(cell);
            if let Err(trouble) = kept {
                ended.trouble = Some(trouble);
                return false;
            }
        }
        true
    }

    /// How many cores worker and server of the cell may use.
    fn cores(&self, planned: &PlannedCell) -> usize {
        let arrangement = &self.run.plan.arrangements[planned.arrangement];
        arrangement.worker_cores.iter().chain(&arrangement.server_cores).collect::<BTreeSet<_>>().len()
    }

    /// Whether the rule of repeats asks for another attempt, time apart.
    fn again(&self, attempts: Attempts) -> bool {
        attempts.noisy && attempts.whole < self.plan.most_attempts
    }

    fn sentence(&self, block: &Block, attempts: Attempts) -> String {
        format!(
            "Block {} of {} in {} was disturbed by others and is run again, attempt {} of {}.",
            block.number,
            self.run.scenarios[block.scenario].name,
            self.run.plan.arrangements[block.arrangement].id,
            attempts.whole + 1,
            self.plan.most_attempts
        )
    }

    fn attempts(&self, cells: &[Cell], block: &Block) -> Attempts {
        let scenario = &self.run.scenarios[block.scenario].name;
        let arrangement = &self.run.plan.arrangements[block.arrangement].id;
        let mine: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.scenario == *scenario && cell.arrangement == *arrangement)
            .filter(|cell| cell.block == block.number && cell.pass == block.pass)
            .collect();
        let mut found =
            Attempts { last: mine.iter().map(|cell| cell.attempt).max().unwrap_or(0), ..Attempts::default() };
        for attempt in 1..=found.last {
            let of_it: Vec<&&Cell> = mine.iter().filter(|cell| cell.attempt == attempt).collect();
            let has = |planned: &PlannedCell| {
                let step = self.schedule.step(planned);
                let id = &self.run.contenders[planned.contender].id;
                of_it.iter().any(|cell| cell.contender == *id && cell.step.as_deref() == step)
            };
            if self.schedule.cells(block, attempt).iter().all(has) {
                found.whole += 1;
                found.noisy = of_it.iter().any(|cell| cell.noisy.is_some());
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::run::sample_run;
    use crate::topology::Topology;
    use cqldyno_reports::{Measure, Pass, Unit, measure};

    /// Ends every cell at once; ends the run in the cell with number `cancel_at`, fails the contender `failing`. Cells of
    /// `noisy` (contender, block) are disturbed in the attempts up to that number.
    struct Instantly<'a> {
        run: &'a Run,
        seen: Vec<PlannedCell>,
        cancel_at: usize,
        failing: usize,
        noisy: Vec<(usize, u32, u32)>,
    }

    impl Executor for Instantly<'_> {
        fn execute(&mut self, cell: &PlannedCell, _: &[Cell], stage: &mut dyn FnMut(Stage)) -> Option<Cell> {
            self.seen.push(*cell);
            stage(Stage::Connecting);
            if self.seen.len() == self.cancel_at {
                return None;
            }
            let noisy = self.noisy.iter().any(|(who, block, attempts)| {
                (*who, *block) == (cell.contender, cell.block) && cell.attempt <= *attempts
            });
            let seconds = |value| Measure::value(value, Unit::Seconds);
            let measures = [
                (measure::WALL, seconds(1.0)),
                ("machine_steal", seconds(0.0)),
                ("machine_other_cpu", seconds(if noisy { 0.9 } else { 0.0 })),
            ];
            Some(Cell {
                contender: self.run.contenders[cell.contender].id.clone(),
                scenario: self.run.scenarios[cell.scenario].name.clone(),
                arrangement: self.run.plan.arrangements[cell.arrangement].id.clone(),
                block: cell.block,
                pass: cell.pass,
                attempt: cell.attempt,
                measures: measures.map(|(id, value)| (id.to_owned(), value)).into(),
                failed: (cell.contender == self.failing).then(|| "It crashed.".to_owned()),
                ..crate::cell::empty_cell()
            })
        }
    }

    #[derive(Default)]
    struct Heard {
        started: Vec<usize>,
        of: Vec<usize>,
        ended: usize,
        stages: usize,
        repeats: Vec<String>,
    }

    impl Observer for Heard {
        fn cell_starts(&mut self, cell: &CellStart<'_>) {
            self.started.push(cell.number);
            self.of.push(cell.of);
        }
        fn stage(&mut self, _: Stage) {
            self.stages += 1;
        }
        fn cell_ended(&mut self, _: &Cell, _: Duration) {
            self.ended += 1;
        }
        fn repeats(&mut self, sentence: &str) {
            self.repeats.push(sentence.to_owned());
        }
    }

    fn asked() -> Plan {
        Plan { noise_share: Some(0.1), most_attempts: 3, ..plan(&["scylla", "noop"], &["writes", "reads"]) }
    }

    fn sample(plan: &Plan) -> (Schedule, Run) {
        let mut run = sample_run(plan, &plan.check(&Topology::sample(1, 1)).unwrap());
        run.environment.cores = 64;
        (Schedule::new(plan, &[0, 1], None, &|_| true), run)
    }

    fn instantly(run: &Run) -> Instantly<'_> {
        Instantly { run, seen: Vec::new(), cancel_at: 0, failing: 9, noisy: Vec::new() }
    }

    /// Runs behind `there`; the cells, who was run, and what was heard.
    fn go(plan: &Plan, there: Vec<Cell>, change: impl FnOnce(&mut Instantly<'_>)) -> (Ended, Vec<PlannedCell>, Heard) {
        let (schedule, run) = sample(plan);
        let mut executor = instantly(&run);
        change(&mut executor);
        let mut heard = Heard::default();
        let course = Course { plan, schedule: &schedule, run: &run };
        let ended = course.run(there, &mut executor, &mut heard, &mut |_| Ok(()));
        (ended, executor.seen, heard)
    }

    #[test]
    fn a_failed_cell_is_kept_and_the_others_go_on() {
        let (ended, seen, heard) = go(&asked(), Vec::new(), |executor| executor.failing = 0);
        let (schedule, _) = sample(&asked());
        assert_eq!(seen, schedule.first_attempts(schedule.blocks()).collect::<Vec<_>>());
        assert_eq!((ended.cells.len(), heard.ended, heard.stages, ended.complete), (12, 12, 12, true));
        assert_eq!(ended.cells.iter().filter(|cell| cell.failed.is_some()).count(), 6);
        assert_eq!(heard.started, (1..=12).collect::<Vec<_>>());
        assert!(heard.of.iter().all(|of| *of == 12));
    }

    #[test]
    fn a_block_with_a_noisy_cell_is_run_again_whole_and_every_attempt_is_kept() {
        let (ended, seen, heard) = go(&asked(), Vec::new(), |executor| executor.noisy = vec![(1, 2, 1)]);
        // Block 2 of both scenarios.
        assert_eq!((ended.cells.len(), seen.len(), heard.repeats.len()), (16, 16, 2));
        assert!(heard.repeats[0].contains("was disturbed by others and is run again, attempt 2 of 3"));
        for (nth, cell) in seen.iter().enumerate().filter(|(_, cell)| cell.attempt == 2) {
            assert_eq!((cell.block, cell.pass), (2, Pass::Timing));
            let neighbours = &seen[nth.saturating_sub(3)..=nth];
            assert!(neighbours.iter().any(|other| other.attempt == 1 && other.scenario == cell.scenario), "right away");
        }
        assert_eq!(ended.cells.iter().filter(|cell| cell.noisy.is_some()).count(), 2);
        assert_eq!(heard.of.last(), Some(&16));
    }

    #[test]
    fn a_block_is_run_no_more_often_than_the_plan_says_and_once_without_a_share() {
        let always = |executor: &mut Instantly<'_>| executor.noisy = vec![(0, 1, 99)];
        let (ended, ..) = go(&asked(), Vec::new(), always);
        assert_eq!(ended.cells.iter().map(|cell| cell.attempt).max(), Some(3));
        assert_eq!(ended.cells.len(), 12 + 2 * 2 * 2);
        let (ended, _, heard) = go(&Plan { noise_share: None, ..asked() }, Vec::new(), always);
        assert_eq!((ended.cells.len(), heard.repeats.len()), (12, 0));
    }

    /// Takes this long for a cell whose attempt has the number.
    struct Slow<'a>(Instantly<'a>, u32, Duration);

    impl Executor for Slow<'_> {
        fn execute(&mut self, cell: &PlannedCell, _: &[Cell], stage: &mut dyn FnMut(Stage)) -> Option<Cell> {
            if cell.attempt == self.1 {
                std::thread::sleep(self.2);
            }
            self.0.execute(cell, &[], stage)
        }
    }

    #[test]
    fn repeats_end_when_they_took_half_as_long_as_the_blocks() {
        let plan = Plan { passes: Vec::new(), blocks: 1, ..asked() };
        let (schedule, run) = sample(&plan);
        let whole = Estimate::new(&plan).of(schedule.first_attempts(schedule.blocks()));
        let mut slow = Slow(instantly(&run), 2, whole);
        slow.0.noisy = vec![(0, 1, 99)];
        let course = Course { plan: &plan, schedule: &schedule, run: &run };
        let ended = course.run(Vec::new(), &mut slow, &mut Heard::default(), &mut |_| Ok(()));
        assert_eq!(ended.cells.len(), 4 + 2, "one block again, and then no other");
    }

    #[test]
    fn a_machine_that_is_slower_than_the_table_repeats_as_much_of_a_run() {
        let plan = Plan { passes: Vec::new(), blocks: 4, most_attempts: 2, ..asked() };
        let (schedule, run) = sample(&plan);
        let whole = Estimate::new(&plan).of(schedule.first_attempts(schedule.blocks()));
        // The sixteen cells take longer than one and a half times what they were estimated to.
        let mut slow = Slow(instantly(&run), 1, whole.mul_f64(0.1));
        slow.0.noisy = vec![(0, 1, 1)];
        let course = Course { plan: &plan, schedule: &schedule, run: &run };
        let ended = course.run(Vec::new(), &mut slow, &mut Heard::default(), &mut |_| Ok(()));
        assert_eq!(ended.cells.len(), 16 + 4);
    }

    #[test]
    fn a_run_that_was_ended_goes_on_with_the_block_under_way_as_another_attempt() {
        let plan = asked();
        let (whole, all, _) = go(&plan, Vec::new(), |_| {});
        for cut in 0..=all.len() {
            let there = whole.cells[..cut].to_vec();
            let (ended, seen, heard) = go(&plan, there, |_| {});
            let in_block = cut % 2;
            assert_eq!(seen.len(), all.len() - cut + in_block, "behind {cut} cells");
            assert_eq!((ended.cells.len(), ended.complete), (all.len() + in_block, true));
            assert!(seen.iter().take(2 * in_block).all(|cell| cell.attempt == 2), "{seen:?}");
            assert!(seen.iter().skip(2 * in_block).all(|cell| cell.attempt == 1), "{seen:?}");
            assert_eq!(heard.started.first().copied(), (!seen.is_empty()).then_some(cut + 1));
        }
    }

    #[test]
    fn an_attempt_that_was_broken_off_is_none_of_the_plans_attempts_and_earlier_blocks_stay_as_they_are() {
        let plan = asked();
        let noisy = |executor: &mut Instantly<'_>| executor.noisy = vec![(0, 1, 99)];
        let (whole, ..) = go(&plan, Vec::new(), noisy);
        // Attempts 1 and 2 of the first block are whole and noisy, of the third there is one cell.
        let (ended, seen, _) = go(&plan, whole.cells[..5].to_vec(), noisy);
        assert_eq!(seen[..2].iter().map(|cell| cell.attempt).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(ended.cells.len(), whole.cells.len() + 1);
        // Nothing of a block that was left behind is run again.
        let (_, seen, _) = go(&plan, whole.cells[..7].to_vec(), noisy);
        let first = sample(&plan).0.blocks()[0];
        let is_first = |cell: &&PlannedCell| (cell.scenario, cell.block, cell.pass) == (first.scenario, 1, first.pass);
        assert_eq!(seen.iter().find(is_first), None);
    }

    #[test]
    fn the_end_of_the_run_keeps_what_has_ended() {
        let (ended, seen, _) = go(&asked(), Vec::new(), |executor| executor.cancel_at = 3);
        assert_eq!((ended.cells.len(), seen.len(), ended.complete, ended.trouble.is_none()), (2, 3, false, true));
    }

    #[test]
    fn a_cell_that_cannot_be_kept_ends_the_run_and_is_still_shown() {
        let plan = asked();
        let (schedule, run) = sample(&plan);
        let course = Course { plan: &plan, schedule: &schedule, run: &run };
        let mut kept = 0;
        let ended = course.run(Vec::new(), &mut instantly(&run), &mut Heard::default(), &mut |_| {
            kept += 1;
            let full = || FolderError::Io { path: "cells.jsonl".into(), error: std::io::ErrorKind::StorageFull.into() };
            if kept == 4 { Err(full()) } else { Ok(()) }
        });
        assert_eq!((ended.cells.len(), ended.complete), (4, false));
        assert!(ended.trouble.unwrap().to_string().contains("cells.jsonl"));
    }
}
