//! One step: versions side by side in ordinary runs.

use std::time::Duration;

use anyhow::Result;
use cqldyno_bench::builder::BuildError;
use cqldyno_bench::{
    BenchError, Building, Cancel, CellStart, Contender, Observer, Plan, Programs, Stage, Workshop, run as carry_out,
};
use cqldyno_reports::{Analysis, explanation, sentence};
use cqldyno_scenarios::Scenario;

use super::judge::Beside;
use super::log::Log;
use crate::names::scenarios;
use crate::outcome::usage;
use crate::plan::EXPLAINING_PASSES;
use crate::progress::Progress;
use crate::terminal;
use crate::trial::{ended, kept};

/// The narrowest and the widest half interval that a run in turns is asked for, as a share.
const WIDTHS: (f64, f64) = (0.005, 0.2);

/// What measures the versions of a log.
pub struct Bench<'a> {
    pub programs: &'a Programs,
    pub workshop: Workshop,
    pub progress: &'a mut Progress,
    pub cancel: &'a Cancel,
    /// The folders of the adapters in the run before, in the order of its contenders.
    pub adapters: Vec<Option<String>>,
}

impl Bench<'_> {
    /// Builds the version at `place`, so that a step is not begun in vain; or why it cannot be built, as a sentence.
    pub fn build(&mut self, log: &Log, place: usize) -> Result<Result<(), String>> {
        let order = contender(log, place)?.order;
        let name = format!("build-{place}.log");
        if let Err(error) = self.workshop.builder()?.check(&order) {
            return Ok(Err(sentence(&error.to_string())));
        }
        let built = self.workshop.build(&order, (log.folder.join(&name), name), &mut *self.progress, self.cancel);
        self.goes_on()?;
        match built {
            Ok(_) => Ok(Ok(())),
            Err(error @ (BuildError::Failed(_) | BuildError::NotSpoken(..) | BuildError::Checkout(..))) => {
                Ok(Err(sentence(&error.to_string())))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Measures the versions at these places side by side, in the folder `runs`; or the place of the first one without a figure and the
    /// reason. A run that takes times ends early once intervals tell such a ratio from 1.
    pub fn compare(
        &mut self,
        log: &Log,
        places: &[usize],
        runs: &str,
        ratio: Option<f64>,
    ) -> Result<Result<Beside, (usize, String)>> {
        let searched = log.asked.meter;
        let mut plan = plan(log, places, searched.names(), runs)?;
        if searched.pass().is_none() {
            plan.limit(Some(Duration::from_secs(log.asked.within_s)));
            plan = plan.with_turns(None);
            plan.until = ratio.map(|ratio| ((ratio - 1.0).abs() / 3.0).clamp(WIDTHS.0, WIDTHS.1));
        }
        self.run(&plan, |analysis| searched.beside(analysis))
    }

    /// What the second of two versions has more of than the first, as a sentence; `None` if it cannot be measured.
    pub fn explain(&mut self, log: &Log, pair: [usize; 2], runs: &str) -> Result<Option<String>> {
        let plan = plan(log, &pair, 1, runs)?.with(|plan| plan.passes = EXPLAINING_PASSES.to_vec());
        let told = self.run(&plan, |analysis| {
            let [cheaper, dearer] = analysis.run.contenders.as_slice() else { return Ok(None) };
            Ok(analysis.places().find_map(|place| explanation(analysis, place, dearer, cheaper)))
        })?;
        Ok(told.ok().flatten())
    }

    /// An error if the user ended the search.
    fn goes_on(&self) -> Result<()> {
        if self.cancel.is_cancelled() { Err(BenchError::Ended.into()) } else { Ok(()) }
    }

    fn run<T>(
        &mut self,
        plan: &Plan,
        read: impl FnOnce(&Analysis) -> Result<T, (usize, String)>,
    ) -> Result<Result<T, (usize, String)>> {
        let mut observer = Hushed { progress: &mut *self.progress };
        let finished = ended(carry_out(plan, self.programs, &mut observer, self.cancel)).and_then(kept);
        self.goes_on()?;
        let kept = finished?;
        let adapter = |one: &cqldyno_reports::Contender| Some(one.built.as_ref()?.adapter.clone());
        self.adapters = kept.run.contenders.iter().map(adapter).collect();
        Ok(read(&Analysis::new(&kept.run, &kept.cells)))
    }
}

pub fn scenario(name: &str) -> Result<Scenario> {
    let mut found = scenarios::find(name)?;
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(usage(format!("--scenario {name} stands for several scenarios, and a search has one; name one"))),
    }
}

fn contender(log: &Log, place: usize) -> Result<Contender> {
    let mut contender: Contender = log.asked.driver.parse().map_err(usage)?;
    contender.order.version = Some(log.range.versions[place].0.parse().map_err(usage)?);
    Ok(contender)
}

/// The run of the versions at these places, each under so many names; the first one is the reference.
fn plan(log: &Log, places: &[usize], names: usize, runs: &str) -> Result<Plan> {
    let asked = &log.asked;
    let named = places.iter().flat_map(|place| std::iter::repeat_n(*place, names));
    let contenders = named.map(|place| contender(log, place)).collect::<Result<Vec<_>>>()?;
    let reference = contenders.first().map(ToString::to_string);
    let mut plan = Plan::new(contenders, vec![scenario(&asked.scenario)?]);
    plan.arrangements = vec![asked.arrangement.parse().map_err(usage)?];
    (plan.counting_count, plan.concurrency) = (asked.count, asked.concurrency);
    plan.passes = asked.meter.pass().into_iter().collect();
    (plan.reference, plan.out) = (reference, Some(log.folder.join(runs)));
    Ok(plan.with_blocks(1, asked.count))
}

/// Passes on what a run of a search shows: builds, what is missing, and on a terminal the running cell.
struct Hushed<'a> {
    progress: &'a mut Progress,
}

impl Observer for Hushed<'_> {
    fn builds(&mut self, label: &str, building: Building) {
        self.progress.builds(label, building);
    }

    fn contender(&mut self, contender: &cqldyno_reports::Contender) {
        self.progress.contender(contender);
    }

    fn cell_starts(&mut self, start: &CellStart<'_>) {
        if terminal::draws_progress() { self.progress.cell_starts(start) } else { self.progress.runs(start) }
    }

    fn stage(&mut self, stage: Stage) {
        self.progress.stage(stage);
    }
}
