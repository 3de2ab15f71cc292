//! What processes and meters of a cell reported, in the form that results hold.

use cqldyno_meter::{
    Asleep, Declaration, Outcome, Reading, Refusal, Seen, ServerWindow, Traffic, Window, busy_connections,
};
use cqldyno_protocol::{Done, End, Runtime};
use cqldyno_reports::measure::{
    BYTES_PER_READ, FRAMES_PER_READ, SERVER_CPU, SERVER_UTILISATION, THREADS, TO_REPLICA, TO_SHARD, WALL,
    WORKER_UTILISATION,
};
use cqldyno_reports::{ByName, ErrorLine, Measure, MeasureInfo, Unit};

use crate::judge::agreement::{Counted, Reads, grouped};
use crate::plan::placement::Placement;

/// More statements than this share issued below the concurrency are a finding.
const BELOW_CONCURRENCY_SHARE: f64 = 0.005;

/// The measure of what a worker used after its turn, which its CPU time holds.
const CPU_AFTER_TURN: &str = "cpu_after_turn";

/// Data connections to a cluster that is not ours, by the bytes that they carried.
pub(crate) fn busy(before: &Result<Traffic, Refusal>, after: &Result<Traffic, Refusal>) -> Result<u64, String> {
    let known = |edge: &'_ Result<Traffic, Refusal>| edge.as_ref().map_err(ToString::to_string).cloned();
    match busy_connections(&known(before)?, &known(after)?) {
        0 => {
            Err("The worker had no busy connection to the addresses of the target, so which ones it used is not known."
                .to_owned())
        }
        busy => Ok(busy),
    }
}

pub(crate) fn window_of(
    end: &End,
    done: &Done,
    counted: &Result<Counted, String>,
    connections: &Result<u64, String>,
    rows: Option<u64>,
    nodes: usize,
) -> Window {
    Window {
        end: end.clone(),
        issued: done.issued,
        verified: done.verified,
        errors: done.errors.values().map(|error| error.count).sum(),
        rows,
        below_concurrency: done.below_concurrency,
        polls: done.polls,
        allocations: done.allocations,
        sessions: 0,
        left_open: None,
        server: counted.as_ref().map_err(Clone::clone).map(|counted| ServerWindow {
            executes: counted.executes(),
            requests: counted.requests,
            opened: counted.opened,
            bytes: counted.bytes,
            busiest_share: counted.busiest_share(nodes),
            control_requests: counted.control_requests,
            prepares: counted.prepares(),
            own_statements: counted.own_statements,
            cpu_ns: counted.cpu_ns,
            received: counted.received,
        }),
        connections: connections.clone(),
        latencies: None,
        asleep: None,
        tail_us: 0,
        bad_day: None,
        skew: None,
    }
}

pub(crate) fn read(seen: Vec<Seen>, window: &Window) -> Outcome {
    let mut whole = Outcome::default();
    for outcome in seen.into_iter().map(|seen| seen(window)) {
        whole.readings.extend(outcome.readings);
        whole.findings.extend(outcome.findings);
        whole.voids.extend(outcome.voids);
        whole.breakdowns.extend(outcome.breakdowns);
        whole.series.extend(outcome.series);
        whole.files.extend(outcome.files);
    }
    whole
}

/// What the meters read, as `run.json` lists it.
pub(crate) fn measures() -> Vec<MeasureInfo> {
    cqldyno_meter::ALL.iter().flat_map(|meter| meter.measures).map(MeasureInfo::from).collect()
}

pub(crate) fn declared(id: &str) -> Option<&'static Declaration> {
    cqldyno_meter::ALL.iter().flat_map(|meter| meter.measures).find(|measure| measure.id == id)
}

/// A reading as results hold it.
pub(crate) fn measure(reading: &Reading) -> Measure {
    Measure::of(reading.value.clone(), reading.measure.unit)
}

/// How much a read of the server brought in the window, over all data connections.
pub(crate) fn reads(counted: &Result<Counted, String>) -> [(&'static str, Measure); 2] {
    let mean = |pick: fn(&Reads) -> u64, unit| {
        let reads = counted.as_ref().map(|counted| &counted.reads).map_err(Clone::clone);
        Measure::of(reads.map(|reads| pick(reads) as f64 / reads.count as f64), unit)
    };
    [
        (FRAMES_PER_READ, mean(|reads| reads.frames, Unit::Count)),
        (BYTES_PER_READ, mean(|reads| reads.bytes, Unit::Bytes)),
    ]
}

/// The shares of EXECUTEs that came to a replica and, where nodes have shards, to the right one; none where all places are right.
pub(crate) fn routes(counted: &Result<Counted, String>, has_shards: bool) -> Vec<(&'static str, Measure)> {
    let Ok(Counted { routed, .. }) = counted else { return Vec::new() };
    let share = |count: u64| Measure::value(100.0 * count as f64 / routed.keyed as f64, Unit::Percent);
    let shares = [(TO_REPLICA, share(routed.to_replica), true), (TO_SHARD, share(routed.to_shard), has_shards)];
    let known = shares.into_iter().filter(|(.., known)| *known && routed.keyed > 0);
    known.map(|(id, measure, _)| (id, measure)).collect()
}

/// How busy worker and server kept the cores that they could use, in percent; only where CPU time and wall time are known. The server
/// serves each of the `connections` on one core at a time; the worker uses as many as it has working threads. There are so many
/// `workers`, which have so many cores together.
pub(crate) fn utilisation(
    measures: &ByName<Measure>,
    placement: &Placement,
    (workers, worker_cores): (u64, usize),
    connections: u64,
) -> impl Iterator<Item = (&'static str, Measure)> {
    // What a worker used after its turn is no part of the window.
    let after = measures.get(CPU_AFTER_TURN).and_then(Measure::get).unwrap_or(0.0);
    let of = |cpu: &str, without: f64, cores: usize, most: f64| {
        let (cpu, wall) = (measures.get(cpu)?, measures.get(WALL)?);
        Some(match (cpu.get(), wall.get()) {
            (Some(cpu), Some(wall)) => {
                let could = wall * most.clamp(1.0, cores.max(1) as f64);
                Measure::value(100.0 * (cpu - without) / could, Unit::Percent)
            }
            _ => Measure::unavailable(cpu.reason().or(wall.reason()).unwrap_or_default()),
        })
    };
    let worker = measures.get(THREADS).and_then(|threads| match threads.get() {
        Some(threads) => {
            let each = working(threads / workers as f64, placement.arrangement.runtime);
            of("cpu", after, worker_cores, each * workers as f64)
        }
        None => Some(Measure::unavailable(threads.reason().unwrap_or_default())),
    });
    let server = of(SERVER_CPU, 0.0, placement.server.len(), connections as f64);
    let worker = worker.map(|measure| (WORKER_UTILISATION, measure));
    worker.into_iter().chain(server.map(|measure| (SERVER_UTILISATION, measure)))
}

/// Of the worker's `threads`, those that work in the window: the main thread only waits where the runtime has workers.
fn working(threads: f64, runtime: Runtime) -> f64 {
    let (waiting, workers) = match runtime {
        Runtime::Current => (0.0, 1.0),
        Runtime::Multi { workers } => (1.0, workers as f64),
    };
    workers + (threads - waiting - workers).max(0.0)
}

/// A finding when the slots were not at work for too many of the statements. The first one of each slot is always one of these.
pub(crate) fn below_concurrency(done: &Done, slots: usize) -> Option<String> {
    let below = done.below_concurrency?;
    let share = below.saturating_sub(slots as u64) as f64 / done.issued.max(1) as f64;
    (share > BELOW_CONCURRENCY_SHARE).then(|| {
        format!(
            "{} of {} statements were issued while fewer than 99 % of the slots were at work; with more statements the share \
             falls.",
            grouped(below),
            grouped(done.issued)
        )
    })
}

/// A worker that used more than this share of a core while it was asleep, or of what its turns took, did not sleep.
const ASLEEP_SHARE: f64 = 0.01;

/// A finding when the worker used much CPU time while it was asleep between turns that took `in_turns_us`. No statement is charged with it.
pub(crate) fn worked_asleep(asleep: Asleep, in_turns_us: u64) -> Option<String> {
    let share = asleep.share()?;
    let of_turns = asleep.cpu_us as f64 / in_turns_us.max(1) as f64;
    (share > ASLEEP_SHARE || of_turns > ASLEEP_SHARE).then(|| {
        format!(
            "It used {:.1} % of a core while it was asleep between its turns, {:.1} % of what these took. That is idle CPU time, with \
             which no statement is charged.",
            share * 100.0,
            of_turns * 100.0
        )
    })
}

/// What a worker may use before its first turn and after the end of each, per turn in microseconds: it encodes its histograms then.
const EDGES_US: u64 = 5_000;

/// A finding when the worker used much CPU time beside its `turns`: after `ready` and before the first `go`, or between an `end` and
/// its `done`. No figure holds that time.
pub(crate) fn worked_beside(beside_us: u64, in_turns_us: u64, turns: u32) -> Option<String> {
    let most = (in_turns_us as f64 * ASLEEP_SHARE) as u64 + EDGES_US * u64::from(turns);
    (beside_us > most).then(|| {
        format!(
            "It used {:.3} s of CPU time before its first turn and after the ends of turns, which no figure holds; its turns took {:.3} s.",
            beside_us as f64 / 1e6,
            in_turns_us as f64 / 1e6
        )
    })
}

/// Errors by kind, in the protocol's words, their messages as `redact` leaves them.
pub(crate) fn errors(done: &Done, redact: &dyn Fn(&str) -> String) -> Vec<ErrorLine> {
    done.errors
        .iter()
        .map(|(kind, error)| ErrorLine {
            kind: serde_json::to_value(kind)
                .ok()
                .and_then(|value| value.as_str().map(str::to_owned))
                .unwrap_or_else(|| kind.to_string()),
            count: error.count,
            first: redact(&error.first),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use cqldyno_cluster::Routed;

    use super::*;
    use crate::judge::redaction::Redaction;

    #[test]
    fn a_read_of_the_server_has_a_mean_of_frames_and_bytes_or_says_why_not() {
        let reads = |count, frames, bytes| Reads { count, frames, bytes };
        let counted = Counted { reads: reads(4, 50, 2_000), ..Counted::default() };
        let [frames, bytes] = super::reads(&Ok(counted));
        assert_eq!(frames, (FRAMES_PER_READ, Measure::value(12.5, Unit::Count)));
        assert_eq!(bytes, (BYTES_PER_READ, Measure::value(500.0, Unit::Bytes)));
        for none in [Ok(Counted::default()), Err("The target is not ours.".to_owned())] {
            assert!(super::reads(&none).iter().all(|(_, measure)| measure.reason().is_some()), "{none:?}");
        }
    }

    #[test]
    fn routes_are_shares_of_the_executes_whose_key_is_known() {
        let routed = Routed { keyed: 8, to_replica: 6, to_shard: 2 };
        let counted = Ok(Counted { routed, ..Counted::default() });
        let percent = |value| Measure::value(value, Unit::Percent);
        assert_eq!(routes(&counted, false), [(TO_REPLICA, percent(75.0))]);
        assert_eq!(routes(&counted, true), [(TO_REPLICA, percent(75.0)), (TO_SHARD, percent(25.0))]);
        assert_eq!(routes(&Ok(Counted::default()), true), [], "one node checks nothing");
        assert_eq!(routes(&Err("The target is not ours.".to_owned()), true), []);
    }

    #[test]
    fn idle_slots_are_told_of_unless_it_is_for_the_first_statement_of_each() {
        let of = |below| {
            let done = Done { issued: 50_000, below_concurrency: Some(below), ..Done::default() };
            below_concurrency(&done, 1_024)
        };
        assert_eq!(of(1_024 + 250), None);
        assert!(of(1_024 + 251).unwrap().starts_with("1,275 of 50,000 statements were issued while fewer than 99 %"));
    }

    #[test]
    fn a_worker_that_does_not_sleep_between_its_turns_is_told_of() {
        let of = |cpu_us, in_turns_us| {
            worked_asleep(Asleep { cpu_us, lasted: std::time::Duration::from_secs(1) }, in_turns_us)
        };
        assert_eq!((of(10_000, 1_000_000), worked_asleep(Asleep::default(), 0)), (None, None));
        assert!(of(250_000, 50_000_000).unwrap().starts_with("It used 25.0 % of a core while it was asleep"));
        assert!(of(5_000, 100_000).unwrap().contains("between its turns, 5.0 % of what these took."));
    }

    #[test]
    fn what_a_worker_does_beside_its_turns_is_told_unless_it_is_little() {
        assert_eq!(worked_beside(34_000, 1_000_000, 5), None);
        let sentence = worked_beside(36_000, 1_000_000, 5).unwrap();
        assert!(sentence.starts_with("It used 0.036 s of CPU time before its first turn"), "{sentence}");
    }

    #[test]
    fn utilisation_is_the_cpu_time_over_the_time_of_the_cores_that_each_could_use() {
        let placement = Placement {
            arrangement: "pinned+multi:3".parse().unwrap(),
            worker: vec![1, 2, 3],
            server: vec![0],
            note: None,
        };
        let mut measures = window_with(2.0, 3.0, 1.5, 4.0);
        let found = |measures: &ByName<Measure>| utilisation(measures, &placement, (1, 3), 1).collect::<Vec<_>>();
        let percent = |value| Measure::value(value, Unit::Percent);
        assert_eq!(found(&measures), [("worker_utilisation", percent(50.0)), ("server_utilisation", percent(75.0))]);
        measures.insert(CPU_AFTER_TURN.to_owned(), Measure::value(1.5, Unit::Seconds));
        assert_eq!(found(&measures)[0].1, percent(25.0), "what it did after its turn does not count");
        measures.insert("server_cpu".to_owned(), Measure::unavailable("The target is not ours."));
        assert_eq!(found(&measures)[1].1.reason(), Some("The target is not ours."));
        measures.insert("threads".to_owned(), Measure::unavailable("It is gone."));
        assert_eq!(found(&measures)[0].1.reason(), Some("It is gone."));
        assert_eq!(found(&ByName::default()), [], "a counting cell has no times");
    }

    /// The measures of a window with these times in seconds, and so many threads of the worker.
    fn window_with(wall: f64, cpu: f64, server_cpu: f64, threads: f64) -> ByName<Measure> {
        let times = [("wall", wall), ("cpu", cpu), ("server_cpu", server_cpu)];
        let times = times.map(|(id, value)| (id.to_owned(), Measure::value(value, Unit::Seconds)));
        times.into_iter().chain([("threads".to_owned(), Measure::value(threads, Unit::Count))]).collect()
    }

    #[test]
    fn on_many_cores_a_saturated_side_is_seen_by_what_it_can_use_of_them() {
        let percent = |arrangement: &str, connections, cpu, server_cpu, threads| {
            let all: Vec<usize> = (0..16).collect();
            let placement =
                Placement { arrangement: arrangement.parse().unwrap(), worker: all.clone(), server: all, note: None };
            let measures = window_with(1.0, cpu, server_cpu, threads);
            let found: Vec<f64> = utilisation(&measures, &placement, (1, 16), connections)
                .filter_map(|(_, measure)| measure.get())
                .collect();
            (found[0].round(), found[1].round())
        };
        assert_eq!(percent("current", 1, 0.97, 0.5, 1.0), (97.0, 50.0), "one thread, and one connection");
        assert_eq!(percent("multi:2", 1, 1.0, 0.95, 3.0), (50.0, 95.0), "the main thread waits");
        assert_eq!(percent("multi:2", 4, 1.0, 2.0, 2.0), (50.0, 50.0), "not fewer than the runtime's workers");
        assert_eq!(percent("current", 1, 0.9, 0.5, 3.0), (30.0, 50.0), "two threads of the driver's own");
        assert_eq!(percent("multi:64", 64, 8.0, 8.0, 65.0), (50.0, 50.0), "no more than there are cores");
    }

    #[test]
    fn errors_have_the_protocols_kinds_and_no_password() {
        let error = cqldyno_protocol::ErrorCount { count: 3, first: "bad s3cret".to_owned() };
        let done = Done { errors: [(cqldyno_driver_api::ErrorKind::RequestTimeout, error)].into(), ..Done::default() };
        let redaction = Redaction::of(Some("s3cret"));
        let lines = errors(&done, &|text| redaction.apply(text));
        assert_eq!((lines[0].kind.as_str(), lines[0].first.as_str()), ("request_timeout", "bad ***"));
    }
}
