//! The order of a run: which generations and cells are run, run again and left out.

mod ladder;
mod until;

use super::*;
use crate::cell::Stage;
use crate::plan::plan;
use crate::plan::schedule::Group;
use crate::plan::topology::Topology;
use crate::record::sample_run;
use cqldyno_reports::{Analysis, Ladder, Measure, RoundCores, TurnsInfo, Unit, measure};

/// A clock that stands still until somebody moves it.
#[derive(Default)]
struct Hand(std::cell::Cell<Duration>);

impl Hand {
    fn wait(&self, time: Duration) {
        self.0.set(self.0.get() + time);
    }
}

impl Clock for Hand {
    fn elapsed(&self) -> Duration {
        self.0.get()
    }
}

/// How long a cell takes.
type Takes<'a> = Box<dyn Fn(&PlannedCell) -> Duration + 'a>;

/// Ends every cell as soon as the clock stands where it takes it; ends the run in the cell with number `cancel_at`, fails the
/// contender `failing`.
struct Executed<'a> {
    run: &'a Run,
    clock: &'a Hand,
    takes: Takes<'a>,
    seen: Vec<PlannedCell>,
    cancel_at: usize,
    ends: RunEnds,
    failing: usize,
    /// What others used of the cores in a generation and round, as a share.
    others: fn(u32, u32) -> f64,
    /// What a statement of the contender costs in a generation, if that is measured.
    cpu: Box<dyn Fn(usize, u32) -> Option<f64>>,
}

impl Executor for Executed<'_> {
    fn execute(
        &mut self,
        group: &Group,
        _: &[Cell],
        stage: &mut dyn FnMut(Stage),
        take: Take<'_>,
    ) -> Result<(), RunEnds> {
        stage(Stage::Connecting);
        for (order, number) in group.rounds.iter().zip(1..) {
            for (nth, cell) in order.iter().map(|at| &group.cells[*at]).enumerate() {
                if cell.contender == self.failing && number > 1 {
                    continue;
                }
                self.seen.push(*cell);
                self.clock.wait((self.takes)(cell) / cell.turns());
                if self.seen.len() == self.cancel_at {
                    return Err(self.ends.clone());
                }
                let is_last = cell.rounds.is_some() && nth + 1 == order.len();
                let cores = is_last.then(|| self.cores(cell.block, number));
                take(Cell { cores, ..self.figures(cell, number) })?;
            }
        }
        Ok(())
    }
}

impl Executed<'_> {
    fn cores(&self, block: u32, round: u32) -> RoundCores {
        let others_s = (self.others)(block, round);
        RoundCores::Found { cores: 1, host: None, wall_s: 1.0, others_s, steal_s: 0.0, witness_us: Some(1.0) }
    }

    fn figures(&self, cell: &PlannedCell, round: u32) -> Cell {
        let measures = [(measure::WALL, Measure::value(1.0, Unit::Seconds))];
        let cpu = (self.cpu)(cell.contender, cell.block)
            .map(|cpu| (measure::CPU_PER_STATEMENT, Measure::value(cpu, Unit::Microseconds)));
        let step = cell.rate.map(|rate| ladder::answered_at(rate, cell)).into_iter().flatten();
        let failed = (cell.contender == self.failing).then(|| "It crashed.".to_owned());
        Cell {
            contender: self.run.contenders[cell.contender].id.clone(),
            scenario: self.run.scenarios[cell.scenario].name.clone(),
            arrangement: self.run.plan.arrangements[cell.arrangement].id.clone(),
            block: cell.block,
            round: cell.rounds.map(|_| round),
            more: failed.is_none() && cell.rounds.is_some_and(|(_, last)| round < last),
            pass: cell.pass,
            attempt: cell.attempt,
            measures: measures.into_iter().chain(cpu).chain(step).map(|(id, value)| (id.to_owned(), value)).collect(),
            failed,
            step: cell.rate.map(Ladder::step_name),
            ..Cell::default()
        }
    }
}

#[derive(Default)]
struct Heard {
    started: Vec<usize>,
    of: Vec<usize>,
    ended: usize,
    stages: usize,
    too_few: Vec<String>,
    cut_short: Vec<String>,
    left: Vec<Duration>,
}

impl Observer for Heard {
    fn cell_starts(&mut self, cell: &CellStart<'_>) {
        self.started.push(cell.number);
        self.of.push(cell.of);
        self.left.push(cell.left);
    }
    fn stage(&mut self, _: Stage) {
        self.stages += 1;
    }
    fn cell_ended(&mut self, _: &Cell, _: Duration) {
        self.ended += 1;
    }
    fn says(&mut self, sentence: &str) {
        let is_cut = ["The rest of the pass", "There was time", "There was no time"]
            .iter()
            .any(|words| sentence.starts_with(words));
        if is_cut { &mut self.cut_short } else { &mut self.too_few }.push(sentence.to_owned());
    }
}

fn asked() -> Plan {
    plan(&["scylla", "noop"], &["writes", "reads"]).with(|one| one.noise_share = Some(0.1))
}

fn sample(plan: &Plan) -> (Schedule<'_>, Run) {
    let mut run = sample_run(plan, &plan.check(&Topology::sample(1, 1)).unwrap());
    run.environment.cores = 64;
    let everybody: Vec<usize> = (0..plan.contenders.len()).collect();
    (Schedule::new(plan, &everybody, None, &|_| true), run)
}

/// Goes on after `there` with cells that take no time: how it ended, the cells that ran, and what was heard.
fn go(plan: &Plan, there: Vec<Cell>, change: impl FnOnce(&mut Executed<'_>)) -> (Ended, Vec<PlannedCell>, Heard) {
    kept(plan, there, change, &mut |_| Ok(()))
}

fn kept(
    plan: &Plan,
    there: Vec<Cell>,
    change: impl FnOnce(&mut Executed<'_>),
    keep: Keep<'_>,
) -> (Ended, Vec<PlannedCell>, Heard) {
    let (schedule, run) = sample(plan);
    let clock = Hand::default();
    let takes = Box::new(|_: &PlannedCell| Duration::ZERO);
    let (seen, ends) = (Vec::new(), RunEnds::Cancelled);
    let cpu = Box::new(|_, _| None);
    let others = |_, _| 0.0;
    let mut executor = Executed { run: &run, clock: &clock, takes, seen, cancel_at: 0, ends, failing: 9, others, cpu };
    change(&mut executor);
    let mut heard = Heard::default();
    let course = Course { plan, schedule: &schedule, run: &run, clock: &clock };
    let ended = course.run(there, &mut executor, &mut heard, keep);
    (ended, executor.seen, heard)
}

#[test]
fn a_failed_cell_is_kept_and_the_others_go_on() {
    let (ended, seen, heard) = go(&asked(), Vec::new(), |executor| executor.failing = 0);
    let asked = asked();
    let (schedule, _) = sample(&asked);
    let all: Vec<PlannedCell> = schedule.first_attempts(schedule.blocks()).collect();
    assert!(seen.len() == all.len() && all.iter().all(|one| seen.contains(one)), "{seen:?}");
    assert_eq!((ended.cells.len(), heard.ended, heard.stages, ended.complete), (12, 12, 8, true));
    assert_eq!(ended.cells.iter().filter(|cell| cell.failed.is_some()).count(), 6);
    assert_eq!(heard.started, (1..=8).collect::<Vec<_>>());
    assert!(heard.of.iter().all(|of| *of == 8), "four generations and four cells");
}

const SECOND: Duration = Duration::from_secs(1);

/// Two contenders, two scenarios, twelve generations and a further pass: a lap is four turns, and the pass four cells.
fn within(seconds: u64) -> Plan {
    let within = Some(SECOND * u32::try_from(seconds).unwrap());
    // So many statements that a cell that counts is taken to last as long as a turn.
    let plan = asked().with(|one| (one.passes, one.counting_count) = (vec![Pass::Syscalls], 10_000_000));
    plan.with_blocks(12, 10_000_000).with(|one| one.limit(within))
}

fn a_second(executor: &mut Executed<'_>) {
    executor.takes = Box::new(|_| SECOND);
}

/// How many cells of the pass there are of each block's number.
fn blocks(seen: &[PlannedCell], pass: Pass) -> Vec<usize> {
    let of = |number| seen.iter().filter(|cell| (cell.block, cell.pass, cell.attempt) == (number, pass, 1)).count();
    (1..).map(of).take_while(|cells| *cells > 0).collect()
}

#[test]
fn a_run_that_is_given_a_time_leaves_the_last_rounds_out_whole_and_ends_within_it_with_its_other_passes() {
    // 4 s a round and 4 s to count; 1 s of a round and 0.8 s of 41 s are kept.
    let (ended, seen, heard) = go(&within(41), Vec::new(), a_second);
    assert_eq!((blocks(&seen, Pass::Timing), blocks(&seen, Pass::Syscalls)), (vec![4; 8], vec![4]));
    assert_eq!((ended.complete, ended.cells.len()), (true, 36));
    assert_eq!(ended.cut_short, Some(CutShort { within_ms: 41_000, blocks: 8, missing_ms: 16_000 }));
    assert_eq!(heard.cut_short, ["There was time for 8 of 12 generations within 41 s."]);
    assert_eq!(heard.of.last(), Some(&20), "what there is no time for is known at the end");
    let (ended, seen, heard) = go(&within(60), Vec::new(), a_second);
    assert_eq!((seen.len(), ended.cut_short, heard.cut_short.len()), (52, None, 0), "there is time for all");
}

#[test]
fn a_time_that_is_too_short_for_an_interval_is_said_after_the_first_round() {
    // As above, where 41 s are enough for 8 blocks.
    let compared = |seconds| within(seconds).with(|one| one.reference = Some("scylla".to_owned()));
    let (ended, _, heard) = go(&compared(37), Vec::new(), a_second);
    assert_eq!(ended.cut_short.unwrap().blocks, 7);
    assert_eq!(
        heard.too_few,
        [
            "There is time for about 7 of 12 generations within 37 s, and an interval needs 8. Let the run end, or end it with Ctrl-C, and \
             go on with `cqldyno compare --resume DIR`."
        ]
    );
    let none = |plan: &Plan| assert_eq!(go(plan, Vec::new(), a_second).2.too_few, [""; 0]);
    none(&compared(41));
    // Nobody is compared.
    none(&within(37));
    none(&Plan { contenders: compared(37).contenders[..1].to_vec(), ..compared(20) });
    // There is not even time for another round, which is said.
    none(&compared(1));
    let said = &go(&compared(1), Vec::new(), a_second).2.cut_short;
    assert!(said.last().unwrap().ends_with("within 1 s, and an interval needs 8."), "{said:?}");
    none(&compared(20).with(|one| one.blocks = 7));
    none(&compared(20).with(|one| one.limit(None)));
}

#[test]
fn the_first_round_is_run_however_short_the_time_is_and_a_pass_without_room_is_left_out_and_said() {
    let (ended, seen, heard) = go(&within(1), Vec::new(), a_second);
    assert_eq!((blocks(&seen, Pass::Timing), blocks(&seen, Pass::Syscalls)), (vec![4], Vec::new()));
    assert_eq!((ended.complete, ended.cut_short.unwrap().blocks), (true, 1));
    assert_eq!(ended.passes_left_out, [Pass::Syscalls]);
    let [pass, laps] = heard.cut_short.as_slice() else { panic!("{:?}", heard.cut_short) };
    assert!(pass.starts_with("The rest of the pass syscalls is left out: it would take about 4"), "{pass}");
    assert!(pass.contains(" s, and the run has 1 s. Go on with `cqldyno compare --resume DIR`"), "{pass}");
    assert!(laps == "There was time for 1 of 12 generations within 1 s.", "{laps}");
    assert_eq!(
        heard.left.last().map(Duration::as_secs),
        Some(2),
        "what runs in any case is left, whatever the limit is"
    );
    // Gone on with, it has what was left out.
    let (ended, seen, _) = go(&within(1).with(|one| one.limit(None)), ended.cells, a_second);
    assert_eq!((blocks(&seen, Pass::Syscalls), ended.passes_left_out), (vec![4], Vec::new()));
}

#[test]
fn a_pass_that_takes_longer_than_its_estimate_ends_where_the_time_is_over() {
    let slow = |executor: &mut Executed<'_>| {
        executor.takes = Box::new(|cell| if cell.pass == Pass::Timing { SECOND } else { SECOND * 5 });
    };
    let (ended, seen, heard) = go(&within(12), Vec::new(), slow);
    assert_eq!((blocks(&seen, Pass::Timing), blocks(&seen, Pass::Syscalls)), (vec![4], vec![1]));
    assert_eq!((ended.complete, ended.passes_left_out), (true, vec![Pass::Syscalls]));
    assert!(heard.cut_short[0].contains("would take about 20 s, and the run has 12 s."), "{:?}", heard.cut_short);
    let (ended, seen, _) = go(&within(12).with(|one| one.limit(None)), ended.cells, slow);
    assert_eq!(seen.iter().filter(|cell| cell.pass == Pass::Syscalls).count(), 4, "the block under way runs again");
    assert!(ended.complete && ended.cut_short.is_none());
}

#[test]
fn other_passes_run_after_the_first_round_and_rounds_take_all_the_time_that_they_leave() {
    // The pass was guessed to take as long as a round, and takes nearly nothing.
    let (ended, seen, _) = go(&within(41), Vec::new(), |executor| {
        executor.takes = Box::new(|cell| if cell.pass == Pass::Timing { SECOND } else { Duration::ZERO });
    });
    let order: Vec<Pass> = seen.iter().map(|cell| cell.pass).collect();
    assert_eq!(order[..12], [[Pass::Timing; 4], [Pass::Syscalls; 4], [Pass::Timing; 4]].concat());
    assert_eq!((blocks(&seen, Pass::Timing), ended.complete), (vec![4; 9], true));
    // A run that is resumed among the other passes ends them, and then goes on.
    let (first, ..) = go(&within(41), Vec::new(), |executor| {
        a_second(executor);
        executor.cancel_at = 6;
    });
    let (_, seen, _) = go(&within(3_000), first.cells, a_second);
    let order: Vec<(Pass, u32, u32)> = seen.iter().map(|cell| (cell.pass, cell.block, cell.attempt)).collect();
    let counted = [[(Pass::Syscalls, 1, 2); 2], [(Pass::Syscalls, 1, 1); 2]].concat();
    assert_eq!(order[..8], [counted, vec![(Pass::Timing, 2, 1); 4]].concat());
}

#[test]
fn the_time_that_failed_cells_take_counts_too() {
    // A contender that hangs for 5 s in every cell: a round takes 12 s, and so does the pass.
    let hangs = |executor: &mut Executed<'_>| {
        executor.failing = 0;
        executor.takes = Box::new(|cell| if cell.contender == 0 { SECOND * 5 } else { SECOND });
    };
    let (ended, seen, _) = go(&within(60), Vec::new(), hangs);
    assert_eq!((blocks(&seen, Pass::Timing).len(), blocks(&seen, Pass::Syscalls).len()), (3, 1));
    assert_eq!(ended.cut_short.unwrap().missing_ms, 9 * 12_000);
}

#[test]
fn a_round_that_is_left_out_depends_on_no_figure_but_on_durations() {
    let other = |executor: &mut Executed<'_>| {
        a_second(executor);
        executor.failing = 1;
        executor.others = |block, _| if block == 3 { 0.9 } else { 0.0 };
    };
    let plan = within(41);
    assert_eq!(go(&plan, Vec::new(), a_second).1, go(&plan, Vec::new(), other).1);
}

#[test]
fn a_run_that_was_cut_short_goes_on_with_the_rounds_that_are_missing_and_may_be_cut_short_again() {
    let (first, ..) = go(&within(41), Vec::new(), a_second);
    let all = within(41).with(|one| one.limit(None));
    let (ended, seen, _) = go(&all, first.cells.clone(), a_second);
    let numbers: Vec<u32> = seen.iter().map(|cell| cell.block).collect();
    assert_eq!(numbers, [vec![9; 4], vec![10; 4], vec![11; 4], vec![12; 4]].concat());
    assert_eq!((ended.cells.len(), ended.complete, ended.cut_short), (52, true, None));
    // Two rounds of 4 s, without the pass, which is there.
    let (ended, seen, _) = go(&within(12), first.cells.clone(), a_second);
    assert_eq!(seen.len(), 8);
    assert_eq!(ended.cut_short, Some(CutShort { within_ms: 12_000, blocks: 10, missing_ms: 8_000 }));
    let (ended, seen, _) = go(&within(1), first.cells, a_second);
    assert_eq!((seen.len(), ended.cut_short.unwrap().blocks), (4, 9), "it always gets further");
}

#[test]
fn a_run_that_was_ended_within_a_round_finishes_it_first() {
    let (first, ..) = go(&within(41), Vec::new(), |executor| {
        a_second(executor);
        executor.cancel_at = 12;
    });
    assert!(!first.complete && first.cut_short.is_none());
    let (ended, seen, _) = go(&within(1), first.cells, a_second);
    let again: Vec<(u32, u32, Pass)> = seen.iter().map(|cell| (cell.block, cell.attempt, cell.pass)).collect();
    assert_eq!(again, [(2, 2, Pass::Timing); 2]);
    assert_eq!(ended.cut_short.unwrap().blocks, 2);
}

#[test]
fn a_run_that_was_ended_goes_on_with_the_block_under_way_as_another_attempt() {
    let plan = asked();
    let (whole, all, _) = go(&plan, Vec::new(), |_| {});
    for cut in 0..=all.len() {
        let there = whole.cells[..cut].to_vec();
        let (ended, seen, heard) = go(&plan, there, |_| {});
        let in_block = cut % 2;
        assert_eq!(seen.len(), all.len() - cut + in_block, "after {cut} cells");
        assert_eq!((ended.cells.len(), ended.complete), (all.len() + in_block, true));
        assert!(seen.iter().take(2 * in_block).all(|cell| cell.attempt == 2), "{seen:?}");
        assert!(seen.iter().skip(2 * in_block).all(|cell| cell.attempt == 1), "{seen:?}");
        let done = cut.min(8).div_ceil(2) + cut.saturating_sub(8);
        assert_eq!(heard.started.first().copied(), (!seen.is_empty()).then_some(done + 1));
    }
}

#[test]
fn the_time_that_is_left_falls_with_every_cell_whether_it_ends_well_or_not() {
    // One contender hangs in every cell; nothing was guessed to take that long.
    let hangs = |executor: &mut Executed<'_>| {
        executor.failing = 0;
        executor.takes = Box::new(|cell| SECOND * if cell.contender == 0 { 30 } else { 1 });
    };
    let plan = asked().with(|one| one.passes = vec![Pass::Syscalls]).with_blocks(12, 1_000);
    let (_, seen, heard) = go(&plan, Vec::new(), hangs);
    let after_the_first_round = &heard.left[2..=24];
    assert!(after_the_first_round.windows(2).all(|pair| pair[1] < pair[0]), "{after_the_first_round:?}");
    let rest = |from: usize| -> u64 { seen[from..].iter().map(|cell| if cell.contender == 0 { 30 } else { 1 }).sum() };
    for generation in [2, 10, 23] {
        let (said, found) = (heard.left[generation], rest(2 * generation));
        assert!(said.as_secs().abs_diff(found) <= 1, "{generation}: {said:?} and {found}");
    }
}

#[test]
fn a_refused_password_ends_the_run_with_its_sentence() {
    let (ended, seen, heard) = go(&asked(), Vec::new(), |executor| {
        executor.cancel_at = 1;
        executor.ends = RunEnds::Refused("Bad credentials.".to_owned());
    });
    assert_eq!((ended.cells.len(), seen.len(), heard.ended, ended.complete), (0, 1, 0, false));
    let sentence = ended.trouble.unwrap().to_string();
    assert!(
        sentence.starts_with("the cluster refused the login: Bad credentials. Nothing more was tried"),
        "{sentence}"
    );
}

#[test]
fn a_cluster_that_no_longer_answers_ends_the_run_with_a_sentence_and_keeps_what_has_ended() {
    let (ended, seen, heard) = go(&asked(), Vec::new(), |executor| {
        executor.cancel_at = 3;
        executor.ends = RunEnds::Gone("nothing accepts a connection at 127.0.0.1:9042".to_owned());
    });
    assert_eq!((ended.cells.len(), seen.len(), heard.ended, ended.complete), (2, 3, 2, false));
    assert_eq!(
        ended.trouble.unwrap().to_string(),
        "the target embedded no longer answers, so the run ended: nothing accepts a connection at 127.0.0.1:9042"
    );
}

#[test]
fn the_end_of_the_run_keeps_what_has_ended() {
    let (ended, seen, _) = go(&asked(), Vec::new(), |executor| executor.cancel_at = 3);
    assert_eq!((ended.cells.len(), seen.len(), ended.complete, ended.trouble.is_none()), (2, 3, false, true));
}

#[test]
fn a_cell_that_cannot_be_kept_ends_the_run_and_is_still_shown() {
    let plan = asked();
    let mut cells = 0;
    let (ended, ..) = kept(&plan, Vec::new(), |_| {}, &mut |_| {
        cells += 1;
        let full = || FolderError::Io("cells.jsonl".into(), std::io::ErrorKind::StorageFull.into());
        if cells == 4 { Err(full()) } else { Ok(()) }
    });
    assert_eq!((ended.cells.len(), ended.complete), (4, false));
    assert!(ended.trouble.unwrap().to_string().contains("cells.jsonl"));
}

/// Two drivers and noop, two scenarios, generations of three rounds.
fn in_turns(within: Option<u64>) -> Plan {
    let plan = plan(&["a", "b", "noop"], &["writes", "reads"])
        .with(|one| (one.blocks, one.noise_share, one.passes) = (20, Some(0.1), Vec::new()));
    let turns = TurnsInfo { count: 50, rounds: 3 };
    plan.with(|one| {
        one.turns = turns;
        one.total = None;
        one.limit(within.map(|seconds| SECOND * u32::try_from(seconds).unwrap()));
    })
}

#[test]
fn every_turn_is_kept_and_a_generation_that_broke_off_starts_again() {
    let plan = in_turns(None).with(|one| one.blocks = 1);
    let (whole, seen, heard) = go(&plan, Vec::new(), |_| {});
    assert_eq!((seen.len(), whole.cells.len(), heard.ended), (14, 14, 6), "noop takes one turn");
    assert_eq!((heard.started, heard.of), (vec![1, 2], vec![2; 2]), "generations");
    let (ended, seen, _) = go(&plan, whole.cells.clone(), |_| {});
    assert_eq!((seen.len(), ended.cells.len()), (0, 14), "nothing is left");
    let mut torn = whole.cells;
    torn.pop();
    let (ended, seen, heard) = go(&plan, torn.clone(), |_| {});
    assert!(seen.iter().all(|cell| cell.attempt == 2));
    assert_eq!((seen.len(), ended.cells.len(), heard.started[0]), (7, 13 + 7, 3));
    let (schedule, run) = sample(&plan);
    assert!(schedule.lacks_none(&ended.cells, &run) && !schedule.lacks_none(&torn, &run));
}

#[test]
fn a_contender_that_fails_in_a_turn_leaves_the_others_theirs() {
    let plan = in_turns(None).with(|one| one.blocks = 1);
    let (ended, seen, _) = go(&plan, Vec::new(), |executor| executor.failing = 0);
    assert_eq!((seen.len(), ended.complete), (10, true));
    let (schedule, run) = sample(&plan);
    assert!(schedule.lacks_none(&ended.cells, &run));
}

#[test]
fn there_are_as_many_generations_as_the_time_allows_and_nobody_is_told_of_more() {
    // 6 s a lap; 1.5 s of a lap and 1.2 s of 60 s are kept.
    let (ended, seen, heard) = go(&in_turns(Some(60)), Vec::new(), a_second);
    assert_eq!((ended.complete, ended.cut_short.map(|cut| cut.blocks)), (true, Some(9)));
    assert_eq!((seen.len(), heard.cut_short.len(), heard.too_few.len()), (9 * 14, 0, 0));
    assert_eq!((heard.of.last(), heard.started.last()), (Some(&18), Some(&18)));
    let (ended, seen, _) = go(&in_turns(Some(60)), ended.cells, a_second);
    assert_eq!((seen.len(), ended.cut_short.map(|cut| cut.blocks)), (9 * 14, Some(18)), "it goes on with more");
    let few = in_turns(Some(30)).with(|one| one.reference = Some("a".to_owned()));
    let said = [
        "There is time for about 4 generations within 30 s, and an interval needs 8. Let the run end, or end it with Ctrl-C, and go on \
         with `cqldyno compare --resume DIR`.",
        "There was time for 4 generations within 30 s, and an interval needs 8.",
    ];
    let (_, _, heard) = go(&few, Vec::new(), a_second);
    assert_eq!((&heard.too_few[..], &heard.cut_short[..]), (&[said[0].to_owned()][..], &[said[1].to_owned()][..]));
}

/// With so many seconds that all generations fit, each of which takes 6 s.
fn with_time_for_all() -> Plan {
    in_turns(Some(3_600)).with(|one| one.blocks = 480)
}

fn generations(cells: &[Cell]) -> u32 {
    cells.iter().map(|cell| cell.block).max().unwrap()
}

#[test]
fn rounds_that_do_not_count_are_kept_and_further_generations_make_up_for_them_while_time_lasts() {
    let (ended, _, heard) = go(&with_time_for_all(), Vec::new(), a_second);
    assert_eq!((generations(&ended.cells), ended.complete, heard.too_few.len()), (240, true, 0));
    // One round of three.
    let disturbed = |executor: &mut Executed<'_>| {
        a_second(executor);
        executor.others = |_, round| if round == 2 { 0.3 } else { 0.0 };
    };
    let (ended, _, heard) = go(&with_time_for_all(), Vec::new(), disturbed);
    assert_eq!((generations(&ended.cells), heard.too_few.len()), (360, 0));
    assert_eq!(ended.cells.len(), 360 * 14, "all are kept");
    let (short, ..) = go(&in_turns(Some(60)), Vec::new(), disturbed);
    assert_eq!(generations(&short.cells), 9, "no more than fit");
    let asked = in_turns(None).with(|one| one.blocks = 12);
    assert_eq!(generations(&go(&asked, Vec::new(), disturbed).0.cells), 12, "nor more than were asked for");
}

#[test]
fn a_run_with_enough_rounds_that_count_has_nothing_left_and_one_with_too_few_goes_on() {
    let plan = with_time_for_all();
    let disturbed = |executor: &mut Executed<'_>| {
        a_second(executor);
        executor.others = |block, _| if block <= 30 { 0.3 } else { 0.0 };
    };
    let (whole, ..) = go(&plan, Vec::new(), disturbed);
    assert_eq!(generations(&whole.cells), 270);
    let (schedule, run) = sample(&plan);
    let until = |last: u32| whole.cells.iter().filter(|cell| cell.block <= last).cloned().collect::<Vec<Cell>>();
    assert!(schedule.lacks_none(&whole.cells, &run) && !schedule.lacks_none(&until(240), &run));
    let (ended, seen, _) = go(&plan, whole.cells.clone(), disturbed);
    assert_eq!((seen.len(), ended.complete), (0, true));
    let (ended, ..) = go(&plan, until(240), disturbed);
    assert_eq!(generations(&ended.cells), 270);
}

#[test]
fn most_rounds_without_their_cores_are_said_while_the_user_can_still_do_something() {
    let busy = |executor: &mut Executed<'_>| {
        a_second(executor);
        executor.others = |_, round| if round > 1 { 0.5 } else { 0.0 };
    };
    let (_, _, heard) = go(&in_turns(Some(60)), Vec::new(), busy);
    let [said] = &heard.too_few[..] else { panic!("{:?}", heard.too_few) };
    assert!(said.starts_with("4 of 6 rounds do not count, because the cores were busy. For example "), "{said}");
    assert!(said.contains(": others used 50 % of the cores. If it stays like that, there is no verdict"), "{said}");
    let (_, _, heard) = go(&in_turns(Some(60)).with(|one| one.noise_share = None), Vec::new(), busy);
    assert_eq!(heard.too_few, [""; 0]);
}
