//! Intervals as they are printed, and what is read from them.

/// What an interval says of a contender against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval lies on the better side.
    Better,
    /// The whole interval lies on the worse side.
    Worse,
    /// The whole interval lies within the band.
    Same,
    /// Neither.
    Inconclusive,
}

impl Verdict {
    /// Where the interval of a cost lies against what is the same: better if all of it lies below `least`, worse if all of it lies
    /// above `most`.
    pub fn between([low, high]: [f64; 2], [least, most]: [f64; 2]) -> Verdict {
        // The printed digits decide, not their binary fractions.
        const SLACK: f64 = 1e-9;
        match () {
            () if high < least - SLACK => Verdict::Better,
            () if low > most + SLACK => Verdict::Worse,
            () if low >= least - SLACK && high <= most + SLACK => Verdict::Same,
            () => Verdict::Inconclusive,
        }
    }

    /// Reads the verdict from an interval as it is printed: better or worse beyond `beyond` on either side of 1 (0.02 for 2 %),
    /// else the same within `band`; `lower_is_better` says which side is the better one.
    pub fn of(interval: [f64; 2], beyond: f64, band: f64, lower_is_better: bool) -> Verdict {
        let around = |share: f64| Verdict::between(interval, [1.0 - share, 1.0 + share]);
        match around(beyond) {
            found @ (Verdict::Better | Verdict::Worse) if lower_is_better => found,
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            _ if around(band) == Verdict::Same => Verdict::Same,
            _ => Verdict::Inconclusive,
        }
    }
}

/// Half of an interval, as a share: 0.02 if its ratio is known to 2 %.
pub fn half_width([low, high]: [f64; 2]) -> f64 {
    (high / low).sqrt() - 1.0
}

/// How many digits follow the point.
fn decimals(value: f64) -> i32 {
    match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        size if size >= 0.1 => 3,
        size if size >= 0.01 => 4,
        _ => 5,
    }
}

/// A ratio as it is printed, to a thousandth from 0.1 to 10.
///
/// Ratio and interval are rounded alike, so a ratio stays in its interval. Rounding to the nearest leaves the coverage as it is.
pub fn rounded(ratio: f64) -> f64 {
    let scale = 10f64.powi(decimals(ratio));
    (ratio * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_needs_the_whole_interval() {
        for (interval, verdict) in [
            ([0.900, 0.979], Verdict::Better),
            ([0.900, 0.980], Verdict::Inconclusive),
            ([0.980, 1.020], Verdict::Same),
            ([0.979, 1.020], Verdict::Inconclusive),
            ([1.020, 1.100], Verdict::Inconclusive),
            ([1.021, 1.100], Verdict::Worse),
            ([0.500, 2.000], Verdict::Inconclusive),
        ] {
            assert_eq!(Verdict::of(interval, 0.02, 0.02, true), verdict, "{interval:?}");
        }
        assert_eq!(Verdict::of([1.021, 1.1], 0.02, 0.02, false), Verdict::Better);
        assert_eq!(Verdict::of([0.9, 0.979], 0.02, 0.02, false), Verdict::Worse);
        assert_eq!(Verdict::of([1.021, 1.1], 0.05, 0.05, true), Verdict::Inconclusive);
        assert_eq!(Verdict::of([1.001, 1.015], 0.0, 0.02, true), Verdict::Worse);
        assert_eq!(Verdict::of([1.0, 1.015], 0.0, 0.02, true), Verdict::Same);
    }

    #[test]
    fn ratios_are_printed_with_as_many_digits_as_they_need() {
        for (ratio, printed) in
            [(0.979_6, 0.98), (1.020_4, 1.02), (0.012_345, 0.012_3), (12.345_1, 12.35), (123.45, 123.5)]
        {
            assert_eq!(rounded(ratio), printed);
        }
    }
}
