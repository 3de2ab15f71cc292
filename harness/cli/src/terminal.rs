//! Standard output and standard error.

use std::io::{BufWriter, IsTerminal, Write, stderr, stdout};

use anyhow::{Context, Result};
use cqldyno_reports::{ExportError, Look, Part, plain};

use crate::heading::OUTPUT;

/// Columns of sentences in a pipe.
const PIPE: usize = 80;

/// How much of a result is shown.
#[derive(Default, clap::Args)]
pub struct Detail {
    /// Show all columns
    #[arg(long, help_heading = OUTPUT)]
    wide: bool,
    /// Show notes: versions, settings, how it was judged
    #[arg(long, help_heading = OUTPUT)]
    notes: bool,
}

/// How the result looks on standard output: as wide as the terminal, or as COLUMNS says if there is none. It has colours only
/// on a terminal, and neither with NO_COLOR (no-color.org) nor with TERM=dumb.
pub fn look(detail: &Detail) -> Look {
    let width = width();
    Look {
        width: width.unwrap_or(PIPE),
        colour: has_colours(),
        all_columns: width.is_none(),
        wide: detail.wide,
        notes: detail.notes,
        chart: 0,
    }
}

pub fn is_shown() -> bool {
    stdout().is_terminal()
}

/// Columns of standard output; `None` if nothing limits its lines.
pub fn width() -> Option<usize> {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0)).or_else(columns)
}

/// Columns of what is listed: as many as sentences have in a pipe if nothing limits them.
pub fn columns() -> usize {
    width().unwrap_or(PIPE)
}

pub fn has_colours() -> bool {
    is_shown() && allows_colours()
}

pub fn print(text: &str) -> Result<()> {
    write(|out| Ok(out.write_all(text.as_bytes())?))
}

/// The parts as standard output shows them.
pub fn set(parts: &[Part]) -> String {
    cqldyno_reports::terminal(parts, look(&Detail::default()))
}

pub fn print_parts(parts: &[Part]) -> Result<()> {
    print(&set(parts))
}

/// The lines that belong to a name, indented: the first one stands beside it.
pub fn named(name: &str, lines: impl IntoIterator<Item = String>) -> Vec<(String, String)> {
    let names = std::iter::once(format!("  {name}")).chain(std::iter::repeat(String::new()));
    names.zip(lines.into_iter().map(|line| plain(&line))).collect()
}

pub fn write(put: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>) -> Result<()> {
    let mut out = BufWriter::new(stdout().lock());
    match put(&mut out).and_then(|()| Ok(out.flush()?)) {
        Err(ExportError::Write(error)) => Err(error).context("The result could not be written to standard output"),
        other => Ok(other?),
    }
}

/// Whether standard error is a terminal whose lines can be drawn again.
pub fn draws_progress() -> bool {
    stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns and lines of the terminal that shows progress.
pub fn size_of_progress() -> Option<(usize, usize)> {
    terminal_size::terminal_size_of(stderr()).map(|(width, height)| (width.0.into(), height.0.into()))
}

/// Whether the environment allows colours on a terminal.
pub fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Writes `sentence` to standard error on one line. A standard error that cannot be written does not stop the program.
pub fn say(sentence: &str) {
    let _ = writeln!(stderr(), "{}", plain(sentence));
}
