//! A process' system calls, counted by number.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt;

use super::bpf::{Counts, Program};
use super::program::{COUNTERS, Filter, MOST_COPIES, numbers, program};
use super::refusal::{ARRAY, ATTACH, LOAD, REFUSED, refused};
use crate::Refusal;

/// The inode of the initial pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h): there a process' id is its only one.
const INITIAL_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Counts the system calls of one process, all its threads included, from when it is made until it is dropped.
#[derive(Debug)]
pub(super) struct Counter {
    /// Closing it takes the program away from the tracepoint.
    _attached: OwnedFd,
    program: Program,
    counts: Counts,
}

/// What was counted up to one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Count {
    /// Calls by number; the last one is that of all higher numbers.
    pub calls: Vec<u64>,
    /// System calls on the whole machine at which the kernel skipped the program; `None` when it does not tell.
    pub skipped: Option<u64>,
}

impl Counter {
    /// Counts the calls of the process with this id in the pid namespace of this process. The calls of every other process cost
    /// a little more, too, because the tracepoint is that of the whole machine.
    pub(super) fn attach(process: u32) -> Result<Counter, Refusal> {
        let refused = |asked: &'static str| move |error| refused(asked, &error, "");
        let filter = filter(process)?;
        let copies =
            std::thread::available_parallelism().map_or(1, |cores| cores.get().next_power_of_two().min(MOST_COPIES));
        let counts = Counts::new(numbers(copies)).map_err(refused(ARRAY))?;
        let program = load(filter, &counts, copies)?;
        let attached = program.attach(c"sys_enter").map_err(refused(ATTACH))?;
        Ok(Counter { _attached: attached, program, counts })
    }

    pub(super) fn read(&self) -> io::Result<Count> {
        let mut calls = vec![0u64; COUNTERS];
        for copy in self.counts.read()?.chunks_exact(COUNTERS) {
            calls.iter_mut().zip(copy).for_each(|(sum, calls)| *sum += calls);
        }
        Ok(Count { calls, skipped: self.program.skipped()? })
    }
}

impl Count {
    /// The calls since `before`, by number, without those that were not made.
    pub(super) fn since<'a>(&'a self, before: &'a Count) -> impl Iterator<Item = (usize, u64)> + 'a {
        let calls = self.calls.iter().zip(&before.calls).map(|(now, before)| now.saturating_sub(*before));
        calls.enumerate().filter(|(_, calls)| *calls > 0)
    }
}

fn load(filter: Filter, counts: &Counts, copies: usize) -> Result<Program, Refusal> {
    let instructions = program(filter, counts.descriptor(), copies);
    Program::load(&instructions, None).or_else(|error| {
        // Once more for the words of the verifier. The error stays that of the first time, which no size of a log can change.
        let mut log = vec![0; 16 << 10];
        Program::load(&instructions, Some(&mut log)).map_err(|_| {
            let text: Vec<u8> = log.into_iter().take_while(|byte| *byte != 0).collect();
            refused(LOAD, &error, &String::from_utf8_lossy(&text))
        })
    })
}

/// Inside a pid namespace a process has an id there, and another one in the initial namespace that only the kernel knows.
fn filter(process: u32) -> Result<Filter, Refusal> {
    let file = fs::metadata("/proc/self/ns/pid").map_err(|error| {
        let why = format!("/proc/self/ns/pid, which tells the pid namespace, cannot be read: {error}");
        Refusal::new(REFUSED, why, "Mount /proc.")
    })?;
    Ok(match file.st_ino() {
        INITIAL_NAMESPACE => Filter::Initial { process },
        inode => Filter::Namespace { process, device: kernel_device(file.st_dev()), inode },
    })
}

/// A device's number as the kernel has it inside (linux/kdev_t.h).
fn kernel_device(device: u64) -> u64 {
    const MINOR_BITS: u32 = 20;
    u64::from(libc::major(device)) << MINOR_BITS | u64::from(libc::minor(device))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_number_of_a_device_is_major_and_minor_without_gaps() {
        assert_eq!(kernel_device(libc::makedev(0, 4)), 4);
        assert_eq!(kernel_device(libc::makedev(0, 300)), 300);
        assert_eq!(kernel_device(libc::makedev(8, 1)), 8 << 20 | 1);
    }

    #[test]
    fn what_was_called_between_two_counts_is_their_difference() {
        let count = |calls: &[u64]| Count { calls: calls.to_vec(), skipped: None };
        let (before, after) = (count(&[1, 5, 0]), count(&[1, 7, 4]));
        assert_eq!(after.since(&before).collect::<Vec<_>>(), [(1, 2), (2, 4)]);
    }

    #[test]
    fn both_ways_of_asking_whose_call_it_is_are_accepted_and_agree() {
        if let Err(refusal) = Counter::attach(std::process::id()) {
            eprintln!("not tested here: {refusal}");
            return;
        }
        let file = fs::metadata("/proc/self/ns/pid").unwrap();
        let process = std::process::id();
        let device = kernel_device(file.st_dev());
        let count = |filter| {
            let counts = Counts::new(numbers(2)).unwrap();
            let program = load(filter, &counts, 2).unwrap();
            let attached = program.attach(c"sys_enter").unwrap();
            for _ in 0..100 {
                nix::unistd::getppid();
            }
            drop(attached);
            let calls = counts.read().unwrap();
            calls.chunks_exact(COUNTERS).map(|copy| copy[libc::SYS_getppid as usize]).sum::<u64>()
        };
        assert!(count(Filter::Namespace { process, device, inode: file.st_ino() }) >= 100);
        assert_eq!(count(Filter::Namespace { process, device, inode: file.st_ino() + 1 }), 0);
        assert_eq!(count(Filter::Namespace { process: process + 1, device, inode: file.st_ino() }), 0);
        if file.st_ino() == INITIAL_NAMESPACE {
            assert!(count(Filter::Initial { process }) >= 100);
            assert_eq!(count(Filter::Initial { process: process + 1 }), 0);
        }
    }
}
