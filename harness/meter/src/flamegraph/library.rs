//! Sampling without perf: by a library of ours that is loaded into the worker's process (LD_PRELOAD), which sees user frames only.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::preload::{self, NoLibrary};

/// The library's file name.
const LIBRARY: &str = "libcqldyno_profiler.so";
/// The environment variable by which the library finds its folder.
const VARIABLE: &str = "CQLDYNO_PROFILER";
/// How long it may take to find the functions of what it sampled.
const FOLDS_WITHIN: Duration = Duration::from_secs(60);
/// How often is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Why the library has no stacks. Its text is a full sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryRefusal {
    /// The worker has not loaded it.
    #[error(
        "Stacks cannot be sampled without perf: libcqldyno_profiler.so was not loaded into the worker, which has to be linked to \
         the C library dynamically."
    )]
    NotLoaded,
    /// It could not be reached, or did not answer.
    #[error(
        "Stacks cannot be sampled without perf: libcqldyno_profiler.so did not follow at the edge of the window: {0}."
    )]
    OutOfReach(String),
}

/// Where the library lies.
pub(super) fn find() -> Result<PathBuf, NoLibrary> {
    preload::library(LIBRARY)
}

/// What a worker's environment needs for the library to be loaded and to find the folder `scratch`.
pub(super) fn environment(library: &Path, scratch: &Path) -> Vec<(OsString, OsString)> {
    vec![preload::variable(library), (VARIABLE.into(), scratch.into())]
}

/// The library's other side.
pub(super) struct Remote {
    scratch: PathBuf,
    path: PathBuf,
    control: File,
}

impl Remote {
    /// Makes the pipe at which the library waits, in the folder `scratch`, before its process starts.
    pub(super) fn make(scratch: &Path) -> Result<Remote, LibraryRefusal> {
        let path = scratch.join("profiler.control");
        let made = || -> io::Result<File> {
            mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR)?;
            // For both directions, so that nobody waits for the other end.
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(&path)
        };
        let control = made().map_err(out_of_reach)?;
        Ok(Remote { scratch: scratch.to_path_buf(), path, control })
    }

    pub(super) fn begin(&mut self) -> Result<(), LibraryRefusal> {
        // The library takes the pipe away when it has opened it.
        if self.path.exists() {
            return Err(LibraryRefusal::NotLoaded);
        }
        self.control.write_all(b"s").map_err(out_of_reach)
    }

    /// Ends the sampling and waits for the folded stacks.
    pub(super) fn end(&mut self) -> Result<String, LibraryRefusal> {
        self.control.write_all(b"e").map_err(out_of_reach)?;
        let (folded, refused) = (self.scratch.join("profiler.folded"), self.scratch.join("profiler.refused"));
        let begin = Instant::now();
        while begin.elapsed() < FOLDS_WITHIN {
            if folded.exists() {
                return fs::read_to_string(&folded).map_err(out_of_reach);
            }
            if let Ok(why) = fs::read_to_string(&refused) {
                return Err(LibraryRefusal::OutOfReach(why.trim_end_matches('.').to_owned()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(LibraryRefusal::OutOfReach(format!("it wrote no stacks within {} s", FOLDS_WITHIN.as_secs())))
    }
}

fn out_of_reach(error: io::Error) -> LibraryRefusal {
    LibraryRefusal::OutOfReach(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_pipe_that_nobody_took_means_that_the_library_is_not_there() {
        let scratch = tempfile::tempdir().unwrap();
        let mut remote = Remote::make(scratch.path()).unwrap();
        assert_eq!(remote.begin(), Err(LibraryRefusal::NotLoaded));
        assert!(LibraryRefusal::NotLoaded.to_string().ends_with("linked to the C library dynamically."));
    }

    #[test]
    fn the_library_is_told_at_both_edges_and_its_stacks_or_its_reason_are_taken() {
        for (file, expected) in [
            ("profiler.folded", Ok("a;b 3\n".to_owned())),
            ("profiler.refused", Err(LibraryRefusal::OutOfReach("a;b 3\n".to_owned()))),
        ] {
            let scratch = tempfile::tempdir().unwrap();
            let mut remote = Remote::make(scratch.path()).unwrap();
            let mut other = File::open(&remote.path).unwrap();
            fs::remove_file(&remote.path).unwrap();
            remote.begin().unwrap();
            fs::write(scratch.path().join(file), "a;b 3\n").unwrap();
            assert_eq!(remote.end(), expected);
            let mut told = [0; 2];
            other.read_exact(&mut told).unwrap();
            assert_eq!(&told, b"se");
        }
    }
}
