//! From the rounds of each generation to one row per generation.
//!
//! The rounds of a generation share its processes, and processes of one executable differ by some percent however many rounds
//! each has. So only generations are independent of each other, and an interval comes from these alone (T. Kalibera and R. Jones,
//! Rigorous benchmarking in reasonable time, ISMM 2013). A block of single cells is a generation of one round.

use std::collections::BTreeMap;

use crate::compare::Repetition;
use crate::fit::{Levels, MAD_TO_SIGMA, Rows, common, cuts, median, of_pairs};

/// A round does not count if it is slower than the quiet ones by more than this many standard deviations,
const SLOW: f64 = 3.0;
/// and by at least this much on the log scale.
const SLOW_AT_LEAST: f64 = 0.1;
/// Logarithms are kept to this, so that the unit of the figures decides nothing where two rounds are equally slow.
const GRID: f64 = 1e12;
/// This share of the generations counts even so, the fastest first.
const KEPT: f64 = 2.0 / 3.0;

/// The logarithms of positive figures: one row per generation, and of how many rounds they all are.
pub(crate) fn generations(rows: &BTreeMap<Repetition, Vec<f64>>) -> (Rows, usize) {
    let unit = rows.values().flatten().next().map_or(0.0, |figure| figure.ln());
    let log = |figure: &f64| ((figure.ln() - unit) * GRID).round() / GRID;
    let mut parts: BTreeMap<u32, Rows> = BTreeMap::new();
    for (at, row) in rows {
        let generation = at.first().copied().unwrap_or_default();
        parts.entry(generation).or_default().push(row.iter().map(log).collect());
    }
    let parts = quiet(parts.into_values().collect());
    let rounds = parts.iter().map(Vec::len).sum();
    let freedom: usize = parts.iter().map(|part| (part.len() - 1) * (part[0].len() - 1)).sum();
    let pairs = of_pairs(&parts);
    let of = |mut part: Rows| {
        if part.len() == 1 {
            return part.swap_remove(0);
        }
        let cuts = cuts(&pairs, common(&pairs), part.len(), freedom as f64);
        let Levels { contenders, rows } = Levels::fit(&part, &cuts);
        let centre = median(rows);
        contenders.into_iter().map(|level| level + centre).collect()
    };
    let in_unit = |mut row: Vec<f64>| {
        row.iter_mut().for_each(|log| *log += unit);
        row
    };
    (parts.into_iter().map(of).map(in_unit).collect(), rounds)
}

/// The rounds that the machine did not slow down as a whole.
///
/// Contenders do not slow down alike, so a slow round has another ratio. What a round has in common decides, never its ratios.
fn quiet(parts: Vec<Rows>) -> Vec<Rows> {
    let polished = Levels::polish(&parts.iter().flatten().cloned().collect()).rows;
    let mut levels = polished.iter();
    let levels: Rows = parts.iter().map(|part| levels.by_ref().take(part.len()).copied().collect()).collect();
    let centre = shortest_half(&polished);
    let below = polished.iter().map(|level| centre - level).filter(|below| *below >= 0.0);
    let limit = centre + (SLOW * MAD_TO_SIGMA * median(below.collect())).max(SLOW_AT_LEAST);
    let mut fastest: Vec<f64> = levels.iter().map(|part| part.iter().copied().fold(f64::INFINITY, f64::min)).collect();
    fastest.sort_by(f64::total_cmp);
    let kept = (KEPT * parts.len() as f64).ceil() as usize;
    let limit = fastest[..kept].last().map_or(limit, |level| limit.max(*level));
    let counting = |(part, levels): (Rows, Vec<f64>)| -> Rows {
        part.into_iter().zip(levels).filter(|(_, level)| *level <= limit).map(|(row, _)| row).collect()
    };
    parts.into_iter().zip(levels).map(counting).filter(|part| !part.is_empty()).collect()
}

/// The middle of the shortest stretch that holds half of the values: where the quiet ones are, if they are the most.
fn shortest_half(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let stretches = sorted.windows(sorted.len() / 2 + 1);
    let mut shortest: (f64, &[f64]) = (f64::INFINITY, &[]);
    for stretch in stretches {
        let width = stretch[stretch.len() - 1] - stretch[0];
        if width < shortest.0 {
            shortest = (width, stretch);
        }
    }
    median(shortest.1.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[(&[u32], [f64; 2])]) -> Rows {
        let (mut found, _) = generations(&rows.iter().map(|(at, row)| (at.to_vec(), row.to_vec())).collect());
        found.iter_mut().flatten().for_each(|log| *log = log.exp());
        found
    }

    fn near(found: &Rows, known: &[[f64; 2]]) -> bool {
        let pairs = found.iter().flatten().zip(known.iter().flatten());
        found.len() == known.len() && pairs.into_iter().all(|(one, other)| (one / other - 1.0).abs() < 1e-9)
    }

    #[test]
    fn generations_of_one_round_stay_as_they_are() {
        assert!(near(&of(&[(&[2], [1.0, 2.0]), (&[1], [1.01, 2.02])]), &[[1.01, 2.02], [1.0, 2.0]]));
    }

    #[test]
    fn the_rounds_of_a_generation_come_to_one_row_and_those_of_another_to_another() {
        let found = of(&[
            (&[1, 1], [1.0, 2.0]),
            (&[1, 2], [1.02, 2.04]),
            (&[1, 3], [1.01, 2.02]),
            (&[2, 1], [1.0, 2.1]),
            (&[2, 2], [1.0, 2.1]),
            (&[3, 1], [1.0, 2.0]),
        ]);
        assert!(near(&found, &[[1.01, 2.02], [1.0, 2.1], [1.0, 2.0]]), "{found:?}");
    }

    #[test]
    fn a_turn_that_somebody_disturbed_moves_its_generation_little() {
        let quiet = [[1.0, 1.1], [1.01, 1.1], [0.99, 1.1], [1.0, 1.11], [1.0, 1.09]];
        let row = |rounds: &[[f64; 2]]| {
            let rows = rounds.iter().zip(1..).map(|(row, number)| (vec![1, number], row.to_vec()));
            let row = generations(&rows.collect()).0.remove(0);
            row[1] - row[0]
        };
        let mut disturbed = quiet;
        disturbed[2] = [0.99, 3.0];
        assert!((row(&quiet) - row(&disturbed)).abs() < 0.01, "{} {}", row(&quiet), row(&disturbed));
    }

    #[test]
    fn rounds_and_generations_of_a_slow_machine_do_not_count_whatever_their_ratio() {
        let mut rows = Vec::new();
        for generation in 1..=6 {
            for round in 1..=4 {
                rows.push((vec![generation, round], [1.0, 2.0]));
            }
        }
        let known = of(&rows.iter().map(|(at, row)| (at.as_slice(), *row)).collect::<Vec<_>>());
        for (at, row) in &mut rows {
            if at[0] == 5 || *at == [2, 3] {
                *row = [1.5, 2.2];
            }
        }
        let found = of(&rows.iter().map(|(at, row)| (at.as_slice(), *row)).collect::<Vec<_>>());
        assert!(found == known[..5], "{found:?}");
    }

    #[test]
    fn two_thirds_of_the_generations_count_however_slow_they_are() {
        let speeds = [1.0, 1.0, 1.0, 1.0, 1.0, 4.0, 2.0, 3.0, 1.5];
        let rows = speeds.into_iter().zip(1..).map(|(speed, generation)| (vec![generation], vec![speed; 2])).collect();
        let (found, rounds) = generations(&rows);
        assert_eq!((found.len(), rounds), (6, 6));
    }
}
