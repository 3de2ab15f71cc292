//! Methods beside the one of this crate, each with the literature it is from.

use std::collections::BTreeMap;

use cqldyno_statistics::{Comparison, Group, compare, student_quantile};
use fastrand::Rng;

/// Samples of a bootstrap.
const SAMPLES: usize = 999;
const CONFIDENCE: f64 = 0.95;

/// One interval per group and column beside the reference, on the log scale.
pub type Intervals = Vec<Vec<[f64; 2]>>;

pub struct Candidate {
    pub name: &'static str,
    pub intervals: fn(&[Group], &mut Rng) -> Intervals,
}

pub const CANDIDATES: &[Candidate] = &[
    Candidate { name: "all rounds as if each were a generation", intervals: |groups, _| chosen(&flat(groups)) },
    Candidate {
        name: "mean per generation, t of each ratio (Kalibera and Jones 2013)",
        intervals: |groups, _| means(groups),
    },
    Candidate { name: "bootstrap of generations and rounds (Ren and others 2010)", intervals: bootstrap },
    Candidate { name: "**robust fit of both levels (in use)**", intervals: |groups, _| chosen(groups) },
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

fn flat(groups: &[Group]) -> Vec<Group> {
    let of = |group: &Group| {
        let rows = group.rows.values().zip(1..).map(|(row, number)| (vec![number], row.clone()));
        Group { rows: rows.collect(), ..group.clone() }
    };
    groups.iter().map(of).collect()
}

/// The log ratios of each column but the first: of each column and generation, those of its rounds.
fn ratios(group: &Group) -> Vec<Vec<Vec<f64>>> {
    let columns = group.rows.values().next().map_or(0, Vec::len);
    let of = |column: usize| {
        let mut generations: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (at, row) in &group.rows {
            generations.entry(at[0]).or_default().push((row[column] / row[0]).ln());
        }
        generations.into_values().collect()
    };
    (1..columns).map(of).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The probability with which one interval of the table may miss.
fn tail(table: &[Vec<Vec<Vec<f64>>>]) -> f64 {
    1.0 - CONFIDENCE.powf(1.0 / table.iter().map(Vec::len).sum::<usize>() as f64)
}

fn means(groups: &[Group]) -> Intervals {
    let table: Vec<_> = groups.iter().map(ratios).collect();
    let tail = tail(&table);
    let of = |generations: &Vec<Vec<f64>>| {
        let values: Vec<f64> = generations.iter().map(|rounds| mean(rounds)).collect();
        let (centre, n) = (mean(&values), values.len() as f64);
        let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (n - 1.0);
        let wide = student_quantile(tail, n - 1.0) * (variance / n).sqrt();
        [centre - wide, centre + wide]
    };
    table.iter().map(|columns| columns.iter().map(of).collect()).collect()
}

/// The percentiles of means whose generations were drawn, and of each its rounds.
fn bootstrap(groups: &[Group], random: &mut Rng) -> Intervals {
    let table: Vec<_> = groups.iter().map(ratios).collect();
    let out = ((SAMPLES + 1) as f64 * tail(&table) / 2.0).max(1.0) as usize;
    let mut of = |generations: &Vec<Vec<f64>>| {
        let mut draw = || {
            let drawn = generations.iter().map(|_| {
                let rounds = &generations[random.usize(..generations.len())];
                rounds.iter().map(|_| rounds[random.usize(..rounds.len())]).sum::<f64>() / rounds.len() as f64
            });
            drawn.sum::<f64>() / generations.len() as f64
        };
        let mut found: Vec<f64> = (0..SAMPLES).map(|_| draw()).collect();
        found.sort_by(f64::total_cmp);
        [found[out - 1], found[SAMPLES - out]]
    };
    table.iter().map(|columns| columns.iter().map(&mut of).collect()).collect()
}
