//! Counts, judged against an earlier run.

use super::steady::{is_judged, unsteadiness};
use super::{Check, CheckError, Finding, Judgement, Line, line, percent};
use crate::head::time_limit;
use crate::quantity::{three_digits, whole};
use crate::text::{count, plain};
use crate::{Analysis, Contender, Recorded, Role, Run, SummaryRow};

/// What runs must have in common, by what it is called.
pub(crate) type Conditions = Vec<(String, String)>;

/// The names of which both lists have a value, and not the same one, with both values.
pub(crate) fn differing<'a>(was: &'a [(String, String)], is: &'a [(String, String)]) -> Vec<[&'a str; 3]> {
    let mut found = Vec::new();
    for (name, was) in was {
        let other = is.iter().find(|(other, _)| other == name);
        found.extend(other.filter(|(_, is)| is != was).map(|(_, is)| [name.as_str(), was, is]));
    }
    found
}

impl Judgement {
    /// Judges all drivers by their counts against an earlier run. Times are never compared across runs.
    ///
    /// # Errors
    /// When the runs were made under other conditions, have nothing in common, or lack a contender that was asked for.
    pub fn against(recorded: &Recorded, baseline: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        let (was, is) = (environment(&baseline.run), environment(&recorded.run));
        let said = |[what, was, is]: [&str; 3]| format!("{what} was {} then and is {} now", plain(was), plain(is));
        let differences: Vec<String> = differing(&was, &is).into_iter().map(said).collect();
        if !differences.is_empty() {
            return Err(CheckError::OtherEnvironment { differences: differences.join("; ") });
        }
        let judged = counted(&recorded.run, &baseline.run, check)?;
        let of = |one: &Recorded| Analysis::new(&one.run, &one.cells).rows().to_vec();
        let (now, then) = (of(recorded), of(baseline));
        let is_count = |row: &&SummaryRow| is_judged(&row.meter) && row.median.is_some();
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
    let candidates = || now.contenders.iter().filter(|one| !one.control);
    let is_then = |one: &Contender| then.contenders.iter().any(|old| old.id == one.id && !old.control);
    if check.contenders.is_empty() {
        let is_judged = |one: &&Contender| one.role == Role::Driver && one.unavailable.is_none() && is_then(one);
        return Ok(candidates().filter(is_judged).collect());
    }
    let find = |asked: &String| {
        let found = candidates().find(|one| one.id == *asked || one.label == *asked);
        let found = found.ok_or_else(|| CheckError::Unknown { asked: asked.clone(), there: ids(candidates()) })?;
        match is_then(found) {
            true => Ok(found),
            false => Err(CheckError::NotInBaseline {
                asked: asked.clone(),
                there: ids(then.contenders.iter().filter(|one| !one.control)),
            }),
        }
    };
    check.contenders.iter().map(find).collect()
}

fn ids<'a>(contenders: impl Iterator<Item = &'a Contender>) -> String {
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
pub fn conditions(run: &Run) -> Conditions {
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
    let all = [
        ("the processor", run.environment.cpu.clone()),
        ("the number of cores", run.environment.cores.to_string()),
        ("the kernel", run.environment.kernel.clone()),
        ("the profile", run.environment.profile.clone()),
        ("the target", target),
        ("what was asked", asked),
        ("the server's way of answering", served),
    ];
    all.map(|(name, value)| (name.to_owned(), value)).into()
}

/// The same for counts, which must all be equal.
fn environment(run: &Run) -> Conditions {
    let mut all = conditions(run);
    let more = [
        ("the number of statements", statements(run)),
        ("the list of scenarios", scenarios(run)),
        ("the list of arrangements", arrangements(run)),
        ("the load generator", run.load_generators()),
    ];
    all.extend(more.map(|(name, value)| (name.to_owned(), value)));
    all
}

fn statements(run: &Run) -> String {
    let plan = &run.plan;
    let [timed, counted, before] =
        [plan.statements(), plan.counting_count, plan.warmup].map(|count| whole(count as f64));
    format!("{timed} ({counted} in a cell that counts, {before} before the window)")
}

pub(crate) fn scenarios(run: &Run) -> String {
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
