//! A machine of which the truth is known: what cells would be read off if contenders cost what they are said to cost.

use cqldyno_statistics::Group;
use fastrand::Rng;

/// How much the machine's speed moves from block to block: the standard deviation of its steps.
const DRIFT: f64 = 0.01;
/// The least and the greatest part by which a neighbour slows a cell down.
const SLOWED: (f64, f64) = (0.1, 0.5);

/// A table that is run again and again.
#[derive(Clone, Debug)]
pub struct World {
    /// What each contender costs, the reference first and its control last; of two, the second is a driver and there is
    /// no control.
    pub costs: Vec<f64>,
    /// The standard deviation of each contender's cells, as a share.
    pub noise: Vec<f64>,
    pub blocks: usize,
    pub scenarios: usize,
    /// The share of cells that a neighbour on the machine slows down.
    pub contaminated: f64,
}

impl World {
    /// One run: a group a scenario. Within a block the contenders run in shuffled order while the machine's speed moves in a line
    /// from the block's level to the next one's.
    pub fn run(&self, random: &mut Rng) -> Vec<Group> {
        (0..self.scenarios).map(|_| self.scenario(random)).collect()
    }

    fn scenario(&self, random: &mut Rng) -> Group {
        let contenders = self.costs.len();
        let mut level = 0.0;
        let blocks = (0..self.blocks)
            .map(|_| {
                let step = DRIFT * normal(random);
                let mut order: Vec<usize> = (0..contenders).collect();
                random.shuffle(&mut order);
                let mut block = vec![0.0; contenders];
                for (place, contender) in order.into_iter().enumerate() {
                    let drift = level + step * place as f64 / contenders as f64;
                    let noise = self.noise[contender] * normal(random);
                    let slowed = if random.f64() < self.contaminated {
                        1.0 + SLOWED.0 + (SLOWED.1 - SLOWED.0) * random.f64()
                    } else {
                        1.0
                    };
                    block[contender] = self.costs[contender] * (drift + noise).exp() * slowed;
                }
                level += step;
                block
            })
            .collect();
        let controls = if contenders > 2 { vec![contenders - 1] } else { Vec::new() };
        Group { blocks, reference: 0, controls }
    }
}

/// A standard normal variable (G. E. P. Box and M. E. Muller, Annals of Mathematical Statistics 29, 1958).
pub fn normal(random: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (2.0 * std::f64::consts::PI * random.f64()).cos()
}
