//! What `--ladder` takes, and what makes no sense with it.

use std::time::Duration;

use anyhow::Result;
use cqldyno_reports::{LOWEST_RATE, LadderInfo, PERCENTILES, least_for};

use crate::count::{DAY, count, duration};
use crate::outcome::usage;

/// The time limit of a run of ladders.
pub const WITHIN: Duration = Duration::from_secs(30 * 60);
/// How long a step lasts unless it is said.
const STEP: Duration = Duration::from_secs(3);
/// The scenario of ladders unless others are named.
pub const SCENARIO: &str = "mixed";
/// A step lasts so many times its bound at least.
const LEAST_BOUNDS: f64 = 10.0;
/// A bound above this is a slip of the hand.
const MOST: Duration = Duration::from_secs(60);
const HOW: &str = "write a percentile, `<` and a time, such as p99<5ms, p50<300us or max<100ms";

/// What `--rate` takes, which is `--ladder`, too.
#[derive(Clone, Debug)]
pub enum AskedRate {
    /// So many statements per second.
    Fixed(u64),
    /// The highest rate below a bound.
    Below(LadderInfo),
}

/// A number of statements per second, or a bound.
pub fn rate(text: &str) -> Result<AskedRate, String> {
    match text.starts_with(|first: char| first.is_ascii_digit()) {
        true => count(text).map(AskedRate::Fixed),
        false => bound(text).map(AskedRate::Below),
    }
}

/// The bound of a ladder: a percentile and the time that it must stay below, and how long a step lasts.
fn bound(text: &str) -> Result<LadderInfo, String> {
    let (bound, step) = text.split_once(',').map_or((text, None), |(bound, step)| (bound, Some(step)));
    let (name, time) = bound.split_once('<').ok_or_else(|| HOW.to_owned())?;
    let names = PERCENTILES.map(|(name, ..)| name).join(", ");
    let known = PERCENTILES.iter().find(|(known, ..)| *known == name.trim());
    let (_, meter, _) = known.ok_or_else(|| format!("{:?} is none of the percentiles {names}; {HOW}", name.trim()))?;
    let time = duration(time.trim()).map_err(|_| format!("{:?} is no time; {HOW}", time.trim()))?;
    if time.is_zero() || time > MOST {
        return Err(format!("the bound is {time:?}; write a time above 0, up to 60s"));
    }
    let lasts = step.map_or(Ok(STEP), |step| {
        let time = step.trim().strip_prefix("step=").and_then(|time| duration(time).ok());
        let time = time.filter(|time| (Duration::from_millis(100)..=DAY).contains(time));
        time.ok_or_else(|| {
            format!("{:?} is no step; write step= and a time from 100ms on, such as step=3s", step.trim())
        })
    })?;
    let lasts_ms = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
    Ok(LadderInfo { meter: (*meter).to_owned(), below_us: time.as_nanos() as f64 / 1e3, lasts_ms })
}

/// The ladder, if its steps are long enough.
///
/// # Errors
/// When the lowest rate would start too few statements in a step for the percentile.
pub fn checked(ladder: &LadderInfo) -> Result<LadderInfo> {
    let share = PERCENTILES.iter().find(|(_, meter, _)| *meter == ladder.meter).and_then(|(.., share)| *share);
    let (least, there) = (share.map_or(1, least_for), ladder.statements(LOWEST_RATE));
    if there < least {
        return Err(usage(format!(
            "a step of {:?} starts {there} statements at the lowest rate of a ladder, {LOWEST_RATE} per second, and {} needs {least}; give \
             step={}ms or more",
            Duration::from_millis(ladder.lasts_ms),
            ladder.percentile(),
            (least * 1_000).div_ceil(LOWEST_RATE)
        )));
    }
    // The wait for the last answer would hide that a driver falls behind.
    let (lasts_us, least_us) = (ladder.lasts_ms as f64 * 1e3, ladder.below_us * LEAST_BOUNDS);
    if lasts_us < least_us {
        return Err(usage(format!(
            "a step of {:?} is too short for a bound of {}; give step={}ms or more",
            Duration::from_millis(ladder.lasts_ms),
            ladder.bound(),
            (least_us / 1e3).ceil()
        )));
    }
    Ok(ladder.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_percentile_and_a_time() {
        for (text, meter, below_us) in [
            ("p99<5ms", "response_p99", 5_000.0),
            ("p99.9 < 2ms", "response_p999", 2_000.0),
            ("p50<300us", "response_p50", 300.0),
            ("max<1s", "response_max", 1e6),
        ] {
            let found = bound(text).unwrap();
            assert_eq!((found.meter.as_str(), found.below_us), (meter, below_us), "{text}");
        }
        for (text, why) in [
            ("p99", "write a percentile, `<` and a time, such as p99<5ms"),
            ("p98<5ms", "\"p98\" is none of the percentiles p50, p90, p99, p99.9, max; write"),
            ("p99<0", "the bound is 0ns; write a time above 0, up to 60s"),
            ("p99<5", "\"5\" is no time; write a percentile"),
            ("p99<2min", "the bound is 120s; write"),
        ] {
            let error = bound(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_step_is_long_enough_for_its_percentile() {
        let step =
            |text: &str, ms: u64| checked(&bound(&format!("{text},step={ms}ms")).unwrap()).map(|one| one.lasts_ms);
        assert_eq!((step("p99<5ms", 200).unwrap(), step("max<5ms", 100).unwrap()), (200, 100));
        assert_eq!(
            step("max<1s", 3_000).unwrap_err().to_string(),
            "a step of 3s is too short for a bound of 1s; give step=10000ms or more"
        );
        assert_eq!(
            step("p99.9<5ms", 1_500).unwrap_err().to_string(),
            "a step of 1.5s starts 750 statements at the lowest rate of a ladder, 500 per second, and p99.9 needs 1000; give step=2000ms or \
             more"
        );
    }
}
