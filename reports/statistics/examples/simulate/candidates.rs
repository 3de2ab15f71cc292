//! The methods that the one of this crate was chosen from, each with the literature it is from. All but the last look at the
//! logarithms of ratios to the reference within blocks, each ratio by itself.

use cqldyno_statistics::{Comparison, Group, compare, normal_quantile, student_quantile};
use fastrand::Rng;

/// Samples of a bootstrap.
const SAMPLES: usize = 999;
const CONFIDENCE: f64 = 0.95;

/// One interval a group and column beside the reference, on the log scale.
pub type Intervals = Vec<Vec<[f64; 2]>>;

pub struct Candidate {
    pub name: &'static str,
    pub source: &'static str,
    pub intervals: fn(&[Group], &mut Rng) -> Intervals,
    /// Whether it takes so long that it is run less often.
    pub slow: bool,
}

pub const CANDIDATES: &[Candidate] = &[
    Candidate {
        name: "percentile bootstrap of the mean",
        source: "Efron 1979",
        intervals: |groups, random| percentile(groups, random, mean),
        slow: true,
    },
    Candidate {
        name: "percentile bootstrap of the median",
        source: "Efron 1979",
        intervals: |groups, random| percentile(groups, random, |values| median(values.to_vec())),
        slow: true,
    },
    Candidate {
        name: "mean, Student's t",
        source: "Student 1908",
        intervals: |groups, _| by(groups, student),
        slow: false,
    },
    Candidate {
        name: "mean, studentised bootstrap of the greatest t",
        source: "Westfall and Young 1993",
        intervals: greatest_t,
        slow: true,
    },
    Candidate {
        name: "mean of the middle 60 %, t",
        source: "Tukey and McLaughlin 1963",
        intervals: |groups, _| by(groups, trimmed),
        slow: false,
    },
    Candidate {
        name: "Hodges-Lehmann, signed ranks",
        source: "Hodges and Lehmann 1963",
        intervals: |groups, _| by(groups, signed_ranks),
        slow: false,
    },
    Candidate {
        name: "biweight of the ratios, t",
        source: "Mosteller and Tukey 1977",
        intervals: |groups, _| by(groups, biweight),
        slow: false,
    },
    Candidate {
        name: "robust two-way fit, t, the reference once",
        source: "this crate",
        intervals: |groups, _| {
            let alone = |group: &Group| Group { controls: Vec::new(), ..group.clone() };
            chosen(&groups.iter().map(alone).collect::<Vec<_>>())
        },
        slow: false,
    },
    Candidate {
        name: "robust two-way fit, t, the reference twice",
        source: "this crate, as used",
        intervals: |groups, _| chosen(groups),
        slow: false,
    },
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

/// The probability with which one interval of the table may miss.
fn tail(groups: &[Group]) -> f64 {
    let comparisons: usize = groups.iter().map(|group| group.blocks[0].len() - 1).sum();
    1.0 - CONFIDENCE.powf(1.0 / comparisons as f64)
}

/// The log ratios of each column but the first, a row a column.
fn ratios(group: &Group) -> Vec<Vec<f64>> {
    (1..group.blocks[0].len())
        .map(|column| {
            let of = |block: &Vec<f64>| block[column].ln() - block[0].ln();
            group.blocks.iter().map(of).collect()
        })
        .collect()
}

fn by(groups: &[Group], interval: fn(&[f64], f64) -> [f64; 2]) -> Intervals {
    let tail = tail(groups);
    groups.iter().map(|group| ratios(group).iter().map(|values| interval(values, tail)).collect()).collect()
}

fn student(values: &[f64], tail: f64) -> [f64; 2] {
    let wide = student_quantile(tail, values.len() as f64 - 1.0) * standard_error(values);
    [mean(values) - wide, mean(values) + wide]
}

fn trimmed(values: &[f64], tail: f64) -> [f64; 2] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let cut = n / 5;
    let kept = (n - 2 * cut) as f64;
    let centre = mean(&sorted[cut..n - cut]);
    let winsorised: Vec<f64> = sorted.iter().map(|value| value.clamp(sorted[cut], sorted[n - 1 - cut])).collect();
    let squares = standard_error(&winsorised).powi(2) * (n * (n - 1)) as f64;
    let wide = student_quantile(tail, kept - 1.0) * (squares / (kept * (kept - 1.0))).sqrt();
    [centre - wide, centre + wide]
}

/// The interval between two of the ordered means of pairs, by the exact distribution of the signed-rank statistic.
fn signed_ranks(values: &[f64], tail: f64) -> [f64; 2] {
    let n = values.len();
    let mut means: Vec<f64> =
        (0..n).flat_map(|one| (one..n).map(move |other| (values[one] + values[other]) / 2.0)).collect();
    means.sort_by(f64::total_cmp);
    let mut ways = vec![0.0; n * (n + 1) / 2 + 1];
    ways[0] = 1.0;
    for rank in 1..=n {
        for sum in (rank..ways.len()).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let all = 2f64.powi(n as i32);
    let mut below = 0.0;
    let mut skip = 0;
    while (below + ways[skip]) / all <= tail / 2.0 {
        below += ways[skip];
        skip += 1;
    }
    match skip {
        // So few blocks cannot be as sure as that.
        0 => [f64::NEG_INFINITY, f64::INFINITY],
        _ => [means[skip - 1], means[means.len() - skip]],
    }
}

fn biweight(values: &[f64], tail: f64) -> [f64; 2] {
    let n = values.len() as f64;
    let mut centre = median(values.to_vec());
    let deviation = median(values.iter().map(|value| (value - centre).abs()).collect());
    let cut = 9.0 * deviation;
    let weight = |value: f64, centre: f64| (1.0 - ((value - centre) / cut).powi(2)).max(0.0).powi(2);
    for _ in 0..20 {
        let weights: f64 = values.iter().map(|value| weight(*value, centre)).sum();
        centre = values.iter().map(|value| weight(*value, centre) * value).sum::<f64>() / weights;
    }
    let inside = values.iter().map(|value| value - centre).filter(|off| off.abs() < cut);
    let (mut squares, mut slope) = (0.0, 0.0);
    for off in inside {
        let u = (off / cut).powi(2);
        squares += (off * (1.0 - u).powi(2)).powi(2);
        slope += (1.0 - u) * (1.0 - 5.0 * u);
    }
    let error = (n * squares).sqrt() / slope.abs() / (n - 1.0).sqrt();
    let wide = student_quantile(tail, 0.7 * (n - 1.0)) * error;
    [centre - wide, centre + wide]
}

fn percentile(groups: &[Group], random: &mut Rng, location: fn(&[f64]) -> f64) -> Intervals {
    let tail = tail(groups);
    let of = |values: &Vec<f64>, random: &mut Rng| {
        let mut found: Vec<f64> = (0..SAMPLES)
            .map(|_| location(&values.iter().map(|_| values[random.usize(..values.len())]).collect::<Vec<_>>()))
            .collect();
        found.sort_by(f64::total_cmp);
        let out = ((SAMPLES + 1) as f64 * tail / 2.0).max(1.0) as usize;
        [found[out - 1], found[SAMPLES - out]]
    };
    groups.iter().map(|group| ratios(group).iter().map(|values| of(values, random)).collect()).collect()
}

/// Blocks are drawn whole, so that what contenders have in common stays in common.
fn greatest_t(groups: &[Group], random: &mut Rng) -> Intervals {
    let table: Vec<Vec<Vec<f64>>> = groups.iter().map(ratios).collect();
    let mut greatest: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let mut most: f64 = 0.0;
            for columns in &table {
                let blocks = columns[0].len();
                let drawn: Vec<usize> = (0..blocks).map(|_| random.usize(..blocks)).collect();
                for values in columns {
                    let sample: Vec<f64> = drawn.iter().map(|block| values[*block]).collect();
                    most = most.max(((mean(&sample) - mean(values)) / standard_error(&sample)).abs());
                }
            }
            most
        })
        .collect();
    greatest.sort_by(f64::total_cmp);
    let wide = greatest[(CONFIDENCE * (SAMPLES + 1) as f64) as usize - 1];
    let of = |values: &Vec<f64>| {
        let (centre, error) = (mean(values), standard_error(values));
        [centre - wide * error, centre + wide * error]
    };
    table.iter().map(|columns| columns.iter().map(of).collect()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> f64 {
    let (centre, n) = (mean(values), values.len() as f64);
    (values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// How far a share that was found in `runs` runs may be from the truth, with 95 %.
pub fn uncertainty(share: f64, runs: usize) -> f64 {
    normal_quantile(0.975) * (share * (1.0 - share) / runs as f64).sqrt()
}
