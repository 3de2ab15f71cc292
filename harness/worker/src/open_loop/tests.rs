use std::sync::atomic::{AtomicBool, AtomicUsize};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cqldyno_driver_api::{DriverError, ErrorKind, Value};
use cqldyno_protocol::{Tickets, Trace};
use cqldyno_scenarios::{Workload, builtin};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use proptest::prelude::*;
use tokio::runtime::{Builder, Runtime};

use super::*;
use crate::binding::Columns;
use crate::generator::{Bench, OnError, Prepared, Source};

/// Answers at once, except where it is told to stand still, fail or panic at a statement, counted from 0.
#[derive(Default)]
struct Obliging {
    keys: Mutex<Vec<i64>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    stands_still_at: Option<(usize, Duration)>,
    fails: bool,
    /// These keys are refused, and these are never answered.
    refuses: Option<fn(i64) -> bool>,
    hangs: Option<fn(i64) -> bool>,
    /// This statement panics, or stops the run; those behind it wait until the run is stopped.
    panics_at: Option<(usize, Arc<Gauge>)>,
    stops_at: Option<(usize, Arc<Gauge>)>,
}

impl Session for Obliging {
    type Statement = ();

    async fn query(&self, _: &str) -> Result<(), DriverError> {
        Ok(())
    }

    async fn prepare(&self, _: &str) -> Result<(), DriverError> {
        Ok(())
    }

    async fn execute(&self, _: &(), values: &[Value<'_>], _: &mut Rows) -> Result<(), DriverError> {
        let Some(&Value::Bigint(key)) = values.first() else { panic!("{values:?}") };
        let nth = {
            let mut keys = self.keys.lock().unwrap();
            keys.push(key);
            keys.len() - 1
        };
        let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        if self.hangs.is_some_and(|hangs| hangs(key)) {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            return std::future::pending().await;
        }
        match self.stands_still_at {
            Some((at, time)) if at == nth => tokio::time::sleep(time).await,
            _ => yield_now().await,
        }
        if let Some((at, gauge)) = self.panics_at.as_ref().or(self.stops_at.as_ref()) {
            while nth > *at && !gauge.is_stopped() {
                yield_now().await;
            }
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            assert!(nth != *at || self.panics_at.is_none(), "as asked");
            if nth == *at {
                gauge.stop();
            }
        } else {
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
        }
        if self.fails || self.refuses.is_some_and(|refuses| refuses(key)) {
            Err(DriverError::new(ErrorKind::Overloaded, "too much"))
        } else {
            Ok(())
        }
    }
}

fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ]
}

type Outcome = Result<(Counted, Option<Pace>), Failed>;

fn start(runtime: &Runtime, session: Obliging, gauge: &Arc<Gauge>, count: u64, rate: u64) -> (Outcome, Obliging, bool) {
    start_traced(runtime, session, gauge, (count, rate), None)
}

fn start_traced(
    runtime: &Runtime,
    session: Obliging,
    gauge: &Arc<Gauge>,
    (count, rate): (u64, u64),
    trace: Option<Arc<Tracer>>,
) -> (Outcome, Obliging, bool) {
    let scenario = builtin("writes").unwrap();
    let prepared = scenario
        .statements
        .iter()
        .map(|statement| Prepared {
            statement: (),
            values: Columns::new(&statement.values),
            expect: None,
            name: statement.name.as_str().into(),
        })
        .collect();
    let bench = Arc::new(Bench { session, prepared, operations: None, offline: false });
    let source = Source::Window(workload(count));
    let ended = Arc::new(AtomicBool::new(false));
    let at_end = {
        let (bench, ended) = (Arc::clone(&bench), Arc::clone(&ended));
        move || {
            assert_eq!(bench.session.in_flight.load(Ordering::Relaxed), 0, "the end comes after the last answer");
            assert!(!ended.swap(true, Ordering::Relaxed), "and once");
        }
    };
    let window = Run::new(&bench, source, gauge, Clock::new(), OnError::Count, at_end);
    let outcome = runtime.block_on(run(window, Clock::new(), rate, trace));
    let session = Arc::into_inner(bench).unwrap().session;
    (outcome, session, ended.load(Ordering::Relaxed))
}

fn workload(count: u64) -> Workload {
    Workload::new(&builtin("writes").unwrap(), count, 0, 7).unwrap()
}

fn read(text: &str) -> Histogram<u64> {
    Deserializer::new().deserialize(&mut BASE64_STANDARD.decode(text).unwrap().as_slice()).unwrap()
}

#[test]
fn every_statement_is_started_once_and_all_of_them_are_in_every_histogram() {
    for runtime in runtimes() {
        for (count, concurrency, rate) in [(500, 64, 20_000), (1_000, 1, 200_000), (1, 8, 1), (100, 100, 5_000)] {
            let gauge = Arc::new(Gauge::new(count, concurrency));
            let (outcome, session, ended) = start(&runtime, Obliging::default(), &gauge, count, rate);
            let (counted, pace) = outcome.unwrap();
            let pace = pace.unwrap();
            assert!(ended);
            assert_eq!((counted.answered(), counted.failed(), gauge.taken()), (count, 0, count));
            let mut keys = session.keys.into_inner().unwrap();
            keys.sort_unstable();
            keys.dedup();
            assert_eq!(keys.len() as u64, count, "no key twice");
            assert!(session.most_in_flight.into_inner() <= concurrency);
            let (response, lateness) = (read(&pace.response), read(&pace.lateness));
            assert_eq!((response.len(), lateness.len(), pace.rate), (count, count, rate));
            assert!(pace.late <= count && pace.late_after_ns == 1_000_000);
            let lowest = (count - 1) * 1_000_000_000 / rate;
            assert!(pace.lasted_ns + 1_000 > lowest, "{} < {lowest}: no statement starts early", pace.lasted_ns);
        }
    }
}

#[test]
fn a_driver_that_stands_still_is_charged_for_what_should_have_started_meanwhile() {
    for runtime in runtimes() {
        let pause = Duration::from_millis(60);
        let session = Obliging { stands_still_at: Some((0, pause)), ..Obliging::default() };
        let gauge = Arc::new(Gauge::new(40, 1));
        let (outcome, ..) = start(&runtime, session, &gauge, 40, 1_000);
        let (counted, pace) = outcome.unwrap();
        let pace = pace.unwrap();
        // The statements are intended to start within the first 39 ms, and none but the first can before the sixtieth.
        let (response, lateness) = (read(&pace.response), read(&pace.lateness));
        let slightly_less = |millis: u64| millis * 1_000_000 - 100_000;
        assert!(response.min() >= slightly_less(21), "{}", response.min());
        assert!(response.value_at_quantile(0.5) >= slightly_less(40), "{}", response.value_at_quantile(0.5));
        // The first one is not late, so that the twentieth of the forty is the nineteenth that is.
        assert!(lateness.value_at_quantile(0.5) >= slightly_less(39), "{}", lateness.value_at_quantile(0.5));
        assert!(pace.late >= 39, "{}", pace.late);
        assert!(pace.latest_ns >= slightly_less(59), "{}", pace.latest_ns);
        let driver = read(&counted.latencies.base64().unwrap());
        assert!(driver.max() >= slightly_less(60), "{}", driver.max());
        assert_eq!(driver.len(), 40);
    }
}

#[test]
fn errors_are_counted_and_the_rate_goes_on() {
    for runtime in runtimes() {
        let gauge = Arc::new(Gauge::new(100, 4));
        let (outcome, ..) = start(&runtime, Obliging { fails: true, ..Obliging::default() }, &gauge, 100, 10_000);
        let (counted, pace) = outcome.unwrap();
        assert_eq!((counted.answered(), counted.failed()), (100, 100));
        assert_eq!(read(&pace.unwrap().response).len(), 100);
    }
}

#[test]
fn a_run_that_is_stopped_or_panics_ends_before_its_last_statement() {
    for runtime in runtimes() {
        // A rate that would take minutes; and one at which all statements are let go at once.
        for rate in [1_000, 1_000_000_000] {
            let gauge = Arc::new(Gauge::new(100_000, 3));
            let session = Obliging { stops_at: Some((5, Arc::clone(&gauge))), ..Obliging::default() };
            let (outcome, _, ended) = start(&runtime, session, &gauge, 100_000, rate);
            let (counted, _) = outcome.unwrap();
            assert!((6..9).contains(&counted.answered()), "{}", counted.answered());
            assert!(ended);

            let gauge = Arc::new(Gauge::new(100_000, 3));
            let session = Obliging { panics_at: Some((5, Arc::clone(&gauge))), ..Obliging::default() };
            let (outcome, _, ended) = start(&runtime, session, &gauge, 100_000, rate);
            assert!(outcome.unwrap_err().message.contains("as asked"));
            assert!(!ended);
        }
    }
}

fn tracer(gauge: &Gauge, rate: u64, patience_ms: u64) -> Arc<Tracer> {
    Arc::new(Tracer::of_window(gauge, rate, Trace { patience_ms }))
}

/// All runtimes at a time, because each waits for its patience.
fn on_each_runtime(test: impl Fn(&Runtime) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for runtime in runtimes() {
            scope.spawn(move || test(&runtime));
        }
    });
}

#[test]
fn every_ticket_of_a_traced_window_was_right_or_failed_or_has_no_answer_when_the_patience_ends() {
    on_each_runtime(|runtime| {
        let gauge = Arc::new(Gauge::of(700..1_000, 64));
        let session =
            Obliging { refuses: Some(|key| key % 10 == 3), hangs: Some(|key| key % 10 == 7), ..Obliging::default() };
        let trace = tracer(&gauge, 20_000, 2_000);
        let (outcome, session, ended) =
            start_traced(runtime, session, &gauge, (1_000, 20_000), Some(Arc::clone(&trace)));
        let (counted, pace) = outcome.unwrap();
        assert!(ended, "the window has its end");
        assert_eq!(session.keys.into_inner().unwrap().len(), 300);
        let workload = workload(1_000);
        let tickets =
            |digit| (700..1_000).filter(|ticket| workload.issue(*ticket).key % 10 == digit).collect::<Tickets>();
        let told = trace.told(&gauge);
        assert_eq!((&told.failed, &told.unanswered), (&tickets(3), &tickets(7)));
        let (failed, unanswered) = (told.failed.count(), told.unanswered.count());
        assert!(failed > 0 && unanswered > 0);
        assert_eq!(
            (counted.answered(), counted.failed()),
            (300 - unanswered, failed),
            "no error of those without an answer"
        );
        assert_eq!(told.answers_per_10ms.iter().sum::<u64>(), 300 - unanswered - failed);
        assert_eq!(read(&pace.unwrap().response).len(), 300 - unanswered, "also of slots that were ended");
    });
}

#[test]
fn statements_that_find_every_slot_stuck_are_not_issued() {
    on_each_runtime(|runtime| {
        let gauge = Arc::new(Gauge::new(1_000, 4));
        let session = Obliging { hangs: Some(|key| key % 2 == 0), ..Obliging::default() };
        let trace = tracer(&gauge, 100_000, 1_000);
        let (outcome, session, ended) =
            start_traced(runtime, session, &gauge, (1_000, 100_000), Some(Arc::clone(&trace)));
        let (counted, _) = outcome.unwrap();
        let issued = session.keys.into_inner().unwrap().len() as u64;
        let told = trace.told(&gauge);
        assert!(ended && issued < 1_000, "{issued}");
        assert_eq!((told.failed.count(), told.unanswered.count()), (0, 4));
        assert_eq!(counted.answered(), issued - 4);
        assert!(told.unanswered.iter().all(|ticket| ticket < issued), "slots take tickets in their order");
    });
}

#[test]
fn a_traced_window_that_is_stopped_has_patience_from_then_on() {
    on_each_runtime(|runtime| {
        // All statements would take hours.
        let gauge = Arc::new(Gauge::new(10_000, 3));
        let stops_at = Some((5, Arc::clone(&gauge)));
        let session = Obliging { stops_at, hangs: Some(|key| key % 10 == 7), ..Obliging::default() };
        let trace = tracer(&gauge, 1_000, 1);
        let (outcome, session, ended) =
            start_traced(runtime, session, &gauge, (10_000, 1_000), Some(Arc::clone(&trace)));
        let (counted, _) = outcome.unwrap();
        let issued = session.keys.into_inner().unwrap().len() as u64;
        assert!(ended && issued < 100, "{issued}");
        assert_eq!(counted.answered() + trace.told(&gauge).unanswered.count(), issued);
    });
}

#[test]
fn a_traced_window_in_which_everything_is_answered_waits_for_nothing() {
    on_each_runtime(|runtime| {
        let gauge = Arc::new(Gauge::new(500, 8));
        // Longer than a test may take.
        let trace = tracer(&gauge, 50_000, 3_000_000);
        let (outcome, ..) = start_traced(runtime, Obliging::default(), &gauge, (500, 50_000), Some(Arc::clone(&trace)));
        assert_eq!(outcome.unwrap().0.answered(), 500);
        let told = trace.told(&gauge);
        assert_eq!(
            (told.failed.count() + told.unanswered.count(), told.answers_per_10ms.iter().sum::<u64>()),
            (0, 500)
        );
    });
}

proptest! {
    #[test]
    fn a_statement_is_due_from_its_intended_start_on_and_not_before(
        rate in 1u64..10_000_000,
        ticket in 0u64..1_000_000_000,
        origin in 1u64 << 30..1 << 50,
    ) {
        let pacer = Pacer::new(Clock::new(), rate, u64::MAX, None);
        pacer.origin.store(origin, Ordering::Relaxed);
        let intended = pacer.intended(ticket);
        prop_assert!(pacer.due_at(intended) > ticket);
        prop_assert!(pacer.due_at(intended - 1) <= ticket);
        prop_assert_eq!(pacer.due_at(origin - 1), 0);
    }
}

#[test]
fn the_first_statement_is_due_when_every_slot_has_begun() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let (clock, time) = Clock::mock();
    let gauge = Arc::new(Gauge::new(10, 2));
    let bench =
        Arc::new(Bench { session: Obliging::default(), prepared: Vec::new(), operations: None, offline: false });
    let source = Source::Window(workload(10));
    let run = Run::new(&bench, source, &gauge, clock.clone(), OnError::Count, || {});
    let pacer = Arc::new(Pacer::new(clock, 1, 10, None));
    runtime.block_on(async {
        let pacing = tokio::spawn(let_go(Arc::clone(&run), Arc::clone(&pacer), Alarm::new().unwrap()));
        time.increment(1_000);
        let first = Presence::new(Arc::clone(&run));
        yield_now().await;
        assert_eq!((pacer.intended(0), pacer.due.available_permits()), (0, 0), "one slot has yet to begin");
        time.increment(5_000);
        let second = Presence::new(run);
        pacer.due.acquire().await.unwrap().forget();
        assert_eq!((pacer.intended(0), pacer.due.available_permits()), (6_000, 0));
        gauge.stop();
        drop((first, second));
        pacing.await.unwrap().unwrap();
    });
}
