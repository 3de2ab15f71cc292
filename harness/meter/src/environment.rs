//! The machine that a run was made on.

use std::fs;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

/// The machine as far as it shapes a figure. What cannot be read is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Kernel name and release, for example `Linux 6.18.44`.
    pub kernel: Option<String>,
    /// The CPU's model name.
    pub cpu: Option<String>,
    /// Cores that this process may use.
    pub cores: Vec<usize>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The frequency governor of the first core; `None` in most virtual machines.
    pub governor: Option<String>,
    /// Whether a hypervisor is below.
    pub virtual_machine: bool,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// Runnable threads on average over the last 1, 5 and 15 minutes.
    pub load_average: Option<String>,
}

impl Environment {
    /// Reads it now.
    pub fn read() -> Environment {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Environment {
            kernel: kernel(),
            cpu: field(&cpuinfo, "model name").map(str::to_owned),
            cores: cores(),
            memory_bytes: fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
                Some(field(&text, "MemTotal")?.strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
            }),
            governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
            virtual_machine: field(&cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor")),
            perf_event_paranoid: line("/proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse().ok()),
            load_average: line("/proc/loadavg").map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" ")),
        }
    }
}

fn kernel() -> Option<String> {
    Some(format!("{} {}", line("/proc/sys/kernel/ostype")?, line("/proc/sys/kernel/osrelease")?))
}

fn line(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

/// The first value of `NAME : VALUE`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Cores that this process may use, by number.
pub(crate) fn cores() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_kernel_memory_and_cores() {
        let environment = Environment::read();
        assert!(environment.kernel.unwrap().starts_with("Linux "));
        assert!(environment.memory_bytes.unwrap() > 1 << 20);
        assert_eq!(environment.cores.len(), std::thread::available_parallelism().unwrap().get());
    }
}
