use std::sync::atomic::AtomicBool;

use cqldyno_driver_api::ErrorKind;
use quanta::Clock;
use tokio::sync::Barrier;

use super::*;
use crate::gauge::Gauge;
use crate::generator::tests::{Memory, bench, runtimes, workload};
use crate::generator::{Bench, OnError, Source};

const WAYS: [Submit; 5] =
    [Submit::Stream, Submit::StreamUnconstrained, Submit::Spawn, Submit::SpawnAll, Submit::Unlimited];

/// Those with a limit.
const LIMITED: [Submit; 4] = [Submit::Stream, Submit::StreamUnconstrained, Submit::Spawn, Submit::SpawnAll];

/// The way on each runtime.
fn on_runtimes(submit: Submit, in_flight: usize) -> [(tokio::runtime::Runtime, Way); 2] {
    let [current, multi] = runtimes();
    [(current, Runtime::Current), (multi, Runtime::Multi { workers: 2 })]
        .map(|(runtime, kind)| (runtime, Way::new(submit, in_flight, kind)))
}

/// Runs `count` statements of a scenario; returns what was counted, the polls, and how often the end was called.
fn run_on(
    runtime: &tokio::runtime::Runtime,
    way: Way,
    bench: &Arc<Bench<Memory>>,
    gauge: &Arc<Gauge>,
    (scenario, count): (&str, u64),
) -> (Result<(Counted, u64), Panicked>, u64) {
    let ends = Arc::new(AtomicU64::new(0));
    let at_end = {
        let (ends, bench) = (Arc::clone(&ends), Arc::clone(bench));
        move || {
            assert_eq!(bench.session.in_flight.load(Ordering::Relaxed), 0, "the end comes after the last answer");
            ends.fetch_add(1, Ordering::Relaxed);
        }
    };
    let source = Source::window(workload(scenario, count, 0));
    let window = Run::new(bench, source, gauge, Clock::new(), OnError::Count, at_end);
    let ended = runtime.block_on(run(window, way));
    (ended, ends.load(Ordering::Relaxed))
}

#[test]
fn in_every_way_each_key_is_issued_once_at_the_concurrency_asked_for() {
    for submit in LIMITED {
        for (count, in_flight) in [(3_000, 64), (500, 1), (10, 10)] {
            for (runtime, way) in on_runtimes(submit, in_flight) {
                let gathering = Some((in_flight as u64, Barrier::new(in_flight)));
                let bench = bench("mixed", Memory { gathering, ..Memory::default() });
                let gauge = Arc::new(Gauge::new(count, way.tasks()));
                let (ended, ends) = run_on(&runtime, way, &bench, &gauge, ("mixed", count));
                let (counted, polls) = ended.unwrap();
                assert_eq!((counted.answered(), counted.failed(), ends), (count, 0, 1), "{way:?}");
                assert_eq!(counted.by_statement, [count / 2, count.div_ceil(2)]);
                let mut keys = bench.session.keys.lock().unwrap().clone();
                keys.sort_unstable();
                assert!(keys.into_iter().eq(0..count as i64), "{way:?}");
                assert_eq!(bench.session.most_in_flight.load(Ordering::Relaxed), in_flight, "{way:?}");
                assert!(polls >= 2 * count - in_flight as u64, "{polls} polls of {count} that wait once, {way:?}");
            }
        }
    }
}

#[test]
fn without_a_limit_all_statements_are_in_flight_at_once() {
    for (runtime, way) in on_runtimes(Submit::Unlimited, 2) {
        let bench = bench("writes", Memory { gathering: Some((500, Barrier::new(500))), ..Memory::default() });
        let gauge = Arc::new(Gauge::new(500, way.tasks()));
        let (ended, ends) = run_on(&runtime, way, &bench, &gauge, ("writes", 500));
        assert_eq!(
            (ended.unwrap().0.answered(), ends, bench.session.most_in_flight.load(Ordering::Relaxed)),
            (500, 1, 500)
        );
    }
}

#[test]
fn a_future_that_is_ready_at_once_is_polled_once() {
    for submit in WAYS {
        for (runtime, way) in on_runtimes(submit, 16) {
            let mended = Some(Arc::new(AtomicBool::new(true)));
            let bench = bench("writes", Memory { mended, ..Memory::default() });
            let gauge = Arc::new(Gauge::new(2_000, way.tasks()));
            let (counted, polls) = run_on(&runtime, way, &bench, &gauge, ("writes", 2_000)).0.unwrap();
            assert_eq!((counted.answered(), polls), (2_000, 2_000), "{way:?}");
        }
    }
}

#[test]
fn a_statement_has_all_of_its_values_and_is_verified_in_every_way() {
    for submit in WAYS {
        for (runtime, way) in on_runtimes(submit, 4) {
            let wrong = bench("reads", Memory { fails: Some(|key| key % 4 == 0), ..Memory::default() });
            let gauge = Arc::new(Gauge::new(1_000, way.tasks()));
            let (counted, _) = run_on(&runtime, way, &wrong, &gauge, ("reads", 1_000)).0.unwrap();
            assert_eq!((counted.answered(), counted.errors[&ErrorKind::Overloaded].count), (1_000, 250), "{way:?}");

            let mut many = bench("writes", Memory::default());
            let column = || cqldyno_scenarios::Kind::Bigint { times: 1, plus: 0 }.into();
            let columns: Vec<_> = std::iter::repeat_with(column).take(MAX_VALUES).collect();
            Arc::get_mut(&mut many).unwrap().prepared[0].values = crate::binding::Columns::new(&columns);
            let gauge = Arc::new(Gauge::new(10, way.tasks()));
            run_on(&runtime, way, &many, &gauge, ("writes", 10)).0.unwrap();
            assert_eq!(many.session.most_values.load(Ordering::Relaxed), MAX_VALUES, "{way:?}");
        }
    }
}

#[test]
fn a_stopped_run_issues_no_more_and_still_has_its_end() {
    for submit in LIMITED {
        for (runtime, way) in on_runtimes(submit, 16) {
            let gauge = Arc::new(Gauge::new(20_000, way.tasks()));
            let stop = Arc::clone(&gauge);
            let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(move |executed| {
                if executed == 100 {
                    stop.stop();
                }
            });
            let bench = bench("writes", Memory { observe: Some(observe), ..Memory::default() });
            let (ended, ends) = run_on(&runtime, way, &bench, &gauge, ("writes", 20_000));
            let answered = ended.unwrap().0.answered();
            // All tasks of `SpawnAll` were there before the stop.
            let most = if submit == Submit::SpawnAll { 20_000 } else { 200 };
            assert!((100..=most).contains(&answered) && ends == 1, "{answered} {way:?}");
        }
    }
}

#[test]
fn a_panic_of_the_driver_is_an_error_and_no_end() {
    for submit in WAYS {
        for (runtime, way) in on_runtimes(submit, 8) {
            let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(|executed| assert_ne!(executed, 50, "cursed"));
            let bench = bench("writes", Memory { observe: Some(observe), ..Memory::default() });
            let gauge = Arc::new(Gauge::new(1_000, way.tasks()));
            let (ended, ends) = run_on(&runtime, way, &bench, &gauge, ("writes", 1_000));
            let message = ended.map(drop).unwrap_err().to_string();
            assert!(message.starts_with("the driver panicked while it executed a statement: "), "{message}");
            assert_eq!(ends, 0);
        }
    }
}

#[test]
fn streams_share_the_statements_in_flight_among_the_threads() {
    let shares = |in_flight, workers| {
        let way = Way::new(Submit::Stream, in_flight, Runtime::Multi { workers });
        way.shares().collect::<Vec<_>>()
    };
    assert_eq!(shares(1_024, 2), [512, 512]);
    assert_eq!(shares(10, 3), [4, 3, 3]);
    assert_eq!(shares(1, 4), [1], "no stream has none");
    assert_eq!(Way::new(Submit::Sequential, 1_024, Runtime::Current).tasks(), 1);
    assert_eq!(Way::new(Submit::Slots, 1_024, Runtime::Current).tasks(), 1_024);
}
