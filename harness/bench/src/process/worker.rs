//! The parent's side of the worker protocol.

use std::time::{Duration, Instant};

use cqldyno_meter::resident_bytes;
use cqldyno_protocol::{
    Done, End, Failed, FailureKind, Hello, Job, LineError, Mode, PROTOCOL_VERSION, ParentMessage, Ready, WorkerMessage,
    decode, encode,
};
use cqldyno_reports::sentence;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::judge::redaction::Redaction;
use crate::plan::Deadlines;
use crate::process::cancel::Cancel;
use crate::process::child::{Launch, Process, Silence, file_name};
use crate::process::failure::{CellFailure, Phase};
use crate::process::transcript::Transcript;

/// What a worker was doing that no message is expected from.
const ASLEEP: &str = "while it slept, before its turn";

/// How long the writing or reading of a statement of a tape may take.
const PER_TAPED_STATEMENT: Duration = Duration::from_micros(100);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    pub deadlines: Deadlines,
    /// Resident memory above which it is ended; `None` for no limit.
    pub memory_bytes: Option<u64>,
    /// Ends every wait.
    pub cancel: &'a Cancel,
    /// Takes what both sides say.
    pub transcript: Option<&'a Transcript>,
}

fn not_started(worker: &str, error: &dyn std::fmt::Display) -> CellFailure {
    CellFailure::Worker(format!("The worker {worker} could not be started: {error}."))
}

/// The moment when `time` has passed; for a time beyond what the clock holds, one that nobody lives to see.
pub(super) fn after(time: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    Instant::now() + time.min(CENTURY)
}

/// A worker: at the gate, where counters may be attached to it, and after its `hello`. Dropping it kills the process.
pub(crate) struct Worker<'a> {
    process: Process,
    name: String,
    redaction: Redaction,
    bounds: Bounds<'a>,
    /// How long the reading of a turn's part of a tape may take.
    reading: Duration,
}

/// Looks at what a worker depends on: why waiting for it is pointless, if it is.
pub(crate) type Look<'a> = &'a mut dyn FnMut() -> Option<CellFailure>;

impl<'a> Worker<'a> {
    pub(crate) fn at_gate(launch: Launch<'_>, bounds: Bounds<'a>) -> Result<Worker<'a>, CellFailure> {
        let (name, redaction) = (file_name(launch.program), launch.redaction.clone());
        let process = Process::at_gate(launch).map_err(|error| not_started(&name, &error))?;
        Ok(Worker { process, name, redaction, bounds, reading: Duration::ZERO })
    }

    /// With another name in messages than its program's.
    pub(crate) fn named(self, name: String) -> Worker<'a> {
        Worker { name, ..self }
    }

    /// Opens the gate and waits for `hello`.
    pub(crate) fn open(self) -> Result<(Worker<'a>, Hello), CellFailure> {
        let mut worker = self.opened()?;
        let hello = worker.hello(&mut || None)?;
        Ok((worker, hello))
    }

    /// Tells a loader now and then that it is not forgotten.
    pub(crate) fn beat(mut self, message: &impl Serialize, every: Duration) -> Result<Worker<'a>, CellFailure> {
        let line = encode(message).map_err(|error| CellFailure::Machine(error.to_string()))?;
        self.process.beat(line, every).map_err(|error| not_started(&self.name, &error))?;
        Ok(self)
    }

    /// Ends its standard input. What it says afterwards nobody hears.
    pub(crate) fn hang_up(&mut self) {
        self.process.hang_up();
    }

    pub(crate) fn opened(self) -> Result<Worker<'a>, CellFailure> {
        let process = self.process.open().map_err(|error| not_started(&self.name, &error))?;
        Ok(Worker { process, ..self })
    }

    pub(crate) fn hello(&mut self, look: Look<'_>) -> Result<Hello, CellFailure> {
        match self.receive(Phase::Hello, look)? {
            WorkerMessage::Hello(hello) if hello.protocol == PROTOCOL_VERSION => Ok(*hello),
            WorkerMessage::Hello(hello) => Err(CellFailure::Worker(format!(
                "The worker {} speaks version {} of the worker protocol, and this cqldyno speaks version {PROTOCOL_VERSION}; build \
                 both from one source.",
                self.name, hello.protocol
            ))),
            other => Err(self.unexpected(Phase::Hello, other)),
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Says `job` and waits for `ready`. A worker that reports its warm-up, and issues no statement for the time of a stall, hangs.
    pub(crate) fn job(&mut self, job: Job, look: Look<'_>) -> Result<Ready, CellFailure> {
        let answer = self.offer(job, look)?;
        answer.map_err(|failed| self.unexpected(Phase::Ready, WorkerMessage::Failed(failed)))
    }

    /// Says `job` and waits for `ready`, or for `failed` of a worker that refuses it.
    pub(crate) fn offer(&mut self, job: Job, look: Look<'_>) -> Result<Result<Ready, Failed>, CellFailure> {
        // A worker need not report its warm-up, so its statements have more time: enough for 1,000 per second.
        let warmup = if job.mode == Mode::Measure { Duration::from_millis(job.warmup) } else { Duration::ZERO };
        let taped = job.tape.as_ref().map_or(0, |_| job.count / u64::from(job.turns.max(1)));
        self.reading = PER_TAPED_STATEMENT.saturating_mul(u32::try_from(taped).unwrap_or(u32::MAX));
        let time = self.bounds.deadlines.ready.saturating_add(warmup).saturating_add(self.reading);
        self.send(&ParentMessage::Job(Box::new(job)), Phase::Ready)?;
        match self.receive_after_progress(Phase::Ready, time, look, |_| ())? {
            WorkerMessage::Ready(ready) => Ok(Ok(ready)),
            WorkerMessage::Failed(failed) => Ok(Err(failed)),
            other => Err(self.unexpected(Phase::Ready, other)),
        }
    }

    /// Looks at a worker that slept while others took their turns: whether it is there, and no larger than it may be. Nobody looks
    /// while it sleeps, because that would take time from the one whose turn it is.
    pub(crate) fn wake(&mut self) -> Result<(), CellFailure> {
        if let Some(how) = self.process.ended() {
            return Err(CellFailure::Worker(format!("The worker {} {how}; that was {ASLEEP}.", self.name)));
        }
        match overgrown(self.pid(), self.bounds.memory_bytes) {
            Some(sizes) => Err(self.failed(&format!("{}; that was {ASLEEP}", too_large(sizes)))),
            None => Ok(()),
        }
    }

    /// Says `go` and waits for `end`; `progress` hears how many statements were issued. A worker that issues no statement for the
    /// time of a stall hangs.
    pub(crate) fn go(&mut self, look: Look<'_>, progress: impl FnMut(u64)) -> Result<End, CellFailure> {
        self.go_at(None, look, progress)
    }

    /// The same; the window begins when the worker's CLOCK_MONOTONIC shows `at_ns`.
    pub(crate) fn go_at(
        &mut self,
        at_ns: Option<u64>,
        look: Look<'_>,
        progress: impl FnMut(u64),
    ) -> Result<End, CellFailure> {
        self.send(&ParentMessage::Go { at_ns }, Phase::End)?;
        match self.receive_after_progress(Phase::End, self.bounds.deadlines.stall, look, progress)? {
            WorkerMessage::End(end) => Ok(end),
            other => Err(self.unexpected(Phase::End, other)),
        }
    }

    /// Says `go`, and `stop` after this time, and waits for `end`, which must come in the time of a stall.
    pub(crate) fn go_and_stop(&mut self, after: Duration) -> Result<End, CellFailure> {
        self.send(&ParentMessage::Go { at_ns: None }, Phase::End)?;
        std::thread::sleep(after);
        self.send(&ParentMessage::Stop, Phase::Stopped)?;
        let time = self.bounds.deadlines.stall;
        let deadline = self::after(time);
        loop {
            match self.receive_until(Phase::Stopped, deadline, time, &mut || None)? {
                WorkerMessage::End(end) => return Ok(end),
                WorkerMessage::Progress { .. } => {}
                other => return Err(self.unexpected(Phase::Stopped, other)),
            }
        }
    }

    /// Says `go` in the place of `job`, and waits for the `failed` that is due.
    pub(crate) fn provoke(&mut self) -> Result<Failed, CellFailure> {
        self.send(&ParentMessage::Go { at_ns: None }, Phase::Ready)?;
        match self.receive(Phase::Ready, &mut || None)? {
            WorkerMessage::Failed(failed) => Ok(failed),
            other => Err(self.unexpected(Phase::Ready, other)),
        }
    }

    pub(crate) fn ack(&mut self) -> Result<Done, CellFailure> {
        self.send(&ParentMessage::Ack, Phase::Done)?;
        self.done(&mut || None)
    }

    pub(crate) fn done(&mut self, look: Look<'_>) -> Result<Done, CellFailure> {
        match self.receive(Phase::Done, look)? {
            WorkerMessage::Done(done) => Ok(*done),
            other => Err(self.unexpected(Phase::Done, other)),
        }
    }

    /// What a loader says between the worker's messages; `asked` is said before, if there is anything to say.
    pub(crate) fn of_loader<T: DeserializeOwned>(
        &mut self,
        asked: Option<&impl Serialize>,
        phase: Phase,
        look: Look<'_>,
    ) -> Result<T, CellFailure> {
        asked.map_or(Ok(()), |asked| self.send(asked, phase))?;
        let time = self.time(phase);
        let line = self.line(phase, after(time), time, look)?;
        decode(&line).map_err(|_| match decode(&line) {
            Ok(message) => self.unexpected(phase, message),
            Err(_) => self.no_message(phase, &line),
        })
    }

    /// Waits for the exit after `done`; a sentence if it is not a good one. What was counted stands all the same.
    pub(crate) fn finish(self) -> Option<String> {
        let exit = self.process.finish(Some(0)).err()?;
        Some(format!("The worker {} had said `done` and then {exit}.", self.name))
    }

    /// Waits for the exit after `failed`; a sentence if its code is not 1.
    pub(crate) fn finish_failed(self) -> Option<String> {
        let exit = self.process.finish(Some(1)).err()?;
        Some(format!("The worker {} had said `failed` and then {exit}; its exit code must be 1.", self.name))
    }

    /// Goes away as a parent that is killed; a sentence if the worker does not end then.
    pub(crate) fn abandon(self) -> Option<String> {
        let exit = self.process.finish(None).err()?;
        Some(format!("The standard input of the worker {} ended before the last `ack`, and it {exit}.", self.name))
    }

    pub(crate) fn send(&mut self, message: &impl Serialize, phase: Phase) -> Result<(), CellFailure> {
        let line = encode(message).map_err(|error| CellFailure::Machine(error.to_string()))?;
        self.bounds.transcript.into_iter().for_each(|transcript| transcript.add("parent", &line));
        // A worker that no longer reads has ended or will not answer: waiting for its answer tells which.
        if self.process.send(&line).is_err() {
            let found = self.receive(phase, &mut || None)?;
            return Err(self.unexpected(phase, found));
        }
        Ok(())
    }

    fn receive(&mut self, phase: Phase, look: Look<'_>) -> Result<WorkerMessage, CellFailure> {
        let time = self.time(phase);
        self.receive_until(phase, after(time), time, look)
    }

    fn time(&self, phase: Phase) -> Duration {
        let deadlines = &self.bounds.deadlines;
        match phase {
            Phase::Hello => deadlines.hello,
            Phase::Ready => deadlines.ready,
            Phase::End | Phase::Stopped => deadlines.stall,
            Phase::Done => deadlines.done.saturating_add(self.reading),
        }
    }

    /// The next message that is no `progress`. The first one has `time`; after a `progress` with more statements than any before,
    /// the next one has the time of a stall.
    fn receive_after_progress(
        &mut self,
        phase: Phase,
        mut time: Duration,
        look: Look<'_>,
        mut progress: impl FnMut(u64),
    ) -> Result<WorkerMessage, CellFailure> {
        let mut deadline = after(time);
        let mut furthest = None;
        loop {
            match self.receive_until(phase, deadline, time, look)? {
                WorkerMessage::Progress { issued } => {
                    if furthest.is_none_or(|furthest| issued > furthest) {
                        furthest = Some(issued);
                        time = self.bounds.deadlines.stall;
                        deadline = after(time);
                    }
                    progress(issued);
                }
                other => return Ok(other),
            }
        }
    }

    fn receive_until(
        &mut self,
        phase: Phase,
        deadline: Instant,
        time: Duration,
        look: Look<'_>,
    ) -> Result<WorkerMessage, CellFailure> {
        let line = self.line(phase, deadline, time, look)?;
        decode(&line).map_err(|_| self.no_message(phase, &line))
    }

    /// The password goes first: the error shows a cut and escaped part of the line, in which a part of the password could not be found.
    fn no_message(&mut self, phase: Phase, line: &str) -> CellFailure {
        let why = match decode::<WorkerMessage>(&self.redaction.apply(line)) {
            Err(error) => error.to_string(),
            Ok(_) => "it is no message as it was written".to_owned(),
        };
        self.failed(&broke(phase, &why))
    }

    fn line(&mut self, phase: Phase, deadline: Instant, time: Duration, look: Look<'_>) -> Result<String, CellFailure> {
        let (pid, limit) = (self.process.pid(), self.bounds.memory_bytes);
        let mut sizes = None;
        let mut look = || {
            sizes = overgrown(pid, limit);
            sizes.map(|_| CellFailure::Cancelled).or_else(&mut *look)
        };
        let line = self.process.line(deadline, self.bounds.cancel, &mut look);
        if let (Ok(line), Some(transcript)) = (&line, self.bounds.transcript) {
            transcript.add("worker", line);
        }
        let what = match (line, sizes) {
            (Err(Silence::Broken(_)), Some(sizes)) => format!("{}; that was {}", too_large(sizes), phase.doing()),
            (Ok(line), _) => return Ok(line),
            (Err(Silence::TooLong(length)), _) => broke(phase, &LineError::TooLong(length).to_string()),
            // No driver has a time limit of its own unless one was asked for, so this is what ends a cell with a lost answer.
            (Err(Silence::TimedOut), _) if phase == Phase::End => format!(
                "issued no statement for {} s (the limit `stall`) and was ended in the window: an answer was lost, or the driver hangs",
                time.as_secs()
            ),
            (Err(Silence::TimedOut), _) if phase == Phase::Stopped => {
                format!("did not end its window within {} s of `stop`", time.as_secs())
            }
            (Err(Silence::TimedOut), _) => {
                format!("said nothing new for {} s and was ended; that was {}", time.as_secs(), phase.doing())
            }
            (Err(Silence::Ended(how)), _) => {
                let (name, doing) = (&self.name, phase.doing());
                return Err(CellFailure::Worker(format!("The worker {name} {how}; that was {doing}.")));
            }
            (Err(Silence::Cancelled), _) => return Err(CellFailure::Cancelled),
            (Err(Silence::Broken(failure)), _) => return Err(failure),
        };
        Err(self.failed(&what))
    }

    /// Ends the worker; a sentence with what it did and the last lines of its log.
    fn failed(&mut self, what: &str) -> CellFailure {
        let log = self.process.end_and_quote();
        CellFailure::Worker(format!("The worker {} {what}{log}.", self.name))
    }

    fn unexpected(&mut self, phase: Phase, message: WorkerMessage) -> CellFailure {
        let found = match message {
            WorkerMessage::Failed(failed) => {
                let message = self.redaction.apply(&failed.message);
                let end = if message.ends_with('.') { "" } else { "." };
                return match failed.kind {
                    // Whose worker it was says nothing of a password.
                    FailureKind::BadCredentials => CellFailure::Refused(format!("{message}{end}")),
                    FailureKind::Exists => CellFailure::Exists(format!("{message}{end}")),
                    // The cause comes first: a reader may see no more than the beginning.
                    _ => CellFailure::Worker(format!(
                        "{} So the worker {} failed {}.",
                        sentence(&message),
                        self.name,
                        phase.doing()
                    )),
                };
            }
            WorkerMessage::Hello(_) => "hello",
            WorkerMessage::Ready(_) => "ready",
            WorkerMessage::Progress { .. } => "progress",
            WorkerMessage::End(_) => "end",
            WorkerMessage::Done(_) => "done",
        };
        self.failed(&format!("broke the worker protocol: {} was expected and `{found}` came", phase.expected()))
    }
}

fn broke(phase: Phase, why: &str) -> String {
    format!("broke the worker protocol where {} was expected: {why}", phase.expected())
}

/// The resident memory of a process and its limit, if it has more.
pub(super) fn overgrown(pid: i32, limit: Option<u64>) -> Option<(u64, u64)> {
    limit.and_then(|limit| Some((resident_bytes(pid).ok()?, limit))).filter(|(has, most)| has > most)
}

pub(super) fn too_large((found, limit): (u64, u64)) -> String {
    format!("had {} resident, more than the limit of {}, and was ended", mebibytes(found), mebibytes(limit))
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
