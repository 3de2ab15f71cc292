//! What /proc (proc(5)) tells of the worker at the end of the window.

use std::fs;

use cqldyno_measure::list::declared;

use crate::meter::{Edge, at_edges, lower};
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Refusal, Subject, Unit};

/// A figure of a process: what is done at `go`, what is read at the end, and how a sentence begins that says why it cannot be read.
struct ProcessFigure {
    measures: &'static [Declaration],
    at_go: fn(i32) -> Result<(), String>,
    at_end: fn(i32) -> Result<u64, String>,
    failed: &'static str,
}

impl ProcessFigure {
    fn attach(&'static self, subject: &Subject) -> Box<dyn Attachment> {
        let pid = subject.worker;
        let look = move |edge| match edge {
            Edge::Go => (self.at_go)(pid).map(|()| 0),
            Edge::End => (self.at_end)(pid),
        };
        let sentence = move |edge| look(edge).map_err(|why| format!("{}: {why}.", self.failed));
        at_edges(sentence, |both, _| Outcome::of(self.measures, [both.map(|(_, end)| *end as f64)]))
    }

    fn probe(&self, remedy: &str) -> Probe {
        let pid = std::process::id().cast_signed();
        let tried = (self.at_go)(pid).and_then(|()| (self.at_end)(pid));
        tried.map(drop).map_err(|why| Refusal::new(self.failed, why, remedy))
    }
}

static COUNTED: ProcessFigure = ProcessFigure {
    measures: &[declared::THREADS],
    at_go: |_| Ok(()),
    at_end: thread_count,
    failed: "Threads cannot be counted in /proc/PID/task",
};

/// Threads of the worker at the window's end: those of the load generator and those of the driver.
pub const THREADS: Meter = Meter::new("threads", COUNTED.measures, |subject| COUNTED.attach(subject))
    .needs("/proc")
    .at_worker()
    .probed(|| COUNTED.probe("Mount /proc."));

fn thread_count(pid: i32) -> Result<u64, String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(|error| error.to_string())?;
    Ok(tasks.count() as u64)
}

/// `ru_maxrss` inherits the parent's high-water mark over fork and exec. `VmHWM` of /proc/PID/status is the worker's own;
/// writing 5 to /proc/PID/clear_refs at `go` resets it.
static PEAK: ProcessFigure = ProcessFigure {
    measures: &[declared::PEAK_RSS],
    at_go: reset,
    at_end: high_water_mark,
    failed: "Peak memory cannot be read",
};

/// The most memory the worker had resident between `go` and `end`.
pub const PEAK_MEMORY: Meter = Meter::new("peak memory", PEAK.measures, |subject| PEAK.attach(subject))
    .needs("/proc/PID/clear_refs and VmHWM in /proc/PID/status")
    .at_worker()
    .probed(|| {
        PEAK.probe(
            "Mount /proc, writable for the user's own processes, and run a kernel with CONFIG_PROC_PAGE_MONITOR.",
        )
    });

pub(crate) fn reset(pid: i32) -> Result<(), String> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").map_err(|error| format!("writing 5 to {path} failed: {error}"))
}

pub(crate) fn high_water_mark(pid: i32) -> Result<u64, String> {
    kib_line(&format!("/proc/{pid}/status"), "VmHWM:")
}

/// `Pss` of /proc/PID/smaps_rollup. The kernel walks all pages of the worker for it, so this meter reads after the others.
static SHARE: ProcessFigure = ProcessFigure {
    measures: &[lower(
        "pss",
        Unit::Bytes,
        "memory of the worker at the end of the window, with its share of pages that other processes have too",
    )
    .titled("PSS at\nthe end")],
    at_go: |_| Ok(()),
    at_end: proportional_bytes,
    failed: "Proportional memory cannot be read",
};

/// The proportional set size of the worker at the window's end.
pub const PROPORTIONAL_MEMORY: Meter = Meter::new("memory shared out", SHARE.measures, |subject| SHARE.attach(subject))
    .needs("/proc/PID/smaps_rollup")
    .at_worker()
    .probed(|| SHARE.probe("Mount /proc, and run Linux 4.14 or later with CONFIG_PROC_PAGE_MONITOR."));

fn proportional_bytes(pid: i32) -> Result<u64, String> {
    kib_line(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

/// Memory that the process `pid` has resident now, in bytes: `VmRSS` of /proc/PID/status.
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
    use crate::meter::{NO_PROCESS, alone, subject, window};
    use std::hint::black_box;
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

    #[test]
    fn a_thread_more_is_counted() {
        let pid = std::process::id().cast_signed();
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || receive.recv());
        assert!(thread_count(pid).unwrap() >= 2);
        drop(send);
        thread.join().unwrap().unwrap_err();
    }

    #[test]
    fn what_was_freed_before_go_does_not_count_and_what_is_used_in_the_window_does() {
        const MIB: usize = 1 << 20;
        let (_alone, pid) = (alone(), std::process::id().cast_signed());
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
    fn the_peak_of_a_process_that_is_gone_is_a_sentence() {
        let mut mark = PEAK_MEMORY.attach(&subject(NO_PROCESS));
        mark.at_go();
        let why = mark.at_end()(&window()).readings[0].value.clone().unwrap_err();
        assert!(why.contains("/proc/4194305/clear_refs"), "{why}");
    }

    #[test]
    fn what_is_resident_now_is_told_for_a_process_that_is_there() {
        let (_alone, pid) = (alone(), std::process::id().cast_signed());
        let before = resident_bytes(pid).unwrap();
        let block = black_box(vec![1u8; 64 << 20]);
        assert!(resident_bytes(pid).unwrap() >= before + (32 << 20));
        drop(block);
        assert!(resident_bytes(NO_PROCESS).unwrap_err().contains("/proc/4194305/status"));
    }

    /// `cat`, which has answered: it runs, and shares the C library's pages with another one at least.
    fn cat() -> Child {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        child
    }

    #[test]
    fn of_pages_that_two_processes_have_in_common_each_has_a_share() {
        let mut cats = [cat(), cat()];
        for cat in &cats {
            let pid = cat.id().cast_signed();
            let (share, resident) = (proportional_bytes(pid).unwrap(), resident_bytes(pid).unwrap());
            assert!(0 < share && share < resident, "{share} of {resident}");
        }
        for cat in &mut cats {
            drop(cat.stdin.take());
            cat.wait().unwrap();
        }
    }

    #[test]
    fn the_share_of_a_process_that_is_gone_is_a_sentence() {
        let mut memory = PROPORTIONAL_MEMORY.attach(&subject(NO_PROCESS));
        memory.at_go();
        let why = memory.at_end()(&window()).readings[0].value.clone().unwrap_err();
        assert!(why.contains("/proc/4194305/smaps_rollup: "), "{why}");
    }
}
