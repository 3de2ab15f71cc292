//! Several runs of one plan: what their ratios come to, and how much runs differ beyond the noise within each.
//!
//! A ratio of a run is the truth + what the run adds + noise. What a run adds (another day, another machine) is the same for the
//! reference and its control, which are one program. Its variance comes from all comparisons together, by moments and with runs that count
//! alike (W. G. Cochran, Biometrics 10, 1954, 101-129): a few runs do not tell enough for weights of their own.

use std::collections::{BTreeMap, BTreeSet};

use crate::compare::{Comparison, Estimate, LogRatio, SIBLING_BAND};
use crate::interval::Verdict;
use crate::quantile::{modulus_quantile, student_quantile};

/// One contender against the reference in one scenario and arrangement, in every run.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// A number for the scenario and arrangement.
    pub place: usize,
    /// A number for the contender, the same in every place.
    pub contender: usize,
    /// Whether it is the reference once more under another name.
    pub is_control: bool,
    /// Whether it shares the reference's adapter: see [`crate::Group::siblings`].
    pub is_sibling: bool,
    /// A band of its own in place of [`Comparison::band`].
    pub band: Option<f64>,
    /// One per run, in the same order everywhere.
    pub runs: Vec<LogRatio>,
}

/// What several runs come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Combined {
    /// One per comparison, in their order.
    pub estimates: Vec<Estimate>,
    /// The logarithms of their ratios.
    pub logs: Vec<LogRatio>,
    /// The standard deviation of what a run adds to a ratio, as a share.
    pub spread: f64,
}

/// Combines comparisons that all runs have. The intervals hold all at once if `how` says so.
///
/// `None` without a driver that is compared, or if there are fewer than two runs or not as many everywhere.
pub fn combine(comparisons: &[Repeated], how: &Comparison) -> Option<Combined> {
    let drivers: Vec<&Repeated> = comparisons.iter().filter(|one| !one.is_control).collect();
    let runs = drivers.first()?.runs.len();
    if runs < 2 || comparisons.iter().any(|one| one.runs.len() != runs) {
        return None;
    }
    let Excess { variance: excess, freedom } = Excess::of(&drivers, runs);
    let at_once = if how.simultaneous { comparisons.len() } else { 1 };
    // Most comparisons have the same degrees of freedom.
    let mut known: BTreeMap<u64, f64> = BTreeMap::new();
    let mut wide = |freedom: f64| {
        *known.entry(freedom.to_bits()).or_insert_with(|| modulus_quantile(1.0 - how.confidence, at_once, freedom))
    };
    let count = runs as f64;
    let log = |one: &Repeated| {
        let within: f64 = one.runs.iter().map(|run| run.variance).sum();
        let uncertainty: f64 = one.runs.iter().map(|run| run.variance.powi(2) / run.freedom).sum();
        let of_within = if uncertainty > 0.0 { within * within / uncertainty } else { f64::INFINITY };
        // Both sides have an excess of their own. A control has none beyond its reference's.
        let (own, freedom) = if one.is_control { (0.0, of_within) } else { (excess, freedom.min(of_within)) };
        let of_reference: f64 = one.runs.iter().map(|run| run.of_reference).sum();
        LogRatio {
            value: one.runs.iter().map(|run| run.value).sum::<f64>() / count,
            variance: (within / count + 2.0 * own) / count,
            of_reference: (of_reference / count + own) / count,
            freedom: freedom.clamp(1.0, MOST_FREEDOM),
        }
    };
    let logs: Vec<LogRatio> = comparisons.iter().map(log).collect();
    let estimate = |(one, log): (&Repeated, &LogRatio)| {
        let how = Comparison { band: one.band.unwrap_or(how.band), ..*how };
        let beyond = if one.is_sibling { SIBLING_BAND } else { how.band };
        Estimate::of(log.value, log.variance.sqrt(), log.freedom, wide(log.freedom), beyond, &how)
    };
    let estimates = comparisons.iter().zip(&logs).map(estimate).collect();
    Some(Combined { estimates, logs, spread: (2.0 * excess).sqrt().exp_m1() })
}

/// What the second ratio of each pair is over the first, where the two come from runs that share nothing, such as one on another server.
///
/// The logarithms' difference has the variances of both together, and degrees of freedom by B. L. Welch (Biometrika 34, 1947). The intervals
/// hold all at once if `how` says so. A pair is the same if its interval lies within the band, and else differs if it excludes 1.
pub fn ratios_of_ratios(pairs: &[[LogRatio; 2]], how: &Comparison) -> Vec<Estimate> {
    let tail = how.tail(if how.simultaneous { pairs.len() } else { 1 });
    let estimate = |[first, second]: &[LogRatio; 2]| {
        let variance = first.variance + second.variance;
        let uncertainty = [first, second].map(|one| one.variance.powi(2) / one.freedom).iter().sum::<f64>();
        let freedom = if uncertainty > 0.0 { variance * variance / uncertainty } else { MOST_FREEDOM };
        let freedom = freedom.clamp(1.0, MOST_FREEDOM);
        let of = |beyond| {
            let wide = student_quantile(tail, freedom);
            Estimate::of(second.value - first.value, variance.sqrt(), freedom, wide, beyond, how)
        };
        Some(of(how.band)).filter(|one| one.verdict == Verdict::Same).unwrap_or_else(|| of(0.0))
    };
    pairs.iter().map(estimate).collect()
}

/// Student's distribution is the normal one from here on.
const MOST_FREEDOM: f64 = 1e4;

/// The variance of what a run adds to the level of one contender in one place.
struct Excess {
    variance: f64,
    /// The degrees of freedom of the mean square that the variance is read from.
    freedom: f64,
}

impl Excess {
    /// From what is left of the levels after that of each contender and of each run in its place: no reference stands out.
    ///
    /// What a run adds to a contender may be alike in all places or another in each. So the mean square has two parts, as in a split
    /// plot: of the contender's mean over its places, and of the places about it. F. E. Satterthwaite (Biometrics Bulletin 2, 1946)
    /// gives the degrees of freedom of their sum, which are few if the places are alike.
    fn of(drivers: &[&Repeated], runs: usize) -> Excess {
        let mut places: BTreeMap<usize, Vec<&Repeated>> = BTreeMap::new();
        drivers.iter().for_each(|one| places.entry(one.place).or_default().push(one));
        // Sums over the places, and how many these are; of the reference, too.
        let mut alike: BTreeMap<Option<usize>, (Vec<f64>, f64)> = BTreeMap::new();
        let (mut squares, mut noise) = (0.0, 0.0);
        for here in places.values() {
            let contenders = here.len() as f64 + 1.0;
            let off: Vec<Vec<f64>> = here.iter().map(|one| off_mean(&one.runs)).collect();
            let common: Vec<f64> =
                (0..runs).map(|run| off.iter().map(|off| off[run]).sum::<f64>() / contenders).collect();
            let of_reference = (None, vec![0.0; runs]);
            for (who, off) in here.iter().map(|one| Some(one.contender)).zip(off).chain([of_reference]) {
                let (sums, count) = alike.entry(who).or_insert_with(|| (vec![0.0; runs], 0.0));
                *count += 1.0;
                for (run, sum) in sums.iter_mut().enumerate() {
                    let left = off[run] - common[run];
                    squares += left * left;
                    *sum += left;
                }
            }
            let all = here.iter().flat_map(|one| &one.runs);
            let levels: f64 = all.map(|run| run.variance - run.of_reference).sum::<f64>()
                + here[0].runs.iter().map(|run| run.of_reference).sum::<f64>();
            noise += here.len() as f64 * levels / (contenders * runs as f64);
        }
        let who: BTreeSet<usize> = drivers.iter().map(|one| one.contender).collect();
        let (of_runs, comparisons) = (runs as f64 - 1.0, drivers.len() as f64);
        let (all, of_alike) = (of_runs * comparisons, of_runs * who.len() as f64);
        let of_means: f64 =
            alike.values().map(|(sums, count)| sums.iter().map(|sum| sum * sum).sum::<f64>() / count).sum();
        let square = squares / all;
        let part = |squares: f64, freedom: f64| if freedom > 0.0 { (squares / all).powi(2) / freedom } else { 0.0 };
        let uncertainty = part(of_means, of_alike) + part(squares - of_means, all - of_alike);
        Excess {
            variance: (square - noise / comparisons).max(0.0),
            freedom: if uncertainty > 0.0 { square * square / uncertainty } else { all },
        }
    }
}

/// How far each run is from the mean of all.
fn off_mean(runs: &[LogRatio]) -> Vec<f64> {
    let mean = runs.iter().map(|run| run.value).sum::<f64>() / runs.len() as f64;
    runs.iter().map(|run| run.value - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two drivers and a control in two places; each run is known to a variance of 1e-5.
    fn comparisons(costs: [&[f64]; 2]) -> Vec<Repeated> {
        let of = |place, contender, is_control, costs: &[f64]| Repeated {
            place,
            contender,
            is_control,
            is_sibling: false,
            band: None,
            runs: costs
                .iter()
                .map(|cost| LogRatio { value: cost.ln(), variance: 1e-5, of_reference: 3e-6, freedom: 40.0 })
                .collect(),
        };
        let same = vec![1.0; costs[0].len()];
        let all = (0..2).flat_map(|place| {
            [of(place, 1, false, costs[0]), of(place, 2, false, costs[1]), of(place, 3, true, &same)]
        });
        all.collect()
    }

    fn of(costs: [&[f64]; 2]) -> Combined {
        combine(&comparisons(costs), &Comparison::default()).unwrap()
    }

    fn half(one: &Estimate) -> f64 {
        (one.interval[1] / one.interval[0]).sqrt() - 1.0
    }

    #[test]
    fn runs_that_agree_add_nothing_and_each_counts_the_same() {
        let found = of([&[1.1, 1.1, 1.1], &[0.9, 0.9, 0.9]]);
        assert_eq!(found.spread, 0.0);
        assert_eq!((found.estimates[0].ratio, found.estimates[0].verdict), (1.1, Verdict::Worse));
        assert_eq!((found.estimates[1].ratio, found.estimates[1].verdict), (0.9, Verdict::Better));
        let mut unequal = comparisons([&[1.0, 1.21], &[1.0, 1.21]]);
        unequal[0].runs[1].variance = 1e-3;
        assert_eq!(combine(&unequal, &Comparison::default()).unwrap().estimates[0].ratio, 1.1);
    }

    #[test]
    fn runs_that_differ_make_the_intervals_of_all_drivers_wider_and_not_that_of_the_control() {
        let (alike, apart) = (of([&[1.1, 1.1, 1.1], &[0.9, 0.9, 0.9]]), of([&[1.05, 1.1, 1.152], &[0.9, 0.9, 0.9]]));
        assert!(apart.spread > 0.01 && apart.spread < 0.06, "{apart:?}");
        for driver in [0, 1, 3, 4] {
            let (one, other) = (&alike.estimates[driver], &apart.estimates[driver]);
            assert!(half(other) > 2.0 * half(one) && other.detectable > one.detectable, "{one:?} {other:?}");
        }
        assert_eq!(alike.estimates[2], apart.estimates[2]);
    }

    #[test]
    fn what_a_run_adds_is_read_beyond_the_noise_within_it() {
        let (mut quiet, mut loud) = (comparisons([&[1.09, 1.1, 1.11], &[0.91, 0.9, 0.89]]), Vec::new());
        let spread = |comparisons: &[Repeated]| combine(comparisons, &Comparison::default()).unwrap().spread;
        let known = spread(&quiet);
        for one in quiet.iter_mut().flat_map(|one| &mut one.runs) {
            (one.variance, one.of_reference) = (0.0, 0.0);
        }
        loud.extend(comparisons([&[1.09, 1.1, 1.11], &[0.91, 0.9, 0.89]]));
        for one in loud.iter_mut().flat_map(|one| &mut one.runs) {
            (one.variance, one.of_reference) = (1e-3, 3e-4);
        }
        assert!(spread(&quiet) > known && known > 0.0 && spread(&loud) == 0.0, "{known}");
    }

    #[test]
    fn more_runs_and_places_that_differ_in_their_own_ways_know_more() {
        let two = of([&[1.09, 1.11], &[0.91, 0.89]]);
        let four = of([&[1.09, 1.11, 1.09, 1.11], &[0.91, 0.89, 0.91, 0.89]]);
        assert!(half(&four.estimates[0]) < 0.5 * half(&two.estimates[0]), "{two:?} {four:?}");
        // The same squares, but the second place turns round.
        let mut turned = comparisons([&[1.09, 1.11], &[0.91, 0.89]]);
        turned.iter_mut().filter(|one| one.place == 1).for_each(|one| one.runs.reverse());
        let turned = combine(&turned, &Comparison::default()).unwrap();
        assert!((turned.spread - two.spread).abs() < 1e-9 && half(&turned.estimates[0]) <= half(&two.estimates[0]));
    }

    #[test]
    fn the_reference_is_one_of_the_contenders() {
        // If the reference alone changes, all ratios do, and by moments it is one of three contenders that does.
        let found = of([&[1.1, 1.1 * 1.02], &[0.9, 0.9 * 1.02]]);
        let square = (1.02_f64.ln() / 2.0).powi(2) * 2.0 * (2.0 / 3.0) / 2.0;
        let known = (2.0 * (square - (7e-6 * 2.0 + 3e-6) / 3.0)).sqrt();
        assert!((found.spread.ln_1p() - known).abs() < 1e-6, "{} {known}", found.spread);
    }

    #[test]
    fn one_run_or_one_that_lacks_a_comparison_is_not_combined() {
        let how = Comparison::default();
        assert_eq!(combine(&comparisons([&[1.1], &[0.9]]), &how), None);
        assert_eq!(combine(&[], &how), None);
        let mut ragged = comparisons([&[1.1, 1.1], &[0.9, 0.9]]);
        ragged[4].runs.pop();
        assert_eq!(combine(&ragged, &how), None);
        let control: Vec<Repeated> = comparisons([&[1.1, 1.1], &[0.9, 0.9]]).into_iter().skip(2).take(1).collect();
        assert_eq!(combine(&control, &how), None);
    }

    #[test]
    fn intervals_that_hold_one_by_one_are_narrower_and_a_sibling_has_another_band() {
        let mut all = comparisons([&[1.022, 1.022, 1.022], &[0.9, 0.9, 0.9]]);
        let at_once = combine(&all, &Comparison::default()).unwrap().estimates[0];
        let how = Comparison { simultaneous: false, ..Comparison::default() };
        assert!(half(&combine(&all, &how).unwrap().estimates[0]) < half(&at_once));
        all[0].is_sibling = true;
        let sibling = combine(&all, &Comparison::default()).unwrap().estimates[0];
        assert_eq!((at_once.verdict, sibling.verdict), (Verdict::Inconclusive, Verdict::Worse));
    }

    #[test]
    fn a_comparison_with_a_wider_band_needs_more_to_differ() {
        let mut all = comparisons([&[1.05, 1.05, 1.05], &[0.9, 0.9, 0.9]]);
        let verdict = |all: &[Repeated]| combine(all, &Comparison::default()).unwrap().estimates[0].verdict;
        let usual = verdict(&all);
        all[0].band = Some(0.08);
        assert_eq!((usual, verdict(&all)), (Verdict::Worse, Verdict::Same));
    }

    #[test]
    fn the_logarithms_of_all_runs_are_what_the_intervals_are_made_of() {
        let found = of([&[1.05, 1.1, 1.152], &[0.9, 0.9, 0.9]]);
        for (one, log) in found.estimates.iter().zip(&found.logs) {
            assert_eq!(one.ratio, crate::rounded(log.value.exp()));
            assert!(log.variance > 0.0 && log.of_reference > 0.0 && log.of_reference < log.variance, "{log:?}");
        }
    }

    #[test]
    fn two_ratios_carry_over_within_the_band_and_differ_if_their_quotient_excludes_1() {
        let log = |ratio: f64, variance| LogRatio { value: ratio.ln(), variance, of_reference: 0.0, freedom: 30.0 };
        let of = |first: f64, second: f64, variance| {
            ratios_of_ratios(&[[log(first, variance), log(second, variance)]], &Comparison::default()).remove(0)
        };
        assert_eq!((of(1.5, 1.5, 1e-5).verdict, of(1.5, 1.5, 1e-3).verdict), (Verdict::Same, Verdict::Inconclusive));
        let apart = of(0.86, 1.07, 5e-4);
        assert_eq!((apart.ratio, apart.verdict), (1.244, Verdict::Worse));
        assert_eq!(of(1.07, 0.86, 5e-4).verdict, Verdict::Better);
        assert_eq!(of(1.0, 1.01, 1e-6).verdict, Verdict::Same, "it excludes 1 and lies within the band");
        // Student's quantile for 60 degrees of freedom, which two equal variances with 30 each have.
        let half = (apart.interval[1] / apart.interval[0]).sqrt().ln();
        assert!((half - 2.0003 * 1e-3_f64.sqrt()).abs() < 1e-3, "{apart:?}");
        let both = ratios_of_ratios(&[[log(0.86, 5e-4), log(1.07, 5e-4)]; 6], &Comparison::default())[5];
        assert!(both.interval[0] < apart.interval[0] && both.interval[1] > apart.interval[1], "{both:?}");
    }
}
