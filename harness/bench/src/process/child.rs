//! A child process: started through the gate, spoken to line by line, and ended on every path.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cqldyno_protocol::MAX_LINE_BYTES;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::judge::redaction::Redaction;
use crate::plan::target::PASSWORD_VARIABLE;
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;
use crate::process::gate;
use crate::process::log::Log;

/// How often a wait looks at what may end it early: the flag that ends the run, the child's memory, the server.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long a child may take to exit after its work or its output has ended. A worker gives its driver 5 s to close, gives the
/// driver's library another 5 s to clean up, and then ends itself.
const EXIT_WITHIN: Duration = Duration::from_secs(20);
/// How long a child may take to exit when it has closed its output in the middle of its work, or is a launcher that is no longer needed.
const EXIT_SILENT_WITHIN: Duration = Duration::from_secs(3);
/// How long a launcher may take to pass SIGTERM on.
const TERMINATED_WITHIN: Duration = Duration::from_secs(1);
/// Lines that a child may be ahead of its reader.
const LINES_AHEAD: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Launch<'a> {
    /// `cqldyno` itself, which is the gate.
    pub gate: &'a Path,
    /// What the process becomes after the gate.
    pub program: &'a Path,
    /// A program with its arguments that runs `program` in turn; empty for none.
    pub in_front: Vec<OsString>,
    pub arguments: Vec<OsString>,
    /// Further environment variables of the program, not of the gate.
    pub environment: Vec<(OsString, OsString)>,
    /// The folder in which the dynamic loader looks first.
    pub library_folder: Option<PathBuf>,
    /// The cores it may use; `None` for all.
    pub cores: Option<&'a [usize]>,
    /// Where its standard error goes.
    pub log: Option<PathBuf>,
    /// Begins each of its lines there, where others write, too.
    pub log_prefix: Option<String>,
    /// What may not get out.
    pub redaction: Redaction,
}

impl<'a> Launch<'a> {
    /// Of `program` alone, on all cores.
    pub(crate) fn new(gate: &'a Path, program: &'a Path, log: Option<PathBuf>) -> Launch<'a> {
        Launch {
            gate,
            program,
            in_front: Vec::new(),
            arguments: Vec::new(),
            environment: Vec::new(),
            library_folder: None,
            cores: None,
            log,
            log_prefix: None,
            redaction: Redaction::default(),
        }
    }
}

/// Why no line came.
#[derive(Debug)]
pub(crate) enum Silence {
    /// The child's output ended; how the child ended, with its last words.
    Ended(String),
    TimedOut,
    Cancelled,
    /// A look at the child, or at what it depends on, was the end of it.
    Broken(CellFailure),
    /// The line is longer than the protocol allows; its length so far.
    TooLong(usize),
}

/// A child that is killed and reaped when nobody needs it any more.
struct Reaped {
    child: Child,
}

impl Reaped {
    /// Ends the whole group, so that a child's own children go, too. It may be gone already, which is as good.
    fn end(&mut self) {
        let _ = killpg(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGKILL);
        let _ = self.child.kill();
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
    }
}

pub(crate) struct Process {
    child: Reaped,
    input: Arc<Mutex<Option<ChildStdin>>>,
    /// It is a launcher, which ends what it started elsewhere if it is not killed.
    is_launcher: bool,
    hung_up: Option<Instant>,
    lines: Receiver<Received>,
    log: Log,
    next_look: Instant,
    /// Whether it lived until it was ended to hear its last words.
    ended_by_us: bool,
}

/// A line, or the length of one that is too long.
type Received = Result<String, usize>;

fn read_lines(output: impl Read, lines: &SyncSender<Received>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match (&mut output).take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(length) if length > MAX_LINE_BYTES => {
                // Nobody reads on after such a line.
                let _ = lines.send(Err(length));
                return;
            }
            Ok(_) => {
                if lines.send(Ok(String::from_utf8_lossy(&line).into_owned())).is_err() {
                    return;
                }
            }
        }
    }
}

impl Process {
    /// Starts the gate; counters may be attached to the process before it is opened.
    ///
    /// # Errors
    /// When the process or its log cannot be made.
    pub(crate) fn at_gate(launch: Launch<'_>) -> io::Result<Process> {
        let mut command = Command::new(launch.gate);
        command.arg(gate::SUBCOMMAND);
        if let Some(cores) = launch.cores {
            let list: Vec<String> = cores.iter().map(usize::to_string).collect();
            command.arg("--cores").arg(list.join(","));
        }
        if let Some(folder) = &launch.library_folder {
            command.arg("--library-folder").arg(folder);
        }
        for (name, value) in &launch.environment {
            command.arg("--variable").arg(name).arg(value);
        }
        command.args(launch.in_front).arg(launch.program).args(launch.arguments).env_remove(PASSWORD_VARIABLE);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: Ctrl-C on the terminal reaches the supervisor only, which then ends its children in order.
        command.process_group(0);
        let mut child = Reaped { child: command.spawn()? };
        let streams = (child.child.stdin.take(), child.child.stdout.take(), child.child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = streams else {
            return Err(io::Error::other("the child has no pipes"));
        };
        let log = Log::follow(errors, launch.log.as_deref(), launch.log_prefix, launch.redaction)?;
        let (sender, lines) = sync_channel(LINES_AHEAD);
        std::thread::Builder::new().name("lines".to_owned()).spawn(move || read_lines(output, &sender))?;
        let input = Arc::new(Mutex::new(Some(input)));
        Ok(Process {
            child,
            input,
            is_launcher: false,
            hung_up: None,
            lines,
            log,
            next_look: Instant::now(),
            ended_by_us: false,
        })
    }

    /// Opens the gate: the process becomes its program.
    ///
    /// # Errors
    /// When the gate is gone: how it ended.
    pub(crate) fn open(mut self) -> Result<Process, String> {
        match self.send(gate::OPEN) {
            Ok(()) => Ok(self),
            Err(_) => Err(format!("the gate {}", self.last_words(EXIT_WITHIN))),
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.child.id().cast_signed()
    }

    /// Writes to the child's standard input.
    ///
    /// # Errors
    /// When the child no longer reads.
    pub(crate) fn send(&mut self, text: &str) -> io::Result<()> {
        write(&self.input, text)
    }

    /// Writes `line` now and then, as long as its input is open. The child is a launcher.
    ///
    /// # Errors
    /// When there is no thread for that.
    pub(crate) fn beat(&mut self, line: String, every: Duration) -> io::Result<()> {
        self.is_launcher = true;
        let input = Arc::downgrade(&self.input);
        let beat = move || {
            while input.upgrade().is_some_and(|input| write(&input, &line).is_ok()) {
                std::thread::sleep(every);
            }
        };
        std::thread::Builder::new().name("beat".to_owned()).spawn(beat).map(drop)
    }

    /// The child's standard input, for one who writes to it from elsewhere.
    pub(crate) fn take_input(&mut self) -> Option<ChildStdin> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The child's next line, until `deadline` at most; now and then `look` may say why waiting is pointless.
    pub(crate) fn line(
        &mut self,
        deadline: Instant,
        cancel: &Cancel,
        look: &mut dyn FnMut() -> Option<CellFailure>,
    ) -> Result<String, Silence> {
        let mut was_gone = false;
        loop {
            if cancel.is_cancelled() {
                return Err(Silence::Cancelled);
            }
            let now = Instant::now();
            // Also when one line comes after the other.
            if now >= self.next_look {
                self.next_look = now + LOOK_EVERY;
                if let Some(failure) = look() {
                    return Err(Silence::Broken(failure));
                }
            }
            let left = deadline.saturating_duration_since(now);
            match self.lines.recv_timeout(left.min(LOOK_EVERY)) {
                Ok(line) => return line.map_err(Silence::TooLong),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(Silence::TimedOut),
                Err(RecvTimeoutError::Timeout) => {
                    let is_gone = matches!(self.child.child.try_wait(), Ok(Some(_)));
                    if is_gone && was_gone {
                        // A launcher may leave others behind that have its output.
                        return Err(Silence::Ended(self.last_words(Duration::ZERO)));
                    }
                    was_gone = is_gone;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Silence::Ended(self.last_words(EXIT_SILENT_WITHIN))),
            }
        }
    }

    /// Ends the child's standard input and waits for its exit with this code, or with any.
    ///
    /// # Errors
    /// How it ended, if not so.
    pub(crate) fn finish(mut self, code: Option<i32>) -> Result<(), String> {
        self.hang_up();
        match self.wait(EXIT_WITHIN) {
            Some(status) if code.is_none() || status.code() == code => Ok(()),
            _ => Err(self.last_words(Duration::ZERO)),
        }
    }

    /// The state of the process as the kernel has it: `T` for stopped by a signal, for example.
    pub(crate) fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).ok()?;
        // The name before it may have a parenthesis of its own.
        stat.rsplit_once(") ")?.1.chars().next()
    }

    pub(crate) fn ended(&mut self) -> Option<String> {
        if self.ended_by_us {
            return None;
        }
        let status = self.child.child.try_wait().ok().flatten()?;
        Some(self.with_log(exit(status)))
    }

    /// Ends the child and with it its log; the last lines as the end of a sentence, empty if there are none.
    pub(crate) fn end_and_quote(&mut self) -> String {
        self.ended_by_us |= matches!(self.child.child.try_wait(), Ok(None));
        self.end();
        let tail = self.log.tail();
        if tail.is_empty() { String::new() } else { format!("; its log ends: {}", tail.join(" / ")) }
    }

    /// Ends the child. A launcher that is killed may leave behind what it started on another host, so it has time to end by itself.
    fn end(&mut self) {
        self.hang_up();
        let left = self.hung_up.map(|since| EXIT_SILENT_WITHIN.saturating_sub(since.elapsed())).unwrap_or_default();
        if self.is_launcher && self.wait(left).is_none() {
            let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGTERM);
            self.wait(TERMINATED_WITHIN);
        }
        self.child.end();
    }

    /// Ends its standard input.
    pub(crate) fn hang_up(&mut self) {
        drop(self.take_input());
        self.hung_up.get_or_insert_with(Instant::now);
    }

    fn with_log(&mut self, how: String) -> String {
        format!("{how}{}", self.end_and_quote())
    }

    fn last_words(&mut self, within: Duration) -> String {
        let how = match self.wait(within) {
            Some(status) => exit(status),
            None => "closed its output and did not exit".to_owned(),
        };
        self.with_log(how)
    }

    fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        loop {
            match self.child.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

fn write(input: &Mutex<Option<ChildStdin>>, text: &str) -> io::Result<()> {
    match &mut *input.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(input) => input.write_all(text.as_bytes()),
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

/// How a process ended, as the end of a sentence whose subject it is.
fn exit(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(number), _) => match Signal::try_from(number) {
            Ok(signal) => format!("was ended by {signal}"),
            Err(_) => format!("was ended by signal {number}"),
        },
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => "ended".to_owned(),
    }
}

pub(crate) fn file_name(program: &Path) -> String {
    program.file_name().unwrap_or(OsStr::new("worker")).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_told_by_code_or_by_the_signals_name() {
        assert_eq!(exit(ExitStatus::from_raw(0x0300)), "exited with code 3");
        assert_eq!(exit(ExitStatus::from_raw(11)), "was ended by SIGSEGV");
        assert_eq!(exit(ExitStatus::from_raw(40)), "was ended by signal 40");
    }
}
