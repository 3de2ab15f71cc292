//! The plan as `run.json` holds it, and read back from there.

use std::collections::BTreeMap;
use std::time::Duration;

use cqldyno_driver_api::Settings;
use cqldyno_reports::{ArrangementInfo, CONTROL_MARK, Pass, PlanInfo, PointInfo, Run, ScenarioInfo, TargetInfo};
use cqldyno_scenarios::Scenario;
use sha2::{Digest, Sha256};

use crate::plan::contender::Contender;
use crate::plan::placement::{Pin, Placement};
use crate::plan::serve::Serve;
use crate::plan::tape::recorded_again;
use crate::plan::target::{Access, Target};
use crate::plan::{Deadlines, Plan};

impl Plan {
    /// The form that results hold; never a password or a user.
    pub(crate) fn info(&self, placements: &[Placement]) -> PlanInfo {
        let embedded = self.target.is_embedded();
        PlanInfo {
            counting_count: if self.passes.contains(&Pass::Counting) { self.counted() } else { 0 },
            consistency: self.consistency.to_string(),
            settings: match self.settings {
                Settings::Equal => "equal".to_owned(),
                Settings::Default => "default".to_owned(),
            },
            serve_arguments: self.serve.words(),
            stall_ms: u64::try_from(self.deadlines.stall.as_millis()).ok(),
            with_user: self.access.credentials.is_some(),
            tls: self.access.tls_info(),
            arrangements: placements.iter().map(|placement| placement.info(embedded)).collect(),
            target: TargetInfo {
                id: self.target.to_string(),
                about: match (&self.target, embedded) {
                    (Target::Cassandra(order), _) => {
                        format!("{}, on this machine, on the same cores; a keyspace for each contender", order.about())
                    }
                    (Target::Postgres(order), _) => format!(
                        "{}, on this machine, on the same cores; a connection for each statement in flight",
                        order.about()
                    ),
                    (_, true) => [vec![self.nodes_text()], self.serve.words()].concat().join(" "),
                    (_, false) => format!("an existing cluster, with a keyspace for each contender{}", self.reached()),
                },
                embedded,
            },
            ..self.info.clone()
        }
    }

    fn reached(&self) -> String {
        let tls = self.access.tls_info().map(|tls| {
            let verified = if tls.verified { "verified" } else { "not verified" };
            let own = if tls.client_certificate { ", with a client certificate" } else { "" };
            format!("; TLS, {verified}{own}")
        });
        let datacenter = self.datacenter.as_ref().map(|name| format!("; datacenter {name}"));
        let replication = self.replication.as_ref().map(|replicas| format!("; replication {replicas}"));
        [tls, datacenter, replication].into_iter().flatten().collect()
    }

    fn nodes_text(&self) -> String {
        let nodes = match self.ring(None).nodes() {
            1 => "one embedded node".to_owned(),
            several => format!("{several} embedded nodes"),
        };
        // What this costs is in harness/METHOD.md.
        let can_misroute = self.scenarios.iter().any(|scenario| self.ring(Some(scenario)).can_misroute());
        let checked = if can_misroute { ", with each EXECUTE's route checked (some 25 ns)" } else { "" };
        let encrypted = if self.serve.tls { ", with TLS, which the server's CPU time includes" } else { "" };
        format!("{nodes} in memory for each contender, started afresh for every generation{checked}{encrypted}")
    }

    /// The plan of `run` with the cores of each arrangement; `access` is in no file.
    ///
    /// # Errors
    /// The end of a sentence that says which part of `run.json` is none of this version's.
    pub(crate) fn of_run(run: &Run, access: Access) -> Result<(Plan, Vec<Placement>), String> {
        let info = &run.plan;
        let wrong = |what: &str, found: &dyn std::fmt::Debug| format!("its {what} {found:?} is none of this version's");
        let named = |text: &str| serde_json::Value::String(text.to_owned());
        let contender = |id: &str| id.parse::<Contender>().map_err(|_| wrong("contender", &id));
        let contenders = run.asked().into_iter().map(contender).collect::<Result<_, String>>()?;
        let scenarios = run.scenarios.iter().map(scenario).collect::<Result<Vec<Scenario>, String>>()?;
        let recordings = recorded_again(&scenarios)?;
        let placements: Vec<Placement> = info
            .arrangements
            .iter()
            .map(|one| placement(one, info.target.embedded).ok_or_else(|| wrong("arrangement", &one.id)))
            .collect::<Result<_, String>>()?;
        let plan = Plan {
            arrangements: placements.iter().map(|placement| placement.arrangement).collect(),
            pin: Pin::Off,
            apart: Some(run.scenarios.iter().filter_map(|one| Some((one.name.clone(), one.apart.clone()?))).collect()),
            control: run.contenders.iter().any(|row| row.id.ends_with(CONTROL_MARK)),
            consistency: serde_json::from_value(named(&info.consistency))
                .map_err(|_| wrong("consistency", &info.consistency))?,
            settings: serde_json::from_value(named(&info.settings)).map_err(|_| wrong("settings", &info.settings))?,
            target: Target::parse(&info.target.id).map_err(|_| wrong("target", &info.target.id))?,
            access,
            serve: Serve::of(info).ok_or_else(|| wrong("list of serve_arguments", &info.serve_arguments))?,
            deadlines: Deadlines {
                stall: info.stall_ms.map_or(Deadlines::default().stall, Duration::from_millis),
                ..Deadlines::default()
            },
            info: info.clone(),
            recordings,
            ..Plan::new(contenders, scenarios)
        };
        Ok((plan, placements))
    }
}

fn scenario(info: &ScenarioInfo) -> Result<Scenario, String> {
    let definition = info.definition.clone().ok_or_else(|| format!("it does not hold the scenario {}", info.name))?;
    let scenario: Scenario = serde_json::from_value(definition)
        .map_err(|error| format!("its scenario {} is none of this version's: {error}", info.name))?;
    match scenario_info(&scenario) {
        found if found.hash == info.hash => Ok(scenario),
        _ => Err(format!("its scenario {} is another one than its hash says", info.name)),
    }
}

fn placement(info: &ArrangementInfo, own_server: bool) -> Option<Placement> {
    let numbers = |cores: &[u32]| cores.iter().map(|core| usize::try_from(*core).ok()).collect::<Option<Vec<_>>>();
    let worker = numbers(&info.worker_cores)?;
    let server = if own_server { numbers(&info.server_cores)? } else { worker.clone() };
    Some(Placement { arrangement: info.id.parse().ok()?, worker, server, note: info.note.clone() })
}

/// The scenario as a run holds it.
pub fn scenario_info(scenario: &Scenario) -> ScenarioInfo {
    ScenarioInfo {
        name: scenario.label(),
        about: scenario.about.clone(),
        hash: scenario_hash(scenario),
        asked: None,
        apart: None,
        left_out: BTreeMap::new(),
        point: scenario.point.map(|point| PointInfo {
            of: scenario.kind(),
            in_flight: point.in_flight,
            connections: point.connections,
            shards: point.shards,
            delay_ns: point.delay_ns,
            waits: BTreeMap::new(),
        }),
        definition: serde_json::to_value(scenario).ok(),
    }
}

fn scenario_hash(scenario: &Scenario) -> String {
    let bytes = serde_json::to_vec(scenario).unwrap_or_default();
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::TurnsInfo;

    use super::*;
    use crate::plan::plan;
    use crate::plan::topology::Topology;
    use crate::record::sample_run;

    #[test]
    fn a_plan_is_read_back_from_its_run() {
        let asked = Plan {
            arrangements: vec!["current".parse().unwrap(), "pinned+multi:3".parse().unwrap()],
            apart: Some([("mixed".to_owned(), "No memory.".to_owned())].into()),
            settings: Settings::Default,
            consistency: cqldyno_driver_api::Consistency::EachQuorum,
            deadlines: Deadlines { stall: Duration::from_secs(7), ..Deadlines::default() },
            ..plan(&["cassandra-cpp+lib=/opt/a#2", "noop", "noop"], &["writes", "mixed"])
        }
        .with(|one| {
            one.counting_count = 77;
            one.noise_share = Some(0.25);
            one.layouts = Some(4);
            one.turns = TurnsInfo { count: 50_000, rounds: 5 };
            one.total = Some(1_000_000);
            one.whole = true;
            one.limit(Some(Duration::from_secs(300)));
            one.until = Some(0.025);
            one.datacenter = Some("dc1".to_owned());
            one.replication = Some("dc1=3".to_owned());
            one.keep = true;
            one.releases = vec!["cassandra-cpp@all".to_owned()];
            one.exact = true;
            one.reference = Some("noop".to_owned());
            one.serve.answers = Some("each".parse().unwrap());
            one.memory_limit_bytes = Some(1 << 30);
        });
        let placements = asked.check(&Topology::sample(4, 1)).unwrap();
        let mut run = sample_run(&asked, &placements);
        run.scenarios[1].apart = Some("No memory.".to_owned());
        let text = serde_json::to_string(&run).unwrap();
        let (found, places) = Plan::of_run(&Run::from_json(&text).unwrap(), Access::default()).unwrap();
        assert_eq!(places, placements);
        assert_eq!(
            format!("{found:?}"),
            format!("{:?}", Plan { pin: Pin::Off, info: asked.info(&placements), ..asked })
        );
        assert_eq!(run.contenders[2].id, "noop#2");
    }

    #[test]
    fn a_run_that_does_not_hold_its_plan_is_refused_with_the_part() {
        let asked = plan(&["scylla"], &["writes"]);
        let sample = sample_run(&asked, &asked.check(&Topology::sample(1, 1)).unwrap());
        let error = |change: &dyn Fn(&mut Run)| {
            let mut run = sample.clone();
            change(&mut run);
            Plan::of_run(&run, Access::default()).unwrap_err()
        };
        assert!(error(&|run| run.scenarios[0].definition = None).contains("does not hold the scenario writes"));
        assert!(error(&|run| run.scenarios[0].hash = "00".to_owned()).contains("another one than its hash says"));
        assert!(error(&|run| run.plan.settings = "fast".to_owned()).contains("its settings \"fast\""));
        assert!(error(&|run| run.plan.arrangements[0].id = "x".to_owned()).contains("its arrangement \"x\""));
        assert!(error(&|run| run.contenders[0].id = "X".to_owned()).contains("its contender \"X\""));
        let later = |run: &mut Run| run.plan.serve_arguments = vec!["--later".to_owned()];
        assert!(error(&later).contains("its list of serve_arguments [\"--later\"]"));
    }

    #[test]
    fn a_scenario_has_a_hash_of_its_content() {
        let plan = plan(&["scylla"], &["writes", "reads"]);
        let hashes: Vec<String> = plan.scenarios.iter().map(scenario_hash).collect();
        assert!(hashes[0] != hashes[1] && hashes[0].len() == 64);
        let mut changed = plan.scenarios[0].clone();
        changed.statements[0].weight = 2;
        assert_ne!(scenario_hash(&changed), hashes[0]);

        let stream = Scenario { submit: cqldyno_scenarios::Submit::Stream, ..plan.scenarios[0].clone() };
        let info = scenario_info(&stream);
        assert!(info.name == "writes+stream" && info.hash != hashes[0], "{info:?}");
        assert_eq!(scenario(&info), Ok(stream));
    }
}
