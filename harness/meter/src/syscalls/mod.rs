//! System calls of the worker, counted by the kernel: one `perf_event_open` counter on the tracepoint
//! `raw_syscalls:sys_enter`. It is attached before the process starts the worker's program, so that every thread counts.
//!
//! Counting has a pass of its own because it costs the worker 0.1 to 0.3 us per call. Between the parent's readings lie,
//! besides the window, the worker's reading of `go`, its `progress` and `end` lines: a handful of calls.

mod by_name;
mod tracepoint;

use std::sync::LazyLock;

use cqldyno_measure::list::declared;
use perf_event::events::Tracepoint;

pub use by_name::{RECEIVES_WHILE_IDLE, SYSTEM_CALLS_BY_NAME};

use crate::meter::{at_edges, difference, per_statement};
use crate::perf_event::{Counts, from_exec, refused, try_out};
use crate::{Attachment, Declaration, Meter, Outcome, Refusal, Subject};

const MEASURES: [Declaration; 2] = [declared::SYSCALLS, declared::SYSCALLS_PER_STATEMENT];

const REFUSED: &str = "System calls cannot be counted";

const TRIAL_CALLS: u64 = 100;

/// The tracepoint's number on this machine if counting works.
static TRACEPOINT: LazyLock<Result<u64, Refusal>> = LazyLock::new(|| {
    let id = tracepoint::id()?;
    let call = || {
        nix::unistd::getppid();
    };
    try_out(REFUSED, Tracepoint::with_id(id), Counts::All, TRIAL_CALLS, call)?;
    Ok(id)
});

/// System calls in the window, and per statement.
pub const SYSTEM_CALLS: Meter = Meter::new("system calls", &MEASURES, attach)
    .needs("perf_event_open(2) on the tracepoint raw_syscalls:sys_enter")
    .costs("0.13 to 0.15 us per system call of the worker, and 0.04 us per call of any other process")
    .at_worker()
    .probed(|| TRACEPOINT.clone().map(drop));

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let mut counter = TRACEPOINT.clone().and_then(|id| {
        from_exec(Tracepoint::with_id(id), Counts::All, subject.worker).map_err(|error| refused(REFUSED, &error))
    });
    let look = move |_| {
        let counted = counter.as_mut().map_err(|refusal| refusal.to_string())?.read();
        counted.map_err(|error| format!("The counter of system calls could not be read: {error}."))
    };
    at_edges(look, |both, window| {
        let calls = difference(both);
        let each = calls.clone().and_then(|calls| per_statement(calls as f64, window));
        Outcome::of(&MEASURES, [calls.map(|calls| calls as f64), each])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, subject, window};
    use std::io::{self, Write};
    use std::process::{Command, Stdio};

    /// Whether this machine counts; prints why not.
    fn countable() -> bool {
        SYSTEM_CALLS.probe().inspect_err(|refusal| eprintln!("not tested here: {refusal}")).is_ok()
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
            let mut counter = SYSTEM_CALLS.attach(&subject);
            counter.at_go();
            let mut input = child.stdin.take().unwrap();
            input.write_all(b"go\n").unwrap();
            let mut output = io::BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while line.trim() != "end" {
                line.clear();
                io::BufRead::read_line(&mut output, &mut line).unwrap();
            }
            let seen = counter.at_end();
            drop(input);
            child.wait().unwrap();
            seen(&window()).readings[0].value.clone().unwrap()
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
        let mut counter = SYSTEM_CALLS.attach(&subject(child.id().cast_signed()));
        counter.at_go();
        child.stdin.take().unwrap().write_all(b"go\n").unwrap();
        child.wait().unwrap();
        assert_eq!(counter.at_end()(&window()).readings[0].value, Ok(0.0));
    }

    #[test]
    fn a_process_that_is_gone_cannot_be_counted_and_the_reading_says_so() {
        if !countable() {
            return;
        }
        let mut counter = SYSTEM_CALLS.attach(&subject(NO_PROCESS));
        counter.at_go();
        let outcome = counter.at_end()(&window());
        assert!(outcome.readings[1].value.as_ref().unwrap_err().contains("perf_event_open"), "{outcome:?}");
    }
}
