//! A loader: one worker of a contender on a host of its own. `cqldyno loader -- WORKER` is its gate, its meters and its parent there.
//!
//! It passes the lines of the worker protocol on in both directions, and adds lines of its own: who and where it is, its clocks when
//! it is asked, and before each `done` what the meters read. When its input ends, so does the worker. One without a worker watches the
//! cores of its host.

use std::env::current_exe;
use std::fs::{read_to_string, remove_dir_all};
use std::io::{self, BufRead, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, exit};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, sleep};
use std::time::Duration;

use cqldyno_meter::{
    ALL, Attachment, NOISE, Outcome, Seen, Subject, Traffic, busy_connections, cores, monotonic_ns, process_cpu_ns,
};
use cqldyno_protocol::{
    Done, End, Failed, FailureKind, LineError, ParentMessage, WorkerMessage, build_id, decode, encode,
};
use cqldyno_reports::Pass;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::judge::merged::Metered;
use crate::judge::readings::{read, window_of};
use crate::process::cancel::Cancel;
use crate::process::child::{Launch, Process, Silence, file_name};
use crate::process::failure::CellFailure;
use crate::process::worker::{after, overgrown, too_large};

pub(crate) const SUBCOMMAND: &str = "loader";
/// What loader and parent say to each other changes with this.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-2");
/// The exit code when the parent is gone, as that of a worker.
const EXIT_ABANDONED: i32 = 2;
/// The parent says so often that it is there. Not every launcher that dies ends the loader's input, and a network may only fall silent.
pub(crate) const BEAT: Duration = Duration::from_secs(5);
/// A loader that hears nothing for so many seconds is forgotten.
const FORGOTTEN_AFTER: u32 = 30;
const ELSEWHERE: &str = "A loader does not see the server.";

/// Who a loader is, and where; its first line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Whereabouts {
    /// [`VERSION`].
    pub loader: String,
    /// The build id of `cqldyno`.
    #[serde(default)]
    pub build: String,
    pub host: String,
    pub kernel: String,
    /// Cores that it may use.
    pub cores: Vec<usize>,
    /// The same for all processes that share a clock.
    pub boot: String,
}

impl Whereabouts {
    pub(crate) fn here() -> Whereabouts {
        let told = |what: &str| {
            let text = read_to_string(format!("/proc/sys/kernel/{what}")).unwrap_or_default();
            text.trim().to_owned()
        };
        Whereabouts {
            loader: VERSION.to_owned(),
            build: build_id(),
            host: told("hostname"),
            kernel: told("osrelease"),
            cores: cores(),
            boot: told("random/boot_id"),
        }
    }
}

/// What a loader is told before it starts its worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// The measures of these passes are read.
    pub passes: Vec<Pass>,
    pub nodes: Vec<SocketAddr>,
    /// The cores of the worker; absent for all.
    pub cores: Option<Vec<usize>>,
    /// Whether other processes of the run are on its machine.
    pub is_shared: bool,
    /// Resident memory above which the worker is ended.
    pub memory_bytes: Option<u64>,
    /// The folder in which the dynamic loader looks first.
    pub library_folder: Option<PathBuf>,
}

/// What a loader is told between the messages for its worker.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ToLoader {
    /// Asks for its clocks; never while the worker has something to say.
    Look,
    /// The parent is there. There is no answer.
    Beat,
}

/// The answer to [`ToLoader::Look`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Looked {
    /// CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// CPU time of the worker.
    pub cpu_ns: Option<u64>,
    /// Loader and worker.
    pub processes: [i32; 2],
}

/// Runs the loader of `worker` and returns its exit code. The caller's thread must live as long.
pub fn main(worker: &Path) -> i32 {
    let relay = || heard().map_or(Ok(EXIT_ABANDONED), |start| relayed(worker, &start));
    introduced().and_then(|()| relay()).unwrap_or_else(|message| {
        say(&WorkerMessage::Failed(Failed { kind: FailureKind::Crash, message }));
        1
    })
}

/// Says where this is. The process ends when the parent is silent for too long.
pub(crate) fn introduced() -> Result<(), String> {
    say(&Whereabouts::here());
    let watched = Builder::new().name("watch".to_owned()).spawn(watch);
    watched.map(drop).map_err(|error| format!("The loader could not start a thread: {error}."))
}

/// Says a line to the parent. Nobody is left to tell if that fails: the end of the input is noticed.
pub(crate) fn say(message: &impl Serialize) {
    encode(message).iter().for_each(|line| pass_on(line));
}

fn pass_on(line: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// The next line besides beats; nothing at the end of the input, and for another message.
pub(crate) fn heard<T: DeserializeOwned>() -> Option<T> {
    loop {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).ok().filter(|read| *read > 0)?;
        SILENT.store(0, Ordering::Relaxed);
        if decode::<ToLoader>(&line).is_err() {
            return decode(&line).ok();
        }
    }
}

/// Seconds since the parent said anything.
static SILENT: AtomicU32 = AtomicU32::new(0);
/// The worker, once there is one, and the folder of its meters.
static WORKER: OnceLock<(i32, PathBuf)> = OnceLock::new();

/// Ends loader and worker when the parent is silent for too long. A time in which this process stood still counts for one second.
fn watch() {
    while SILENT.fetch_add(1, Ordering::Relaxed) < FORGOTTEN_AFTER {
        sleep(Duration::from_secs(1));
    }
    abandon()
}

fn abandon() -> ! {
    if let Some((worker, scratch)) = WORKER.get() {
        let _ = killpg(Pid::from_raw(*worker), Signal::SIGKILL);
        let _ = remove_dir_all(scratch);
    }
    exit(EXIT_ABANDONED)
}

/// What both directions share.
struct Relay {
    worker: i32,
    meters: Mutex<Meters>,
    /// Turns that have not ended.
    turns: AtomicU32,
}

impl Relay {
    fn meters(&self) -> MutexGuard<'_, Meters> {
        self.meters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what the parent says to the worker, and ends both when the parent is gone.
    fn down(&self, mut worker: ChildStdin) {
        let mut line = String::new();
        while io::stdin().lock().read_line(&mut line).is_ok_and(|read| read > 0) {
            SILENT.store(0, Ordering::Relaxed);
            match decode(&line) {
                Ok(ToLoader::Look) => {
                    let processes = [std::process::id().cast_signed(), self.worker];
                    let (at_ns, cpu_ns) = (monotonic_ns().unwrap_or(0), process_cpu_ns(self.worker).ok());
                    say(&Looked { at_ns, cpu_ns, processes });
                }
                Ok(ToLoader::Beat) => {}
                Err(_) => {
                    match decode(&line) {
                        Ok(ParentMessage::Job(job)) => self.turns.store(job.turns, Ordering::Relaxed),
                        Ok(ParentMessage::Go { .. }) => self.meters().go(),
                        _ => {}
                    }
                    // If it no longer reads, its output says why.
                    let _ = worker.write_all(line.as_bytes());
                }
            }
            line.clear();
        }
        if self.turns.load(Ordering::Relaxed) > 0 {
            abandon()
        }
    }

    /// Passes on what the worker says until its last `done`, or its `failed`; the exit code that is due then.
    fn up(&self, process: &mut Process, name: &str, memory_bytes: Option<u64>) -> Result<i32, String> {
        let cancel = Cancel::new();
        let mut account = None;
        loop {
            let mut look = || {
                self.meters().attachments.iter_mut().for_each(|attachment| attachment.meanwhile());
                overgrown(self.worker, memory_bytes).map(|sizes| CellFailure::Worker(too_large(sizes)))
            };
            // The limits of time are the parent's.
            let line = process.line(after(Duration::MAX), &cancel, &mut look).map_err(|silence| {
                let how = match silence {
                    Silence::Ended(how) => how,
                    Silence::Broken(failure) => failure.to_string(),
                    Silence::TooLong(length) => LineError::TooLong(length).to_string(),
                    Silence::TimedOut | Silence::Cancelled => "said nothing".to_owned(),
                };
                format!("the worker {name} {how}")
            })?;
            match decode(&line) {
                Ok(WorkerMessage::End(mut end)) => {
                    end.at_ns = end.at_ns.or_else(|| monotonic_ns().ok());
                    account = Some(self.meters().end(end.clone()));
                    say(&WorkerMessage::End(end));
                }
                Ok(WorkerMessage::Done(done)) => {
                    account.take().into_iter().for_each(|account| say(&account(&done)));
                    let left = self.turns.fetch_sub(1, Ordering::Relaxed);
                    pass_on(&line);
                    if left <= 1 {
                        return Ok(0);
                    }
                }
                Ok(WorkerMessage::Failed(_)) => {
                    self.turns.store(0, Ordering::Relaxed);
                    pass_on(&line);
                    return Ok(1);
                }
                _ => pass_on(&line),
            }
        }
    }
}

fn relayed(worker: &Path, start: &Start) -> Result<i32, String> {
    let failed = |error: io::Error| format!("the worker {} could not be started: {error}", file_name(worker));
    let cqldyno = current_exe().map_err(failed)?;
    let scratch = tempfile::tempdir().map_err(failed)?;
    let launch = Launch {
        library_folder: start.library_folder.clone(),
        cores: start.cores.as_deref(),
        log_prefix: Some(String::new()),
        ..Launch::new(&cqldyno, worker, None)
    };
    let gate = Process::at_gate(launch).map_err(failed)?;
    let relay = Arc::new(Relay {
        worker: gate.pid(),
        meters: Mutex::new(Meters::attached(gate.pid(), start, scratch.path())),
        turns: AtomicU32::new(u32::MAX),
    });
    WORKER.get_or_init(|| (gate.pid(), scratch.path().to_path_buf()));
    let mut process = gate.open()?;
    let input = process.take_input().ok_or("the worker has no standard input")?;
    let down = Arc::clone(&relay);
    Builder::new().name("down".to_owned()).spawn(move || down.down(input)).map_err(failed)?;
    let code = relay.up(&mut process, &file_name(worker), start.memory_bytes)?;
    Ok(process.finish(Some(code)).map_or_else(
        |how| {
            eprintln!("the worker {} {how}", file_name(worker));
            1
        },
        |()| code,
    ))
}

struct Meters {
    worker: i32,
    nodes: Vec<SocketAddr>,
    attachments: Vec<Box<dyn Attachment>>,
    /// Process clock and traffic when the turn began.
    at_go: (Option<u64>, Option<Traffic>),
}

impl Meters {
    fn attached(worker: i32, start: &Start, scratch: &Path) -> Meters {
        let subject = Subject {
            worker,
            server: Err(ELSEWHERE.to_owned()),
            cores: start.cores.clone().unwrap_or_else(cores),
            scratch: scratch.to_path_buf(),
            nodes: start.nodes.clone(),
        };
        let meters = ALL.iter().filter(|meter| {
            let is_taken = meter.measures.iter().any(|one| start.passes.iter().any(|pass| one.is_taken_in(*pass)));
            let is_left_out = meter.over_idle || (start.is_shared && meter.name == NOISE.name);
            !is_left_out && (is_taken || meter.measures.is_empty())
        });
        let attachments = meters.map(|meter| meter.attach(&subject)).collect();
        Meters { worker, nodes: start.nodes.clone(), attachments, at_go: (None, None) }
    }

    fn clock(&self) -> Option<u64> {
        process_cpu_ns(self.worker).ok()
    }

    fn go(&mut self) {
        self.at_go = (self.clock(), Traffic::of(self.worker, &self.nodes).ok());
        self.attachments.iter_mut().rev().for_each(|attachment| attachment.at_go());
    }

    /// The turn has just ended: what was read of it, once its account is known.
    fn end(&mut self, end: End) -> impl FnOnce(&Done) -> Metered + use<> {
        let (go_ns, before) = std::mem::take(&mut self.at_go);
        let clock_ns = go_ns.zip(self.clock()).map(|(go, end)| end.saturating_sub(go));
        let seen: Vec<Seen> = self.attachments.iter_mut().map(|attachment| attachment.at_end()).collect();
        let after = Traffic::of(self.worker, &self.nodes).map_err(|refusal| refusal.to_string());
        let connections = after.and_then(|after| {
            let before = before.ok_or("The loader could not count connections when the turn began.")?;
            Ok(busy_connections(&before, &after))
        });
        move |done| {
            let window = window_of(&end, done, &Err(ELSEWHERE.to_owned()), &connections, None, 1);
            let Outcome { readings, findings, voids, breakdowns, series, .. } = read(seen, &window);
            let readings = readings.into_iter().filter(|one| one.value != Err(ELSEWHERE.to_owned()));
            Metered {
                clock_ns,
                connections,
                readings: readings.map(|one| (one.measure.id.to_owned(), one.value)).collect(),
                breakdowns: breakdowns.into_iter().map(|(kind, figures)| (kind.to_owned(), figures)).collect(),
                series: series.into_iter().map(|(kind, values)| (kind.to_owned(), values)).collect(),
                findings,
                voids,
            }
        }
    }
}
