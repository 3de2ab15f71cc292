//! Runs of one plan, and runs that only look like it.

use super::*;
use crate::{BuiltOnDemand, Cell, Measure, Pass, Recorded, Run, Unit, sample};

/// Runs of other days in which cdrs-tokio costs so many times the sample's.
fn runs(factors: &[f64]) -> Vec<Recorded> {
    let of = |(days, factor): (u32, &f64)| {
        let (run, mut cells) = sample::repeated(12, days);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
            set(cell, CPU_PER_STATEMENT, cell.get(CPU_PER_STATEMENT).unwrap() * factor);
        }
        Recorded { run, cells, notes: Vec::new() }
    };
    (0..).zip(factors).map(of).collect()
}

fn set(cell: &mut Cell, meter: &str, value: f64) {
    let unit = cell.measures[meter].unit().unwrap_or(Unit::Count);
    cell.measures.insert(meter.to_owned(), Measure::value(value, unit));
}

fn cells_of<'a>(one: &'a mut Recorded, contender: &'a str, scenario: &'a str) -> impl Iterator<Item = &'a mut Cell> {
    let is =
        move |cell: &&mut Cell| cell.contender == contender && cell.scenario == scenario && cell.pass == Pass::Timing;
    one.cells.iter_mut().filter(is)
}

fn analyses(runs: &[Recorded]) -> Vec<(String, Analysis<'_>)> {
    let of = |(at, one)| {
        let Recorded { run, cells, .. }: &Recorded = one;
        (format!("runs/{at}"), Analysis::new(run, cells))
    };
    ["one", "two", "three", "four"].into_iter().zip(runs).map(of).collect()
}

fn find<'a>(combined: &'a Combined, scenario: &str, contender: &str) -> &'a CombinedRow {
    let is = |row: &&CombinedRow| {
        row.row.contender == contender && row.row.scenario == scenario && row.row.meter == CPU_PER_STATEMENT
    };
    combined.rows.iter().find(is).unwrap()
}

#[test]
fn ratios_are_means_over_the_runs_and_intervals_hold_what_differs_between_them() {
    let (alike, apart) = (runs(&[1.0, 1.0, 1.0]), runs(&[0.96, 1.0, 1.0 / 0.96]));
    let (alike, apart) = (Combined::of(&analyses(&alike)).unwrap(), Combined::of(&analyses(&apart)).unwrap());
    let (one, other) = (find(&alike, "writes", "cdrs-tokio"), find(&apart, "writes", "cdrs-tokio"));
    assert!((one.row.ratio.unwrap() / other.row.ratio.unwrap() - 1.0).abs() < 1e-3, "{one:?} {other:?}");
    assert!(alike.spread < 0.01 && apart.spread > 0.02, "{} {}", alike.spread, apart.spread);
    let half = |[low, high]: [f64; 2]| (high / low).ln() / 2.0;
    let own = half(one.runs[0].interval.unwrap());
    let (alike_half, apart_half) = (half(one.row.interval.unwrap()), half(other.row.interval.unwrap()));
    // All runs of the second kind lie within.
    assert!(alike_half < 2.0 * own && apart_half > 0.04 && own < 0.02, "{own} {alike_half} {apart_half}");
    for (row, all) in [(one, &alike), (other, &apart)] {
        assert_eq!((row.row.verdict, row.held, row.runs.len()), (Some(Verdict::Dearer), Some(3), 3));
        let base = find(all, "writes", "scylla");
        assert!((row.row.level.unwrap() / base.row.level.unwrap() - row.row.ratio.unwrap()).abs() < 1e-9);
    }
    let floor = find(&apart, "writes", "floor");
    assert!(floor.row.level.is_some() && floor.row.interval.is_none() && floor.row.verdict.is_none());
    assert_eq!(alike.analysis.findings, analyses(&runs(&[1.0]))[0].1.findings);
}

#[test]
fn a_verdict_on_statements_per_second_says_so_too() {
    let mut all = runs(&[1.0, 1.0, 1.0]);
    for cell in cells_of(&mut all[1], "cdrs-tokio", "writes") {
        set(cell, THROUGHPUT, cell.get(THROUGHPUT).unwrap() * 1.6);
    }
    let analyses = analyses(&all);
    let combined = Combined::of(&analyses).unwrap();
    let place = combined.analysis.places().next().unwrap();
    let contender = all[0].run.contender("cdrs-tokio").unwrap();
    let row = find(&combined, "writes", "cdrs-tokio");
    assert_eq!((row.held, combined.held_in_some(place, contender, CPU_PER_STATEMENT)), (Some(3), None));
    let held = combined.held_in_some(place, contender, THROUGHPUT).unwrap();
    assert!(["0 of 3", "1 of 3", "2 of 3"].contains(&held.as_str()), "{held}");
    let said = combined.remarks.concat();
    assert!(
        said.contains("on statements per second held in all runs.") && !said.contains("2 of 2 verdicts on stat"),
        "{said}"
    );
}

#[test]
fn a_verdict_says_in_how_many_of_the_runs_it_held() {
    let mut all = runs(&[1.0, 1.0, 1.0]);
    for cell in cells_of(&mut all[1], "cdrs-tokio", "writes") {
        set(cell, CPU_PER_STATEMENT, cell.get(CPU_PER_STATEMENT).unwrap() * 4.05 / 6.25);
    }
    let analyses = analyses(&all);
    let combined = Combined::of(&analyses).unwrap();
    let place = combined.analysis.places().next().unwrap();
    let contender = |id: &str| all[0].run.contender(id).unwrap();
    assert_eq!(find(&combined, "writes", "cdrs-tokio").row.verdict, Some(Verdict::Inconclusive));
    let held = |id: &str, meter: &str| combined.held_in_some(place, contender(id), meter);
    assert_eq!(held("cdrs-tokio", CPU_PER_STATEMENT).as_deref(), Some("dearer in 2 of 3"));
    assert_eq!(held("cdrs-tokio", THROUGHPUT), None, "all runs gave it");
    assert_eq!(combined.held(place, contender("cdrs-tokio"), THROUGHPUT).as_deref(), Some("3 of 3"));
    assert_eq!((held("scylla", CPU_PER_STATEMENT), find(&combined, "writes", "floor").held), (None, None));
    let (said, held) = (combined.remarks.concat(), find(&combined, "reads", "cdrs-tokio").held);
    assert!(held == Some(3) && said.contains("1 of 2 verdicts on CPU time held in all runs."), "{held:?} {said}");
}

#[test]
fn differences_between_two_runs_are_counted_against_the_interval_of_a_difference() {
    // Of three pairs in each of two scenarios those with the last run are off.
    let all = runs(&[1.0, 1.0, 1.1]);
    let combined = Combined::of(&analyses(&all)).unwrap();
    assert_eq!(combined.agreement, Agreement { within: 2, of: 6 });
    assert!(combined.remarks.concat().contains("2 of 6 differences between two runs lie within their 90 % intervals"));
}

#[test]
fn two_runs_are_told_that_a_third_helps() {
    let said = |factors: &[f64]| Combined::of(&analyses(&runs(factors))).unwrap().remarks.concat();
    assert!(said(&[1.0, 1.01]).contains("a third narrows the intervals"));
    assert!(!said(&[1.0, 1.01, 1.0]).contains("a third"));
}

#[test]
fn runs_of_other_plans_are_refused_with_what_differs_in_both() {
    type Change = fn(&mut Run);
    let cases: [(Change, &str); 14] = [
        (
            |run| run.plan.turns.count = 1_000_000,
            "the count (500,000 statements per turn and 1,000,000 statements per turn)",
        ),
        (|run| run.plan.warmup = 5, "the statements before the window (10,000 and 5)"),
        (
            |run| run.plan.settings = "default".to_owned(),
            "what was asked (1,024 in flight, 1 connection, equal settings",
        ),
        (|run| run.plan.concurrency = 16, "what was asked ("),
        (|run| run.plan.reference = Some("cdrs-tokio".to_owned()), "the reference (scylla@1.9.0 and cdrs-tokio@9.0.2)"),
        (|run| run.plan.target.about = "an existing cluster".to_owned(), "the target (cqldyno serve 0.1.0"),
        (
            |run| run.plan.serve_arguments = vec!["--nodes".to_owned()],
            "the server's way of answering (as it does and --nodes)",
        ),
        (|run| run.plan.arrangements[0].id = "current".to_owned(), "the arrangements (multi:2 and current)"),
        (
            |run| run.scenarios[1].hash = "0100".to_owned(),
            "the scenarios (writes 00ff, reads 00ff and writes 00ff, reads 0100)",
        ),
        (
            |run| run.contenders[1].label = "cdrs-tokio@9.0.3".to_owned(),
            "the contenders (cassandra-cpp, cdrs-tokio@9.0.2, floor",
        ),
        (|run| run.contenders[1].build = "b2".to_owned(), "the load generator of cdrs-tokio@9.0.2 (b1 and b2)"),
        (|run| run.contenders[1].libraries.clear(), "the libraries of cdrs-tokio@9.0.2 (tokio 1.54.0 and unknown)"),
        (
            |run| run.contenders[1].built = Some(BuiltOnDemand { key: "ab".repeat(16), ..Default::default() }),
            "the build on demand of cdrs-tokio@9.0.2 (none and abababababab)",
        ),
        (|run| run.environment.profile = "debug".to_owned(), "the profile (release and debug)"),
    ];
    for (change, expected) in cases {
        let mut all = runs(&[1.0, 1.0, 1.0]);
        change(&mut all[2].run);
        let run = all[2].run.clone();
        for cell in &mut all[2].cells {
            cell.arrangement = run.plan.arrangements[0].id.clone();
        }
        let why = Combined::of(&analyses(&all)).err().unwrap();
        assert!(why.starts_with("There is no combined table, because runs/one and runs/three differ in "), "{why}");
        assert!(why.contains(expected), "{expected}: {why}");
        assert!(why.ends_with("Only runs of one plan are combined: repeat a run with its own command."), "{why}");
    }
}

#[test]
fn one_run_that_was_named_twice_is_no_repetition() {
    let mut all = runs(&[1.0, 1.0]);
    all[1] = all[0].clone();
    let why = Combined::of(&analyses(&all)).err().unwrap();
    assert!(
        why.contains("runs/one and runs/two are one and the same run, of 2026-01-02T03:04:05Z; name another"),
        "{why}"
    );
    let why = Combined::of(&analyses(&all[..1])).err().unwrap();
    assert!(why.ends_with("it takes two runs of one plan; name another run."), "{why}");
}

#[test]
fn a_run_without_intervals_is_refused_with_its_reason() {
    let mut all = runs(&[1.0, 1.0]);
    all[1].cells.retain(|cell| cell.block < 4);
    let why = Combined::of(&analyses(&all)).err().unwrap();
    assert!(why.contains("runs/two has no interval of CPU time. An interval needs at least 8 generations"), "{why}");
    let mut all = runs(&[1.0, 1.0]);
    for one in &mut all {
        one.run.contenders.retain(|one| one.role != crate::Role::Driver);
        one.cells.retain(|cell| ["floor", "noop"].contains(&cell.contender.as_str()));
    }
    assert!(Combined::of(&analyses(&all)).err().unwrap().contains("no driver took part; run it with two."));
}

#[test]
fn machines_numbers_of_blocks_seeds_and_orders_of_contenders_may_differ() {
    let mut all = runs(&[1.0, 1.0]);
    let run = &mut all[1].run;
    run.environment.cpu = "Another 1".to_owned();
    run.environment.cores = 64;
    run.environment.kernel = "Linux 7.0.0".to_owned();
    (run.plan.seed, run.plan.blocks) = (43, 10);
    run.plan.arrangements[0].worker_cores = vec![0, 2];
    run.contenders.swap(1, 3);
    run.plan.reference = Some("scylla".to_owned());
    all[1].cells.retain(|cell| cell.block <= 10);
    let combined = Combined::of(&analyses(&all)).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(find(&combined, "writes", "cdrs-tokio").held, Some(2));
}

#[test]
fn another_executable_on_one_machine_is_another_contender_and_elsewhere_a_remark() {
    let mut all = runs(&[1.0, 1.0]);
    for (one, hash) in all.iter_mut().zip(["ab", "cd"]) {
        one.run.contenders[1].executable = hash.repeat(32);
    }
    let why = Combined::of(&analyses(&all)).err().unwrap();
    assert!(why.contains("differ in the executable of cdrs-tokio@9.0.2 (abababababab and cdcdcdcdcdcd)."), "{why}");
    all[1].run.environment.cpu = "Another 1".to_owned();
    all[1].run.executable = "ef".repeat(32);
    let said = Combined::of(&analyses(&all)).unwrap().remarks.concat();
    assert!(said.contains("The machines have builds of their own of cdrs-tokio@9.0.2, so"), "{said}");
    assert!(said.contains("other executables of cqldyno"), "{said}");
}

#[test]
fn a_driver_that_failed_in_one_run_has_no_figure_there_and_its_others_stay() {
    let mut all = runs(&[1.0, 1.0, 1.0]);
    cells_of(&mut all[1], "cdrs-tokio", "writes").next().unwrap().failed = Some("It crashed.".to_owned());
    let analyses = analyses(&all);
    let combined = Combined::of(&analyses).unwrap();
    let row = find(&combined, "writes", "cdrs-tokio");
    assert_eq!((row.row.level, row.row.ratio, row.row.interval, row.row.verdict), (None, None, None, None));
    assert_eq!(row.row.unavailable.as_deref(), Some("It failed in runs/two: It crashed."));
    assert!(
        find(&combined, "reads", "cdrs-tokio").held == Some(3)
            && find(&combined, "writes", "scylla").row.level.is_some()
    );
    let said = combined.analysis.findings.concat();
    assert!(said.contains("cdrs-tokio has no verdict for writes (it failed)."), "{said}");
}

#[test]
fn a_control_that_differs_in_all_runs_together_takes_the_verdicts_away_and_one_in_single_runs_warns() {
    let with = |factors: [f64; 3]| {
        let mut all = runs(&[1.0, 1.0, 1.0]);
        for (one, factor) in all.iter_mut().zip(factors) {
            for cell in cells_of(one, "scylla#control", "writes") {
                set(cell, CPU_PER_STATEMENT, cell.get(CPU_PER_STATEMENT).unwrap() * factor);
            }
        }
        all
    };
    let some = with([1.03, 1.0, 1.0 / 1.03]);
    let combined = Combined::of(&analyses(&some)).unwrap();
    let warnings = &combined.analysis.warnings;
    assert!(warnings.len() == 2 && warnings[0].starts_with("runs/one: The control is scylla@1.9.0"), "{warnings:?}");
    assert_eq!(find(&combined, "writes", "cdrs-tokio").held, Some(1));
    let all = with([1.03, 1.03, 1.03]);
    let combined = Combined::of(&analyses(&all)).unwrap();
    assert!(combined.rows.iter().all(|row| row.row.verdict.is_none() && row.held.is_none()));
    assert!(find(&combined, "writes", "cdrs-tokio").row.interval.is_some());
    assert!(combined.analysis.warnings[0].starts_with("The control is scylla@1.9.0 once more"));
    assert_eq!(combined.analysis.findings, ["These runs together give no verdict."]);
    assert!(!combined.remarks.concat().contains("held in all runs"));
}

#[test]
fn noise_in_half_of_the_runs_withholds_the_verdicts_of_its_place() {
    let with = |noisy: usize| {
        let mut all = runs(&[1.0, 1.0, 1.0]);
        for one in &mut all[..noisy] {
            crate::rounds::tests::disturb(&mut one.run, &mut one.cells, |cell| cell.scenario == "writes");
        }
        let combined = Combined::of(&analyses(&all)).unwrap();
        ["writes", "reads"].map(|scenario| find(&combined, scenario, "cdrs-tokio").row.verdict)
    };
    assert_eq!(with(1), [Some(Verdict::Dearer); 2]);
    assert_eq!(with(2), [Some(Verdict::TooNoisy), Some(Verdict::Dearer)]);
}

#[test]
fn rates_are_combined_by_themselves_and_have_a_verdict_where_every_run_has() {
    let rates = |bound: bool| {
        let mut all = runs(&[1.0, 1.0, 1.0]);
        for cell in all.iter_mut().flat_map(|one| &mut one.cells).filter(|cell| cell.pass == Pass::Timing) {
            set(cell, THROUGHPUT, 1e6 / cell.get(CPU_PER_STATEMENT).unwrap());
        }
        for cell in cells_of(&mut all[1], "cdrs-tokio", "writes").filter(|_| bound) {
            set(cell, crate::measure::SERVER_UTILISATION, 99.0);
        }
        let combined = Combined::of(&analyses(&all)).unwrap();
        let is = |row: &&CombinedRow| row.row.contender == "cdrs-tokio" && row.row.meter == THROUGHPUT;
        let of = |row: &&SummaryRow| row.contender == "cdrs-tokio" && row.meter == THROUGHPUT;
        let why = combined.analysis.rows.iter().find(of).unwrap().no_verdict.clone();
        (combined.rows.iter().find(is).unwrap().clone(), why)
    };
    let ((own, none), (bound, why)) = (rates(false), rates(true));
    assert_eq!(none, None);
    assert!(why.is_some(), "a verdict that is missing has its reason");
    assert_eq!((own.row.verdict, own.row.exploratory, own.held), (Some(Verdict::Slower), false, Some(3)));
    assert!(
        own.row.ratio.unwrap() < 0.7 && bound.row.interval.is_some() && bound.row.verdict.is_none(),
        "{own:?} {bound:?}"
    );
}
