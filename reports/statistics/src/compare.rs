//! From the figures of a table to ratios, intervals and verdicts.

use std::collections::BTreeMap;
use std::{fmt, iter};

use crate::interval::{Verdict, half_width, rounded};
use crate::quantile::student_quantile;

/// Fewer generations have no interval (README.md).
pub const LEAST_BLOCKS: usize = 8;
/// The chance to find a difference of [`Estimate::detectable`].
const CHANCE: f64 = 0.9;

/// Where a row repeats: its generation, then its round within it; of a pass without rounds its number alone.
pub type Repetition = Vec<u32>;

/// The figures of one scenario in one arrangement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// A positive measure: one row per round that counts, and in it one figure per contender. Generations may have different
    /// numbers of rounds.
    pub rows: BTreeMap<Repetition, Vec<f64>>,
    /// The column that ratios are taken against.
    pub reference: usize,
    /// Columns that are the reference once more under another name. Their levels and the reference's are pooled for the others;
    /// they themselves are compared with the reference alone.
    pub controls: Vec<usize>,
    /// Columns that share the reference's adapter, such as other versions of its driver. They differ from it if all of their interval
    /// lies beyond [`SIBLING_BAND`]; others do if all of it lies beyond the band.
    pub siblings: Vec<usize>,
    /// Columns with a band of their own in place of [`Comparison::band`].
    pub bands: BTreeMap<usize, f64>,
}

/// The share on both sides of 1 beyond which a version or setting of one driver differs: the memory layout alone moves the cost of one
/// program by nearly that.
pub const SIBLING_BAND: f64 = 0.01;

/// What is compared, and how surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// How often all intervals of the table hold the truth at once, for example 0.95.
    pub confidence: f64,
    /// The share on both sides of 1 within which a contender is the same, for example 0.02.
    pub band: f64,
    /// Whether a smaller figure is the better one.
    pub lower_is_better: bool,
    /// Whether the intervals hold all at once; otherwise each holds by itself with that confidence.
    pub simultaneous: bool,
}

impl Default for Comparison {
    /// 95 % for all intervals at once, a band of 2 %, less is better.
    fn default() -> Comparison {
        Comparison { confidence: 0.95, band: 0.02, lower_is_better: true, simultaneous: true }
    }
}

impl Comparison {
    /// How often each of so many intervals may miss the truth, if all are to hold at once.
    pub(crate) fn tail(&self, comparisons: usize) -> f64 {
        // By logarithms: 1 - confidence^(1 / comparisons) without losing digits.
        -(self.confidence.ln() / comparisons.max(1) as f64).exp_m1()
    }
}

/// One contender against the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Its figure over the reference's, as it is printed.
    pub ratio: f64,
    /// Where the ratio lies, as it is printed.
    pub interval: [f64; 2],
    /// What the printed interval says.
    pub verdict: Verdict,
    /// The smallest difference, as a share, that this run would have found with a chance of 90 %.
    pub detectable: f64,
}

impl Estimate {
    /// A logarithm that is known up to a standard `error`, which has so many degrees of `freedom`: within `wide` errors lies the
    /// truth. The contender differs from the reference if the interval lies `beyond` that share.
    pub(crate) fn of(log: f64, error: f64, freedom: f64, wide: f64, beyond: f64, how: &Comparison) -> Estimate {
        let likely = student_quantile(2.0 * (1.0 - CHANCE), freedom);
        let interval = [log - wide * error, log + wide * error].map(|end| rounded(end.exp()));
        Estimate {
            ratio: rounded(log.exp()),
            interval,
            verdict: Verdict::of(interval, beyond, how.band, how.lower_is_better),
            detectable: (beyond.ln_1p() + (wide + likely) * error).exp_m1(),
        }
    }
}

/// The logarithm of a ratio before it is rounded, and how well one run knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    /// The logarithm.
    pub value: f64,
    /// Its variance.
    pub variance: f64,
    /// The part of the variance that comes from the reference, which all contenders of a group share.
    pub of_reference: f64,
    /// The degrees of freedom of the variance.
    pub freedom: f64,
}

/// What a group's figures come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The level of each column, in the unit of the figures. The reference's is pooled with its controls'.
    ///
    /// A level over the reference's is exactly the ratio of its estimate, but for a control, whose ratio is to the reference alone.
    pub levels: Vec<f64>,
    /// One per column, `None` for the reference.
    pub estimates: Vec<Option<Estimate>>,
    /// The logarithms of the estimates' ratios, from which several runs are combined.
    pub logs: Vec<Option<LogRatio>>,
    /// How many rounds they rest on.
    pub rounds: usize,
    /// Of how many generations these are.
    pub generations: usize,
}

impl Fitted {
    /// The greatest half of an interval, as a share: 0.02 if all ratios are known to 2 % or better.
    pub fn half_width(&self) -> f64 {
        self.estimates.iter().flatten().map(|one| half_width(one.interval)).fold(0.0, f64::max)
    }
}

/// Why there are no intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// There are too few generations.
    Blocks {
        /// How many there are.
        found: usize,
    },
    /// A figure is not positive and finite, so that it has no logarithm.
    NotPositive,
    /// Rows of different lengths, fewer than two contenders, or a column that is not there.
    Shape,
}

impl fmt::Display for NoInterval {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            NoInterval::Blocks { found } => write!(
                f,
                "An interval needs at least {LEAST_BLOCKS} generations in which every contender ran to its end, and there {} \
                 {found}; ask for more generations.",
                if *found == 1 { "is" } else { "are" }
            ),
            NoInterval::NotPositive => {
                f.write_str("Ratios need figures above 0, and one of this table is not; there is no interval.")
            }
            NoInterval::Shape => f.write_str(
                "An interval needs a reference, a second contender, and one figure of each in every round; there is none.",
            ),
        }
    }
}

impl std::error::Error for NoInterval {}

/// Compares every contender with the reference of its group.
///
/// The intervals hold all at once: over all contenders of all groups that have intervals (Z. Sidak, Journal of the American
/// Statistical Association 62, 1967, 626-633).
///
/// # Errors
/// Per group, why it has no intervals.
pub fn compare(groups: &[Group], how: &Comparison) -> Vec<Result<Fitted, NoInterval>> {
    let checked: Vec<Result<&Group, NoInterval>> = groups.iter().map(|group| group.check().map(|()| group)).collect();
    let contenders = |group: &Group| group.rows.values().next().map_or(0, Vec::len);
    let comparisons: usize = match how.simultaneous {
        true => checked.iter().flatten().map(|group| contenders(group) - 1).sum(),
        false => 1,
    };
    let tail = how.tail(comparisons);
    checked.into_iter().map(|group| group.map(|group| group.fitted(tail, how))).collect()
}

impl Group {
    fn check(&self) -> Result<(), NoInterval> {
        let contenders = self.rows.values().next().map_or(0, Vec::len);
        let there = |column: &usize| *column < contenders;
        let mut generations: Vec<Option<&u32>> = self.rows.keys().map(|at| at.first()).collect();
        generations.dedup();
        if generations.len() < LEAST_BLOCKS {
            return Err(NoInterval::Blocks { found: generations.len() });
        }
        if contenders < 2 || !self.sames().iter().all(there) || self.rows.values().any(|row| row.len() != contenders) {
            return Err(NoInterval::Shape);
        }
        match self.rows.values().flatten().all(|figure| figure.is_finite() && *figure > 0.0) {
            true => Ok(()),
            false => Err(NoInterval::NotPositive),
        }
    }

    /// The reference and its controls.
    fn sames(&self) -> Vec<usize> {
        iter::once(self.reference).chain(self.controls.iter().copied()).collect()
    }

    /// What every contender's rounds of each generation cost together: one row per generation.
    ///
    /// Turns have equal numbers of statements. So of a cost per statement the figures add up, and of a rate the times that they take.
    fn sums(&self, lower_is_better: bool) -> Vec<Vec<f64>> {
        let cost = |figure: &f64| if lower_is_better { *figure } else { figure.recip() };
        let mut sums: BTreeMap<Option<u32>, Vec<f64>> = BTreeMap::new();
        for (at, row) in &self.rows {
            let sum = sums.entry(at.first().copied()).or_insert_with(|| vec![0.0; row.len()]);
            sum.iter_mut().zip(row).for_each(|(sum, figure)| *sum += cost(figure));
        }
        sums.into_values().collect()
    }

    /// Intervals of which each misses the truth with probability `tail`.
    fn fitted(&self, tail: f64, how: &Comparison) -> Fitted {
        let sums = self.sums(how.lower_is_better);
        let (generations, rounds) = (sums.len(), self.rows.len());
        let sames = self.sames();
        let base = |column: usize| if self.controls.contains(&column) { &sames[..1] } else { &sames };
        let wide = student_quantile(tail, generations as f64 - 1.0);
        let contenders = sums.first().map_or(0, Vec::len);
        let cost = |columns: &[usize]| MeanCost::of(&sums, columns);
        // The reference and its control are one program, so half of what their difference varies by is the reference's own.
        let between_sames = self.controls.first().map(|control| cost(&[*control]).over(&cost(&sames[..1])).1 / 2.0);
        let log = |column: usize| {
            let base = base(column);
            let (value, variance) = cost(&[column]).over(&cost(base));
            let of_reference = between_sames.unwrap_or(variance / 2.0) / base.len() as f64;
            LogRatio {
                value: if how.lower_is_better { value } else { -value },
                variance,
                of_reference: of_reference.min(variance),
                freedom: generations as f64 - 1.0,
            }
        };
        let logs: Vec<Option<LogRatio>> =
            (0..contenders).map(|column| (column != self.reference).then(|| log(column))).collect();
        let estimate = |(column, log): (usize, &Option<LogRatio>)| {
            let LogRatio { value, variance, freedom, .. } = (*log)?;
            let how = Comparison { band: self.bands.get(&column).copied().unwrap_or(how.band), ..*how };
            let beyond = if self.siblings.contains(&column) { SIBLING_BAND } else { how.band };
            Some(Estimate::of(value, variance.sqrt(), freedom, wide, beyond, &how))
        };
        let estimates: Vec<Option<Estimate>> = logs.iter().enumerate().map(estimate).collect();
        let mean = |columns: &[usize]| {
            let cost = cost(columns).total / rounds as f64;
            if how.lower_is_better { cost } else { cost.recip() }
        };
        let pooled = mean(&sames);
        let level = |(column, estimate): (usize, &Option<Estimate>)| match estimate {
            None => pooled,
            Some(_) if self.controls.contains(&column) => mean(&[column]),
            Some(estimate) => pooled * estimate.ratio,
        };
        let levels = estimates.iter().enumerate().map(level).collect();
        Fitted { levels, estimates, logs, rounds, generations }
    }
}

/// What some columns cost together, as their mean.
struct MeanCost {
    total: f64,
    /// The share of each generation.
    shares: Vec<f64>,
}

impl MeanCost {
    fn of(sums: &[Vec<f64>], columns: &[usize]) -> MeanCost {
        let mean = |row: &Vec<f64>| columns.iter().map(|column| row[*column]).sum::<f64>() / columns.len() as f64;
        let costs: Vec<f64> = sums.iter().map(mean).collect();
        let total = costs.iter().sum();
        MeanCost { total, shares: costs.iter().map(|cost| cost / total).collect() }
    }

    /// The logarithm of the quotient of both totals, and its variance: the estimate of a ratio from clusters, which are the generations
    /// (W. G. Cochran, Sampling Techniques, 1977, section 6.3).
    fn over(&self, base: &MeanCost) -> (f64, f64) {
        let squares: f64 = self.shares.iter().zip(&base.shares).map(|(one, other)| (one - other).powi(2)).sum();
        let generations = self.shares.len() as f64;
        ((self.total / base.total).ln(), squares * generations / (generations - 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(blocks: usize) -> Group {
        let noise = [1.01, 0.98, 1.0, 1.02, 0.99, 1.005, 0.995, 1.015];
        let row = |block: usize| {
            vec![2.0 * noise[block % 8], 3.0 * noise[(block * 3 + 1) % 8], 2.0 * noise[(block * 5 + 2) % 8]]
        };
        let rows = (0..blocks).map(|block| (vec![block as u32], row(block))).collect();
        Group { rows, controls: vec![2], ..Group::default() }
    }

    #[test]
    fn a_plain_difference_is_found_and_the_control_is_beside_1() {
        let Fitted { levels, estimates, .. } = compare(&[group(12)], &Comparison::default()).remove(0).unwrap();
        assert_eq!(estimates[0], None);
        let other = estimates[1].unwrap();
        assert!((other.ratio - 1.5).abs() < 0.03 && other.verdict == Verdict::Worse, "{other:?}");
        let control = estimates[2].unwrap();
        assert!(control.interval[0] <= 1.0 && control.interval[1] >= 1.0, "{control:?}");
        assert!(other.detectable > 0.02 && other.detectable < 0.1, "{other:?}");
        assert!((levels[0] - 2.0).abs() < 0.03 && (levels[2] - 2.0).abs() < 0.03, "{levels:?}");
    }

    #[test]
    fn a_level_over_the_references_is_the_ratio_and_the_references_is_pooled_with_its_controls() {
        let alone = Group { controls: Vec::new(), ..group(12) };
        for group in [group(12), alone] {
            let Fitted { levels, estimates, .. } = compare(&[group], &Comparison::default()).remove(0).unwrap();
            assert!((levels[1] / levels[0] - estimates[1].unwrap().ratio).abs() < 1e-12);
        }
        let levels_of = |group| compare(&[group], &Comparison::default()).remove(0).unwrap().levels;
        let own = levels_of(Group { controls: Vec::new(), ..group(12) });
        let pooled = levels_of(group(12))[0];
        assert!((pooled - (own[0] + own[2]) / 2.0).abs() < 1e-3, "{pooled} {own:?}");
    }

    #[test]
    fn how_many_rounds_and_generations_the_intervals_rest_on_is_known() {
        let mut turns = Group { controls: vec![2], ..Group::default() };
        for (at, row) in group(12).rows {
            turns.rows.extend([1, 2].map(|round| (vec![at[0], round], row.clone())));
        }
        turns.rows.remove(&vec![3, 1]);
        let fitted = compare(&[turns], &Comparison::default()).remove(0).unwrap();
        assert_eq!((fitted.rounds, fitted.generations), (23, 12));
    }

    #[test]
    fn a_ratio_is_that_of_what_all_turns_cost_together_however_unequal_they_are() {
        // One turn of four costs 20 % more: 5 % on average.
        let row = |at: u32| vec![2.0, if at.is_multiple_of(4) { 2.4 } else { 2.0 }];
        let rows = (0..96).map(|at| (vec![at / 4, at % 4], row(at))).collect();
        let bursts = Group { rows, ..Group::default() };
        let ratio = |group: &Group, lower_is_better| {
            let how = Comparison { lower_is_better, ..Comparison::default() };
            compare(std::slice::from_ref(group), &how).remove(0).unwrap().estimates[1].unwrap().ratio
        };
        assert_eq!(ratio(&bursts, true), 1.05);
        // A rate is that of all statements in all the time.
        let rates = bursts.rows.iter().map(|(at, row)| (at.clone(), row.iter().map(|cost| 1.0 / cost).collect()));
        let rates = Group { rows: rates.collect(), ..Group::default() };
        assert_eq!(ratio(&rates, false), rounded(1.0 / 1.05));
    }

    #[test]
    fn more_comparisons_make_wider_intervals() {
        let alone = compare(&[group(12)], &Comparison::default())[0].clone().unwrap().estimates[1].unwrap();
        let many = compare(&vec![group(12); 6], &Comparison::default())[5].clone().unwrap().estimates[1].unwrap();
        assert_eq!(alone.ratio, many.ratio);
        assert!(many.interval[0] < alone.interval[0] && many.interval[1] > alone.interval[1]);
        assert!(many.detectable > alone.detectable);
    }

    #[test]
    fn an_interval_that_holds_by_itself_is_narrower() {
        let both = [true, false].map(|simultaneous| {
            let how = Comparison { simultaneous, ..Comparison::default() };
            compare(&[group(12), group(12)], &how)[0].clone().unwrap().estimates[1].unwrap()
        });
        assert!(both[0].interval[0] < both[1].interval[0] && both[0].interval[1] > both[1].interval[1]);
    }

    #[test]
    fn a_group_without_intervals_leaves_those_of_the_others_as_they_are() {
        let alone = compare(&[group(12)], &Comparison::default()).remove(0);
        let beside = compare(&[group(3), group(12)], &Comparison::default());
        assert_eq!(beside[0], Err(NoInterval::Blocks { found: 3 }));
        let least = |blocks| compare(&[group(blocks)], &Comparison::default()).remove(0).is_ok();
        assert!(!least(LEAST_BLOCKS - 1) && least(LEAST_BLOCKS));
        assert_eq!(beside[1], alone);
    }

    #[test]
    fn where_there_is_no_interval_a_sentence_says_why() {
        let why = |group: Group| compare(&[group], &Comparison::default()).remove(0).unwrap_err().to_string();
        assert_eq!(
            why(group(1)),
            "An interval needs at least 8 generations in which every contender ran to its end, and there is 1; ask for more \
             generations."
        );
        assert!(why(Group::default()).contains("there are 0"));
        let mut zero = group(9);
        zero.rows.entry(vec![3]).or_default()[1] = 0.0;
        assert!(why(zero).contains("above 0"));
        assert!(why(Group { reference: 7, ..group(9) }).contains("a reference"));
        let rows = (0..9).map(|block| (vec![block], vec![1.0])).collect();
        assert!(why(Group { rows, ..Group::default() }).contains("second contender"));
        let mut ragged = group(9);
        ragged.rows.entry(vec![2]).or_default().pop();
        assert!(why(ragged).contains("one figure of each"));
    }

    #[test]
    fn a_version_of_the_references_driver_differs_beyond_a_band_of_its_own() {
        let mut near = group(12);
        near.rows.values_mut().for_each(|row| row[1] *= 1.03 / 1.5);
        let of = |siblings: Vec<usize>| {
            let group = Group { siblings, ..near.clone() };
            compare(&[group], &Comparison::default()).remove(0).unwrap().estimates[1].unwrap()
        };
        let (other, sibling) = (of(vec![]), of(vec![1]));
        assert_eq!((other.interval, other.verdict), (sibling.interval, Verdict::Inconclusive));
        assert!(sibling.interval[0] > 1.0 + SIBLING_BAND && sibling.verdict == Verdict::Worse, "{sibling:?}");
        assert!(sibling.detectable < other.detectable - 0.009, "{sibling:?}");
    }

    #[test]
    fn a_column_with_a_wider_band_needs_more_to_differ_and_less_to_be_the_same() {
        let of = |factor: f64, band: Option<f64>| {
            let mut near = group(12);
            near.rows.values_mut().for_each(|row| row[1] *= factor / 1.5);
            near.bands = band.map(|band| (1, band)).into_iter().collect();
            compare(&[near], &Comparison::default()).remove(0).unwrap().estimates[1].unwrap().verdict
        };
        assert_eq!([None, Some(0.1)].map(|band| of(1.06, band)), [Verdict::Worse, Verdict::Same]);
        assert_eq!([None, Some(0.1)].map(|band| of(1.2, band)), [Verdict::Worse; 2]);
    }

    #[test]
    fn the_half_width_is_that_of_the_widest_interval() {
        let fitted = compare(&[group(12)], &Comparison::default()).remove(0).unwrap();
        let widest = fitted.estimates.iter().flatten().map(|one| one.interval[1] / one.interval[0]).fold(1.0, f64::max);
        assert!((fitted.half_width() - (widest.sqrt() - 1.0)).abs() < 1e-12 && fitted.half_width() > 0.005);
    }
}
