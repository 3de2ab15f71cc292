//! One job of a hand-written program.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use cqldyno_driver_api::{ConnectOptions, Driver, DriverInfo, Setting};
use cqldyno_protocol::{
    BuildInfo, Done, End, Failed, FailureKind, Hello, Job, PROTOCOL_VERSION, ParentMessage, Ready, Runtime,
    WorkerMessage,
};
use cqldyno_worker::{Edge, build_info, threads};
use tokio::runtime::Builder;

use crate::asked::Asked;
use crate::parent::Parent;
use crate::slots::execute_all;
use crate::{Program, Tickets};

/// The beginning of a hand-written program's name as a contender; the driver's name follows.
const PREFIX: &str = "idiomatic-";

/// Runs the program as a worker: one cell, as the parent on standard input and output asks for it. The exit code is 0 after
/// `done`, and 1 after `failed`.
///
/// It gives up at its first error, with `failed` of kind `crash`. It reads nothing in its window, so that `stop` does not end it
/// early.
pub fn main<P: Program>() -> ExitCode {
    let parent = Arc::new(Parent::default());
    let Err((kind, error)) = work::<P>(&parent) else { return ExitCode::SUCCESS };
    let message = format!("{error:#}");
    eprintln!("cqldyno worker: {message}");
    // If nobody reads any more, the log has it.
    let _ = parent.say(&WorkerMessage::Failed(Failed { kind, message }));
    ExitCode::FAILURE
}

type Failure = (FailureKind, anyhow::Error);

fn at<T>(kind: FailureKind, outcome: anyhow::Result<T>) -> Result<T, Failure> {
    outcome.map_err(|error| (kind, error))
}

fn work<P: Program>(parent: &Arc<Parent>) -> Result<(), Failure> {
    let settings = |options: &ConnectOptions| P::Adapter::default().settings(options);
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        driver: at(FailureKind::Describe, describe::<P>())?,
        settings: settings(&ConnectOptions::new(Vec::new())),
        // It does not have the load generator that this identifies.
        build: BuildInfo { id: String::new(), parts: Default::default(), ..build_info() },
        turns: true,
        tape: false,
        language: None,
        machine: None,
    };
    at(FailureKind::Protocol, parent.say(&WorkerMessage::Hello(Box::new(hello))))?;
    let job = at(FailureKind::Protocol, parent.job())?;
    let asked = at(FailureKind::Job, Asked::of(&job).map_err(anyhow::Error::msg))?;
    let runtime = at(FailureKind::Job, runtime(&job, &asked).context("the system refused the runtime"))?;
    let settings = settings(&ConnectOptions::new(job.target.clone()));
    let outcome = runtime.block_on(cell::<P>(parent, &asked, settings, Duration::from_millis(job.progress_ms)));
    runtime.shutdown_background();
    outcome
}

/// The driver as its adapter describes it, under a name of its own.
fn describe<P: Program>() -> anyhow::Result<DriverInfo> {
    let info = P::Adapter::default().describe()?;
    Ok(DriverInfo {
        name: format!("{PREFIX}{}", info.name),
        capabilities: Default::default(),
        most_in_flight: Default::default(),
        caveats: vec![format!(
            "It is the program that the documentation of {} would have you write, with its own loop: no histogram, and no clock \
             read per statement.",
            info.name
        )],
        ..info
    })
}

fn runtime(job: &Job, asked: &Asked) -> std::io::Result<tokio::runtime::Runtime> {
    let mut builder = match job.runtime {
        Runtime::Current => Builder::new_current_thread(),
        Runtime::Multi { workers } => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(workers);
            builder
        }
    };
    if !asked.lifo_slot {
        without_lifo_slot(&mut builder);
    }
    builder.enable_all().build()
}

#[cfg(tokio_unstable)]
fn without_lifo_slot(builder: &mut Builder) {
    builder.disable_lifo_slot();
}

/// The option that leads here is refused in such a build.
#[cfg(not(tokio_unstable))]
fn without_lifo_slot(_: &mut Builder) {}

async fn cell<P: Program>(
    parent: &Arc<Parent>,
    asked: &Asked,
    settings: Vec<Setting>,
    progress: Duration,
) -> Result<(), Failure> {
    let client = at(FailureKind::Connect, P::connect(asked.node).await.context("the program could not connect"))?;
    let client = Arc::new(client);
    let warm_up = execute_all(&client, &Arc::new(Tickets::warm_up(asked)), asked.concurrency).await;
    at(FailureKind::WarmUp, warm_up.context("the warm-up broke off"))?;
    let ready = WorkerMessage::Ready(Ready { settings, connections: None, threads: threads() });
    at(FailureKind::Protocol, parent.say(&ready))?;
    for nth in 0..asked.turns {
        turn(parent, &client, &Arc::new(Tickets::turn(asked, nth)), asked.concurrency, progress).await?;
    }
    Ok(())
}

async fn turn<P: Program>(
    parent: &Arc<Parent>,
    client: &Arc<P>,
    tickets: &Arc<Tickets>,
    concurrency: usize,
    progress: Duration,
) -> Result<(), Failure> {
    at(FailureKind::Protocol, parent.wait_for(&ParentMessage::Go { at_ns: None }))?;

    let unmeasured = "the system does not tell the process' time or resource usage";
    parent.tell_of(tickets, progress);
    let begin = at(FailureKind::Job, Edge::begin().context(unmeasured))?;
    let verified = execute_all(client, tickets, concurrency).await;
    let end = at(FailureKind::Job, begin.until_now().context(unmeasured))?;
    let verified = at(FailureKind::Crash, verified.context("the program broke off at the window's first error"))?;
    let end = End { steady: tickets.edges.steady(), ..end };
    at(FailureKind::Protocol, parent.say(&WorkerMessage::End(end)))?;
    at(FailureKind::Protocol, parent.wait_for(&ParentMessage::Ack))?;

    let issued_by_statement = tickets.by_statement();
    let issued = issued_by_statement.values().sum();
    let done = Done { issued, answered: issued, verified, issued_by_statement, threads: threads(), ..Done::default() };
    at(FailureKind::Protocol, parent.say(&WorkerMessage::Done(Box::new(done))))
}
