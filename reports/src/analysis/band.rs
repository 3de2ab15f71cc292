//! By how much two drivers must differ: their adapters are ours, and may be off by that.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use cqldyno_statistics::SIBLING_BAND;

use crate::{Contender, Run};

/// The share on both sides of 1 within which two contenders are the same, unless their adapters are known to differ by more.
pub(crate) const BAND: f64 = 0.02;

/// What adapters cost over hand-written programs, with intervals.
const MEASURED: &str = include_str!("../../../benches/adapters.toml");

/// Ratio and interval by driver, arrangement and scenario.
type Costs = BTreeMap<String, BTreeMap<String, BTreeMap<String, [f64; 3]>>>;

static COSTS: LazyLock<Costs> = LazyLock::new(|| toml::from_str(MEASURED).unwrap_or_default());

pub(crate) fn driver(contender: &Contender) -> &str {
    contender.id.split(['@', '+', '#']).next().unwrap_or_default()
}

/// The folder of a contender's adapter. Old releases of a driver may have another one than the newest.
pub(crate) fn adapter(contender: &Contender) -> String {
    contender.built.as_ref().map_or_else(|| format!("drivers/{}", driver(contender)), |built| built.adapter.clone())
}

/// What the contender's adapter costs, as the geometric mean over scenarios; `None` if nobody measured it.
///
/// `multi:N` that was not measured takes what was measured with `multi:2`.
fn cost(contender: &Contender, runtime: &str) -> Option<f64> {
    let adapter = adapter(contender);
    let measured = COSTS.get(adapter.strip_prefix("drivers/")?)?;
    let like = if runtime.starts_with("multi:") { "multi:2" } else { runtime };
    let scenarios = measured.get(runtime).or_else(|| measured.get(like))?;
    let logs: f64 = scenarios.values().map(|[ratio, ..]| ratio.ln()).sum();
    Some((logs / scenarios.len() as f64).exp())
}

/// The band between two contenders in an arrangement: 2 %, or what their adapters' costs differ by if that is more.
pub(crate) fn between(run: &Run, arrangement: &str, one: &Contender, other: &Contender) -> f64 {
    let runtime = run.plan.arrangements.iter().find(|known| known.id == arrangement).map(|known| &known.runtime);
    let costs = runtime.and_then(|runtime| Some((cost(one, runtime)?, cost(other, runtime)?)));
    let apart = costs.map_or(0.0, |(mine, theirs)| mine.max(theirs) / mine.min(theirs) - 1.0);
    // To a tenth of a percent, as it is printed.
    BAND.max((apart * 1_000.0).round() / 1_000.0)
}

/// How far from 1 a ratio of CPU time must lie for a verdict: beyond the band, or [`SIBLING_BAND`] where both have one adapter.
pub(crate) fn beyond(run: &Run, arrangement: &str, one: &Contender, other: &Contender) -> f64 {
    if adapter(one) == adapter(other) { SIBLING_BAND } else { between(run, arrangement, one, other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Analysis;
    use crate::measure::CPU_PER_STATEMENT;
    use crate::{Measure, SummaryRow, Unit, Verdict, sample};

    fn run_on(runtime: &str, drivers: [&str; 2]) -> Run {
        let (mut run, _) = sample::run();
        run.plan.arrangements[0].runtime = runtime.to_owned();
        run.plan.arrangements[0].id = runtime.to_owned();
        for (one, id) in run.contenders.iter_mut().zip(drivers) {
            (one.id, one.label) = (id.to_owned(), format!("{id}@1"));
        }
        run
    }

    fn band(runtime: &str, drivers: [&str; 2]) -> f64 {
        let run = run_on(runtime, drivers);
        between(&run, runtime, &run.contenders[0], &run.contenders[1])
    }

    #[test]
    fn a_band_is_two_percent_or_what_the_adapters_cost_apart_in_that_arrangement() {
        assert_eq!(band("multi:2", ["scylla", "cassandra-cpp"]), 0.02);
        assert_eq!(band("current", ["scylla", "cassandra-cpp"]), 0.036);
        assert_eq!(band("current", ["cassandra-cpp", "scylla"]), 0.036);
        assert_eq!(band("current", ["cdrs-tokio", "cassandra-cpp"]), 0.053);
        assert_eq!(band("current", ["scylla", "cdrs-tokio"]), 0.02);
        for runtime in ["multi:8", "goroutines"] {
            assert_eq!(band(runtime, ["scylla", "cassandra-cpp"]), 0.02);
        }
        assert_eq!(band("current", ["scylla", "somebody"]), 0.02, "nobody measured it");
    }

    #[test]
    fn wider_bands_are_named_with_the_pair_and_the_arrangement() {
        let said = |runtime, drivers| {
            let mut run = run_on(runtime, drivers);
            run.contenders.truncate(2);
            Analysis::new(&run, &[]).bands()
        };
        assert_eq!(said("multi:2", ["scylla", "gocql"]), "2 %");
        assert_eq!(
            said("current", ["scylla", "cassandra-cpp"]),
            "2 %, but 3.6 % between scylla and cassandra-cpp on current (their adapters' costs differ)"
        );
    }

    #[test]
    fn a_difference_that_is_a_verdict_on_one_arrangement_lies_within_the_wider_band_of_another() {
        let verdict = |runtime: &str| {
            let (mut run, mut cells) = sample::blocks(12);
            run.plan.arrangements[0].runtime = runtime.to_owned();
            run.contenders.retain(|one| one.id != "cassandra-cpp");
            run.contenders
                .iter_mut()
                .filter(|one| one.id == "cdrs-tokio")
                .for_each(|one| one.id = "cassandra-cpp".to_owned());
            for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
                cell.contender = "cassandra-cpp".to_owned();
                if let Some(cost) = cell.get(CPU_PER_STATEMENT) {
                    // From 1.56 to 1.038 times scylla's, known to 1 %.
                    let measure = Measure::value(cost * 1.038 / 1.56, Unit::Microseconds);
                    cell.measures.insert(CPU_PER_STATEMENT.to_owned(), measure);
                }
            }
            let is = |row: &&SummaryRow| row.contender == "cassandra-cpp" && row.is_primary();
            let row = Analysis::new(&run, &cells).rows.iter().find(is).unwrap().clone();
            (row.interval.unwrap(), row.verdict)
        };
        let (interval, of_multi) = verdict("multi:2");
        assert!(interval[0] > 1.02 && interval[0] <= 1.036, "{interval:?}");
        assert_eq!((of_multi, verdict("current")), (Some(Verdict::Dearer), (interval, Some(Verdict::Inconclusive))));
    }

    #[test]
    fn the_costs_are_those_of_the_page_that_was_measured() {
        let page = include_str!("../../../benches/README.md");
        assert_eq!(COSTS.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum::<usize>(), 24);
        for (driver, arrangements) in COSTS.iter() {
            let [multi, current] = ["multi:2", "current"].map(|arrangement| &arrangements[arrangement]);
            for (scenario, of_multi) in multi {
                let said = |[ratio, low, high]: &[f64; 3]| format!("{ratio:.3} ({low:.3} to {high:.3})");
                let row = format!("| {driver} | {scenario} | {} | {} |", said(of_multi), said(&current[scenario]));
                assert!(page.contains(&row), "{row}");
            }
        }
    }
}
