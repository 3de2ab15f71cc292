//! Blocks that ran more than once: which attempt counts, and why there are others.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::count;
use crate::{Cell, Pass, Place, Run};

/// One block of one scenario in one arrangement.
type Block<'a> = (&'a str, &'a str, Pass, u32);

/// The attempts that count: the last whole one of every block.
///
/// An attempt that was broken off would mix figures of two times.
#[derive(Clone)]
pub(crate) struct Attempts<'a> {
    /// With who ran to its end in it.
    last: BTreeMap<Block<'a>, (u32, BTreeSet<&'a str>)>,
}

impl<'a> Attempts<'a> {
    /// The attempts at each block among `cells`.
    pub fn of(cells: &'a [Cell]) -> Attempts<'a> {
        let mut ran: BTreeMap<Block, BTreeMap<u32, BTreeSet<&str>>> = BTreeMap::new();
        for cell in cells {
            let who = ran.entry(block(cell)).or_default().entry(cell.attempt).or_default();
            who.extend((!cell.more).then_some(cell.contender.as_str()));
        }
        let last = |attempts: BTreeMap<u32, BTreeSet<&'a str>>| {
            let most = attempts.values().map(BTreeSet::len).max().unwrap_or(0);
            attempts.into_iter().rev().find(|(_, who)| who.len() == most).unwrap_or_default()
        };
        Attempts { last: ran.into_iter().map(|(block, attempts)| (block, last(attempts))).collect() }
    }

    /// Whether the cell is of the attempt that counts, whether or not its worker came to its end in it.
    pub fn is_last(&self, cell: &Cell) -> bool {
        self.last.get(&block(cell)).is_some_and(|(attempt, _)| *attempt == cell.attempt)
    }

    /// Whether the cell is of the attempt that counts, and its worker came to its end in it: turns that were broken off are not
    /// checked.
    pub fn counts(&self, cell: &Cell) -> bool {
        let last = self.last.get(&block(cell));
        last.is_some_and(|(attempt, who)| *attempt == cell.attempt && who.contains(cell.contender.as_str()))
    }
}

fn block(cell: &Cell) -> Block<'_> {
    (&cell.scenario, &cell.arrangement, cell.pass, cell.block)
}

/// One attempt at a block: whether other processes disturbed one of its cells, or most of its turns. No other version than an earlier
/// one says so of a cell.
#[derive(Default)]
struct Attempt {
    cells: usize,
    noisy_cells: usize,
    noisy: bool,
}

/// The attempts at every timing block, in the order of their numbers.
fn timing_attempts(cells: &[Cell]) -> BTreeMap<Block<'_>, BTreeMap<u32, Attempt>> {
    let mut found: BTreeMap<Block, BTreeMap<u32, Attempt>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing) {
        let attempt = found.entry(block(cell)).or_default().entry(cell.attempt).or_default();
        attempt.cells += 1;
        attempt.noisy_cells += usize::from(cell.noisy.is_some());
        // Turns come to all alike, so a few that were disturbed say little.
        attempt.noisy = match cell.round {
            None => attempt.noisy_cells > 0,
            Some(_) => 2 * attempt.noisy_cells > attempt.cells,
        };
    }
    found
}

/// How many timing blocks other processes disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// What they are called: `block`, or `generation`.
    pub(crate) noun: &'static str,
    /// Blocks whose attempt that counts was disturbed.
    pub disturbed: usize,
    /// All blocks, of every scenario and arrangement.
    pub blocks: usize,
    /// Whether there are several scenarios or arrangements.
    pub(crate) several: bool,
}

impl Noise {
    pub(crate) fn of(run: &Run, cells: &[Cell]) -> Option<Noise> {
        run.plan.noise_share?;
        let (blocks, counting) = (timing_attempts(cells), Attempts::of(cells));
        let is_disturbed = |(of, attempts): &(&Block, &BTreeMap<u32, Attempt>)| {
            counting.last.get(*of).and_then(|(number, _)| attempts.get(number)).is_some_and(|attempt| attempt.noisy)
        };
        let disturbed = blocks.iter().filter(is_disturbed).count();
        let several = Place::all(run).nth(1).is_some();
        Some(Noise { noun: run.plan.repeated(), disturbed, blocks: blocks.len(), several })
    }

    /// A warning if noise touched more than a tenth of the blocks.
    ///
    /// An interval does not cover it: a driver with more threads, or that needs more of the cache, suffers more in every block.
    pub fn warning(self) -> Option<String> {
        let were = if self.disturbed == 1 { "was" } else { "were" };
        (10 * self.disturbed > self.blocks).then(|| {
            format!(
                "{} of {}{} {were} disturbed; prefer a quiet machine.",
                self.disturbed,
                count(self.blocks as u64, self.noun),
                if self.several { " of all scenarios and arrangements" } else { "" },
            )
        })
    }
}

/// How many blocks ran again, as a sentence; `None` if none did. Earlier versions ran blocks again that others disturbed.
pub(crate) fn repeats(run: &Run, cells: &[Cell]) -> Option<String> {
    let blocks = timing_attempts(cells);
    let again = blocks.values().filter(|attempts| attempts.len() > 1).count();
    (again > 0).then(|| {
        format!(
            "{again} of {} ran again from the start; the last whole attempt counts and all are in the raw data",
            count(blocks.len() as u64, run.plan.repeated())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, sample};

    /// The block again, with every contender or only with `who`.
    fn again(cells: &[Cell], attempt: u32, who: Option<&str>) -> Vec<Cell> {
        let of = |cell: &&Cell| {
            cell.scenario == "writes" && cell.block == 2 && cell.pass == Pass::Timing && cell.attempt == 1
        };
        let mine = cells.iter().filter(of).filter(|cell| who.is_none_or(|who| cell.contender == who));
        mine.map(|cell| Cell { attempt, ..cell.clone() }).collect()
    }

    #[test]
    fn the_last_whole_attempt_counts() {
        let (_, mut cells) = sample::run();
        cells.extend(again(&cells, 2, None));
        cells.extend(again(&cells, 3, Some("scylla")));
        let attempts = Attempts::of(&cells);
        let counting: BTreeSet<u32> = cells
            .iter()
            .filter(|cell| cell.scenario == "writes" && cell.block == 2 && attempts.counts(cell))
            .map(|cell| cell.attempt)
            .collect();
        assert_eq!(counting, BTreeSet::from([2]));
    }

    #[test]
    fn turns_of_a_contender_that_did_not_come_to_its_end_do_not_count() {
        let (_, mut cells) = sample::run();
        for cell in &mut cells {
            cell.round = Some(1);
            cell.more = cell.contender == "scylla";
        }
        let attempts = Attempts::of(&cells);
        let counting: BTreeSet<&str> =
            cells.iter().filter(|cell| attempts.counts(cell)).map(|cell| cell.contender.as_str()).collect();
        assert!(!counting.contains("scylla") && !counting.is_empty(), "{counting:?}");
    }

    #[test]
    fn what_was_run_again_is_said() {
        let (run, mut cells) = sample::run();
        assert_eq!(repeats(&run, &cells), None);
        cells.extend(again(&cells, 2, None));
        cells.extend(again(&cells, 3, Some("scylla")));
        assert_eq!(
            repeats(&run, &cells).unwrap(),
            "1 of 6 blocks ran again from the start; the last whole attempt counts and all are in the raw data"
        );
    }

    #[test]
    fn noise_in_more_than_a_tenth_of_the_blocks_is_a_warning_with_both_counts() {
        let (mut run, mut cells) = sample::blocks(12);
        run.plan.noise_share = Some(0.1);
        let warned = |run: &Run, cells: &[Cell]| Analysis::new(run, cells).warnings().to_vec();
        let disturb = |cells: &mut [Cell], scenario: &str, block: u32| {
            let of = |cell: &&mut Cell| cell.scenario == scenario && cell.block == block && cell.pass == Pass::Timing;
            cells.iter_mut().find(of).unwrap().noisy = Some("Steal.".to_owned());
        };
        disturb(&mut cells, "writes", 1);
        disturb(&mut cells, "reads", 5);
        assert_eq!(
            Noise::of(&run, &cells),
            Some(Noise { noun: run.plan.repeated(), disturbed: 2, blocks: 24, several: true })
        );
        assert_eq!(warned(&run, &cells), [""; 0], "2 of 24 are fewer than a tenth");
        disturb(&mut cells, "reads", 6);
        assert_eq!(
            warned(&run, &cells),
            ["3 of 24 blocks of all scenarios and arrangements were disturbed; prefer a quiet machine."]
        );
        run.plan.noise_share = None;
        assert_eq!(Noise::of(&run, &cells), None, "nobody looked");
    }
}
