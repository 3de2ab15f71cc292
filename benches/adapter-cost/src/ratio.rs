//! Ratios within rounds.

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

    /// The interval that holds the median with at least 95 % confidence: order statistics chosen by the binomial distribution
    /// (Conover, Practical Nonparametric Statistics, section 3.2); `None` with fewer than 6 rounds, where there is none.
    pub(crate) fn interval(&self) -> Option<[f64; 2]> {
        let mut ratios = self.ratios();
        ratios.sort_by(f64::total_cmp);
        let cut = most_cut(ratios.len())?;
        Some([*ratios.get(cut)?, *ratios.get(ratios.len() - 1 - cut)?])
    }

    fn ratios(&self) -> Vec<f64> {
        self.harness.iter().zip(&self.idiomatic).map(|(harness, idiomatic)| harness / idiomatic).collect()
    }
}

/// How many of `n` sorted values can be cut off at each end so that what is left holds the median with 95 % confidence.
fn most_cut(n: usize) -> Option<usize> {
    let mut term = 0.5_f64.powi(i32::try_from(n).ok()?);
    let mut tail = 0.0;
    let mut cut = None;
    for k in 0..n {
        tail += term;
        if tail > 0.025 {
            break;
        }
        cut = Some(k);
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    cut
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
    fn the_interval_cuts_as_many_rounds_as_the_binomial_distribution_allows() {
        // The tables of Conover: n = 6 keeps all, n = 9 cuts one, n = 20 cuts five at each end.
        assert_eq!([5, 6, 8, 9, 12, 20].map(most_cut), [None, Some(0), Some(0), Some(1), Some(2), Some(5)]);
    }

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
