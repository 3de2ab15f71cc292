//! System calls of the worker, counted by the kernel: one `perf_event_open` counter on the tracepoint
//! `raw_syscalls:sys_enter`, attached to the process before it starts the worker's program, so that every thread counts.
//!
//! Counting costs the worker 0.1 to 0.3 us a call: it has a pass of its own. Between the parent's readings lie, besides the
//! window, the worker's reading of `go`, its `progress` and `end` lines: a handful of calls.

mod by_name;
mod refusal;
mod tracepoint;

use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

use cqldyno_measure::list::declared;

pub use by_name::{BpfRefusal, BpfStep, SystemCallsByName};
pub use refusal::Refusal;

use crate::kernel::{Counts, open_tracepoint};
use crate::meter::{Edges, per_statement};
use crate::{Attachment, Declaration, Meter, Outcome, Probe, Subject, Window};

/// System calls in the window, and a statement.
pub struct SystemCalls;

const MEASURES: [Declaration; 2] = [declared::SYSCALLS, declared::SYSCALLS_PER_STATEMENT];

/// Calls of the self-test; all of them must be counted.
const TRIAL_CALLS: u64 = 100;

/// The tracepoint's number on this machine when counting was tried and works. Tried once a process.
fn usable_tracepoint() -> Result<u64, Refusal> {
    static TRIED: OnceLock<Result<u64, Refusal>> = OnceLock::new();
    TRIED
        .get_or_init(|| {
            let id = tracepoint::id()?;
            self_test(id)?;
            Ok(id)
        })
        .clone()
}

impl SystemCalls {
    /// Tries whether this machine counts system calls.
    ///
    /// # Errors
    /// Which of the steps was refused, with what to change.
    pub fn check() -> Result<(), Refusal> {
        usable_tracepoint().map(|_| ())
    }
}

impl Meter for SystemCalls {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "system calls"
    }

    fn needs(&self) -> &'static str {
        "perf_event_open(2) on the tracepoint raw_syscalls:sys_enter"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("0.13 to 0.15 us a system call of the worker, and 0.04 us one of any other process")
    }

    fn probe(&self) -> Probe {
        match SystemCalls::check() {
            Ok(()) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let counter = usable_tracepoint().and_then(|id| {
            open_tracepoint(id, subject.worker, Counts::FromExec).map_err(|error| Refusal::of_open(&error))
        });
        Box::new(Counter {
            counter: counter.map_err(|refusal| format!("{refusal} {}", refusal.remedy())),
            edges: Edges::default(),
        })
    }
}

/// Opens a counter on a thread of our own and makes cheap calls: that it opened proves nothing.
fn self_test(id: u64) -> Result<(), Refusal> {
    let trial = std::thread::spawn(move || -> io::Result<u64> {
        let counter = open_tracepoint(id, 0, Counts::FromNow)?;
        for _ in 0..TRIAL_CALLS {
            nix::unistd::getppid();
        }
        count(&counter)
    });
    match trial.join() {
        Ok(Ok(counted)) if counted >= TRIAL_CALLS => Ok(()),
        Ok(Ok(counted)) => Err(Refusal::CountsNothing { made: TRIAL_CALLS, counted }),
        Ok(Err(error)) => Err(Refusal::of_open(&error)),
        Err(_) => Err(Refusal::CountsNothing { made: TRIAL_CALLS, counted: 0 }),
    }
}

fn count(mut counter: &File) -> io::Result<u64> {
    let mut bytes = [0; 8];
    counter.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

struct Counter {
    counter: Result<File, String>,
    edges: Edges,
}

impl Counter {
    fn counted(&self) -> Result<u64, String> {
        if let Err(why) = &self.counter {
            return Err(why.clone());
        }
        self.edges.difference("The counter of system calls")
    }
}

impl Attachment for Counter {
    fn at_go(&mut self) {
        self.edges.go = self.counter.as_ref().ok().map(count);
    }

    fn at_end(&mut self) {
        self.edges.end = self.counter.as_ref().ok().map(count);
    }

    fn read(&mut self, window: &Window) -> Outcome {
        let calls = self.counted();
        let each = calls.clone().and_then(|calls| per_statement(calls as f64, window));
        Outcome::of(&MEASURES, [calls.map(|calls| calls as f64), each])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::io::Write;
    use std::process::{Command, Stdio};

    /// Whether this machine counts; says so where it does not, as `doctor` would.
    fn countable() -> bool {
        match SystemCalls::check() {
            Ok(()) => true,
            Err(refusal) => {
                eprintln!("not tested here: {refusal} {}", refusal.remedy());
                false
            }
        }
    }

    #[test]
    fn probing_gives_either_a_working_counter_or_a_sentence_with_a_remedy() {
        if let Probe::Unavailable { sentence, remedy } = SystemCalls.probe() {
            assert!(!sentence.is_empty() && !remedy.is_empty());
        }
    }

    #[test]
    fn a_counter_attached_before_exec_counts_the_program_and_its_children_exactly() {
        if !countable() {
            return;
        }
        let counted = |writes: u32| {
            // The first `read` waits for us to attach; the program that exec starts makes one write a round, half of them
            // in a child.
            let script = format!(
                "i=0; while [ $i -lt {writes} ]; do echo x; i=$((i+1)); done; \
                 (i=0; while [ $i -lt {writes} ]; do echo x; i=$((i+1)); done; exit 0); echo end; read line"
            );
            let mut child = Command::new("sh")
                .args(["-c", "read line; exec sh -c \"$0\"", &script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let subject = subject(child.id().cast_signed());
            let mut counter = SystemCalls.attach(&subject);
            counter.at_go();
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"go\n").unwrap();
            let mut output = io::BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while line.trim() != "end" {
                line.clear();
                io::BufRead::read_line(&mut output, &mut line).unwrap();
            }
            counter.at_end();
            drop(input);
            child.wait().unwrap();
            counter.read(&window()).readings[0].value.clone().unwrap()
        };
        let more = counted(600) - counted(100);
        // `end` is seen while the program goes on to its last read: one call may fall on either side.
        assert!((999.0..=1001.0).contains(&more), "{more} calls more for 1000 writes more");
    }

    #[test]
    fn what_happens_before_exec_is_not_counted() {
        if !countable() {
            return;
        }
        let mut child = Command::new("sh").args(["-c", "read line"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut counter = SystemCalls.attach(&subject(child.id().cast_signed()));
        counter.at_go();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        child.wait().unwrap();
        counter.at_end();
        assert_eq!(counter.read(&window()).readings[0].value, Ok(0.0));
    }

    #[test]
    fn a_process_that_is_gone_cannot_be_counted_and_the_reading_says_so() {
        if !countable() {
            return;
        }
        let mut counter = SystemCalls.attach(&subject(NO_PROCESS));
        counter.at_go();
        counter.at_end();
        let outcome = counter.read(&window());
        assert!(outcome.readings[1].value.as_ref().unwrap_err().contains("perf_event_open"), "{outcome:?}");
    }
}
