use super::*;
use crate::{Cell, Latency, Measure, PointInfo, Unit, sample};

/// The sample's writes with several numbers in flight, in three blocks; `rate` says how many statements per second a contender has.
fn swept(rate: impl Fn(&str, f64) -> f64) -> (Run, Vec<Cell>) {
    let (mut run, sampled) = sample::blocks(3);
    let (writes, mut cells) = (run.scenarios[0].clone(), Vec::new());
    run.scenarios.clear();
    for in_flight in [1, 4, 16, 64, 256, 1_024] {
        let point = PointInfo {
            of: writes.name.clone(),
            in_flight,
            connections: None,
            waits: std::collections::BTreeMap::new(),
        };
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
    Analysis::new(&run, &cells).findings().to_vec()
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
        analysis.findings(),
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
         nothing like it."
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
    let said = analysis.findings().last().unwrap();
    assert_eq!(said, "scylla from 1,024 in flight on, for writes: some wait for room.");
}

#[test]
fn several_connections_alone_are_no_sweep() {
    let (mut run, cells) = swept(|_, in_flight| usual(in_flight));
    run.scenarios.truncate(1);
    assert!(Sweep::all(&Analysis::new(&run, &cells)).is_empty());
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
}
