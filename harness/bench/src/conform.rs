//! One worker against the worker protocol (`drivers/PROTOCOL.md`).
//!
//! The protocol is played with a node of this process, a job at a time, each with a fresh process of the worker. Nothing is measured:
//! every deviation is a sentence, as a run would say it.

mod check;
mod stage;
mod window;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use cqldyno_cluster::Delay;
use cqldyno_driver_api::Capability;
use cqldyno_protocol::{FailureKind, Hello, Job, Mode};
use cqldyno_scenarios::{Scenario, builtin};

pub use self::check::{Check, Found};

use self::check::Findings;
use self::stage::{CONNECTIONS, Stage};
use crate::plan::Deadlines;
use crate::plan::contender::WITHOUT_DRIVER;
use crate::plan::pass::{Load, Shape};
use crate::process::cancel::Cancel;
use crate::process::child::{Launch, file_name};
use crate::process::failure::CellFailure;
use crate::process::programs::{FLOOR, NOOP, Programs};
use crate::process::transcript::Transcript;
use crate::process::worker::{Bounds, Worker};

/// Statements of a turn, and before it.
const COUNT: u64 = 4_000;
const WARMUP: u64 = 500;
/// Statements in flight, if the driver can have so many.
const CONCURRENCY: usize = 64;
/// More statements than any worker issues until it is stopped.
const ENDLESS: u64 = 1 << 32;
/// The statements of the tape of such a window, at first, and what each takes on a node.
const LONG_TAPE: u64 = 100_000;
const SLOW: Duration = Duration::from_millis(5);
/// The option that no driver has.
const UNKNOWN_OPTION: &str = "no-such-option";

/// What is tried.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The worker.
    pub program: PathBuf,
    /// Options of the contender, for every job.
    pub options: BTreeMap<String, String>,
    /// How long it may take without another statement, and from `stop` to `end`.
    pub stall: Duration,
    /// The only check; `None` for all of them.
    pub only: Option<Check>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Conformity {
    /// What the worker says that it is; `None` without a `hello`.
    pub label: Option<String>,
    /// Every check.
    pub checks: Vec<(Check, Found)>,
    /// What both sides said: after `#` what was played, after `worker` and `parent` their lines.
    pub transcript: String,
}

impl Conformity {
    /// How many checks do not hold, or were not reached because of one that does not.
    pub fn deviations(&self) -> usize {
        self.checks.iter().filter(|(_, found)| matches!(found, Found::Deviates(_) | Found::NotReached)).count()
    }
}

/// Plays the protocol. Runs on the caller's thread, which must live as long: workers end with it.
///
/// # Errors
/// When `cancel` comes, or the node or floor fails; what the worker does is a finding.
pub fn conform(tried: &Tried, programs: &Programs, cancel: &Cancel) -> Result<Conformity, CellFailure> {
    let transcript = Transcript::default();
    let bench = Bench { tried, programs, cancel, transcript: &transcript };
    let mut play = Play { bench, findings: Findings::default(), hello: None };
    match play.all() {
        Ok(()) | Err(Ends::Play) => {}
        Err(Ends::All(failure)) => return Err(failure),
    }
    let Play { findings, hello, .. } = play;
    let label = hello.map(|hello| hello.driver.label());
    let mut checks = findings.into_all();
    let is_wanted =
        |check, found: &Found| tried.only.is_none_or(|only| only == check) || matches!(found, Found::Deviates(_));
    checks.retain(|(check, found)| is_wanted(*check, found));
    Ok(Conformity { label, checks, transcript: transcript.into_text() })
}

/// What ends early.
enum Ends {
    /// A play, whose deviation was found.
    Play,
    /// All of them.
    All(CellFailure),
}

#[derive(Clone, Copy)]
struct Bench<'a> {
    tried: &'a Tried,
    programs: &'a Programs,
    cancel: &'a Cancel,
    transcript: &'a Transcript,
}

impl<'a> Bench<'a> {
    fn bounds(&self, transcript: Option<&'a Transcript>) -> Bounds<'a> {
        let deadlines = Deadlines { stall: self.tried.stall, ..Deadlines::default() };
        Bounds { deadlines, memory_bytes: None, cancel: self.cancel, transcript }
    }

    /// Starts the worker, and waits for its `hello`.
    fn open(&self, title: &str) -> Result<(Worker<'a>, Hello), CellFailure> {
        self.transcript.title(title);
        let launch = Launch::new(&self.programs.cqldyno, &self.tried.program, None);
        Worker::at_gate(launch, self.bounds(Some(self.transcript)))?.open()
    }

    fn floor(&self, stage: &Stage, mode: Mode) -> Result<cqldyno_protocol::Done, CellFailure> {
        // Without a server there is a tape to write, and nothing else to do.
        let name = if stage.node.is_some() { FLOOR } else { NOOP };
        let floor = self.programs.worker(name).map_err(|error| CellFailure::Unavailable(error.to_string()))?;
        let launch = Launch::new(&self.programs.cqldyno, &floor, None);
        let (mut floor, _) = Worker::at_gate(launch, self.bounds(None))?.open()?;
        floor.job(stage.job(mode, 1), &mut || None)?;
        floor.go(&mut || None, |_| ())?;
        floor.ack()
    }
}

/// The checks that something is played for, and how it is.
type Played = (&'static [Check], fn(&mut Play<'_>) -> Result<(), Ends>);

const PLAYS: [Played; 8] = [
    (&[Check::Refusal], |play| play.refusal()),
    (
        &[
            Check::Ready,
            Check::Window,
            Check::Done,
            Check::Count,
            Check::Rows,
            Check::Connections,
            Check::Histogram,
            Check::Exit,
        ],
        |play| play.cell(),
    ),
    (&[Check::Rows], |play| play.altered()),
    (&[Check::Operations], |play| play.operations()),
    (&[Check::Stop, Check::Time], |play| play.stopped()),
    (&[Check::Rate], |play| play.paced()),
    (&[Check::Turns], |play| play.turns()),
    (&[Check::Parent], |play| play.abandoned()),
];

struct Play<'a> {
    bench: Bench<'a>,
    findings: Findings,
    hello: Option<Hello>,
}

impl<'a> Play<'a> {
    fn all(&mut self) -> Result<(), Ends> {
        self.introduction()?;
        for (checks, play) in PLAYS {
            if self.bench.tried.only.is_some_and(|only| !checks.contains(&only)) {
                continue;
            }
            match play(self) {
                // A worker that has no plain window has no other one.
                Err(Ends::Play) if !checks.contains(&Check::Window) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// What succeeded; else it deviates, and the play ends.
    fn of<T>(&mut self, check: Check, step: Result<T, CellFailure>) -> Result<T, Ends> {
        match step {
            Ok(done) => Ok(done),
            Err(CellFailure::Cancelled) => Err(Ends::All(CellFailure::Cancelled)),
            Err(failure) => {
                self.findings.judge(check, [failure.to_string()]);
                Err(Ends::Play)
            }
        }
    }

    /// `hello`, and a message that is not the one that is due.
    fn introduction(&mut self) -> Result<(), Ends> {
        let (mut worker, hello) = self.of(Check::Hello, self.bench.open("`go` in the place of `job`"))?;
        let is_offline = hello.driver.capabilities.contains(&Capability::Offline);
        let sends_nothing = hello.driver.name == NOOP || file_name(&self.bench.tried.program).ends_with(WITHOUT_DRIVER);
        let only_noop = (is_offline && !sends_nothing).then(|| {
            "The worker declares that it sends nothing (capability `offline`), and only noop may: no server could count its statements."
                .to_owned()
        });
        let nameless = (hello.driver.name.is_empty() || hello.driver.version.is_empty()).then(|| {
            "`hello` has no name or no version of the driver; fill in `driver.name` and `driver.version`.".to_owned()
        });
        self.hello = Some(hello);
        self.findings.judge(Check::Hello, only_noop.into_iter().chain(nameless));
        let deviations = match worker.provoke() {
            Err(CellFailure::Cancelled) => return Err(Ends::All(CellFailure::Cancelled)),
            Err(failure) => vec![failure.to_string()],
            Ok(failed) => {
                let other = (failed.kind != FailureKind::Protocol).then(|| {
                    "`go` came in the place of `job`, and the worker said `failed` of another kind; its kind must be `protocol`."
                        .to_owned()
                });
                other.into_iter().chain(worker.finish_failed()).collect()
            }
        };
        self.findings.judge(Check::Order, deviations);
        Ok(())
    }

    /// A job with an option that no driver has.
    fn refusal(&mut self) -> Result<(), Ends> {
        let stage = self.stage("writes", COUNT, WARMUP, Shape::Closed)?;
        let mut worker = self.open(Check::Refusal, "An option that no driver has")?;
        let mut job = self.job(&stage, 1);
        job.options.insert(UNKNOWN_OPTION.to_owned(), "1".to_owned());
        let deviation = match self.of(Check::Refusal, worker.offer(job, &mut || None))? {
            Ok(_) => Some(format!(
                "The job has the option `{UNKNOWN_OPTION}`, and the worker said `ready`; refuse unknown options with `failed` of kind \
                 `job`."
            )),
            Err(failed) if !failed.message.contains(UNKNOWN_OPTION) => Some(format!(
                "The worker refused a job with the option `{UNKNOWN_OPTION}` and did not name it: {}",
                failed.message
            )),
            Err(_) => worker.finish_failed(),
        };
        self.findings.judge(Check::Refusal, deviation);
        Ok(())
    }

    fn open(&mut self, check: Check, title: &str) -> Result<Worker<'a>, Ends> {
        self.of(check, self.bench.open(title)).map(|(worker, _)| worker)
    }

    fn stage(&self, scenario: &str, count: u64, warmup: u64, shape: Shape) -> Result<Stage, Ends> {
        let scenario = builtin(scenario)
            .ok_or_else(|| Ends::All(CellFailure::Machine(format!("there is no scenario {scenario}"))))?;
        self.stage_of(&scenario, count, warmup, shape)
    }

    /// A stage with its tables and rows, which floor makes.
    fn stage_of(&self, scenario: &Scenario, count: u64, warmup: u64, shape: Shape) -> Result<Stage, Ends> {
        // A tape has an end, which slow answers keep away.
        let delay = if count >= LONG_TAPE && self.plays() { Delay::from(SLOW) } else { Delay::default() };
        let load = Load { count, warmup, concurrency: self.concurrency(), shape };
        let stage = Stage::new(scenario, load, (self.is_offline(), self.plays()), delay).map_err(Ends::All)?;
        if stage.node.is_some() || stage.tape.is_some() {
            self.bench.floor(&stage, Mode::Load).map_err(Ends::All)?;
        }
        Ok(stage)
    }

    fn plays(&self) -> bool {
        self.hello.as_ref().is_some_and(|hello| hello.tape)
    }

    fn is_offline(&self) -> bool {
        self.hello.as_ref().is_some_and(|hello| hello.driver.capabilities.contains(&Capability::Offline))
    }

    fn concurrency(&self) -> usize {
        let driver = self.hello.as_ref().map(|hello| &hello.driver);
        let blocking = driver.and_then(|driver| driver.in_flight_per_connection).map(|each| each * CONNECTIONS);
        let most = driver.into_iter().flat_map(|driver| driver.most_in_flight.values().copied());
        most.chain(blocking).fold(CONCURRENCY, usize::min).max(1)
    }

    fn job(&self, stage: &Stage, turns: u32) -> Job {
        Job { options: self.bench.tried.options.clone(), ..stage.job(Mode::Measure, turns) }
    }
}
