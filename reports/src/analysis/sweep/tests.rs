use super::*;
use crate::{Cell, Latency, Measure, PointInfo, Unit, sample};

/// The sample's writes with several numbers in flight, in three blocks; `rate` says how many statements per second a contender has.
fn swept(rate: impl Fn(&str, f64) -> f64) -> (Run, Vec<Cell>) {
    let (mut run, sampled) = sample::blocks(3);
    let (writes, mut cells) = (run.scenarios[0].clone(), Vec::new());
    run.scenarios.clear();
    for in_flight in [1, 4, 16, 64, 256, 1_024] {
        let point = PointInfo { of: writes.name.clone(), in_flight, ..PointInfo::default() };
        let name = format!("writes, {in_flight} in flight");
        for cell in sampled.iter().filter(|cell| cell.pass == Pass::Timing && cell.scenario == writes.name) {
            let mut cell = Cell { scenario: name.clone(), ..cell.clone() };
            let rate = rate(&cell.contender, in_flight as f64) * (0.98 + 0.01 * f64::from(cell.block));
            cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
            let p50_us = 1e6 * in_flight as f64 / rate;
            let further = (2.0 * p50_us, 3.0 * p50_us, 4.0 * p50_us, 5.0 * p50_us);
            let (p90_us, p99_us, p999_us, max_us) = further;
            cell.latency = Some(Latency { p50_us, p90_us, p99_us, p999_us, max_us });
            cells.push(cell);
        }
        run.scenarios.push(ScenarioInfo { name, point: Some(point), ..writes.clone() });
    }
    (run, cells)
}

/// A round trip of 200 us, and a most of 320,000 per second.
fn usual(in_flight: f64) -> f64 {
    (in_flight / 200e-6).min(320_000.0)
}

/// Few wait a millisecond for a thread that sleeps.
fn napping(in_flight: f64) -> f64 {
    if in_flight < 20.0 { in_flight / 1_200e-6 } else { usual(in_flight) }
}

fn findings(rate: impl Fn(&str, f64) -> f64) -> Vec<String> {
    let (run, cells) = swept(rate);
    without_missing(&Analysis::new(&run, &cells))
}

/// The findings but that on cassandra-cpp, which is missing in the sample.
fn without_missing(analysis: &Analysis) -> Vec<String> {
    let (missing, others): (Vec<String>, Vec<String>) =
        analysis.findings.iter().cloned().partition(|said| said.starts_with("cassandra-cpp is missing: The worker "));
    assert_eq!(missing.len(), 1, "{others:?}");
    others
}

#[test]
fn a_curve_has_its_knee_where_it_levels_off_and_none_while_it_rises() {
    let (run, cells) = swept(|who, in_flight| if who == "floor" { in_flight * 1_000.0 } else { usual(in_flight) });
    let analysis = Analysis::new(&run, &cells);
    let [sweep] = &Sweep::all(&analysis)[..] else { panic!("one scenario in one arrangement") };
    let knees: Vec<(&str, Option<u64>)> =
        sweep.curves.iter().map(|curve| (curve.contender.id.as_str(), curve.knee())).collect();
    assert_eq!(knees, [("scylla", Some(64)), ("cdrs-tokio", Some(64)), ("cassandra-cpp", None), ("floor", None)]);
    assert_eq!(
        without_missing(&analysis),
        [
            "For writes statements per second level off: scylla at 64 in flight, cdrs-tokio at 64 in flight and floor not up to 1,024."
        ]
    );
    let figures: Vec<(u64, SweptFigures)> = sweep.curves[0].figures().collect();
    let (in_flight, first) = figures[0];
    assert_eq!((in_flight, first.rate.round(), first.rates.map(f64::round)), (1, 5_000.0, [4_950.0, 5_050.0]));
    assert_eq!(first.latency_us.map(|both| both.map(f64::round)), Some([200.0, 600.0]));
}

#[test]
fn latency_that_falls_as_concurrency_rises_is_the_drivers_unless_floors_falls_too() {
    let driver = findings(|who, in_flight| if who == "scylla" { napping(in_flight) } else { usual(in_flight) });
    assert_eq!(driver.len(), 2, "{driver:?}");
    assert_eq!(
        driver[1],
        "Odd for writes: the latency of scylla falls as concurrency rises. With 64 in flight instead of 1 it has 384 times the \
         statements per second (833 to 320k), and a mean latency of 200 us instead of 1,200; floor on the same target shows \
         nothing like it there."
    );
    let target = findings(|_, in_flight| napping(in_flight));
    assert_eq!(target.len(), 2, "{target:?}");
    assert!(
        target[1].starts_with("Odd for writes, and not a driver's doing: latency falls as concurrency rises"),
        "{target:?}"
    );
    assert!(target[1].contains("So does that of scylla and cdrs-tokio."), "{target:?}");
}

#[test]
fn a_drivers_own_fall_is_said_beside_a_greater_one_of_the_target() {
    let slow_alone = |in_flight: f64| if in_flight < 2.0 { in_flight / 2_000e-6 } else { usual(in_flight) };
    let twice = |in_flight: f64| if in_flight == 64.0 { in_flight / 2_500e-6 } else { slow_alone(in_flight) };
    let said = findings(|who, in_flight| if who == "scylla" { twice(in_flight) } else { slow_alone(in_flight) });
    assert!(
        said[1].contains("even of floor") && said[1].contains("So does that of scylla and cdrs-tokio."),
        "{said:?}"
    );
    assert!(
        said[2].starts_with("Odd for writes: the latency of scylla falls as concurrency rises. With 256"),
        "{said:?}"
    );
}

#[test]
fn a_fall_within_the_noise_or_of_a_core_that_wakes_up_is_nothing() {
    let wakes_up = findings(|_, in_flight| if in_flight < 2.0 { in_flight / 290e-6 } else { usual(in_flight) });
    assert_eq!(wakes_up.len(), 1, "{wakes_up:?}");
    let falls_a_little = findings(|_, in_flight| if in_flight < 20.0 { in_flight / 250e-6 } else { usual(in_flight) });
    assert_eq!(falls_a_little.len(), 1, "{falls_a_little:?}");
}

#[test]
fn a_point_that_a_driver_cannot_hold_says_why_and_its_curve_goes_on() {
    let (mut run, mut cells) = swept(|_, in_flight| usual(in_flight));
    cells.retain(|cell| cell.contender != "cdrs-tokio" || !cell.scenario.contains(" 256 "));
    run.scenarios[4].left_out.insert("cdrs-tokio".to_owned(), "It can have 64.".to_owned());
    run.scenarios[5].point.as_mut().unwrap().waits.insert("scylla".to_owned(), "some wait for room".to_owned());
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla" && cell.scenario.contains(" 256 ")) {
        cell.void = Some("3 statements failed: its queue was full.".to_owned());
    }
    let analysis = Analysis::new(&run, &cells);
    let curves = &Sweep::all(&analysis)[0].curves;
    assert_eq!(curves[1].points[4].figures, Err("It can have 64.".to_owned()));
    assert!(curves[0].points[4].figures.as_ref().unwrap_err().contains("its queue was full"));
    assert_eq!((curves[0].figures().count(), curves[1].figures().count()), (5, 5));
    assert_eq!(
        without_missing(&analysis)[1..],
        [
            "scylla makes statements wait from 1,024 in flight: some wait for room.",
            "scylla has no figure with 256 in flight: 3 statements failed: its queue was full.",
            "cdrs-tokio has no figure with 256 in flight: It can have 64."
        ]
    );
}

#[test]
fn two_reasons_of_a_driver_are_two_sentences_and_other_numbers_are_none() {
    let (run, mut cells) = swept(|_, in_flight| usual(in_flight));
    for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla") {
        cell.void = match cell.scenario.split_whitespace().find_map(|word| word.parse::<u64>().ok()) {
            Some(64) => Some("The window timed out.".to_owned()),
            Some(at @ 256..) => Some(format!("{at} statements failed: its queue was full.")),
            _ => None,
        };
    }
    let analysis = Analysis::new(&run, &cells);
    let found = &analysis.findings;
    let of_scylla: Vec<&String> = found.iter().filter(|one| one.starts_with("scylla has no figure")).collect();
    assert_eq!(
        of_scylla,
        [
            "scylla has no figure with 64 in flight: The window timed out.",
            "scylla has no figure with 256 in flight and 1,024 in flight: 256 statements failed: its queue was full."
        ]
    );
}

/// The sweep over 1 and 2 connections on two arrangements; `rate` says how many statements per second a contender has.
fn joint(in_flight: &[u64], rate: impl Fn(&str, f64, u64, &str) -> f64) -> (Run, Vec<Cell>) {
    let (mut run, swept) = swept(|_, in_flight| usual(in_flight));
    let points: Vec<ScenarioInfo> = std::mem::take(&mut run.scenarios);
    let points = points.iter().filter(|one| in_flight.contains(&one.point.as_ref().unwrap().in_flight));
    let mut cells = Vec::new();
    for connections in [1, 2] {
        for scenario in points.clone() {
            let name = format!("{} over {connections}", scenario.name);
            for on in ["multi:2", "current"] {
                for cell in swept.iter().filter(|cell| cell.scenario == scenario.name) {
                    let number = scenario.point.as_ref().unwrap().in_flight as f64;
                    let rate = rate(&cell.contender, number, connections, on);
                    let mut cell = Cell { scenario: name.clone(), arrangement: on.to_owned(), ..cell.clone() };
                    cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
                    cells.push(cell);
                }
            }
            let point = PointInfo { connections: Some(connections), ..scenario.point.clone().unwrap() };
            run.scenarios.push(ScenarioInfo { name, point: Some(point), ..scenario.clone() });
        }
    }
    let on = &run.plan.arrangements[0];
    let current = ArrangementInfo { id: "current".to_owned(), runtime: "current".to_owned(), ..on.clone() };
    run.plan.arrangements.push(current);
    (run, cells)
}

/// More connections help on two threads only.
fn helped(_: &str, in_flight: f64, connections: u64, on: &str) -> f64 {
    usual(in_flight) * if on == "multi:2" { connections as f64 } else { 0.5 }
}

#[test]
fn connections_and_arrangements_together_give_a_curve_each_and_one_over_the_connections() {
    let (mut run, cells) = joint(&[1, 64, 1_024], helped);
    run.scenarios[2].point.as_mut().unwrap().waits.insert("scylla".to_owned(), "some wait for room".to_owned());
    run.scenarios[5].point.as_mut().unwrap().waits.insert("scylla".to_owned(), "some wait for room".to_owned());
    let analysis = Analysis::new(&run, &cells);
    let sweeps = Sweep::all(&analysis);
    let names: Vec<(String, Axis)> = sweeps.iter().map(|sweep| (sweep.name(), sweep.axis)).collect();
    let on = |on: &str| {
        let of = |over: &str, axis| (format!("writes{over} on {on}"), axis);
        [of(" over 1 connection", Axis::InFlight), of(" over 2 connections", Axis::InFlight), of("", Axis::Connections)]
    };
    assert_eq!(names, [on("multi:2"), on("current")].concat());
    let over: Vec<(u64, f64)> = sweeps[2].curves[0].figures().map(|(at, all)| (at, all.rate)).collect();
    assert_eq!(over, [(1, 320_000.0), (2, 640_000.0)]);
    let findings = without_missing(&analysis);
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(
        findings[0].starts_with(
            "Most statements per second for writes: scylla 640k with 1,024 in flight over 2 connections on multi:2, "
        ),
        "{findings:?}"
    );
    assert_eq!(
        findings[1],
        "scylla makes statements wait from 1,024 in flight over 1 connection and 1,024 in flight over 2 connections: some wait for room."
    );
}

#[test]
fn what_connections_and_arrangements_change_is_a_column_each_and_the_page_has_every_curve() {
    use crate::export::shown::{at, html, markdown, table};
    let (run, cells) = joint(&[1, 64, 1_024], helped);
    let short = table(&run, &cells, at(80));
    let rates = short.lines().skip_while(|line| !line.starts_with("writes, most statements per second:"));
    let rates: Vec<Vec<&str>> = rates.map(|line| line.split_whitespace().collect()).take(6).collect();
    assert_eq!(rates[3], ["contender", "multi:2", "multi:2", "current", "current"], "{short}");
    assert_eq!(rates[5], ["scylla", "320k", "640k", "160k", "160k"], "{short}");
    assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
    assert!(markdown(&run, &cells).to_lowercase().contains("writes on multi:2, by connections"));
    let page = html(&run, &cells);
    assert!(page.contains("writes on current by connections") && page.contains("Writes, CPU us per statement there"));
    assert_eq!(page.matches("<figure").count(), 6 * 3, "three charts for each number of connections, and over them");
}

#[test]
fn several_connections_with_one_number_in_flight_are_curves_beside_the_usual_tables() {
    use crate::export::shown::{at, html, table};
    let (run, cells) = joint(&[64], helped);
    let analysis = Analysis::new(&run, &cells);
    let sweeps = Sweep::all(&analysis);
    assert!(sweeps.len() == 2 && sweeps.iter().all(|sweep| sweep.axis == Axis::Connections));
    assert!(analysis.findings.iter().all(|finding| !finding.contains("Most statements")), "{:?}", analysis.findings);
    let short = table(&run, &cells, at(80));
    assert!(short.contains("statements/s") && !short.contains("knee"), "{short}");
    let page = html(&run, &cells);
    assert!(page.contains("writes on multi:2 by connections") && !page.contains("Every number in flight by itself"));
}

/// The sweep over connections with each number of shards, on which all contenders are as quick.
fn sharded(in_flight: &[u64], connections: bool) -> (Run, Vec<Cell>) {
    let (mut run, over) = joint(in_flight, helped);
    run.plan.arrangements.truncate(1);
    let points = std::mem::take(&mut run.scenarios);
    let points = points.iter().filter(|one| connections || one.point.as_ref().unwrap().connections == Some(1));
    let mut cells = Vec::new();
    for (scenario, shards) in points.flat_map(|one| [1, 4].map(|shards| (one, shards))) {
        let name = format!("{} on {shards}", scenario.name);
        let of_it = over.iter().filter(|cell| cell.scenario == scenario.name && cell.arrangement == "multi:2");
        cells.extend(of_it.map(|cell| Cell { scenario: name.clone(), ..cell.clone() }));
        let point = scenario.point.clone().unwrap();
        let point = PointInfo { shards: Some(shards), connections: point.connections.filter(|_| connections), ..point };
        run.scenarios.push(ScenarioInfo { name, point: Some(point), ..scenario.clone() });
    }
    (run, cells)
}

#[test]
fn connections_and_shards_are_curves_over_each_for_every_number_of_the_other() {
    use crate::export::shown::{at, html, table};
    let (run, cells) = sharded(&[64, 1_024], true);
    let analysis = Analysis::new(&run, &cells);
    let sweeps = Sweep::all(&analysis);
    let of = |axis| sweeps.iter().filter(|one| one.axis == axis).map(Sweep::name).collect::<Vec<_>>();
    let over = |over: &str| format!("writes over {over}");
    assert_eq!(
        of(Axis::InFlight),
        [
            "1 connection on 1 shard",
            "1 connection on 4 shards",
            "2 connections on 1 shard",
            "2 connections on 4 shards"
        ]
        .map(over)
    );
    assert_eq!(of(Axis::Connections), ["writes on 1 shard", "writes on 4 shards"]);
    assert_eq!(of(Axis::Shards), ["1 connection", "2 connections"].map(over));
    let rates = |nth: usize| sweeps[nth].curves[0].figures().map(|(at, all)| (at, all.rate)).collect::<Vec<_>>();
    assert_eq!(rates(4), [(1, 320_000.0), (2, 640_000.0)]);
    assert_eq!(rates(7), [(1, 640_000.0), (4, 640_000.0)]);
    let short = table(&run, &cells, at(80));
    let heads: Vec<Vec<&str>> = short.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(heads.contains(&vec!["contender", "shard", "shards", "shard", "shards"]), "{short}");
    assert!(short.contains("up to 4\n  shards"), "{short}");
    let page = html(&run, &cells);
    assert!(page.contains("writes over 2 connections by shards") && page.contains("writes on 4 shards by connections"));
}

#[test]
fn several_delays_are_a_curve_over_their_names() {
    use crate::export::shown::{html, wide};
    let (mut run, cells) = sharded(&[64], false);
    for scenario in &mut run.scenarios {
        let point = scenario.point.as_mut().unwrap();
        point.delay_ns = point.shards.take().map(|shards| 200_000 * (shards - 1));
    }
    let analysis = Analysis::new(&run, &cells);
    let sweeps = Sweep::all(&analysis);
    let [sweep] = &sweeps[..] else { panic!("one scenario in one arrangement") };
    assert_eq!((sweep.axis, sweep.curves[0].points[1].at), (Axis::Delay, 600_000));
    let text = wide(&run, &cells, 80);
    assert!(text.contains("writes, by delay") && text.contains(" 0.6ms "), "{text}");
    let page = html(&run, &cells);
    assert!(page.contains("writes by delays of answers") && page.contains(">0.6ms<"), "{page}");
}

#[test]
fn several_shards_alone_are_a_curve_and_rows_of_the_usual_tables() {
    use crate::export::shown::{at, table, wide};
    let (run, cells) = sharded(&[64], false);
    let analysis = Analysis::new(&run, &cells);
    let sweeps = Sweep::all(&analysis);
    let [sweep] = &sweeps[..] else { panic!("one scenario in one arrangement") };
    assert_eq!((sweep.name().as_str(), sweep.axis, &sweep.over[..]), ("writes", Axis::Shards, &[][..]));
    let short = table(&run, &cells, at(80));
    assert!(short.contains("statements/s") && !short.contains("knee"), "{short}");
    assert!(wide(&run, &cells, 80).contains("writes, by shards per node"));
}

#[test]
fn tables_have_the_knees_first_and_every_point_if_asked_and_the_page_draws_them() {
    use crate::export::shown::{at, html, markdown, table, wide};
    let (mut run, mut cells) = swept(|_, in_flight| usual(in_flight));
    cells.retain(|cell| cell.contender != "cdrs-tokio" || cell.scenario != run.scenarios[5].name);
    run.scenarios[5].left_out.insert("cdrs-tokio".to_owned(), "It can have 256.".to_owned());
    let short = table(&run, &cells, at(80));
    assert!(short.contains("statements, 1 to 1,024 in flight on multi:2"), "{short}");
    assert!(short.contains("writes, at the knee:") && !short.contains("every point"), "{short}");
    assert!(short.lines().all(|line| line.chars().count() <= 80) && short.lines().count() < 20, "{short}");
    for every in [wide(&run, &cells, 80), markdown(&run, &cells)] {
        assert!(every.to_lowercase().contains("writes, every point") && every.contains("It can have 256."), "{every}");
    }
    let page = html(&run, &cells);
    for part in [
        "writes by statements in flight",
        "by Little's law",
        "Every number in flight by itself",
        "1 to 1,024 in flight",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("<figure").count(), 3, "the points have no charts of their own");
    assert!(
        page.contains("<path") && page.contains("none at 1,024. It can have 256."),
        "a cross says why a curve ends"
    );
}
