//! A run against another reference than its own.

use crate::comparison::{control_warning, is_control};
use crate::measure::THROUGHPUT;
use crate::summary::{Summed, ids, summed};
use crate::{Analysis, Contender, Role, Run, reference};

/// The contenders that ratios can be taken against: the run's own reference, then its other drivers; never a control.
pub fn references(run: &Run) -> Vec<&Contender> {
    let own = reference(run);
    let others = run.contenders.iter().filter(|one| {
        one.role == Role::Driver && !one.control && one.unavailable.is_none() && own.is_some_and(|own| own.id != one.id)
    });
    own.into_iter().chain(others).collect()
}

impl<'a> Analysis<'a> {
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
        Analysis { logs, ..own }.concluded(Some(other), rows, doubts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::shown;
    use crate::measure::CPU_PER_STATEMENT;
    use crate::{Look, Measure, Recorded, SummaryRow, Unit, Verdict, sample};

    fn find<'a>(analysis: &'a Analysis, contender: &str) -> &'a SummaryRow {
        let is = |row: &&SummaryRow| row.contender == contender && row.meter == CPU_PER_STATEMENT;
        analysis.rows().iter().find(is).unwrap()
    }

    #[test]
    fn against_another_driver_the_ratio_turns_and_the_control_has_no_verdict() {
        let (run, cells) = sample::blocks(12);
        let names: Vec<&str> = references(&run).iter().map(|one| one.id.as_str()).collect();
        assert_eq!(names, ["scylla", "cdrs-tokio"]);
        let own = Analysis::new(&run, &cells);
        let summary = own.turned("cdrs-tokio");
        assert_eq!(summary.reference().map(|one| one.id.as_str()), Some("cdrs-tokio"));
        assert!(summary.is_turned() && summary.run() == &run);
        let scylla = find(&summary, "scylla");
        assert_eq!(scylla.verdict, Some(Verdict::Cheaper));
        let inverse = find(&own, "cdrs-tokio").ratio.unwrap();
        assert!((scylla.ratio.unwrap() * inverse - 1.0).abs() < 0.02, "{scylla:?} {inverse}");
        let control = find(&summary, "scylla#control");
        assert!(control.interval.is_some() && control.verdict.is_none(), "{control:?}");
        for same in [summary.turned("scylla"), Analysis::against(&run, &cells, Some("nobody"))] {
            assert!(!same.is_turned());
            assert_eq!((same.rows(), same.warnings(), same.findings()), (own.rows(), own.warnings(), own.findings()));
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
        assert!(summary.rows().iter().all(|row| row.verdict.is_none()));
        assert!(summary.rows().iter().any(|row| row.interval.is_some()));
        assert_eq!(summary.warnings().len(), 1);
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
        assert_eq!(rows, Analysis::against(&run, &cells, Some("cdrs-tokio")).rows());
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
