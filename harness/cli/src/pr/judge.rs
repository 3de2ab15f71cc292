//! What runs of base and head, each under two names, say of the change.
//!
//! Counts come first. How far apart the two names of one build are is the noise; a change must be three times as large. CPU time has
//! an interval from generations, and both names of head must lie beyond 2 % with all of it.

use cqldyno_reports::measure::{CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use cqldyno_reports::{Analysis, Contender, Place, Run, SummaryRow, Verdict, explanation, more_calls};

/// How many times the noise a change must be.
const TIMES_NOISE: f64 = 3.0;
/// What the order of functions in memory alone may change of the CPU time.
const LEAST_CPU: f64 = 0.02;

/// The smallest change of a count that is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Least {
    /// As a share of base's.
    Share(f64),
    /// Per statement.
    Count(f64),
}

/// A figure per statement.
#[derive(Debug, PartialEq)]
pub struct Meter {
    /// In words, in the plural.
    pub name: &'static str,
    /// The measures that tell it; the first one with a figure does.
    measures: &'static [&'static str],
    /// The smallest change that is one.
    pub least: Least,
}

/// Counts, the steadiest first.
pub const COUNTS: [Meter; 3] = [
    Meter {
        name: "instructions",
        measures: &["callgrind_instructions_per_statement", "processor_instructions_per_statement"],
        least: Least::Share(0.005),
    },
    SYSTEM_CALLS,
    Meter { name: "allocations", measures: &["allocations_per_statement"], least: Least::Count(0.1) },
];
/// The count whose parts have names.
pub const SYSTEM_CALLS: Meter =
    Meter { name: "system calls", measures: &[SYSCALLS_PER_STATEMENT], least: Least::Count(0.01) };
/// Time, which has an interval instead.
pub const CPU_TIME: Meter = Meter { name: "CPU time", measures: &[CPU_PER_STATEMENT], least: Least::Share(LEAST_CPU) };

/// One figure of base and head.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The scenario's name.
    pub scenario: String,
    pub meter: &'static Meter,
    pub base: Option<f64>,
    pub head: Option<f64>,
    /// How far apart two runs of one build are at most, in the unit of the figures.
    pub noise: Option<f64>,
    /// Where head's ratio to base lies with 95 % confidence, under both names; of CPU time only.
    pub interval: Option<[f64; 2]>,
    pub judged: Judged,
    /// The system calls that head makes more of, if they were counted by name.
    pub more: Option<String>,
    /// Whether a second run said the same of a change.
    pub confirmed: Option<bool>,
}

/// What follows from a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    Dearer,
    Cheaper,
    Same,
    /// An interval that shows neither a change nor that there is none.
    Inconclusive,
    /// Nothing is known; the reason as a full sentence.
    Unknown(String),
}

impl Judged {
    /// Whether it is to be confirmed.
    pub fn is_change(&self) -> bool {
        matches!(self, Judged::Dearer | Judged::Cheaper)
    }

    /// The word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Judged::Dearer => "dearer",
            Judged::Cheaper => "cheaper",
            Judged::Same => "same",
            Judged::Inconclusive => "inconclusive",
            Judged::Unknown(_) => "n/a",
        }
    }
}

impl Line {
    fn is_known(&self) -> bool {
        !matches!(self.judged, Judged::Unknown(_))
    }

    /// Head's figure over base's.
    pub fn ratio(&self) -> Option<f64> {
        let (base, head) = self.base.zip(self.head)?;
        Some(head / base).filter(|ratio| ratio.is_finite())
    }

    /// Whether a change need not be larger because two runs of one build differ.
    pub fn is_exact(&self) -> bool {
        let smallest = self.base.map(|base| self.meter.least.of(base));
        let is_less = |(noise, smallest)| TIMES_NOISE * noise <= smallest;
        self.interval.is_none() && self.noise.zip(smallest).is_some_and(is_less)
    }

    /// Whether head changed and a second run agreed.
    pub fn is_finding(&self) -> bool {
        self.judged.is_change() && self.confirmed == Some(true)
    }
}

impl Least {
    /// In the unit of the figures.
    pub fn of(self, base: f64) -> f64 {
        match self {
            Least::Share(share) => share * base,
            Least::Count(count) => count,
        }
    }
}

/// Base and head, each under both of its names; `None` if the run has not introduced all four.
pub fn names(run: &Run) -> Option<[[&Contender; 2]; 2]> {
    match run.contenders.as_slice() {
        [base, base_again, head, head_again] => Some([[base, base_again], [head, head_again]]),
        _ => None,
    }
}

/// A line per scenario and meter. CPU time is left out if turns were not asked for.
pub fn judge(analysis: &Analysis) -> Vec<Line> {
    let Some(names) = names(analysis.run()) else { return Vec::new() };
    let plan = &analysis.run().plan;
    let is_timed = plan.is_open();
    let of = |place| {
        let counts = COUNTS.iter().map(move |meter| count(analysis, place, names, meter));
        counts.chain(is_timed.then(|| time(analysis, place, names)))
    };
    analysis.places().flat_map(of).collect()
}

/// The scenarios of which nothing is known: head fails in them, for example.
pub fn unjudged(lines: &[Line]) -> Vec<&str> {
    let mut open: Vec<&str> = lines.iter().map(|line| line.scenario.as_str()).collect();
    open.dedup();
    open.retain(|name| !lines.iter().any(|line| line.scenario == *name && line.is_known()));
    open
}

/// Notes of every change in `first` whether `second` shows it as well, and which system calls are more.
pub fn confirm(first: &mut [Line], second: &[Line]) {
    for line in first.iter_mut().filter(|line| line.judged.is_change()) {
        let is_same = |other: &&Line| other.scenario == line.scenario && other.meter == line.meter;
        let again = second.iter().find(is_same);
        // A pass may have had no room in the second run.
        line.confirmed = again.filter(|other| other.is_known()).map(|other| other.judged == line.judged);
        line.more = again.and_then(|other| other.more.clone());
    }
}

/// What head has more of, by the scenarios in which it is dearer: their names, and why.
pub fn why(analysis: &Analysis, lines: &[Line]) -> Vec<(String, String)> {
    let Some([[base, _], [head, _]]) = names(analysis.run()) else { return Vec::new() };
    let is_dearer = |name: &str| {
        lines.iter().any(|line| line.scenario == name && line.is_finding() && line.judged == Judged::Dearer)
    };
    let told = |place: Place| Some((place.scenario.name.clone(), explanation(analysis, place, head, base)?));
    analysis.places().filter(|place| is_dearer(&place.scenario.name)).filter_map(told).collect()
}

fn line(place: Place, meter: &'static Meter, judged: Judged) -> Line {
    let scenario = place.scenario.name.clone();
    Line { scenario, meter, base: None, head: None, noise: None, interval: None, judged, more: None, confirmed: None }
}

/// A count: its change beside its spread.
fn count(analysis: &Analysis, place: Place, names: [[&Contender; 2]; 2], meter: &'static Meter) -> Line {
    let mut why = None;
    for measure in meter.measures {
        let row = |who: &&Contender| analysis.row(place, who, measure);
        let found = names.map(|names| side(names.iter().map(row).collect()));
        match found {
            [Ok((base, of_base)), Ok((head, of_head))] => {
                let noise = of_base.max(of_head);
                let least = (TIMES_NOISE * noise).max(meter.least.of(base));
                let judged = match head - base {
                    more if more > least => Judged::Dearer,
                    more if more < -least => Judged::Cheaper,
                    _ => Judged::Same,
                };
                let (base, head, noise) = (Some(base), Some(head), Some(noise));
                let more = (*meter == SYSTEM_CALLS).then(|| more_calls(analysis, place, names[1][0], names[0][0]));
                return Line { base, head, noise, more: more.flatten(), ..line(place, meter, judged) };
            }
            [Err(reason), _] | [_, Err(reason)] => drop(why.get_or_insert(reason)),
        }
    }
    line(place, meter, Judged::Unknown(why.unwrap_or_default()))
}

/// The mean of one build under both names, and how far apart its figures are.
fn side(rows: Vec<Option<&SummaryRow>>) -> Result<(f64, f64), String> {
    let (mut levels, mut low, mut high) = (Vec::new(), f64::INFINITY, f64::NEG_INFINITY);
    for row in rows {
        let row = row.ok_or("This was not measured in this run.")?;
        let level = row.level.ok_or_else(|| no_figure(row))?;
        let [least, most] = row.range.unwrap_or([level; 2]);
        (low, high) = (low.min(least), high.max(most));
        levels.push(level);
    }
    Ok((levels.iter().sum::<f64>() / levels.len() as f64, high - low))
}

fn no_figure(row: &SummaryRow) -> String {
    let why = [&row.void, &row.failed, &row.unavailable].into_iter().flatten().next();
    why.cloned().unwrap_or_else(|| "This was not measured in this run.".to_owned())
}

/// CPU time: the interval that holds both names of head.
fn time(analysis: &Analysis, place: Place, names: [[&Contender; 2]; 2]) -> Line {
    let rows = names.map(|names| names.map(|who| analysis.row(place, who, CPU_PER_STATEMENT)));
    let [[Some(base), Some(again)], [Some(head), Some(head_again)]] = rows else {
        return line(place, &CPU_TIME, Judged::Unknown("CPU time was not measured in this run.".to_owned()));
    };
    let Some((level, [first, second])) = base.level.zip(head.level.zip(head_again.level).map(|(a, b)| [a, b])) else {
        let without = [base, head, head_again].into_iter().find(|row| row.level.is_none()).unwrap_or(base);
        return line(place, &CPU_TIME, Judged::Unknown(no_figure(without)));
    };
    let interval = head.interval.zip(head_again.interval).map(|(a, b)| [a[0].min(b[0]), a[1].max(b[1])]);
    let holds = |row: &SummaryRow| row.verdict.is_some_and(Verdict::holds);
    let judged = match interval {
        Some([low, _]) if holds(head) && low > 1.0 + LEAST_CPU => Judged::Dearer,
        Some([_, high]) if holds(head) && high < 1.0 - LEAST_CPU => Judged::Cheaper,
        Some([low, high]) if holds(head) && low >= 1.0 - LEAST_CPU && high <= 1.0 + LEAST_CPU => Judged::Same,
        Some(_) if holds(head) => Judged::Inconclusive,
        _ => Judged::Unknown(no_verdict(analysis, head)),
    };
    Line {
        base: Some(level),
        head: Some((first * second).sqrt()),
        noise: again.ratio.map(|ratio| (ratio - 1.0).abs() * level),
        interval,
        ..line(place, &CPU_TIME, judged)
    }
}

fn no_verdict(analysis: &Analysis, row: &SummaryRow) -> String {
    let said = row.no_interval.clone().or_else(|| analysis.warnings().first().cloned());
    said.unwrap_or_else(|| "The cores were busy or slow in too many of its rounds.".to_owned())
}

#[cfg(test)]
pub(super) mod tests;
