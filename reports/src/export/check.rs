//! A run judged, as a terminal and Markdown show it.

use super::markdown::markdown;
use super::part::{Field, Part, Sheet, TableRow};
use super::table::terminal;
use crate::measure::CPU_PER_STATEMENT;
use crate::text::plain;
use crate::{Checked, Judgement, Look, Verdict};

impl Judgement {
    /// A short summary in GitHub's Markdown.
    pub fn markdown(&self) -> String {
        markdown(&self.parts())
    }

    /// The same for a terminal.
    pub fn table(&self, look: Look) -> String {
        terminal(&self.parts(), look)
    }

    fn parts(&self) -> Vec<Part> {
        let mut parts = vec![Part::Title(format!("cqldyno check {}", self.outcome())), Part::Text(self.about.clone())];
        parts.extend(self.warnings.iter().map(|warning| Part::Warning(plain(warning))));
        parts.extend(self.findings.iter().map(|finding| Part::Text(plain(finding))));
        // If there is but one measure, the sentence above names it.
        let has_measures = self.lines.iter().any(|line| line.row.meter != CPU_PER_STATEMENT);
        let mut columns = vec!["scenario", "arrangement", "measure", "finding"];
        columns.retain(|title| has_measures || *title != "measure");
        let row = |line: &Checked| {
            let mut fields = vec![Field::of(plain(&line.row.scenario)), Field::of(plain(&line.row.arrangement))];
            fields.extend(has_measures.then(|| Field::of(plain(&line.row.meter.replace('_', " ")))));
            fields.push(if line.fails() { Field::bad(line.finding()) } else { Field::of(line.finding()) });
            TableRow::of(&line.row.label, fields)
        };
        let words = columns.len();
        let groups = vec![self.lines.iter().map(row).collect()];
        parts.push(Part::Sheet(Sheet { words, ..Sheet::of("", "contender", columns, groups) }));
        let several = self.lines.len() > 1;
        let said = self.lines.iter().map(|line| match several {
            true => format!(
                "{}, {} on {}: {}",
                plain(&line.row.label),
                plain(&line.row.scenario),
                plain(&line.row.arrangement),
                line.sentence
            ),
            false => line.sentence.clone(),
        });
        parts.extend(Part::list(said.collect()));
        parts
    }

    fn outcome(&self) -> String {
        let of = |is: fn(&Checked) -> bool| self.lines.iter().filter(|line| is(line)).count();
        match (of(Checked::fails), of(|line| line.verdict == Ok(Verdict::Inconclusive)), self.lines.len()) {
            (0, 0, 1) => "passed".to_owned(),
            (0, 1, 1) => "inconclusive".to_owned(),
            (0, 0, all) => format!("passed: {all} comparisons"),
            (0, open, all) if open == all => format!("inconclusive: {all} comparisons"),
            (0, open, all) => format!("passed: {all} comparisons, {open} of them inconclusive"),
            (some, _, all) => format!("failed: {some} of {all} comparisons"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tabled::grid::util::string::get_string_width;

    use crate::export::shown::at;
    use crate::{Check, Judgement, Recorded, sample};

    #[test]
    fn a_terminal_gets_the_same_findings_in_lines_that_fit() {
        let (run, cells) = sample::blocks(12);
        let check = Check { threshold: 0.05, require_power: None, reference: None, contenders: Vec::new() };
        let judgement = Judgement::within(&Recorded { run, cells, notes: Vec::new() }, &check).unwrap();
        let text = judgement.table(at(80));
        assert!(text.starts_with("cqldyno check failed: 2 of 2 comparisons\n"), "{text}");
        assert!(text.lines().all(|line| get_string_width(line) <= 80), "{text}");
        for line in &judgement.lines {
            let said = &line.sentence[..30];
            assert!(text.contains(said) && judgement.markdown().replace('\\', "").contains(said), "{said}: {text}");
        }
        assert!(!text.contains('|') && !text.contains("**"), "{text}");
    }
}
