//! Texts as GitHub shows them.

use std::io::Write;

use super::document::{Document, doubts};
use super::exporter::{ExportError, Exporter, Look};
use super::part::{Part, Sheet, Short, TableRow};
use super::short::{found, overview, tables};
use super::{side_by_side, sweep};
use crate::text::{capital, escape};
use crate::{Analysis, History, Recorded, Sweep};

pub(super) struct Markdown;

impl Exporter for Markdown {
    fn names(&self) -> [&'static str; 3] {
        ["markdown", "The tables as GitHub shows them; details open on request", "table.md"]
    }

    /// Findings, warnings and the short table; every column and how it was measured open on request.
    fn write(&self, analysis: &Analysis, _: Look, out: &mut dyn Write) -> Result<(), ExportError> {
        let mut document = Document::of(analysis);
        let [mut parts, doubts] = doubts(analysis);
        parts.extend(found(analysis));
        parts.extend(doubts);
        parts.extend(overview(analysis));
        let sweeps = Sweep::all(analysis);
        parts.extend(tables(analysis, &sweeps));
        let every_point = || Part::Folded("Every point", sweep::every_point(analysis.run, &sweeps));
        parts.extend((!sweeps.is_empty()).then(every_point));
        parts.push(Part::Folded("Every column", document.wide(analysis)));
        parts.push(Part::Folded("Notes: how it was measured", document.about()));
        Ok(out.write_all(markdown(&parts).as_bytes())?)
    }

    fn several(&self, named: &[(String, &Recorded)], _: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(markdown(&side_by_side::parts(named, true))))
    }

    fn history(&self, history: &History, _: Look) -> Option<Result<String, ExportError>> {
        Some(Ok(markdown(&super::history::parts(history))))
    }
}

/// The parts below each other, as GitHub shows them.
pub fn markdown(parts: &[Part]) -> String {
    parts.iter().map(part).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn part(part: &Part) -> String {
    let bullets = |sentences: &mut dyn Iterator<Item = String>| -> String {
        sentences.map(|text| format!("- {}\n", escape(&text))).collect()
    };
    match part {
        Part::Title(text) => format!("### {}\n", escape(text)),
        Part::Text(text) => format!("{}\n", escape(text)),
        Part::Warning(text) => format!("> **Warning.** {}\n", escape(text)),
        Part::Pairs(pairs) => bullets(&mut pairs.iter().map(|(name, said)| format!("{name}: {said}"))),
        Part::List(sentences) => bullets(&mut sentences.iter().cloned()),
        Part::Notes(notes) => (1..).zip(notes).map(|(at, note)| format!("\\[{at}\\] {}  \n", escape(note))).collect(),
        Part::Short(Short { sheet, .. }) | Part::Sheet(sheet) => grid(sheet),
        Part::Folded(title, parts) => {
            format!("<details>\n<summary>{title}</summary>\n\n{}\n</details>\n", markdown(parts))
        }
    }
}

fn grid(sheet: &Sheet) -> String {
    let mut out = String::new();
    if !sheet.title.is_empty() {
        out.push_str(&format!("{}:\n\n", capital(&escape(&sheet.title))));
    }
    let bold = |text: String, is_bold: bool| if is_bold { format!("**{text}**") } else { text };
    let titles = (0..sheet.columns.len()).map(|at| (escape(&sheet.heading(at)), at < sheet.words));
    let row = |row: &TableRow| {
        let trouble = if row.trouble.is_empty() { String::new() } else { format!(" **{}**", row.trouble) };
        let fields = row.fields.iter().map(|field| bold(escape(&field.shown()), field.is_bad));
        std::iter::once(escape(&row.label) + &trouble).chain(fields).collect()
    };
    let heads = std::iter::once((escape(&sheet.first), true)).chain(titles).collect();
    out + &table_of(heads, sheet.groups.iter().flatten().map(row).collect())
}

/// A table of texts that are Markdown already; each head says whether its column is words and not figures.
pub(crate) fn table_of(heads: Vec<(String, bool)>, rows: Vec<Vec<String>>) -> String {
    let line = |fields: &Vec<String>| format!("| {} |\n", fields.join(" | "));
    let rules = heads.iter().map(|(_, is_words)| if *is_words { "---" } else { "---:" }.to_owned()).collect();
    let heads = heads.into_iter().map(|(head, _)| head).collect();
    [heads, rules].iter().chain(&rows).map(line).collect()
}
