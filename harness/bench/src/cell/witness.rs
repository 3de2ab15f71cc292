//! The witness of the machine's speed: floor on an embedded node of its own takes short turns between those of the contenders.
//!
//! What a turn costs follows the machine's memory, kernel and wake-ups, which a loop of arithmetic does not feel and the kernel does not
//! report. Floor feels them, and no contender can move what floor costs.

use cqldyno_meter::process_cpu_ns;
use cqldyno_protocol::{Job, Mode};
use cqldyno_scenarios::{Scenario, builtin};

use super::setup::Setup;
use crate::process::child::Launch;
use crate::process::failure::CellFailure;
use crate::process::programs::FLOOR;
use crate::process::server::Server;
use crate::process::worker::{Bounds, Worker};

const STATEMENTS: u64 = 5_000;
const WARMUP: u64 = 5_000;
/// What it is asked, whatever the contenders are.
const SCENARIO: &str = "writes";

pub(super) struct Witness<'a> {
    worker: Worker<'a>,
    server: Server,
    /// CPU time of worker and node in the turns of this round, in nanoseconds, and the statements of these.
    cpu_ns: u64,
    statements: u64,
}

impl<'a> Witness<'a> {
    /// Starts it for so many `turns`, beside the contenders of `setup`.
    pub(super) fn begin(setup: &'a Setup<'a>, turns: u32) -> Result<Witness<'a>, CellFailure> {
        let scenario = builtin(SCENARIO).ok_or_else(|| CellFailure::Machine(format!("there is no {SCENARIO}")))?;
        let count = STATEMENTS * u64::from(turns);
        let launch = setup.logged(&setup.bench.context.programs.cqldyno, "-witness-server");
        let launch = Launch { cores: setup.placement.server_cores(), ..launch };
        let mut server = Server::start(launch, count + WARMUP, Vec::new(), setup.bench.context.cancel)?;
        let job = |mode, scenario: &Scenario| Job {
            scenario: scenario.clone(),
            count,
            turns,
            warmup: WARMUP,
            rate: None,
            credentials: None,
            tls: None,
            datacenter: None,
            request_timeout_ms: None,
            tape: None,
            ..setup.floors_job(mode, server.nodes())
        };
        let (load, measure) = (Job { turns: 1, ..job(Mode::Load, &scenario) }, job(Mode::Measure, &scenario));
        setup.floor_does(load, "witness", setup.bench.context.cancel, &mut || server.ended(), &mut |_| ())?;
        let program = setup.program(FLOOR)?;
        let (launch, bounds) = setup.launch(&program, "-witness");
        let cancel = setup.bench.context.cancel;
        let bounds = Bounds { deadlines: bounds.deadlines, memory_bytes: None, cancel, transcript: None };
        let (mut worker, _) = Worker::at_gate(launch, bounds)?.open()?;
        worker.job(measure, &mut || server.ended())?;
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
