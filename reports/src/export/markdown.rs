//! Tables as GitHub shows them.

use crate::document::{Document, Sheet, TableRow, mark};
use crate::export::side_by_side::SideBySide;
use crate::text::{capital, escape, plain, sentence};
use crate::{Cell, Recorded, Run};

/// The tables of [`crate::export::table`] in GitHub's Markdown.
pub fn markdown(run: &Run, cells: &[Cell]) -> String {
    markdown_against(run, cells, None)
}

/// As [`markdown`], with ratios against the contender of that id, or against the run's own reference where none is named.
pub fn markdown_against(run: &Run, cells: &[Cell], reference: Option<&str>) -> String {
    let document = Document::against(run, cells, reference);
    let mut out = String::new();
    for (name, sentence) in &document.head {
        out.push_str(&format!("- {name}: {}\n", escape(sentence)));
    }
    for warning in &document.warnings {
        out.push_str(&format!("\n> **Warning.** {}\n", escape(warning)));
    }
    bullets(&mut out, &document.overview);
    for table in &document.tables {
        out.push_str(&format!("\n### {}\n\n", escape(&table.title)));
        out.push_str(&format!("{} {}\n\n", escape(&table.about), escape(&sentence(&table.arrangement))));
        for sheet in &table.sheets {
            grid(&mut out, sheet);
        }
        bullets(&mut out, &table.remarks);
    }
    if !document.notes.is_empty() {
        out.push('\n');
    }
    for (place, note) in document.notes.iter().enumerate() {
        out.push_str(&format!("\\[{}\\] {}  \n", place + 1, escape(note)));
    }
    bullets(&mut out, &document.remarks);
    out
}

/// The tables of [`crate::table_of_runs`] in GitHub's Markdown.
pub fn markdown_of_runs(named: &[(String, &Recorded)]) -> String {
    let all = SideBySide::new(named);
    let mut out = String::new();
    for (name, sentence) in &all.runs {
        out.push_str(&format!("- {}: {}\n", escape(&plain(name)), escape(sentence)));
    }
    for warning in &all.warnings {
        out.push_str(&format!("\n> **Warning.** {}\n", escape(warning)));
    }
    for sheet in all.sheets() {
        grid(&mut out, sheet);
    }
    let remarks: Vec<String> = all.troubles().chain(&all.remarks).cloned().collect();
    bullets(&mut out, &remarks);
    out
}

pub(super) fn grid(out: &mut String, sheet: &Sheet) {
    if !sheet.title.is_empty() {
        out.push_str(&format!("\n{}:\n\n", capital(&escape(&sheet.title))));
    }
    let titles = sheet.columns.iter().map(|lines| escape(&lines.join(" ").replace("- ", "").replace("+ ", "+")));
    line(out, std::iter::once(escape(&sheet.first)).chain(titles));
    line(out, std::iter::once("---".to_owned()).chain(sheet.columns.iter().map(|_| "---:".to_owned())));
    for row in sheet.groups.iter().flatten() {
        line(
            out,
            std::iter::once(label(row)).chain(row.fields.iter().map(|field| {
                let text = escape(&field.shown());
                if field.is_bad { format!("**{text}**") } else { text }
            })),
        );
    }
}

fn label(row: &TableRow) -> String {
    let label = escape(&format!("{}{}", row.label, mark(row.note)));
    if row.trouble.is_empty() { label } else { format!("{label} **{}**", row.trouble) }
}

fn line(out: &mut String, fields: impl Iterator<Item = String>) {
    out.push('|');
    for field in fields {
        out.push_str(&format!(" {field} |"));
    }
    out.push('\n');
}

fn bullets(out: &mut String, sentences: &[String]) {
    if !sentences.is_empty() {
        out.push('\n');
    }
    for sentence in sentences {
        out.push_str(&format!("- {}\n", escape(sentence)));
    }
}
