//! The comparison that a run of a regression is, and where in it an expectation looks.

use std::path::PathBuf;

use anyhow::Result;
use clap::Parser;
use cqldyno_bench::{Contender, Plan, Programs, scenario_info};
use cqldyno_reports::{Axis, MeasureInfo, Pass, ScenarioInfo, count, list, unique};
use cqldyno_scenarios::{Claim, Expected, Trial, suggestion};

use crate::names::drivers;
use crate::outcome::usage;
use crate::plan::{Asked, Conditions};

/// What precedes the name of a system call in a meter.
const BY_NAME: &str = "syscalls:";
/// Statements that are counted with `--exact` if the run does not say how many.
const COUNTED: u64 = 100_000;
/// Fewer points give no exponent with an interval.
const LEAST_POINTS: usize = 3;

/// The arguments of `cqldyno compare` that make its plan.
#[derive(clap::Parser)]
#[command(name = "cqldyno compare", no_binary_name = true, disable_help_flag = true)]
struct Compared {
    contender: Vec<String>,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    conditions: Conditions,
}

/// The plan of the run. With `exact` it has one generation and no flame graphs: counts need no more.
pub fn plan(trial: &Trial, exact: bool, out: PathBuf, programs: &Programs) -> Result<Plan> {
    let refused = |what: String| usage(format!("the run {} {what}", trial.name));
    let words = shlex::split(&trial.compare)
        .ok_or_else(|| refused("has a quotation in compare that does not end; close it".to_owned()))?;
    let Compared { contender, asked, conditions } = Compared::try_parse_from(words).map_err(|error| {
        let said = error.to_string();
        let said = said.lines().next().unwrap_or_default();
        refused(format!("has a compare that cannot be read: {}", said.strip_prefix("error: ").unwrap_or(said)))
    })?;
    let contenders = if contender.is_empty() { drivers::compared() } else { contender };
    let mut plan = asked.plan(&contenders, &trial.scenarios, &conditions, programs)?;
    let ids: Vec<String> = plan.contenders.iter().map(ToString::to_string).collect();
    let scenarios: Vec<ScenarioInfo> = plan.scenarios.iter().map(scenario_info).collect();
    let arrangements: Vec<String> = plan.arrangements.iter().map(ToString::to_string).collect();
    for expected in &trial.expectations {
        if let Some(other) = expected.claim.contenders().into_iter().find(|text| !ids.contains(&id(text))) {
            return Err(refused(format!(
                "expects something of {other}, which is none of its contenders: {}",
                list(&ids)
            )));
        }
        found(expected, &scenarios, &arrangements)
            .map_err(|why| refused(format!("has an expectation of {}: {why}", expected.meter)))?;
    }
    let meters: Vec<&String> = trial.expectations.iter().map(|expected| &expected.meter).collect();
    let read = meters.iter().map(|meter| pass_of(trial, meter)).collect::<Result<Vec<Pass>>>()?;
    let judged = meters.iter().zip(read).filter(|(meter, _)| !exact || is_exact(meter));
    let needed: Vec<Pass> = judged.map(|(_, pass)| pass).collect();
    let is_run =
        |pass: &Pass| (plan.passes.contains(pass) && !(exact && *pass == Pass::Flamegraph)) || needed.contains(pass);
    let passes = Pass::ALL.into_iter().filter(|pass| *pass != Pass::Timing && is_run(pass)).collect();
    (plan.passes, plan.out) = (passes, Some(out));
    plan.reference = plan.reference.take().or_else(|| reference(trial));
    if !exact {
        return Ok(plan);
    }
    (plan.control, plan.noise_share) = (false, None);
    plan.limit(None);
    let counted = if plan.total.is_some() { plan.count } else { COUNTED };
    Ok(plan.with_blocks(1, counted))
}

/// The contender before, as its id is.
fn reference(trial: &Trial) -> Option<String> {
    trial.expectations.iter().find_map(|expected| match &expected.claim {
        Claim::Change { from, .. } => Some(id(from)),
        Claim::Figure { .. } | Claim::Growth { .. } => None,
    })
}

pub fn id(text: &str) -> String {
    text.parse::<Contender>().map_or_else(|_| text.to_owned(), |contender| contender.to_string())
}

/// The number of a point of a sweep.
pub fn at(scenario: &ScenarioInfo, axis: Axis) -> Option<u64> {
    axis.of(scenario.point.as_ref()?)
}

/// The number of the point that an expectation names.
pub fn asked_at(expected: &Expected, axis: Axis) -> Option<u64> {
    match axis {
        Axis::InFlight => expected.at,
        Axis::Connections => expected.connections,
        Axis::Shards => expected.shards,
        Axis::Delay => None,
    }
}

/// The scenarios in which an expectation looks, several points for an exponent and else one, and the arrangement; or what the file must say.
pub fn found<'a>(
    expected: &Expected,
    all: &'a [ScenarioInfo],
    arrangements: &[String],
) -> Result<(Vec<&'a ScenarioInfo>, String), String> {
    let one_of =
        |[what, several, field]: [&str; 3], asked: Option<&String>, all: Vec<String>| match (asked, all.as_slice()) {
            (Some(asked), all) if all.contains(asked) => Ok(asked.clone()),
            (Some(asked), all) => {
                Err(format!("the run has no {what} {asked}; name one of {} with `{field}`", all.join("; ")))
            }
            (None, [only]) => Ok(only.clone()),
            (None, all) => Err(format!("the run has several {several}: {}; name one with `{field}`", all.join("; "))),
        };
    let arrangement =
        one_of(["arrangement", "arrangements", "arrangement"], expected.arrangement.as_ref(), arrangements.to_vec())?;
    let scenarios = unique(all.iter().map(|one| one.kind().to_owned()));
    let scenario = one_of(["scenario", "scenarios", "scenario"], expected.scenario.as_ref(), scenarios)?;
    let mut here: Vec<&ScenarioInfo> = all.iter().filter(|one| one.kind() == scenario).collect();
    if unique(here.iter().filter_map(|one| at(one, Axis::Delay))).len() > 1 {
        return Err("the run has several delays, and an expectation names none; give one --delay".to_owned());
    }
    for (axis, words) in [
        (Axis::Connections, ["number of connections", "numbers of connections", "connections"]),
        (Axis::Shards, ["number of shards", "numbers of shards", "shards"]),
        (Axis::InFlight, ["number in flight", "numbers in flight", "at"]),
    ] {
        let numbers = unique(here.iter().filter_map(|one| at(one, axis)));
        let asked = asked_at(expected, axis);
        if let (Axis::InFlight, Claim::Growth { .. }) = (axis, &expected.claim) {
            if numbers.len() < LEAST_POINTS {
                return Err(format!(
                    "an exponent needs at least {LEAST_POINTS} numbers of statements in flight, and the run has {}; ask for more with \
                     --concurrency",
                    count(numbers.len().max(1) as u64, "number")
                ));
            }
        } else if let (Some(number), []) = (asked, numbers.as_slice()) {
            let [what, several, field] = words;
            return Err(format!("the run has not several {several}, and so no {what} {number}; leave `{field}` out"));
        } else if asked.is_some() || numbers.len() > 1 {
            let all = numbers.iter().map(u64::to_string).collect();
            let number = one_of(words, asked.map(|number| number.to_string()).as_ref(), all)?;
            here.retain(|one| at(one, axis).is_some_and(|own| own.to_string() == number));
        }
    }
    Ok((here, arrangement))
}

/// The name of the system call that the meter counts, if it counts one.
pub fn call(meter: &str) -> Option<&str> {
    meter.strip_prefix(BY_NAME)
}

/// Whether a meter counts what the driver does, so that its figure does not depend on time.
pub fn is_exact(meter: &str) -> bool {
    call(meter).is_some() || declared(meter).as_ref().is_some_and(MeasureInfo::is_exact)
}

fn pass_of(trial: &Trial, meter: &str) -> Result<Pass> {
    if call(meter).is_some() {
        return Ok(Pass::Syscalls);
    }
    declared(meter).map(|known| known.pass).ok_or_else(|| {
        let own = cqldyno_meter::ALL.iter().flat_map(|one| one.measures).map(|one| one.id);
        let meant = suggestion(meter, own.chain(cqldyno_reports::measure::DEFINITIONS.iter().map(|one| one.id)));
        usage(format!("the run {} has an expectation of {meter:?}, and there is no such meter.{meant}", trial.name))
    })
}

/// The measure as its meter declares it.
pub fn declared(meter: &str) -> Option<MeasureInfo> {
    let own = cqldyno_meter::ALL.iter().flat_map(|one| one.measures).find(|one| one.id == meter);
    own.map(MeasureInfo::from).or_else(|| cqldyno_reports::measure::definition(meter).map(MeasureInfo::from))
}

#[cfg(test)]
mod tests {
    use cqldyno_scenarios::regressions;

    use super::*;

    fn planned(trial: &Trial, exact: bool) -> Result<Plan> {
        plan(trial, exact, PathBuf::from("out"), &Programs::find().unwrap())
    }

    #[test]
    fn every_built_in_regression_has_a_plan_with_the_passes_that_its_meters_need() {
        for regression in regressions() {
            for trial in &regression.runs {
                for exact in [false, true] {
                    let plan = planned(trial, exact).unwrap_or_else(|error| panic!("{}: {error}", regression.name));
                    for expected in &trial.expectations {
                        let meter = &expected.meter;
                        let pass = pass_of(trial, meter).unwrap();
                        assert!(pass == Pass::Timing || plan.passes.contains(&pass) || exact && !is_exact(meter));
                    }
                    assert!(!exact || plan.blocks == 1 && !plan.passes.contains(&Pass::Flamegraph));
                }
            }
        }
    }

    /// A run with this `compare` and these fields of its only expectation.
    fn trial(compare: &str, expectation: &str) -> Trial {
        let text = format!(
            "name = 'a'\ntitle = 'a'\nsource = 'a'\npublished = 'a'\n[[run]]\nname = 'r'\ncompare = \"{compare}\"\n[[run.expect]]\n\
             says = 'It does.'\n{expectation}"
        );
        let read = cqldyno_scenarios::Regression::from_toml(&text, "a");
        read.unwrap_or_else(|error| panic!("{error}")).runs.remove(0)
    }

    /// The plan of such a run, or what is said of it.
    fn of(compare: &str, expectation: &str) -> Result<Plan, String> {
        planned(&trial(compare, expectation), true).map_err(|error| error.to_string())
    }

    const CALLS: &str = "meter = 'syscalls_per_statement'\nof = 'noop'\nfigure = [0, 1]";

    #[test]
    fn what_a_file_asks_for_and_is_not_there_is_refused_before_anything_is_run() {
        let one = "noop --scenario writes";
        for (compare, expectation, sentence) in [
            (
                one,
                "meter = 'cpu_per_statment'\nof = 'noop'\nfigure = [0, 1]",
                "there is no such meter. Did you mean `cpu_per_statement`?",
            ),
            (
                one,
                "meter = 'wall'\nof = 'floor'\nfigure = [0, 1]",
                "the run r expects something of floor, which is none of its contenders: noop",
            ),
            (
                "noop --pass syscals",
                CALLS,
                "the run r has a compare that cannot be read: invalid value 'syscals' for '--pass <PASS>'",
            ),
            (
                "noop --out here",
                CALLS,
                "the run r has a compare that cannot be read: unexpected argument '--out' found",
            ),
            ("noop 'form", CALLS, "the run r has a quotation in compare that does not end; close it"),
            ("noop", CALLS, "the run has several scenarios: writes; reads; mixed; name one with `scenario`"),
            (
                "noop --scenario writes --arrangement multi:2,current",
                CALLS,
                "the run has several arrangements: multi:2; current; name one with `arrangement`",
            ),
            ("noop --scenario batch -c 64,1024", CALLS, "the scenario batch has at most 64 in flight"),
            ("noop --scenario writes -c 4,8", CALLS, "the run has several numbers in flight: 4; 8; name one with `at`"),
            (
                "noop --scenario writes -c 4,8 --shards 1,2",
                CALLS,
                "the run has several numbers of shards: 1; 2; name one with `shards`",
            ),
            (
                "noop --scenario writes --connections 1,2",
                CALLS,
                "the run has several numbers of connections: 1; 2; name one with `connections`",
            ),
            (
                "noop --scenario writes -c 4,8",
                "meter = 'syscalls_per_statement'\nof = 'noop'\nexponent = [0, 1]",
                "an exponent needs at least 3 numbers of statements in flight, and the run has 2 numbers; ask for more with --concurrency",
            ),
        ] {
            let said = of(compare, expectation).err().unwrap_or_default();
            assert!(said.contains(sentence), "{compare}: {said}");
        }
        let other = of("noop -c 4,8 --scenario writes", &format!("{CALLS}\nat = 16")).err().unwrap_or_default();
        assert!(other.ends_with("the run has no number in flight 16; name one of 4; 8 with `at`"), "{other}");
        let one = of(one, &format!("{CALLS}\nshards = 2")).err().unwrap_or_default();
        assert!(
            one.ends_with(
                "the run has not several numbers of shards, and so no number of shards 2; leave `shards` out"
            ),
            "{one}"
        );
    }

    #[test]
    fn an_expectation_names_a_point_of_every_axis_or_an_exponent_at_one_of_the_others() {
        let labels = |claim: &str| {
            let numbers = "noop --scenario writes -c 4,8,16 --connections 1,2 --shards 1,2";
            let fields = "meter = 'syscalls_per_statement'\nof = 'noop'\nconnections = 1\nshards = 2";
            let trial = trial(numbers, &format!("{fields}\n{claim}"));
            let plan = planned(&trial, true).unwrap_or_else(|error| panic!("{error}"));
            let scenarios: Vec<ScenarioInfo> = plan.scenarios.iter().map(scenario_info).collect();
            let (here, _) = found(&trial.expectations[0], &scenarios, &["multi:2".to_owned()]).unwrap();
            here.iter().map(|one| one.name.clone()).collect::<Vec<_>>()
        };
        let label = |number: u64| format!("writes, {number} in flight over 1 connection on 2 shards");
        assert_eq!(labels("at = 8\nfigure = [0, 1]"), [label(8)]);
        assert_eq!(labels("exponent = [0, 1]"), [4, 8, 16].map(label));
    }

    #[test]
    fn a_run_takes_every_flag_of_a_comparison() {
        let line = "noop --nodes 3,tokens=16 --shards 2 --rate 500 --delay 1ms --scenario reads,writes --count 7k";
        let plan = of(line, &format!("{CALLS}\nscenario = 'reads'")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((plan.rate, plan.count, plan.blocks, plan.scenarios.len()), (Some(500), 7_000, 1, 2));
        assert_eq!(plan.serve.words(), ["--nodes", "3,tokens=16", "--shards", "2", "--delay", "1ms"]);
    }

    #[test]
    fn a_count_is_exact_and_a_time_is_not() {
        for meter in ["syscalls:sendto", "syscalls_per_statement", "polls_per_statement", "to_shard"] {
            assert!(is_exact(meter), "{meter}");
        }
        for meter in ["cpu_per_statement", "throughput", "wall", "voluntary_switches", "peak_rss", "minor_faults"] {
            assert!(!is_exact(meter), "{meter}");
        }
    }
}
