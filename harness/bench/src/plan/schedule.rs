//! The order of a run: randomised complete blocks.
//!
//! A block of the timing pass is a generation: its contenders take turns, and every round of it has an order of its own. A block of
//! another pass has cells, one after the other. Each scenario and arrangement has one generation per
//! lap: a drift of the machine hits all of them alike, and a run that ends early has as many of each, give or take one.
//! After the last lap come the blocks of the other passes. With a limit of time they come after the first lap, because how long they
//! take is known only once they ran; further laps take the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use cqldyno_protocol::Runtime;
use cqldyno_reports::{Cell, LEAST_BLOCKS, Pass, Role, Run, climbed};
use cqldyno_scenarios::Operation;

use crate::plan::pass::{Step, kind};
use crate::plan::shuffle::shuffle;
use crate::plan::turns::has_enough;
use crate::plan::{Plan, PlannedCell};

/// How often a run with intervals counts the system calls of each contender, and one of all releases allocations, too: how threads wake each other
/// differs from process to process.
const COUNTING_LAPS: u32 = 3;

/// Every contender once on one scenario in one arrangement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Index into the plan's scenarios.
    pub scenario: usize,
    /// Index into the plan's arrangements.
    pub arrangement: usize,
    /// From 1.
    pub number: u32,
    pub pass: Pass,
}

/// Contenders that take turns: those of a generation, or one by itself in a cell of another pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub cells: Vec<PlannedCell>,
    /// The order of every round, by places in `cells`.
    pub rounds: Vec<Vec<usize>>,
}

impl Group {
    /// A cell by itself.
    pub(crate) fn alone(cell: PlannedCell) -> Group {
        Group { cells: vec![cell], rounds: vec![vec![0]] }
    }

    /// Those that are alive together, by places in `cells`: all, or each for its only turn.
    pub(crate) fn lives(&self) -> Vec<Vec<usize>> {
        match self.cells.iter().any(|cell| cell.apart) {
            true => self.rounds.iter().flatten().map(|at| vec![*at]).collect(),
            false => vec![(0..self.cells.len()).collect()],
        }
    }
}

/// What is run, in which order.
#[derive(Clone, Debug)]
pub(crate) struct Schedule<'a> {
    pub(crate) plan: &'a Plan,
    blocks: Vec<Block>,
    steps: BTreeMap<Pass, Vec<Step>>,
    contenders: Vec<usize>,
    control: Option<usize>,
    /// The scenarios whose contenders live one after the other.
    apart: BTreeSet<usize>,
    /// Who is there for scale only, and takes one turn of a generation.
    scale: BTreeSet<usize>,
    /// Who is not asked what: contender and scenario.
    left_out: BTreeSet<(usize, usize)>,
}

impl<'a> Schedule<'a> {
    /// The schedule of `plan` for the contenders with index in `available`, and for the control's index: the control has timing cells
    /// only. `allowed` says which passes the machine allows; cells of others have no statements.
    pub(crate) fn new(
        plan: &'a Plan,
        available: &[usize],
        control: Option<usize>,
        allowed: &dyn Fn(Pass) -> bool,
    ) -> Schedule<'a> {
        let mut blocks = Vec::new();
        // A block of nobody would never be done.
        if !available.is_empty() {
            let laps = |numbers: RangeInclusive<u32>| numbers.flat_map(|number| lap(plan, number, Pass::Timing));
            let before = if plan.within_ms.is_some() { plan.blocks.min(1) } else { plan.blocks };
            // A ladder has no generations.
            blocks.extend(laps(1..=before).filter(|_| plan.ladder.is_none()));
            for pass in &plan.passes {
                let again = match pass {
                    Pass::Counting => plan.exact || plan.blocks as usize >= LEAST_BLOCKS,
                    Pass::Allocations => !plan.releases.is_empty(),
                    _ => false,
                };
                let most = match pass {
                    // Its response times get intervals over as many processes as CPU time does.
                    Pass::Latency if plan.rate.is_some() && !plan.is_open() => plan.blocks,
                    _ if again => COUNTING_LAPS,
                    _ => 1,
                };
                blocks.extend((1..=most).flat_map(|number| lap(plan, number, *pass)));
            }
            blocks.extend(laps(before + 1..=plan.blocks).filter(|_| plan.ladder.is_none()));
        }
        let contenders = available.iter().copied().chain(control).collect();
        let passes = std::iter::once(Pass::Timing).chain(plan.passes.iter().copied());
        let steps = |pass| match allowed(pass) {
            true => (pass, (kind(pass).steps)(plan)),
            false => (pass, vec![Step::nothing(plan)]),
        };
        let ids = plan.ids();
        let is_scale =
            |who: &usize| plan.contenders[*who].role() != Role::Driver && plan.reference.as_ref() != Some(&ids[*who]);
        Schedule {
            plan,
            blocks,
            steps: passes.map(steps).collect(),
            contenders,
            control,
            apart: (0..plan.scenarios.len()).filter(|at| plan.why_apart(&plan.scenarios[*at]).is_some()).collect(),
            scale: (0..plan.contenders.len()).filter(is_scale).collect(),
            left_out: BTreeSet::new(),
        }
    }

    /// Without the cells of these contenders on these scenarios.
    pub(crate) fn leave_out(&mut self, left_out: BTreeSet<(usize, usize)>) {
        self.left_out = left_out;
        // A block of nobody would never be done.
        let (contenders, control, left_out) = (&self.contenders, self.control, &self.left_out);
        self.blocks.retain(|block| {
            let mut able = contenders.iter().filter(|who| !left_out.contains(&(**who, block.scenario)));
            able.any(|who| block.pass == Pass::Timing || Some(*who) != control)
        });
    }

    /// The blocks in the order in which they run.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The block's cells in the order in which they run in that attempt, from 1.
    pub(crate) fn cells(&self, block: &Block, attempt: u32) -> Vec<PlannedCell> {
        let times = block.pass == Pass::Timing;
        let takes_part =
            |who: &usize| (times || Some(*who) != self.control) && !self.left_out.contains(&(*who, block.scenario));
        let mut order: Vec<usize> = self.contenders.iter().copied().filter(takes_part).collect();
        shuffle(&mut order, self.plan.seed, &place(block, attempt, 0));
        let cell = |contender: &usize, step: usize, count| PlannedCell {
            contender: *contender,
            scenario: block.scenario,
            arrangement: block.arrangement,
            block: block.number,
            pass: block.pass,
            step,
            rate: None,
            attempt,
            count,
            rounds: None,
            apart: false,
        };
        let scenario = &self.plan.scenarios[block.scenario];
        let limits = &scenario.limits;
        if times {
            let (apart, rounds) = (self.apart.contains(&block.scenario), self.rounds_of(block));
            let count = limits.count(self.plan.issued_in(block.number));
            let in_turns = |who: &usize| {
                let one = block.number % rounds + 1;
                let taken = if self.scale.contains(who) { (one, one) } else { (1, rounds) };
                // Who takes one turn of a generation takes it for all: a short one would be mostly edges.
                PlannedCell { rounds: Some(taken), apart, ..cell(who, 0, count) }
            };
            return order.iter().map(in_turns).collect();
        }
        let executes = scenario.statements.iter().all(|statement| statement.operation == Operation::Execute);
        let is_again = block.number > 1 && block.pass == Pass::Latency;
        let steps = self.steps[&block.pass].iter().enumerate();
        // Only response times at a rate are taken again.
        let steps = steps.filter(|(at, step)| (executes || !step.executes_only) && (*at == 0 || !is_again));
        let order = &order;
        steps.flat_map(|(at, step)| order.iter().map(move |who| cell(who, at, limits.count(step.load.count)))).collect()
    }

    /// The rounds of a generation. Who lives for one turn alone takes it for all.
    fn rounds_of(&self, block: &Block) -> u32 {
        if self.apart.contains(&block.scenario) { 1 } else { self.plan.turns.rounds }
    }

    /// The same cells, those together that take turns.
    pub(crate) fn groups(&self, block: &Block, attempt: u32) -> Vec<Group> {
        let cells = self.cells(block, attempt);
        if block.pass != Pass::Timing {
            return cells.into_iter().map(Group::alone).collect();
        }
        let order = |round: u32| {
            let takes_part =
                |cell: &PlannedCell| cell.rounds.is_some_and(|(first, last)| (first..=last).contains(&round));
            let mut order: Vec<usize> = (0..cells.len()).filter(|at| takes_part(&cells[*at])).collect();
            shuffle(&mut order, self.plan.seed, &place(block, attempt, round));
            order
        };
        let rounds = (1..=self.rounds_of(block)).map(order).collect();
        vec![Group { cells, rounds }]
    }

    pub(crate) fn step(&self, cell: &PlannedCell) -> &Step {
        &self.steps[&cell.pass][cell.step]
    }

    /// Whether `cells` have one of every cell, in whatever attempt, or enough generations and every other cell.
    pub(crate) fn lacks_none(&self, cells: &[Cell], run: &Run) -> bool {
        if run.plan.ladder.is_some() {
            return climbed(run, cells).iter().all(|one| one.ladder.next().is_none());
        }
        let has_enough = has_enough(run, cells);
        let is_wanted = |block: &&Block| block.pass != Pass::Timing || !has_enough;
        let blocks: Vec<Block> = self.blocks.iter().filter(is_wanted).copied().collect();
        self.first_attempts(&blocks).all(|planned| cells.iter().any(|cell| self.is_done(&planned, cell, run)))
    }

    /// Whether the cell is the planned one, in whatever attempt, and has its last turn.
    pub(crate) fn is_done(&self, planned: &PlannedCell, cell: &Cell, run: &Run) -> bool {
        (cell.block, cell.pass, cell.step.as_deref()) == (planned.block, planned.pass, self.step(planned).name)
            && cell.contender == run.contenders[planned.contender].id
            && cell.scenario == run.scenarios[planned.scenario].name
            && cell.arrangement == run.plan.arrangements[planned.arrangement].id
            && !cell.more
    }

    /// The first attempt at every cell of `blocks`.
    pub(crate) fn first_attempts(&self, blocks: &[Block]) -> impl Iterator<Item = PlannedCell> {
        blocks.iter().flat_map(|block| self.cells(block, 1))
    }
}

/// What the order of a block's cells follows from, and that of a round of its turns.
fn place(block: &Block, attempt: u32, round: u32) -> Vec<u64> {
    let Block { scenario, arrangement, number, pass } = *block;
    let mut place = vec![1, number.into(), pass as u64, scenario as u64, arrangement as u64, attempt.into()];
    place.extend((round > 0).then_some(u64::from(round)));
    place
}

/// One block of each scenario and arrangement. Several threads make the number of instructions vary, so these are counted on `current`
/// alone if that is among the arrangements.
fn lap(plan: &Plan, number: u32, pass: Pass) -> Vec<Block> {
    let has_one_thread = |arrangement: &usize| plan.arrangements[*arrangement].runtime == Runtime::Current;
    let all = 0..plan.arrangements.len();
    let only_one_thread = pass == Pass::Instructions && all.clone().any(|arrangement| has_one_thread(&arrangement));
    let mut blocks: Vec<Block> = all
        .filter(|arrangement| !only_one_thread || has_one_thread(arrangement))
        .flat_map(|arrangement| (0..plan.scenarios.len()).map(move |scenario| (scenario, arrangement)))
        .map(|(scenario, arrangement)| Block { scenario, arrangement, number, pass })
        .collect();
    shuffle(&mut blocks, plan.seed, &[0, number.into(), pass as u64]);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{COUNTING_COUNT, plan};
    use cqldyno_reports::{LadderInfo, TurnsInfo};
    use std::collections::BTreeSet;

    fn six() -> Plan {
        let arrangements = vec!["current".parse().unwrap(), "multi:2".parse().unwrap()];
        Plan { arrangements, ..plan(&["scylla", "floor", "noop"], &["writes", "reads", "mixed"]) }
            .with(|one| one.blocks = 12)
    }

    #[test]
    fn every_contender_runs_once_a_block_and_every_block_once_a_lap() {
        let six = six();
        let schedule = Schedule::new(&six, &[0, 1, 2], Some(3), &|_| true);
        assert_eq!(schedule.blocks().len(), 15 * 6);
        for (nth, lap) in schedule.blocks().chunks(6).enumerate() {
            let places: BTreeSet<_> = lap.iter().map(|block| (block.scenario, block.arrangement)).collect();
            assert_eq!(places.len(), 6, "a run that is ended early has whole blocks of everything");
            let counting = nth >= 12;
            let number = u32::try_from(if counting { nth - 12 } else { nth }).unwrap() + 1;
            for block in lap {
                assert_eq!((block.number, block.pass == Pass::Counting), (number, counting));
                let mut who: Vec<usize> = schedule.cells(block, 1).iter().map(|cell| cell.contender).collect();
                who.sort_unstable();
                assert_eq!(who, if counting { vec![0, 1, 2] } else { vec![0, 1, 2, 3] }, "the control is not counted");
            }
        }
    }

    #[test]
    fn everybody_takes_a_turn_in_each_round_in_another_order_and_who_is_there_for_scale_in_one() {
        let turns = TurnsInfo { count: 50, rounds: 3 };
        let open = six().with(|one| (one.turns, one.total) = (turns, None));
        let schedule = Schedule::new(&open, &[0, 1, 2], Some(3), &|_| true);
        let mut orders = BTreeSet::new();
        let mut scale = BTreeSet::new();
        for block in schedule.blocks().iter().filter(|block| block.pass == Pass::Timing) {
            let groups = schedule.groups(block, 1);
            let [Group { cells, rounds }] = &groups[..] else { panic!("one generation") };
            assert_eq!((cells.len(), rounds.len()), (4, 3));
            for (order, number) in rounds.iter().zip(1u32..) {
                let mut who: Vec<usize> = order.iter().map(|at| cells[*at].contender).collect();
                orders.insert(who.clone());
                who.sort_unstable();
                assert!(who.contains(&0) && who.contains(&3), "driver and control: {who:?}");
                scale.extend(who.contains(&1).then_some(number));
            }
            let taken = |who| rounds.iter().flatten().filter(|at| cells[**at].contender == who).count();
            assert_eq!((taken(1), taken(2)), (1, 1), "floor and noop");
            assert!(cells.iter().all(|cell| cell.count == 150), "each as many statements");
        }
        assert!(orders.len() > 10 && scale.len() == 3, "{orders:?}");
        let counting = schedule.blocks().last().unwrap();
        assert_eq!(schedule.groups(counting, 1).len(), 3, "other passes have cells");
    }

    #[test]
    fn instructions_are_counted_on_one_thread_alone_if_that_is_an_arrangement() {
        let counted = |arrangements: &[&str]| {
            let arrangements = arrangements.iter().map(|one| one.parse().unwrap()).collect();
            let plan = Plan { arrangements, ..six() }.with(|one| one.passes = vec![Pass::Counting, Pass::Instructions]);
            let schedule = Schedule::new(&plan, &[0], None, &|_| true);
            let of =
                |pass| schedule.blocks().iter().filter(move |block| block.pass == pass).map(|block| block.arrangement);
            (of(Pass::Counting).count(), of(Pass::Instructions).collect::<Vec<_>>())
        };
        assert_eq!(counted(&["multi:2", "current"]), (18, vec![1, 1, 1]));
        assert_eq!(counted(&["multi:1", "multi:2"]).1.len(), 6);
    }

    #[test]
    fn a_run_with_intervals_counts_system_calls_in_three_processes_and_the_rest_once() {
        let counted = |blocks| {
            let plan = six().with(|one| one.passes = vec![Pass::Counting, Pass::Allocations]).with_blocks(blocks, 50);
            let schedule = Schedule::new(&plan, &[0, 1, 2], Some(3), &|_| true);
            let of = |pass| schedule.blocks().iter().filter(move |block| block.pass == pass);
            let cells = of(Pass::Counting).flat_map(|block| schedule.cells(block, 1));
            let statements: BTreeSet<u64> = cells.map(|cell| cell.count).collect();
            let laps: Vec<u32> = of(Pass::Counting).map(|block| block.number).collect();
            (laps, of(Pass::Allocations).count(), statements)
        };
        let laps = [1, 2, 3].map(|number| [number; 6]).concat();
        assert_eq!(counted(8), (laps, 6, [50].into()));
        assert_eq!(counted(7), (vec![1; 6], 6, [50].into()));
    }

    #[test]
    fn those_that_live_one_after_the_other_have_a_turn_each_and_the_others_are_alive_together() {
        let plan = Plan { apart: Some([("reads".to_owned(), "Why.".to_owned())].into()), ..six() };
        let plan = plan.with_total(30, Some(1));
        let schedule = Schedule::new(&plan, &[0, 1, 2], None, &|_| true);
        let mut issued = [[0; 3]; 3];
        for block in schedule.blocks().iter().filter(|block| block.pass == Pass::Timing && block.arrangement == 0) {
            let groups = schedule.groups(block, 1);
            let [group] = &groups[..] else { panic!("one generation") };
            let (rounds, lives): (usize, Vec<usize>) =
                (group.rounds.len(), group.lives().iter().map(Vec::len).collect());
            match block.scenario {
                1 => assert_eq!((rounds, lives), (1, vec![1; 3])),
                _ => assert_eq!((rounds, lives), (3, vec![3])),
            }
            group.cells.iter().for_each(|cell| issued[cell.scenario][cell.contender] += cell.count);
        }
        assert_eq!(issued, [[30; 3]; 3], "to the last statement");
    }

    #[test]
    fn who_cannot_do_a_scenario_has_no_cells_of_it_and_a_block_of_nobody_is_none() {
        let six = six();
        let mut schedule = Schedule::new(&six, &[0, 1, 2], Some(3), &|_| true);
        let before = schedule.blocks().len();
        schedule.leave_out([(2, 0), (0, 1), (1, 1), (2, 1)].into());
        assert_eq!(schedule.blocks().len(), before - 2 * 3, "the control alone is not counted");
        for block in schedule.blocks() {
            let mut who: Vec<usize> = schedule.cells(block, 1).iter().map(|cell| cell.contender).collect();
            who.sort_unstable();
            match (block.scenario, block.pass) {
                (0, Pass::Timing) => assert_eq!(who, [0, 1, 3]),
                (0, _) => assert_eq!(who, [0, 1]),
                (1, pass) => assert_eq!((who.as_slice(), pass), (&[3][..], Pass::Timing)),
                _ => assert!(who.len() >= 3),
            }
        }
    }

    #[test]
    fn a_cell_has_no_more_statements_than_its_scenario_allows() {
        let mut plan = six();
        plan.scenarios[1].limits.count = Some(100);
        let schedule = Schedule::new(&plan, &[0, 1, 2], None, &|_| true);
        for cell in schedule.first_attempts(schedule.blocks()) {
            assert_eq!(cell.count == 100, cell.scenario == 1, "{cell:?}");
        }
    }

    #[test]
    fn the_order_changes_from_block_to_block_and_from_attempt_to_attempt_and_with_the_seed() {
        let order = |plan: &Plan, nth: usize, attempt| {
            let schedule = Schedule::new(plan, &[0, 1, 2], Some(3), &|_| true);
            schedule.cells(&schedule.blocks()[nth], attempt).iter().map(|cell| cell.contender).collect::<Vec<_>>()
        };
        let plan = six();
        let orders: BTreeSet<Vec<usize>> = (0..72).map(|nth| order(&plan, nth, 1)).collect();
        assert!(orders.len() > 18, "{orders:?}");
        assert_eq!(order(&plan, 5, 1), order(&plan, 5, 1));
        let all = |plan: &Plan, attempt| (0..72).map(|nth| order(plan, nth, attempt)).collect::<Vec<_>>();
        assert_ne!(all(&plan, 1), all(&plan, 2));
        assert_ne!(all(&plan, 1), all(&plan.clone().with(|one| one.seed = 8), 1));
        let laps: Vec<Vec<(usize, usize)>> = Schedule::new(&plan, &[0], None, &|_| true)
            .blocks()
            .chunks(6)
            .map(|lap| lap.iter().map(|block| (block.scenario, block.arrangement)).collect())
            .collect();
        assert!(laps.iter().collect::<BTreeSet<_>>().len() > 6, "scenarios change places, too: {laps:?}");
    }

    #[test]
    fn where_no_contender_is_available_there_is_nothing_to_run() {
        assert!(Schedule::new(&six(), &[], None, &|_| true).blocks().is_empty());
    }

    #[test]
    fn counting_cells_are_short_unless_asked_otherwise_and_empty_where_nothing_can_be_counted() {
        let last = |plan: &Plan, countable| {
            let schedule = Schedule::new(plan, &[0], None, &|_| countable);
            schedule.first_attempts(schedule.blocks()).last().unwrap().count
        };
        let mut plan = plan(&["scylla"], &["writes"]);
        plan = plan.with_blocks(2, 10_000_000);
        assert_eq!((last(&plan, true), last(&plan, false)), (COUNTING_COUNT, 0));
        plan.counting_count = 1_000_000;
        assert_eq!((last(&plan, true), last(&plan, false)), (1_000_000, 0));
        plan.passes.clear();
        assert!(Schedule::new(&plan, &[0], None, &|_| true).blocks().iter().all(|block| block.pass == Pass::Timing));
    }

    #[test]
    fn response_times_at_a_rate_that_was_asked_for_are_taken_in_every_generation() {
        let of = |rate, blocks| {
            let plan = plan(&["scylla"], &["writes"]).with(|one| (one.passes, one.rate) = (vec![Pass::Latency], rate));
            let plan = plan.with_blocks(blocks, 1_000);
            let schedule = Schedule::new(&plan, &[0], None, &|_| true);
            let latency: Vec<PlannedCell> =
                schedule.first_attempts(schedule.blocks()).filter(|cell| cell.pass == Pass::Latency).collect();
            (latency.iter().filter(|cell| cell.step == 0).count(), latency.len())
        };
        assert_eq!((of(Some(500), 8), of(Some(500), 1), of(None, 8)), ((8, 12), (1, 5), (1, 5)));
    }

    #[test]
    fn a_ladder_has_no_generations_and_one_step_of_each_contender_to_begin_with() {
        let ladder = LadderInfo { meter: "response_p99".to_owned(), below_us: 5_000.0, lasts_ms: 3_000 };
        let plan = plan(&["scylla", "floor"], &["writes"])
            .with(|one| (one.passes, one.ladder) = (vec![Pass::Latency], Some(ladder)));
        let schedule = Schedule::new(&plan, &[0, 1], None, &|_| true);
        let cells: Vec<PlannedCell> = schedule.first_attempts(schedule.blocks()).collect();
        assert_eq!((cells.len(), cells.iter().all(|cell| cell.pass == Pass::Latency)), (2, true));
    }

    #[test]
    fn a_step_that_makes_no_sense_of_a_scenario_is_left_out_of_it() {
        let plan = plan(&["scylla"], &["writes", "batch"]).with(|one| one.passes = vec![Pass::Latency]);
        let schedule = Schedule::new(&plan, &[0], None, &|_| true);
        let names = |scenario: usize| -> Vec<&str> {
            let is = |cell: &PlannedCell| cell.pass == Pass::Latency && cell.scenario == scenario;
            schedule.first_attempts(schedule.blocks()).filter(is).filter_map(|cell| schedule.step(&cell).name).collect()
        };
        assert_eq!(names(0), ["rate", "1", "16", "256", "connect"]);
        assert_eq!(names(1), ["rate", "1", "16", "256"], "a batch is no EXECUTE");
    }
}
