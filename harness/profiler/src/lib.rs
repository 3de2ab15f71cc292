//! Samples the stacks of the process that it is preloaded into (ld.so(8), LD_PRELOAD), where perf is missing or refused: user frames
//! only, by a timer of the process' CPU time whose signal (SIGPROF) interrupts what it works at.
//!
//! The environment variable `CQLDYNO_PROFILER` names a folder with a pipe `profiler.control` (mkfifo(3)). A thread of this library waits
//! at it, from when there is a file `profiler.ready`: a byte `s` starts the sampling, the next one ends it, and then `profiler.folded` has the stacks, a line each with frames from
//! the outermost on, `;` between them, and how often it was seen; or `profiler.refused` says why not. Without the variable nothing
//! happens, and programs that the process starts find the pipe taken.

mod begin;
mod fold;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The environment variable with the folder.
const VARIABLE: &str = "CQLDYNO_PROFILER";
/// The pipe in it.
const CONTROL: &str = "profiler.control";
/// The byte that starts the sampling.
const START: u8 = b's';
/// Samples a second of CPU time: as many as the kernel's timers of processes give everywhere.
const FREQUENCY: i32 = 250;

/// Does what the pipe in `folder` says. Nobody hears of an error but by the file that is not there.
fn follow(folder: &OsStr) -> io::Result<()> {
    let folder = Path::new(folder);
    let path = folder.join(CONTROL);
    let mut control = File::open(&path)?;
    fs::remove_file(&path)?;
    // The first of them reads the tables of all symbols, which takes too long for the window. What it samples is forgotten with it.
    drop(pprof::ProfilerGuard::new(FREQUENCY));
    fs::write(folder.join("profiler.ready"), "")?;
    let mut byte = [0];
    control.read_exact(&mut byte)?;
    if byte[0] != START {
        return Ok(());
    }
    let folded = match pprof::ProfilerGuard::new(FREQUENCY) {
        Ok(guard) => {
            control.read_exact(&mut byte)?;
            guard.report().build().map(|report| fold::folded(&report))
        }
        Err(error) => {
            control.read_exact(&mut byte)?;
            Err(error)
        }
    };
    let (name, text) = match folded {
        Ok(folded) => ("profiler.folded", folded),
        Err(error) => ("profiler.refused", error.to_string()),
    };
    // Under its name only when it is whole.
    let part = folder.join("profiler.part");
    fs::write(&part, text)?;
    fs::rename(part, folder.join(name))
}
