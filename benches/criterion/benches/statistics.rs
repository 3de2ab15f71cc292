//! What a run's statistics cost: 10,000 cells as 25 scenarios of 20 blocks and 20 contenders.

use std::hint::black_box;

use cqldyno_statistics::{Comparison, Group, compare};
use criterion::{Criterion, criterion_group, criterion_main};

const SCENARIOS: usize = 25;
const BLOCKS: u32 = 20;
const CONTENDERS: usize = 20;

fn cells() -> Vec<Group> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut block = || (0..CONTENDERS).map(|_| 2.0 + random.f64() / 10.0).collect();
    (0..SCENARIOS)
        .map(|_| {
            let rows = (1..=BLOCKS).map(|number| (vec![number], block())).collect();
            Group { rows, controls: vec![1], ..Group::default() }
        })
        .collect()
}

fn statistics(criterion: &mut Criterion) {
    let groups = cells();
    criterion.bench_function("statistics over 10,000 cells", |bencher| {
        bencher.iter(|| compare(black_box(&groups), &Comparison::default()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default();
    targets = statistics
}
criterion_main!(benches);
