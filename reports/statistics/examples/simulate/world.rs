//! A machine of which the truth is known: what turns would be read off if contenders cost what they are said to cost.

use std::collections::BTreeMap;

use cqldyno_statistics::{Comparison, Group, Repeated, Repetition, compare};
use fastrand::Rng;

/// The least and the greatest factor by which a neighbour slows single turns down.
const SLOWED: (f64, f64) = (1.1, 1.5);
/// The least and the greatest factor of a burst, and its seconds.
const BURST: (f64, f64) = (1.1, 2.8);
const BURST_SECONDS: (f64, f64) = (1.0, 30.0);
/// How unequally contenders feel bursts: the standard deviation of the logarithm of what they feel, in all bursts and in each.
const UNEQUAL: (f64, f64) = (0.2, 0.1);
/// The seconds that processes need before their first turn, and those of a turn that costs 1.
const START: f64 = 1.0;
const TURN: f64 = 0.25;

/// A run that is repeated again and again.
#[derive(Clone, Debug)]
pub struct World {
    /// What each contender costs, the reference first and its control last; of two, the second is a driver and there is
    /// no control.
    pub costs: Vec<f64>,
    /// How noisy each contender is, as a factor on `noise` and `effect`.
    pub loud: Vec<f64>,
    /// The standard deviation of a turn, as a share.
    pub noise: f64,
    /// The standard deviation of a generation, per process and contender.
    pub effect: f64,
    pub generations: u32,
    /// Rounds of a generation: 1 for blocks of single cells.
    pub rounds: u32,
    pub scenarios: usize,
    /// How many times noisier the last scenario is.
    pub last_scenario: f64,
    /// The share of turns that a neighbour on the machine slows down, each by itself.
    pub slowed: f64,
    /// The seconds between two bursts; infinite for none.
    pub quiet: f64,
    /// The share of rounds that do not count: on average, and of each generation another one.
    pub missing: f64,
    /// How much the machine's speed moves from round to round: the standard deviation of its steps.
    pub drift: f64,
}

/// Seconds since the start, and the burst that is under way or comes next.
struct Machine {
    now: f64,
    start: f64,
    end: f64,
    /// The logarithm of its factor, for each contender.
    felt: Vec<f64>,
}

impl World {
    /// Ten generations of ten rounds of four contenders, in three scenarios.
    pub fn of(contenders: usize) -> World {
        let drivers = [1.0, 1.05, 0.95, 1.1, 2.0, 1.0];
        let mut costs = drivers[..contenders.max(3) - 1].to_vec();
        if contenders > 2 {
            costs.push(1.0);
        }
        World {
            loud: vec![1.0; contenders],
            costs,
            noise: 0.03,
            effect: 0.02,
            generations: 10,
            rounds: 10,
            scenarios: 3,
            last_scenario: 1.0,
            slowed: 0.05,
            quiet: f64::INFINITY,
            missing: 0.0,
            drift: 0.005,
        }
    }

    /// Blocks of single cells, each of a fresh process: 12, and a tenth of the cells slowed down.
    pub fn blocks(contenders: usize) -> World {
        let cells = World { noise: 0.02, effect: 0.0, generations: 12, rounds: 1, ..World::of(contenders) };
        World { slowed: 0.1, drift: 0.01, ..cells }
    }

    /// One run: a group per scenario. A generation has all rounds of one scenario, one after the other. Within a round the
    /// contenders take turns in shuffled order. The machine's speed moves in a line from this round's level to the next one's.
    pub fn run(&self, random: &mut Rng) -> Vec<Group> {
        let feels: Vec<f64> = self.unequal(&vec![1.0; self.costs.len()], UNEQUAL.0, random);
        let mut machine = Machine { now: 0.0, start: f64::INFINITY, end: f64::INFINITY, felt: feels.clone() };
        self.next_burst(&mut machine, &feels, random);
        let mut level = 0.0;
        let mut rows: Vec<BTreeMap<Repetition, Vec<f64>>> = vec![BTreeMap::new(); self.scenarios];
        for generation in 1..=self.generations {
            for (scenario, rows) in rows.iter_mut().enumerate() {
                let loud = if scenario + 1 == self.scenarios { self.last_scenario } else { 1.0 };
                let mut of = |noise: f64, who: usize| loud * noise * self.loud[who] * normal(random);
                let own: Vec<f64> =
                    (0..self.costs.len()).map(|who| self.costs[who].ln() + of(self.effect, who)).collect();
                machine.now += START;
                let missing = 2.0 * self.missing * random.f64();
                let counts: Vec<bool> = (0..self.rounds).map(|_| random.f64() >= missing).collect();
                for round in 1..=self.rounds {
                    let step = self.drift * normal(random);
                    let mut order: Vec<usize> = (0..own.len()).collect();
                    random.shuffle(&mut order);
                    let mut row = vec![0.0; own.len()];
                    for (place, who) in order.into_iter().enumerate() {
                        let drift = level + step * place as f64 / own.len() as f64;
                        let slowed = if random.f64() < self.slowed { between(SLOWED, random) } else { 1.0 };
                        let log = own[who] + drift + loud * self.noise * self.loud[who] * normal(random);
                        row[who] = self.turn(&mut machine, TURN * log.exp() * slowed, who, &feels, random);
                    }
                    level += step;
                    // A generation has a round at least.
                    if counts[round as usize - 1] || (round == 1 && !counts.contains(&true)) {
                        rows.insert(vec![generation, round], row);
                    }
                }
            }
        }
        let controls = if self.costs.len() > 2 { vec![self.costs.len() - 1] } else { Vec::new() };
        rows.into_iter().map(|rows| Group { rows, controls: controls.clone(), ..Group::default() }).collect()
    }

    /// Several runs of which none adds anything of its own: every comparison in all of them, in the order of the scenarios.
    pub fn repeated(&self, runs: usize, random: &mut Rng) -> Vec<Repeated> {
        let of_run = |_| {
            let fitted = compare(&self.run(random), &Comparison::default()).into_iter();
            let logs = fitted.zip(0..).flat_map(|(fitted, place)| {
                let logs = fitted.map_or(Vec::new(), |fitted| fitted.logs).into_iter().enumerate();
                logs.filter_map(move |(contender, log)| Some((place, contender, log?)))
            });
            logs.collect::<Vec<_>>()
        };
        let all: Vec<Vec<_>> = (0..runs).map(of_run).collect();
        let of = |(nth, (place, contender, _)): (usize, &(usize, usize, _))| Repeated {
            place: *place,
            contender: *contender,
            is_control: self.costs.len() > 2 && contender + 1 == self.costs.len(),
            is_sibling: false,
            runs: all.iter().map(|run| run[nth].2).collect(),
        };
        all[0].iter().enumerate().map(of).collect()
    }

    /// The seconds of a turn that takes so many on the quiet machine.
    fn turn(&self, machine: &mut Machine, mut left: f64, who: usize, feels: &[f64], random: &mut Rng) -> f64 {
        let start = machine.now;
        while left > 1e-12 {
            if machine.now >= machine.end {
                self.next_burst(machine, feels, random);
            }
            let (until, factor) = match machine.now < machine.start {
                true => (machine.start, 1.0),
                false => (machine.end, machine.felt[who].exp()),
            };
            let spent = (left * factor).min(until - machine.now);
            left -= spent / factor;
            machine.now += spent;
        }
        machine.now - start
    }

    fn next_burst(&self, machine: &mut Machine, feels: &[f64], random: &mut Rng) {
        if self.quiet.is_finite() {
            machine.start = machine.now - self.quiet * (1.0 - random.f64()).ln();
            let log = |(least, most): (f64, f64)| (f64::ln(least), f64::ln(most));
            machine.end = machine.start + between(log(BURST_SECONDS), random).exp();
            let strength = between(log(BURST), random);
            let feels = self.unequal(feels, UNEQUAL.1, random);
            machine.felt = feels.into_iter().map(|feels| strength * feels).collect();
        }
    }

    /// `feels`, each moved by another factor, but the control's as the reference's.
    fn unequal(&self, feels: &[f64], by: f64, random: &mut Rng) -> Vec<f64> {
        let mut feels: Vec<f64> = feels.iter().map(|feels| feels * (by * normal(random)).exp()).collect();
        if let (true, Some(last)) = (self.costs.len() > 2, feels.len().checked_sub(1)) {
            feels[last] = feels[0];
        }
        feels
    }
}

/// What each run adds of its own to what a contender costs: a standard deviation `by`, `alike` in all scenarios or another in each.
pub fn moved(comparisons: &[Repeated], by: f64, alike: bool, random: &mut Rng) -> Vec<Repeated> {
    let mut added: BTreeMap<(usize, usize, usize), f64> = BTreeMap::new();
    let mut of = |run: usize, place: usize, contender: usize| {
        let place = if alike { 0 } else { place };
        *added.entry((run, place, contender)).or_insert_with(|| by * normal(random))
    };
    let mut all = comparisons.to_vec();
    // A control is the reference's program, so it has what that has.
    for one in all.iter_mut().filter(|one| !one.is_control) {
        for (nth, run) in one.runs.iter_mut().enumerate() {
            run.value += of(nth, one.place, one.contender) - of(nth, one.place, 0);
        }
    }
    all
}

fn between((least, most): (f64, f64), random: &mut Rng) -> f64 {
    least + (most - least) * random.f64()
}

/// A standard normal variable (G. E. P. Box and M. E. Muller, Annals of Mathematical Statistics 29, 1958).
pub fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * random.f64()).cos()
}
