//! The example `allocating`, a program with a known number of allocations, and the library preloaded into it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use cqldyno_allocation_area::{Counts, VARIABLE, create, read};

/// As many threads as the example has in its role `threads`.
const THREADS: u64 = 4;

/// What cargo builds with this test, by its name in the folder of build results.
fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join(name);
    assert!(path.exists(), "{} is not there: run all tests of the crate", path.display());
    path
}

fn library() -> PathBuf {
    built("deps/libcqldyno_interposer.so")
}

/// What the program does between the two moments at which the counts are read.
struct Played {
    before: Counts,
    after: Counts,
    child: u64,
    printed: String,
}

impl Played {
    fn difference(&self) -> (u64, u64, u64) {
        let (before, after) = (self.before, self.after);
        (after.allocations - before.allocations, after.bytes - before.bytes, after.frees - before.frees)
    }
}

fn start(role: &str, file: &Path) -> Child {
    let mut command = Command::new(built("examples/allocating"));
    command.arg(role).env("LD_PRELOAD", library()).env(VARIABLE, file);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn play(role: &str) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("area");
    let file = create(&path).unwrap();
    let mut child = start(role, &path);
    let id = u64::from(child.id());
    let mut errors = child.stderr.take().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut heard = [0];
    errors.read_exact(&mut heard).unwrap();
    let before = read(&file).unwrap();
    input.write_all(b"g").unwrap();
    errors.read_exact(&mut heard).unwrap();
    let after = read(&file).unwrap();
    input.write_all(b"a").unwrap();
    let mut printed = String::new();
    errors.read_to_string(&mut printed).unwrap();
    assert!(child.wait().unwrap().success(), "{printed}");
    Played { before, after, child: id, printed }
}

#[test]
fn every_way_to_allocate_is_counted_with_its_bytes_and_its_end() {
    let played = play("sizes");
    assert_eq!(played.before.pid, Some(played.child), "{}", played.printed);
    let bytes = 10 + 15 + 7 + 32 + 1_000 + 256 + 1_024 + 20 + 700;
    assert_eq!(played.difference(), (9, bytes, 9), "{}", played.printed);
}

#[test]
fn all_threads_count_and_none_of_their_allocations_is_lost() {
    let played = play("threads");
    assert_eq!(played.difference(), (THREADS * 1_000, THREADS * 100_000, THREADS * 1_000));
    assert!(played.after.threads >= THREADS, "{:?}", played.after);
}

#[test]
fn a_forked_child_does_not_count_and_its_parent_goes_on() {
    let played = play("fork");
    assert_eq!(played.difference(), (2, 23, 2));
}

#[test]
fn a_program_that_the_process_starts_finds_the_file_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("area");
    let file = create(&path).unwrap();
    let counted = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("LD_PRELOAD", library()).env(VARIABLE, &path).stdout(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        assert!(shell.wait().unwrap().success());
        (u64::from(shell.id()), read(&file).unwrap())
    };
    let (shell, counts) = counted("ls /; ls /; true");
    assert_eq!(counts.pid, Some(shell));
    // Another process altogether finds it taken, too.
    assert_eq!(counted("true").1, counts);
}

#[test]
fn without_a_file_and_with_one_that_is_too_short_nothing_is_counted_and_the_program_runs() {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("short");
    std::fs::write(&short, "short").unwrap();
    for path in [Some(short.clone()), Some(folder.path().join("absent")), None] {
        let mut command = Command::new("ls");
        command.arg("/").env("LD_PRELOAD", library()).stdout(Stdio::null());
        if let Some(path) = &path {
            command.env(VARIABLE, path);
        }
        assert!(command.status().unwrap().success());
    }
    assert_eq!(std::fs::read_to_string(&short).unwrap(), "short");
}
