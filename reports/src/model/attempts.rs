//! Generations that ran more than once: which attempt counts.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::count;
use crate::{Cell, Pass};

/// One generation of one scenario in one arrangement, or one repetition of another pass.
type Block<'a> = (&'a str, &'a str, Pass, u32);

/// The attempts that count: the last whole one of every generation.
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

/// How many generations ran again, as a sentence; `None` if none did.
pub(crate) fn repeats(cells: &[Cell]) -> Option<String> {
    let mut attempts: BTreeMap<Block, BTreeSet<u32>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing) {
        attempts.entry(block(cell)).or_default().insert(cell.attempt);
    }
    let again = attempts.values().filter(|attempts| attempts.len() > 1).count();
    (again > 0).then(|| {
        format!(
            "{again} of {} ran again from the start; the last whole attempt counts and all are in the raw data",
            count(attempts.len() as u64, "generation")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

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
        let (_, mut cells) = sample::run();
        assert_eq!(repeats(&cells), None);
        cells.extend(again(&cells, 2, None));
        cells.extend(again(&cells, 3, Some("scylla")));
        assert_eq!(
            repeats(&cells).unwrap(),
            "1 of 6 generations ran again from the start; the last whole attempt counts and all are in the raw data"
        );
    }
}
