//! What the rounds of a generation have of their cores: a calibration loop around each, and what others use meanwhile.

use cqldyno_meter::{Had, Others, speeds};
use cqldyno_reports::{CoreLoop, RoundCores};

/// Watches the cores from round to round.
pub(super) struct Watch {
    cores: Vec<usize>,
    /// The processes of the generation.
    ours: Vec<i32>,
    /// The loop before the round: that after the one before it.
    before: Result<Vec<f64>, String>,
    others: Result<Others, String>,
}

impl Watch {
    /// Before the first round.
    pub(super) fn begin(cores: Vec<usize>, ours: Vec<i32>) -> Watch {
        let before = speeds(&cores);
        Watch { others: Others::watch(&cores, &ours), cores, ours, before }
    }

    /// What the round that ends now had; another one begins.
    pub(super) fn round(&mut self) -> RoundCores {
        let had = self.others.as_ref().map_err(Clone::clone).and_then(Others::had);
        let after = speeds(&self.cores);
        self.others = Others::watch(&self.cores, &self.ours);
        let found = found(&self.cores, &self.before, &after, had);
        self.before = after;
        found.unwrap_or_else(|unavailable| RoundCores::Unknown { unavailable })
    }
}

fn found(
    cores: &[usize],
    before: &Result<Vec<f64>, String>,
    after: &Result<Vec<f64>, String>,
    had: Result<Had, String>,
) -> Result<RoundCores, String> {
    let (before, after, had) = (before.as_ref().map_err(Clone::clone)?, after.as_ref().map_err(Clone::clone)?, had?);
    let speeds = cores.iter().zip(before.iter().zip(after));
    let one = |(core, (before, after)): (&usize, (&f64, &f64))| {
        Some(CoreLoop { core: u32::try_from(*core).ok()?, before: *before, after: *after })
    };
    let Had { wall_s, others_s, steal_s } = had;
    Ok(RoundCores::Found { loops: speeds.filter_map(one).collect(), wall_s, others_s, steal_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loop_after_a_round_is_the_loop_before_the_next_one() {
        let cores = cqldyno_meter::Environment::read().cores;
        let mut watch = Watch::begin(cores.clone(), Vec::new());
        let rounds = [watch.round(), watch.round()];
        let [RoundCores::Found { loops: first, .. }, RoundCores::Found { loops: second, wall_s, .. }] = &rounds else {
            panic!("{rounds:?}")
        };
        assert_eq!(first.len(), cores.len());
        for (one, next) in first.iter().zip(second) {
            assert_eq!((one.core, one.after), (next.core, next.before));
        }
        assert!(*wall_s > 0.0);
    }

    #[test]
    fn whatever_is_missing_is_said_in_place_of_all_figures() {
        let had = Ok(Had { wall_s: 1.0, others_s: 0.0, steal_s: 0.0 });
        let (there, none) = (Ok(vec![1.0]), |why: &str| Err::<Vec<f64>, _>(why.to_owned()));
        assert!(found(&[0], &there, &there, had.clone()).is_ok());
        assert_eq!(found(&[0], &none("No loop."), &there, had.clone()), Err("No loop.".to_owned()));
        assert_eq!(found(&[0], &there, &none("No loop."), had), Err("No loop.".to_owned()));
        assert_eq!(found(&[0], &there, &there, Err("No account.".to_owned())), Err("No account.".to_owned()));
    }
}
