//! Stacks of the worker in the window, sampled by perf from outside, with the kernel's frames and those of C and C++ libraries, folded
//! into a line a stack; and the pictures that are made of them. Where perf is missing or refused, a library of ours in the worker samples
//! them instead, without the kernel's frames.

mod library;
mod perf;
mod picture;
mod sampling;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub use self::library::LibraryRefusal;
use self::library::Remote;
pub use self::perf::PerfRefusal;
use self::perf::Recording;
pub use self::picture::{Frames, PictureError, differential, picture};
pub use self::sampling::{NoSampling, Sampling};
use crate::meter::UNFINISHED;
use crate::{Artifact, Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// Sampled stacks.
pub struct Stacks;

const MEASURES: [Declaration; 2] = [
    Declaration::new(Pass::Flamegraph, "stack_samples", Unit::Count, Better::Neither, "stacks sampled in the window")
        .titled("samples"),
    Declaration::new(
        Pass::Flamegraph,
        "whole_stacks",
        Unit::Percent,
        Better::Neither,
        "share of the stacks that reach the beginning of their thread",
    )
    .titled("whole\nstacks"),
];

/// The kind of the file with the folded stacks.
pub const STACKS: &str = "stacks";

impl Stacks {
    /// Tries whether this machine samples stacks. Tried once a process.
    ///
    /// # Errors
    /// Why not, with what to change.
    pub fn check() -> Result<Sampling, NoSampling> {
        static TRIED: OnceLock<Result<Sampling, NoSampling>> = OnceLock::new();
        TRIED.get_or_init(|| Sampling::choose(perf::trial(), library::find())).clone()
    }

    /// The environment that a worker needs for its stacks to be sampled with files in the folder `scratch`; none where perf does it.
    pub fn environment(scratch: &Path) -> Vec<(OsString, OsString)> {
        match Stacks::check() {
            Ok(Sampling::Library { path, .. }) => library::environment(&path, scratch),
            Ok(Sampling::Perf) | Err(_) => Vec::new(),
        }
    }
}

impl Meter for Stacks {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "flame graphs"
    }

    fn needs(&self) -> &'static str {
        "perf from Linux 5.10 on, and perf_event_open(2); or libcqldyno_profiler.so beside cqldyno, for user frames only"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("0 to 4 % of the time")
    }

    fn probe(&self) -> Probe {
        match Stacks::check() {
            Ok(_) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy() },
        }
    }

    fn remark(&self) -> Option<String> {
        let sampling = Stacks::check().ok()?;
        Some(sampling.label().unwrap_or_else(|| "Here perf samples the stacks, with the kernel's frames.".to_owned()))
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let sampling = Stacks::check();
        let state = match &sampling {
            Ok(Sampling::Perf) => State::Before,
            Ok(Sampling::Library { .. }) => Remote::make(&subject.scratch).map(State::Waiting).into(),
            Err(refusal) => State::Refused(format!("{refusal} {}", refusal.remedy())),
        };
        let label = sampling.ok().and_then(|sampling| sampling.label());
        Box::new(Sampler { worker: subject.worker, scratch: subject.scratch.clone(), label, state })
    }
}

enum State {
    Before,
    Recording(Recording),
    Recorded(PathBuf),
    Waiting(Remote),
    Remote(Remote),
    Folded(String),
    /// With full sentences.
    Refused(String),
}

impl From<Result<State, PerfRefusal>> for State {
    fn from(result: Result<State, PerfRefusal>) -> State {
        result.unwrap_or_else(|refusal| State::Refused(format!("{refusal} {}", refusal.remedy())))
    }
}

impl From<Result<State, LibraryRefusal>> for State {
    fn from(result: Result<State, LibraryRefusal>) -> State {
        result.unwrap_or_else(|refusal| State::Refused(refusal.to_string()))
    }
}

struct Sampler {
    worker: i32,
    scratch: PathBuf,
    /// What a reader must know of the way.
    label: Option<String>,
    state: State,
}

impl Attachment for Sampler {
    fn at_go(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Before) {
            State::Before => Recording::begin(self.worker, &self.scratch).map(State::Recording).into(),
            State::Waiting(mut remote) => remote.begin().map(|()| State::Remote(remote)).into(),
            other => other,
        };
    }

    fn at_end(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Before) {
            State::Recording(recording) => recording.end().map(State::Recorded).into(),
            State::Remote(mut remote) => remote.end().map(State::Folded).into(),
            other => other,
        };
    }

    fn read(&mut self, _: &Window) -> Outcome {
        let folded = match &self.state {
            State::Recorded(data) => match perf::fold(data) {
                Ok(folded) => folded,
                Err(refusal) => return nothing(format!("{refusal} {}", refusal.remedy())),
            },
            State::Folded(folded) => folded.clone(),
            State::Refused(why) => return nothing(why.clone()),
            State::Before | State::Recording(_) | State::Waiting(_) | State::Remote(_) => {
                return nothing(UNFINISHED.to_owned());
            }
        };
        let (samples, whole) = samples(&folded);
        let (frames, share) = match &self.label {
            None => (Frames::All, Ok(100.0 * whole as f64 / samples.max(1) as f64)),
            Some(_) => {
                (Frames::User, Err("Only perf says whether a stack reaches the beginning of its thread.".to_owned()))
            }
        };
        Outcome {
            files: vec![Artifact { kind: STACKS, extension: frames.extension(), bytes: folded.into_bytes() }],
            findings: self.label.iter().cloned().collect(),
            ..Outcome::of(&MEASURES, [Ok(samples as f64), share])
        }
    }
}

fn nothing(why: String) -> Outcome {
    Outcome::of(&MEASURES, [Err(why.clone()), Err(why)])
}

/// Samples in folded stacks, and those whose outermost frame, behind the thread's name, is known.
fn samples(folded: &str) -> (u64, u64) {
    let mut sums = (0, 0);
    for (stack, count) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        let count: u64 = count.parse().unwrap_or(0);
        sums.0 += count;
        if stack.split(';').nth(1).is_some_and(|outermost| outermost != "[unknown]") {
            sums.1 += count;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{subject, window};
    use std::process::{Command, Stdio};

    #[test]
    fn stacks_whose_outermost_frame_is_unknown_are_not_whole() {
        assert_eq!(samples("a;main;f 3\na;[unknown];f 2\na;main;[unknown] 5\n"), (10, 8));
    }

    #[test]
    fn a_busy_process_is_sampled_with_its_functions_or_the_reason_is_said() {
        let mut child = Command::new("sh");
        child.args(["-c", "i=0; while :; do i=$((i+1)); done"]).stdout(Stdio::null());
        let child = crate::tool::Ended(child.spawn().unwrap());
        let scratch = tempfile::tempdir().unwrap();
        let me = subject(child.0.id().cast_signed());
        let mut sampler = Stacks.attach(&Subject { scratch: scratch.path().to_path_buf(), ..me });
        sampler.at_go();
        std::thread::sleep(std::time::Duration::from_millis(100));
        sampler.at_end();
        let outcome = sampler.read(&window());
        match Stacks::check() {
            Ok(Sampling::Perf) => {
                // 100 ms at 499 Hz; with a busy machine fewer.
                let samples = outcome.readings[0].value.clone().unwrap();
                assert!((1.0..=1_000.0).contains(&samples), "{outcome:?}");
                assert!(outcome.files[0].bytes.starts_with(b"sh;"), "{outcome:?}");
            }
            // A shell that has not loaded it.
            Ok(Sampling::Library { .. }) => {
                assert_eq!(outcome.readings[0].value, Err(LibraryRefusal::NotLoaded.to_string()));
            }
            Err(refusal) => {
                assert_eq!(outcome.readings[0].value, Err(format!("{refusal} {}", refusal.remedy())));
            }
        }
    }
}
