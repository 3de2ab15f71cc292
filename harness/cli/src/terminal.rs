//! Where the program writes to.

use std::io::{IsTerminal, stderr, stdout};

use cqldyno_reports::Look;

/// Columns where there is no terminal to ask.
const WIDTH_OF_A_FILE: usize = 160;

/// How the result is to look on standard output: as wide as the terminal, or as COLUMNS says where there is none; in colours
/// only on a terminal, and not with NO_COLOR (no-color.org) or TERM=dumb.
pub fn look() -> Look {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    let terminal = || terminal_size::terminal_size_of(stdout()).map(|(width, _)| usize::from(width.0));
    Look {
        width: terminal().or_else(columns).unwrap_or(WIDTH_OF_A_FILE),
        colour: stdout().is_terminal() && allows_colours(),
    }
}

/// Whether standard error is a terminal on which lines may be drawn again.
pub fn draws_progress() -> bool {
    stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whether the environment allows colours on a terminal.
pub fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
