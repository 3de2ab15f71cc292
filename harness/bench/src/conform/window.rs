//! The plays that have windows.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use cqldyno_cluster::Snapshot;
use cqldyno_driver_api::{Capability, ErrorKind};
use cqldyno_meter::{CPU_TIME, Seen, Subject, WALL, process_cpu_ns};
use cqldyno_protocol::{Done, End, Mode, Ready, tickets};
use cqldyno_scenarios::Scenario;

use super::check::Check;
use super::stage::{Stage, histogram, untimely};
use super::{COUNT, ENDLESS, Ends, LONG_TAPE, Play, WARMUP};
use crate::judge::ReadBack;
use crate::judge::agreement::{answers_void, connection_void, grouped, issued_voids};
use crate::judge::merged::add_counts;
use crate::judge::readings::{read, window_of};
use crate::plan::pass::Shape;
use crate::process::failure::CellFailure;
use crate::process::worker::Worker;

/// How long a window lasts until it is stopped.
const STOP_AFTER: Duration = Duration::from_secs(1);
/// A tape that ended before its stop is made again, longer than the stop by this slack, and at most by this factor.
const STOP_SLACK: Duration = Duration::from_millis(150);
const LONGER_TAPES: f64 = 32.0;
/// Statements of a window with a rate, and the rate.
const RATE: u64 = 1_000;
/// Turns, and the statements of each.
const TURNS: u32 = 3;
const TURN_COUNT: u64 = 2_000;
/// How long a worker sleeps between two turns, and the share of it that it may work.
const ASLEEP: Duration = Duration::from_millis(200);
const AWAKE_SHARE: f64 = 0.05;
/// The share of it that a thread may wait for a core: on a busy machine a worker that never sleeps uses little and waits for most of it.
const WAITING_SHARE: f64 = 0.5;
/// How often what hangs on a clock is looked at before it deviates: a busy machine charges a process with the time of others, now and then.
const LOOKS: u32 = 3;
/// Statements of a window whose rows are altered, and of one with another operation.
const ALTERED_COUNT: u64 = 300;
const OPERATION_COUNT: u64 = 50;
/// The scenario with altered rows.
const ALTERED: &str = include_str!("altered.toml");
/// The scenarios of the operations that a worker may declare.
const OPERATIONS: [(Capability, &str); 4] = [
    (Capability::Batch, "batch"),
    (Capability::Prepare, "prepare"),
    (Capability::Unprepared, "unprepared"),
    (Capability::Connect, "connect"),
];
const NO_SERVER: &str = "noop sends nothing.";

struct Stopped {
    deviations: Vec<String>,
    /// What its clocks say.
    clocks: Vec<String>,
    /// How long it took, if it ended by itself before.
    whole: Option<Duration>,
}

struct Waiting<'a> {
    worker: Worker<'a>,
    /// Data connections that are due.
    connections: usize,
    before: Option<Snapshot>,
}

impl<'a> Play<'a> {
    fn waiting(&mut self, check: Check, title: &str, stage: &Stage, turns: u32) -> Result<Waiting<'a>, Ends> {
        let mut worker = self.open(check, title)?;
        let Ready { connections, .. } = self.of(check, worker.job(self.job(stage, turns), &mut || None))?;
        Ok(Waiting { worker, connections: connections.unwrap_or(stage.connections), before: stage.snapshot() })
    }

    /// The exit after the last `done`. One deviation is enough: a worker that does not exit takes long.
    fn exit(&mut self, worker: Worker<'_>) {
        if !self.findings.deviates(Check::Exit) {
            self.findings.judge(Check::Exit, worker.finish());
        }
    }

    fn window(&mut self, check: Check, title: &str, stage: &Stage) -> Result<(Waiting<'a>, End, Done), Ends> {
        let mut waiting = self.waiting(check, title, stage, 1)?;
        let (end, done) = self.ran(check, &mut waiting.worker)?;
        Ok((waiting, end, done))
    }

    fn ran(&mut self, check: Check, worker: &mut Worker<'_>) -> Result<(End, Done), Ends> {
        let end = self.of(check, worker.go(&mut || None, |_| ()))?;
        Ok((end, self.of(check, worker.ack())?))
    }

    /// One window of inserts and selects, in which each step is a check of its own.
    pub(super) fn cell(&mut self) -> Result<(), Ends> {
        let stage = self.stage("mixed", COUNT, WARMUP, Shape::Closed)?;
        let Waiting { mut worker, connections, before } =
            self.waiting(Check::Ready, "A window of inserts and selects", &stage, 1)?;
        self.findings.judge(Check::Ready, None);
        let end = self.of(Check::Window, worker.go(&mut || None, |_| ()))?;
        let idle = (end.wall_ns == 0).then(|| "The window took no time at all (`wall_ns` of `end` is 0).".to_owned());
        self.findings.judge(Check::Window, idle);
        let done = self.of(Check::Done, worker.ack())?;
        let by_second: u64 = done.per_second.iter().sum();
        let series = (!done.per_second.is_empty() && by_second != done.answered).then(|| {
            format!(
                "`per_second` adds up to {} answers, and the worker says that {} statements were answered.",
                grouped(by_second),
                grouped(done.answered)
            )
        });
        self.findings.judge(Check::Done, series);
        self.exit(worker);
        let counted = stage.counted(before.as_ref());
        let mut count = issued_voids(&done, COUNT);
        let mut rows: Vec<String> = answers_void(&done).into_iter().collect();
        match &counted {
            Some(counted) => {
                count.extend(counted.disagreements(&stage.scenario, &stage.workload, &done));
                count.extend(counted.own_statements_void(done.issued, 0, end.wall_ns));
                count.extend(counted.rows_void(&stage.scenario, &stage.workload, &done));
                let found = connection_void(counted.connections, connections as u64, 1, 0, true);
                self.findings.judge(Check::Connections, found);
                let read = self.bench.floor(&stage, Mode::ReadBack).map_err(Ends::All)?;
                rows.extend(ReadBack::of(read).doubt);
            }
            None => self.findings.leave_out(Check::Connections, NO_SERVER),
        }
        self.findings.judge(Check::Count, count);
        match (counted, rows.is_empty()) {
            (None, true) => self.findings.leave_out(Check::Rows, NO_SERVER),
            _ => self.findings.judge(Check::Rows, rows),
        }
        match &done.histogram {
            Some(_) => {
                let times = untimely(&done, end.wall_ns, stage.load.concurrency).filter(|_| stage.node.is_some());
                self.findings.judge(Check::Histogram, histogram(&done).into_iter().chain(times));
            }
            None => self.findings.leave_out(Check::Histogram, "`done` has none, which is optional."),
        }
        Ok(())
    }

    /// Rows of which two thirds are not as expected.
    pub(super) fn altered(&mut self) -> Result<(), Ends> {
        if self.is_offline() {
            return Ok(());
        }
        let scenario = Scenario::from_toml(ALTERED, "altered");
        let scenario = scenario.map_err(|error| Ends::All(CellFailure::Machine(error.to_string())))?;
        let stage = self.stage_of(&scenario, ALTERED_COUNT, 0, Shape::Closed)?;
        let (waiting, _, done) = self.window(Check::Rows, "Rows that are not as expected", &stage)?;
        let due = ALTERED_COUNT - stage.workload.share(0);
        let found = done.errors.get(&ErrorKind::WrongRow).map_or(0, |error| error.count);
        let unchecked = (found != due || done.verified != ALTERED_COUNT - due).then(|| {
            format!(
                "Of {ALTERED_COUNT} rows {} had another value in the last column and {} were missing, and the worker says that {found} were \
                 wrong (`wrong_row`) and {} right; compare every column of every row with `expect`.",
                stage.workload.share(1),
                stage.workload.share(2),
                done.verified
            )
        });
        self.findings.judge(Check::Rows, unchecked);
        self.exit(waiting.worker);
        Ok(())
    }

    /// Batches, PREPAREs, unprepared statements and sessions, as far as the worker declares them.
    pub(super) fn operations(&mut self) -> Result<(), Ends> {
        let declared = |one: &&(Capability, &str)| {
            self.hello.as_ref().is_some_and(|hello| hello.driver.capabilities.contains(&one.0))
        };
        let declared: Vec<&str> = OPERATIONS.iter().filter(declared).map(|(_, scenario)| *scenario).collect();
        if declared.is_empty() {
            self.findings.leave_out(Check::Operations, "It declares none besides `execute`, which are optional.");
        }
        for scenario in declared {
            // A driver need not use every connection for so few.
            let stage = Stage { connections: 1, ..self.stage(scenario, OPERATION_COUNT, 20, Shape::Closed)? };
            let title = format!("The operation `{scenario}`");
            let (waiting, end, done) = self.window(Check::Operations, &title, &stage)?;
            let counted = stage.counted(waiting.before.as_ref());
            let account = (&done, end.wall_ns);
            let found = stage.deviations(stage.load.count, account, counted.as_ref(), waiting.connections);
            self.findings.judge(Check::Operations, found);
            self.exit(waiting.worker);
        }
        Ok(())
    }

    /// A window without end, until `stop`. The tape of a worker that answers by itself ends by then: the next one is as much longer, and
    /// is stopped sooner.
    pub(super) fn stopped(&mut self) -> Result<(), Ends> {
        let (mut tape, mut after) = (LONG_TAPE, STOP_AFTER);
        for look in 1..=LOOKS {
            let Stopped { deviations, clocks, whole } = self.stopped_once(tape, after)?;
            if let Some(took) = whole.filter(|_| self.plays() && look < LOOKS) {
                after = took.min(STOP_AFTER) / 2;
                let longer = (after * 2 + STOP_SLACK).as_secs_f64() / took.as_secs_f64().max(f64::MIN_POSITIVE);
                tape = (tape as f64 * longer.clamp(1.0, LONGER_TAPES)) as u64;
                continue;
            }
            let is_last = clocks.is_empty() || !deviations.is_empty() || look == LOOKS;
            self.findings.judge(Check::Stop, deviations);
            if is_last {
                self.findings.judge(Check::Time, clocks);
                break;
            }
        }
        Ok(())
    }

    fn stopped_once(&mut self, tape: u64, after: Duration) -> Result<Stopped, Ends> {
        let stage = self.stage("writes", if self.plays() { tape } else { ENDLESS }, WARMUP, Shape::Closed)?;
        let title = format!("A window that is stopped after {} s", after.as_secs_f64());
        let Waiting { mut worker, connections, before } = self.waiting(Check::Stop, &title, &stage, 1)?;
        let subject = Subject {
            worker: worker.pid(),
            server: Err(NO_SERVER.to_owned()),
            cores: Vec::new(),
            scratch: std::env::temp_dir(),
            nodes: Vec::new(),
        };
        let mut clocks = [WALL, CPU_TIME].map(|meter| meter.attach(&subject));
        clocks.iter_mut().for_each(|clock| clock.at_go());
        let end = self.of(Check::Stop, worker.go_and_stop(after))?;
        let seen: Vec<Seen> = clocks.iter_mut().map(|clock| clock.at_end()).collect();
        let done = self.of(Check::Stop, worker.ack())?;
        let counted = stage.counted(before.as_ref());
        let mut found = stage.deviations(done.issued, (&done, end.wall_ns), counted.as_ref(), connections);
        let is_whole = done.issued == stage.load.count;
        if done.issued == 0 || is_whole {
            found.push(format!("The window was stopped, and the worker says that it issued {}.", grouped(done.issued)));
        }
        let counted = counted.ok_or_else(|| NO_SERVER.to_owned());
        let window = window_of(&end, &done, &counted, &Err(NO_SERVER.to_owned()), None, 1);
        self.exit(worker);
        let whole = is_whole.then(|| Duration::from_nanos(end.wall_ns));
        Ok(Stopped { deviations: found, clocks: read(seen, &window).voids, whole })
    }

    /// A window with a rate, unless the worker refuses it.
    pub(super) fn paced(&mut self) -> Result<(), Ends> {
        let stage = self.stage("writes", RATE, WARMUP, Shape::AtRate(RATE))?;
        let mut worker = self.open(Check::Rate, "A window with a rate")?;
        let Ok(ready) = self.of(Check::Rate, worker.offer(self.job(&stage, 1), &mut || None))? else {
            self.findings.leave_out(Check::Rate, "It refuses a rate, which is optional.");
            return Ok(());
        };
        let before = stage.snapshot();
        let (end, done) = self.ran(Check::Rate, &mut worker)?;
        let counted = stage.counted(before.as_ref());
        let due = ready.connections.unwrap_or(stage.connections);
        let mut found = stage.deviations(RATE, (&done, end.wall_ns), counted.as_ref(), due);
        let histograms = done.pace.iter().flat_map(|pace| [("response", &pace.response), ("lateness", &pace.lateness)]);
        for (name, text) in histograms {
            let of = Done { histogram: Some(text.clone()), answered: done.answered, ..Done::default() };
            found.extend(histogram(&of).map(|why| format!("The field `{name}` of `pace`: {why}")));
        }
        self.findings.judge(Check::Rate, found);
        self.exit(worker);
        Ok(())
    }

    pub(super) fn turns(&mut self) -> Result<(), Ends> {
        if !self.hello.as_ref().is_some_and(|hello| hello.turns) {
            self.findings.leave_out(Check::Turns, "It takes no turns, which are optional: it is compared in cells.");
            return Ok(());
        }
        let stage = self.stage("mixed", TURN_COUNT * u64::from(TURNS), WARMUP, Shape::Closed)?;
        let mut waiting = self.waiting(Check::Turns, &format!("A job of {TURNS} turns"), &stage, TURNS)?;
        let mut whole = Done::default();
        for nth in 0..TURNS {
            let before = stage.snapshot();
            let (end, done) = self.turn(&mut waiting.worker, nth)?;
            let asked = tickets(stage.load.count, TURNS, nth);
            let counted = stage.counted(before.as_ref());
            let account = (&done, end.wall_ns);
            let found = stage.deviations(asked.end - asked.start, account, counted.as_ref(), waiting.connections);
            self.findings
                .judge(Check::Turns, found.into_iter().map(|found| format!("Turn {} of {TURNS}: {found}", nth + 1)));
            add_counts(&mut whole, &done);
            if nth + 1 < TURNS {
                self.findings.judge(Check::Turns, awake(waiting.worker.pid()));
            }
        }
        let counted = stage.counted(waiting.before.as_ref());
        let found = counted.iter().flat_map(|counted| counted.disagreements(&stage.scenario, &stage.workload, &whole));
        self.findings.judge(Check::Turns, found.map(|found| format!("Over all its turns: {found}")));
        self.exit(waiting.worker);
        Ok(())
    }

    fn turn(&mut self, worker: &mut Worker<'_>, nth: u32) -> Result<(End, Done), Ends> {
        let turn = |worker: &mut Worker<'_>| {
            worker.wake()?;
            let end = worker.go(&mut || None, |_| ())?;
            Ok((end, worker.ack()?))
        };
        let told = |failure: CellFailure| match failure {
            CellFailure::Worker(why) => CellFailure::Worker(format!("Turn {} of {TURNS}: {why}", nth + 1)),
            other => other,
        };
        let turn = turn(worker).map_err(told);
        self.of(Check::Turns, turn)
    }

    /// A parent that is gone before `go`.
    pub(super) fn abandoned(&mut self) -> Result<(), Ends> {
        let stage = self.stage("writes", COUNT, WARMUP, Shape::Closed)?;
        let waiting = self.waiting(Check::Parent, "A parent that is gone", &stage, 1)?;
        self.findings.judge(Check::Parent, waiting.worker.abandon());
        Ok(())
    }
}

/// Why the worker does not sleep between its turns, if so.
fn awake(pid: i32) -> Option<String> {
    let mut found = None;
    for _ in 0..LOOKS {
        let (used, before) = (process_cpu_ns(pid).ok()?, waits(pid));
        std::thread::sleep(ASLEEP);
        let used = Duration::from_nanos(process_cpu_ns(pid).ok()?.saturating_sub(used));
        found = restless(used, longest_wait(&before, &waits(pid)));
        found.as_ref()?;
    }
    found
}

/// Why a worker was not asleep, after its CPU time and the longest wait of a thread for a core; `None` if it was.
fn restless(used: Duration, waited: Duration) -> Option<String> {
    let did = if used > ASLEEP.mul_f64(AWAKE_SHARE) {
        format!("used {:.3} s of CPU time", used.as_secs_f64())
    } else if waited > ASLEEP.mul_f64(WAITING_SHARE) {
        format!("had a thread that was ready to run and waited {:.3} s for a core", waited.as_secs_f64())
    } else {
        return None;
    };
    Some(format!("The worker {did} in {:.3} s between two of its turns; it must sleep there.", ASLEEP.as_secs_f64()))
}

/// How long each thread of a process was ready to run and waited for a core so far, in nanoseconds, after proc(5).
fn waits(pid: i32) -> BTreeMap<OsString, u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let each = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        Some((task.file_name(), text.split(' ').nth(1)?.parse().ok()?))
    });
    each.collect()
}

/// The longest wait of one thread since `before`: many threads that sleep wait a little each.
fn longest_wait(before: &BTreeMap<OsString, u64>, after: &BTreeMap<OsString, u64>) -> Duration {
    let each = after.iter().map(|(thread, waited)| waited.saturating_sub(before.get(thread).copied().unwrap_or(0)));
    Duration::from_nanos(each.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_asleep_if_none_of_its_threads_waits_long_and_else_it_says_which_time_was_too_much() {
        let of = |threads: &[(&str, u64)]| -> BTreeMap<OsString, u64> {
            threads.iter().map(|(id, ms)| ((*id).into(), ms * 1_000_000)).collect()
        };
        let before = of(&[("1", 900), ("2", 5)]);
        let many: Vec<(String, u64)> = (0..100).map(|id| (id.to_string(), 10)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|(id, ms)| (id.as_str(), *ms)).collect();
        assert_eq!(restless(Duration::ZERO, longest_wait(&before, &of(&many))), None);
        let waited = longest_wait(&before, &of(&[("1", 930), ("2", 155), ("3", 20)]));
        assert_eq!(
            restless(Duration::from_millis(4), waited).unwrap(),
            "The worker had a thread that was ready to run and waited 0.150 s for a core in 0.200 s between two of its turns; it must \
             sleep there."
        );
        assert_eq!(
            restless(Duration::from_millis(50), waited).unwrap(),
            "The worker used 0.050 s of CPU time in 0.200 s between two of its turns; it must sleep there."
        );
    }
}
