//! A run that ends at a width.

use super::*;

/// A number from -1 to 1 for a contender's process in a generation.
fn noise(who: usize, block: u32) -> f64 {
    let mut mixed = (u64::from(block) * 31 + who as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for factor in [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
        mixed = (mixed ^ (mixed >> 29)).wrapping_mul(factor);
    }
    (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// What b costs over a, and by how much processes of one differ.
type Costs = (f64, f64);

fn costing((ratio, spread): Costs) -> impl FnOnce(&mut Executed<'_>) {
    move |executor| {
        a_second(executor);
        executor.cpu = Box::new(move |who, block| {
            let level = if who == 1 { ratio } else { 1.0 };
            Some(4.0 * level * (spread * noise(who, block)).exp())
        });
    }
}

/// Two drivers and noop in two scenarios, 6 s a generation of both; until so many percent, with so many seconds.
fn until(percent: f64, seconds: u64) -> Plan {
    in_turns(Some(seconds))
        .with(|one| (one.until, one.blocks, one.reference) = (Some(percent / 100.0), 240, Some("a".to_owned())))
}

fn ended(plan: &Plan, costs: Costs) -> u32 {
    let (ended, _, heard) = go(plan, Vec::new(), costing(costs));
    assert!(ended.complete && heard.cut_short.is_empty(), "{:?}", heard.cut_short);
    assert_eq!(ended.cut_short.map(|cut| cut.blocks), Some(generations(&ended.cells)));
    let of = |scenario: &str| ended.cells.iter().filter(|cell| cell.scenario == scenario).count();
    assert_eq!(of("writes"), of("reads"), "whole laps");
    generations(&ended.cells)
}

/// What the report says of why it ended.
fn said(plan: &Plan, ended: &Ended) -> String {
    let run = Run { ended: Some(jiff::Timestamp::UNIX_EPOCH), cut_short: ended.cut_short, ..sample(plan).1 };
    Analysis::new(&run, &ended.cells).until.unwrap()
}

#[test]
fn a_run_ends_as_soon_as_every_interval_is_narrow_enough_and_never_before_eight_generations() {
    let by_spread = [0.0, 0.001, 0.03, 0.05].map(|spread| ended(&until(2.0, 600), (1.5, spread)));
    assert_eq!(by_spread[..2], [8, 8], "{by_spread:?}");
    assert!(8 < by_spread[2] && by_spread[2] < by_spread[3] && by_spread[3] < 97, "{by_spread:?}");
    let plan = until(2.0, 600);
    let (whole, ..) = go(&plan, Vec::new(), costing((1.5, 0.03)));
    let run = sample(&plan).1;
    for last in 1..=by_spread[2] {
        let cells: Vec<Cell> = whole.cells.iter().filter(|cell| cell.block <= last).cloned().collect();
        assert_eq!(Analysis::new(&run, &cells).is_within(0.02), last == by_spread[2], "after {last}");
    }
    assert_eq!(said(&plan, &whole), format!("All intervals were within 2 % after {} generations.", by_spread[2]));
}

#[test]
fn where_the_intervals_lie_has_no_part_in_when_a_run_ends() {
    for spread in [0.02, 0.03] {
        let by_ratio = [0.7, 1.0, 1.021, 1.5].map(|ratio| ended(&until(2.0, 600), (ratio, spread)));
        assert!(by_ratio.iter().all(|one| one.abs_diff(by_ratio[0]) <= 2), "but for rounded digits: {by_ratio:?}");
    }
}

#[test]
fn a_run_whose_intervals_stay_wide_goes_on_until_its_time_is_over_and_says_how_wide_they_are() {
    let plan = until(0.5, 420);
    let (ended, _, heard) = go(&plan, Vec::new(), costing((1.5, 0.04)));
    assert_eq!((generations(&ended.cells), ended.complete, heard.cut_short.len()), (68, true, 0), "more than 60");
    let sentence = said(&plan, &ended);
    let start = "The time of 7 min was over before all intervals were within 0.5 %: the widest is ";
    assert!(sentence.starts_with(start) && sentence.contains(" %, of b for "), "{sentence}");
    let none = until(0.5, 1).with(|one| {
        one.limit(None);
        one.blocks = 9;
    });
    let (ended, ..) = go(&none, Vec::new(), costing((1.5, 0.04)));
    assert!(said(&none, &ended).starts_with("All 9 generations ran before all intervals were within 0.5 %: the"));
    let few = until(0.5, 30);
    let (ended, _, heard) = go(&few, Vec::new(), costing((1.5, 0.04)));
    assert_eq!(said(&few, &ended), "The time of 30 s was over before all intervals were within 0.5 %.");
    assert_eq!(heard.cut_short, ["There was time for 4 generations within 30 s, and an interval needs 8."]);
}

#[test]
fn only_rounds_that_count_make_intervals_narrow() {
    let disturbed = |others: fn(u32, u32) -> f64| {
        let (ended, ..) = go(&until(2.0, 600), Vec::new(), |executor| {
            costing((1.5, 0.001))(executor);
            executor.others = others;
        });
        generations(&ended.cells)
    };
    assert_eq!(disturbed(|_, _| 0.0), 8);
    assert_eq!(disturbed(|block, _| if block <= 4 { 0.3 } else { 0.0 }), 12, "eight that count");
    assert_eq!(disturbed(|_, round| if round == 1 { 0.3 } else { 0.0 }), 8, "two rounds of three count");
    assert_eq!(disturbed(|_, round| if round < 3 { 0.3 } else { 0.0 }), 97, "too few for a verdict: until the end");
}

#[test]
fn a_run_that_was_ended_goes_on_to_its_width_and_one_that_has_it_has_nothing_left() {
    let plan = until(2.0, 600);
    let (whole, ..) = go(&plan, Vec::new(), costing((1.5, 0.03)));
    let (schedule, run) = sample(&plan);
    assert_eq!(run.plan.until, Some(0.02));
    let first = |last: u32| whole.cells.iter().filter(|cell| cell.block <= last).cloned().collect::<Vec<Cell>>();
    let last = generations(&whole.cells);
    assert!(schedule.lacks_none(&whole.cells, &run) && !schedule.lacks_none(&first(last - 1), &run));
    let (ended, seen, _) = go(&plan, whole.cells.clone(), costing((1.5, 0.03)));
    assert_eq!((seen.len(), ended.complete, ended.cut_short.map(|cut| cut.blocks)), (0, true, Some(last)));
    assert_eq!(said(&plan, &ended), format!("All intervals were within 2 % after {last} generations."));
    let (ended, ..) = go(&plan, first(5), costing((1.5, 0.03)));
    assert_eq!(generations(&ended.cells), last);
    // A lap that was under way comes to its end, even if the intervals are narrow without it.
    let of_next = |cell: &Cell| cell.block <= last || (cell.block == last + 1 && cell.scenario == "writes");
    let more = plan.clone().with(|one| one.until = Some(0.001));
    let (longer, ..) = go(&more, Vec::new(), costing((1.5, 0.03)));
    let cells: Vec<Cell> = longer.cells.iter().filter(|cell| of_next(cell)).cloned().collect();
    let (ended, ..) = go(&plan, cells, costing((1.5, 0.03)));
    let of = |scenario: &str| ended.cells.iter().filter(|cell| cell.scenario == scenario).count();
    assert_eq!((generations(&ended.cells), of("writes")), (last + 1, of("reads")));
}
