//! Counts, judged against an earlier run.

use super::{Check, CheckError, Checked, Judgement, NOT_JUDGED, checked, ids, percent};
use crate::conditions::{differing, of_counts};
use crate::judge::beside;
use crate::measure::{STATEMENTS, SYSCALLS_PER_STATEMENT, THREADS, margin};
use crate::quantity::three_digits;
use crate::text::{count, plain};
use crate::{Analysis, Contender, Recorded, Role, Run, SummaryRow, Verdict};

impl Judgement {
    /// Judges all drivers by their counts against an earlier run. Times are never compared across runs.
    ///
    /// # Errors
    /// When the runs were made under other conditions, have nothing in common, or lack a contender that was asked for.
    pub fn against(recorded: &Recorded, baseline: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        let (was, is) = (of_counts(&baseline.run), of_counts(&recorded.run));
        let said = |[what, was, is]: [&str; 3]| format!("{what} was {} then and is {} now", plain(was), plain(is));
        let differences: Vec<String> = differing(&was, &is).into_iter().map(said).collect();
        if !differences.is_empty() {
            return Err(CheckError::OtherEnvironment(differences.join("; ")));
        }
        let judged = counted(&recorded.run, &baseline.run, check)?;
        let of = |one: &Recorded| Analysis::new(&one.run, &one.cells).rows;
        let (now, then) = (of(recorded), of(baseline));
        let is_count = |row: &&SummaryRow| margin(&row.meter).is_some() && row.median.is_some();
        let mut lines = Vec::new();
        for old in then.iter().filter(is_count) {
            let Some(contender) = judged.iter().find(|one| one.id == old.contender) else { continue };
            lines.push(match beside(&now, old, &old.contender, &old.meter) {
                Some(row) => by_count(row, old, unsteadiness(row, recorded, [&now, &then]), check),
                None => {
                    let row = SummaryRow { label: contender.label.clone(), ..old.clone() };
                    checked(&row, Err(NOT_JUDGED), NOT_COUNTED.to_owned())
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
        let is_ours = baseline.run.executable == recorded.run.executable;
        let warnings = if is_ours { Vec::new() } else { vec![OTHER_EXECUTABLE.to_owned()] };
        Ok(Judgement { about, lines, warnings, findings: Vec::new() })
    }
}

const OTHER_EXECUTABLE: &str =
    "cqldyno's executable, and so the embedded cluster, is not the baseline's: a step may come from cqldyno.";
const NOT_COUNTED: &str = "The baseline has this count and the run does not: run it with the same passes.";

/// The contenders to judge: those that were asked for, else every driver that both runs have.
fn counted<'a>(now: &'a Run, then: &'a Run, check: &Check) -> Result<Vec<&'a Contender>, CheckError> {
    let [candidates, before] =
        [now, then].map(|run| run.contenders.iter().filter(|one| !one.control).collect::<Vec<_>>());
    let is_then = |one: &Contender| before.iter().any(|old| old.id == one.id);
    let Some(named) = check.named(&candidates)? else {
        let is_judged = |one: &&Contender| one.role == Role::Driver && one.unavailable.is_none() && is_then(one);
        return Ok(candidates.into_iter().filter(is_judged).collect());
    };
    match check.contenders.iter().zip(&named).find(|(_, one)| !is_then(one)) {
        Some((asked, _)) => Err(CheckError::NotInBaseline(asked.clone(), ids(&before))),
        None => Ok(named),
    }
}

/// Judges a count: the whole range that it has between runs of one build must lie on one side of the threshold.
fn by_count(row: &SummaryRow, old: &SummaryRow, unsteadiness: Result<f64, String>, check: &Check) -> Checked {
    let (now, then) = match (row.figure(), old.figure()) {
        (Ok(now), Ok(then)) => (now, then),
        (Err(why), _) => return checked(row, Err(NOT_JUDGED), plain(&why)),
        (_, Err(why)) => {
            return checked(row, Err(NOT_JUDGED), format!("The baseline's figure is void: {}", plain(&why)));
        }
    };
    let over = percent(check.threshold);
    let verdict = |share: &f64| check.judged([now / (1.0 + share), now * (1.0 + share)], then);
    let (verdict, said) = match unsteadiness.as_ref().map(|share| (verdict(share), percent(*share))) {
        Err(why) => (Verdict::Inconclusive, format!("left open, because {}", plain(why))),
        Ok((verdict @ Verdict::Dearer, by)) => {
            (verdict, format!("more than {over} above, and more than the {by} by which runs differ"))
        }
        Ok((verdict @ Verdict::Inconclusive, by)) => {
            (verdict, format!("{over} above or not, runs of one build differ by up to {by}"))
        }
        Ok((verdict, _)) => (verdict, format!("no more than {over} above")),
    };
    checked(row, Ok(verdict), format!("{} now, {} then: {said}.", three_digits(now), three_digits(then)))
}

/// More threads than these wake each other: the one that runs everything, and one of the driver's own.
const THREADS_ALONE: f64 = 2.0;

/// The share by which the count may differ between runs of one build, or why that is not known.
///
/// System calls of several threads, which wake each other, differed by up to eight times.
fn unsteadiness(row: &SummaryRow, recorded: &Recorded, rows: [&[SummaryRow]; 2]) -> Result<f64, String> {
    let (share, least) =
        margin(&row.meter).ok_or("nobody knows how steady it is; judge allocations or instructions")?;
    if row.meter == SYSCALLS_PER_STATEMENT {
        let is_here = |runtime: &str| {
            recorded.run.plan.arrangements.iter().any(|one| one.id == row.arrangement && one.runtime == runtime)
        };
        let threads =
            rows.iter().filter_map(|rows| beside(rows, row, &row.contender, THREADS)?.median).reduce(f64::max);
        if !is_here("current") || threads.is_none_or(|threads| threads > THREADS_ALONE) {
            let threads =
                threads.map_or("several threads".to_owned(), |threads| count(threads.ceil() as u64, "thread"));
            return Err(format!(
                "the worker had {threads} on {}, and how often threads wake each other differs in every run; judge allocations or \
                 instructions",
                row.arrangement
            ));
        }
    }
    // What happens once per cell weighs more in a shorter one.
    let is_of = |cell: &&crate::Cell| {
        [&cell.contender, &cell.scenario, &cell.arrangement] == [&row.contender, &row.scenario, &row.arrangement]
            && cell.get(&row.meter).is_some()
    };
    let statements = recorded.cells.iter().filter(is_of).filter_map(|cell| cell.get(STATEMENTS));
    Ok(share * least / statements.fold(least, f64::min).max(1.0))
}
