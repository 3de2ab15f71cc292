//! Blocks that were run more than once: which attempt counts, and what is said of the others.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::count;
use crate::{Cell, Pass, Run, plain};

/// One block of one scenario in one arrangement.
type Block<'a> = (&'a str, &'a str, Pass, u32);

/// The attempts that count: of every block the last one that is whole. An attempt that was ended halfway would mix figures of two
/// times.
pub struct Attempts<'a> {
    last: BTreeMap<Block<'a>, u32>,
}

impl<'a> Attempts<'a> {
    /// The attempts at each block among `cells`.
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

    /// Whether the cell is of the attempt that counts.
    pub fn counts(&self, cell: &Cell) -> bool {
        self.last.get(&block(cell)) == Some(&cell.attempt)
    }
}

fn block(cell: &Cell) -> Block<'_> {
    (&cell.scenario, &cell.arrangement, cell.pass, cell.block)
}

/// One attempt at a block: who ran, and whether others disturbed one of its cells.
#[derive(Default)]
struct Attempt<'a> {
    ran: BTreeSet<&'a str>,
    noisy: bool,
}

/// The attempts at every timing block, by their number.
fn timing_attempts(cells: &[Cell]) -> BTreeMap<Block<'_>, BTreeMap<u32, Attempt<'_>>> {
    let mut found: BTreeMap<Block, BTreeMap<u32, Attempt>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing) {
        let attempt = found.entry(block(cell)).or_default().entry(cell.attempt).or_default();
        attempt.ran.insert(&cell.contender);
        attempt.noisy |= cell.noisy.is_some();
    }
    found
}

/// A warning, as a full sentence, where of most blocks the attempt that counts was disturbed by others. An interval is no protection: who has more
/// threads, or needs more of the cache, suffers more, and does so in every block.
pub(crate) fn mostly_noisy(run: &Run, cells: &[Cell]) -> Option<String> {
    let share = run.plan.noise_share?;
    let (blocks, counting) = (timing_attempts(cells), Attempts::of(cells));
    let counts = |of: &Block, attempts: &BTreeMap<u32, Attempt>| {
        counting.last.get(of).and_then(|number| attempts.get(number)).is_some_and(|attempt| attempt.noisy)
    };
    let noisy = blocks.iter().filter(|(of, attempts)| counts(of, attempts)).count();
    (2 * noisy > blocks.len()).then(|| {
        format!(
            "In {noisy} of {} others used more than {:.0} % of worker's and server's cores. The figures are those of such a machine; on a \
             quiet one a driver may come off better or worse than here.",
            count(blocks.len() as u64, "block"),
            share * 100.0,
        )
    })
}

/// How many blocks were run again and why, as a sentence; `None` where there was none.
pub(crate) fn repeats(run: &Run, cells: &[Cell]) -> Option<String> {
    let blocks = timing_attempts(cells);
    // Every block of a place has the same contenders; one that has fewer was broken off.
    let mut in_whole: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for ((scenario, arrangement, ..), attempts) in &blocks {
        let most = in_whole.entry((scenario, arrangement)).or_default();
        *most = attempts.values().map(|attempt| attempt.ran.len()).fold(*most, usize::max);
    }
    let is_whole = |of: &Block, attempt: &Attempt| in_whole.get(&(of.0, of.1)) == Some(&attempt.ran.len());

    let counting = Attempts::of(cells);
    let (mut noisy, mut broken_off) = (Again::default(), Again::default());
    let mut still = Still::default();
    let last_cell = cells.iter().rev().find(|cell| cell.pass == Pass::Timing).map(block);
    for (of, attempts) in &blocks {
        let each: Vec<&Attempt> = attempts.values().collect();
        let further = each.len() - 1;
        let for_noise = each[..further].iter().filter(|before| before.noisy && is_whole(of, before)).count();
        noisy.add(for_noise);
        broken_off.add(further - for_noise);
        let counts = counting.last.get(of).and_then(|number| attempts.get(number));
        if counts.is_some_and(|attempt| attempt.noisy) {
            let whole = each.iter().filter(|attempt| is_whole(of, attempt)).count();
            let ended = (run.interrupted || run.ended.is_none()) && last_cell.as_ref() == Some(of);
            still.add(whole, run.plan.most_attempts.max(1), ended);
        }
    }

    let of_all = |again: &Again| {
        let was = if again.blocks == 1 { "was" } else { "were" };
        format!("{} of {} {was}", again.blocks, count(blocks.len() as u64, "block"))
    };
    let mut sentences = Vec::new();
    if noisy.blocks > 0 {
        let share = run.plan.noise_share.map_or(String::new(), |share| {
            let whose = if noisy.blocks == 1 { "its" } else { "their" };
            format!(", because others used more than {:.0} % of the machine in one of {whose} cells", share * 100.0)
        });
        sentences.push(format!(
            "{} run again whole{share}: {}; the last attempt counts and every one is kept in the raw data",
            of_all(&noisy),
            count(noisy.attempts, "further attempt"),
        ));
        let is_first = |cell: &&Cell| cell.pass == Pass::Timing && !counting.counts(cell);
        if let Some(why) = cells.iter().filter(is_first).find_map(|cell| cell.noisy.as_ref()) {
            sentences.push(format!("the first: {}", plain(why).trim_end_matches('.')));
        }
    }
    if broken_off.blocks > 0 {
        sentences.push(format!(
            "{} restarted when the run went on, because it had ended within {}; what there was is kept in the raw data",
            of_all(&broken_off),
            if broken_off.blocks == 1 { "it" } else { "them" },
        ));
    }
    sentences.extend(still.sentences(run.plan.most_attempts.max(1), run.plan.within_ms.is_some()));
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

/// Blocks that were run more than once for one reason.
#[derive(Default)]
struct Again {
    blocks: u64,
    attempts: u64,
}

impl Again {
    fn add(&mut self, further: usize) {
        self.blocks += u64::from(further > 0);
        self.attempts += further as u64;
    }
}

/// Blocks of which a noisy attempt counts, by why there was no other one.
#[derive(Default)]
struct Still {
    /// All attempts of the plan were made.
    exhausted: u64,
    /// The time for repeats was used up, by the number of whole attempts.
    out_of_time: BTreeMap<usize, u64>,
    /// The run was ended.
    ended: u64,
}

impl Still {
    fn add(&mut self, whole: usize, most: u32, ended: bool) {
        match whole >= most as usize {
            true => self.exhausted += 1,
            false if ended => self.ended += 1,
            false => *self.out_of_time.entry(whole).or_default() += 1,
        }
    }

    fn sentences(&self, most: u32, limited: bool) -> Vec<String> {
        let in_blocks = |blocks: u64| format!("in {}", count(blocks, "block"));
        let all_the_same = |blocks: u64| format!("and {} counts all the same", if blocks == 1 { "it" } else { "each" });
        let mut sentences = Vec::new();
        if self.exhausted > 0 {
            sentences.push(format!(
                "{} the machine was still noisy at the last of {}, {}",
                in_blocks(self.exhausted),
                count(most.into(), "attempt"),
                all_the_same(self.exhausted),
            ));
        }
        for (whole, blocks) in &self.out_of_time {
            sentences.push(format!(
                "{} the machine was noisy at attempt {whole} of {most}, there was no time for another one (repeats may take half as \
                 long as the blocks{}), {}",
                in_blocks(*blocks),
                if limited { ", and no time that these need" } else { "" },
                all_the_same(*blocks),
            ));
        }
        if self.ended > 0 {
            sentences.push(format!(
                "{} the machine was noisy and the run ended before it could be run again, {}",
                in_blocks(self.ended),
                all_the_same(self.ended),
            ));
        }
        sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Summary, sample};

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
            "1 of 6 blocks was run again whole, because others used more than 10 % of the machine in one of its cells: 1 \
             further attempt; the last attempt counts and every one is kept in the raw data; the first: Others used 12 % of \
             the cores; in 1 block the machine was still noisy at the last of 2 attempts, and it counts all the same"
        );
    }

    #[test]
    fn a_block_that_was_restarted_on_a_quiet_machine_is_not_said_to_be_run_again_for_noise() {
        let (mut run, mut cells) = sample::run();
        (run.plan.noise_share, run.plan.most_attempts) = (Some(0.1), 3);
        let more = again(&cells, 2, None);
        let broken_off = |cell: &Cell| cell.scenario == "writes" && cell.block == 2 && cell.contender != "scylla";
        cells.retain(|cell| !broken_off(cell));
        // What others did to an attempt that was broken off is no reason either.
        cells.iter_mut().find(|cell| cell.scenario == "writes" && cell.block == 2).unwrap().noisy =
            Some("Others used 12 % of the cores.".to_owned());
        cells.extend(more);
        cells.iter_mut().filter(|cell| cell.attempt == 2).for_each(|cell| cell.noisy = None);
        assert_eq!(
            repeats(&run, &cells).unwrap(),
            "1 of 6 blocks was restarted when the run went on, because it had ended within it; what there was is kept in the \
             raw data"
        );
    }

    #[test]
    fn a_noisy_block_that_the_time_limit_left_behind_says_at_which_attempt() {
        let (mut run, mut cells) = sample::run();
        (run.plan.noise_share, run.plan.most_attempts) = (Some(0.1), 3);
        let noisy = |cell: &&mut Cell| cell.scenario == "writes" && cell.block == 2 && cell.pass == Pass::Timing;
        cells.iter_mut().find(noisy).unwrap().noisy = Some("Others used 12 % of the cores.".to_owned());
        assert_eq!(
            repeats(&run, &cells).unwrap(),
            "in 1 block the machine was noisy at attempt 1 of 3, there was no time for another one (repeats may take half as long as \
             the blocks), and it counts all the same"
        );
        cells.extend(again(&cells, 2, None));
        let text = repeats(&run, &cells).unwrap();
        assert!(
            text.contains("in 1 block the machine was noisy at attempt 2 of 3, there was no time for another one"),
            "{text}"
        );
        run.plan.within_ms = Some(300_000);
        let text = repeats(&run, &cells).unwrap();
        assert!(text.contains("half as long as the blocks, and no time that these need)"), "{text}");
        run.interrupted = true;
        let text = repeats(&run, &cells).unwrap();
        assert!(text.contains("noisy and the run ended before it could be run again, and it counts"), "{text}");
        cells.extend(again(&cells, 3, None));
        let text = repeats(&run, &cells).unwrap();
        assert!(text.contains("1 of 6 blocks was run again whole") && text.contains("2 further attempts"), "{text}");
        assert!(text.contains("still noisy at the last of 3 attempts"), "{text}");
    }

    #[test]
    fn where_most_blocks_stayed_noisy_every_table_says_so() {
        let (mut run, mut cells) = sample::run();
        run.plan.noise_share = Some(0.1);
        let blocks: BTreeSet<(String, u32)> = cells.iter().map(|cell| (cell.scenario.clone(), cell.block)).collect();
        for (scenario, block) in blocks.iter().take(4) {
            assert_eq!(mostly_noisy(&run, &cells), None);
            let of = |cell: &&mut Cell| cell.scenario == *scenario && cell.block == *block && cell.pass == Pass::Timing;
            cells.iter_mut().find(of).unwrap().noisy = Some("Steal.".to_owned());
        }
        assert!(mostly_noisy(&run, &cells).unwrap().starts_with(
            "In 4 of 6 blocks others used more than 10 % of worker's and server's cores. The figures are those of such a machine;"
        ));
        assert_eq!(Summary::new(&run, &cells).warnings.last(), mostly_noisy(&run, &cells).as_ref());
        run.plan.noise_share = None;
        assert_eq!(mostly_noisy(&run, &cells), None, "nobody looked");
    }
}
