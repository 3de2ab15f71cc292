//! From the cells of a run to what they come to against one reference.

use std::time::Duration;

use crate::attempts::{Attempts, repeats};
use crate::comparison::JUDGED;
use crate::explain::explanations;
use crate::further::{MORE, further, time_of};
use crate::measure::{PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT};
use crate::quantity::{lasting, percent};
use crate::rounds::CountedRounds;
use crate::row::{Places, reference};
use crate::summary::{Summed, ids, summed};
use crate::{Analysis, ArrangementInfo, Cell, Contender, Run, SummaryRow, Sweep, count, cross_check, findings, plain};

impl<'a> Analysis<'a> {
    /// Against the run's own reference.
    pub fn new(run: &'a Run, cells: &'a [Cell]) -> Analysis<'a> {
        Analysis::of(run, cells, ids)
    }

    /// Of CPU time per statement and statements per second alone: what a run asks while it is under way.
    pub fn judged(run: &'a Run, cells: &'a [Cell]) -> Analysis<'a> {
        Analysis::of(run, cells, |_, _| JUDGED.to_vec())
    }

    /// Of what the short tables show: for somebody who watches the run.
    pub fn watched(run: &'a Run, cells: &'a [Cell]) -> Analysis<'a> {
        Analysis::of(run, cells, |_, _| {
            let others = [SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, PEAK_RSS];
            JUDGED.into_iter().chain(others).collect()
        })
    }

    /// Of the measures that `ids` gives.
    fn of(run: &'a Run, cells: &'a [Cell], ids: fn(&'a Run, &[&'a Cell]) -> Vec<&'a str>) -> Analysis<'a> {
        let attempts = Attempts::of(cells);
        let counted: Vec<&Cell> = cells.iter().filter(|cell| attempts.counts(cell)).collect();
        let mut by_place = Places::new();
        for cell in &counted {
            by_place.entry(&cell.scenario).or_default().entry(&cell.arrangement).or_default().push(cell);
        }
        let reference = reference(run);
        let rounds = CountedRounds::of(run, cells);
        let Summed { rows, logs, doubts } = summed(run, &ids(run, &counted), &by_place, &rounds, reference);
        let bare = Analysis {
            run,
            every_cell: cells,
            attempts,
            rounds,
            cells: counted,
            by_place,
            reference,
            repeats: repeats(cells),
            until: None,
            rows: Vec::new(),
            logs,
            doubts: Vec::new(),
            warnings: Vec::new(),
            findings: Vec::new(),
        };
        let own = bare.concluded(reference, rows, doubts);
        Analysis { until: until(&own), ..own }
    }

    /// Against the contender of that id; against the run's own reference if there is no such id.
    pub fn against(run: &'a Run, cells: &'a [Cell], reference: Option<&str>) -> Analysis<'a> {
        let own = Analysis::new(run, cells);
        match reference.filter(|id| own.reference.is_none_or(|base| base.id != *id)) {
            Some(other) => own.turned(other),
            None => own,
        }
    }

    pub(super) fn concluded(
        self,
        reference: Option<&'a Contender>,
        mut rows: Vec<SummaryRow>,
        doubts: Vec<String>,
    ) -> Analysis<'a> {
        cross_check::contradict(&mut rows, reference.map(|base| base.id.as_str()));
        let doubt = doubts.first().map(String::as_str);
        let mut findings = findings::findings(self.run, reference, &rows, doubt);
        findings.extend(reference.into_iter().flat_map(|base| explanations(self.run, &self.by_place, base, &rows)));
        let too_few = self.rounds.sentence().filter(|_| self.has_too_few_rounds());
        let crowded = self.run.plan.arrangements.iter().filter_map(crowded);
        let warnings = too_few.into_iter().chain(doubts.iter().cloned()).chain(crowded).collect();
        let own = Analysis { reference, rows, doubts, warnings, findings, ..self };
        let swept = Sweep::findings(&Sweep::all(&own), own.run);
        let mut findings = if swept.is_empty() { own.findings.clone() } else { swept };
        findings.extend(further(&own, time_of(own.every_cell), MORE));
        Analysis { findings, ..own }
    }
}

/// That an arrangement gives the worker more threads than cores, as a sentence, if so.
fn crowded(arrangement: &ArrangementInfo) -> Option<String> {
    let threads: usize = arrangement.runtime.strip_prefix("multi:")?.parse().ok()?;
    let cores = arrangement.worker_cores.len();
    (cores > 0 && threads > cores).then(|| {
        format!(
            "{} gives the worker {threads} threads on {}, so threads wait for one another; ask for at most multi:{cores}.",
            arrangement.id,
            count(cores as u64, "core")
        )
    })
}
/// Why a run that ends at a width ended, as a sentence.
fn until(analysis: &Analysis) -> Option<String> {
    let run = analysis.run();
    let until = run.plan.until.filter(|_| run.is_complete())?;
    let (share, generations) = (percent(until), count(run.blocks().into(), "generation"));
    if analysis.is_within(until) {
        return Some(format!("All intervals were within {share} % after {generations}."));
    }
    let over = match run.cut_short {
        Some(cut) => format!("The time of {} was over", lasting(Duration::from_millis(cut.within_ms))),
        None => format!("All {generations} ran"),
    };
    let widest = analysis.widest().map_or(String::new(), |(row, half)| {
        // Rounded up, because a width above the limit must not look like it.
        let half = (half * 1e4).ceil() / 100.0;
        let [label, scenario, arrangement] = [&row.label, &row.scenario, &row.arrangement].map(|name| plain(name));
        format!(": the widest is {half:.2} %, of {label} for {scenario} on {arrangement}")
    });
    Some(format!("{over} before all intervals were within {share} %{widest}."))
}
