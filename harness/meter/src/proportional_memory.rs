//! Memory of the worker at the window's end, pages that it shares with other processes divided among them: `Pss` of
//! /proc/PID/smaps_rollup (proc(5)). The kernel walks all of the worker's pages for it, so it is read behind everything that is
//! measured, when the worker waits.

use std::fs;

use crate::meter::UNFINISHED;
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// The worker's proportional set size at the window's end.
pub struct ProportionalMemory;

const MEASURES: [Declaration; 1] = [Declaration::new(
    Pass::Timing,
    "pss",
    Unit::Bytes,
    Better::Lower,
    "memory of the worker at the end of the window, with its share of pages that other processes have too",
)
.titled("PSS at\nthe end")];

impl Meter for ProportionalMemory {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "memory shared out"
    }

    fn needs(&self) -> &'static str {
        "/proc/PID/smaps_rollup"
    }

    fn probe(&self) -> Probe {
        match bytes(std::process::id().cast_signed()) {
            Ok(_) => Probe::Available,
            Err(sentence) => Probe::Unavailable {
                sentence,
                remedy: "Mount /proc, and run Linux 4.14 or later with CONFIG_PROC_PAGE_MONITOR.".to_owned(),
            },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        Box::new(AtEnd { pid: subject.worker, bytes: Err(UNFINISHED.to_owned()) })
    }
}

struct AtEnd {
    pid: i32,
    bytes: Result<u64, String>,
}

impl Attachment for AtEnd {
    fn at_end(&mut self) {
        self.bytes = bytes(self.pid);
    }

    fn read(&mut self, _: &Window) -> Outcome {
        Outcome::of(&MEASURES, [self.bytes.clone().map(|bytes| bytes as f64)])
    }
}

fn bytes(pid: i32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let why = |what: String| format!("What the worker's memory comes to could not be read: {path}{what}.");
    let rollup = fs::read_to_string(&path).map_err(|error| why(format!(": {error}")))?;
    rollup
        .lines()
        .find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .ok_or_else(|| why(" has no line Pss".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::io::{Read, Write};
    use std::process::{Child, Command, Stdio};

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
            let (share, resident) = (bytes(pid).unwrap(), crate::resident_bytes(pid).unwrap());
            assert!(0 < share && share < resident, "{share} of {resident}");
        }
        for cat in &mut cats {
            drop(cat.stdin.take());
            cat.wait().unwrap();
        }
    }

    #[test]
    fn a_process_that_is_gone_and_a_window_without_end_are_sentences() {
        let mut memory = ProportionalMemory.attach(&subject(NO_PROCESS));
        assert_eq!(memory.read(&window()).readings[0].value, Err(UNFINISHED.to_owned()));
        memory.at_end();
        let why = memory.read(&window()).readings[0].value.clone().unwrap_err();
        assert!(why.contains("/proc/4194305/smaps_rollup: "), "{why}");
    }
}
