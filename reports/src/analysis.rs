//! The analysis: what is concluded from a run's cells.

pub(crate) mod band;
pub(crate) mod bottleneck;
pub(crate) mod check;
pub(crate) mod combined;
pub(crate) mod comparison;
mod conclude;
pub(crate) mod conditions;
pub(crate) mod cross_check;
pub(crate) mod cut_short;
pub(crate) mod explain;
pub(crate) mod findings;
pub(crate) mod further;
pub(crate) mod history;
pub(crate) mod judge;
pub(crate) mod ladder;
pub(crate) mod ranking;
pub(crate) mod rounds;
pub(crate) mod row;
pub(crate) mod servers;
pub(crate) mod short_label;
pub(crate) mod summary;
pub(crate) mod sweep;

use cqldyno_statistics::{LogRatio, half_width};

use crate::attempts::Attempts;
use crate::comparison::is_control;
use crate::row::{Places, cells_in, reference};
use crate::{Cell, Contender, CountedRounds, Pass, Place, Run, SummaryRow};

/// What a run comes to against one reference; every comparison is fitted once.
#[derive(Clone)]
pub struct Analysis<'a> {
    /// The run as it was measured, whatever the reference is.
    pub run: &'a Run,
    /// The cells of all attempts.
    pub every_cell: &'a [Cell],
    attempts: Attempts<'a>,
    /// Which rounds count.
    pub rounds: CountedRounds<'a>,
    /// The cells of the attempts that count.
    pub cells: Vec<&'a Cell>,
    /// The same by scenario and arrangement.
    by_place: Places<'a>,
    /// The contender that ratios are taken against.
    pub reference: Option<&'a Contender>,
    /// One row per scenario, arrangement, meter and contender, in the order of the run.
    pub rows: Vec<SummaryRow>,
    /// The logarithms of the rows' ratios, one per row.
    logs: Vec<Option<LogRatio>>,
    /// The warnings that the control gives, which take verdicts away.
    pub doubts: Vec<String>,
    /// What makes the run or parts of it doubtful, each a full sentence: it belongs with every table.
    pub warnings: Vec<String>,
    /// What was found, a sentence or two per entry: at least one entry.
    pub findings: Vec<String>,
    /// How many generations ran again, as a sentence.
    pub(crate) repeats: Option<String>,
    /// Why a run that ends at a width ended, as a sentence; `None` of any other run, and of one that the user ended.
    pub until: Option<String>,
}

impl<'a> Analysis<'a> {
    /// The cells of one place in the attempts that count.
    pub fn cells_in(&self, place: Place) -> &[&'a Cell] {
        cells_in(&self.by_place, place)
    }

    /// Whether the cell is of the attempt that counts.
    pub fn counts(&self, cell: &Cell) -> bool {
        self.attempts.counts(cell)
    }

    /// Whether the reference is another one than the run's own.
    pub fn is_turned(&self) -> bool {
        reference(self.run).map(|own| &own.id) != self.reference.map(|base| &base.id)
    }

    /// Whether the contender is the reference once more.
    pub fn is_control(&self, contender: &Contender) -> bool {
        self.reference.is_some_and(|reference| is_control(&contender.id, contender.control, reference))
    }

    /// Every row whose ratio has an interval, with the logarithm of the ratio.
    pub fn log_ratios(&self) -> impl Iterator<Item = (&SummaryRow, &LogRatio)> {
        self.rows.iter().zip(&self.logs).filter_map(|(row, log)| Some((row, log.as_ref()?)))
    }

    /// The row with the widest interval of CPU time per statement, and half its width as a share.
    ///
    /// `None` without intervals, while further generations would give a missing one, and where too few rounds count.
    pub fn widest(&self) -> Option<(&SummaryRow, f64)> {
        let primary = || self.rows.iter().filter(|row| !row.exploratory);
        let is_missing = |row: &SummaryRow| row.no_interval.is_some() && row.ratio.is_some();
        if primary().any(is_missing) || self.places().any(|place| self.rounds.withhold(place)) {
            return None;
        }
        let half = |row: &'_ SummaryRow| row.interval.map(half_width);
        primary().filter_map(|row| Some((row, half(row)?))).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Whether every interval of CPU time per statement is known, to this share or better.
    pub fn is_within(&self, until: f64) -> bool {
        self.widest().is_some_and(|(_, half)| half <= until)
    }

    /// Whether fewer than half of the rounds count. Then the run has figures and no verdict, and its first line is to say so.
    pub fn has_too_few_rounds(&self) -> bool {
        self.rounds.are_too_few()
    }

    /// Every scenario in every arrangement, in the order of the run.
    pub fn places(&self) -> impl Iterator<Item = Place<'a>> {
        Place::all(self.run)
    }

    /// The contender's row for one meter.
    pub fn row(&self, place: Place, contender: &Contender, meter: &str) -> Option<&SummaryRow> {
        self.rows.iter().find(|row| row.meter == meter && row.is_of(place, contender))
    }

    /// The contender's rows, one per meter.
    pub fn rows_of<'s>(&'s self, place: Place<'s>, contender: &'s Contender) -> impl Iterator<Item = &'s SummaryRow> {
        self.rows.iter().filter(move |row| row.is_of(place, contender))
    }

    /// The row's interval as levels: the ends of that of the ratio, times the reference's level.
    pub(crate) fn ends(row: &SummaryRow) -> Option<[f64; 2]> {
        let base = row.level? / row.ratio?;
        Some(row.interval?.map(|end| end * base))
    }

    /// The contender's cells of one pass: one per turn, or one per repetition.
    pub fn cells_of(&self, place: Place, contender: &Contender, pass: Pass) -> Vec<&'a Cell> {
        let is_mine = |cell: &&&Cell| cell.pass == pass && cell.contender == contender.id;
        self.cells_in(place).iter().filter(is_mine).copied().collect()
    }
}
