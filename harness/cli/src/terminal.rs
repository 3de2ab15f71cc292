//! Where the program writes to.

use std::io::{IsTerminal, Write, stderr, stdout};

use cqldyno_reports::{Look, plain};

/// How the result is to look on standard output: as wide as the terminal, or as COLUMNS says where there is none; in colours
/// only on a terminal, and not with NO_COLOR (no-color.org) or TERM=dumb. What goes into a file keeps all of its columns.
pub fn look() -> Look {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = || terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0));
    let width = terminal().or_else(columns);
    Look {
        width: width.unwrap_or(80),
        colour: stdout().is_terminal() && allows_colours(),
        all_columns: width.is_none(),
        wide: false,
        notes: false,
    }
}

/// Whether standard output is a terminal.
pub fn is_shown() -> bool {
    stdout().is_terminal()
}

/// Whether standard error is a terminal on which lines may be drawn again.
pub fn draws_progress() -> bool {
    stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of the terminal on which progress is drawn.
pub fn width_of_progress() -> Option<usize> {
    terminal_size::terminal_size_of(stderr()).map(|(width, _)| usize::from(width.0))
}

/// Whether the environment allows colours on a terminal.
pub fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Says `sentence` on standard error, on one line, whatever it holds; a standard error that cannot be written is no reason to stop.
pub fn say(sentence: &str) {
    let _ = writeln!(stderr(), "{}", plain(sentence));
}
