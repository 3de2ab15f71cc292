//! Counters of the kernel: perf_event_open(2).

use std::io;

use perf_event::events::Event;
use perf_event::{Builder, Counter};

use crate::Refusal;
use crate::environment::line;

/// Whose work a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counts {
    /// The processor's work in user mode only.
    User,
    /// That of the kernel as well: a tracepoint that excludes the kernel opens and counts nothing.
    All,
}

fn builder(event: impl Event, counts: Counts) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder.exclude_kernel(counts == Counts::User).exclude_hv(counts == Counts::User);
    builder
}

/// A counter of the process `pid`, with all threads and children that it will have, from its next execve on.
pub(crate) fn from_exec(event: impl Event, counts: Counts, pid: i32) -> io::Result<Counter> {
    builder(event, counts).observe_pid(pid).inherit(true).enable_on_exec(true).build()
}

/// Counts `event` in this thread while `work` brings it about `made` times: that a counter opens proves nothing.
pub(crate) fn try_out(
    what: &'static str,
    event: impl Event,
    counts: Counts,
    made: u64,
    work: impl Fn(),
) -> Result<(), Refusal> {
    let counted = || -> io::Result<u64> {
        let mut counter = builder(event, counts).enabled(true).build()?;
        (0..made).for_each(|_| work());
        counter.read()
    };
    match counted() {
        Ok(counted) if counted >= made => Ok(()),
        Ok(counted) => Err(Refusal::new(
            what,
            format!("perf_event_open gave a counter that had counted {counted} of {made} events in a trial"),
            "Measure on a kernel that runs programs directly, and on a machine with counters of its own: kernels that imitate \
             Linux and some virtual machines open counters that count nothing.",
        )),
        Err(error) => Err(refused(what, &error)),
    }
}

/// The refusal that an error of perf_event_open is: `what` cannot be done.
pub(crate) fn refused(what: &'static str, error: &io::Error) -> Refusal {
    const CONTAINER: &str = "in a container, allow perf_event_open: `--cap-add PERFMON` and a seccomp profile that has it (for \
                             Docker, `--security-opt seccomp=unconfined`)";
    let paranoid = line("/proc/sys/kernel/perf_event_paranoid");
    let (why, remedy) = match error.raw_os_error() {
        Some(libc::EACCES) => (
            format!("perf_event_open was refused with EACCES, and kernel.perf_event_paranoid is {}", paranoid.unwrap_or_else(|| "unknown".to_owned())),
            "Run `sysctl kernel.perf_event_paranoid=1` as root, or `setcap cap_perfmon,cap_dac_read_search+ep` on the cqldyno \
             executable."
                .to_owned(),
        ),
        Some(libc::EPERM) => (
            "perf_event_open was refused with EPERM, as a container's filter or a security module does".to_owned(),
            format!("Ask the machine's security module; {CONTAINER}."),
        ),
        Some(libc::ENOSYS) => (
            "there is no perf_event_open here (ENOSYS): the kernel was built without it, or a container's filter hides it"
                .to_owned(),
            format!("Use a kernel with CONFIG_PERF_EVENTS; {CONTAINER}."),
        ),
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => (
            format!("the machine offers no such counter ({error}), like most virtual machines"),
            "Measure on the machine itself, or give the guest a virtual PMU (for KVM, `-cpu host,pmu=on`); callgrind needs no \
             counters."
                .to_owned(),
        ),
        _ => (
            format!("perf_event_open failed: {error}"),
            "See perf_event_open(2); the kernel needs CONFIG_PERF_EVENTS and CONFIG_FTRACE_SYSCALLS.".to_owned(),
        ),
    };
    Refusal::new(what, why, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_perf_event_open_are_told_apart_and_each_has_a_remedy() {
        let codes = [libc::EACCES, libc::EPERM, libc::ENOSYS, libc::ENOENT, libc::EMFILE];
        let refusals = codes.map(|code| refused("Nothing can be counted", &io::Error::from_raw_os_error(code)));
        for (nth, refusal) in refusals.iter().enumerate() {
            let sentence = refusal.sentence();
            assert!(sentence.starts_with("Nothing can be counted: ") && sentence.ends_with('.'), "{sentence}");
            assert!(refusal.remedy.ends_with('.'), "{}", refusal.remedy);
            assert!(refusals[..nth].iter().all(|other| other.why != refusal.why), "{sentence}");
        }
        assert!(refusals[0].remedy.contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(refusals[3].why.contains("virtual machines"));
    }
}
