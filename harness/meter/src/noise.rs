//! What else the cores of a cell did during the window, from /proc/stat (proc(5)): time stolen by the hypervisor and CPU time
//! of processes that do not belong to the cell. What others do on cores that the cell may not use disturbs it little.

use std::collections::BTreeMap;
use std::fs;

use nix::unistd::{SysconfVar, sysconf};

use crate::cpu_time::process_cpu_ns;
use crate::environment::cores;
use crate::meter::UNFINISHED;
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Subject, Unit, Window};

/// Steal and the CPU time of others, recorded beside every cell.
pub struct Noise;

const MEASURES: [Declaration; 2] = [
    seconds("machine_steal", "CPU time of the cell's cores that the hypervisor gave to others in the window"),
    seconds("machine_other_cpu", "CPU time of other processes on the cell's cores in the window, to 0.01 s per core"),
];

const fn seconds(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Seconds, Better::Lower, about)
}

/// A greater share of the cores' time used by others is a finding.
const NOISE_SHARE: f64 = 0.1;
/// What others used is known to a hundredth of a second a core.
const NOISE_SECONDS: f64 = 0.1;

impl Meter for Noise {
    fn declarations(&self) -> &'static [Declaration] {
        &MEASURES
    }

    fn name(&self) -> &'static str {
        "machine noise"
    }

    fn needs(&self) -> &'static str {
        "/proc/stat"
    }

    fn probe(&self) -> Probe {
        match CoreTime::now(&cores()) {
            Ok(_) => Probe::Available,
            Err(sentence) => Probe::Unavailable { sentence, remedy: "Mount /proc.".to_owned() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let mut cell = vec![subject.worker];
        cell.extend(subject.server.as_ref().ok());
        Box::new(Edges { cell, cores: subject.cores.clone(), go: None, end: None })
    }
}

/// Seconds of CPU time of some cores since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CoreTime {
    busy: f64,
    steal: f64,
}

impl CoreTime {
    fn now(cores: &[usize]) -> Result<CoreTime, String> {
        let stat = fs::read_to_string("/proc/stat")
            .map_err(|error| format!("The file /proc/stat cannot be read: {error}."))?;
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
            let [user, nice, system, _, _, irq, softirq, steal] = ticks
                .get(core)
                .ok_or_else(|| format!("The file /proc/stat has no line `cpu{core}` with eight numbers."))?;
            Ok(CoreTime {
                busy: sum.busy + (user + nice + system + irq + softirq) / ticks_a_second,
                steal: sum.steal + steal / ticks_a_second,
            })
        })
    }
}

struct Edges {
    cell: Vec<i32>,
    cores: Vec<usize>,
    go: Option<Edge>,
    end: Option<Edge>,
}

struct Edge {
    machine: Result<CoreTime, String>,
    cell: f64,
}

impl Edges {
    fn edge(&self) -> Option<Edge> {
        let cell = self.cell.iter().filter_map(|&pid| process_cpu_ns(pid).ok()).sum::<u64>() as f64 / 1e9;
        Some(Edge { machine: CoreTime::now(&self.cores), cell })
    }
}

impl Attachment for Edges {
    fn at_go(&mut self) {
        self.go = self.edge();
    }

    fn at_end(&mut self) {
        self.end = self.edge();
    }

    fn read(&mut self, window: &Window) -> Outcome {
        let values = match (&self.go, &self.end) {
            (
                Some(Edge { machine: Ok(before), cell: mine_before }),
                Some(Edge { machine: Ok(after), cell: mine_after }),
            ) => [
                Ok((after.steal - before.steal).max(0.0)),
                Ok((after.busy - before.busy - (mine_after - mine_before)).max(0.0)),
            ],
            (Some(Edge { machine: Err(why), .. }), _) | (_, Some(Edge { machine: Err(why), .. })) => {
                [Err(why.clone()), Err(why.clone())]
            }
            _ => [Err(UNFINISHED.to_owned()), Err(UNFINISHED.to_owned())],
        };
        let findings = match &values {
            [Ok(steal), Ok(others)] => finding(steal + others, self.cores.len(), window).into_iter().collect(),
            _ => Vec::new(),
        };
        Outcome { findings, ..Outcome::of(&MEASURES, values) }
    }
}

/// A sentence when others used more than a tenth of the cores that the cell could have used, and more than the counters'
/// own resolution.
fn finding(others: f64, cores: usize, window: &Window) -> Option<String> {
    let seconds = window.wall_ns as f64 / 1e9;
    let share = others / (seconds * cores.max(1) as f64);
    (share > NOISE_SHARE && others > NOISE_SECONDS).then(|| {
        "Others used more than a tenth of the CPU time of worker's and server's cores in the window, so the cell's wall time says little."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

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
        let missing = "The file /proc/stat has no line `cpu2` with eight numbers.";
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
        let mut edges = Edges { cell: vec![std::process::id().cast_signed()], cores: cores(), go: None, end: None };
        edges.at_go();
        edges.at_end();
        let outcome = edges.read(&window());
        assert!(
            outcome.readings.iter().all(|reading| matches!(reading.value, Ok(value) if value >= 0.0)),
            "{outcome:?}"
        );
    }
}
