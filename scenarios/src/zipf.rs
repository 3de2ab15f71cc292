//! Numbers of which the `k`th comes `k^s` times less often than the first.

/// The Zipf distribution over `1..=n`: `k` has a probability in proportion to `k^-exponent`.
///
/// Rejection-inversion (W. Hörmann and G. Derflinger, ACM TOMACS 6(3), 1996, section 4), in the stable form of Apache Commons
/// RNG's `RejectionInversionZipfSampler`. It is exact, needs no table, and takes fewer than two tries on average. The crates for
/// this draw from a generator of `rand` and promise no equal draws across versions; here the seed alone decides.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    n: u64,
    exponent: f64,
    /// The integral of the hat function up to the middle of the first number, less 1, and up to the end of the last.
    from: f64,
    to: f64,
    /// An inverted point closer to its number than this is always accepted.
    squeeze: f64,
}

impl Zipf {
    /// Over `1..=n` with an exponent above 0; an `n` of 0 is taken as 1.
    pub fn new(n: u64, exponent: f64) -> Zipf {
        let n = n.max(1);
        let mut zipf = Zipf { n, exponent, from: 0.0, to: 0.0, squeeze: 0.0 };
        zipf.from = zipf.integral(1.5) - 1.0;
        zipf.to = zipf.integral(n as f64 + 0.5);
        zipf.squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.hat(2.0));
        zipf
    }

    /// A number of `1..=n`; `uniform` gives independent numbers from 0 to below 1.
    pub fn sample(&self, mut uniform: impl FnMut() -> f64) -> u64 {
        loop {
            let area = self.to + uniform() * (self.from - self.to);
            let x = self.inverse(area);
            let k = ((x + 0.5) as u64).clamp(1, self.n);
            let rounded = k as f64;
            if rounded - x <= self.squeeze || area >= self.integral(rounded + 0.5) - self.hat(rounded) {
                return k;
            }
        }
    }

    /// `x^-s`.
    fn hat(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the hat from 1 to `x`: `(x^(1-s) - 1) / (1-s)`, and `ln x` where `s` is 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        over(f64::exp_m1, (1.0 - self.exponent) * log) * log
    }

    /// The `x` up to which the integral is `area`.
    fn inverse(&self, area: f64) -> f64 {
        // Below -1 only by rounding.
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        (over(f64::ln_1p, t) * area).exp()
    }
}

/// `f(x) / x` for an `f` that is near `x` at 0.
fn over(f: fn(f64) -> f64, x: f64) -> f64 {
    if x.abs() > 1e-8 { f(x) / x } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splitmix::{seed, word};

    fn uniform(of: u64) -> impl FnMut() -> f64 {
        let seed = seed(of, 3);
        let mut n = 0;
        move || {
            n += 1;
            (word(seed, n) >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Pearson's statistic of 20,000 draws over the exact probabilities, and its degrees of freedom.
    fn misfit(n: u64, exponent: f64, of: u64) -> (f64, f64) {
        let zipf = Zipf::new(n, exponent);
        let draws = 20_000;
        let mut uniform = uniform(of);
        let mut counts = vec![0u32; n as usize];
        for _ in 0..draws {
            let k = zipf.sample(&mut uniform);
            assert!((1..=n).contains(&k));
            counts[k as usize - 1] += 1;
        }
        let weights: Vec<f64> = (1..=n).map(|k| (k as f64).powf(-exponent)).collect();
        let sum: f64 = weights.iter().sum();
        // Numbers that are due less than five times are counted as one.
        let (mut statistic, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
        for (count, weight) in counts.iter().zip(&weights) {
            let due = weight / sum * f64::from(draws);
            if due < 5.0 {
                rare = (rare.0 + f64::from(*count), rare.1 + due);
            } else {
                statistic += (f64::from(*count) - due).powi(2) / due;
                cells += 1.0;
            }
        }
        if rare.1 >= 5.0 {
            statistic += (rare.0 - rare.1).powi(2) / rare.1;
            cells += 1.0;
        }
        (statistic, (cells - 1.0f64).max(1.0))
    }

    #[test]
    fn the_shares_are_those_of_the_exact_distribution() {
        for n in [1, 2, 3, 5, 8, 13, 21, 29] {
            for (of, exponent) in [0.05, 0.5, 0.99, 1.0, 1.01, 1.7, 2.5, 3.9].into_iter().enumerate() {
                let (statistic, degrees) = misfit(n, exponent, 100 * n + of as u64);
                let most = degrees + 6.0 * (2.0 * degrees).sqrt() + 10.0;
                assert!(statistic < most, "{statistic} of {degrees} for {n} and {exponent}");
            }
        }
    }

    #[test]
    fn an_exponent_of_one_and_a_trillion_numbers_are_no_special_case() {
        let zipf = Zipf::new(1 << 40, 1.0);
        let mut uniform = uniform(1);
        let draws: Vec<u64> = (0..100_000).map(|_| zipf.sample(&mut uniform)).collect();
        // H(2^40) is 28.303, so the first number has a share of 3.533 %; half of all are below about 2^20.
        let first = draws.iter().filter(|k| **k == 1).count();
        assert!((3_300..3_770).contains(&first), "{first}");
        let low = draws.iter().filter(|k| **k < 1 << 20).count();
        assert!((50_000..52_500).contains(&low), "{low}");
        assert!(draws.iter().all(|k| (1..=1 << 40).contains(k)));
    }
}
