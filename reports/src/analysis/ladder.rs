//! The ladder: the highest rate that a contender holds while a percentile of its response times stays below a bound.
//!
//! Rates lie on a grid with 16 places to a doubling, so neighbours are 4.4 % apart. The grid is the same for everybody. A search doubles
//! the rate until one fails, or halves it until one holds. Then it tries the middle place between the highest rate that held and the
//! lowest that failed, until these are neighbours.
//!
//! One disturbed step decides nothing: a rate fails with its second failed step. The highest rate that holds must hold twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measure::CPU_PER_STATEMENT;
use crate::model::ladder::{LadderInfo, delay};
use crate::quantity::{rate, three_digits};
use crate::text::{count, list, plain, unique};
use crate::{Analysis, Cell, Contender, Pass, Place, Role, Run, ScenarioInfo, grouped, median, short, whole};

/// Places of the grid to a doubling.
const PLACES: i32 = 16;
/// The rate at place 0, where a search begins.
const FIRST: f64 = 8_000.0;
/// The lowest and the highest place: 500 and 8,192,000 statements per second.
const LOWEST: i32 = -4 * PLACES;
const HIGHEST: i32 = 10 * PLACES;
/// Steps of a kind that decide about a rate.
const DECIDE: u32 = 2;
/// A driver that issues this share of the rate, apart from the time that the last answer may take, issued at the rate.
const ISSUED: f64 = 0.99;
/// The wait for the last answer is left out up to this share of the step.
const LAST_ANSWER: f64 = 0.1;
/// Ends the name of a step, after its rate.
const PER_SECOND: &str = "/s";

/// The lowest rate that a ladder tries, in statements per second.
pub const LOWEST_RATE: u64 = 500;

/// The statements per second at a place of the grid, to three digits.
fn rate_at(place: i32) -> u64 {
    let rate = FIRST * (f64::from(place) / f64::from(PLACES)).exp2();
    let unit = 10f64.powi(rate.log10().floor() as i32 - 2);
    ((rate / unit).round() * unit) as u64
}

fn place_of(rate: u64) -> i32 {
    ((rate.max(1) as f64 / FIRST).log2() * f64::from(PLACES)).round() as i32
}

/// A search: how often each rate held and failed, by its place on the grid.
#[derive(Clone, Debug, Default)]
struct Search {
    tries: BTreeMap<i32, [u32; 2]>,
}

impl Search {
    fn take(&mut self, place: i32, holds: bool) {
        self.tries.entry(place).or_default()[usize::from(!holds)] += 1;
    }

    /// The lowest place that failed.
    fn failed(&self) -> Option<i32> {
        self.tries.iter().find(|(_, [_, failed])| *failed >= DECIDE).map(|(place, _)| *place)
    }

    /// The highest place below it that held more often than it failed.
    fn held(&self) -> Option<i32> {
        let below = self.failed().unwrap_or(i32::MAX);
        let holds = |[held, failed]: [u32; 2]| held > failed;
        self.tries.range(..below).rev().find(|(_, tries)| holds(**tries)).map(|(place, _)| *place)
    }

    /// Where the next step goes; `None` once the search is over.
    fn next(&self) -> Option<i32> {
        let below = self.failed().unwrap_or(i32::MAX);
        let is_open = |[held, failed]: [u32; 2]| failed > 0 && failed < DECIDE && held < DECIDE;
        if let Some((place, _)) = self.tries.range(..below).find(|(_, tries)| is_open(**tries)) {
            return Some(*place);
        }
        match (self.held(), self.failed()) {
            (None, None) => Some(0),
            (None, Some(failed)) => (failed > LOWEST).then(|| (failed - PLACES).max(LOWEST)),
            (Some(held), failed) => {
                let next = failed.map_or((held + PLACES).min(HIGHEST), |failed| held + (failed - held) / 2);
                (next > held || self.tries[&held][0] < DECIDE).then_some(next)
            }
        }
    }
}

/// What kept a step from holding its rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limit {
    /// What it was.
    pub by: LimitedBy,
    /// The percentile in microseconds, or the share of the rate at which statements were answered, in percent.
    pub figure: Option<f64>,
    /// Why the cell has no figure that counts, as a sentence.
    pub why: Option<String>,
}

/// What can keep a step from holding its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The percentile was not below the bound.
    Percentile,
    /// Statements were not answered at the rate.
    Rate,
    /// Errors, wrong rows, a server that counted otherwise, or a failed worker.
    Failure,
}

impl Limit {
    fn figure(by: LimitedBy, figure: f64) -> Limit {
        Limit { by, figure: Some(figure), why: None }
    }

    fn failure(why: &str) -> Limit {
        Limit { by: LimitedBy::Failure, figure: None, why: Some(plain(why)) }
    }

    /// In a few words, for a table.
    pub fn words(&self, bound: &LadderInfo) -> String {
        let figure = self.figure.unwrap_or_default();
        match self.by {
            LimitedBy::Percentile => format!("{} {} ms", bound.percentile(), three_digits(figure / 1e3)),
            LimitedBy::Rate => format!("rate {} %", three_digits(figure)),
            LimitedBy::Failure => "failed".to_owned(),
        }
    }
}

/// One step of a ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Step {
    /// The statements per second that were asked for.
    pub rate: u64,
    /// The percentile in microseconds; absent without a figure.
    pub percentile_us: Option<f64>,
    /// The rate at which statements were answered, in percent of that asked for.
    pub rate_held: Option<f64>,
    /// CPU time of the worker per statement in microseconds.
    pub cpu_us: Option<f64>,
    /// What kept it from holding the rate; absent if it held.
    pub limit: Option<Limit>,
    /// Whether other steps at this rate decided otherwise.
    pub disturbed: bool,
}

impl Step {
    /// The step that left `cell`; `None` of another cell.
    fn of(cell: &Cell, bound: &LadderInfo) -> Option<Step> {
        let rate: u64 = cell.step.as_ref()?.strip_suffix(PER_SECOND)?.parse().ok()?;
        let [percentile_us, rate_held, cpu_us] =
            [bound.meter.as_str(), "rate_held", CPU_PER_STATEMENT].map(|id| cell.get(id));
        let reason = || cell.measures.get(&bound.meter).and_then(|measure| measure.reason()).unwrap_or(NOT_MEASURED);
        let seconds = cell.get(crate::measure::STATEMENTS).unwrap_or_default() / rate as f64;
        // The last answer may come after the last start by the bound, or by as much as most do, if that is short beside the step.
        let late_us = cell.get("response_p50").unwrap_or_default().max(bound.below_us);
        let allowed = seconds + (late_us / 1e6).min(seconds * LAST_ANSWER);
        let is_issued = |held: f64| seconds * 100.0 / held * ISSUED <= allowed;
        let limit = match (cell.failed.as_ref().or(cell.void.as_ref()), rate_held, percentile_us) {
            (Some(why), ..) => Some(Limit::failure(why)),
            (None, Some(held), _) if !is_issued(held) => Some(Limit::figure(LimitedBy::Rate, held)),
            (None, _, Some(us)) if us >= bound.below_us => Some(Limit::figure(LimitedBy::Percentile, us)),
            (None, Some(_), Some(_)) => None,
            (None, ..) => Some(Limit::failure(reason())),
        };
        Some(Step { rate, percentile_us, rate_held, cpu_us, limit, disturbed: false })
    }
}

const NOT_MEASURED: &str = "This was not measured.";

/// The steps of one contender in one scenario and arrangement, and what they come to.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// In the order in which they ran.
    pub steps: Vec<Step>,
    search: Search,
}

impl Ladder {
    /// From the run's cells; without any it is about to begin.
    pub fn of(run: &Run, cells: &[Cell], [contender, scenario, arrangement]: [&str; 3]) -> Ladder {
        let is_mine = |cell: &&Cell| {
            [&cell.contender, &cell.scenario, &cell.arrangement] == [contender, scenario, arrangement]
                && cell.pass == Pass::Latency
        };
        let bound = run.plan.ladder.as_ref();
        let mut steps: Vec<Step> = cells.iter().filter(is_mine).filter_map(|cell| Step::of(cell, bound?)).collect();
        let mut search = Search::default();
        steps.iter().for_each(|step| search.take(place_of(step.rate), step.limit.is_none()));
        for step in &mut steps {
            let [held, failed] = search.tries[&place_of(step.rate)];
            step.disturbed = held != failed && (held > failed) != step.limit.is_none();
        }
        Ladder { steps, search }
    }

    /// The rate of the next step in statements per second; `None` once the search is over.
    pub fn next(&self) -> Option<u64> {
        self.search.next().map(rate_at)
    }

    /// The name of a step at that rate, as its cell has it.
    pub fn step_name(rate: u64) -> String {
        format!("{rate}{PER_SECOND}")
    }

    /// The highest rate that held.
    pub fn held(&self) -> Option<u64> {
        self.search.held().map(rate_at)
    }

    /// The lowest rate that failed.
    pub fn failed(&self) -> Option<u64> {
        self.search.failed().map(rate_at)
    }

    /// CPU time per statement at the highest rate that held, in microseconds: the median of its steps.
    pub fn cpu_us(&self) -> Option<f64> {
        let held = self.held()?;
        let steps = self.steps.iter().filter(|step| step.rate == held && step.limit.is_none());
        median(&mut steps.filter_map(|step| step.cpu_us).collect::<Vec<_>>())
    }

    /// What the lowest rate that failed failed by, in its last step.
    pub fn limit(&self) -> Option<&Limit> {
        let failed = self.failed()?;
        self.steps.iter().rev().filter(|step| step.rate == failed).find_map(|step| step.limit.as_ref())
    }
}

/// The ladder of one contender in one place.
pub struct Climbed<'a> {
    /// Whose it is.
    pub contender: &'a Contender,
    /// Where.
    pub place: Place<'a>,
    /// What it came to.
    pub ladder: Ladder,
}

/// The ladders of a run, in the order of its scenarios, arrangements and contenders; none if it is no run of ladders.
pub fn climbed<'a>(run: &'a Run, cells: &[Cell]) -> Vec<Climbed<'a>> {
    if run.plan.ladder.is_none() {
        return Vec::new();
    }
    let of = |place: Place<'a>, contender: &'a Contender| Climbed {
        contender,
        place,
        ladder: Ladder::of(run, cells, [&contender.id, &place.scenario.name, &place.arrangement.id]),
    };
    let is_asked =
        |place: &Place, one: &Contender| one.unavailable.is_none() && !place.scenario.left_out.contains_key(&one.id);
    let here = |place: Place<'a>| {
        run.contenders.iter().filter(move |one| is_asked(&place, one)).map(move |one| of(place, one))
    };
    Place::all(run).flat_map(here).collect()
}

/// How far the nodes of a scenario are: the delay of every answer as it was asked for, for example `0.2ms` or `0`.
pub(crate) fn distance(run: &Run, scenario: &ScenarioInfo) -> String {
    let own = scenario.point.as_ref().and_then(|point| point.delay_ns);
    own.map_or_else(|| run.plan.serve_argument("--delay").unwrap_or("0").to_owned(), delay)
}

/// What the ladders come to, a sentence or two per entry.
pub(crate) fn findings(analysis: &Analysis) -> Vec<String> {
    let run = analysis.run;
    let all = climbed(run, analysis.every_cell);
    let drivers: Vec<&Climbed> = all.iter().filter(|one| one.contender.role == Role::Driver).collect();
    let mut findings = Vec::new();
    for (kind, here) in grouped(drivers.iter().map(|one| (one.place.scenario.kind(), *one))) {
        // One step that held decides nothing yet.
        if here.iter().any(|one| one.ladder.next().is_some()) {
            continue;
        }
        findings.extend(run.plan.ladder.as_ref().and_then(|bound| most(run, bound, kind, &here)));
        let lowest = here.iter().map(|one| one.ladder.held()).collect::<Option<Vec<u64>>>();
        let lowest = lowest.and_then(|all| all.into_iter().min());
        findings.extend(lowest.map(|rate| all_hold(run, kind, &here, rate)));
    }
    let holds_none = |one: &&&Climbed| one.ladder.held().is_none() && one.ladder.next().is_none();
    for one in drivers.iter().filter(holds_none) {
        let why = one.ladder.steps.last().and_then(|step| step.limit.as_ref()?.why.clone());
        findings.push(format!(
            "{} holds no rate of {} with a delay of {}, down to {LOWEST_RATE} statements per second.{}",
            short(run, one.contender),
            plain(one.place.scenario.kind()),
            distance(run, one.place.scenario),
            why.map(|why| format!(" {why}")).unwrap_or_default()
        ));
    }
    let steps = || all.iter().flat_map(|one| &one.ladder.steps);
    let disturbed = steps().filter(|step| step.disturbed).count();
    let all_steps = count(steps().count() as u64, "step");
    findings.push(match disturbed {
        0 => format!("None of {all_steps} disagreed with another one at the same rate."),
        some => format!("{some} of {all_steps} disagreed with others at the same rate, so the machine disturbed some."),
    });
    let open = all.iter().filter(|one| one.ladder.next().is_some()).count();
    findings.extend((open > 0).then(|| {
        format!(
            "{open} of {} searches did not finish, so the gap between held and failed is wider there; `cqldyno compare --resume DIR` goes on.",
            all.len()
        )
    }));
    let missing = run
        .contenders
        .iter()
        .filter_map(|one| Some(format!("{} is missing: {}", short(run, one), plain(one.unavailable.as_ref()?))));
    findings.extend(missing);
    findings
}

/// Who holds the highest rate at each distance. Neighbours on the grid may be the same, so they are named together.
fn most(run: &Run, bound: &LadderInfo, kind: &str, here: &[&Climbed]) -> Option<String> {
    let at = |(away, all): (String, Vec<&Climbed>)| {
        let place = |one: &&Climbed| one.ladder.search.held();
        let best = all.iter().filter_map(place).max()?;
        let held =
            |one: &&Climbed| place(one).filter(|held| *held >= best - 1).map(|held| (held, short(run, one.contender)));
        let mut first: Vec<(i32, String)> = all.iter().filter_map(held).collect();
        first.sort_by_key(|(held, _)| -held);
        let names = first.iter().map(|(held, name)| format!("{name} {}", rate(rate_at(*held) as f64)));
        let close = if first.len() > 1 { " (too close to call)" } else { "" };
        Some(format!("{}{close} with delay {away}", list(&names.collect::<Vec<_>>())))
    };
    let by_distance = grouped(here.iter().map(|one| (distance(run, one.place.scenario), *one)));
    let all: Vec<String> = by_distance.into_iter().filter_map(at).collect();
    let bound = format!("{} below {}", bound.percentile(), bound.bound());
    let kind = plain(kind);
    (!all.is_empty()).then(|| format!("Most statements per second of {kind} with {bound}: {}.", all.join("; ")))
}

/// The rate that everybody holds, and what compares response times there.
fn all_hold(run: &Run, kind: &str, here: &[&Climbed], rate: u64) -> String {
    let distances = unique(here.iter().map(|one| distance(run, one.place.scenario)));
    let at = if distances.len() > 1 { " at every distance" } else { "" };
    format!(
        "All hold {} statements per second of {}{at}. To compare response times there, give --rate {rate} --blocks 8 instead of --ladder.",
        whole(rate as f64),
        plain(kind),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a search that `holds` answers, by the place on the grid and how often it was tried there before.
    fn searched(holds: impl Fn(i32, u32) -> bool) -> (Search, Vec<i32>) {
        let (mut search, mut steps) = (Search::default(), Vec::new());
        while let Some(place) = search.next() {
            let before = search.tries.get(&place).map_or(0, |[held, failed]| held + failed);
            search.take(place, holds(place, before));
            steps.push(place);
            assert!(steps.len() < 80, "it has an end: {steps:?}");
        }
        (search, steps)
    }

    #[test]
    fn the_highest_rate_that_holds_is_found_to_a_place_of_the_grid_wherever_it_is() {
        for highest in -70..170 {
            let (search, steps) = searched(|place, _| place <= highest);
            let (held, failed) = (search.held(), search.failed());
            match highest {
                below if below < LOWEST => assert_eq!((held, failed), (None, Some(LOWEST)), "{steps:?}"),
                above if above >= HIGHEST => assert_eq!((held, failed), (Some(HIGHEST), None), "{steps:?}"),
                within => assert_eq!((held, failed), (Some(within), Some(within + 1)), "{steps:?}"),
            }
            assert!(steps.len() <= 24, "{highest}: {steps:?}");
        }
    }

    #[test]
    fn one_disturbed_step_at_any_rate_decides_nothing() {
        let highest = 57;
        let (_, steps) = searched(|place, _| place <= highest);
        for disturbed in steps {
            let (search, _) = searched(|place, before| (place <= highest) != (place == disturbed && before == 0));
            assert_eq!((search.held(), search.failed()), (Some(highest), Some(highest + 1)), "{disturbed}");
        }
    }

    #[test]
    fn a_rate_that_held_once_and_then_fails_is_no_result() {
        let (search, _) = searched(|place, before| place <= 40 || (place <= 44 && before == 0));
        assert_eq!((search.held(), search.failed()), (Some(40), Some(41)));
    }

    #[test]
    fn rates_have_three_digits_and_are_found_again() {
        let rates: Vec<u64> = [LOWEST, -1, 0, 1, PLACES, HIGHEST].map(rate_at).into();
        assert_eq!(rates, [500, 7_660, 8_000, 8_350, 16_000, 8_190_000]);
        assert!((LOWEST..=HIGHEST).all(|place| place_of(rate_at(place)) == place));
        assert_eq!(rate_at(LOWEST), LOWEST_RATE);
    }

    fn cell(rate: u64, rate_held: f64, p99_us: f64) -> Cell {
        use crate::{Measure, Unit};
        let of = |id: &str, value, unit| (id.to_owned(), Measure::value(value, unit));
        Cell {
            pass: Pass::Latency,
            step: Some(Ladder::step_name(rate)),
            measures: [
                of("response_p99", p99_us, Unit::Microseconds),
                of("rate_held", rate_held, Unit::Percent),
                of("statements", 3.0 * rate as f64, Unit::Count),
            ]
            .into_iter()
            .collect(),
            ..Cell::default()
        }
    }

    #[test]
    fn a_step_holds_with_the_percentile_below_the_bound_at_the_rate_and_without_errors() {
        let bound = |below_us| LadderInfo { meter: "response_p99".to_owned(), below_us, lasts_ms: 3_000 };
        let limit = |cell: &Cell, below_us| Step::of(cell, &bound(below_us)).unwrap().limit;
        let good = cell(8_000, 100.0, 900.0);
        assert_eq!(
            (limit(&good, 1_000.0), limit(&good, 900.0)),
            (None, Some(Limit::figure(LimitedBy::Percentile, 900.0)))
        );
        assert_eq!(limit(&cell(8_000, 90.0, 1.0), 1_000.0), Some(Limit::figure(LimitedBy::Rate, 90.0)));
        // The last answer of 3 s comes 150 ms after the last start.
        let distant = cell(8_000, 95.3, 150_000.0);
        assert_eq!(
            (limit(&distant, 1_000_000.0), limit(&distant, 1_000.0)),
            (None, Some(Limit::figure(LimitedBy::Rate, 95.3)))
        );
        let void = Cell { void: Some("2 statements failed.".to_owned()), ..good.clone() };
        assert_eq!(limit(&void, 1_000.0), Some(Limit::failure("2 statements failed.")));
        let failed = Cell { failed: Some("It crashed.".to_owned()), measures: Default::default(), ..good.clone() };
        assert_eq!(limit(&failed, 1_000.0), Some(Limit::failure("It crashed.")));
        assert_eq!(Step::of(&Cell { step: Some("rate".to_owned()), ..good }, &bound(1.0)), None);
    }
}
