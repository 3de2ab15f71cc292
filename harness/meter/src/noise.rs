//! What else the cores of a cell did in the window, from /proc/stat (proc(5)): time that the hypervisor stole, and CPU time of
//! processes outside the cell. Load on cores that the cell may not use disturbs it little.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::{SysconfVar, sysconf};

use crate::cpu_time::process_cpu_ns;
use crate::environment::cores;
use crate::meter::{Both, at_edges};
use crate::sockets::local_servers;
use crate::{Attachment, Better, Declaration, Meter, Outcome, Pass, Probe, Refusal, Subject, Unit, Window};

const MEASURES: [Declaration; 2] = [
    seconds("machine_steal", "CPU time of the cell's cores that the hypervisor gave to others in the window"),
    seconds("machine_other_cpu", "CPU time of other processes on the cell's cores in the window, to 0.01 s per core"),
];

const fn seconds(id: &'static str, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, Unit::Seconds, Better::Lower, about)
}

/// Other processes that take a greater share of the cores' time are noise; a run may set another share.
pub const NOISE_SHARE: f64 = 0.1;
/// The counters resolve 0.01 s per core.
const NOISE_SECONDS: f64 = 0.1;

/// Steal and the CPU time of other processes.
pub const NOISE: Meter = Meter::new("machine noise", &MEASURES, attach).needs("/proc/stat").at_worker().probed(probe);

fn probe() -> Probe {
    let read = CoreTime::now(&cores());
    read.map(drop).map_err(|why| Refusal::new(UNREADABLE, why, "Mount /proc."))
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let mut cell = vec![subject.worker];
    cell.extend(subject.server.iter().flatten());
    // Its connections are there at the first edge.
    let mut foreign = (subject.server.is_err() && !subject.nodes.is_empty()).then_some(subject.worker);
    let (cores, number) = (subject.cores.clone(), subject.cores.len());
    let look = move |_| {
        if let Some(worker) = foreign.take() {
            cell.extend(local_servers(&[worker], &cores));
        }
        let all = CoreTime::now(&cores).map_err(unreadable)?;
        Ok(CoreTime { busy: all.busy - seconds_of(&cell), ..all })
    };
    at_edges(look, move |both, window| figures(both, number, window))
}

const UNREADABLE: &str = "The load of other processes cannot be read";

fn unreadable(why: impl std::fmt::Display) -> String {
    format!("{UNREADABLE}: {why}.")
}

/// CPU time of the processes that are there, in seconds.
fn seconds_of(processes: &[i32]) -> f64 {
    processes.iter().filter_map(|&pid| process_cpu_ns(pid).ok()).sum::<u64>() as f64 / 1e9
}

/// Watches what other processes do on some cores. This process and its ended children are none of them.
pub struct Others {
    cores: Vec<usize>,
    ours: Vec<i32>,
    /// Processes of ours that others started, with their CPU time when it was last read, in nanoseconds.
    started_by_others: BTreeMap<i32, u64>,
    began: Instant,
    at: CoreTime,
}

/// What others had of some cores, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Had {
    /// How long it was watched.
    pub wall_s: f64,
    /// CPU time of other processes, of all these cores together, to 0.01 s per core.
    pub others_s: f64,
    /// The time that the hypervisor gave to others, likewise.
    pub steal_s: f64,
}

impl Others {
    /// Watches `cores` from now on. The children `ours` are none of the others, too, whether they end meanwhile or not. Nor are those that
    /// were `started_by_others`; what one of them uses after the last look at it counts as the others'.
    ///
    /// # Errors
    /// A sentence if the kernel's account cannot be read.
    pub fn watch(cores: &[usize], ours: &[i32], started_by_others: &[i32]) -> Result<Others, String> {
        let started_by_others = started_by_others.iter().map(|pid| (*pid, 0)).collect();
        let (cores, ours, at) = (cores.to_vec(), ours.to_vec(), CoreTime::default());
        let mut others = Others { cores, ours, started_by_others, began: Instant::now(), at };
        others.at = others.look()?;
        Ok(others)
    }

    /// What others had since then.
    ///
    /// # Errors
    /// As above.
    pub fn had(&mut self) -> Result<Had, String> {
        let (others_s, steal_s) = self.look()?.since(&self.at);
        Ok(Had { wall_s: self.began.elapsed().as_secs_f64(), others_s, steal_s })
    }

    /// Without our own CPU time. A child that ends moves from the first sum of it to the second one.
    fn look(&mut self) -> Result<CoreTime, String> {
        let living = seconds_of(&self.ours) + seconds_of(&[std::process::id().cast_signed()]);
        let ended = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(unreadable)?;
        let ended = (ended.user_time() + ended.system_time()).num_microseconds() as f64 / 1e6;
        let elsewhere = read_last(&mut self.started_by_others, |pid| process_cpu_ns(pid).ok());
        let all = CoreTime::now(&self.cores).map_err(unreadable)?;
        Ok(CoreTime { busy: all.busy - living - ended - elsewhere, ..all })
    }
}

/// CPU time of processes in seconds, of each when it was last `read`: one that is gone keeps what it had.
fn read_last(processes: &mut BTreeMap<i32, u64>, read: impl Fn(i32) -> Option<u64>) -> f64 {
    processes.iter_mut().for_each(|(pid, last)| *last = read(*pid).unwrap_or(*last));
    processes.values().sum::<u64>() as f64 / 1e9
}

/// `both` is without the CPU time of the cell's own processes.
fn figures(both: Both<CoreTime>, cores: usize, window: &Window) -> Outcome {
    let values = match both.map(|(go, end)| end.since(go)) {
        Ok((others, steal)) => [Ok(steal), Ok(others)],
        Err(why) => [Err(why.clone()), Err(why)],
    };
    let findings = match &values {
        [Ok(steal), Ok(others)] => finding(steal + others, cores, window).into_iter().collect(),
        _ => Vec::new(),
    };
    Outcome { findings, ..Outcome::of(&MEASURES, values) }
}

/// What the hypervisor has taken of `cores` since the machine started, in words.
pub(crate) fn steal(cores: &[usize]) -> Result<String, String> {
    let CoreTime { busy, interrupts, steal, .. } = CoreTime::now(cores)?;
    let used = busy + interrupts + steal;
    Ok(match used > 0.0 && steal > 0.0 {
        true => format!("{:.1} % of the CPU time since the machine started", 100.0 * steal / used),
        false => "none since the machine started, as far as the hypervisor tells".to_owned(),
    })
}

/// Seconds of CPU time of some cores since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct CoreTime {
    /// Without interrupts.
    busy: f64,
    /// Software interrupts, such as the receiving side of loopback, and those of devices.
    interrupts: f64,
    /// Whether the kernel accounts interrupts apart (CONFIG_IRQ_TIME_ACCOUNTING). Otherwise the time of a process holds those that it
    /// was interrupted by, and no tick falls into one of a device.
    apart: bool,
    steal: f64,
}

impl CoreTime {
    fn now(cores: &[usize]) -> Result<CoreTime, String> {
        let stat = fs::read_to_string("/proc/stat").map_err(|error| format!("/proc/stat: {error}"))?;
        let ticks = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100);
        CoreTime::parse(&stat, cores, ticks as f64)
    }

    fn since(&self, earlier: &CoreTime) -> (f64, f64) {
        let interrupts = if self.apart { 0.0 } else { self.interrupts - earlier.interrupts };
        let busy = self.busy - earlier.busy + interrupts;
        (busy.max(0.0), (self.steal - earlier.steal).max(0.0))
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
                busy: sum.busy + (user + nice + system) / ticks_a_second,
                interrupts: sum.interrupts + (irq + softirq) / ticks_a_second,
                apart: sum.apart || *irq > 0.0,
                steal: sum.steal + steal / ticks_a_second,
            })
        })
    }
}

/// A sentence if other processes used more than a tenth of the cell's cores, and more than the counters resolve.
fn finding(others: f64, cores: usize, window: &Window) -> Option<String> {
    let seconds = window.end.wall_ns as f64 / 1e9;
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
        let one = CoreTime { busy: 1.5, interrupts: 0.13, apart: true, steal: 0.8 };
        assert_eq!(CoreTime::parse(stat, &[1], 100.0), Ok(one));
        let both = CoreTime::parse(stat, &[1, 11], 1.0).unwrap();
        assert_eq!(both, CoreTime { busy: 150.0 + 6.0, interrupts: 13.0 + 13.0, apart: true, steal: 88.0 });
        let missing = "/proc/stat has no line `cpu2` with eight numbers";
        assert_eq!(CoreTime::parse(stat, &[1, 2], 100.0).unwrap_err(), missing);
        assert_eq!(CoreTime::parse("cpu2 1 2 3\n", &[2], 100.0).unwrap_err(), missing);
    }

    #[test]
    fn interrupts_count_unless_the_kernel_keeps_them_out_of_the_time_of_processes() {
        let used = |irq: u32| {
            let [before, after] = [0, 1].map(|edge| {
                let stat = format!("cpu0 {} 0 0 0 0 {irq} {} {}\n", 50 * edge, 20 * edge, 10 * edge);
                CoreTime::parse(&stat, &[0], 100.0).unwrap()
            });
            after.since(&before)
        };
        assert_eq!((used(0), used(1)), ((0.7, 0.1), (0.5, 0.1)));
    }

    #[test]
    fn a_child_of_ours_that_ends_is_none_of_the_others() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let pid = child.id().cast_signed();
        while process_cpu_ns(pid).unwrap() < 200_000_000 {}
        let mut watch = Others::watch(&cores(), &[pid], &[]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let had = watch.had().unwrap();
        // Its 0.2 s are more than there was time for.
        let most = had.wall_s * cores().len() as f64 + 0.1;
        assert!(had.others_s <= most && had.steal_s <= most, "{had:?}");
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        let missing = Others::watch(&[1 << 20], &[], &[]).err().unwrap();
        assert!(missing.starts_with("The load of other processes cannot be read: /proc/stat has no line"), "{missing}");
    }

    #[test]
    fn much_work_of_others_is_a_finding_and_a_little_is_not() {
        assert_eq!(finding(0.05, 1, &window()), None);
        assert!(finding(1_000.0, 1, &window()).is_some());
        assert!(finding(0.3, 1, &window()).is_some(), "of two seconds");
        assert_eq!(finding(0.3, 2, &window()), None, "of two cores' four");
    }

    #[test]
    fn a_server_of_another_s_on_the_cores_of_the_cell_is_no_noise() {
        let target = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let node = target.local_addr().unwrap();
        // The worker is connected to this process until it has a line.
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; read -u 3 line", node.port());
        let worker = crate::tool::Ended(std::process::Command::new("bash").args(["-c", &script]).spawn().unwrap());
        let _end = target.accept().unwrap();
        let of = |nodes| Subject { cores: cores(), nodes, ..subject(worker.0.id().cast_signed()) };
        let mut both = [of(vec![node]), of(Vec::new())].map(|subject| NOISE.attach(&subject));
        both.iter_mut().for_each(|attached| attached.at_go());
        let me = std::process::id().cast_signed();
        let before = seconds_of(&[me]);
        while seconds_of(&[me]) < before + 0.3 {}
        let others = both.each_mut().map(|attached| attached.at_end()(&window()).readings[1].value.clone().unwrap());
        assert!(others[1] - others[0] > 0.15, "{others:?}");
    }

    #[test]
    fn a_process_that_others_started_keeps_its_time_when_it_is_gone() {
        let mut processes = BTreeMap::from([(1, 0), (2, 0)]);
        assert_eq!(read_last(&mut processes, |pid| Some(1_000_000_000 * pid.unsigned_abs() as u64)), 3.0);
        assert_eq!(read_last(&mut processes, |pid| (pid == 1).then_some(5_000_000_000)), 7.0);
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
