//! A run for tests, here and in the crates that use this one: two scenarios, three drivers, floor and noop.

#![allow(clippy::unwrap_used, reason = "what cannot be made fails the test")]

pub mod rich;

use std::collections::BTreeMap;

use crate::measure::{
    CONNECTIONS, CPU_PER_STATEMENT, DEFINITIONS, ERRORS, PEAK_RSS, SERVER_CPU, SERVER_CPU_PER_STATEMENT,
    SERVER_UTILISATION, SYS, SYSCALLS, SYSCALLS_PER_STATEMENT, THREADS, THROUGHPUT, USER, WALL, WORKER_UTILISATION,
};
use crate::{
    ArrangementInfo, ByName, Cell, Contender, Environment, Library, Measure, Pass, PlanInfo, Role, Run, SCHEMA_VERSION,
    ScenarioInfo, Series, Setting, TargetInfo, TurnsInfo, Unit,
};

/// A sound run in which cassandra-cpp could not be asked.
pub fn run() -> (Run, Vec<Cell>) {
    let run = Run {
        schema: SCHEMA_VERSION,
        cqldyno: "0.1.0".to_owned(),
        started: "2026-01-02T03:04:05Z".parse().unwrap(),
        ended: Some("2026-01-02T03:06:05Z".parse().unwrap()),
        interrupted: false,
        cut_short: None,
        passes_left_out: Vec::new(),
        resumed: Vec::new(),
        command: Some("cqldyno compare scylla cdrs-tokio cassandra-cpp floor noop --reference scylla".to_owned()),
        executable: String::new(),
        plan: PlanInfo {
            seed: 42,
            turns: TurnsInfo { count: 500_000, rounds: 1 },
            total: None,
            whole: false,
            count: 500_000,
            passes: vec![Pass::Counting],
            rate: None,
            counting_count: 100_000,
            concurrency: 1_024,
            layouts: None,
            blocks: 3,
            noise_share: None,
            within_ms: None,
            until: None,
            warmup: 10_000,
            connections: 1,
            page_size: 5_000,
            consistency: "LOCAL_ONE".to_owned(),
            request_timeout_ms: Some(30_000),
            settings: "equal".to_owned(),
            named: false,
            releases: Vec::new(),
            exact: false,
            faults: false,
            ladder: None,
            reference: None,
            serve_arguments: Vec::new(),
            stall_ms: None,
            memory_limit_bytes: None,
            with_user: false,
            tls: None,
            datacenter: None,
            replication: None,
            keep: false,
            keyspaces: Vec::new(),
            arrangements: vec![ArrangementInfo {
                note: None,
                id: "multi:2".to_owned(),
                runtime: "multi:2".to_owned(),
                worker_cores: vec![0, 1],
                server_cores: vec![0, 1],
            }],
            loaders: None,
            target: TargetInfo {
                id: "embedded".to_owned(),
                about: "cqldyno serve 0.1.0, release 5.0.5, 1 node".to_owned(),
                embedded: true,
            },
        },
        environment: Environment {
            cpu: "Example 9000".to_owned(),
            cores: 2,
            memory_bytes: 24 << 30,
            kernel: "Linux 6.18.0".to_owned(),
            compiler: "rustc 1.95.0".to_owned(),
            profile: "release".to_owned(),
            more: BTreeMap::new(),
        },
        contenders: vec![
            contender("scylla", "scylla@1.9.0", Role::Driver),
            Contender {
                caveats: vec!["It has no time limit a statement of its own.".to_owned()],
                settings: vec![Setting {
                    name: "request timeout".to_owned(),
                    value: "none".to_owned(),
                    as_asked: false,
                }],
                ..contender("cdrs-tokio", "cdrs-tokio@9.0.2", Role::Driver)
            },
            Contender {
                built: None,
                unavailable: Some(
                    "The worker cqldyno-driver-cassandra-cpp was not built, because libcassandra was not found; run \
                     `make build`."
                        .to_owned(),
                ),
                version: String::new(),
                libraries: Vec::new(),
                ..contender("cassandra-cpp", "cassandra-cpp", Role::Driver)
            },
            contender("floor", "floor@0.1.0", Role::Floor),
            contender("noop", "noop@0.1.0", Role::Noop),
        ],
        scenarios: vec![
            scenario("writes", "Inserts new rows of three bigint columns."),
            scenario("reads", "Selects loaded rows by key."),
        ],
        differences: Vec::new(),
        measures: Vec::new(),
        checksum: None,
    };
    let mut cells = Vec::new();
    for scenario in &run.scenarios {
        for block in 1..=run.plan.blocks {
            for (nth, contender) in run.contenders.iter().enumerate().filter(|(_, one)| one.unavailable.is_none()) {
                cells.push(cell(contender, scenario, block, Pass::Timing, nth));
            }
        }
        for (nth, contender) in run.contenders.iter().enumerate().filter(|(_, one)| one.unavailable.is_none()) {
            cells.push(cell(contender, scenario, 1, Pass::Counting, nth));
        }
    }
    (run, cells)
}

/// The same run with so many blocks, noise of about 1 %, a control (scylla once more), and a server that is busy with floor.
pub fn blocks(blocks: u32) -> (Run, Vec<Cell>) {
    repeated(blocks, 0)
}

/// The same plan so many days later, with noise of its own.
pub fn repeated(blocks: u32, days: u32) -> (Run, Vec<Cell>) {
    let (mut run, cells) = run();
    run.started = format!("2026-01-{:02}T03:04:05Z", 2 + days).parse().unwrap();
    run.plan.blocks = blocks;
    run.contenders
        .insert(2, Contender { control: true, ..contender("scylla#control", "scylla@1.9.0#control", Role::Driver) });
    let first: Vec<Cell> = cells.iter().filter(|cell| cell.block == 1 && cell.pass == Pass::Timing).cloned().collect();
    let mut all: Vec<Cell> = cells.into_iter().filter(|cell| cell.pass == Pass::Counting).collect();
    for (nth, cell) in first.iter().enumerate() {
        let costs = match cell.contender.as_str() {
            "scylla" => vec![("scylla", 4.0), ("scylla#control", 4.0)],
            "cdrs-tokio" => vec![("cdrs-tokio", 6.25)],
            _ => vec![(cell.contender.as_str(), cell.get(CPU_PER_STATEMENT).unwrap())],
        };
        for (place, (who, cost)) in costs.into_iter().enumerate() {
            let contender = run.contender(who).unwrap();
            for block in 1..=blocks {
                let noise = scattered(block, (nth * 2 + place) as u32 + 100 * days);
                let mut cell =
                    Cell { contender: who.to_owned(), label: contender.label.clone(), block, ..cell.clone() };
                let value = Measure::value(cost * (1.0 + 0.03 * noise), Unit::Microseconds);
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), value);
                let (worker, server) = if who == "floor" { (70.0, 91.0) } else { (85.5, 12.25) };
                for (id, share) in [(WORKER_UTILISATION, worker), (SERVER_UTILISATION, server)] {
                    if who != "noop" {
                        cell.measures.insert(id.to_owned(), Measure::value(share, Unit::Percent));
                    }
                }
                all.push(cell);
            }
        }
    }
    (run, all)
}

/// Multiplies what the contender costs in CPU time per statement.
pub fn cost(cells: &mut [Cell], contender: &str, times: f64) {
    for cell in cells.iter_mut().filter(|cell| cell.contender == contender) {
        if let Some(cost) = cell.get(CPU_PER_STATEMENT) {
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * times, Unit::Microseconds));
        }
    }
}

/// A number between -0.5 and 0.5, the same for the same arguments and as good as independent for others.
fn scattered(block: u32, series: u32) -> f64 {
    let mut bits = block.wrapping_mul(0x9e37_79b1) ^ series.wrapping_add(1).wrapping_mul(0x85eb_ca6b);
    for _ in 0..2 {
        bits = (bits ^ (bits >> 15)).wrapping_mul(0x2c1b_3c6d);
    }
    f64::from(bits >> 8) / f64::from(1u32 << 24) - 0.5
}

fn contender(id: &str, label: &str, role: Role) -> Contender {
    Contender {
        id: id.to_owned(),
        label: label.to_owned(),
        role,
        control: false,
        version: label.rsplit('@').next().unwrap().to_owned(),
        language: None,
        libraries: vec![Library { name: "tokio".to_owned(), version: "1.54.0".to_owned(), origin: None }],
        settings: Vec::new(),
        caveats: Vec::new(),
        build: "b1".to_owned(),
        executable: String::new(),
        compiler: "rustc 1.95.0".to_owned(),
        in_flight: None,
        layouts: Vec::new(),
        built: None,
        unavailable: None,
    }
}

fn scenario(name: &str, about: &str) -> ScenarioInfo {
    ScenarioInfo {
        name: name.to_owned(),
        about: about.to_owned(),
        hash: "00ff".to_owned(),
        asked: None,
        apart: None,
        left_out: BTreeMap::new(),
        point: None,
        definition: None,
    }
}

fn cell(contender: &Contender, scenario: &ScenarioInfo, block: u32, pass: Pass, nth: usize) -> Cell {
    let count: f64 = if pass == Pass::Timing { 500_000.0 } else { 100_000.0 };
    let cpu_us = [4.0, 6.25, 5.0, 0.31, 0.028][nth] + f64::from(block) / 100.0;
    let wall = count * cpu_us / 1.6e6;
    let measures = DEFINITIONS
        .iter()
        .map(|definition| {
            let value = match definition.id {
                WALL => wall,
                USER => count * cpu_us * 0.75 / 1e6,
                SYS => count * cpu_us * 0.25 / 1e6,
                CPU_PER_STATEMENT => cpu_us,
                THREADS => [4.0, 3.0, 5.0, 3.0, 3.0][nth],
                THROUGHPUT => count / wall,
                SYSCALLS => count * [0.121, 0.96, 0.15, 0.031, 0.0001][nth],
                SYSCALLS_PER_STATEMENT => [0.121, 0.96, 0.15, 0.031, 0.0001][nth],
                PEAK_RSS => ([30.0, 41.5, 28.0, 14.0, 12.0][nth]) * 1024.0 * 1024.0,
                SERVER_CPU => count * 0.3 / 1e6,
                SERVER_CPU_PER_STATEMENT => 0.3,
                ERRORS => 0.0,
                CONNECTIONS => 1.0,
                _ => count,
            };
            let measure = match definition.id {
                SERVER_CPU | SERVER_CPU_PER_STATEMENT if contender.role == Role::Noop => {
                    Measure::unavailable("noop sends nothing, so no server took part.")
                }
                SYSCALLS | SYSCALLS_PER_STATEMENT if pass == Pass::Timing => {
                    Measure::unavailable("System calls are counted in the counting pass.")
                }
                _ => Measure::value(value, definition.unit),
            };
            (definition.id.to_owned(), measure)
        })
        .collect();
    Cell {
        round: (pass == Pass::Timing).then_some(1),
        more: false,
        cores: None,
        contender: contender.id.clone(),
        label: contender.label.clone(),
        scenario: scenario.name.clone(),
        scenario_hash: scenario.hash.clone(),
        arrangement: "multi:2".to_owned(),
        block,
        pass,
        attempt: 1,
        loaders: Vec::new(),
        started: "2026-01-02T03:04:05Z".parse().unwrap(),
        measures,
        issued_by_statement: ByName::default(),
        step: None,
        breakdowns: BTreeMap::new(),
        files: ByName::default(),
        series: Series::new(vec![250_000, 250_000], vec![900_000, 850_000], vec![80_000, 75_000]),
        latency: None,
        error_kinds: Vec::new(),
        settings: Setting::shared(contender.settings.clone()),
        findings: Vec::new(),
        void: None,
        failed: None,
        log: None,
    }
}
