//! A loop of pure arithmetic on every core at once: how fast the cores are now.
//!
//! The kernel does not see all that slows a core down: another guest on the same physical core, a lower frequency, time that the
//! hypervisor takes and does not report. The loop does. Its eight chains of multiplications keep a core's multiplier busy, so a
//! second hardware thread on the same core halves its speed.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::noise::Others;

/// In this time all threads start and the cores reach their frequency. It is not measured.
const BEFORE: Duration = Duration::from_millis(2);
const MEASURED: Duration = Duration::from_millis(10);
/// Steps between two looks at the clock: about 10 us.
const STEPS: u32 = 2_048;
/// How often [`crowding`] measures: the fastest of each counts.
const REPEATS: usize = 3;
/// [`crowding`] tells nothing if others used more than this share of the cores.
const OTHERS: f64 = 0.1;

/// The speed of the loop on each of `cores`, one thread pinned to each and all at once, in steps per microsecond.
///
/// # Errors
/// A sentence if a thread cannot be made, or cannot run on its core.
fn speeds(cores: &[usize]) -> Result<Vec<f64>, String> {
    let begin = Instant::now() + BEFORE;
    thread::scope(|scope| {
        let start = |core: &usize| {
            let core = *core;
            thread::Builder::new().spawn_scoped(scope, move || pin(core).map(|()| speed(begin)))
        };
        let started: Vec<_> = cores.iter().map(start).collect();
        let joined = |one: std::io::Result<thread::ScopedJoinHandle<'_, Result<f64, String>>>| {
            let thread =
                one.map_err(|error| format!("A thread for the calibration loop could not be made: {error}."))?;
            thread.join().unwrap_or_else(|_| Err("The calibration loop broke off.".to_owned()))
        };
        started.into_iter().map(joined).collect()
    })
}

/// How many times as long the loop takes on all of `cores` at once as on one of them alone: 1 if each is a core of its own, about 2
/// if two are hardware threads of one core. The core that loses most counts.
///
/// # Errors
/// A sentence if there is nothing to compare, others used the cores meanwhile, or the loop cannot run.
pub fn crowding(cores: &[usize]) -> Result<f64, String> {
    if cores.len() < 2 {
        return Err("There is only one core.".to_owned());
    }
    let mut watch = Others::watch(cores, &[], &[])?;
    let (mut alone, mut together) = (vec![0.0; cores.len()], vec![0.0; cores.len()]);
    let faster = |best: &mut [f64], found: Vec<f64>| {
        best.iter_mut().zip(found).for_each(|(best, found)| *best = best.max(found));
    };
    for _ in 0..REPEATS {
        faster(&mut together, speeds(cores)?);
        for (core, alone) in cores.chunks(1).zip(alone.chunks_mut(1)) {
            faster(alone, speeds(core)?);
        }
    }
    let had = watch.had()?;
    // What the hypervisor took may be the other thread's half of the core.
    let share = had.others_s / (had.wall_s * cores.len() as f64);
    if share > OTHERS {
        return Err(format!("Other processes used {:.0} % of the cores meanwhile.", share * 100.0));
    }
    Ok(alone.iter().zip(&together).map(|(alone, together)| alone / together).fold(1.0, f64::max))
}

fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    let pinned = set.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(|error| format!("The calibration loop cannot run on core {core}: {error}."))
}

fn speed(begin: Instant) -> f64 {
    let mut chains = [1, 2, 3, 4, 5, 6, 7, 8];
    while Instant::now() < begin {
        steps(&mut chains);
    }
    let began = Instant::now();
    let mut done = 0.0;
    loop {
        steps(&mut chains);
        done += f64::from(STEPS);
        let lasted = began.elapsed();
        if lasted >= MEASURED {
            return done / (lasted.as_secs_f64() * 1e6);
        }
    }
}

/// A step of a chain depends on the one before it, and on no other chain.
fn steps(chains: &mut [u64; 8]) {
    for _ in 0..STEPS {
        for chain in chains.iter_mut() {
            *chain = (*chain ^ (*chain >> 7)).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        }
    }
    black_box(chains);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::cores;

    #[test]
    fn every_core_has_a_speed_and_one_that_is_not_there_is_named() {
        let found = speeds(&cores()).unwrap();
        assert_eq!(found.len(), cores().len());
        assert!(found.iter().all(|speed| speed.is_finite() && *speed > 0.0), "{found:?}");
        let missing = speeds(&[cores()[0], 1_023]).unwrap_err();
        assert!(missing.starts_with("The calibration loop cannot run on core 1023: "), "{missing}");
    }

    #[test]
    fn one_core_is_compared_with_nothing() {
        assert_eq!(crowding(&[0]).unwrap_err(), "There is only one core.");
    }
}
