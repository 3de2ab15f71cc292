//! What else the cores of a cell did in the window, from /proc/stat (proc(5)): time that the hypervisor stole, and CPU time of
//! processes outside the cell. Load on cores that the cell may not use disturbs it little.

use std::collections::BTreeMap;
use std::fs;

use nix::unistd::{SysconfVar, sysconf};

use crate::cpu_time::process_cpu_ns;
use crate::environment::cores;
use crate::meter::{Both, at_edges};
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Refusal, Subject, Unit, Window};

const MEASURES: [Declaration; 2] = [
    seconds("machine_steal", "CPU time of the cell's cores that the hypervisor gave to others in the window"),
    seconds("machine_other_cpu", "CPU time of other processes on the cell's cores in the window, to 0.01 s per core"),
];

const fn seconds(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Seconds, Better::Lower, about)
}

/// A greater share of the cores' time is a finding.
const NOISE_SHARE: f64 = 0.1;
/// The counters resolve 0.01 s per core.
const NOISE_SECONDS: f64 = 0.1;

/// Steal and the CPU time of other processes.
pub const NOISE: Meter = Meter::new("machine noise", &MEASURES, attach).needs("/proc/stat").probed(probe);

fn probe() -> Probe {
    let read = CoreTime::now(&cores());
    read.map(drop).map_err(|why| Refusal::new(UNREADABLE, why, "Mount /proc."))
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let mut cell = vec![subject.worker];
    cell.extend(subject.server.as_ref().ok());
    let (cores, number) = (subject.cores.clone(), subject.cores.len());
    let look = move |_| {
        let mine = cell.iter().filter_map(|&pid| process_cpu_ns(pid).ok()).sum::<u64>() as f64 / 1e9;
        let all = CoreTime::now(&cores).map_err(|why| format!("{UNREADABLE}: {why}."))?;
        Ok(CoreTime { busy: all.busy - mine, ..all })
    };
    at_edges(look, move |both, window| figures(both, number, window))
}

const UNREADABLE: &str = "The load of other processes cannot be read";

/// `both` is without the CPU time of the cell's own processes.
fn figures(both: Both<CoreTime>, cores: usize, window: &Window) -> Outcome {
    let values = match both {
        Ok((go, end)) => [Ok((end.steal - go.steal).max(0.0)), Ok((end.busy - go.busy).max(0.0))],
        Err(why) => [Err(why.clone()), Err(why)],
    };
    let findings = match &values {
        [Ok(steal), Ok(others)] => finding(steal + others, cores, window).into_iter().collect(),
        _ => Vec::new(),
    };
    Outcome { findings, ..Outcome::of(&MEASURES, values) }
}

/// Seconds of CPU time of some cores since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CoreTime {
    busy: f64,
    steal: f64,
}

impl CoreTime {
    fn now(cores: &[usize]) -> Result<CoreTime, String> {
        let stat = fs::read_to_string("/proc/stat").map_err(|error| format!("/proc/stat: {error}"))?;
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        CoreTime::parse(&stat, cores, ticks as f64)
    }

    /// The sum over `cores`. Fields of a line `cpuN`: user nice system idle iowait irq softirq steal; user and nice hold guest
    /// time too.
    fn parse(stat: &str, cores: &[usize], ticks_a_second: f64) -> Result<CoreTime, String> {
        let one = |line: &str| {
            // The line of all cores has white space where the others have a number.
            let (core, fields) = line.strip_prefix("cpu")?.split_once(char::is_whitespace)?;
            let core: usize = core.parse().ok()?;
            let fields = fields.split_whitespace();
            let ticks: Vec<f64> = fields.map_while(|field| field.parse().ok()).collect();
            Some((core, *ticks.first_chunk::<8>()?))
        };
        let ticks: BTreeMap<usize, [f64; 8]> = stat.lines().filter_map(one).collect();
        cores.iter().try_fold(CoreTime::default(), |sum, core| {
            let [user, nice, system, _, _, irq, softirq, steal] =
                ticks.get(core).ok_or_else(|| format!("/proc/stat has no line `cpu{core}` with eight numbers"))?;
            Ok(CoreTime {
                busy: sum.busy + (user + nice + system + irq + softirq) / ticks_a_second,
                steal: sum.steal + steal / ticks_a_second,
            })
        })
    }
}

/// A sentence if other processes used more than a tenth of the cell's cores, and more than the counters resolve.
fn finding(others: f64, cores: usize, window: &Window) -> Option<String> {
    let seconds = window.wall_ns as f64 / 1e9;
    let share = others / (seconds * cores.max(1) as f64);
    (share > NOISE_SHARE && others > NOISE_SECONDS).then(|| {
        // Without a number, so that reports show it once.
        "Noisy: other processes used more than a tenth of the cell's cores. Trust the CPU columns, not wall time."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{subject, window};

    #[test]
    fn only_the_cores_of_the_cell_are_read() {
        let stat = "cpu  11 9999 9999 9999 9999 9999 9999 9999 0 0\n\
                    cpu0 900 0 0 0 0 0 0 900 0 0\n\
                    cpu1 100 20 30 4000 50 6 7 80 9 0\n\
                    cpu11 1 2 3 4 5 6 7 8 9 10\n\
                    intr 1 2 3\n";
        assert_eq!(CoreTime::parse(stat, &[1], 100.0), Ok(CoreTime { busy: 1.63, steal: 0.8 }));
        let both = CoreTime::parse(stat, &[1, 11], 1.0).unwrap();
        assert_eq!(both, CoreTime { busy: 163.0 + 19.0, steal: 88.0 });
        let missing = "/proc/stat has no line `cpu2` with eight numbers";
        assert_eq!(CoreTime::parse(stat, &[1, 2], 100.0).unwrap_err(), missing);
        assert_eq!(CoreTime::parse("cpu2 1 2 3\n", &[2], 100.0).unwrap_err(), missing);
    }

    #[test]
    fn much_work_of_others_is_a_finding_and_a_little_is_not() {
        assert_eq!(finding(0.05, 1, &window()), None);
        assert!(finding(1_000.0, 1, &window()).is_some());
        assert!(finding(0.3, 1, &window()).is_some(), "of two seconds");
        assert_eq!(finding(0.3, 2, &window()), None, "of two cores' four");
    }

    #[test]
    fn a_window_of_this_machine_has_both_readings() {
        let me = std::process::id().cast_signed();
        let mut attached = NOISE.attach(&Subject { cores: cores(), ..subject(me) });
        attached.at_go();
        let outcome = attached.at_end()(&window());
        assert!(
            outcome.readings.iter().all(|reading| matches!(reading.value, Ok(value) if value >= 0.0)),
            "{outcome:?}"
        );
    }
}
