//! A job for a hand-written program, which knows three scenarios and the equal settings.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use cqldyno_driver_api::{Consistency, Settings};
use cqldyno_protocol::{Job, Mode};
use cqldyno_scenarios::{Kind, Operation, Scenario, Statement, builtin};

use crate::{INSERT, PAGE_SIZE, SELECT};

/// The option that turns tokio's LIFO slot off; only there when built with `--cfg tokio_unstable`.
pub(crate) const LIFO_SLOT: &str = "lifo_slot";

/// The scenario, by the built-in ones' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mix {
    /// Inserts.
    Writes,
    /// Selects of loaded rows.
    Reads,
    /// Half selects of loaded rows, half inserts of others.
    Mixed,
}

/// A job that such a program can do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) mix: Mix,
    pub(crate) count: u64,
    /// How many share the count.
    pub(crate) turns: u32,
    pub(crate) warmup: u64,
    pub(crate) concurrency: usize,
    pub(crate) seed: u64,
    pub(crate) node: SocketAddr,
    /// Added to v1 and v2 of every loaded row.
    pub(crate) shift: i64,
    pub(crate) lifo_slot: bool,
}

impl Asked {
    /// Reads the job.
    ///
    /// # Errors
    /// A full sentence when the job asks for what the program does not do.
    pub(crate) fn of(job: &Job) -> Result<Asked, String> {
        let known = [
            (matches!(job.mode, Mode::Measure), "measuring a scenario's statements"),
            (job.rate.is_none(), "statements as fast as they are answered, not at a rate"),
            (job.settings == Settings::Equal, "the equal settings"),
            (job.connections == 1, "1 connection"),
            (job.consistency == Consistency::LocalOne, "the consistency LOCAL_ONE"),
            (job.page_size == PAGE_SIZE, "pages of 5,000 rows"),
            (job.request_timeout_ms.is_none(), "no time limit per statement"),
            (job.credentials.is_none(), "a cluster that asks for no password"),
            (job.tls.is_none(), "connections without TLS"),
            (job.datacenter.is_none(), "nodes of all datacenters"),
            (job.target.len() == 1, "one node"),
            (job.concurrency > 0, "a concurrency of at least 1"),
            (job.turns > 0, "at least one turn"),
        ];
        if let Some((_, known)) = known.into_iter().find(|(is_so, _)| !is_so) {
            return Err(format!(
                "the job asks for something else than {known}, and a hand-written program knows nothing else; compare it \
                 without the flag that asks for that"
            ));
        }
        let (mix, shift) = mix(&job.scenario).ok_or_else(|| {
            format!(
                "the scenario {} was asked for, and a hand-written program knows the built-in scenarios writes, reads and mixed \
                 alone; compare it with one of these",
                job.scenario.name
            )
        })?;
        Ok(Asked {
            mix,
            count: job.count,
            turns: job.turns,
            warmup: job.warmup,
            concurrency: job.concurrency,
            seed: job.seed,
            node: job.target[0],
            shift,
            lifo_slot: lifo_slot(&job.options)?,
        })
    }
}

/// Which of the three scenarios this is, and the shift of its loaded rows.
fn mix(scenario: &Scenario) -> Option<(Mix, i64)> {
    let mix = match scenario.name.as_str() {
        "writes" => Mix::Writes,
        "reads" => Mix::Reads,
        "mixed" => Mix::Mixed,
        _ => return None,
    };
    let shift = scenario.statements.iter().filter_map(|statement| statement.expect.as_ref()).find_map(|expect| {
        match expect.columns.get(1)?.kind {
            Kind::Bigint { plus, .. } => Some(plus),
            _ => None,
        }
    });
    let shift = shift.unwrap_or(0);
    let known = Scenario { page_size: scenario.page_size, ..builtin(&scenario.name)?.shifted(shift) };
    let executes = |statement: &Statement| {
        statement.operation == Operation::Execute && [INSERT, SELECT].contains(&statement.cql.as_str())
    };
    (issued(&known) == issued(scenario) && scenario.statements.iter().all(executes)).then_some((mix, shift))
}

/// The scenario without what others do: loading and reading back.
fn issued(scenario: &Scenario) -> Scenario {
    let mut issued = scenario.clone();
    for statement in &mut issued.statements {
        (statement.load, statement.read_back) = (None, None);
    }
    issued
}

fn lifo_slot(options: &BTreeMap<String, String>) -> Result<bool, String> {
    match options.iter().next() {
        None => Ok(true),
        Some((key, value)) if cfg!(tokio_unstable) && key == LIFO_SLOT && value == "off" && options.len() == 1 => {
            Ok(false)
        }
        Some((key, value)) => Err(format!(
            "the option {key}={value} was given, and a hand-written program knows {LIFO_SLOT}=off alone, when it is built with \
             `--cfg tokio_unstable`; leave the option away"
        )),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cqldyno_protocol::Runtime;

    /// As the parent asks it.
    pub(crate) fn job(scenario: &str) -> Job {
        Job {
            mode: Mode::Measure,
            scenario: issued(&builtin(scenario).unwrap().shifted(41)),
            count: 1_001,
            warmup: 30,
            concurrency: 4,
            rate: None,
            seed: 7,
            runtime: Runtime::Current,
            target: vec!["127.0.0.1:9042".parse().unwrap()],
            credentials: None,
            tls: None,
            datacenter: None,
            connections: 1,
            consistency: Consistency::LocalOne,
            page_size: PAGE_SIZE,
            request_timeout_ms: None,
            settings: Settings::Equal,
            options: BTreeMap::new(),
            turns: 1,
            progress_ms: 500,
            trace: None,
            slice: None,
            tape: None,
        }
    }

    #[test]
    fn the_three_scenarios_are_known_with_the_shift_of_the_cell() {
        for (name, mix, shift) in [("writes", Mix::Writes, 0), ("reads", Mix::Reads, 41), ("mixed", Mix::Mixed, 41)] {
            let asked = Asked::of(&job(name)).unwrap();
            assert_eq!((asked.mix, asked.shift, asked.lifo_slot), (mix, shift, true), "{name}");
        }
    }

    #[test]
    fn what_the_program_does_not_do_is_refused_with_a_sentence() {
        let refused = |change: fn(&mut Job)| {
            let mut job = job("mixed");
            change(&mut job);
            Asked::of(&job).unwrap_err()
        };
        assert_eq!(
            refused(|job| job.rate = Some(5)),
            "the job asks for something else than statements as fast as they are answered, not at a rate, and a hand-written \
             program knows nothing else; compare it without the flag that asks for that"
        );
        assert!(refused(|job| job.settings = Settings::Default).contains("the equal settings"));
        assert!(refused(|job| job.connections = 2).contains("1 connection"));
        assert!(refused(|job| job.page_size = 10).contains("pages of 5,000 rows"));
        assert!(refused(|job| job.request_timeout_ms = Some(30_000)).contains("no time limit per statement"));
        assert!(refused(|job| job.target.clear()).contains("one node"));
        assert!(refused(|job| drop(job.options.insert("lib".into(), "x".into()))).contains("lib=x"));
        let other = "the scenario mixed was asked for, and a hand-written program knows the built-in scenarios";
        assert!(refused(|job| job.scenario.statements[1].cql.push(' ')).starts_with(other));
        assert!(refused(|job| job.scenario.statements[0].weight = 2).starts_with(other));
        assert!(Asked::of(&job("rows")).unwrap_err().starts_with("the scenario rows was asked for"));
    }
}
