//! Stacks of the worker in the window, sampled by perf from outside, with the kernel's frames and those of C and C++ libraries, folded
//! into a line a stack; and the pictures that are made of them.

mod perf;
mod picture;

use std::path::PathBuf;
use std::sync::OnceLock;

pub use self::perf::PerfRefusal;
use self::perf::Recording;
pub use self::picture::{PictureError, differential, picture};
use crate::meter::UNFINISHED;
use crate::{Artifact, Attachment, Better, Declaration, Hook, Meter, Outcome, Pass, Probe, Subject, Window};

/// Sampled stacks.
pub struct Stacks;

const MEASURES: [Declaration; 2] = [
    Declaration {
        id: "stack_samples",
        unit: "1",
        better: Better::Neither,
        pass: Pass::Flamegraph,
        hook: Hook::AtEdges,
        about: "stacks of the worker that were sampled in the window",
        column: Some("samples"),
    },
    Declaration {
        id: "whole_stacks",
        unit: "%",
        better: Better::Neither,
        pass: Pass::Flamegraph,
        hook: Hook::AtEdges,
        about: "share of them that reach the beginning of their thread",
        column: Some("whole\nstacks"),
    },
];

/// The kind of the file with the folded stacks.
pub const STACKS: &str = "stacks";

impl Stacks {
    /// Tries whether this machine samples stacks. Tried once a process.
    ///
    /// # Errors
    /// Why not, with what to change.
    pub fn check() -> Result<(), PerfRefusal> {
        static TRIED: OnceLock<Result<(), PerfRefusal>> = OnceLock::new();
        TRIED.get_or_init(perf::trial).clone()
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
        "perf from Linux 5.10 on, and perf_event_open(2)"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("0 to 4 % of the time")
    }

    fn probe(&self) -> Probe {
        match Stacks::check() {
            Ok(()) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy().to_owned() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        Box::new(Sampler { worker: subject.worker, scratch: subject.scratch.clone(), state: State::Before })
    }
}

enum State {
    Before,
    Recording(Recording),
    Recorded(PathBuf),
    Refused(PerfRefusal),
}

struct Sampler {
    worker: i32,
    scratch: PathBuf,
    state: State,
}

impl Attachment for Sampler {
    fn at_go(&mut self) {
        let recording = Stacks::check().and_then(|()| Recording::begin(self.worker, &self.scratch));
        self.state = recording.map_or_else(State::Refused, State::Recording);
    }

    fn at_end(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Before) {
            State::Recording(recording) => recording.end().map_or_else(State::Refused, State::Recorded),
            other => other,
        };
    }

    fn read(&mut self, _: &Window) -> Outcome {
        let folded = match &self.state {
            State::Recorded(data) => perf::fold(data),
            State::Refused(refusal) => Err(refusal.clone()),
            State::Before | State::Recording(_) => return nothing(UNFINISHED.to_owned()),
        };
        match folded {
            Ok(folded) => {
                let (samples, whole) = samples(&folded);
                let share = 100.0 * whole as f64 / samples.max(1) as f64;
                Outcome {
                    files: vec![Artifact { kind: STACKS, extension: "folded", bytes: folded.into_bytes() }],
                    ..Outcome::of(&MEASURES, [Ok(samples as f64), Ok(share)])
                }
            }
            Err(refusal) => nothing(format!("{refusal} {}", refusal.remedy())),
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
        match Stacks.probe() {
            Probe::Available => {
                // 100 ms at 499 Hz; with a busy machine fewer.
                let samples = outcome.readings[0].value.clone().unwrap();
                assert!((1.0..=1_000.0).contains(&samples), "{outcome:?}");
                assert!(outcome.files[0].bytes.starts_with(b"sh;"), "{outcome:?}");
            }
            Probe::Unavailable { sentence, remedy } => {
                assert_eq!(outcome.readings[0].value, Err(format!("{sentence} {remedy}")));
            }
        }
    }
}
