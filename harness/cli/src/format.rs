//! The formats of a result.

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use cqldyno_reports::{Analysis, Cell, EXPORTERS, Exporter, Look, Run, wrap};

/// A format of the result.
pub type Format = &'static dyn Exporter;

/// What `--format` takes.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    let values = EXPORTERS.iter().map(|one| PossibleValue::new(one.name()).help(one.about()));
    PossibleValuesParser::new(values).map(|name| named(&name))
}

/// The format of that name, or the default.
fn named(name: &str) -> Format {
    EXPORTERS.into_iter().find(|one| one.name() == name).unwrap_or(EXPORTERS[0])
}

/// The formats' names for a help text.
pub fn names() -> String {
    EXPORTERS.map(|one| one.name()).join(", ")
}

/// The result in that format. Ratios are against the contender with the id `reference`, or against the run's own reference.
///
/// # Errors
/// When the data of a page or a document cannot be written as JSON, or not be compressed.
pub fn render(format: Format, run: &Run, cells: &[Cell], reference: Option<&str>, look: Look) -> Result<String> {
    Ok(format.one(&Analysis::against(run, cells, reference), look)?)
}

/// The formats for the end of a help text.
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
            assert!(names().contains(one.name()) && named(one.name()).file() == one.file(), "{}", one.name());
            assert!(explained.contains(&format!("\n  {:<9} ", one.name())), "{explained}");
        }
        assert!(explained.lines().all(|line| line.len() <= 80), "{explained}");
    }
}
