//! The example `busy`, which works in a function of a known name, with the library preloaded into it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;

/// What cargo builds with this test, by its name in the folder of build results.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join(name);
    assert!(path.exists(), "{} is not there: run all tests of the crate", path.display());
    path
}

fn busy(folder: &Path) -> Child {
    let mut command = Command::new(built("examples/busy"));
    command.env("LD_PRELOAD", built("deps/libcqldyno_profiler.so")).env("CQLDYNO_PROFILER", folder);
    command.stdin(Stdio::piped()).spawn().unwrap()
}

fn until(what: impl Fn() -> bool) {
    let begin = Instant::now();
    while !what() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it did not happen within a minute");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn stacks_have_the_threads_name_and_its_functions_and_the_pipe_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiler.control");
    nix::unistd::mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    let mut control = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut child = busy(folder.path());
    until(|| folder.path().join("profiler.ready").exists());
    assert!(!path.exists());
    control.write_all(b"s").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    control.write_all(b"e").unwrap();
    until(|| folder.path().join("profiler.folded").exists());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let folded = fs::read_to_string(folder.path().join("profiler.folded")).unwrap();
    let line = folded.lines().find(|line| line.contains("known_work")).unwrap_or_else(|| panic!("{folded}"));
    assert!(line.starts_with("busy-one;"), "{line}");
    let samples: u64 = line.rsplit_once(' ').unwrap().1.parse().unwrap();
    assert!(samples > 0, "{line}");
}

#[test]
fn a_program_without_a_pipe_runs_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = busy(folder.path());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
