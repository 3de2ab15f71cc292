//! What was found, in sentences.
//!
//! Every claim is read from verdicts, and names its arrangement unless it holds for all that ran.

use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{percent, three_digits};
use crate::ranking::Ranking;
use crate::row::Place;
use crate::{
    Analysis, ArrangementInfo, Contender, Run, ScenarioInfo, SummaryRow, Verdict, grouped, list, plain, short,
};

/// Why a run gives no verdict at all.
const TOO_FEW_ROUNDS: &str =
    "Other processes used the cores in more than half of its rounds; run it again when they have ended.";

/// The findings of a run, at least one: an entry per arrangement, and one about drivers without a verdict.
///
/// `doubt` is why verdicts are withheld, if they are.
pub(crate) fn findings(analysis: &Analysis, doubt: Option<&str>) -> Vec<String> {
    let run = analysis.run;
    if run.plan.exact {
        return vec!["This run counts and takes no times, so it calls nothing cheaper or dearer.".to_owned()];
    }
    if run.plan.faults {
        return vec!["Bad days show failures, not costs: there are no verdicts.".to_owned()];
    }
    let Some(reference) = analysis.reference else {
        return vec!["No driver took part, so there is nothing to compare.".to_owned()];
    };
    let drivers: Vec<&Contender> = run.drivers().filter(|one| one.id != reference.id).collect();
    let primary: Vec<&SummaryRow> = analysis.rows.iter().filter(|row| row.is_primary()).collect();
    if drivers.is_empty() {
        return vec![alone(run, reference, &primary)];
    }
    let has = |what: fn(&SummaryRow) -> bool| {
        primary.iter().any(|row| what(row) && drivers.iter().any(|one| one.id == row.contender))
    };
    if !has(|row| row.interval.is_some()) {
        let why = primary.iter().find_map(|row| row.no_interval.as_deref());
        let why = why.unwrap_or("No two drivers have figures that can be compared.");
        return vec![format!("This run calls no driver cheaper or dearer. {}", plain(why))];
    }
    if !has(|row| row.verdict.is_some_and(Verdict::holds)) {
        let why = match has(|row| row.verdict == Some(Verdict::TooNoisy)) {
            true => Some(TOO_FEW_ROUNDS),
            // The warning says why.
            false if !run.is_complete() => return vec!["This run gives no verdict.".to_owned()],
            false => doubt,
        };
        if let Some(why) = why {
            return vec![format!("This run gives no verdict. {}", plain(why))];
        }
    }
    let of = |one: &ArrangementInfo| (Story::of(analysis, one), plain(&one.id));
    let said = grouped(run.plan.arrangements.iter().map(of));
    let holds_for_all = said.len() == 1;
    let told = |(story, on): &(Story, Vec<String>)| story.told(run, (!holds_for_all).then(|| list(on)).as_deref());
    let mut findings: Vec<String> = said.iter().filter_map(told).collect();
    findings.extend(doubts(run, reference, &drivers, &primary));
    findings.extend(without_verdict(run, &drivers, &primary));
    if findings.is_empty() {
        findings.push("This run gives no verdict.".to_owned());
    }
    findings
}

fn alone(run: &Run, driver: &Contender, primary: &[&SummaryRow]) -> String {
    let of = |row: &&&SummaryRow| row.contender == driver.id;
    let costs = primary.iter().filter(of).filter_map(|row| Some((three_digits(row.level?), place(run, row))));
    let of_what = |nth: usize| if nth == 0 { " of CPU time per statement" } else { "" };
    let costs: Vec<String> =
        costs.enumerate().map(|(nth, (cost, place))| format!("{cost} us{} for {place}", of_what(nth))).collect();
    let name = short(run, driver);
    if costs.is_empty() {
        return format!("{name} has no figure that counts.");
    }
    format!("{name} needed {}.", list(&costs))
}

/// What the order of the drivers in one scenario says.
#[derive(PartialEq)]
enum Outcome {
    /// One of these is first, and others are behind.
    First(Vec<String>),
    /// Every interval lies within the band, of which this is the widest.
    Same(f64),
    /// No order is known.
    NoDifference,
}

impl Outcome {
    fn of(run: &Run, ranking: &Ranking) -> Option<Outcome> {
        if ranking.standings.len() < 2 {
            return None;
        }
        let first = ranking.first();
        Some(match first.len() < ranking.standings.len() {
            true => Outcome::First(first.into_iter().map(|one| short(run, one)).collect()),
            false if ranking.is_same() => Outcome::Same(ranking.band()),
            false => Outcome::NoDifference,
        })
    }

    /// The driver that is first alone.
    fn winner(&self) -> Option<&str> {
        match self {
            Outcome::First(names) if names.len() == 1 => names.first().map(String::as_str),
            _ => None,
        }
    }
}

/// Outcomes, each with the scenarios that it holds for.
type Outcomes = Vec<(Outcome, Vec<String>)>;

#[derive(PartialEq)]
struct Story {
    cpu: Outcomes,
    rate: Outcomes,
}

impl Story {
    fn of(analysis: &Analysis, arrangement: &ArrangementInfo) -> Story {
        let run = analysis.run;
        let of = |meter: &str| {
            let of = |scenario: &ScenarioInfo| {
                let place = Place { scenario, arrangement };
                let ranking = analysis.ranking(place, meter);
                // Nobody is said to have served most beside a driver whose rate has no verdict.
                let has_level = |one: &Contender| analysis.row(place, one, meter).and_then(|row| row.level).is_some();
                let is_open = meter == THROUGHPUT && run.drivers().any(|one| !ranking.has(one) && has_level(one));
                let outcome = Outcome::of(run, &ranking).filter(|_| !is_open)?;
                Some((outcome, plain(&scenario.name)))
            };
            grouped(run.scenarios.iter().filter_map(of))
        };
        Story { cpu: of(CPU_PER_STATEMENT), rate: of(THROUGHPUT) }
    }

    /// The story in two sentences, which begin with the arrangements `on` that they hold for.
    fn told(&self, run: &Run, on: Option<&str>) -> Option<String> {
        let (mut cpu, mut rate): (Vec<String>, Vec<String>) = Default::default();
        // What one driver won comes first.
        let (won, open): (Vec<_>, Vec<_>) = self.cpu.iter().partition(|(outcome, _)| outcome.winner().is_some());
        for (outcome, scenarios) in won.into_iter().chain(open) {
            let is_first = cpu.is_empty();
            let starts = is_first && on.is_none();
            let scenarios = list(scenarios);
            cpu.push(match outcome {
                Outcome::First(names) => {
                    let needed = if is_first { " needed the least CPU time" } else { "" };
                    let close = if names.len() == 1 { "" } else { ", too close to call" };
                    format!("{}{needed} for {scenarios}{close}", list(names))
                }
                Outcome::Same(band) => {
                    let all = if starts { "All" } else { "all" };
                    format!("{all} needed the same CPU time within {} % for {scenarios}", percent(*band))
                }
                Outcome::NoDifference => {
                    let no = if starts { "No" } else { "no" };
                    format!("{no} difference in CPU time was found for {scenarios}")
                }
            });
        }
        for (outcome, scenarios) in &self.rate {
            // Two that share the first place would need a sentence of their own.
            let Some(name) = outcome.winner() else { continue };
            let is_it = rate.is_empty() && self.only_first() == Some(name);
            let who = if is_it { "It" } else { name };
            let what = if rate.is_empty() { " served the most statements per second" } else { "" };
            let whole = scenarios.len() == run.scenarios.len();
            let place = match (whole, run.scenarios.len()) {
                (true, 1) => String::new(),
                (true, _) => " in all scenarios".to_owned(),
                _ => format!(" for {}", list(scenarios)),
            };
            rate.push(format!("{who}{what}{place}"));
        }
        let said = [cpu, rate].into_iter().filter(|all| !all.is_empty());
        let said: Vec<String> = said.map(|all| format!("{}.", all.join("; "))).collect();
        let on = on.map_or(String::new(), |on| format!("On {on}, "));
        (!said.is_empty()).then(|| format!("{on}{}", said.join(" ")))
    }

    /// The only driver that needed the least CPU time anywhere.
    fn only_first(&self) -> Option<&str> {
        let mut all = self.cpu.iter().filter_map(|(outcome, _)| match outcome {
            Outcome::First(names) => Some(names),
            _ => None,
        });
        match (all.next().map(Vec::as_slice), all.next()) {
            (Some([only]), None) => Some(only.as_str()),
            _ => None,
        }
    }
}

/// The verdicts that instructions contradict, in one entry.
fn doubts(run: &Run, reference: &Contender, drivers: &[&Contender], primary: &[&SummaryRow]) -> Option<String> {
    let said = |(driver, verdict): (&Contender, Verdict)| {
        let is_it = |row: &&&SummaryRow| row.contender == driver.id && row.doubtful && row.verdict == Some(verdict);
        let mut places: Vec<String> = Vec::new();
        for arrangement in &run.plan.arrangements {
            let here = primary.iter().filter(is_it).filter(|row| row.arrangement == arrangement.id);
            let scenarios: Vec<String> = here.map(|row| plain(&row.scenario)).collect();
            let on = run.on(&arrangement.id);
            places.extend((!scenarios.is_empty()).then(|| format!("{}{on}", list(&scenarios))));
        }
        let makes = if verdict.is_better() { "more" } else { "fewer" };
        (!places.is_empty()).then(|| {
            format!(
                "Doubt that {} is {} for {}: it runs {makes} instructions per statement than {}.",
                short(run, driver),
                verdict.name(),
                list(&places),
                short(run, reference)
            )
        })
    };
    let all = drivers.iter().flat_map(|driver| [Verdict::Cheaper, Verdict::Dearer].map(|verdict| (*driver, verdict)));
    let sentences: Vec<String> = all.filter_map(said).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// The drivers that are missing or have no verdict somewhere, in one entry.
fn without_verdict(run: &Run, drivers: &[&Contender], primary: &[&SummaryRow]) -> Option<String> {
    let said = |driver: &&Contender| {
        let name = short(run, driver);
        if driver.unavailable.is_some() {
            return Some(format!("{name} is missing."));
        }
        if driver.in_flight.is_some() {
            return Some(format!("{name} has its own concurrency, and no verdict."));
        }
        let is_open = |row: &SummaryRow| !row.verdict.is_some_and(Verdict::holds);
        let mine = primary.iter().filter(|row| row.contender == driver.id && is_open(row));
        let places: Vec<String> = mine.map(|row| format!("{} ({})", place(run, row), why_without(row))).collect();
        (!places.is_empty()).then(|| format!("{name} has no verdict for {}.", list(&places)))
    };
    let sentences: Vec<String> = drivers.iter().filter_map(said).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn why_without(row: &SummaryRow) -> &'static str {
    match row {
        SummaryRow { unavailable: Some(_), failed: None, .. } => "not measured",
        SummaryRow { failed: Some(_), .. } => "it failed",
        SummaryRow { void: Some(_), .. } => "void",
        SummaryRow { verdict: Some(verdict), .. } => verdict.name(),
        SummaryRow { interval: Some(_), .. } => "withheld",
        _ => "no interval",
    }
}

/// The scenario, and the arrangement if the run has several.
fn place(run: &Run, row: &SummaryRow) -> String {
    format!("{}{}", plain(&row.scenario), run.on(&row.arrangement))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{SERVER_UTILISATION, WORKER_UTILISATION};
    use crate::rounds::tests::disturb;
    use crate::{Analysis, Cell, Measure, Unit, sample};

    fn of(run: &Run, cells: &[Cell]) -> Vec<String> {
        Analysis::new(run, cells).findings
    }

    /// The sample without cassandra-cpp; cdrs-tokio costs `cost` in `scenario`, and scylla 4.
    fn costing(costs: [(&str, f64); 2]) -> (Run, Vec<Cell>) {
        let (mut run, mut cells) = sample::blocks(12);
        run.contenders.retain(|one| one.id != "cassandra-cpp");
        cells.iter_mut().for_each(|cell| drop(cell.measures.remove(THROUGHPUT)));
        for (scenario, cost) in costs {
            for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio" && cell.scenario == scenario) {
                let noise = cell.get(CPU_PER_STATEMENT).map(|was| was / 6.25).unwrap_or(1.0);
                let value = Measure::value(cost * noise, Unit::Microseconds);
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), value);
            }
        }
        (run, cells)
    }

    fn with_rates(mut cells: Vec<Cell>) -> Vec<Cell> {
        for cell in &mut cells {
            if let Some(cost) = cell.get(CPU_PER_STATEMENT) {
                cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(1e6 / cost, Unit::PerSecond));
            }
        }
        cells
    }

    #[test]
    fn scenarios_with_the_same_outcome_share_a_clause_and_who_served_most_is_said() {
        let (run, cells) = costing([("writes", 6.25), ("reads", 6.25)]);
        assert_eq!(
            of(&run, &with_rates(cells)),
            [
                "scylla needed the least CPU time for writes and reads. It served the most statements per second in all scenarios."
            ]
        );
    }

    #[test]
    fn no_difference_is_said_and_two_winners_are_named() {
        let (run, cells) = costing([("writes", 4.1), ("reads", 6.25)]);
        assert_eq!(
            of(&run, &cells),
            [
                "scylla needed the least CPU time for reads; no difference in CPU time was found for writes.",
                "Where CPU time is inconclusive, a difference of 4 % would have shown."
            ]
        );
        let (run, cells) = costing([("writes", 2.0), ("reads", 6.25)]);
        assert_eq!(
            of(&run, &with_rates(cells)),
            [
                "cdrs-tokio needed the least CPU time for writes; scylla for reads. cdrs-tokio served the most statements per second for \
                 writes; scylla for reads."
            ]
        );
    }

    #[test]
    fn nobody_that_served_more_is_called_slower() {
        let (run, mut cells) = costing([("writes", 6.25), ("reads", 6.25)]);
        for cell in cells.iter_mut().filter(|cell| cell.get(CPU_PER_STATEMENT).is_some()) {
            let rate = cell.get(CPU_PER_STATEMENT).unwrap() * 1e5;
            cell.measures.insert(THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
        }
        let said = of(&run, &cells).join(" ");
        assert_eq!(
            said,
            "scylla needed the least CPU time for writes and reads. cdrs-tokio served the most statements per second in all scenarios."
        );
        assert!(!said.contains("slower") && !said.contains("faster"));
    }

    #[test]
    fn nobody_served_most_beside_a_driver_whose_rate_the_server_limited() {
        let (mut run, cells) = costing([("writes", 6.25), ("reads", 6.25)]);
        let mut cells = with_rates(cells);
        let third = Contender {
            id: "third".to_owned(),
            label: "third@1".to_owned(),
            ..run.contender("cdrs-tokio").unwrap().clone()
        };
        run.contenders.push(third);
        let of_third = |cell: &Cell| {
            let mut cell = Cell { contender: "third".to_owned(), label: "third@1".to_owned(), ..cell.clone() };
            cell.measures.insert(SERVER_UTILISATION.to_owned(), Measure::value(99.0, Unit::Percent));
            cell.measures.insert(WORKER_UTILISATION.to_owned(), Measure::value(40.0, Unit::Percent));
            cell
        };
        let thirds: Vec<Cell> = cells.iter().filter(|cell| cell.contender == "cdrs-tokio").map(of_third).collect();
        cells.extend(thirds);
        assert_eq!(of(&run, &cells), ["scylla needed the least CPU time for writes and reads."]);
    }

    #[test]
    fn two_arrangements_have_an_entry_each_unless_they_say_the_same() {
        let (mut run, mut cells) = costing([("writes", 6.25), ("reads", 6.25)]);
        let mut current = run.plan.arrangements[0].clone();
        current.id = "current".to_owned();
        run.plan.arrangements.push(current);
        let (_, other) = costing([("writes", 2.0), ("reads", 2.0)]);
        let on_current =
            |cells: Vec<Cell>| cells.into_iter().map(|cell| Cell { arrangement: "current".to_owned(), ..cell });
        let mut same = cells.clone();
        same.extend(on_current(cells.clone()));
        assert_eq!(of(&run, &same), ["scylla needed the least CPU time for writes and reads."]);
        cells.extend(on_current(other));
        assert_eq!(
            of(&run, &cells),
            [
                "On multi:2, scylla needed the least CPU time for writes and reads.",
                "On current, cdrs-tokio needed the least CPU time for writes and reads."
            ]
        );
    }

    #[test]
    fn a_driver_that_is_missing_or_void_is_named_with_the_reason() {
        let (run, mut cells) = sample::blocks(12);
        cells.iter_mut().for_each(|cell| drop(cell.measures.remove(THROUGHPUT)));
        assert_eq!(of(&run, &cells)[1..], ["cassandra-cpp is missing."]);
        let is = |cell: &&mut Cell| {
            cell.contender == "cdrs-tokio" && cell.scenario == "reads" && cell.pass == crate::Pass::Timing
        };
        cells.iter_mut().find(is).unwrap().void = Some("A statement failed.".to_owned());
        assert_eq!(
            of(&run, &cells),
            [
                "scylla needed the least CPU time for writes.",
                "cdrs-tokio has no verdict for reads (void). cassandra-cpp is missing."
            ]
        );
    }

    #[test]
    fn without_intervals_or_with_a_control_that_differs_nothing_is_claimed() {
        let (run, cells) = sample::run();
        let said = of(&run, &cells);
        assert_eq!(
            said,
            [
                "This run calls no driver cheaper or dearer. An interval needs at least 8 generations in which every contender ran to \
                 its end, and there are 3; ask for more generations."
            ]
        );
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(slower, Unit::Microseconds));
        }
        let said = of(&run, &cells);
        assert!(said.len() == 1 && said[0].starts_with("This run gives no verdict. The control is"), "{said:?}");
    }

    #[test]
    fn a_disturbed_place_is_named_and_a_disturbed_run_claims_nothing() {
        let (mut run, mut cells) = costing([("writes", 6.25), ("reads", 6.25)]);
        disturb(&mut run, &mut cells, |cell| cell.scenario == "reads");
        let said = of(&run, &cells);
        assert_eq!(
            said,
            ["scylla needed the least CPU time for writes.", "cdrs-tokio has no verdict for reads (too noisy)."]
        );
        disturb(&mut run, &mut cells, |_| true);
        let why = "Other processes used the cores in more than half of its rounds; run it again when they have ended.";
        assert_eq!(of(&run, &cells), [format!("This run gives no verdict. {why}")]);
    }

    #[test]
    fn one_driver_by_itself_has_its_cost_and_no_claim() {
        let (mut run, mut cells) = sample::run();
        run.contenders.truncate(1);
        cells.retain(|cell| cell.contender == "scylla");
        assert_eq!(
            of(&run, &cells),
            ["scylla needed 4.02 us of CPU time per statement for writes and 4.02 us for reads."]
        );
        run.contenders.clear();
        assert_eq!(of(&run, &[]), ["No driver took part, so there is nothing to compare."]);
    }
}
