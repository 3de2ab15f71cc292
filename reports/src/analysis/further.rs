//! How much longer a run would take to show a difference where it is inconclusive.
//!
//! An interval shrinks with the square root of the number of generations. Where it lies has no part in this.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::band;
use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{lasting, percent};
use crate::{Analysis, Cell, Pass, SummaryRow, Verdict};

/// A run is to show a difference of so much beyond what adapters may be off by.
const SHOWN: f64 = 0.02;
/// Nobody waits longer.
const LONGEST: Duration = Duration::from_secs(8 * 3_600);

/// How long all generations took together: as many times the median as there are. `None` of fewer than two.
pub(crate) fn time_of(cells: &[Cell]) -> Option<Duration> {
    let mut starts = BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell.pass == Pass::Timing) {
        let start = starts.entry(cell.block).or_insert(cell.started);
        *start = cell.started.min(*start);
    }
    let starts: Vec<_> = starts.into_values().collect();
    // Other passes and pauses lie between some, so it is not the time from the first to the last.
    let mut each: Vec<Duration> = starts.windows(2).map(|two| two[1].duration_since(two[0]).unsigned_abs()).collect();
    each.sort_unstable();
    let median = each.get(each.len() / 2).filter(|median| !median.is_zero())?;
    Some(median.saturating_mul(u32::try_from(starts.len()).ok()?))
}

/// The widest inconclusive row of CPU time, else of statements per second, as a sentence about runs that took `time`; `more` says how
/// they would take more. `None` if nothing is inconclusive.
pub(crate) fn further(analysis: &Analysis, time: Option<Duration>, more: &str) -> Option<String> {
    let widest = |meter: &str| {
        let open = analysis.rows.iter().filter(|row| row.meter == meter && !row.control);
        let open = open.filter(|row| row.verdict == Some(Verdict::Inconclusive));
        open.max_by(|a, b| a.detectable.unwrap_or(0.0).total_cmp(&b.detectable.unwrap_or(0.0)))
    };
    let of = [(CPU_PER_STATEMENT, "CPU time is"), (THROUGHPUT, "statements per second are")];
    let (row, what) = of.into_iter().find_map(|(meter, what)| Some((widest(meter)?, what)))?;
    let said = to_show(row, beyond(analysis, row), None, time, more)?;
    Some(format!("Where {what} inconclusive, {said}."))
}

/// The share that the row's whole interval must lie beyond.
pub(crate) fn beyond(analysis: &Analysis, row: &SummaryRow) -> f64 {
    let run = analysis.run;
    match run.contender(&row.contender).zip(analysis.reference) {
        Some((own, reference)) if row.is_primary() => band::beyond(run, &row.arrangement, own, reference),
        Some((own, reference)) => band::between(run, &row.arrangement, own, reference),
        None => 0.0,
    }
}

/// What it takes to show a difference of the share that is `asked` for, or of [`SHOWN`] beyond the row's band, as a clause. `None` if it
/// is not known.
pub(crate) fn to_show(
    row: &SummaryRow,
    beyond: f64,
    asked: Option<f64>,
    time: Option<Duration>,
    more: &str,
) -> Option<String> {
    let wanted = asked.unwrap_or(beyond + SHOWN);
    let difference = format!("a difference of {} %", percent(wanted));
    let [now, then] = [row.detectable?, wanted].map(|share| share.ln_1p() - beyond.ln_1p());
    if now <= then {
        return Some(format!("{difference} would have shown"));
    }
    let times = if then > 0.0 { (now / then).powi(2) - 1.0 } else { f64::INFINITY };
    let longer = Duration::try_from_secs_f64(time?.as_secs_f64() * times).ok().filter(|longer| *longer <= LONGEST);
    Some(match longer {
        Some(longer) => format!("about {}{more} would show {difference}", lasting(in_two_digits(longer))),
        None => format!(
            "this plan cannot show {difference} within {}; try fewer scenarios, arrangements or contenders",
            lasting(LONGEST)
        ),
    })
}

/// Whole minutes from ten minutes on, and tens of seconds below: an estimate is not more exact.
fn in_two_digits(time: Duration) -> Duration {
    let step = if time >= Duration::from_secs(600) { 60 } else { 10 };
    Duration::from_secs(time.as_secs().div_ceil(step) * step)
}

impl Analysis<'_> {
    /// What the run would take to show such a difference in that row, as a clause. `None` if it is not known.
    pub fn to_show(&self, row: &SummaryRow, difference: f64) -> Option<String> {
        to_show(row, beyond(self, row), Some(difference), time_of(self.every_cell), MORE)
    }
}

/// How one run takes more time.
pub(crate) const MORE: &str = " more";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Run, sample};

    /// The sample in 12 blocks that begin so many seconds apart.
    fn taking(seconds: i64) -> (Run, Vec<Cell>) {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            cell.started += jiff::SignedDuration::from_secs(seconds * i64::from(cell.block));
        }
        (run, cells)
    }

    fn row(detectable: f64) -> SummaryRow {
        let (run, cells) = taking(10);
        let analysis = Analysis::new(&run, &cells);
        let found = analysis.rows.iter().find(|row| row.contender == "cdrs-tokio" && row.is_primary()).unwrap();
        SummaryRow { detectable: Some(detectable), verdict: Some(Verdict::Inconclusive), ..found.clone() }
    }

    #[test]
    fn four_times_the_time_halves_what_lies_beyond_the_band() {
        let minutes = |minutes: u64| Some(Duration::from_secs(60 * minutes));
        let said = |share: f64, beyond: f64, time| to_show(&row(share), beyond, None, time, MORE);
        assert_eq!(said(0.0608, 0.02, minutes(5)).unwrap(), "about 16 min more would show a difference of 4 %");
        assert_eq!(said(0.0505, 0.01, minutes(5)).unwrap(), "about 16 min more would show a difference of 3 %");
        assert_eq!(said(0.039, 0.02, minutes(5)).unwrap(), "a difference of 4 % would have shown");
        assert_eq!(said(0.039, 0.02, None).unwrap(), "a difference of 4 % would have shown", "no time is needed");
        assert_eq!(said(0.0608, 0.02, None), None);
        let never =
            "this plan cannot show a difference of 4 % within 8 h; try fewer scenarios, arrangements or contenders";
        assert_eq!(said(0.3, 0.02, minutes(5)).unwrap(), never);
        let asked = to_show(&row(0.0608), 0.02, Some(0.02), minutes(5), MORE).unwrap();
        assert!(asked.starts_with("this plan cannot show a difference of 2 %"), "the band is as wide: {asked}");
    }

    #[test]
    fn the_time_of_generations_leaves_out_what_lies_between_some() {
        let (_, mut cells) = taking(10);
        assert_eq!(time_of(&cells), Some(Duration::from_secs(120)));
        for cell in cells.iter_mut().filter(|cell| cell.block > 6) {
            cell.started += jiff::SignedDuration::from_hours(30);
        }
        assert_eq!(time_of(&cells), Some(Duration::from_secs(120)), "it was resumed on another day");
        assert_eq!(time_of(&taking(0).1), None);
        cells.retain(|cell| cell.block == 1);
        assert_eq!(time_of(&cells), None);
    }

    #[test]
    fn the_last_finding_says_how_long_it_would_take_and_all_formats_have_it() {
        let (run, mut cells) = taking(10);
        // It costs as much as the reference, in some blocks more and in others less.
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
            let cost = if cell.block % 2 == 0 { 4.2 } else { 3.8 };
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), crate::Measure::value(cost, crate::Unit::Microseconds));
        }
        let analysis = Analysis::new(&run, &cells);
        let said = analysis.findings.last().unwrap();
        assert!(said.starts_with("Where CPU time is inconclusive, about "), "{said}");
        assert!(said.ends_with(" more would show a difference of 4 %."), "{said}");
        for format in ["table", "markdown", "html", "json"] {
            let text = crate::exporter(format).unwrap().one(&analysis, crate::Look::default()).unwrap();
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.contains(said.as_str()), "{format}: {text}");
        }
        let stopped = Run { interrupted: true, ..run.clone() };
        assert!(!Analysis::new(&stopped, &cells).findings.iter().any(|said| said.contains("inconclusive")));
    }
}
