//! A run with a time limit that left generations out.

use std::time::Duration;

use crate::quantity::{lasting, whole};
use crate::text::{count, list};
use crate::{CutShort, Place, Run};

/// Why a run that did not come to its end gives no verdicts, as a sentence: who stops a run may do so because its figures please.
pub(crate) fn unfinished(run: &Run) -> Option<String> {
    let how = if run.interrupted { "was stopped" } else { "is under way or broke off" };
    (!run.is_complete())
        .then(|| format!("The run {how}, so it gives no verdicts; `cqldyno compare --resume DIR` finishes it."))
}

/// How many generations ran and why not all, without the full stop; `None` if all ran, or as many as there was time for.
pub fn why_cut_short(run: &Run) -> Option<String> {
    let CutShort { within_ms, blocks, missing_ms } = run.cut_short.filter(|_| !run.plan.is_open())?;
    let (asked, missing) = (run.plan.blocks, run.plan.blocks.saturating_sub(blocks));
    let one = missing == 1;
    let (each, of_each) = match Place::all(run).nth(1) {
        Some(_) => (" of every scenario and arrangement", " of each"),
        None => ("", ""),
    };
    Some(format!(
        "{} of {}{each} ran, because the time limit of {} had no room for another one{of_each}; {} missing would take about {}",
        whole(blocks.into()),
        count(asked.into(), "generation"),
        lasting(Duration::from_millis(within_ms)),
        if one { "the one".to_owned() } else { format!("the {}", whole(missing.into())) },
        lasting(Duration::from_millis(missing_ms)),
    ))
}

/// Which passes besides timing were left out, without the full stop; `None` if all ran.
pub fn why_passes_left_out(run: &Run) -> Option<String> {
    let names: Vec<String> = run.passes_left_out.iter().map(|pass| pass.name().to_owned()).collect();
    (!names.is_empty())
        .then(|| format!("Of {} not all cells ran, because the time limit had no room for them", list(&names)))
}

/// Why there is no interval if `found` generations are too few and enough were asked for.
pub(crate) fn too_few(run: &Run, found: usize, least: usize) -> Option<String> {
    if (run.plan.blocks as usize) < least {
        return None;
    }
    let why = match run.cut_short.filter(|cut_short| (cut_short.blocks as usize) < least) {
        _ if run.interrupted => "the run was ended; resume it".to_owned(),
        _ if !run.is_complete() => "the run is under way or broke off; resume it".to_owned(),
        cut_short => format!("the time limit was {}", lasting(Duration::from_millis(cut_short?.within_ms))),
    };
    Some(format!(
        "An interval needs at least {least} generations in which every contender ran to its end, and there {} {found}, because {why}.",
        if found == 1 { "is" } else { "are" },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Analysis, Cell, SummaryRow, sample};

    fn headline(run: &Run, cells: &[Cell]) -> Vec<String> {
        Analysis::new(run, cells).findings
    }

    fn cut_short(blocks: u32) -> (Run, Vec<Cell>) {
        let (mut run, cells) = sample::blocks(blocks);
        run.plan.blocks = 12;
        run.cut_short = Some(CutShort { within_ms: 300_000, blocks, missing_ms: 72_000 });
        (run, cells)
    }

    #[test]
    fn a_run_that_was_cut_short_says_how_many_blocks_it_has_and_what_the_others_would_take() {
        let (run, cells) = cut_short(9);
        assert_eq!(
            why_cut_short(&run).unwrap(),
            "9 of 12 generations of every scenario and arrangement ran, because the time limit of 5 min had no room for another one of each; the 3 missing \
             would take about 72 s"
        );
        assert_eq!(run.blocks(), 9);
        let cdrs = |row: &&SummaryRow| row.contender == "cdrs-tokio" && row.interval.is_some();
        assert_eq!(Analysis::new(&run, &cells).rows.iter().find(cdrs).unwrap().blocks, Some(9));
        assert_eq!(why_cut_short(&sample::run().0), None);
        let one = CutShort { within_ms: 1_000, blocks: 1, missing_ms: 400 };
        let mut run = Run { cut_short: Some(one), ..run };
        run.plan.blocks = 2;
        let said = why_cut_short(&run).unwrap();
        assert!(
            said.starts_with(
                "1 of 2 generations of every scenario and arrangement ran, because the time limit of 1 s had"
            ),
            "{said}"
        );
        assert!(said.ends_with("the one missing would take about 0.4 s"), "{said}");
    }

    #[test]
    fn a_run_that_ends_at_a_width_says_in_every_report_why_it_ended() {
        let (mut run, cells) = cut_short(12);
        (run.plan.blocks, run.plan.turns) = (240, crate::TurnsInfo { count: 50_000, rounds: 2 });
        let said = |until: f64, run: &Run| {
            let mut run = run.clone();
            run.plan.until = Some(until);
            let text = |format: &str| {
                let exporter = crate::exporter(format).unwrap();
                let text = exporter.one(&Analysis::new(&run, &cells), crate::Look::default()).unwrap();
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let sentence = Analysis::new(&run, &cells).until;
            for format in ["table", "markdown", "time", "html"] {
                let shown = text(format).replace('\\', "");
                assert!(sentence.iter().all(|said| shown.contains(said)), "{sentence:?} in {format}: {shown}");
            }
            let turned = Analysis::against(&run, &cells, Some("cdrs-tokio"));
            assert_eq!(turned.until, sentence, "whatever ratios are taken against");
            sentence
        };
        assert_eq!(said(0.25, &run).unwrap(), "All intervals were within 25 % after 12 generations.");
        let wide = said(0.001, &run).unwrap();
        let (row, half) = Analysis::new(&run, &cells).widest().map(|(row, half)| (row.clone(), half)).unwrap();
        let [low, high] = row.interval.unwrap();
        assert!((half - ((high / low).sqrt() - 1.0)).abs() < 1e-12 && half > 0.005, "{row:?}");
        assert_eq!(
            wide,
            format!(
                "The time of 5 min was over before all intervals were within 0.1 %: the widest is {:.2} %, of {} for {} on multi:2.",
                (half * 1e4).ceil() / 100.0,
                row.label,
                row.scenario
            )
        );
        let without = Analysis::new(&run, &cells);
        let widest = without.rows.iter().filter(|row| !row.exploratory).filter_map(|row| row.interval);
        assert_eq!(widest.map(cqldyno_statistics::half_width).fold(0.0, f64::max), half, "the control's, too");
        let all = Run { cut_short: None, ..run.clone() };
        assert!(said(0.001, &all).unwrap().starts_with("All 240 generations ran before all intervals were within"));
        for open in [Run { interrupted: true, ..run.clone() }, Run { ended: None, ..run.clone() }] {
            assert_eq!(said(0.25, &open), None);
        }
        assert_eq!(Analysis::new(&run, &cells).until, None, "not asked for");
    }

    #[test]
    fn no_width_is_known_with_too_few_generations_and_a_place_that_gets_no_interval_is_not_waited_for() {
        let (run, cells) = cut_short(7);
        assert_eq!(Analysis::new(&run, &cells).widest(), None);
        let (run, mut cells) = cut_short(12);
        let few = |cell: &Cell| cell.scenario != "reads" || cell.block < 8;
        let fewer: Vec<Cell> = cells.iter().filter(|cell| few(cell)).cloned().collect();
        assert_eq!(Analysis::new(&run, &fewer).widest(), None, "every table");
        let of_reference = |cell: &&mut Cell| cell.contender == "scylla" && cell.scenario == "reads";
        cells.iter_mut().filter(of_reference).for_each(|cell| cell.failed = Some("It crashed.".to_owned()));
        let broken = Analysis::new(&run, &cells);
        assert_eq!(broken.widest().map(|(row, _)| row.scenario.as_str()), Some("writes"));
    }

    #[test]
    fn where_too_few_blocks_are_left_for_an_interval_it_says_why() {
        let (run, cells) = cut_short(5);
        let sentence = "An interval needs at least 8 generations in which every contender ran to its end, and there are 5, because \
                        the time limit was 5 min.";
        assert_eq!(headline(&run, &cells), [format!("This run calls no driver cheaper or dearer. {sentence}")]);
        let (mut few, cells) = sample::blocks(5);
        few.plan.blocks = 6;
        few.cut_short = run.cut_short;
        let said = headline(&few, &cells);
        assert!(said[0].ends_with("there are 5; ask for more generations."), "more time would give too few: {said:?}");
    }

    #[test]
    fn a_run_that_was_ended_early_is_to_be_gone_on_with() {
        let (mut run, cells) = sample::blocks(5);
        run.plan.blocks = 40;
        run.interrupted = true;
        let said = headline(&run, &cells);
        assert!(said[0].ends_with("there are 5, because the run was ended; resume it."), "{said:?}");
        run.interrupted = false;
        run.ended = None;
        let said = headline(&run, &cells);
        assert!(said[0].contains("there are 5, because the run is under way or broke off; resume it"), "{said:?}");
    }
}
