//! Statements that are not issued as a prepared EXECUTE.
//!
//! A scenario without any goes through [`crate::generator`]'s own slots; this is decided once per run.

use std::fmt::Write;
use std::future::Future;
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use cqldyno_driver_api::{BatchRows, DriverError, Rows, Session, Value};
use cqldyno_protocol::Job;
use cqldyno_scenarios::{Answer, Operation};
use quanta::Clock;
use tokio::task::{consume_budget, yield_now};

use crate::cell::close;
use crate::gauge::Gauge;
use crate::generator::{Bench, Presence, Run, Source, check};
use crate::recorder::{Counted, Recorders};

pub(crate) type Connect<S> =
    Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<S, DriverError>> + Send>> + Send + Sync>;

/// What a statement is issued as.
enum How {
    Execute,
    Batch {
        of: Answer,
        is_logged: bool,
    },
    /// Of this text.
    Prepare(String),
    Unprepared(String),
    /// These texts are prepared on a new session, and the one at the index is executed.
    Connect {
        texts: Vec<String>,
        at: usize,
    },
}

/// What each statement of a scenario is issued as.
pub(crate) struct Operations<S> {
    each: Vec<How>,
    /// Distinguishes this cell's prepared texts from those of any other cell.
    cell: u128,
    connect: Connect<S>,
}

/// What a slot keeps from one statement to the next, so that none allocates.
#[derive(Default)]
pub(crate) struct Room {
    rows: Rows,
    /// Empty between two statements.
    pub(crate) values: Vec<Value<'static>>,
    /// Where unique texts and blobs lie.
    pub(crate) bytes: Vec<u8>,
    text: String,
}

impl Room {
    /// With bytes for every statement of `bench`.
    pub(crate) fn of<S: Session>(bench: &Bench<S>) -> Room {
        let rows = |index| match bench.operations.as_ref().and_then(|operations| operations.each.get(index)) {
            Some(How::Batch { of, .. }) => usize::try_from(of.most()).unwrap_or_default(),
            _ => 1,
        };
        let bytes = bench.prepared.iter().enumerate().map(|(index, prepared)| prepared.values.room() * rows(index));
        Room { bytes: vec![0; bytes.max().unwrap_or(0)], ..Room::default() }
    }
}

/// The same allocation without values.
pub(crate) fn emptied(mut values: Vec<Value<'_>>) -> Vec<Value<'static>> {
    values.clear();
    values.into_iter().map(|_| Value::Null).collect()
}

impl<S: Session> Operations<S> {
    /// Those of the job's scenario; `None` when all of its statements are executed, and none is played.
    pub(crate) fn new(job: &Job, connect: Connect<S>) -> Option<Operations<S>> {
        let statements = &job.scenario.statements;
        if job.tape.is_none() && statements.iter().all(|statement| statement.operation == Operation::Execute) {
            return None;
        }
        let how = statements.iter().map(|statement| {
            let cql = || statement.cql.trim_end().to_owned();
            match statement.operation {
                Operation::Execute => How::Execute,
                Operation::Batch => How::Batch { of: statement.answer(), is_logged: statement.logged },
                Operation::Prepare => How::Prepare(cql()),
                Operation::Unprepared => How::Unprepared(cql()),
                Operation::Connect => How::Connect { texts: vec![statement.cql.clone()], at: 0 },
            }
        });
        let cell = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Some(Operations { each: how.collect(), cell, connect })
    }

    /// Each statement of the job's scenario on a session of its own, on which all of them are prepared.
    pub(crate) fn connecting(job: &Job, connect: Connect<S>) -> Operations<S> {
        let texts: Vec<String> = job.scenario.statements.iter().map(|statement| statement.cql.clone()).collect();
        let each = (0..texts.len()).map(|at| How::Connect { texts: texts.clone(), at }).collect();
        Operations { each, cell: 0, connect }
    }

    /// Takes every ticket of `source` in turn. `bench` is the worker's own session: its statements say which values are bound and
    /// which rows must come back.
    pub(crate) async fn one_by_one(&self, bench: &Bench<S>, source: &Source, gauge: &Gauge, clock: Clock) -> Counted {
        let recorders = Recorders::new(bench.prepared.len(), clock);
        let mut room = Room::of(bench);
        while !gauge.is_stopped() {
            let Some(ticket) = gauge.take_one() else { break };
            let from = recorders.now();
            let issued = self.issue(bench, source, ticket, &mut room, || recorders.now()).await;
            let Some((statement, answered, checked)) = issued else { break };
            recorders.answered(statement, from, answered);
            if let Err(error) = checked {
                recorders.failed(error);
            }
        }
        recorders.merged()
    }

    /// Issues the statement of a ticket; returns its index, when the answer came according to `now`, and its outcome.
    pub(crate) async fn issue(
        &self,
        bench: &Bench<S>,
        source: &Source,
        ticket: u64,
        room: &mut Room,
        now: impl Fn() -> u64,
    ) -> Option<(usize, u64, Result<(), DriverError>)> {
        let issue = source.issue(ticket);
        let prepared = bench.prepared.get(issue.statement)?;
        let Room { rows, values: kept, bytes, text } = room;
        let mut values: Vec<Value<'_>> = take(kept);
        let how = self.each.get(issue.statement);
        let together = match (source, how) {
            (Source::Tape(reel), _) => reel.bind(ticket, &mut values),
            (_, Some(How::Prepare(_))) => 0,
            (_, Some(How::Batch { of, .. })) => {
                let (first, rows) = (issue.key.wrapping_mul(of.most()), of.rows(issue.key));
                prepared.values.bind_rows(first..first.saturating_add(rows), &mut values, bytes);
                rows
            }
            _ => {
                prepared.values.bind_into(issue.key, &mut values, bytes);
                1
            }
        };
        let mut opened = None;
        let outcome = match how {
            None | Some(How::Execute) => bench.session.execute(&prepared.statement, &values, rows).await,
            Some(How::Batch { is_logged, .. }) => {
                let batch = BatchRows::new(&values, usize::try_from(together).unwrap_or_default());
                let batch = if *is_logged { batch.logged() } else { batch };
                bench.session.batch(&prepared.statement, batch).await
            }
            Some(How::Prepare(cql)) => {
                text.clear();
                // Writing to a text does not fail.
                let _ = write!(text, "{cql} /* {:x}-{:x} */", self.cell, issue.key);
                bench.session.prepare(text).await.map(drop)
            }
            Some(How::Unprepared(cql)) => bench.session.query_values(cql, &values, rows).await,
            Some(How::Connect { texts, at }) => {
                let (session, outcome) = first_answer(&self.connect, texts, *at, &values, rows).await;
                opened = session;
                outcome
            }
        };
        let answered = now();
        *kept = emptied(values);
        if let Some(session) = opened {
            close(session).await;
        }
        let checked = match source {
            Source::Tape(reel) => {
                let checked = outcome.and_then(|()| reel.check(ticket, bench.offline, rows, &prepared.name));
                rows.clear();
                checked
            }
            _ => check(bench, prepared, outcome, issue.key, rows),
        };
        Some((issue.statement, answered, checked))
    }
}

/// The session, if there is one, and the outcome of its first statement.
async fn first_answer<S: Session>(
    connect: &Connect<S>,
    texts: &[String],
    at: usize,
    values: &[Value<'_>],
    rows: &mut Rows,
) -> (Option<S>, Result<(), DriverError>) {
    let session = match connect().await {
        Ok(session) => session,
        Err(error) => return (None, Err(error)),
    };
    let mut prepared = Vec::with_capacity(texts.len());
    for cql in texts {
        match session.prepare(cql).await {
            Ok(statement) => prepared.push(statement),
            Err(error) => return (Some(session), Err(error)),
        }
    }
    let outcome = match prepared.get(at) {
        Some(statement) => session.execute(statement, values, rows).await,
        None => Ok(()),
    };
    drop(prepared);
    (Some(session), outcome)
}

/// A slot of a run with such statements: as [`crate::generator`]'s, one ticket at a time.
pub(crate) async fn slot<S: Session>(run: Arc<Run<S>>) {
    let presence = Presence::new(Arc::clone(&run));
    let mut below_concurrency = 0;
    let (gauge, bench) = (&*run.gauge, &*run.bench);
    let mut room = Room::of(bench);
    let Some(operations) = &bench.operations else { return };
    let mut before = run.recorders.now();
    let mut owes_a_turn = false;
    while let Some(ticket) = gauge.take_one() {
        consume_budget().await;
        if owes_a_turn {
            yield_now().await;
            before = run.recorders.now();
        }
        if gauge.is_stopped() {
            break;
        }
        below_concurrency += u64::from(gauge.is_below_concurrency());
        let issued = operations.issue(bench, &run.source, ticket, &mut room, || run.recorders.now()).await;
        let Some((statement, answered, outcome)) = issued else { break };
        run.recorders.answered(statement, before, answered);
        // Without this, a driver that fails at once would keep its own tasks from mending what is broken.
        owes_a_turn = !run.is_right(outcome);
        if !gauge.all_begun() {
            run.wait_for_all_to_begin().await;
        }
        // Work after an answer, such as closing a session, is not the next statement's.
        before = run.recorders.now();
    }
    drop(presence);
    run.recorders.below_concurrency(below_concurrency);
}
