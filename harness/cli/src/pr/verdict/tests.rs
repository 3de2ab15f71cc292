use cqldyno_reports::measure::CPU_PER_STATEMENT;
use cqldyno_reports::{Cell, Measure, Pass, Run, TurnsInfo, Unit};

use super::*;
use crate::sample;

/// The ids of base and head, each under two names.
const IDS: [&str; 4] = ["scylla@git:/x#a", "scylla@git:/x#a#2", "scylla@git:/x#b", "scylla@git:/x#b#2"];
/// What a statement takes, in the order of [`COUNTS`].
const USUAL: [f64; 3] = [4_000.0, 0.09, 12.0];

/// A run of base and head in 12 generations. Beside CPU time, in whose place `cpu` has a factor, each has counts: the usual ones with
/// what `more` adds for that contender and count.
pub(in crate::pr) fn measured(cpu: [f64; 4], more: impl Fn(usize, usize) -> f64) -> (Run, Vec<Cell>) {
    let (mut run, _) = sample::blocks(12);
    let scylla = run.contender("scylla").unwrap().clone();
    run.plan.turns = TurnsInfo { count: 50_000, rounds: 3 };
    run.plan.arrangements[0].id = "current".to_owned();
    run.plan.passes = vec![Pass::Counting, Pass::Allocations, Pass::Instructions];
    run.plan.reference = Some(IDS[0].to_owned());
    let mut cells = Vec::new();
    for (at, id) in IDS.into_iter().enumerate() {
        // Each has noise of its own.
        let (_, noisy) = sample::repeated(12, at as u32);
        for cell in noisy.into_iter().filter(|cell| cell.contender == "scylla") {
            let mut cell = Cell { contender: id.to_owned(), arrangement: "current".to_owned(), ..cell };
            if cell.pass == Pass::Timing {
                let value = cell.get(CPU_PER_STATEMENT).unwrap() * cpu[at];
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value, Unit::Microseconds));
                cells.push(cell);
                continue;
            }
            for (nth, figure) in COUNTS.into_iter().enumerate() {
                let value = Measure::value(USUAL[nth] + more(at, nth), Unit::Count);
                let measures = [(figure.ids[0].to_owned(), value)].into();
                cells.push(Cell { measures, pass: figure.pass, ..cell.clone() });
            }
        }
    }
    let one = |id: &str| Contender { id: id.to_owned(), control: id.ends_with("#2"), ..scylla.clone() };
    run.contenders = IDS.into_iter().map(one).collect();
    (run, cells)
}

/// The lines on writes: instructions, system calls, allocations, CPU time.
fn lines(cpu: [f64; 4], more: impl Fn(usize, usize) -> f64) -> Vec<Judged> {
    let (run, cells) = measured(cpu, more);
    let lines = judge(&Analysis::new(&run, &cells));
    assert_eq!(lines.len(), 8, "four meters of two scenarios");
    lines.into_iter().filter(|line| line.scenario == "writes").collect()
}

fn verdicts(lines: &[Judged]) -> Vec<&'static str> {
    lines.iter().map(Judged::name).collect()
}

const EQUAL: [f64; 4] = [1.0; 4];

/// Only head has `by` more of one count.
fn head(nth: usize, by: f64) -> impl Fn(usize, usize) -> f64 {
    move |who, count| if who > 1 && count == nth { by } else { 0.0 }
}

#[test]
fn each_count_is_judged_by_its_own_smallest_change() {
    assert_eq!(verdicts(&lines(EQUAL, |_, _| 0.0))[..3], ["same"; 3]);
    for (nth, by) in [(0, 24.0), (1, 0.012), (2, 0.12)] {
        let mut expected = ["same"; 3];
        assert_eq!(verdicts(&lines(EQUAL, head(nth, by * 0.75)))[..3], expected, "{nth}");
        expected[nth] = "dearer";
        assert_eq!(verdicts(&lines(EQUAL, head(nth, by)))[..3], expected, "{nth}");
        expected[nth] = "cheaper";
        assert_eq!(verdicts(&lines(EQUAL, head(nth, -by)))[..3], expected, "{nth}");
    }
}

#[test]
fn a_count_that_differs_between_two_runs_of_one_build_is_not_exact_and_must_change_by_three_times_that() {
    for noisy in [1, 3] {
        let with = |by: f64| {
            let more = move |who, count| match (who, count) {
                (who, 1) if who == noisy => 0.1 + if who > 1 { by } else { 0.0 },
                (2 | 3, 1) => by,
                _ => 0.0,
            };
            lines(EQUAL, more)
        };
        let small = with(0.2);
        assert_eq!(small[1].verdict, Ok(Verdict::Same), "{:?}", small[1]);
        let of = |line: &Judged| line.found.clone().unwrap();
        assert!(!of(&small[1]).is_exact(small[1].figure) && of(&small[0]).is_exact(small[0].figure));
        assert!((of(&small[1]).spread.unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(with(1.0)[1].verdict, Ok(Verdict::Dearer));
        assert_eq!(with(-1.0)[1].verdict, Ok(Verdict::Cheaper));
    }
}

#[test]
fn cpu_time_is_dearer_only_if_both_names_of_head_are_beyond_two_percent() {
    let of = |cpu| lines(cpu, |_, _| 0.0).remove(3);
    let dearer = of([1.0, 1.0, 1.1, 1.1]);
    let found = dearer.found.clone().unwrap();
    let [low, high] = found.interval.unwrap();
    assert!(dearer.verdict == Ok(Verdict::Dearer) && low > 1.02 && high < 1.2, "{dearer:?}");
    assert!((found.ratio().unwrap() - 1.1).abs() < 0.02, "{dearer:?}");
    assert_eq!(of([1.0, 1.0, 0.9, 0.9]).verdict, Ok(Verdict::Cheaper));
    assert_eq!(of([1.0, 1.0, 1.1, 1.0]).verdict, Ok(Verdict::Inconclusive), "one name alone");
    assert!(matches!(of(EQUAL).verdict, Ok(Verdict::Same | Verdict::Inconclusive)));
    let differs = of([1.0, 1.1, 1.2, 1.2]);
    assert!(matches!(&differs.verdict, Err(why) if why.contains("should cost the same")), "{differs:?}");
}

#[test]
fn what_was_not_measured_or_is_void_has_no_verdict_and_says_why() {
    let (run, mut cells) = measured(EQUAL, head(0, 400.0));
    cells.retain(|cell| cell.pass != Pass::Instructions);
    for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Allocations && cell.contender == IDS[3]) {
        cell.void = Some("A row was wrong.".to_owned());
    }
    let lines = judge(&Analysis::new(&run, &cells));
    assert!(matches!(&lines[0].verdict, Err(why) if why.ends_with('.')), "{:?}", lines[0]);
    assert_eq!(lines[0].found, None);
    assert_eq!(lines[1].verdict, Ok(Verdict::Same));
    assert_eq!(lines[2].verdict, Err("A row was wrong.".to_owned()));
    let run = Run { contenders: run.contenders[..3].to_vec(), ..run };
    assert_eq!(judge(&Analysis::new(&run, &cells)), [], "a run that ended before all four were there");
}

#[test]
fn a_run_that_no_time_was_asked_for_has_counts_alone() {
    let (mut run, cells) = measured(EQUAL, |_, _| 0.0);
    run.plan.total = Some(1_000_000);
    let lines = judge(&Analysis::new(&run, &cells));
    assert_eq!((lines.len(), lines.iter().any(|line| line.figure == &CPU_TIME)), (6, false));
}

#[test]
fn a_change_is_a_finding_only_if_the_second_run_says_the_same() {
    let mut first = lines(EQUAL, |who, _| if who > 1 { 100.0 } else { 0.0 });
    let second = lines(EQUAL, |who, count| match (who > 1, count) {
        (true, 0) => 100.0,
        (true, 1) => -100.0,
        _ => 0.0,
    });
    confirm(&mut first, &second);
    let found: Vec<Option<bool>> = first.iter().map(|line| line.confirmed).collect();
    assert_eq!(found, [Some(true), Some(false), Some(false), None]);
    assert_eq!(first.iter().filter(|line| line.confirmed == Some(true)).count(), 1);
    let mut first = lines(EQUAL, |who, _| if who > 1 { 100.0 } else { 0.0 });
    confirm(&mut first, &[]);
    assert!(first.iter().all(|line| line.confirmed.is_none()), "what the second run did not measure stays open");
}
