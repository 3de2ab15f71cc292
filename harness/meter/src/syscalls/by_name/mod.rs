//! System calls of the worker by name: a program of a few instructions, which the kernel runs at each system call and which
//! counts those of the worker's process, all its threads included, by number. It is loaded by plain bpf(2): no compiler, no type
//! information of the kernel, and no library is asked for, and tracefs need not be mounted.
//!
//! It is run at the system calls of every process on the machine, and counts those of one. On a virtual machine with 2 cores,
//! Linux 6.18, it adds 91 to 105 ns of CPU time to a call of the worker and as much to one of any other process, the server for example;
//! the counter of the total adds 126 to 146 ns to the worker's and 27 to 39 ns to others'
//! (`cargo run --release -p cqldyno-meter --example cost`). Attaching takes half a millisecond, reading 0.03 ms outside of the window.
//!
//! Both counts are of the same calls: in 16 cells of four drivers in which both were taken, they were 0 to 2 calls apart, of 5,327 to
//! 260,627. In two cells, each with one of them, they differ by what the driver does there: on a busy machine by up to a tenth on the
//! current-thread runtime, and by up to a factor of two on several threads, where how much is sent at once depends on who comes
//! first. Only what processes do that the worker starts is part of the total and not counted here.

mod counter;
mod names;
mod program;
mod refusal;

use std::collections::BTreeMap;
use std::io;
use std::sync::OnceLock;

pub use refusal::{BpfRefusal, BpfStep};

use self::counter::{Count, Counter};
use self::program::NUMBERS;
use crate::meter::{UNFINISHED, per_statement};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// System calls a statement, and how many of them have which name.
pub struct SystemCallsByName;

/// What the figures by name are called in results.
const BREAKDOWN: &str = "syscalls";

const MEASURES: [Declaration; 1] = [Declaration::new(
    Pass::Syscalls,
    "syscalls_by_name",
    Unit::Count,
    Better::Lower,
    "system calls of the worker per verified statement, all names together",
)
.titled("system\ncalls\n/statement")];

/// Calls of the self-test; all of them must be counted, under their name.
const TRIAL_CALLS: u64 = 100;

impl SystemCallsByName {
    /// Tries whether this machine counts system calls by name. Tried once a process.
    ///
    /// # Errors
    /// Which of the steps was refused, with what to change.
    pub fn check() -> Result<(), BpfRefusal> {
        static TRIED: OnceLock<Result<(), BpfRefusal>> = OnceLock::new();
        TRIED.get_or_init(self_test).clone()
    }
}

impl Meter for SystemCallsByName {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "calls by name"
    }

    fn needs(&self) -> &'static str {
        "bpf(2) with CAP_BPF and CAP_PERFMON"
    }

    fn costs(&self) -> Option<&'static str> {
        Some("0.1 us a system call of the worker, and as much one of any other process")
    }

    fn probe(&self) -> Probe {
        match SystemCallsByName::check() {
            Ok(()) => Probe::Available,
            Err(refusal) => Probe::Unavailable { sentence: refusal.to_string(), remedy: refusal.remedy() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let counter = SystemCallsByName::check().and_then(|()| Counter::attach(subject.worker.cast_unsigned()));
        Box::new(Attached {
            counter: counter.map_err(|refusal| format!("{refusal} {}", refusal.remedy())),
            go: None,
            end: None,
        })
    }
}

/// Counts this process and makes cheap calls: that the program was accepted proves nothing.
fn self_test() -> Result<(), BpfRefusal> {
    let counter = Counter::attach(std::process::id())?;
    let counted = || {
        let count = counter.read().map_err(|error| BpfRefusal::of(BpfStep::Read, &error, ""))?;
        let number = usize::try_from(libc::SYS_getppid).unwrap_or(NUMBERS);
        Ok(count.calls.get(number).copied().unwrap_or(0))
    };
    let before = counted()?;
    for _ in 0..TRIAL_CALLS {
        nix::unistd::getppid();
    }
    match counted()?.saturating_sub(before) {
        counted if counted < TRIAL_CALLS => Err(BpfRefusal::CountsNothing { made: TRIAL_CALLS, counted }),
        _ => Ok(()),
    }
}

struct Attached {
    counter: Result<Counter, String>,
    go: Option<io::Result<Count>>,
    end: Option<io::Result<Count>>,
}

impl Attached {
    fn edges(&self) -> Result<(&Count, &Count), String> {
        if let Err(why) = &self.counter {
            return Err(why.clone());
        }
        match (&self.go, &self.end) {
            (Some(Ok(go)), Some(Ok(end))) => Ok((go, end)),
            (Some(Err(error)), _) | (_, Some(Err(error))) => {
                Err(format!("The counts of system calls by name could not be read: {error}."))
            }
            _ => Err(UNFINISHED.to_owned()),
        }
    }
}

impl Attachment for Attached {
    fn at_go(&mut self) {
        self.go = self.counter.as_ref().ok().map(Counter::read);
    }

    fn at_end(&mut self) {
        self.end = self.counter.as_ref().ok().map(Counter::read);
    }

    fn read(&mut self, window: &Window) -> Outcome {
        let (go, end) = match self.edges() {
            Ok(edges) => edges,
            Err(why) => return Outcome::of(&MEASURES, [Err(why)]),
        };
        let (each, names) = match calls(go, end, window) {
            Ok((each, names)) => (Ok(each), names),
            Err(why) => (Err(why), BTreeMap::new()),
        };
        Outcome {
            breakdowns: BTreeMap::from([(BREAKDOWN, names)]),
            findings: skipped(go, end).into_iter().collect(),
            ..Outcome::of(&MEASURES, [each])
        }
    }
}

/// Calls a statement, all of them and by name.
fn calls(go: &Count, end: &Count, window: &Window) -> Result<(f64, BTreeMap<String, f64>), String> {
    let mut all = 0;
    let mut names = BTreeMap::new();
    for (number, calls) in end.since(go) {
        let name = match number {
            NUMBERS => format!("syscall_above_{}", NUMBERS - 1),
            number => names::name(number).into_owned(),
        };
        all += calls;
        names.insert(name, per_statement(calls as f64, window)?);
    }
    if all == 0 {
        return Err(
            "No system call of the worker was counted in the window, and it makes some at its edges: its work is done \
                    by another process than the one that was started."
                .to_owned(),
        );
    }
    Ok((per_statement(all as f64, window)?, names))
}

/// A sentence when calls may have been missed.
fn skipped(go: &Count, end: &Count) -> Option<String> {
    let skipped = end.skipped?.saturating_sub(go.skipped?);
    (skipped > 0).then(|| {
        format!(
            "At {skipped} system calls of this machine in the window the kernel skipped the program that counts them by name: \
             so many of the worker's may be missing."
        )
    })
}

#[cfg(test)]
mod tests;
