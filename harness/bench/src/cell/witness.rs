//! The witness of the machine's speed: floor on an embedded node of its own takes short turns between those of the contenders.
//!
//! What a turn costs follows the machine's memory, kernel and wake-ups, which a loop of arithmetic does not feel and the kernel does not
//! report. Floor feels them, and no contender can move what floor costs.

use std::path::PathBuf;

use cqldyno_meter::process_cpu_ns;
use cqldyno_protocol::{Job, Mode};
use cqldyno_scenarios::builtin;
use serde::{Deserialize, Serialize};

use super::setup::Setup;
use crate::plan::Deadlines;
use crate::process::cancel::Cancel;
use crate::process::child::Launch;
use crate::process::failure::CellFailure;
use crate::process::programs::FLOOR;
use crate::process::server::Server;
use crate::process::worker::{Bounds, Worker};

const STATEMENTS: u64 = 5_000;
const WARMUP: u64 = 5_000;
/// What it is asked, whatever the contenders are.
const SCENARIO: &str = "writes";

/// What a witness is started with, here or on a loader's host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WitnessOrder {
    /// The worker.
    floor: PathBuf,
    /// Cores of worker and node; absent for all.
    worker_cores: Option<Vec<usize>>,
    server_cores: Option<Vec<usize>>,
    deadlines: Deadlines,
    /// Without a target.
    job: Job,
}

impl WitnessOrder {
    /// Of one that takes so many `turns` beside the contenders of `setup`.
    pub(super) fn of(setup: &Setup<'_>, turns: u32) -> Result<WitnessOrder, CellFailure> {
        let scenario = builtin(SCENARIO).ok_or_else(|| CellFailure::Machine(format!("there is no {SCENARIO}")))?;
        let job = Job {
            scenario,
            count: STATEMENTS * u64::from(turns),
            turns,
            warmup: WARMUP,
            rate: None,
            credentials: None,
            tls: None,
            datacenter: None,
            request_timeout_ms: None,
            tape: None,
            ..setup.floors_job(Mode::Measure, &[])
        };
        Ok(WitnessOrder {
            floor: setup.program(FLOOR)?,
            worker_cores: setup.placement.worker_cores().map(<[usize]>::to_vec),
            server_cores: setup.placement.server_cores().map(<[usize]>::to_vec),
            deadlines: setup.bench.context.plan.deadlines,
            job,
        })
    }
}

pub(super) struct Witness<'a> {
    worker: Worker<'a>,
    server: Server,
    /// CPU time of worker and node in the turns of this round, in nanoseconds, and the statements of these.
    cpu_ns: u64,
    statements: u64,
}

impl<'a> Witness<'a> {
    /// Starts it: worker and node as `launch` says.
    pub(super) fn begin(
        order: &WitnessOrder,
        launch: &Launch<'_>,
        cancel: &'a Cancel,
    ) -> Result<Witness<'a>, CellFailure> {
        let WitnessOrder { floor, worker_cores, server_cores, deadlines, job } = order;
        let node = Launch { program: launch.gate, cores: server_cores.as_deref(), ..launch.clone() };
        let mut server = Server::start(node, job.count + job.warmup, Vec::new(), cancel)?;
        let job = Job { target: server.nodes().to_vec(), ..job.clone() };
        let mut ready = |job: Job| {
            let launch = Launch { program: floor, cores: worker_cores.as_deref(), ..launch.clone() };
            let bounds = Bounds { deadlines: *deadlines, memory_bytes: None, cancel, transcript: None };
            let (mut worker, _) = Worker::at_gate(launch, bounds)?.open()?;
            worker.job(job, &mut || server.ended())?;
            Ok(worker)
        };
        let mut loading = ready(Job { mode: Mode::Load, turns: 1, ..job.clone() })?;
        loading.go(&mut || None, |_| ())?;
        loading.ack()?;
        // How it exits moves no figure.
        let _ = loading.finish();
        let worker = ready(job)?;
        Ok(Witness { worker, server, cpu_ns: 0, statements: 0 })
    }

    pub(super) fn turn(&mut self) -> Result<(), CellFailure> {
        let before = self.cpu()?;
        self.worker.go(&mut || self.server.ended(), |_| ())?;
        let after = self.cpu()?;
        self.statements += self.worker.ack()?.verified;
        self.cpu_ns += after.saturating_sub(before);
        Ok(())
    }

    /// CPU time per statement in its turns of this round, in microseconds; `None` without any. The round may be over.
    pub(super) fn look(&mut self, is_over: bool) -> Option<f64> {
        let found = (self.statements > 0).then(|| self.cpu_ns as f64 / 1e3 / self.statements as f64);
        if is_over {
            (self.cpu_ns, self.statements) = (0, 0);
        }
        found
    }

    pub(super) fn processes(&self) -> [i32; 2] {
        [self.worker.pid(), self.server.pid()]
    }

    fn cpu(&self) -> Result<u64, CellFailure> {
        let of = |pid: i32| {
            process_cpu_ns(pid).map_err(|error| {
                CellFailure::Machine(format!(
                    "the CPU clock of floor, which is the witness, could not be read: {error}"
                ))
            })
        };
        let [worker, server] = self.processes();
        Ok(of(worker)? + of(server)?)
    }
}
