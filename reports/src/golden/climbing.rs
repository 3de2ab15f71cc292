//! What a ladder of rates found.

use expect_test::expect_file;

use crate::export::shown::{at, csv, html, json, markdown, table, wide};
use crate::{Cell, Measure, Pass, Role, Run, Unit, sample};

/// The drivers of the sample at two distances: one step of scylla is disturbed, and cdrs-tokio's search has no end at the second one.
fn climbing() -> (Run, Vec<Cell>) {
    let (mut run, _) = sample::run();
    let ladder = crate::LadderInfo { meter: "response_p99".to_owned(), below_us: 5_000.0, lasts_ms: 3_000 };
    (run.plan.ladder, run.plan.passes, run.plan.counting_count) = (Some(ladder), vec![Pass::Latency], 0);
    run.scenarios.truncate(1);
    let at = |ns: u64| {
        let point =
            crate::PointInfo { of: "writes".to_owned(), in_flight: 1_024, delay_ns: Some(ns), ..Default::default() };
        let name = format!("writes, 1024 in flight with delay {}us", ns / 1_000);
        crate::ScenarioInfo { name, point: Some(point), ..run.scenarios[0].clone() }
    };
    run.scenarios = vec![at(0), at(200_000)];
    run.contenders.retain(|one| one.role != Role::Noop);
    let mut cells = Vec::new();
    for (place, scenario) in run.scenarios.iter().enumerate() {
        for (nth, one) in run.contenders.iter().enumerate().filter(|(_, one)| one.unavailable.is_none()) {
            let most = 100_000 + 20_000 * nth as u64 - 10_000 * place as u64;
            for block in 1.. {
                let ladder = crate::Ladder::of(&run, &cells, [&one.id, &scenario.name, "multi:2"]);
                let is_cut = (one.id.as_str(), place, block) == ("cdrs-tokio", 1, 5);
                let Some(rate) = ladder.next().filter(|_| !is_cut) else { break };
                let is_disturbed = (one.id.as_str(), place, block) == ("scylla", 0, 2);
                let holds = rate <= most && !is_disturbed;
                let of = |id: &str, value, unit| (id.to_owned(), Measure::value(value, unit));
                let measures = [
                    of("response_p99", if holds { 800.0 + rate as f64 / 100.0 } else { 6_500.0 }, Unit::Microseconds),
                    of("rate", rate as f64, Unit::PerSecond),
                    of("rate_held", if rate > 2 * most { 61.0 } else { 100.0 }, Unit::Percent),
                    of("statements", 3.0 * rate as f64, Unit::Count),
                    of("cpu_per_statement", 5.0 + nth as f64, Unit::Microseconds),
                ];
                cells.push(Cell {
                    contender: one.id.clone(),
                    label: one.label.clone(),
                    scenario: scenario.name.clone(),
                    arrangement: "multi:2".to_owned(),
                    block,
                    pass: Pass::Latency,
                    attempt: 1,
                    step: Some(crate::Ladder::step_name(rate)),
                    measures: measures.into_iter().collect(),
                    started: run.started,
                    ..Cell::default()
                });
            }
        }
    }
    (run, cells)
}

#[test]
fn a_ladder_says_what_each_contender_holds_at_each_distance_and_every_step_on_request() {
    let (run, cells) = climbing();
    expect_file!["a_ladder_says_what_each_contender_holds_at_each_distance_and_every_step_on_request.txt"]
        .assert_eq(&format!("{}\n==========\n\n{}", table(&run, &cells, at(80)), wide(&run, &cells, 160)));
    let document: serde_json::Value = serde_json::from_str(&json(&run, &cells)).unwrap();
    let ladders = document["ladders"].as_array().unwrap();
    assert_eq!((ladders.len(), &ladders[0]["contender"], &ladders[0]["finished"]), (6, &"scylla".into(), &true.into()));
    assert_eq!(ladders[4]["finished"], false);
    let rows: Vec<String> =
        csv(&run, &cells).lines().filter(|line| line.contains("ladder_held")).map(str::to_owned).collect();
    assert_eq!((rows.len(), rows[0].ends_with(",1/s,,true,,")), (6, true), "{rows:?}");
    let page = html(&run, &cells);
    assert!(page.contains("Highest rate held, over the delay of answers") && page.contains("Every step"), "{page}");
    let text = markdown(&run, &cells);
    assert!(text.contains("| contender | delay 0 | delay 0.2ms |") && text.contains("every step"), "{text}");
}
