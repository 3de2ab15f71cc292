//! An interval of a median that assumes nothing of the distribution.

/// The interval that holds the median of what `sorted` was drawn from with at least 95 % confidence: from the k-th smallest to the
/// k-th largest value, with the largest k that the binomial distribution allows (Conover, Practical Nonparametric Statistics,
/// section 3.2). `None` with fewer than six values, where there is none.
pub fn median_interval(sorted: &[f64]) -> Option<[f64; 2]> {
    let cut = most_cut(sorted.len())?;
    Some([*sorted.get(cut)?, *sorted.get(sorted.len() - 1 - cut)?])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_values_are_cut_as_the_binomial_distribution_allows() {
        // The tables of Conover: n = 6 keeps all, n = 9 cuts one, n = 20 cuts five at each end.
        assert_eq!([5, 6, 8, 9, 12, 20].map(most_cut), [None, Some(0), Some(0), Some(1), Some(2), Some(5)]);
    }

    #[test]
    fn the_interval_takes_the_ranks_of_the_sign_test() {
        let of = |n: u32| median_interval(&(1..=n).map(f64::from).collect::<Vec<_>>());
        // Hollander and Wolfe, Nonparametric Statistical Methods, table of the sign test.
        for (n, expected) in [
            (0, None),
            (5, None),
            (6, Some([1.0, 6.0])),
            (8, Some([1.0, 8.0])),
            (12, Some([3.0, 10.0])),
            (20, Some([6.0, 15.0])),
        ] {
            assert_eq!(of(n), expected, "{n}");
        }
    }
}
