//! Blocks that were run more than once: which attempt counts, and what is said of the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::count;
use crate::{Cell, Pass, Run, plain};

/// One block of one scenario in one arrangement.
type Block<'a> = (&'a str, &'a str, Pass, u32);

/// The attempts that count: of every block the last one that is whole. An attempt that was ended halfway would mix figures of two
/// times.
pub(crate) struct Attempts<'a> {
    last: BTreeMap<Block<'a>, u32>,
}

impl<'a> Attempts<'a> {
    pub fn of(cells: &'a [Cell]) -> Attempts<'a> {
        let mut ran: BTreeMap<Block, BTreeMap<u32, BTreeSet<&str>>> = BTreeMap::new();
        for cell in cells {
            ran.entry(block(cell)).or_default().entry(cell.attempt).or_default().insert(&cell.contender);
        }
        let last = |attempts: BTreeMap<u32, BTreeSet<&str>>| {
            let most = attempts.values().map(BTreeSet::len).max().unwrap_or(0);
            attempts.into_iter().rev().find(|(_, who)| who.len() == most).map_or(0, |(attempt, _)| attempt)
        };
        Attempts { last: ran.into_iter().map(|(block, attempts)| (block, last(attempts))).collect() }
    }

    pub fn counts(&self, cell: &Cell) -> bool {
        self.last.get(&block(cell)) == Some(&cell.attempt)
    }
}

fn block(cell: &Cell) -> Block<'_> {
    (&cell.scenario, &cell.arrangement, cell.pass, cell.block)
}

/// How many blocks were run again and why, as a sentence; `None` where there was none.
pub(crate) fn repeats(run: &Run, cells: &[Cell]) -> Option<String> {
    let timing = || cells.iter().filter(|cell| cell.pass == Pass::Timing);
    let blocks: BTreeSet<Block> = timing().map(block).collect();
    let again: BTreeSet<(Block, u32)> =
        timing().filter(|cell| cell.attempt > 1).map(|cell| (block(cell), cell.attempt)).collect();
    let repeated: BTreeSet<Block> = again.iter().map(|(block, _)| *block).collect();
    let attempts = Attempts::of(cells);
    let still: BTreeSet<Block> =
        timing().filter(|cell| attempts.counts(cell) && cell.noisy.is_some()).map(block).collect();
    if repeated.is_empty() && still.is_empty() {
        return None;
    }
    let mut sentences = Vec::new();
    if !repeated.is_empty() {
        let share = run.plan.noise_share.map_or(String::new(), |share| {
            format!(", because others used more than {:.0} % of the machine in one of their cells", share * 100.0)
        });
        sentences.push(format!(
            "{} of {} run again whole{share}: {}; the last attempt counts and every one is kept in the raw data",
            repeated.len(),
            if blocks.len() == 1 {
                "1 block was".to_owned()
            } else {
                format!("{} were", count(blocks.len() as u64, "block"))
            },
            count(again.len() as u64, "further attempt"),
        ));
        if let Some(why) = timing().filter(|cell| !attempts.counts(cell)).find_map(|cell| cell.noisy.as_ref()) {
            sentences.push(format!("the first: {}", plain(why).trim_end_matches('.')));
        }
    }
    if !still.is_empty() {
        let most = run.plan.most_attempts.max(1);
        sentences.push(format!(
            "in {} the machine was still noisy at the last of {}, and {} counts all the same",
            count(still.len() as u64, "block"),
            count(most.into(), "attempt"),
            if still.len() == 1 { "it" } else { "each" },
        ));
    }
    Some(sentences.join("; "))
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
    fn what_was_run_again_is_said_with_its_reason() {
        let (mut run, mut cells) = sample::run();
        assert_eq!(repeats(&run, &cells), None);
        run.plan.noise_share = Some(0.1);
        run.plan.most_attempts = 2;
        let noisy = |cell: &&mut Cell| cell.scenario == "writes" && cell.block == 2 && cell.pass == Pass::Timing;
        cells.iter_mut().find(noisy).unwrap().noisy = Some("Others used 12 % of the cores.".to_owned());
        let mut more = again(&cells, 2, None);
        more[1].noisy = Some("Steal took 14 %.".to_owned());
        cells.extend(more);
        assert_eq!(
            repeats(&run, &cells).unwrap(),
            "1 of 6 blocks were run again whole, because others used more than 10 % of the machine in one of their cells: 1 \
             further attempt; the last attempt counts and every one is kept in the raw data; the first: Others used 12 % of \
             the cores; in 1 block the machine was still noisy at the last of 2 attempts, and it counts all the same"
        );
    }
}
