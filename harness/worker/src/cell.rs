//! One cell, from the job to `done`.

use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cqldyno_driver_api::{Capability, ConnectOptions, Driver, DriverInfo, ErrorKind, Session};
use cqldyno_protocol::{
    Done, End, Failed, FailureKind, Job, MOST_IN_FLIGHT, Mode, Pace, ParentMessage, Ready, WorkerMessage, lacking,
};
use cqldyno_scenarios::{Column, LoadPart, Statement, Submit, Workload};
use quanta::Clock;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::binding::Columns;
use crate::gauge::Gauge;
use crate::generator::{Bench, OnError, Prepared, Run, Source, run};
use crate::link::{EXIT_DONE, Link, Phase, leave_after};
use crate::open_loop;
use crate::operations::{Connect, Operations};
use crate::recorder::{Counted, MOST_STATEMENTS};
use crate::submitting::{self, Way};
use crate::tape::{self, Player};
use crate::trace::{self, Tracer, Written};
use crate::usage::{Edge, monotonic_ns, threads};

/// The shortest interval of `progress`, so that it wakes nobody often in the window.
const PROGRESS_AT_MOST_EVERY: Duration = Duration::from_millis(500);

/// How long the driver may take to close its session after `done`.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// By how much the runtime's timer may be late.
const TIMER_TICKS: Duration = Duration::from_millis(2);

fn failed(kind: FailureKind, message: String) -> Failed {
    Failed { kind, message }
}

pub(crate) fn connect_options(job: &Job) -> ConnectOptions {
    ConnectOptions {
        contact_points: job.target.clone(),
        credentials: job.credentials.clone(),
        tls: job.tls.clone(),
        datacenter: job.datacenter.clone(),
        connections: job.connections,
        in_flight: job.concurrency,
        consistency: job.consistency,
        page_size: job.page_size,
        request_timeout: job.request_timeout_ms.map(Duration::from_millis),
        settings: job.settings,
        options: job.options.clone(),
    }
}

/// Refuses a job that cannot be carried out, before anything is connected.
pub(crate) fn check(job: &Job, info: &DriverInfo) -> Result<Workload, Failed> {
    let refuse = |message: String| Err(failed(FailureKind::Job, message));
    if !(1..=MOST_IN_FLIGHT).contains(&job.concurrency) {
        return refuse(format!("a concurrency of {} was asked for; ask for 1 to {MOST_IN_FLIGHT}", job.concurrency));
    }
    if let cqldyno_protocol::Runtime::Multi { workers: 0 } = job.runtime {
        return refuse("a multi-thread runtime of 0 workers was asked for; ask for at least 1".to_owned());
    }
    if job.rate == Some(0) {
        return refuse("a rate of 0 statements per second was asked for; ask for at least 1".to_owned());
    }
    if job.rate.is_some() && !job.scenario.submit.has_slots() {
        return refuse(format!(
            "a rate was asked for, and the way of submitting {} keeps none; use slots, or leave the rate out",
            job.scenario.submit
        ));
    }
    if job.tape.is_some() && !job.scenario.submit.has_slots() {
        return refuse(format!(
            "a tape is to be played, and the way of submitting {} plays none; use slots, or leave the tape out",
            job.scenario.submit
        ));
    }
    if job.connections == 0 {
        return refuse("0 connections per node were asked for; ask for at least 1".to_owned());
    }
    if job.target.is_empty() && !info.capabilities.contains(&Capability::Offline) {
        return refuse("no address of a cluster was given; give at least one".to_owned());
    }
    let has_tls = [Capability::Tls, Capability::Offline].iter().any(|one| info.capabilities.contains(one));
    if job.tls.is_some() && !has_tls {
        return refuse(format!("TLS was asked for, and {} does not declare the capability tls", info.name));
    }
    if job.turns == 0 || (job.turns > 1 && matches!(job.mode, Mode::Load | Mode::ReadBack)) {
        return refuse(format!(
            "{} turns were asked for; ask for 1, or for more where statements are measured",
            job.turns
        ));
    }
    if let Some(slice) = job.slice {
        let is_alone = job.mode != Mode::Measure || job.tape.is_some() || job.trace.is_some();
        if is_alone || slice.part >= slice.of {
            return refuse(format!(
                "the slice {} of {} was asked for; ask for one below their number, in the mode measure, without tape and trace",
                slice.part, slice.of
            ));
        }
    }
    // What is played is on the tape. Which statements were unanswered is not.
    let plays = job.tape.is_some() && job.trace.is_none() && matches!(job.mode, Mode::Measure | Mode::Connect);
    if !plays {
        job.scenario.validate(&job.scenario.name).map_err(|error| failed(FailureKind::Job, error.to_string()))?;
    }
    if let Some(message) = trace::refusal(job) {
        return refuse(message);
    }
    if job.scenario.statements.len() > MOST_STATEMENTS {
        return refuse(format!(
            "the scenario {} has {} statements; at most {MOST_STATEMENTS} are possible",
            job.scenario.name,
            job.scenario.statements.len()
        ));
    }
    let measured = if matches!(job.mode, Mode::Measure | Mode::Connect) { &job.scenario.statements[..] } else { &[] };
    for statement in measured {
        if let Some(capability) = lacking(statement.operation, &info.capabilities) {
            return refuse(format!(
                "the scenario {} issues the statement {} as {}, and {} does not declare the capability {capability}",
                job.scenario.name, statement.name, statement.operation, info.name
            ));
        }
        if let Some(name) = statement.type_that(|name| info.lacks_types.contains(name)) {
            return refuse(format!(
                "the statement {} of the scenario {} has a value of the type {name}, which {} lacks",
                statement.name, job.scenario.name, info.name
            ));
        }
    }
    if plays {
        return Ok(Workload::played(job.count, job.warmup));
    }
    Workload::new(&job.scenario, job.count, job.warmup, job.seed)
        .map_err(|error| failed(FailureKind::Job, error.to_string()))
}

/// Carries out `job` and says so; the caller has said `hello` and heard the job.
pub(crate) async fn cell<D: Driver>(
    driver: D,
    info: &DriverInfo,
    job: Job,
    link: &Arc<Link>,
    inbox: &mut UnboundedReceiver<ParentMessage>,
) -> Result<(), Failed> {
    let workload = check(&job, info)?;
    let options = connect_options(&job);
    let driver = Arc::new(driver);
    let clock = Clock::new();
    let session = driver.connect(&options).await.map_err(|error| {
        let nodes: Vec<String> = job.target.iter().map(ToString::to_string).collect();
        let kind = match error.kind() {
            ErrorKind::BadCredentials => FailureKind::BadCredentials,
            _ => FailureKind::Connect,
        };
        failed(kind, format!("{} could not connect to {}: {error}", info.name, nodes.join(", ")))
    })?;
    driver.settle(&options).await;
    let offline = info.capabilities.contains(&Capability::Offline);
    let connect = || -> Connect<D::Session> {
        let (driver, options) = (Arc::clone(&driver), options.clone());
        Box::new(move || {
            let (driver, options) = (Arc::clone(&driver), options.clone());
            Box::pin(async move { driver.connect(&options).await })
        })
    };
    let mut player = match &job.tape {
        Some(tape) if matches!(job.mode, Mode::Measure | Mode::Connect) => Some(Player::open(&job, tape)?),
        _ => None,
    };
    let (bench, source, names) = match job.mode {
        Mode::Measure | Mode::Connect => {
            let bench = prepare_statements(session, &job, offline).await?;
            let bench = Arc::new(Bench { operations: Operations::new(&job, connect()), ..bench });
            let source = match &mut player {
                Some(player) => Source::Tape(Arc::new(player.read(0..workload.warmup())?)),
                None => Source::WarmUp(workload.clone()),
            };
            warm_up(&bench, source, &job, clock.clone(), link).await?;
            let names = job.scenario.statements.iter().map(|statement| statement.name.clone()).collect();
            (bench, Source::window(workload), names)
        }
        Mode::Load | Mode::ReadBack => {
            let parts = if job.mode == Mode::Load {
                create_schema(&session, &job).await?;
                job.tape.as_ref().map_or(Ok(()), |tape| tape::write(&job, tape, &workload))?;
                workload.load()
            } else {
                workload.read_back()
            };
            let bench = Arc::new(prepare_parts(session, &job, &parts).await?);
            let names = names_of(&parts, &job);
            let is_traced = job.mode == Mode::ReadBack && job.trace.is_some();
            let source = match is_traced {
                true => Source::Written(Arc::new(Written::new(workload, &job.scenario, &parts))),
                false => Source::Load(parts),
            };
            (bench, source, names)
        }
    };
    let submit = if job.mode == Mode::Measure { job.scenario.submit } else { Submit::Slots };
    let way = Way::new(submit, job.concurrency, job.runtime);
    let connections = Some(driver.connections(&options)).filter(|own| *own != options.connections);
    let ready = Ready { settings: driver.settings(&options), connections, threads: threads() };
    let mut message = WorkerMessage::Ready(ready);
    for nth in 0..job.turns {
        let own = job.share_of_turn(source.count(), nth);
        let gauge = Gauge::of(own.clone(), way.tasks());
        let has_edges = job.mode == Mode::Measure && job.rate.is_none() && submit.has_slots();
        let gauge = Arc::new(if has_edges { gauge.with_edges() } else { gauge });
        let issued = match &mut player {
            Some(player) => Source::Tape(Arc::new(player.read(own)?)),
            None => source.clone(),
        };
        let clock = clock.clone();
        let tracer = Tracer::of(&job, &gauge).map(Arc::new);
        link.arm(&gauge);
        link.say(&message, Phase::Ready);
        if let ParentMessage::Go { at_ns: Some(at_ns) } = expect(inbox).await {
            wait_until(at_ns).await.map_err(|error| unmeasured(&error))?;
        }

        let reporting = Reporting::begin(link, job.progress_ms);
        let begin = Edge::begin().map_err(|error| unmeasured(&error))?;
        let mut polls = None;
        let (counted, pace) = match (job.mode, job.rate) {
            (Mode::Load, _) => (load(&bench, issued, &gauge, clock, link, begin).await?, None),
            (Mode::Connect, _) => {
                let operations = Operations::connecting(&job, connect());
                let counted = operations.one_by_one(&bench, &issued, &gauge, clock).await;
                say_end(link, &begin.until_now());
                (counted, None)
            }
            (Mode::Measure | Mode::ReadBack, rate) => {
                let end = end_of(link, &gauge, begin);
                let window = Run::new(&bench, issued, &gauge, clock.clone(), OnError::Count, end);
                match rate {
                    Some(rate) if job.mode == Mode::Measure => {
                        open_loop::run(window, clock, rate, tracer.clone()).await?
                    }
                    // As fast as the slots take them.
                    _ if tracer.is_some() => (open_loop::run(window, clock, u64::MAX, tracer.clone()).await?.0, None),
                    _ if submit.has_slots() => (run(window).await?, None),
                    _ => {
                        let (counted, polled) = submitting::run(window, way).await?;
                        polls = Some(polled);
                        (counted, None)
                    }
                }
            }
        };
        // Between two turns the process sleeps.
        drop(reporting);
        let threads = threads();
        expect(inbox).await;
        // Only slots know how many of them are at work.
        let below_concurrency = submit.has_slots().then_some(counted.below_concurrency);
        let mut done = Done { polls, below_concurrency, threads, ..done(counted, pace, &names) };
        if let Some(tracer) = tracer {
            add_trace(&mut done, &tracer, &source, &gauge, &names);
        }
        message = WorkerMessage::Done(Box::new(done));
    }
    link.say(&message, Phase::Closed);
    // A driver that blocks the thread on which it is closed, for answers that never come, ends with the process.
    leave_after(CLOSE_WITHIN, EXIT_DONE);
    if let Some(bench) = Arc::into_inner(bench) {
        drop(bench.prepared);
        // The cell is over; a driver that does not close in time is ended with the process.
        close(bench.session).await;
    }
    Ok(())
}

pub(crate) async fn close<S: Session>(session: S) {
    let _ = tokio::time::timeout(CLOSE_WITHIN, session.close()).await;
}

/// Waits for the next message of the parent. The reader has checked which one it is, and ends the process if none can come.
async fn expect(inbox: &mut UnboundedReceiver<ParentMessage>) -> ParentMessage {
    match inbox.recv().await {
        Some(message) => message,
        None => std::future::pending().await,
    }
}

/// Waits until CLOCK_MONOTONIC shows this. The runtime's timer has ticks of a millisecond, so the thread itself waits for the last ones.
async fn wait_until(at_ns: u64) -> io::Result<()> {
    let left = || Ok::<_, io::Error>(Duration::from_nanos(at_ns.saturating_sub(monotonic_ns()?)));
    tokio::time::sleep(left()?.saturating_sub(TIMER_TICKS)).await;
    std::thread::sleep(left()?);
    Ok(())
}

fn names_of(parts: &[LoadPart], job: &Job) -> Vec<String> {
    let statements = parts.iter().filter_map(|part| job.scenario.statements.get(part.statement));
    statements.map(|statement| statement.name.clone()).collect()
}

pub(crate) async fn prepare_statements<S: Session>(session: S, job: &Job, offline: bool) -> Result<Bench<S>, Failed> {
    let mut prepared = Vec::with_capacity(job.scenario.statements.len());
    let workload = Workload::new(&job.scenario, job.count, job.warmup, job.seed).ok();
    for (index, statement) in job.scenario.statements.iter().enumerate() {
        let (values, expect) = match &workload {
            // What is played is on the tape.
            Some(workload) if job.tape.is_none() => columns_of(job, workload, index),
            _ => (Columns::new(&[]), None),
        };
        prepared.push(prepare(&session, &statement.name, &statement.cql, values, expect).await?);
    }
    Ok(Bench { session, prepared, operations: None, offline })
}

/// What the statement at `index` binds and expects.
pub(crate) fn columns_of(job: &Job, workload: &Workload, index: usize) -> (Columns, Option<Columns>) {
    let Some(statement) = job.scenario.statements.get(index) else { return (Columns::new(&[]), None) };
    let keys = workload.keys(index);
    let partition =
        || -> Vec<Column> { job.scenario.scanned(index).unwrap_or_default().into_iter().cloned().collect() };
    let expect = statement.expect.as_ref().map(|expect| match expect.ranges {
        Some(ranges) => Columns::scanned(expect, ranges, &keys, &partition()),
        None => Columns::expected(expect, &keys),
    });
    (Columns::bound(statement), expect)
}

/// Rows of a key.
fn rows(statement: &Statement) -> NonZeroU64 {
    NonZeroU64::new(statement.stored()).unwrap_or(NonZeroU64::MIN)
}

/// Prepares what loads the rows of `parts`, or what reads them back.
async fn prepare_parts<S: Session>(session: S, job: &Job, parts: &[LoadPart]) -> Result<Bench<S>, Failed> {
    let mut prepared = Vec::with_capacity(parts.len());
    for statement in parts.iter().filter_map(|part| job.scenario.statements.get(part.statement)) {
        let (load, back) = (statement.load.as_ref(), statement.read_back.as_ref());
        let asked = match job.mode {
            Mode::Load => load.map(|load| (&load.cql, &load.values, None)),
            _ => back.map(|back| (&back.cql, &back.values, Some(&back.columns))),
        };
        let Some((cql, values, expect)) = asked else { continue };
        let of = |columns: &Vec<Column>| Columns::of_rows(columns, rows(statement));
        prepared.push(prepare(&session, &statement.name, cql, of(values), expect.map(of)).await?);
    }
    Ok(Bench { session, prepared, operations: None, offline: false })
}

async fn prepare<S: Session>(
    session: &S,
    name: &str,
    cql: &str,
    values: Columns,
    expect: Option<Columns>,
) -> Result<Prepared<S::Statement>, Failed> {
    let statement = session.prepare(cql).await.map_err(|error| {
        failed(FailureKind::Prepare, format!("the statement {name} ({cql}) could not be prepared: {error}"))
    })?;
    Ok(Prepared { statement, values, expect, name: name.into() })
}

async fn create_schema<S: Session>(session: &S, job: &Job) -> Result<(), Failed> {
    for cql in &job.scenario.schema {
        session.query(cql).await.map_err(|error| {
            let kind = match error.kind() {
                ErrorKind::AlreadyExists => FailureKind::Exists,
                _ => FailureKind::Schema,
            };
            failed(kind, format!("the schema statement {cql} failed: {error}"))
        })?;
    }
    Ok(())
}

async fn warm_up<S: Session>(
    bench: &Arc<Bench<S>>,
    source: Source,
    job: &Job,
    clock: Clock,
    link: &Arc<Link>,
) -> Result<(), Failed> {
    if job.warmup == 0 {
        return Ok(());
    }
    let gauge = Arc::new(Gauge::of(job.share(job.warmup), job.concurrency));
    link.warm_up(&gauge);
    if job.progress_ms > 0 {
        // Tells the parent that the warm-up begins.
        link.say_progress();
    }
    let _reporting = Reporting::begin(link, job.progress_ms);
    let counted = run(Run::new(bench, source, &gauge, clock, OnError::Stop, || {})).await?;
    no_errors(&counted, FailureKind::WarmUp, "the warm-up", job.warmup)
}

pub(crate) fn no_errors(counted: &Counted, kind: FailureKind, what: &str, count: u64) -> Result<(), Failed> {
    match counted.errors.iter().next() {
        None => Ok(()),
        Some((error, first)) => Err(failed(
            kind,
            format!(
                "{what} ended after {} of {count} statements with {} {}, the first of kind {error}: {}",
                counted.answered(),
                counted.failed(),
                if counted.failed() == 1 { "error" } else { "errors" },
                first.first
            ),
        )),
    }
}

/// A task that reads one counter and writes one line, twice a second at most, until this is dropped.
struct Reporting(Option<JoinHandle<()>>);

impl Reporting {
    fn begin(link: &Arc<Link>, every_ms: u64) -> Reporting {
        if every_ms == 0 {
            return Reporting(None);
        }
        let every = Duration::from_millis(every_ms).max(PROGRESS_AT_MOST_EVERY);
        let mut ticks = interval_at(Instant::now() + every, every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let link = Arc::clone(link);
        Reporting(Some(tokio::spawn(async move {
            loop {
                ticks.tick().await;
                link.say_progress();
            }
        })))
    }
}

impl Drop for Reporting {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// A window without the system's figures has no result.
fn unmeasured(error: &io::Error) -> Failed {
    failed(FailureKind::Job, format!("the system does not tell the process' time or resource usage: {error}"))
}

fn say_end(link: &Link, end: &io::Result<End>) {
    match end {
        Ok(end) => link.say(&WorkerMessage::End(end.clone()), Phase::Ended),
        Err(error) => link.fail(unmeasured(error)),
    }
}

/// Says `end` at the last answer of a window that began at `begin`.
fn end_of(link: &Arc<Link>, gauge: &Arc<Gauge>, begin: Edge) -> impl Fn() + Send + Sync + 'static {
    let (link, gauge) = (Arc::clone(link), Arc::clone(gauge));
    move || say_end(&link, &begin.until_now().map(|end| End { steady: gauge.edges.steady(), ..end }))
}

/// Loads rows and says `end` unless there was an error, which ends the loading.
async fn load<S: Session>(
    bench: &Arc<Bench<S>>,
    source: Source,
    gauge: &Arc<Gauge>,
    clock: Clock,
    link: &Link,
    begin: Edge,
) -> Result<Counted, Failed> {
    let count = source.count();
    let ended = Arc::new(OnceLock::new());
    let at_end = {
        let ended = Arc::clone(&ended);
        move || drop(ended.set(begin.until_now()))
    };
    let counted = run(Run::new(bench, source, gauge, clock, OnError::Stop, at_end)).await?;
    no_errors(&counted, FailureKind::Load, "loading", count)?;
    ended.get().into_iter().for_each(|end| say_end(link, end));
    Ok(counted)
}

fn done(counted: Counted, pace: Option<Pace>, names: &[String]) -> Done {
    let answered = counted.answered();
    Done {
        issued: answered,
        answered,
        verified: answered.saturating_sub(counted.failed()),
        issued_by_statement: names.iter().cloned().zip(counted.by_statement.iter().copied()).collect(),
        histogram: counted.latencies.base64(),
        pace,
        per_second: counted.per_second,
        errors: counted.errors,
        ..Done::default()
    }
}

/// Adds what became of single statements. Those without an answer were issued, too.
fn add_trace(done: &mut Done, tracer: &Tracer, source: &Source, gauge: &Gauge, names: &[String]) {
    if let Source::Written(written) = source {
        done.trace = Some(tracer.told_of(written));
        return;
    }
    let trace = tracer.told(gauge);
    done.issued += trace.unanswered.count();
    for ticket in trace.unanswered.iter() {
        let name = names.get(source.issue(ticket).statement);
        if let Some(issued) = name.and_then(|name| done.issued_by_statement.get_mut(name)) {
            *issued += 1;
        }
    }
    done.trace = Some(trace);
}
