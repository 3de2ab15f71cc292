//! What a run says of each expectation, and of the regression.

use cqldyno_reports::measure::SYSCALLS_BY_NAME;
use cqldyno_reports::{
    Analysis, Axis, Contender, Pass, Place, ScenarioInfo, Verdict, growth, judged, list, three_digits,
};
use cqldyno_scenarios::{Claim, Expected};

use super::plan::{at, call, found, id, is_exact};
use crate::outcome::Outcome;

#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The figures of its contenders, in the order of the claim; none if there is no figure.
    pub figures: Vec<(String, Option<f64>)>,
    /// The ratio, the figure or the exponent that was found.
    pub found: Option<f64>,
    /// Where it lies with 95 % confidence, if it is no count.
    pub interval: Option<[f64; 2]>,
    /// Whether the figure is as expected; or why nothing is known, as a full sentence.
    pub holds: Result<bool, String>,
}

/// Done if at least one expectation holds and none fails, which reproduces the regression; unmeasurable if none could be judged.
pub fn outcome<'a>(judgements: impl IntoIterator<Item = &'a Judgement>) -> Outcome {
    let mut outcome = Outcome::Unmeasurable;
    for one in judgements {
        match one.holds {
            Ok(false) => return Outcome::Failed,
            Ok(true) => outcome = Outcome::Done,
            Err(_) => {}
        }
    }
    outcome
}

pub fn judge(expected: &Expected, analysis: &Analysis) -> Judgement {
    let arrangements: Vec<String> = analysis.run.plan.arrangements.iter().map(|one| one.id.clone()).collect();
    let run = Measured { expected, scenarios: found(expected, &analysis.run.scenarios, &arrangements), analysis };
    let names = expected.claim.contenders();
    let figures = names.iter().map(|name| ((*name).to_owned(), run.shown(name))).collect();
    let found = run.found();
    let holds = found.clone().and_then(|(found, at)| holds(at.unwrap_or([found; 2]), expected.claim.bounds()));
    let (found, interval) = found.map_or((None, None), |(found, interval)| (Some(found), interval));
    Judgement { figures, found, interval, holds }
}

/// A count is inside its bounds or not; an interval must lie on one side altogether.
fn holds(interval: [f64; 2], bounds: [f64; 2]) -> Result<bool, String> {
    match judged(interval, bounds) {
        Verdict::Inconclusive => Err(format!(
            "The interval from {} to {} reaches beyond what is expected; four times as many generations would halve it.",
            three_digits(interval[0]),
            three_digits(interval[1])
        )),
        verdict => Ok(verdict == Verdict::Same),
    }
}

struct Measured<'a> {
    expected: &'a Expected,
    /// Where it is measured, and the arrangement.
    scenarios: Result<(Vec<&'a ScenarioInfo>, String), String>,
    analysis: &'a Analysis<'a>,
}

const ONLY_RATIOS: &str = "Times differ from machine to machine, so only their ratios are judged.";
const NOT_BY_NAME: &str = "The run has no pass that counts system calls by name.";

/// A figure with its interval, or why there is none.
type Measurement = Result<(f64, Option<[f64; 2]>), String>;

impl Measured<'_> {
    fn found(&self) -> Measurement {
        let exact = is_exact(&self.expected.meter);
        if !exact && self.analysis.has_too_few_rounds() {
            return Err("Other processes disturbed more than half of the rounds, so times say nothing.".to_owned());
        }
        if let Some(doubt) = self.analysis.doubts.first().filter(|_| !exact) {
            return Err(doubt.clone());
        }
        let here = self.scenarios()?;
        match &self.expected.claim {
            Claim::Change { from, to, .. } => match (self.figure(from, here[0])?, self.figure(to, here[0])?) {
                (0.0, _) => Err(format!("The figure of {from} is 0, so there is no ratio to it.")),
                (before, after) if exact => Ok((after / before, None)),
                _ => self.ratio(from, to, here[0]),
            },
            Claim::Figure { of, .. } if exact => Ok((self.figure(of, here[0])?, None)),
            Claim::Figure { .. } => Err(ONLY_RATIOS.to_owned()),
            Claim::Growth { of, .. } => {
                let cost = |point: &&ScenarioInfo| {
                    let number = at(point, Axis::InFlight).unwrap_or_default() as f64;
                    Ok((number, self.figure(of, point)? * number))
                };
                let points = here.iter().map(cost).collect::<Result<Vec<_>, String>>()?;
                let fitted = growth(&points).ok_or("A figure is 0, so nothing can be fitted.")?;
                Ok((fitted.exponent, Some(fitted.interval)))
            }
        }
    }

    fn scenarios(&self) -> Result<&[&ScenarioInfo], String> {
        let why = |why: &String| format!("This is no run of that regression: {why}.");
        self.scenarios.as_ref().map(|(here, _)| here.as_slice()).map_err(why)
    }

    /// The figure that is shown for a contender; of an exponent, that of the most in flight.
    fn shown(&self, contender: &str) -> Option<f64> {
        self.figure(contender, self.scenarios().ok()?.iter().max_by_key(|one| at(one, Axis::InFlight))?).ok()
    }

    fn figure(&self, contender: &str, scenario: &ScenarioInfo) -> Result<f64, String> {
        let (here, who) = self.find(contender, scenario)?;
        figure(self.analysis, here, who, &self.expected.meter)
    }

    /// The ratio of a time, against the contender before, with its interval.
    fn ratio(&self, from: &str, to: &str, scenario: &ScenarioInfo) -> Measurement {
        let (here, who) = self.find(to, scenario)?;
        let turned = self.analysis.turned(&id(from));
        let row = turned.row(here, who, &self.expected.meter).ok_or("The run has no such figure.")?;
        match (row.ratio, row.interval) {
            (Some(ratio), Some(interval)) => Ok((ratio, Some(interval))),
            _ => Err(row.no_interval.clone().unwrap_or_else(|| {
                "There is no interval of a time: so few generations give none, or one failed.".to_owned()
            })),
        }
    }

    fn find<'s>(&'s self, contender: &str, scenario: &'s ScenarioInfo) -> Result<(Place<'s>, &'s Contender), String> {
        let run = self.analysis.run;
        let arrangement = self.scenarios.as_ref().map_or("", |(_, arrangement)| arrangement);
        let arrangement = run.plan.arrangements.iter().find(|one| one.id == arrangement);
        let arrangement = arrangement.ok_or("The run has other arrangements than this regression.")?;
        let who = run.contender(&id(contender)).ok_or_else(|| {
            let there: Vec<String> = run.contenders.iter().map(|one| one.id.clone()).collect();
            format!("The run has no contender {contender}, but {}.", list(&there))
        })?;
        Ok((Place { scenario, arrangement }, who))
    }
}

/// What the meter shows of a contender at a place, or why it shows nothing.
pub fn figure(analysis: &Analysis, here: Place, who: &Contender, meter: &str) -> Result<f64, String> {
    let Some(name) = call(meter) else {
        return analysis.row(here, who, meter).ok_or_else(|| format!("The run has no meter {meter}."))?.figure();
    };
    let cells = analysis.cells_of(here, who, Pass::Syscalls);
    let no_cell = || who.unavailable.clone().unwrap_or_else(|| NOT_BY_NAME.to_owned());
    let cell = cells.first().ok_or_else(no_cell)?;
    if let Some(why) = cell.failed.as_ref().or(cell.void.as_ref()) {
        return Err(why.clone());
    }
    let why = || cell.measures.get("syscalls_by_name").and_then(|one| one.reason()).map(str::to_owned);
    let names = cell.breakdowns.get(SYSCALLS_BY_NAME).ok_or_else(|| why().unwrap_or_default())?;
    Ok(names.get(name).copied().unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use cqldyno_reports::{Cell, Measure, PointInfo, Run, Unit};
    use cqldyno_scenarios::{Direction, Regression};

    use super::*;
    use crate::sample;

    /// One expectation of the sample's writes.
    fn expecting(expectation: &str) -> Expected {
        let text = format!(
            "name = 'a'\ntitle = 'a'\nsource = 'a'\npublished = 'a'\n[[run]]\nname = 'a'\ncompare = 'scylla'\n[[run.expect]]\nsays = 'It \
             does.'\nscenario = 'writes'\narrangement = 'multi:2'\n{expectation}"
        );
        let mut read = Regression::from_toml(&text, "a").unwrap_or_else(|error| panic!("{error}"));
        read.runs.remove(0).expectations.remove(0)
    }

    fn found(expectation: &str, blocks: u32) -> Judgement {
        let (run, cells) = sample::blocks(blocks);
        judge(&expecting(expectation), &Analysis::new(&run, &cells))
    }

    const CALLS: &str = "meter = 'syscalls_per_statement'\nfrom = 'scylla'\nto = 'cdrs-tokio'\n";
    const TIME: &str = "meter = 'cpu_per_statement'\nfrom = 'scylla'\nto = 'cdrs-tokio'\n";

    #[test]
    fn a_count_holds_or_fails_by_its_figure_alone() {
        let rises = found(&format!("{CALLS}direction = 'rises'"), 1);
        let ratio = rises.figures[1].1.unwrap() / rises.figures[0].1.unwrap();
        assert_eq!((rises.found, rises.interval), (Some(ratio), None));
        assert_eq!(rises.holds == Ok(true), ratio >= Direction::Rises.ratios()[0], "{rises:?}");
        let falls = found(&format!("{CALLS}direction = 'falls'"), 1);
        assert_eq!(falls.holds == Ok(true), ratio <= 0.98, "{falls:?}");
        let figure = "meter = 'syscalls_per_statement'\nof = 'scylla'\n";
        assert_eq!(found(&format!("{figure}figure = [0.0, 1000.0]"), 1).holds, Ok(true));
        assert_eq!(found(&format!("{figure}figure = [1000.0, 1001.0]"), 1).holds, Ok(false));
    }

    #[test]
    fn a_time_needs_an_interval_on_one_side_of_its_bounds() {
        let of = |rest: &str, blocks| found(&format!("{TIME}{rest}"), blocks);
        let rises = of("direction = 'rises'", 12);
        assert!(rises.holds == Ok(true) && rises.interval.is_some(), "{rises:?}");
        assert_eq!(of("direction = 'falls'", 12).holds, Ok(false));
        let at = rises.found.unwrap();
        let across = of(&format!("direction = 'rises'\nratio = [{at}, 100.0]"), 12);
        assert!(matches!(&across.holds, Err(why) if why.contains("reaches beyond what is expected")));
        assert!(of("direction = 'rises'", 1).holds.is_err(), "one block has no interval");
        let figure = found("meter = 'cpu_per_statement'\nof = 'scylla'\nfigure = [0.0, 9.0]", 12);
        assert!(matches!(&figure.holds, Err(why) if why.contains("only their ratios")), "{figure:?}");
    }

    #[test]
    fn a_time_is_compared_with_the_contender_before_whatever_the_runs_reference_is() {
        let back = "meter = 'cpu_per_statement'\nfrom = 'cdrs-tokio'\nto = 'scylla'\ndirection = 'falls'";
        let (there, back) = (found(&format!("{TIME}direction = 'rises'"), 12), found(back, 12));
        assert_eq!(back.holds, Ok(true), "{back:?}");
        assert!((there.found.unwrap() * back.found.unwrap() - 1.0).abs() < 0.05, "{there:?} {back:?}");
    }

    /// A run with several numbers in flight, in which a statement of scylla makes a sixteenth of a system call for each.
    fn growing() -> (Run, Vec<Cell>) {
        let (run, cells) = sample::run();
        let mut all = Vec::new();
        let mut scenarios = Vec::new();
        for number in [16, 64, 256] {
            let name = format!("writes, {number} in flight");
            let point = PointInfo { of: "writes".to_owned(), in_flight: number, ..Default::default() };
            scenarios.push(ScenarioInfo { name: name.clone(), point: Some(point), ..run.scenarios[0].clone() });
            for cell in cells.iter().filter(|cell| cell.scenario == run.scenarios[0].name) {
                let mut cell = Cell { scenario: name.clone(), ..cell.clone() };
                if cell.pass == Pass::Counting && cell.contender == "scylla" {
                    let calls = Measure::value(number as f64 / 16.0, Unit::Count);
                    cell.measures.insert("syscalls_per_statement".to_owned(), calls);
                }
                all.push(cell);
            }
        }
        // Wherever they stand, they are found by what they are called.
        scenarios.reverse();
        (Run { scenarios, ..run }, all)
    }

    #[test]
    fn a_cost_per_statement_that_rises_with_the_number_in_flight_is_quadratic() {
        let judged = |expectation: &str| {
            let (run, cells) = growing();
            judge(&expecting(expectation), &Analysis::new(&run, &cells))
        };
        let calls = "meter = 'syscalls_per_statement'\nof = 'scylla'";
        let quadratic = judged(&format!("{calls}\nexponent = [1.9, 2.1]"));
        assert!(quadratic.holds == Ok(true) && (quadratic.found.unwrap() - 2.0).abs() < 1e-6, "{quadratic:?}");
        assert_eq!(quadratic.figures, [("scylla".to_owned(), Some(16.0))], "the most in flight");
        assert_eq!(judged(&format!("{calls}\nexponent = [0.9, 1.1]")).holds, Ok(false));
        let at = judged(&format!("{calls}\nat = 64\nfigure = [4.0, 4.0]"));
        assert_eq!((at.holds, at.found), (Ok(true), Some(4.0)));
    }

    #[test]
    fn calls_of_one_name_are_judged_and_those_of_a_void_cell_are_not() {
        let judged = |change: fn(&mut Cell)| {
            let (run, mut cells) = sample::run();
            for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Counting) {
                cell.pass = Pass::Syscalls;
                cell.breakdowns.insert("syscalls".to_owned(), [("sendto".to_owned(), 0.5)].into());
                change(cell);
            }
            let expectation = "meter = 'syscalls:sendto'\nof = 'scylla'\nfigure = [0.5, 0.5]";
            judge(&expecting(expectation), &Analysis::new(&run, &cells)).holds
        };
        assert_eq!(judged(|_| ()), Ok(true));
        assert_eq!(judged(|cell| cell.breakdowns.values_mut().for_each(|calls| calls.clear())), Ok(false));
        assert_eq!(judged(|cell| cell.void = Some("It lies.".to_owned())), Err("It lies.".to_owned()));
        assert_eq!(judged(|cell| cell.failed = Some("It fell.".to_owned())), Err("It fell.".to_owned()));
    }

    #[test]
    fn noise_in_more_than_half_of_the_rounds_leaves_times_unjudged_and_counts_as_they_are() {
        let (mut run, mut cells) = sample::blocks(12);
        run.plan.noise_share = Some(0.1);
        for cell in cells.iter_mut().filter(|cell| cell.pass == cqldyno_reports::Pass::Timing) {
            let (others_s, witness_us) = (if cell.block < 8 { 0.6 } else { 0.0 }, Some(1.0));
            let (cores, wall_s, steal_s) = (2, 1.0, 0.0);
            let found = cqldyno_reports::RoundCores::Found { cores, host: None, wall_s, others_s, steal_s, witness_us };
            (cell.round, cell.cores) = (Some(1), Some(found));
        }
        let judged = |expectation: String| judge(&expecting(&expectation), &Analysis::new(&run, &cells)).holds;
        let time = judged(format!("{TIME}direction = 'rises'"));
        assert!(matches!(&time, Err(why) if why.starts_with("Other processes disturbed")), "{time:?}");
        assert!(judged(format!("{CALLS}direction = 'rises'")).is_ok());
    }

    #[test]
    fn who_has_no_figure_is_said_with_the_reason() {
        for (from, why) in [("nobody", "The run has no contender nobody, but scylla"), ("cassandra-cpp", "")] {
            let text = format!("meter = 'syscalls_per_statement'\nfrom = '{from}'\nto = 'scylla'\ndirection = 'falls'");
            let judgement = found(&text, 1);
            assert_eq!(judgement.figures[0].1, None);
            assert!(matches!(&judgement.holds, Err(said) if said.starts_with(why) && said.ends_with('.')));
        }
    }

    #[test]
    fn one_expectation_that_fails_outweighs_the_others_and_unknown_ones_decide_nothing() {
        let of = |all: &[Result<bool, String>]| {
            let judgement = |holds: &Result<bool, String>| Judgement {
                figures: vec![],
                found: None,
                interval: None,
                holds: holds.clone(),
            };
            outcome(&all.iter().map(judgement).collect::<Vec<_>>())
        };
        let unknown = || Err("No.".to_owned());
        assert_eq!(of(&[Ok(true), unknown()]), Outcome::Done);
        assert_eq!(of(&[Ok(true), Ok(false)]), Outcome::Failed);
        assert_eq!((of(&[unknown()]), of(&[])), (Outcome::Unmeasurable, Outcome::Unmeasurable));
    }
}
