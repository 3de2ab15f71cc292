//! Stacks of the worker in the window, sampled by perf from outside and folded into a line each, and flame graphs of them. They
//! have the frames of the kernel and of C and C++ libraries.

mod perf;
mod picture;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use cqldyno_measure::list::{CPU_BY_FUNCTION, OTHER_FUNCTIONS};

use self::perf::Recording;
pub use self::picture::{PictureError, differential, picture};
use crate::meter::{Both, Edge, at_edges, per_statement};
use crate::{Artifact, Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

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

/// Functions with a smaller share of the samples are told together.
const LEAST_SHARE: f64 = 0.01;

/// The kind of the file with the folded stacks.
pub const STACKS: &str = "stacks";

/// Sampled stacks.
pub const FLAME_GRAPHS: Meter = Meter::new("flame graphs", &MEASURES, attach)
    .needs("perf from Linux 5.10 on, and perf_event_open(2)")
    .costs("0 to 4 % of the time")
    .at_worker()
    .probed(|| TRIED.clone());

static TRIED: LazyLock<Probe> = LazyLock::new(perf::trial);

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let (worker, scratch) = (subject.worker, subject.scratch.clone());
    let (mut windows, mut recording) = (0, None);
    let mut at = move |edge| match (edge, recording.take()) {
        (Edge::End, Some(begun)) => Recording::end(begun).map(Some),
        (Edge::End, None) => Ok(None),
        (Edge::Go, _) => {
            windows += 1;
            TRIED.clone()?;
            recording = Some(Recording::begin(worker, &scratch, windows)?);
            Ok(None)
        }
    };
    at_edges(move |edge| at(edge).map_err(|refusal| refusal.to_string()), figures)
}

/// What the file has that perf left at the end.
fn figures(both: Both<Option<PathBuf>>, window: &Window) -> Outcome {
    let folded = match both {
        Ok((_, None)) => return Outcome::default(),
        Ok((_, Some(data))) => perf::fold(data).map_err(|refusal| refusal.to_string()),
        Err(why) => Err(why),
    };
    let folded = match folded {
        Ok(folded) => folded,
        Err(why) => return Outcome::of(&MEASURES, [Err(why.clone()), Err(why)]),
    };
    let (samples, whole) = samples(&folded);
    Outcome {
        breakdowns: BTreeMap::from([(CPU_BY_FUNCTION, functions(&folded, window))]),
        files: vec![Artifact { kind: STACKS, extension: "folded", bytes: folded.into_bytes() }],
        ..Outcome::of(&MEASURES, [Ok(samples as f64), Ok(100.0 * whole as f64 / samples.max(1) as f64)])
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

/// CPU time of every function by itself, without those that it calls, in microseconds per statement.
fn functions(folded: &str, window: &Window) -> BTreeMap<String, f64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, count) in folded.lines().filter_map(|line| line.rsplit_once(' ')) {
        let innermost = stack.rsplit(';').next().unwrap_or_default();
        *counts.entry(short_name(innermost)).or_default() += count.parse().unwrap_or(0);
    }
    let least = counts.values().sum::<u64>() as f64 * LEAST_SHARE;
    let mut functions = BTreeMap::new();
    for (name, count) in counts {
        let us = per_statement(count as f64 * 1e6 / f64::from(perf::FREQUENCY), window).unwrap_or(0.0);
        let name = if count as f64 >= least { name } else { OTHER_FUNCTIONS.to_owned() };
        *functions.entry(name).or_default() += us;
    }
    functions
}

/// The name of a Rust function without its hash and the arguments of generic types; others as they are.
fn short_name(function: &str) -> String {
    let is_hex = |end: &str| end.len() == 16 && end.bytes().all(|c| c.is_ascii_hexdigit());
    let is_hash = |end: &str| end.strip_prefix('h').is_some_and(is_hex);
    let name = function.rsplit_once("::").filter(|(_, end)| is_hash(end)).map_or(function, |(name, _)| name);
    let (mut short, mut depth, mut before) = (String::new(), 0_u32, ' ');
    for c in name.chars() {
        let is_arrow = before == '-' && c == '>';
        match c {
            '<' if depth > 0 || before.is_alphanumeric() || before == ':' => depth += 1,
            '>' if depth > 0 && !is_arrow => depth -= 1,
            c if depth == 0 => short.push(c),
            _ => {}
        }
        before = c;
    }
    // What stood before arguments that are gone: `f::<T>` is `f`.
    short.trim_end_matches("::").replace("::::", "::")
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
    fn the_time_of_a_function_is_its_own_and_what_is_rare_stands_together() {
        let folded = "a;main;f 997\na;main;f;g 1994\na;main;h 5\na;i 5\n";
        let one = Window { verified: 1_000_000, ..window() };
        let found = functions(folded, &one);
        let rounded: Vec<(&str, f64)> = found.iter().map(|(name, us)| (name.as_str(), (us * 100.0).round())).collect();
        // 997 samples at 499 per second are two seconds.
        assert_eq!(rounded, [("f", 200.0), ("g", 400.0), ("other functions", 2.0)]);
    }

    #[test]
    fn names_of_functions_lose_their_hash_and_the_arguments_of_their_types() {
        for (long, short) in [
            ("core::ptr::drop_in_place<alloc::vec::Vec<u8>>::h0123456789abcdef", "core::ptr::drop_in_place"),
            (
                "<tokio::task::Task<F> as core::future::Future>::poll",
                "<tokio::task::Task as core::future::Future>::poll",
            ),
            ("a::f::<fn(u8) -> u8>::{closure#0}", "a::f::{closure#0}"),
            ("__x64_sys_futex_[k]", "__x64_sys_futex_[k]"),
            ("operator<", "operator"),
        ] {
            assert_eq!(short_name(long), short);
        }
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
