//! One figure per contender, scenario, arrangement and meter: what tables and pages are made of.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use cqldyno_statistics::{self as statistics, LogRatio, Repetition};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Bottleneck;
use crate::comparison::{JUDGED, Table, compare, withhold};
use crate::cut_short::unfinished;
use crate::measure::{self, CPU_PER_STATEMENT, THROUGHPUT, VERIFIED, WALL};
use crate::rounds::CountedRounds;
use crate::{ArrangementInfo, Cell, Contender, Measure, Pass, Role, Run, ScenarioInfo, Unit, whole};

/// One contender's figures for one meter, by generation and round, or by repetition.
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
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// The median over the cells that ended.
    pub median: Option<f64>,
    /// The smallest and the largest figure, if several cells counted.
    #[serde(default)]
    pub range: Option<[f64; 2]>,
    /// The mean over all rounds that count; the median without an interval; absent if the row is void, failed or not measured.
    ///
    /// A level over the reference's is the ratio, but for a control. The reference's level is pooled with its control's.
    #[serde(default)]
    pub level: Option<f64>,
    /// The level over the reference's, and of a control over the reference's alone; absent without one of both.
    pub ratio: Option<f64>,
    /// Where the ratio lies with 95 % confidence: over all comparisons by its meter at once, or by itself if the row is exploratory.
    pub interval: Option<[f64; 2]>,
    /// What the interval says, or that noise withholds it; absent without an interval, of a control, of a rate that the server may have
    /// limited, where the control is missing or differs, and of a run that was stopped.
    pub verdict: Option<Verdict>,
    /// Why a rate has no verdict although it has an interval, as a full sentence: the server limited it, or may have.
    #[serde(default)]
    pub no_verdict: Option<String>,
    /// Which count speaks against a verdict on CPU time, as a full sentence: instructions, or without them system calls or allocations.
    #[serde(default)]
    pub contradicted: Option<String>,
    /// Whether instructions per statement contradict the verdict: they hardly vary, so it is in doubt. Tables then show it as `cheaper?`.
    #[serde(default)]
    pub doubtful: bool,
    /// Whether the row's interval holds by itself only: any meter but CPU time per statement and statements per second.
    #[serde(default)]
    pub exploratory: bool,
    /// The smallest difference to the reference, as a share, that this run would have found with a chance of 90 %.
    #[serde(default)]
    pub detectable: Option<f64>,
    /// How many generations the interval comes from.
    #[serde(default)]
    pub blocks: Option<usize>,
    /// How many rounds the interval comes from.
    #[serde(default)]
    pub rounds: Option<usize>,
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
    /// Why there are fewer figures than turns, as a full sentence: the first failure of a cell.
    pub failed: Option<String>,
    /// How many figures the median comes from.
    pub n: usize,
    /// Why there is no figure, as a full sentence.
    pub unavailable: Option<String>,
}

impl SummaryRow {
    /// The verdict as tables show it, for example `cheaper`, or `cheaper?` if it is doubtful.
    pub fn verdict_name(&self) -> Option<String> {
        Some(format!("{}{}", self.verdict?.name(), if self.doubtful { "?" } else { "" }))
    }

    /// The ratio with its interval, for example `0.93 (0.91-0.95)`; `None` without an interval.
    pub fn ratio_within(&self, digits: usize, to: &str) -> Option<String> {
        let (ratio, [low, high]) = self.ratio.zip(self.interval)?;
        Some(format!("{ratio:.digits$} ({low:.digits$}{to}{high:.digits$})"))
    }

    /// Whether the row is of CPU time per statement.
    pub(crate) fn is_primary(&self) -> bool {
        self.meter == CPU_PER_STATEMENT
    }

    pub(crate) fn is_of(&self, place: Place, contender: &Contender) -> bool {
        self.contender == contender.id && self.is_in(place)
    }

    /// Whether both are of one figure, perhaps in two runs, which may call a contender by other ids.
    pub(crate) fn is_as(&self, other: &SummaryRow) -> bool {
        (&self.label, &self.scenario, &self.arrangement, &self.meter)
            == (&other.label, &other.scenario, &other.arrangement, &other.meter)
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
    /// It needs less CPU time: the whole interval lies beyond the band, or below 1 if both are the same driver.
    Cheaper,
    /// It needs more CPU time: the whole interval lies beyond the band, or above 1 if both are the same driver.
    Dearer,
    /// It serves more statements per second: the whole interval lies beyond the band.
    Faster,
    /// It serves fewer statements per second: the whole interval lies beyond the band.
    Slower,
    /// The whole interval lies within the band.
    Same,
    /// Neither.
    Inconclusive,
    /// Withheld: other processes used the cores in too many rounds.
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

/// The cells that count, by scenario and arrangement.
pub(crate) type Places<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Cell>>>;

/// The rows of the measures `ids`, with ratios to `reference`.
pub(crate) fn summed(
    run: &Run,
    ids: &[&str],
    cells: &Places,
    rounds: &CountedRounds,
    reference: Option<&Contender>,
) -> Summed {
    let mut tables = Vec::new();
    for place in Place::all(run) {
        let here = cells_in(cells, place);
        let missing = rounds.missing_in(&place.scenario.name, &place.arrangement.id);
        let withheld = rounds.withhold(place);
        let contenders: Vec<Mine> = run.contenders.iter().map(|one| Mine::of(one, here, rounds)).collect();
        for id in ids {
            let pass = run.measure(id).map_or_else(|| pass_of(here, id), |known| known.pass);
            let (rows, figures) = contenders.iter().map(|mine| mine.row(run, rounds, place, id, pass)).unzip();
            let mut table = Table { rows, figures, missing, withheld, ..Table::default() };
            // A meter with verdicts is a family of comparisons, and any other table is one by itself; its figures are needed no longer.
            if !JUDGED.contains(id) {
                compare(run, reference, &mut [&mut table]);
                table.figures.clear();
            }
            tables.push(table);
        }
    }
    for meter in JUDGED {
        let family = tables.iter_mut().filter(|table| table.meter() == meter);
        compare(run, reference, &mut family.collect::<Vec<_>>());
    }
    let doubts = reference.map_or_else(Vec::new, |reference| withhold(run, reference, &mut tables));
    let unfinished = unfinished(run);
    if unfinished.is_some() {
        tables.iter_mut().flat_map(|table| &mut table.rows).for_each(|row| row.verdict = None);
    }
    let doubts = unfinished.into_iter().chain(doubts).collect();
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

/// The cells of one place.
pub(crate) fn cells_in<'s, 'a>(cells: &'s Places<'a>, place: Place) -> &'s [&'a Cell] {
    let here = cells.get(place.scenario.name.as_str()).and_then(|cells| cells.get(place.arrangement.id.as_str()));
    here.map_or(&[], Vec::as_slice)
}

/// The contender's cells of one pass in one place: one per block, or one per turn.
pub(crate) fn cells_of<'a>(cells: &Places<'a>, contender: &Contender, place: Place, pass: Pass) -> Vec<&'a Cell> {
    let is_mine = |cell: &&&Cell| cell.pass == pass && cell.contender == contender.id;
    cells_in(cells, place).iter().filter(is_mine).copied().collect()
}

/// One contender's cells in one place.
struct Mine<'a> {
    contender: &'a Contender,
    all: Vec<&'a Cell>,
    /// Those of rounds that count.
    counting: Vec<&'a Cell>,
    bottleneck: Option<Bottleneck>,
}

impl<'a> Mine<'a> {
    /// Those among the cells `here`.
    fn of(contender: &'a Contender, here: &[&'a Cell], rounds: &CountedRounds) -> Mine<'a> {
        let all: Vec<&Cell> = here.iter().copied().filter(|cell| cell.contender == contender.id).collect();
        let counting: Vec<&Cell> = all.iter().copied().filter(|cell| !rounds.leave_out(cell)).collect();
        let timed: Vec<&Cell> = counting.iter().copied().filter(|cell| cell.pass == Pass::Timing).collect();
        Mine { contender, all, counting, bottleneck: Bottleneck::of(&timed) }
    }

    /// The row of the measure `id` before the comparison, and its figures.
    fn row(&self, run: &Run, rounds: &CountedRounds, place: Place, id: &str, pass: Pass) -> (SummaryRow, Figures) {
        let Place { scenario, arrangement } = place;
        let contender = self.contender;
        let mine = || self.all.iter().filter(|cell| cell.pass == pass);
        let counting = || self.counting.iter().filter(|cell| cell.pass == pass);
        let ended = counting().filter(|cell| cell.failed.is_none());
        let measures: Vec<(&Cell, &Measure)> = ended.filter_map(|cell| Some((*cell, cell.measures.get(id)?))).collect();
        let mut told: Vec<(&Cell, f64)> = measures.iter().filter_map(|(cell, one)| Some((*cell, one.get()?))).collect();
        if JUDGED.contains(&id) {
            add_bursts(id, &mut told);
        }
        let figures: Figures = told.iter().map(|(cell, value)| (repetition(cell), *value)).collect();
        let mut values: Vec<f64> = figures.values().copied().collect();
        let failed = mine().find_map(|cell| cell.failed.clone());
        let unavailable = values.is_empty().then(|| {
            let reason = measures.iter().find_map(|(_, measure)| measure.reason()).map(str::to_owned);
            reason
                .or_else(|| contender.unavailable.clone())
                .or_else(|| scenario.left_out.get(&contender.id).cloned())
                .or_else(|| failed.clone())
                .unwrap_or_else(|| match counting().next().is_none() && mine().next().is_some() {
                    true => format!("None of its rounds counts, because {}.", rounds.because()),
                    false => why_not_measured(run, pass, mine().next().is_none()),
                })
        });
        let row = SummaryRow {
            contender: contender.id.clone(),
            label: contender.label.clone(),
            scenario: scenario.name.clone(),
            arrangement: arrangement.id.clone(),
            meter: id.to_owned(),
            unit: measures.iter().find_map(|(_, measure)| measure.unit()),
            n: values.len(),
            median: median(&mut values),
            range: (pass != Pass::Timing && values.len() > 1).then(|| [values[0], values[values.len() - 1]]),
            exploratory: !JUDGED.contains(&id),
            no_interval: own_concurrency(run, contender),
            bottleneck: self.bottleneck,
            control: contender.control,
            void: mine().find_map(|cell| cell.void.clone()),
            failed,
            unavailable,
            ..SummaryRow::default()
        };
        (row, figures)
    }
}

/// Adds to a contender's turns what bursts of its own work cost at their edges, which the figure `id` of a turn leaves out. While one
/// thread is busy with a burst, the others end the turn, and a part of the burst falls into the edge: a driver would be forgiven that.
fn add_bursts(id: &str, turns: &mut [(&Cell, f64)]) {
    let is_turn = |cell: &Cell| cell.round.is_some();
    let at_edges = |cell: &Cell, value: f64| Some(whole_turn(id, cell)? - per_statement(id, value));
    let mut all: Vec<f64> =
        turns.iter().filter(|(cell, _)| is_turn(cell)).filter_map(|(cell, value)| at_edges(cell, *value)).collect();
    let Some(middle) = median(&mut all) else { return };
    let mut apart: Vec<f64> = all.iter().map(|one| (one - middle).abs()).collect();
    let scatter = DEVIATIONS_PER_MAD * median(&mut apart).unwrap_or_default();
    let limit = (UNUSUAL * middle).max(middle + UNLIKELY * scatter);
    if limit.abs() < NO_EDGES {
        return;
    }
    all.retain(|one| *one <= limit);
    let usual = all.iter().sum::<f64>() / all.len().max(1) as f64;
    for (cell, value) in turns.iter_mut().filter(|(cell, _)| is_turn(cell)) {
        if let Some(burst) = at_edges(cell, *value).filter(|one| *one > limit) {
            *value = per_statement(id, per_statement(id, *value) + burst - usual);
        }
    }
}

/// The edges of a turn cost more than the rest. A burst met an edge if that is more than so many times what it usually is, and so many
/// standard deviations beyond it.
const UNUSUAL: f64 = 3.0;
const UNLIKELY: f64 = 6.0;
/// A normal distribution's standard deviation over the median of the absolute deviations from its median.
const DEVIATIONS_PER_MAD: f64 = 1.4826;
/// What rounding may leave of turns that were measured with their edges.
const NO_EDGES: f64 = 1e-12;

/// The measure with a turn's CPU time, its edges included.
const CPU: &str = "cpu";

/// CPU time or time per statement of a turn, its edges included.
fn whole_turn(id: &str, cell: &Cell) -> Option<f64> {
    let amount = if id == THROUGHPUT { cell.get(WALL)? } else { cell.get(CPU)? * 1e6 };
    Some(amount / cell.get(VERIFIED)?).filter(|each| each.is_finite())
}

/// From a rate to the time per statement and back.
fn per_statement(id: &str, value: f64) -> f64 {
    if id == THROUGHPUT { value.recip() } else { value }
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
    } else if no_cells && run.passes_left_out.contains(&pass) {
        "The time limit of the run had no room for this.".to_owned()
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
pub(crate) fn ids<'a>(run: &'a Run, cells: &[&'a Cell]) -> Vec<&'a str> {
    let mut ids: Vec<&'a str> = measure::definitions().map(|definition| definition.id).collect();
    // Those of a pass that did not run would be rows of nothing.
    let told = run.measures.iter().filter(|known| known.pass == Pass::Timing || has_run(run, known.pass));
    let found = cells.iter().flat_map(|cell| cell.measures.keys());
    for id in told.map(|known| known.id.as_str()).chain(found) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    // The times of a run that was to count are those of a machine that nobody watched.
    ids.retain(|id| !run.plan.exact || run.measure(id).is_some_and(|known| known.is_exact()));
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
pub fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => None,
        _ if values.len() % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
