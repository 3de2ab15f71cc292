//! Every contender of a plan is asked who it is; workers that are not there are built first.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cqldyno_builder::{BuildError, Builder, Built, Order, Watch};
use cqldyno_driver_api::{Capability, DriverInfo};
use cqldyno_protocol::Hello;
use cqldyno_reports::{BuiltOnDemand, Contender as Row, Role, sentence, unique};

use crate::plan::asked::{left_out, own_concurrency};
use crate::plan::contender::{Contender, KNOWN};
use crate::plan::target::Target;
use crate::plan::{POSTGRES, Plan, PlanError};
use crate::process::cancel::Cancel;
use crate::process::failure::CellFailure;
use crate::process::introduction::{Introduced, Reception, Sought, own_build, row};
use crate::process::load_generator::own_generator;
use crate::process::programs::{FLOOR, NOOP, Programs};
use crate::record::folder::file_stem;
use crate::run::observer::{Building, Observer};
use crate::run::{Bench, BenchError};

/// The contenders of a run, up to the one at which the user ended it.
pub(super) struct Introductions {
    pub rows: Vec<Row>,
    pub introduced: Vec<Result<Introduced, CellFailure>>,
    pub building: Duration,
}

/// Asks every contender who it is.
///
/// # Errors
/// When no adapter speaks what is asked for, or a lock file cannot be kept.
pub(super) fn introductions(
    bench: &Bench<'_>,
    plan: &Plan,
    observer: &mut dyn Observer,
) -> Result<Introductions, BenchError> {
    let Bench { programs, folder, cancel, .. } = *bench;
    let reception = Reception { programs, deadlines: plan.deadlines, cancel };
    let log = |what: &str, id: &str| folder.log(&format!("{what}-{}", file_stem(id)));
    let ids = plan.ids();
    let everybody = || ids.iter().zip(&plan.contenders);
    let mut sought: Vec<Sought> = everybody().map(|(id, one)| reception.seek(one, Some(log("hello", id).0))).collect();
    let mut workshop = Workshop::default();
    for (one, sought) in plan.contenders.iter().zip(&mut sought) {
        // The worker that is there has what those of older releases have.
        sought.hello().map_or(Ok(()), |hello| one.fits(&hello.driver)).map_err(PlanError::from)?;
        let Sought::Build(instead) = sought else { continue };
        match workshop.builder().and_then(|builder| builder.check(&one.order)) {
            Err(error) if error.is_refusal() => return Err(error.into()),
            Err(BuildError::NoAdapter(..)) if instead.is_some() => one.check_not_built().map_err(PlanError::from)?,
            _ => {}
        }
        let Ok(driver) = workshop.foreknown(&one.order) else { continue };
        let why = fits(plan, one, &driver)?.or_else(|| unable(plan, one, &driver).map(CellFailure::Unavailable));
        *sought = why.map_or_else(|| Sought::Build(instead.take()), |why| Sought::There(Box::new(Err(why))));
    }
    let to_build = plan.contenders.iter().zip(&sought).filter(|(_, sought)| matches!(sought, Sought::Build(_)));
    let orders = unique(to_build.map(|(one, _)| &one.order));
    let (cached, missing): (Vec<&Order>, Vec<&Order>) =
        orders.into_iter().partition(|order| workshop.builder().is_ok_and(|builder| builder.has_built(order)));
    if missing.len() > 1 {
        observer.to_build(&missing.iter().map(|order| order.label()).collect::<Vec<_>>(), cached.len());
    }
    let (mut rows, mut introduced, mut building) = (Vec::new(), Vec::new(), Duration::ZERO);
    for ((id, contender), sought) in everybody().zip(sought) {
        let mut lock_file = None;
        let found = match sought {
            Sought::There(found) => *found,
            Sought::Build(instead) => {
                let began = Instant::now();
                let built = workshop.build(&contender.order, log("build", id), observer, cancel);
                building += began.elapsed();
                if let Ok(built) = &built {
                    lock_file = Some(folder.keep_lock_file(id, &built.lock_file)?);
                }
                let found = reception.introduce_built(contender, built, instead.as_deref(), Some(log("hello", id).0));
                let misfit = found.as_ref().map_or(Ok(None), |found| fits(plan, contender, &found.hello.driver))?;
                misfit.map_or(found, Err)
            }
        };
        let began = Instant::now();
        let found = found.and_then(plays).and_then(|found| {
            let mut layout = |seed| {
                let mut contender = contender.clone();
                contender.order.layout = Some(seed);
                let built = workshop.build(&contender.order, log("build", id), observer, cancel);
                let other = reception.introduce_built(&contender, built, None, Some(log("hello", id).0));
                other.and_then(|other| found.in_other_order(other)).map_err(without_layouts)
            };
            // Only those that are built from adapters of ours.
            let is_ours = contender.role() == Role::Driver && KNOWN.contains(&contender.name());
            let has_layouts = is_ours && !found.hello.build.id.is_empty() && contender.order.layout.is_none();
            let wanted = if has_layouts { plan.layouts.unwrap_or_default() } else { 0 };
            let layouts = (1..=wanted).map(&mut layout).collect::<Result<_, _>>()?;
            Ok(Introduced { layouts, ..found })
        });
        building += began.elapsed();
        if found.as_ref().is_err_and(|failure| *failure == CellFailure::Cancelled) {
            break;
        }
        let mut row = row(id, contender, &found);
        row.in_flight = found.as_ref().ok().and_then(|found| {
            let connections = found.contender.own.in_force(plan, None).connections;
            // A sweep leaves out what it cannot have in flight.
            let is_sweep = plan.scenarios.iter().any(|scenario| scenario.point.is_some());
            let own = own_concurrency(plan, connections, &found.hello).filter(|_| !is_sweep);
            own.map(|own| own as u64)
        });
        row.caveats.extend(own_generator(&row));
        row.caveats.extend(found.as_ref().ok().and_then(|found| own_build(contender, found)));
        let built = found.as_ref().ok().and_then(|found| found.built.as_ref());
        row.built = built.zip(lock_file).map(|(built, lock_file)| on_demand(&contender.order, built, lock_file));
        row.label = unique_label(&row, &rows);
        observer.contender(&row);
        rows.push(row);
        introduced.push(found);
    }
    Ok(Introductions { rows, introduced, building })
}

/// Refuses keys that the driver of the contender does not have, or says why that one release is left out where nobody named it by itself.
fn fits(plan: &Plan, contender: &Contender, driver: &DriverInfo) -> Result<Option<CellFailure>, PlanError> {
    match contender.fits(driver) {
        Ok(()) => Ok(None),
        Err(error) if plan.named && plan.releases.is_empty() => Err(error.into()),
        Err(error) => Ok(Some(CellFailure::Unavailable(sentence(&error.to_string())))),
    }
}

/// Why the contender can do no scenario of the plan, as a full sentence, by what is known of its driver before a build.
fn unable(plan: &Plan, contender: &Contender, driver: &DriverInfo) -> Option<String> {
    let why = |one| left_out(plan, contender.own.in_force(plan, Some(one)), driver, one);
    let each: Vec<String> = plan.scenarios.iter().map(why).collect::<Option<_>>()?;
    each.first().map(|why| format!("{why} So no worker was built."))
}

/// Refuses a worker that is to play a tape and has a load generator of its own that plays none.
fn plays(found: Introduced) -> Result<Introduced, CellFailure> {
    let Hello { tape, build, driver, .. } = &found.hello;
    if !found.contender.own.tape || *tape || !build.id.is_empty() {
        return Ok(found);
    }
    Err(CellFailure::Unavailable(format!(
        "It has tape=on, and the worker of {} has a load generator of its own that plays no tape; leave `tape` out.",
        driver.label()
    )))
}

/// The failure with what to do instead.
fn without_layouts(failure: CellFailure) -> CellFailure {
    let advice = "With `--layouts 0` it needs no other order of functions.";
    match failure {
        CellFailure::Unavailable(why) => CellFailure::Unavailable(format!("{why} {advice}")),
        CellFailure::Worker(why) => CellFailure::Worker(format!("{why} {advice}")),
        other => other,
    }
}

/// Where workers are built.
#[derive(Debug, Default)]
pub struct Workshop {
    builder: Option<Builder>,
}

impl Workshop {
    /// The builder, which is found when it is first needed.
    ///
    /// # Errors
    /// When there are no sources, or no folder for the cache is known.
    pub fn builder(&mut self) -> Result<&Builder, BuildError> {
        let builder = match self.builder.take() {
            Some(builder) => builder,
            None => Builder::find()?,
        };
        Ok(self.builder.insert(builder))
    }

    /// What the adapter's manifest tells of the driver that is ordered.
    fn foreknown(&mut self, order: &Order) -> Result<DriverInfo, BuildError> {
        let lacks = self.builder()?.lacks(order)?;
        let is_lacked = |capability: &Capability| {
            let name = serde_json::to_value(capability).unwrap_or_default();
            name.as_str().is_some_and(|name| lacks.contains(name))
        };
        let all = Capability::all_but(&[]).into_iter().chain([Capability::Tls]);
        Ok(DriverInfo {
            version: order.version.as_ref().map(ToString::to_string).unwrap_or_default(),
            capabilities: all.filter(|capability| !is_lacked(capability)).collect(),
            lacks_types: lacks.iter().map(|name| name.clone().into()).collect(),
            ..DriverInfo::default()
        })
    }

    /// The worker that is ordered: from the cache, or built. `log` is a file and its name for people.
    ///
    /// # Errors
    /// When it cannot be built, or the user ends it.
    pub fn build(
        &mut self,
        order: &Order,
        (log, log_name): (PathBuf, String),
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> Result<Built, BuildError> {
        if cancel.is_cancelled() {
            return Err(BuildError::Cancelled);
        }
        let builder = self.builder()?;
        let label = order.label();
        let began = Instant::now();
        let mut progress = |progress| observer.builds(&label, Building::Goes(progress));
        let cancelled = || cancel.is_cancelled();
        let built =
            builder.build(order, &mut Watch { progress: &mut progress, cancelled: &cancelled, log: Some(&log) });
        observer.builds(&label, Building::Ends { well: built.is_ok(), lasted: began.elapsed() });
        built.map_err(|error| match error {
            BuildError::Failed(why) if log.is_file() => BuildError::Failed(format!("{why}; {log_name} has all of it")),
            error => error,
        })
    }

    /// The programs with workers of these drivers: those that are not there are built, unless a build has failed before. For each that
    /// cannot be built, a sentence says why.
    pub fn completed<'n>(
        &mut self,
        programs: &Programs,
        names: impl IntoIterator<Item = &'n str>,
        log: impl Fn(&str) -> (PathBuf, String),
        observer: &mut dyn Observer,
        cancel: &Cancel,
    ) -> (Programs, Vec<String>) {
        let (mut programs, mut failed) = (programs.clone(), Vec::new());
        for name in names {
            if programs.worker(name).map_or_else(|missing| missing.has_failed, |_| true) {
                continue;
            }
            let order = Order { driver: name.to_owned(), ..Order::default() };
            match self.build(&order, log(name), observer, cancel) {
                Ok(built) => programs.worker_folders.extend(built.worker.parent().map(Path::to_path_buf)),
                Err(BuildError::Cancelled) => break,
                Err(error) => failed.push(sentence(&format!("there is no worker for {name}: {error}"))),
            }
        }
        (programs, failed)
    }
}

/// The programs with all that a run needs beside its contenders: clients of ours that make tables, load rows and write tapes. Those that
/// are not there are built. If one cannot be built, the cells that need it fail.
pub(super) fn completed(
    bench: &Bench<'_>,
    plan: &Plan,
    introduced: &[Result<Introduced, CellFailure>],
    observer: &mut dyn Observer,
) -> Programs {
    let Bench { programs, folder, cancel, .. } = *bench;
    let mut all = introduced.iter().flatten();
    let is_noop = |one: &Introduced| one.contender.role() == Role::Noop;
    let wanted = [
        (FLOOR, all.clone().any(|one| !is_noop(one))),
        (POSTGRES, matches!(plan.target, Target::Postgres(_))),
        (NOOP, all.any(|one| is_noop(one) && (one.hello.tape || one.contender.own.tape))),
    ];
    let names = wanted.into_iter().filter(|(_, is_wanted)| *is_wanted).map(|(name, _)| name);
    let log = |name: &str| folder.log(&format!("build-{name}"));
    let (programs, failed) = Workshop::default().completed(programs, names, log, observer, cancel);
    failed.iter().for_each(|sentence| observer.says(sentence));
    programs
}

fn on_demand(order: &Order, built: &Built, lock_file: String) -> BuiltOnDemand {
    BuiltOnDemand {
        adapter: built.adapter.clone(),
        version: order.version.as_ref().map(ToString::to_string),
        revision: built.revision.clone(),
        dirty: built.dirty,
        dependencies: order.pins.clone(),
        allocator: order.allocator.clone(),
        lto: order.lto.clone(),
        timer: order.timer.clone(),
        layout: order.layout,
        key: built.key.clone(),
        lock_file,
    }
}

/// The row's label, with a number where another contender has the same one: two paths to one library, for example.
fn unique_label(row: &Row, others: &[Row]) -> String {
    let taken = |label: &str| others.iter().any(|other| other.label == label);
    let numbered = (2..).map(|nth| format!("{}#{nth}", row.label));
    std::iter::once(row.label.clone()).chain(numbered).find(|label| !taken(label)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::topology::Topology;
    use crate::record::sample_run;

    #[test]
    fn who_cannot_be_built_in_another_order_is_told_how_to_do_without() {
        let said = |failure| without_layouts(failure).to_string();
        let advice = "With `--layouts 0` it needs no other order of functions.";
        assert!(said(CellFailure::Unavailable("No cargo.".to_owned())).ends_with(&format!("No cargo. {advice}")));
        assert!(said(CellFailure::Worker("It differs.".to_owned())).ends_with(advice));
        assert_eq!(without_layouts(CellFailure::Cancelled), CellFailure::Cancelled);
    }

    #[test]
    fn contenders_that_turn_out_to_be_the_same_have_labels_of_their_own() {
        let plan = plan(&["a+lib=x", "a+lib=y", "a+lib=z"], &["writes"]);
        let mut rows = sample_run(&plan, &plan.check(&Topology::sample(1, 1)).unwrap()).contenders;
        for at in 0..rows.len() {
            rows[at].label = "a@1".to_owned();
            rows[at].label = unique_label(&rows[at], &rows[..at]);
        }
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!(labels, ["a@1", "a@1#2", "a@1#3"]);
    }
}
