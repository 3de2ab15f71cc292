//! A run that was given a time, and left blocks out for want of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Run;
use crate::quantity::{lasting, whole};
use crate::text::count;

/// What a run did without because it would not have ended within the time that it was given. It is a finished run: every scenario
/// and arrangement has as many blocks, and the other passes are whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CutShort {
    /// The time that was given, in milliseconds, since the run began or was last gone on with.
    pub within_ms: u64,
    /// The blocks that were run; the plan tells how many were asked for.
    pub blocks: u32,
    /// How long the blocks that are missing would take, by what others took, in milliseconds.
    pub missing_ms: u64,
}

/// What to do about the blocks that are missing from the run in `folder`.
fn advice(folder: &str) -> String {
    format!("go on with the run by `cqldyno compare --resume {folder}`, or give it more by --within")
}

/// How the folder is called where nobody knows it.
const FOLDER: &str = "DIR";

impl Run {
    /// The blocks of every scenario and arrangement: those of the plan, or fewer where the run was cut short.
    pub fn blocks(&self) -> u32 {
        self.cut_short.map_or(self.plan.blocks, |cut_short| cut_short.blocks)
    }
}

/// How many blocks were run, why not all, and what to do, in words that a sentence consists of; `None` where there are all. The run
/// lies in `folder`, if that is known.
pub fn why_cut_short(run: &Run, folder: Option<&str>) -> Option<String> {
    let CutShort { within_ms, blocks, missing_ms } = run.cut_short?;
    let (asked, missing) = (run.plan.blocks, run.plan.blocks.saturating_sub(blocks));
    let one = missing == 1;
    Some(format!(
        "{} of {} {} run, because there was no time for another one of every scenario within the {} that the run was given; the {} \
         missing would take about {}: {}",
        whole(blocks.into()),
        count(asked.into(), "block"),
        if blocks == 1 { "was" } else { "were" },
        lasting(Duration::from_millis(within_ms)),
        if one { "one that is".to_owned() } else { format!("{} that are", whole(missing.into())) },
        lasting(Duration::from_millis(missing_ms)),
        advice(folder.unwrap_or(FOLDER)),
    ))
}

/// Why there is no interval: `found` blocks are too few, and enough were asked for. What to do about a run that was cut short is
/// said where that is ([`why_cut_short`]).
pub(crate) fn too_few(run: &Run, found: usize, least: usize) -> Option<String> {
    if (run.interrupted || run.ended.is_none()) && run.plan.blocks as usize >= least {
        return Some(format!(
            "An interval needs at least {least} blocks in which every contender ran to its end, and there {} {found}, because the run \
             {}; go on with it by `cqldyno compare --resume {FOLDER}`.",
            if found == 1 { "is" } else { "are" },
            if run.interrupted { "was ended" } else { "is under way or broke off" },
        ));
    }
    let cut_short = run.cut_short.filter(|cut_short| (cut_short.blocks as usize) < least)?;
    (run.plan.blocks as usize >= least).then(|| {
        format!(
            "An interval needs at least {least} blocks in which every contender ran to its end, and there {} {found}, because there \
             was no time for more within {}.",
            if found == 1 { "is" } else { "are" },
            lasting(Duration::from_millis(cut_short.within_ms)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Summary, SummaryRow, headline, sample};

    fn cut_short(blocks: u32) -> (Run, Summary) {
        let (mut run, cells) = sample::blocks(blocks);
        run.plan.blocks = 12;
        run.cut_short = Some(CutShort { within_ms: 300_000, blocks, missing_ms: 72_000 });
        let summary = Summary::new(&run, &cells);
        (run, summary)
    }

    #[test]
    fn a_run_that_was_cut_short_says_how_many_blocks_it_has_and_what_to_do() {
        let (run, summary) = cut_short(9);
        assert_eq!(
            why_cut_short(&run, None).unwrap(),
            "9 of 12 blocks were run, because there was no time for another one of every scenario within the 5 min that the run \
             was given; the 3 that are missing would take about 72 s: go on with the run by `cqldyno compare --resume DIR`, or give it \
             more by --within"
        );
        assert_eq!(run.blocks(), 9);
        let cdrs = |row: &&SummaryRow| row.contender == "cdrs-tokio" && row.interval.is_some();
        assert_eq!(summary.rows.iter().find(cdrs).unwrap().blocks, Some(9));
        assert_eq!(why_cut_short(&sample::run().0, None), None);
        let one = CutShort { within_ms: 1_000, blocks: 1, missing_ms: 400 };
        let mut run = Run { cut_short: Some(one), ..run };
        run.plan.blocks = 2;
        let said = why_cut_short(&run, Some("kept")).unwrap();
        assert!(said.starts_with("1 of 2 blocks was run, because"), "{said}");
        assert!(
            said.contains("within the 1 s that")
                && said.contains("the one that is missing would take about 0.4 s: go on")
        );
        assert!(said.contains("--resume kept`"), "{said}");
    }

    #[test]
    fn where_too_few_blocks_are_left_for_an_interval_it_says_why_and_what_to_do_stands_once() {
        let (run, summary) = cut_short(5);
        assert!(
            why_cut_short(&run, None).unwrap().ends_with("`cqldyno compare --resume DIR`, or give it more by --within")
        );
        let sentence = "An interval needs at least 8 blocks in which every contender ran to its end, and there are 5, because there was \
                        no time for more within 5 min.";
        assert_eq!(headline(&run, &summary), [format!("This run calls no driver faster or slower. {sentence}")]);
        let (mut few, cells) = sample::blocks(5);
        few.plan.blocks = 6;
        few.cut_short = run.cut_short;
        let said = headline(&few, &Summary::new(&few, &cells));
        assert!(said[0].ends_with("there are 5; ask for more blocks."), "more time would give too few: {said:?}");
    }

    #[test]
    fn a_run_that_was_ended_early_is_to_be_gone_on_with() {
        let (mut run, cells) = sample::blocks(5);
        run.plan.blocks = 40;
        run.interrupted = true;
        let said = headline(&run, &Summary::new(&run, &cells));
        assert!(
            said[0]
                .ends_with("there are 5, because the run was ended; go on with it by `cqldyno compare --resume DIR`."),
            "{said:?}"
        );
        run.interrupted = false;
        run.ended = None;
        let said = headline(&run, &Summary::new(&run, &cells));
        assert!(said[0].contains("there are 5, because the run is under way or broke off; go on with it"), "{said:?}");
    }
}
