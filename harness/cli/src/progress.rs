//! What a run says on standard error while it runs: bars on a terminal, a line a cell elsewhere.

use std::io::{Write, stderr};
use std::time::Duration;

use cqldyno_bench::{CellStart, Observer, Stage};
use cqldyno_reports::{Cell, Contender, Pass, measure, plain, three_digits, whole};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Shows a run as it goes on.
pub struct Progress {
    shown: Shown,
    /// Where the run is, to name what has ended.
    place: String,
}

enum Shown {
    Nothing,
    Lines,
    Bars { all: MultiProgress, cells: ProgressBar, cell: ProgressBar },
}

impl Progress {
    /// Bars where standard error can draw them, else lines; nothing when `quiet`.
    pub fn new(quiet: bool, draws: bool) -> Progress {
        let shown = match (quiet, draws) {
            (true, _) => Shown::Nothing,
            (false, false) => Shown::Lines,
            (false, true) => {
                let all = MultiProgress::new();
                let cells = all.add(ProgressBar::new(0));
                let cell = all.add(ProgressBar::new(0));
                cells.set_style(style("{bar:20} {wide_msg}"));
                cell.set_style(style("{bar:20} {wide_msg}"));
                Shown::Bars { all, cells, cell }
            }
        };
        Progress { shown, place: String::new() }
    }

    /// A line that stays, above the bars.
    pub fn say(&self, line: &str) {
        match &self.shown {
            Shown::Nothing => {}
            // Nobody is left to tell when standard error is closed.
            Shown::Lines => drop(writeln!(stderr(), "{line}")),
            Shown::Bars { all, .. } => drop(all.println(line)),
        }
    }

    /// Takes the bars away.
    pub fn end(&self) {
        if let Shown::Bars { cells, cell, .. } = &self.shown {
            cell.finish_and_clear();
            cells.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that cannot be read would leave the default bar, which is a bar as well.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─")
}

impl Observer for Progress {
    fn contender(&mut self, contender: &Contender) {
        if let Some(why) = &contender.unavailable {
            self.say(&format!("{} is missing: {}", plain(&contender.label), plain(why)));
        }
    }

    fn starts(&mut self, cells: usize, estimate: Duration, repeats: Duration) {
        let repeats = match repeats {
            Duration::ZERO => String::new(),
            most => format!(
                " Blocks that others disturb are run again, which takes at most half as long again, about {}.",
                time(most)
            ),
        };
        self.say(&format!("This takes about {}: {cells} cells.{repeats}", time(estimate)));
        if let Shown::Bars { cells: bar, .. } = &self.shown {
            bar.set_length(cells as u64);
            bar.set_message(format!("about {} left, {cells} cells", time(estimate)));
        }
    }

    fn resumes(&mut self, cells: usize, dropped: Option<&str>) {
        dropped.into_iter().for_each(|sentence| self.say(&plain(sentence)));
        self.say(&format!("{cells} cells are there already."));
    }

    fn repeats(&mut self, sentence: &str) {
        self.say(&plain(sentence));
    }

    fn cell_starts(&mut self, start: &CellStart<'_>) {
        let what = match start.pass {
            Pass::Timing if start.attempt > 1 => format!("block {}, attempt {}", start.block, start.attempt),
            Pass::Timing => format!("block {}", start.block),
            other => cqldyno_bench::doing(other).to_owned(),
        };
        let width = start.of.to_string().len();
        self.place = format!(
            "[{:>width$}/{}] {} {} {}, {what}",
            start.number,
            start.of,
            plain(start.label),
            plain(start.scenario),
            plain(start.arrangement)
        );
        if let Shown::Bars { cells, cell, .. } = &self.shown {
            cells.set_length(start.of as u64);
            cells.set_position(start.number.saturating_sub(1) as u64);
            cells.set_message(format!("about {} left, cell {} of {}", time(start.left), start.number, start.of));
            cell.set_length(start.count);
            cell.set_position(0);
            cell.set_message(self.place.clone());
        }
    }

    fn stage(&mut self, stage: Stage) {
        let Shown::Bars { cell, .. } = &self.shown else { return };
        let (at, of, doing) = match stage {
            Stage::Server => (0, 1, "starting the server".to_owned()),
            Stage::Loading { rows, of } => (rows, of, format!("loading {} of {} rows", number(rows), number(of))),
            Stage::Connecting => (0, 1, "connecting and warming up".to_owned()),
            Stage::Window { issued, of } => (issued, of, format!("{} of {} statements", number(issued), number(of))),
        };
        cell.set_length(of.max(1));
        cell.set_position(at);
        cell.set_message(format!("{doing}: {}", self.place));
    }

    fn cell_ended(&mut self, cell: &Cell, left: Duration) {
        let said = match (&cell.failed, &cell.void) {
            (Some(why), _) => format!("failed: {}", plain(why)),
            (None, Some(why)) => format!("void: {}", plain(why)),
            (None, None) => figures(cell),
        };
        self.say(&format!("{}: {}; about {} left", self.place, said.trim_end_matches('.'), time(left)));
        if let Shown::Bars { cells, .. } = &self.shown {
            cells.inc(1);
        }
    }
}

fn figures(cell: &Cell) -> String {
    let of = |id: &str, format: fn(f64) -> String| cell.get(id).map(format);
    let value =
        cqldyno_bench::headline(cell.pass).and_then(|(id, what)| Some(format!("{} {what}", of(id, three_digits)?)));
    let rate = of(measure::THROUGHPUT, whole).filter(|_| cell.pass == Pass::Timing);
    let parts: Vec<String> = rate.map(|rate| format!("{rate} statements/s")).into_iter().chain(value).collect();
    if parts.is_empty() { "done".to_owned() } else { parts.join(", ") }
}

fn number(number: u64) -> String {
    whole(number as f64)
}

/// A duration as a reader says it.
pub fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 1.0 => "a second".to_owned(),
        seconds if seconds < 99.5 => format!("{seconds:.0} s"),
        seconds if seconds < 595.0 => format!("{:.1} min", seconds / 60.0),
        seconds if seconds < 5_400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_the_unit_that_fits() {
        assert_eq!(time(Duration::from_millis(300)), "a second");
        assert_eq!(time(Duration::from_secs(45)), "45 s");
        assert_eq!(time(Duration::from_secs(140)), "2.3 min");
        assert_eq!(time(Duration::from_secs(2_400)), "40 min");
        assert_eq!(time(Duration::from_secs(9_000)), "2.5 h");
    }
}
