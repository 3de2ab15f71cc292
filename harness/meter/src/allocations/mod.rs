//! Allocations of the worker, counted by a library of ours that the dynamic loader loads before the C library (LD_PRELOAD). So
//! the count includes those of the driver's C and C++ libraries.
//!
//! Counting has a pass of its own because it costs a few nanoseconds per allocation. The library counts in a file that both
//! sides share, and writes there into which process it was loaded; without that the worker's own records are taken, if it has any.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use cqldyno_allocation_area::{Counts, VARIABLE, create, read};
use cqldyno_measure::list::declared;
use cqldyno_protocol::Allocations;

use crate::meter::{Edge, at_edges, per_statement};
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Refusal, Subject};

const MEASURES: [Declaration; 3] = [
    declared::ALLOCATIONS_PER_STATEMENT.titled("allocations"),
    declared::ALLOCATED_BYTES_PER_STATEMENT.titled("bytes\nallocated"),
    declared::FREES_PER_STATEMENT.titled("given\nback"),
];

/// The library, which `build.rs` built.
static INTERPOSER: &[u8] = include_bytes!(env!("CQLDYNO_INTERPOSER"));
/// Its file in the cell's own folder: the dynamic loader opens it by a path.
const LIBRARY: &str = "libcqldyno_interposer.so";
/// The environment variable with libraries that the dynamic loader loads first (ld.so(8)).
const PRELOAD: &str = "LD_PRELOAD";
/// The file of the counters, in the cell's own folder.
const AREA: &str = "allocations";
/// What Go's linker puts into every program (debug/buildinfo), at a multiple of 16 bytes: after a byte 0xff, and before the size of a
/// pointer and flags. Without these two the constant itself would be found here, if a byte 0xff happens to precede it.
const GO: &[u8] = b" Go buildinf:";

/// The environment that makes a worker count its allocations in the folder `scratch`, where the library is put; empty if it cannot be.
pub fn allocations_environment(scratch: &Path) -> Vec<(OsString, OsString)> {
    environment(scratch, env::var_os(PRELOAD)).unwrap_or_default()
}

/// What was to be loaded first `before` comes after the library.
fn environment(scratch: &Path, before: Option<OsString>) -> io::Result<Vec<(OsString, OsString)>> {
    let library = scratch.join(LIBRARY);
    fs::write(&library, INTERPOSER)?;
    let mut libraries = library.into_os_string();
    if let Some(before) = before.filter(|libraries| !libraries.is_empty()) {
        libraries.push(":");
        libraries.push(before);
    }
    Ok(vec![(PRELOAD.into(), libraries), (VARIABLE.into(), scratch.join(AREA).into())])
}

fn refuse(why: impl ToString, remedy: &str) -> Refusal {
    Refusal::new("Allocations cannot be counted", why, remedy)
}

fn no_area(error: io::Error) -> Refusal {
    let why = format!("the file of the counters could not be made or read: {error}");
    refuse(why, "Have a folder for temporary files that can be written; TMPDIR names another one.")
}

/// Loads the library into a small program, and looks whether it counts.
fn trial() -> Result<(), Refusal> {
    let scratch = tempfile::tempdir().map_err(no_area)?;
    let file = create(&scratch.path().join(AREA)).map_err(no_area)?;
    let mut shell = Command::new("sh");
    let environment = environment(scratch.path(), env::var_os(PRELOAD)).map_err(no_area)?;
    shell.args(["-c", ":"]).envs(environment);
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let ran = shell.spawn().and_then(|child| Ok((u64::from(child.id()), child.wait_with_output()?.stderr)));
    let counts = read(&file).map_err(no_area)?;
    let said: String = match ran {
        Ok((pid, _)) if counts.pid == Some(pid) && counts.allocations > 0 => return Ok(()),
        Ok((_, said)) => String::from_utf8_lossy(&said).trim().chars().take(200).collect(),
        Err(error) => error.to_string(),
    };
    let why = format!("in a trial with `sh` the library that counts was not loaded or counted nothing: {said}");
    let remedy = "Name a folder from which libraries can be loaded in TMPDIR, or build cqldyno on this machine.";
    Err(refuse(why.trim_end_matches([':', ' ']), remedy))
}

/// Allocations per statement, the bytes that they ask for, and how many are given back.
pub const ALLOCATIONS: Meter = Meter::new("allocations", &MEASURES, attach)
    .needs("a worker that is linked to the C library dynamically, and a folder for temporary files from which libraries can be loaded")
    .costs("a few nanoseconds per allocation")
    .at_worker()
    .probed(|| TRIED.clone());

static TRIED: LazyLock<Probe> = LazyLock::new(trial);

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let written = fs::metadata(subject.scratch.join(LIBRARY)).is_ok_and(|file| file.len() == INTERPOSER.len() as u64);
    let written = if written { Ok(()) } else { Err(io::Error::other("the library that counts could not be written")) };
    let area = TRIED.clone().and_then(|()| written.and_then(|()| create(&subject.scratch.join(AREA))).map_err(no_area));
    counting(subject.worker, area)
}

/// An attachment to the process `worker`, which counts in `area`.
fn counting(worker: i32, area: Result<File, Refusal>) -> Box<dyn Attachment> {
    let look = move |edge| {
        let counts = area.as_ref().map_err(Clone::clone).and_then(|area| read(area).map_err(no_area));
        let counts = counts.map_err(|refusal| refusal.to_string())?;
        let refusal = if edge == Edge::Go { unseen(worker, &counts) } else { None };
        refusal.map_or(Ok(counts), |refusal| Err(refusal.to_string()))
    };
    at_edges(look, |both, window| {
        let each = |pick: fn(&Counts) -> u64, own: fn(&Allocations) -> u64| {
            let amount = match (&both, &window.allocations) {
                // Where memory does not come from the C library, the library sees next to nothing.
                (_, Some(records)) => own(records),
                (Ok((go, end)), None) => pick(end).saturating_sub(pick(go)),
                (Err(why), None) => return Err(why.clone()),
            };
            per_statement(amount as f64, window)
        };
        let values = [
            each(|counts| counts.allocations, |own| own.count),
            each(|counts| counts.bytes, |own| own.bytes),
            each(|counts| counts.frees, |own| own.frees),
        ];
        Outcome::of(&MEASURES, values)
    })
}

/// Why the library does not see the allocations of a worker with these counts, if so.
fn unseen(worker: i32, counts: &Counts) -> Option<Refusal> {
    const OWN: &str = "Have the worker tell what its runtime records (`allocations` of `done`).";
    const PROCESS: &str = "Link the worker to the C library dynamically and start it as a process of its own, for the same processor and \
                           C library as cqldyno. The dynamic loader ignores LD_PRELOAD for programs with set-user-id or capabilities.";
    let process = PathBuf::from(format!("/proc/{worker}"));
    let is_mark = |bytes: &[u8]| matches!(bytes, [0xff, name @ .., 4 | 8, 0..=3] if name == GO);
    let is_go = fs::read(process.join("exe")).is_ok_and(|exe| exe.chunks(16).any(is_mark));
    let is_jvm = fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains("/libjvm.so"));
    let worker = u64::from(worker.cast_unsigned());
    match counts.pid {
        _ if is_go => Some(refuse("the worker is a Go program, whose memory does not come from the C library", OWN)),
        _ if is_jvm => Some(refuse("the worker runs a JVM, whose memory does not come from the C library", OWN)),
        None => Some(refuse("the library that counts was not loaded into the worker", PROCESS)),
        Some(found) if found != worker => {
            let why = format!(
                "the library that counts was loaded into process {found}, not into the worker's process {worker}"
            );
            Some(refuse(why, PROCESS))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;
    use crate::meter::window;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    fn counter(worker: i32) -> (tempfile::TempDir, Box<dyn Attachment>) {
        let scratch = tempfile::tempdir().unwrap();
        let area = create(&scratch.path().join(AREA)).map_err(no_area);
        (scratch, counting(worker, area))
    }

    fn sentence(mut counter: Box<dyn Attachment>) -> String {
        counter.at_go();
        let outcome = counter.at_end()(&window());
        outcome.readings[0].value.clone().unwrap_err()
    }

    #[test]
    fn without_the_library_in_the_process_there_is_no_figure_and_the_reason_is_said() {
        let (_scratch, counter) = counter(std::process::id().cast_signed());
        let sentence = sentence(counter);
        assert!(sentence.contains("was not loaded into the worker. Link the worker"), "{sentence}");
    }

    #[test]
    fn the_workers_own_records_come_before_what_the_library_sees() {
        use cqldyno_allocation_area::{MAGIC, WORD_MAGIC, WORD_PID};
        use std::os::unix::fs::FileExt;

        let scratch = tempfile::tempdir().unwrap();
        let (area, own) = (create(&scratch.path().join(AREA)).unwrap(), std::process::id());
        let write = |word: usize, value: u64| area.write_all_at(&value.to_ne_bytes(), 8 * word as u64).unwrap();
        write(WORD_MAGIC, MAGIC);
        write(WORD_PID, own.into());
        let figures = |allocations| {
            let mut counter = counting(own.cast_signed(), Ok(area.try_clone().unwrap()));
            counter.at_go();
            let outcome = counter.at_end()(&Window { allocations, ..window() });
            outcome.readings.into_iter().map(|reading| reading.value.unwrap()).collect::<Vec<f64>>()
        };
        assert_eq!(figures(None), [0.0; 3], "it was loaded, and saw nothing");
        let records = Allocations { count: 3_000_000, bytes: 64_000_000, frees: 2_500_000 };
        assert_eq!(figures(Some(records)), [3.0, 64.0, 2.5]);
    }

    #[test]
    fn the_workers_own_records_stand_in_for_a_library_that_sees_nothing() {
        let (_scratch, mut counter) = counter(std::process::id().cast_signed());
        counter.at_go();
        let allocations = Some(Allocations { count: 3_000_000, bytes: 64_000_000, frees: 2_500_000 });
        let outcome = counter.at_end()(&Window { allocations, ..window() });
        let values: Vec<f64> = outcome.readings.into_iter().map(|reading| reading.value.unwrap()).collect();
        assert_eq!(values, [3.0, 64.0, 2.5]);
    }

    #[test]
    fn a_count_of_another_process_is_not_taken_for_the_workers() {
        let worker = std::process::id().cast_signed();
        let refusal = unseen(worker, &Counts { pid: Some(1), ..Counts::default() }).unwrap();
        assert!(refusal.why.contains(&format!("into process 1, not into the worker's process {worker}")), "{refusal}");
        assert_eq!(unseen(worker, &Counts { pid: Some(worker.cast_unsigned().into()), ..Counts::default() }), None);
    }

    #[test]
    fn a_go_program_is_recognised_and_a_program_of_another_language_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let shell = |name: &str, behind: &[u8]| {
            let path = folder.path().join(name);
            let mut shell = fs::read("/bin/sh").unwrap();
            shell.resize(shell.len().next_multiple_of(16), 0);
            shell.push(0xff);
            shell.extend(GO);
            shell.extend(behind);
            fs::write(&path, shell).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let (go, other) = (shell("go", &[8, 2]), shell("other", b"other texts"));
        for (program, is_go) in [(go.as_path(), true), (other.as_path(), false), (Path::new("sh"), false)] {
            let mut child = Command::new(program).args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
            let pid = child.id();
            let found = unseen(pid.cast_signed(), &Counts { pid: Some(pid.into()), ..Counts::default() });
            drop(child.stdin.take());
            child.wait().unwrap();
            assert_eq!(found.is_some_and(|refusal| refusal.why.contains("is a Go program")), is_go);
        }
    }

    #[test]
    fn what_was_preloaded_before_comes_after() {
        let scratch = tempfile::tempdir().unwrap();
        let own = scratch.path().join(LIBRARY).display().to_string();
        let libraries =
            |before: Option<&str>| environment(scratch.path(), before.map(OsString::from)).unwrap()[0].clone();
        for (before, after) in [(None, ""), (Some(""), ""), (Some("/b.so"), ":/b.so")] {
            assert_eq!(libraries(before), (PRELOAD.into(), format!("{own}{after}").into()));
        }
        assert!(allocations_environment(&scratch.path().join("absent")).is_empty());
    }

    #[test]
    fn what_a_worker_allocates_in_the_window_is_counted() {
        assert_eq!(ALLOCATIONS.probe(), Ok(()));
        let scratch = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "read line; A=$(printf %01000d 1); echo done; read line"]);
        shell.envs(allocations_environment(scratch.path())).stdin(Stdio::piped()).stdout(Stdio::piped());
        let area = create(&scratch.path().join(AREA)).unwrap();
        let mut child = shell.spawn().unwrap();
        let mut counter = counting(child.id().cast_signed(), Ok(area.try_clone().unwrap()));
        while read(&area).unwrap().pid.is_none() {
            std::thread::yield_now();
        }
        counter.at_go();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line).unwrap();
        let seen = counter.at_end();
        drop(input);
        child.wait().unwrap();
        let outcome = seen(&window());
        assert!(outcome.readings.iter().take(2).all(|reading| reading.value.clone().unwrap() > 0.0), "{outcome:?}");
    }
}
