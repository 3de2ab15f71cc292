//! Threads of the worker: those of the load generator and those of the driver.

use std::fs;
use std::io;

use cqldyno_measure::list::declared;

use crate::meter::{Edge, at_edges};
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Refusal, Subject};

const MEASURES: [Declaration; 1] = [declared::THREADS];

/// Threads of the process `pid` now.
///
/// # Errors
/// When there is no such process, or /proc is not mounted.
pub fn thread_count(pid: i32) -> io::Result<u64> {
    Ok(fs::read_dir(format!("/proc/{pid}/task"))?.count() as u64)
}

/// Threads of the worker at the window's end.
pub const THREADS: Meter = Meter::new("threads", &MEASURES, attach).needs("/proc").probed(probe);

fn probe() -> Probe {
    let counted = thread_count(std::process::id().cast_signed());
    counted
        .map(drop)
        .map_err(|error| Refusal::new("Threads cannot be counted in /proc/PID/task", error, "Mount /proc."))
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let pid = subject.worker;
    let look = move |edge| match edge {
        Edge::Go => Ok(0),
        Edge::End => thread_count(pid).map_err(|error| format!("The worker's threads could not be counted: {error}.")),
    };
    at_edges(look, |both, _| Outcome::of(&MEASURES, [both.map(|(_, threads)| *threads as f64)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_more_is_counted() {
        let pid = std::process::id().cast_signed();
        let (send, receive) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || receive.recv());
        assert!(thread_count(pid).unwrap() >= 2);
        drop(send);
        thread.join().unwrap().unwrap_err();
    }
}
