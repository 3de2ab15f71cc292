//! What a run found with every method.

use anyhow::Result;
use cqldyno_reports::{Cell, ErrorLine, Pass, Run, measure, median};

use super::{METHODS, Method, RIGHT, sound};

pub struct MeasuredMethod {
    pub method: &'static Method,
    /// Medians of the generations, or why there are none.
    pub figures: Result<Figures, String>,
}

/// Medians of a method's generations.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Verified statements per second.
    pub throughput: f64,
    /// CPU time per verified statement in microseconds; `None` if no statement was verified.
    pub cpu_us: Option<f64>,
    /// Peak memory in bytes; `None` if it is not known.
    pub peak_bytes: Option<f64>,
    /// Statements of a cell.
    pub statements: f64,
    /// Errors by kind, of the block with the most.
    pub errors: Vec<ErrorLine>,
    /// Why the cells count for nothing in a comparison, apart from errors.
    pub void: Option<String>,
}

/// Every method in its order, from the run's cells in one arrangement.
pub fn measured(run: &Run, cells: &[Cell], arrangement: &str) -> Result<Vec<MeasuredMethod>> {
    let sound = sound()?;
    let measured = METHODS.iter().map(|method| {
        let label = method.scenario(&sound).label();
        let is_mine =
            |cell: &&Cell| cell.pass == Pass::Timing && cell.scenario == label && cell.arrangement == arrangement;
        let cells: Vec<&Cell> = cells.iter().filter(is_mine).collect();
        MeasuredMethod { method, figures: figures(&cells).ok_or_else(|| missing(run, &label, &cells)) }
    });
    Ok(measured.collect())
}

/// Why a method has no figures, as a full sentence.
fn missing(run: &Run, label: &str, cells: &[&Cell]) -> String {
    let contender = run.contenders.first();
    let unavailable = contender.and_then(|one| one.unavailable.clone());
    let left_out = || {
        let scenario = run.scenarios.iter().find(|scenario| scenario.name == label)?;
        scenario.left_out.get(&contender?.id).cloned()
    };
    let failed = || cells.iter().find_map(|cell| cell.failed.clone());
    unavailable.or_else(left_out).or_else(failed).unwrap_or_else(|| "The run ended before this method.".to_owned())
}

fn figures(cells: &[&Cell]) -> Option<Figures> {
    let of = |id: &str| median(&mut cells.iter().filter_map(|cell| cell.get(id)).collect::<Vec<_>>());
    let most = cells.iter().max_by_key(|cell| cell.errors())?;
    let is_void = |cell: &&&Cell| cell.errors() == 0;
    Some(Figures {
        throughput: of(measure::THROUGHPUT).or_else(|| of(measure::VERIFIED).filter(|verified| *verified == 0.0))?,
        cpu_us: of(measure::CPU_PER_STATEMENT),
        peak_bytes: of(measure::PEAK_RSS),
        statements: of(measure::STATEMENTS)?,
        errors: most.error_kinds.clone(),
        void: cells.iter().filter(is_void).find_map(|cell| cell.void.clone()),
    })
}

impl MeasuredMethod {
    pub fn sound(all: &[MeasuredMethod]) -> Option<&Figures> {
        all.iter().find(|one| one.method.name == RIGHT.name)?.figures.as_ref().ok()
    }

    pub fn is_sound(&self) -> bool {
        self.method.name == RIGHT.name
    }

    /// Statements per second and CPU time per statement over those of the sound method, where both have them.
    pub fn ratios(&self, sound: Option<&Figures>) -> (Option<f64>, Option<f64>) {
        let (Ok(own), Some(sound)) = (&self.figures, sound) else { return (None, None) };
        let over = |own: f64, sound: f64| (sound > 0.0).then_some(own / sound);
        (over(own.throughput, sound.throughput), own.cpu_us.zip(sound.cpu_us).and_then(|(own, sound)| over(own, sound)))
    }
}

/// The method whose statements per second are furthest from the sound ones, with how many times more or fewer they are.
pub fn furthest(all: &[MeasuredMethod]) -> Option<(&MeasuredMethod, f64)> {
    let sound = MeasuredMethod::sound(all);
    let off = |one: &MeasuredMethod| {
        let ratio = one.ratios(sound).0.filter(|ratio| *ratio > 0.0 && !one.is_sound())?;
        Some(ratio.max(ratio.recip()))
    };
    all.iter().filter_map(|one| Some((one, off(one)?))).max_by(|a, b| a.1.total_cmp(&b.1))
}
