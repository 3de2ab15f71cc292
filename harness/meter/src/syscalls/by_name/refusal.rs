//! Why a machine does not count system calls by name, and what to change.

use std::fs;
use std::io;

use crate::Refusal;
use crate::environment::line;

/// What cannot be done.
pub(super) const REFUSED: &str = "System calls cannot be counted by name";

// What bpf(2) is asked for.
pub(super) const ARRAY: &str = "to make an array to count into";
pub(super) const LOAD: &str = "to load the program that counts";
pub(super) const ATTACH: &str = "to attach the program to the tracepoint sys_enter";
pub(super) const READ: &str = "to read what was counted";

const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// The refusal that an error of bpf(2) is; `log` is what the verifier wrote.
pub(super) fn refused(asked: &str, error: &io::Error, log: &str) -> Refusal {
    let setting = |path: &str, absent: &str| line(path).unwrap_or_else(|| absent.to_owned());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let (why, remedy) = match error.raw_os_error() {
        Some(libc::ENOSYS) => (
            "there is no bpf(2) here (ENOSYS): the kernel was built without it, or a container's filter hides it"
                .to_owned(),
            "Use a kernel with CONFIG_BPF_SYSCALL; in a container, a seccomp profile that allows bpf (for Docker, \
             `--security-opt seccomp=unconfined`).",
        ),
        Some(libc::ENOENT) if asked == ATTACH => (
            "this kernel has no raw tracepoint sys_enter (ENOENT)".to_owned(),
            "Use a kernel with CONFIG_FTRACE_SYSCALLS and CONFIG_BPF_EVENTS.",
        ),
        Some(libc::EPERM | libc::EACCES) if !capable(&status) => (
            format!(
                "bpf(2) refused {asked}, because this process has neither CAP_SYS_ADMIN nor both CAP_BPF and CAP_PERFMON \
                 (kernel.unprivileged_bpf_disabled is {})",
                setting("/proc/sys/kernel/unprivileged_bpf_disabled", "unknown")
            ),
            "Run cqldyno as root, or `setcap cap_perfmon,cap_bpf,cap_dac_read_search+ep` on the cqldyno executable (the last one \
             is for the total, which needs tracefs as well); in a container, `--cap-add BPF --cap-add PERFMON`.",
        ),
        Some(libc::EPERM) => (
            format!(
                "bpf(2) refused {asked} with EPERM although this process has the capabilities for it, as a container's filter, a \
                 user namespace or a security module does (kernel lockdown: {})",
                setting("/sys/kernel/security/lockdown", "none")
            ),
            "Run it outside of the container, or without a user namespace and with a seccomp profile that allows bpf (for Docker, \
             `--security-opt seccomp=unconfined`); before Linux 5.11, `ulimit -l unlimited`.",
        ),
        Some(libc::EACCES | libc::EINVAL) if asked == LOAD => (
            format!("the kernel does not accept the program that counts ({error}): {}", last_words(log)),
            "Use Linux 5.2 or later, and 5.7 or later inside a pid namespace such as a container's.",
        ),
        _ => (format!("bpf(2) failed {asked}: {error}"), "See the errors of bpf(2)."),
    };
    Refusal::new(REFUSED, why, remedy)
}

/// Whether /proc/PID/status lists the capabilities that counting needs.
fn capable(status: &str) -> bool {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0);
    let all = |set: u64| effective & set == set;
    all(CAP_SYS_ADMIN) || all(CAP_BPF | CAP_PERFMON)
}

/// The verifier's last line that is not about its own work.
fn last_words(log: &str) -> String {
    let line = log.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("processed "));
    line.unwrap_or("it does not say why").trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_bpf_are_told_apart_and_each_has_a_remedy() {
        let log = "0: (85)\nunknown func bpf_get_ns_current_pid_tgid#120\nprocessed 7 insns\n";
        let refusals = [
            (ARRAY, libc::ENOSYS),
            (LOAD, libc::EINVAL),
            (ATTACH, libc::ENOENT),
            (ARRAY, libc::ENOMEM),
            (LOAD, libc::EPERM),
        ]
        .map(|(step, code)| refused(step, &io::Error::from_raw_os_error(code), log));
        for (nth, refusal) in refusals.iter().enumerate() {
            let sentence = refusal.sentence();
            assert!(sentence.starts_with("System calls cannot be counted by name: "), "{sentence}");
            assert!(sentence.ends_with('.') && !sentence.ends_with(".."), "{sentence}");
            assert!(refusal.remedy.ends_with('.'), "{}", refusal.remedy);
            assert!(refusals[..nth].iter().all(|other| other.why != refusal.why), "{sentence}");
        }
        assert!(refusals[0].why.contains("ENOSYS"));
        assert!(refusals[1].sentence().contains("bpf_get_ns_current_pid_tgid#120."), "{}", refusals[1]);
        assert!(refusals[1].remedy.contains("5.7"));
        assert!(refusals[2].why.contains("no raw tracepoint"));
        assert!(refusals[3].why.contains("bpf(2) failed to make an array to count into: "), "{}", refusals[3]);
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
        let refusal = refused(LOAD, &io::Error::from_raw_os_error(libc::EPERM), "");
        let capable = capable(&fs::read_to_string("/proc/self/status").unwrap());
        assert_eq!(refusal.why.contains("although this process has the capabilities"), capable, "{refusal}");
        assert_eq!(refusal.remedy.contains("setcap cap_perfmon,cap_bpf,cap_dac_read_search+ep"), !capable, "{refusal}");
    }
}
