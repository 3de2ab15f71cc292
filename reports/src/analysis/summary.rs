//! One figure per contender, scenario, arrangement and meter: what tables and pages are made of.

use std::collections::{BTreeMap, BTreeSet};

use cqldyno_statistics::{self as statistics, LogRatio, Repetition};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Bottleneck;
use crate::comparison::{JUDGED, Table, compare};
use crate::measure::{self, CPU_PER_STATEMENT, THROUGHPUT};
use crate::rounds::CountedRounds;
use crate::{ArrangementInfo, Cell, Contender, Measure, Pass, Role, Run, ScenarioInfo, Unit, whole};

/// One contender's figures for one meter, by block, or by generation and round.
pub(crate) type Figures = BTreeMap<Repetition, f64>;

/// Where the cell's figures repeat.
fn repetition(cell: &Cell) -> Repetition {
    std::iter::once(cell.block).chain(cell.round).collect()
}

/// One scenario in one arrangement.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// What is asked.
    pub scenario: &'a ScenarioInfo,
    /// How client and server sit on the machine.
    pub arrangement: &'a ArrangementInfo,
}

impl<'a> Place<'a> {
    /// Every scenario in every arrangement, in the order of the run.
    pub(crate) fn all(run: &'a Run) -> impl Iterator<Item = Place<'a>> {
        let of = |scenario| run.plan.arrangements.iter().map(move |arrangement| Place { scenario, arrangement });
        run.scenarios.iter().flat_map(of)
    }
}

/// One contender's figure for one meter in one scenario and arrangement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
    /// The unit of median and level; absent without a figure.
    pub unit: Option<Unit>,
    /// The median over the blocks of the cells that ended.
    pub median: Option<f64>,
    /// The smallest and the largest figure, if several cells counted.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// The fitted level; the median without an interval; absent if the row is void, failed or not measured.
    ///
    /// A level over the reference's is the ratio, but for a control. The reference's level is pooled with its control's.
    #[serde(default)]
    pub level: Option<f64>,
    /// The level over the reference's, and of a control over the reference's alone; absent without one of both.
    pub ratio: Option<f64>,
    /// Where the ratio lies with 95 % confidence: over all comparisons by its meter at once, or by itself if the row is exploratory.
    pub interval: Option<[f64; 2]>,
    /// What the interval says, or that noise withholds it; absent without an interval, of a control, of a rate that the server may have
    /// limited, and where the control is missing or differs.
    pub verdict: Option<Verdict>,
    /// Why a rate has no verdict although it has an interval, as a full sentence: the server limited it, or may have.
    #[serde(default)]
    pub no_verdict: Option<String>,
    /// Which count speaks against a verdict on CPU time, as a full sentence: instructions, or without them system calls or allocations.
    #[serde(default)]
    pub contradicted: Option<String>,
    /// Whether the row's interval holds by itself only: any meter but CPU time per statement and statements per second.
    #[serde(default)]
    pub exploratory: bool,
    /// The smallest difference to the reference, as a share, that this run would have found with a chance of 90 %.
    #[serde(default)]
    pub detectable: Option<f64>,
    /// How many blocks the interval comes from.
    #[serde(default)]
    pub blocks: Option<usize>,
    /// How many rounds the interval comes from; without turns how many blocks.
    #[serde(default)]
    pub rounds: Option<usize>,
    /// How many more would, but were slow for all drivers.
    #[serde(default)]
    pub slow: Option<usize>,
    /// Why there is no interval of the primary meter, as a full sentence.
    #[serde(default)]
    pub no_interval: Option<String>,
    /// What limited the row's timing cells; absent if not known.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
    /// Whether the contender is another one of the run once more.
    pub control: bool,
    /// Why the figure must not be compared, as a full sentence.
    pub void: Option<String>,
    /// Why there are fewer figures than blocks, as a full sentence: the first failure of a cell.
    pub failed: Option<String>,
    /// How many figures the median comes from.
    pub n: usize,
    /// Why there is no figure, as a full sentence.
    pub unavailable: Option<String>,
}

impl SummaryRow {
    /// Whether the row is of CPU time per statement.
    pub(crate) fn is_primary(&self) -> bool {
        self.meter == CPU_PER_STATEMENT
    }

    pub(crate) fn is_of(&self, place: Place, contender: &Contender) -> bool {
        self.contender == contender.id && self.is_in(place)
    }

    pub(crate) fn is_in(&self, place: Place) -> bool {
        self.scenario == place.scenario.name && self.arrangement == place.arrangement.id
    }
}

/// What an interval says of a contender against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It needs less CPU time: the whole interval lies beyond 2 %, or below 1 if both are the same driver.
    Cheaper,
    /// It needs more CPU time: the whole interval lies beyond 2 %, or above 1 if both are the same driver.
    Dearer,
    /// It serves more statements per second: the whole interval lies beyond 2 %.
    Faster,
    /// It serves fewer statements per second: the whole interval lies beyond 2 %.
    Slower,
    /// The whole interval lies within 2 %.
    Same,
    /// Neither.
    Inconclusive,
    /// Withheld: other processes disturbed more than half of the blocks that the interval comes from, or fewer than half of the
    /// rounds count.
    TooNoisy,
}

impl Verdict {
    /// The verdict in the words of the meter: statements per second are faster or slower, CPU time is cheaper or dearer.
    pub(crate) fn of(verdict: statistics::Verdict, meter: &str) -> Verdict {
        match (verdict, meter == THROUGHPUT) {
            (statistics::Verdict::Better, true) => Verdict::Faster,
            (statistics::Verdict::Better, false) => Verdict::Cheaper,
            (statistics::Verdict::Worse, true) => Verdict::Slower,
            (statistics::Verdict::Worse, false) => Verdict::Dearer,
            (statistics::Verdict::Same, _) => Verdict::Same,
            (statistics::Verdict::Inconclusive, _) => Verdict::Inconclusive,
        }
    }

    /// The word, as it stands in tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Cheaper => "cheaper",
            Verdict::Dearer => "dearer",
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
            Verdict::TooNoisy => "too noisy",
        }
    }

    /// Whether the contender differs from the reference.
    pub fn differs(self) -> bool {
        self.is_better() || self.is_worse()
    }

    /// Whether the run stands by it: all but [`Verdict::TooNoisy`].
    pub fn holds(self) -> bool {
        self != Verdict::TooNoisy
    }

    /// Whether the contender is cheaper or faster than the reference.
    pub fn is_better(self) -> bool {
        matches!(self, Verdict::Cheaper | Verdict::Faster)
    }

    /// Whether the contender is dearer or slower than the reference.
    pub fn is_worse(self) -> bool {
        matches!(self, Verdict::Dearer | Verdict::Slower)
    }
}

/// All rows of a run, and what the control says of them.
pub(crate) struct Summed {
    pub rows: Vec<SummaryRow>,
    /// The logarithms of the rows' ratios, one per row.
    pub logs: Vec<Option<LogRatio>>,
    pub doubts: Vec<String>,
}

/// The rows with ratios to `reference`: `cells` are those that count.
pub(crate) fn summed(run: &Run, cells: &[&Cell], rounds: &CountedRounds, reference: Option<&Contender>) -> Summed {
    let ids = ids(run, cells);
    let mut tables = Vec::new();
    for place in Place::all(run) {
        let is_here = |cell: &&&Cell| cell.scenario == place.scenario.name && cell.arrangement == place.arrangement.id;
        let here: Vec<&Cell> = cells.iter().filter(is_here).copied().collect();
        let noisy = here.iter().filter(|cell| cell.pass == Pass::Timing && cell.noisy.is_some());
        let disturbed: BTreeSet<Repetition> = noisy.map(|cell| repetition(cell)).collect();
        for id in &ids {
            let row = |contender| row(run, &here, rounds, contender, place, id);
            let (rows, figures) = run.contenders.iter().map(row).unzip();
            let missing = rounds.missing_in(&place.scenario.name, &place.arrangement.id);
            tables.push(Table {
                rows,
                figures,
                disturbed: disturbed.clone(),
                missing,
                withheld: rounds.withhold(place),
                logs: BTreeMap::new(),
            });
        }
    }
    let doubts = compare(run, reference, &mut tables);
    let logs = tables.iter().flat_map(|table| (0..table.rows.len()).map(|row| table.logs.get(&row).copied())).collect();
    Summed { logs, rows: tables.into_iter().flat_map(|table| table.rows).collect(), doubts }
}

/// The contender that ratios are taken against: the plan's, else the first driver that could be asked.
pub fn reference(run: &Run) -> Option<&Contender> {
    match &run.plan.reference {
        Some(id) => run.contender(id),
        None => {
            let is_there = |one: &&Contender| one.role == Role::Driver && one.unavailable.is_none();
            let mut drivers = run.contenders.iter().filter(is_there);
            drivers.clone().find(|one| one.in_flight.is_none()).or_else(|| drivers.next())
        }
    }
}

/// The contender's cells of one pass in one place: one per block, or one per turn.
pub(crate) fn cells_of<'a>(cells: &[&'a Cell], contender: &Contender, place: Place, pass: Pass) -> Vec<&'a Cell> {
    let is_mine = |cell: &&&Cell| {
        cell.contender == contender.id
            && cell.scenario == place.scenario.name
            && cell.arrangement == place.arrangement.id
            && cell.pass == pass
    };
    cells.iter().filter(is_mine).copied().collect()
}

/// The row before the comparison, and its figures.
fn row(
    run: &Run,
    cells: &[&Cell],
    rounds: &CountedRounds,
    contender: &Contender,
    place: Place,
    id: &str,
) -> (SummaryRow, Figures) {
    let Place { scenario, arrangement } = place;
    let pass = run.measure(id).map_or_else(|| pass_of(cells, id), |known| known.pass);
    let mine = cells_of(cells, contender, place, pass);
    let counting: Vec<&Cell> = mine.iter().copied().filter(|cell| !rounds.leave_out(cell)).collect();
    let ended: Vec<&Cell> = counting.iter().copied().filter(|cell| cell.failed.is_none()).collect();
    let measures: Vec<&Measure> = ended.iter().filter_map(|cell| cell.measures.get(id)).collect();
    let figures: Figures = ended.iter().filter_map(|cell| Some((repetition(cell), cell.get(id)?))).collect();
    let mut values: Vec<f64> = figures.values().copied().collect();
    let failed = mine.iter().find_map(|cell| cell.failed.clone());
    let unavailable = values.is_empty().then(|| {
        let reason = measures.iter().find_map(|measure| measure.reason()).map(str::to_owned);
        reason
            .or_else(|| contender.unavailable.clone())
            .or_else(|| scenario.left_out.get(&contender.id).cloned())
            .or_else(|| failed.clone())
            .unwrap_or_else(|| match counting.is_empty() && !mine.is_empty() {
                true => "None of its rounds counts, because the cores were not there.".to_owned(),
                false => why_not_measured(run, pass, mine.is_empty()),
            })
    });
    let timed = cells_of(cells, contender, place, Pass::Timing).into_iter().filter(|cell| !rounds.leave_out(cell));
    let timed: Vec<&Cell> = timed.collect();
    let row = SummaryRow {
        contender: contender.id.clone(),
        label: contender.label.clone(),
        scenario: scenario.name.clone(),
        arrangement: arrangement.id.clone(),
        meter: id.to_owned(),
        unit: measures.iter().find_map(|measure| measure.unit()),
        n: values.len(),
        median: median(&mut values),
        range: (pass != Pass::Timing && values.len() > 1).then(|| [values[0], values[values.len() - 1]]),
        level: None,
        ratio: None,
        interval: None,
        verdict: None,
        no_verdict: None,
        contradicted: None,
        exploratory: !JUDGED.contains(&id),
        detectable: None,
        blocks: None,
        rounds: None,
        slow: None,
        no_interval: own_concurrency(run, contender),
        bottleneck: Bottleneck::of(&timed),
        control: contender.control,
        void: mine.iter().find_map(|cell| cell.void.clone()),
        failed,
        unavailable,
    };
    (row, figures)
}

/// Why a driver that blocks has no part in the ratios.
fn own_concurrency(run: &Run, contender: &Contender) -> Option<String> {
    let (own, others) = (contender.in_flight? as f64, run.plan.concurrency as f64);
    Some(format!(
        "{} has its own concurrency: {} in flight, where the others have {}. So it has no ratio and no verdict.",
        contender.label,
        whole(own),
        whole(others)
    ))
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

/// Whether the row's figures may stand beside the reference's.
pub(crate) fn comparable(row: &SummaryRow) -> bool {
    row.void.is_none() && row.failed.is_none() && row.unavailable.is_none()
}

/// The ids of all measures: those that are defined, then others as the cells have them.
fn ids<'a>(run: &'a Run, cells: &[&'a Cell]) -> Vec<&'a str> {
    let mut ids: Vec<&'a str> = measure::definitions().map(|definition| definition.id).collect();
    // Those of a pass that did not run would be rows of nothing.
    let told = run.measures.iter().filter(|known| known.pass == Pass::Timing || has_run(run, known.pass));
    let found = cells.iter().flat_map(|cell| cell.measures.keys());
    for id in told.map(|known| &known.id).chain(found) {
        if !ids.contains(&id.as_str()) {
            ids.push(id);
        }
    }
    ids
}

fn has_run(run: &Run, pass: Pass) -> bool {
    run.plan.passes.contains(&pass)
}

fn pass_of(cells: &[&Cell], id: &str) -> Pass {
    let has = |pass: &Pass| cells.iter().any(|cell| cell.pass == *pass && cell.measures.contains_key(id));
    Pass::ALL.into_iter().find(has).unwrap_or(Pass::Timing)
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
    use crate::{Analysis, sample};

    fn summary(run: &Run, cells: &[Cell]) -> Vec<SummaryRow> {
        Analysis::new(run, cells).rows().to_vec()
    }

    fn find<'a>(rows: &'a [SummaryRow], contender: &str, meter: &str) -> &'a SummaryRow {
        find_in(rows, "writes", contender, meter)
    }

    fn find_in<'a>(rows: &'a [SummaryRow], scenario: &str, contender: &str, meter: &str) -> &'a SummaryRow {
        let is = |row: &&SummaryRow| row.contender == contender && row.meter == meter && row.scenario == scenario;
        rows.iter().find(is).unwrap()
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
        let is_first = |cell: &&Cell| cell.scenario == "writes" && cell.block == 1 && cell.pass == Pass::Timing;
        let again: Vec<Cell> = cells.iter().filter(is_first).map(|cell| Cell { attempt: 2, ..cell.clone() }).collect();
        cells
            .iter_mut()
            .filter(|cell| is_first(&&**cell))
            .for_each(|cell| cell.failed = Some("It crashed.".to_owned()));
        cells.extend(again);
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

    #[test]
    fn the_verdict_is_read_from_the_interval_that_is_printed() {
        let (run, cells) = sample::blocks(12);
        let analysis = Analysis::new(&run, &cells);
        let (rows, warnings) = (analysis.rows(), analysis.warnings());
        assert!(warnings.is_empty(), "{warnings:?}");
        let cdrs = find(rows, "cdrs-tokio", CPU_PER_STATEMENT);
        let [low, high] = cdrs.interval.unwrap();
        assert!(low <= cdrs.ratio.unwrap() && cdrs.ratio.unwrap() <= high && low > 1.02, "{cdrs:?}");
        assert_eq!((cdrs.verdict, cdrs.exploratory, cdrs.blocks), (Some(Verdict::Dearer), false, Some(12)));
        assert!(cdrs.detectable.unwrap() > 0.02);
        let reference = find(rows, "scylla", CPU_PER_STATEMENT);
        assert_eq!((reference.ratio, reference.interval, reference.verdict), (Some(1.0), None, None));
        let control = find(rows, "scylla#control", CPU_PER_STATEMENT);
        let [low, high] = control.interval.unwrap();
        assert!(low <= 1.0 && high >= 1.0 && control.verdict.is_none(), "{control:?}");
        let floor = find(rows, "floor", CPU_PER_STATEMENT);
        assert!(floor.ratio.is_some() && floor.interval.is_none() && floor.verdict.is_none(), "{floor:?}");
    }

    #[test]
    fn every_meter_without_a_verdict_is_exploratory_and_its_interval_holds_by_itself() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let cpu = cell.measures.get(CPU_PER_STATEMENT).unwrap().clone();
            cell.measures.insert(measure::SERVER_CPU_PER_STATEMENT.to_owned(), cpu);
        }
        let rows = summary(&run, &cells);
        let primary = find(&rows, "cdrs-tokio", CPU_PER_STATEMENT).interval.unwrap();
        let other = find(&rows, "cdrs-tokio", measure::SERVER_CPU_PER_STATEMENT);
        let narrower = other.interval.unwrap();
        assert!(other.exploratory && other.verdict.is_none());
        assert!(primary[0] < narrower[0] && narrower[1] < primary[1], "{primary:?} {narrower:?}");
        assert!(rows.iter().all(|row| row.exploratory != JUDGED.contains(&row.meter.as_str())));
    }

    #[test]
    fn a_level_over_the_references_is_the_ratio_of_every_row_but_a_controls() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let rate = 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
            cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
        }
        let rows = summary(&run, &cells);
        let mut compared = 0;
        for row in rows.iter().filter(|row| row.ratio.is_some() && !row.control) {
            let base = find_in(&rows, &row.scenario, "scylla", &row.meter).level.unwrap();
            let ratio = row.ratio.unwrap();
            assert!((row.level.unwrap() / base - ratio).abs() < 1e-9 * ratio, "{row:?}");
            compared += usize::from(row.interval.is_some());
        }
        assert!(compared > 2, "{compared} rows have intervals");
        let (own, control) =
            (find(&rows, "scylla", CPU_PER_STATEMENT), find(&rows, "scylla#control", CPU_PER_STATEMENT));
        let pooled = own.level.unwrap();
        assert!(pooled != own.median.unwrap() && (pooled / control.level.unwrap() - 1.0).abs() < 0.02, "{own:?}");
        let floor = find(&rows, "floor", CPU_PER_STATEMENT);
        assert_eq!((floor.level, floor.interval), (floor.median, None));
    }

    #[test]
    fn without_an_interval_the_level_is_the_median_and_a_void_row_has_none() {
        let (run, mut cells) = sample::run();
        cells.iter_mut().find(|cell| cell.contender == "cdrs-tokio").unwrap().void = Some("No.".to_owned());
        let rows = summary(&run, &cells);
        let row = find(&rows, "scylla", measure::WALL);
        assert_eq!((row.level, row.interval), (row.median, None));
        assert_eq!(find(&rows, "cdrs-tokio", measure::WALL).level, None);
    }

    #[test]
    fn cpu_time_is_cheaper_or_dearer_and_statements_per_second_are_faster_or_slower() {
        let both = [statistics::Verdict::Better, statistics::Verdict::Worse];
        let words = |meter| both.map(|one| Verdict::of(one, meter).name());
        assert_eq!(words(CPU_PER_STATEMENT), ["cheaper", "dearer"]);
        assert_eq!(words(THROUGHPUT), ["faster", "slower"]);
    }

    #[test]
    fn nobody_that_served_more_is_called_slower() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            // cdrs-tokio needs more CPU time and serves more.
            let rate = cell.get(CPU_PER_STATEMENT).unwrap() * 1e5;
            cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
        }
        let rows = summary(&run, &cells);
        let of = |meter| find(&rows, "cdrs-tokio", meter).verdict;
        assert_eq!((of(CPU_PER_STATEMENT), of(THROUGHPUT)), (Some(Verdict::Dearer), Some(Verdict::Faster)));
        for row in rows.iter().filter(|row| row.meter == THROUGHPUT) {
            assert!(row.verdict != Some(Verdict::Slower) || row.ratio.unwrap() < 1.0, "{row:?}");
        }
    }

    #[test]
    fn intervals_of_statements_per_second_hold_at_once_as_those_of_cpu_time_do() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let cpu = cell.measures.get(CPU_PER_STATEMENT).unwrap().clone();
            cell.measures.insert(measure::THROUGHPUT.to_owned(), cpu);
        }
        let rows = summary(&run, &cells);
        let interval = |meter| find(&rows, "cdrs-tokio", meter).interval.unwrap();
        assert_eq!(interval(THROUGHPUT), interval(CPU_PER_STATEMENT));
    }

    #[test]
    fn a_control_whose_rate_differs_takes_the_verdicts_on_rates_away_and_no_other() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let faster = if cell.contender == "scylla#control" { 1.1 } else { 1.0 };
            let rate = faster * 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
            cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
        }
        for reference in ["scylla", "cdrs-tokio"] {
            let analysis = Analysis::against(&run, &cells, Some(reference));
            let verdicts =
                |meter: &str| analysis.rows().iter().filter(|row| row.meter == meter && row.verdict.is_some()).count();
            assert!(verdicts(CPU_PER_STATEMENT) > 0 && verdicts(THROUGHPUT) == 0, "{reference}");
            assert!(
                analysis.warnings()[0].contains("should serve the same, but its statements per second"),
                "{reference}"
            );
        }
    }

    #[test]
    fn every_verdict_is_a_word_of_the_glossary() {
        let method = include_str!("../../../harness/METHOD.md");
        let glossary =
            method.split("## What does a verdict mean?").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
        let all = [
            Verdict::Cheaper,
            Verdict::Dearer,
            Verdict::Faster,
            Verdict::Slower,
            Verdict::Same,
            Verdict::Inconclusive,
            Verdict::TooNoisy,
        ];
        for word in all.iter().map(|one| one.name()).chain(["server-bound", "no verdict", "withheld"]) {
            assert!(glossary.to_lowercase().contains(&format!("*{word}*")), "{word}");
        }
    }

    #[test]
    fn a_server_bound_row_has_no_verdict_on_throughput_and_keeps_that_on_cpu_time() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let rate = 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
            cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
        }
        let rows = summary(&run, &cells);
        let found = find(&rows, "cdrs-tokio", measure::THROUGHPUT);
        assert_eq!(
            (found.verdict, found.exploratory),
            (Some(Verdict::Slower), false),
            "fewer statements a second: {found:?}"
        );
        for cell in cells.iter_mut().filter(|cell| cell.contender == "cdrs-tokio") {
            let busy = Measure::value(88.0, Unit::Percent);
            cell.measures.insert(measure::SERVER_UTILISATION.to_owned(), busy);
        }
        let rows = summary(&run, &cells);
        let found = find(&rows, "cdrs-tokio", measure::THROUGHPUT);
        let why = "No verdict on statements per second: the server limited this row, not the driver.";
        assert_eq!((found.verdict, found.no_verdict.as_deref()), (None, Some(why)));
        assert!(found.interval.is_some());
        let cpu = find(&rows, "cdrs-tokio", CPU_PER_STATEMENT);
        assert_eq!((cpu.verdict, cpu.bottleneck), (Some(Verdict::Dearer), Some(Bottleneck::Server)));
    }

    #[test]
    fn where_the_reference_or_its_control_is_not_known_to_set_its_own_rate_no_row_has_a_verdict_on_throughput() {
        let (run, mut cells) = sample::blocks(12);
        for cell in &mut cells {
            let rate = 1e6 / cell.get(CPU_PER_STATEMENT).unwrap();
            cell.measures.insert(measure::THROUGHPUT.to_owned(), Measure::value(rate, Unit::PerSecond));
        }
        let verdicts = |who: &str, server: Option<f64>| {
            let mut cells = cells.clone();
            for cell in cells.iter_mut().filter(|cell| cell.contender == who && cell.scenario == "writes") {
                cell.measures.remove(measure::SERVER_UTILISATION);
                if let Some(share) = server {
                    cell.measures.insert(measure::SERVER_UTILISATION.to_owned(), Measure::value(share, Unit::Percent));
                }
            }
            let rows = summary(&run, &cells);
            let elsewhere = |row: &&SummaryRow| {
                row.contender == "cdrs-tokio" && row.meter == measure::THROUGHPUT && row.scenario == "reads"
            };
            assert_eq!(rows.iter().find(elsewhere).unwrap().verdict, Some(Verdict::Slower), "another place");
            let here = find(&rows, "cdrs-tokio", measure::THROUGHPUT);
            assert!(here.interval.is_some());
            let says = |what: &str| here.no_verdict.as_ref().is_some_and(|why| why.contains(what));
            match server {
                Some(share) if share < 80.0 => assert_eq!(here.no_verdict, None),
                Some(_) => assert!(says("the server limited the reference"), "{here:?}"),
                None => assert!(says("not known what limited the reference"), "{here:?}"),
            }
            (here.verdict, find(&rows, "cdrs-tokio", CPU_PER_STATEMENT).verdict)
        };
        assert_eq!(verdicts("scylla", Some(12.0)), (Some(Verdict::Slower), Some(Verdict::Dearer)));
        for base in ["scylla", "scylla#control"] {
            for server in [Some(88.0), None] {
                assert_eq!(verdicts(base, server), (None, Some(Verdict::Dearer)), "{base} {server:?}");
            }
        }
    }

    #[test]
    fn a_driver_of_which_a_block_failed_is_compared_with_nobody_and_the_others_keep_their_intervals() {
        let (run, mut cells) = sample::blocks(12);
        let before = find(&summary(&run, &cells), "scylla#control", CPU_PER_STATEMENT).interval;
        cells.iter_mut().find(|cell| cell.contender == "cdrs-tokio" && cell.block == 4).unwrap().failed =
            Some("No.".to_owned());
        let rows = summary(&run, &cells);
        assert_eq!(find(&rows, "cdrs-tokio", CPU_PER_STATEMENT).interval, None);
        assert!(before.is_some() && find(&rows, "scylla#control", CPU_PER_STATEMENT).interval.is_some());
    }

    #[test]
    fn a_second_name_of_another_driver_is_no_control_of_the_reference() {
        let (mut run, mut cells) = sample::blocks(12);
        for contender in run.contenders.iter_mut().filter(|contender| contender.control) {
            contender.id = "cdrs-tokio#control".to_owned();
        }
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            cell.contender = "cdrs-tokio#control".to_owned();
        }
        let rows = summary(&run, &cells);
        assert!(find(&rows, "cdrs-tokio#control", CPU_PER_STATEMENT).verdict.is_some());
    }
}
