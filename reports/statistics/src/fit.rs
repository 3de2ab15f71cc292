//! The robust two-way fit: the level of each contender, without what a row has in common.
//!
//! The logarithm of a figure is level of the contender + level of the row + noise. An M-estimator with Tukey's biweight finds
//! the levels (A. E. Beaton and J. W. Tukey, Technometrics 16, 1974). A figure that a neighbour on the machine slowed down counts
//! less the further off it lies, whosever it is.

/// Residuals beyond this many standard deviations count nothing.
const CUT: f64 = 6.0;
/// By how much the cut is wider, over the degrees of freedom: a spread of few rows is hardly known. From simulation.
const CAUTION: f64 = 9.0;
/// How much of the spread that sets a contender's cut is its own; the rest is that of all contenders.
const OWN: f64 = 0.5;
/// The least share of the common spread that a contender's own one is taken to be.
pub(crate) const LEAST_OWN: f64 = 0.1;
/// The most steps of the iteration, which nearly always settles long before.
const STEPS: usize = 100;
/// Levels that move less than this have settled.
const SETTLED: f64 = 1e-8;
/// The median of the size of a standard normal variable, inverted.
pub(crate) const MAD_TO_SIGMA: f64 = 1.482_602_218_5;

/// Logarithms: one row per round or generation, one column per contender.
pub(crate) type Rows = Vec<Vec<f64>>;

/// The levels that rows come to.
#[derive(Debug)]
pub(crate) struct Levels {
    /// Of each contender, up to a constant for all.
    pub contenders: Vec<f64>,
    /// Of each row.
    pub rows: Vec<f64>,
}

/// How much a row's figures vary about the levels.
#[derive(Debug)]
pub(crate) struct Spread {
    /// The variance of each contender's figures, unless there are but two and nothing tells them apart.
    pub own: Vec<f64>,
    /// The mean of all contenders' variances.
    pub common: f64,
}

impl Levels {
    /// Fits finite rows of at least two columns.
    pub fn fit(logs: &Rows, cuts: &[f64]) -> Levels {
        let mut levels = Levels::polish(logs);
        levels.choose(logs, cuts);
        for _ in 0..STEPS {
            if levels.improve(logs, cuts) < SETTLED {
                break;
            }
        }
        levels
    }

    /// Median polish (J. W. Tukey, Exploratory Data Analysis, 1977), three sweeps.
    pub fn polish(logs: &Rows) -> Levels {
        let mut levels = Levels { contenders: vec![0.0; logs[0].len()], rows: vec![0.0; logs.len()] };
        for contender in 1..logs[0].len() {
            levels.contenders[contender] = median(logs.iter().map(|row| row[contender] - row[0]).collect());
        }
        levels.set_rows(logs);
        for _ in 0..2 {
            for contender in 0..logs[0].len() {
                let of = logs.iter().zip(&levels.rows).map(|(row, level)| row[contender] - level);
                levels.contenders[contender] = median(of.collect());
            }
            levels.set_rows(logs);
        }
        levels
    }

    fn set_rows(&mut self, logs: &Rows) {
        for (row, level) in logs.iter().zip(&mut self.rows) {
            *level = median(row.iter().zip(&self.contenders).map(|(log, contender)| log - contender).collect());
        }
    }

    /// Puts each level where its figures agree best: their middle, or one of them if the middle is near none.
    ///
    /// Otherwise the last digit decides to which side the iteration leaves such a middle.
    fn choose(&mut self, logs: &Rows, cuts: &[f64]) {
        for (one, level) in self.contenders.iter_mut().enumerate() {
            let own: Vec<f64> = logs.iter().zip(&self.rows).map(|(row, level)| row[one] - level).collect();
            *level = best(*level, &own, &vec![cuts[one]; own.len()]);
        }
        for (row, level) in logs.iter().zip(&mut self.rows) {
            let own: Vec<f64> = row.iter().zip(&self.contenders).map(|(log, contender)| log - contender).collect();
            *level = best(*level, &own, cuts);
        }
    }

    fn residual(&self, logs: &Rows, row: usize, contender: usize) -> f64 {
        logs[row][contender] - self.contenders[contender] - self.rows[row]
    }

    /// One step of iterated weighted least squares; returns how far the levels moved.
    fn improve(&mut self, logs: &Rows, cuts: &[f64]) -> f64 {
        let others = logs[0].len() - 1;
        // The normal equations with the rows eliminated and the first contender at 0.
        let mut matrix = vec![vec![0.0; others]; others];
        let mut right = vec![0.0; others];
        let weights: Rows = (0..logs.len())
            .map(|row| (0..=others).map(|one| biweight(share(self.residual(logs, row, one), cuts[one]))).collect())
            .collect();
        for (row, weights) in logs.iter().zip(&weights) {
            let total: f64 = weights.iter().sum();
            if total <= f64::EPSILON {
                continue;
            }
            let mean = weights.iter().zip(row).map(|(weight, log)| weight * log).sum::<f64>() / total;
            for one in 0..others {
                right[one] += weights[one + 1] * (row[one + 1] - mean);
                matrix[one][one] += weights[one + 1];
                for other in 0..others {
                    matrix[one][other] -= weights[one + 1] * weights[other + 1] / total;
                }
            }
        }
        let base = self.contenders[0];
        let Some(solved) = solve(matrix, right) else { return 0.0 };
        let next: Vec<f64> = std::iter::once(0.0).chain(solved).collect();
        let moved = next.iter().zip(&self.contenders).map(|(new, old)| (new - (old - base)).abs()).fold(0.0, f64::max);
        self.contenders = next;
        for (at, (row, weights)) in logs.iter().zip(&weights).enumerate() {
            let own = || row.iter().zip(&self.contenders).map(|(log, contender)| log - contender);
            let total: f64 = weights.iter().sum();
            self.rows[at] = if total > f64::EPSILON {
                own().zip(weights).map(|(own, weight)| weight * own).sum::<f64>() / total
            } else {
                median(own().collect())
            };
        }
        moved
    }

    /// The M-estimator's variances, times the rows (P. J. Huber, Robust Statistics, 1981, section 7.6).
    pub fn spread(&self, logs: &Rows, cuts: &[f64]) -> Spread {
        let (rows, contenders) = (logs.len() as f64, cuts.len() as f64);
        let mut squares = vec![0.0; cuts.len()];
        let mut slope = 0.0;
        for row in 0..logs.len() {
            for (one, cut) in cuts.iter().enumerate() {
                let residual = self.residual(logs, row, one);
                let u = share(residual, *cut);
                squares[one] += (biweight(u) * residual).powi(2);
                slope += if u.abs() < 1.0 { (1.0 - u * u) * (1.0 - 5.0 * u * u) } else { 0.0 };
            }
        }
        let slope = (slope / (rows * contenders)).max(0.2);
        let factor = 1.0 / (slope * slope * (rows - 1.0));
        let total = squares.iter().sum::<f64>() * factor / (1.0 - 1.0 / contenders);
        let own = |square: f64| match cuts.len() {
            2 => total / 2.0,
            // Each residual holds part of every contender's noise, through the level of its row.
            _ => (square * factor - total / (contenders * contenders)) / (1.0 - 2.0 / contenders),
        };
        Spread { own: squares.into_iter().map(own).collect(), common: total / contenders }
    }
}

/// The variances of the differences between two contenders, from the median deviations within each part.
///
/// A contender's spread in one part says little; all parts together tell where the cut is.
pub(crate) fn of_pairs(parts: &[Rows]) -> Rows {
    let contenders = parts[0][0].len();
    let mut pairs = vec![vec![0.0; contenders]; contenders];
    for one in 0..contenders {
        for other in one + 1..contenders {
            let mut off = Vec::new();
            for part in parts.iter().filter(|part| part.len() > 1) {
                let differences: Vec<f64> = part.iter().map(|row| row[other] - row[one]).collect();
                let centre = median(differences.clone());
                let rows = part.len() as f64;
                off.extend(differences.iter().map(|value| (value - centre).abs() * (rows / (rows - 1.0)).sqrt()));
            }
            let plain = off.iter().map(|off| off * off).sum::<f64>() / off.len().max(1) as f64;
            // More than half of the values may be equal.
            let variance = (MAD_TO_SIGMA * median(off)).powi(2);
            (pairs[one][other], pairs[other][one]) = {
                let variance = if variance > 0.0 { variance } else { plain };
                (variance, variance)
            };
        }
    }
    pairs
}

/// The mean of the contenders' variances, from those of their differences.
pub(crate) fn common(pairs: &Rows) -> f64 {
    let contenders = pairs.len() as f64;
    pairs.iter().flatten().sum::<f64>() / (2.0 * contenders * (contenders - 1.0))
}

/// Where each contender's residuals stop to count, in parts of so many rows; `freedom` is that of all that `common` is from.
pub(crate) fn cuts(pairs: &Rows, common: f64, rows: usize, freedom: f64) -> Vec<f64> {
    let (rows, contenders) = (rows as f64, pairs.len() as f64);
    // A residual spreads less than its figure, because two levels were fitted to it.
    let shrink = ((1.0 - 1.0 / contenders) * (1.0 - 1.0 / rows)).sqrt();
    let total = self::common(pairs) * contenders;
    let spread = |row: &Vec<f64>| {
        let own = match pairs.len() {
            2 => total / 2.0,
            _ => (row.iter().sum::<f64>() - total) / (contenders - 2.0),
        };
        (OWN * own.max(LEAST_OWN * common) + (1.0 - OWN) * common).sqrt()
    };
    pairs.iter().map(|row| CUT * (1.0 + CAUTION / freedom.max(1.0)) * shrink * spread(row)).collect()
}

/// `middle`, or the first of the values that the others clearly lie closer to.
fn best(middle: f64, values: &[f64], cuts: &[f64]) -> f64 {
    let mut tried = vec![Tried::of(middle, values, cuts)];
    let (mut least, mut best) = (tried[0].loss, middle);
    for value in values {
        // Nearly all values are known to be no better by a few that were tried, so that this is not quadratic.
        if tried.iter().any(|one| one.least_at(*value) >= least - CLEARLY / 2.0) {
            continue;
        }
        let here = Tried::of(*value, values, cuts);
        if here.loss < least - CLEARLY {
            (least, best) = (here.loss, *value);
        }
        tried.push(here);
    }
    best
}

/// A level is better than another by at least this.
const CLEARLY: f64 = 1e-6;

/// What the residuals from a level come to.
struct Tried {
    level: f64,
    loss: f64,
    slope: f64,
    /// The second derivative is nowhere below this, negated.
    bend: f64,
}

impl Tried {
    fn of(level: f64, values: &[f64], cuts: &[f64]) -> Tried {
        let mut tried = Tried { level, loss: 0.0, slope: 0.0, bend: 0.0 };
        for (value, cut) in values.iter().zip(cuts) {
            let u = share(value - level, *cut);
            let rest = (1.0 - u * u).max(0.0);
            tried.loss -= rest.powi(3);
            if rest > 0.0 {
                tried.slope -= 6.0 * share(u * rest * rest, *cut);
            }
            // 6 (1 - u^2) (1 - 5 u^2) has its minimum -4.8 where u^2 is 0.6.
            tried.bend += 4.8 / (cut * cut);
        }
        tried
    }

    /// A bound below the loss of another level, by Taylor's theorem.
    fn least_at(&self, level: f64) -> f64 {
        let off = level - self.level;
        if off == 0.0 { self.loss } else { self.loss + self.slope * off - self.bend * off * off / 2.0 }
    }
}

fn share(residual: f64, cut: f64) -> f64 {
    if residual == 0.0 { 0.0 } else { residual / cut }
}

fn biweight(u: f64) -> f64 {
    if u.abs() < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
}

/// The middle value, or the mean of the two middle ones; 0 of none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// Gauss elimination of a positive definite matrix; `None` if it is singular because no row has two figures that count.
fn solve(mut matrix: Rows, mut right: Vec<f64>) -> Option<Vec<f64>> {
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

    /// Five rows whose levels differ much, three contenders at 0, 1 and 3, little noise of a fixed pattern.
    fn rows() -> Rows {
        let noise = [0.01, -0.02, 0.015, -0.01, 0.02, -0.005, 0.0, 0.01, -0.015, 0.005, -0.01, 0.02, -0.02, 0.0, 0.01];
        (0..5).map(|row| (0..3).map(|one| [0.0, 1.0, 3.0][one] + row as f64 + noise[row * 3 + one]).collect()).collect()
    }

    fn fit(logs: &Rows) -> (Levels, Spread) {
        let pairs = of_pairs(std::slice::from_ref(logs));
        let cuts = cuts(&pairs, common(&pairs), logs.len(), 8.0);
        let levels = Levels::fit(logs, &cuts);
        let spread = levels.spread(logs, &cuts);
        (levels, spread)
    }

    #[test]
    fn levels_are_found_whatever_the_rows_have_in_common() {
        let levels = fit(&rows()).0.contenders;
        for (found, known) in levels.iter().zip([0.0, 1.0, 3.0]) {
            assert!((found - levels[0] - known).abs() < 0.02, "{levels:?}");
        }
    }

    #[test]
    fn a_figure_far_off_moves_nothing() {
        let clean = fit(&rows()).0.contenders;
        let mut logs = rows();
        logs[2][1] += 5.0;
        let disturbed = fit(&logs).0.contenders;
        assert!((clean[1] - disturbed[1]).abs() < 0.02, "{disturbed:?}");
        assert!((clean[2] - disturbed[2]).abs() < 0.02, "{disturbed:?}");
    }

    #[test]
    fn figures_without_any_noise_have_levels_without_variance() {
        let (levels, spread) = fit(&vec![vec![1.0, 2.0]; 6]);
        assert_eq!((levels.contenders[1] - levels.contenders[0], spread.common), (1.0, 0.0));
    }

    #[test]
    fn a_noisier_contender_has_a_greater_variance() {
        let mut logs = rows();
        for (at, row) in logs.iter_mut().enumerate() {
            row[2] += if at % 2 == 0 { 0.06 } else { -0.06 };
        }
        let spread = fit(&logs).1;
        assert!(spread.own[2] > 1.5 * spread.own[0], "{spread:?}");
    }
}
