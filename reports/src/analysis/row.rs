//! The rows of a summary: a figure per contender, scenario, arrangement and meter, with what it says.

use std::collections::BTreeMap;

use cqldyno_statistics::{self as statistics, Repetition};
use serde::{Deserialize, Serialize};

use crate::bottleneck::Bottleneck;
use crate::measure::{CPU_PER_STATEMENT, THROUGHPUT};
use crate::{ArrangementInfo, Cell, Contender, Role, Run, ScenarioInfo, Unit};

/// One contender's figures for one meter, by generation and round, or by repetition.
pub(crate) type Figures = BTreeMap<Repetition, f64>;

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

    pub(crate) fn is_beside(&self, other: &SummaryRow) -> bool {
        self.scenario == other.scenario && self.arrangement == other.arrangement
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
    /// It needs less CPU time: the whole interval lies beyond the band, or beyond 1 % if both are the same driver.
    Cheaper,
    /// It needs more CPU time: the whole interval lies beyond the band, or beyond 1 % if both are the same driver.
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

/// The cells that count, by scenario and arrangement.
pub(crate) type Places<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Cell>>>;

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

/// The contenders that ratios can be taken against: the run's own reference, then its other drivers; never a control.
pub fn references(run: &Run) -> Vec<&Contender> {
    let own = reference(run);
    let others = run.drivers().filter(|one| one.unavailable.is_none() && own.is_some_and(|own| own.id != one.id));
    own.into_iter().chain(others).collect()
}

pub(crate) fn cells_in<'s, 'a>(cells: &'s Places<'a>, place: Place) -> &'s [&'a Cell] {
    let here = cells.get(place.scenario.name.as_str()).and_then(|cells| cells.get(place.arrangement.id.as_str()));
    here.map_or(&[], Vec::as_slice)
}

/// Whether the row's figures may stand beside the reference's.
pub(crate) fn comparable(row: &SummaryRow) -> bool {
    row.void.is_none() && row.failed.is_none() && row.unavailable.is_none()
}
