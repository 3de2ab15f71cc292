//! One cell: a fresh server, rows loaded by floor, one worker, and what was read off.

mod floor;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cqldyno_driver_api::{Capability, Settings};
use cqldyno_meter::{Attachment, Meter, Outcome, Subject, Traffic, Window};
use cqldyno_protocol::{Done, End, Hello, Job, Mode, Ready, Runtime};
use cqldyno_reports::{Cell, Latency, Measure, Pass, Role, Series, Unit};
use cqldyno_scenarios::{Operation, Scenario, Workload};

use self::floor::ReadBack;
use super::CellBench;
use crate::agreement::{Counted, connection_void, voids};
use crate::due::{rows, sessions};
use crate::estimate::delay;
use crate::failure::CellFailure;
use crate::introduction::{Introduced, setting};
use crate::latency::{Latencies, not_paced};
use crate::observer::Stage;
use crate::pass::{Load, PassKind, Shape};
use crate::placement::Placement;
use crate::plan::{Plan, PlannedCell};
use crate::process::file_name;
use crate::readings::{below_concurrency, busy, errors, measure, read, reads, utilisation, window_of};
use crate::server::{Server, ServerLaunch};
use crate::target::Target;
use crate::worker::{Look, Waiting, Worker, WorkerLaunch};

/// Statements that floor has in flight.
const FLOOR_CONCURRENCY: usize = 1_024;
/// The measure of what was read back.
const READ_BACK: &str = "read_back";
/// How often a worker tells how far it is.
const PROGRESS_MS: u64 = 500;

/// One cell that is being run.
pub(super) struct Attempt<'a> {
    pub bench: &'a CellBench<'a>,
    pub planned: &'a PlannedCell,
    pub kind: &'static dyn PassKind,
    pub load: Load,
    pub plan: &'a Plan,
    pub scenario: Scenario,
    pub placement: &'a Placement,
    pub stem: &'a str,
    pub log: PathBuf,
}

/// What a cell that came to its end gave.
pub(super) struct Measured {
    ready: Ready,
    done: Done,
    /// The window, by the worker's clock.
    wall_ns: u64,
    /// From issue to answer.
    latency: Option<Latency>,
    counted: Result<Counted, String>,
    outcome: Outcome,
    connections: Result<u64, String>,
    /// What was found when rows of the window were read back: why not, if they were not.
    read_back: Result<ReadBack, String>,
    /// Sentences about processes that exited badly when their work was done.
    exits: Vec<String>,
}

impl<'a> Attempt<'a> {
    fn introduced(&self) -> Result<&'a Introduced, CellFailure> {
        self.bench.introduced[self.planned.contender].as_ref().map_err(Clone::clone)
    }

    /// Carries it out.
    pub(super) fn measure(&self, stage: &mut dyn FnMut(Stage)) -> Result<Measured, CellFailure> {
        let introduced = self.introduced()?;
        let offline = self.is_noop();
        let mut server = None;
        let mut nodes: Vec<SocketAddr> = Vec::new();
        if !offline {
            match &self.plan.target {
                Target::Embedded => {
                    stage(Stage::Server);
                    let started = self.start_server()?;
                    nodes.extend_from_slice(started.nodes());
                    server = Some(started);
                }
                Target::Addresses { nodes: given, .. } => nodes.extend_from_slice(given),
            }
        }
        let result = self.with_server(introduced, offline, server.as_mut(), &nodes, stage);
        match (result, &mut server) {
            // A worker fails in its own words when its server is gone: the server's end is the reason.
            (Err(failure), Some(server)) if failure != CellFailure::Cancelled => Err(server.ended().unwrap_or(failure)),
            (result, _) => result,
        }
    }

    fn with_server(
        &self,
        introduced: &Introduced,
        offline: bool,
        mut server: Option<&mut Server>,
        nodes: &[SocketAddr],
        stage: &mut dyn FnMut(Stage),
    ) -> Result<Measured, CellFailure> {
        let cancel = self.bench.context.cancel;
        let mut exits = Vec::new();
        if !offline {
            exits.extend(self.load(nodes, &mut || ended(&mut server), stage).map_err(|failure| match failure {
                CellFailure::Cancelled => failure,
                other => CellFailure::Load(other.to_string()),
            })?);
        }
        stage(Stage::Connecting);
        let no_server = || match offline {
            true => "This contender sends nothing, so no server took part.".to_owned(),
            false => "The target is not ours: what it did and what it cost is not known.".to_owned(),
        };
        let scratch = tempfile::tempdir().map_err(|error| {
            CellFailure::Machine(format!("A folder for temporary files could not be made: {error}."))
        })?;
        let waiting = Waiting::start(self.launch(introduced, scratch.path()))?;
        let subject = Subject {
            worker: waiting.pid(),
            server: server.as_ref().map(|server| server.pid()).ok_or_else(no_server),
            cores: self.placement.cores(self.plan.target.is_embedded()),
            scratch: scratch.path().to_path_buf(),
            nodes: nodes.to_vec(),
        };
        let mut attachments = self.attach(&subject);
        let (mut worker, hello) = waiting.open()?;
        introduced.same(&hello)?;
        self.refuse_offline(&hello, introduced)?;
        let mode = if self.load.shape == Shape::Connecting { Mode::Connect } else { Mode::Measure };
        let ready = worker.job(self.job(mode, nodes), &mut || ended(&mut server))?;
        let before = server.as_mut().map(|server| server.snapshot(cancel)).transpose()?;
        let foreign = !offline && server.is_none();
        let look = || foreign.then(|| Traffic::of(subject.worker, nodes));
        let traffic_before = look();
        let began = SystemTime::now();
        let end = window(&mut worker, &mut attachments, self.load.count, &mut || ended(&mut server), stage)?;
        let traffic_after = look();
        let after = server.as_mut().map(|server| server.snapshot(cancel)).transpose()?;
        let (done, exit) = worker.ack()?;
        exits.extend(exit);

        let counted = match (before, after) {
            (Some(before), Some(after)) => Ok(Counted::between(&before, &after, &self.scenario)),
            _ => Err(no_server()),
        };
        let connections = match (&counted, traffic_before, traffic_after) {
            (Ok(counted), _, _) => Ok(counted.connections),
            (Err(_), ..) if sessions(&self.scenario, &done) > 0 => {
                Err("Each of these statements had connections of its own, which only a target of ours counts."
                    .to_owned())
            }
            (Err(_), Some(before), Some(after)) => busy(before, after),
            (Err(why), _, _) => Err(why.clone()),
        };
        let lasted = Duration::from_nanos(end.wall_ns);
        let (latencies, unread) = match Latencies::of(&done, began, lasted, &self.load) {
            Ok(latencies) => (latencies, None),
            Err(error) => (Latencies::default(), Some(crate::introduction::sentence(&error.to_string()))),
        };
        let window = window_of(&end, &done, &counted, &connections, rows(&self.scenario, &done));
        let window = Window { latencies: latencies.told.clone(), ..window };
        let mut outcome = read(&mut attachments, &window);
        outcome.findings.extend(unread);
        outcome.files.extend(latencies.log);
        let read_back = match offline {
            true => Err(no_server()),
            false => self.read_back(nodes, &mut || ended(&mut server), &mut exits, &mut outcome)?,
        };
        let wall_ns = end.wall_ns;
        let latency = latencies.driver;
        Ok(Measured { ready, done, wall_ns, latency, counted, outcome, connections, read_back, exits })
    }

    /// Whether this cell is that of noop, the only contender that needs no server.
    fn is_noop(&self) -> bool {
        self.bench.context.run.contenders[self.planned.contender].role == Role::Noop
    }

    /// Refuses a worker that wants to have its answers made up, as only noop's may.
    fn refuse_offline(&self, hello: &Hello, introduced: &Introduced) -> Result<(), CellFailure> {
        match hello.driver.capabilities.contains(&Capability::Offline) && !self.is_noop() {
            true => Err(CellFailure::Offline { worker: file_name(&introduced.program) }),
            false => Ok(()),
        }
    }

    fn nodes(&self) -> u64 {
        match &self.plan.target {
            Target::Embedded => 1,
            Target::Addresses { nodes, .. } => nodes.len() as u64,
        }
    }

    fn start_server(&self) -> Result<Server, CellFailure> {
        let rows = self.workload()?.rows();
        let (log, _) = self.bench.context.folder.log(&format!("{}-server", self.stem));
        Server::start(
            &ServerLaunch {
                program: &self.bench.context.programs.cqldyno,
                expect_rows: rows,
                arguments: &self.plan.serve_arguments,
                cores: self.placement.server_cores(),
                log: Some(log),
            },
            self.bench.context.cancel,
        )
    }

    fn launch(&self, introduced: &'a Introduced, scratch: &Path) -> WorkerLaunch<'a> {
        let start = self.kind.start(self.planned.step, scratch);
        let usual = self.launch_of(&introduced.program, self.log.clone());
        WorkerLaunch {
            library_folder: introduced.library_folder.clone(),
            memory_limit_bytes: self.plan.memory_limit_bytes,
            deadlines: start.deadlines(usual.deadlines),
            in_front: start.in_front,
            environment: start.environment,
            ..usual
        }
    }

    /// How any worker is launched that has no limits of its own.
    fn launch_of(&self, program: &'a Path, log: PathBuf) -> WorkerLaunch<'a> {
        WorkerLaunch {
            gate: &self.bench.context.programs.cqldyno,
            program,
            in_front: Vec::new(),
            environment: Vec::new(),
            library_folder: None,
            cores: self.placement.worker_cores(),
            memory_limit_bytes: None,
            log: Some(log),
            redaction: self.bench.redaction.clone(),
            deadlines: self.plan.deadlines.held_back(delay(&self.plan.serve_arguments)),
            cancel: self.bench.context.cancel,
        }
    }

    fn workload(&self) -> Result<Workload, CellFailure> {
        Workload::new(&self.scenario, self.load.count, self.load.warmup, self.plan.seed)
            .map_err(|error| CellFailure::Machine(error.to_string()))
    }

    fn job(&self, mode: Mode, nodes: &[SocketAddr]) -> Job {
        let plan = self.plan;
        let loads = matches!(mode, Mode::Load | Mode::ReadBack);
        let mut scenario = self.scenario.clone();
        if mode != Mode::ReadBack {
            // Nobody else need know what is read back.
            scenario.statements.iter_mut().for_each(|statement| statement.read_back = None);
        }
        Job {
            mode,
            scenario,
            count: self.load.count,
            warmup: self.load.warmup,
            concurrency: if loads { FLOOR_CONCURRENCY } else { self.load.concurrency },
            rate: match self.load.shape {
                Shape::AtRate(rate) if mode == Mode::Measure => Some(rate),
                _ => None,
            },
            seed: plan.seed,
            runtime: if loads { Runtime::Current } else { plan.arrangements[self.planned.arrangement].runtime },
            target: nodes.to_vec(),
            credentials: plan.credentials.clone(),
            connections: if loads { 1 } else { plan.connections },
            consistency: plan.consistency,
            page_size: self.scenario.page_size.map_or(plan.page_size, u32::cast_signed),
            request_timeout_ms: plan.request_timeout_ms,
            settings: if loads { Settings::Equal } else { plan.settings },
            options: if loads { BTreeMap::new() } else { self.options() },
            progress_ms: PROGRESS_MS,
        }
    }

    fn options(&self) -> BTreeMap<String, String> {
        self.introduced().map(|introduced| introduced.options.clone()).unwrap_or_default()
    }

    /// The meters that have a measure of this cell's pass, attached to its processes.
    fn attach(&self, subject: &Subject) -> Vec<Box<dyn Attachment>> {
        // One without a measure has something else to say of every cell.
        let taken = |meter: &dyn Meter| {
            let mut measures = meter.declarations().iter();
            measures.len() == 0 || measures.any(|measure| measure.is_taken_in(self.planned.pass))
        };
        let meters = self.bench.meters.iter().map(AsRef::as_ref);
        meters.filter(|meter| taken(*meter)).map(|meter| meter.attach(subject)).collect()
    }

    /// Puts what was measured into the cell.
    pub(super) fn fill(&self, cell: &mut Cell, measured: Measured) {
        let Measured { ready, done, wall_ns, latency, counted, mut outcome, connections, read_back, exits } = measured;
        let redact = |text: &str| self.bench.redaction.apply(text);
        let pass = self.planned.pass;
        for reading in outcome.readings.into_iter().filter(|reading| reading.measure.is_taken_in(pass)) {
            cell.measures.insert(reading.measure.id.to_owned(), measure(&reading));
        }
        let data_connections = connections.as_ref().copied().unwrap_or(self.plan.connections as u64 * self.nodes());
        let used: Vec<_> = utilisation(&cell.measures, self.placement, data_connections).collect();
        cell.measures.extend(reads(&counted).into_iter().chain(used).map(|(id, measure)| (id.to_owned(), measure)));
        cell.findings.extend(outcome.findings.iter().chain(&exits).map(|finding| redact(finding)));
        if self.planned.pass == Pass::Timing {
            cell.findings.extend(below_concurrency(&done));
        }
        cell.settings = ready.settings.iter().map(setting).collect();
        for setting in &mut cell.settings {
            setting.value = redact(&setting.value);
        }
        cell.error_kinds = errors(&done, &redact);
        cell.latency = latency;
        for artifact in outcome.files {
            match self.bench.context.folder.write_artifact(self.stem, &artifact) {
                Ok(name) => drop(cell.files.insert(artifact.kind.to_owned(), name)),
                Err(error) => cell.findings.push(crate::introduction::sentence(&error.to_string())),
            }
        }
        cell.breakdowns.extend(outcome.breakdowns.into_iter().map(|(kind, figures)| (kind.to_owned(), figures)));
        let connecting = self.load.shape == Shape::Connecting;
        let sessions = sessions(&self.scenario, &done);
        let mut reasons = voids(&done, self.load.count);
        reasons.extend(not_paced(&done, self.load.shape));
        reasons.extend(outcome.voids);
        if let Ok(counted) = &counted {
            reasons.extend(counted.disagreements(&self.scenario, &done));
            // Every session asks for schema and topology of its own.
            reasons.extend(counted.own_statements_void(done.issued, sessions, wall_ns).filter(|_| !connecting));
            let rows = self.workload().ok().and_then(|workload| counted.rows_void(&self.scenario, &workload, &done));
            reasons.extend(rows);
        }
        let (measure, wrong) = match &read_back {
            Ok(found) => (Measure::value(found.verified as f64, Unit::Count), found.void()),
            Err(why) => (Measure::unavailable(redact(why)), None),
        };
        cell.measures.insert(READ_BACK.to_owned(), measure);
        match self.plan.target {
            Target::Embedded => reasons.extend(wrong),
            // Replicas may lag behind at a consistency that allows it.
            Target::Addresses { .. } => cell.findings.extend(wrong.map(|wrong| redact(&wrong))),
        }
        if let (Ok(found), Settings::Equal, false) = (connections, self.plan.settings, connecting) {
            let has_own = self.scenario.statements.iter().any(|one| one.operation != Operation::Connect);
            let asked = self.plan.connections as u64;
            reasons.extend(connection_void(found, asked, self.nodes(), sessions, has_own));
        }
        cell.void = (!reasons.is_empty()).then(|| redact(&reasons.join(" ")));
        cell.issued_by_statement = done.issued_by_statement;
        let mut of = |series| outcome.series.remove(series).unwrap_or_default();
        cell.series = Series::new(done.per_second, of("cpu_us"), of("server_cpu_us"));
    }
}

/// `go`, the window, `end`: the meters are read at its edges, the last ones at `go` being the first at `end`.
fn window(
    worker: &mut Worker<'_>,
    attachments: &mut [Box<dyn Attachment>],
    of: u64,
    look: Look<'_>,
    stage: &mut dyn FnMut(Stage),
) -> Result<End, CellFailure> {
    stage(Stage::Window { issued: 0, of });
    attachments.iter_mut().rev().for_each(|attachment| attachment.at_go());
    let mut look = || {
        attachments.iter_mut().for_each(|attachment| attachment.meanwhile());
        look()
    };
    let end = worker.go(&mut look, |issued| stage(Stage::Window { issued, of }))?;
    attachments.iter_mut().for_each(|attachment| attachment.at_end());
    Ok(end)
}

/// Why the server is gone, if there was one and it is.
fn ended(server: &mut Option<&mut Server>) -> Option<CellFailure> {
    server.as_mut().and_then(|server| server.ended())
}
