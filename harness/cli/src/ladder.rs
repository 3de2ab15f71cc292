//! The pitfalls of measuring a driver, as a ladder from the naive figure to the sound one.

mod climbed;
mod shown;

use anyhow::{Context, Result};
use cqldyno_bench::{Arrangement, Contender, Plan};
use cqldyno_protocol::Runtime;
use cqldyno_scenarios::{Limits, Operation, Scenario, Submit, builtin};

pub use self::climbed::climbed;
pub use self::shown::{json, table};

/// The scenario that every step changes in one thing.
const SOUND: &str = "reads";

/// The threads of every step but one.
const MULTI: Arrangement = Arrangement { runtime: Runtime::Multi { workers: 2 }, pinned: false };

/// One thread.
const CURRENT: Arrangement = Arrangement { runtime: Runtime::Current, pinned: false };

/// Statements of a cell with one statement in flight: a round trip takes long.
const ONE_BY_ONE: u64 = 20_000;

/// A step of the ladder: what differs from the sound one, and what is wrong with that.
pub struct Step {
    /// As results call it.
    pub name: &'static str,
    /// What it does.
    pub title: &'static str,
    /// What is wrong with it, in one sentence.
    pub wrong: &'static str,
    submit: Submit,
    operation: Operation,
    /// Distinct keys; `None` for one per statement.
    keys: Option<u64>,
    arrangement: Arrangement,
}

const RIGHT: Step = Step {
    name: "sound",
    title: "sound",
    wrong: "Prepared, each row once, a fixed number in flight, every answer checked.",
    submit: Submit::Slots,
    operation: Operation::Execute,
    keys: None,
    arrangement: MULTI,
};

/// The steps, the naive one first and the sound one last.
pub const STEPS: [Step; 7] = [
    Step {
        name: "one-at-a-time",
        title: "one at a time",
        wrong: "Each statement waits for the last answer: this is the time of a round trip.",
        submit: Submit::Sequential,
        ..RIGHT
    },
    Step {
        name: "not-prepared",
        title: "not prepared",
        wrong: "Text goes with every statement, and is parsed or prepared each time.",
        operation: Operation::Unprepared,
        ..RIGHT
    },
    Step {
        name: "same-row",
        title: "the same row again and again",
        wrong: "One row stays in every cache, and mixed-up answers look right.",
        keys: Some(1),
        ..RIGHT
    },
    Step {
        name: "spawn-all",
        title: "spawning without waiting",
        wrong: "A task waits for every statement to come, so memory grows with their number.",
        submit: Submit::SpawnAll,
        ..RIGHT
    },
    Step {
        name: "unlimited",
        title: "no limit",
        wrong: "All statements are in flight at once: queues grow, and what overflows fails.",
        submit: Submit::Unlimited,
        ..RIGHT
    },
    Step {
        name: "one-thread",
        title: "one thread",
        wrong: "One thread runs all, which can turn the order of drivers: measure both.",
        arrangement: CURRENT,
        ..RIGHT
    },
    RIGHT,
];

impl Step {
    /// The step's scenario; `None` if the step differs from another one in its arrangement alone.
    fn scenario(&self, sound: &Scenario) -> Option<Scenario> {
        if self.arrangement != MULTI {
            return None;
        }
        let mut scenario = Scenario { name: self.name.to_owned(), submit: self.submit, ..sound.clone() };
        if self.submit == Submit::Sequential {
            scenario.limits = Limits { count: Some(ONE_BY_ONE), warmup: Some(ONE_BY_ONE / 20), concurrency: None };
        }
        for statement in &mut scenario.statements {
            (statement.operation, statement.keys) = (self.operation, self.keys);
        }
        Some(scenario)
    }

    /// What results call the step's scenario.
    fn label(&self, sound: &Scenario) -> String {
        self.scenario(sound).or_else(|| RIGHT.scenario(sound)).map(|scenario| scenario.label()).unwrap_or_default()
    }
}

/// The scenario of the sound step.
fn sound() -> Result<Scenario> {
    builtin(SOUND).with_context(|| format!("there is no scenario {SOUND} in this program"))
}

/// The plan of the whole ladder for one contender, with so many statements per cell and so many blocks.
///
/// # Errors
/// When the program lacks the scenario that all steps begin with.
pub fn plan(contender: Contender, count: u64, blocks: u32) -> Result<Plan> {
    let sound = sound()?;
    let scenarios = STEPS.iter().filter_map(|step| step.scenario(&sound)).collect();
    let arrangements = vec![MULTI, CURRENT];
    Ok(Plan { arrangements, count, blocks, passes: Vec::new(), ..Plan::new(vec![contender], scenarios) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_scenario_that_runs_and_a_sentence_that_fits() {
        let plan = plan("scylla".parse().unwrap(), 100_000, 3).unwrap();
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
        let sound = sound().unwrap();
        for step in &STEPS {
            assert!(labels.contains(&step.label(&sound)), "{}", step.name);
            let is_one_sentence = step.wrong.ends_with('.') && !step.wrong.contains(". ");
            assert!(is_one_sentence && step.wrong.len() <= 78, "{}", step.wrong);
        }
    }
}
