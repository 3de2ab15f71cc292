//! Which rounds count: those in which nobody else used the cores, and the machine was as quick as it often is.
//!
//! With fewer cores than a round should have, the threads of a driver meet in other ways. On a slow machine all drivers cost more, but not
//! alike, so ratios move towards 1. Both make such a round one about another machine. No contender's CPU time has a part in this rule. It
//! looks at the kernel's account of what others used, and at a witness. The witness is the server: it does the same for every statement,
//! and no single driver moves the median over the drivers of a round. With fewer than three drivers, or a server that is not ours, the
//! witness is floor. It takes short turns between those of the contenders on a node of its own.

use std::collections::{BTreeMap, BTreeSet};

use crate::attempts::Attempts;
use crate::measure::SERVER_CPU_PER_STATEMENT;
use crate::row::reference;
use crate::{Cell, Pass, Place, Role, RoundCores, Run, median, plain};

/// A round does not count if the server costs more than so many times what it costs in the quick rounds of the same table. On 2026-11-26 a
/// tenth of the rounds did in a run with a slow half minute, and the server's cost explained 20 to 40 % of what turns cost.
const SLOW_SERVER: f64 = 1.2;
/// Where floor is the witness. In an ordinary hour it costs up to three times as much, because of how threads wake each other, and then
/// ratios do not follow it.
const SLOW_FLOOR: f64 = 3.0;
/// One driver could move the median of fewer.
const LEAST_DRIVERS: usize = 3;
/// The quick rounds' witness is this quantile of all.
const QUICK: f64 = 0.2;
/// This share of the rounds that had their cores counts in any case, the quickest first.
const KEPT: f64 = 0.5;
/// Scenario and arrangement.
type Where<'a> = (&'a str, &'a str);
/// What a witness costs, by generation and round.
type Costs = BTreeMap<(u32, u32), f64>;

/// Why a round does not count, as the rest of a sentence.
#[derive(Clone, Debug, PartialEq)]
enum Why {
    /// Others used the cores, or nobody knows.
    Busy(String),
    /// The machine was slow.
    Slow(String),
}

/// The rounds of a run in the attempts that count.
#[derive(Clone, Debug, Default)]
pub struct CountedRounds<'a> {
    /// By generation and round: why it does not count.
    places: BTreeMap<Where<'a>, BTreeMap<(u32, u32), Option<Why>>>,
    /// Where others used the cores in more than two thirds of the rounds although they did not in half of the run's: in one table that
    /// share varies by chance, because the rounds of a generation lie within seconds. In a run with too few it is half here, too.
    too_few: BTreeSet<Where<'a>>,
}

impl<'a> CountedRounds<'a> {
    /// Those of the run's turns; none if it did not look at the cores.
    pub fn of(run: &Run, cells: &'a [Cell]) -> CountedRounds<'a> {
        let mut found = CountedRounds::default();
        let Some(share) = run.plan.noise_share else { return found };
        let attempts = Attempts::of(cells);
        let mut witnesses: BTreeMap<Where<'_>, Costs> = BTreeMap::new();
        let servers = if run.plan.target.embedded { servers(run, cells, &attempts) } else { BTreeMap::new() };
        for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing && attempts.is_last(cell)) {
            let (Some(round), Some(cores)) = (cell.round, &cell.cores) else { continue };
            let why = cores.busy(share).map(Why::Busy);
            let at = (cell.block, round);
            if let (None, RoundCores::Found { witness_us: Some(witness), .. }) = (&why, cores) {
                witnesses.entry(place(cell)).or_default().insert(at, *witness);
            }
            found.places.entry(place(cell)).or_default().insert(at, why);
        }
        for (place, witnesses) in witnesses {
            let rounds = found.places.entry(place).or_default();
            // Where contenders live one after the other, a later one may have found its round busy.
            let is_free = |at: &(u32, u32)| rounds.get(at).is_none_or(Option::is_none);
            let floor: Costs = witnesses.into_iter().filter(|(at, _)| is_free(at)).collect();
            // A round without one of its turns has no median.
            let server = servers.get(&place).into_iter().flatten().filter(|(at, _)| floor.contains_key(*at));
            let server: Costs = server.map(|(at, cost)| (*at, *cost)).collect();
            let (who, limit, costs) = match server.is_empty() {
                true => ("floor", SLOW_FLOOR, &floor),
                false => ("the server", SLOW_SERVER, &server),
            };
            let slow: Vec<_> = slow(costs, limit).collect();
            rounds.extend(slow.into_iter().map(|(at, times)| {
                (at, Some(Why::Slow(format!("{who} cost {times:.2} times what it cost in quick rounds"))))
            }));
        }
        // Each cell is asked about its place, so that is known once.
        let most = if found.are_too_few() { 1.0 / 2.0 } else { 2.0 / 3.0 };
        let are_too_few = |rounds: &BTreeMap<_, _>| {
            let (busy, all) = busy_of(rounds);
            busy as f64 > most * all as f64
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
            let (Why::Busy(why) | Why::Slow(why)) = why.as_ref()?;
            Some(format!(
                "generation {generation}, round {round} of {} on {}: {why}",
                plain(scenario),
                plain(arrangement)
            ))
        })?;
        let missing = all - counting;
        let do_not = if missing == 1 { "does not" } else { "do not" };
        Some(format!("{missing} of {all} rounds {do_not} count, because {}. For example {one}.", self.because()))
    }

    /// What is wrong with the rounds that do not count, as a clause.
    pub(crate) fn because(&self) -> &'static str {
        let has = |is: fn(&Why) -> bool| self.places.values().flat_map(BTreeMap::values).flatten().any(is);
        match (has(|why| matches!(why, Why::Busy(_))), has(|why| matches!(why, Why::Slow(_)))) {
            (true, true) => "the cores were busy or the machine was slow",
            (false, true) => "the machine was slow",
            _ => "the cores were busy",
        }
    }

    /// Whether others used the cores in more than half of the run's rounds, so that it gives no verdict.
    pub fn are_too_few(&self) -> bool {
        let (busy, all) = self.places.values().map(busy_of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        2 * busy > all
    }

    /// Whether there is no verdict on this scenario in this arrangement.
    pub(crate) fn withhold(&self, place: Place) -> bool {
        self.are_too_few() || self.too_few.contains(&(&*place.scenario.name, &*place.arrangement.id))
    }

    /// Whether the cell's figures have no part in the table: its round does not count, and enough others do.
    pub(crate) fn leave_out(&self, cell: &Cell) -> bool {
        let rounds = self.places.get(&place(cell)).filter(|_| !self.too_few.contains(&place(cell)));
        rounds.zip(cell.round).and_then(|(rounds, round)| rounds.get(&(cell.block, round))).is_some_and(Option::is_some)
    }
}

/// How many of some rounds others disturbed, and how many there are.
fn busy_of(rounds: &BTreeMap<(u32, u32), Option<Why>>) -> (usize, usize) {
    (rounds.values().filter(|why| matches!(why, Some(Why::Busy(_)))).count(), rounds.len())
}

fn place(cell: &Cell) -> Where<'_> {
    (&cell.scenario, &cell.arrangement)
}

/// What a statement costs the server in each round of a table: the median over the drivers, each beside its own quick turns, because the
/// server's cost depends on how a driver batches. The reference and its control are one driver. Rounds of fewer than [`LEAST_DRIVERS`]
/// have none.
fn servers<'a>(run: &Run, cells: &'a [Cell], attempts: &Attempts<'_>) -> BTreeMap<Where<'a>, Costs> {
    let mut turns: BTreeMap<Where<'_>, BTreeMap<&str, Costs>> = BTreeMap::new();
    let is_driver = |cell: &Cell| run.contender(&cell.contender).is_some_and(|one| one.role == Role::Driver);
    let reference = reference(run).map_or("", |reference| &reference.id);
    let is_control = |contender: &str| run.contender(contender).is_some_and(|one| one.control);
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing && attempts.is_last(cell) && is_driver(cell)) {
        if let Some((round, cost)) = cell.round.zip(cell.get(SERVER_CPU_PER_STATEMENT)) {
            let here = turns.entry(place(cell)).or_default().entry(&cell.contender).or_default();
            here.insert((cell.block, round), cost);
        }
    }
    let of_place = |turns: BTreeMap<&str, Costs>| {
        let mut rounds: BTreeMap<(u32, u32), BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
        for (contender, costs) in turns {
            let quick = quantile(costs.values().copied(), QUICK);
            for (at, cost) in costs {
                let driver = if is_control(contender) { reference } else { contender };
                rounds.entry(at).or_default().entry(driver).or_default().push(cost / quick);
            }
        }
        rounds.retain(|_, drivers| drivers.len() >= LEAST_DRIVERS);
        let mean = |costs: Vec<f64>| costs.iter().sum::<f64>() / costs.len() as f64;
        let of_round =
            |drivers: BTreeMap<&str, Vec<f64>>| median(&mut drivers.into_values().map(mean).collect::<Vec<_>>());
        rounds.into_iter().filter_map(|(at, drivers)| Some((at, of_round(drivers)?))).collect()
    };
    turns.into_iter().map(|(place, turns)| (place, of_place(turns))).collect()
}

/// Infinite without any.
fn quantile(costs: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = costs.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or(f64::INFINITY)
}

/// The rounds of a table whose witness cost more than `limit` times what it did in quick ones, and how many times that was.
fn slow(costs: &Costs, limit: f64) -> impl Iterator<Item = ((u32, u32), f64)> {
    let at = |share: f64| quantile(costs.values().copied(), share);
    let quick = at(QUICK);
    let most = (limit * quick).max(at(KEPT));
    costs.iter().filter(move |(_, cost)| **cost > most).map(move |(at, cost)| (*at, cost / quick))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
    use crate::{Analysis, Look, Measure, SummaryRow, TurnsInfo, Unit, Verdict, sample};

    /// A round of a second on two cores.
    fn found(witness_us: f64, others_s: f64, steal_s: f64) -> RoundCores {
        let witness_us = Some(witness_us);
        RoundCores::Found { cores: 2, host: None, wall_s: 1.0, others_s, steal_s, witness_us }
    }

    fn quiet() -> RoundCores {
        found(1.0, 0.02, 0.0)
    }

    fn disturbed() -> RoundCores {
        found(1.0, 0.96, 0.0)
    }

    /// The sample in 12 generations of two rounds, of which each has the cores that `of` gives for its scenario, generation and round.
    pub(crate) fn turns(of: impl Fn(&str, u32, u32) -> RoundCores) -> (Run, Vec<Cell>) {
        let (mut run, cells) = sample::blocks(12);
        (run.plan.noise_share, run.plan.turns) = (Some(0.1), TurnsInfo { count: 50_000, rounds: 2 });
        let turn = |cell: &Cell, round: u32| {
            let is_last = cell.contender == "noop";
            let cores = is_last.then(|| of(&cell.scenario, cell.block, round));
            Cell { round: Some(round), more: round == 1, cores, ..cell.clone() }
        };
        let (timing, others): (Vec<Cell>, Vec<Cell>) = cells.into_iter().partition(|cell| cell.pass == Pass::Timing);
        let turns = timing.iter().flat_map(|cell| [turn(cell, 1), turn(cell, 2)]);
        (run, turns.chain(others).collect())
    }

    /// Gives each round its cores, which other processes used if they disturbed one of its turns.
    pub(crate) fn disturb(run: &mut Run, cells: &mut [Cell], is_disturbed: impl Fn(&Cell) -> bool) {
        run.plan.noise_share = Some(0.1);
        let mut rounds = BTreeMap::new();
        for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.pass == Pass::Timing) {
            let place = (cell.scenario.clone(), cell.arrangement.clone(), cell.block, cell.round);
            let (last, is_any) = rounds.entry(place).or_insert((at, false));
            (*last, *is_any) = (at, *is_any || is_disturbed(cell));
        }
        for (last, is_any) in rounds.into_values() {
            cells[last].cores = Some(if is_any { disturbed() } else { quiet() });
        }
    }

    fn text(format: &str, analysis: &Analysis) -> String {
        crate::exporter(format).unwrap().one(analysis, Look::default()).unwrap()
    }

    fn row<'a>(analysis: &'a Analysis, scenario: &str, contender: &str) -> &'a SummaryRow {
        let is = |row: &&SummaryRow| (row.scenario.as_str(), row.contender.as_str()) == (scenario, contender);
        analysis.rows.iter().filter(is).find(|row| row.meter == CPU_PER_STATEMENT).unwrap()
    }

    #[test]
    fn the_cores_were_there_if_others_used_little() {
        let why = |cores: &RoundCores| cores.busy(0.1);
        let short = found(1.0, 0.03, 0.02);
        let RoundCores::Found { cores, others_s, steal_s, witness_us, .. } = short else { panic!() };
        for there in [
            quiet(),
            found(1.0, 0.1, 0.09),
            // A tenth of 0.2 s of two cores is less than what the kernel's ticks resolve.
            RoundCores::Found { cores, host: None, wall_s: 0.2, others_s, steal_s, witness_us },
        ] {
            assert_eq!(why(&there), None, "{there:?}");
        }
        let used = |others, steal| why(&found(1.0, others, steal));
        assert_eq!(used(0.2, 0.0).as_deref(), Some("others used 10 % of the cores"));
        assert_eq!(used(0.0, 0.3).as_deref(), Some("others used 15 % of the cores"));
        assert_eq!(used(0.12, 0.12).as_deref(), Some("others used 12 % of the cores"));
        let there =
            RoundCores::Found { cores, host: Some("n2".to_owned()), wall_s: 1.0, others_s: 1.0, steal_s, witness_us };
        assert_eq!(why(&there).as_deref(), Some("others used 51 % of the cores of n2"));
        let unknown = RoundCores::Unknown { unavailable: "Floor was not built.".to_owned() };
        assert_eq!(why(&unknown).as_deref(), Some("Floor was not built"));
        let none =
            RoundCores::Found { cores: 0, host: None, wall_s: 1.0, others_s: 1.0, steal_s: 0.0, witness_us: None };
        assert!(why(&none).is_some(), "no core");
    }

    /// The same with a third driver, and what a statement costs the server in a contender's turn of a generation; nobody knows where it
    /// costs nothing.
    fn served((mut run, mut cells): (Run, Vec<Cell>), cost: impl Fn(&str, u32) -> f64) -> (Run, Vec<Cell>) {
        let third = run.contender("cdrs-tokio").unwrap().clone();
        run.contenders.push(crate::Contender { id: "third".to_owned(), label: "third".to_owned(), ..third });
        let more = cells.iter().filter(|cell| cell.contender == "cdrs-tokio");
        let more: Vec<Cell> = more.map(|cell| Cell { contender: "third".to_owned(), ..cell.clone() }).collect();
        cells.extend(more);
        for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing) {
            let cost = Some(cost(&cell.contender, cell.block)).filter(|cost| *cost > 0.0);
            let unknown = || Measure::unavailable("The server is not ours.");
            let measure = cost.map_or_else(unknown, |cost| Measure::value(cost, Unit::Microseconds));
            cell.measures.insert(SERVER_CPU_PER_STATEMENT.to_owned(), measure);
        }
        (run, cells)
    }

    #[test]
    fn a_round_counts_unless_the_server_is_slow_beside_the_quick_ones_whatever_floor_says_and_one_driver_moves_nothing()
    {
        let of = |cost: &dyn Fn(&str, u32) -> f64| {
            let (run, cells) = served(turns(|_, block, _| found(f64::from(block), 0.02, 0.0)), cost);
            let rounds = CountedRounds::of(&run, &cells);
            (rounds.counting(), rounds.sentence())
        };
        let level = |who: &str| if who.starts_with("scylla") { 0.2 } else { 0.5 };
        let slow = |times: f64| move |who: &str, block: u32| if block > 9 { times * level(who) } else { level(who) };
        assert_eq!(of(&slow(1.0)).0, Some((48, 48)));
        assert_eq!(of(&slow(1.19)).0, Some((48, 48)), "an ordinary hour");
        let (counting, said) = of(&slow(1.5));
        assert_eq!(counting, Some((36, 48)), "a slow quarter");
        assert!(said.unwrap().ends_with("the server cost 1.50 times what it cost in quick rounds."));
        let mine = |who: &str, block: u32| if who == "cdrs-tokio" { slow(3.0)(who, block) } else { level(who) };
        assert_eq!(of(&mine).0, Some((48, 48)), "its own doing");
        let base = |who: &str, block: u32| if who.starts_with("scylla") { slow(3.0)(who, block) } else { level(who) };
        assert_eq!(of(&base).0, Some((48, 48)), "the doing of the reference and its control, which are one driver");
    }

    #[test]
    fn where_the_server_tells_nothing_a_round_counts_unless_floor_is_slow_and_half_of_them_do_in_any_case() {
        let of = |witness: fn(u32, u32) -> f64| {
            let (run, cells) = served(turns(|_, block, round| found(witness(block, round), 0.02, 0.0)), |_, _| 0.0);
            CountedRounds::of(&run, &cells).counting()
        };
        assert_eq!(of(|_, _| 1.0), Some((48, 48)));
        assert_eq!(of(|block, _| if block > 9 { 2.9 } else { 1.0 }), Some((48, 48)), "an ordinary hour");
        assert_eq!(of(|block, _| if block > 9 { 3.1 } else { 1.0 }), Some((36, 48)), "a slow quarter");
        assert_eq!(of(|block, _| if block > 3 { f64::from(block) } else { 1.0 }), Some((28, 48)), "a slow hour");
        let (run, cells) = served(turns(|_, block, _| found(if block > 9 { 3.5 } else { 1.0 }, 0.02, 0.0)), |_, _| 0.0);
        let rounds = CountedRounds::of(&run, &cells);
        let said = rounds.sentence().unwrap();
        assert!(said.starts_with("12 of 48 rounds do not count, because the machine was slow. For example "), "{said}");
        assert!(said.ends_with("floor cost 3.50 times what it cost in quick rounds."), "{said}");
        assert!(!rounds.are_too_few(), "slow rounds are no reason to withhold a verdict");
    }

    #[test]
    fn of_a_generation_that_broke_off_only_the_attempt_that_counts_has_rounds() {
        let (run, mut cells) = turns(|_, _, _| quiet());
        let torn = cells.iter().filter(|cell| cell.block == 3 && cell.round == Some(1)).cloned();
        let torn: Vec<Cell> =
            torn.map(|cell| Cell { cores: cell.cores.as_ref().map(|_| disturbed()), ..cell }).collect();
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
        let of = |_: &str, block, round| if is_busy(block, round) { disturbed() } else { quiet() };
        let (run, clean) = turns(of);
        let mut cells = clean.clone();
        moved(&mut cells, |cell| cell.round.is_some_and(|round| is_busy(cell.block, round)));
        let [before, after] = [&clean, &cells].map(|cells| Analysis::new(&run, cells));
        assert_eq!(before.rounds.counting(), Some((36, 48)));
        assert_eq!(before.rows, after.rows);
        let cdrs = row(&after, "writes", "cdrs-tokio");
        assert_eq!((cdrs.verdict, cdrs.n, cdrs.blocks), (Some(Verdict::Dearer), 18, Some(12)));
        assert!(after.warnings.is_empty() && !after.has_too_few_rounds(), "{:?}", after.warnings);
        let (run, mut all) = turns(|_, _, _| quiet());
        moved(&mut all, |cell| cell.round.is_some_and(|round| is_busy(cell.block, round)));
        assert_ne!(Analysis::new(&run, &all).rows, after.rows, "where they count they are seen");
        let text = text("table", &after);
        assert!(text.contains("\n36 of 48 rounds count; in the others the cores were busy.\n"), "{text}");
        let said = "rounds    36 of 48 count. 12 of 48 rounds do not count, because the cores were busy. For example generation 2, \
                    round 1 of reads on multi:2: others used 48 % of the cores.";
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&text).contains(&words(said)), "{text}");
    }

    #[test]
    fn a_turn_that_is_void_voids_its_row_whether_or_not_its_round_counts() {
        let (run, mut cells) = turns(|_, block, _| if block == 1 { disturbed() } else { quiet() });
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
                turns(|_, block, round| if 2 * block + round < 3 + busy_rounds { disturbed() } else { quiet() });
            let analysis = Analysis::new(&run, &cells);
            let rows = analysis.rows.iter().filter(|row| row.contender == "cdrs-tokio" && row.is_primary());
            assert!(rows.clone().all(|row| row.median.is_some() && row.ratio.is_some()));
            let rows: Vec<_> = rows.map(|row| (row.interval.is_some(), row.verdict)).collect();
            let first = |format: &str| text(format, &analysis).lines().next().unwrap().to_owned();
            (rows, ["table", "time", "markdown"].map(first), analysis.findings.to_vec())
        };
        let (rows, first, _) = verdicts(8);
        assert_eq!(rows, [(true, Some(Verdict::Dearer)); 2], "16 of 24 count");
        assert!(first.iter().all(|line| !line.contains("Warning")), "{first:?}");
        let (rows, _, findings) = verdicts(12);
        assert_eq!(rows, [(false, None); 2], "half is enough, but six generations are not");
        assert!(findings[0].contains("and there are 6; 12 rounds do not. `--notes` says why"), "{findings:?}");
        let (rows, first, findings) = verdicts(13);
        assert_eq!(rows, [(true, Some(Verdict::TooNoisy)); 2]);
        let why = "26 of 48 rounds do not count, because the cores were busy. For example generation 1, round 1 of reads on multi:2: \
                   others used 48 % of the cores.";
        assert!(first[..2].iter().all(|line| *line == format!("Warning: {why}")), "{first:?}");
        assert!(first[2].starts_with("> **Warning.** 26 of 48 rounds do not count"), "{}", first[2]);
        assert_eq!(
            findings,
            [
                "This run gives no verdict. Other processes used the cores in more than half of its rounds; run it again when they have ended."
            ]
        );
    }

    #[test]
    fn a_table_with_fewer_than_a_third_of_its_rounds_has_no_verdict_and_the_others_keep_theirs() {
        let verdicts = |is_busy: fn(u32, u32) -> bool, counting| {
            let of = |scenario: &str, block, round| match scenario == "reads" && is_busy(block, round) {
                true => disturbed(),
                false => quiet(),
            };
            let (run, cells) = turns(of);
            let analysis = Analysis::new(&run, &cells);
            assert_eq!(analysis.rounds.counting(), Some((counting, 48)));
            assert!(!analysis.has_too_few_rounds());
            ["writes", "reads"].map(|scenario| row(&analysis, scenario, "cdrs-tokio").verdict)
        };
        let dearer = Some(Verdict::Dearer);
        assert_eq!(verdicts(|block, _| block > 3, 30), [dearer, Some(Verdict::TooNoisy)]);
        assert_eq!(verdicts(|block, round| round == 2 || block > 8, 32), [dearer; 2], "8 of 24 in 8 generations");
    }

    #[test]
    fn who_took_no_turn_in_a_round_that_counts_has_no_figure_and_the_reason() {
        let (run, mut cells) = turns(|_, _, round| if round == 1 { disturbed() } else { quiet() });
        cells.retain(|cell| cell.contender != "floor" || cell.round != Some(2));
        cells.iter_mut().filter(|cell| cell.contender == "floor").for_each(|cell| cell.more = false);
        let analysis = Analysis::new(&run, &cells);
        let floor = row(&analysis, "writes", "floor");
        assert_eq!((floor.median, floor.n), (None, 0));
        assert_eq!(floor.unavailable.as_deref(), Some("None of its rounds counts, because the cores were busy."));
    }
}
