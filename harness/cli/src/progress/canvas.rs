//! Lines at the end of a terminal that are drawn again in place.

use std::io::{Write, stderr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cqldyno_reports::width_of;

use super::locked;
use crate::terminal;

/// The shortest time between two drawings of what changes all the time: drawing takes time from the cores that are measured.
const SELDOM: Duration = Duration::from_millis(200);

/// The lines, shared by all threads that print beside them.
#[derive(Clone)]
pub struct Canvas(Arc<Mutex<State>>);

struct State {
    out: Box<dyn Write + Send>,
    size: fn() -> Option<(usize, usize)>,
    lines: Vec<String>,
    /// The widths of the lines on the terminal.
    drawn: Vec<usize>,
    at: Option<Instant>,
    ended: bool,
}

impl Default for Canvas {
    /// On standard error.
    fn default() -> Canvas {
        Canvas::on(Box::new(stderr()), terminal::size_of_progress)
    }
}

impl Canvas {
    fn on(out: Box<dyn Write + Send>, size: fn() -> Option<(usize, usize)>) -> Canvas {
        let (lines, drawn) = Default::default();
        Canvas(Arc::new(Mutex::new(State { out, size, lines, drawn, at: None, ended: false })))
    }

    /// Draws `lines`, none of which may be wider than the terminal, in the place of those before.
    pub fn draw(&self, lines: Vec<String>) {
        let mut state = locked(&self.0);
        state.lines = lines;
        let text = state.erased() + &state.set();
        state.write(&text);
    }

    /// Whether enough time has passed to draw again what changes all the time.
    pub fn is_due(&self) -> bool {
        locked(&self.0).at.is_none_or(|at| at.elapsed() >= SELDOM)
    }

    /// Prints a line that stays, above the others.
    pub fn say(&self, line: &str) {
        let mut state = locked(&self.0);
        let text = format!("{}{line}\n{}", state.erased(), state.set());
        state.write(&text);
    }

    /// Removes the lines; from now on only those that stay are printed.
    pub fn end(&self) {
        let mut state = locked(&self.0);
        state.ended = true;
        let text = state.erased();
        state.write(&text);
    }
}

impl State {
    /// What erases the lines on the terminal. One that became narrower has wrapped them, and the first of them may have left it.
    fn erased(&mut self) -> String {
        let (width, height) = (self.size)().unwrap_or((usize::MAX, usize::MAX));
        let rows: usize = self.drawn.drain(..).map(|line| line.div_ceil(width.max(1)).max(1)).sum();
        match rows.min(height.saturating_sub(1)) {
            0 => String::new(),
            rows => format!("\r\u{1b}[{rows}A\u{1b}[J"),
        }
    }

    /// The lines, as many as the terminal has room for.
    fn set(&mut self) -> String {
        let height = (self.size)().map_or(usize::MAX, |(_, height)| height);
        let from = self.lines.len().saturating_sub(height.saturating_sub(1));
        let shown = if self.ended { &[] } else { &self.lines[from..] };
        self.drawn = shown.iter().map(|line| width_of(line)).collect();
        shown.iter().map(|line| format!("{line}\n")).collect()
    }

    fn write(&mut self, text: &str) {
        // Standard error may be closed.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
        self.at = Some(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was written.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn taken(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
        }
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn lines_are_drawn_in_the_place_of_those_before_and_what_stays_stands_above() {
        let written = Written::default();
        let canvas = Canvas::on(Box::new(written.clone()), || Some((20, 10)));
        canvas.draw(lines(&["a", "b"]));
        assert_eq!(written.taken(), "a\nb\n");
        canvas.draw(lines(&["c"]));
        assert_eq!(written.taken(), "\r\u{1b}[2A\u{1b}[Jc\n");
        canvas.say("stays");
        assert_eq!(written.taken(), "\r\u{1b}[1A\u{1b}[Jstays\nc\n");
        canvas.end();
        assert_eq!(written.taken(), "\r\u{1b}[1A\u{1b}[J");
        canvas.say("at last");
        canvas.draw(lines(&["d"]));
        assert_eq!(written.taken(), "at last\n", "nothing is left behind");
    }

    #[test]
    fn lines_that_a_narrower_terminal_has_wrapped_are_erased_with_all_their_rows() {
        let written = Written::default();
        let canvas = Canvas::on(Box::new(written.clone()), || Some((4, 10)));
        canvas.draw(lines(&["123456789", "", "1234"]));
        written.taken();
        canvas.end();
        assert_eq!(written.taken(), "\r\u{1b}[5A\u{1b}[J");
    }

    #[test]
    fn a_low_terminal_shows_the_last_lines() {
        let written = Written::default();
        let canvas = Canvas::on(Box::new(written.clone()), || Some((20, 3)));
        canvas.draw(lines(&["a", "b", "c", "d"]));
        assert_eq!(written.taken(), "c\nd\n");
        canvas.end();
        assert_eq!(written.taken(), "\r\u{1b}[2A\u{1b}[J");
    }
}
