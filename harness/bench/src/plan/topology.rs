//! The machine's physical cores: hyperthreads of one core are not two cores.

use std::collections::BTreeMap;
use std::fs;

use cqldyno_reports::count;

/// From here on a loop is markedly slower on all cores at once. All cores have a lower frequency than one, by 10 to 20 %; hardware
/// threads of one core halve each other's speed.
const CROWDED: f64 = 1.3;

/// The cores that this program may use, grouped by the physical core that they belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Each physical core with its hyperthreads.
    pub(crate) physical: Vec<Vec<usize>>,
}

impl Topology {
    /// Reads which of `cores` (as the kernel numbers them) are hyperthreads of one physical core
    /// (/sys/devices/system/cpu/cpuN/topology/thread_siblings_list); a core of which that is not known is one of its own.
    pub fn read(cores: &[usize]) -> Topology {
        let siblings = |core: &usize| {
            let path = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
            fs::read_to_string(path).ok().and_then(|text| parse_list(&text))
        };
        Topology::of(cores, siblings)
    }

    fn of(cores: &[usize], siblings: impl Fn(&usize) -> Option<Vec<usize>>) -> Topology {
        let mut physical: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for core in cores {
            let first = siblings(core).and_then(|all| all.into_iter().min()).unwrap_or(*core);
            physical.entry(first).or_default().push(*core);
        }
        Topology { physical: physical.into_values().collect() }
    }

    /// That two of `cores` are or may be one core, as a sentence. `crowding` is how many times as long a loop takes on all of them at once
    /// as on one alone, if that is known: on a virtual machine the lists of hyperthreads may be wrong.
    pub fn one_core(&self, cores: &[usize], crowding: Option<f64>) -> Option<String> {
        let of_them = |threads: &Vec<usize>| threads.iter().copied().filter(|core| cores.contains(core)).collect();
        let physical: Vec<Vec<usize>> =
            self.physical.iter().map(of_them).filter(|one: &Vec<usize>| !one.is_empty()).collect();
        if let Some(threads) = physical.iter().find(|threads| threads.len() > 1) {
            return Some(format!(
                "These {} cores are hardware threads of {} (for example {}), so each slows another one down.",
                cores.len(),
                count(physical.len() as u64, "core"),
                write_list(threads)
            ));
        }
        crowding.filter(|times| cores.len() > 1 && *times >= CROWDED).map(|times| {
            format!(
                "A loop takes {times:.1} times as long on all cores at once as on one alone, so two of these cores may be one core of \
                 the host."
            )
        })
    }

    pub(crate) fn cores(&self) -> Vec<usize> {
        let mut cores: Vec<usize> = self.physical.iter().flatten().copied().collect();
        cores.sort_unstable();
        cores
    }

    /// `physical` cores with `threads` each, numbered as Linux does: first threads first.
    #[cfg(test)]
    pub(crate) fn sample(physical: usize, threads: usize) -> Topology {
        let cores: Vec<usize> = (0..physical * threads).collect();
        Topology::of(&cores, |core| Some((0..threads).map(|nth| core % physical + nth * physical).collect()))
    }
}

/// A list of cores as the kernel writes it, for example `0-3,8`.
pub(crate) fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        // No machine has more, and a list must not be longer than memory.
        if first > last || last >= 1 << 16 {
            return None;
        }
        cores.extend(first..=last);
    }
    Some(cores)
}

/// Ascending cores as the kernel writes them.
pub(crate) fn write_list(cores: &[usize]) -> String {
    let runs = cores.chunk_by(|one, next| one + 1 == *next).filter_map(|run| match run {
        [] => None,
        [one] => Some(one.to_string()),
        [first, .., last] => Some(format!("{first}-{last}")),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyperthreads_are_one_physical_core() {
        assert_eq!(Topology::sample(2, 2).physical, [vec![0, 2], vec![1, 3]]);
        assert_eq!(Topology::sample(2, 2).cores(), [0, 1, 2, 3]);
        let unknown = Topology::of(&[0, 5], |_| None);
        assert_eq!(unknown.physical, [vec![0], vec![5]]);
        let part = Topology::of(&[1, 2, 3], |core| Some(vec![core % 2, core % 2 + 2]));
        assert_eq!(part.physical, [vec![2], vec![1, 3]], "a sibling that may not be used is left out");
    }

    #[test]
    fn two_cores_that_may_be_one_are_told_by_their_siblings_or_by_the_loop() {
        let threads = Topology::sample(2, 2);
        let told = "These 4 cores are hardware threads of 2 cores (for example 0,2), so each slows another one down.";
        assert_eq!(threads.one_core(&[0, 1, 2, 3], None).as_deref(), Some(told));
        assert_eq!(threads.one_core(&[0, 1], Some(1.29)), None, "one thread of each");
        let crowded = threads.one_core(&[0, 1], Some(1.3)).unwrap();
        assert!(
            crowded.starts_with("A loop takes 1.3 times as long on all cores at once as on one alone"),
            "{crowded}"
        );
        assert_eq!((threads.one_core(&[0], Some(1.9)), threads.one_core(&[0, 1], None)), (None, None));
    }

    #[test]
    fn a_list_of_the_kernel_is_read() {
        assert_eq!(parse_list("0-3,8\n"), Some(vec![0, 1, 2, 3, 8]));
        assert_eq!(write_list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!((write_list(&[]), write_list(&[5])), (String::new(), "5".to_owned()));
        for text in ["", "a", "3-1", "0-", "0,,1", "0-99999999999"] {
            assert_eq!(parse_list(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_has_every_core_once() {
        let cores = cqldyno_meter::Environment::read().cores;
        assert_eq!(Topology::read(&cores).cores(), cores);
    }
}
