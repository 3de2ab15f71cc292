//! Methods beside the one of this crate.

use std::collections::BTreeMap;

use cqldyno_statistics::{Comparison, Group, compare};

/// One interval per group and column beside the reference, on the log scale.
pub type Intervals = Vec<Vec<[f64; 2]>>;

pub struct Candidate {
    pub name: &'static str,
    /// What it makes of the rows before this crate's intervals are taken.
    pub rows: fn(&Group) -> BTreeMap<Vec<u32>, Vec<f64>>,
}

pub const CANDIDATES: &[Candidate] = &[
    Candidate {
        name: "all rounds as if each were a generation",
        rows: |group| group.rows.values().zip(1..).map(|(row, number)| (vec![number], row.clone())).collect(),
    },
    Candidate { name: "the cheapest turn of each generation", rows: |group| of_generations(group, |turns| turns[0]) },
    Candidate {
        name: "the median turn of each generation",
        rows: |group| of_generations(group, |turns| turns[turns.len() / 2]),
    },
    Candidate { name: "**means of generations (in use)**", rows: |group| group.rows.clone() },
];

/// The method of this crate, its intervals as they are printed.
pub fn chosen(groups: &[Group]) -> Intervals {
    compare(groups, &Comparison::default())
        .into_iter()
        .map(|estimates| {
            let estimates = estimates.map_or(Vec::new(), |fitted| fitted.estimates);
            estimates.into_iter().flatten().map(|one| one.interval.map(f64::ln)).collect()
        })
        .collect()
}

/// One row per generation: of each contender what `choose` takes from its sorted turns.
fn of_generations(group: &Group, choose: fn(&[f64]) -> f64) -> BTreeMap<Vec<u32>, Vec<f64>> {
    let mut generations: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
    for (at, row) in &group.rows {
        let turns = generations.entry(at[0]).or_insert_with(|| vec![Vec::new(); row.len()]);
        turns.iter_mut().zip(row).for_each(|(turns, figure)| turns.push(*figure));
    }
    let of = |turns: &mut Vec<f64>| {
        turns.sort_by(f64::total_cmp);
        choose(turns)
    };
    generations.into_iter().map(|(at, mut turns)| (vec![at], turns.iter_mut().map(of).collect())).collect()
}
