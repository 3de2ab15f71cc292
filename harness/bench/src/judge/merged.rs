//! Several loaders as one worker: counts and times add up, histograms are added, and figures per statement are weighed by statements.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cqldyno_meter::{Declaration, NOISE, Outcome, Reading, Skew};
use cqldyno_protocol::{Allocations, Done, End, ErrorCount, Pace, RuntimeShare, Steady};
use cqldyno_reports::RoundCores;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

use crate::judge::latency::read;
use crate::judge::readings::declared;

/// What one loader's meters read in a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Metered {
    /// CPU time in the turn by the worker's process clock.
    pub clock_ns: Option<u64>,
    /// Connections that carried statements, or why they are not known.
    pub connections: Result<u64, String>,
    /// By the ids of measures.
    pub readings: BTreeMap<String, Result<f64, String>>,
    pub breakdowns: BTreeMap<String, BTreeMap<String, f64>>,
    pub series: BTreeMap<String, Vec<u64>>,
    pub findings: Vec<String>,
    pub voids: Vec<String>,
}

/// Loaders on one machine, or beside the cluster, are each other's other processes.
const SHARED: &str = "Loaders share a machine, so what other processes used of it is not told apart.";

/// What a round had of the cores of all hosts: of those where others used the largest share. The witness is the mean of all, which have
/// equal parts of the load.
pub(crate) fn cores(rounds: Vec<(String, RoundCores)>) -> RoundCores {
    let (mut worst, mut highest) = (None, -1.0);
    let (number, mut witnesses) = (rounds.len(), Vec::new());
    for (host, round) in rounds {
        match round {
            RoundCores::Unknown { unavailable } => {
                return RoundCores::Unknown { unavailable: format!("On {host}: {unavailable}") };
            }
            RoundCores::Found { cores, wall_s, others_s, steal_s, witness_us, .. } => {
                witnesses.extend(witness_us);
                let share = (others_s + steal_s) / (wall_s * f64::from(cores));
                if share > highest {
                    highest = share;
                    worst = Some((cores, host, wall_s, others_s, steal_s));
                }
            }
        }
    }
    let Some((cores, host, wall_s, others_s, steal_s)) = worst else {
        return RoundCores::Unknown { unavailable: "No host told of its cores.".to_owned() };
    };
    let mean = witnesses.iter().sum::<f64>() / witnesses.len() as f64;
    let witness_us = (witnesses.len() == number).then_some(mean);
    RoundCores::Found { cores, host: Some(host), wall_s, others_s, steal_s, witness_us }
}

/// The window of all, from the first start to the last end; `ends` have their `at_ns` by one clock.
pub(crate) fn end(ends: &[End]) -> (End, Skew) {
    let edges = || ends.iter().map(|end| (end.at_ns.unwrap_or(0).saturating_sub(end.wall_ns), end.at_ns.unwrap_or(0)));
    let (first, started) = (edges().map(|(start, _)| start).min(), edges().map(|(start, _)| start).max());
    let (ended, last) = (edges().map(|(_, end)| end).min(), edges().map(|(_, end)| end).max());
    let between = |from: Option<u64>, to: Option<u64>| to.unwrap_or(0).saturating_sub(from.unwrap_or(0));
    let sum = |of: fn(&End) -> u64| ends.iter().map(of).sum();
    let whole = End {
        wall_ns: between(first, last),
        at_ns: last,
        user_us: sum(|end| end.user_us),
        sys_us: sum(|end| end.sys_us),
        voluntary_switches: sum(|end| end.voluntary_switches),
        involuntary_switches: sum(|end| end.involuntary_switches),
        minor_faults: sum(|end| end.minor_faults),
        major_faults: sum(|end| end.major_faults),
        steady: ends.iter().map(|end| end.steady).collect::<Option<Vec<_>>>().and_then(|parts| steady(&parts)),
    };
    (whole, Skew { starts_ns: between(first, started), ends_ns: between(ended, last) })
}

/// Statements and CPU time are sums. The wall time is that in which the loaders, at the sum of their rates, issue all statements.
fn steady(parts: &[Steady]) -> Option<Steady> {
    let per_ns: f64 = parts.iter().map(|part| part.statements as f64 / part.wall_ns.max(1) as f64).sum();
    let statements = parts.iter().map(|part| part.statements).sum::<u64>();
    let wall_ns = (statements as f64 / per_ns).round();
    (per_ns > 0.0).then(|| Steady {
        wall_ns: wall_ns as u64,
        cpu_ns: parts.iter().map(|part| part.cpu_ns).sum(),
        statements,
    })
}

/// The account of all.
///
/// # Errors
/// A sentence when a histogram cannot be read.
pub(crate) fn done(parts: &[Done]) -> Result<Done, String> {
    let mut whole = Done { below_concurrency: Some(0), polls: Some(0), ..Done::default() };
    for part in parts {
        add_counts(&mut whole, part);
        whole.threads += part.threads;
        whole.below_concurrency = whole.below_concurrency.zip(part.below_concurrency).map(|(sum, one)| sum + one);
        whole.polls = whole.polls.zip(part.polls).map(|(sum, one)| sum + one);
        add(&mut whole.per_second, &part.per_second);
    }
    let all = |of: fn(&Done) -> Option<&str>| parts.iter().filter_map(of).collect::<Vec<_>>();
    whole.histogram = histogram(&all(|part| part.histogram.as_deref()))?;
    whole.pace = pace(parts)?;
    whole.allocations = parts.iter().filter_map(|part| part.allocations).reduce(|one, other| Allocations {
        count: one.count + other.count,
        bytes: one.bytes + other.bytes,
        frees: one.frees + other.frees,
    });
    let plus = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
    whole.runtime = parts.iter().filter_map(|part| part.runtime).reduce(|one, other| RuntimeShare {
        gc_cpu_ns: plus(one.gc_cpu_ns, other.gc_cpu_ns),
        jit_cpu_ns: plus(one.jit_cpu_ns, other.jit_cpu_ns),
    });
    Ok(whole)
}

/// Adds statements, answers and errors of one account to another.
pub(crate) fn add_counts(sum: &mut Done, one: &Done) {
    sum.issued += one.issued;
    sum.answered += one.answered;
    sum.verified += one.verified;
    for (name, count) in &one.issued_by_statement {
        *sum.issued_by_statement.entry(name.clone()).or_default() += count;
    }
    for (kind, error) in &one.errors {
        let sum = sum.errors.entry(*kind).or_insert_with(|| ErrorCount { count: 0, ..error.clone() });
        sum.count += error.count;
    }
}

fn pace(parts: &[Done]) -> Result<Option<Pace>, String> {
    let paces: Vec<&Pace> = parts.iter().filter_map(|part| part.pace.as_ref()).collect();
    if paces.len() < parts.len() {
        return Ok(None);
    }
    let all = |of: fn(&Pace) -> &str| histogram(&paces.iter().map(|pace| of(pace)).collect::<Vec<_>>());
    Ok(all(|pace| &pace.response)?.zip(all(|pace| &pace.lateness)?).map(|(response, lateness)| Pace {
        rate: paces.iter().map(|pace| pace.rate).sum(),
        lasted_ns: paces.iter().map(|pace| pace.lasted_ns).max().unwrap_or(0),
        response,
        lateness,
        late_after_ns: paces.iter().map(|pace| pace.late_after_ns).max().unwrap_or(0),
        late: paces.iter().map(|pace| pace.late).sum(),
        latest_ns: paces.iter().map(|pace| pace.latest_ns).max().unwrap_or(0),
    }))
}

/// The sum of histograms, as a worker would send it; `None` without any.
fn histogram(texts: &[&str]) -> Result<Option<String>, String> {
    let unread = |error: &dyn std::fmt::Debug| format!("The histograms of the loaders cannot be added: {error:?}.");
    let mut sum = None;
    for text in texts {
        let one = read(text)?;
        match &mut sum {
            None => sum = Some(one),
            Some(sum) => {
                sum.auto(true);
                sum.add(one).map_err(|error| unread(&error))?;
            }
        }
    }
    let Some(sum) = sum else { return Ok(None) };
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&sum, &mut bytes).map_err(|error| unread(&error))?;
    Ok(Some(STANDARD.encode(bytes)))
}

fn add(sum: &mut Vec<u64>, values: &[u64]) {
    sum.resize(sum.len().max(values.len()), 0);
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// Adds what loaders read of their workers to what was read here; each with its host and its verified statements.
pub(crate) fn add_readings(outcome: &mut Outcome, parts: &[(&str, u64, &Metered)], is_shared: bool) {
    let ids: BTreeSet<&str> = parts.iter().flat_map(|(_, _, part)| part.readings.keys().map(String::as_str)).collect();
    for id in ids {
        let Some(measure) = declared(id).filter(|_| !outcome.readings.iter().any(|one| one.measure.id == id)) else {
            continue;
        };
        let of_loader = |(_, verified, part): &(&str, u64, &Metered)| {
            part.readings.get(id).map(|value| Ok((*verified as f64, value.clone()?)))
        };
        let value = parts
            .iter()
            .filter_map(of_loader)
            .collect::<Result<Vec<_>, String>>()
            .map(|values| together(measure, &values));
        outcome.readings.push(Reading { measure: *measure, value });
    }
    if is_shared {
        let unknown = |measure: &Declaration| Reading { measure: *measure, value: Err(SHARED.to_owned()) };
        outcome.readings.extend(NOISE.measures.iter().map(unknown));
    }
    for (host, _, part) in parts {
        let told = |sentence: &String| format!("On {host}: {sentence}");
        outcome.findings.extend(part.findings.iter().map(told));
        outcome.voids.extend(part.voids.iter().map(told));
    }
}

/// Breakdowns per statement of all loaders.
pub(crate) fn breakdowns(parts: &[(&str, u64, &Metered)]) -> BTreeMap<String, BTreeMap<String, f64>> {
    let all: f64 = parts.iter().map(|(_, verified, _)| *verified as f64).sum();
    let mut whole: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    for (_, verified, part) in parts {
        for (kind, figures) in &part.breakdowns {
            let sums = whole.entry(kind.clone()).or_default();
            figures.iter().for_each(|(name, each)| {
                *sums.entry(name.clone()).or_default() += each * *verified as f64 / all.max(1.0);
            });
        }
    }
    whole
}

/// Series by second of all loaders.
pub(crate) fn series(parts: &[(&str, u64, &Metered)], name: &str) -> Vec<u64> {
    let all = parts.iter().filter_map(|(.., part)| part.series.get(name));
    all.fold(Vec::new(), |mut sum, values| {
        add(&mut sum, values);
        sum
    })
}

/// The figure of all loaders from each one's statements and figure.
fn together(measure: &Declaration, parts: &[(f64, f64)]) -> f64 {
    let statements: f64 = parts.iter().map(|(statements, _)| statements).sum();
    match measure.id {
        id if id.ends_with("_per_statement") || id == "syscalls_by_name" => {
            parts.iter().map(|(statements, each)| statements * each).sum::<f64>() / statements
        }
        id if id.starts_with("statements_per_") => {
            statements / parts.iter().map(|(statements, each)| statements / each).sum::<f64>()
        }
        _ => parts.iter().map(|(_, value)| value).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_histograms_of_all_are_exact_sums() {
        let part = |values: &[u64], errors: u64| {
            let mut histogram = Histogram::<u64>::new(3).unwrap();
            values.iter().for_each(|value| histogram.record(*value).unwrap());
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
            let error = ErrorCount { count: errors, first: "late".to_owned() };
            Done {
                issued: values.len() as u64,
                issued_by_statement: [("insert".to_owned(), values.len() as u64)].into(),
                errors: [(ErrorKind::RequestTimeout, error)].into(),
                below_concurrency: Some(2),
                histogram: Some(STANDARD.encode(bytes)),
                per_second: values.to_vec(),
                ..Done::default()
            }
        };
        let whole = done(&[part(&[1_000, 2_000], 3), part(&[2_000, 9_000_000, 5], 4)]).unwrap();
        assert_eq!((whole.issued, whole.issued_by_statement["insert"], whole.below_concurrency), (5, 5, Some(4)));
        assert_eq!(whole.errors[&ErrorKind::RequestTimeout].count, 7);
        assert_eq!(whole.per_second, [3_000, 9_002_000, 5]);
        let sum = read(&whole.histogram.unwrap()).unwrap();
        assert_eq!((sum.len(), sum.count_at(2_000), sum.count_at(9_000_000)), (5, 2, 1));
        assert!(done(&[Done { histogram: Some("?".to_owned()), ..Done::default() }]).is_err());
    }

    #[test]
    fn figures_per_statement_are_weighed_and_others_add_up() {
        let of = |id: &str| together(declared(id).unwrap(), &[(100.0, 1.0), (300.0, 3.0)]);
        assert_eq!((of("bytes_sent_per_statement"), of("peak_rss"), of("syscalls")), (2.5, 4.0, 4.0));
        assert_eq!(of("statements_per_segment_sent"), 2.0, "400 statements in 200 segments");
    }

    #[test]
    fn a_round_is_as_busy_as_the_busiest_host_and_as_slow_as_all_on_average() {
        let found = |cores, wall_s, others_s, witness_us| RoundCores::Found {
            cores,
            host: None,
            wall_s,
            others_s,
            steal_s: 0.0,
            witness_us,
        };
        let of = |rounds: [RoundCores; 2]| cores(["a", "b"].map(str::to_owned).into_iter().zip(rounds).collect());
        let RoundCores::Found { host, others_s, witness_us, .. } =
            of([found(8, 1.0, 0.4, Some(3.0)), found(2, 1.0, 0.3, Some(5.0))])
        else {
            panic!("both told")
        };
        assert_eq!((host.as_deref(), others_s, witness_us), (Some("b"), 0.3, Some(4.0)));
        let RoundCores::Found { host, witness_us, .. } = of([found(2, 1.0, 0.4, None), found(2, 2.0, 0.6, Some(5.0))])
        else {
            panic!("both told")
        };
        assert_eq!((host.as_deref(), witness_us), (Some("a"), None));
        let unknown = RoundCores::Unknown { unavailable: "It cannot be read.".to_owned() };
        let told = of([found(2, 1.0, 0.4, None), unknown]);
        assert_eq!(told, RoundCores::Unknown { unavailable: "On b: It cannot be read.".to_owned() });
    }
    use cqldyno_driver_api::ErrorKind;
    use hdrhistogram::Histogram;

    const END: End = End {
        wall_ns: 0,
        at_ns: None,
        user_us: 7,
        sys_us: 2,
        voluntary_switches: 1,
        involuntary_switches: 1,
        minor_faults: 1,
        major_faults: 1,
        steady: None,
    };

    #[test]
    fn the_window_of_all_lasts_from_the_first_start_to_the_last_end_and_rates_add_up() {
        let one = |start: u64, end: u64, statements| End {
            wall_ns: end - start,
            at_ns: Some(end),
            steady: Some(Steady { wall_ns: end - start, cpu_ns: 5, statements }),
            ..END
        };
        let (whole, skew) = end(&[one(1_000, 3_000, 200), one(1_100, 2_100, 100)]);
        assert_eq!((whole.wall_ns, whole.at_ns, whole.user_us), (2_000, Some(3_000), 14));
        assert_eq!(skew, Skew { starts_ns: 100, ends_ns: 900 });
        // 0.1 statements per nanosecond each.
        assert_eq!(whole.steady, Some(Steady { wall_ns: 1_500, cpu_ns: 10, statements: 300 }));
        assert_eq!(end(&[one(0, 10, 1), END]).0.steady, None);
    }
}
