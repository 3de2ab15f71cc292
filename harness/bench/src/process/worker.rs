//! The parent's side of the worker protocol.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cqldyno_meter::resident_bytes;
use cqldyno_protocol::{
    Done, End, Hello, Job, Mode, PROTOCOL_VERSION, ParentMessage, Ready, WorkerMessage, decode, encode,
};

use crate::process::cancel::Cancel;
use crate::process::failure::{CellFailure, Step};
use crate::process::child::{AtGate, Launch, Process, Silence, file_name};
use crate::judge::redaction::Redaction;

/// How long a worker may take for a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// To say `hello`.
    pub hello: Duration,
    /// To connect and prepare; a worker that does not tell how far its warm-up is has a millisecond a statement on top for it.
    pub ready: Duration,
    /// Without any statement more, in the warm-up and in the window.
    pub stall: Duration,
    /// To say `done` after `ack`.
    pub done: Duration,
}

impl Default for Deadlines {
    fn default() -> Deadlines {
        Deadlines {
            hello: Duration::from_secs(20),
            ready: Duration::from_secs(60),
            stall: Duration::from_secs(30),
            done: Duration::from_secs(30),
        }
    }
}

/// A slot takes up to 16 statements at a time and issues them one after the other; only then is it seen to go on.
const ANSWERS_WITHOUT_PROGRESS: u32 = 20;

impl Deadlines {
    /// With time for answers that the server holds back by `delay`.
    pub(crate) fn held_back(self, delay: Duration) -> Deadlines {
        Deadlines { stall: self.stall.max(delay.saturating_mul(ANSWERS_WITHOUT_PROGRESS)), ..self }
    }
}

/// What to start, and how.
#[derive(Clone, Debug)]
pub(crate) struct WorkerLaunch<'a> {
    /// `cqldyno`, which is the gate.
    pub gate: &'a Path,
    /// The worker.
    pub program: &'a Path,
    /// A program with its arguments, which is started in the worker's place with the worker's path behind them.
    pub in_front: Vec<OsString>,
    /// Further environment variables of the worker.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder in which the dynamic loader looks first.
    pub library_folder: Option<PathBuf>,
    /// The cores it may use; `None` for all.
    pub cores: Option<&'a [usize]>,
    /// Resident memory at which it is ended; `None` for no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Where its standard error goes.
    pub log: Option<PathBuf>,
    /// What may not get out.
    pub redaction: Redaction,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// Ends every wait.
    pub cancel: &'a Cancel,
}

/// A worker that waits at the gate: counters may be attached to it.
pub(crate) struct Waiting<'a> {
    gate: AtGate,
    worker: String,
    launch: WorkerLaunch<'a>,
}

impl<'a> Waiting<'a> {
    /// Starts the gate of a worker.
    pub(crate) fn start(launch: WorkerLaunch<'a>) -> Result<Waiting<'a>, CellFailure> {
        let worker = file_name(launch.program);
        // The gate finds a program without a slash as a shell does.
        let (program, arguments) = match launch.in_front.split_first() {
            Some((first, rest)) => (Path::new(first), [rest, &[launch.program.into()]].concat()),
            None => (launch.program, Vec::new()),
        };
        let gate = AtGate::start(Launch {
            gate: launch.gate,
            program,
            arguments,
            environment: &launch.environment,
            library_folder: launch.library_folder.as_deref(),
            cores: launch.cores,
            log: launch.log.clone(),
            redaction: launch.redaction.clone(),
        })
        .map_err(|error| CellFailure::NotStarted { worker: worker.clone(), error: error.to_string() })?;
        Ok(Waiting { gate, worker, launch })
    }

    /// The worker's process id.
    pub(crate) fn pid(&self) -> i32 {
        self.gate.pid()
    }

    /// Opens the gate and waits for `hello`.
    pub(crate) fn open(self) -> Result<(Worker<'a>, Hello), CellFailure> {
        let Waiting { gate, worker, launch } = self;
        let process = gate.open().map_err(|error| CellFailure::NotStarted { worker: worker.clone(), error })?;
        let mut worker = Worker { process, worker, launch };
        match worker.receive(Step::Hello, &mut || None)? {
            WorkerMessage::Hello(hello) if hello.protocol == PROTOCOL_VERSION => Ok((worker, *hello)),
            WorkerMessage::Hello(hello) => {
                Err(CellFailure::OtherProtocol { worker: worker.worker.clone(), found: hello.protocol })
            }
            other => Err(worker.unexpected(Step::Hello, other)),
        }
    }
}

/// The moment when `time` has passed; for a time beyond what the clock holds, one that nobody lives to see.
fn after(time: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);
    Instant::now() + time.min(CENTURY)
}

/// A worker that has said `hello`. It is killed when this is dropped.
pub(crate) struct Worker<'a> {
    process: Process,
    worker: String,
    launch: WorkerLaunch<'a>,
}

/// Looks at what a worker depends on while it is waited for: why there is no point in it, if so.
pub(crate) type Look<'a> = &'a mut dyn FnMut() -> Option<CellFailure>;

impl Worker<'_> {
    /// Says `job` and waits for `ready`. A worker that tells how far its warm-up is, and issues no statement for the time of a
    /// stall, hangs.
    pub(crate) fn job(&mut self, job: Job, look: Look<'_>) -> Result<Ready, CellFailure> {
        // Nothing need be said of how far the warm-up is: its statements have time on top, which is enough for 1,000 a second.
        let warmup = if job.mode == Mode::Measure { Duration::from_millis(job.warmup) } else { Duration::ZERO };
        let time = self.launch.deadlines.ready.saturating_add(warmup);
        self.send(&ParentMessage::Job(Box::new(job)), Step::Ready)?;
        match self.receive_behind_progress(Step::Ready, time, look, |_| ())? {
            WorkerMessage::Ready(ready) => Ok(ready),
            other => Err(self.unexpected(Step::Ready, other)),
        }
    }

    /// Says `go` and waits for `end`, telling `progress` how many statements were issued. A worker that issues no
    /// statement for the time of a stall hangs.
    pub(crate) fn go(&mut self, look: Look<'_>, progress: impl FnMut(u64)) -> Result<End, CellFailure> {
        self.send(&ParentMessage::Go, Step::End)?;
        match self.receive_behind_progress(Step::End, self.launch.deadlines.stall, look, progress)? {
            WorkerMessage::End(end) => Ok(end),
            other => Err(self.unexpected(Step::End, other)),
        }
    }

    /// Says `ack`, waits for `done` and for the process to exit. What was counted stands however the process exits: with an
    /// exit that is not a good one comes a sentence about it.
    pub(crate) fn ack(mut self) -> Result<(Done, Option<String>), CellFailure> {
        self.send(&ParentMessage::Ack, Step::Done)?;
        let done = match self.receive(Step::Done, &mut || None)? {
            WorkerMessage::Done(done) => *done,
            other => return Err(self.unexpected(Step::Done, other)),
        };
        let Worker { process, worker, .. } = self;
        let exit = process.finish().err();
        Ok((done, exit.map(|how| format!("The worker {worker} had said `done` and then {how}."))))
    }

    fn send(&mut self, message: &ParentMessage, step: Step) -> Result<(), CellFailure> {
        let line = encode(message).map_err(|error| CellFailure::Machine(error.to_string()))?;
        // A worker that no longer reads has ended or will not answer: waiting for its answer tells which.
        if self.process.send(&line).is_err() {
            let found = self.receive(step, &mut || None)?;
            return Err(self.unexpected(step, found));
        }
        Ok(())
    }

    fn receive(&mut self, step: Step, look: Look<'_>) -> Result<WorkerMessage, CellFailure> {
        let deadlines = &self.launch.deadlines;
        let time = match step {
            Step::Hello => deadlines.hello,
            Step::Ready => deadlines.ready,
            Step::End => deadlines.stall,
            Step::Done => deadlines.done,
        };
        self.receive_until(step, after(time), time, look)
    }

    /// The next message that is no `progress`. The first one has `time`; after one that tells of more statements than any
    /// before, the next one has the time of a stall.
    fn receive_behind_progress(
        &mut self,
        step: Step,
        mut time: Duration,
        look: Look<'_>,
        mut progress: impl FnMut(u64),
    ) -> Result<WorkerMessage, CellFailure> {
        let mut deadline = after(time);
        let mut furthest = None;
        loop {
            match self.receive_until(step, deadline, time, look)? {
                WorkerMessage::Progress { issued } => {
                    if furthest.is_none_or(|furthest| issued > furthest) {
                        furthest = Some(issued);
                        time = self.launch.deadlines.stall;
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
        step: Step,
        deadline: Instant,
        time: Duration,
        look: Look<'_>,
    ) -> Result<WorkerMessage, CellFailure> {
        let worker = self.worker.clone();
        let (pid, limit) = (self.process.pid(), self.launch.memory_limit_bytes);
        let overgrown = || {
            let limit = limit?;
            let found = resident_bytes(pid).ok().filter(|found| *found > limit)?;
            let (worker, found, limit) = (self.worker.clone(), mebibytes(found), mebibytes(limit));
            Some(CellFailure::Memory { worker, found, limit, step, log: String::new() })
        };
        let line = self.process.line(deadline, self.launch.cancel, &mut || overgrown().or_else(&mut *look));
        let mut log = || self.process.end_and_quote();
        match line {
            Ok(line) => decode(&line).map_err(|_| CellFailure::Garbage {
                worker,
                step,
                error: why_no_message(&self.launch.redaction, &line),
                log: log(),
            }),
            Err(Silence::TooLong(length)) => {
                let error = cqldyno_protocol::LineError::TooLong(length).to_string();
                Err(CellFailure::Garbage { worker, step, error, log: log() })
            }
            Err(Silence::Ended(how)) => Err(CellFailure::Ended { worker, how, step }),
            Err(Silence::Cancelled) => Err(CellFailure::Cancelled),
            Err(Silence::Broken(CellFailure::Memory { worker, found, limit, step, .. })) => {
                Err(CellFailure::Memory { worker, found, limit, step, log: log() })
            }
            Err(Silence::Broken(failure)) => Err(failure),
            Err(Silence::TimedOut) => Err(CellFailure::Hung { worker, seconds: time.as_secs(), step, log: log() }),
        }
    }

    fn unexpected(&mut self, step: Step, message: WorkerMessage) -> CellFailure {
        let worker = self.worker.clone();
        let found = match message {
            WorkerMessage::Failed(failed) => {
                let message = self.launch.redaction.apply(&failed.message);
                let message = if message.ends_with('.') { message } else { format!("{message}.") };
                return CellFailure::Told { worker, step, message };
            }
            WorkerMessage::Hello(_) => "hello",
            WorkerMessage::Ready(_) => "ready",
            WorkerMessage::Progress { .. } => "progress",
            WorkerMessage::End(_) => "end",
            WorkerMessage::Done(_) => "done",
        };
        CellFailure::OutOfOrder { worker, step, found, log: self.process.end_and_quote() }
    }
}

/// Why `line` is no message, without the password: it is taken out of the whole line, because the error shows a cut and escaped
/// part of it, in which nothing could find a part of the password.
fn why_no_message(redaction: &Redaction, line: &str) -> String {
    match decode::<WorkerMessage>(&redaction.apply(line)) {
        Err(error) => error.to_string(),
        Ok(_) => "it is no message as it was written".to_owned(),
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_held_back_long_are_no_stall() {
        let second = Duration::from_secs(1);
        let stall = |delay| Deadlines::default().held_back(delay).stall;
        assert_eq!(stall(Duration::ZERO), 30 * second);
        assert_eq!(stall(second), 30 * second);
        assert_eq!(stall(5 * second), 100 * second);
        assert_eq!(Deadlines::default().held_back(5 * second).hello, 20 * second);
    }
}
