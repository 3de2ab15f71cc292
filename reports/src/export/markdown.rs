//! Texts as GitHub shows them.

use super::document::{Document, doubts};
use super::head::{sized, title};
use super::part::{Part, Sheet, Short};
use super::releases::releases;
use super::short::response_times;
use super::text::{capital, escape, plain};
use super::{ExportError, Exporter, Look, side_by_side, sweep};
use crate::{Analysis, History, Recorded, Sweep};

/// `--format markdown`.
pub(super) struct Markdown;

impl Exporter for Markdown {
    fn names(&self) -> [&'static str; 3] {
        ["markdown", "The tables as GitHub shows them; details open on request", "table.md"]
    }

    /// Findings, warnings and the short table; every column and how it was measured open on request.
    fn one(&self, analysis: &Analysis, _: Look) -> Result<String, ExportError> {
        let mut document = Document::of(analysis);
        let [mut parts, doubts] = doubts(analysis);
        parts.extend(analysis.findings().iter().map(|finding| Part::Text(plain(finding))));
        parts.extend(analysis.worths().into_iter().map(Part::Text));
        parts.extend(doubts);
        parts.push(Part::Text(title(analysis.run())));
        parts.extend(sized(analysis).into_iter().map(Part::Text));
        parts.extend(releases(analysis));
        let sweeps = Sweep::all(analysis);
        let compact = sweep::compact(analysis.run(), &sweeps);
        let is_short = compact.is_empty() && !analysis.run().plan.exact;
        parts.extend(compact.into_iter().map(Part::Sheet));
        parts.extend(is_short.then(|| Part::Short(Short::of(analysis))));
        let every_point = || Part::Folded("Every point", sweep::every_point(analysis.run(), &sweeps));
        parts.extend((!sweeps.is_empty()).then(every_point));
        parts.extend(response_times(analysis).map(Part::Sheet));
        parts.push(Part::Folded("Every column", document.wide()));
        parts.push(Part::Folded("Notes: how it was measured", document.about()));
        Ok(markdown(&parts))
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
        Part::Short(short) => grid(&short.sheet()),
        Part::Sheet(sheet) => grid(sheet),
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
    let titles =
        sheet.columns.iter().map(|lines| escape(&lines.join(" ").trim_end().replace("- ", "").replace("+ ", "+")));
    let rule = |at: usize| if at < sheet.words { "---" } else { "---:" }.to_owned();
    line(&mut out, std::iter::once(escape(&sheet.first)).chain(titles));
    line(&mut out, std::iter::once("---".to_owned()).chain((0..sheet.columns.len()).map(rule)));
    for row in sheet.groups.iter().flatten() {
        let trouble = if row.trouble.is_empty() { String::new() } else { format!(" **{}**", row.trouble) };
        let fields = row.fields.iter().map(|field| bold(escape(&field.shown()), field.is_bad));
        line(&mut out, std::iter::once(escape(&row.label) + &trouble).chain(fields));
    }
    out
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    out.push('|');
    fields.for_each(|field| out.push_str(&format!(" {field} |")));
    out.push('\n');
}
