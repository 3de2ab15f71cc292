//! How far an estimate may be off: the variances of contenders, each moderated by those of all.
//!
//! Ten generations say little of one contender's variance. So it is moved towards that of its group, and the group's towards that
//! of all groups, as if a few more degrees of freedom had told of these (G. K. Smyth, Statistical Applications in Genetics and
//! Molecular Biology 3, 2004, article 3). The degrees of freedom are then those of F. E. Satterthwaite, Biometrics Bulletin 2, 1946.

use crate::fit::{LEAST_OWN, Spread};

/// What the wider variance counts, in degrees of freedom: from simulation, see README.md.
const PRIOR: f64 = 6.0;

/// A variance and how well it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variance {
    pub value: f64,
    pub freedom: f64,
}

/// The variances behind the intervals of one group.
#[derive(Debug)]
pub(crate) struct Chance {
    /// Of one contender in one generation.
    own: Vec<f64>,
    own_freedom: f64,
    group: Variance,
    all: Variance,
    generations: f64,
    /// The reference and its controls, whose variance is one.
    sames: Vec<usize>,
}

/// The variance of one contender, pooled over groups: of each its spread, generations and contenders.
pub(crate) fn pooled<'a>(groups: impl Iterator<Item = (&'a Spread, usize)>) -> Variance {
    let of_group = groups.map(|(spread, generations)| spread.variance(generations));
    let sum = of_group.fold(Variance { value: 0.0, freedom: 0.0 }, |sum, one| Variance {
        value: sum.value + one.freedom * one.value,
        freedom: sum.freedom + one.freedom,
    });
    Variance { value: sum.value / sum.freedom, ..sum }
}

impl Spread {
    fn variance(&self, generations: usize) -> Variance {
        Variance { value: self.common, freedom: ((generations - 1) * (self.own.len() - 1)) as f64 }
    }
}

impl Chance {
    pub fn new(spread: &Spread, generations: usize, all: Variance, sames: Vec<usize>) -> Chance {
        let contenders = spread.own.len() as f64;
        let mut own: Vec<f64> = spread.own.iter().map(|own| own.max(LEAST_OWN * spread.common)).collect();
        let same = sames.iter().map(|column| own[*column]).sum::<f64>() / sames.len() as f64;
        sames.iter().for_each(|column| own[*column] = same);
        // Of two contenders nobody can say whose the noise is. The factor is that of the variances of an estimate by F. E. Grubbs,
        // Journal of the American Statistical Association 43, 1948.
        let known = if own.len() == 2 { 0.0 } else { 1.0 - 1.8 / contenders };
        let rows = generations as f64;
        Chance {
            own,
            own_freedom: known * (rows - 1.0),
            group: spread.variance(generations),
            all,
            generations: rows,
            sames,
        }
    }

    /// Of the difference between a column's level and the mean level of `base`, which are the reference and perhaps its controls.
    pub fn of_difference(&self, column: usize, base: &[usize]) -> Variance {
        let sames = self.sames.len() as f64;
        let of_base = 1.0 / base.len() as f64;
        // Each own variance with its degrees of freedom and how often the difference has it.
        let parts = match self.sames.contains(&column) {
            true => vec![(self.own[column], sames * self.own_freedom, 1.0 + of_base)],
            false => vec![
                (self.own[column], self.own_freedom, 1.0),
                (self.own[self.sames[0]], sames * self.own_freedom, of_base),
            ],
        };
        let Variance { value: group, freedom: group_freedom } = self.group;
        let towards_group = self.towards_group();
        let (mut value, mut uncertainty, mut of_own, mut of_middle) = (0.0, 0.0, 0.0, 0.0);
        for (own, freedom, times) in parts {
            let towards_own = freedom / (freedom + PRIOR);
            value += times * self.moderated(own, freedom);
            if freedom > 0.0 {
                uncertainty += (times * towards_own * own).powi(2) / freedom;
            }
            of_own += times * towards_own;
            of_middle += times * (1.0 - towards_own);
        }
        // A wider variance is the mean of the narrower ones, so it varies together with each as much as it varies itself.
        let (of_group, of_all) = (of_middle * towards_group, of_middle * (1.0 - towards_group));
        uncertainty += (of_group * of_group + 2.0 * of_group * of_own) * group * group / group_freedom;
        uncertainty +=
            (of_all * of_all + 2.0 * of_all * (of_own + of_group)) * self.all.value.powi(2) / self.all.freedom;
        Variance { value: value / self.generations, freedom: (value * value / uncertainty).max(1.0) }
    }

    /// The part of [`Chance::of_difference`] that the mean level of `base` has.
    pub fn of_base(&self, base: &[usize]) -> f64 {
        let sames = self.sames.len() as f64;
        self.moderated(self.own[self.sames[0]], sames * self.own_freedom) / base.len() as f64 / self.generations
    }

    /// A contender's own variance, which is known by `freedom`, moved towards the wider ones.
    fn moderated(&self, own: f64, freedom: f64) -> f64 {
        let (towards_own, towards_group) = (freedom / (freedom + PRIOR), self.towards_group());
        let middle = towards_group * self.group.value + (1.0 - towards_group) * self.all.value;
        towards_own * own + (1.0 - towards_own) * middle
    }

    fn towards_group(&self) -> f64 {
        self.group.freedom / (self.group.freedom + PRIOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chance(own: [f64; 4], common: f64) -> Chance {
        let spread = Spread { own: own.to_vec(), common };
        let all = pooled([(&spread, 10), (&spread, 10)].into_iter());
        Chance::new(&spread, 10, all, vec![0, 3])
    }

    #[test]
    fn a_difference_has_the_variances_of_both_sides_and_two_references_half_of_one() {
        let chance = chance([1.0; 4], 1.0);
        for (column, base, value) in [(1, vec![0], 0.2), (1, vec![0, 3], 0.15), (3, vec![0], 0.2)] {
            let found = chance.of_difference(column, &base);
            assert!((found.value - value).abs() < 1e-12 && found.freedom > 9.0 && found.freedom < 54.0, "{found:?}");
        }
    }

    #[test]
    fn a_noisier_contender_has_a_greater_variance_that_is_known_less_well() {
        let chance = chance([1.0, 9.0, 1.0, 1.0], 3.0);
        let [quiet, loud] = [2, 1].map(|column| chance.of_difference(column, &[0, 3]));
        assert!(loud.value > 2.0 * quiet.value && loud.freedom < quiet.freedom, "{quiet:?} {loud:?}");
    }

    #[test]
    fn one_group_of_two_contenders_has_the_freedom_of_its_generations() {
        let spread = Spread { own: vec![1.0; 2], common: 1.0 };
        let found = Chance::new(&spread, 10, pooled([(&spread, 10)].into_iter()), vec![0]).of_difference(1, &[0]);
        assert!((found.freedom - 9.0).abs() < 1e-9 && (found.value - 0.2).abs() < 1e-12, "{found:?}");
    }
}
