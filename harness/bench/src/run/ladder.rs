//! The steps of a run of ladders: here results decide what runs next, and only here.
//!
//! Each contender has a search in every scenario and arrangement. The searches take turns, a step each, so that a drift of the machine
//! meets all of them. What comes next follows from the cells alone ([`Ladder`]), so a run that was ended goes on where it was. No step
//! starts that would not end in time.

use std::time::Duration;

use cqldyno_reports::{Cell, Ladder, LadderInfo, lasting, whole};

use crate::plan::PlannedCell;
use crate::plan::schedule::Group;
use crate::run::course::{Course, Ended, Going, prepare};
use crate::run::observer::{CellStart, Outlook};

/// Steps that a search has as a rule, for the estimate of the time that is left.
const USUAL: usize = 15;

impl Course<'_> {
    /// Runs the steps that are missing after the cells that are there.
    pub(super) fn climb(&self, ladder: &LadderInfo, mut going: Going<'_>) -> Ended {
        let searches: Vec<PlannedCell> = self.schedule.first_attempts(self.schedule.blocks()).collect();
        going.limit.lap = searches.first().copied().into_iter().collect();
        let preparation = going.executor.preparation();
        let (steps, left) = self.left(&searches, &going);
        let estimate = preparation + going.limit.left(Duration::ZERO, left);
        going.observer.starts(&Outlook { cells: steps, generations: 0, plan: self.plan, estimate, preparation });
        if steps > 0
            && let Err(trouble) = prepare(&mut going)
        {
            return Ended { trouble, ..going.ended };
        }
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for search in &searches {
                let Some(step) = self.step(search, ladder, &going.ended.cells) else { continue };
                let (steps, left) = self.left(&searches, &going);
                if !going.limit.allows([step]) {
                    going.observer.says(&format!(
                        "There was no time for another step within {}: the searches need about {} more. Go on with `cqldyno \
                         compare --resume DIR`, or give them more time with --within.",
                        lasting(self.plan.within().unwrap_or_default()),
                        lasting(left)
                    ));
                    return Ended { complete: true, ..going.ended };
                }
                goes_on = true;
                let behind = going.limit.left(Duration::ZERO, left.saturating_sub(going.limit.pace.of([step])));
                let label = &self.run.contenders[step.contender].label;
                let label = format!("{label} at {}/s,", whole(step.rate.unwrap_or_default() as f64));
                going.observer.cell_starts(&CellStart {
                    number: going.ended.cells.len() + 1,
                    of: going.ended.cells.len() + steps,
                    label: &label,
                    scenario: &self.run.scenarios[step.scenario].name,
                    arrangement: &self.run.plan.arrangements[step.arrangement].id,
                    block: step.block,
                    pass: step.pass,
                    doing: self.schedule.step(&step).doing,
                    attempt: step.attempt,
                    count: step.count,
                    left: going.limit.left(Duration::ZERO, left),
                    behind,
                });
                if !self.execute(&Group::alone(step), behind, &mut going) {
                    return going.ended;
                }
            }
        }
        Ended { complete: true, ..going.ended }
    }

    fn ladder(&self, search: &PlannedCell, cells: &[Cell]) -> Ladder {
        let [contender, scenario, arrangement] = [
            &self.run.contenders[search.contender].id,
            &self.run.scenarios[search.scenario].name,
            &self.run.plan.arrangements[search.arrangement].id,
        ];
        Ladder::of(self.run, cells, [contender, scenario, arrangement])
    }

    /// The next step of a search; `None` once it is over.
    fn step(&self, search: &PlannedCell, ladder: &LadderInfo, cells: &[Cell]) -> Option<PlannedCell> {
        let so_far = self.ladder(search, cells);
        let rate = so_far.next()?;
        let count = self.plan.scenarios[search.scenario].limits.count(ladder.statements(rate));
        let block = u32::try_from(so_far.steps.len() + 1).unwrap_or(u32::MAX);
        Some(PlannedCell { block, count, rate: Some(rate), ..*search })
    }

    /// How many steps are left as a rule, one at least of each search that is not over, and how long they take.
    fn left(&self, searches: &[PlannedCell], going: &Going<'_>) -> (usize, Duration) {
        let of = |search: &PlannedCell| {
            let so_far = self.ladder(search, &going.ended.cells);
            let steps = so_far.next().map_or(0, |_| USUAL.saturating_sub(so_far.steps.len()).max(1));
            (steps, going.limit.pace.of(vec![*search; steps]))
        };
        searches.iter().map(of).fold((0, Duration::ZERO), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }
}
