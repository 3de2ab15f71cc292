//! The formats of a result: one per exporter.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use cqldyno_reports::{Analysis, EXPORTERS, Exporter, Look, exporter, pointers, wrap};

/// A format of the result.
pub type Format = &'static dyn Exporter;

/// What `--format` takes.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    let named = EXPORTERS.iter().map(|one| PossibleValue::new(one.name()).help(one.about()));
    PossibleValuesParser::new(named).map(|name| exporter(&name).unwrap_or(EXPORTERS[0]))
}

/// Where the page of a run is kept.
pub fn page(folder: &Path) -> PathBuf {
    folder.join(exporter("html").map_or("", |html| html.file()))
}

/// The result in a format. A table ends with what shows more: flags, and the page in the run's folder.
///
/// # Errors
/// When the data of a page or a document cannot be written.
pub fn render(format: Format, analysis: &Analysis, look: Look, folder: &Path) -> Result<String> {
    let page = page(folder);
    let page = page.is_file().then(|| page.display().to_string());
    let text = format.one(analysis, look)?;
    Ok(if is_table(format) { text + &pointers(look, page.as_deref()) } else { text })
}

/// Whether the format is the one for terminals, the default.
pub fn is_table(format: Format) -> bool {
    format.name() == EXPORTERS[0].name()
}

/// The names of the formats, for a help text.
pub fn names() -> String {
    EXPORTERS.map(|one| one.name()).join(", ")
}

/// The formats, for the end of a help text.
pub fn explained() -> String {
    let line = |one: Format| format!("  {:<9} {}\n", one.name(), wrap(one.about(), 68, 12));
    format!("Formats:\n{}", EXPORTERS.map(line).concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_named_and_explained() {
        let explained = explained();
        for one in EXPORTERS {
            assert!(names().split(", ").any(|name| name == one.name()), "{}", one.name());
            assert!(explained.contains(&format!("\n  {:<9} ", one.name())), "{explained}");
        }
        assert!(explained.lines().all(|line| line.len() <= 80), "{explained}");
    }
}
