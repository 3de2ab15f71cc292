//! Why a machine does not count system calls, and what to change.

use std::fs;
use std::io;

use nix::unistd::getgid;

/// The step at which counting system calls was refused. Its text is the sentence of `doctor` and of every cell without a
/// count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The tracepoint's number is not to be found: tracefs is not mounted, and may not be by this user.
    #[error(
        "System calls cannot be counted: the number of the tracepoint raw_syscalls:sys_enter is in tracefs, which is not \
         mounted at /sys/kernel/tracing or /sys/kernel/debug/tracing, and could not be mounted aside ({why})."
    )]
    IdAbsent {
        /// Why it could not be mounted for us alone.
        why: String,
    },
    /// The tracepoint's number may not be read.
    #[error("System calls cannot be counted: {path} may not be read by this user (EACCES).")]
    IdDenied {
        /// The file.
        path: String,
    },
    /// The file is there but holds no number.
    #[error("System calls cannot be counted: {path} should hold the tracepoint's number and holds {found:?}.")]
    IdUnreadable {
        /// The file.
        path: String,
        /// Its content, or the error on reading it.
        found: String,
    },
    /// EACCES: the kernel's setting.
    #[error(
        "System calls cannot be counted: perf_event_open was refused with EACCES, and kernel.perf_event_paranoid is \
         {paranoid}."
    )]
    OpenDenied {
        /// The setting as read, or `unknown`.
        paranoid: String,
    },
    /// EPERM: a security module or a container's filter.
    #[error(
        "System calls cannot be counted: perf_event_open was refused with EPERM, as a container's filter or a security \
         module does."
    )]
    OpenForbidden,
    /// ENOSYS: the kernel or a container's filter has no such call.
    #[error(
        "System calls cannot be counted: there is no perf_event_open here (ENOSYS); the kernel was built without it, or a \
         container's filter hides it."
    )]
    NoSuchCall,
    /// Any other error of perf_event_open.
    #[error("System calls cannot be counted: perf_event_open failed: {0}.")]
    OpenFailed(String),
    /// The counter opened and does not count.
    #[error(
        "System calls cannot be counted: perf_event_open gave a counter, but after {made} calls of our own it had counted \
         {counted}."
    )]
    CountsNothing {
        /// Calls that were made.
        made: u64,
        /// Calls that were counted.
        counted: u64,
    },
}

impl Refusal {
    /// The refusal that an error of perf_event_open is.
    pub(super) fn of_open(error: &io::Error) -> Refusal {
        match error.raw_os_error() {
            Some(libc::EACCES) => Refusal::OpenDenied {
                paranoid: fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
                    .map_or_else(|_| "unknown".to_owned(), |text| text.trim().to_owned()),
            },
            Some(libc::EPERM) => Refusal::OpenForbidden,
            Some(libc::ENOSYS) => Refusal::NoSuchCall,
            _ => Refusal::OpenFailed(error.to_string()),
        }
    }

    /// What to change: full sentences with the commands.
    pub fn remedy(&self) -> String {
        let group = getgid();
        let binary = "the cqldyno executable";
        match self {
            Refusal::IdAbsent { .. } => format!(
                "Run `mount -t tracefs -o gid={group},mode=750 tracefs /sys/kernel/tracing` and \
                 `sysctl kernel.perf_event_paranoid=1` as root, or run cqldyno as root."
            ),
            Refusal::IdDenied { .. } => format!(
                "Run `mount -o remount,gid={group},mode=750 /sys/kernel/tracing` and `sysctl kernel.perf_event_paranoid=1` \
                 as root, or `setcap cap_perfmon,cap_dac_read_search+ep` on {binary}."
            ),
            Refusal::IdUnreadable { path, .. } => {
                format!("Look at {path}: it should hold one number; mount tracefs there.")
            }
            Refusal::OpenDenied { .. } => format!(
                "Run `sysctl kernel.perf_event_paranoid=1` as root, or `setcap cap_perfmon,cap_dac_read_search+ep` on {binary}."
            ),
            Refusal::OpenForbidden => "In a container, allow perf_event_open: `--cap-add PERFMON` and a seccomp profile \
                 that has it (for Docker, `--security-opt seccomp=unconfined`); otherwise ask the machine's security module."
                .to_owned(),
            Refusal::NoSuchCall => "Use a kernel with CONFIG_PERF_EVENTS; in a container, a seccomp profile that allows \
                 perf_event_open (for Docker, `--security-opt seccomp=unconfined`)."
                .to_owned(),
            Refusal::OpenFailed(_) => {
                "See the errors of perf_event_open(2); the kernel needs CONFIG_PERF_EVENTS and CONFIG_FTRACE_SYSCALLS."
                    .to_owned()
            }
            Refusal::CountsNothing { .. } => "Run on a kernel that has CONFIG_HAVE_SYSCALL_TRACEPOINTS and runs programs \
                 directly; one that imitates Linux opens counters that count nothing."
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every() -> Vec<Refusal> {
        vec![
            Refusal::IdAbsent { why: "Operation not permitted".to_owned() },
            Refusal::IdDenied { path: "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id".to_owned() },
            Refusal::IdUnreadable { path: "/x".to_owned(), found: "y".to_owned() },
            Refusal::of_open(&io::Error::from_raw_os_error(libc::EACCES)),
            Refusal::of_open(&io::Error::from_raw_os_error(libc::EPERM)),
            Refusal::of_open(&io::Error::from_raw_os_error(libc::ENOSYS)),
            Refusal::of_open(&io::Error::from_raw_os_error(libc::EMFILE)),
            Refusal::CountsNothing { made: 100, counted: 0 },
        ]
    }

    #[test]
    fn every_reason_has_a_sentence_and_a_remedy_of_its_own() {
        let mut sentences: Vec<String> = every().iter().map(Refusal::to_string).collect();
        for (refusal, sentence) in every().iter().zip(&sentences) {
            assert!(sentence.starts_with("System calls cannot be counted: "), "{sentence}");
            assert!(refusal.remedy().ends_with('.'), "{}", refusal.remedy());
        }
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), every().len());
    }

    #[test]
    fn errors_of_perf_event_open_are_told_apart() {
        assert!(matches!(every()[3], Refusal::OpenDenied { .. }));
        assert_eq!(every()[4], Refusal::OpenForbidden);
        assert_eq!(every()[5], Refusal::NoSuchCall);
        assert!(every()[3].remedy().contains("sysctl kernel.perf_event_paranoid=1"));
        assert!(every()[1].remedy().contains("mount -o remount,gid="));
    }
}
