//! Runs comparisons of which the truth is known, and prints how often each method's intervals held it, and how often what was
//! there was found: the tables of the README beside this crate.
//!
//! `cargo run --release -p cqldyno-statistics --example simulate [RUNS] [TABLE]`, 1,000 runs a setting by default.

mod candidates;
mod world;

use candidates::{CANDIDATES, Intervals, chosen};
use cqldyno_statistics::{
    Comparison, Estimate, Group, LEAST_BLOCKS, LogRatio, Repeated, Verdict, combine, compare, normal_quantile,
    student_quantile,
};
use fastrand::Rng;
use world::{World, moved};

const SEED: u64 = 20_261_126;

/// Prints one of the tables, from so many runs a setting.
type Table = fn(usize);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let runs: usize = arguments.next().and_then(|runs| runs.parse().ok()).unwrap_or(1_000);
    let wanted = arguments.next();
    let error = normal_quantile(0.975) * (0.95 * 0.05 / runs as f64).sqrt();
    println!("{runs} runs a setting; a share of 95 % is within {:.1} % of the truth.", 100.0 * error);
    let tables: [(&str, Table); 6] = [
        ("methods", methods),
        ("effects", effects),
        ("sizes", sizes),
        ("stopping", stopping),
        ("found", found),
        ("runs", repeated),
    ];
    for (name, print) in tables.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| wanted == name)) {
        println!("\n## {name}\n");
        print(runs);
    }
}

/// How often all intervals held the truth, and the mean half width of those of the second contender in percent.
fn held(world: &World, runs: usize, intervals: impl Fn(&[Group]) -> Intervals) -> (f64, f64) {
    let mut random = Rng::with_seed(SEED);
    let (mut held, mut half) = (0, 0.0);
    for _ in 0..runs {
        let table = intervals(&world.run(&mut random));
        held += usize::from(holds(world, &table));
        half += table.iter().map(|group| (group[0][1] - group[0][0]) / 2.0).sum::<f64>() / table.len() as f64;
    }
    (held as f64 / runs as f64, 100.0 * half / runs as f64)
}

fn holds(world: &World, table: &Intervals) -> bool {
    table.iter().enumerate().all(|(scenario, group)| {
        let truths = world.truths(scenario);
        let mut pairs = group.iter().zip(&truths[1..]);
        pairs.all(|([low, high], truth)| *low <= truth.ln() + 5e-4 && truth.ln() <= high + 5e-4)
    })
}

fn cell((held, half): (f64, f64)) -> String {
    format!(" {} ± {half:.1} |", percent(held))
}

/// One row of a table: a share and a half width per world.
fn line(name: &str, worlds: impl IntoIterator<Item = World>, runs: usize) {
    let cells = worlds.into_iter().map(|world| cell(held(&world, runs, chosen)));
    println!("| {name} |{}", cells.collect::<String>());
}

/// The five machines of the tables: what processes differ by, and a machine twice as slow and as quick.
fn machines(world: &World) -> Vec<World> {
    let effects = [0.0, 0.02, 0.05, 0.07].map(|effect| World { effect, ..world.clone() });
    effects.into_iter().chain([World { weather: 0.4, ..world.clone() }]).collect()
}

fn methods(runs: usize) {
    println!("| method | effect 0 | 2 % | 5 % | 7 % | 2 %, bad hour |\n| --- | ---: | ---: | ---: | ---: | ---: |");
    for candidate in CANDIDATES {
        let intervals = |groups: &[Group]| {
            let of = |group: &Group| Group { rows: (candidate.rows)(group), ..group.clone() };
            chosen(&groups.iter().map(of).collect::<Vec<_>>())
        };
        let bursts = World { bursts: (0.25, 0.2), ..World::of(4) };
        let cells = machines(&bursts).into_iter().map(|world| cell(held(&world, runs, intervals)));
        println!("| {} |{}", candidate.name, cells.collect::<String>());
    }
}

fn effects(runs: usize) {
    println!("| contenders | effect 0 | 2 % | 5 % | 7 % | 2 %, bad hour |\n| --- | ---: | ---: | ---: | ---: | ---: |");
    for contenders in [2, 3, 4, 5, 7] {
        line(&contenders.to_string(), machines(&World::of(contenders)), runs);
    }
    for (name, who) in [("a driver", vec![1]), ("the reference", vec![0, 3])] {
        let mut loud = vec![1.0; 4];
        who.into_iter().for_each(|who| loud[who] = 2.0);
        line(&format!("4, {name} twice as noisy"), machines(&World { loud, ..World::of(4) }), runs);
    }
    line("4, a scenario twice as noisy", machines(&World { last_scenario: 2.0, ..World::of(4) }), runs);
}

fn sizes(runs: usize) {
    println!("| contenders, figures | 8 | 12 | 20 | 60 |\n| --- | ---: | ---: | ---: | ---: |");
    let long = |world: World| [8, 12, 20, 60].map(|generations| World { generations, ..world.clone() });
    for contenders in [2, 4, 7] {
        line(&format!("{contenders}, generations of 5 rounds"), long(World::of(contenders)), runs);
    }
    for rounds in [1, 2, 20] {
        let unit = if rounds == 1 { "round" } else { "rounds" };
        line(&format!("4, generations of {rounds} {unit}"), long(World { rounds, ..World::of(4) }), runs);
    }
    line("4, 30 % of rounds missing", long(World { missing: 0.3, ..World::of(4) }), runs);
}

/// A run that ends as soon as all half intervals are narrow enough, looked at after each generation from the eighth to the 100th.
fn stopping(runs: usize) {
    println!("| contenders | until | effect | held | mean generations |\n| --- | ---: | ---: | ---: | ---: |");
    for contenders in [2, 4] {
        for (effect, until) in [(0.02, 0.04), (0.02, 0.03), (0.05, 0.04)] {
            let world = World { effect, generations: 100, ..World::of(contenders) };
            let mut random = Rng::with_seed(SEED);
            let (mut held, mut generations) = (0, 0);
            for _ in 0..runs {
                let (table, at) = stopped(&world.run(&mut random), world.generations, until);
                held += usize::from(holds(&world, &table));
                generations += at;
            }
            let mean = f64::from(generations) / runs as f64;
            let (share, until, effect) = (percent(held as f64 / runs as f64), 100.0 * until, 100.0 * effect);
            println!("| {contenders} | {until:.1} % | {effect:.1} % | {share} | {mean:.1} |");
        }
    }
}

fn stopped(groups: &[Group], most: u32, until: f64) -> (Intervals, u32) {
    for generations in LEAST_BLOCKS as u32..=most {
        let so_far: Vec<Group> = groups
            .iter()
            .map(|group| {
                let rows = group.rows.range(..vec![generations + 1]);
                Group { rows: rows.map(|(at, row)| (at.clone(), row.clone())).collect(), ..group.clone() }
            })
            .collect();
        let found = compare(&so_far, &Comparison::default());
        if generations == most || found.iter().flatten().all(|fitted| fitted.half_width() <= until) {
            return (chosen(&so_far), generations);
        }
    }
    unreachable!("the last generation returns")
}

/// What is said of the second contender, which costs so much more: worse, same, inconclusive, better of 100.
fn found(runs: usize) {
    println!("| generations | half interval | difference | between drivers | within one driver |");
    println!("| ---: | ---: | ---: | ---: | ---: |");
    for generations in [30, 60, 120] {
        for difference in [0.0, 0.03, 0.05] {
            // It feels the machine as the reference does, so that the truth is what it costs.
            let mut world = World { generations, weather: 0.0, ..World::of(4) };
            world.costs[1] = 1.0 + difference;
            let mut random = Rng::with_seed(SEED);
            let (mut counts, mut half) = ([[0usize; 4]; 2], 0.0);
            for _ in 0..runs {
                let groups = world.run(&mut random);
                for (siblings, counts) in [vec![], vec![1]].into_iter().zip(&mut counts) {
                    let of = |group: &Group| Group { siblings: siblings.clone(), ..group.clone() };
                    for fitted in compare(&groups.iter().map(of).collect::<Vec<_>>(), &Comparison::default()) {
                        let Some(Estimate { verdict, interval, .. }) =
                            fitted.ok().and_then(|fitted| fitted.estimates[1])
                        else {
                            continue;
                        };
                        counts[match verdict {
                            Verdict::Worse => 0,
                            Verdict::Same => 1,
                            Verdict::Inconclusive => 2,
                            Verdict::Better => 3,
                        }] += 1;
                        half += (interval[1] / interval[0]).ln() / 4.0;
                    }
                }
            }
            let all = (runs * world.scenarios) as f64;
            let words = counts.map(|counts| counts.map(|count| percent(count as f64 / all)).join(" / "));
            println!(
                "| {generations} | {:.1} % | +{:.0} % | {} | {} |",
                100.0 * half / all,
                100.0 * difference,
                words[0],
                words[1]
            );
        }
    }
}

/// Several runs of one plan, each of which adds something of its own; one run is judged by its own intervals.
fn repeated(runs: usize) {
    println!(
        "| a run adds | scenarios | runs | 0 | 1 % | 2 % | 3 % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    );
    for (name, alike) in [("another in each", false), ("the same everywhere", true)] {
        for scenarios in [3, 6] {
            let world = World { scenarios, ..World::of(4) };
            let truths = world.truths(0);
            let mut random = Rng::with_seed(SEED);
            let all: Vec<_> = (0..runs).map(|_| world.repeated(5, &mut random)).collect();
            for several in [1, 2, 3, 5] {
                let mut line = format!("| {name} | {scenarios} | {several} |");
                for by in [0.0, 0.01, 0.02, 0.03] {
                    let (mut held, mut half) = (0, 0.0);
                    for one in &all {
                        let mut comparisons = moved(one, by, alike, &mut random);
                        comparisons.iter_mut().for_each(|one| one.runs.truncate(several));
                        let intervals = intervals(&comparisons);
                        let holds = |(one, [low, high]): (&Repeated, &[f64; 2])| {
                            let truth = truths[one.contender].ln();
                            *low <= truth + 5e-4 && truth <= high + 5e-4
                        };
                        held += usize::from(comparisons.iter().zip(&intervals).all(holds));
                        let second = comparisons.iter().zip(&intervals).filter(|(one, _)| one.contender == 1);
                        half += second.map(|(_, [low, high])| (high - low) / 2.0).sum::<f64>() / scenarios as f64;
                    }
                    let share = percent(held as f64 / runs as f64);
                    line.push_str(&format!(" {share} ± {:.1} |", 100.0 * half / runs as f64));
                }
                println!("{line}");
            }
        }
    }
}

/// The intervals of runs together, or those of one run by itself.
fn intervals(comparisons: &[Repeated]) -> Vec<[f64; 2]> {
    if let Some(found) = combine(comparisons, &Comparison::default()) {
        return found.estimates.iter().map(|one| one.interval.map(f64::ln)).collect();
    }
    let tail = 1.0 - 0.95_f64.powf(1.0 / comparisons.len() as f64);
    let of = |one: &Repeated| {
        let LogRatio { value, variance, freedom, .. } = one.runs[0];
        let wide = student_quantile(tail, freedom) * variance.sqrt();
        [value - wide, value + wide]
    };
    comparisons.iter().map(of).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}
