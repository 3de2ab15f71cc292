//! One question on two servers: whether ratios to the reference carry over from one to the other.

use cqldyno_statistics::{self as statistics, Comparison, LogRatio, ratios_of_ratios};

use crate::band::BAND;
use crate::comparison::is_control;
use crate::measure::CPU_PER_STATEMENT;
use crate::{Analysis, SummaryRow, Verdict};

/// A driver in one scenario and arrangement on two servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// [`crate::Contender::label`].
    pub label: String,
    /// [`crate::ScenarioInfo::name`].
    pub scenario: String,
    /// [`crate::ArrangementInfo::id`].
    pub arrangement: String,
    /// The ratio of CPU time on the second server over that on the first.
    pub ratio: f64,
    /// Where it lies with 95 % confidence, over all that both runs have in common at once.
    pub interval: [f64; 2],
    /// *carries over* if the interval lies within 2 %, else *differs* if it excludes 1, else *inconclusive*; *no verdict* if one of the two
    /// ratios has none.
    pub verdict: &'static str,
}

impl Carried {
    /// Whether both servers are known to differ.
    pub fn differs(&self) -> bool {
        self.verdict == DIFFERS
    }
}

const DIFFERS: &str = "differs";

impl Analysis<'_> {
    /// Every driver that both have an interval of, in the order of this run; nothing if the references differ. Drivers are told by label.
    pub fn carried(&self, other: &Analysis) -> Vec<Carried> {
        let labels = [self, other].map(|one| one.reference.map(|base| &base.label));
        if labels[0] != labels[1] {
            return Vec::new();
        }
        let is_compared = |row: &SummaryRow| {
            row.meter == CPU_PER_STATEMENT
                && !self.reference.is_some_and(|base| is_control(&row.contender, row.control, base))
        };
        let both = self.log_ratios().filter(|(row, _)| is_compared(row)).filter_map(|(row, log)| {
            let (there, on_other) = other.log_ratios().find(|(one, _)| one.is_as(row))?;
            Some((row, there, [*log, *on_other]))
        });
        let both: Vec<(&SummaryRow, &SummaryRow, [LogRatio; 2])> = both.collect();
        let logs: Vec<[LogRatio; 2]> = both.iter().map(|(.., logs)| *logs).collect();
        let estimates = ratios_of_ratios(&logs, &Comparison { band: BAND, ..Comparison::default() });
        let carried = |((row, there, _), estimate): (&(&SummaryRow, &SummaryRow, _), statistics::Estimate)| Carried {
            label: row.label.clone(),
            scenario: row.scenario.clone(),
            arrangement: row.arrangement.clone(),
            ratio: estimate.ratio,
            interval: estimate.interval,
            verdict: match estimate.verdict {
                _ if ![row, there].iter().all(|one| one.verdict.is_some_and(Verdict::holds)) => "no verdict",
                statistics::Verdict::Same => "carries over",
                statistics::Verdict::Inconclusive => "inconclusive",
                statistics::Verdict::Better | statistics::Verdict::Worse => DIFFERS,
            },
        };
        both.iter().zip(estimates).map(carried).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Measure, Unit, sample};

    /// cdrs-tokio on the sample and on a server where it costs `times` as much; `spoil` may change the second run.
    fn carried(times: f64, spoil: fn(&mut crate::Cell)) -> Vec<Carried> {
        let (run, cells) = sample::blocks(12);
        let mut there = cells.clone();
        for cell in &mut there {
            if let Some(cost) = cell.get(CPU_PER_STATEMENT).filter(|_| cell.contender == "cdrs-tokio") {
                cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(cost * times, Unit::Microseconds));
            }
            spoil(cell);
        }
        Analysis::new(&run, &cells).carried(&Analysis::new(&run, &there))
    }

    #[test]
    fn a_ratio_differs_between_servers_only_if_the_interval_of_their_quotient_excludes_1() {
        let verdicts =
            |times| carried(times, |_| {}).iter().map(|one| (one.verdict, one.differs())).collect::<Vec<_>>();
        assert_eq!(verdicts(0.5), [("differs", true); 2], "writes and reads of cdrs-tokio, and no control");
        assert_eq!(verdicts(1.0), [("carries over", false); 2]);
        let all = carried(0.5, |_| {});
        assert_eq!((all[0].label.as_str(), all[0].ratio), ("cdrs-tokio@9.0.2", 0.5));
        assert!(all[0].interval[0] < 0.5 && all[0].interval[1] > 0.5, "{all:?}");
    }

    #[test]
    fn where_one_of_the_runs_has_no_verdict_the_quotient_has_none_either() {
        let all = carried(0.5, |cell| {
            if cell.contender == "scylla#control" && cell.scenario == "reads" {
                cell.void = Some("A statement failed.".to_owned());
            }
        });
        assert_eq!(all.iter().map(|one| one.verdict).collect::<Vec<_>>(), ["differs", "no verdict"]);
    }

    #[test]
    fn what_runs_together_come_to_is_held_against_another_server_as_well() {
        let runs = [sample::repeated(12, 0), sample::repeated(12, 1)];
        let named: Vec<(String, Analysis)> =
            runs.iter().enumerate().map(|(at, (run, cells))| (at.to_string(), Analysis::new(run, cells))).collect();
        let combined = crate::Combined::of(&named).unwrap();
        let all = combined.analysis.carried(&named[0].1);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all.iter().all(|one| !one.differs()), "{all:?}");
    }
}
