//! A driver that stands still now and then: its pauses are in the response times, whatever it says of itself.

use crate::place::{Place, misbehaving};
use cqldyno_reports::{Cell, Pass};

/// The cell of `misbehaving+how=HOW` at 20,000 inserts a second for 1.2 s, in which one whole pause lies.
fn at_rate(how: &str) -> (Cell, String) {
    let place = Place::new();
    let plan = place.plan("writes", &["floor", how]).with_blocks(1, 6_000);
    let plan = plan.with(|plan| (plan.concurrency, plan.rate, plan.passes) = (8, Some(20_000), vec![Pass::Latency]));
    let cells = place.run(&plan).into_iter().filter(|cell| cell.step.as_deref() == Some("rate"));
    let cell = misbehaving(cells.collect());
    let log = std::fs::read_to_string(place.path().join("out").join(&cell.files["hdr"])).unwrap();
    (cell, log)
}

#[test]
fn a_driver_that_pauses_is_charged_for_what_should_have_started_meanwhile() {
    let (cell, log) = at_rate("pauses");
    assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None));
    let of = |id: &str| cell.get(id).unwrap_or_else(|| panic!("{id} is missing: {:?}", cell.measures));
    assert_eq!((of("rate"), of("verified")), (20_000.0, 24_000.0));
    // A sixth of all statements should have started in the pause, of which all but eight waited for a slot.
    assert!(of("response_p99") > 150_000.0, "{}", of("response_p99"));
    assert!(of("response_max") > 190_000.0, "{}", of("response_max"));
    assert!(of("late_share") > 14.0, "{}", of("late_share"));
    assert!(of("driver_max") > 100_000.0, "the driver's own time has it as well, for few statements");
    assert!(of("response_p99") >= of("driver_p99"));
    for tag in ["Tag=response,", "Tag=driver,", "Tag=lateness,"] {
        assert_eq!(log.matches(tag).count(), 1, "{log}");
    }
}

#[test]
fn the_same_client_without_pauses_has_every_figure_of_every_step() {
    let place = Place::new();
    let plan = place.plan("mixed", &["floor", "honestly"]).with(|plan| plan.passes = vec![Pass::Latency]);
    let cells: Vec<Cell> = place.run(&plan).into_iter().filter(|cell| cell.pass == Pass::Latency).collect();
    assert_eq!(cells.len(), 2 * 5);
    for cell in &cells {
        assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None), "{:?}", cell.step);
        let latency = cell.latency.unwrap();
        assert!(latency.p50_us > 0.0 && latency.max_us >= latency.p99_us, "{latency:?}");
        let own: &[&str] = match cell.step.as_deref().unwrap() {
            "rate" => {
                &["rate", "rate_held", "response_p50", "response_p999", "driver_p50", "lateness_max", "late_share"]
            }
            "1" => &["service_1_p50", "service_1_p99"],
            "16" => &["service_16_p50", "service_16_p99"],
            "256" => &["service_256_p50", "service_256_p99"],
            _ => &["connect_to_first_answer", "connect_to_first_answer_max"],
        };
        for id in own {
            assert!(cell.get(id).is_some(), "{id} of {:?}: {:?}", cell.step, cell.measures);
        }
    }
    let rates: Vec<f64> = cells.iter().filter_map(|cell| cell.get("rate")).collect();
    assert_eq!((rates.len(), rates[0]), (2, rates[1]), "all contenders have the same rate");
}
