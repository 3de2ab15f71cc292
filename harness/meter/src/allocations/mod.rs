//! Allocations of the worker, counted by a library of ours that is loaded into its process before the C library (LD_PRELOAD), so
//! that those of the driver's C and C++ libraries are seen as well as Rust's.
//!
//! Counting costs a few nanoseconds an allocation: it has a pass of its own. The library counts in a file that both sides share, and
//! says in it that it was loaded, and into which process; without that there is no figure.

mod program;
mod refusal;

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use cqldyno_allocation_area::{Counts, VARIABLE, create, read};

use self::program::Program;
pub use self::refusal::Refusal;
use crate::meter::{UNFINISHED, per_statement};
use crate::preload;
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// Allocations a statement, the bytes that they ask for, and how many are given back.
pub struct Allocations;

const MEASURES: [Declaration; 3] = [
    Declaration::new(
        Pass::Allocations,
        "allocations_per_statement",
        Unit::Count,
        Better::Lower,
        "allocations of the worker per verified statement; a realloc is one",
    )
    .titled("allocations"),
    Declaration::new(
        Pass::Allocations,
        "allocated_bytes_per_statement",
        Unit::Bytes,
        Better::Lower,
        "bytes allocated per verified statement",
    )
    .titled("bytes\nallocated"),
    Declaration::new(
        Pass::Allocations,
        "frees_per_statement",
        Unit::Count,
        Better::Neither,
        "allocations that the worker gives back, per verified statement",
    )
    .titled("given\nback"),
];

/// The library's file name.
const LIBRARY: &str = "libcqldyno_interposer.so";
/// The file of the counters, in the cell's own folder.
const AREA: &str = "allocations";

impl Allocations {
    /// The environment that a worker needs for its allocations to be counted in the folder `scratch`; none where they cannot be.
    pub fn environment(scratch: &Path) -> Vec<(OsString, OsString)> {
        preload::library(LIBRARY).map(|library| environment(&library, scratch)).unwrap_or_default()
    }

    /// Tries whether this machine counts allocations. Tried once a process.
    ///
    /// # Errors
    /// Why not, with what to change.
    pub fn check() -> Result<(), Refusal> {
        static TRIED: OnceLock<Result<(), Refusal>> = OnceLock::new();
        TRIED.get_or_init(|| trial(&preload::library(LIBRARY).map_err(Refusal::NoLibrary)?)).clone()
    }
}

fn environment(library: &Path, scratch: &Path) -> Vec<(OsString, OsString)> {
    vec![preload::variable(library), (VARIABLE.into(), scratch.join(AREA).into())]
}

/// Loads the library into a small program, and looks whether it says so and has counted.
fn trial(library: &Path) -> Result<(), Refusal> {
    let scratch = Scratch::new().map_err(|error| Refusal::NoArea(error.to_string()))?;
    let file = create(&scratch.0.join(AREA)).map_err(|error| Refusal::NoArea(error.to_string()))?;
    let failed = |why: String| Refusal::TrialFailed { why };
    let mut shell = Command::new("sh");
    shell.args(["-c", ":"]).envs(environment(library, &scratch.0));
    shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = shell.spawn().map_err(|error| failed(format!(": {error}")))?;
    let pid = u64::from(child.id());
    let said = child.wait_with_output().map_err(|error| failed(format!(": {error}")))?.stderr;
    let counts = read(&file).map_err(|error| Refusal::Unreadable(error.to_string()))?;
    match counts {
        Counts { pid: Some(found), allocations: 1.., .. } if found == pid => Ok(()),
        _ => Err(failed(match String::from_utf8_lossy(&said).trim() {
            "" => String::new(),
            said => format!(": {}", said.chars().take(200).collect::<String>()),
        })),
    }
}

/// A folder of the trial's own.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> std::io::Result<Scratch> {
        let path = std::env::temp_dir().join(format!("cqldyno-trial-{}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder of temporary files that stays is the system's to take away.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Meter for Allocations {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "allocations"
    }

    fn needs(&self) -> &'static str {
        "libcqldyno_interposer.so beside cqldyno, and a worker that is linked to the C library dynamically"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("a few nanoseconds an allocation")
    }

    fn probe(&self) -> Probe {
        match Allocations::check() {
            Ok(()) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy().to_owned() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let area = Allocations::check()
            .and_then(|()| create(&subject.scratch.join(AREA)).map_err(|error| Refusal::NoArea(error.to_string())));
        Box::new(Counter { worker: subject.worker, area, refused: None, go: None, end: None })
    }
}

struct Counter {
    worker: i32,
    area: Result<File, Refusal>,
    refused: Option<Refusal>,
    go: Option<Result<Counts, Refusal>>,
    end: Option<Result<Counts, Refusal>>,
}

impl Counter {
    fn counts(&self) -> Option<Result<Counts, Refusal>> {
        let area = self.area.as_ref().ok()?;
        Some(read(area).map_err(|error| Refusal::Unreadable(error.to_string())))
    }

    fn counted(&self) -> Result<Counts, String> {
        let refused = self.area.as_ref().err().or(self.refused.as_ref());
        match (refused, &self.go, &self.end) {
            (Some(refusal), _, _) | (None, Some(Err(refusal)), _) | (None, _, Some(Err(refusal))) => {
                Err(refusal.reason())
            }
            (None, Some(Ok(go)), Some(Ok(end))) => Ok(Counts {
                allocations: end.allocations.saturating_sub(go.allocations),
                bytes: end.bytes.saturating_sub(go.bytes),
                frees: end.frees.saturating_sub(go.frees),
                ..*end
            }),
            _ => Err(UNFINISHED.to_owned()),
        }
    }
}

/// Why the allocations of a worker with these counts are not seen, if so.
fn unseen(worker: i32, counts: &Counts) -> Option<Refusal> {
    let process = Path::new("/proc").join(worker.to_string());
    // What cannot be looked at is taken for a program like any other: whether the library was loaded is known all the same.
    match Program::at(&process.join("exe")).unwrap_or(Program::Unknown) {
        Program::Static => return Some(Refusal::Static),
        Program::Go => return Some(Refusal::Go),
        Program::Dynamic | Program::Unknown => {}
    }
    if fs::read_to_string(process.join("maps")).is_ok_and(|maps| maps.contains("/libjvm.so")) {
        return Some(Refusal::Jvm);
    }
    let worker = u64::from(worker.cast_unsigned());
    match counts.pid {
        None => Some(Refusal::NotLoaded),
        Some(found) if found != worker => Some(Refusal::Elsewhere { found, worker }),
        Some(_) => None,
    }
}

impl Attachment for Counter {
    fn at_go(&mut self) {
        let counts = self.counts();
        self.refused = counts.as_ref().and_then(|counts| unseen(self.worker, counts.as_ref().ok()?));
        self.go = counts;
    }

    fn at_end(&mut self) {
        self.end = self.counts();
    }

    fn read(&mut self, window: &Window) -> Outcome {
        let counted = self.counted();
        let each = |pick: fn(&Counts) -> u64| {
            counted.as_ref().map_err(Clone::clone).and_then(|counts| per_statement(pick(counts) as f64, window))
        };
        Outcome::of(
            &MEASURES,
            [each(|counts| counts.allocations), each(|counts| counts.bytes), each(|counts| counts.frees)],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;
    use std::io::Write;

    fn counter(worker: i32) -> (tempfile::TempDir, Counter) {
        let scratch = tempfile::tempdir().unwrap();
        let area = create(&scratch.path().join(AREA)).map_err(|error| Refusal::NoArea(error.to_string()));
        (scratch, Counter { worker, area, refused: None, go: None, end: None })
    }

    fn sentence(mut counter: Counter) -> String {
        counter.at_go();
        counter.at_end();
        let outcome = counter.read(&window());
        outcome.readings[0].value.clone().unwrap_err()
    }

    #[test]
    fn without_the_library_in_the_process_there_is_no_figure_and_the_reason_is_said() {
        let (_scratch, counter) = counter(std::process::id().cast_signed());
        let sentence = sentence(counter);
        assert!(sentence.contains("was not loaded into the worker. The worker has to be"), "{sentence}");
    }

    #[test]
    fn a_count_of_another_process_is_not_taken_for_the_workers() {
        let worker = std::process::id().cast_signed();
        let refusal = unseen(worker, &Counts { pid: Some(1), ..Counts::default() });
        assert_eq!(refusal, Some(Refusal::Elsewhere { found: 1, worker: u64::from(worker.cast_unsigned()) }));
        assert_eq!(unseen(worker, &Counts { pid: Some(worker.cast_unsigned().into()), ..Counts::default() }), None);
    }

    #[test]
    fn a_window_without_an_end_has_no_figure() {
        let (_scratch, mut counter) = counter(std::process::id().cast_signed());
        assert_eq!(counter.read(&window()).readings[0].value, Err(UNFINISHED.to_owned()));
    }

    #[test]
    fn what_a_worker_allocates_in_the_window_is_counted_where_the_library_is_built() {
        if let Probe::Unavailable { sentence, remedy } = Allocations.probe() {
            assert!(!sentence.is_empty() && !remedy.is_empty());
            eprintln!("not tested here: {sentence} {remedy}");
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "read line; A=$(printf %01000d 1); echo done; read line"]);
        shell.envs(Allocations::environment(scratch.path())).stdin(Stdio::piped()).stdout(Stdio::piped());
        let area = create(&scratch.path().join(AREA)).map_err(|error| Refusal::NoArea(error.to_string()));
        let mut child = shell.spawn().unwrap();
        let mut counter = Counter { worker: child.id().cast_signed(), area, refused: None, go: None, end: None };
        while counter.counts().unwrap().unwrap().pid.is_none() {
            std::thread::yield_now();
        }
        counter.at_go();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"go\n").unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.as_mut().unwrap()), &mut line).unwrap();
        counter.at_end();
        drop(input);
        child.wait().unwrap();
        let outcome = counter.read(&window());
        assert!(outcome.readings.iter().take(2).all(|reading| reading.value.clone().unwrap() > 0.0), "{outcome:?}");
    }
}
