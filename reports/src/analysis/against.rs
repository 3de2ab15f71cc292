//! A run summed up against another reference than its own.

use std::collections::BTreeSet;

use crate::comparison::is_control;
use crate::measure::CPU_PER_STATEMENT;
use crate::{Cell, Contender, Role, Run, Summary, reference};

/// Who ratios of a run can be taken against: its drivers, the run's own reference first; never a control.
pub fn references(run: &Run) -> Vec<&Contender> {
    let own = reference(run);
    let others = run.contenders.iter().filter(|one| {
        one.role == Role::Driver && !one.control && one.unavailable.is_none() && own.is_some_and(|own| own.id != one.id)
    });
    own.into_iter().chain(others).collect()
}

/// The run with another reference, and what [`Summary::new`] makes of it.
///
/// The method is the same, but only the run's own reference has a control. So what that control takes away stays away: its
/// warnings stand, and where it leaves no verdict against its own reference, there is none against another one.
pub fn against(run: &Run, cells: &[Cell], other: &str) -> (Run, Summary) {
    let own = Summary::new(run, cells);
    let Some(base) = reference(run).filter(|base| base.id != other) else { return (run.clone(), own) };
    let mut turned = run.clone();
    turned.plan.reference = Some(other.to_owned());
    let mut summary = Summary::new(&turned, cells);
    let mut with_verdict = BTreeSet::new();
    let mut with_control = false;
    for row in own.rows.iter().filter(|row| row.meter == CPU_PER_STATEMENT) {
        with_control |= is_control(&row.contender, row.control, base);
        if row.verdict.is_some() {
            with_verdict.insert((row.scenario.as_str(), row.arrangement.as_str()));
        }
    }
    for row in &mut summary.rows {
        let withheld = with_control
            && !own.warnings.is_empty()
            && !with_verdict.contains(&(row.scenario.as_str(), row.arrangement.as_str()));
        if withheld || row.control {
            row.verdict = None;
        }
    }
    for warning in own.warnings {
        if !summary.warnings.contains(&warning) {
            summary.warnings.push(warning);
        }
    }
    (turned, summary)
}

/// The run and what it comes to: against the contender of that id, or against its own reference where none is named.
pub(crate) fn turned(run: &Run, cells: &[Cell], reference: Option<&str>) -> (Run, Summary) {
    match reference {
        Some(other) => against(run, cells, other),
        None => (run.clone(), Summary::new(run, cells)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Look, Measure, Recorded, SummaryRow, Unit, Verdict, html_against, json, json_against, markdown_against, sample,
        table_against,
    };

    fn find<'a>(summary: &'a Summary, contender: &str) -> &'a SummaryRow {
        let is = |row: &&SummaryRow| row.contender == contender && row.meter == CPU_PER_STATEMENT;
        summary.rows.iter().find(is).unwrap()
    }

    #[test]
    fn against_another_driver_the_ratio_turns_and_the_control_has_no_verdict() {
        let (run, cells) = sample::blocks(12);
        let names: Vec<&str> = references(&run).iter().map(|one| one.id.as_str()).collect();
        assert_eq!(names, ["scylla", "cdrs-tokio"]);
        let (turned, summary) = against(&run, &cells, "cdrs-tokio");
        assert_eq!(turned.plan.reference.as_deref(), Some("cdrs-tokio"));
        let scylla = find(&summary, "scylla");
        assert_eq!(scylla.verdict, Some(Verdict::Faster));
        let own = find(&Summary::new(&run, &cells), "cdrs-tokio").ratio.unwrap();
        assert!((scylla.ratio.unwrap() * own - 1.0).abs() < 0.02, "{scylla:?} {own}");
        let control = find(&summary, "scylla#control");
        assert!(control.interval.is_some() && control.verdict.is_none(), "{control:?}");
        assert_eq!(against(&run, &cells, "scylla").1, Summary::new(&run, &cells));
    }

    #[test]
    fn why_a_control_has_no_verdict_beside_another_reference_is_a_note_in_every_table() {
        let (run, cells) = sample::blocks(12);
        let other = Some("cdrs-tokio");
        let why =
            "A control is given no verdict: scylla@1.9.0#control is scylla@1.9.0 once more, whose row has the verdict.";
        let text = table_against(&run, &cells, other, Look { width: 2_000, ..Look::default() });
        let note = text.lines().find(|line| line.ends_with(why)).unwrap_or_else(|| panic!("{text}"));
        let number = note.split(' ').next().unwrap();
        let row = text.lines().find(|line| line.starts_with("scylla@1.9.0#control")).unwrap();
        assert!(row.contains(&format!("withheld {number}")), "{row}: {note}");
        for text in [markdown_against(&run, &cells, other), html_against(&run, &cells, other).unwrap()] {
            assert!(text.replace("\\", "").contains(why), "{text}");
        }
        assert!(!table_against(&run, &cells, None, Look::default()).contains("is given no verdict"));
    }

    #[test]
    fn what_a_control_that_differs_takes_away_stays_away_against_another_driver() {
        let (run, mut cells) = sample::blocks(12);
        for cell in cells.iter_mut().filter(|cell| cell.contender == "scylla#control") {
            let slower = cell.get(CPU_PER_STATEMENT).unwrap() * 1.05;
            cell.measures.insert(CPU_PER_STATEMENT.to_owned(), Measure::value(slower, Unit::Microseconds));
        }
        let (_, summary) = against(&run, &cells, "cdrs-tokio");
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
        let other = Some("cdrs-tokio");
        let texts = [
            table_against(&run, &cells, other, Look { width: 2_000, ..Look::default() }),
            markdown_against(&run, &cells, other),
            json_against(&run, &cells, other).unwrap(),
            html_against(&run, &cells, other).unwrap(),
        ];
        for text in texts {
            assert!(text.contains("The control is scylla@1.9.0 once more and should cost the same"), "{text}");
        }
    }

    #[test]
    fn the_document_against_another_reference_has_the_run_as_it_was_measured() {
        let (run, cells) = sample::blocks(12);
        let document = json_against(&run, &cells, Some("cdrs-tokio")).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&document).unwrap();
        assert_eq!(whole["reference"], "cdrs-tokio");
        let rows: Vec<SummaryRow> = serde_json::from_value(whole["summary"].clone()).unwrap();
        assert_eq!(rows, against(&run, &cells, "cdrs-tokio").1.rows);
        assert_eq!(Recorded::from_document(&document).unwrap().run, run);
        assert_eq!(json_against(&run, &cells, Some("scylla")).unwrap(), json(&run, &cells).unwrap());
    }

    #[test]
    fn tables_against_another_reference_have_its_ratios_and_its_sentence() {
        let (run, cells) = sample::blocks(12);
        let text = table_against(&run, &cells, Some("cdrs-tokio"), Look { width: 2_000, ..Look::default() });
        assert!(text.contains("CPU time a statement over that of cdrs-tokio@9.0.2"), "{text}");
        let (_, summary) = against(&run, &cells, "cdrs-tokio");
        let ratio = format!("{:.3}", find(&summary, "scylla").ratio.unwrap());
        let row = text.lines().find(|line| line.starts_with("scylla@1.9.0 ")).unwrap();
        assert!(row.contains(&ratio), "{ratio}: {row}");
    }
}
