//! How long a run takes: a table of rough rates, corrected by what ended cells took.

use std::collections::HashMap;
use std::time::Duration;

use cqldyno_scenarios::{Scenario, Workload};

use crate::plan::{Plan, PlannedCell};

/// What a cell takes besides its statements: processes, connections, schema, warm-up.
const OVERHEAD: Duration = Duration::from_millis(200);

/// Rows that floor loads a second.
const LOAD_RATE: f64 = 2_500_000.0;

/// Statements a second of a contender that has not run yet.
fn rough_rate(driver: &str) -> f64 {
    match driver {
        "noop" => 8_000_000.0,
        "floor" => 2_500_000.0,
        "scylla" | "cassandra-cpp" => 550_000.0,
        _ => 450_000.0,
    }
}

/// Estimates cells of one plan.
#[derive(Debug)]
pub struct Estimate<'a> {
    plan: &'a Plan,
    /// What ended cells took over what the table says, by contender and scenario.
    factors: HashMap<(usize, usize), f64>,
}

impl<'a> Estimate<'a> {
    /// Knows the table only.
    pub fn new(plan: &'a Plan) -> Estimate<'a> {
        Estimate { plan, factors: HashMap::new() }
    }

    /// Takes in how long `cell` took.
    pub fn ended(&mut self, cell: &PlannedCell, took: Duration) {
        let table = self.by_table(cell).as_secs_f64();
        self.factors.insert((cell.contender, cell.scenario), took.as_secs_f64() / table);
    }

    /// How long these cells take together.
    pub fn of(&self, cells: &[PlannedCell]) -> Duration {
        cells.iter().map(|cell| self.by_table(cell).mul_f64(self.factor(cell))).sum()
    }

    /// The contender's own factor in this scenario, else its mean over scenarios, else the mean over all.
    fn factor(&self, cell: &PlannedCell) -> f64 {
        if let Some(factor) = self.factors.get(&(cell.contender, cell.scenario)) {
            return *factor;
        }
        let mean =
            |factors: Vec<f64>| (!factors.is_empty()).then(|| factors.iter().sum::<f64>() / factors.len() as f64);
        let own =
            self.factors.iter().filter(|((who, _), _)| *who == cell.contender).map(|(_, factor)| *factor).collect();
        mean(own).or_else(|| mean(self.factors.values().copied().collect())).unwrap_or(1.0)
    }

    fn by_table(&self, cell: &PlannedCell) -> Duration {
        let driver = self.plan.contenders.get(cell.contender).map_or("", |contender| contender.name.as_str());
        let statements = (cell.count + self.plan.warmup) as f64 / rough_rate(driver);
        let loaded = match self.plan.scenarios.get(cell.scenario) {
            Some(scenario) if driver != "noop" => {
                rows_to_load(scenario, cell.count, self.plan.warmup) as f64 / LOAD_RATE
            }
            _ => 0.0,
        };
        OVERHEAD + Duration::from_secs_f64(statements + loaded)
    }
}

fn rows_to_load(scenario: &Scenario, count: u64, warmup: u64) -> u64 {
    Workload::new(scenario, count, warmup, 0).map_or(0, |workload| workload.load().iter().map(|part| part.rows()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;

    #[test]
    fn what_ended_cells_took_corrects_what_is_left() {
        let plan = plan(&["scylla", "noop"], &["writes", "reads"]);
        let cells = plan.cells(&[0, 1], true);
        let mut estimate = Estimate::new(&plan);
        let before = estimate.of(&cells);
        assert!(before > OVERHEAD * 12);
        estimate.ended(&cells[0], estimate.by_table(&cells[0]) * 10);
        let of_first = estimate.of(&cells[..1]);
        assert!(of_first.abs_diff(estimate.by_table(&cells[0]) * 10) < Duration::from_millis(1), "{of_first:?}");
        assert!(estimate.of(&cells) > before * 8, "the others are taken to be slower, too");
    }

    #[test]
    fn loading_counts_for_reads_and_not_for_noop() {
        let plan = Plan { count: 10_000_000, ..plan(&["scylla", "noop"], &["writes", "reads"]) };
        let estimate = Estimate::new(&plan);
        let of = |contender, scenario| {
            let cells = plan.cells(&[0, 1], true);
            let cell = *cells.iter().find(|cell| cell.contender == contender && cell.scenario == scenario).unwrap();
            estimate.of(&[cell])
        };
        assert!(of(0, 1) > of(0, 0) + Duration::from_secs(3));
        assert_eq!(of(1, 0), of(1, 1));
    }
}
