//! Why instructions are not counted, and what to change.

use std::io;

use crate::tool::ToolError;

/// Why the processor's counters are not read. Its text is the sentence of `doctor` and of every cell without a count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CounterRefusal {
    /// The processor, or what imitates it, has no such counters.
    #[error(
        "Instructions cannot be counted by the processor: it offers no counters to this system ({0}), as in most virtual \
         machines."
    )]
    NoCounters(String),
    /// EACCES: the kernel's setting.
    #[error(
        "Instructions cannot be counted by the processor: perf_event_open was refused with EACCES, and \
         kernel.perf_event_paranoid is above 2."
    )]
    Denied,
    /// EPERM or ENOSYS: a container's filter.
    #[error(
        "Instructions cannot be counted by the processor: perf_event_open was refused ({0}), as a container's filter or a \
         security module does."
    )]
    Forbidden(String),
    /// Any other error.
    #[error("Instructions cannot be counted by the processor: perf_event_open failed: {0}.")]
    Failed(String),
    /// The counter opened and does not count.
    #[error(
        "Instructions cannot be counted by the processor: perf_event_open gave a counter, but after {made} turns of a loop it \
         had counted {counted}."
    )]
    CountsNothing {
        /// Turns of the loop, of one instruction at least.
        made: u64,
        /// What was counted.
        counted: u64,
    },
}

impl CounterRefusal {
    /// The refusal that an error of perf_event_open is.
    pub(super) fn of_open(error: &io::Error) -> CounterRefusal {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => CounterRefusal::NoCounters(error.to_string()),
            Some(libc::EACCES) => CounterRefusal::Denied,
            Some(libc::EPERM | libc::ENOSYS) => CounterRefusal::Forbidden(error.to_string()),
            _ => CounterRefusal::Failed(error.to_string()),
        }
    }

    /// What to change: full sentences.
    pub fn remedy(&self) -> &'static str {
        match self {
            CounterRefusal::NoCounters(_) | CounterRefusal::CountsNothing { .. } => {
                "Measure on the machine itself, or give the guest a virtual PMU (for KVM, `-cpu host,pmu=on`); callgrind counts \
                 without."
            }
            CounterRefusal::Denied => "Run `sysctl kernel.perf_event_paranoid=2` as root, or run cqldyno as root.",
            CounterRefusal::Forbidden(_) | CounterRefusal::Failed(_) => {
                "In a container, allow perf_event_open: `--cap-add PERFMON` and a seccomp profile that has it (for Docker, \
                 `--security-opt seccomp=unconfined`); callgrind counts without."
            }
        }
    }
}

/// Why callgrind does not count. Its text is the sentence of `doctor` and of every cell without a count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallgrindRefusal {
    /// It is not installed, or not whole.
    #[error("Instructions cannot be counted with callgrind: {0}.")]
    NotInstalled(ToolError),
    /// It cannot run a small program.
    #[error("Instructions cannot be counted with callgrind: in a trial with `sh`, {0}.")]
    TrialFailed(ToolError),
    /// The worker did not run under it.
    #[error("Instructions cannot be counted with callgrind: the worker's process {0} does not run under valgrind.")]
    NotUnder(i32),
    /// It could not be told when the window begins or ends.
    #[error("Instructions cannot be counted with callgrind: at the edge of the window, {0}.")]
    OutOfReach(ToolError),
    /// It left no count.
    #[error("Instructions cannot be counted with callgrind: it left no count of the window in {0}.")]
    NoCount(String),
}

impl CallgrindRefusal {
    /// What to change: full sentences.
    pub fn remedy(&self) -> &'static str {
        match self {
            CallgrindRefusal::NotInstalled(_) => {
                "Install valgrind with its program vgdb (`apt-get install valgrind`, `dnf install valgrind`)."
            }
            CallgrindRefusal::TrialFailed(_) => {
                "Install the C library's debugging symbols (`apt-get install libc6-dbg`), without which valgrind does not start on \
                 some systems, and a valgrind for this processor."
            }
            CallgrindRefusal::NotUnder(_) => "The worker has to be the process itself and no script that starts it.",
            CallgrindRefusal::OutOfReach(_) | CallgrindRefusal::NoCount(_) => {
                "Allow ptrace(2), which a container's filter may forbid (for Docker, `--cap-add SYS_PTRACE`), and have room in \
                 the folder for temporary files."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_sentence_of_its_own_and_a_remedy() {
        let open = |code| CounterRefusal::of_open(&io::Error::from_raw_os_error(code));
        let counters = [libc::ENOENT, libc::EACCES, libc::EPERM, libc::EMFILE].map(open);
        let counters = counters.into_iter().chain([CounterRefusal::CountsNothing { made: 1_000_000, counted: 0 }]);
        let tool = || ToolError::NotStarted { program: "vgdb".to_owned(), error: "No such file".to_owned() };
        let callgrind = [
            CallgrindRefusal::NotInstalled(tool()),
            CallgrindRefusal::TrialFailed(tool()),
            CallgrindRefusal::NotUnder(7),
            CallgrindRefusal::OutOfReach(tool()),
            CallgrindRefusal::NoCount("callgrind.1".to_owned()),
        ];
        let mut sentences: Vec<(String, &str)> =
            counters.map(|refusal| (refusal.to_string(), refusal.remedy())).collect();
        sentences.extend(callgrind.iter().map(|refusal| (refusal.to_string(), refusal.remedy())));
        let of = sentences.len();
        for (sentence, remedy) in &sentences {
            assert!(sentence.starts_with("Instructions cannot be counted ") && sentence.ends_with('.'), "{sentence}");
            assert!(remedy.ends_with('.'), "{remedy}");
        }
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), of);
    }
}
