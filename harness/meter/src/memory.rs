//! Peak memory of the worker in the window.
//!
//! `ru_maxrss` inherits the parent's high-water mark over fork and exec. `VmHWM` of /proc/PID/status is the worker's own;
//! writing 5 to /proc/PID/clear_refs at `go` resets it (proc(5)).

use std::fs;

use cqldyno_measure::list::declared;

use crate::meter::{Edge, at_edges};
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Refusal, Subject};

const MEASURES: [Declaration; 1] = [declared::PEAK_RSS];

/// The most memory the worker had resident between `go` and `end`.
pub const PEAK_MEMORY: Meter = Meter::new("peak memory", &MEASURES, attach)
    .needs("/proc/PID/clear_refs and VmHWM in /proc/PID/status")
    .probed(probe);

fn probe() -> Probe {
    const REMEDY: &str =
        "Mount /proc, writable for the user's own processes, and run a kernel with CONFIG_PROC_PAGE_MONITOR.";
    let pid = std::process::id().cast_signed();
    let tried = reset(pid).and_then(|()| high_water_mark(pid));
    tried.map(drop).map_err(|why| Refusal::new(UNREADABLE, why, REMEDY))
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let pid = subject.worker;
    let look = move |edge| match edge {
        Edge::Go => reset(pid).map(|()| 0),
        Edge::End => high_water_mark(pid),
    };
    let sentence = move |edge| look(edge).map_err(|why| format!("{UNREADABLE}: {why}."));
    at_edges(sentence, |both, _| Outcome::of(&MEASURES, [both.map(|(_, peak)| *peak as f64)]))
}

const UNREADABLE: &str = "Peak memory cannot be read";

fn reset(pid: i32) -> Result<(), String> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").map_err(|error| format!("writing 5 to {path} failed: {error}"))
}

/// `VmHWM` in bytes.
fn high_water_mark(pid: i32) -> Result<u64, String> {
    kib_line(&format!("/proc/{pid}/status"), "VmHWM:")
}

/// Memory that the process `pid` has resident now, in bytes: `VmRSS` of /proc/PID/status (proc(5)).
///
/// # Errors
/// When there is no such process, or /proc does not tell; the message is the end of a sentence.
pub fn resident_bytes(pid: i32) -> Result<u64, String> {
    kib_line(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// The bytes of the line `NAME N kB` in a file of /proc.
pub(crate) fn kib_line(path: &str, name: &str) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .ok_or_else(|| format!("{path} has no line {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::hint::black_box;

    #[test]
    fn what_was_freed_before_go_does_not_count_and_what_is_used_in_the_window_does() {
        const MIB: usize = 1 << 20;
        let pid = std::process::id().cast_signed();
        let before = black_box(vec![1u8; 96 * MIB]);
        let with_it = high_water_mark(pid).unwrap();
        drop(before);
        let mut mark = PEAK_MEMORY.attach(&subject(pid));
        mark.at_go();
        let inside = black_box(vec![1u8; 32 * MIB]);
        drop(inside);
        let peak = mark.at_end()(&window()).readings[0].value.clone().unwrap() as usize;
        assert!(peak >= 32 * MIB && peak + 48 * MIB < with_it as usize, "{peak} of {with_it}");
    }

    #[test]
    fn a_process_that_is_gone_is_a_sentence() {
        let mut mark = PEAK_MEMORY.attach(&subject(NO_PROCESS));
        mark.at_go();
        let why = mark.at_end()(&window()).readings[0].value.clone().unwrap_err();
        assert!(why.contains("/proc/4194305/clear_refs"), "{why}");
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
