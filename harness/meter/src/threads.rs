//! Threads of the worker: those of the harness and those that the driver makes.

use std::fs;
use std::io;

use cqldyno_measure::list::declared;

use crate::meter::UNFINISHED;
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Subject, Window};

/// Threads of the worker at the window's end.
pub struct Threads;

const MEASURES: [Declaration; 1] = [declared::THREADS];

/// Threads of the process `pid` now.
///
/// # Errors
/// When there is no such process, or /proc is not mounted.
pub fn thread_count(pid: i32) -> io::Result<u64> {
    Ok(fs::read_dir(format!("/proc/{pid}/task"))?.count() as u64)
}

impl Meter for Threads {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "threads"
    }

    fn needs(&self) -> &'static str {
        "/proc"
    }

    fn probe(&self) -> Probe {
        match thread_count(std::process::id().cast_signed()) {
            Ok(_) => Probe::Available,
            Err(error) => Probe::Unavailable {
                sentence: format!("Threads cannot be counted in /proc/PID/task: {error}."),
                remedy: "Mount /proc.".to_owned(),
            },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        Box::new(Count { pid: subject.worker, threads: Err(UNFINISHED.to_owned()) })
    }
}

struct Count {
    pid: i32,
    threads: Result<u64, String>,
}

impl Attachment for Count {
    fn at_end(&mut self) {
        self.threads =
            thread_count(self.pid).map_err(|error| format!("The worker's threads could not be counted: {error}."));
    }

    fn read(&mut self, _: &Window) -> Outcome {
        Outcome::of(&MEASURES, [self.threads.clone().map(|count| count as f64)])
    }
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
