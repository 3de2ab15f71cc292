//! What a scenario asks: what one of its statements is, what its limits leave of a plan, and which workers cannot do it.

use cqldyno_driver_api::{Capability, Settings};
use cqldyno_protocol::{Hello, lacking};
use cqldyno_reports::whole;
use cqldyno_scenarios::{Operation, Scenario, Submit};

use crate::plan::Plan;
use crate::plan::target::Target;

/// The sentences over a table about what a statement is, if it is no EXECUTE, and about what the scenario's limits leave of the plan.
pub(crate) fn asked(plan: &Plan, scenario: &Scenario) -> Option<String> {
    let mut sentences: Vec<String> = Vec::new();
    for statement in &scenario.statements {
        let (name, rows) = (&statement.name, statement.rows());
        sentences.extend(match statement.operation {
            Operation::Execute => None,
            Operation::Batch => Some(format!("A statement {name} is one unlogged BATCH of {rows} rows.")),
            Operation::Prepare => Some(format!("A statement {name} is one PREPARE.")),
            Operation::Unprepared => Some(format!("A statement {name} is text and values, not prepared.")),
            Operation::Connect => Some(format!("A statement {name} is one session, from connecting to its end.")),
        });
    }
    if scenario.submit != Submit::default() {
        sentences.push(format!("Statements are submitted otherwise than by slots: {}.", scenario.submit.about()));
    }
    let limits = &scenario.limits;
    let (count, warmup, concurrency) =
        (limits.count(plan.count), limits.warmup(plan.warmup), scenario.in_flight(plan.concurrency));
    if (count, warmup, concurrency) != (plan.count, plan.warmup, plan.concurrency) {
        sentences.push(format!(
            "The scenario leaves a cell {} statements after {} to warm up, {} in flight.",
            whole(count as f64),
            whole(warmup as f64),
            whole(concurrency as f64)
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The statements that this worker has in flight over so many `connections` per node, if they are fewer than the plan's.
pub(crate) fn own_concurrency(plan: &Plan, connections: usize, hello: &Hello) -> Option<usize> {
    let nodes = match &plan.target {
        Target::Embedded => 1,
        Target::Addresses { nodes, .. } => nodes.len(),
    };
    let own = hello.driver.in_flight_per_connection? * connections * nodes;
    (own < plan.concurrency).then_some(own)
}

/// Why this worker cannot be asked this scenario, as a full sentence, if so.
pub(crate) fn left_out(plan: &Plan, settings: Settings, hello: &Hello, scenario: &Scenario) -> Option<String> {
    let asked = scenario.in_flight(plan.concurrency);
    if let Some(most) = hello.driver.most_in_flight.get(&settings).filter(|most| **most < asked) {
        let otherwise = match settings {
            Settings::Default => ", or compare with --settings equal",
            Settings::Equal => "",
        };
        return Some(format!(
            "It can have {} statements in flight, and {} were asked for; ask for fewer with --concurrency{otherwise}.",
            whole(*most as f64),
            whole(asked as f64)
        ));
    }
    let capabilities = &hello.driver.capabilities;
    let offline = capabilities.contains(&Capability::Offline);
    scenario.statements.iter().find_map(|statement| {
        let capability = lacking(statement.operation, capabilities)?;
        Some(match offline {
            true => format!("It sends nothing, so there is nothing to {capability}."),
            false => format!(
                "It does not declare the capability `{capability}`, which the statement {} needs.",
                statement.name
            ),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn a_table_says_what_a_statement_is_and_what_the_limits_leave() {
        let of = |name: &str, count| {
            let plan = Plan { count, ..plan(&["floor"], &[name]) };
            asked(&plan, &plan.scenarios[0])
        };
        assert_eq!(of("writes", 10_000_000), None);
        let batch = of("batch", 10_000_000).unwrap();
        assert!(
            batch.starts_with("A statement batch is one unlogged BATCH of 64 rows. The scenario leaves a cell"),
            "{batch}"
        );
        assert!(batch.contains("20,000 statements after"), "{batch}");
        let few = of("connect", 5).unwrap();
        let spawned = plan(&["floor"], &["writes"]);
        let scenario = Scenario { submit: Submit::Spawn, ..spawned.scenarios[0].clone() };
        assert_eq!(
            asked(&spawned, &scenario).unwrap(),
            "Statements are submitted otherwise than by slots: a task per statement, spawned when a semaphore has a permit."
        );
        assert!(few.contains("leaves a cell 5 statements after") && few.ends_with("1 in flight."), "{few}");
    }

    #[test]
    fn who_cannot_do_a_scenario_is_told_why() {
        let hello = |capabilities: &str| -> Hello {
            let text = format!(
                r#"{{"protocol":2,"driver":{{"name":"a","version":"1","libraries":[],"capabilities":[{capabilities}],"caveats":[]}},
                "settings":[],"build":{{"id":"","compiler":"","profile":""}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let of = |capabilities, name| {
            let plan = plan(&["a"], &[name]);
            left_out(&plan, plan.settings, &hello(capabilities), &plan.scenarios[0])
        };
        assert_eq!(of("", "writes"), None);
        assert_eq!(of(r#""batch""#, "batch"), None);
        assert_eq!(
            of("", "batch").unwrap(),
            "It does not declare the capability `batch`, which the statement batch needs."
        );
        assert_eq!(of(r#""offline""#, "connect").unwrap(), "It sends nothing, so there is nothing to connect.");
    }

    #[test]
    fn a_driver_that_blocks_has_as_many_in_flight_as_connections() {
        let hello: Hello = serde_json::from_str(
            r#"{"protocol":2,"driver":{"name":"a","version":"1","libraries":[],"capabilities":[],"caveats":[],
            "in_flight_per_connection":1},"settings":[],"build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        let of = |concurrency, connections, target: &str| {
            let target = Target::parse(target).unwrap();
            let plan = Plan { concurrency, target, ..plan(&["a"], &["writes"]) };
            assert_eq!(left_out(&plan, plan.settings, &hello, &plan.scenarios[0]), None);
            own_concurrency(&plan, connections, &hello)
        };
        assert_eq!(of(1_024, 1, "embedded"), Some(1));
        assert_eq!(of(1_024, 4, "127.0.0.1,127.0.0.2"), Some(8));
        assert_eq!(of(4, 4, "embedded"), None, "as many as the others have");
    }

    #[test]
    fn a_driver_that_cannot_have_as_many_in_flight_is_left_out_with_both_numbers() {
        let hello: Hello = serde_json::from_str(
            r#"{"protocol":2,"driver":{"name":"a","version":"1","libraries":[],"capabilities":["connect"],"caveats":[],
            "most_in_flight":{"default":8192}},"settings":[],"build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        let of = |settings, concurrency, name: &str| {
            let plan = Plan { settings, concurrency, ..plan(&["a"], &[name]) };
            left_out(&plan, plan.settings, &hello, &plan.scenarios[0])
        };
        assert_eq!(of(Settings::Default, 8_192, "writes"), None);
        assert_eq!(
            of(Settings::Default, 8_193, "writes").unwrap(),
            "It can have 8,192 statements in flight, and 8,193 were asked for; ask for fewer with --concurrency, or compare with \
             --settings equal."
        );
        assert_eq!(of(Settings::Equal, 20_000, "writes"), None, "it makes room for them");
        assert_eq!(of(Settings::Default, 20_000, "connect"), None, "the scenario's own limit is lower");
    }
}
