//! With which releases a figure changes its level, and why, if a changelog or the source tells it.

use std::sync::LazyLock;

use cqldyno_statistics::{Level, change_points};
use semver::Version;
use serde::{Deserialize, Serialize};

use super::HistoryPoint;
use crate::band::{adapter, driver};
use crate::judge::judged_change;
use crate::measure::margin;
use crate::{Run, Verdict};

/// The fewest figures with changes: two releases are compared without them.
const LEAST_POINTS: usize = 3;
/// Runs of one build may differ by so much in a count whose margin nobody knows.
const UNKNOWN_SHARE: f64 = 0.03;
/// How many standard deviations the greatest difference between seven runs is, which margins have.
const STEADY_DEVIATIONS: f64 = 3.0;
/// How many standard deviations the range of 2, 3, ... figures is (L. H. C. Tippett, Biometrika 17, 1925).
const RANGES: [f64; 7] = [1.128, 1.693, 2.059, 2.326, 2.534, 2.704, 2.847];

static CAUSES: LazyLock<Vec<Cause>> = LazyLock::new(|| causes().unwrap_or_default());

fn causes() -> Result<Vec<Cause>, toml::de::Error> {
    #[derive(Deserialize)]
    struct Releases {
        cause: Vec<Cause>,
    }
    toml::from_str(include_str!("../../../../drivers/RELEASES.toml")).map(|Releases { cause }| cause)
}

/// Two neighbouring releases with figures, between which the level changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// The indices of the line's points before and after.
    pub points: [usize; 2],
    /// What of it a changelog or the source tells.
    pub causes: Vec<Cause>,
    /// The folder of the later adapter if it is another one than before: a part of the step may be the adapter's.
    pub adapter: Option<String>,
}

/// What a release changed that its statements cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// The driver's name.
    pub driver: String,
    /// The first release that has it.
    pub release: Version,
    /// The measures that it explains.
    pub meters: Vec<String>,
    /// Whether figures rise because of it; absent if they fall.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub raises: bool,
    /// What it is, as a full sentence.
    pub says: String,
    /// Where that stands.
    pub source: String,
}

/// The changes over the points of one run, in order; `None` if there are too few, or nobody knows how far a figure may be off.
pub(super) fn changes(points: &[HistoryPoint], meter: &str, run: &Run) -> Option<Vec<LevelChange>> {
    let is_count = run.measure(meter).is_some_and(|known| known.is_exact());
    let there: Vec<usize> = (0..points.len()).filter(|at| points[*at].median.is_some_and(|one| one > 0.0)).collect();
    let share = margin(meter).map_or(UNKNOWN_SHARE, |(share, _)| share);
    // How far the logarithm of a count may be off, according to the spread of its processes.
    let deviation = mean(points.iter().filter_map(of_range)).unwrap_or(0.0).max(share / STEADY_DEVIATIONS);
    let level = |at: &usize| match is_count {
        true => Some(Level { log: points[*at].median?.ln(), deviation }),
        false => points[*at].ratio.or_else(|| of_reference(points, *at, run)),
    };
    let series = there.iter().map(level).collect::<Option<Vec<Level>>>().filter(|all| all.len() >= LEAST_POINTS)?;
    // Runs of one build differ by as much in a count, however often it is counted within one of them.
    let least = if is_count { share.ln_1p() } else { 0.0 };
    let is_step = |at: &usize| judged_change(series[*at].log - series[at - 1].log, least) != Verdict::Same;
    let change = |after: usize| {
        let rises = series[after].log > series[after - 1].log;
        let pair = [there[after - 1], there[after]];
        let [before, after] = pair.map(|at| run.contender(&points[at].contender));
        let [before, after] = [before?, after?];
        let adapter = Some(adapter(after)).filter(|folder| *folder != self::adapter(before));
        let [was, is] = pair.map(|at| Version::parse(&points[at].version).ok());
        let (was, is, name) = (was?, is?, driver(after));
        let tells = |cause: &&Cause| {
            cause.driver == name
                && cause.raises == rises
                && was < cause.release
                && cause.release <= is
                && cause.meters.iter().any(|one| one == meter)
        };
        Some(LevelChange { points: pair, causes: CAUSES.iter().filter(tells).cloned().collect(), adapter })
    };
    Some(change_points(&series).into_iter().filter(is_step).filter_map(change).collect())
}

/// The reference's ratio to itself is 1. Its noise, which has no row, is taken to be that of the others.
fn of_reference(points: &[HistoryPoint], at: usize, run: &Run) -> Option<Level> {
    let others = mean(points.iter().filter_map(|one| one.ratio).map(|one| one.deviation))?;
    (run.plan.reference.as_ref() == Some(&points[at].contender)).then_some(Level { log: 0.0, deviation: others })
}

fn mean(all: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, number) = all.fold((0.0, 0.0), |(sum, number), one| (sum + one, number + 1.0));
    (number > 0.0).then_some(sum / number)
}

fn of_range(point: &HistoryPoint) -> Option<f64> {
    let [least, most] = point.spread.filter(|[least, _]| *least > 0.0)?;
    let times = RANGES.get(point.blocks.checked_sub(2)?).or(RANGES.last())?;
    Some((most / least).ln() / times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contender, sample};

    #[test]
    fn every_cause_names_a_measure_and_its_source() {
        let (run, all) = (sample::run().0, causes().unwrap());
        assert!(!all.is_empty());
        for cause in all {
            let known = super::super::METERS.map(|(meter, _)| meter);
            assert!(
                !cause.meters.is_empty() && cause.meters.iter().all(|one| known.contains(&one.as_str())),
                "{cause:?}"
            );
            assert!(cause.source.starts_with("https://") && cause.says.ends_with('.'), "{cause:?}");
            assert!(cause.says.split(' ').count() <= 30 && run.contender(&cause.driver).is_some(), "{cause:?}");
        }
    }

    /// As a run measures counts: the median of three processes.
    fn counted(figures: &[f64], spread: f64) -> Vec<usize> {
        let (mut run, _) = sample::run();
        let base = run.contenders[0].clone();
        let point = |(nth, figure): (usize, &f64)| HistoryPoint {
            place: nth,
            run: 0,
            version: format!("1.{nth}.0"),
            median: Some(*figure).filter(|figure| *figure > 0.0),
            spread: Some([figure * (1.0 - spread), figure * (1.0 + spread)]),
            blocks: 3,
            gap: None,
            contender: format!("scylla@1.{nth}.0"),
            level: None,
            interval: None,
            ratio: None,
        };
        let points: Vec<HistoryPoint> = figures.iter().enumerate().map(point).collect();
        let of = |one: &HistoryPoint| Contender { id: one.contender.clone(), ..base.clone() };
        run.contenders = points.iter().map(of).collect();
        let found = changes(&points, "syscalls_per_statement", &run).unwrap_or_default();
        found.iter().map(|change| change.points[1]).collect()
    }

    #[test]
    fn a_count_changes_by_more_than_its_own_processes_differ() {
        let figures = [0.40, 0.41, 0.40, 0.44, 0.45, 0.44];
        assert_eq!(counted(&figures, 0.01), [3]);
        assert!(counted(&figures, 0.20).is_empty(), "its processes differ by more");
        assert!(counted(&[4.0, 4.0, 4.05, 4.0], 0.0).is_empty(), "nobody says that a count is exact to the last digit");
        assert!(counted(&[4.0, 8.0], 0.0).is_empty(), "two releases are compared as ever");
        assert!(counted(&[3.0, 3.0, 3.0, 3.08, 3.08, 3.08], 0.0).is_empty(), "runs of one build differ by 3 %");
        assert_eq!(counted(&[4.0, 4.0, 0.0, 8.0, 8.0], 0.0), [3], "from the release before the gap");
    }

    #[test]
    fn a_time_changes_by_more_than_the_noise_of_its_ratio() {
        let changed = |deviation: f64| {
            let (mut run, _) = sample::run();
            let base = run.contenders[0].clone();
            let points: Vec<HistoryPoint> = [4.0, 4.1, 4.0, 4.6, 4.7]
                .into_iter()
                .enumerate()
                .map(|(nth, figure)| HistoryPoint {
                    place: nth,
                    run: 0,
                    version: format!("1.{nth}.0"),
                    median: Some(figure),
                    spread: None,
                    blocks: 12,
                    gap: None,
                    contender: format!("scylla@1.{nth}.0"),
                    level: None,
                    interval: None,
                    // The last one is the reference.
                    ratio: (nth < 4).then_some(Level { log: f64::ln(figure / 4.7), deviation }),
                })
                .collect();
            run.contenders = points.iter().map(|one| Contender { id: one.contender.clone(), ..base.clone() }).collect();
            run.plan.reference = points.last().map(|one| one.contender.clone());
            let found = changes(&points, "cpu_per_statement", &run)?;
            Some(found.iter().map(|change| change.points).collect::<Vec<_>>())
        };
        assert_eq!(changed(0.01).unwrap(), [[2, 3]]);
        assert!(changed(0.15).unwrap().is_empty());
    }
}
