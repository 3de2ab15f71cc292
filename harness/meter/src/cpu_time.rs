//! CPU time of the worker: its own rusage, cross-checked by the parent with the process' CPU clock.

use std::io;

use cqldyno_measure::list::declared;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use crate::meter::{Edges, per_statement};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// User and system time of the window, their sum and the sum a statement.
pub struct CpuTime;

// The tick samples the split between user and system time: a true 50/50 reads 0 to 100 % in 10 ms, 46 to 52 % in 200 ms and 48
// to 51 % in a second. Their sum is exact. Who shows them leaves the split out below half a second.
const MEASURES: [Declaration; 4] = [
    declared::USER,
    declared::SYS,
    Declaration::new(Pass::Timing, "cpu", Unit::Seconds, Better::Lower, "CPU time of the worker, user and system, exact"),
    declared::CPU_PER_STATEMENT,
];

/// CPU time that the process `pid` and all its threads, ended ones too, have used so far, in nanoseconds.
///
/// # Errors
/// When there is no such process, or its clock may not be read.
pub fn process_cpu_ns(pid: i32) -> io::Result<u64> {
    let clock: ClockId = clock_getcpuclockid(Pid::from_raw(pid))?;
    Ok(clock.now()?.num_nanoseconds().unsigned_abs())
}

impl Meter for CpuTime {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "CPU time"
    }

    fn needs(&self) -> &'static str {
        "getrusage in the worker and, to cross-check it, the CPU clock of another process"
    }

    fn probe(&self) -> Probe {
        match process_cpu_ns(std::process::id().cast_signed()) {
            Ok(_) => Probe::Available,
            Err(error) => Probe::Unavailable {
                sentence: format!("The CPU clock of a process cannot be read: {error}."),
                remedy: "Run on Linux with POSIX process clocks; the worker's own account is then not cross-checked."
                    .to_owned(),
            },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        Box::new(Clock { pid: subject.worker, edges: Edges::default() })
    }
}

struct Clock {
    pid: i32,
    edges: Edges,
}

impl Attachment for Clock {
    fn at_go(&mut self) {
        self.edges.go = Some(process_cpu_ns(self.pid));
    }

    fn at_end(&mut self) {
        self.edges.end = Some(process_cpu_ns(self.pid));
    }

    fn read(&mut self, window: &Window) -> Outcome {
        let told_us = window.user_us + window.sys_us;
        let sum = told_us as f64;
        let mut outcome = Outcome::of(
            &MEASURES,
            [
                Ok(window.user_us as f64 / 1e6),
                Ok(window.sys_us as f64 / 1e6),
                Ok(sum / 1e6),
                per_statement(sum, window),
            ],
        );
        match self.edges.difference("To cross-check the worker's CPU time, its process clock") {
            Ok(clock_ns) if told_us * 1_000 < clock_ns => outcome.voids.extend(disagreement(told_us, clock_ns)),
            Ok(clock_ns) => outcome.findings.extend(disagreement(told_us, clock_ns)),
            Err(why) => outcome.findings.push(why),
        }
        outcome
    }
}

/// More than this many microseconds, and more than 1 %, is too far apart. The worker starts a little after the parent's first
/// reading and tells of the end a little before the second; and the kernel adds what a thread used that runs on another core
/// to the process' account by the tick, 4 ms, of which each edge may miss one a thread. Of 27 cells on a machine at four times its limit none
/// was 0.7 ms apart, and of 2,000 cells of two threads on one that others used one was 9 ms apart.
const APART_US: u64 = 10_000;

/// A sentence when the worker's account and the parent's clock are too far apart.
fn disagreement(told_us: u64, clock_ns: u64) -> Option<String> {
    let clock_us = clock_ns / 1_000;
    let apart = told_us.abs_diff(clock_us);
    (apart > APART_US && apart * 100 > told_us.max(clock_us)).then(|| {
        format!(
            "The worker says that it used {:.3} s of CPU time in the window, its process clock says {:.3} s.",
            told_us as f64 / 1e6,
            clock_us as f64 / 1e6
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, window};

    #[test]
    fn the_clock_of_a_process_advances_while_it_works_and_is_an_error_when_it_is_gone() {
        let pid = std::process::id().cast_signed();
        let before = process_cpu_ns(pid).unwrap();
        let mut x = 0u64;
        while process_cpu_ns(pid).unwrap() < before + 1_000_000 {
            x = std::hint::black_box(x + 1);
        }
        assert!(process_cpu_ns(NO_PROCESS).is_err());
    }

    #[test]
    fn the_clock_of_a_child_can_be_read() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let read = process_cpu_ns(child.id().cast_signed());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read.is_ok(), "{read:?}");
    }

    #[test]
    fn more_than_one_percent_apart_is_too_far_and_a_few_milliseconds_are_not() {
        assert_eq!(disagreement(2_000_000, 2_019_000_000), None);
        assert_eq!(disagreement(10_000, 14_000_000), None);
        assert_eq!(disagreement(702_000, 711_000_000), None);
        assert!(disagreement(702_000, 713_000_000).is_some());
        let sentence = disagreement(1_000_000, 1_100_000_000).unwrap();
        assert!(sentence.contains("1.000 s") && sentence.contains("1.100 s"), "{sentence}");
    }

    #[test]
    fn cpu_time_a_statement_is_the_sum_over_the_verified_statements() {
        let outcome = Clock { pid: 1, edges: Edges::default() }.read(&window());
        assert_eq!(outcome.readings[2].value, Ok(1.0));
        assert_eq!(outcome.readings[3].value, Ok(1.0));
    }

    #[test]
    fn a_worker_that_tells_of_less_than_its_clock_has_no_figures_and_one_that_tells_of_more_is_a_finding() {
        let read = |end_ns: u64| {
            let edges = Edges { go: Some(Ok(5)), end: Some(Ok(5 + end_ns)) };
            let outcome = Clock { pid: 1, edges }.read(&window());
            (outcome.findings.len(), outcome.voids.len())
        };
        assert_eq!(read(1_000_000_000), (0, 0));
        assert_eq!(read(1_100_000_000), (0, 1));
        assert_eq!(read(900_000_000), (1, 0));
    }
}
