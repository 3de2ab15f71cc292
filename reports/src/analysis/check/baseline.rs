//! Counts, judged against an earlier run.

use super::steady::{share, unsteadiness};
use super::{Check, CheckError, Finding, Judgement, Line, line, named, percent};
use crate::head::time_limit;
use crate::quantity::{three_digits, whole};
use crate::text::{count, plain};
use crate::{Analysis, Contender, Recorded, Role, Run, SummaryRow};

/// A difference between a run and its baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// For example `the kernel`.
    pub what: &'static str,
    /// In the baseline.
    pub was: String,
    /// In the run.
    pub is: String,
}

/// The differences as part of a sentence.
pub fn list(differences: &[Difference]) -> String {
    let said = |one: &Difference| format!("{} was {} then and is {} now", one.what, plain(&one.was), plain(&one.is));
    differences.iter().map(said).collect::<Vec<_>>().join("; ")
}

impl Judgement {
    /// Judges all drivers by their counts against an earlier run. Times are never compared across runs.
    ///
    /// # Errors
    /// When the runs were made under other conditions, have nothing in common, or lack a contender that was asked for.
    pub fn against(recorded: &Recorded, baseline: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        let differences = differences(&baseline.run, &recorded.run);
        if !differences.is_empty() {
            return Err(CheckError::OtherEnvironment { differences });
        }
        let judged = counted(&recorded.run, &baseline.run, check)?;
        let of = |one: &Recorded| Analysis::new(&one.run, &one.cells).rows().to_vec();
        let (now, then) = (of(recorded), of(baseline));
        let is_count = |row: &&SummaryRow| share(&row.meter).is_some() && row.median.is_some();
        let mut lines = Vec::new();
        for old in then.iter().filter(is_count) {
            let Some(contender) = judged.iter().find(|one| one.id == old.contender) else { continue };
            let same = |row: &&SummaryRow| {
                (&row.contender, &row.scenario, &row.arrangement, &row.meter)
                    == (&old.contender, &old.scenario, &old.arrangement, &old.meter)
            };
            lines.push(match now.iter().find(same) {
                Some(row) => by_count(row, old, unsteadiness(row, recorded, [&now, &then]), check),
                None => {
                    Line { label: contender.label.clone(), ..line(old, Finding::NotJudged, NOT_COUNTED.to_owned()) }
                }
            });
        }
        if lines.is_empty() {
            return Err(CheckError::NothingInCommon);
        }
        let about = format!(
            "Counts per statement over the baseline of {}; the threshold is {}. A count comes from one cell and has no interval: it is \
             greater if it exceeds the threshold by more than counts of one build differ. Times are not compared across runs.",
            baseline.run.started,
            percent(check.threshold)
        );
        Ok(Judgement {
            about,
            lines,
            warnings: ours(&baseline.run, &recorded.run).into_iter().collect(),
            findings: Vec::new(),
        })
    }
}

const NOT_COUNTED: &str = "The baseline has this count and the run does not: run it with the same passes.";

/// The contenders to judge: those that were asked for, else every driver that both runs have.
fn counted<'a>(now: &'a Run, then: &Run, check: &Check) -> Result<Vec<&'a Contender>, CheckError> {
    let candidates: Vec<&Contender> = now.contenders.iter().filter(|one| !one.control).collect();
    let is_then = |one: &&Contender| then.contenders.iter().any(|old| old.id == one.id && !old.control);
    if check.contenders.is_empty() {
        let is_judged = |one: &&Contender| one.role == Role::Driver && one.unavailable.is_none() && is_then(one);
        return Ok(candidates.into_iter().filter(is_judged).collect());
    }
    let named = named(&candidates, check)?;
    let there = || ids(then.contenders.iter().filter(|one| !one.control));
    match named.iter().zip(&check.contenders).find(|(one, _)| !is_then(one)) {
        Some((_, asked)) => Err(CheckError::NotInBaseline { asked: asked.clone(), there: there() }),
        None => Ok(named),
    }
}

pub fn ids<'a>(contenders: impl Iterator<Item = &'a Contender>) -> String {
    contenders.map(|one| plain(&one.id)).collect::<Vec<_>>().join(", ")
}

/// Judges a count: the whole range that it has between runs of one build must lie on one side of the threshold.
fn by_count(row: &SummaryRow, old: &SummaryRow, unsteadiness: Result<f64, String>, check: &Check) -> Line {
    let now = row.median.filter(|_| row.void.is_none());
    let then = old.median.filter(|_| old.void.is_none());
    let (finding, sentence) = match (now, then) {
        (Some(now), Some(then)) => {
            let figure = format!("{} now, {} then", three_digits(now), three_digits(then));
            let over = percent(check.threshold);
            // A count of zero may grow by less than can be counted.
            let most = then * (1.0 + check.threshold) + 1e-9;
            match unsteadiness {
                Err(why) => (Finding::Inconclusive, format!("{figure}: left open, because {}.", plain(&why))),
                Ok(share) if now > most * (1.0 + share) => {
                    let by = percent(share);
                    (
                        Finding::Greater,
                        format!("{figure}: more than {over} above, and more than the {by} by which runs differ."),
                    )
                }
                Ok(share) if now * (1.0 + share) <= most => {
                    (Finding::Passed, format!("{figure}: no more than {over} above."))
                }
                Ok(share) => {
                    let by = percent(share);
                    let why = format!("runs of one build differ by up to {by}");
                    (Finding::Inconclusive, format!("{figure}: {over} above or not, {why}."))
                }
            }
        }
        (None, _) => {
            let why = [&row.void, &row.failed, &row.unavailable].into_iter().flatten().next();
            (Finding::NotJudged, why.map_or("There is no figure.".to_owned(), |why| plain(why)))
        }
        (Some(_), None) => {
            let why = old.void.as_deref().unwrap_or("There is no figure.");
            (Finding::NotJudged, format!("The baseline's figure is void: {}", plain(why)))
        }
    };
    line(row, finding, sentence)
}

/// What must be equal for the figures of two runs to be comparable, apart from the scenarios.
pub fn conditions(run: &Run) -> Vec<(&'static str, String)> {
    let plan = &run.plan;
    let asked = format!(
        "{} in flight, {}, {} settings, {}, pages of {}, {}",
        whole(plan.concurrency as f64),
        count(plan.connections, "connection"),
        plan.settings,
        plan.consistency,
        count(plan.page_size.unsigned_abs().into(), "row"),
        time_limit(run),
    );
    // A cluster that is not ours says the same of itself wherever it is.
    let target = if plan.target.embedded { plan.target.about.clone() } else { plan.target.id.clone() };
    let served = if plan.serve_arguments.is_empty() { "as it does".to_owned() } else { plan.serve_arguments.join(" ") };
    vec![
        ("the processor", run.environment.cpu.clone()),
        ("the number of cores", run.environment.cores.to_string()),
        ("the kernel", run.environment.kernel.clone()),
        ("the profile", run.environment.profile.clone()),
        ("the target", target),
        ("what was asked", asked),
        ("the server's way of answering", served),
    ]
}

/// All differences that make the counts of two runs incomparable.
fn differences(then: &Run, now: &Run) -> Vec<Difference> {
    let all = |run: &Run| {
        let mut all = conditions(run);
        all.extend([
            ("the number of statements", statements(run)),
            ("the list of scenarios", scenarios(run)),
            ("the list of arrangements", arrangements(run)),
            ("the load generator", run.load_generators()),
        ]);
        all
    };
    let pairs = all(then).into_iter().zip(all(now)).filter(|((_, was), (_, is))| was != is);
    pairs.map(|((what, was), (_, is))| Difference { what, was, is }).collect()
}

fn statements(run: &Run) -> String {
    let plan = &run.plan;
    let [timed, counted, before] =
        [plan.statements(), plan.counting_count, plan.warmup].map(|count| whole(count as f64));
    format!("{timed} ({counted} in a cell that counts, {before} before the window)")
}

fn scenarios(run: &Run) -> String {
    let hashes = run.scenarios.iter().map(|one| format!("{} {}", one.name, one.hash.get(..12).unwrap_or(&one.hash)));
    hashes.collect::<Vec<_>>().join(", ")
}

fn arrangements(run: &Run) -> String {
    let named = run.plan.arrangements.iter().map(|one| {
        format!("{} with the worker on cores {:?} and the server on {:?}", one.id, one.worker_cores, one.server_cores)
    });
    named.collect::<Vec<_>>().join(", ")
}

/// A warning if cqldyno itself may have changed a count.
fn ours(then: &Run, now: &Run) -> Option<String> {
    (then.executable != now.executable).then(|| {
        "cqldyno's executable, and so the embedded cluster, is not the baseline's: a step may come from cqldyno."
            .to_owned()
    })
}
