//! A run judged for CI: whether a contender costs more than the reference, or more than before.

mod baseline;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::attempts::Attempts;
use crate::judge::judged;
use crate::text::plain;
use crate::{Analysis, Cell, Contender, Pass, Place, Recorded, Run, SummaryRow, Verdict};

/// The question to a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The share by which a contender may cost more, for example 0.05.
    pub threshold: f64,
    /// The smallest difference that the run must have been able to find, as a share; `None` for any.
    pub require_power: Option<f64>,
    /// The id of the contender that the others are judged against; `None` for the run's own reference.
    pub reference: Option<String>,
    /// The ids of the contenders that are judged; empty for all drivers but the reference.
    pub contenders: Vec<String>,
}

/// The run could not have found the difference that it had to be able to find.
const TOO_WEAK: &str = "too weak";
/// There is nothing to judge, for example because a cell failed.
const NOT_JUDGED: &str = "not judged";

/// One comparison with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The figure that was judged.
    pub row: SummaryRow,
    /// Dearer beyond the threshold, the same up to it, or inconclusive; or in two words why there is no verdict.
    pub verdict: Result<Verdict, &'static str>,
    /// A full sentence.
    pub sentence: String,
}

impl Checked {
    /// Whether it makes the check fail.
    pub fn fails(&self) -> bool {
        !matches!(self.verdict, Ok(Verdict::Same | Verdict::Inconclusive))
    }

    /// The result as tables show it.
    pub fn finding(&self) -> &'static str {
        match self.verdict {
            Ok(Verdict::Same) => "passed",
            Ok(Verdict::Dearer) if !self.row.is_primary() => "greater",
            Ok(verdict) => verdict.name(),
            Err(why) => why,
        }
    }
}

/// A judged run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What was judged and how.
    pub about: String,
    /// One per comparison.
    pub lines: Vec<Checked>,
    /// What makes the run doubtful, each a full sentence.
    pub warnings: Vec<String>,
    /// What the run found, as every table states it; empty for a check against a baseline.
    pub findings: Vec<String>,
}

/// A check that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// There is nobody to compare with.
    #[error(
        "the run has no reference that could be asked, so there is nothing to check it against; run both contenders in one run"
    )]
    NoReference,
    /// There is nobody to judge but the reference of this id.
    #[error("the run has no driver but its reference {0}; run both contenders in one run")]
    Nobody(String),
    /// A contender that is not there: who was asked for, and who there is.
    #[error("the contender {0:?} was to be checked, and the run has {1}; name one of them")]
    Unknown(String, String),
    /// Nothing has an interval, for example because the run has too few blocks.
    #[error("the run cannot be judged. {}", .0.trim_end_matches('.'))]
    NoInterval(String),
    /// Two contenders did not take turns: both, the scenario and the arrangement.
    #[error(
        "{} and {} did not take turns in {} on {}, so a drift of the machine would look like a difference; run both contenders in one run",
        .0[0], .0[1], .0[2], .0[3]
    )]
    NotInterleaved([String; 4]),
    /// The baseline was made under other conditions: all that differs.
    #[error(
        "the run cannot be checked against that baseline: {0}. Counts compare only if all but the driver is equal; make a new \
         baseline here"
    )]
    OtherEnvironment(String),
    /// A contender that the baseline does not have: who was asked for, and who there is.
    #[error(
        "the contender {0:?} was to be checked against that baseline, and it has {1}; name one of them, or make a new baseline \
         with all of them"
    )]
    NotInBaseline(String, String),
    /// The baseline has nothing in common with the run.
    #[error(
        "the run and the baseline have no count in common (system calls, allocations, instructions) for the same contender, scenario \
         and arrangement; run both with the same passes and contenders"
    )]
    NothingInCommon,
}

impl Judgement {
    /// Whether the check fails.
    pub fn fails(&self) -> bool {
        self.lines.iter().any(Checked::fails)
    }

    /// Judges contenders by CPU time per statement, against the reference of the same run.
    ///
    /// # Errors
    /// When there is nobody to judge or no reference, or they did not take turns.
    pub fn within(recorded: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        let Recorded { run, cells, .. } = recorded;
        let analysis = Analysis::against(run, cells, check.reference.as_deref());
        let base = analysis.reference.ok_or(CheckError::NoReference)?;
        let candidates: Vec<&Contender> = run.drivers().filter(|one| one.id != base.id).collect();
        // A driver that could not be asked is missing only if it was named.
        let judged = check
            .named(&candidates)?
            .unwrap_or_else(|| candidates.into_iter().filter(|one| one.unavailable.is_none()).collect::<Vec<_>>());
        if judged.is_empty() {
            return Err(CheckError::Nobody(base.id.clone()));
        }
        for one in &judged {
            if let Some(Place { scenario, arrangement }) = without_turns(run, cells, [&base.id, &one.id]) {
                let names = [&one.id, &base.id, &scenario.name, &arrangement.id];
                return Err(CheckError::NotInterleaved(names.map(|name| plain(name))));
            }
        }
        let is_judged = |row: &&SummaryRow| row.is_primary() && judged.iter().any(|one| one.id == row.contender);
        let rows = || analysis.rows.iter().filter(is_judged);
        if let (true, Some(why)) =
            (rows().all(|row| row.interval.is_none()), rows().find_map(|row| row.no_interval.as_ref()))
        {
            return Err(CheckError::NoInterval(plain(why)));
        }
        let lines: Vec<Checked> = rows().map(|row| by_interval(&analysis, row, check)).collect();
        let warnings = analysis.warnings;
        let about = format!(
            "CPU time per statement over that of {}, from 95 % intervals that hold for the whole run at once; the threshold is {}.",
            plain(&base.label),
            percent(check.threshold),
        );
        Ok(Judgement { about, lines, warnings, findings: analysis.findings })
    }
}

impl Check {
    /// Those of the `candidates` that were asked for by id or label; `None` if nobody was.
    fn named<'a>(&self, candidates: &[&'a Contender]) -> Result<Option<Vec<&'a Contender>>, CheckError> {
        let find = |asked: &String| {
            let found = candidates.iter().find(|one| one.id == *asked || one.label == *asked).copied();
            found.ok_or_else(|| CheckError::Unknown(asked.clone(), ids(candidates)))
        };
        let named = self.contenders.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(named).filter(|named| !named.is_empty()))
    }

    /// What follows from a cost that lies in the interval, if `before` and the threshold above it are allowed.
    fn judged(&self, interval: [f64; 2], before: f64) -> Verdict {
        judged(interval, [f64::NEG_INFINITY, before * (1.0 + self.threshold)])
    }
}

fn ids(contenders: &[&Contender]) -> String {
    contenders.iter().map(|one| plain(&one.id)).collect::<Vec<_>>().join(", ")
}

fn by_interval(analysis: &Analysis, row: &SummaryRow, check: &Check) -> Checked {
    let (Some(ratio), Some([low, high]), Some(detectable)) = (row.ratio, row.interval, row.detectable) else {
        let why = row.figure().err().or(row.no_interval.clone());
        return checked(row, Err(NOT_JUDGED), why.map_or("There is no interval.".to_owned(), |why| plain(&why)));
    };
    let over = percent(check.threshold);
    let found = format!("the smallest difference that this run could have found is {}", percent(detectable));
    let too_weak = check.require_power.filter(|asked| detectable > *asked);
    let (verdict, said) = match (row.verdict, check.judged([low, high], 1.0), too_weak) {
        (None | Some(Verdict::TooNoisy), ..) => {
            let noisy = ", because others used the cores in too many rounds";
            let why = row.verdict.map_or(" (see the warning)", |_| noisy);
            let verdict = if check.require_power.is_some() { Err(TOO_WEAK) } else { Ok(Verdict::Inconclusive) };
            (verdict, format!(", and the run gives no verdict on it{why}; {found}."))
        }
        (_, Verdict::Dearer, _) => (Ok(Verdict::Dearer), format!(": all of the interval lies more than {over} above.")),
        (.., Some(asked)) => {
            let further = analysis.to_show(row, asked).map_or(String::new(), |said| format!("; {said}"));
            (Err(TOO_WEAK), format!("; {found}, and {} was required{further}.", percent(asked)))
        }
        (_, Verdict::Inconclusive, _) => {
            (Ok(Verdict::Inconclusive), format!(", which may be {over} above or not; {found}."))
        }
        (_, verdict, _) => (Ok(verdict), format!(": no more than {over} above; {found}.")),
    };
    checked(row, verdict, format!("It costs {ratio:.3} times as much ({low:.3} to {high:.3}){said}"))
}

fn checked(row: &SummaryRow, verdict: Result<Verdict, &'static str>, sentence: String) -> Checked {
    Checked { row: row.clone(), verdict, sentence }
}

/// The first place in which a block of the two contenders began before another one ended: without turns a drift of the machine looks like
/// a difference.
fn without_turns<'a>(run: &'a Run, cells: &[Cell], who: [&str; 2]) -> Option<Place<'a>> {
    let attempts = Attempts::of(cells);
    let is_apart = |place: &Place| {
        let is = |cell: &&Cell| {
            cell.pass == Pass::Timing
                && attempts.counts(cell)
                && who.contains(&cell.contender.as_str())
                && (&cell.scenario, &cell.arrangement) == (&place.scenario.name, &place.arrangement.id)
        };
        let mut blocks: BTreeMap<u32, (Timestamp, Timestamp)> = BTreeMap::new();
        for cell in cells.iter().filter(is) {
            let (first, last) = blocks.entry(cell.block).or_insert((cell.started, cell.started));
            (*first, *last) = (cell.started.min(*first), cell.started.max(*last));
        }
        let mut spans: Vec<(Timestamp, Timestamp)> = blocks.into_values().collect();
        spans.sort_unstable();
        spans.windows(2).any(|two| two[1].0 < two[0].1)
    };
    Place::all(run).find(is_apart)
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests;
