//! The load generator: a fixed number of slots, each a task with a plain loop over one session.

use std::mem::replace;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cqldyno_driver_api::{DriverError, Rows, Session};
use cqldyno_protocol::{Failed, FailureKind};
use cqldyno_scenarios::{Issue, LoadPart, MAX_VALUES, Workload};
use quanta::Clock;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinHandle, yield_now};
use tokio::time::{Instant, timeout_at};

use crate::ahead::Ahead;
use crate::binding::{Columns, Values};
use crate::gauge::Gauge;
use crate::operations::{self, Operations};
use crate::recorder::{Counted, Recorders};
use crate::tape::Reel;
use crate::trace::Written;
use crate::verify::verify;

/// Values that a small slot has room for.
pub(crate) const FEW_VALUES: usize = 3;
/// Values that a slot of most scenarios has room for.
pub(crate) const MANY_VALUES: usize = 32;
/// Values that a slot of selects by key has room for.
const ONE_VALUE: usize = 1;

/// For a slot whose statements have no unique texts or blobs.
const NO_ROOM: [u8; 0] = [];

/// A slot yields after the chunk with which it reaches a multiple of this many tickets. tokio's own budget would take ten cache
/// lines of instructions each time, which costs a driver whose code just fits into the cache.
const TICKETS_A_TURN: u64 = 1_024;

/// A prepared statement, its values and its expected row. Values come first, in the first cache line: a driver's code and data
/// evict everything else between two statements.
#[repr(C, align(64))]
pub(crate) struct Prepared<T> {
    pub(crate) values: Columns,
    pub(crate) expect: Option<Columns>,
    pub(crate) statement: T,
    /// For messages.
    pub(crate) name: Box<str>,
}

/// A session and the statements that were prepared on it.
#[repr(C)]
pub(crate) struct Bench<S: Session> {
    pub(crate) prepared: Vec<Prepared<S::Statement>>,
    /// The driver sends nothing, so expected rows take an answer's place.
    pub(crate) offline: bool,
    /// How statements are issued, unless all are executed.
    pub(crate) operations: Option<Operations<S>>,
    pub(crate) session: S,
}

/// Which statement and key a ticket of a run stands for.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// The scenario's statements, in the window, each key once.
    Window(Workload),
    /// The same with keys in another order.
    Ways(Workload),
    /// The same on the warm-up's keys.
    WarmUp(Workload),
    /// Rows to load before the window, or to read back after it; the index of a part is its prepared statement's.
    Load(Vec<LoadPart>),
    /// The rows of every ticket of the window, to read back after it.
    Written(Arc<Written>),
    /// What a tape has, whose keys are its tickets.
    Tape(Arc<Reel>),
}

impl Source {
    pub(crate) fn window(workload: Workload) -> Source {
        if workload.is_once { Source::Window(workload) } else { Source::Ways(workload) }
    }

    pub(crate) fn count(&self) -> u64 {
        match self {
            Source::Window(workload) | Source::Ways(workload) => workload.count(),
            Source::WarmUp(workload) => workload.warmup(),
            Source::Load(parts) => parts.iter().map(LoadPart::rows).sum(),
            Source::Written(written) => written.rows(),
            Source::Tape(reel) => reel.count(),
        }
    }

    #[inline(always)]
    pub(crate) fn issue(&self, ticket: u64) -> Issue {
        match self {
            Source::Window(workload) => workload.issue_once(ticket),
            _ => self.issue_otherwise(ticket),
        }
    }

    #[cold]
    fn issue_otherwise(&self, ticket: u64) -> Issue {
        match self {
            Source::Window(workload) | Source::Ways(workload) => workload.issue(ticket),
            Source::WarmUp(workload) => workload.warmup_issue(ticket),
            Source::Written(written) => written.issue(ticket),
            Source::Tape(reel) => Issue { statement: reel.statement(ticket), key: ticket },
            Source::Load(parts) => {
                let mut index = ticket;
                let mut last = Issue { statement: 0, key: 0 };
                for (statement, part) in parts.iter().enumerate() {
                    last = Issue { statement, key: part.key(index) };
                    if index < part.rows() {
                        break;
                    }
                    index -= part.rows();
                }
                last
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnError {
    /// Errors are counted.
    Count,
    /// The first error ends the run.
    Stop,
}

/// Every statement that a slot issues ended in an answer, unless the driver panicked.
#[derive(Debug, thiserror::Error)]
#[error("the driver panicked while it executed a statement: {0}")]
pub(crate) struct Panicked(String);

impl From<Panicked> for Failed {
    fn from(panicked: Panicked) -> Failed {
        Failed { kind: FailureKind::Crash, message: panicked.to_string() }
    }
}

impl From<JoinError> for Panicked {
    fn from(error: JoinError) -> Panicked {
        Panicked(error.try_into_panic().map_or_else(|error| error.to_string(), |payload| panic_message(&*payload)))
    }
}

/// What the slots of a run share; the fields that every statement reads are together.
#[repr(C)]
pub(crate) struct Run<S: Session> {
    pub(crate) bench: Arc<Bench<S>>,
    pub(crate) gauge: Arc<Gauge>,
    pub(crate) source: Source,
    pub(crate) recorders: Recorders,
    pub(crate) on_error: OnError,
    slots_left: AtomicUsize,
    panicked: AtomicBool,
    begun: Notify,
    at_end: Box<dyn Fn() + Send + Sync>,
    ended: Notify,
}

/// Issues every ticket of the run with its gauge's concurrency, and counts.
pub(crate) async fn run<S: Session>(run: Arc<Run<S>>) -> Result<Counted, Panicked> {
    let prepared = &run.bench.prepared;
    // Room for values that no statement has would spread the slots over more of the processor's cache.
    let most_values = prepared.iter().map(|prepared| prepared.values.len()).max().unwrap_or(0);
    let most_room = prepared.iter().map(|prepared| prepared.values.room()).max().unwrap_or(0);
    let slots = spawn_all(run.gauge.concurrency(), {
        let run = Arc::clone(&run);
        move || {
            if run.bench.operations.is_some() {
                return tokio::spawn(operations::slot(Arc::clone(&run)));
            }
            let run = Presence { run: Arc::clone(&run) };
            if most_values > MANY_VALUES {
                tokio::spawn(slot::<S, MAX_VALUES, _>(run, vec![0u8; most_room]))
            } else if most_room > 0 {
                tokio::spawn(slot::<S, MANY_VALUES, _>(run, vec![0u8; most_room]))
            } else if most_values <= ONE_VALUE {
                tokio::spawn(slot::<S, ONE_VALUE, _>(run, NO_ROOM))
            } else if most_values <= FEW_VALUES {
                tokio::spawn(slot::<S, FEW_VALUES, _>(run, NO_ROOM))
            } else {
                tokio::spawn(slot::<S, MANY_VALUES, _>(run, NO_ROOM))
            }
        }
    });
    run.wait_for(slots).await
}

/// The tasks of all slots, each spawned by `spawn`.
///
/// A task spawns them, because a thread of a multi-thread runtime puts new tasks into its own queue. Any other thread would put
/// each into the shared queue and wake a worker by a system call. For a thousand slots that takes as long as a thousand
/// statements.
pub(crate) fn spawn_all(
    concurrency: usize,
    spawn: impl Fn() -> JoinHandle<()> + Send + 'static,
) -> JoinHandle<Vec<JoinHandle<()>>> {
    tokio::spawn(async move { std::iter::repeat_with(spawn).take(concurrency).collect() })
}

impl<S: Session> Run<S> {
    /// Of every ticket of `source`.
    ///
    /// `at_end` is called once, by the thread that had the last answer, before any other work. It is not called if the driver
    /// panicked.
    pub(crate) fn new(
        bench: &Arc<Bench<S>>,
        source: Source,
        gauge: &Arc<Gauge>,
        clock: Clock,
        on_error: OnError,
        at_end: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Run<S>> {
        Arc::new(Run {
            bench: Arc::clone(bench),
            source,
            gauge: Arc::clone(gauge),
            recorders: Recorders::new(bench.prepared.len(), clock),
            on_error,
            slots_left: AtomicUsize::new(gauge.concurrency()),
            panicked: AtomicBool::new(false),
            begun: Notify::new(),
            at_end: Box::new(at_end),
            ended: Notify::new(),
        })
    }

    /// Whether an answer was right; counts the error if not.
    #[inline]
    pub(crate) fn is_right(&self, checked: Result<(), DriverError>) -> bool {
        match checked {
            Ok(()) => true,
            Err(error) => {
                self.failed(error);
                false
            }
        }
    }

    /// Ends the run without a result, because the driver panicked in a task that nobody waits for.
    pub(crate) fn panics(&self) {
        self.panicked.store(true, Ordering::Relaxed);
        self.gauge.stop();
    }

    #[cold]
    fn failed(&self, error: DriverError) {
        self.recorders.failed(error);
        if self.on_error == OnError::Stop {
            self.gauge.stop();
        }
    }

    /// Waits until every slot has left, and merges their counts.
    pub(crate) async fn wait_for(&self, slots: JoinHandle<Vec<JoinHandle<()>>>) -> Result<Counted, Panicked> {
        // One wake-up at the end, instead of one for every slot that ends while others are at work.
        self.ended.notified().await;
        self.account(slots.await.map_err(Panicked::from)?).await
    }

    /// The same; slots that are still at work at `over` are ended, without an answer to their statements.
    pub(crate) async fn wait_until(
        &self,
        slots: JoinHandle<Vec<JoinHandle<()>>>,
        over: Instant,
    ) -> Result<Counted, Panicked> {
        let slots = slots.await.map_err(Panicked::from)?;
        if timeout_at(over, self.ended.notified()).await.is_err() {
            self.gauge.stop();
            slots.iter().for_each(JoinHandle::abort);
            self.ended.notified().await;
        }
        self.account(slots).await
    }

    async fn account(&self, slots: Vec<JoinHandle<()>>) -> Result<Counted, Panicked> {
        let mut panicked = None;
        for slot in slots {
            // One that was ended did not panic.
            if let Some(error) = slot.await.err().filter(|error| !error.is_cancelled()) {
                panicked.get_or_insert_with(|| Panicked::from(error));
            }
        }
        match panicked {
            Some(panicked) => Err(panicked),
            None if self.panicked.load(Ordering::Relaxed) => Err(Panicked("the log has its message".to_owned())),
            None => Ok(self.recorders.merged()),
        }
    }

    /// Waits until every slot has issued a first statement, so that none issues a second one before; returns the time then.
    #[cold]
    pub(crate) async fn wait_for_all_to_begin(&self) -> u64 {
        // Made before the look, because it hears only of what comes after it was made.
        let begun = self.begun.notified();
        if !self.gauge.all_begun() {
            begun.await;
        }
        self.recorders.now()
    }
}

pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without a message".to_owned())
}

/// A slot's part in the run until it is dropped, also by a panic or by the end of a runtime before it has begun.
pub(crate) struct Presence<S: Session> {
    run: Arc<Run<S>>,
}

impl<S: Session> Presence<S> {
    /// Of a slot that begins now.
    pub(crate) fn new(run: Arc<Run<S>>) -> Presence<S> {
        let presence = Presence { run };
        presence.begin();
        presence
    }

    fn begin(&self) {
        if self.run.gauge.begin() {
            self.run.begun.notify_waiters();
        }
    }
}

impl<S: Session> Deref for Presence<S> {
    type Target = Run<S>;

    #[inline]
    fn deref(&self) -> &Run<S> {
        &self.run
    }
}

impl<S: Session> Drop for Presence<S> {
    fn drop(&mut self) {
        let run = &self.run;
        run.gauge.leave();
        if std::thread::panicking() {
            run.panics();
        }
        // Acquire and release: the last one sees what the others did before they left.
        if run.slots_left.fetch_sub(1, Ordering::AcqRel) == 1 {
            if !run.panicked.load(Ordering::Relaxed) {
                (run.at_end)();
            }
            run.ended.notify_one();
        }
    }
}

/// `N` is at least the number of values of every statement, and `room` holds the unique texts and blobs of one.
///
/// A thousand slots are more than the processor's second cache holds: every cache line that a slot keeps over an answer is
/// fetched for every statement. So the run's fields are read again after the answer, and the slot is no async fn, which keeps its
/// argument twice.
fn slot<S: Session, const N: usize, B: AsMut<[u8]> + Send>(
    run: Presence<S>,
    mut room: B,
) -> Ahead<impl Future<Output = ()> + Send> {
    Ahead::new(async move {
        // One ticket only, because no slot has a second one before all have begun. Taken before the slot begins, because then
        // others take the rest.
        let mut taken = run.gauge.take_one().map(|ticket| ticket..ticket + 1);
        run.begin();
        let mut rows = Rows::new();
        let mut before = run.recorders.now();
        let mut owes_a_turn = false;
        'issuing: while let Some(tickets) = taken {
            // A chunk and a statement's index fit into 16 bits (MOST_AT_ONCE, MOST_STATEMENTS).
            let (mut ticket, mut left) = (tickets.start, (tickets.end - tickets.start) as u16);
            // Without this, a driver that is always ready would keep the parent's messages out.
            let owed_a_turn = replace(&mut owes_a_turn, tickets.end % TICKETS_A_TURN < u64::from(left));
            // With tickets in hand, so that no other task runs between the last answer and the end.
            if owed_a_turn {
                yield_now().await;
                before = run.recorders.now();
            }
            while left > 0 {
                if !run.gauge.is_steady() {
                    if run.gauge.is_stopped() {
                        break 'issuing;
                    }
                    run.recorders.below_concurrency(run.gauge.is_below_concurrency().into());
                }
                let Issue { statement, key } = run.source.issue(ticket);
                (ticket, left) = (ticket + 1, left - 1);
                let Some(prepared) = run.bench.prepared.get(statement) else { break 'issuing };
                let statement = statement as u16;
                let outcome = {
                    let mut values = Values::<N>::new();
                    let values = prepared.values.bind(key, &mut values, room.as_mut());
                    run.bench.session.execute(&prepared.statement, values, &mut rows).await
                };
                let now = run.recorders.now();
                run.recorders.answered(statement.into(), before, now);
                before = now;
                let Some(prepared) = run.bench.prepared.get(usize::from(statement)) else { break 'issuing };
                let checked = check(&run.bench, prepared, outcome, key, &mut rows);
                // Without this, a driver that fails at once would keep its own tasks from mending what is broken.
                owes_a_turn |= !run.is_right(checked);
            }
            // Before taking tickets that a slot could take which has not begun.
            if !run.gauge.is_steady() && !run.gauge.all_begun() {
                before = run.wait_for_all_to_begin().await;
            }
            taken = run.gauge.take();
        }
    })
}

/// Checks an answer's rows and clears them, so that their buffer serves the thread's next slot.
#[inline(always)]
pub(crate) fn check<S: Session>(
    bench: &Bench<S>,
    prepared: &Prepared<S::Statement>,
    outcome: Result<(), DriverError>,
    key: u64,
    rows: &mut Rows,
) -> Result<(), DriverError> {
    let checked = match outcome {
        Ok(()) => {
            if bench.offline
                && let Some(expect) = &prepared.expect
            {
                expect.fill(key, rows);
            }
            verify(prepared.expect.as_ref(), key, rows).map_err(|error| of_statement(&prepared.name, &error))
        }
        failed => failed,
    };
    rows.clear();
    checked
}

#[cold]
pub(crate) fn of_statement(name: &str, error: &DriverError) -> DriverError {
    DriverError::new(error.kind(), format!("statement {name}: {}", error.message()))
}

#[cfg(test)]
pub(crate) mod tests;
