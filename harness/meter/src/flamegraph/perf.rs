//! Sampling by `perf record`, which is told through pipes when the window begins and ends.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use inferno::collapse::Collapse;
use inferno::collapse::perf::{Folder, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};

use crate::tool::{Ended, ToolError, run, run_into, said, temporary, text};

/// Not a divisor of what timers tick by, so that samples do not fall in step with them.
const FREQUENCY: &str = "499";
/// Every sample has this much of the stack, of which its frames are found afterwards, without frame pointers. It is
/// the most that perf takes: a driver's futures lie deep on the stack.
const CALL_GRAPH: &str = "dwarf,65528";
/// How long perf may take to begin and to end.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(30);
/// How long perf may take to find the frames of all samples.
const FOLDS_WITHIN: Duration = Duration::from_secs(300);
/// How often is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Why stacks are not sampled. Its text is the sentence of `doctor` and of every cell without a flame graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerfRefusal {
    /// It is not installed.
    #[error("Stacks cannot be sampled: {0}.")]
    NotInstalled(ToolError),
    /// It cannot sample a small program.
    #[error("Stacks cannot be sampled: in a trial with `sh`, {0}.")]
    TrialFailed(ToolError),
    /// It did not begin or end when it was told.
    #[error("Stacks cannot be sampled: perf did not follow at the edge of the window{0}.")]
    OutOfReach(String),
    /// Its pipes or files could not be made.
    #[error("Stacks cannot be sampled: perf's pipes and files could not be made: {0}.")]
    NoFiles(String),
    /// What it recorded could not be read.
    #[error("Stacks cannot be sampled: what perf recorded could not be read: {0}.")]
    Unreadable(String),
}

impl PerfRefusal {
    /// What to change: full sentences.
    pub fn remedy(&self) -> &'static str {
        match self {
            PerfRefusal::NotInstalled(_) => {
                "Install perf for this kernel (`apt-get install linux-perf`, `dnf install perf`)."
            }
            PerfRefusal::TrialFailed(_) => {
                "Run `sysctl kernel.perf_event_paranoid=1` as root, or run cqldyno as root; in a container, allow \
                 perf_event_open (`--cap-add PERFMON`)."
            }
            PerfRefusal::OutOfReach(_) => "Use perf from Linux 5.10 on, which takes --control.",
            PerfRefusal::NoFiles(_) | PerfRefusal::Unreadable(_) => {
                "Have room in the folder for temporary files, about 200 MB for a cell; TMPDIR names another one."
            }
        }
    }
}

pub(super) fn trial() -> Result<(), PerfRefusal> {
    run(Command::new("perf").arg("--version"), FOLLOWS_WITHIN).map_err(PerfRefusal::NotInstalled)?;
    let mut perf = record();
    perf.args(["-o", "/dev/null", "--", "sh", "-c", ":"]);
    run(&mut perf, FOLLOWS_WITHIN).map(drop).map_err(PerfRefusal::TrialFailed)
}

fn record() -> Command {
    let mut perf = Command::new("perf");
    perf.args(["record", "-e", "cpu-clock", "-F", FREQUENCY, "--call-graph", CALL_GRAPH]);
    perf
}

/// perf at work.
pub(super) struct Recording {
    perf: Ended,
    control: File,
    answers: File,
    log: File,
    data: PathBuf,
}

impl Recording {
    /// Begins to sample the process, in files of the folder `scratch`.
    pub(super) fn begin(worker: i32, scratch: &Path) -> Result<Recording, PerfRefusal> {
        let mut recording =
            Recording::start(worker, scratch).map_err(|error| PerfRefusal::NoFiles(error.to_string()))?;
        recording.tell("enable\n")?;
        Ok(recording)
    }

    fn start(worker: i32, scratch: &Path) -> io::Result<Recording> {
        let (control, answers) = (scratch.join("perf.control"), scratch.join("perf.answers"));
        // Opened for both directions, so that nobody waits for the other end, not even where perf has ended.
        let pipe = |path: &Path| {
            mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
        };
        let (control_pipe, answers_pipe) = (pipe(&control)?, pipe(&answers)?);
        let data = scratch.join("perf.data");
        let log = temporary()?;
        let mut perf = record();
        perf.args(["--delay", "-1", "-p", &worker.to_string(), "-o"]).arg(&data);
        perf.arg(format!("--control=fifo:{},{}", control.display(), answers.display()));
        perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.try_clone()?);
        Ok(Recording { perf: Ended(perf.spawn()?), control: control_pipe, answers: answers_pipe, log, data })
    }

    /// Ends the sampling; the file with the samples.
    pub(super) fn end(mut self) -> Result<PathBuf, PerfRefusal> {
        self.tell("disable\n")?;
        // It writes what it has and ends by the signal itself. A process that is gone cannot be told, and is no loss.
        let _ = kill(Pid::from_raw(self.perf.0.id().cast_signed()), Signal::SIGINT);
        let begin = Instant::now();
        while begin.elapsed() < FOLLOWS_WITHIN {
            if let Ok(Some(_)) = self.perf.0.try_wait() {
                return Ok(self.data);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(PerfRefusal::OutOfReach(": it did not end".to_owned()))
    }

    fn tell(&mut self, command: &str) -> Result<(), PerfRefusal> {
        let sent = self.control.write_all(command.as_bytes());
        sent.map_err(|error| PerfRefusal::OutOfReach(format!(": {error}")))?;
        let begin = Instant::now();
        let mut answer = Vec::new();
        while begin.elapsed() < FOLLOWS_WITHIN {
            let mut bytes = [0; 16];
            match self.answers.read(&mut bytes) {
                Ok(length) => answer.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK_EVERY),
                Err(error) => return Err(PerfRefusal::OutOfReach(format!(": {error}"))),
            }
            if answer.windows(4).any(|word| word == b"ack\n") {
                return Ok(());
            }
            if let Ok(Some(_)) = self.perf.0.try_wait() {
                break;
            }
        }
        Err(PerfRefusal::OutOfReach(said(&text(&mut self.log))))
    }
}

/// The samples of the file as folded stacks: a line each, frames with `;` between them from the outermost on, and how often.
pub(super) fn fold(data: &Path) -> Result<String, PerfRefusal> {
    let unreadable = |error: io::Error| PerfRefusal::Unreadable(error.to_string());
    let mut script = temporary().map_err(unreadable)?;
    let output = script.try_clone().map_err(unreadable)?;
    let mut perf = Command::new("perf");
    // Functions that were inlined would be asked of another program for every frame, for minutes. Without the period, which is in
    // nanoseconds, a sample counts as one.
    perf.args(["script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i"]).arg(data);
    run_into(&mut perf, output, FOLDS_WITHIN).map_err(|error| PerfRefusal::Unreadable(error.to_string()))?;
    script.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let mut options = Options::default();
    options.annotate_kernel = true;
    let mut folded = Vec::new();
    Folder::from(options).collapse(BufReader::new(script), &mut folded).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&folded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_sentence_of_its_own_and_a_remedy() {
        let tool = || ToolError::NotStarted { program: "perf".to_owned(), error: "No such file".to_owned() };
        let every = [
            PerfRefusal::NotInstalled(tool()),
            PerfRefusal::TrialFailed(tool()),
            PerfRefusal::OutOfReach(" and said: no".to_owned()),
            PerfRefusal::NoFiles("no space".to_owned()),
            PerfRefusal::Unreadable("no space".to_owned()),
        ];
        let mut sentences: Vec<String> = every.iter().map(PerfRefusal::to_string).collect();
        for (refusal, sentence) in every.iter().zip(&sentences) {
            assert!(sentence.starts_with("Stacks cannot be sampled: ") && sentence.ends_with('.'), "{sentence}");
            assert!(refusal.remedy().ends_with('.'), "{}", refusal.remedy());
        }
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), every.len());
    }
}
