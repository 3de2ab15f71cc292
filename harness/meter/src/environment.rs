//! The machine that a run was made on.

use std::fs;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::unistd::Pid;

use crate::noise::steal;
use crate::process::kib_line;

/// What is known of a machine in a few words, or why it is not known: the end of a sentence without its full stop.
pub type Known = Result<String, String>;

/// The machine as far as it shapes a figure. What cannot be read is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Kernel name and release, for example `Linux 6.18.44`.
    pub kernel: Option<String>,
    /// The CPU's name with family and model, for example `AMD EPYC, family 26 model 2`: hypervisors shorten the name.
    pub cpu: Option<String>,
    /// Cores that this process may use.
    pub cores: Vec<usize>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The hardware threads of each core in use, for example `0,2 / 1,3`.
    pub siblings: Known,
    /// The caches of the first core, for example `L1d 32K, L1i 32K, L2 1024K, L3 32768K of cores 0-1`.
    pub caches: Known,
    /// The frequency governor of the first core; most virtual machines have none.
    pub governor: Known,
    /// What the hypervisor has taken since the machine started.
    pub steal: Known,
    /// The hypervisor's name.
    pub hypervisor: Known,
    /// Whether a hypervisor is below.
    pub virtual_machine: bool,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i32>,
    /// Runnable threads on average over the last 1, 5 and 15 minutes.
    pub load_average: Option<String>,
}

impl Environment {
    /// What shapes a figure besides model and number of the cores, each by its name.
    pub fn facts(&self) -> [(&'static str, &Known); 5] {
        [
            ("siblings", &self.siblings),
            ("caches", &self.caches),
            ("governor", &self.governor),
            ("steal", &self.steal),
            ("hypervisor", &self.hypervisor),
        ]
    }

    /// Reads it now.
    pub fn read() -> Environment {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let virtual_machine = field(&cpuinfo, "flags").is_some_and(|flags| flags.split(' ').any(|f| f == "hypervisor"));
        let is_virtual = virtual_machine.then_some(()).ok_or_else(|| "the processor reports no hypervisor".to_owned());
        let cores = cores();
        let first = cores.first().copied().unwrap_or_default();
        let names = line("/proc/sys/kernel/ostype").zip(line("/proc/sys/kernel/osrelease"));
        Environment {
            kernel: names.map(|(name, release)| format!("{name} {release}")),
            cpu: processor(&cpuinfo),
            siblings: siblings(&cores),
            caches: caches(first),
            governor: read(&of_core(first, "cpufreq/scaling_governor")),
            steal: is_virtual.clone().and_then(|()| steal(&cores)),
            hypervisor: is_virtual.and_then(|()| hypervisor()),
            cores,
            memory_bytes: kib_line("/proc/meminfo", "MemTotal:").ok(),
            virtual_machine,
            perf_event_paranoid: line("/proc/sys/kernel/perf_event_paranoid").and_then(|text| text.parse().ok()),
            load_average: line("/proc/loadavg").map(|text| text.split(' ').take(3).collect::<Vec<_>>().join(" ")),
        }
    }
}

/// What is known, or `n/a` and why it is not.
pub fn in_words(known: &Known) -> String {
    known.clone().unwrap_or_else(|why| format!("n/a: {why}"))
}

pub(crate) fn line(path: &str) -> Option<String> {
    read(path).ok()
}

fn read(path: &str) -> Known {
    fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(|error| format!("{path}: {error}"))
}

fn of_core(core: usize, file: &str) -> String {
    format!("/sys/devices/system/cpu/cpu{core}/{file}")
}

/// Every list of siblings once, as the kernel writes it.
fn siblings(cores: &[usize]) -> Known {
    let mut lists = Vec::new();
    for core in cores {
        let list = read(&of_core(*core, "topology/thread_siblings_list"))?;
        if !lists.contains(&list) {
            lists.push(list);
        }
    }
    Ok(lists.join(" / "))
}

fn caches(core: usize) -> Known {
    let of = |index: usize, file: &str| read(&of_core(core, &format!("cache/index{index}/{file}")));
    let cache = |index: usize| -> Known {
        let kind = of(index, "type")?;
        let kind = if kind == "Unified" { String::new() } else { kind[..1].to_lowercase() };
        let shared = of(index, "shared_cpu_list")?;
        let shared = if shared == core.to_string() { String::new() } else { format!(" of cores {shared}") };
        Ok(format!("L{}{kind} {}{shared}", of(index, "level")?, of(index, "size")?))
    };
    let first = cache(0)?;
    Ok(std::iter::once(first).chain((1..).map_while(|index| cache(index).ok())).collect::<Vec<_>>().join(", "))
}

/// By the processor's own account (leaf 0x40000000 of CPUID), else by the kernel's.
fn hypervisor() -> Known {
    #[cfg(target_arch = "x86_64")]
    {
        let told = std::arch::x86_64::__cpuid(0x4000_0000);
        let name: Vec<u8> = [told.ebx, told.ecx, told.edx].into_iter().flat_map(u32::to_le_bytes).collect();
        let name = String::from_utf8_lossy(&name).trim_matches(|c: char| c == '\0' || c == ' ').to_owned();
        if !name.is_empty() {
            return Ok(known_as(&name).to_owned());
        }
    }
    read("/sys/hypervisor/type")
}

fn known_as(signature: &str) -> &str {
    match signature {
        "KVMKVMKVM" => "KVM",
        "Microsoft Hv" => "Hyper-V",
        "VMwareVMware" => "VMware",
        "XenVMMXenVMM" => "Xen",
        "TCGTCGTCGTCG" => "QEMU without KVM",
        other => other,
    }
}

/// From the lines of `/proc/cpuinfo`.
fn processor(cpuinfo: &str) -> Option<String> {
    let name = field(cpuinfo, "model name")?;
    let generation = field(cpuinfo, "cpu family").zip(field(cpuinfo, "model"));
    Some(generation.map_or(name.to_owned(), |(family, model)| format!("{name}, family {family} model {model}")))
}

/// The first value of `NAME : VALUE`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Cores that this process may use, by number.
pub fn cores() -> Vec<usize> {
    cores_of(0)
}

pub(crate) fn cores_of(pid: i32) -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(pid)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).collect()
}

/// Memory in bytes that this process and its children can still take: what the machine has, or less if `ulimit -v` says so.
pub fn available_memory() -> Option<u64> {
    let limit = getrlimit(Resource::RLIMIT_AS).ok().map(|(soft, _)| soft).filter(|soft| *soft != RLIM_INFINITY);
    kib_line("/proc/meminfo", "MemAvailable:").ok().into_iter().chain(limit).min()
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

    #[test]
    fn processors_of_one_name_are_told_by_family_and_model() {
        let name = "model name\t: AMD EPYC\n";
        assert_eq!(processor(name).as_deref(), Some("AMD EPYC"));
        let all = processor(&format!("cpu family\t: 26\nmodel\t\t: 2\n{name}"));
        assert_eq!(all.as_deref(), Some("AMD EPYC, family 26 model 2"));
        assert_eq!(processor("Processor: ARM"), None);
    }

    #[test]
    fn what_is_not_known_of_a_machine_has_a_reason() {
        let missing = siblings(&[1 << 20]).unwrap_err();
        assert!(missing.starts_with("/sys/devices/system/cpu/cpu1048576/topology/thread_siblings_list: "), "{missing}");
        assert!(caches(1 << 20).unwrap_err().contains("cpu1048576/cache/index0"));
        assert!(steal(&[1 << 20]).unwrap_err().contains("/proc/stat has no line `cpu1048576`"));
        assert_eq!(in_words(&Err("nobody says".to_owned())), "n/a: nobody says");
        let machine = Environment::read();
        for said in machine.facts().map(|(_, known)| in_words(known)) {
            assert!(!said.is_empty() && !said.ends_with('.') && said != "n/a: ", "{said}");
        }
        let Environment { steal, hypervisor, virtual_machine, .. } = machine;
        assert!(virtual_machine || (steal.is_err() && hypervisor.is_err()), "{steal:?} {hypervisor:?}");
    }
}
