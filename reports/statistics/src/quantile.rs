//! Quantiles of the normal and of Student's distribution.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Where the integral of [`modulus_quantile`] is taken, and how often it halves what is left to search.
const POINTS: u32 = 120;
const HALVINGS: u32 = 40;
/// No quantile is greater.
const MOST: f64 = 1e9;

/// The value that a standard normal variable stays below with probability `p`, to seven digits: algorithm AS 241, PPND7
/// (M. J. Wichura, Applied Statistics 37, 1988, 477-484). Infinite at 0 and 1, not a number outside.
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * polynomial(r, &[3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_720])
            / polynomial(r, &[1.0, 17.895_169_469, 78.757_757_664, 67.187_563_600]);
    }
    let tail = p.min(1.0 - p);
    if tail <= 0.0 {
        return if tail < 0.0 { f64::NAN } else { f64::INFINITY.copysign(q) };
    }
    let r = (-tail.ln()).sqrt();
    let size = if r <= 5.0 {
        let r = r - 1.6;
        polynomial(r, &[1.423_437_277_7, 2.756_815_390_0, 1.306_728_481_6, 0.170_238_211_03])
            / polynomial(r, &[1.0, 0.737_001_642_50, 0.120_211_329_75])
    } else {
        let r = r - 5.0;
        polynomial(r, &[6.657_905_115_0, 3.081_226_386_0, 0.428_682_943_37, 0.017_337_203_997])
            / polynomial(r, &[1.0, 0.241_978_942_25, 0.012_258_202_635])
    };
    size.copysign(q)
}

/// The value whose size a Student variable of `df` degrees of freedom (at least 1, whole or not) exceeds with probability
/// `tail`, both tails together: algorithm 396 (G. W. Hill, Communications of the ACM 13, 1970, 619-620).
pub fn student_quantile(tail: f64, df: f64) -> f64 {
    let n = df.max(1.0);
    if n < 1.000_1 {
        return 1.0 / (tail * PI / 2.0).tan();
    }
    let a = 1.0 / (n - 0.5);
    let b = 48.0 / (a * a);
    let mut c = ((20_700.0 * a / b - 98.0) * a - 16.0) * a + 96.36;
    let d = ((94.5 / (b + c) - 3.0) / b + 1.0) * (a * PI / 2.0).sqrt() * n;
    let mut y = (d * tail).powf(2.0 / n);
    if y > 0.05 + a {
        let x = normal_quantile(tail * 0.5);
        y = x * x;
        if n < 5.0 {
            c += 0.3 * (n - 4.5) * (x + 0.6);
        }
        c += (((0.05 * d * x - 5.0) * x - 7.0) * x - 2.0) * x + b;
        y = (((((0.4 * y + 6.3) * y + 36.0) * y + 94.5) / c - y - 3.0) / b + 1.0) * x;
        y = (a * y * y).exp_m1();
    } else {
        y = ((1.0 / (((n + 6.0) / (n * y) - 0.089 * d - 0.822) * (n + 2.0) * 3.0) + 0.5 / (n + 4.0)) * y - 1.0)
            * (n + 1.0)
            / (n + 2.0)
            + 1.0 / y;
    }
    (n * y).sqrt()
}

/// The value that the greatest of so many independent normal variables exceeds in size with probability `tail`, if all are divided by
/// one standard deviation that is known by `df` degrees of freedom: the studentized maximum modulus (M. R. Stoline and H. K. Ury,
/// Technometrics 21, 1979, 87-93), to four digits.
pub fn modulus_quantile(tail: f64, variables: usize, df: f64) -> f64 {
    // Logarithms of the standard deviation over its truth, each as likely as it is, from where it is so as good as never.
    let likelihood = |log: f64| df * (log + 0.5 - 0.5 * (2.0 * log).exp());
    let reach = |side: f64| {
        let steps = (0..).map(|step| side * (0.5 / df).sqrt() * 1.1_f64.powi(step));
        steps.into_iter().find(|log| likelihood(*log) < -18.0).unwrap_or(side)
    };
    let (least, most) = (reach(-1.0), reach(1.0));
    let points = (0..POINTS).map(|at| least + (most - least) * (f64::from(at) + 0.5) / f64::from(POINTS));
    let points: Vec<(f64, f64)> = points.map(|log| (log.exp(), likelihood(log).exp())).collect();
    let total: f64 = points.iter().map(|(_, likely)| likely).sum();
    let held = |value: f64| {
        let of = |(spread, likely): &(f64, f64)| likely * within(value * spread).powf(variables as f64);
        points.iter().map(of).sum::<f64>() / total
    };
    let (mut low, mut high) = (0.0, 1.0);
    while held(high) < 1.0 - tail && high < MOST {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if held(middle) < 1.0 - tail { low = middle } else { high = middle }
    }
    high
}

/// The probability that a standard normal variable is at most `size` away from 0, to 3e-7: formula 7.1.26 of M. Abramowitz and
/// I. A. Stegun, Handbook of Mathematical Functions, 1964.
fn within(size: f64) -> f64 {
    let x = size * FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    1.0 - t
        * polynomial(t, &[0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429])
        * (-x * x).exp()
}

fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => None,
        _ if values.len() % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_964), (0.995, 2.575_829), (0.9999, 3.719_016), (0.1, -1.281_552)] {
            assert!((normal_quantile(p) - z).abs() < 1e-6, "{p}: {}", normal_quantile(p));
        }
        assert!((normal_quantile(1e-12) + 7.034_484).abs() < 1e-5);
        assert_eq!((normal_quantile(0.0), normal_quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
        assert!(normal_quantile(-0.1).is_nan());
    }

    #[test]
    fn student_quantiles_are_those_of_the_tables() {
        let known = [
            (0.05, 1.0, 12.706_2),
            (0.05, 2.0, 4.302_65),
            (0.05, 4.0, 2.776_45),
            (0.01, 10.0, 3.169_27),
            (0.001, 20.0, 3.849_52),
            (0.05, 120.0, 1.979_93),
            (0.2, 15.0, 1.340_61),
        ];
        for (tail, df, t) in known {
            let found = student_quantile(tail, df);
            assert!((found / t - 1.0).abs() < 1e-3, "{tail} {df}: {found}");
        }
    }

    #[test]
    fn quantiles_of_the_greatest_modulus_are_those_of_the_tables() {
        // G. J. Hahn and R. W. Hendrickson, Biometrika 58, 1971.
        for (variables, df, known) in [(2, 5.0, 3.091), (3, 5.0, 3.399), (3, 10.0, 2.829)] {
            let found = modulus_quantile(0.05, variables, df);
            assert!((found / known - 1.0).abs() < 1e-3, "{variables} {df}: {found}");
        }
        for df in [1.0, 2.5, 8.0, 60.0, 400.0] {
            let (one, student) = (modulus_quantile(0.05, 1, df), student_quantile(0.05, df));
            assert!((one / student - 1.0).abs() < 2e-3, "{df}: {one} {student}");
        }
        let (many, sidak) = (modulus_quantile(0.05, 18, 1e6), -normal_quantile(-(0.95_f64.ln() / 18.0).exp_m1() / 2.0));
        assert!((many / sidak - 1.0).abs() < 1e-3, "{many} {sidak}");
    }

    #[test]
    fn a_student_quantile_falls_towards_the_normal_one_as_the_degrees_of_freedom_grow() {
        let mut before = f64::INFINITY;
        for df in 1..400 {
            let now = student_quantile(0.01, f64::from(df));
            assert!(now < before && now > 2.575_8, "{df}: {now}");
            before = now;
        }
    }
}
