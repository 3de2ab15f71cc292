//! Changes what this worker says.
//!
//! The load generator measures and says `end` by itself, as for every adapter. To lie about time, standard output is a pipe to a
//! second process of this program, which forwards changed lines. A separate process leaves the worker's CPU time as it is.

use std::io::{self, BufRead, Write};
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};

use cqldyno_protocol::{End, Steady, WorkerMessage, decode, encode};

use crate::how::{ALL, How};

/// The argument that makes a process of this program the second one.
pub const FORWARD: &str = "--forward";

/// A line that begins with this tells the second process how to lie.
const HOW: &str = "how=";

/// The pipe to the second process, for lines that the load generator knows nothing of.
static ASIDE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Starts the second process and puts the pipe to it in the place of standard output.
pub fn prepare() -> io::Result<()> {
    let mut second = Command::new(std::env::current_exe()?).arg(FORWARD).stdin(Stdio::piped()).spawn()?;
    let pipe = second.stdin.take().ok_or_else(|| io::Error::other("there is no pipe"))?;
    nix::unistd::dup2_stdout(&pipe)?;
    *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) = Some(pipe);
    Ok(())
}

fn say_aside(text: &str) {
    if let Some(pipe) = &mut *ASIDE.lock().unwrap_or_else(PoisonError::into_inner) {
        // When nobody reads any more there is nobody to lie to.
        let _ = pipe.write_all(text.as_bytes());
    }
}

/// From now on lies as `how` says.
pub fn begin(how: How) {
    if let Some((name, _)) = ALL.iter().find(|(_, known)| *known == how) {
        say_aside(&format!("{HOW}{name}\n"));
    }
}

/// Says what is no message.
pub fn print_garbage() {
    say_aside("Segmentation fault (core dumped)\n");
}

/// The second process.
pub fn forward() -> ExitCode {
    let mut how = How::Honestly;
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(told) = line.strip_prefix(HOW).and_then(How::named) {
            how = told;
            continue;
        }
        let line = match decode::<WorkerMessage>(&line) {
            Ok(WorkerMessage::End(end)) => encode(&WorkerMessage::End(lie(end, how))).unwrap_or_default(),
            _ => line + "\n",
        };
        if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

fn lie(end: End, how: How) -> End {
    match how {
        How::HalvesWallTime => End { wall_ns: end.wall_ns / 2, at_ns: None, ..end },
        How::BeginsLate => End { wall_ns: end.wall_ns / 2, ..end },
        How::HalvesCpuTime => End { user_us: end.user_us / 2, sys_us: end.sys_us / 2, ..end },
        // The kernel splits the CPU time of a short turn by ticks, so either part alone may be 0.
        How::HidesCpuTime => {
            let of_user = end.user_us.min(9_000);
            End { user_us: end.user_us - of_user, sys_us: end.sys_us.saturating_sub(9_000 - of_user), ..end }
        }
        How::ShiftsCpuTime => {
            let steady = end.steady.map(|steady| Steady { cpu_ns: steady.cpu_ns / 2, ..steady });
            End { steady, ..end }
        }
        _ => end,
    }
}
