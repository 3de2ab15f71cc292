//! CPU time of the worker: its own rusage, which the parent checks against the process' CPU clock.

use std::io;
use std::time::{Duration, Instant};

use cqldyno_measure::list::declared;
use cqldyno_protocol::Steady;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;

use crate::meter::{Both, at_edges, from_worker, lower, per_statement, per_steady_statement};
use crate::{Asleep, Attachment, Declaration, Meter, Outcome, Probe, Refusal, Subject, Unit, Window};

// The sum is exact, but the tick only samples the split: a true 50/50 reads 46 to 52 % in 200 ms and 48 to 51 % in a second.
// Tables leave the split out below half a second.
const MEASURES: [Declaration; 6] = [
    declared::USER,
    declared::SYS,
    lower(
        "cpu",
        Unit::Seconds,
        "CPU time of the worker, user and system, exact, with what it used within 100 ms after its turn",
    ),
    declared::CPU_PER_STATEMENT,
    lower("cpu_after_turn", Unit::Seconds, "CPU time of the worker within 100 ms after its turn"),
    lower(
        "idle_cpu",
        Unit::Percent,
        "share of a core that the worker used in the idle span after its turn, else while it was asleep before; no statement is \
         charged with it",
    )
    .titled("idle CPU,\n% of a core"),
];

/// CPU time that the process `pid` and all its threads, ended ones too, have used so far, in nanoseconds.
///
/// # Errors
/// When there is no such process, or its clock may not be read.
pub fn process_cpu_ns(pid: i32) -> io::Result<u64> {
    let clock: ClockId = clock_getcpuclockid(Pid::from_raw(pid))?;
    Ok(clock.now()?.num_nanoseconds().unsigned_abs())
}

pub(crate) fn processes_cpu_ns(processes: &[i32]) -> io::Result<u64> {
    processes.iter().map(|pid| process_cpu_ns(*pid)).sum()
}

/// User and system time of the window, their sum, and the sum per statement. What the worker used just after a turn is charged to it,
/// and what it used later while it was asleep to no statement.
pub const CPU_TIME: Meter = Meter::new("CPU time", &MEASURES, attach)
    .needs("getrusage in the worker and, to cross-check it, the CPU clock of another process")
    .elsewhere(|_| from_worker(account))
    .probed(probe);

pub(crate) fn probe() -> Probe {
    const REMEDY: &str =
        "Run on Linux with POSIX process clocks; without them nothing cross-checks the worker's account.";
    let read = process_cpu_ns(std::process::id().cast_signed());
    read.map(drop).map_err(|error| Refusal::new("The CPU clock of a process cannot be read", error, REMEDY))
}

fn attach(subject: &Subject) -> Box<dyn Attachment> {
    let (worker, cores) = (subject.worker, subject.cores.len());
    let failed = |error| format!("To cross-check the worker's CPU time, its process clock could not be read: {error}.");
    at_edges(
        move |_| process_cpu_ns(worker).map(|ns| (ns, Instant::now())).map_err(failed),
        move |clock, window| figures(clock, window, cores),
    )
}

fn figures(clock: Both<(u64, Instant)>, window: &Window, cores: usize) -> Outcome {
    let mut outcome = account(window);
    let told_us = window.end.user_us + window.end.sys_us;
    outcome.voids.extend(window.end.steady.and_then(|steady| more_than_the_turn(&steady, window)));
    match clock.map(|(go, end)| (end.0.saturating_sub(go.0), end.1 - go.1)) {
        Ok((clock_ns, lasted)) => {
            let beside = lasted.saturating_sub(Duration::from_nanos(window.end.wall_ns)).min(MOST_BESIDE);
            let apart = cpu_disagreement(told_us, clock_ns, 1, cores, beside);
            if told_us * 1_000 < clock_ns { &mut outcome.voids } else { &mut outcome.findings }.extend(apart);
        }
        Err(why) => outcome.findings.push(why),
    }
    outcome
}

/// What the worker says, without another clock.
fn account(window: &Window) -> Outcome {
    let told_us = window.end.user_us + window.end.sys_us;
    let sum = (told_us + window.tail_us) as f64;
    let values = [window.end.user_us as f64 / 1e6, window.end.sys_us as f64 / 1e6, sum / 1e6];
    let [user, sys, cpu] = values.map(Ok);
    let after = Ok(window.tail_us as f64 / 1e6);
    let idle = window.asleep.and_then(Asleep::share).map(|share| 100.0 * share);
    let idle = idle.ok_or_else(|| NO_TURN_BEFORE.to_owned());
    let each = per_steady_statement(|steady| steady.cpu_ns as f64 / 1e3, told_us as f64, window);
    let each = each.and_then(|each| Ok(each + per_statement(window.tail_us as f64, window)?));
    Outcome::of(&MEASURES, [user, sys, cpu, each, after, idle])
}

const NO_TURN_BEFORE: &str =
    "The worker had no turn before this one, and the scenario has no idle span after it (`idle`).";

/// More than this many microseconds, and more than 1 %, is too far apart. One of 2,000 cells on a busy machine was 9 ms apart.
const APART_US: u64 = 10_000;
/// The kernel accounts for a thread on another core once per tick, so an edge may miss a tick per core.
const TICK_US: u64 = 4_000;

/// What the account of a worker on so many cores may miss at the edges of a turn, in microseconds.
fn edges_us(cores: usize) -> u64 {
    APART_US.max(TICK_US * cores as u64)
}

/// The most of the time between the two looks at a process clock, beside the window, for which the clock may have more.
const MOST_BESIDE: Duration = Duration::from_millis(20);

/// CPU time of a turn that the process clock shows beyond the worker's account, in microseconds: the turn is charged with it, so an
/// account that ends early gains nothing. 0 if the edges may miss as much on so many cores.
pub fn untold_us(told_us: u64, clock_ns: u64, cores: usize) -> u64 {
    Some((clock_ns / 1_000).saturating_sub(told_us)).filter(|untold| *untold > edges_us(cores)).unwrap_or(0)
}

/// A sentence if the account of a worker on so many cores and its process clock are too far apart over several turns. What edges miss by
/// chance grows with the square root of the turns, and what is left out on purpose with the turns. For the time `beside` the window the
/// clock may have more, of all cores: a runtime collects garbage and compiles on other threads, and until the parent has a core it goes
/// on with that.
pub fn cpu_disagreement(told_us: u64, clock_ns: u64, turns: u32, cores: usize, beside: Duration) -> Option<String> {
    let clock_us = clock_ns / 1_000;
    let apart = told_us.abs_diff(clock_us);
    let beside_us = if told_us < clock_us { beside.as_secs_f64() * 1e6 * cores as f64 } else { 0.0 };
    let most_us = edges_us(cores) as f64 * f64::from(turns.max(1)).sqrt() + beside_us;
    (apart as f64 > most_us && apart * 100 > told_us.max(clock_us)).then(|| {
        format!(
            "The worker says that it used {:.3} s of CPU time in the window, its process clock says {:.3} s.",
            told_us as f64 / 1e6,
            clock_us as f64 / 1e6
        )
    })
}

/// A sentence if the part of a turn without its edges has more than the whole turn, or more CPU time than its cores gave.
fn more_than_the_turn(steady: &Steady, window: &Window) -> Option<String> {
    let (cpu_us, told_us) = (steady.cpu_ns / 1_000, window.end.user_us + window.end.sys_us);
    let cores = std::thread::available_parallelism().map_or(f64::INFINITY, |cores| cores.get() as f64);
    let is_more = steady.statements > window.issued
        || steady.wall_ns > window.end.wall_ns
        || cpu_us > told_us + APART_US
        || steady.cpu_ns as f64 > (steady.wall_ns + 1_000 * APART_US) as f64 * cores;
    is_more.then(|| {
        format!(
            "The worker reports {} statements, {:.3} s and {cpu_us} us of CPU time between the edges of its turn, which is more than the \
             turn had: {} statements, {:.3} s and {told_us} us.",
            steady.statements,
            steady.wall_ns as f64 / 1e9,
            window.issued,
            window.end.wall_ns as f64 / 1e9,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::{NO_PROCESS, window};
    use cqldyno_protocol::End;

    fn with(steady: Option<Steady>) -> Window {
        Window { end: End { steady, ..window().end }, ..window() }
    }

    /// What is said of a window whose process clock goes from 0 to so many nanoseconds.
    fn at(clock_ns: u64, window: &Window) -> Outcome {
        let now = Instant::now();
        figures(Ok((&(0, now), &(clock_ns, now))), window, 2)
    }

    #[test]
    fn the_clock_of_a_process_advances_while_it_works_and_is_an_error_when_it_is_gone() {
        let pid = std::process::id().cast_signed();
        let before = process_cpu_ns(pid).unwrap();
        let mut x = 0u64;
        while process_cpu_ns(pid).unwrap() < before + 1_000_000 {
            x = std::hint::black_box(x + 1);
        }
        assert!(process_cpu_ns(NO_PROCESS).is_err());
    }

    #[test]
    fn the_clock_of_a_child_can_be_read() {
        let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
        let read = process_cpu_ns(child.id().cast_signed());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(read.is_ok(), "{read:?}");
    }

    #[test]
    fn more_than_one_percent_apart_is_too_far_and_a_few_milliseconds_are_not() {
        let apart = |told_us, clock_ns, turns| cpu_disagreement(told_us, clock_ns, turns, 2, Duration::ZERO);
        assert_eq!(apart(2_000_000, 2_019_000_000, 1), None);
        assert_eq!(apart(10_000, 14_000_000, 1), None);
        assert_eq!(apart(702_000, 711_000_000, 1), None);
        assert!(apart(702_000, 713_000_000, 1).is_some());
        assert_eq!(apart(702_000, 713_000_000, 4), None);
        assert!(apart(702_000, 738_000_000, 4).is_some(), "nine milliseconds of each turn are left out");
        assert_eq!(cpu_disagreement(702_000, 717_000_000, 1, 4, Duration::ZERO), None, "a tick of each of four cores");
        let sentence = apart(1_000_000, 1_100_000_000, 1).unwrap();
        assert!(sentence.contains("1.000 s") && sentence.contains("1.100 s"), "{sentence}");
    }

    #[test]
    fn what_runs_before_and_after_the_window_is_not_missing_from_it() {
        let apart =
            |told_us, clock_ns, ms| cpu_disagreement(told_us, clock_ns, 1, 1, Duration::from_millis(ms)).is_some();
        assert!(apart(376_000, 400_000_000, 0));
        assert!(!apart(376_000, 400_000_000, 15), "one core gives 15 ms more");
        assert!(apart(400_000, 376_000_000, 15), "it does not say why the worker has more");
        let untold = |clock_ns, cores| untold_us(376_000, clock_ns, cores);
        assert_eq!((untold(400_000_000, 2), untold(386_000_000, 2), untold(400_000_000, 6)), (24_000, 0, 0));
        let (now, window) = (Instant::now(), window());
        let late = now + Duration::from_nanos(window.end.wall_ns) + Duration::from_mins(1);
        let clock_ns = (window.end.user_us + window.end.sys_us) * 1_000 + 500_000_000;
        let voids = figures(Ok((&(0, now), &(clock_ns, late))), &window, 2).voids;
        assert_eq!(voids.len(), 1, "a late `end` excuses little");
    }

    #[test]
    fn a_part_of_a_turn_that_has_more_than_the_turn_voids_it() {
        let voids = |wall_ns, cpu_ns, statements| {
            let steady = Some(Steady { wall_ns, cpu_ns, statements });
            at(1_000_000_000, &with(steady)).voids.len()
        };
        let (wall_ns, cpu_ns, statements) = (window().end.wall_ns, 900_000_000, 900_000);
        assert_eq!(voids(wall_ns, cpu_ns, statements), 0);
        assert_eq!(voids(wall_ns, cpu_ns, 1_000_001), 1, "statements");
        assert_eq!(voids(wall_ns + 1, cpu_ns, statements), 1, "time");
        assert_eq!(voids(wall_ns, 1_011_000_000, statements), 1, "CPU time");
        assert_eq!(voids(1, cpu_ns, statements), 1, "no cores give so much in a nanosecond");
    }

    #[test]
    fn cpu_time_a_statement_is_the_sum_over_the_verified_statements() {
        let outcome = at(1_000_000_000, &window());
        assert_eq!(outcome.readings[2].value, Ok(1.0));
        assert_eq!(outcome.readings[3].value, Ok(1.0));
    }

    #[test]
    fn the_edges_of_a_turn_are_in_its_sums_and_not_in_what_a_statement_costs() {
        let steady = Some(Steady { wall_ns: 900_000_000, cpu_ns: 810_000_000, statements: 900_000 });
        let outcome = at(1_000_000_000, &Window { tail_us: 500_000, ..with(steady) });
        let values = [2, 3].map(|at: usize| outcome.readings[at].value.clone().unwrap());
        assert_eq!(values[0], 1.5);
        assert!((values[1] - 1.4).abs() < 1e-9, "{values:?}");
    }

    #[test]
    fn what_a_worker_used_just_after_its_turn_is_charged_to_it_and_what_it_used_asleep_is_not() {
        let asleep = Asleep { cpu_us: 20_000, lasted: std::time::Duration::from_secs(2) };
        let window = Window { tail_us: 500_000, asleep: Some(asleep), ..window() };
        let outcome = at(1_000_000_000, &window);
        let values: Vec<_> = outcome.readings[2..].iter().map(|reading| reading.value.clone()).collect();
        assert_eq!(values, [Ok(1.5), Ok(1.5), Ok(0.5), Ok(1.0)]);
        assert!(outcome.voids.is_empty() && outcome.findings.is_empty(), "its clock is checked in the turn alone");
        assert!(at(0, &crate::meter::window()).readings[5].value.is_err());
    }

    #[test]
    fn a_worker_that_tells_of_less_than_its_clock_has_no_figures_and_one_that_tells_of_more_is_a_finding() {
        let read = |end_ns: u64| {
            let outcome = at(end_ns, &window());
            (outcome.findings.len(), outcome.voids.len())
        };
        assert_eq!(read(1_000_000_000), (0, 0));
        assert_eq!(read(1_100_000_000), (0, 1));
        assert_eq!(read(900_000_000), (1, 0));
    }
}
