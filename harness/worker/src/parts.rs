//! The load generator without a worker's process, and single parts of it, for `benches/criterion` to measure.
//!
//! Nothing is done here: each function calls the one that a slot calls, or is it.

use std::sync::Arc;

use cqldyno_driver_api::{Capability, Driver, DriverError, Rows, Session, Value};
use cqldyno_protocol::{Failed, FailureKind, Job};
use cqldyno_scenarios::{Column, Workload};
use quanta::Clock;

use crate::binding::{Columns, Values};
use crate::gauge::Gauge;
use crate::generator::{Bench, FEW_VALUES, OnError, Run, Source, run};
pub use crate::latencies::Latencies;
pub use crate::recorder::Recorders;
use crate::{cell, runtime, system, verify};

/// The load generator with a driver's session and the runtime that a job asks for, in this process.
pub struct LoadGenerator<S: Session> {
    bench: Arc<Bench<S>>,
    job: Job,
    clock: Clock,
    runtime: tokio::runtime::Runtime,
}

impl<S: Session> LoadGenerator<S> {
    /// Connects and prepares as a worker does that was given `job`.
    ///
    /// # Errors
    /// What a worker would say in `failed`.
    pub fn new<D: Driver<Session = S>>(job: Job) -> Result<LoadGenerator<S>, Failed> {
        let driver = D::default();
        let info = driver
            .describe()
            .map_err(|error| Failed { kind: FailureKind::Describe, message: format!("no driver: {error}") })?;
        cell::check(&job, &info)?;
        let runtime = runtime(&job).map_err(system)?;
        let bench = runtime.block_on(async {
            let options = cell::connect_options(&job);
            let session = driver.connect(&options).await.map_err(|error| Failed {
                kind: FailureKind::Connect,
                message: format!("{} could not connect: {error}", info.name),
            })?;
            driver.settle(&options).await;
            cell::prepare_statements(session, &job, info.capabilities.contains(&Capability::Offline)).await
        })?;
        Ok(LoadGenerator { bench: Arc::new(bench), job, clock: Clock::new(), runtime })
    }

    /// Issues `count` statements at the job's concurrency, from the first task spawned to the last answer counted, as in a
    /// window.
    ///
    /// # Errors
    /// When a statement failed, or the driver panicked.
    pub fn run(&self, count: u64) -> Result<(), Failed> {
        let workload = Workload::new(&self.job.scenario, count, 0, self.job.seed)
            .map_err(|error| Failed { kind: FailureKind::Job, message: error.to_string() })?;
        let gauge = Arc::new(Gauge::new(count, self.job.concurrency));
        let source = Source::window(workload);
        let window = run(Run::new(&self.bench, source, &gauge, self.clock.clone(), OnError::Stop, || {}));
        let counted = self.runtime.block_on(window)?;
        cell::no_errors(&counted, FailureKind::WarmUp, "the run", count)
    }
}

/// The values of a statement or an expected row, as a slot makes and checks them.
#[derive(Debug)]
pub struct RowOfKey {
    columns: Columns,
    rows: Rows,
}

impl RowOfKey {
    /// Of consecutive columns.
    pub fn new(columns: &[Column]) -> RowOfKey {
        RowOfKey { columns: Columns::new(columns), rows: Rows::new() }
    }

    /// Binds the values of `key`, and lends them; at most three, as in the built-in scenarios.
    #[inline]
    pub fn bind<R>(&mut self, key: u64, lend: impl FnOnce(&[Value<'_>]) -> R) -> R {
        lend(self.columns.bind(key, &mut Values::<FEW_VALUES>::new(), &mut []))
    }

    /// Puts the row of `key` in an answer's place, as for `noop`, and checks every column of it.
    ///
    /// # Errors
    /// [`cqldyno_driver_api::ErrorKind::WrongRow`], which cannot be.
    #[inline]
    pub fn fill_and_verify(&mut self, key: u64) -> Result<(), DriverError> {
        self.rows.clear();
        self.columns.fill(key, &mut self.rows);
        verify::verify(Some(&self.columns), key, &self.rows)
    }
}
