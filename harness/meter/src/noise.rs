//! What else the machine did during the window, from /proc/stat (proc(5)): time stolen by the hypervisor and CPU time of
//! processes that do not belong to the cell.

use std::fs;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::{Pid, SysconfVar, sysconf};

use crate::cpu_time::process_cpu_ns;
use crate::meter::UNFINISHED;
use crate::{Attachment, Better, Declaration, Hook, Meter, Outcome, Pass, Probe, Subject, Window};

/// Steal and the CPU time of others, recorded beside every cell.
pub struct Noise;

const MEASURES: [Declaration; 2] = [
    Declaration {
        id: "machine_steal",
        unit: "s",
        better: Better::Lower,
        pass: Pass::Timing,
        hook: Hook::AtEdges,
        about: "CPU time that the hypervisor gave to others in the window, over all cores",
    },
    Declaration {
        id: "machine_other_cpu",
        unit: "s",
        better: Better::Lower,
        pass: Pass::Timing,
        hook: Hook::AtEdges,
        about: "CPU time of processes other than worker and server in the window, to a hundredth of a second a core",
    },
];

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
        match MachineTime::now() {
            Ok(_) => Probe::Available,
            Err(sentence) => Probe::Unavailable { sentence, remedy: "Mount /proc.".to_owned() },
        }
    }

    fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        let mut cell = vec![subject.worker];
        cell.extend(subject.server.as_ref().ok());
        Box::new(Edges { cell, go: None, end: None })
    }
}

/// Seconds of CPU time over all cores since the machine started.
#[derive(Clone, Copy, Debug, PartialEq)]
struct MachineTime {
    busy: f64,
    steal: f64,
}

impl MachineTime {
    fn now() -> Result<MachineTime, String> {
        let stat = fs::read_to_string("/proc/stat")
            .map_err(|error| format!("The file /proc/stat cannot be read: {error}."))?;
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        MachineTime::parse(&stat, ticks as f64)
            .ok_or_else(|| "The file /proc/stat has no line `cpu` with eight numbers.".to_owned())
    }

    /// Fields of the line `cpu`: user nice system idle iowait irq softirq steal; user and nice hold guest time too.
    fn parse(stat: &str, ticks_a_second: f64) -> Option<MachineTime> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<f64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
        let [user, nice, system, _, _, irq, softirq, steal] = *fields.first_chunk::<8>()?;
        Some(MachineTime {
            busy: (user + nice + system + irq + softirq) / ticks_a_second,
            steal: steal / ticks_a_second,
        })
    }
}

struct Edges {
    cell: Vec<i32>,
    go: Option<Edge>,
    end: Option<Edge>,
}

struct Edge {
    machine: Result<MachineTime, String>,
    cell: f64,
}

impl Edges {
    fn edge(&self) -> Option<Edge> {
        let cell = self.cell.iter().filter_map(|&pid| process_cpu_ns(pid).ok()).sum::<u64>() as f64 / 1e9;
        Some(Edge { machine: MachineTime::now(), cell })
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
            [Ok(steal), Ok(others)] => finding(steal + others, window).into_iter().collect(),
            _ => Vec::new(),
        };
        Outcome { findings, ..Outcome::of(&MEASURES, values) }
    }
}

/// A sentence when others used more than a tenth of the cores that the cell could have used, and more than the counters'
/// own resolution.
fn finding(others: f64, window: &Window) -> Option<String> {
    let seconds = window.wall_ns as f64 / 1e9;
    let cores = sched_getaffinity(Pid::from_raw(0))
        .map_or(1, |set| (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap_or(false)).count());
    let share = others / (seconds * cores as f64);
    (share > NOISE_SHARE && others > NOISE_SECONDS).then(|| {
        "Others used more than a tenth of this machine's CPU time during the window, so its wall time says little."
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn the_line_of_all_cores_is_read() {
        let stat = "cpu  100 20 30 4000 50 6 7 80 9 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(MachineTime::parse(stat, 100.0), Some(MachineTime { busy: 1.63, steal: 0.8 }));
        assert_eq!(MachineTime::parse("cpu 1 2 3\n", 100.0), None);
    }

    #[test]
    fn much_work_of_others_is_a_finding_and_a_little_is_not() {
        assert_eq!(finding(0.05, &window()), None);
        assert!(finding(1_000.0, &window()).is_some());
    }

    #[test]
    fn a_window_of_this_machine_has_both_readings() {
        let mut edges = Edges { cell: vec![std::process::id().cast_signed()], go: None, end: None };
        edges.at_go();
        edges.at_end();
        let outcome = edges.read(&window());
        assert!(
            outcome.readings.iter().all(|reading| matches!(reading.value, Ok(value) if value >= 0.0)),
            "{outcome:?}"
        );
    }
}
