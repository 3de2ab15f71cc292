//! What the rounds of a generation have of their cores: what the witness costs, and what others use meanwhile.

use cqldyno_meter::{Had, Others};
use cqldyno_reports::RoundCores;

use super::witness::Witness;
use crate::process::failure::CellFailure;

/// Watches the cores from round to round.
pub(super) struct Watch<'a> {
    cores: Vec<usize>,
    ours: Vec<i32>,
    others: Result<Others, String>,
    had: Had,
    /// What tells how fast the machine is, or why nothing does.
    witness: Result<Witness<'a>, String>,
    /// Whether contenders live one after the other, so that the only round goes on from one to the next.
    apart: bool,
}

impl<'a> Watch<'a> {
    /// Before anyone is alive.
    pub(super) fn new(cores: Vec<usize>, witness: Result<Witness<'a>, String>, apart: bool) -> Watch<'a> {
        Watch { others: Others::watch(&cores, &[]), cores, ours: Vec::new(), had: Had::default(), witness, apart }
    }

    /// These processes are alive now.
    pub(super) fn begin(&mut self, mut ours: Vec<i32>) {
        ours.extend(self.witness.iter().flat_map(Witness::processes));
        self.others = Others::watch(&self.cores, &ours);
        self.ours = ours;
    }

    /// Between two turns: the witness has one of its own.
    ///
    /// # Errors
    /// When the run is to end.
    pub(super) fn between(&mut self) -> Result<(), CellFailure> {
        let Ok(witness) = &mut self.witness else { return Ok(()) };
        match witness.turn() {
            Err(CellFailure::Cancelled) => Err(CellFailure::Cancelled),
            Err(failure) => {
                self.witness = Err(failure.to_string());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Why nothing tells how fast the machine is, as a full sentence, if so.
    pub(super) fn without_witness(&self) -> Option<String> {
        let why = self.witness.as_ref().err()?;
        Some(format!("This round is not checked for slowness, because `floor` failed: {why}"))
    }

    /// What the round had until now. Another one begins, unless it goes on with the next contender.
    pub(super) fn round(&mut self) -> RoundCores {
        let read = self.others.as_ref().map_err(Clone::clone).and_then(Others::had);
        self.others = Others::watch(&self.cores, &self.ours);
        let witness_us = self.witness.as_mut().ok().and_then(|witness| witness.look(!self.apart));
        match read {
            Ok(read) => {
                let had = Had {
                    wall_s: self.had.wall_s + read.wall_s,
                    others_s: self.had.others_s + read.others_s,
                    steal_s: self.had.steal_s + read.steal_s,
                };
                self.had = if self.apart { had } else { Had::default() };
                RoundCores::Found {
                    cores: u32::try_from(self.cores.len()).unwrap_or(u32::MAX),
                    wall_s: had.wall_s,
                    others_s: had.others_s,
                    steal_s: had.steal_s,
                    witness_us,
                }
            }
            Err(unavailable) => RoundCores::Unknown { unavailable },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_witness_what_others_used_is_known_and_it_is_said_why() {
        let cores = cqldyno_meter::Environment::read().cores;
        let mut watch = Watch::new(cores, Err("Floor was not built.".to_owned()), false);
        watch.begin(Vec::new());
        watch.between().unwrap();
        let said = watch.without_witness().unwrap();
        assert_eq!(said, "This round is not checked for slowness, because `floor` failed: Floor was not built.");
        let RoundCores::Found { witness_us, wall_s, .. } = watch.round() else { panic!("the kernel tells of others") };
        assert!(witness_us.is_none() && wall_s > 0.0);
    }
}
