//! A sweep: every scenario with several numbers in flight, and over several numbers of connections.

use cqldyno_scenarios::{Limits, Point, Scenario};

use crate::plan::{Plan, PlanError};

impl Plan {
    /// The plan with a scenario for every combination of these numbers. A single number of connections is the plan's own; with several in
    /// flight all cells are guessed to take as long as that with the most.
    ///
    /// # Errors
    /// When a scenario never has as many in flight.
    pub fn with_sweep(mut self, in_flight: &[u64], connections: &[u64]) -> Result<Plan, PlanError> {
        let over: Vec<Option<u64>> = match connections {
            [_] => vec![None],
            several => several.iter().copied().map(Some).collect(),
        };
        let mut scenarios = Vec::new();
        for scenario in &self.scenarios {
            for connections in &over {
                for number in in_flight {
                    let point = Point { in_flight: *number, connections: *connections };
                    let at = scenario.at(point).map_err(|own| PlanError::Point(scenario.kind(), own, *number))?;
                    scenarios.push(if in_flight.len() > 1 { self.as_long(at) } else { at });
                }
            }
        }
        self.scenarios = scenarios;
        Ok(self)
    }

    /// Whether scenarios have numbers in flight of their own.
    pub(crate) fn is_sweep(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.point.is_some())
    }

    /// The scenario with as many statements as take no longer than the plan's with most in flight.
    fn as_long(&self, scenario: Scenario) -> Scenario {
        let limits = scenario.limits;
        let quickest = Scenario { point: None, ..scenario.clone() };
        let share = self.statement_seconds(&quickest) / self.statement_seconds(&scenario);
        let count = limits.count((self.issued_in(1) as f64 * share).max(1.0) as u64);
        let warmup = limits.warmup((self.warmup as f64 * share).ceil() as u64);
        Scenario { limits: Limits { count: Some(count), warmup: Some(warmup), ..limits }, ..scenario }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn every_combination_is_a_scenario_of_its_own_and_few_in_flight_have_few_statements() {
        let many = plan(&["a"], &["writes"]);
        let swept = many.clone().with_sweep(&[1, 8], &[1, 2]).unwrap();
        let labels: Vec<String> = swept.scenarios.iter().map(Scenario::label).collect();
        let over = |number, connections| format!("writes, {number} in flight over {connections}");
        assert_eq!(
            labels,
            [over(1, "1 connection"), over(8, "1 connection"), over(1, "2 connections"), over(8, "2 connections")]
        );
        let counts: Vec<u64> = swept.scenarios.iter().map(|one| one.limits.count(u64::MAX)).collect();
        assert_eq!(counts, [125, 1_000, 125, 1_000]);
        let one = many.with_sweep(&[8], &[4]).unwrap();
        assert_eq!(one.scenarios[0].point, Some(Point { in_flight: 8, connections: None }));
        assert_eq!(one.scenarios[0].limits, Limits::default());
    }

    #[test]
    fn more_than_a_scenario_has_in_flight_is_refused() {
        let error = plan(&["a"], &["batch"]).with_sweep(&[64, 128], &[1]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the scenario batch has at most 64 in flight, and --concurrency asks for 128; name numbers up to 64"
        );
    }
}
