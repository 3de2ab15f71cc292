//! A run under way: block after block. A lap is one generation of every scenario and arrangement.
//!
//! No result influences the order, only durations and the widths of intervals. A block that was broken off runs again from its start
//! when the run goes on. Every attempt is kept; the last whole one counts.
//!
//! With a limit of time no lap starts that would not finish in it ([`Limit`]). A run that ends
//! at a width starts no lap once all intervals are narrow enough; where they lie has no part in that. The first lap always runs. With a
//! limit of time the other passes come before further laps, and what does not fit of one is left out. Every scenario and arrangement
//! has as many generations.

use std::collections::BTreeSet;
use std::mem::replace;
use std::time::Duration;

use cqldyno_cassandra::CassandraError;
use cqldyno_postgres::PostgresError;
use cqldyno_reports::{Cell, CountedRounds, CutShort, LEAST_BLOCKS, Pass, Run, count, lasting, whole};

use crate::cell::{Executor, RunEnds, Take};
use crate::plan::estimate::Estimate;
use crate::plan::schedule::{Block, Group, Schedule};
use crate::plan::target::TargetError;
use crate::plan::turns::{has_enough, wanted};
use crate::plan::{Plan, PlannedCell};
use crate::record::folder::FolderError;
use crate::run::BenchError;
use crate::run::limit::{Clock, Limit};
use crate::run::observer::{CellStart, Observer, Outlook, SoFar};

/// Takes each cell as it ends.
pub(crate) type Keep<'a> = &'a mut dyn FnMut(&Cell) -> Result<(), FolderError>;

#[derive(Default)]
pub(crate) struct Ended {
    /// All cells of the run, with those that were there before.
    pub cells: Vec<Cell>,
    pub complete: bool,
    /// The laps for which there was no time, if there were any.
    pub cut_short: Option<CutShort>,
    /// The other passes for which there was no time, in whole or in part.
    pub passes_left_out: Vec<Pass>,
    /// What ended it early, besides the user.
    pub trouble: Option<BenchError>,
}

/// A run under way: what carries it out, and what came of it so far.
pub(super) struct Going<'a> {
    pub executor: &'a mut dyn Executor,
    pub observer: &'a mut dyn Observer,
    pub keep: Keep<'a>,
    pub limit: Limit<'a>,
    pub ended: Ended,
}

/// A run, as far as its order goes.
pub(crate) struct Course<'a> {
    pub plan: &'a Plan,
    pub schedule: &'a Schedule<'a>,
    pub run: &'a Run,
    pub clock: &'a dyn Clock,
}

impl Course<'_> {
    /// Runs what is missing after the cells `there`.
    pub(crate) fn run(
        &self,
        there: Vec<Cell>,
        executor: &mut dyn Executor,
        observer: &mut dyn Observer,
        keep: Keep<'_>,
    ) -> Ended {
        let (within, clock, lap) = (self.plan.within(), self.clock, self.lap());
        let limit = Limit { within, clock, pace: Estimate::new(self.schedule), lap };
        let ended = Ended { cells: there, ..Ended::default() };
        let mut going = Going { executor, observer, keep, limit, ended };
        if let Some(ladder) = &self.plan.ladder {
            return self.climb(ladder, going);
        }
        let is_left = |block: &&Block| self.next_attempt(&going.ended.cells, block).is_some();
        let mut left: Vec<Block> = self.schedule.blocks().iter().filter(is_left).copied().collect();
        // A lap under way is finished first, so that all tables have as many generations.
        if self.begins_lap(&left) && has_enough(self.run, &going.ended.cells) {
            going.ended.cut_short = Some(self.cut_short(&left, &going.limit));
            left.retain(|block| block.pass != Pass::Timing);
        }
        let fitting = self.fitting(&left, &going.ended.cells, &going.limit);
        let of_blocks = |blocks: &[Block]| going.limit.pace.of(self.schedule.first_attempts(blocks));
        let (timing, others): (Vec<Block>, Vec<Block>) = fitting.iter().partition(|block| block.pass == Pass::Timing);
        let generations = timing.iter().map(|block| block.number).collect::<BTreeSet<u32>>().len() as u32;
        let cells = self.schedule.first_attempts(&others).count();
        let preparation = going.executor.preparation();
        let certain = of_blocks(&one_lap(&left).copied().collect::<Vec<_>>());
        let estimate = preparation + going.limit.left(certain, of_blocks(&fitting).saturating_sub(certain));
        going.observer.starts(&Outlook { cells, generations, plan: self.plan, estimate, preparation });

        if !left.is_empty()
            && let Err(trouble) = prepare(&mut going)
        {
            return Ended { trouble, ..going.ended };
        }
        let mut at = 0;
        let mut looked_ahead = false;
        while let Some(block) = left.get(at).copied() {
            if begins_another_lap(&left, at) && !replace(&mut looked_ahead, true) {
                let too_few = self.too_few(&left[at..], &going.limit);
                let without_cores = self.without_cores(&going.ended.cells);
                too_few.iter().chain(&without_cores).for_each(|sentence| going.observer.says(sentence));
            }
            let is_over =
                || has_enough(self.run, &going.ended.cells) || !self.has_time_for(1, &left[at..], &going.limit);
            if begins_another_lap(&left, at) && is_over() {
                let cut_short = self.cut_short(&left[at..], &going.limit);
                // Of an open run as many generations run as fit.
                if !self.plan.is_open() || (cut_short.blocks as usize) < LEAST_BLOCKS {
                    going.observer.says(&self.without_laps(&cut_short));
                }
                going.ended.cut_short = Some(cut_short);
                let others = left.split_off(at).into_iter().filter(|block| block.pass != Pass::Timing);
                left.extend(others);
                continue;
            }
            let has_time = block.pass == Pass::Timing || {
                let of_it = |other: &&Block| (other.pass, other.number) == (block.pass, block.number);
                let rest: Vec<Block> = left[at..].iter().filter(of_it).copied().collect();
                going.limit.allows(self.schedule.first_attempts(&rest))
            };
            if !has_time {
                self.leave_out(block.pass, &mut left, at, &mut going);
                continue;
            }
            at += 1;
            let next = &self.fitting(&left[at - 1..], &going.ended.cells, &going.limit)[1..];
            let Some(attempt) = self.next_attempt(&going.ended.cells, &block) else { continue };
            if !self.attempt(&block, attempt, next, &mut going) {
                return going.ended;
            }
            if self.next_attempt(&going.ended.cells, &block).is_some() {
                at -= 1;
                self.leave_out(block.pass, &mut left, at, &mut going);
            }
            if block.pass == Pass::Timing {
                let so_far = self.so_far(&block, &left[at..], &going.ended.cells, &going.limit);
                going.observer.generation_ended(&so_far);
            }
        }
        Ended { complete: true, ..going.ended }
    }

    /// Where the run is after `block`, with those that are `left`.
    fn so_far<'s>(&'s self, block: &Block, left: &[Block], cells: &'s [Cell], limit: &Limit<'_>) -> SoFar<'s> {
        let mut next = self.fitting(left, cells, limit);
        if self.begins_lap(&next) && !self.has_time_for(1, left, limit) {
            next.retain(|other| other.pass != Pass::Timing);
        }
        let is_timing = |other: &&Block| other.pass == Pass::Timing;
        let is_of_lap = |other: &Block| other.pass == Pass::Timing && other.number == block.number;
        let (lap, others): (Vec<Block>, Vec<Block>) = next.iter().partition(|other| is_of_lap(other));
        let [lap_time, others] = [&lap, &others].map(|blocks| limit.pace.of(self.schedule.first_attempts(blocks)));
        SoFar {
            run: self.run,
            cells,
            generation: block.number,
            of: next.iter().filter(is_timing).map(|other| other.number).fold(block.number, u32::max),
            is_whole: lap.is_empty(),
            left: limit.left(lap_time, others),
        }
    }

    /// Leaves out the blocks of another pass that are `left` from the one at `at` on.
    fn leave_out(&self, pass: Pass, left: &mut Vec<Block>, at: usize, going: &mut Going<'_>) {
        let (out, rest): (Vec<Block>, Vec<Block>) = left.drain(at..).partition(|block| block.pass == pass);
        left.extend(rest);
        going.observer.says(&format!(
            "The rest of the pass {} is left out: it would take about {}, and the run has {}. Go on with `cqldyno compare --resume DIR`, \
             or give it more time with --within.",
            pass.name(),
            lasting(going.limit.pace.of(self.schedule.first_attempts(&out))),
            lasting(self.plan.within().unwrap_or_default())
        ));
        going.ended.passes_left_out.push(pass);
    }

    /// Whether the first of `left` begins a lap of timing blocks.
    fn begins_lap(&self, left: &[Block]) -> bool {
        left.first().filter(|first| first.pass == Pass::Timing).is_some_and(|first| {
            let of_lap = |block: &&Block| (block.pass, block.number) == (first.pass, first.number);
            left.iter().filter(of_lap).count() == self.schedule.blocks().iter().filter(of_lap).count()
        })
    }

    fn lap(&self) -> Vec<PlannedCell> {
        let blocks = self.schedule.blocks();
        self.schedule.first_attempts(&one_lap(blocks).copied().collect::<Vec<_>>()).collect()
    }

    /// Whether the next `laps` of `left` end in time, with the other passes after them.
    fn has_time_for(&self, laps: u32, left: &[Block], limit: &Limit<'_>) -> bool {
        let end = next_lap(left).saturating_add(laps);
        let blocks: Vec<Block> =
            left.iter().filter(|block| block.pass != Pass::Timing || block.number < end).copied().collect();
        limit.allows(self.schedule.first_attempts(&blocks))
    }

    /// Those of `left` that there is time for and that are wanted besides `cells`, as far as is known now.
    fn fitting(&self, left: &[Block], cells: &[Cell], limit: &Limit<'_>) -> Vec<Block> {
        if self.plan.within_ms.is_none() {
            return left.to_vec();
        }
        let most = wanted(self.run, cells).min(self.plan.blocks);
        let laps = (1..=most).collect::<Vec<u32>>().partition_point(|laps| self.has_time_for(*laps, left, limit));
        // What is under way ends in any case.
        let least = usize::from(left.first().is_some_and(|block| block.pass == Pass::Timing));
        let end = next_lap(left).saturating_add(u32::try_from(laps.max(least)).unwrap_or(u32::MAX));
        left.iter().filter(|block| block.pass != Pass::Timing || block.number < end).copied().collect()
    }

    /// Says, while the user can still do something, that there will be too few blocks for an interval; the laps `left` are to come.
    fn too_few(&self, left: &[Block], limit: &Limit<'_>) -> Option<String> {
        let (within, most) = (self.plan.within()?, self.plan.blocks);
        let there = left.first()?.number.saturating_sub(1);
        if !self.wants_interval() {
            return None;
        }
        let laps = (1..=most - there).take(LEAST_BLOCKS).take_while(|laps| self.has_time_for(*laps, left, limit));
        let laps = laps.count();
        let blocks = there as usize + laps;
        // Without time for another lap that is what is said.
        (laps > 0 && blocks < LEAST_BLOCKS).then(|| {
            format!(
                "There is time for about {blocks}{} generations within {}, and an interval needs {LEAST_BLOCKS}. Let the run end, or \
                 end it with Ctrl-C, and go on with `cqldyno compare --resume DIR`.",
                if self.plan.is_open() { String::new() } else { format!(" of {most}") },
                lasting(within)
            )
        })
    }

    /// Says, while the user can still do something, that most rounds do not count.
    fn without_cores(&self, cells: &[Cell]) -> Option<String> {
        let rounds = CountedRounds::of(self.run, cells);
        rounds.sentence().filter(|_| rounds.are_too_few()).map(|why| {
            format!("{why} If it stays like that, there is no verdict: end what else runs here, or give it more time with --within.")
        })
    }

    /// Whether somebody is compared, and enough blocks are asked for.
    fn wants_interval(&self) -> bool {
        let is_compared = self.run.plan.reference.is_some() && self.run.contenders.len() > 1;
        is_compared && self.plan.blocks as usize >= LEAST_BLOCKS
    }

    /// What results say of a run without the laps `left`.
    fn cut_short(&self, left: &[Block], limit: &Limit<'_>) -> CutShort {
        let missing: Vec<Block> = left.iter().filter(|block| block.pass == Pass::Timing).copied().collect();
        let milliseconds = |time: Duration| (time.as_secs_f64() * 1_000.0).round() as u64;
        CutShort {
            within_ms: milliseconds(self.plan.within().unwrap_or_default()),
            blocks: left.first().map_or(0, |block| block.number.saturating_sub(1)),
            missing_ms: milliseconds(limit.pace.of(self.schedule.first_attempts(&missing))),
        }
    }

    fn without_laps(&self, cut_short: &CutShort) -> String {
        let ran = match self.plan.is_open() {
            true => count(cut_short.blocks.into(), "generation"),
            false => {
                format!("{} of {}", whole(cut_short.blocks.into()), count(self.plan.blocks.into(), "generation"))
            }
        };
        let needed = match self.wants_interval() && (cut_short.blocks as usize) < LEAST_BLOCKS {
            true => format!(", and an interval needs {LEAST_BLOCKS}"),
            false => String::new(),
        };
        let within = lasting(Duration::from_millis(cut_short.within_ms));
        format!("There was time for {ran} within {within}{needed}.")
    }

    /// Runs every cell of the block once, of another pass only those that end in time; whether the run goes on.
    fn attempt(&self, block: &Block, attempt: u32, next: &[Block], going: &mut Going<'_>) -> bool {
        let groups = self.schedule.groups(block, attempt);
        // A generation is one step, whatever it has.
        let steps = |block: &Block| if block.pass == Pass::Timing { 1 } else { self.schedule.cells(block, 1).len() };
        let steps: usize = next.iter().map(steps).sum();
        let left = |limit: &Limit<'_>, from: usize| {
            let behind = groups[from..].iter().flat_map(|group| group.cells.iter().copied());
            let is_of_lap = |other: &&Block| (other.pass, other.number) == (block.pass, block.number);
            let lap = next.iter().take_while(is_of_lap).count();
            let [lap, others] = [&next[..lap], &next[lap..]].map(|next| self.schedule.first_attempts(next));
            limit.left(limit.pace.of(behind.chain(lap)), limit.pace.of(others))
        };
        for (at, group) in groups.iter().enumerate() {
            let Some(planned) = group.cells.first() else { continue };
            if block.pass != Pass::Timing && !going.limit.allows(group.cells.iter().copied()) {
                return true;
            }
            let there = done(&going.ended.cells);
            let behind = left(&going.limit, at + 1);
            going.observer.cell_starts(&CellStart {
                number: there + 1,
                of: there + groups.len() - at + steps,
                label: match planned.rounds {
                    None => &self.run.contenders[planned.contender].label,
                    Some(_) => "",
                },
                scenario: &self.run.scenarios[planned.scenario].name,
                arrangement: &self.run.plan.arrangements[planned.arrangement].id,
                block: planned.block,
                pass: planned.pass,
                doing: self.schedule.step(planned).doing,
                attempt,
                count: planned.count / u64::from(planned.turns()),
                left: left(&going.limit, at),
                behind,
            });
            if !self.execute(group, behind, going) {
                return false;
            }
        }
        true
    }

    /// Runs the cells of a group; whether the run goes on. What comes after them takes `behind`.
    pub(super) fn execute(&self, group: &Group, behind: Duration, going: &mut Going<'_>) -> bool {
        let began = self.clock.elapsed();
        let (mut taken, mut trouble) = (Vec::new(), None);
        let observer = std::cell::RefCell::new(&mut *going.observer);
        let take: Take<'_> = &mut |cell| {
            let kept = (going.keep)(&cell);
            if !cell.more {
                observer.borrow_mut().cell_ended(&cell, behind);
            }
            taken.push(cell);
            kept.map_err(|error| {
                trouble = Some(error.into());
                RunEnds::NotKept
            })
        };
        let stages = &mut |stage| observer.borrow_mut().stage(stage);
        let ran = going.executor.execute(group, &going.ended.cells, stages, take);
        going.ended.cells.extend(taken);
        going.ended.trouble = match ran {
            Ok(()) => {
                going.limit.pace.ended(&group.cells, self.clock.elapsed().saturating_sub(began));
                return true;
            }
            Err(RunEnds::Cancelled) => None,
            Err(RunEnds::NotKept) => trouble,
            Err(RunEnds::Gone(why)) => Some(TargetError::Gone(self.plan.target.to_string(), why).into()),
            Err(RunEnds::Refused(why)) => Some(BenchError::Refused(why)),
        };
        false
    }

    /// The number of the next attempt at the block; `None` if one of `cells` is whole.
    fn next_attempt(&self, cells: &[Cell], block: &Block) -> Option<u32> {
        let is_mine = |cell: &&Cell| {
            (cell.block, cell.pass) == (block.number, block.pass)
                && cell.scenario == self.run.scenarios[block.scenario].name
                && cell.arrangement == self.run.plan.arrangements[block.arrangement].id
        };
        let mine: Vec<&Cell> = cells.iter().filter(is_mine).collect();
        let last = mine.iter().map(|cell| cell.attempt).max().unwrap_or(0);
        let is_whole = |attempt: u32| {
            let has = |planned: PlannedCell| {
                mine.iter().any(|cell| cell.attempt == attempt && self.schedule.is_done(&planned, cell, self.run))
            };
            self.schedule.cells(block, attempt).into_iter().all(has)
        };
        (!(1..=last).any(is_whole)).then_some(last + 1)
    }
}

/// Makes ready what all cells share; the trouble if that failed, none if the user ended it.
pub(super) fn prepare(going: &mut Going<'_>) -> Result<(), Option<BenchError>> {
    going.executor.prepare(&mut |sentence| going.observer.prepares(sentence)).map_err(|error| match error {
        TargetError::Cassandra(CassandraError::Cancelled) | TargetError::Postgres(PostgresError::Cancelled) => None,
        TargetError::Refused(why) => Some(BenchError::Refused(why)),
        error => Some(error.into()),
    })
}

fn done(cells: &[Cell]) -> usize {
    // The turns of a generation follow each other.
    let is_one = |a: &Cell, b: &Cell| {
        a.round.is_some()
            && b.round.is_some()
            && (a.block, a.attempt, &a.scenario, &a.arrangement) == (b.block, b.attempt, &b.scenario, &b.arrangement)
    };
    cells.chunk_by(is_one).count()
}

/// Whether a lap begins with the block at `at` while another one was before it.
fn begins_another_lap(left: &[Block], at: usize) -> bool {
    let before = left.iter().take(at).rfind(|block| block.pass == Pass::Timing);
    left.get(at).zip(before).is_some_and(|(block, before)| block.pass == Pass::Timing && block.number != before.number)
}

fn next_lap(left: &[Block]) -> u32 {
    left.iter().find(|block| block.pass == Pass::Timing).map_or(0, |block| block.number)
}

/// The blocks of the lap that is the first of `blocks`.
fn one_lap(blocks: &[Block]) -> impl Iterator<Item = &Block> {
    let of_it = |first: &Block, block: &Block| block.pass == Pass::Timing && block.number == first.number;
    let first = blocks.first().copied();
    blocks.iter().take_while(move |block| first.is_some_and(|first| of_it(&first, block)))
}

#[cfg(test)]
mod tests;
