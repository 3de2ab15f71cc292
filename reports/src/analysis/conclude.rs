//! From the cells of a run to what they come to against one reference.

use std::time::Duration;

use crate::attempts::{Attempts, repeats};
use crate::comparison::{JUDGED, control_warning, is_control};
use crate::explain::explanations;
use crate::further::{MORE, further, time_of};
use crate::measure::{PEAK_RSS, SERVER_CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT, THROUGHPUT};
use crate::quantity::{lasting, percent};
use crate::rounds::CountedRounds;
use crate::row::{Places, reference};
use crate::summary::{Summed, ids, summed};
use crate::{Analysis, ArrangementInfo, Cell, Run, Sweep, count, cross_check, findings, ladder, plain};

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
        let own = Analysis {
            run,
            every_cell: cells,
            attempts,
            rounds,
            cells: counted,
            by_place,
            reference,
            repeats: repeats(cells),
            until: None,
            rows,
            logs,
            doubts,
            warnings: Vec::new(),
            findings: Vec::new(),
        };
        let own = own.concluded();
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

    /// The same run against another of its contenders; as it is if there is none of that id.
    ///
    /// Only the run's own reference has a control. So the control's warnings stay, and where it leaves no verdict against its own
    /// reference, there is none against another one.
    pub fn turned(&self, reference: &str) -> Analysis<'a> {
        let own = if self.is_turned() { Analysis::new(self.run, self.every_cell) } else { self.clone() };
        let other = self.run.contender(reference).filter(|one| own.reference.is_none_or(|base| base.id != one.id));
        let (Some(other), Some(base)) = (other, own.reference) else { return own };
        let ids = ids(self.run, &own.cells);
        let Summed { mut rows, logs, mut doubts } = summed(self.run, &ids, &own.by_place, &own.rounds, Some(other));
        let primary = || own.rows.iter().filter(|row| row.is_primary());
        let has_control = primary().any(|row| is_control(&row.contender, row.control, base));
        let no_rates = control_warning(own.rows.iter(), base, THROUGHPUT).is_some();
        for row in &mut rows {
            let is_withheld = has_control
                && !own.doubts.is_empty()
                && !primary().any(|one| one.is_beside(row) && one.verdict.is_some());
            if is_withheld || row.control || (no_rates && row.meter == THROUGHPUT) {
                row.verdict = None;
            }
        }
        let more: Vec<String> = own.doubts.iter().filter(|doubt| !doubts.contains(doubt)).cloned().collect();
        doubts.extend(more);
        Analysis { logs, reference: Some(other), rows, doubts, ..own }.concluded()
    }

    fn concluded(mut self) -> Analysis<'a> {
        cross_check::contradict(&mut self.rows, self.reference.map(|base| base.id.as_str()));
        let too_few = self.rounds.sentence().filter(|_| self.has_too_few_rounds());
        let crowded = self.run.plan.arrangements.iter().filter_map(crowded);
        self.warnings = too_few.into_iter().chain(self.doubts.iter().cloned()).chain(crowded).collect();
        self.findings = match self.run.plan.ladder {
            Some(_) => ladder::findings(&self),
            None => Sweep::findings(&Sweep::all(&self), self.run),
        };
        if self.findings.is_empty() {
            self.findings = findings::findings(&self, self.doubts.first().map(String::as_str));
            self.findings.extend(explanations(&self));
        }
        self.findings.extend(further(&self, time_of(self.every_cell), MORE));
        self
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
    let run = analysis.run;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown;
    use crate::measure::CPU_PER_STATEMENT;
    use crate::references;
    use crate::{Look, Measure, Recorded, SummaryRow, Unit, Verdict, sample};

    fn find<'a>(analysis: &'a Analysis, contender: &str) -> &'a SummaryRow {
        let is = |row: &&SummaryRow| row.contender == contender && row.meter == CPU_PER_STATEMENT;
        analysis.rows.iter().find(is).unwrap()
    }

    #[test]
    fn against_another_driver_the_ratio_turns_and_the_control_has_no_verdict() {
        let (run, cells) = sample::blocks(12);
        let names: Vec<&str> = references(&run).iter().map(|one| one.id.as_str()).collect();
        assert_eq!(names, ["scylla", "cdrs-tokio"]);
        let own = Analysis::new(&run, &cells);
        let summary = own.turned("cdrs-tokio");
        assert_eq!(summary.reference.map(|one| one.id.as_str()), Some("cdrs-tokio"));
        assert!(summary.is_turned() && summary.run == &run);
        let scylla = find(&summary, "scylla");
        assert_eq!(scylla.verdict, Some(Verdict::Cheaper));
        let inverse = find(&own, "cdrs-tokio").ratio.unwrap();
        assert!((scylla.ratio.unwrap() * inverse - 1.0).abs() < 0.02, "{scylla:?} {inverse}");
        let control = find(&summary, "scylla#control");
        assert!(control.interval.is_some() && control.verdict.is_none(), "{control:?}");
        for same in [summary.turned("scylla"), Analysis::against(&run, &cells, Some("nobody"))] {
            assert!(!same.is_turned());
            assert_eq!((&same.rows, &same.warnings, &same.findings), (&own.rows, &own.warnings, &own.findings));
        }
    }

    #[test]
    fn why_a_control_has_no_verdict_beside_another_reference_is_a_note_in_every_table() {
        let (run, cells) = sample::blocks(12);
        let why =
            "A control gets no verdict: scylla@1.9.0#control is scylla@1.9.0 once more, whose row has the verdict.";
        let text = shown::against("table", &run, &cells, "cdrs-tokio");
        let note = text.lines().find(|line| line.ends_with(why)).unwrap_or_else(|| panic!("{text}"));
        let number = note.split(' ').next().unwrap();
        let row = text.lines().find(|line| line.starts_with("scylla@1.9.0#control")).unwrap();
        assert!(row.contains(&format!("withheld {number}")), "{row}: {note}");
        for format in ["markdown", "html"] {
            let text = shown::against(format, &run, &cells, "cdrs-tokio");
            assert!(text.replace("\\", "").contains(why), "{text}");
        }
        assert!(!shown::table(&run, &cells, Look::default()).contains("gets no verdict"));
    }

    #[test]
    fn what_a_control_that_differs_takes_away_stays_away_against_another_driver() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(slower, Unit::Microseconds));
        }
        let summary = Analysis::against(&run, &cells, Some("cdrs-tokio"));
        assert!(summary.rows.iter().all(|row| row.verdict.is_none()));
        assert!(summary.rows.iter().any(|row| row.interval.is_some()));
        assert_eq!(summary.warnings.len(), 1);
    }

    #[test]
    fn every_format_against_another_reference_keeps_what_the_run_s_own_control_says() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(slower, Unit::Microseconds));
        }
        for format in ["table", "markdown", "json", "html"] {
            let text = shown::against(format, &run, &cells, "cdrs-tokio");
            assert!(text.contains("The control is scylla@1.9.0 once more and should cost the same"), "{text}");
        }
    }

    #[test]
    fn the_document_against_another_reference_has_the_run_as_it_was_measured() {
        let (run, cells) = sample::blocks(12);
        let document = shown::against("json", &run, &cells, "cdrs-tokio");
        let whole: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(whole["reference"], "cdrs-tokio");
        let rows: Vec<SummaryRow> = serde_json::from_value(whole["summary"].clone()).unwrap();
        assert_eq!(rows, Analysis::against(&run, &cells, Some("cdrs-tokio")).rows);
        assert_eq!(Recorded::from_document(&document).unwrap().run, run);
        assert_eq!(shown::against("json", &run, &cells, "scylla"), shown::json(&run, &cells));
    }

    #[test]
    fn tables_against_another_reference_have_its_ratios_and_its_sentence() {
        let (run, cells) = sample::blocks(12);
        let text = shown::against("table", &run, &cells, "cdrs-tokio");
        assert!(text.contains("per statement over that of cdrs-tokio@9.0.2"), "{text}");
        let summary = Analysis::against(&run, &cells, Some("cdrs-tokio"));
        let ratio = format!("{:.3}", find(&summary, "scylla").ratio.unwrap());
        let row = text.lines().find(|line| line.starts_with("scylla@1.9.0 ")).unwrap();
        assert!(row.contains(&ratio), "{ratio}: {row}");
    }
}
