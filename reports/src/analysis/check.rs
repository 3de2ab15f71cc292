//! A run judged for CI: whether a contender costs more than the reference, or more than before.

mod baseline;
pub(crate) mod steady;
mod turns;

use crate::measure::CPU_PER_STATEMENT;
use crate::text::plain;
use crate::{Analysis, Contender, Recorded, Role, Run, SummaryRow, Verdict};

pub(crate) use self::baseline::{Conditions, conditions, differing, scenarios};
use self::turns::without_turns;

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

/// The result of one comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval lies beyond the threshold.
    Dearer,
    /// The count lies beyond the threshold.
    Greater,
    /// The whole interval lies below the threshold.
    Passed,
    /// The interval holds the threshold, or the count varies too much between runs.
    Inconclusive,
    /// The run could not have found the difference that it had to be able to find.
    TooWeak,
    /// There is nothing to judge, for example because a cell failed.
    NotJudged,
}

impl Finding {
    /// Whether it makes the check fail.
    pub fn fails(self) -> bool {
        matches!(self, Finding::Dearer | Finding::Greater | Finding::TooWeak | Finding::NotJudged)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Finding::Dearer => "dearer",
            Finding::Greater => "greater",
            Finding::Passed => "passed",
            Finding::Inconclusive => "inconclusive",
            Finding::TooWeak => "too weak",
            Finding::NotJudged => "not judged",
        }
    }
}

/// One comparison with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The contender's label.
    pub label: String,
    /// The scenario's name.
    pub scenario: String,
    /// The arrangement's id.
    pub arrangement: String,
    /// The measure.
    pub meter: String,
    /// The result.
    pub finding: Finding,
    /// A full sentence.
    pub sentence: String,
}

/// A judged run.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// What was judged and how.
    pub about: String,
    /// One per comparison.
    pub lines: Vec<Line>,
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
    /// There is nobody to judge.
    #[error("the run has no driver but its reference {reference}; run both contenders in one run")]
    Nobody {
        /// The reference's id.
        reference: String,
    },
    /// A contender that is not there.
    #[error("the contender {asked:?} was to be checked, and the run has {there}; name one of them")]
    Unknown {
        /// What was asked for.
        asked: String,
        /// Who there is.
        there: String,
    },
    /// Nothing has an interval, for example because the run has too few blocks.
    #[error("the run cannot be judged. {}", .0.trim_end_matches('.'))]
    NoInterval(String),
    /// Two contenders did not take turns.
    #[error(
        "{contender} and {reference} did not take turns in {scenario} on {arrangement}, so a drift of the machine would look like a \
         difference; run both contenders in one run"
    )]
    NotInterleaved {
        /// Who was to be judged.
        contender: String,
        /// The reference's id.
        reference: String,
        /// The scenario's name.
        scenario: String,
        /// The arrangement's id.
        arrangement: String,
    },
    /// The baseline was made under other conditions.
    #[error(
        "the run cannot be checked against that baseline: {differences}. Counts compare only if all but the driver is equal; make a \
         new baseline here"
    )]
    OtherEnvironment {
        /// All of them.
        differences: String,
    },
    /// A contender that the baseline does not have.
    #[error(
        "the contender {asked:?} was to be checked against that baseline, and it has {there}; name one of them, or make a new baseline \
         with all of them"
    )]
    NotInBaseline {
        /// Who was to be judged.
        asked: String,
        /// Who there is.
        there: String,
    },
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
        self.lines.iter().any(|line| line.finding.fails())
    }

    /// Judges contenders by CPU time per statement, against the reference of the same run.
    ///
    /// # Errors
    /// When there is nobody to judge or no reference, or they did not take turns.
    pub fn within(recorded: &Recorded, check: &Check) -> Result<Judgement, CheckError> {
        let Recorded { run, cells, .. } = recorded;
        let analysis = Analysis::against(run, cells, check.reference.as_deref());
        let base = analysis.reference().ok_or(CheckError::NoReference)?;
        let judged = judged(run, base, check)?;
        for one in &judged {
            if let Some((scenario, arrangement)) = without_turns(run, cells, &base.id, one) {
                return Err(CheckError::NotInterleaved {
                    contender: plain(one),
                    reference: plain(&base.id),
                    scenario: plain(scenario),
                    arrangement: plain(arrangement),
                });
            }
        }
        let is_judged = |row: &&SummaryRow| row.meter == CPU_PER_STATEMENT && judged.contains(&row.contender.as_str());
        let rows = || analysis.rows().iter().filter(is_judged);
        if let (true, Some(why)) =
            (rows().all(|row| row.interval.is_none()), rows().find_map(|row| row.no_interval.as_ref()))
        {
            return Err(CheckError::NoInterval(plain(why)));
        }
        let lines: Vec<Line> = rows().map(|row| by_interval(&analysis, row, check)).collect();
        let warnings = analysis.warnings().to_vec();
        let about = format!(
            "CPU time per statement over that of {}, from 95 % intervals that hold for the whole run at once; the threshold is {}.",
            plain(&base.label),
            percent(check.threshold),
        );
        Ok(Judgement { about, lines, warnings, findings: analysis.findings().to_vec() })
    }
}

fn judged<'a>(run: &'a Run, base: &Contender, check: &Check) -> Result<Vec<&'a str>, CheckError> {
    let candidates: Vec<&Contender> =
        run.contenders.iter().filter(|one| one.role == Role::Driver && !one.control && one.id != base.id).collect();
    if check.contenders.is_empty() {
        // A driver that could not be asked is missing only if it was named.
        let there: Vec<&str> =
            candidates.into_iter().filter(|one| one.unavailable.is_none()).map(|one| one.id.as_str()).collect();
        return if there.is_empty() { Err(CheckError::Nobody { reference: base.id.clone() }) } else { Ok(there) };
    }
    let find = |asked: &String| {
        let found = candidates.iter().find(|one| one.id == *asked || one.label == *asked);
        found.map(|one| one.id.as_str()).ok_or_else(|| CheckError::Unknown {
            asked: asked.clone(),
            there: candidates.iter().map(|one| plain(&one.id)).collect::<Vec<_>>().join(", "),
        })
    };
    check.contenders.iter().map(find).collect()
}

fn by_interval(analysis: &Analysis, row: &SummaryRow, check: &Check) -> Line {
    let over = percent(check.threshold);
    let (finding, sentence) = match (row.ratio, row.interval, row.detectable) {
        (Some(ratio), Some([low, high]), Some(detectable)) => {
            let figure = format!("{ratio:.3} times as much ({low:.3} to {high:.3})");
            let found = format!("the smallest difference that this run could have found is {}", percent(detectable));
            let withheld = match row.verdict {
                None => Some(" (see the warning)"),
                Some(Verdict::TooNoisy) => Some(", because others used the cores in too many rounds"),
                Some(_) => None,
            };
            if let Some(why) = withheld {
                let finding = if check.require_power.is_some() { Finding::TooWeak } else { Finding::Inconclusive };
                (finding, format!("It costs {figure}, and the run gives no verdict on it{why}; {found}."))
            } else if low > 1.0 + check.threshold {
                (Finding::Dearer, format!("It costs {figure}: all of the interval lies more than {over} above."))
            } else if check.require_power.is_some_and(|asked| detectable > asked) {
                let required = check.require_power.unwrap_or_default();
                let further = analysis.to_show(row, required).map_or(String::new(), |said| format!("; {said}"));
                let asked = percent(required);
                (Finding::TooWeak, format!("It costs {figure}; {found}, and {asked} was required{further}."))
            } else if high <= 1.0 + check.threshold {
                (Finding::Passed, format!("It costs {figure}: no more than {over} above; {found}."))
            } else {
                (Finding::Inconclusive, format!("It costs {figure}, which may be {over} above or not; {found}."))
            }
        }
        _ => {
            let why = [&row.void, &row.failed, &row.unavailable, &row.no_interval];
            let why = why.into_iter().flatten().next();
            (Finding::NotJudged, why.map_or("There is no interval.".to_owned(), |why| plain(why)))
        }
    };
    line(row, finding, sentence)
}

fn line(row: &SummaryRow, finding: Finding, sentence: String) -> Line {
    Line {
        label: row.label.clone(),
        scenario: row.scenario.clone(),
        arrangement: row.arrangement.clone(),
        meter: row.meter.clone(),
        finding,
        sentence,
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests;
