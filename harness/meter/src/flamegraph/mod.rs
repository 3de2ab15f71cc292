//! Stacks of the worker in the window, sampled by perf from outside and folded into a line each, and flame graphs of them. They
//! have the frames of the kernel and of C and C++ libraries.

mod perf;
mod picture;

use std::path::PathBuf;
use std::sync::OnceLock;

use self::perf::Recording;
pub use self::picture::{PictureError, differential, picture};
use crate::{Artifact, Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Refusal, Seen, Subject, Unit};

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

/// Sampled stacks.
pub const FLAME_GRAPHS: Meter = Meter::new("flame graphs", &MEASURES, attach)
    .needs("perf from Linux 5.10 on, and perf_event_open(2)")
    .costs("0 to 4 % of the time")
    .probed(probe);

fn probe() -> Probe {
    static TRIED: OnceLock<Probe> = OnceLock::new();
    TRIED.get_or_init(perf::trial).clone()
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    Box::new(Sampler { worker: subject.worker, scratch: subject.scratch.clone(), windows: 0, recording: None })
}

struct Sampler {
    worker: i32,
    scratch: PathBuf,
    windows: u32,
    recording: Option<Result<Recording, Refusal>>,
}

impl Attachment for Sampler {
    fn at_go(&mut self) {
        self.windows += 1;
        let begun = probe().and_then(|()| Recording::begin(self.worker, &self.scratch, self.windows));
        self.recording = Some(begun);
    }

    fn at_end(&mut self) -> Seen {
        let recorded = self.recording.take().map(|recording| recording.and_then(Recording::end));
        Box::new(move |_| {
            let Some(recorded) = recorded else { return Outcome::default() };
            let folded = match recorded.and_then(|data| perf::fold(&data)) {
                Ok(folded) => folded,
                Err(refusal) => return Outcome::of(&MEASURES, [(); 2].map(|()| Err(refusal.to_string()))),
            };
            let (samples, whole) = samples(&folded);
            Outcome {
                files: vec![Artifact { kind: STACKS, extension: "folded", bytes: folded.into_bytes() }],
                ..Outcome::of(&MEASURES, [Ok(samples as f64), Ok(100.0 * whole as f64 / samples.max(1) as f64)])
            }
        })
    }
}

/// Samples in folded stacks, and those whose outermost frame, after the thread's name, is known.
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
        let mut sampler = FLAME_GRAPHS.attach(&Subject { scratch: scratch.path().to_path_buf(), ..me });
        sampler.at_go();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let outcome = sampler.at_end()(&window());
        match FLAME_GRAPHS.probe() {
            Ok(()) => {
                // 100 ms at 499 Hz; with a busy machine fewer.
                let samples = outcome.readings[0].value.clone().unwrap();
                assert!((1.0..=1_000.0).contains(&samples), "{outcome:?}");
                assert!(outcome.files[0].bytes.starts_with(b"sh;"), "{outcome:?}");
            }
            Err(refusal) => assert_eq!(outcome.readings[0].value, Err(refusal.to_string())),
        }
    }
}
