//! The worker's end of the protocol: what the parent says is read by a thread of its own, what the worker says goes
//! through one lock.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cqldyno_protocol::{Failed, FailureKind, LineError, MAX_LINE_BYTES, ParentMessage, WorkerMessage, decode, encode};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::gauge::Gauge;

/// The exit code after `done`.
pub(crate) const EXIT_DONE: i32 = 0;
/// The exit code after `failed`.
pub(crate) const EXIT_FAILED: i32 = 1;
/// The exit code when the parent went away.
const EXIT_ABANDONED: i32 = 2;

/// How long a driver's own clean-up at the process' end may take.
const LAST_WORK_WITHIN: Duration = Duration::from_secs(5);

/// Where a cell is, and with it which message of the parent comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// `hello` was said: `job` comes next.
    Greeted,
    /// Nothing may come until `ready`.
    Preparing,
    /// The driver is connected and its statements are prepared: nothing may come until `ready`.
    WarmUp,
    /// `ready` was said: `go` comes next.
    Ready,
    /// `go` was heard: `stop` may come.
    Window,
    /// `end` was said: `ack` comes next.
    Ended,
    /// `ack` was heard: nothing is read any more.
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
    /// What `progress` tells of and `stop` stops.
    gauge: Option<Arc<Gauge>>,
}

/// Both directions of the protocol.
pub(crate) struct Link {
    output: Mutex<Output>,
}

impl Link {
    /// Takes standard output for the protocol, and lets everything that others print there go to standard error.
    pub(crate) fn open() -> io::Result<Link> {
        let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        nix::unistd::dup2_stdout(io::stderr()).map_err(io::Error::from)?;
        let output = Mutex::new(Output { file, phase: Phase::Greeted, gauge: None });
        Ok(Link { output })
    }

    /// Says `message` and goes on to `phase`; ends the process when nobody listens any more.
    pub(crate) fn say(&self, message: &WorkerMessage, phase: Phase) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        if output.phase != Phase::Closed {
            output.phase = phase;
            write(&mut output.file, message);
        }
    }

    /// Says how far the warm-up or the window is, if there is one now.
    pub(crate) fn say_progress(&self) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let issued = output.gauge.as_ref().map(|gauge| gauge.taken());
        if let (Phase::WarmUp | Phase::Window, Some(issued)) = (output.phase, issued) {
            write(&mut output.file, &WorkerMessage::Progress { issued });
        }
    }

    /// The warm-up begins: from now on `progress` tells how far it is.
    pub(crate) fn warm_up(&self, gauge: &Arc<Gauge>) {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.gauge = Some(Arc::clone(gauge));
        if output.phase != Phase::Closed {
            output.phase = Phase::WarmUp;
        }
    }

    /// What `progress` tells of and `stop` stops from now on.
    pub(crate) fn arm(&self, window: &Arc<Gauge>) {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).gauge = Some(Arc::clone(window));
    }

    /// Says `failed` and ends the process.
    pub(crate) fn fail(&self, failed: Failed) -> ! {
        eprintln!("cqldyno worker: {}", failed.message);
        self.say(&WorkerMessage::Failed(failed), Phase::Closed);
        leave(EXIT_FAILED)
    }

    /// Reads the parent's messages on a thread of its own and gives those that a cell waits for.
    pub(crate) fn listen(self: &Arc<Link>) -> io::Result<UnboundedReceiver<ParentMessage>> {
        let (sender, receiver) = unbounded_channel();
        let link = Arc::clone(self);
        thread::Builder::new().name("stdin".to_owned()).spawn(move || link.read_all(&sender))?;
        Ok(receiver)
    }

    fn read_all(&self, sender: &UnboundedSender<ParentMessage>) {
        let mut input = BufReader::new(io::stdin());
        loop {
            match read_message(&mut input) {
                Ok(Some(message)) => match self.heard(&message) {
                    Ok(Heard::PassOn) => {
                        let last = message == ParentMessage::Ack;
                        let _ = sender.send(message);
                        if last {
                            // Threads are counted after `end`: this one must not be gone or there by chance.
                            loop {
                                thread::park();
                            }
                        }
                    }
                    Ok(Heard::Done) => {}
                    Err(failed) => self.fail(failed),
                },
                Ok(None) => {
                    eprintln!(
                        "cqldyno worker: standard input was closed before the end; this program is started by cqldyno, \
                         which speaks the worker protocol with it"
                    );
                    leave(EXIT_ABANDONED);
                }
                Err(error) => self.fail(Failed { kind: FailureKind::Protocol, message: error.to_string() }),
            }
        }
    }

    /// What to do about a message, in the phase that it came in.
    fn heard(&self, message: &ParentMessage) -> Result<Heard, Failed> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        let (next, heard) = match (output.phase, message) {
            (Phase::Greeted, ParentMessage::Job(_)) => (Phase::Preparing, Heard::PassOn),
            (Phase::Ready, ParentMessage::Go) => (Phase::Window, Heard::PassOn),
            (Phase::Window, ParentMessage::Stop) => {
                if let Some(window) = &output.gauge {
                    window.stop();
                }
                (Phase::Window, Heard::Done)
            }
            // It crossed `end` on its way.
            (Phase::Ended, ParentMessage::Stop) => (Phase::Ended, Heard::Done),
            (Phase::Ended, ParentMessage::Ack) => (Phase::Acknowledged, Heard::PassOn),
            (phase, message) => {
                let found = match message {
                    ParentMessage::Job(_) => "job",
                    ParentMessage::Go => "go",
                    ParentMessage::Ack => "ack",
                    ParentMessage::Stop => "stop",
                };
                let message = format!("{} was expected from the parent, and `{found}` came", phase.expected());
                return Err(Failed { kind: FailureKind::Protocol, message });
            }
        };
        output.phase = next;
        Ok(heard)
    }
}

enum Heard {
    PassOn,
    Done,
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

/// One line; `None` at the end of the input.
fn read_message(input: &mut impl BufRead) -> Result<Option<ParentMessage>, LineError> {
    let mut line = Vec::new();
    let limit = MAX_LINE_BYTES as u64 + 1;
    match input.take(limit).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => Ok(None),
        Ok(_) => decode(&String::from_utf8_lossy(&line)).map(Some),
    }
}

/// Ends the process with `code`, whatever clean-up libraries have registered: if that hangs, the system ends it.
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

    #[test]
    fn messages_are_read_line_by_line_until_the_end() {
        let mut input = BufReader::new(&b"{\"type\":\"go\"}\n{\"type\":\"ack\"}"[..]);
        assert_eq!(read_message(&mut input).unwrap(), Some(ParentMessage::Go));
        assert_eq!(read_message(&mut input).unwrap(), Some(ParentMessage::Ack));
        assert_eq!(read_message(&mut input).unwrap(), None);
    }

    #[test]
    fn a_line_that_is_no_message_or_too_long_is_an_error() {
        for garbage in [&b"\n"[..], b"hello\n", b"{\"type\":\"dance\"}\n", b"\xff\xfe\n"] {
            let error = read_message(&mut BufReader::new(garbage)).unwrap_err();
            assert!(error.to_string().starts_with("a message of the worker protocol was expected"), "{error}");
        }
        let long = vec![b'x'; MAX_LINE_BYTES + 10];
        assert!(matches!(read_message(&mut BufReader::new(long.as_slice())), Err(LineError::TooLong(_))));
    }
}
