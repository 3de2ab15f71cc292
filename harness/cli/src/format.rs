//! The formats of a result: one per exporter.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use cqldyno_reports::{Analysis, EXPORTERS, Exporter, Look, exporter, plain, wrap};

use crate::heading::OUTPUT;
use crate::outcome::usage;
use crate::terminal::{self, Detail};

pub type Format = &'static dyn Exporter;

/// How a result is shown.
#[derive(clap::Args)]
pub struct Shown {
    #[command(flatten)]
    pub detail: Detail,
    #[arg(long, value_name = "FORMAT", value_parser = formats(), default_value = "table", help_heading = OUTPUT)]
    #[arg(help = names(), hide_possible_values = true)]
    pub format: Format,
}

/// What `--format` takes.
pub fn formats() -> impl TypedValueParser<Value = Format> {
    let named = EXPORTERS.iter().map(|one| PossibleValue::new(one.name()).help(one.about()));
    PossibleValuesParser::new(named).map(|name| exporter(&name).unwrap_or(EXPORTERS[0]))
}

pub fn page(folder: &Path) -> PathBuf {
    folder.join(exporter("html").map_or("", |html| html.file()))
}

/// Prints the result in a format. A table ends with what shows more: flags, and the page in the run's folder.
///
/// # Errors
/// When the format has nothing of such a run, or the result cannot be made or written.
pub fn print(format: Format, analysis: &Analysis, look: Look, folder: &Path) -> Result<()> {
    has(format, analysis)?;
    let page = page(folder);
    let page = page.is_file().then(|| page.display().to_string());
    let last = if is_table(format) { pointers(look, page.as_deref()) } else { String::new() };
    terminal::write(|out| {
        format.write(analysis, look, out)?;
        Ok(out.write_all(last.as_bytes())?)
    })
}

/// # Errors
/// When the format has nothing to show of the run.
pub fn has(format: Format, analysis: &Analysis) -> Result<()> {
    match format.lacks(analysis) {
        Some(why) => Err(usage(format!("the run has nothing to show as `{}`: {why}", format.name()))),
        None => Ok(()),
    }
}

/// The last line of a table, or two if they are long: what shows more. Empty if `look` shows everything and there is no page.
fn pointers(look: Look, page: Option<&str>) -> String {
    let flags = [(look.wide, "--wide all columns"), (look.notes, "--notes how it was measured")];
    let flags: Vec<&str> = flags.iter().filter(|(is_shown, _)| !is_shown).map(|(_, flag)| *flag).collect();
    let (flags, page) = (flags.join(" | "), page.map(|page| format!("page: {}", plain(page))).unwrap_or_default());
    let between = match flags.len() + page.len() + 3 {
        _ if flags.is_empty() || page.is_empty() => "",
        length if length > look.width => "\n",
        _ => " | ",
    };
    match format!("{flags}{between}{page}") {
        line if line.is_empty() => line,
        line if look.colour => format!("\u{1b}[2m{line}\u{1b}[0m\n"),
        line => line + "\n",
    }
}

/// Whether the format is the one for terminals, the default.
pub fn is_table(format: Format) -> bool {
    format.name() == EXPORTERS[0].name()
}

fn names() -> String {
    EXPORTERS.map(|one| one.name()).join(", ")
}

pub fn explained() -> String {
    let line = |one: Format| format!("  {:<9} {}\n", one.name(), wrap(one.about(), 68, 12));
    format!("Formats:\n{}", EXPORTERS.map(line).concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_what_shows_more_and_only_that() {
        let look = Look { width: 80, all_columns: false, wide: false, notes: false, ..Look::default() };
        let page = Some("runs/1/page.html");
        let flags = "--wide all columns | --notes how it was measured";
        assert_eq!(pointers(look, page), format!("{flags} | page: runs/1/page.html\n"));
        assert_eq!(pointers(Look { width: 70, ..look }, page), format!("{flags}\npage: runs/1/page.html\n"));
        assert_eq!(pointers(Look { wide: true, ..look }, None), "--notes how it was measured\n");
        assert_eq!(pointers(Look::default(), None), "");
        assert!(pointers(Look { colour: true, ..look }, page).starts_with("\u{1b}[2m--wide"));
    }

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
