//! Memory of the worker at the window's end, with its share of the pages that other processes have too: `Pss` of
//! /proc/PID/smaps_rollup (proc(5)). The kernel walks all pages of the worker for it, so this meter reads after the others.

use crate::memory::kib_line;
use crate::meter::{Edge, at_edges};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Refusal, Subject, Unit};

const MEASURES: [Declaration; 1] = [Declaration::new(
    Pass::Timing,
    "pss",
    Unit::Bytes,
    Better::Lower,
    "memory of the worker at the end of the window, with its share of pages that other processes have too",
)
.titled("PSS at\nthe end")];

/// The proportional set size of the worker at the window's end.
pub const PROPORTIONAL_MEMORY: Meter =
    Meter::new("memory shared out", &MEASURES, attach).needs("/proc/PID/smaps_rollup").probed(probe);

fn probe() -> Probe {
    const REMEDY: &str = "Mount /proc, and run Linux 4.14 or later with CONFIG_PROC_PAGE_MONITOR.";
    let read = bytes(std::process::id().cast_signed());
    read.map(drop).map_err(|why| Refusal::new(UNREADABLE, why, REMEDY))
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let pid = subject.worker;
    let look = move |edge| match edge {
        Edge::Go => Ok(0),
        Edge::End => bytes(pid).map_err(|why| format!("{UNREADABLE}: {why}.")),
    };
    at_edges(look, |both, _| Outcome::of(&MEASURES, [both.map(|(_, bytes)| *bytes as f64)]))
}

const UNREADABLE: &str = "Proportional memory cannot be read";

fn bytes(pid: i32) -> Result<u64, String> {
    kib_line(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
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
    fn a_process_that_is_gone_is_a_sentence() {
        let mut memory = PROPORTIONAL_MEMORY.attach(&subject(NO_PROCESS));
        memory.at_go();
        let why = memory.at_end()(&window()).readings[0].value.clone().unwrap_err();
        assert!(why.contains("/proc/4194305/smaps_rollup: "), "{why}");
    }
}
