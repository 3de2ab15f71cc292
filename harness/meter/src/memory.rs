//! Peak memory of the worker in the window.
//!
//! `ru_maxrss` inherits the parent's high-water mark over fork and exec; `VmHWM` of /proc/PID/status, reset at `go` by
//! writing 5 to /proc/PID/clear_refs, is the worker's own (proc(5)).

use std::fs;

use cqldyno_measure::list::declared;

use crate::meter::UNFINISHED;
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Subject, Window};

/// The most memory the worker had resident between `go` and `end`.
pub struct PeakMemory;

const MEASURES: [Declaration; 1] = [declared::PEAK_RSS];

impl Meter for PeakMemory {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "peak memory"
    }

    fn needs(&self) -> &'static str {
        "/proc/PID/clear_refs and VmHWM in /proc/PID/status"
    }

    fn probe(&self) -> Probe {
        let pid = std::process::id().cast_signed();
        match reset(pid).and_then(|()| high_water_mark(pid)) {
            Ok(_) => Probe::Available,
            Err(sentence) => Probe::Unavailable {
                sentence,
                remedy: "Mount /proc, writable for the user's own processes, and run a kernel with CONFIG_PROC_PAGE_MONITOR."
                    .to_owned(),
            },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        Box::new(Mark { pid: subject.worker, peak: Err(UNFINISHED.to_owned()) })
    }
}

struct Mark {
    pid: i32,
    peak: Result<u64, String>,
}

impl Attachment for Mark {
    fn at_go(&mut self) {
        self.peak = reset(self.pid).map(|()| 0);
    }

    fn at_end(&mut self) {
        if self.peak.is_ok() {
            self.peak = high_water_mark(self.pid);
        }
    }

    fn read(&mut self, _: &Window) -> Outcome {
        Outcome::of(&MEASURES, [self.peak.clone().map(|bytes| bytes as f64)])
    }
}

fn reset(pid: i32) -> Result<(), String> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").map_err(|error| format!("Peak memory could not be reset by writing 5 to {path}: {error}."))
}

/// `VmHWM` in bytes.
fn high_water_mark(pid: i32) -> Result<u64, String> {
    status_bytes(pid, "VmHWM:").map_err(|error| format!("Peak memory could not be read: {error}."))
}

/// Memory that the process `pid` has resident now, in bytes: `VmRSS` of /proc/PID/status (proc(5)).
///
/// # Errors
/// When there is no such process, or /proc does not tell; the message is the end of a sentence.
pub fn resident_bytes(pid: i32) -> Result<u64, String> {
    status_bytes(pid, "VmRSS:")
}

fn status_bytes(pid: i32, name: &str) -> Result<u64, String> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .ok_or_else(|| format!("{path} has no line {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::NO_PROCESS;
    use std::hint::black_box;

    #[test]
    fn what_was_freed_before_go_does_not_count_and_what_is_used_in_the_window_does() {
        const MIB: usize = 1 << 20;
        let pid = std::process::id().cast_signed();
        let before = black_box(vec![1u8; 96 * MIB]);
        let with_it = high_water_mark(pid).unwrap();
        drop(before);
        let mut mark = Mark { pid, peak: Ok(0) };
        mark.at_go();
        let inside = black_box(vec![1u8; 32 * MIB]);
        drop(inside);
        mark.at_end();
        let peak = mark.peak.unwrap() as usize;
        assert!(peak >= 32 * MIB && peak + 48 * MIB < with_it as usize, "{peak} of {with_it}");
    }

    #[test]
    fn a_process_that_is_gone_is_a_sentence() {
        let mut mark = Mark { pid: NO_PROCESS, peak: Ok(0) };
        mark.at_go();
        mark.at_end();
        assert!(mark.peak.unwrap_err().contains("/proc/4194305/clear_refs"));
    }

    #[test]
    fn what_is_resident_now_is_told_for_a_process_that_is_there() {
        let pid = std::process::id().cast_signed();
        let before = resident_bytes(pid).unwrap();
        let block = black_box(vec![1u8; 64 << 20]);
        assert!(resident_bytes(pid).unwrap() >= before + (32 << 20));
        drop(block);
        assert!(resident_bytes(NO_PROCESS).unwrap_err().contains("/proc/4194305/status"));
    }
}
