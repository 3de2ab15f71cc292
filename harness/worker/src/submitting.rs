//! Ways of submitting other than slots: a stream of futures per thread, or a task per statement.
//!
//! They are what programs do, and cost what they cost. So their tasks, futures and permits are part of the figure.

use std::future::Future;
use std::iter::{from_fn, repeat_n};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use cqldyno_driver_api::{Rows, Session};
use cqldyno_protocol::Runtime;
use cqldyno_scenarios::{Issue, MAX_VALUES, Submit};
use futures_util::stream::{StreamExt, iter};
use pin_project_lite::pin_project;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{JoinHandle, unconstrained, yield_now};

use crate::binding::Values;
use crate::generator::{FEW_VALUES, MANY_VALUES, Panicked, Presence, Run, check};
use crate::recorder::Counted;

/// A stream lets other tasks run after so many answers, even if its driver is always ready. It is a rare event, so that it
/// changes no count of polls: each gives the task a fresh budget.
const ANSWERS_A_TURN: u64 = 1 << 16;

/// Statements in flight, and what drives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    submit: Submit,
    in_flight: usize,
    threads: usize,
}

impl Way {
    /// `submit` with so many statements in flight on this runtime.
    pub(crate) fn new(submit: Submit, in_flight: usize, runtime: Runtime) -> Way {
        let threads = match runtime {
            Runtime::Current => 1,
            Runtime::Multi { workers } => workers,
        };
        Way { submit, in_flight, threads }
    }

    /// The tasks that take part in the run until its end, which the gauge counts.
    pub(crate) fn tasks(self) -> usize {
        match self.submit {
            Submit::Slots => self.in_flight,
            Submit::Stream | Submit::StreamUnconstrained => self.threads.min(self.in_flight),
            Submit::Spawn | Submit::SpawnAll | Submit::Unlimited | Submit::Sequential => 1,
        }
    }

    /// Statements in flight of each task.
    fn shares(self) -> impl Iterator<Item = usize> {
        let (tasks, all) = (self.tasks(), self.in_flight);
        let more = all % tasks;
        repeat_n(all / tasks + 1, more).chain(repeat_n(all / tasks, tasks - more))
    }
}

/// Issues every ticket of the run in that way, and counts; as [`crate::generator::run`] does with slots. The gauge has
/// [`Way::tasks`]. Also returns how often the statements' futures were polled.
pub(crate) async fn run<S: Session>(run: Arc<Run<S>>, way: Way) -> Result<(Counted, u64), Panicked> {
    let polls = Arc::new(AtomicU64::new(0));
    let tasks = {
        let (run, polls) = (Arc::clone(&run), Arc::clone(&polls));
        // A task spawns them, for the reason that slots have.
        let spawn = match run.bench.prepared.iter().map(|one| one.values.len()).max().unwrap_or(0) {
            few if few <= FEW_VALUES => spawn::<S, FEW_VALUES>,
            many if many <= MANY_VALUES => spawn::<S, MANY_VALUES>,
            _ => spawn::<S, MAX_VALUES>,
        };
        tokio::spawn(async move { way.shares().map(|share| spawn(&run, way, share, &polls)).collect() })
    };
    let counted = run.wait_for(tasks).await?;
    Ok((counted, polls.load(Ordering::Relaxed)))
}

/// Spawns one of the way's tasks, which has so many statements in flight of at most `N` values each.
fn spawn<S: Session, const N: usize>(
    run: &Arc<Run<S>>,
    way: Way,
    in_flight: usize,
    polls: &Arc<AtomicU64>,
) -> JoinHandle<()> {
    let (presence, polls) = (Presence::new(Arc::clone(run)), Arc::clone(polls));
    match way.submit {
        Submit::Stream => tokio::spawn(stream::<S, N>(presence, in_flight, polls)),
        Submit::StreamUnconstrained => tokio::spawn(unconstrained(stream::<S, N>(presence, in_flight, polls))),
        submit => tokio::spawn(tasks::<S, N>(presence, submit, in_flight, polls)),
    }
}

async fn stream<S: Session, const N: usize>(presence: Presence<S>, in_flight: usize, polls: Arc<AtomicU64>) {
    let run = &*presence;
    let statements = iter(tickets(run)).map(|ticket| Polled::new(statement::<S, N>(run, ticket)));
    let mut answers = std::pin::pin!(statements.buffer_unordered(in_flight));
    let (mut polled, mut answered) = (0, 0);
    while let Some((own, is_right)) = answers.next().await {
        polled += own;
        answered += 1;
        // Without this, a driver that fails at once would keep its own tasks from mending what is broken.
        if !is_right || answered % ANSWERS_A_TURN == 0 {
            yield_now().await;
        }
    }
    polls.fetch_add(polled, Ordering::Relaxed);
}

/// Spawns a task for every statement.
async fn tasks<S: Session, const N: usize>(
    presence: Presence<S>,
    submit: Submit,
    in_flight: usize,
    polls: Arc<AtomicU64>,
) {
    let shared = Arc::new(Shared { presence, polls });
    let permits = Arc::new(Semaphore::new(in_flight));
    for ticket in tickets(&shared.presence) {
        let one = Task(Arc::clone(&shared));
        match submit {
            Submit::Spawn => {
                let permit = Arc::clone(&permits).acquire_owned().await.ok();
                tokio::spawn(one.issue::<N>(ticket, permit));
            }
            Submit::SpawnAll => {
                let permits = Arc::clone(&permits);
                tokio::spawn(async move { one.issue::<N>(ticket, permits.acquire_owned().await.ok()).await });
            }
            _ => drop(tokio::spawn(one.issue::<N>(ticket, None))),
        }
    }
}

/// What the tasks of statements share. The last of them ends the run by dropping it.
struct Shared<S: Session> {
    presence: Presence<S>,
    polls: Arc<AtomicU64>,
}

struct Task<S: Session>(Arc<Shared<S>>);

impl<S: Session> Task<S> {
    /// Issues the statement of `ticket`, and gives its permit back.
    async fn issue<const N: usize>(self, ticket: u64, permit: Option<OwnedSemaphorePermit>) {
        let Shared { presence, polls } = &*self.0;
        let (polled, _) = Polled::new(statement::<S, N>(presence, ticket)).await;
        polls.fetch_add(polled, Ordering::Relaxed);
        drop(permit);
    }
}

impl<S: Session> Drop for Task<S> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.presence.panics();
        }
    }
}

/// The tickets that are left, until the run is stopped.
fn tickets<S: Session>(run: &Run<S>) -> impl Iterator<Item = u64> {
    from_fn(move || if run.gauge.is_stopped() { None } else { run.gauge.take_one() })
}

/// Issues one statement as a slot does; returns whether its answer was right. `N` is at least the number of values of every
/// statement.
async fn statement<S: Session, const N: usize>(run: &Run<S>, ticket: u64) -> bool {
    let issued = run.recorders.now();
    let Issue { statement, key } = run.source.issue(ticket);
    let Some(prepared) = run.bench.prepared.get(statement) else { return true };
    let mut rows = Rows::new();
    // Nothing is allocated unless the statement has unique texts or blobs.
    let mut room = vec![0; prepared.values.room()];
    let mut values = Values::<N>::new();
    let values = prepared.values.bind(key, &mut values, &mut room);
    let outcome = run.bench.session.execute(&prepared.statement, values, &mut rows).await;
    run.recorders.answered(statement, issued, run.recorders.now());
    run.is_right(check(&run.bench, prepared, outcome, key, &mut rows))
}

pin_project! {
    /// A future that counts its polls, and ends with their number.
    struct Polled<F> {
        #[pin]
        future: F,
        polls: u64,
    }
}

impl<F> Polled<F> {
    fn new(future: F) -> Polled<F> {
        Polled { future, polls: 0 }
    }
}

impl<F: Future> Future for Polled<F> {
    type Output = (u64, F::Output);

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        *this.polls += 1;
        Poll::Ready((*this.polls, ready!(this.future.poll(context))))
    }
}

#[cfg(test)]
mod tests;
