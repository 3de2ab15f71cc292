//! Which rounds count: those in which the cores were free and fast.
//!
//! With fewer cores than a round should have, the threads of a driver meet in other ways. So load moves the ratios themselves, and
//! such a round is about another machine. No contender's figure has a part in this rule. It looks at a loop of our own on every core
//! before and after the round, and at the kernel's account of what others used meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempts::Attempts;
use crate::measure::SERVER_CPU;
use crate::{Cell, CoreLoop, Pass, Place, RoundCores, Run, plain};

/// The cores were free and fast if the loop had this share of its best speed, as the mean over all cores, before and after the round. A
/// single loop of some milliseconds says less: a neighbour on the physical core comes and goes within them.
const SPEED: f64 = 0.9;
/// No core may have been lost either, which the mean over many cores does not show.
const SPEED_OF_ONE: f64 = 0.75;
/// What others used is known to some hundredths of a second: the kernel samples it at its ticks.
const RESOLUTION_SECONDS: f64 = 0.05;

/// Scenario and arrangement.
type Where<'a> = (&'a str, &'a str);

/// The rounds of a run in the attempts that count.
#[derive(Clone, Debug, Default)]
pub struct CountedRounds<'a> {
    /// By generation and round: why it does not count.
    places: BTreeMap<Where<'a>, BTreeMap<(u32, u32), Option<String>>>,
    /// Where too few count.
    too_few: BTreeSet<Where<'a>>,
}

impl<'a> CountedRounds<'a> {
    /// Those of the run's turns; none if it has cells, or did not look at the cores.
    pub fn of(run: &Run, cells: &'a [Cell]) -> CountedRounds<'a> {
        let mut found = CountedRounds::default();
        let Some(share) = run.plan.noise_share else { return found };
        let best = if works_on(run, cells) { BTreeMap::new() } else { best(cells) };
        let attempts = Attempts::of(cells);
        for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing && attempts.is_last(cell)) {
            let (Some(round), Some(cores)) = (cell.round, &cell.cores) else { continue };
            let why = missing(cores, share, |core| best.get(&(cell.arrangement.as_str(), core)).copied());
            found.places.entry(place(cell)).or_default().insert((cell.block, round), why);
        }
        // Each cell is asked about its place, so that is known once.
        let divisor = if found.are_too_few() { 2 } else { 3 };
        let are_too_few = |rounds: &BTreeMap<_, Option<String>>| {
            divisor * rounds.values().filter(|why| why.is_none()).count() < rounds.len()
        };
        found.too_few =
            found.places.iter().filter(|(_, rounds)| are_too_few(rounds)).map(|(place, _)| *place).collect();
        found
    }

    /// How many rounds count, and how many there are; `None` if nobody looked.
    pub fn counting(&self) -> Option<(usize, usize)> {
        let all = || self.places.values().flat_map(BTreeMap::values);
        let counting = all().filter(|why| why.is_none()).count();
        Some((counting, all().count())).filter(|(_, all)| *all > 0)
    }

    /// How many rounds of a scenario in an arrangement do not count.
    pub fn missing_in(&self, scenario: &str, arrangement: &str) -> usize {
        let here = self.places.get(&(scenario, arrangement));
        here.map_or(0, |rounds| rounds.values().filter(|why| why.is_some()).count())
    }

    /// Why rounds do not count, as a sentence; `None` if all do.
    pub fn sentence(&self) -> Option<String> {
        let (counting, all) = self.counting()?;
        let mut rounds = self.places.iter().flat_map(|(place, rounds)| rounds.iter().map(move |one| (place, one)));
        let one = rounds.find_map(|((scenario, arrangement), ((generation, round), why))| {
            let why = why.as_ref()?;
            Some(format!(
                "generation {generation}, round {round} of {} on {}: {why}",
                plain(scenario),
                plain(arrangement)
            ))
        })?;
        let missing = all - counting;
        let do_not = if missing == 1 { "does not" } else { "do not" };
        Some(format!(
            "{missing} of {all} rounds {do_not} count, because the cores were busy or slow. For example {one}."
        ))
    }

    /// Whether fewer than half of the run's rounds count, so that it gives no verdict.
    pub fn are_too_few(&self) -> bool {
        self.counting().is_some_and(|(counting, all)| 2 * counting < all)
    }

    /// Whether fewer than a third of the rounds here count although half of the run's do: in one table that share varies by chance,
    /// because the rounds of a generation lie within seconds. In a run with too few it is half here, too.
    fn are_too_few_in(&self, place: Where<'_>) -> bool {
        self.too_few.contains(&place)
    }

    /// Whether there is no verdict on this scenario in this arrangement.
    pub(crate) fn withhold(&self, place: Place) -> bool {
        self.are_too_few() || self.are_too_few_in((&place.scenario.name, &place.arrangement.id))
    }

    /// Whether the cell's figures have no part in the table: its round does not count, and enough others do.
    pub(crate) fn leave_out(&self, cell: &Cell) -> bool {
        let rounds = self.places.get(&place(cell)).filter(|_| !self.are_too_few_in(place(cell)));
        rounds.zip(cell.round).and_then(|(rounds, round)| rounds.get(&(cell.block, round))).is_some_and(Option::is_some)
    }
}

fn place(cell: &Cell) -> Where<'_> {
    (&cell.scenario, &cell.arrangement)
}

/// Whether the server is a real one on this machine: it works on after a round, so the loop tells of the server and not of others.
fn works_on(run: &Run, cells: &[Cell]) -> bool {
    !run.plan.target.embedded && cells.iter().any(|cell| cell.get(SERVER_CPU).is_some())
}

/// The highest speed of the loop on each core of an arrangement.
fn best(cells: &[Cell]) -> BTreeMap<(&str, u32), f64> {
    let mut best = BTreeMap::new();
    for cell in cells {
        let Some(RoundCores::Found { loops, .. }) = &cell.cores else { continue };
        for CoreLoop { core, before, after } in loops {
            let speed: &mut f64 = best.entry((cell.arrangement.as_str(), *core)).or_default();
            *speed = speed.max(*before).max(*after);
        }
    }
    best
}

/// Why the cores were busy or slow, as the rest of a sentence; `None` if they were not.
fn missing(cores: &RoundCores, share: f64, best: impl Fn(u32) -> Option<f64>) -> Option<String> {
    let (loops, wall_s, used_s) = match cores {
        RoundCores::Unknown { unavailable } => return Some(plain(unavailable.trim_end_matches('.'))),
        RoundCores::Found { loops, wall_s, others_s, steal_s } => (loops, *wall_s, others_s + steal_s),
    };
    let used = used_s / (wall_s * loops.len() as f64);
    // Without cores, or without time, it is no number.
    if !(used < share || used_s <= RESOLUTION_SECONDS) {
        return Some(format!("others used {:.0} % of the cores", used * 100.0));
    }
    let share = |one: &CoreLoop| best(one.core).map(|best| (one.core, (one.before + one.after) / (2.0 * best)));
    let shares: Vec<(u32, f64)> = loops.iter().filter_map(share).collect();
    let mean = shares.iter().map(|(_, share)| share).sum::<f64>() / shares.len().max(1) as f64;
    let slowest = shares.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let said = |which: String, share: f64| {
        format!("{which} the calibration loop had {:.0} % of its best speed", (share * 100.0).floor())
    };
    match slowest {
        Some((core, share)) if share < SPEED_OF_ONE => Some(said(format!("on core {core}"), share)),
        Some(_) if mean < SPEED => Some(said("on all cores together".to_owned(), mean)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
    use crate::{Analysis, Look, Measure, SummaryRow, TurnsInfo, Unit, Verdict, sample};

    const QUIET: f64 = 100.0;

    fn loops(before: [f64; 2], after: [f64; 2]) -> Vec<CoreLoop> {
        (0..2u8)
            .map(|core| CoreLoop { core: core.into(), before: before[core as usize], after: after[core as usize] })
            .collect()
    }

    /// A round of a second on two cores.
    fn found(loops: Vec<CoreLoop>, others_s: f64, steal_s: f64) -> RoundCores {
        RoundCores::Found { loops, wall_s: 1.0, others_s, steal_s }
    }

    fn quiet() -> RoundCores {
        found(loops([QUIET; 2], [QUIET; 2]), 0.02, 0.0)
    }

    fn busy() -> RoundCores {
        found(loops([QUIET; 2], [QUIET; 2]), 0.96, 0.0)
    }

    /// The sample in 12 generations of two rounds, of which each has the cores that `of` gives for its scenario, generation and round.
    fn turns(of: impl Fn(&str, u32, u32) -> RoundCores) -> (Run, Vec<Cell>) {
        let (mut run, cells) = sample::blocks(12);
        (run.plan.noise_share, run.plan.turns) = (Some(0.1), Some(TurnsInfo { count: 50_000, rounds: 2 }));
        let turn = |cell: &Cell, round: u32| {
            let is_last = cell.contender == "noop";
            let cores = is_last.then(|| of(&cell.scenario, cell.block, round));
            Cell { round: Some(round), more: round == 1, cores, ..cell.clone() }
        };
        let (timing, others): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.pass == Pass::Timing);
        let turns = timing.iter().flat_map(|cell| [turn(cell, 1), turn(cell, 2)]);
        (run, turns.chain(others).collect())
    }

    fn text(format: &str, analysis: &Analysis) -> String {
        crate::exporter(format).unwrap().one(analysis, Look::default()).unwrap()
    }

    fn row<'a>(analysis: &'a Analysis, scenario: &str, contender: &str) -> &'a SummaryRow {
        let is = |row: &&SummaryRow| (row.scenario.as_str(), row.contender.as_str()) == (scenario, contender);
        analysis.rows().iter().filter(is).find(|row| row.meter == CPU_PER_STATEMENT).unwrap()
    }

    #[test]
    fn the_cores_were_there_if_no_loop_was_slow_and_others_used_little() {
        let why = |cores: &RoundCores| missing(cores, 0.1, |_| Some(QUIET));
        let quietly = |before, after| found(loops(before, after), 0.02, 0.0);
        for there in [
            quiet(),
            quietly([90.0, 90.0], [90.0, 90.0]),
            quietly([50.0, 100.0], [100.0, 110.0]),
            quietly([75.0, 105.0], [75.0, 105.0]),
            found(loops([QUIET; 2], [QUIET; 2]), 0.1, 0.09),
            // A tenth of 0.2 s of two cores is less than what the kernel's ticks resolve.
            RoundCores::Found { loops: loops([QUIET; 2], [QUIET; 2]), wall_s: 0.2, others_s: 0.03, steal_s: 0.02 },
        ] {
            assert_eq!(why(&there), None, "{there:?}");
        }
        let slow = |which: &str| Some(format!("on {which} the calibration loop had 89 % of its best speed"));
        assert_eq!(why(&quietly([58.0, 100.0], [100.0; 2])), slow("all cores together"), "before the round");
        assert_eq!(why(&quietly([100.0; 2], [80.0, 79.0])), slow("all cores together"), "after it");
        let lost = "on core 1 the calibration loop had 74 % of its best speed";
        assert_eq!(why(&quietly([120.0, 74.0], [120.0, 75.0])).as_deref(), Some(lost), "one of them");
        let used = |others, steal| why(&found(loops([QUIET; 2], [QUIET; 2]), others, steal));
        assert_eq!(used(0.2, 0.0).as_deref(), Some("others used 10 % of the cores"));
        assert_eq!(used(0.0, 0.3).as_deref(), Some("others used 15 % of the cores"));
        assert_eq!(used(0.12, 0.12).as_deref(), Some("others used 12 % of the cores"));
        let unknown = RoundCores::Unknown { unavailable: "The loop cannot run on core 1: EPERM.".to_owned() };
        assert_eq!(why(&unknown).as_deref(), Some("The loop cannot run on core 1: EPERM"));
        assert!(why(&found(Vec::new(), 1.0, 0.0)).is_some(), "no core");
    }

    #[test]
    fn a_loop_is_compared_with_its_best_on_the_same_core_in_the_same_arrangement_of_the_run() {
        // Core 1 is another kind of core.
        let unlike = |first: f64| found(loops([first, 40.0], [first, 40.0]), 0.0, 0.0);
        let (run, cells) = turns(|_, _, _| unlike(100.0));
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((48, 48)));
        let (mut run, mut cells) =
            turns(|_, block, round| unlike(if (block, round) == (7, 2) { 150.0 } else { 100.0 }));
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((2, 48)), "one round of each scenario is the best");
        let fast = cells.iter_mut().filter(|cell| (cell.block, cell.round) == (7, Some(2)));
        fast.for_each(|cell| cell.arrangement = "current".to_owned());
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((48, 48)), "elsewhere more cores may be at work");
        run.plan.noise_share = None;
        assert_eq!(CountedRounds::of(&run, &cells).counting(), None, "nobody asked");
    }

    #[test]
    fn a_real_server_on_this_machine_may_slow_the_loop_and_others_may_not() {
        let half = || found(loops([50.0; 2], [QUIET; 2]), 0.02, 0.0);
        let (mut run, mut cells) = turns(|_, block, round| match (block, round) {
            (7, 2) => busy(),
            (1, _) => quiet(),
            _ => half(),
        });
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((4, 48)));
        run.plan.target.embedded = false;
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((46, 48)));
        cells.iter_mut().for_each(|cell| drop(cell.measures.remove(SERVER_CPU)));
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((4, 48)), "it is on another machine");
    }

    #[test]
    fn of_a_generation_that_broke_off_only_the_attempt_that_counts_has_rounds() {
        let (run, mut cells) = turns(|_, _, _| quiet());
        let torn = cells.iter().filter(|cell| cell.block == 3 && cell.round == Some(1)).cloned();
        let torn: Vec<Cell> = torn.map(|cell| Cell { cores: cell.cores.as_ref().map(|_| busy()), ..cell }).collect();
        cells.iter_mut().filter(|cell| cell.block == 3).for_each(|cell| cell.attempt = 2);
        cells.splice(0..0, torn);
        assert_eq!(CountedRounds::of(&run, &cells).counting(), Some((48, 48)));
    }

    /// As if cdrs-tokio cost three times as much with less than the cores, and served a third.
    fn moved(cells: &mut [Cell], is: impl Fn(&Cell) -> bool) {
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && is(cell)) {
            for (id, factor, unit) in
                [(CPU_PER_STATEMENT, 3.0, Unit::Microseconds), (THROUGHPUT, 1.0 / 3.0, Unit::PerSecond)]
            {
                let value = cell.get(id).unwrap() * factor;
                cell.measures.insert(id.to_owned(), Measure::value(value, unit));
            }
        }
    }

    #[test]
    fn levels_ratios_and_verdicts_rest_on_the_rounds_that_count_alone() {
        let is_busy = |block: u32, round: u32| round == 1 && block.is_multiple_of(2);
        let of = |_: &str, block, round| if is_busy(block, round) { busy() } else { quiet() };
        let (run, clean) = turns(of);
        let mut cells = clean.clone();
        moved(&mut cells, |cell| cell.round.is_some_and(|round| is_busy(cell.block, round)));
        let [before, after] = [&clean, &cells].map(|cells| Analysis::new(&run, cells));
        assert_eq!(before.rounds().counting(), Some((36, 48)));
        assert_eq!(before.rows(), after.rows());
        let cdrs = row(&after, "writes", "cdrs-tokio");
        assert_eq!((cdrs.verdict, cdrs.n, cdrs.blocks), (Some(Verdict::Dearer), 18, Some(12)));
        assert!(after.warnings().is_empty() && !after.has_too_few_rounds(), "{:?}", after.warnings());
        let (run, mut all) = turns(|_, _, _| quiet());
        moved(&mut all, |cell| cell.round.is_some_and(|round| is_busy(cell.block, round)));
        assert_ne!(Analysis::new(&run, &all).rows(), after.rows(), "where they count they are seen");
        let text = text("table", &after);
        assert!(text.contains("\n36 of 48 rounds count; in the others the cores were busy or slow.\n"), "{text}");
        let said = "rounds    36 of 48 count. 12 of 48 rounds do not count, because the cores were busy or slow. For example generation 2, \
                    round 1 of reads on multi:2: others used 48 % of the cores.";
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(&words(said)), "{text}");
    }

    #[test]
    fn a_turn_that_is_void_voids_its_row_whether_or_not_its_round_counts() {
        let (run, mut cells) = turns(|_, block, _| if block == 1 { busy() } else { quiet() });
        let of = |cell: &&mut Cell| cell.contender == "cdrs-tokio" && cell.block == 1 && cell.scenario == "writes";
        cells.iter_mut().find(of).unwrap().void = Some("A statement failed.".to_owned());
        assert_eq!(
            row(&Analysis::new(&run, &cells), "writes", "cdrs-tokio").void.as_deref(),
            Some("A statement failed.")
        );
    }

    #[test]
    fn with_fewer_than_half_of_the_rounds_a_run_has_figures_a_warning_on_the_first_line_and_no_verdict() {
        let verdicts = |busy_rounds: u32| {
            let (run, cells) =
                turns(|_, block, round| if 2 * block + round < 3 + busy_rounds { busy() } else { quiet() });
            let analysis = Analysis::new(&run, &cells);
            let rows = analysis.rows().iter().filter(|row| row.contender == "cdrs-tokio" && row.is_primary());
            assert!(rows.clone().all(|row| row.median.is_some() && row.ratio.is_some()));
            let rows: Vec<_> = rows.map(|row| (row.interval.is_some(), row.verdict)).collect();
            let first = |format: &str| text(format, &analysis).lines().next().unwrap().to_owned();
            (rows, ["table", "time", "markdown"].map(first), analysis.findings().to_vec())
        };
        let (rows, first, _) = verdicts(8);
        assert_eq!(rows, [(true, Some(Verdict::Dearer)); 2], "16 of 24 count");
        assert!(first.iter().all(|line| !line.contains("Warning")), "{first:?}");
        let (rows, _, findings) = verdicts(12);
        assert_eq!(rows, [(false, None); 2], "half is enough, but six generations are not");
        assert!(
            findings[0].contains("and there are 6; 12 rounds do not, because the cores were busy or slow."),
            "{findings:?}"
        );
        let (rows, first, findings) = verdicts(13);
        assert_eq!(rows, [(true, Some(Verdict::TooNoisy)); 2]);
        let why = "26 of 48 rounds do not count, because the cores were busy or slow. For example generation 1, round 1 of reads on multi:2: \
                   others used 48 % of the cores.";
        // A line of 160 columns has no room for its last word.
        assert!(first[..2].iter().all(|line| format!("Warning: {why}") == format!("{line} cores.")), "{first:?}");
        assert!(first[2].starts_with("> **Warning.** 26 of 48 rounds do not count"), "{}", first[2]);
        assert_eq!(
            findings,
            ["This run gives no verdict. Fewer than half of its rounds count; run it again on a quiet machine."]
        );
    }

    #[test]
    fn a_table_with_fewer_than_a_third_of_its_rounds_has_no_verdict_and_the_others_keep_theirs() {
        let verdicts = |is_busy: fn(u32, u32) -> bool, counting| {
            let of = |scenario: &str, block, round| match scenario == "reads" && is_busy(block, round) {
                true => busy(),
                false => quiet(),
            };
            let (run, cells) = turns(of);
            let analysis = Analysis::new(&run, &cells);
            assert_eq!(analysis.rounds().counting(), Some((counting, 48)));
            assert!(!analysis.has_too_few_rounds());
            ["writes", "reads"].map(|scenario| row(&analysis, scenario, "cdrs-tokio").verdict)
        };
        let dearer = Some(Verdict::Dearer);
        assert_eq!(verdicts(|block, _| block > 3, 30), [dearer, Some(Verdict::TooNoisy)]);
        assert_eq!(verdicts(|block, round| round == 2 || block > 8, 32), [dearer; 2], "8 of 24 in 8 generations");
    }

    #[test]
    fn who_took_no_turn_in_a_round_that_counts_has_no_figure_and_the_reason() {
        let (run, mut cells) = turns(|_, _, round| if round == 1 { busy() } else { quiet() });
        cells.retain(|cell| cell.contender != "floor" || cell.round != Some(2));
        cells.iter_mut().filter(|cell| cell.contender == "floor").for_each(|cell| cell.more = false);
        let analysis = Analysis::new(&run, &cells);
        let floor = row(&analysis, "writes", "floor");
        assert_eq!((floor.median, floor.n), (None, 0));
        assert_eq!(
            floor.unavailable.as_deref(),
            Some("None of its rounds counts, because the cores were busy or slow.")
        );
    }

    #[test]
    fn a_run_in_turns_of_before_is_judged_by_its_disturbed_turns_as_it_was() {
        let (run, mut cells) = turns(|_, _, _| quiet());
        let disturbed = |cell: &&mut Cell| cell.scenario == "writes" && cell.block > 5;
        cells.iter_mut().for_each(|cell| cell.cores = None);
        cells.iter_mut().filter(disturbed).for_each(|cell| cell.noisy = Some("Others used 30 %.".to_owned()));
        let analysis = Analysis::new(&run, &cells);
        assert_eq!((analysis.rounds().counting(), analysis.rounds().sentence()), (None, None));
        let verdict = |scenario| row(&analysis, scenario, "cdrs-tokio").verdict;
        assert_eq!((verdict("writes"), verdict("reads")), (Some(Verdict::TooNoisy), Some(Verdict::Dearer)));
        assert_eq!(
            analysis.warnings(),
            ["7 of 24 generations of all scenarios and arrangements were disturbed; prefer a quiet machine."]
        );
    }
}
