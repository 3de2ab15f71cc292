//! Sampling by `perf record`, which a pipe tells when the window begins and ends.

use std::fmt::Display;
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
use tempfile::tempfile;

use crate::Refusal;
use crate::tool::{Ended, run, run_into, said, text};

/// No divisor of the rates of timers, so that samples do not fall in step with them.
pub(super) const FREQUENCY: u16 = 499;
/// How much of the stack each sample holds, so that perf finds its frames later without frame pointers. This is the most that
/// perf takes, because a driver's futures lie deep on the stack.
const CALL_GRAPH: &str = "dwarf,65528";
/// How long perf may take to begin and to end.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(30);
/// How long perf may take to find the frames of all samples.
const FOLDS_WITHIN: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_millis(2);

fn refuse(why: impl ToString, remedy: &str) -> Refusal {
    Refusal::new("Stacks cannot be sampled", why, remedy)
}

fn out_of_reach(why: impl Display) -> Refusal {
    let why = format!("perf did not follow at the edge of the window{why}");
    refuse(why, "Use perf from Linux 5.10 on, which takes --control.")
}

fn no_room(what: &str, error: impl Display) -> Refusal {
    let remedy = "Have room in the folder for temporary files, about 200 MB per cell; TMPDIR names another one.";
    refuse(format!("{what}: {error}"), remedy)
}

pub(super) fn trial() -> Result<(), Refusal> {
    run(Command::new("perf").arg("--version"), FOLLOWS_WITHIN).map_err(|why| {
        refuse(why, "Install perf for this kernel (`apt-get install linux-perf`, `dnf install perf`).")
    })?;
    let mut perf = record();
    perf.args(["-o", "/dev/null", "--", "sh", "-c", ":"]);
    run(&mut perf, FOLLOWS_WITHIN).map(drop).map_err(|why| {
        refuse(
            format!("in a trial with `sh`, {why}"),
            "Run `sysctl kernel.perf_event_paranoid=1` as root, or run cqldyno as root; in a container, allow perf_event_open \
             (`--cap-add PERFMON`). `--pass instructions` profiles functions without perf, under callgrind.",
        )
    })
}

fn record() -> Command {
    let mut perf = Command::new("perf");
    perf.args(["record", "-e", "cpu-clock", "-F", &FREQUENCY.to_string(), "--call-graph", CALL_GRAPH]);
    perf
}

pub(super) struct Recording {
    perf: Ended,
    control: File,
    answers: File,
    log: File,
    data: PathBuf,
}

impl Recording {
    /// Begins to sample the process in its window `number`, in files of the folder `scratch`.
    pub(super) fn begin(worker: i32, scratch: &Path, number: u32) -> Result<Recording, Refusal> {
        let mut recording = Recording::start(worker, scratch, number)
            .map_err(|error| no_room("perf's pipes and files could not be made", error))?;
        recording.tell("enable\n")?;
        Ok(recording)
    }

    fn start(worker: i32, scratch: &Path, number: u32) -> io::Result<Recording> {
        let file = |what: &str| scratch.join(format!("perf.{what}.{number}"));
        let (control, answers) = (file("control"), file("answers"));
        // Opened for both directions, so that neither side waits for the other, even if perf has ended.
        let pipe = |path: &Path| {
            mkfifo(path, Mode::S_IRUSR | Mode::S_IWUSR)?;
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)
        };
        let (control_pipe, answers_pipe) = (pipe(&control)?, pipe(&answers)?);
        let data = file("data");
        let log = tempfile()?;
        let mut perf = record();
        perf.args(["--delay", "-1", "-p", &worker.to_string(), "-o"]).arg(&data);
        perf.arg(format!("--control=fifo:{},{}", control.display(), answers.display()));
        perf.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.try_clone()?);
        Ok(Recording { perf: Ended(perf.spawn()?), control: control_pipe, answers: answers_pipe, log, data })
    }

    /// Ends the sampling; the file with the samples.
    pub(super) fn end(mut self) -> Result<PathBuf, Refusal> {
        self.tell("disable\n")?;
        // At the signal perf writes what it has and ends. An error means that it has ended already.
        let _ = kill(Pid::from_raw(self.perf.0.id().cast_signed()), Signal::SIGINT);
        let begin = Instant::now();
        while begin.elapsed() < FOLLOWS_WITHIN {
            if let Ok(Some(_)) = self.perf.0.try_wait() {
                return Ok(self.data);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(out_of_reach(": it did not end"))
    }

    fn tell(&mut self, command: &str) -> Result<(), Refusal> {
        let sent = self.control.write_all(command.as_bytes());
        sent.map_err(|error| out_of_reach(format!(": {error}")))?;
        let begin = Instant::now();
        let mut answer = Vec::new();
        while begin.elapsed() < FOLLOWS_WITHIN {
            let mut bytes = [0; 16];
            match self.answers.read(&mut bytes) {
                Ok(length) => answer.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK_EVERY),
                Err(error) => return Err(out_of_reach(format!(": {error}"))),
            }
            if answer.windows(4).any(|word| word == b"ack\n") {
                return Ok(());
            }
            if let Ok(Some(_)) = self.perf.0.try_wait() {
                break;
            }
        }
        Err(out_of_reach(said(&text(&mut self.log))))
    }
}

const UNREADABLE: &str = "what perf recorded could not be read";

/// The samples of the file as folded stacks, a line each: frames from the outermost on, separated by `;`, and how often.
pub(super) fn fold(data: &Path) -> Result<String, Refusal> {
    let unreadable = |error: io::Error| no_room(UNREADABLE, error);
    let mut script = tempfile().map_err(unreadable)?;
    let output = script.try_clone().map_err(unreadable)?;
    let mut perf = Command::new("perf");
    // Inlined functions would take minutes, because perf asks another program for every frame. Without the field `period`, which
    // is in nanoseconds, a sample counts as one.
    perf.args(["script", "--no-inline", "-F", "comm,pid,tid,time,event,ip,sym,dso", "-i"]).arg(data);
    run_into(&mut perf, output, FOLDS_WITHIN).map_err(|why| no_room(UNREADABLE, why))?;
    script.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let mut options = Options::default();
    options.annotate_kernel = true;
    let mut folded = Vec::new();
    Folder::from(options).collapse(BufReader::new(script), &mut folded).map_err(unreadable)?;
    Ok(String::from_utf8_lossy(&folded).into_owned())
}
