//! What runs of base and head, each under two names, say of the change.
//!
//! Counts come first. How far apart the two names of one build are is the noise.

use cqldyno_reports::measure::{ALLOCATIONS, CPU_TIME, Figure, INSTRUCTIONS, SYSTEM_CALLS};
use cqldyno_reports::{Analysis, Contender, Difference, Place, Run, Verdict, explanation, more_calls};

/// Counts, the steadiest first.
pub const COUNTS: [&Figure; 3] = [&INSTRUCTIONS, &SYSTEM_CALLS, &ALLOCATIONS];

#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub scenario: String,
    pub figure: &'static Figure,
    /// Head's figure beside base's, if both have one.
    pub found: Option<Difference>,
    /// What follows; or why nothing is known, as a full sentence.
    pub verdict: Result<Verdict, String>,
    /// The system calls that head makes more of, if they were counted by name.
    pub more: Option<String>,
    /// Whether a second run said the same of a change.
    pub confirmed: Option<bool>,
}

impl Judged {
    /// The word for what follows.
    pub fn name(&self) -> &'static str {
        self.verdict.as_ref().map_or("n/a", |verdict| verdict.name())
    }

    /// Whether it is to be confirmed.
    pub fn is_change(&self) -> bool {
        self.verdict.as_ref().is_ok_and(|verdict| verdict.differs())
    }

    /// Whether head changed so and a second run agreed.
    pub fn is_found(&self, verdict: Verdict) -> bool {
        self.verdict == Ok(verdict) && self.confirmed == Some(true)
    }

    /// Whether head changed and a second run could not say whether it did.
    pub fn is_open(&self) -> bool {
        self.is_change() && self.confirmed.is_none()
    }
}

/// Base and head, each under both of its names; `None` if the run has not introduced all four.
pub fn names(run: &Run) -> Option<[[&Contender; 2]; 2]> {
    match run.contenders.as_slice() {
        [base, base_again, head, head_again] => Some([[base, base_again], [head, head_again]]),
        _ => None,
    }
}

/// One per scenario and figure. CPU time is left out if turns were not asked for.
pub fn judge(analysis: &Analysis) -> Vec<Judged> {
    let Some(names) = names(analysis.run) else { return Vec::new() };
    let timed = analysis.run.plan.is_open().then_some(&CPU_TIME);
    let of = |place| COUNTS.into_iter().chain(timed).map(move |figure| compared(analysis, place, names, figure));
    analysis.places().flat_map(of).collect()
}

/// The scenarios of which nothing is known: head fails in them, for example.
pub fn unjudged(all: &[Judged]) -> Vec<&str> {
    let mut open: Vec<&str> = all.iter().map(|one| one.scenario.as_str()).collect();
    open.dedup();
    open.retain(|name| !all.iter().any(|one| one.scenario == *name && one.verdict.is_ok()));
    open
}

/// Notes of every change in `first` whether `second` shows it as well, and which system calls are more.
pub fn confirm(first: &mut [Judged], second: &[Judged]) {
    for one in first.iter_mut().filter(|one| one.is_change()) {
        let is_same = |other: &&Judged| other.scenario == one.scenario && other.figure == one.figure;
        let again = second.iter().find(is_same);
        // A pass may have had no room in the second run.
        one.confirmed = again.filter(|other| other.verdict.is_ok()).map(|other| other.verdict == one.verdict);
        one.more = again.and_then(|other| other.more.clone());
    }
}

/// What head has more of, by the scenarios in which it is dearer: their names, and why.
pub fn why(analysis: &Analysis, all: &[Judged]) -> Vec<(String, String)> {
    let Some([[base, _], [head, _]]) = names(analysis.run) else { return Vec::new() };
    let is_dearer = |name: &str| all.iter().any(|one| one.scenario == name && one.is_found(Verdict::Dearer));
    let told = |place: Place| Some((place.scenario.name.clone(), explanation(analysis, place, head, base)?));
    analysis.places().filter(|place| is_dearer(&place.scenario.name)).filter_map(told).collect()
}

fn compared(analysis: &Analysis, place: Place, [base, head]: [[&Contender; 2]; 2], figure: &'static Figure) -> Judged {
    let found = analysis.difference(place, [&base, &head], figure).map_err(|(_, why)| why);
    let verdict = found.as_ref().map_err(String::clone).and_then(|found| found.verdict.clone());
    let is_counted = figure == &SYSTEM_CALLS && found.is_ok();
    let more = is_counted.then(|| more_calls(analysis, place, head[0], base[0])).flatten();
    Judged { scenario: place.scenario.name.clone(), figure, found: found.ok(), verdict, more, confirmed: None }
}

#[cfg(test)]
pub(super) mod tests;
