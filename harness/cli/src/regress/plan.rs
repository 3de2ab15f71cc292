//! The comparison that a run of a regression is.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result};
use cqldyno_bench::{Contender, Plan};
use cqldyno_reports::{MeasureInfo, Pass, Run, ScenarioInfo};
use cqldyno_scenarios::{Claim, Scenario, Submit, Trial, builtin, suggestion};

use crate::outcome::usage;
use crate::plan::NOISE_SHARE;

/// What precedes the name of a system call in a meter.
const BY_NAME: &str = "syscalls:";

/// The plan of the run. With `exact` it has one generation and no flame graphs: counts need no more.
pub fn plan(trial: &Trial, exact: bool, out: PathBuf) -> Result<Plan> {
    let contenders =
        trial.contenders.iter().map(|text| text.parse::<Contender>().map_err(usage)).collect::<Result<Vec<_>>>()?;
    let most = trial.concurrency.last().copied().unwrap_or(1);
    let mut plan = Plan::new(contenders, scenarios(trial)?);
    let meters: Vec<&String> = trial.expectations.iter().map(|expected| &expected.meter).collect();
    let read = meters.iter().map(|meter| pass_of(trial, meter)).collect::<Result<Vec<Pass>>>()?;
    let judged = meters.iter().zip(read).filter(|(meter, _)| !exact || is_exact(meter)).map(|(_, pass)| pass);
    let asked = trial.passes.iter().map(|name| named(trial, name)).collect::<Result<Vec<Pass>>>()?;
    let asked = asked.into_iter().filter(|pass| !(exact && *pass == Pass::Flamegraph));
    let needed: Vec<Pass> = judged.chain(asked).collect();
    plan.arrangements = vec![trial.arrangement.parse().map_err(usage)?];
    plan.concurrency = most;
    plan.passes = Pass::ALL.into_iter().filter(|pass| *pass != Pass::Timing && needed.contains(pass)).collect();
    (plan.control, plan.noise_share) = (!exact, (!exact).then_some(NOISE_SHARE));
    plan.serve_arguments = trial.delay.iter().flat_map(|time| ["--delay".to_owned(), time.clone()]).collect();
    (plan.reference, plan.out) = (reference(trial), Some(out));
    Ok(plan.with_blocks(if exact { 1 } else { trial.blocks }, trial.count))
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

/// One scenario per way of submitting and number in flight, in that order.
fn scenarios(trial: &Trial) -> Result<Vec<Scenario>> {
    let base = builtin(&trial.scenario).with_context(|| format!("there is no scenario {}", trial.scenario))?;
    let mut all = Vec::new();
    for way in &trial.submit {
        for number in &trial.concurrency {
            let mut one = base.clone();
            if trial.concurrency.len() > 1 {
                one.name = format!("{}-{number}", base.name);
                if let Some(most) = one.limits.concurrency.filter(|most| most < number) {
                    return Err(usage(format!(
                        "the run {} asks for {number} in flight, and the scenario {} allows {most}; name numbers up to that",
                        trial.name, trial.scenario
                    )));
                }
                one.limits.concurrency = Some(*number);
            }
            one.submit = *way;
            all.push(one);
        }
    }
    Ok(all)
}

/// The numbers of statements in flight that its scenarios have.
pub fn in_flight(trial: &Trial) -> BTreeSet<u64> {
    let most = trial.concurrency.last().and_then(|most| usize::try_from(*most).ok()).unwrap_or(1);
    scenarios(trial).into_iter().flatten().map(|one| one.in_flight(most) as u64).collect()
}

/// The scenario of an expectation among those of a run.
pub fn scenario<'a>(run: &'a Run, trial: &Trial, submit: Option<Submit>, at: Option<u64>) -> Option<&'a ScenarioInfo> {
    let way = submit.and_then(|way| trial.submit.iter().position(|one| *one == way)).unwrap_or(0);
    let number = at.and_then(|at| trial.concurrency.iter().position(|one| *one == at)).unwrap_or(0);
    let label = scenarios(trial).ok()?.get(way * trial.concurrency.len() + number)?.label();
    run.scenarios.iter().find(|one| one.name == label)
}

/// The name of the system call that the meter counts, if it counts one.
pub fn call(meter: &str) -> Option<&str> {
    meter.strip_prefix(BY_NAME)
}

/// Whether a meter counts what the driver does, so that its figure does not depend on time.
pub fn is_exact(meter: &str) -> bool {
    call(meter).is_some() || declared(meter).as_ref().is_some_and(MeasureInfo::is_exact)
}

/// The pass in which the meter is read.
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

fn named(trial: &Trial, name: &str) -> Result<Pass> {
    Pass::ALL.into_iter().find(|pass| pass.name() == name).ok_or_else(|| {
        let all = Pass::ALL.map(Pass::name);
        usage(format!(
            "the run {} has the pass {name:?}, and there is no such pass; name one of {}",
            trial.name,
            all.join(", ")
        ))
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

    #[test]
    fn every_built_in_regression_has_a_plan_with_the_passes_that_its_meters_need() {
        for regression in regressions() {
            for trial in &regression.runs {
                for exact in [false, true] {
                    let plan = plan(trial, exact, PathBuf::from("out")).unwrap_or_else(|error| panic!("{error}"));
                    assert_eq!(plan.scenarios.len(), trial.submit.len() * trial.concurrency.len());
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

    #[test]
    fn what_a_file_asks_for_and_is_not_there_is_refused_before_anything_is_run() {
        let refused = |change: fn(&mut Trial)| {
            let mut trial = regressions().remove(0).runs.remove(0);
            change(&mut trial);
            let error = plan(&trial, true, PathBuf::from("out")).unwrap_err();
            assert!(error.to_string().contains(&format!("the run {} ", trial.name)), "{error}");
            error.to_string()
        };
        let meter = refused(|trial| trial.expectations[0].meter = "cpu_per_statment".to_owned());
        assert!(meter.ends_with("there is no such meter. Did you mean `cpu_per_statement`?"), "{meter}");
        let pass = refused(|trial| trial.passes = vec!["syscals".to_owned()]);
        assert!(pass.contains("has the pass \"syscals\", and there is no such pass; name one of "), "{pass}");
        let limit = refused(|trial| (trial.scenario, trial.concurrency) = ("batch".to_owned(), vec![64, 1_024]));
        assert!(limit.ends_with("asks for 1024 in flight, and the scenario batch allows 64; name numbers up to that"));
    }

    #[test]
    fn a_run_has_as_many_in_flight_as_its_scenario_allows() {
        let mut trial = regressions().remove(0).runs.remove(0);
        (trial.scenario, trial.concurrency) = ("batch".to_owned(), vec![1_024]);
        assert_eq!(in_flight(&trial), [64].into());
        let asked = crate::regress::text::asked(&trial);
        assert!(asked.contains("batch, 64 in flight,"), "{asked}");
    }

    #[test]
    fn a_count_is_exact_and_a_time_is_not() {
        for meter in ["syscalls:sendto", "syscalls_per_statement", "polls_per_statement", "requests_per_statement"] {
            assert!(is_exact(meter), "{meter}");
        }
        for meter in ["cpu_per_statement", "throughput", "wall", "voluntary_switches", "peak_rss", "minor_faults"] {
            assert!(!is_exact(meter), "{meter}");
        }
    }
}
