//! The pitfalls of measuring a driver, as a ladder from the naive figure to the sound one.

mod climbed;
mod shown;

use anyhow::{Context, Result};
use cqldyno_bench::{Arrangement, Contender, Plan};
use cqldyno_scenarios::{Limits, Operation, Scenario, Submit, builtin};

pub use self::climbed::climbed;
pub use self::shown::{json, parts};

/// The scenario that every step changes in one thing.
const SOUND: &str = "reads";

/// Statements of a cell with one statement in flight: a round trip takes long.
const ONE_BY_ONE: u64 = 20_000;

/// A step of the ladder: what differs from the sound one, and what is wrong with that.
pub struct Step {
    /// As results call it.
    pub name: &'static str,
    pub title: &'static str,
    pub wrong: &'static str,
    submit: Submit,
    operation: Operation,
    /// Distinct keys; `None` for one per statement.
    keys: Option<u64>,
}

const RIGHT: Step = Step {
    name: "sound",
    title: "sound",
    wrong: "Prepared, each row once, a fixed number in flight, every answer checked.",
    submit: Submit::Slots,
    operation: Operation::Execute,
    keys: None,
};

/// The steps, the naive one first and the sound one last.
pub const STEPS: [Step; 6] = [
    Step {
        name: "one-at-a-time",
        title: "one at a time",
        wrong: "Each statement waits for the last answer: this measures the round trip.",
        submit: Submit::Sequential,
        ..RIGHT
    },
    Step {
        name: "not-prepared",
        title: "not prepared",
        wrong: "The text is sent, and parsed or prepared, every time.",
        operation: Operation::Unprepared,
        ..RIGHT
    },
    Step {
        name: "same-row",
        title: "always the same row",
        wrong: "The row stays in every cache, and a mixed-up answer looks right.",
        keys: Some(1),
        ..RIGHT
    },
    Step {
        name: "spawn-all",
        title: "a task per statement",
        wrong: "All tasks exist at once, so memory grows with the number of statements.",
        submit: Submit::SpawnAll,
        ..RIGHT
    },
    Step {
        name: "unlimited",
        title: "no limit",
        wrong: "Everything is sent at once: queues fill, and the rest waits or fails.",
        submit: Submit::Unlimited,
        ..RIGHT
    },
    RIGHT,
];

impl Step {
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

/// The plan of the whole ladder for one contender, in so many generations of one turn of `count` statements.
pub fn plan(contender: Contender, arrangements: Vec<Arrangement>, count: u64, blocks: u32) -> Result<Plan> {
    let sound = sound()?;
    let scenarios = STEPS.iter().map(|step| step.scenario(&sound)).collect();
    let plan = Plan { arrangements, ..Plan::new(vec![contender], scenarios) };
    Ok(plan.with(|plan| plan.passes.clear()).with_blocks(blocks, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_scenario_that_runs_and_a_sentence_that_fits() {
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
        for step in &STEPS {
            let is_one_sentence = step.wrong.ends_with('.') && !step.wrong.contains(". ");
            assert!(is_one_sentence && step.wrong.len() <= 78, "{}", step.wrong);
        }
    }
}
