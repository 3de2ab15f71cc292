//! What a scenario asks: what one of its statements is, what its limits leave of a plan, and which workers cannot do it.

use cqldyno_driver_api::{Capability, DriverInfo, Settings};
use cqldyno_protocol::{Hello, lacking};
use cqldyno_reports::{Pass, count, whole};
use cqldyno_scenarios::{Operation, RowCheck, Scenario, Statement, Submit};

use crate::plan::Plan;
use crate::plan::contender::InForce;
use crate::plan::pass::{SECONDS, at_rate};

/// The sentences over a table about what a statement is, if it is no EXECUTE, and about what the scenario's limits leave of the plan.
pub(crate) fn asked(plan: &Plan, scenario: &Scenario) -> Option<String> {
    let mut sentences: Vec<String> = Vec::new();
    if let Some((tape, rows)) = scenario.tape.as_ref().and_then(|tape| Some((tape, tape.rows?))) {
        let again = plan.total.is_none_or(|total| total > rows);
        sentences.push(format!(
            "Statements and their values are the {} of {}, in their order{}.",
            count(rows, "row"),
            tape.path.display(),
            if again { "; after the last row the first one comes again" } else { "" }
        ));
    }
    for statement in &scenario.statements {
        let (name, rows) = (&statement.name, statement.rows());
        sentences.extend(match statement.operation {
            Operation::Execute => None,
            Operation::Batch => {
                let (logged, size) =
                    (if statement.logged { "logged" } else { "unlogged" }, statement.answer().stored());
                Some(format!("A statement {name} is one {logged} BATCH of {size} rows."))
            }
            Operation::Prepare => Some(format!("A statement {name} is one PREPARE.")),
            Operation::Unprepared => Some(format!("A statement {name} is text and values, not prepared.")),
            Operation::Connect => Some(format!("A statement {name} is one session, from connecting to its end.")),
        });
        sentences.extend(statement.expect.as_ref().and_then(|expect| match expect.check {
            RowCheck::Order => None,
            RowCheck::Content => Some(format!("The {rows} rows of a statement {name} may come in any order.")),
            RowCheck::Count => Some(format!("The rows of a statement {name} are counted, and not looked at.")),
        }));
    }
    if scenario.submit != Submit::default() {
        sentences.push(format!("Statements are submitted otherwise than by slots: {}.", scenario.submit.about()));
    }
    let limits = &scenario.limits;
    let asked = plan.issued_in(1);
    let (count, warmup, concurrency) =
        (limits.count(asked), limits.warmup(plan.warmup), plan.in_flight(scenario) as u64);
    if plan.ladder.is_none() && scenario.point.is_some()
        || (count, warmup, concurrency) != (asked, plan.warmup, plan.concurrency)
    {
        sentences.push(format!(
            "The {} leaves a generation {} statements after {} to warm up, {} in flight.",
            if scenario.point.is_some() { "sweep" } else { "scenario" },
            whole(count as f64),
            whole(warmup as f64),
            whole(concurrency as f64)
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What the scenario's limits leave of the numbers that were asked for, as a sentence, if that is less. A sweep says it by its points.
pub(crate) fn dropped(plan: &Plan, scenario: &Scenario) -> Option<String> {
    let asked = plan.issued_in(1);
    let in_flight = (plan.in_flight(scenario) as u64, plan.concurrency);
    let in_all = plan.total.filter(|total| *total < plan.count);
    let (count, what) = match in_all {
        Some(total) => ((total, plan.count), "statements"),
        None => ((scenario.limits.count(asked), asked), "statements per generation"),
    };
    let numbers = [count, in_flight].into_iter().zip([what, "in flight"]).filter(|((left, asked), _)| left < asked);
    let said: Vec<String> = numbers
        .map(|((left, asked), what)| format!("{} {what} instead of {}", whole(left as f64), whole(asked as f64)))
        .collect();
    let is_less = scenario.point.is_none() && !said.is_empty();
    is_less.then(|| format!("The limits of the scenario {} leave {}.", scenario.label(), said.join(" and ")))
}

/// How long the pass at a rate lasts and how many statements that are, as a sentence, if a rate was asked for.
pub(crate) fn paced(plan: &Plan) -> Option<String> {
    let rate = plan.rate.filter(|_| plan.passes.contains(&Pass::Latency))?;
    Some(format!(
        "At {} per second the latency pass starts {}, whatever --count says: it lasts up to {SECONDS} s.",
        count(rate, "statement"),
        whole(at_rate(plan, rate) as f64),
    ))
}

/// The statements that this worker has in flight over so many `connections` per node, if they are fewer than the plan's.
pub(crate) fn own_concurrency(plan: &Plan, connections: usize, hello: &Hello) -> Option<usize> {
    let own = hello.driver.in_flight_per_connection? * connections * plan.target.nodes();
    (own < plan.concurrency as usize).then_some(own)
}

/// Why some statements of a point of a sweep wait within this driver, as a full sentence, if so.
pub(crate) fn waits(plan: &Plan, own: InForce, driver: &DriverInfo, scenario: &Scenario) -> Option<String> {
    let room = driver.queue_per_connection?;
    let asked = plan.in_flight(scenario);
    (asked > room * own.connections * plan.target.nodes()).then(|| {
        format!(
            "its channel to each connection takes {} requests by default, and others wait for room",
            whole(room as f64)
        )
    })
}

/// Why this driver cannot be asked this scenario, as a full sentence, if so.
pub(crate) fn left_out(plan: &Plan, own: InForce, driver: &DriverInfo, scenario: &Scenario) -> Option<String> {
    let asked = plan.in_flight(scenario);
    let settings = own.settings;
    let each = driver.in_flight_per_connection.filter(|_| scenario.point.is_some());
    if let Some(most) = each.map(|each| each * own.connections * plan.target.nodes()).filter(|most| *most < asked) {
        return Some(format!(
            "It blocks, so it can have {} in flight over its connections, and {} were asked for; ask for more --connections.",
            count(most as u64, "statement"),
            whole(asked as f64)
        ));
    }
    if let Some(most) = driver.most_in_flight.get(&settings).filter(|most| **most < asked) {
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
    let lacks = &driver.lacks_types;
    let lacking_type = |statement: &Statement| {
        let name = statement.type_that(|name| lacks.contains(name))?;
        let statement = &statement.name;
        Some(format!("It cannot bind or decode a value of the type {name}, which the statement {statement} has."))
    };
    if let Some(reason) = scenario.statements.iter().find_map(lacking_type) {
        return Some(reason);
    }
    let capabilities = &driver.capabilities;
    let offline = capabilities.contains(&Capability::Offline);
    if (plan.access.tls.is_some() || plan.serve.tls) && !offline && !capabilities.contains(&Capability::Tls) {
        return Some("It does not declare the capability `tls`, which the cluster asks for.".to_owned());
    }
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
    use crate::plan::contender::Own;
    use crate::plan::plan;
    use crate::plan::target::Target;

    fn in_force(plan: &Plan) -> InForce {
        Own::default().in_force(plan, Some(&plan.scenarios[0]))
    }

    #[test]
    fn a_table_says_what_a_statement_is_and_what_the_limits_leave() {
        let of = |name: &str, count| {
            let plan = plan(&["floor"], &[name]).with_blocks(1, count);
            asked(&plan, &plan.scenarios[0])
        };
        assert_eq!(of("writes", 10_000_000), None);
        let batch = of("batch", 10_000_000).unwrap();
        assert!(
            batch.starts_with("A statement batch is one unlogged BATCH of 64 rows. The scenario leaves a generation"),
            "{batch}"
        );
        assert!(batch.contains("20,000 statements after"), "{batch}");
        let checked = |check| {
            let mut plan = plan(&["floor"], &["rows"]).with_blocks(1, 1);
            plan.scenarios[0].statements[0].expect.as_mut().unwrap().check = check;
            asked(&plan, &plan.scenarios[0]).unwrap_or_default()
        };
        assert!(checked(RowCheck::Count).contains("are counted, and not looked at."));
        assert!(checked(RowCheck::Content).contains("may come in any order."));
        let few = of("connect", 5).unwrap();
        let less = |name: &str, count, concurrency| {
            let plan = plan(&["floor"], &[name]).with(|one| one.concurrency = concurrency).with_blocks(1, count);
            dropped(&plan, &plan.scenarios[0])
        };
        assert_eq!(
            less("batch", 100_000, 1_024).unwrap(),
            "The limits of the scenario batch leave 20,000 statements per generation instead of 100,000 and 64 in flight instead of 1,024."
        );
        assert_eq!(
            less("connect", 10, 64).unwrap(),
            "The limits of the scenario connect leave 1 in flight instead of 64."
        );
        let total = plan(&["floor"], &["connect"]).with(|one| one.concurrency = 1).with_total(100_000, None);
        assert_eq!(
            dropped(&total, &total.scenarios[0]).unwrap(),
            "The limits of the scenario connect leave 1,000 statements instead of 100,000."
        );
        assert_eq!(less("writes", 100_000, 1_024).or(less("batch", 20_000, 64)), None);
        let paced = |count, rate| {
            let passes = vec![Pass::Latency];
            paced(&plan(&["floor"], &["writes"]).with(|one| (one.count, one.rate, one.passes) = (count, rate, passes)))
        };
        let said = "At 1 statement per second the latency pass starts 3, whatever --count says: it lasts up to 3 s.";
        assert_eq!(paced(100_000, Some(1)).as_deref(), Some(said));
        assert!(
            paced(1_000, Some(10_000))
                .unwrap()
                .contains("At 10,000 statements per second the latency pass starts 4,000,")
        );
        assert_eq!(paced(1_000, None), None);
        let spawned = plan(&["floor"], &["writes"]);
        let scenario = Scenario { submit: Submit::Spawn, ..spawned.scenarios[0].clone() };
        assert_eq!(
            asked(&spawned, &scenario).unwrap(),
            "Statements are submitted otherwise than by slots: a task per statement, spawned when a semaphore has a permit."
        );
        assert!(few.contains("leaves a generation 5 statements after") && few.ends_with("1 in flight."), "{few}");
    }

    #[test]
    fn who_cannot_do_a_scenario_is_told_why() {
        let hello = |capabilities: &str| -> Hello {
            let text = format!(
                r#"{{"protocol":3,"driver":{{"name":"a","version":"1","libraries":[],"capabilities":[{capabilities}],"caveats":[]}},
                "settings":[],"build":{{"id":"","compiler":"","profile":""}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let of = |capabilities, name| {
            let plan = plan(&["a"], &[name]);
            left_out(&plan, in_force(&plan), &hello(capabilities).driver, &plan.scenarios[0])
        };
        assert_eq!(of("", "writes"), None);
        assert_eq!(of(r#""batch""#, "batch"), None);
        assert_eq!(
            of("", "batch").unwrap(),
            "It does not declare the capability `batch`, which the statement batch needs."
        );
        assert_eq!(of(r#""offline""#, "connect").unwrap(), "It sends nothing, so there is nothing to connect.");
        let plan = plan(&["a"], &["writes"]);
        let mut lacking = hello("");
        lacking.driver.lacks_types = ["bigint".into()].into();
        assert_eq!(
            left_out(&plan, in_force(&plan), &lacking.driver, &plan.scenarios[0]).unwrap(),
            "It cannot bind or decode a value of the type bigint, which the statement insert has."
        );
    }

    #[test]
    fn who_has_no_tls_is_left_out_where_it_is_asked_for() {
        let hello = |capabilities: &str| -> Hello {
            let text = format!(
                r#"{{"protocol":3,"driver":{{"name":"a","version":"1","libraries":[],"capabilities":[{capabilities}],"caveats":[]}},
                "settings":[],"build":{{"id":"","compiler":"","profile":""}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let mut plan = plan(&["a"], &["writes"]);
        let of =
            |plan: &Plan, capabilities| left_out(plan, in_force(plan), &hello(capabilities).driver, &plan.scenarios[0]);
        assert_eq!(of(&plan, ""), None);
        plan.access.tls = Some(cqldyno_driver_api::Tls::default());
        assert_eq!(of(&plan, "").unwrap(), "It does not declare the capability `tls`, which the cluster asks for.");
        assert_eq!((of(&plan, r#""tls""#), of(&plan, r#""offline""#)), (None, None));
        plan.access.tls = None;
        let plan = plan.with(|one| one.serve.tls = true);
        assert!(of(&plan, "").is_some());
        assert_eq!(of(&plan, r#""tls""#), None);
    }

    #[test]
    fn a_driver_that_blocks_has_as_many_in_flight_as_connections() {
        let hello: Hello = serde_json::from_str(
            r#"{"protocol":3,"driver":{"name":"a","version":"1","libraries":[],"capabilities":[],"caveats":[],
            "in_flight_per_connection":1},"settings":[],"build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        let of = |concurrency, connections, target: &str| {
            let target = Target::parse(target).unwrap();
            let plan = Plan { target, ..plan(&["a"], &["writes"]) }.with(|one| one.concurrency = concurrency);
            assert_eq!(left_out(&plan, in_force(&plan), &hello.driver, &plan.scenarios[0]), None);
            own_concurrency(&plan, connections, &hello)
        };
        assert_eq!(of(1_024, 1, "embedded"), Some(1));
        assert_eq!(of(1_024, 4, "127.0.0.1,127.0.0.2"), Some(8));
        assert_eq!(of(4, 4, "embedded"), None, "as many as the others have");
    }

    #[test]
    fn a_driver_that_cannot_have_as_many_in_flight_is_left_out_with_both_numbers() {
        let hello: Hello = serde_json::from_str(
            r#"{"protocol":3,"driver":{"name":"a","version":"1","libraries":[],"capabilities":["connect"],"caveats":[],
            "most_in_flight":{"default":8192}},"settings":[],"build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        let of = |settings, concurrency, name: &str| {
            let plan = Plan { settings, ..plan(&["a"], &[name]) }.with(|one| one.concurrency = concurrency);
            left_out(&plan, in_force(&plan), &hello.driver, &plan.scenarios[0])
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

    #[test]
    fn a_point_beyond_what_a_driver_holds_is_left_out_and_one_beyond_its_channel_says_so() {
        let hello = |limit: &str| -> Hello {
            let text = format!(
                r#"{{"protocol":3,"driver":{{"name":"a","version":"1","libraries":[],"capabilities":[],"caveats":[],{limit}}},
                "settings":[],"build":{{"id":"","compiler":"","profile":""}}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        let plan = plan(&["a"], &["writes"]).with(|one| one.concurrency = 4_096);
        let plan = plan.with_sweep(&[4, 4_096], &[1, 4], &[], &[]).unwrap();
        let said = |hello: &Hello, why: fn(&Plan, InForce, &DriverInfo, &Scenario) -> Option<String>| {
            let of = |one| why(&plan, Own::default().in_force(&plan, Some(one)), &hello.driver, one);
            plan.scenarios.iter().map(of).collect::<Vec<_>>()
        };
        let blocking = said(&hello(r#""in_flight_per_connection":1"#), left_out);
        assert_eq!(blocking.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true]);
        assert!(
            blocking[0].as_ref().unwrap().contains("can have 1 statement in flight over its connections, and 4 were")
        );
        let channel = said(&hello(r#""queue_per_connection":1024"#), waits);
        assert_eq!(channel.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, false]);
        assert!(channel[1].as_ref().unwrap().contains("takes 1,024 requests by default, and others wait"));
    }
}
