//! The worker's end of the protocol: a task of the driver's own runtime reads, and one lock orders what is written.
//!
//! The worker has no thread of its own: a second thread makes every malloc and free of the process dearer. On the current-thread
//! runtime that was 3 to 6 % of a statement's cost.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use cqldyno_protocol::{
    Failed, FailureKind, Job, LineError, MAX_LINE_BYTES, ParentMessage, WorkerMessage, decode, encode,
};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::gauge::Gauge;

pub(crate) const EXIT_DONE: i32 = 0;
pub(crate) const EXIT_FAILED: i32 = 1;
/// The exit code when the parent went away.
const EXIT_ABANDONED: i32 = 2;

/// How long a driver's own clean-up at the process' end may take.
const LAST_WORK_WITHIN: Duration = Duration::from_secs(5);

/// How far a cell is, which decides which message may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `hello` was said: `job` comes next.
    Greeted,
    /// Nothing may come until `ready`.
    Preparing,
    /// The driver is connected and its statements are prepared: nothing may come until `ready`.
    WarmUp,
    /// `ready` was said, or `done` of a turn before the last: `go` comes next.
    Ready,
    /// `go` was heard: `stop` may come.
    Window,
    /// `end` was said: `ack` comes next.
    Ended,
    /// `ack` was heard: nothing may come until `done`.
    Acknowledged,
    /// The last message was said.
    Closed,
}

impl Phase {
    fn expected(self) -> &'static str {
        match self {
            Phase::Greeted => "`job`",
            Phase::Preparing | Phase::WarmUp => "nothing until `ready`",
            Phase::Ready => "`go`",
            Phase::Window => "`stop` or nothing until `end`",
            Phase::Ended => "`ack`",
            Phase::Acknowledged | Phase::Closed => "nothing",
        }
    }
}

struct Output {
    file: File,
    phase: Phase,
    /// Turns that are to begin.
    turns: u32,
    /// The gauge that `progress` reports and `stop` stops.
    gauge: Option<Arc<Gauge>>,
}

/// Both directions of the protocol.
pub(crate) struct Link {
    output: Mutex<Output>,
}

impl Link {
    /// Takes standard output for the protocol, and redirects all other output to standard error.
    pub(crate) fn open() -> io::Result<Link> {
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        nix::unistd::dup2_stdout(io::stderr()).map_err(io::Error::from)?;
        let output = Mutex::new(Output { file, phase: Phase::Greeted, turns: 0, gauge: None });
        Ok(Link { output })
    }

    fn output(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says `message` and enters `phase`; ends the process if nobody reads.
    pub(crate) fn say(&self, message: &WorkerMessage, phase: Phase) {
        let mut output = self.output();
        if output.phase != Phase::Closed {
            output.phase = phase;
            write(&mut output.file, message);
        }
    }

    /// Says how far the warm-up or the window is, if there is one now.
    pub(crate) fn say_progress(&self) {
        let mut output = self.output();
        let issued = output.gauge.as_ref().map(|gauge| gauge.taken());
        if let (Phase::WarmUp | Phase::Window, Some(issued)) = (output.phase, issued) {
            write(&mut output.file, &WorkerMessage::Progress { issued });
        }
    }

    /// The warm-up begins: from now on `progress` tells how far it is.
    pub(crate) fn warm_up(&self, gauge: &Arc<Gauge>) {
        let mut output = self.output();
        output.gauge = Some(Arc::clone(gauge));
        if output.phase != Phase::Closed {
            output.phase = Phase::WarmUp;
        }
    }

    /// The gauge that `progress` reports and `stop` stops from now on.
    pub(crate) fn arm(&self, window: &Arc<Gauge>) {
        self.output().gauge = Some(Arc::clone(window));
    }

    /// Says `failed` and ends the process.
    pub(crate) fn fail(&self, failed: Failed) -> ! {
        eprintln!("cqldyno worker: {}", failed.message);
        self.say(&WorkerMessage::Failed(failed), Phase::Closed);
        leave(EXIT_FAILED)
    }

    /// The job, which is the first message; read before there is a runtime, because it chooses the runtime.
    pub(crate) fn job(&self, input: &mut Input) -> Box<Job> {
        loop {
            if let Some(ParentMessage::Job(job)) = self.next(&mut input.lines) {
                return job;
            }
            let read = input.file.read(input.lines.room());
            input.lines.filled(read);
        }
    }

    /// Reads the parent's further messages in a task of this runtime, and sends on those that a cell waits for.
    pub(crate) fn listen(self: &Arc<Link>, input: Input) -> io::Result<UnboundedReceiver<ParentMessage>> {
        let (sender, receiver) = unbounded_channel();
        let pipe = pipe::Receiver::from_file(input.file)?;
        tokio::spawn(Arc::clone(self).read_all(input.lines, pipe, sender));
        Ok(receiver)
    }

    async fn read_all(
        self: Arc<Link>,
        mut lines: Lines,
        mut pipe: pipe::Receiver,
        sender: UnboundedSender<ParentMessage>,
    ) {
        loop {
            while let Some(message) = self.next(&mut lines) {
                let _ = sender.send(message);
                let output = self.output();
                // The `ack` of the last turn was heard.
                if output.turns == 0 && matches!(output.phase, Phase::Acknowledged | Phase::Closed) {
                    return;
                }
            }
            let read = pipe.read(lines.room()).await;
            lines.filled(read);
        }
    }

    /// The next complete message that a cell waits for; a wrong one ends the process.
    fn next(&self, lines: &mut Lines) -> Option<ParentMessage> {
        loop {
            let message = match lines.next()? {
                Ok(message) => message,
                Err(error) => self.fail(Failed { kind: FailureKind::Protocol, message: error.to_string() }),
            };
            match self.heard(&message) {
                Ok(true) => return Some(message),
                Ok(false) => {}
                Err(failed) => self.fail(failed),
            }
        }
    }

    /// Checks a message against the phase, and acts on `stop`; returns whether a cell waits for it.
    fn heard(&self, message: &ParentMessage) -> Result<bool, Failed> {
        let mut output = self.output();
        let (next, is_awaited) = match (output.phase, message) {
            (Phase::Greeted, ParentMessage::Job(job)) => {
                output.turns = job.turns;
                (Phase::Preparing, true)
            }
            (Phase::Ready, ParentMessage::Go { .. }) => {
                output.turns = output.turns.saturating_sub(1);
                (Phase::Window, true)
            }
            (Phase::Window, ParentMessage::Stop) => {
                if let Some(window) = &output.gauge {
                    window.stop();
                }
                (Phase::Window, false)
            }
            // It crossed `end` on its way.
            (Phase::Ended, ParentMessage::Stop) => (Phase::Ended, false),
            (Phase::Ended, ParentMessage::Ack) => (Phase::Acknowledged, true),
            (phase, message) => {
                let found = match message {
                    ParentMessage::Job(_) => "job",
                    ParentMessage::Go { .. } => "go",
                    ParentMessage::Ack => "ack",
                    ParentMessage::Stop => "stop",
                };
                let message = format!("{} was expected from the parent, and `{found}` came", phase.expected());
                return Err(Failed { kind: FailureKind::Protocol, message });
            }
        };
        output.phase = next;
        Ok(is_awaited)
    }
}

fn write(file: &mut File, message: &WorkerMessage) {
    let written = match encode(message) {
        Ok(line) => file.write_all(line.as_bytes()),
        Err(error) => Err(io::Error::other(error)),
    };
    if let Err(error) = written {
        eprintln!("cqldyno worker: nobody reads what the worker says: {error}");
        leave(EXIT_ABANDONED);
    }
}

/// Standard input, and the bytes read so far.
pub(crate) struct Input {
    file: File,
    lines: Lines,
}

impl Input {
    pub(crate) fn open() -> io::Result<Input> {
        Ok(Input { file: File::from(io::stdin().as_fd().try_clone_to_owned()?), lines: Lines::default() })
    }
}

/// Bytes as they come, split into lines.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    filled: usize,
}

impl Lines {
    fn room(&mut self) -> &mut [u8] {
        self.bytes.resize(self.filled + 64 * 1024, 0);
        &mut self.bytes[self.filled..]
    }

    /// Takes in so many bytes; the end of the input ends the process.
    fn filled(&mut self, read: io::Result<usize>) {
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => {
                eprintln!(
                    "cqldyno worker: standard input was closed before the end; this program is started by cqldyno, which \
                     speaks the worker protocol with it"
                );
                leave(EXIT_ABANDONED);
            }
            Ok(read) => self.filled += read,
        }
    }

    /// The first complete line, if there is one.
    fn next(&mut self) -> Option<Result<ParentMessage, LineError>> {
        let filled = &self.bytes[..self.filled];
        let length = match filled.iter().position(|&byte| byte == b'\n') {
            Some(end) => end + 1,
            None if self.filled > MAX_LINE_BYTES => self.filled,
            None => return None,
        };
        let message = decode(&String::from_utf8_lossy(&filled[..length]));
        self.bytes.drain(..length);
        self.filled -= length;
        Some(message)
    }
}

/// Ends the process with `code` when this time is over.
pub(crate) fn leave_after(time: Duration, code: i32) {
    // Without the thread the process ends when its work does.
    let _ = thread::Builder::new().spawn(move || {
        thread::sleep(time);
        leave(code)
    });
}

/// Ends the process with `code`. If clean-up that libraries have registered hangs, a signal ends it.
pub(crate) fn leave(code: i32) -> ! {
    let _ = thread::Builder::new().spawn(|| {
        thread::sleep(LAST_WORK_WITHIN);
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
    });
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &mut Lines, bytes: &[u8]) {
        lines.room()[..bytes.len()].copy_from_slice(bytes);
        lines.filled(Ok(bytes.len()));
    }

    #[test]
    fn messages_come_line_by_line_however_their_bytes_come() {
        let mut lines = Lines::default();
        read(&mut lines, b"{\"type\":\"go\"}\n{\"type\":");
        assert_eq!(lines.next().unwrap().unwrap(), ParentMessage::Go { at_ns: None });
        assert!(lines.next().is_none());
        read(&mut lines, b"\"ack\"}");
        assert!(lines.next().is_none());
        read(&mut lines, b"\n");
        assert_eq!(lines.next().unwrap().unwrap(), ParentMessage::Ack);
        assert!(lines.next().is_none());
    }

    #[test]
    fn a_line_that_is_no_message_or_too_long_is_an_error() {
        for garbage in [&b"\n"[..], b"hello\n", b"{\"type\":\"dance\"}\n", b"\xff\xfe\n"] {
            let mut lines = Lines::default();
            read(&mut lines, garbage);
            let error = lines.next().unwrap().unwrap_err();
            assert!(error.to_string().starts_with("a message of the worker protocol was expected"), "{error}");
        }
        let mut lines = Lines::default();
        let part = vec![b'x'; 60_000];
        let error = loop {
            read(&mut lines, &part);
            if let Some(message) = lines.next() {
                break message.unwrap_err();
            }
            assert!(lines.filled <= MAX_LINE_BYTES);
        };
        assert!(matches!(error, LineError::TooLong(_)), "{error}");
    }
}
