//! Figures as [Bencher](https://bencher.dev/docs/reference/bencher-metric-format/) takes them, to follow them from commit to commit.

use std::collections::BTreeMap;
use std::io::Write;

use serde::Serialize;

use super::exporter::{ExportError, Exporter, Look};
use super::json::write;
use crate::measure::{CPU_PER_STATEMENT, SYSCALLS, SYSCALLS_PER_STATEMENT, VERIFIED};
use crate::{Analysis, Better, Combined, Contender, Place, Recorded, SummaryRow, climbed, plain, short};

pub(super) struct Bencher;

/// A figure with its 95 % interval: that of the ratio to the reference, around the level. The reference has none.
#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// By benchmark, such as `scylla/writes/multi:2`, and by measure.
type Benchmarks = BTreeMap<String, BTreeMap<String, Metric>>;

impl Exporter for Bencher {
    fn names(&self) -> [&'static str; 3] {
        ["bencher", "Bencher Metric Format: `bencher run --adapter json --file`", "bencher.json"]
    }

    /// Every measure of every contender, without measures that are neither better nor worse, totals that follow from others, and controls.
    /// A figure of a void, failed or missing cell is left out.
    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        write(&benchmarks(analysis), out)
    }

    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
        let analyses = named.iter().map(|(name, one)| (name.clone(), Analysis::new(&one.run, &one.cells)));
        let combined = Combined::of(&analyses.collect::<Vec<_>>()).ok()?;
        Some(self.one(&combined.analysis, Look::default()))
    }
}

fn benchmarks(analysis: &Analysis) -> Benchmarks {
    let run = analysis.run;
    let mut all = Benchmarks::new();
    let mut put = |place: Place, contender: &Contender, measure: String, metric: Metric| {
        let name = [short(run, contender), plain(&place.scenario.name), plain(&place.arrangement.id)].join("/");
        all.entry(name).or_default().insert(measure, metric);
    };
    for place in analysis.places() {
        for contender in run.contenders.iter().filter(|one| !one.control) {
            let is_judged = |row: &&SummaryRow| {
                ![SYSCALLS, VERIFIED].contains(&row.meter.as_str())
                    && run.measure(&row.meter).is_none_or(|one| one.better != Better::Neither)
            };
            for row in analysis.rows_of(place, contender).filter(is_judged) {
                let [lower_value, upper_value] = Analysis::ends(row).map_or([None, None], |ends| ends.map(Some));
                if let Some(value) = row.level {
                    put(place, contender, slug(&row.meter), Metric { value, lower_value, upper_value });
                }
            }
        }
    }
    for one in climbed(run, analysis.every_cell) {
        if let Some(rate) = one.ladder.held() {
            let metric = Metric { value: rate as f64, lower_value: None, upper_value: None };
            put(one.place, one.contender, "highest-rate".to_owned(), metric);
        }
    }
    all
}

/// A measure's name there, of lower-case letters, digits and hyphens.
fn slug(meter: &str) -> String {
    match meter {
        CPU_PER_STATEMENT => "cpu-time".to_owned(),
        SYSCALLS_PER_STATEMENT => "system-calls".to_owned(),
        other => other.trim_end_matches("_per_statement").replace('_', "-"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::export::exporter;
    use crate::{Analysis, Cell, Look, Recorded, Run, sample};

    fn bencher(run: &Run, cells: &[Cell]) -> String {
        exporter("bencher").unwrap().one(&Analysis::new(run, cells), Look::default()).unwrap()
    }

    #[test]
    fn a_benchmark_is_a_contender_in_a_place_and_has_its_measures_with_their_intervals() {
        let (run, cells) = sample::blocks(12);
        let text = bencher(&run, &cells);
        expect_test::expect_file![
            "golden/a_benchmark_is_a_contender_in_a_place_and_has_its_measures_with_their_intervals.txt"
        ]
        .assert_eq(&text);
        // The schema of https://bencher.dev/docs/reference/bencher-metric-format/.
        let metric = json!({
            "type": "object", "required": ["value"], "additionalProperties": false,
            "properties": {"value": {"type": "number"}, "lower_value": {"type": "number"}, "upper_value": {"type": "number"}},
        });
        let measures = json!({"type": "object", "patternProperties": {"^[a-z0-9-]{1,64}$": metric}, "additionalProperties": false});
        let all = json!({"type": "object", "patternProperties": {".+": measures}});
        let document: Value = serde_json::from_str(&text).unwrap();
        assert!(jsonschema::draft202012::new(&all).unwrap().is_valid(&document), "{text}");
        let driver = &document["cdrs-tokio/writes/multi:2"]["cpu-time"];
        let [low, value, high] = ["lower_value", "value", "upper_value"].map(|end| driver[end].as_f64().unwrap());
        assert!(low < value && value < high && high < 1.1 * value, "{driver}");
    }

    #[test]
    fn what_is_void_is_left_out() {
        let (run, mut cells) = sample::blocks(12);
        let is = |cell: &&mut Cell| (cell.contender.as_str(), cell.scenario.as_str()) == ("cdrs-tokio", "writes");
        cells.iter_mut().filter(is).for_each(|cell| cell.void = Some("A statement failed.".to_owned()));
        let text = bencher(&run, &cells);
        assert!(!text.contains("cdrs-tokio/writes/") && text.contains("cdrs-tokio/reads/"), "{text}");
    }

    #[test]
    fn runs_of_one_plan_are_one_document_and_others_are_none() {
        let of = |(run, cells): (Run, Vec<Cell>)| Recorded { run, cells, notes: Vec::new() };
        let [mut first, second] = [of(sample::repeated(12, 0)), of(sample::repeated(12, 1))];
        let several = |first: &Recorded| {
            let named = [("a".to_owned(), first), ("b".to_owned(), &second)];
            ["bencher", "svg"]
                .map(|format| exporter(format).unwrap().several(&named, Look::default()).map(Result::unwrap))
        };
        let [metrics, chart] = several(&first).map(Option::unwrap);
        assert!(metrics.contains("\"cdrs-tokio/writes/multi:2\"") && !metrics.contains("system-calls"), "{metrics}");
        assert!(chart.contains("2 runs, lines are 95 % intervals"), "{chart}");
        first.run.plan.concurrency += 1;
        assert_eq!(several(&first), [None, None]);
    }
}
