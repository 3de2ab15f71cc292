//! Ratios within rounds.

use cqldyno_statistics::median_interval;

/// CPU microseconds a statement of both programs, round by round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ratios {
    harness: Vec<f64>,
    idiomatic: Vec<f64>,
}

impl Ratios {
    pub(crate) fn push(&mut self, harness_us: f64, idiomatic_us: f64) {
        self.harness.push(harness_us);
        self.idiomatic.push(idiomatic_us);
    }

    /// Median over the rounds.
    pub(crate) fn harness_us(&self) -> f64 {
        median(&self.harness)
    }

    /// Median over the rounds.
    pub(crate) fn idiomatic_us(&self) -> f64 {
        median(&self.idiomatic)
    }

    /// Median of the ratios within a round, harness to idiomatic.
    pub(crate) fn median(&self) -> f64 {
        median(&self.ratios())
    }

    /// The interval that holds the median with at least 95 % confidence; `None` with fewer than 6 rounds, where there is none.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let mut ratios = self.ratios();
        ratios.sort_by(f64::total_cmp);
        median_interval(&ratios)
    }

    fn ratios(&self) -> Vec<f64> {
        self.harness.iter().zip(&self.idiomatic).map(|(harness, idiomatic)| harness / idiomatic).collect()
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_interval_are_of_the_ratios_within_a_round() {
        let mut ratios = Ratios::default();
        for round in 1..=9 {
            ratios.push(f64::from(round) * 1.02, f64::from(round));
        }
        assert!((ratios.median() - 1.02).abs() < 1e-12);
        assert_eq!(ratios.idiomatic_us(), 5.0);
        let [low, high] = ratios.interval().unwrap();
        assert!(low <= high && (low - 1.02).abs() < 1e-12);
        assert!(Ratios::default().interval().is_none());
    }
}
