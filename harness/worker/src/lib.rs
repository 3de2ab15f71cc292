//! The load generator inside a worker, generic over the driver, and the worker's side of the worker protocol.
//!
//! An adapter's `main` is one line:
//!
//! ```no_run
//! # use cqldyno_driver_api::*;
//! # #[derive(Default)] struct Mine;
//! # struct MySession;
//! # impl Driver for Mine {
//! #     type Session = MySession;
//! #     fn describe(&self) -> Result<DriverInfo, DriverError> { Err(DriverError::new(ErrorKind::Other, "")) }
//! #     fn settings(&self, _: &ConnectOptions) -> Vec<Setting> { Vec::new() }
//! #     async fn connect(&self, _: &ConnectOptions) -> Result<MySession, DriverError> { Ok(MySession) }
//! # }
//! # impl Session for MySession {
//! #     type Statement = ();
//! #     async fn query(&self, _: &str) -> Result<(), DriverError> { Ok(()) }
//! #     async fn prepare(&self, _: &str) -> Result<(), DriverError> { Ok(()) }
//! #     async fn execute(&self, _: &(), _: &[Value<'_>], _: &mut Rows) -> Result<(), DriverError> { Ok(()) }
//! # }
//! fn main() -> std::process::ExitCode {
//!     cqldyno_worker::main::<Mine>()
//! }
//! ```
//!
//! Within the window nothing of ours runs but the slots of the load generator and, at most twice a second, a task that
//! reads one counter for `progress`. A statement costs no allocation, lock, channel or spawn of ours. Between two turns
//! nothing of ours runs.
#![deny(missing_docs)]

mod ahead;
mod binding;
mod cell;
mod gauge;
mod generator;
#[cfg(test)]
mod identity;
mod latencies;
mod link;
pub mod lock;
mod open_loop;
mod operations;
mod packages;
mod partition;
#[cfg(feature = "parts")]
pub mod parts;
mod recorder;
mod submitting;
mod tape;
mod trace;
mod usage;
mod verify;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use cqldyno_driver_api::{ConnectOptions, Driver};
use cqldyno_protocol::{BuildInfo, Failed, FailureKind, Hello, Job, Machine, PROTOCOL_VERSION, Runtime, WorkerMessage};
use tokio::runtime::Builder;

pub use crate::usage::{Edge, Edges, threads};

use crate::link::{EXIT_DONE, Input, Link, Phase, leave};

/// How this worker was built.
pub fn build_info() -> BuildInfo {
    let parts = include_str!(concat!(env!("OUT_DIR"), "/parts")).lines().filter_map(|line| line.split_once('\t'));
    BuildInfo {
        adapter: cqldyno_protocol::build_id(),
        id: env!("CQLDYNO_BUILD_ID").to_owned(),
        parts: parts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        compiler: env!("CQLDYNO_COMPILER").to_owned(),
        profile: env!("CQLDYNO_PROFILE").to_owned(),
    }
}

/// Runs the worker of the driver `D`: one cell, as the parent on standard input and output asks for it (`drivers/PROTOCOL.md`).
/// The exit code is 0 after `done`, 1 after `failed` and 2 if the parent is gone.
///
/// Whatever the driver prints on standard output goes to standard error, so that it cannot break the protocol.
pub fn main<D: Driver>() -> ExitCode {
    let link = match Link::open() {
        Ok(link) => Arc::new(link),
        Err(error) => {
            eprintln!("cqldyno worker: standard output cannot be taken for the worker protocol: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| work::<D>(&link))).unwrap_or_else(|payload| {
        let message = format!("the driver panicked: {}", generator::panic_message(&*payload));
        Err(Failed { kind: FailureKind::Crash, message })
    });
    match outcome {
        Ok(()) => leave(EXIT_DONE),
        Err(failed) => link.fail(failed),
    }
}

fn work<D: Driver>(link: &Arc<Link>) -> Result<(), Failed> {
    let driver = D::default();
    let info = driver.describe().map_err(|error| Failed {
        kind: FailureKind::Describe,
        message: format!("the driver is not usable: {error}"),
    })?;
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        driver: info.clone(),
        settings: driver.settings(&ConnectOptions::new(Vec::new())),
        build: build_info(),
        turns: true,
        // A tape that it is given is played, but none is needed.
        tape: false,
        language: None,
        machine: Some(machine()),
    };
    link.say(&WorkerMessage::Hello(Box::new(hello)), Phase::Greeted);
    let mut input = Input::open().map_err(system)?;
    let job = link.job(&mut input);
    cell::check(&job, &info)?;
    let runtime = runtime(&job).map_err(system)?;
    let outcome = runtime.block_on(async {
        let mut inbox = link.listen(input).map_err(no_pipe)?;
        cell::cell(driver, &info, *job, link, &mut inbox).await
    });
    runtime.shutdown_background();
    outcome
}

fn machine() -> Machine {
    let told = |what: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{what}")).unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get() as u64);
    Machine { host: told("hostname").trim().to_owned(), cores, kernel: told("osrelease").trim().to_owned() }
}

fn runtime(job: &Job) -> io::Result<tokio::runtime::Runtime> {
    match job.runtime {
        Runtime::Current => Builder::new_current_thread().enable_all().build(),
        Runtime::Multi { workers } => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(workers).enable_all();
            #[cfg(cqldyno_alternative_timer)]
            builder.enable_alt_timer();
            builder.build()
        }
    }
}

fn no_pipe(error: io::Error) -> Failed {
    let message = format!("standard input is not a pipe from the program that plays the parent: {error}; give it one");
    Failed { kind: FailureKind::Protocol, message }
}

fn system(error: io::Error) -> Failed {
    Failed { kind: FailureKind::Job, message: format!("the system refused a thread or the runtime: {error}") }
}
