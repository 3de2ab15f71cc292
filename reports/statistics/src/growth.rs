//! How a cost grows with a number: the exponent of a power law, by least squares on logarithms.

use crate::quantile::student_quantile;

/// Fewer points leave no residual to take an interval from.
pub const LEAST_POINTS: usize = 3;

/// A power law `cost = factor * number ^ exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The exponent: 1 is linear, 2 quadratic.
    pub exponent: f64,
    /// Where it lies with 95 % confidence, from Student's distribution.
    pub interval: [f64; 2],
}

/// Fits a power law to positive `(number, cost)` points; `None` if there are fewer than [`LEAST_POINTS`] numbers or a point is not positive.
pub fn growth(points: &[(f64, f64)]) -> Option<Growth> {
    if points.len() < LEAST_POINTS || !points.iter().all(|(x, y)| *x > 0.0 && *y > 0.0) {
        return None;
    }
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let (mean_x, mean_y) = (logs.iter().map(|(x, _)| x).sum::<f64>() / n, logs.iter().map(|(_, y)| y).sum::<f64>() / n);
    let spread: f64 = logs.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let exponent = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let residuals: f64 = logs.iter().map(|(x, y)| (y - mean_y - exponent * (x - mean_x)).powi(2)).sum();
    let df = n - 2.0;
    let half = student_quantile(0.05, df) * (residuals / df / spread).sqrt();
    (spread > 0.0).then_some(Growth { exponent, interval: [exponent - half, exponent + half] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_of_a_power_law_is_found_and_its_interval_is_narrow() {
        for power in [0.0, 1.0, 2.0] {
            let points: Vec<(f64, f64)> = [16.0, 64.0, 256.0, 1_024.0].map(|x: f64| (x, 3.0 * x.powf(power))).into();
            let found = growth(&points).unwrap();
            assert!((found.exponent - power).abs() < 1e-9 && found.interval[1] - found.interval[0] < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // Slope 0.6 with a standard error of 0.2828 and 3 degrees of freedom, where Student's quantile is 3.182.
        let points =
            [(0.0, 2.0), (1.0, 4.0), (2.0, 5.0), (3.0, 4.0), (4.0, 5.0)].map(|(x, y): (f64, f64)| (x.exp(), y.exp()));
        let found = growth(&points).unwrap();
        assert!((found.exponent - 0.6).abs() < 1e-9);
        assert!((found.interval[0] + 0.300_1).abs() < 1e-3 && (found.interval[1] - 1.500_1).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn what_is_no_curve_has_no_exponent() {
        assert_eq!(growth(&[(1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(growth(&[(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]), None);
        assert_eq!(growth(&[(2.0, 1.0), (2.0, 2.0), (2.0, 3.0)]), None);
    }
}
