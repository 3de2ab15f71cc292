//! The robust two-way fit: the level of each contender, without what a block has in common.
//!
//! The logarithm of a figure is level of the contender + level of the block + noise. An M-estimator with Tukey's biweight finds
//! the levels (A. E. Beaton and J. W. Tukey, Technometrics 16, 1974). A cell that a neighbour on the machine slowed down counts
//! less the further off it lies, whosever it is.

/// Residuals beyond this many standard deviations count nothing.
const CUT: f64 = 6.0;
/// How much of each contender's spread is its own; the rest is that of all contenders together.
const OWN: f64 = 0.5;
/// The least share of the common spread that a contender's own one is taken to be.
const LEAST_OWN: f64 = 0.1;
/// The most steps of the iteration, which nearly always settles long before.
const STEPS: usize = 100;
/// Levels that move less than this have settled.
const SETTLED: f64 = 1e-10;
/// The median of the size of a standard normal variable, inverted.
const MAD_TO_SIGMA: f64 = 1.482_602_218_5;

/// What a scenario's blocks say of its contenders.
#[derive(Debug)]
pub(crate) struct Fit {
    /// The level of each contender on the log scale, up to a constant for all.
    pub levels: Vec<f64>,
    /// The variance of each level. The variance of a difference is the sum of two.
    pub variances: Vec<f64>,
    /// What the median block adds to every level.
    pub centre: f64,
}

/// Fits `logs`: one row per block, one column per contender, at least two of each, all finite.
pub(crate) fn fit(logs: &[Vec<f64>]) -> Fit {
    let (blocks, contenders) = (logs.len() as f64, logs[0].len() as f64);
    let mut levels = Levels::start(logs);
    // A residual spreads less than its cell, because two levels were fitted to it.
    let shrink = ((1.0 - 1.0 / contenders) * (1.0 - 1.0 / blocks)).sqrt();
    let cuts: Vec<f64> = spreads(logs).iter().map(|spread| CUT * shrink * spread).collect();
    levels.choose_blocks(logs, &cuts);
    for _ in 0..STEPS {
        if levels.improve(logs, &cuts) < SETTLED {
            break;
        }
    }
    let variances = levels.variances(logs, &cuts);
    Fit { levels: levels.contenders, variances, centre: median(levels.blocks) }
}

struct Levels {
    contenders: Vec<f64>,
    blocks: Vec<f64>,
}

impl Levels {
    /// Median polish (J. W. Tukey, Exploratory Data Analysis, 1977), three sweeps.
    fn start(logs: &[Vec<f64>]) -> Levels {
        let mut levels = Levels { contenders: vec![0.0; logs[0].len()], blocks: vec![0.0; logs.len()] };
        for contender in 1..logs[0].len() {
            levels.contenders[contender] = median(logs.iter().map(|block| block[contender] - block[0]).collect());
        }
        levels.set_blocks(logs);
        for _ in 0..2 {
            for contender in 0..logs[0].len() {
                let of = logs.iter().zip(&levels.blocks).map(|(block, level)| block[contender] - level);
                levels.contenders[contender] = median(of.collect());
            }
            levels.set_blocks(logs);
        }
        levels
    }

    fn set_blocks(&mut self, logs: &[Vec<f64>]) {
        for (block, level) in logs.iter().zip(&mut self.blocks) {
            *level = median(block.iter().zip(&self.contenders).map(|(log, contender)| log - contender).collect());
        }
    }

    /// Puts the level of each block where its cells agree best: their middle, or one of them if the middle is near none.
    ///
    /// Otherwise the last digit decides to which side the iteration leaves such a middle.
    fn choose_blocks(&mut self, logs: &[Vec<f64>], cuts: &[f64]) {
        for (block, level) in logs.iter().zip(&mut self.blocks) {
            let own: Vec<f64> = block.iter().zip(&self.contenders).map(|(log, contender)| log - contender).collect();
            let loss = |level: f64| -> f64 {
                own.iter()
                    .zip(cuts)
                    .map(|(own, cut)| 1.0 - (1.0 - share(own - level, *cut).powi(2)).max(0.0).powi(3))
                    .sum()
            };
            let mut least = loss(*level);
            for at in &own {
                let here = loss(*at);
                if here < least - 1e-6 {
                    (least, *level) = (here, *at);
                }
            }
        }
    }

    fn residual(&self, logs: &[Vec<f64>], block: usize, contender: usize) -> f64 {
        logs[block][contender] - self.contenders[contender] - self.blocks[block]
    }

    /// One step of iterated weighted least squares; returns how far the levels moved.
    fn improve(&mut self, logs: &[Vec<f64>], cuts: &[f64]) -> f64 {
        let others = logs[0].len() - 1;
        // The normal equations with the blocks eliminated and the first contender at 0.
        let mut matrix = vec![vec![0.0; others]; others];
        let mut right = vec![0.0; others];
        let weights: Vec<Vec<f64>> = (0..logs.len())
            .map(|block| (0..=others).map(|one| biweight(share(self.residual(logs, block, one), cuts[one]))).collect())
            .collect();
        for (block, weights) in logs.iter().zip(&weights) {
            let total: f64 = weights.iter().sum();
            if total <= f64::EPSILON {
                continue;
            }
            let mean = weights.iter().zip(block).map(|(weight, log)| weight * log).sum::<f64>() / total;
            for row in 0..others {
                right[row] += weights[row + 1] * (block[row + 1] - mean);
                matrix[row][row] += weights[row + 1];
                for column in 0..others {
                    matrix[row][column] -= weights[row + 1] * weights[column + 1] / total;
                }
            }
        }
        let base = self.contenders[0];
        let Some(solved) = solve(matrix, right) else { return 0.0 };
        let next: Vec<f64> = std::iter::once(0.0).chain(solved).collect();
        let moved = next.iter().zip(&self.contenders).map(|(new, old)| (new - (old - base)).abs()).fold(0.0, f64::max);
        self.contenders = next;
        for (at, (block, weights)) in logs.iter().zip(&weights).enumerate() {
            let over = |level: f64, (log, contender): (&f64, &f64)| log - contender - level;
            let total: f64 = weights.iter().sum();
            self.blocks[at] = if total > f64::EPSILON {
                let pairs = block.iter().zip(&self.contenders);
                weights.iter().zip(pairs).map(|(weight, pair)| weight * over(0.0, pair)).sum::<f64>() / total
            } else {
                median(block.iter().zip(&self.contenders).map(|pair| over(0.0, pair)).collect())
            };
        }
        moved
    }

    /// The M-estimator's variances (P. J. Huber, Robust Statistics, 1981, section 7.6).
    ///
    /// Half is the contender's own and half that of all, because a few blocks say little of one contender's spread.
    fn variances(&self, logs: &[Vec<f64>], cuts: &[f64]) -> Vec<f64> {
        let (blocks, contenders) = (logs.len() as f64, cuts.len() as f64);
        let mut squares = vec![0.0; cuts.len()];
        let mut slope = 0.0;
        for block in 0..logs.len() {
            for (one, cut) in cuts.iter().enumerate() {
                let residual = self.residual(logs, block, one);
                let u = share(residual, *cut);
                squares[one] += (biweight(u) * residual).powi(2);
                slope += if u.abs() < 1.0 { (1.0 - u * u) * (1.0 - 5.0 * u * u) } else { 0.0 };
            }
        }
        let slope = (slope / (blocks * contenders)).max(0.2);
        let spread: Vec<f64> = squares.iter().map(|sum| sum / (blocks - 1.0) / (slope * slope)).collect();
        let total = spread.iter().sum::<f64>() / (1.0 - 1.0 / contenders);
        let common = total / contenders;
        spread
            .iter()
            .map(|of| {
                // Each residual holds part of every contender's noise, through the mean of its block.
                let own = match cuts.len() {
                    2 => common,
                    _ => (of - total / (contenders * contenders)) / (1.0 - 2.0 / contenders),
                };
                (OWN * own.max(LEAST_OWN * common) + (1.0 - OWN) * common) / blocks
            })
            .collect()
    }
}

/// The standard deviation of each contender's noise, from the median deviations of the differences within blocks.
///
/// Half is the contender's own and half that of all.
fn spreads(logs: &[Vec<f64>]) -> Vec<f64> {
    let contenders = logs[0].len();
    let correction = logs.len() as f64 / (logs.len() as f64 - 1.0);
    let mut of_pairs = vec![vec![0.0; contenders]; contenders];
    let mut all = Vec::new();
    for one in 0..contenders {
        for other in one + 1..contenders {
            let differences: Vec<f64> = logs.iter().map(|block| block[other] - block[one]).collect();
            let variance = deviation(differences).powi(2) * correction;
            (of_pairs[one][other], of_pairs[other][one]) = (variance, variance);
            all.push(variance / 2.0);
        }
    }
    let total = all.iter().sum::<f64>() * 2.0 / (contenders as f64 - 1.0);
    let common = median(all);
    of_pairs
        .iter()
        .map(|row| {
            let own = match contenders {
                2 => common,
                _ => (row.iter().sum::<f64>() - total) / (contenders as f64 - 2.0),
            };
            (OWN * own.max(LEAST_OWN * common) + (1.0 - OWN) * common).sqrt()
        })
        .collect()
}

/// A standard deviation from the median deviation, or the plain one if more than half of the values are equal.
fn deviation(values: Vec<f64>) -> f64 {
    let centre = median(values.clone());
    let deviation = MAD_TO_SIGMA * median(values.iter().map(|value| (value - centre).abs()).collect());
    if deviation > 0.0 {
        return deviation;
    }
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

fn share(residual: f64, cut: f64) -> f64 {
    if residual == 0.0 { 0.0 } else { residual / cut }
}

fn biweight(u: f64) -> f64 {
    if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
}

/// The middle value, or the mean of the two middle ones; 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Gauss elimination of a positive definite matrix; `None` if it is singular because no block has two cells that count.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Option<Vec<f64>> {
    let size = right.len();
    for at in 0..size {
        let pivot = matrix[at].clone();
        if pivot[at] < 1e-9 {
            return None;
        }
        for below in at + 1..size {
            let factor = matrix[below][at] / pivot[at];
            for (value, above) in matrix[below][at..].iter_mut().zip(&pivot[at..]) {
                *value -= factor * above;
            }
            right[below] -= factor * right[at];
        }
    }
    for at in (0..size).rev() {
        let known: f64 = matrix[at][at + 1..].iter().zip(&right[at + 1..]).map(|(factor, value)| factor * value).sum();
        right[at] = (right[at] - known) / matrix[at][at];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four blocks whose levels differ much, three contenders at 0, 1 and 3, little noise of a fixed pattern.
    fn blocks() -> Vec<Vec<f64>> {
        let noise = [0.01, -0.02, 0.015, -0.01, 0.02, -0.005, 0.0, 0.01, -0.015, 0.005, -0.01, 0.02, -0.02, 0.0, 0.01];
        (0..5)
            .map(|block| (0..3).map(|one| [0.0, 1.0, 3.0][one] + block as f64 + noise[block * 3 + one]).collect())
            .collect()
    }

    #[test]
    fn levels_are_found_whatever_the_blocks_have_in_common() {
        let fit = fit(&blocks());
        for (found, known) in fit.levels.iter().zip([0.0, 1.0, 3.0]) {
            assert!((found - fit.levels[0] - known).abs() < 0.02, "{fit:?}");
        }
    }

    #[test]
    fn a_cell_far_off_moves_nothing() {
        let clean = fit(&blocks());
        let mut logs = blocks();
        logs[2][1] += 5.0;
        let disturbed = fit(&logs);
        assert!((clean.levels[1] - disturbed.levels[1]).abs() < 0.02, "{disturbed:?}");
        assert!((clean.levels[2] - disturbed.levels[2]).abs() < 0.02, "{disturbed:?}");
    }

    #[test]
    fn figures_without_any_noise_have_levels_without_variance() {
        let fit = fit(&vec![vec![1.0, 2.0]; 6]);
        assert_eq!((fit.levels[1] - fit.levels[0], fit.variances[0]), (1.0, 0.0));
    }

    #[test]
    fn a_noisier_contender_has_a_greater_variance() {
        let mut logs = blocks();
        for (block, row) in logs.iter_mut().enumerate() {
            row[2] += if block % 2 == 0 { 0.06 } else { -0.06 };
        }
        let fit = fit(&logs);
        assert!(fit.variances[2] > 1.5 * fit.variances[0], "{fit:?}");
    }
}
