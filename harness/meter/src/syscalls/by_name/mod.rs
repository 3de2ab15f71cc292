//! System calls of the worker by name. The kernel runs a program of a few instructions at each system call, which counts the
//! calls of the worker's process by number. Plain bpf(2) loads it: no compiler, type information, library or tracefs is needed.
//!
//! The program runs at the system calls of every process on the machine. It adds about 0.1 us to each of them (measured on two
//! virtual cores, Linux 6.18, with `cargo run --release -p cqldyno-meter --example cost`). Attaching takes half a millisecond.
//!
//! This count and the total of the counting pass agree within 2 calls if both are taken in one cell. Calls of processes that the
//! worker starts are in the total only. In two cells the counts differ, because what a driver sends at once depends on timing.

mod bpf;
mod counter;
mod program;
mod refusal;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Instant;

use cqldyno_measure::list::SYSCALLS_BY_NAME;
use syscalls::Sysno;

use self::counter::{Count, Counter};
use self::program::NUMBERS;
use self::refusal::{READ, REFUSED, refused};
use crate::meter::{Both, at_edges, per_statement};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Refusal, Subject, Unit, Window};

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

/// System calls per statement, all together and by name.
pub const SYSTEM_CALLS_BY_NAME: Meter = Meter::new("calls by name", &MEASURES, attach)
    .needs("bpf(2) with CAP_BPF and CAP_PERFMON")
    .costs("0.1 us per system call of any process")
    .at_worker()
    .probed(|| TRIED.clone());

const RECEIVES: [Declaration; 1] = [Declaration::new(
    Pass::Syscalls,
    "receives_per_idle_second",
    Unit::PerSecond,
    Better::Lower,
    "calls by which the worker received something, or tried to, per second of the idle span after its turn",
)
.titled("receives\n/idle second")];

/// The calls that receive.
const RECEIVING: [libc::c_long; 5] =
    [libc::SYS_read, libc::SYS_readv, libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_recvmmsg];

/// Receive calls per second while the worker is idle: a driver that spins on a closed socket makes very many.
pub const RECEIVES_WHILE_IDLE: Meter = Meter::new("receive calls while idle", &RECEIVES, attach_idle)
    .needs("bpf(2) with CAP_BPF and CAP_PERFMON, and a scenario with an idle span (`idle`)")
    .costs("0.1 us per system call of any process")
    .at_worker()
    .over_idle()
    .probed(|| TRIED.clone());

static TRIED: LazyLock<Probe> = LazyLock::new(self_test);

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let counted = counter(subject);
    at_edges(move |_| counted(), figures)
}

/// What counts the worker's calls from now on.
fn counter(subject: &Subject) -> impl Fn() -> Result<Count, String> + Send + 'static {
    let worker = subject.worker.cast_unsigned();
    let counter = TRIED.clone().and_then(|()| Counter::attach(worker)).map_err(|refusal| refusal.to_string());
    move || {
        let counted = counter.as_ref().map_err(Clone::clone)?.read();
        counted.map_err(|error| format!("The counts of system calls could not be read: {error}."))
    }
}

fn attach_idle(subject: &Subject) -> Box<dyn Attachment> {
    let counted = counter(subject);
    let look = move |_| Ok((counted()?, Instant::now()));
    at_edges(look, |both: Both<(Count, Instant)>, _| {
        let each = both.map(|((go, began), (end, ended))| {
            let of =
                |(number, calls): (usize, u64)| if RECEIVING.contains(&(number as libc::c_long)) { calls } else { 0 };
            end.since(go).map(of).sum::<u64>() as f64 / ended.duration_since(*began).as_secs_f64()
        });
        Outcome::of(&RECEIVES, [each])
    })
}

/// Counts this process while it makes cheap calls: that the kernel accepts the program proves nothing.
fn self_test() -> Result<(), Refusal> {
    let counter = Counter::attach(std::process::id())?;
    let counted = || {
        let count = counter.read().map_err(|error| refused(READ, &error, ""))?;
        let number = usize::try_from(libc::SYS_getppid).unwrap_or(NUMBERS);
        Ok(count.calls.get(number).copied().unwrap_or(0))
    };
    let before = counted()?;
    for _ in 0..TRIAL_CALLS {
        nix::unistd::getppid();
    }
    match counted()?.saturating_sub(before) {
        counted if counted < TRIAL_CALLS => Err(Refusal::new(
            REFUSED,
            format!("the program is attached, but counted {counted} of {TRIAL_CALLS} calls in a trial"),
            "Run on a kernel that runs programs directly, and see that /proc is that of this pid namespace.",
        )),
        _ => Ok(()),
    }
}

fn figures(both: Both<Count>, window: &Window) -> Outcome {
    let (go, end) = match both {
        Ok(both) => both,
        Err(why) => return Outcome::of(&MEASURES, [Err(why)]),
    };
    let (each, names) = match calls(go, end, window) {
        Ok((each, names)) => (Ok(each), names),
        Err(why) => (Err(why), BTreeMap::new()),
    };
    Outcome {
        breakdowns: BTreeMap::from([(SYSCALLS_BY_NAME, names)]),
        findings: skipped(go, end).into_iter().collect(),
        ..Outcome::of(&MEASURES, [each])
    }
}

/// Calls per statement, all of them and by name.
fn calls(go: &Count, end: &Count, window: &Window) -> Result<(f64, BTreeMap<String, f64>), String> {
    let mut all = 0;
    let mut names = BTreeMap::new();
    for (number, calls) in end.since(go) {
        all += calls;
        names.insert(name(number), per_statement(calls as f64, window)?);
    }
    if all == 0 {
        return Err(
            "No system call of the worker was counted in the window, although it makes some at its edges: another \
                    process than the one that was started does its work."
                .to_owned(),
        );
    }
    Ok((per_statement(all as f64, window)?, names))
}

fn name(number: usize) -> String {
    match Sysno::new(number) {
        _ if number >= NUMBERS => format!("syscall_above_{}", NUMBERS - 1),
        Some(known) => known.name().to_owned(),
        None => format!("syscall_{number}"),
    }
}

/// A sentence if calls may be missing.
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
