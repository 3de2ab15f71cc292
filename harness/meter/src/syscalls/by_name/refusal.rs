//! Why a machine does not count system calls by name, and what to change.

use std::fmt;
use std::fs;
use std::io;

/// What bpf(2) was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BpfStep {
    /// To make the array that is counted into.
    Array,
    /// To load the program.
    Load,
    /// To run the program at the tracepoint.
    Attach,
    /// To read what was counted.
    Read,
}

impl fmt::Display for BpfStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BpfStep::Array => "to make an array to count into",
            BpfStep::Load => "to load the program that counts",
            BpfStep::Attach => "to attach the program to the tracepoint sys_enter",
            BpfStep::Read => "to read what was counted",
        })
    }
}

/// The step at which counting system calls by name was refused. Its text is the sentence of `doctor` and of every cell without
/// a count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BpfRefusal {
    /// EPERM or EACCES, and the process has not the capabilities that it takes.
    #[error(
        "System calls cannot be counted by name: bpf(2) refused {step}, because this process has neither CAP_SYS_ADMIN nor \
         both CAP_BPF and CAP_PERFMON (kernel.unprivileged_bpf_disabled is {unprivileged_disabled})."
    )]
    NotCapable {
        /// What was refused.
        step: BpfStep,
        /// The setting as read, or `unknown`.
        unprivileged_disabled: String,
    },
    /// EPERM, though the process has the capabilities.
    #[error(
        "System calls cannot be counted by name: bpf(2) refused {step} with EPERM although this process has the capabilities \
         for it, as a container's filter, a user namespace or a security module does (kernel lockdown: {lockdown})."
    )]
    Forbidden {
        /// What was refused.
        step: BpfStep,
        /// The lockdown mode, or `none`.
        lockdown: String,
    },
    /// ENOSYS: the kernel or a container's filter has no such call.
    #[error(
        "System calls cannot be counted by name: there is no bpf(2) here (ENOSYS); the kernel was built without it, or a \
         container's filter hides it."
    )]
    NoSuchCall,
    /// The kernel's verifier does not accept the program.
    #[error(
        "System calls cannot be counted by name: the kernel does not accept the program that counts ({error}): {log}"
    )]
    NotAccepted {
        /// The error of bpf(2).
        error: String,
        /// The last line that the verifier wrote, with a full stop.
        log: String,
    },
    /// There is no such tracepoint.
    #[error("System calls cannot be counted by name: this kernel has no raw tracepoint sys_enter (ENOENT).")]
    NoTracepoint,
    /// Any other error of bpf(2).
    #[error("System calls cannot be counted by name: bpf(2) failed {step}: {error}.")]
    Failed {
        /// What was asked for.
        step: BpfStep,
        /// The error.
        error: String,
    },
    /// Which pid namespace this is, /proc does not tell.
    #[error(
        "System calls cannot be counted by name: in which pid namespace the process ids hold is not known, because \
         /proc/self/ns/pid cannot be read: {0}."
    )]
    NoNamespace(String),
    /// The program was attached and does not count.
    #[error(
        "System calls cannot be counted by name: the program is attached, but after {made} calls of our own it had counted \
         {counted}."
    )]
    CountsNothing {
        /// Calls that were made.
        made: u64,
        /// Calls that were counted.
        counted: u64,
    },
}

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

impl BpfRefusal {
    /// The refusal that an error of bpf(2) is; `log` is what the verifier wrote.
    pub(super) fn of(step: BpfStep, error: &io::Error, log: &str) -> BpfRefusal {
        let setting = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        match error.raw_os_error() {
            Some(libc::ENOSYS) => BpfRefusal::NoSuchCall,
            Some(libc::ENOENT) if step == BpfStep::Attach => BpfRefusal::NoTracepoint,
            Some(libc::EPERM | libc::EACCES) if !capable(&status) => BpfRefusal::NotCapable {
                step,
                unprivileged_disabled: setting("/proc/sys/kernel/unprivileged_bpf_disabled")
                    .unwrap_or_else(|_| "unknown".to_owned()),
            },
            Some(libc::EPERM) => BpfRefusal::Forbidden {
                step,
                lockdown: setting("/sys/kernel/security/lockdown").unwrap_or_else(|_| "none".to_owned()),
            },
            Some(libc::EACCES | libc::EINVAL) if step == BpfStep::Load => {
                BpfRefusal::NotAccepted { error: error.to_string(), log: last_words(log) }
            }
            _ => BpfRefusal::Failed { step, error: error.to_string() },
        }
    }

    /// What to change: full sentences with the commands.
    pub fn remedy(&self) -> String {
        match self {
            BpfRefusal::NotCapable { .. } => "Run cqldyno as root, or `setcap \
                 cap_perfmon,cap_bpf,cap_dac_read_search+ep` on the cqldyno executable (the last one is for the total, which \
                 needs tracefs as well); in a container, `--cap-add BPF --cap-add PERFMON`."
                .to_owned(),
            BpfRefusal::Forbidden { .. } => "Run it outside of the container, or without a user namespace and with a seccomp \
                 profile that allows bpf (for Docker, `--security-opt seccomp=unconfined`); before Linux 5.11, \
                 `ulimit -l unlimited`; otherwise ask the machine's security module."
                .to_owned(),
            BpfRefusal::NoSuchCall => "Use a kernel with CONFIG_BPF_SYSCALL; in a container, a seccomp profile that allows \
                 bpf (for Docker, `--security-opt seccomp=unconfined`)."
                .to_owned(),
            BpfRefusal::NotAccepted { .. } => {
                "Use Linux 5.2 or later, and 5.7 or later inside a pid namespace such as a container's.".to_owned()
            }
            BpfRefusal::NoTracepoint => {
                "Use a kernel with CONFIG_FTRACE_SYSCALLS and CONFIG_BPF_EVENTS.".to_owned()
            }
            BpfRefusal::Failed { .. } => "See the errors of bpf(2).".to_owned(),
            BpfRefusal::NoNamespace(_) => "Mount /proc.".to_owned(),
            BpfRefusal::CountsNothing { .. } => "Run on a kernel that runs programs directly, and see that /proc is that of \
                 this pid namespace."
                .to_owned(),
        }
    }
}

/// Whether /proc/PID/status tells of the capabilities that it takes.
fn capable(status: &str) -> bool {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0);
    let all = |set: u64| effective & set == set;
    all(CAP_SYS_ADMIN) || all(CAP_BPF | CAP_PERFMON)
}

/// The verifier's last line that is not about its work, as the end of a sentence.
fn last_words(log: &str) -> String {
    let line = log.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("processed "));
    let line = line.unwrap_or("it does not say why").trim().trim_end_matches('.');
    format!("{}.", line.chars().take(200).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every() -> Vec<BpfRefusal> {
        let of = |step, code, log| BpfRefusal::of(step, &io::Error::from_raw_os_error(code), log);
        vec![
            BpfRefusal::NotCapable { step: BpfStep::Load, unprivileged_disabled: "2".to_owned() },
            BpfRefusal::Forbidden { step: BpfStep::Array, lockdown: "none [integrity] confidentiality".to_owned() },
            of(BpfStep::Array, libc::ENOSYS, ""),
            of(
                BpfStep::Load,
                libc::EINVAL,
                "0: (85)\nunknown func bpf_get_ns_current_pid_tgid#120\nprocessed 7 insns\n",
            ),
            of(BpfStep::Attach, libc::ENOENT, ""),
            of(BpfStep::Array, libc::ENOMEM, ""),
            BpfRefusal::NoNamespace("No such file or directory".to_owned()),
            BpfRefusal::CountsNothing { made: 100, counted: 0 },
        ]
    }

    #[test]
    fn every_reason_has_a_sentence_and_a_remedy_of_its_own() {
        let mut sentences: Vec<String> = every().iter().map(BpfRefusal::to_string).collect();
        for (refusal, sentence) in every().iter().zip(&sentences) {
            assert!(sentence.starts_with("System calls cannot be counted by name: "), "{sentence}");
            assert!(sentence.ends_with('.') && !sentence.ends_with(".."), "{sentence}");
            assert!(refusal.remedy().ends_with('.'), "{}", refusal.remedy());
        }
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), every().len());
    }

    #[test]
    fn errors_of_bpf_are_told_apart() {
        assert_eq!(every()[2], BpfRefusal::NoSuchCall);
        assert!(every()[3].to_string().contains("bpf_get_ns_current_pid_tgid#120."), "{}", every()[3]);
        assert!(every()[3].remedy().contains("5.7"));
        assert_eq!(every()[4], BpfRefusal::NoTracepoint);
        assert!(every()[5].to_string().contains("bpf(2) failed to make an array to count into: "), "{}", every()[5]);
        assert!(every()[0].remedy().contains("setcap cap_perfmon,cap_bpf,cap_dac_read_search+ep"));
        assert!(every()[1].to_string().contains("lockdown: none [integrity]"));
    }

    #[test]
    fn capabilities_are_read_from_the_status_of_the_process() {
        let status = |set: u64| format!("Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t{set:016x}\nCapBnd:\t0\n");
        assert!(capable(&status(CAP_SYS_ADMIN)));
        assert!(capable(&status(CAP_BPF | CAP_PERFMON)));
        assert!(!capable(&status(CAP_BPF)));
        assert!(!capable(&status(0)));
        assert!(!capable(""));
    }

    #[test]
    fn a_refusal_without_capabilities_is_told_from_one_with_them() {
        let refused = BpfRefusal::of(BpfStep::Load, &io::Error::from_raw_os_error(libc::EPERM), "");
        let capable = capable(&fs::read_to_string("/proc/self/status").unwrap());
        assert_eq!(matches!(refused, BpfRefusal::Forbidden { .. }), capable, "{refused}");
        assert_eq!(matches!(refused, BpfRefusal::NotCapable { .. }), !capable, "{refused}");
    }
}
