//! What runs of base and head, each under two names, say of the change.
//!
//! Counts come first. How far apart the two names of one build are is the noise; a change must be three times as large. CPU time has
//! an interval from generations, and both names of head must lie beyond 2 % with all of it.

use cqldyno_reports::measure::{ALLOCATIONS, CPU_TIME, Figure, INSTRUCTIONS, SYSTEM_CALLS};
use cqldyno_reports::{Analysis, Contender, Place, Run, SummaryRow, Verdict, explanation, judged_change, more_calls};

/// How many times the noise a change must be.
const TIMES_NOISE: f64 = 3.0;
/// Counts, the steadiest first.
pub const COUNTS: [&Figure; 3] = [&INSTRUCTIONS, &SYSTEM_CALLS, &ALLOCATIONS];

/// One figure of base and head.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The scenario's name.
    pub scenario: String,
    pub figure: &'static Figure,
    pub base: Option<f64>,
    pub head: Option<f64>,
    /// How far apart two runs of one build are at most, in the unit of the figures.
    pub noise: Option<f64>,
    /// Where head's ratio to base lies with 95 % confidence, under both names; of CPU time only.
    pub interval: Option<[f64; 2]>,
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

    /// Head's figure over base's.
    pub fn ratio(&self) -> Option<f64> {
        let (base, head) = self.base.zip(self.head)?;
        Some(head / base).filter(|ratio| ratio.is_finite())
    }

    /// Whether a change need not be larger because two runs of one build differ.
    pub fn is_exact(&self) -> bool {
        let smallest = self.base.map(|base| self.figure.least.of(base));
        let is_less = |(noise, smallest)| TIMES_NOISE * noise <= smallest;
        self.interval.is_none() && self.noise.zip(smallest).is_some_and(is_less)
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
    let Some(names) = names(analysis.run()) else { return Vec::new() };
    let timed = analysis.run().plan.is_open().then_some(&CPU_TIME);
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
    let Some([[base, _], [head, _]]) = names(analysis.run()) else { return Vec::new() };
    let is_dearer = |name: &str| all.iter().any(|one| one.scenario == name && one.is_found(Verdict::Dearer));
    let told = |place: Place| Some((place.scenario.name.clone(), explanation(analysis, place, head, base)?));
    analysis.places().filter(|place| is_dearer(&place.scenario.name)).filter_map(told).collect()
}

/// A figure of base and head: of a count its change beside its spread, of CPU time the interval that holds both names of head.
fn compared(analysis: &Analysis, place: Place, [base, head]: [[&Contender; 2]; 2], figure: &'static Figure) -> Judged {
    let unknown = Judged {
        scenario: place.scenario.name.clone(),
        figure,
        base: None,
        head: None,
        noise: None,
        interval: None,
        verdict: Err(String::new()),
        more: None,
        confirmed: None,
    };
    let rows = match analysis.figures(place, &[base, head].concat(), figure) {
        Ok(rows) => rows,
        Err((_, why)) => return Judged { verdict: Err(why), ..unknown },
    };
    let ([was, by_base], [is, by_head]) = (side(&rows[..2]), side(&rows[2..]));
    if figure == &CPU_TIME {
        let (interval, verdict) = analysis.time_over(place, &head);
        // The level of the reference is pooled with that of its second name.
        let was = rows[0].level;
        let is = rows[2].level.zip(rows[3].level).map(|(one, again)| (one * again).sqrt());
        let noise = rows[1].ratio.zip(was).map(|(ratio, was)| (ratio - 1.0).abs() * was);
        return Judged { base: was, head: is, noise, interval, verdict, ..unknown };
    }
    let noise = by_base.max(by_head);
    let verdict = judged_change(is - was, (TIMES_NOISE * noise).max(figure.least.of(was)));
    let more = (figure == &SYSTEM_CALLS).then(|| more_calls(analysis, place, head[0], base[0])).flatten();
    Judged { base: Some(was), head: Some(is), noise: Some(noise), verdict: Ok(verdict), more, ..unknown }
}

/// The mean of one build under both names, and how far apart its figures are.
fn side(rows: &[&SummaryRow]) -> [f64; 2] {
    let levels = || rows.iter().filter_map(|row| row.level);
    let all = || rows.iter().filter_map(|row| row.range).flatten().chain(levels());
    let apart = all().fold(f64::NEG_INFINITY, f64::max) - all().fold(f64::INFINITY, f64::min);
    [levels().sum::<f64>() / rows.len() as f64, apart]
}

#[cfg(test)]
pub(super) mod tests;
