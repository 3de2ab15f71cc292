//! The comparison that a run of a regression is.

use std::path::PathBuf;

use anyhow::{Context, Result};
use cqldyno_bench::{Contender, Plan};
use cqldyno_reports::{MeasureInfo, Pass, Unit};
use cqldyno_scenarios::{Claim, Expected, Scenario, Submit, Trial, builtin};

use crate::outcome::usage;

/// How often a block runs at most because of noise, and the share of others' time that is noise.
const MOST_ATTEMPTS: u32 = 3;
const NOISE_SHARE: f64 = 0.1;
/// What precedes the name of a system call in a meter.
const BY_NAME: &str = "syscalls:";

/// The plan of the run. With `exact` it has one block and no flame graphs: counts need no more.
///
/// # Errors
/// When something in it cannot be read; the error is one of usage.
pub fn plan(trial: &Trial, exact: bool, out: PathBuf) -> Result<Plan> {
    let contenders =
        trial.contenders.iter().map(|text| text.parse::<Contender>().map_err(usage)).collect::<Result<Vec<_>>>()?;
    let most = trial.concurrency.last().copied().unwrap_or(1);
    let new = Plan::new(contenders, scenarios(trial)?);
    let is_judged = |expected: &&Expected| !exact || is_exact(&expected.meter);
    let meters = trial.expectations.iter().filter(is_judged).map(|expected| pass_of(&expected.meter));
    let asked = trial.passes.iter().filter_map(|name| Pass::ALL.into_iter().find(|pass| pass.name() == name));
    let needed: Vec<Pass> = meters.chain(asked.filter(|pass| !(exact && *pass == Pass::Flamegraph))).collect();
    Ok(Plan {
        arrangements: vec![trial.arrangement.parse().map_err(usage)?],
        count: trial.count,
        concurrency: usize::try_from(most).map_err(usage)?,
        blocks: if exact { 1 } else { trial.blocks },
        passes: Pass::ALL.into_iter().filter(|pass| *pass != Pass::Timing && needed.contains(pass)).collect(),
        control: !exact,
        noise_share: (!exact).then_some(NOISE_SHARE),
        most_attempts: if exact { 1 } else { MOST_ATTEMPTS },
        reference: reference(trial),
        serve_arguments: trial.delay.iter().flat_map(|time| ["--delay".to_owned(), time.clone()]).collect(),
        out: Some(out),
        ..new
    })
}

/// The contender before, as its id is.
fn reference(trial: &Trial) -> Option<String> {
    trial.expectations.iter().find_map(|expected| match &expected.claim {
        Claim::Change { from, .. } => Some(id(from)),
        Claim::Figure { .. } | Claim::Growth { .. } => None,
    })
}

/// The contender's id in a run.
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
                one.limits.concurrency = Some(one.limits.concurrency.map_or(*number, |most| most.min(*number)));
            }
            one.submit = *way;
            all.push(one);
        }
    }
    Ok(all)
}

/// Where the scenario of an expectation is among those of the run.
pub fn place(trial: &Trial, submit: Option<Submit>, at: Option<u64>) -> usize {
    let way = submit.and_then(|way| trial.submit.iter().position(|one| *one == way)).unwrap_or(0);
    let number = at.and_then(|at| trial.concurrency.iter().position(|one| *one == at)).unwrap_or(0);
    way * trial.concurrency.len() + number
}

/// The name of the system call that the meter counts, if it counts one.
pub fn call(meter: &str) -> Option<&str> {
    meter.strip_prefix(BY_NAME)
}

/// Whether a meter counts, so that its figure does not depend on time.
pub fn is_exact(meter: &str) -> bool {
    call(meter).is_some() || declared(meter).is_none_or(|known| matches!(known.unit, Unit::Count | Unit::Bytes))
}

fn pass_of(meter: &str) -> Pass {
    match call(meter) {
        Some(_) => Pass::Syscalls,
        None => declared(meter).map_or(Pass::Timing, |known| known.pass),
    }
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
                        assert!(call(meter).is_some() || declared(meter).is_some(), "{}: {meter}", regression.name);
                        let pass = pass_of(meter);
                        assert!(pass == Pass::Timing || plan.passes.contains(&pass) || exact && !is_exact(meter));
                    }
                    assert!(!exact || plan.blocks == 1 && !plan.passes.contains(&Pass::Flamegraph));
                }
            }
        }
    }

    #[test]
    fn a_count_is_exact_and_a_time_is_not() {
        for meter in ["syscalls:sendto", "syscalls_per_statement", "allocations_per_statement"] {
            assert!(is_exact(meter), "{meter}");
        }
        for meter in ["cpu_per_statement", "throughput", "wall"] {
            assert!(!is_exact(meter), "{meter}");
        }
    }
}
