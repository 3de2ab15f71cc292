//! From the figures of a table to ratios, intervals and verdicts.

use std::fmt;

use crate::fit::fit;
use crate::interval::{Verdict, rounded};
use crate::quantile::student_quantile;

/// Fewer blocks have no interval: at 5, intervals of small tables held in 90 to 94 of 100 simulated runs only (README.md).
pub const LEAST_BLOCKS: usize = 8;
/// The chance to find a difference of [`Estimate::detectable`].
const CHANCE: f64 = 0.9;
/// The share of (blocks - 1) x (contenders - 1) degrees of freedom that downweighting leaves: from simulation, see README.md.
const FREEDOM: f64 = 0.65;

/// The figures of one scenario in one arrangement.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// A positive measure: one row per block, and in it one figure per contender.
    pub blocks: Vec<Vec<f64>>,
    /// The column that ratios are taken against.
    pub reference: usize,
    /// Columns that are the reference once more under another name. Their levels and the reference's are pooled for the others;
    /// they themselves are compared with the reference alone.
    pub controls: Vec<usize>,
}

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

/// What a group's figures come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The level of each column, in the unit of the figures. The reference's is pooled with its controls'.
    ///
    /// A level over the reference's is exactly the ratio of its estimate, but for a control, whose ratio is to the reference alone.
    pub levels: Vec<f64>,
    /// One per column, `None` for the reference.
    pub estimates: Vec<Option<Estimate>>,
}

/// Why there are no intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// There are too few blocks.
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
                "An interval needs at least {LEAST_BLOCKS} blocks in which every contender ran to its end, and there {} \
                 {found}; ask for more blocks.",
                if *found == 1 { "is" } else { "are" }
            ),
            NoInterval::NotPositive => {
                f.write_str("Ratios need figures above 0, and one of this table is not; there is no interval.")
            }
            NoInterval::Shape => f.write_str(
                "An interval needs a reference, a second contender, and one figure of each in every block; there is none.",
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
    let sound: Vec<Result<(), NoInterval>> = groups.iter().map(Group::check).collect();
    let all: usize =
        groups.iter().zip(&sound).filter(|(_, sound)| sound.is_ok()).map(|(group, _)| group.contenders() - 1).sum();
    let comparisons = if how.simultaneous { all } else { 1 };
    // By logarithms: 1 - confidence^(1 / comparisons) without losing digits.
    let tail = -(how.confidence.ln() / comparisons.max(1) as f64).exp_m1();
    groups.iter().zip(sound).map(|(group, sound)| sound.map(|()| group.fitted(tail, how))).collect()
}

impl Group {
    fn contenders(&self) -> usize {
        self.blocks.first().map_or(0, Vec::len)
    }

    fn check(&self) -> Result<(), NoInterval> {
        let contenders = self.contenders();
        let there = |column: &usize| *column < contenders;
        if self.blocks.len() < LEAST_BLOCKS {
            return Err(NoInterval::Blocks { found: self.blocks.len() });
        }
        if contenders < 2
            || !there(&self.reference)
            || !self.controls.iter().all(there)
            || self.blocks.iter().any(|block| block.len() != contenders)
        {
            return Err(NoInterval::Shape);
        }
        match self.blocks.iter().flatten().all(|figure| figure.is_finite() && *figure > 0.0) {
            true => Ok(()),
            false => Err(NoInterval::NotPositive),
        }
    }

    /// The factor on the M-estimator's standard error, which takes the block levels as known: from simulation, see README.md.
    fn too_small(&self) -> f64 {
        1.0 + 0.2 / self.contenders().max(3) as f64
    }

    /// The fit, each of its intervals missing the truth with probability `tail`.
    fn fitted(&self, tail: f64, how: &Comparison) -> Fitted {
        let logs: Vec<Vec<f64>> =
            self.blocks.iter().map(|block| block.iter().map(|figure| figure.ln()).collect()).collect();
        let fit = fit(&logs);
        let freedom = (FREEDOM * (self.blocks.len() - 1) as f64 * (self.contenders() - 1) as f64).max(1.0);
        let wide = self.too_small() * student_quantile(tail, freedom);
        let likely = self.too_small() * student_quantile(2.0 * (1.0 - CHANCE), freedom);
        let sames: Vec<usize> = std::iter::once(self.reference).chain(self.controls.iter().copied()).collect();
        let against = |columns: &[usize]| {
            let of = columns.len() as f64;
            let level = columns.iter().map(|column| fit.levels[*column]).sum::<f64>() / of;
            (level, columns.iter().map(|column| fit.variances[*column]).sum::<f64>() / (of * of))
        };
        let estimates: Vec<Option<Estimate>> = (0..self.contenders())
            .map(|column| {
                if column == self.reference {
                    return None;
                }
                let (level, variance) =
                    if self.controls.contains(&column) { against(&[self.reference]) } else { against(&sames) };
                let log = fit.levels[column] - level;
                let error = (fit.variances[column] + variance).sqrt();
                let interval = [log - wide * error, log + wide * error].map(|end| rounded(end.exp()));
                Some(Estimate {
                    ratio: rounded(log.exp()),
                    interval,
                    verdict: Verdict::of(interval, how.band, how.lower_is_better),
                    detectable: (how.band.ln_1p() + (wide + likely) * error).exp_m1(),
                })
            })
            .collect();
        let pooled = (fit.centre + against(&sames).0).exp();
        let level = |(column, estimate): (usize, &Option<Estimate>)| match estimate {
            None => pooled,
            Some(_) if self.controls.contains(&column) => (fit.centre + fit.levels[column]).exp(),
            Some(estimate) => pooled * estimate.ratio,
        };
        Fitted { levels: estimates.iter().enumerate().map(level).collect(), estimates }
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
        Group { blocks: (0..blocks).map(row).collect(), reference: 0, controls: vec![2] }
    }

    #[test]
    fn a_plain_difference_is_found_and_the_control_is_beside_1() {
        let Fitted { levels, estimates } = compare(&[group(12)], &Comparison::default()).remove(0).unwrap();
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
            let Fitted { levels, estimates } = compare(&[group], &Comparison::default()).remove(0).unwrap();
            assert!((levels[1] / levels[0] - estimates[1].unwrap().ratio).abs() < 1e-12);
        }
        let levels_of = |group| compare(&[group], &Comparison::default()).remove(0).unwrap().levels;
        let own = levels_of(Group { controls: Vec::new(), ..group(12) });
        let pooled = levels_of(group(12))[0];
        assert!((pooled - (own[0] * own[2]).sqrt()).abs() < 1e-3, "{pooled} {own:?}");
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
            "An interval needs at least 8 blocks in which every contender ran to its end, and there is 1; ask for more blocks."
        );
        assert!(why(Group { blocks: Vec::new(), reference: 0, controls: Vec::new() }).contains("there are 0"));
        let mut zero = group(9);
        zero.blocks[3][1] = 0.0;
        assert!(why(zero).contains("above 0"));
        assert!(why(Group { reference: 7, ..group(9) }).contains("a reference"));
        assert!(why(Group { blocks: vec![vec![1.0]; 9], reference: 0, controls: vec![] }).contains("second contender"));
        let mut ragged = group(9);
        ragged.blocks[2].pop();
        assert!(why(ragged).contains("one figure of each"));
    }
}
