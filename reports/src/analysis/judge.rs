//! The one judgement of figures: which measure has them, where they lie against what counts as no change, and what follows.

use cqldyno_statistics as statistics;

use crate::measure::{CPU_PER_STATEMENT, CPU_TIME, Figure};
use crate::{Analysis, Contender, Place, SummaryRow, Verdict};

/// What follows from a cost that lies in the interval, if all between `least` and `most` is no change. A cost that is known exactly is
/// an interval of itself.
pub fn judged(interval: [f64; 2], [least, most]: [f64; 2]) -> Verdict {
    Verdict::of(statistics::Verdict::between(interval, [least, most]), CPU_PER_STATEMENT)
}

/// The same of a change that is known exactly and must be greater than `least` either way.
pub fn judged_change(change: f64, least: f64) -> Verdict {
    judged([change; 2], [-least, least])
}

/// The ratios of CPU time that are no change.
pub fn same_time() -> [f64; 2] {
    let least = CPU_TIME.least.of(1.0);
    [1.0 - least, 1.0 + least]
}

/// How many times the spread of the runs of one build a change of a count must be.
const TIMES_SPREAD: f64 = 3.0;

/// A figure of one build beside that of another, each measured under one name or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The figure of the first build.
    pub before: f64,
    /// The figure of the second build.
    pub after: f64,
    /// How far apart two runs of one build are at most, in the unit of the figures; `None` of a time under one name.
    pub spread: Option<f64>,
    /// Of a time: where the ratio lies with 95 % confidence, under all names of the second build.
    pub interval: Option<[f64; 2]>,
    /// What follows; or why nothing is known, as a full sentence.
    pub verdict: Result<Verdict, String>,
}

impl Difference {
    /// What follows if no change up to `least` counts, in the unit of the figures.
    pub fn beyond(&self, least: f64) -> Verdict {
        match self.interval {
            Some(ratios) => judged(ratios.map(|ratio| (ratio - 1.0) * self.before), [-least, least]),
            None => judged_change(self.after - self.before, least.max(self.demanded())),
        }
    }

    /// Whether a change need not be larger than the least one of the figure because the runs of one build differ.
    pub fn is_exact(&self, of: &Figure) -> bool {
        self.interval.is_none() && self.demanded() <= of.least.of(self.before)
    }

    /// The second figure over the first one.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.after / self.before).filter(|ratio| ratio.is_finite())
    }

    fn demanded(&self) -> f64 {
        TIMES_SPREAD * self.spread.unwrap_or_default()
    }
}

/// The mean of one build under its names, and how far apart its figures are.
fn side(rows: &[&SummaryRow]) -> [f64; 2] {
    let levels = || rows.iter().filter_map(|row| row.level);
    let all = || rows.iter().filter_map(|row| row.range).flatten().chain(levels());
    let apart = all().fold(f64::NEG_INFINITY, f64::max) - all().fold(f64::INFINITY, f64::min);
    [levels().sum::<f64>() / rows.len() as f64, apart]
}

impl SummaryRow {
    /// The level, or why there is none, as a full sentence.
    pub fn figure(&self) -> Result<f64, String> {
        let why = || [&self.void, &self.failed, &self.unavailable].into_iter().flatten().next();
        self.level.ok_or_else(|| why().map_or(NOT_MEASURED, |why| why).to_owned())
    }
}

const NOT_MEASURED: &str = "This was not measured in this run.";

/// The row of a contender's measure in the scenario and arrangement of `row`.
pub(crate) fn beside<'s>(rows: &'s [SummaryRow], row: &SummaryRow, who: &str, meter: &str) -> Option<&'s SummaryRow> {
    rows.iter().find(|one| one.meter == meter && one.contender == who && one.is_beside(row))
}

impl Analysis<'_> {
    /// A figure of each of `who`, by the first of its measures that all of them have.
    ///
    /// # Errors
    /// The place in `who` of the first one without it, and the reason as a full sentence.
    pub fn figures(&self, place: Place, who: &[&Contender], of: &Figure) -> Result<Vec<&SummaryRow>, (usize, String)> {
        let by = |id: &&str| {
            let row = |(at, one): (usize, &&Contender)| {
                let row = self.row(place, one, id).ok_or_else(|| (at, NOT_MEASURED.to_owned()))?;
                row.figure().map(|_| row).map_err(|why| (at, why))
            };
            who.iter().enumerate().map(row).collect::<Result<Vec<_>, _>>()
        };
        // Who lacks every measure is blamed, and not who lacks one that the machine cannot take.
        let better = |one: Result<Vec<_>, (usize, String)>, other| match (&one, &other) {
            (Err((at, _)), Err((next, _))) if next > at => other,
            (Err(_), Ok(_)) => other,
            _ => one,
        };
        of.ids.iter().map(by).reduce(better).unwrap_or_else(|| Err((0, NOT_MEASURED.to_owned())))
    }

    /// A figure of one build beside that of another, each under all of its names.
    ///
    /// # Errors
    /// The place of the first name without the figure, and the reason as a full sentence.
    pub fn difference(
        &self,
        place: Place,
        [before, after]: [&[&Contender]; 2],
        of: &Figure,
    ) -> Result<Difference, (usize, String)> {
        let names = [before, after].concat();
        if of != &CPU_TIME {
            let rows = self.figures(place, &names, of)?;
            let (first, second) = rows.split_at(before.len());
            let ([before, by], [after, other]) = (side(first), side(second));
            let (spread, verdict) = (Some(by.max(other)), Ok(Verdict::Same));
            let mut found = Difference { before, after, spread, interval: None, verdict };
            found.verdict = Ok(found.beyond(of.least.of(before)));
            return Ok(found);
        }
        let against = self.turned(before.first().map_or("", |one| &one.id));
        let rows = against.figures(place, &names, of)?;
        let (first, second) = rows.split_at(before.len());
        // The level of the reference is pooled with that of its second name.
        let level = |rows: &[&SummaryRow]| rows.first().and_then(|row| row.level).unwrap_or(f64::NAN);
        let logs: f64 = second.iter().filter_map(|row| row.level).map(f64::ln).sum();
        let (interval, verdict) = against.time_over(place, after);
        let (before, after) = (level(first), (logs / second.len() as f64).exp());
        let spread = first.get(1).and_then(|row| row.ratio).map(|ratio| (ratio - 1.0).abs() * before);
        Ok(Difference { before, after, spread, interval, verdict })
    }

    /// The interval that holds the ratio of a build's CPU time under all of its `names`, and what follows from it. If nothing does, the
    /// reason is a full sentence.
    fn time_over(&self, place: Place, names: &[&Contender]) -> (Option<[f64; 2]>, Result<Verdict, String>) {
        let rows: Vec<&SummaryRow> = names.iter().filter_map(|one| self.row(place, one, CPU_PER_STATEMENT)).collect();
        let intervals: Option<Vec<[f64; 2]>> = rows.iter().map(|row| row.interval).collect();
        let interval = intervals.and_then(|all| all.into_iter().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]));
        let holds = rows.iter().all(|row| row.verdict.is_some_and(Verdict::holds));
        let why = || {
            let said = rows.iter().find_map(|row| row.no_interval.clone()).or_else(|| self.warnings.first().cloned());
            said.unwrap_or_else(|| "The cores were busy or slow in too many of its rounds.".to_owned())
        };
        (interval, interval.filter(|_| holds).map(|interval| judged(interval, same_time())).ok_or_else(why))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{ALLOCATIONS, CALLGRIND_INSTRUCTIONS, INSTRUCTIONS, PROCESSOR_INSTRUCTIONS, SYSTEM_CALLS};
    use crate::{Cell, Measure, Pass, Unit, sample};

    #[test]
    fn a_figure_is_of_the_first_measure_that_all_have_or_says_who_lacks_it_and_why() {
        let (run, mut cells) = sample::blocks(12);
        let template = cells.iter().find(|cell| cell.pass == Pass::Counting).unwrap().clone();
        for (contender, id) in [
            ("scylla", PROCESSOR_INSTRUCTIONS),
            ("scylla", CALLGRIND_INSTRUCTIONS),
            ("cdrs-tokio", PROCESSOR_INSTRUCTIONS),
        ] {
            let measures = [(id, Measure::value(7.0, Unit::Count))].into();
            let (contender, pass) = (contender.to_owned(), Pass::Instructions);
            cells.push(Cell { contender, pass, measures, ..template.clone() });
        }
        let analysis = Analysis::new(&run, &cells);
        let place = analysis.places().find(|place| place.scenario.name == template.scenario).unwrap();
        let who = ["scylla", "cdrs-tokio"].map(|id| run.contender(id).unwrap());
        let ids = |who: &[&Contender]| -> Vec<String> {
            let rows = analysis.figures(place, who, &INSTRUCTIONS).unwrap();
            rows.iter().map(|row| row.meter.clone()).collect()
        };
        assert_eq!(ids(&who[..1]), [CALLGRIND_INSTRUCTIONS]);
        assert_eq!(ids(&who), [PROCESSOR_INSTRUCTIONS; 2]);
        let other = run.contender("floor").unwrap();
        let (at, why) = analysis.figures(place, &[who[0], other], &INSTRUCTIONS).unwrap_err();
        assert_eq!((at, why.as_str()), (1, "This was not measured in this run."));
        assert_eq!(analysis.figures(place, &who, &ALLOCATIONS).unwrap_err().0, 0);
        // The second one lacks callgrind's count only, and the third one both.
        let (at, _) = analysis.figures(place, &[who[0], who[1], other], &INSTRUCTIONS).unwrap_err();
        assert_eq!(at, 2);
    }

    #[test]
    fn a_count_must_change_by_three_times_the_spread_of_one_build_and_a_time_with_all_of_its_interval() {
        let of = |after: f64, spread: f64, interval| {
            let (before, spread, verdict) = (1.0, Some(spread), Ok(Verdict::Same));
            Difference { before, after, spread, interval, verdict }
        };
        let verdicts = [of(1.2, 0.1, None), of(1.4, 0.1, None), of(1.005, 0.0, None), of(0.9, 0.0, None)]
            .map(|one| (one.beyond(0.01), one.is_exact(&SYSTEM_CALLS)));
        let (noisy, exact) = (|verdict| (verdict, false), |verdict| (verdict, true));
        assert_eq!(
            verdicts,
            [noisy(Verdict::Same), noisy(Verdict::Dearer), exact(Verdict::Same), exact(Verdict::Cheaper)]
        );
        let timed = |interval| of(1.05, 0.5, Some(interval)).beyond(0.02);
        assert_eq!([timed([1.03, 1.1]), timed([1.01, 1.1])], [Verdict::Dearer, Verdict::Inconclusive]);
    }

    #[test]
    fn a_change_needs_all_of_the_interval_beyond_what_is_none() {
        let verdicts = [[0.9, 0.97], [0.97, 1.0], [0.98, 1.02], [1.03, 1.1]].map(|at| judged(at, same_time()));
        assert_eq!(verdicts, [Verdict::Cheaper, Verdict::Inconclusive, Verdict::Same, Verdict::Dearer]);
        let changes = [-3.0, -2.0, 2.0, 3.0].map(|change| judged_change(change, 2.0));
        assert_eq!(changes, [Verdict::Cheaper, Verdict::Same, Verdict::Same, Verdict::Dearer]);
    }
}
