//! One figure per contender, scenario, arrangement and meter: what tables and pages are made of.

#[cfg(test)]
mod tests;

use cqldyno_statistics::{LogRatio, Repetition};

use crate::bottleneck::Bottleneck;
use crate::comparison::{JUDGED, MeterTable, compare, withhold};
use crate::cut_short::unfinished;
use crate::measure::{self, THROUGHPUT, VERIFIED, WALL};
use crate::rounds::CountedRounds;
use crate::row::{Figures, Place, Places, cells_in};
use crate::{Cell, Contender, Measure, Pass, Run, SummaryRow, median, whole};

fn repetition(cell: &Cell) -> Repetition {
    std::iter::once(cell.block).chain(cell.round).collect()
}

/// All rows of a run, and what the control says of them.
pub(crate) struct Summed {
    pub rows: Vec<SummaryRow>,
    /// The logarithms of the rows' ratios, one per row.
    pub logs: Vec<Option<LogRatio>>,
    pub doubts: Vec<String>,
}

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
            let mut table = MeterTable { rows, figures, missing, withheld, ..MeterTable::default() };
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

struct Mine<'a> {
    contender: &'a Contender,
    all: Vec<&'a Cell>,
    /// Those of rounds that count.
    counting: Vec<&'a Cell>,
    bottleneck: Option<Bottleneck>,
}

impl<'a> Mine<'a> {
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

/// The ids of all measures: those that are defined, then others as the cells have them.
pub(crate) fn ids<'a>(run: &'a Run, cells: &[&'a Cell]) -> Vec<&'a str> {
    let mut ids: Vec<&'a str> = measure::definitions().map(|definition| definition.id).collect();
    // Those of a pass that did not run would be rows of nothing.
    let has_run = |pass: &Pass| *pass == Pass::Timing || run.plan.passes.contains(pass);
    let told = run.measures.iter().filter(|known| has_run(&known.pass));
    let found = cells.iter().flat_map(|cell| cell.measures.keys());
    for id in told.map(|known| known.id.as_str()).chain(found) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    // The times of a run that was to count are those of a machine that nobody watched.
    let of_steps =
        |id: &str| run.plan.ladder.is_some() && run.measure(id).is_some_and(|known| known.pass == Pass::Latency);
    // Figures of steps at different rates have no median.
    ids.retain(|id| !of_steps(id));
    ids.retain(|id| !run.plan.exact || run.measure(id).is_some_and(|known| known.is_exact()));
    ids
}

fn pass_of(cells: &[&Cell], id: &str) -> Pass {
    let has = |pass: &Pass| cells.iter().any(|cell| cell.pass == *pass && cell.measures.contains_key(id));
    Pass::ALL.into_iter().find(has).unwrap_or(Pass::Timing)
}
