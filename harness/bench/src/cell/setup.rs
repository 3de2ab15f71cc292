//! What one cell runs, and how its workers start.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_driver_api::{Consistency, Settings, Tls};
use cqldyno_protocol::{Credentials, Job, Mode, Runtime, Tape, Trace, tickets};
use cqldyno_reports::{Cell, Declaration, Pass, Role};
use cqldyno_scenarios::{Permutation, Scenario, Workload};
use cqldyno_script::Time;
use cqldyno_tapefile::{Made, Recording};
use tempfile::{NamedTempFile, TempPath};

use super::keyspaces::suffix;
use super::loaded::Loaded;
use super::served::Served;
use super::{CellBench, CellContext, Stage, TURNS_LOG};
use crate::plan::estimate::FLOOR_CONCURRENCY;
use crate::plan::pass::{Load, Shape};
use crate::plan::placement::Placement;
use crate::plan::serve::Serve;
use crate::plan::target::Target;
use crate::plan::{PATIENCE, PlannedCell, opens_sessions, tape};
use crate::process::child::Launch;
use crate::process::failure::CellFailure;
use crate::process::introduction::Introduced;
use crate::process::loader::Start;
use crate::process::loaders::Launcher;
use crate::process::worker::Bounds;

const PROGRESS_MS: u64 = 500;
/// Connections of what makes tables in PostgreSQL and reads rows back.
const MAKERS: usize = 16;
const NO_SLICE: &str = "Its worker plays a tape or has a load generator of its own, so it cannot take a share of a load; leave --loaders \
                        out.";
/// What is loaded shifts by less than this from cell to cell.
const MOST_SHIFT: u64 = 1_000_000_000;

pub(super) struct Setup<'a> {
    pub bench: &'a CellBench<'a>,
    pub introduced: &'a Introduced,
    pub planned: &'a PlannedCell,
    /// Without figures.
    pub cell: Cell,
    pub load: Load,
    /// With what is loaded in this cell only, and with the page size in force.
    pub scenario: Scenario,
    pub workload: Workload,
    pub placement: &'a Placement,
    /// What the names of the cell's files begin with.
    pub stem: String,
    /// Where the embedded cluster writes the certificate of its CA, if it encrypts.
    pub ca: Option<TempPath>,
    tape: Option<Arc<TempPath>>,
    /// What was made of the scenario's own rows, and the first of them that the window plays.
    pub recording: Option<(&'a Recording, u64)>,
    /// The words of the command that starts loaders, if there are any.
    launch: Vec<String>,
}

impl<'a> Setup<'a> {
    pub(super) fn new(
        bench: &'a CellBench<'a>,
        planned: &'a PlannedCell,
        load: Load,
        number: usize,
        cell: Cell,
        stem: String,
    ) -> Result<Setup<'a>, CellFailure> {
        let CellContext { plan, placements, introduced, run, .. } = bench.context;
        // Each worker is a process of its own, with a warm-up of its own.
        let load = Load { warmup: load.warmup * plan.workers(), ..load };
        let launch = plan.launch_words().unwrap_or_default();
        let mut introduced = introduced[planned.contender].as_ref().map_err(Clone::clone)?;
        if planned.rounds.is_some() {
            // The control has another order of functions than its reference.
            let is_control = planned.contender >= plan.contenders.len();
            introduced = introduced.of_generation(planned.block + u32::from(is_control));
        }
        let shift = 1 + Permutation::new(MOST_SHIFT, plan.seed).apply(number as u64).cast_signed();
        let mut scenario = plan.scenarios[planned.scenario].shifted(shift);
        // Contenders that are alive at once share the cluster, and no table. On one of others all keyspaces are ours alone.
        let shares = planned.rounds.is_some() && !planned.apart && !plan.target.is_embedded();
        if shares || matches!(plan.target, Target::Addresses { .. }) {
            scenario = match scenario.with_own_keyspaces(&suffix(plan, run, planned.contender)) {
                Some(own) => own,
                None if plan.keep && !shares => scenario,
                None => return Err(CellFailure::Machine("its tables would be those of others, too".to_owned())),
            };
        }
        scenario.page_size = introduced.contender.own.page_size(plan, &scenario);
        let workload = Workload::new(&scenario, load.count, load.warmup, plan.seed)
            .map_err(|error| CellFailure::Machine(error.to_string()))?;
        let placement = &placements[planned.arrangement];
        let encrypts = plan.serve.tls || (introduced.contender.own.tls && plan.target.is_embedded());
        let ca = encrypts.then(|| NamedTempFile::with_prefix("cqldyno-ca-")).transpose().map_err(|error| {
            CellFailure::Machine(format!("a file for the CA of the embedded cluster could not be made: {error}"))
        })?;
        let ca = ca.map(NamedTempFile::into_temp_path);
        let plays =
            introduced.hello.tape || introduced.contender.own.tape || plan.recordings.contains_key(&scenario.kind());
        if plan.loaders.is_some() && (plays || introduced.hello.build.id.is_empty()) {
            return Err(CellFailure::Unavailable(NO_SLICE.to_owned()));
        }
        let (tape, recording) = match plan.recordings.get(&scenario.kind()) {
            Some(recording) => {
                let before = planned.rounds.map_or(0, |_| (1..planned.block).map(|block| plan.issued_in(block)).sum());
                (Some(tape_of_rows(introduced, recording, before, &workload)?), Some((&**recording, before)))
            }
            None => (own_tape(introduced, &scenario, &workload, &stem)?, None),
        };
        Ok(Setup {
            bench,
            introduced,
            planned,
            cell,
            load,
            scenario,
            workload,
            placement,
            stem,
            ca,
            tape,
            recording,
            launch,
        })
    }

    /// What the embedded cluster is started with: as it was asked, and where the certificate of its CA goes.
    pub(super) fn serve_arguments(&self) -> Vec<OsString> {
        let asked = Serve { tls: false, ..self.bench.context.plan.served(Some(&self.scenario)) };
        let tls = self.ca.as_ref().map(|ca| [OsStr::new("--tls="), ca.as_os_str()].into_iter().collect());
        asked.words().into_iter().map(OsString::from).chain(tls).collect()
    }

    fn tls(&self) -> Option<Tls> {
        let own = self.ca.as_ref().map(|ca| Tls { ca: Some(ca.to_path_buf()), client: None });
        own.or_else(|| self.bench.context.plan.access.tls.clone())
    }

    /// Starts the server that the contender needs, and has its tables and rows made.
    pub(super) fn load(&'a self, stage: &mut dyn FnMut(Stage)) -> Result<Loaded<'a>, CellFailure> {
        Served::start(self, stage)?.load(self, stage)
    }

    /// The statements of the contender's turn `nth`, from 0.
    pub(super) fn tickets(&self, nth: u32) -> Range<u64> {
        tickets(self.load.count, self.planned.turns(), nth)
    }

    /// The idle span after its turns: only times and calls by name are read in it.
    pub(super) fn idle(&self) -> Option<Duration> {
        let is_read = matches!(self.planned.pass, Pass::Timing | Pass::Syscalls);
        self.scenario.idle.filter(|_| is_read).map(Time::duration)
    }

    /// Whether the cell takes a measure: a step of a ladder has those of the timing pass, too.
    pub(super) fn takes(&self, measure: &Declaration) -> bool {
        let times = self.planned.rate.is_some() && measure.is_taken_in(Pass::Timing);
        times || measure.is_taken_in(self.planned.pass)
    }

    pub(super) fn workers(&self) -> u64 {
        self.bench.context.plan.workers()
    }

    pub(super) fn opens_sessions(&self) -> bool {
        opens_sessions(&self.scenario)
    }

    pub(super) fn cores(&self) -> Vec<usize> {
        self.placement.cores(self.bench.context.plan.target.is_embedded())
    }

    /// Whether the contender is noop, the only one that needs no server.
    pub(super) fn is_noop(&self) -> bool {
        self.bench.context.run.contenders[self.planned.contender].role == Role::Noop
    }

    /// What starts loaders of the contender and what they are told, if there are any.
    pub(super) fn launcher(&self, nodes: &[SocketAddr]) -> Option<(Launcher<'_>, Start)> {
        let CellContext { plan, programs, .. } = self.bench.context;
        let launcher = Launcher { info: plan.loaders.as_ref()?, words: &self.launch, cqldyno: &programs.cqldyno };
        let times = self.planned.rate.map(|_| Pass::Timing);
        let start = Start {
            passes: [Some(self.planned.pass), times].into_iter().flatten().collect(),
            nodes: nodes.to_vec(),
            cores: self.placement.worker_cores().map(<[usize]>::to_vec),
            is_shared: false,
            memory_bytes: plan.memory_limit_bytes,
            library_folder: self.introduced.library_folder.clone(),
        };
        Some((launcher, start))
    }

    pub(super) fn contender(&self, scratch: &Path) -> (Launch<'_>, Bounds<'_>) {
        let start = (self.bench.context.schedule.step(self.planned).start)(scratch);
        let (launch, bounds) = self.launch(&self.introduced.program, "");
        let deadlines = start.deadlines(bounds.deadlines);
        let launch = Launch {
            library_folder: self.introduced.library_folder.clone(),
            in_front: start.in_front,
            environment: start.environment,
            ..launch
        };
        (launch, Bounds { deadlines, memory_bytes: self.bench.context.plan.memory_limit_bytes, ..bounds })
    }

    /// How any worker starts that has no bounds of its own; `what` it is for ends the name of its log.
    pub(super) fn launch<'b>(&'b self, program: &'b Path, what: &str) -> (Launch<'b>, Bounds<'b>) {
        let CellContext { plan, cancel, .. } = self.bench.context;
        let launch = Launch {
            cores: self.placement.worker_cores(),
            redaction: self.bench.redaction.clone(),
            ..self.logged(program, what)
        };
        let deadlines = plan.deadlines.held_back(plan.delay(Some(&self.scenario)).longest());
        (launch, Bounds { deadlines, memory_bytes: None, cancel, transcript: None })
    }

    /// A launch of `program` with its log: a file of its own in a cell, lines in that of all in a turn.
    pub(super) fn logged<'b>(&'b self, program: &'b Path, what: &str) -> Launch<'b> {
        let CellContext { programs, folder, .. } = self.bench.context;
        let name = format!("{}{what}", self.stem);
        let (file, prefix) = match self.planned.rounds {
            None => (folder.log(&name).0, None),
            Some(_) => (folder.log(TURNS_LOG).0, Some(name)),
        };
        Launch { log_prefix: prefix, ..Launch::new(&programs.cqldyno, program, Some(file)) }
    }

    pub(super) fn job(&self, mode: Mode, nodes: &[SocketAddr]) -> Job {
        let plan = self.bench.context.plan;
        let own = self.introduced.contender.own.in_force(plan, Some(&self.scenario));
        let mut scenario = for_workers(self.scenario.clone());
        if mode != Mode::ReadBack {
            // Nobody else need know what is read back.
            scenario.statements.iter_mut().for_each(|statement| statement.read_back = None);
        }
        let rate = if let Shape::AtRate(rate) = self.load.shape { Some(rate) } else { None };
        let rate = rate.filter(|_| mode == Mode::Measure);
        let is_traced = plan.faults && (mode == Mode::ReadBack || rate.is_some());
        Job {
            mode,
            scenario,
            count: self.load.count,
            turns: self.planned.turns(),
            warmup: self.load.warmup,
            concurrency: self.load.concurrency,
            rate,
            seed: plan.seed,
            runtime: plan.arrangements[self.planned.arrangement].runtime,
            target: nodes.to_vec(),
            credentials: own_login(self.bench).or_else(|| plan.access.credentials.clone()),
            tls: self.tls(),
            datacenter: plan.datacenter.clone(),
            connections: own.connections,
            consistency: plan.consistency,
            page_size: self.scenario.page_size.map_or(plan.page_size, u32::cast_signed),
            request_timeout_ms: own.request_timeout_ms,
            settings: own.settings,
            options: self.introduced.contender.options.clone(),
            progress_ms: PROGRESS_MS,
            slice: None,
            trace: is_traced.then_some(Trace { patience_ms: PATIENCE.as_millis() as u64 }),
            tape: self.tape().filter(|_| match mode {
                Mode::Measure | Mode::Connect => true,
                Mode::Load => self.recording.is_none(),
                Mode::ReadBack => false,
            }),
        }
    }

    /// The tape that the contender plays; floor writes it, unless it was made of a user's own rows.
    pub(super) fn tape(&self) -> Option<Tape> {
        let path = self.tape.as_ref()?.to_path_buf();
        Some(Tape { path, statements: tape::types(&self.scenario) })
    }

    /// What floor plays of a tape that was made of a user's own rows.
    pub(super) fn floor_plays(&self, scenario: Scenario, made: &Made, nodes: &[SocketAddr]) -> Job {
        let path = made.path.to_path_buf();
        Job {
            mode: Mode::Measure,
            count: made.tickets,
            warmup: 0,
            tape: Some(Tape { path, statements: tape::types(&scenario) }),
            scenario: for_workers(scenario),
            ..self.floors_job(Mode::ReadBack, nodes)
        }
    }

    /// The same for floor, whoever the contender is.
    pub(super) fn floors_job(&self, mode: Mode, nodes: &[SocketAddr]) -> Job {
        let plan = self.bench.context.plan;
        // A write that one replica acknowledged may be on that one alone, as long as another was away.
        let consistency = if plan.faults && !plan.target.is_embedded() { Consistency::All } else { plan.consistency };
        Job {
            consistency,
            turns: 1,
            concurrency: if self.bench.postgres.is_some() { MAKERS } else { FLOOR_CONCURRENCY },
            runtime: Runtime::Current,
            connections: 1,
            settings: Settings::Equal,
            options: BTreeMap::new(),
            ..self.job(mode, nodes)
        }
    }
}

/// The scenario without the fields that workers are not sent.
fn for_workers(scenario: Scenario) -> Scenario {
    Scenario { point: None, script: Vec::new(), idle: None, tape: None, ..scenario }
}

/// The file for the contender's tape, if it plays one.
fn own_tape(
    introduced: &Introduced,
    scenario: &Scenario,
    workload: &Workload,
    stem: &str,
) -> Result<Option<Arc<TempPath>>, CellFailure> {
    if !(introduced.hello.tape || introduced.contender.own.tape) {
        return Ok(None);
    }
    if let Some(refusal) = tape::refusal(scenario, workload) {
        return Err(CellFailure::Unavailable(refusal));
    }
    let prefix = format!("cqldyno-tape-{}-{stem}-", std::process::id());
    let file = NamedTempFile::with_prefix(prefix).map_err(|error| {
        CellFailure::Machine(format!("a temporary file for the contender's tape could not be made: {error}"))
    })?;
    Ok(Some(Arc::new(file.into_temp_path())))
}

/// The tape of a user's own rows from `start` on.
fn tape_of_rows(
    introduced: &Introduced,
    recording: &Recording,
    start: u64,
    workload: &Workload,
) -> Result<Arc<TempPath>, CellFailure> {
    let hello = &introduced.hello;
    if !hello.tape && hello.build.id.is_empty() {
        return Err(CellFailure::Unavailable(format!(
            "The scenario plays a tape, and the worker of {} has a load generator of its own that plays none; leave one of them out.",
            hello.driver.label()
        )));
    }
    let made = recording.tape(start, workload.warmup(), workload.count());
    made.map(|made| made.path).map_err(CellFailure::Unavailable)
}

/// User and password of a PostgreSQL of ours.
fn own_login(bench: &CellBench<'_>) -> Option<Credentials> {
    let server = bench.postgres.as_ref()?;
    Some(Credentials { user: cqldyno_postgres::USER.to_owned(), password: server.password.clone() })
}
