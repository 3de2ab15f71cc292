//! Levels of repetition: windows within a block, and whatever nests deeper.
//!
//! The windows of a block share its processes, and processes of one executable differ by some percent however many windows each
//! has. So only the outermost repetitions are independent of each other, and an interval comes from these alone. From the inside
//! out, the rows within a repetition are fitted as blocks are, and their levels are its row.

use std::collections::BTreeMap;

use crate::fit::fit;

/// Where a row repeats, the outermost level first: its block, then its window within it.
pub type Repetition = Vec<u32>;

/// One row per outermost repetition, in their order: of rows with one figure per contender.
pub fn outermost(mut rows: BTreeMap<Repetition, Vec<f64>>) -> Vec<Vec<f64>> {
    while let Some(depth) = rows.keys().map(Vec::len).max().filter(|depth| *depth > 1) {
        let mut within: BTreeMap<Repetition, Vec<Vec<f64>>> = BTreeMap::new();
        for (mut at, row) in rows {
            at.truncate(depth - 1);
            within.entry(at).or_default().push(row);
        }
        rows = within.into_iter().map(|(at, rows)| (at, level(rows))).collect();
    }
    rows.into_values().collect()
}

/// The row that these come to. Of rows without a fit it is the first that has none, which [`crate::compare`] then refuses.
fn level(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let contenders = rows.first().map_or(0, Vec::len);
    let has_no_fit = |row: &Vec<f64>| {
        contenders < 2 || row.len() != contenders || row.iter().any(|figure| !figure.is_finite() || *figure <= 0.0)
    };
    let alone = rows.iter().position(has_no_fit).or((rows.len() == 1).then_some(0));
    if let Some(at) = alone {
        return rows.swap_remove(at);
    }
    let logs: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|figure| figure.ln()).collect()).collect();
    let fit = fit(&logs);
    fit.levels.iter().map(|level| (level + fit.centre).exp()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(of: &[(&[u32], [f64; 2])]) -> Vec<Vec<f64>> {
        outermost(of.iter().map(|(at, row)| (at.to_vec(), row.to_vec())).collect())
    }

    fn near(found: &[Vec<f64>], known: &[[f64; 2]]) -> bool {
        let pairs = found.iter().flatten().zip(known.iter().flatten());
        found.len() == known.len() && pairs.into_iter().all(|(one, other)| (one / other - 1.0).abs() < 1e-9)
    }

    #[test]
    fn blocks_without_windows_stay_as_they_are() {
        assert_eq!(rows(&[(&[2], [3.0, 4.0]), (&[1], [1.0, 2.0])]), [[1.0, 2.0], [3.0, 4.0]]);
        assert_eq!(rows(&[]), Vec::<Vec<f64>>::new());
    }

    #[test]
    fn the_windows_of_a_block_come_to_one_row_and_those_of_another_block_to_another() {
        let found = rows(&[
            (&[1, 1], [1.0, 2.0]),
            (&[1, 2], [4.0, 8.0]),
            (&[2, 1], [3.0, 9.0]),
            (&[2, 2], [3.0, 9.0]),
            (&[3, 1], [5.0, 5.0]),
        ]);
        assert!(near(&found, &[[2.0, 4.0], [3.0, 9.0], [5.0, 5.0]]), "{found:?}");
    }

    #[test]
    fn deeper_levels_are_reduced_from_the_inside_out() {
        let found = rows(&[
            (&[1, 1, 1], [1.0, 2.0]),
            (&[1, 1, 2], [4.0, 8.0]),
            (&[1, 2, 1], [8.0, 16.0]),
            (&[2, 1], [7.0, 7.0]),
        ]);
        assert!(near(&found, &[[4.0, 8.0], [7.0, 7.0]]), "{found:?}");
    }

    #[test]
    fn a_window_that_somebody_disturbed_moves_its_block_little() {
        let quiet = [[1.0, 1.1], [1.01, 1.1], [0.99, 1.1], [1.0, 1.11], [1.0, 1.09]];
        let of = |windows: &[[f64; 2]]| {
            let rows = windows.iter().zip(1..).map(|(row, number)| (vec![1, number], row.to_vec()));
            outermost(rows.collect()).remove(0)
        };
        let mut disturbed = quiet;
        disturbed[2] = [1.0, 3.0];
        let (quiet, disturbed) = (of(&quiet), of(&disturbed));
        assert!((disturbed[1] / disturbed[0] / (quiet[1] / quiet[0]) - 1.0).abs() < 0.01, "{quiet:?} {disturbed:?}");
    }

    #[test]
    fn a_figure_without_a_logarithm_is_still_there_to_be_refused() {
        assert_eq!(rows(&[(&[1, 1], [1.0, 2.0]), (&[1, 2], [1.0, 0.0])]), [[1.0, 0.0]]);
    }
}
