//! A sweep: every scenario with several numbers in flight, over several numbers of connections, on several numbers of shards, and at
//! several distances.

use cqldyno_scenarios::{Limits, Point, Scenario};

use crate::plan::{Plan, PlanError};

impl Plan {
    /// The plan with a scenario for every combination of these numbers; connections and shards may be none. A single number of shards is
    /// the plan's own, and so is one of connections unless there are several of shards. Several `delays` of
    /// answers, in nanoseconds, are distances; a single one is the plan's own. With several in flight all cells are guessed to take as
    /// long as that with the most.
    ///
    /// # Errors
    /// When a scenario never has as many in flight.
    pub fn with_sweep(
        mut self,
        in_flight: &[u64],
        connections: &[u64],
        shards: &[u64],
        delays: &[u64],
    ) -> Result<Plan, PlanError> {
        let own = |numbers: &[u64], is_own: bool| match numbers {
            [] => vec![None],
            [_] if is_own => vec![None],
            several => several.iter().copied().map(Some).collect(),
        };
        let (over, on, away) = (own(connections, shards.len() < 2), own(shards, true), own(delays, true));
        let mut scenarios = Vec::new();
        for scenario in &self.scenarios {
            let across = on.iter().flat_map(|shards| over.iter().map(move |over| (*shards, *over)));
            for ((shards, connections), delay_ns) in across.flat_map(|one| away.iter().map(move |away| (one, *away))) {
                for number in in_flight {
                    let point = Point { in_flight: *number, connections, shards, delay_ns };
                    let at = scenario.at(point).map_err(|own| PlanError::Point(scenario.kind(), own, *number))?;
                    scenarios.push(if in_flight.len() > 1 { self.as_long(at) } else { at });
                }
            }
        }
        self.scenarios = scenarios;
        Ok(self)
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
        let swept = many.clone().with_sweep(&[1, 8], &[1, 2], &[], &[]).unwrap();
        let labels: Vec<String> = swept.scenarios.iter().map(Scenario::label).collect();
        let over = |number, connections| format!("writes, {number} in flight over {connections}");
        assert_eq!(
            labels,
            [over(1, "1 connection"), over(8, "1 connection"), over(1, "2 connections"), over(8, "2 connections")]
        );
        let counts: Vec<u64> = swept.scenarios.iter().map(|one| one.limits.count(u64::MAX)).collect();
        assert_eq!(counts, [125, 1_000, 125, 1_000]);
        let one = many.with_sweep(&[8], &[4], &[2], &[7]).unwrap();
        assert_eq!(one.scenarios[0].point, Some(Point { in_flight: 8, ..Point::default() }));
        assert_eq!(one.scenarios[0].limits, Limits::default());
    }

    #[test]
    fn each_number_of_shards_has_nodes_of_its_own_with_a_connection_per_shard_unless_they_are_asked_for() {
        let of = |connections: &[u64], shards: &[u64]| {
            let plan = plan(&["a"], &["writes"]).with(|one| one.serve.delay = Some("1ms".parse().unwrap()));
            let plan = plan.with_sweep(&[8], connections, shards, &[]).unwrap();
            let own = |one: &Scenario| {
                let connections = plan.contenders[0].own.in_force(&plan, Some(one)).connections;
                (one.label(), plan.ring(Some(one)).shards(), connections, plan.served(Some(one)).words().join(" "))
            };
            plan.scenarios.iter().map(own).collect::<Vec<_>>()
        };
        let expected = |label: &str, shards: usize, connections| {
            (label.to_owned(), Some(shards), connections, format!("--shards {shards} --delay 1ms"))
        };
        assert_eq!(
            of(&[], &[1, 4]),
            [expected("writes, 8 in flight on 1 shard", 1, 1), expected("writes, 8 in flight on 4 shards", 4, 4)]
        );
        let both = of(&[2], &[1, 4]);
        assert_eq!(both[1], expected("writes, 8 in flight over 2 connections on 4 shards", 4, 2));
        let all = of(&[1, 2], &[1, 4]);
        assert_eq!((all.len(), &all[1]), (4, &expected("writes, 8 in flight over 2 connections on 1 shard", 1, 2)));
    }

    #[test]
    fn each_distance_has_a_node_that_delays_its_answers_so_long() {
        let plan = plan(&["a"], &["writes"]).with_sweep(&[8], &[], &[], &[0, 200_000]).unwrap();
        let served: Vec<String> = plan.scenarios.iter().map(|one| plan.served(Some(one)).words().join(" ")).collect();
        assert_eq!(served, ["--delay 0us", "--delay 200us"]);
        let delays: Vec<_> = plan.scenarios.iter().map(|one| plan.delay(Some(one)).mean().as_micros()).collect();
        assert_eq!((delays, plan.scenarios[1].label().ends_with("with delay 0.2ms")), (vec![0, 200], true));
    }

    #[test]
    fn more_than_a_scenario_has_in_flight_is_refused() {
        let error = plan(&["a"], &["batch"]).with_sweep(&[64, 128], &[1], &[], &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "the scenario batch has at most 64 in flight, and --concurrency asks for 128; name numbers up to 64"
        );
    }
}
