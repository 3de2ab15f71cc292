//! A machine of which the truth is known: what turns would be read off if contenders cost what they are said to cost.
//!
//! Its noise is that of real turns: a turn varies by a tenth and more, with a heavy right tail; turns that follow each other are slow
//! together; contenders feel a slow machine unequally; processes of one executable differ.

use std::collections::BTreeMap;

use cqldyno_statistics::{Comparison, Group, Repeated, Repetition, compare};
use fastrand::Rng;

/// How much of the machine's slowness the next turn has.
const LASTS: f64 = 0.8;
/// The share of turns with a cost of their own on top, and the mean of its logarithm.
const TAIL: (f64, f64) = (0.1, 0.25);
/// How the contenders feel a slow machine: as exponents, the reference's first.
const FEELS: [f64; 6] = [1.0, 0.8, 1.1, 0.6, 0.9, 1.05];

/// A run that is repeated again and again.
#[derive(Clone, Debug)]
pub struct World {
    /// What each contender costs on this machine's average day, the reference first and its control last; of two, the second is a
    /// driver and there is no control.
    pub costs: Vec<f64>,
    /// How noisy each contender is, as a factor on `noise` and `effect`.
    pub loud: Vec<f64>,
    /// The standard deviation of the logarithm of a turn, its tail apart.
    pub noise: f64,
    /// The same for a generation, per process and contender.
    pub effect: f64,
    /// The same for the machine, whose slowness all contenders of a round share in part.
    pub weather: f64,
    pub generations: u32,
    /// Rounds of a generation: 1 for blocks of single cells.
    pub rounds: u32,
    pub scenarios: usize,
    /// How many times noisier the last scenario is.
    pub last_scenario: f64,
    /// The share of rounds that do not count: on average, and of each generation another one.
    pub missing: f64,
    /// The share of its turns in which the second contender costs so much more: work of its own that comes in bursts.
    pub bursts: (f64, f64),
}

impl World {
    /// Thirty generations of five rounds of so many contenders, in three scenarios.
    pub fn of(contenders: usize) -> World {
        let drivers = [1.0, 1.05, 0.95, 1.1, 2.0, 1.0];
        let mut costs = drivers[..contenders.max(3) - 1].to_vec();
        if contenders > 2 {
            costs.push(1.0);
        }
        World {
            loud: vec![1.0; contenders],
            costs,
            noise: 0.12,
            effect: 0.02,
            weather: 0.2,
            generations: 30,
            rounds: 5,
            scenarios: 3,
            last_scenario: 1.0,
            missing: 0.0,
            bursts: (0.0, 0.0),
        }
    }

    /// What `costs` come to: the means of what the turns cost, over the reference's.
    pub fn truths(&self, scenario: usize) -> Vec<f64> {
        let again = self.again(scenario);
        let mean = |who: usize| {
            let squares = (self.feels(who) * self.weather).powi(2)
                + (again * self.loud[who]).powi(2) * (self.noise.powi(2) + self.effect.powi(2));
            let (share, more) = if who == 1 { self.bursts } else { (0.0, 0.0) };
            self.costs[who] * (squares / 2.0).exp() * (1.0 + share * more)
        };
        (0..self.costs.len()).map(|who| mean(who) / mean(0)).collect()
    }

    fn again(&self, scenario: usize) -> f64 {
        if scenario + 1 == self.scenarios { self.last_scenario } else { 1.0 }
    }

    /// A control feels what its reference does.
    fn feels(&self, who: usize) -> f64 {
        let is_control = self.costs.len() > 2 && who + 1 == self.costs.len();
        FEELS[if is_control { 0 } else { who }]
    }

    /// One run: a group per scenario. A generation has all rounds of one scenario, one after the other. Within a round the
    /// contenders take turns in shuffled order.
    pub fn run(&self, random: &mut Rng) -> Vec<Group> {
        let mut rows: Vec<BTreeMap<Repetition, Vec<f64>>> = vec![BTreeMap::new(); self.scenarios];
        for generation in 1..=self.generations {
            for (scenario, rows) in rows.iter_mut().enumerate() {
                let again = self.again(scenario);
                // Other scenarios and arrangements ran since the last generation of this one.
                let mut slowness = normal(random);
                let own: Vec<f64> = (0..self.costs.len())
                    .map(|who| self.costs[who].ln() + again * self.loud[who] * self.effect * normal(random))
                    .collect();
                let missing = 2.0 * self.missing * random.f64();
                let counts: Vec<bool> = (0..self.rounds).map(|_| random.f64() >= missing).collect();
                for round in 1..=self.rounds {
                    let mut order: Vec<usize> = (0..own.len()).collect();
                    random.shuffle(&mut order);
                    let mut row = vec![0.0; own.len()];
                    for who in order {
                        slowness = LASTS * slowness + (1.0 - LASTS * LASTS).sqrt() * normal(random);
                        let tail = if random.f64() < TAIL.0 { -TAIL.1 * (1.0 - random.f64()).ln() } else { 0.0 };
                        let noise = again * self.loud[who] * self.noise * normal(random);
                        let is_burst = who == 1 && random.f64() < self.bursts.0;
                        let more = if is_burst { 1.0 + self.bursts.1 } else { 1.0 };
                        row[who] = more * (own[who] + self.feels(who) * self.weather * slowness + noise + tail).exp();
                    }
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
            band: None,
            runs: all.iter().map(|run| run[nth].2).collect(),
        };
        all[0].iter().enumerate().map(of).collect()
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

/// A standard normal variable (G. E. P. Box and M. E. Muller, Annals of Mathematical Statistics 29, 1958).
pub fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * random.f64()).cos()
}
