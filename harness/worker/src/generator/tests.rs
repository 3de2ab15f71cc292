use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::task::{Context, Wake, Waker};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use cqldyno_driver_api::{ErrorKind, Value};
use cqldyno_scenarios::{Column, Kind, builtin};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Barrier;

use super::*;
use crate::ahead;

/// Keeps every key that it was asked for, the most values that a statement had, and the most statements that were in flight at once.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) keys: Mutex<Vec<i64>>,
    pub(crate) most_values: AtomicUsize,
    pub(crate) in_flight: AtomicUsize,
    pub(crate) most_in_flight: AtomicUsize,
    /// The first so many statements are answered only when all of them are in flight.
    pub(crate) gathering: Option<(u64, Barrier)>,
    pub(crate) fails: Option<fn(i64) -> bool>,
    /// Statements behind this many wait until the run is stopped, so that no thread goes on while another is about to stop it.
    pub(crate) held_behind: Option<(u64, Arc<Gauge>)>,
    /// Fails until another task of the same runtime has set this.
    pub(crate) mended: Option<Arc<AtomicBool>>,
    /// Is called at each statement with the number of statements so far.
    pub(crate) observe: Option<Box<dyn Fn(u64) + Send + Sync>>,
    pub(crate) executed: AtomicU64,
    /// The address behind the last values.
    pub(crate) values_end: AtomicUsize,
}

impl Session for Memory {
    type Statement = ();

    async fn query(&self, _: &str) -> Result<(), DriverError> {
        Ok(())
    }

    async fn prepare(&self, _: &str) -> Result<(), DriverError> {
        Ok(())
    }

    async fn execute(&self, _: &(), values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        let executed = self.executed.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(observe) = &self.observe {
            observe(executed);
        }
        if let Some(mended) = &self.mended {
            let mended = mended.load(Ordering::Relaxed);
            return if mended { Ok(()) } else { Err(DriverError::new(ErrorKind::ConnectionLost, "gone")) };
        }
        let Some(&Value::Bigint(key)) = values.first() else { panic!("{values:?}") };
        self.most_values.fetch_max(values.len(), Ordering::Relaxed);
        self.values_end.store(values.as_ptr_range().end.addr(), Ordering::Relaxed);
        let in_flight = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        self.most_in_flight.fetch_max(in_flight, Ordering::Relaxed);
        match &self.gathering {
            Some((size, gathering)) if executed <= *size => {
                gathering.wait().await;
            }
            _ => yield_now().await,
        }
        if let Some((count, gauge)) = &self.held_behind {
            while executed > *count && !gauge.is_stopped() {
                yield_now().await;
            }
        }
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.keys.lock().unwrap().push(key);
        if self.fails.is_some_and(|fails| fails(key)) {
            return Err(DriverError::new(ErrorKind::Overloaded, "too much"));
        }
        if values.len() == 1 {
            for times in 1..=3 {
                rows.push_bigint(times * key);
            }
            rows.end_row();
        }
        Ok(())
    }
}

pub(crate) fn runtimes() -> [Runtime; 2] {
    [
        Builder::new_current_thread().enable_all().build().unwrap(),
        Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap(),
    ]
}

pub(crate) fn bench(scenario: &str, session: Memory) -> Arc<Bench<Memory>> {
    let scenario = builtin(scenario).unwrap();
    let prepared = scenario.statements.iter().map(|statement| Prepared {
        statement: (),
        values: Columns::new(&statement.values),
        expect: statement.expect.as_ref().map(|expect| Columns::new(&expect.columns)),
        name: statement.name.as_str().into(),
    });
    Arc::new(Bench { session, prepared: prepared.collect(), operations: None, offline: false })
}

pub(crate) fn workload(scenario: &str, count: u64, warmup: u64) -> Workload {
    Workload::new(&builtin(scenario).unwrap(), count, warmup, 7).unwrap()
}

/// Runs on `runtime` and gives what was counted and how often the end was called.
fn run_on(
    runtime: &Runtime,
    bench: &Arc<Bench<Memory>>,
    source: Source,
    gauge: &Arc<Gauge>,
    on_error: OnError,
) -> (Result<Counted, Panicked>, u64) {
    let ends = Arc::new(AtomicU64::new(0));
    let at_end = {
        let (ends, bench) = (Arc::clone(&ends), Arc::clone(bench));
        move || {
            assert_eq!(bench.session.in_flight.load(Ordering::Relaxed), 0, "the end comes after the last answer");
            ends.fetch_add(1, Ordering::Relaxed);
        }
    };
    let counted = runtime.block_on(run(Run::new(bench, source, gauge, Clock::new(), on_error, at_end)));
    (counted, ends.load(Ordering::Relaxed))
}

/// Also where the last tickets have one among them behind which a slot lets others have a turn.
#[test]
fn nothing_else_runs_between_the_last_answer_and_the_end() {
    let runtime = &runtimes()[0];
    for (count, concurrency) in [(TICKETS_A_TURN, 1), (2 * TICKETS_A_TURN, 3), (TICKETS_A_TURN + 5, 3)] {
        let [turns, at_last, at_end] = [(); 3].map(|()| Arc::new(AtomicU64::new(0)));
        let note = |place: &Arc<AtomicU64>| {
            let (turns, place) = (Arc::clone(&turns), Arc::clone(place));
            move || place.store(turns.load(Ordering::Relaxed), Ordering::Relaxed)
        };
        let (last, end) = (note(&at_last), note(&at_end));
        let observe = move |executed| {
            if executed == count {
                last();
            }
        };
        let mended = Some(Arc::new(AtomicBool::new(true)));
        let bench = bench("writes", Memory { mended, observe: Some(Box::new(observe)), ..Memory::default() });
        let gauge = Arc::new(Gauge::new(count, concurrency));
        let source = Source::Window(workload("writes", count, 0));
        runtime.block_on(async {
            let turns = Arc::clone(&turns);
            let other = tokio::spawn(async move {
                loop {
                    turns.fetch_add(1, Ordering::Relaxed);
                    yield_now().await;
                }
            });
            run(Run::new(&bench, source, &gauge, Clock::new(), OnError::Count, end)).await.unwrap();
            other.abort();
        });
        let [at_last, at_end] = [at_last, at_end].map(|turns| turns.load(Ordering::Relaxed));
        assert!(
            at_last > 0 && at_last == at_end,
            "{at_last} turns of others before the last answer, {at_end} before the end"
        );
    }
}

#[test]
fn every_key_is_issued_once_at_the_concurrency_asked_for() {
    for runtime in runtimes() {
        for (count, concurrency) in [(5_000, 64), (1_000, 1), (10, 64), (3, 3)] {
            let all = concurrency.min(count as usize);
            let gathering = Some((all as u64, Barrier::new(all)));
            let bench = bench("mixed", Memory { gathering, ..Memory::default() });
            let gauge = Arc::new(Gauge::new(count, concurrency));
            let source = Source::Window(workload("mixed", count, 0));
            let (counted, ends) = run_on(&runtime, &bench, source, &gauge, OnError::Count);
            let counted = counted.unwrap();
            assert_eq!((counted.answered(), counted.failed(), ends), (count, 0, 1));
            assert_eq!(counted.by_statement, [count / 2, count.div_ceil(2)]);
            let mut keys = bench.session.keys.lock().unwrap().clone();
            keys.sort_unstable();
            assert!(keys.iter().copied().eq(0..count as i64), "{count} at {concurrency}");
            let most = bench.session.most_in_flight.load(Ordering::Relaxed);
            assert_eq!(most, all, "{count} at {concurrency}");
            assert!(gauge.all_begun() && gauge.is_below_concurrency(), "all slots have left");
        }
    }
}

#[test]
fn a_statement_has_all_of_its_values_however_many_they_are() {
    for values in [ONE_VALUE, ONE_VALUE + 1, FEW_VALUES, FEW_VALUES + 1, MANY_VALUES, MANY_VALUES + 1, MAX_VALUES] {
        let mut bench = bench("writes", Memory::default());
        let column = || Kind::Bigint { times: 1, plus: 0 }.into();
        let columns: Vec<Column> = std::iter::repeat_with(column).take(values).collect();
        Arc::get_mut(&mut bench).unwrap().prepared[0].values = Columns::new(&columns);
        let source = Source::Window(workload("writes", 10, 0));
        run_on(&runtimes()[0], &bench, source, &Arc::new(Gauge::new(10, 2)), OnError::Count).0.unwrap();
        assert_eq!(bench.session.most_values.load(Ordering::Relaxed), values);
    }
}

/// Also where the driver is always ready at once, so that a slot would go on without letting the others begin.
#[test]
fn no_slot_issues_a_second_statement_before_every_slot_has_begun() {
    for runtime in runtimes() {
        let gauge = Arc::new(Gauge::new(1_000, 8));
        let early = Arc::new(AtomicU64::new(0));
        let (counting, begun) = (Arc::clone(&early), Arc::clone(&gauge));
        // The ninth statement of eight slots is somebody's second one.
        let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(move |executed| {
            counting.fetch_add((executed > 8 && !begun.all_begun()).into(), Ordering::Relaxed);
        });
        let mended = Some(Arc::new(AtomicBool::new(true)));
        let bench = bench("writes", Memory { mended, observe: Some(observe), ..Memory::default() });
        let source = Source::Window(workload("writes", 1_000, 0));
        let counted = run_on(&runtime, &bench, source, &gauge, OnError::Count).0.unwrap();
        assert_eq!((counted.answered(), early.load(Ordering::Relaxed)), (1_000, 0));
    }
}

/// On one thread the slots begin one after the other, and each sees as many at work as have begun.
#[test]
fn what_is_issued_before_99_percent_are_at_work_is_counted() {
    let gauge = Arc::new(Gauge::new(16, 16));
    let bench = bench("writes", Memory::default());
    let source = Source::Window(workload("writes", 16, 0));
    let counted = run_on(&runtimes()[0], &bench, source, &gauge, OnError::Count).0.unwrap();
    assert_eq!((counted.answered(), counted.below_concurrency), (16, 15));
}

#[test]
fn an_answer_is_counted_for_its_statement_however_many_there_are() {
    let statements = 300;
    let mut scenario = builtin("writes").unwrap();
    scenario.statements = vec![scenario.statements[0].clone(); statements];
    let mut bench = bench("writes", Memory::default());
    let prepared = &mut Arc::get_mut(&mut bench).unwrap().prepared;
    let values = prepared[0].values.clone();
    prepared.extend((1..statements).map(|_| Prepared {
        statement: (),
        values: values.clone(),
        expect: None,
        name: Box::default(),
    }));
    let count = 10 * statements as u64;
    let source = Source::window(Workload::new(&scenario, count, 0, 7).unwrap());
    let counted = run_on(&runtimes()[0], &bench, source, &Arc::new(Gauge::new(count, 4)), OnError::Count).0.unwrap();
    assert_eq!(counted.by_statement, vec![10; statements]);
}

/// Also where the driver is always ready at once: a slot that waits for the others leaves them what they are to issue.
#[test]
fn every_slot_has_its_turn_where_there_are_few_tickets() {
    for (count, concurrency) in [(16, 16), (24, 16), (40, 16)] {
        for runtime in runtimes() {
            let slots = Arc::new(Mutex::new(BTreeSet::new()));
            let seen = Arc::clone(&slots);
            let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(move |_| {
                seen.lock().unwrap().insert(tokio::task::id().to_string());
            });
            let mended = Some(Arc::new(AtomicBool::new(true)));
            let bench = bench("writes", Memory { mended, observe: Some(observe), ..Memory::default() });
            let gauge = Arc::new(Gauge::new(count, concurrency));
            let source = Source::Window(workload("writes", count, 0));
            let counted = run_on(&runtime, &bench, source, &gauge, OnError::Count).0.unwrap();
            assert_eq!((counted.answered(), slots.lock().unwrap().len()), (count, concurrency));
        }
    }
}

struct Wakes(AtomicU64);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// If it asked again and again instead, it would take the processor time in which the others could begin.
#[test]
fn a_slot_that_waits_for_the_others_is_woken_once_and_by_the_last_one_to_begin() {
    let gauge = Arc::new(Gauge::new(10, 3));
    let bench = bench("writes", Memory::default());
    let run = Run::new(&bench, Source::Load(Vec::new()), &gauge, Clock::new(), OnError::Count, || {});
    let begin = || Presence::new(Arc::clone(&run));
    let wakes = Arc::new(Wakes(AtomicU64::new(0)));
    let waker = Waker::from(Arc::clone(&wakes));
    let mut context = Context::from_waker(&waker);

    let _first = begin();
    let mut waits = pin!(run.wait_for_all_to_begin());
    assert!(waits.as_mut().poll(&mut context).is_pending());
    let _second = begin();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
    let _last = begin();
    assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
    assert!(waits.as_mut().poll(&mut context).is_ready());
    assert!(pin!(run.wait_for_all_to_begin()).poll(&mut context).is_ready(), "there is nothing left to wait for");
}

#[test]
fn slots_are_spawned_by_a_worker_thread() {
    let outside = std::thread::current().id();
    let spawn = move || {
        assert_ne!(std::thread::current().id(), outside);
        tokio::spawn(async {})
    };
    let runtime = &runtimes()[1];
    assert_eq!(runtime.block_on(async { spawn_all(3, spawn).await.unwrap().len() }), 3);
}

/// By a clock that every statement sets forward by a microsecond, and every turn that others have by a second.
#[test]
fn others_have_turns_and_no_latency_has_the_time_of_them_or_of_another_statement() {
    for concurrency in [1, 3] {
        let (clock, time) = Clock::mock();
        let statement = Arc::clone(&time);
        let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(move |_| statement.increment(1_000));
        let mended = Some(Arc::new(AtomicBool::new(true)));
        let bench = bench("writes", Memory { mended, observe: Some(observe), ..Memory::default() });
        // Others wait until each of the slots has had its tickets of a turn.
        let count = 3 * TICKETS_A_TURN * concurrency as u64;
        let gauge = Arc::new(Gauge::new(count, concurrency));
        let source = Source::Window(workload("writes", count, 0));
        let turn = Arc::clone(&time);
        let counted = runtimes()[0].block_on(async {
            let others = tokio::spawn(async move {
                loop {
                    yield_now().await;
                    turn.increment(1_000_000_000u64);
                }
            });
            let counted = run(Run::new(&bench, source, &gauge, clock, OnError::Count, || {})).await.unwrap();
            others.abort();
            counted
        });
        let bytes = BASE64_STANDARD.decode(counted.latencies.base64().unwrap()).unwrap();
        let latencies: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!((latencies.len(), latencies.min(), latencies.max()), (count, 1_000, 1_000), "{concurrency} at once");
        let turns = time.value() / 1_000_000_000;
        let most = count / TICKETS_A_TURN;
        assert!((2..=most).contains(&turns), "{turns} turns of others, at most {most}, with {concurrency} at once");
    }
}

#[test]
fn warm_up_and_loading_use_the_keys_that_the_workload_says() {
    let workload = workload("mixed", 100, 20);
    let keys_of = |source: Source| {
        let bench = bench("mixed", Memory::default());
        let gauge = Arc::new(Gauge::new(source.count(), 8));
        run_on(&runtimes()[0], &bench, source, &gauge, OnError::Stop).0.unwrap();
        let mut keys = bench.session.keys.lock().unwrap().clone();
        keys.sort_unstable();
        keys
    };
    let mut warm: Vec<i64> = (0..20).map(|ticket| workload.warmup_issue(ticket).key as i64).collect();
    warm.sort_unstable();
    assert_eq!(keys_of(Source::WarmUp(workload.clone())), warm);
    let parts = workload.load();
    let loaded: Vec<i64> = parts.iter().flat_map(|part| (0..part.rows()).map(|row| part.key(row) as i64)).collect();
    assert_eq!(keys_of(Source::Load(parts)), loaded);
}

#[test]
fn tickets_run_through_several_parts_of_a_load_one_after_the_other() {
    let mut scenario = builtin("mixed").unwrap();
    let load = scenario.statements[0].load.clone();
    scenario.statements[1].load = load;
    let parts = Workload::new(&scenario, 10, 2, 7).unwrap().load();
    let source = Source::Load(parts.clone());
    assert_eq!(source.count(), 14);
    let issued: Vec<Issue> = (0..14).map(|ticket| source.issue(ticket)).collect();
    let expected: Vec<Issue> = (0..2)
        .flat_map(|statement| (0..7).map(move |row| (statement, row)))
        .map(|(statement, row)| Issue { statement, key: parts[statement].key(row) })
        .collect();
    assert_eq!(issued, expected);
}

#[test]
fn errors_are_counted_and_the_rest_goes_on() {
    for runtime in runtimes() {
        let bench = bench("reads", Memory { fails: Some(|key| key % 4 == 0), ..Memory::default() });
        let gauge = Arc::new(Gauge::new(1_000, 16));
        let source = Source::Window(workload("reads", 1_000, 0));
        let counted = run_on(&runtime, &bench, source, &gauge, OnError::Count).0.unwrap();
        assert_eq!((counted.answered(), counted.errors[&ErrorKind::Overloaded].count), (1_000, 250));
    }
}

#[test]
fn the_first_error_ends_a_run_that_must_have_none() {
    for runtime in runtimes() {
        let gauge = Arc::new(Gauge::new(100_000, 16));
        let held_behind = Some((1, Arc::clone(&gauge)));
        let bench = bench("reads", Memory { fails: Some(|_| true), held_behind, ..Memory::default() });
        let source = Source::Window(workload("reads", 100_000, 0));
        let counted = run_on(&runtime, &bench, source, &gauge, OnError::Stop).0.unwrap();
        assert!((1..=16).contains(&counted.answered()), "{}", counted.answered());
        assert_eq!(counted.failed(), counted.answered());
    }
}

#[test]
fn stop_issues_no_more_and_waits_for_what_is_in_flight() {
    for runtime in runtimes() {
        let gauge = Arc::new(Gauge::new(100_000, 16));
        let stop = Arc::clone(&gauge);
        let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(move |executed| {
            if executed == 500 {
                stop.stop();
            }
        });
        let held_behind = Some((500, Arc::clone(&gauge)));
        let bench = bench("writes", Memory { observe: Some(observe), held_behind, ..Memory::default() });
        let source = Source::Window(workload("writes", 100_000, 0));
        let (counted, ends) = run_on(&runtime, &bench, source, &gauge, OnError::Count);
        let counted = counted.unwrap();
        let executed = bench.session.executed.load(Ordering::Relaxed);
        assert_eq!((counted.answered(), ends), (executed, 1));
        // What was in flight is answered, and nothing else.
        assert!((500..=515).contains(&executed), "{executed}");
    }
}

#[test]
fn a_panic_of_the_driver_is_an_error_with_its_words_and_no_end() {
    for runtime in runtimes() {
        let observe: Box<dyn Fn(u64) + Send + Sync> = Box::new(|executed| assert_ne!(executed, 50, "cursed"));
        let bench = bench("writes", Memory { observe: Some(observe), ..Memory::default() });
        let gauge = Arc::new(Gauge::new(1_000, 8));
        let source = Source::Window(workload("writes", 1_000, 0));
        let (counted, ends) = run_on(&runtime, &bench, source, &gauge, OnError::Count);
        let message = counted.unwrap_err().to_string();
        assert!(message.contains("cursed"), "{message}");
        assert_eq!(ends, 0);
    }
}

#[test]
fn a_driver_that_fails_at_once_is_not_kept_from_mending_itself() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let mended = Arc::new(AtomicBool::new(false));
    let bench = bench("writes", Memory { mended: Some(Arc::clone(&mended)), ..Memory::default() });
    let gauge = Arc::new(Gauge::new(10_000, 4));
    let counted = runtime.block_on(async {
        tokio::spawn(async move {
            for _ in 0..10 {
                yield_now().await;
            }
            mended.store(true, Ordering::Relaxed);
        });
        let source = Source::Window(workload("writes", 10_000, 0));
        run(Run::new(&bench, source, &gauge, Clock::new(), OnError::Count, || {})).await
    });
    let failed = counted.unwrap().failed();
    assert!((1..1_000).contains(&failed), "{failed}");
}

/// A slot that keeps its rows while it waits would keep their memory from the others.
#[test]
fn an_answers_rows_are_forgotten_as_soon_as_they_are_checked_whatever_came_of_it() {
    let bench = bench("reads", Memory::default());
    for outcome in [Ok(()), Err(DriverError::new(ErrorKind::Codec, "half a row"))] {
        let mut rows = Rows::new();
        rows.push_bigint(7);
        rows.end_row();
        assert!(check(&bench, &bench.prepared[0], outcome, 7, &mut rows).is_err());
        assert!(rows.is_empty() && rows.pages() == 0);
    }
}

#[test]
fn an_offline_drivers_rows_are_put_in_place_and_checked() {
    let mut bench = bench("reads", Memory::default());
    let inner = Arc::get_mut(&mut bench).unwrap();
    inner.offline = true;
    // It answers with a row of its own as well, so that two are found: what is put in place goes through the check.
    let gauge = Arc::new(Gauge::new(100, 4));
    let source = Source::Window(workload("reads", 100, 0));
    let counted = run_on(&runtimes()[0], &bench, source, &gauge, OnError::Count).0.unwrap();
    assert_eq!(counted.errors[&ErrorKind::WrongRow].count, 100);
}

/// 1,024 of them should stay in the second-level cache, beside what the driver itself keeps.
#[test]
fn a_slots_own_state_is_small() {
    let bench = bench("writes", Memory::default());
    let run = Arc::new(Run {
        bench,
        source: Source::Load(Vec::new()),
        gauge: Arc::new(Gauge::new(0, 1)),
        recorders: Recorders::new(1, Clock::new()),
        on_error: OnError::Count,
        slots_left: AtomicUsize::new(1),
        panicked: AtomicBool::new(false),
        begun: Notify::new(),
        at_end: Box::new(|| {}),
        ended: Notify::new(),
    });
    let mut rows = Rows::new();
    let driver = std::mem::size_of_val(&run.bench.session.execute(&(), &[], &mut rows));
    let present = || Presence { run: Arc::clone(&run) };
    let own = [
        std::mem::size_of_val(&slot::<_, ONE_VALUE, _>(present(), NO_ROOM)) - driver,
        std::mem::size_of_val(&slot::<_, FEW_VALUES, _>(present(), NO_ROOM)) - driver,
    ];
    assert!(own[0] <= 80 && own[1] <= ahead::OWN, "{own:?} bytes beside the driver's {driver}");
}

/// Else other memory would be asked for than what the slot looks at.
#[test]
fn a_slots_values_lie_in_what_is_asked_for() {
    fn behind_the_start<const N: usize>(scenario: &str) -> usize {
        let bench = bench(scenario, Memory::default());
        let source = Source::Window(workload(scenario, 1, 0));
        let run = Run::new(&bench, source, &Arc::new(Gauge::new(1, 1)), Clock::new(), OnError::Count, || {});
        let mut slot = pin!(slot::<_, N, _>(Presence { run }, NO_ROOM));
        assert!(slot.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        bench.session.values_end.load(Ordering::Relaxed) - std::ptr::from_ref(&*slot).addr()
    }
    let ends = [behind_the_start::<ONE_VALUE>("reads"), behind_the_start::<FEW_VALUES>("writes")];
    assert!(ends.iter().all(|end| *end <= ahead::OWN), "{ends:?}");
}

#[test]
fn slots_that_are_dropped_before_they_begin_leave_as_the_others() {
    let ends = Arc::new(AtomicU64::new(0));
    let at_end = {
        let ends = Arc::clone(&ends);
        move || {
            ends.fetch_add(1, Ordering::Relaxed);
        }
    };
    let gauge = Arc::new(Gauge::new(10, 3));
    let bench = bench("writes", Memory::default());
    let run = Run::new(&bench, Source::Load(Vec::new()), &gauge, Clock::new(), OnError::Count, at_end);
    for left in [2, 1, 0] {
        drop(slot::<_, FEW_VALUES, _>(Presence { run: Arc::clone(&run) }, NO_ROOM));
        assert_eq!(
            (run.slots_left.load(Ordering::Relaxed), ends.load(Ordering::Relaxed)),
            (left, u64::from(left == 0))
        );
    }
    assert!(!gauge.is_stopped());
}
