//! Counts beside the verdict on CPU time.
//!
//! Instructions speak for CPU time, but not for that of the kernel: where system calls explain a verdict, they contradict nothing. System calls and allocations are hints, which speak only where nobody counted instructions, and
//! system calls only if those of all cells do.

use crate::band::BAND;
use crate::judge::{beside, judged};
use crate::measure::{ALLOCATIONS, Figure, INSTRUCTIONS, SYSTEM_CALLS};
use crate::{SummaryRow, Verdict};

/// So many system calls per statement take some tenths of a microsecond in the kernel, whose instructions nobody counts.
const TELLING_CALLS: f64 = 0.25;

/// Says in each row of CPU time which count contradicts its verdict.
pub(crate) fn contradict(rows: &mut [SummaryRow], reference: Option<&str>) {
    let said: Vec<Option<(String, bool)>> = rows.iter().map(|row| contradiction(rows, row, reference)).collect();
    for (row, said) in rows.iter_mut().zip(said) {
        row.doubtful = said.as_ref().is_some_and(|(_, doubtful)| *doubtful);
        row.contradicted = said.map(|(why, _)| why);
    }
}

/// Which of the counts in `rows` contradicts the verdict of `row`, and whether that makes it doubtful: instructions do.
pub(crate) fn contradiction(rows: &[SummaryRow], row: &SummaryRow, reference: Option<&str>) -> Option<(String, bool)> {
    let verdict = row.verdict.filter(|_| row.is_primary())?;
    let (against, makes) = match verdict {
        Verdict::Cheaper => (Verdict::Dearer, "more"),
        Verdict::Dearer => (Verdict::Cheaper, "fewer"),
        _ => return None,
    };
    let verdict = verdict.name();
    let ratio = |figure: &Figure| figure.ids.iter().find_map(|id| beside(rows, row, &row.contender, id)?.ratio);
    let is_against = |ratio: f64| judged([ratio; 2], [1.0 - BAND, 1.0 + BAND]) == against;
    if let Some(instructions) = ratio(&INSTRUCTIONS) {
        let sentence = format!(
            "It is {verdict}, but runs {makes} instructions per statement than the reference. Instructions hardly vary, so doubt the verdict."
        );
        let calls = |who: &str| SYSTEM_CALLS.ids.iter().find_map(|id| beside(rows, row, who, id)?.level);
        let more = calls(&row.contender).zip(reference.and_then(calls)).map_or(0.0, |(own, base)| own - base);
        let is_explained = if against == Verdict::Cheaper { more >= TELLING_CALLS } else { more <= -TELLING_CALLS };
        return (is_against(instructions) && !is_explained).then_some((sentence, true));
    }
    // Counts that vary from cell to cell are no hint if they meet those of the reference.
    let ranges_meet = |figure: &Figure| {
        let range = |who: &str| figure.ids.iter().find_map(|id| beside(rows, row, who, id)?.range);
        range(&row.contender).zip(reference.and_then(range)).is_some_and(|(own, base)| !judged(own, base).differs())
    };
    let hints = [&SYSTEM_CALLS, &ALLOCATIONS].into_iter();
    let hints = hints.filter(|figure| ratio(figure).is_some_and(is_against) && !ranges_meet(figure));
    let hints: Vec<String> = hints.map(|figure| figure.name.to_owned()).collect();
    let is_counted = rows.iter().any(|one| INSTRUCTIONS.ids.contains(&one.meter.as_str()) && one.ratio.is_some());
    let advice = if is_counted { "" } else { "; `--pass instructions` tells more" };
    (!hints.is_empty()).then(|| {
        let hints = crate::list(&hints);
        let hint = format!(
            "It is {verdict}, but makes {makes} {hints} per statement than the reference. That is a hint{advice}."
        );
        (hint, false)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{
        ALLOCATIONS_PER_STATEMENT, CALLGRIND_INSTRUCTIONS as CALLGRIND, CPU_PER_STATEMENT, SYSCALLS_PER_STATEMENT,
    };
    use crate::{Analysis, Cell, Look, Measure, Recorded, Run, Unit, exporter, sample};

    /// The sentence on cdrs-tokio with that verdict and those ratios of its counts.
    fn said(verdict: Verdict, ratios: &[(&str, f64)]) -> Option<String> {
        let (run, cells) = sample::blocks(12);
        let is = |row: &&SummaryRow| row.contender == "cdrs-tokio" && row.is_primary() && row.scenario == "writes";
        let row = Analysis::new(&run, &cells).rows.iter().find(is).unwrap().clone();
        let count = |(meter, ratio): &(&str, f64)| SummaryRow {
            meter: (*meter).to_owned(),
            range: Some([ratio - 0.1, ratio + 0.1]),
            ratio: Some(*ratio),
            verdict: None,
            ..row.clone()
        };
        let mut of_reference = row.clone();
        (of_reference.contender, of_reference.meter) = ("scylla".to_owned(), SYSCALLS_PER_STATEMENT.to_owned());
        (of_reference.range, of_reference.verdict) = (Some([0.9, 1.1]), None);
        let elsewhere = |row: SummaryRow| SummaryRow { scenario: "reads".to_owned(), ratio: Some(7.0), ..row };
        let mut rows = vec![SummaryRow { verdict: Some(verdict), ..row.clone() }];
        rows.extend(ratios.iter().map(|one| elsewhere(count(one))));
        rows.extend(ratios.iter().map(count));
        rows.push(of_reference);
        contradict(&mut rows, Some("scylla"));
        assert!(rows[1..].iter().all(|row| row.contradicted.is_none()));
        let row = rows.remove(0);
        let counts_instructions = ratios.iter().any(|(meter, _)| INSTRUCTIONS.ids.contains(meter));
        assert_eq!(row.doubtful, row.contradicted.is_some() && counts_instructions);
        row.contradicted
    }

    #[test]
    fn instructions_that_contradict_the_verdict_are_said_and_others_are_not() {
        for meter in INSTRUCTIONS.ids {
            let more = said(Verdict::Cheaper, &[(*meter, 1.1)]).unwrap();
            assert!(more.starts_with("It is cheaper, but runs more instructions per statement"), "{more}");
            let fewer = said(Verdict::Dearer, &[(*meter, 0.9)]).unwrap();
            assert!(fewer.starts_with("It is dearer, but runs fewer instructions per statement"), "{fewer}");
            for (verdict, ratio) in [(Verdict::Cheaper, 0.9), (Verdict::Dearer, 1.1), (Verdict::Cheaper, 1.01)] {
                assert_eq!(said(verdict, &[(*meter, ratio)]), None);
            }
            for verdict in [Verdict::Same, Verdict::Inconclusive, Verdict::TooNoisy] {
                assert_eq!(said(verdict, &[(*meter, 1.5)]), None);
            }
        }
    }

    /// The sample some days later, in which cdrs-tokio is dearer and runs fewer instructions; nobody counted its system calls.
    fn doubted(days: u32) -> (Run, Vec<Cell>) {
        let (run, mut cells) = with_fewer_instructions(days);
        cells.iter_mut().for_each(|cell| drop(cell.measures.remove(SYSCALLS_PER_STATEMENT)));
        (run, cells)
    }

    fn with_fewer_instructions(days: u32) -> (Run, Vec<Cell>) {
        let (run, mut cells) = sample::repeated(12, days);
        for cell in cells.iter_mut().filter(|cell| cell.get(CPU_PER_STATEMENT).is_some()) {
            let instructions = if cell.contender == "cdrs-tokio" { 1_000.0 } else { 2_000.0 };
            cell.measures.insert(CALLGRIND.to_owned(), Measure::value(instructions, Unit::Count));
        }
        (run, cells)
    }

    #[test]
    fn system_calls_that_explain_a_verdict_leave_no_doubt() {
        let doubtful = |(run, cells): (Run, Vec<Cell>)| Analysis::new(&run, &cells).rows.iter().any(|row| row.doubtful);
        assert!(doubtful(doubted(0)) && !doubtful(with_fewer_instructions(0)));
        let (run, mut cells) = with_fewer_instructions(0);
        for cell in cells.iter_mut().filter(|cell| cell.get(SYSCALLS_PER_STATEMENT).is_some()) {
            let calls = if cell.contender == "cdrs-tokio" { 0.3 } else { 0.1 };
            cell.measures.insert(SYSCALLS_PER_STATEMENT.to_owned(), Measure::value(calls, Unit::Count));
        }
        assert!(doubtful((run, cells)), "a fifth of a call explains nothing");
    }

    const DOUBT: &str =
        "Doubt that cdrs-tokio is dearer for writes and reads: it runs fewer instructions per statement than scylla.";

    #[test]
    fn every_format_with_verdicts_shows_a_doubt_beside_the_verdict_and_says_why() {
        let (run, cells) = doubted(0);
        let analysis = Analysis::new(&run, &cells);
        let text = |format: &str, look| exporter(format).unwrap().one(&analysis, look).unwrap();
        let short = Look { wide: false, notes: false, ..Look::default() };
        let shown = text("table", short);
        let row = shown.lines().find(|line| line.trim_start().starts_with("cdrs-tokio")).unwrap();
        assert!(row.contains(" dearer? ") && shown.contains(DOUBT), "{shown}");
        let wide = text("table", Look::default());
        let why = "It is dearer, but runs fewer instructions per statement than the reference. Instructions hardly vary, so doubt the verdict.";
        assert!(wide.contains("dearer? [") && wide.contains(why) && wide.contains(DOUBT), "{wide}");
        let markdown = text("markdown", Look::default());
        assert!(markdown.contains("| dearer? |") && markdown.contains(DOUBT), "{markdown}");
        let html = text("html", Look::default());
        assert_eq!(html.matches("]</a> dearer?</span>").count(), 2, "the first table has a row per scenario");
        assert!(html.contains("<span class=\"v\">dearer?</span>") && html.contains(DOUBT) && html.contains(why));
        let json: serde_json::Value = serde_json::from_str(&text("json", Look::default())).unwrap();
        let rows = json["summary"].as_array().unwrap();
        let doubtful: Vec<_> = rows.iter().filter(|row| row["doubtful"] == true).collect();
        assert_eq!(doubtful.len(), 2);
        assert!(doubtful.iter().all(|row| row["verdict"] == "dearer" && row["contradicted"] == why), "{doubtful:?}");
        assert_eq!(json["findings"][1], DOUBT);
        assert!(!text("csv", Look::default()).contains("dearer"), "it has figures of cells and no verdict");
    }

    #[test]
    fn a_doubt_about_a_run_stands_beside_the_verdict_of_all_runs_together() {
        let kept = [0, 1].map(|days| {
            let (run, cells) = doubted(days);
            (days.to_string(), Recorded { run, cells, notes: Vec::new() })
        });
        let named: Vec<(String, &Recorded)> = kept.iter().map(|(name, one)| (name.clone(), one)).collect();
        for (format, mark) in [
            ("table", "dearer?"),
            ("markdown", "| dearer? |"),
            ("html", ">dearer?</td>"),
            ("json", "\"doubtful\": true"),
        ] {
            let text = exporter(format).unwrap().several(&named, Look::default()).unwrap().unwrap();
            assert!(text.contains(mark) && text.contains(DOUBT), "{format}: {text}");
        }
    }

    #[test]
    fn system_calls_and_allocations_are_hints_where_nobody_counted_instructions() {
        let both = [(SYSCALLS_PER_STATEMENT, 3.0), (ALLOCATIONS_PER_STATEMENT, 1.2)];
        let hint = said(Verdict::Cheaper, &both).unwrap();
        assert!(hint.contains("more system calls and allocations per statement") && hint.contains("hint"), "{hint}");
        assert!(said(Verdict::Dearer, &[(ALLOCATIONS_PER_STATEMENT, 0.5)]).unwrap().contains("fewer allocations"));
        assert!(hint.ends_with("That is a hint; `--pass instructions` tells more."), "{hint}");
        assert_eq!(said(Verdict::Dearer, &[(SYSCALLS_PER_STATEMENT, 0.9)]), None, "some cells made as many");
        assert!(said(Verdict::Dearer, &[(SYSCALLS_PER_STATEMENT, 0.7)]).is_some());
        assert_eq!(said(Verdict::Dearer, &both), None);
        assert_eq!(said(Verdict::Cheaper, &[both[0], both[1], (CALLGRIND, 0.8)]), None);
        assert_eq!(said(Verdict::Cheaper, &[]), None);
    }
}
