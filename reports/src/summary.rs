//! A figure a contender, scenario, arrangement and meter: what tables and pages are made of.

use serde::{Deserialize, Serialize};

use crate::measure;
use crate::{ArrangementInfo, Cell, Contender, Measure, Pass, Role, Run, ScenarioInfo, Unit};

/// One contender's figure for one meter in one scenario and arrangement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryRow {
    /// [`Contender::id`].
    pub contender: String,
    /// [`Contender::label`].
    pub label: String,
    /// [`ScenarioInfo::name`].
    pub scenario: String,
    /// [`ArrangementInfo::id`].
    pub arrangement: String,
    /// The measure's id.
    pub meter: String,
    /// The unit of the median; absent when there is none.
    pub unit: Option<Unit>,
    /// The median over the blocks of the cells that ended.
    pub median: Option<f64>,
    /// The median over the reference's; absent where either is absent, void or failed.
    pub ratio: Option<f64>,
    /// Where the ratio lies, with 95 % confidence; absent where no statistics were made.
    pub interval: Option<[f64; 2]>,
    /// What the interval says; absent where there is none.
    pub verdict: Option<Verdict>,
    /// Whether the contender is another one of the run once more.
    pub control: bool,
    /// Why the figure must not be compared, as a full sentence.
    pub void: Option<String>,
    /// Why there are fewer figures than blocks, as a full sentence: the first failure of a cell.
    pub failed: Option<String>,
    /// How many figures the median is of.
    pub n: usize,
    /// Why there is no figure, as a full sentence.
    pub unavailable: Option<String>,
}

/// What an interval says of a contender beside the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval lies beyond 2 % on the better side.
    Faster,
    /// The whole interval lies beyond 2 % on the worse side.
    Slower,
    /// The whole interval lies within 2 %.
    Same,
    /// Neither.
    Inconclusive,
}

/// One row a scenario, arrangement, contender and meter, in the order of the run.
pub fn summary(run: &Run, cells: &[Cell]) -> Vec<SummaryRow> {
    let reference = reference(run);
    let mut rows = Vec::new();
    for (scenario, arrangement) in places(run) {
        for id in ids(cells) {
            let of = |contender: &Contender| row(run, cells, contender, scenario, arrangement, id);
            let base = reference.map(of).filter(comparable).and_then(|row| row.median);
            rows.extend(run.contenders.iter().map(|contender| {
                let mut row = of(contender);
                if comparable(&row) {
                    row.ratio = ratio(row.median, base);
                }
                row
            }));
        }
    }
    rows
}

/// The contender that ratios are taken against: the plan's, else the first driver that could be asked.
pub fn reference(run: &Run) -> Option<&Contender> {
    match &run.plan.reference {
        Some(id) => run.contender(id),
        None => {
            run.contenders.iter().find(|contender| contender.role == Role::Driver && contender.unavailable.is_none())
        }
    }
}

/// Every scenario in every arrangement, in the order of the run.
pub(crate) fn places(run: &Run) -> impl Iterator<Item = (&ScenarioInfo, &ArrangementInfo)> {
    run.scenarios
        .iter()
        .flat_map(|scenario| run.plan.arrangements.iter().map(move |arrangement| (scenario, arrangement)))
}

/// The contender's cells of one pass in one place: one a block, the last attempt at it.
pub(crate) fn cells_of<'a>(
    cells: &'a [Cell],
    contender: &Contender,
    scenario: &ScenarioInfo,
    arrangement: &ArrangementInfo,
    pass: Pass,
) -> Vec<&'a Cell> {
    let mut mine: Vec<&Cell> = Vec::new();
    for cell in cells.iter().filter(|cell| {
        cell.contender == contender.id
            && cell.scenario == scenario.name
            && cell.arrangement == arrangement.id
            && cell.pass == pass
    }) {
        match mine.iter_mut().find(|earlier| earlier.block == cell.block) {
            Some(earlier) if earlier.attempt <= cell.attempt => *earlier = cell,
            Some(_) => {}
            None => mine.push(cell),
        }
    }
    mine
}

fn row(
    run: &Run,
    cells: &[Cell],
    contender: &Contender,
    scenario: &ScenarioInfo,
    arrangement: &ArrangementInfo,
    id: &str,
) -> SummaryRow {
    let pass = measure::definition(id).map_or_else(|| pass_of(cells, id), |definition| definition.pass);
    let mine = cells_of(cells, contender, scenario, arrangement, pass);
    let measures: Vec<&Measure> =
        mine.iter().filter(|cell| cell.failed.is_none()).filter_map(|cell| cell.measures.get(id)).collect();
    let mut values: Vec<f64> = measures.iter().filter_map(|measure| measure.get()).collect();
    let failed = mine.iter().find_map(|cell| cell.failed.clone());
    let unavailable = values.is_empty().then(|| {
        let reason = measures.iter().find_map(|measure| measure.reason()).map(str::to_owned);
        reason
            .or_else(|| contender.unavailable.clone())
            .or_else(|| failed.clone())
            .unwrap_or_else(|| why_not_measured(run, pass, mine.is_empty()))
    });
    SummaryRow {
        contender: contender.id.clone(),
        label: contender.label.clone(),
        scenario: scenario.name.clone(),
        arrangement: arrangement.id.clone(),
        meter: id.to_owned(),
        unit: measures.iter().find_map(|measure| measure.unit()),
        n: values.len(),
        median: median(&mut values),
        ratio: None,
        interval: None,
        verdict: None,
        control: contender.control,
        void: mine.iter().find_map(|cell| cell.void.clone()),
        failed,
        unavailable,
    }
}

fn why_not_measured(run: &Run, pass: Pass, no_cells: bool) -> String {
    if pass == Pass::Counting && run.plan.counting_count == 0 {
        "System calls were not counted, because the run had no counting pass.".to_owned()
    } else if no_cells && run.interrupted {
        "The run was ended before this was measured.".to_owned()
    } else {
        "This was not measured in this run.".to_owned()
    }
}

fn comparable(row: &SummaryRow) -> bool {
    row.void.is_none() && row.failed.is_none() && row.unavailable.is_none()
}

fn ratio(median: Option<f64>, base: Option<f64>) -> Option<f64> {
    Some(median? / base?).filter(|ratio| ratio.is_finite())
}

/// The ids of all measures: those that are defined, then others as the cells have them.
fn ids(cells: &[Cell]) -> Vec<&str> {
    let mut ids: Vec<&str> = measure::definitions().map(|definition| definition.id).collect();
    for id in cells.iter().flat_map(|cell| cell.measures.keys()) {
        if !ids.contains(&id.as_str()) {
            ids.push(id);
        }
    }
    ids
}

fn pass_of(cells: &[Cell], id: &str) -> Pass {
    let timed = cells.iter().any(|cell| cell.pass == Pass::Timing && cell.measures.contains_key(id));
    if timed { Pass::Timing } else { Pass::Counting }
}

/// The middle value, or the mean of the two middle ones.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => None,
        _ if values.len() % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn find<'a>(rows: &'a [SummaryRow], contender: &str, meter: &str) -> &'a SummaryRow {
        rows.iter().find(|row| row.contender == contender && row.meter == meter && row.scenario == "writes").unwrap()
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middle_values() {
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_row_holds_the_median_of_its_blocks_and_the_ratio_to_the_first_driver() {
        let (run, cells) = sample::run();
        let rows = summary(&run, &cells);
        let scylla = find(&rows, "scylla", measure::WALL);
        assert_eq!((scylla.n, scylla.ratio), (3, Some(1.0)));
        let cdrs = find(&rows, "cdrs-tokio", measure::WALL);
        let ratio = cdrs.median.unwrap() / scylla.median.unwrap();
        assert_eq!(cdrs.ratio, Some(ratio));
        assert!(rows.iter().all(|row| row.interval.is_none() && row.verdict.is_none()));
    }

    #[test]
    fn system_calls_come_from_the_counting_cells_only() {
        let (run, mut cells) = sample::run();
        for cell in cells.iter_mut().filter(|cell| cell.pass == Pass::Timing) {
            cell.measures.insert(measure::SYSCALLS.to_owned(), Measure::value(1e9, Unit::Count));
        }
        let rows = summary(&run, &cells);
        let row = find(&rows, "scylla", measure::SYSCALLS);
        assert_eq!(row.n, 1);
        assert!(row.median.unwrap() < 1e9);
    }

    #[test]
    fn a_void_cell_voids_the_ratios_of_its_row_but_not_its_medians() {
        let (run, mut cells) = sample::run();
        let cell = cells.iter_mut().find(|cell| cell.contender == "cdrs-tokio" && cell.pass == Pass::Timing).unwrap();
        cell.void = Some("3 of 500,000 statements failed.".to_owned());
        let rows = summary(&run, &cells);
        let row = find(&rows, "cdrs-tokio", measure::WALL);
        assert_eq!((row.ratio, row.n), (None, 3));
        assert_eq!(row.void.as_deref(), Some("3 of 500,000 statements failed."));
        assert!(find(&rows, "cdrs-tokio", measure::SYSCALLS).ratio.is_some(), "the counting pass was sound");
    }

    #[test]
    fn a_void_reference_leaves_no_ratio_at_all() {
        let (run, mut cells) = sample::run();
        cells.iter_mut().filter(|cell| cell.contender == "scylla").for_each(|cell| cell.void = Some("No.".to_owned()));
        let rows = summary(&run, &cells);
        assert!(rows.iter().filter(|row| row.scenario == "writes").all(|row| row.ratio.is_none()));
    }

    #[test]
    fn a_later_attempt_replaces_an_earlier_one() {
        let (run, mut cells) = sample::run();
        let mut again =
            cells.iter().find(|cell| cell.contender == "scylla" && cell.pass == Pass::Timing).unwrap().clone();
        cells.iter_mut().filter(|cell| cell.contender == "scylla" && cell.block == again.block).for_each(|cell| {
            cell.failed = Some("It crashed.".to_owned());
        });
        again.attempt = 2;
        cells.push(again);
        let rows = summary(&run, &cells);
        assert_eq!(find(&rows, "scylla", measure::WALL).failed, None);
        assert_eq!(find(&rows, "scylla", measure::WALL).n, 3);
    }

    #[test]
    fn a_contender_that_could_not_be_asked_has_rows_that_say_why() {
        let (run, cells) = sample::run();
        let rows = summary(&run, &cells);
        let row = find(&rows, "cassandra-cpp", measure::WALL);
        assert_eq!(row.median, None);
        assert_eq!(row.unavailable, run.contender("cassandra-cpp").unwrap().unavailable);
    }

    #[test]
    fn a_measure_of_another_version_is_summed_up_as_well() {
        let (run, mut cells) = sample::run();
        cells[0].measures.insert("allocations".to_owned(), Measure::value(7.0, Unit::Count));
        let contender = cells[0].contender.clone();
        assert_eq!(find(&summary(&run, &cells), &contender, "allocations").median, Some(7.0));
    }
}
