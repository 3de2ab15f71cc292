//! The gate: a process that waits before it becomes another program.
//!
//! The supervisor starts
//! `cqldyno __gate [--cores 0,1] [--library-folder DIR] [--variable NAME VALUE]... PROGRAM [ARGUMENT]...`, attaches its counters to
//! that process, and opens the gate with one line on standard input. The process takes its cores and becomes PROGRAM (execve), which
//! finds the rest of that input. PROGRAM's dynamic loader looks in the library folder first. The folder is an argument, because the
//! loader of a `cqldyno` with capabilities (setcap) drops LD_LIBRARY_PATH.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use cqldyno_cassandra::Gate;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::plan::topology::parse_list;

/// The hidden subcommand of `cqldyno`; what follows it are the arguments of [`main`].
pub const SUBCOMMAND: &str = "__gate";

/// The line that opens the gate, with its line feed.
pub const OPEN: &str = "open\n";

const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The exit code of a gate that could not become its program.
pub const EXIT_REFUSED: i32 = 125;

/// The gate of `cqldyno`, for processes that this crate does not talk to.
pub fn of(cqldyno: &Path) -> Gate<'_> {
    Gate { program: cqldyno, subcommand: SUBCOMMAND, open: OPEN }
}

/// Waits at the gate; `arguments` are those after [`SUBCOMMAND`]. The process becomes the program. It ends with code 0 when its
/// standard input ends first, else with [`EXIT_REFUSED`] and a sentence on standard error.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ! {
    let code = match wait_and_become(arguments.into_iter().collect()) {
        Ok(()) => 0,
        Err(sentence) => {
            // Nobody is left to tell when standard error is closed, too.
            let _ = writeln!(io::stderr(), "{sentence}");
            EXIT_REFUSED
        }
    };
    std::process::exit(code)
}

fn wait_and_become(arguments: Vec<OsString>) -> Result<(), String> {
    // A supervisor that is killed takes its workers with it; one that was gone before is noticed by the end of the input.
    set_pdeathsig(Signal::SIGKILL).map_err(|error| format!("The gate cannot be tied to its parent: {error}."))?;
    let mut arguments = arguments.into_iter().peekable();
    let cores = match arguments.next_if(|argument| argument == "--cores") {
        Some(_) => Some(cores(&arguments.next().unwrap_or_default())?),
        None => None,
    };
    let library_folder = match arguments.next_if(|argument| argument == "--library-folder") {
        Some(_) => Some(arguments.next().ok_or("The gate found no folder after --library-folder.")?),
        None => None,
    };
    let mut variables = Vec::new();
    while arguments.next_if(|argument| argument == "--variable").is_some() {
        match (arguments.next(), arguments.next()) {
            (Some(name), Some(value)) => variables.push((name, value)),
            _ => return Err("The gate found no name and value after --variable.".to_owned()),
        }
    }
    let program = arguments.next().ok_or("The gate found no program: `cqldyno __gate PROGRAM [ARGUMENT]...`.")?;
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        // One byte a call, past the buffer of std's standard input: what follows the line belongs to the program.
        let mut byte = [0];
        match nix::unistd::read(io::stdin(), &mut byte) {
            Ok(0) => return Ok(()),
            Ok(_) if line.len() < OPEN.len() => line.push(byte[0]),
            Ok(_) => break,
            Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(format!("The gate cannot read its standard input: {error}.")),
        }
    }
    if line != OPEN.as_bytes() {
        let found = String::from_utf8_lossy(&line).into_owned();
        return Err(format!("The gate was to be opened with the line {OPEN:?}, and {found:?} was found."));
    }
    if let Some(cores) = cores {
        let mut set = CpuSet::new();
        for core in cores {
            set.set(core).map_err(|error| format!("There is no core {core} to run on: {error}."))?;
        }
        sched_setaffinity(Pid::from_raw(0), &set).map_err(|error| format!("The cores cannot be taken: {error}."))?;
    }
    let mut command = Command::new(&program);
    if let Some(folder) = library_folder {
        command.env(LIBRARY_PATH, before_inherited(folder, std::env::var_os(LIBRARY_PATH)));
    }
    let error = command.args(arguments).envs(variables).exec();
    Err(format!("The program {} cannot be started: {error}.", program.display()))
}

fn before_inherited(folder: OsString, inherited: Option<OsString>) -> OsString {
    let mut path = folder;
    if let Some(inherited) = inherited.filter(|path| !path.is_empty()) {
        path.push(":");
        path.push(inherited);
    }
    path
}

fn cores(list: &OsString) -> Result<Vec<usize>, String> {
    let cores = list.to_str().and_then(parse_list);
    cores.ok_or_else(|| format!("The gate found the cores {list:?}; give numbers with commas between them."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_numbers_with_commas() {
        assert_eq!(cores(&"0,3".into()).unwrap(), [0, 3]);
        for text in ["", "a", "0,,1", "-1"] {
            assert!(cores(&text.into()).unwrap_err().contains("give numbers with commas"), "{text}");
        }
    }

    #[test]
    fn a_library_folder_comes_before_what_was_inherited() {
        assert_eq!(before_inherited("/a".into(), None), "/a");
        assert_eq!(before_inherited("/a".into(), Some("".into())), "/a");
        assert_eq!(before_inherited("/a".into(), Some("/b:/c".into())), "/a:/b:/c");
    }
}
