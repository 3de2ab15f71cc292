//! The open loop: statement `i` is to start at the first one's time plus `i` over the rate, whatever earlier answers do.
//!
//! Response time counts from that intended start. A driver that stands still is charged for every statement that should have
//! started meanwhile (no coordinated omission, Tene 2013). The time from the issue to the answer is counted, too.
//!
//! A task of the driver's own runtime starts due statements: it sleeps on a timer of the kernel (timerfd, which has no slack). So
//! does every slot that has just got an answer. The alternatives are worse:
//!
//! - tokio's own timer wakes up once per millisecond, and would make bursts.
//! - A task that polls the clock would take a core from the driver and keep its runtime from waiting for sockets.
//! - A thread would have to wake the runtime from outside, and would make every malloc of the process dearer.
//!
//! So statements start as in a program whose work comes in through the runtime. If the driver keeps the runtime busy they start
//! late, and that is the driver's time. `noop` at the same rate shows what the pacer itself costs.

use std::io;
use std::mem::take;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cqldyno_driver_api::{Rows, Session, Value};
use cqldyno_protocol::{Failed, FailureKind, Pace};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use quanta::Clock;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Semaphore;
use tokio::task::{consume_budget, yield_now};
use tokio::time::Instant;

use crate::gauge::Gauge;
use crate::generator::{Presence, Run, check, spawn_all};
use crate::latencies::Latencies;
use crate::operations::{Room, emptied};
use crate::recorder::{Counted, ticks_per_second};
use crate::trace::Tracer;

/// A statement issued later than this after its intended start is late.
const LATE_AFTER: Duration = Duration::from_millis(1);

/// The shortest sleep: statements due within it start together. A wake-up costs two system calls and a context switch, and one
/// per statement of a high rate would take the core from the driver. Above 20,000 statements per second a statement starts half
/// of this later in the mean.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);

/// The longest: a run that is stopped is noticed within it.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// How many answers a slot keeps before it hands them over.
const KEPT: usize = 16;

fn no_timer(error: io::Error) -> Failed {
    let message =
        format!("statements cannot be started at a rate, because the system refuses a timer (timerfd): {error}");
    Failed { kind: FailureKind::Job, message }
}

/// Which statements may start.
struct Pacer {
    clock: Clock,
    ticks_per_second: u64,
    rate: u64,
    count: u64,
    /// The intended start of the first statement, in clock ticks; set before any statement is due.
    origin: AtomicU64,
    released: AtomicU64,
    /// One permit per due statement that no slot has taken; waiting slots come first in, first out.
    due: Semaphore,
    counts: Mutex<Counts>,
    trace: Option<Arc<Tracer>>,
}

/// Counts beside the time in the driver.
struct Counts {
    response: Latencies,
    lateness: Latencies,
    late: u64,
    latest_ns: u64,
    last_answer: u64,
}

impl Pacer {
    fn new(clock: Clock, rate: u64, count: u64, trace: Option<Arc<Tracer>>) -> Pacer {
        let ticks_per_second = ticks_per_second(&clock);
        let (response, lateness) = (Latencies::new(), Latencies::new());
        Pacer {
            clock,
            ticks_per_second,
            rate,
            count,
            origin: AtomicU64::new(0),
            released: AtomicU64::new(0),
            due: Semaphore::new(0),
            counts: Mutex::new(Counts { response, lateness, late: 0, latest_ns: 0, last_answer: 0 }),
            trace,
        }
    }

    /// When the window's statement `nth` (from 0) is to start, in clock ticks.
    fn intended(&self, nth: u64) -> u64 {
        let behind = (u128::from(nth) * u128::from(self.ticks_per_second)).div_ceil(self.rate.into());
        self.origin.load(Ordering::Relaxed).saturating_add(u64::try_from(behind).unwrap_or(u64::MAX))
    }

    /// How many statements are to have started at `now`.
    fn due_at(&self, now: u64) -> u64 {
        let Some(passed) = now.checked_sub(self.origin.load(Ordering::Relaxed)) else { return 0 };
        let intervals = u128::from(passed) * u128::from(self.rate) / u128::from(self.ticks_per_second);
        u64::try_from(intervals + 1).unwrap_or(u64::MAX).min(self.count)
    }

    /// Lets every statement go that is due at `now`.
    fn release(&self, now: u64) {
        let due = self.due_at(now);
        // Whoever raises the number first releases the statements in between; the semaphore orders the rest.
        let before = self.released.fetch_max(due, Ordering::Relaxed);
        if due > before {
            self.due.add_permits((due - before) as usize);
        }
    }

    /// Takes in answers that a slot has kept: intended start, issue and answer in clock ticks.
    fn take_in(&self, kept: &mut Vec<(u64, u64, u64)>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for (intended, issued, answered) in kept.drain(..) {
            let lateness = self.clock.delta_as_nanos(intended, issued);
            counts.response.record(self.clock.delta_as_nanos(intended, answered));
            counts.lateness.record(lateness);
            counts.late += u64::from(u128::from(lateness) > LATE_AFTER.as_nanos());
            counts.latest_ns = counts.latest_ns.max(lateness);
            counts.last_answer = counts.last_answer.max(answered);
        }
    }

    fn since_origin(&self, at: u64) -> u64 {
        self.clock.delta_as_nanos(self.origin.load(Ordering::Relaxed), at)
    }

    /// When a traced run has waited long enough: its patience after the last intended start, or after now if it was stopped. `None` if
    /// it waits for every answer.
    fn over(&self, is_stopped: bool) -> Option<Instant> {
        let patience = self.trace.as_ref()?.patience?;
        let now = self.clock.raw();
        let last = if is_stopped { now } else { self.intended(self.count.saturating_sub(1)) };
        // One of them is nothing.
        let between = |from, to| Duration::from_nanos(self.clock.delta_as_nanos(from, to));
        Some(Instant::now() + (patience + between(now, last)).saturating_sub(between(last, now)))
    }

    /// The result of the whole run; `None` if nothing was answered.
    fn told(&self) -> Option<Pace> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Pace {
            rate: self.rate,
            lasted_ns: self.since_origin(counts.last_answer),
            response: counts.response.base64()?,
            lateness: counts.lateness.base64()?,
            late_after_ns: LATE_AFTER.as_nanos() as u64,
            late: counts.late,
            latest_ns: counts.latest_ns,
        })
    }
}

/// Starts every ticket of the run at `rate` statements per second, with as many in flight as its gauge has slots. A statement
/// that finds all slots taken waits, and its response time counts that.
///
/// A traced run ends with its tracer's patience, if it has one, whatever has no answer then. Statements that no slot has taken by then
/// are not issued.
pub(crate) async fn run<S: Session>(
    run: Arc<Run<S>>,
    clock: Clock,
    rate: u64,
    trace: Option<Arc<Tracer>>,
) -> Result<(Counted, Option<Pace>), Failed> {
    let alarm = Alarm::new().map_err(no_timer)?;
    let pacer = Arc::new(Pacer::new(clock, rate.max(1), run.gauge.count(), trace));
    let pacing = tokio::spawn(let_go(Arc::clone(&run), Arc::clone(&pacer), alarm));
    let slots = spawn_all(run.gauge.concurrency(), {
        let (run, pacer) = (Arc::clone(&run), Arc::clone(&pacer));
        move || tokio::spawn(slot(Arc::clone(&run), Arc::clone(&pacer)))
    });
    let paced = async { pacing.await.map_err(io::Error::other).flatten().map_err(no_timer) };
    let (counted, paced) = if pacer.trace.is_none() {
        let counted = run.wait_for(slots).await;
        (counted, paced.await)
    } else {
        // All statements that will start are due then.
        let paced = paced.await;
        let counted = match pacer.over(run.gauge.is_stopped()) {
            Some(over) => run.wait_until(slots, over).await,
            None => run.wait_for(slots).await,
        };
        (counted, paced)
    };
    paced?;
    Ok((counted?, pacer.told()))
}

/// A timer of the kernel whose expiry wakes a task of the runtime up.
struct Alarm {
    timer: TimerFd,
    /// The same file to read from. A read of a timer waits until it expires, as a read of a pipe waits for bytes.
    expiries: pipe::Receiver,
}

impl Alarm {
    fn new() -> io::Result<Alarm> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let expiries = pipe::Receiver::from_owned_fd_unchecked(timer.as_fd().try_clone_to_owned()?)?;
        Ok(Alarm { timer, expiries })
    }

    async fn sleep(&mut self, time: Duration) -> io::Result<()> {
        self.timer.set(Expiration::OneShot(TimeSpec::from_duration(time)), TimerSetTimeFlags::empty())?;
        // More room than the 8 bytes that come: a read that does not fill it tells the runtime that the timer is empty.
        self.expiries.read(&mut [0; 16]).await.map(drop)
    }
}

/// Releases statements as they fall due, until all are released or the run is stopped.
async fn let_go<S: Session>(run: Arc<Run<S>>, pacer: Arc<Pacer>, mut alarm: Alarm) -> io::Result<()> {
    pacer.origin.store(run.wait_for_all_to_begin().await, Ordering::Relaxed);
    let paced = pace(&pacer, &run.gauge, &mut alarm).await;
    // Otherwise the slot that takes the last statement closes it.
    if paced.is_err() || run.gauge.is_stopped() || pacer.count == 0 {
        pacer.due.close();
    }
    paced
}

async fn pace(pacer: &Pacer, gauge: &Gauge, alarm: &mut Alarm) -> io::Result<()> {
    while !gauge.is_stopped() {
        let now = pacer.clock.raw();
        pacer.release(now);
        let released = pacer.released.load(Ordering::Relaxed);
        if released >= pacer.count {
            break;
        }
        let sleep = Duration::from_nanos(pacer.clock.delta_as_nanos(now, pacer.intended(released)));
        alarm.sleep(sleep.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)).await?;
    }
    Ok(())
}

/// Answers that a slot keeps until it hands them over, at last when it ends or is ended.
struct Kept<'a> {
    pacer: &'a Pacer,
    answers: Vec<(u64, u64, u64)>,
}

impl Kept<'_> {
    fn push(&mut self, answer: (u64, u64, u64)) {
        self.answers.push(answer);
        if self.answers.len() == KEPT {
            self.pacer.take_in(&mut self.answers);
        }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.pacer.take_in(&mut self.answers);
    }
}

async fn slot<S: Session>(run: Arc<Run<S>>, pacer: Arc<Pacer>) {
    let mut kept = Kept { pacer: &pacer, answers: Vec::with_capacity(KEPT) };
    let presence = Presence::new(Arc::clone(&run));
    let mut rows = Rows::new();
    let (gauge, bench) = (&*run.gauge, &*run.bench);
    let mut room = Room::of(bench);
    while let Ok(permit) = pacer.due.acquire().await {
        permit.forget();
        consume_budget().await;
        if gauge.is_stopped() {
            pacer.due.close();
            break;
        }
        let Some(ticket) = gauge.take_one() else { break };
        let nth = ticket - gauge.first();
        if nth + 1 == pacer.count {
            pacer.due.close();
        }
        let (statement, issued, (answered, outcome)) = if let Some(operations) = &bench.operations {
            let now = || run.recorders.now();
            let issued = now();
            let answer = Box::pin(operations.issue(bench, &run.source, ticket, &mut room, now)).await;
            let Some((statement, answered, outcome)) = answer else { break };
            (statement, issued, (answered, outcome))
        } else {
            let issue = run.source.issue(ticket);
            let Some(prepared) = bench.prepared.get(issue.statement) else { break };
            let issued = run.recorders.now();
            let mut values: Vec<Value<'_>> = take(&mut room.values);
            let bound = prepared.values.bind_into(issue.key, &mut values, &mut room.bytes);
            let outcome = bench.session.execute(&prepared.statement, bound, &mut rows).await;
            let answered = run.recorders.now();
            room.values = emptied(values);
            (issue.statement, issued, (answered, check(bench, prepared, outcome, issue.key, &mut rows)))
        };
        run.recorders.answered(statement, issued, answered);
        kept.push((pacer.intended(nth), issued, answered));
        if let Some(trace) = &pacer.trace {
            trace.answered(nth, &outcome, pacer.since_origin(answered));
        }
        if !run.is_right(outcome) {
            // Without this, a driver that fails at once would keep its own tasks from mending what is broken.
            yield_now().await;
        }
        pacer.release(answered);
    }
    // Before the counting of what is kept.
    drop(presence);
}

#[cfg(test)]
mod tests;
