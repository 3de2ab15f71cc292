//! What the load generator and its parts cost per statement: CPU time of all threads.
//!
//! It runs with `noop` in this process as in a worker: 1,024 slots, permuted keys, one time and one count per statement, rows
//! checked. `ready` is answered at once; `pending` waits for another task, which includes the runtime's wake-ups.

use std::collections::BTreeMap;
use std::hint::black_box;

use cqldyno_criterion::{CpuTime, by_cpu_time, or_leave};
use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_driver_noop::{Noop, NoopSession};
use cqldyno_protocol::{Failed, Job, Mode, Runtime};
use cqldyno_scenarios::{Permutation, Scenario, Workload, builtin};
use cqldyno_worker::parts::{Latencies, LoadGenerator, Recorders, RowOfKey};
use criterion::{BenchmarkId, Criterion, SamplingMode, criterion_group, criterion_main};
use quanta::Clock;

/// As many keys as the classic table has.
const KEYS: u64 = 10_000_000;

fn scenario(name: &str) -> Scenario {
    or_leave(builtin(name).ok_or_else(|| format!("there is no scenario {name}")))
}

fn job(name: &str, runtime: Runtime, form: &str) -> Job {
    Job {
        mode: Mode::Measure,
        scenario: scenario(name),
        count: KEYS,
        warmup: 0,
        concurrency: 1_024,
        rate: None,
        seed: 1,
        runtime,
        target: Vec::new(),
        credentials: None,
        tls: None,
        datacenter: None,
        connections: 1,
        consistency: Consistency::LocalOne,
        page_size: 5_000,
        request_timeout_ms: None,
        settings: Settings::Equal,
        options: BTreeMap::from([("form".to_owned(), form.to_owned())]),
        turns: 1,
        progress_ms: 0,
        trace: None,
        slice: None,
        tape: None,
    }
}

fn reason(failed: Failed) -> String {
    failed.message
}

/// One iteration is one statement, so that what is printed is the cost of one.
fn load_generator(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("load generator, per statement");
    // Every sample is as many statements, and enough that starting 1,024 tasks does not count.
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    for form in ["ready", "pending"] {
        for runtime in [Runtime::Current, Runtime::Multi { workers: 2 }] {
            for name in ["writes", "reads"] {
                let job = job(name, runtime, form);
                let generator: LoadGenerator<NoopSession> = or_leave(LoadGenerator::new::<Noop>(job).map_err(reason));
                group.bench_function(BenchmarkId::new(format!("{form}, {runtime}"), name), |bencher| {
                    bencher.iter_custom(|statements| {
                        let (used, outcome) = CpuTime::of(|| generator.run(statements));
                        or_leave(outcome.map_err(reason));
                        used
                    });
                });
            }
        }
    }
    group.finish();
}

/// Each runs once per statement, but the check of a row only for selects. Their sum exceeds the load generator's cost: in a loop
/// of its own a part overlaps with nothing, and pays for the loop and its key.
fn parts(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("load generator, a part");
    let writes = scenario("writes");
    let reads = scenario("reads");

    let permutation = Permutation::new(KEYS, 1);
    let mut index = 0;
    let mut next = move || {
        index = (index + 1) % KEYS;
        index
    };
    group.bench_function("a key by the permutation", |bencher| {
        bencher.iter(|| black_box(&permutation).apply(next()));
    });
    for scenario in [&writes, &scenario("mixed")] {
        let workload = or_leave(Workload::new(scenario, KEYS, 0, 1));
        let id = BenchmarkId::new("a ticket's statement and key", &scenario.name);
        group.bench_function(id, |bencher| {
            bencher.iter(|| black_box(&workload).issue(next()));
        });
    }

    for scenario in [&writes, &reads] {
        for statement in &scenario.statements {
            let mut row = RowOfKey::new(&statement.values);
            group.bench_function(BenchmarkId::new("binding", &scenario.name), |bencher| {
                bencher.iter(|| {
                    black_box(&mut row).bind(next(), |values| {
                        black_box(values);
                    });
                });
            });
        }
    }
    for expect in reads.statements.iter().filter_map(|statement| statement.expect.as_ref()) {
        let mut row = RowOfKey::new(&expect.columns);
        group.bench_function("a row put in place and checked/reads", |bencher| {
            bencher.iter(|| black_box(black_box(&mut row).fill_and_verify(next()).is_ok()));
        });
    }

    let recorders = Recorders::new(1, Clock::new());
    group.bench_function("the clock", |bencher| bencher.iter(|| recorders.now()));
    let now = recorders.now();
    group.bench_function("an answer recorded", |bencher| {
        bencher.iter(|| recorders.answered(0, now, now + (next() & 0xFFFFF)));
    });
    let mut latencies = Latencies::new();
    group.bench_function("a latency counted in the histogram", |bencher| {
        bencher.iter(|| latencies.record(100_000 + (next() & 0xFFFFF)));
    });
    group.finish();
}

criterion_group! {
    name = benches;
    config = by_cpu_time();
    targets = load_generator, parts
}
criterion_main!(benches);
