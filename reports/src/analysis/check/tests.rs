//! What is judged, refused and said.

use super::*;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use crate::{Measure, Unit, sample};

fn asked() -> Check {
    Check { threshold: 0.05, require_power: None, reference: None, contenders: Vec::new() }
}

fn recorded() -> Recorded {
    let (run, cells) = sample::blocks(12);
    Recorded { run, cells, notes: Vec::new() }
}

/// The sample in which cdrs-tokio costs so many times what scylla costs.
fn with_ratio(ratio: f64) -> Recorded {
    let mut found = recorded();
    let base: std::collections::BTreeMap<_, _> = found
        .cells
        .iter()
        .filter(|cell| cell.contender == "scylla" && cell.pass == Pass::Timing)
        .map(|cell| ((cell.scenario.clone(), cell.block), cell.get(CPU_PER_STATEMENT).unwrap()))
        .collect();
    for cell in found.cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing) {
        let wobble = 1.0 + 0.001 * f64::from(cell.block % 5);
        let value = base[&(cell.scenario.clone(), cell.block)] * ratio * wobble;
        cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value, Unit::Microseconds));
    }
    found
}

fn findings(recorded: &Recorded, check: &Check) -> Vec<&'static str> {
    Judgement::within(recorded, check).unwrap().lines.iter().map(Checked::finding).collect()
}

#[test]
fn a_contender_whose_interval_lies_beyond_the_threshold_fails_and_one_below_it_passes() {
    let asked = Check { contenders: vec!["cdrs-tokio".to_owned()], ..asked() };
    assert_eq!(findings(&with_ratio(1.5), &asked), ["dearer", "dearer"]);
    assert_eq!(findings(&with_ratio(0.9), &asked), ["passed", "passed"]);
    let judgement = Judgement::within(&with_ratio(1.5), &asked).unwrap();
    assert!(judgement.fails() && judgement.lines[0].sentence.contains("all of the interval lies more than 5 % above"));
    assert!(judgement.markdown().starts_with("### cqldyno check failed: 2 of 2 comparisons"));
}

#[test]
fn what_is_inconclusive_passes_with_the_smallest_difference_unless_power_is_required() {
    let asked = Check { contenders: vec!["cdrs-tokio".to_owned()], ..asked() };
    let near = with_ratio(1.045);
    let analysis = Analysis::new(&near.run, &near.cells);
    let rows = &analysis.rows;
    let is = |row: &&SummaryRow| (row.contender.as_str(), row.scenario.as_str()) == ("cdrs-tokio", "reads");
    let row = rows.iter().filter(is).find(|row| row.meter == CPU_PER_STATEMENT).unwrap();
    assert!(row.ratio.unwrap() > 1.05 && row.interval.unwrap()[0] < 1.05, "the ratio alone would fail: {row:?}");
    let judgement = Judgement::within(&near, &asked).unwrap();
    assert!(judgement.lines.iter().all(|line| line.finding() == "inconclusive"), "{judgement:?}");
    assert!(judgement.lines[0].sentence.contains("the smallest difference that this run could have found is"));
    assert!(!judgement.fails());
    assert!(judgement.markdown().starts_with("### cqldyno check inconclusive: 2 comparisons\n"), "{judgement:?}");
    let strict = Check { require_power: Some(0.000_1), ..asked };
    assert_eq!(findings(&near, &strict), ["too weak", "too weak"]);
    assert!(Judgement::within(&near, &strict).unwrap().fails());
}

#[test]
fn what_cannot_be_judged_fails_with_the_reason() {
    let mut found = recorded();
    let mut cells = found.cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing);
    cells.next().unwrap().void = Some("A row was wrong.".to_owned());
    let judgement = Judgement::within(&found, &asked()).unwrap();
    let line = judgement.lines.iter().find(|line| line.finding() == "not judged").unwrap();
    assert_eq!(line.sentence, "A row was wrong.");
    assert!(judgement.fails());
}

#[test]
fn too_few_blocks_are_no_failed_check_but_one_that_cannot_be_made() {
    let (run, cells) = sample::run();
    let error = Judgement::within(&Recorded { run, cells, notes: Vec::new() }, &asked()).unwrap_err();
    assert!(matches!(error, CheckError::NoInterval(_)), "{error}");
    let sentence = "the run cannot be judged. An interval needs at least 8 generations in which every contender ran to its end, and \
                    there are 3; ask for more generations";
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn a_run_that_others_disturbed_is_inconclusive_with_the_reason_unless_power_is_required() {
    let mut found = with_ratio(1.5);
    crate::rounds::tests::disturb(&mut found.run, &mut found.cells, |_| true);
    let judgement = Judgement::within(&found, &asked()).unwrap();
    let said = "no verdict on it, because others used the cores in too many rounds; the smallest difference";
    assert!(judgement.lines.iter().all(|line| line.sentence.contains(said)), "{judgement:?}");
    assert!(judgement.lines.iter().all(|line| line.finding() == "inconclusive") && !judgement.fails());
    assert!(Judgement::within(&found, &Check { require_power: Some(0.5), ..asked() }).unwrap().fails());
}

#[test]
fn a_run_whose_control_differs_is_not_believed() {
    let mut found = with_ratio(1.5);
    for cell in found.cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
        if let Some(value) = cell.get(CPU_PER_STATEMENT) {
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(value * 1.1, Unit::Microseconds));
        }
    }
    let judgement = Judgement::within(&found, &asked()).unwrap();
    assert!(judgement.warnings.len() == 1 && !judgement.fails(), "{judgement:?}");
    let open: Vec<&Checked> = judgement.lines.iter().filter(|line| line.finding() == "inconclusive").collect();
    let has_power =
        |line: &&&Checked| line.sentence.contains("the smallest difference that this run could have found is");
    assert!(!open.is_empty() && open.iter().all(|line| has_power(&line)), "{judgement:?}");
    assert!(Judgement::within(&found, &Check { require_power: Some(0.5), ..asked() }).unwrap().fails());
    let other = Check { reference: Some("cdrs-tokio".to_owned()), ..asked() };
    let judgement = Judgement::within(&found, &other).unwrap();
    assert!(!judgement.warnings.is_empty() && !judgement.fails(), "also against another reference: {judgement:?}");
}

#[test]
fn nobody_to_judge_is_said_with_what_to_do() {
    let mut found = recorded();
    let error = Judgement::within(&found, &Check { contenders: vec!["gocql".to_owned()], ..asked() }).unwrap_err();
    assert!(
        error.to_string().starts_with("the contender \"gocql\" was to be checked, and the run has cdrs-tokio"),
        "{error}"
    );
    found.run.contenders.retain(|one| one.id == "scylla");
    let error = Judgement::within(&found, &asked()).unwrap_err().to_string();
    assert!(error.ends_with("scylla; run both contenders in one run"), "{error}");
}

#[test]
fn contenders_that_did_not_take_turns_are_refused() {
    let mut found = with_ratio(1.5);
    for cell in &mut found.cells {
        // Everybody in turns, a block an hour; then all blocks of one after those of the other.
        cell.started = format!("2026-01-02T{:02}:{:02}:05Z", cell.block, 10).parse().unwrap();
    }
    assert_eq!(findings(&found, &asked()), ["dearer", "dearer"]);
    for cell in found.cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.scenario == "reads") {
        cell.started = format!("2026-01-03T{:02}:10:05Z", cell.block).parse().unwrap();
    }
    let error = Judgement::within(&found, &asked()).unwrap_err().to_string();
    assert!(error.starts_with("cdrs-tokio and scylla did not take turns in reads on multi:2, so a drift"), "{error}");
    assert!(error.ends_with("a difference; run both contenders in one run"), "{error}");
}

/// The sample with what two more passes count, as a run tells of its measures.
fn counted() -> Recorded {
    let mut found = recorded();
    let told = |id: &str, pass: Pass| crate::MeasureInfo {
        id: id.to_owned(),
        unit: Unit::Count,
        better: crate::Better::Lower,
        pass,
        about: String::new(),
        column: None,
    };
    let more = [
        (Pass::Allocations, "allocations_per_statement", 12.0),
        (Pass::Instructions, "processor_instructions_per_statement", 9_000.0),
        (Pass::Instructions, "processor_cycles_per_statement", 8_000.0),
        (Pass::Instructions, "processor_cache_misses_per_statement", 5.0),
    ];
    found.run.plan.passes = vec![Pass::Counting, Pass::Allocations, Pass::Instructions];
    found.run.measures = crate::measure::definitions().map(crate::MeasureInfo::from).collect();
    for (pass, id, value) in more {
        found.run.measures.push(told(id, pass));
        let of = |cell: &&crate::Cell| cell.pass == Pass::Counting;
        let cells: Vec<crate::Cell> = found.cells.iter().filter(of).cloned().collect();
        for mut cell in cells {
            cell.pass = pass;
            cell.measures = [(id, Measure::value(value, Unit::Count))].into();
            match found
                .cells
                .iter_mut()
                .find(|one| (&one.contender, &one.scenario, one.pass) == (&cell.contender, &cell.scenario, pass))
            {
                Some(known) => drop(known.measures.insert(id, cell.measures[id].clone())),
                None => found.cells.push(cell),
            }
        }
    }
    found
}

/// Multiplies a measure of a contender's cells.
fn times(found: &mut Recorded, contender: &str, id: &str, factor: f64) {
    for cell in found.cells.iter_mut().filter(|cell| cell.contender == contender) {
        if let Some(value) = cell.get(id) {
            cell.measures.insert(id.to_owned(), Measure::value(value * factor, Unit::Count));
        }
    }
}

#[test]
fn counts_are_judged_against_a_baseline_and_nothing_that_depends_on_time_is() {
    let (then, mut now) = (counted(), counted());
    let judgement = Judgement::against(&now, &then, &asked()).unwrap();
    let mut meters: Vec<&str> = judgement.lines.iter().map(|line| line.row.meter.as_str()).collect();
    meters.sort_unstable();
    meters.dedup();
    let counts = ["allocations_per_statement", "processor_instructions_per_statement", "syscalls_per_statement"];
    assert_eq!(meters, counts);
    assert!(!judgement.fails() && judgement.warnings.is_empty(), "{judgement:?}");
    let labels = || judgement.lines.iter().map(|line| line.row.label.as_str());
    assert!(labels().all(|label| label.starts_with("scylla@") || label.starts_with("cdrs-tokio@")), "{judgement:?}");
    for id in ["processor_cycles_per_statement", "processor_cache_misses_per_statement", CPU_PER_STATEMENT] {
        times(&mut now, "scylla", id, 3.0);
    }
    assert!(!Judgement::against(&now, &then, &asked()).unwrap().fails());
    times(&mut now, "scylla", "allocations_per_statement", 1.2);
    let judgement = Judgement::against(&now, &then, &asked()).unwrap();
    let worse: Vec<&Checked> = judgement.lines.iter().filter(|line| line.finding() == "greater").collect();
    let is = |line: &&&Checked| line.row.label == "scylla@1.9.0" && line.row.meter == "allocations_per_statement";
    assert!(worse.len() == 2 && worse.iter().all(|line| is(&line)), "{judgement:?}");
    assert!(!Judgement::against(&now, &then, &Check { threshold: 0.25, ..asked() }).unwrap().fails());
}

/// The sample on that runtime, with so many threads in every worker.
fn on(runtime: &str, threads: f64) -> Recorded {
    let mut found = counted();
    found.run.plan.arrangements[0].runtime = runtime.to_owned();
    for cell in &mut found.cells {
        if cell.measures.contains_key(crate::measure::THREADS) {
            cell.measures.insert(crate::measure::THREADS.to_owned(), Measure::value(threads, Unit::Count));
        }
    }
    found
}

/// What came of scylla's count when it is so many times what it was.
fn of_scylla(then: &Recorded, meter: &str, factor: f64, check: &Check) -> (&'static str, String) {
    let mut now = then.clone();
    times(&mut now, "scylla", meter, factor);
    let lines = Judgement::against(&now, then, check).unwrap().lines;
    let mut mine = lines.into_iter().filter(|line| line.row.label == "scylla@1.9.0" && line.row.meter == meter);
    mine.next().map(|line| (line.finding(), line.sentence)).unwrap()
}

#[test]
fn system_calls_of_several_threads_are_left_open_with_the_reason_and_do_not_fail() {
    for (runtime, threads, said) in [
        ("multi:2", 4.0, "4 threads"),
        ("multi:2", 1.0, "1 thread"),
        ("current", 3.0, "3 threads"),
        ("current", 2.5, "3 threads"),
    ] {
        let then = on(runtime, threads);
        for factor in [0.5, 1.0, 1.8, 8.0] {
            let (finding, sentence) = of_scylla(&then, SYSCALLS_PER_STATEMENT, factor, &asked());
            assert!(finding == "inconclusive", "{runtime} {threads} {factor}: {sentence}");
            assert!(sentence.contains(&format!("left open, because the worker had {said} on")), "{sentence}");
        }
    }
    let mut unknown = on("current", 1.0);
    unknown.cells.iter_mut().for_each(|cell| drop(cell.measures.remove(crate::measure::THREADS)));
    let (finding, sentence) = of_scylla(&unknown, SYSCALLS_PER_STATEMENT, 8.0, &asked());
    assert!(finding == "inconclusive" && sentence.contains("had several threads on"), "{sentence}");
}

#[test]
fn a_count_is_worse_only_beyond_the_threshold_and_what_runs_of_one_build_differ_by() {
    let then = on("current", 2.0);
    for (meter, share) in [(SYSCALLS_PER_STATEMENT, 0.03), ("allocations_per_statement", 0.01)] {
        let of = |factor: f64| of_scylla(&then, meter, factor, &asked());
        assert_eq!(of(1.05 * (1.0 + share) + 0.001).0, "greater");
        assert_eq!(of(1.05 / (1.0 + share) - 0.001).0, "passed");
        for factor in [1.05 / (1.0 + share) + 0.001, 1.05 * (1.0 + share) - 0.001] {
            let (finding, sentence) = of(factor);
            assert_eq!(finding, "inconclusive", "{sentence}");
            let differ = format!(": 5 % above or not, runs of one build differ by up to {}.", percent(share));
            assert!(sentence.ends_with(&differ), "{sentence}");
        }
        assert_eq!(of_scylla(&then, meter, 1.0, &Check { threshold: 0.03, ..asked() }).0, "passed");
    }
}

#[test]
fn a_count_of_a_short_cell_is_less_steady() {
    let mut then = on("current", 2.0);
    assert_eq!(of_scylla(&then, SYSCALLS_PER_STATEMENT, 1.15, &asked()).0, "greater");
    let short = Measure::value(5_000.0, Unit::Count);
    for cell in then.cells.iter_mut().filter(|cell| cell.pass == Pass::Counting) {
        cell.measures.insert(crate::measure::STATEMENTS.to_owned(), short.clone());
    }
    let (finding, sentence) = of_scylla(&then, SYSCALLS_PER_STATEMENT, 1.15, &asked());
    assert!(finding == "inconclusive" && sentence.contains("differ by up to 12 %"), "{sentence}");
}

#[test]
fn a_baseline_of_another_cluster_consistency_or_time_limit_is_refused() {
    let on_a_cluster = |address: &str| {
        let mut recorded = counted();
        let target = &mut recorded.run.plan.target;
        (target.id, target.about, target.embedded) = (address.to_owned(), "an existing cluster".to_owned(), false);
        recorded
    };
    let refused = |then: &Recorded, now: &Recorded| Judgement::against(now, then, &asked()).unwrap_err().to_string();
    let (then, mut now) = (on_a_cluster("192.0.2.1:9042"), on_a_cluster("192.0.2.2:9042"));
    let error = refused(&then, &now);
    assert!(error.contains("the target was 192.0.2.1:9042 then and is 192.0.2.2:9042 now"), "{error}");
    now.run.plan.target.id.clone_from(&then.run.plan.target.id);
    now.run.plan.consistency = "QUORUM".to_owned();
    now.run.plan.request_timeout_ms = None;
    let error = refused(&then, &now);
    assert!(
        error.contains("what was asked was ") && error.contains("QUORUM") && error.contains("no time limit now"),
        "{error}"
    );
}

#[test]
fn a_baseline_of_other_conditions_is_refused_with_all_that_differs() {
    let (then, mut now) = (counted(), counted());
    now.run.environment.kernel = "Linux 9".to_owned();
    now.run.environment.cores = 64;
    now.run.plan.counting_count = 7;
    now.run.plan.serve_arguments = vec!["--answers".to_owned(), "each".to_owned()];
    now.run.scenarios[0].hash = "another".to_owned();
    now.run.plan.arrangements[0].worker_cores = vec![1];
    now.run.contenders.iter_mut().for_each(|one| one.build = "b2".to_owned());
    let error = Judgement::against(&now, &then, &asked()).unwrap_err().to_string();
    for part in [
        "the run cannot be checked against that baseline: the number of cores was 2 then and is 64 now; ",
        "the kernel was Linux 6.18.0 then and is Linux 9 now; ",
        "the server's way of answering was as it does then and is --answers each now; ",
        "the number of statements was 500,000 (100,000 in a cell that counts, 10,000 before the window) then",
        "the list of scenarios was writes 00ff, ",
        "the list of arrangements was multi:2 with the worker on cores [0, 1]",
        "the load generator was b1 then and is b2 now. ",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(error.ends_with("make a new baseline here"), "{error}");
    assert_eq!(error.matches(" then and is ").count(), 7, "{error}");
}

#[test]
fn a_count_that_one_of_the_two_lacks_is_not_judged_and_fails() {
    let (mut then, mut now) = (counted(), counted());
    now.cells.retain(|cell| cell.pass != Pass::Allocations);
    now.run.plan.passes.retain(|pass| *pass != Pass::Allocations);
    let is_spoilt = |cell: &&mut crate::Cell| cell.contender == "scylla" && cell.pass == Pass::Counting;
    then.cells.iter_mut().filter(is_spoilt).for_each(|cell| cell.void = Some("A row was wrong.".to_owned()));
    let judgement = Judgement::against(&now, &then, &asked()).unwrap();
    let sentences = |meter: &str, label: &str| -> Vec<(&str, &str)> {
        let is = |line: &&Checked| line.row.meter == meter && line.row.label.starts_with(label);
        judgement.lines.iter().filter(is).map(|line| (line.finding(), line.sentence.as_str())).collect()
    };
    let (finding, sentence) = sentences("allocations_per_statement", "cdrs")[0];
    assert_eq!(finding, "not judged");
    assert!(!sentence.is_empty(), "{judgement:?}");
    let (finding, sentence) = sentences(SYSCALLS_PER_STATEMENT, "scylla")[0];
    assert_eq!((finding, sentence), ("not judged", "The baseline's figure is void: A row was wrong."));
    assert!(judgement.fails());
}

#[test]
fn who_is_judged_against_a_baseline_is_named_by_id_or_label_and_must_be_in_both() {
    let (mut then, now) = (counted(), counted());
    let named = |who: &str| Check { contenders: vec![who.to_owned()], ..asked() };
    let labels = |who: &str| -> Vec<String> {
        Judgement::against(&now, &then, &named(who)).unwrap().lines.into_iter().map(|line| line.row.label).collect()
    };
    assert!(labels("cdrs-tokio@9.0.2").iter().all(|label| label == "cdrs-tokio@9.0.2"));
    assert!(labels("floor").iter().all(|label| label.starts_with("floor")), "ours only where it is named");
    let error = Judgement::against(&now, &then, &named("gocql")).unwrap_err().to_string();
    assert!(error.starts_with("the contender \"gocql\" was to be checked, and the run has scylla, cdrs"), "{error}");
    then.run.contenders.retain(|one| one.id != "cdrs-tokio");
    then.cells.retain(|cell| cell.contender != "cdrs-tokio");
    let error = Judgement::against(&now, &then, &named("cdrs-tokio")).unwrap_err().to_string();
    assert!(error.contains("against that baseline, and it has scylla, cassandra-cpp, floor, noop; name"), "{error}");
    let others = Judgement::against(&now, &then, &asked()).unwrap();
    assert!(others.lines.iter().all(|line| line.row.label == "scylla@1.9.0"), "{others:?}");
}

#[test]
fn another_build_of_the_server_is_said_beside_what_is_counted() {
    let (then, mut now) = (counted(), counted());
    now.run.executable = "ffff".to_owned();
    let judgement = Judgement::against(&now, &then, &asked()).unwrap();
    assert!(judgement.warnings[0].starts_with("cqldyno's executable, and so the embedded cluster"), "{judgement:?}");
    assert!(judgement.markdown().contains("> **Warning.** cqldyno's executable"), "{}", judgement.markdown());
}

#[test]
fn names_from_outside_cannot_leave_their_field_of_the_table() {
    let mut found = with_ratio(1.5);
    for row in &mut found.run.contenders {
        row.label = row.label.replace("cdrs-tokio", "a|b<script>\n");
    }
    let text = Judgement::within(&found, &asked()).unwrap().markdown();
    assert!(text.contains("a\\|b&lt;script&gt;") && !text.contains("<script>"), "{text}");
    let fields = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| fields(line) == 5), "{text}");
}
