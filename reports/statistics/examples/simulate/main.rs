//! Runs tables of which the truth is known, and prints how often each method's intervals held it, and how often what was there
//! was found: the tables of the README beside this crate.
//!
//! `cargo run --release -p cqldyno-statistics --example simulate [RUNS]`, 4,000 runs a setting by default.

mod candidates;
mod world;

use candidates::{CANDIDATES, Candidate, Intervals, chosen, uncertainty};
use cqldyno_statistics::Verdict;
use fastrand::Rng;
use world::World;

const SEED: u64 = 20_261_120;
const BAND: f64 = 0.02;
const SCENARIOS: usize = 3;
/// The default table: three drivers and the control.
const COSTS: &[f64] = &[1.0, 1.05, 0.95, 1.0];

fn main() {
    let runs = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(4_000);
    println!(
        "{runs} runs a setting, a quarter of that for the bootstraps; a share of 95 % is within {:.1} % of the truth.\n",
        100.0 * uncertainty(0.95, runs)
    );
    methods(runs);
    grid(runs);
    chances(runs);
}

fn world(costs: &[f64], noise: f64, blocks: usize, contaminated: f64) -> World {
    World { costs: costs.to_vec(), noise: vec![noise; costs.len()], blocks, scenarios: SCENARIOS, contaminated }
}

/// How often all intervals of a table held the truth, and how often those of the second and third contender lay wholly beyond
/// the band.
fn held(
    world: &World,
    runs: usize,
    intervals: impl Fn(&[cqldyno_statistics::Group], &mut Rng) -> Intervals,
) -> [f64; 3] {
    let mut random = Rng::with_seed(SEED);
    let mut held = 0;
    let mut found = [0, 0];
    for _ in 0..runs {
        let table = intervals(&world.run(&mut random), &mut random);
        let truths = || world.costs[1..].iter().map(|cost| cost.ln());
        let holds = |[low, high]: &[f64; 2], truth: f64| *low <= truth + 1e-12 && truth <= *high + 1e-12;
        held += usize::from(table.iter().all(|group| group.iter().zip(truths()).all(|(one, truth)| holds(one, truth))));
        for group in &table {
            found[0] += usize::from(group[0][0] > (1.0 + BAND).ln());
            found[1] += usize::from(group.get(1).is_some_and(|one| one[1] < (1.0 - BAND).ln()));
        }
    }
    let of = |some: usize, all: usize| some as f64 / all as f64;
    [of(held, runs), of(found[0], runs * world.scenarios), of(found[1], runs * world.scenarios)]
}

fn methods(runs: usize) {
    println!("## Methods\n");
    println!("| method | from | 12 blocks, 1 % | 2 % | 5 % | 20 blocks, 1 % | 2 % | 5 % | +5 % found | -5 % found |");
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for Candidate { name, source, intervals, slow } in CANDIDATES {
        let runs = if *slow { runs / 4 } else { runs };
        let mut line = format!("| {name} | {source} |");
        let mut found = [0.0; 2];
        for blocks in [12, 20] {
            for noise in [0.01, 0.02, 0.05] {
                let [held, slower, faster] = held(&world(COSTS, noise, blocks, 0.1), runs, intervals);
                line.push_str(&format!(" {} |", percent(held)));
                if blocks == 20 && noise == 0.02 {
                    found = [slower, faster];
                }
            }
        }
        println!("{line} {} | {} |", percent(found[0]), percent(found[1]));
    }
    println!();
}

fn grid(runs: usize) {
    println!("## Coverage\n");
    println!(
        "| contenders | noise | slowed cells | 8 blocks | 12 | 16 | 20 | 30 | +5 % found in 20 | -5 % found in 20 |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let tables: [(&str, &[f64]); 5] = [
        ("2", &[1.0, 1.05]),
        ("3", &[1.0, 1.05, 1.0]),
        ("4", COSTS),
        ("5", &[1.0, 1.05, 0.95, 1.1, 1.0]),
        ("7", &[1.0, 1.05, 0.95, 1.1, 2.0, 1.0, 1.0]),
    ];
    for (name, costs) in tables {
        for contaminated in [0.0, 0.1] {
            for noise in [0.01, 0.02, 0.05] {
                line(name, &format!("{:.0} %", noise * 100.0), &world(costs, noise, 0, contaminated), runs);
            }
        }
    }
    for (what, of) in
        [("2 %, one at 4 %", [0.02, 0.02, 0.04, 0.02]), ("2 %, reference at 4 %", [0.04, 0.02, 0.02, 0.04])]
    {
        for contaminated in [0.0, 0.1] {
            line("4", what, &World { noise: of.to_vec(), ..world(COSTS, 0.02, 0, contaminated) }, runs);
        }
    }
    println!();
}

fn line(contenders: &str, noise: &str, world: &World, runs: usize) {
    let mut line = format!("| {contenders} | {noise} | {:.0} % |", world.contaminated * 100.0);
    let mut found = [0.0; 2];
    for blocks in [8, 12, 16, 20, 30] {
        let [held, slower, faster] = held(&World { blocks, ..world.clone() }, runs, |groups, _| chosen(groups));
        line.push_str(&format!(" {} |", percent(held)));
        if blocks == 20 {
            found = [slower, faster];
        }
    }
    let faster = if world.costs.get(2).is_some_and(|cost| *cost < 1.0) { percent(found[1]) } else { "-".to_owned() };
    println!("{line} {} | {faster} |", percent(found[0]));
}

fn chances(runs: usize) {
    println!("## Verdicts\n");
    println!("| blocks | noise | +0 % | +2 % | +3 % | +5 % | +10 % |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for blocks in [8, 12, 20, 30] {
        for noise in [0.01, 0.02, 0.05] {
            let mut line = format!("| {blocks} | {:.0} % |", noise * 100.0);
            for difference in [0.0, 0.02, 0.03, 0.05, 0.1] {
                let costs = [1.0, 1.0 + difference, 1.0, 1.0];
                let [slower, same, none, faster] = verdicts(&world(&costs, noise, blocks, 0.1), runs);
                let wrong = if faster >= 0.0005 { format!(" (faster {})", percent(faster)) } else { String::new() };
                line.push_str(&format!(" {} / {} / {}{wrong} |", percent(slower), percent(same), percent(none)));
            }
            println!("{line}");
        }
    }
}

/// How often the second contender was called slower, same, inconclusive and faster.
fn verdicts(world: &World, runs: usize) -> [f64; 4] {
    let mut random = Rng::with_seed(SEED);
    let mut counts = [0usize; 4];
    for _ in 0..runs {
        for group in chosen(&world.run(&mut random)) {
            let place = match Verdict::of(group[0].map(f64::exp), BAND, true) {
                Verdict::Worse => 0,
                Verdict::Same => 1,
                Verdict::Inconclusive => 2,
                Verdict::Better => 3,
            };
            counts[place] += 1;
        }
    }
    counts.map(|count| count as f64 / (runs * world.scenarios) as f64)
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}
