//! The pitfalls of measuring a driver: wrong methods, beside the sound one.

mod measured;
mod shown;

use anyhow::{Context, Result};
use cqldyno_bench::{Arrangement, Contender, Plan};
use cqldyno_scenarios::{Limits, Operation, Scenario, Submit, builtin};

pub use self::measured::measured;
pub use self::shown::{json, parts};

/// The scenario that every method changes in one thing.
const SOUND: &str = "reads";

/// Statements of a cell with one statement in flight: a round trip takes long.
const ONE_BY_ONE: u64 = 20_000;

/// A method of measuring: what differs from the sound one, and what is wrong with that.
pub struct Method {
    /// As results call it.
    pub name: &'static str,
    pub title: &'static str,
    pub wrong: &'static str,
    submit: Submit,
    operation: Operation,
    /// Distinct keys; `None` for one per statement.
    keys: Option<u64>,
}

const RIGHT: Method = Method {
    name: "sound",
    title: "sound",
    wrong: "Prepared, each row once, a fixed number in flight, every answer checked.",
    submit: Submit::Slots,
    operation: Operation::Execute,
    keys: None,
};

/// The naive one first, the sound one last.
pub const METHODS: [Method; 6] = [
    Method {
        name: "one-at-a-time",
        title: "one at a time",
        wrong: "Each statement waits for the last answer: this measures the round trip.",
        submit: Submit::Sequential,
        ..RIGHT
    },
    Method {
        name: "not-prepared",
        title: "not prepared",
        wrong: "The text is sent, and parsed or prepared, every time.",
        operation: Operation::Unprepared,
        ..RIGHT
    },
    Method {
        name: "same-row",
        title: "always the same row",
        wrong: "The row stays in every cache, and a mixed-up answer looks right.",
        keys: Some(1),
        ..RIGHT
    },
    Method {
        name: "spawn-all",
        title: "a task per statement",
        wrong: "All tasks exist at once, so memory grows with the number of statements.",
        submit: Submit::SpawnAll,
        ..RIGHT
    },
    Method {
        name: "unlimited",
        title: "no limit",
        wrong: "Everything is sent at once: queues fill, and the rest waits or fails.",
        submit: Submit::Unlimited,
        ..RIGHT
    },
    RIGHT,
];

impl Method {
    fn scenario(&self, sound: &Scenario) -> Scenario {
        let mut scenario = Scenario { name: self.name.to_owned(), submit: self.submit, ..sound.clone() };
        if self.submit == Submit::Sequential {
            scenario.limits = Limits { count: Some(ONE_BY_ONE), warmup: Some(ONE_BY_ONE / 20), ..Limits::default() };
        }
        for statement in &mut scenario.statements {
            (statement.operation, statement.keys) = (self.operation, self.keys);
        }
        scenario
    }
}

fn sound() -> Result<Scenario> {
    builtin(SOUND).with_context(|| format!("there is no scenario {SOUND} in this program"))
}

/// The plan of all methods for one contender, in so many generations of one turn of `count` statements.
pub fn plan(contender: Contender, arrangements: Vec<Arrangement>, count: u64, blocks: u32) -> Result<Plan> {
    let sound = sound()?;
    let scenarios = METHODS.iter().map(|method| method.scenario(&sound)).collect();
    let mut plan = Plan::new(vec![contender], scenarios);
    (plan.arrangements, plan.noise_share) = (arrangements, None);
    plan.passes.clear();
    Ok(plan.with_blocks(blocks, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_scenario_that_runs_and_a_sentence_that_fits() {
        let plan = plan("scylla".parse().unwrap(), vec!["multi:2".parse().unwrap()], 100_000, 3).unwrap();
        for scenario in &plan.scenarios {
            scenario.validate(&scenario.name).unwrap();
        }
        let labels: Vec<String> = plan.scenarios.iter().map(Scenario::label).collect();
        assert_eq!(
            labels,
            [
                "one-at-a-time+sequential",
                "not-prepared",
                "same-row",
                "spawn-all+spawn-all",
                "unlimited+unlimited",
                "sound"
            ]
        );
        for method in &METHODS {
            let is_one_sentence = method.wrong.ends_with('.') && !method.wrong.contains(". ");
            assert!(is_one_sentence && method.wrong.len() <= 78, "{}", method.wrong);
        }
    }
}
