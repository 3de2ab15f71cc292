//! What a program waits for before its first answer: connecting, preparing and the first statement, each time on a new session.

use std::sync::Arc;

use cqldyno_driver_api::{ConnectOptions, Driver, DriverError, Rows, Session, Value};
use cqldyno_protocol::Job;
use cqldyno_scenarios::MAX_VALUES;
use quanta::Clock;

use crate::binding::Values;
use crate::cell::close;
use crate::gauge::Gauge;
use crate::generator::{Bench, Source, check};
use crate::recorder::{Counted, Recorders};

/// Takes every ticket of `source` in turn: connects with `options`, prepares the statements of `job`, executes the ticket's one
/// and closes. The time until the answer is measured. A session that fails counts as an error.
///
/// `bench` is the worker's own session: its statements say which values are bound and which rows must come back.
pub(crate) async fn run<D: Driver>(
    driver: &D,
    options: &ConnectOptions,
    job: &Job,
    bench: &Bench<D::Session>,
    source: &Source,
    gauge: &Arc<Gauge>,
    clock: Clock,
) -> Counted {
    let recorders = Recorders::new(bench.prepared.len(), clock);
    let mut rows = Rows::new();
    while !gauge.is_stopped() {
        let Some(ticket) = gauge.take_one() else { break };
        let issue = source.issue(ticket);
        let Some(known) = bench.prepared.get(issue.statement) else { break };
        let (session, outcome) = {
            let (mut room, mut values) = (vec![0; known.values.room()], Values::<MAX_VALUES>::new());
            let values = known.values.bind(issue.key, &mut values, &mut room);
            let from = recorders.now();
            let answer = first_answer(driver, options, job, issue.statement, values, &mut rows).await;
            recorders.answered(issue.statement, from, recorders.now());
            answer
        };
        if let Err(error) = check(bench, known, outcome, issue.key, &mut rows) {
            recorders.failed(error);
        }
        if let Some(session) = session {
            close(session).await;
        }
    }
    recorders.merged()
}

/// The session, if there is one, and how its first statement went.
async fn first_answer<D: Driver>(
    driver: &D,
    options: &ConnectOptions,
    job: &Job,
    statement: usize,
    values: &[Value<'_>],
    rows: &mut Rows,
) -> (Option<D::Session>, Result<(), DriverError>) {
    let session = match driver.connect(options).await {
        Ok(session) => session,
        Err(error) => return (None, Err(error)),
    };
    let mut prepared = Vec::with_capacity(job.scenario.statements.len());
    for statement in &job.scenario.statements {
        match session.prepare(&statement.cql).await {
            Ok(statement) => prepared.push(statement),
            Err(error) => return (Some(session), Err(error)),
        }
    }
    let outcome = match prepared.get(statement) {
        Some(statement) => session.execute(statement, values, rows).await,
        None => Ok(()),
    };
    drop(prepared);
    (Some(session), outcome)
}
