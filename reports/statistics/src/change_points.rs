//! Where a series of levels changes: optimal partitioning.
//!
//! Of all ways to divide the series into parts of one level each, the one with the least sum of squares counts, where each further
//! part costs a penalty (B. Jackson and others, IEEE Signal Processing Letters 12, 2005). PELT finds the same division of long
//! series in less time (R. Killick, P. Fearnhead and I. A. Eckley, Journal of the American Statistical Association 107, 2012);
//! releases are few. The penalty is that of the modified Bayesian criterion (N. R. Zhang and D. O. Siegmund, Biometrics 63, 2007).

/// A change point costs so many times the logarithm of the number of points.
const PENALTY: f64 = 3.0;
/// As many points at least set the penalty: with fewer it would find changes in noise.
const LEAST_POINTS: f64 = 10.0;

/// A figure of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The logarithm of the figure.
    pub log: f64,
    /// Its standard deviation, above 0: how far the same thing may be off when it is measured again.
    pub deviation: f64,
}

/// The indices of the points with which another level begins, in order.
pub fn change_points(series: &[Level]) -> Vec<usize> {
    let penalty = PENALTY * (series.len() as f64).max(LEAST_POINTS).ln();
    // For each number of first points: the least cost, and where the last part of that division begins.
    let mut best: Vec<(f64, usize)> = vec![(-penalty, 0)];
    for end in 1..=series.len() {
        let of = |begin: usize| (best[begin].0 + cost(&series[begin..end]) + penalty, begin);
        let least = (0..end).map(of).min_by(|a, b| a.0.total_cmp(&b.0));
        best.extend(least);
    }
    let mut found = Vec::new();
    let mut end = series.len();
    while let Some((_, begin)) = best.get(end).filter(|(_, begin)| *begin > 0) {
        found.push(*begin);
        end = *begin;
    }
    found.reverse();
    found
}

/// The sum of squares around the mean, in standard deviations.
fn cost(part: &[Level]) -> f64 {
    let weight = |one: &Level| one.deviation.powi(-2);
    let all: f64 = part.iter().map(weight).sum();
    let mean = part.iter().map(|one| weight(one) * one.log).sum::<f64>() / all;
    part.iter().map(|one| weight(one) * (one.log - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many points as `levels` have, with noise of one standard deviation of 1 %.
    fn noisy(levels: &[f64], seed: u64) -> Vec<Level> {
        let mut random = fastrand::Rng::with_seed(seed);
        // The sum of twelve uniform numbers is nearly normal, with a variance of 1.
        let mut noise = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        levels.iter().map(|level| Level { log: level.ln() + 0.01 * noise(), deviation: 0.01 }).collect()
    }

    /// In how many of 1,000 noisy series exactly these changes are found.
    fn found(levels: &[f64], expected: &[usize]) -> usize {
        (0..1_000).filter(|seed| change_points(&noisy(levels, *seed)) == expected).count()
    }

    #[test]
    fn noise_has_a_change_in_at_most_one_of_twenty_series() {
        for points in [3, 7, 15, 22, 60] {
            let quiet = found(&vec![4.0; points], &[]);
            assert!(quiet >= 950, "{points} points: {quiet}");
        }
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let one = [vec![4.0; 8], vec![4.4; 7]].concat();
        assert!(found(&one, &[8]) >= 950, "{}", found(&one, &[8]));
        let two = [vec![3.3; 3], vec![0.43; 9], vec![0.5; 5]].concat();
        assert!(found(&two, &[3, 12]) >= 950, "{}", found(&two, &[3, 12]));
        let there_and_back = [vec![4.0; 6], vec![4.4], vec![4.0; 6]].concat();
        assert!(found(&there_and_back, &[6, 7]) >= 950, "{}", found(&there_and_back, &[6, 7]));
    }

    #[test]
    fn steps_at_both_ends_are_steps() {
        assert_eq!(change_points(&noisy(&[9.0, 4.0, 4.0, 4.0], 1)), [1]);
        assert_eq!(change_points(&noisy(&[4.0, 4.0, 4.0, 9.0], 1)), [3]);
        assert_eq!(change_points(&noisy(&[1.0, 2.0, 3.0, 4.0], 1)), [1, 2, 3]);
    }

    #[test]
    fn a_slope_is_no_single_step_but_several_small_ones() {
        let slope: Vec<f64> = (0..15).map(|nth| 4.0 * 1.02_f64.powi(nth)).collect();
        for seed in 0..100 {
            let found = change_points(&noisy(&slope, seed));
            assert!((3..=9).contains(&found.len()), "{found:?}");
        }
    }

    #[test]
    fn a_series_without_points_or_with_one_has_no_changes() {
        assert!(change_points(&[]).is_empty());
        assert!(change_points(&noisy(&[4.0], 1)).is_empty());
    }
}
