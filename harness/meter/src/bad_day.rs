//! What an application sees of a bad day, from the account of single statements, the server's counts, and the rows that are there
//! afterwards.

use crate::meter::{from_worker, lower, timed};
use crate::{Better, Declaration, Meter, Outcome, Unit, Window};

/// What became of the statements of a window at a rate, each by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct BadDay {
    /// Statements per second that were asked for.
    pub rate: u64,
    /// Right answers in each 10 ms of the window.
    pub answers_per_10ms: Vec<u64>,
    /// Statements without an answer when the worker's patience ended.
    pub unanswered: u64,
    /// EXECUTEs that the server got, or why that is not known.
    pub received: Result<u64, String>,
    /// Writes that were executed and changed no row, because the server had executed the same before; or why that is not known.
    pub doubled: Result<u64, String>,
    /// Acknowledged writes whose row is missing or wrong, and failed or unanswered ones whose row is there; or why neither is known.
    pub rows: Result<(u64, u64), String>,
}

const MEASURES: [Declaration; 7] = [
    lower("longest_gap", Unit::Seconds, "longest time of the window without a right answer, to 10 ms")
        .titled("longest\ngap s"),
    lower(
        "below_rate",
        Unit::Seconds,
        "time from the first tenth of a second with less than 90 % of the rate to the end of the last one",
    )
    .titled("below\n90 % s"),
    lower("unanswered", Unit::Count, "statements without an answer a minute after the last one started")
        .titled("unan-\nswered"),
    timed("sent_again", Unit::Count, Better::Neither, "EXECUTEs that the server got beyond those that were issued")
        .titled("sent\nagain"),
    lower("doubled", Unit::Count, "writes that the server executed twice").titled("doubled"),
    lower("lost", Unit::Count, "acknowledged writes whose row was not there afterwards").titled("lost"),
    timed(
        "stored_though_failed",
        Unit::Count,
        Better::Neither,
        "writes that failed or had no answer, and whose row was there afterwards",
    )
    .titled("failed,\nstored"),
];

/// What a bad day did to statements; nothing on any other day.
pub const BAD_DAY: Meter = Meter::new("bad day", &MEASURES, |_| from_worker(figures))
    .needs("a worker that keeps track of single statements, and the embedded cluster for what it got");

/// Slices of the window in which the rate is looked at, in tens of milliseconds.
const SLICE: usize = 10;
/// Below this share of the rate it is not held.
const HELD: f64 = 0.9;

fn figures(window: &Window) -> Outcome {
    let Some(day) = &window.bad_day else { return Outcome::default() };
    let number = |count: u64| Ok(count as f64);
    let again = day.received.clone().map(|received| received.saturating_sub(window.issued) as f64);
    let (lost, stored) =
        day.rows.clone().map_or_else(|why| (Err(why.clone()), Err(why)), |(lost, stored)| (Ok(lost), Ok(stored)));
    let float = |count: Result<u64, String>| count.map(|count| count as f64);
    let values = [
        Ok(longest_gap(&day.answers_per_10ms)),
        below(day),
        number(day.unanswered),
        again,
        float(day.doubled.clone()),
        float(lost),
        float(stored),
    ];
    Outcome::of(&MEASURES, values)
}

/// The longest run of 10 ms without a right answer, in seconds. The window begins with its first statement.
fn longest_gap(per_10ms: &[u64]) -> f64 {
    let gaps = per_10ms.split(|answers| *answers > 0).map(<[u64]>::len);
    gaps.max().unwrap_or(0) as f64 / 100.0
}

/// From the first slice below the rate to the end of the last one, in seconds.
fn below(day: &BadDay) -> Result<f64, String> {
    let due = HELD * day.rate as f64 * SLICE as f64 / 100.0;
    let mut slices: Vec<u64> = day.answers_per_10ms.chunks_exact(SLICE).map(|slice| slice.iter().sum()).collect();
    let is_below = |answers: &u64| (*answers as f64) < due;
    // The last answers of the last slice come after the window.
    if let [.., before, _] = slices.as_slice()
        && !is_below(before)
    {
        slices.pop();
    }
    let first = slices.iter().position(is_below);
    let last = slices.iter().rposition(is_below);
    let Some((first, last)) = first.zip(last) else { return Ok(0.0) };
    match last + 1 < slices.len() {
        true => Ok((last + 1 - first) as f64 * SLICE as f64 / 100.0),
        false => Err(format!(
            "From {:.1} s until the window ended, fewer than 90 % of {} statements per second were answered right.",
            first as f64 * SLICE as f64 / 100.0,
            day.rate
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;

    #[test]
    fn a_gap_is_the_longest_time_without_an_answer_wherever_it_is() {
        assert_eq!(longest_gap(&[3, 0, 0, 1, 0]), 0.02);
        assert_eq!(longest_gap(&[1, 0, 0, 0]), 0.03, "up to the end");
        assert_eq!((longest_gap(&[1, 2]), longest_gap(&[])), (0.0, 0.0));
    }

    /// Tenths of a second with so many answers each.
    fn day(tenths: &[u64]) -> BadDay {
        let answers_per_10ms = tenths.iter().flat_map(|answers| [&[*answers][..], &[0; 9]].concat()).collect();
        BadDay {
            rate: 1_000,
            answers_per_10ms,
            unanswered: 0,
            received: Ok(1_000_012),
            doubled: Ok(2),
            rows: Ok((1, 3)),
        }
    }

    #[test]
    fn a_rate_is_below_from_the_first_tenth_that_lacks_a_tenth_to_the_last_one() {
        assert_eq!(below(&day(&[100, 90, 100])), Ok(0.0));
        assert_eq!(below(&day(&[100, 89, 100, 40, 100])), Ok(0.3));
        assert_eq!(below(&day(&[100, 89, 100, 40])), Ok(0.1), "the end of the last one is not in the window");
        let why = below(&day(&[100, 89, 100, 40, 40])).unwrap_err();
        assert_eq!(
            why,
            "From 0.1 s until the window ended, fewer than 90 % of 1000 statements per second were answered right."
        );
    }

    #[test]
    fn only_a_bad_day_has_figures_and_what_nobody_knows_says_why() {
        assert_eq!(figures(&window()), Outcome::default());
        let of = |day: BadDay| -> Vec<Result<f64, String>> {
            let readings = figures(&Window { bad_day: Some(day), ..window() }).readings;
            readings.into_iter().map(|reading| reading.value).collect()
        };
        let known = of(BadDay { unanswered: 4, ..day(&[100, 100]) });
        assert_eq!(known, [0.09, 0.0, 4.0, 12.0, 2.0, 1.0, 3.0].map(Ok));
        let why = || Err("It does not count.".to_owned());
        let unknown = of(BadDay { received: why(), rows: Err("No rows.".to_owned()), ..day(&[100, 100]) });
        assert_eq!(unknown[3], Err("It does not count.".to_owned()));
        assert_eq!(unknown[5..], [Err("No rows.".to_owned()), Err("No rows.".to_owned())]);
    }
}
