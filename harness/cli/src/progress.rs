//! Progress of a run on standard error: lines that are drawn again on a terminal, with the tables so far. Elsewhere one line per cell, or
//! per generation of all scenarios and arrangements, and one a minute at least.

mod builds;
mod canvas;
mod pace;
mod pulse;

use std::collections::BTreeSet;
use std::io::{Write, stderr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cqldyno_bench::{Building, CellStart, Observer, Outlook, SoFar, Stage};
use cqldyno_reports::{
    Analysis, Cell, Contender, LEAST_BLOCKS, Pass, cut, lasting, live, live_line, measure, percent, plain,
    three_digits, whole, wrap,
};

use self::builds::{Builds, Heard};
use self::canvas::Canvas;
use self::pace::Pace;
use self::pulse::Pulse;
use crate::terminal;

/// Narrower terminals have no room for a bar beside the words.
const LEAST_FOR_BARS: usize = 70;
const BAR: usize = 20;
/// The lines of a terminal that the tables so far leave to progress, and to the cursor.
const BELOW: usize = 4;
/// Drawing the tables may take one in so many parts of the time: their analysis takes longer with every generation.
const PART_FOR_TABLES: u32 = 100;

#[derive(Default)]
pub struct Progress {
    shown: Shown,
    /// Warnings that were printed although progress is quiet: each is printed once.
    warned: BTreeSet<String>,
    cell: Running,
    builds: Builds,
    /// Breaks a long silence.
    pulse: Option<Pulse>,
    watches: bool,
    /// The generation of which it was last said that it runs, and how many there will be.
    generation: u32,
    generations: u32,
    /// When the tables were last drawn, and how long that took.
    watched: Option<(Instant, Duration)>,
    /// When the run began, and the time that it was last said to take.
    promised: Option<(Instant, Duration)>,
}

#[derive(Default)]
enum Shown {
    #[default]
    Nothing,
    Lines,
    Bars(Bars),
}

/// The tables so far, the run, the cell and the last result.
#[derive(Default)]
struct Bars {
    canvas: Canvas,
    tables: Vec<String>,
    run: Bar,
    cell: Bar,
    last: String,
}

/// A line with how much is done of what.
#[derive(Default)]
struct Bar {
    done: u64,
    of: u64,
    message: String,
}

struct Running {
    /// `[7/90]`.
    number: String,
    /// Contender, scenario and arrangement.
    who: String,
    /// The same with its block or pass.
    what: String,
    began: Instant,
    /// Time for this cell and all later ones.
    left: Duration,
    /// Time for the later ones alone.
    behind: Duration,
    pace: Pace,
}

/// Prints lines beside the progress, from any thread.
#[derive(Clone)]
pub struct Voice {
    canvas: Option<Canvas>,
}

impl Voice {
    pub fn say(&self, line: &str) {
        let line = in_lines(line, terminal::size_of_progress().map(|(width, _)| width));
        match &self.canvas {
            // Standard error may be closed.
            None => drop(writeln!(stderr(), "{line}")),
            Some(canvas) => canvas.say(&line),
        }
    }

    /// Clears the lines that are drawn again.
    pub fn end(&self) {
        self.canvas.iter().for_each(Canvas::end);
    }
}

impl Progress {
    /// Lines that are drawn again if standard error `draws` them, else plain ones; nothing if `quiet`.
    pub fn new(quiet: bool, draws: bool) -> Progress {
        let shown = match (quiet, draws) {
            (true, _) => Shown::Nothing,
            (false, false) => Shown::Lines,
            (false, true) => Shown::Bars(Bars::default()),
        };
        Progress { shown, ..Progress::default() }
    }

    /// Shows the tables so far after each generation.
    pub fn watch(&mut self) {
        self.watches = true;
    }

    /// A line that stays, above those that are drawn again.
    pub fn say(&self, line: &str) {
        if !matches!(self.shown, Shown::Nothing) {
            self.voice().say(line);
            self.pulse.iter().for_each(Pulse::said);
        }
    }

    /// Says how long the run takes if that is no longer what was said.
    fn promise(&mut self, left: Duration) {
        let Some((began, promised)) = self.promised else { return };
        let total = began.elapsed() + left;
        if differs_much(total, promised) {
            let [all, said, left] = [total, promised, left].map(time);
            self.say(&format!("The run takes about {all} instead of {said}; about {left} left."));
            self.promised = Some((began, total));
        }
    }

    /// This goes on from now on; the beginning of a sentence.
    fn does(&mut self, what: String, since: Instant, left: Option<Duration>) {
        if matches!(self.shown, Shown::Lines) {
            let voice = self.voice();
            self.pulse.get_or_insert_with(|| Pulse::start(voice)).does(what, since, left);
        }
    }

    /// The cell that is about to run, where nothing else is shown of it.
    pub fn runs(&mut self, start: &CellStart<'_>) {
        let (number, what) = (number_of(start), doing(start));
        self.does(format!("{number} {}, {what}", place(start)), Instant::now(), Some(start.left));
    }

    /// Prints what the user must not miss, even if progress is quiet; then each sentence once.
    fn warn(&mut self, number: &str, sentence: String) {
        match self.shown {
            Shown::Nothing if self.warned.contains(&sentence) => {}
            Shown::Nothing => {
                self.voice().say(&sentence);
                self.warned.insert(sentence);
            }
            Shown::Lines | Shown::Bars(_) => self.say(format!("{number} {sentence}").trim_start()),
        }
    }

    /// Prints even if progress is quiet: answers to what the user did.
    pub fn voice(&self) -> Voice {
        match &self.shown {
            Shown::Bars(bars) => Voice { canvas: Some(bars.canvas.clone()) },
            Shown::Nothing | Shown::Lines => Voice { canvas: None },
        }
    }

    /// Clears the lines that are drawn again.
    pub fn end(&self) {
        self.pulse.iter().for_each(Pulse::rests);
        self.voice().end();
    }
}

/// Whether an estimate is another one: by more than a quarter and ten seconds.
fn differs_much(total: Duration, promised: Duration) -> bool {
    total.abs_diff(promised) > (promised / 4).max(Duration::from_secs(10))
}

impl Bars {
    fn draw(&self) {
        let width = terminal::size_of_progress().map_or(usize::MAX, |(width, _)| width);
        // The last result is in the tables.
        let (tables, last) = match self.tables.is_empty() {
            true => (&[][..], Some(self.last.clone())),
            false => (&self.tables[..], None),
        };
        let empty = (!tables.is_empty()).then(String::new);
        let bars = [self.run.line(width), self.cell.line(width)].into_iter().chain(last);
        let bars = bars.filter(|line| !line.is_empty());
        self.canvas.draw(tables.iter().cloned().chain(empty).chain(bars).map(|line| cut(&line, width)).collect());
    }
}

impl Bar {
    fn line(&self, width: usize) -> String {
        if width < LEAST_FOR_BARS || self.of == 0 {
            return self.message.clone();
        }
        let filled = (self.done.min(self.of) as u128 * BAR as u128 / u128::from(self.of)) as usize;
        format!("{}{} {}", "━".repeat(filled), "─".repeat(BAR - filled), self.message)
    }
}

impl Default for Running {
    fn default() -> Running {
        Running::new(String::new(), String::new(), "", Duration::ZERO, Duration::ZERO)
    }
}

impl Running {
    fn new(number: String, who: String, doing: &str, left: Duration, behind: Duration) -> Running {
        Running {
            number,
            what: format!("{who}, {doing}"),
            who,
            began: Instant::now(),
            left,
            behind,
            pace: Pace::default(),
        }
    }

    /// Time left now, from the cell's own pace if it has one, else from the estimate.
    fn left(&self, issued: u64, of: u64) -> Duration {
        let by_estimate = self.left.saturating_sub(self.began.elapsed()).max(self.behind);
        self.pace.left(issued, of).map_or(by_estimate, |cell| self.behind + cell)
    }
}

impl Observer for Progress {
    fn to_build(&mut self, labels: &[String], cached: usize) {
        self.builds.announce(labels.iter().map(|label| plain(label)));
        let workers = cqldyno_reports::count(labels.len() as u64, "worker");
        let there = if cached > 0 { format!(" The cache has {cached} more.") } else { String::new() };
        let all = time(self.builds.all());
        self.say(&format!("{workers} will be built first, in about {all}: {}.{there}", labels.join(", ")));
    }

    fn builds(&mut self, label: &str, building: Building) {
        let label = plain(label);
        let progress = match building {
            Building::Goes(progress) => progress,
            Building::Ends { well, lasted } => {
                self.pulse.iter().for_each(Pulse::rests);
                if self.builds.ended(&label, lasted) && well {
                    self.say(&format!("Built {label} in {}.", time(lasted)));
                }
                return;
            }
        };
        let Heard { since, done, of, doing, left, sentence } = self.builds.heard(&label, progress, Instant::now());
        sentence.into_iter().for_each(|sentence| self.say(&sentence));
        if let Shown::Bars(bars) = &mut self.shown {
            let left = left.map_or(String::new(), |left| format!(", about {} left", time(left)));
            bars.cell = Bar { done, of: of.max(1), message: format!("{doing}{left}") };
            bars.draw();
        }
        self.does(doing, since, left);
    }

    fn contender(&mut self, contender: &Contender) {
        if let Some(why) = &contender.unavailable {
            self.warn("", format!("{} is missing: {}", plain(&contender.label), plain(why)));
        }
    }

    fn starts(&mut self, outlook: &Outlook<'_>) {
        let Outlook { estimate, preparation, generations, plan, .. } = *outlook;
        let cells = cqldyno_reports::count(outlook.cells as u64, "cell");
        let generations = (generations > 0).then(|| {
            let [generations, rounds] = [(generations, "generation"), (plan.turns.rounds, "round")]
                .map(|(number, noun)| cqldyno_reports::count(number.into(), noun));
            let statements = cqldyno_reports::count(plan.statements(), "statement");
            format!("{generations} of {rounds} of {statements} of every scenario and arrangement")
        });
        let cells = Some(cells).filter(|_| generations.is_none() || outlook.cells > 0);
        let cells = generations.into_iter().chain(cells).collect::<Vec<_>>().join(" and ");
        let within = plan.within().map_or(String::new(), |time| {
            format!(
                " It stops after {}: nothing starts that would not end in time. One generation of everything runs in any case.",
                lasting(time)
            )
        });
        let until = plan.until.map_or(String::new(), |share| {
            format!(" From generation {LEAST_BLOCKS} on it ends once all intervals are within {} %.", percent(share))
        });
        let preparation = match preparation {
            Duration::ZERO => String::new(),
            first => format!(" The first {} start and warm up the server.", time(first)),
        };
        let most = if until.is_empty() { "" } else { "at most " };
        let about = format!("This takes {most}about {}, a rough guess before the first round", time(estimate));
        self.say(&format!("{about}: {cells}.{preparation}{until}{within}"));
        self.promised = Some((Instant::now(), estimate));
        if let Shown::Bars(bars) = &mut self.shown {
            bars.run.message = format!("{cells}, about {} left", time(estimate));
            bars.draw();
        }
    }

    fn prepares(&mut self, sentence: &str) {
        self.say(&plain(sentence));
        self.does(plain(sentence).trim_end_matches(['.', ' ']).to_owned(), Instant::now(), None);
        if let Shown::Bars(bars) = &mut self.shown {
            bars.cell.message = plain(sentence);
            bars.draw();
        }
    }

    fn leaves(&mut self, sentence: &str) {
        self.warn("", plain(sentence));
    }

    fn says(&mut self, sentence: &str) {
        self.say(&plain(sentence));
    }

    fn resumes(&mut self, there: &[Cell], dropped: Option<&str>) {
        dropped.into_iter().for_each(|sentence| self.say(&plain(sentence)));
        let turns = there.iter().filter(|cell| cell.round.is_some()).count();
        let cells = there.len() - turns;
        let said = [(turns, "turn"), (cells, "cell")];
        let said = said.into_iter().filter(|(number, what)| *number > 0 || *what == "cell" && turns == 0);
        let said: Vec<String> = said.map(|(number, what)| cqldyno_reports::count(number as u64, what)).collect();
        let are = if there.len() == 1 { "is" } else { "are" };
        self.say(&format!("{} {are} there already.", said.join(" and ")));
    }

    fn cell_starts(&mut self, start: &CellStart<'_>) {
        let (number, place, what) = (number_of(start), place(start), doing(start));
        let is_next = start.label.is_empty() && start.block != self.generation;
        if is_next && !self.watches && matches!(self.shown, Shown::Lines) {
            self.say(&format!("{number} generation {}; about {} left", start.block, time(start.left)));
            self.generation = start.block;
        }
        self.promise(start.left);
        self.runs(start);
        self.cell = Running::new(number, place, &what, start.left, start.behind);
        let generations = self.generations.max(start.block);
        if let Shown::Bars(bars) = &mut self.shown {
            let left = time(start.left);
            bars.run.of = start.of as u64;
            bars.run.done = start.number.saturating_sub(1) as u64;
            (bars.run.message, bars.cell) = match start.label.is_empty() {
                true => (
                    format!("generation {} of {generations}, about {left} left: {}", start.block, self.cell.who),
                    Bar::default(),
                ),
                false => (
                    format!("{} of {}, about {left} left", start.number, start.of),
                    Bar { done: 0, of: start.count.max(1), message: self.cell.what.clone() },
                ),
            };
            bars.draw();
        }
    }

    fn stage(&mut self, stage: Stage) {
        let Shown::Bars(bars) = &mut self.shown else { return };
        // In a generation nothing is drawn, because drawing would take time from a turn.
        if bars.cell.message.is_empty() {
            return;
        }
        let is_window = matches!(stage, Stage::Window { .. });
        let (done, of, doing) = match stage {
            Stage::Server => (0, 1, "starting the server".to_owned()),
            Stage::Loading { rows, of } => (rows, of, format!("loading {} of {} rows", number(rows), number(of))),
            Stage::Connecting => (0, 1, "connecting and warming up".to_owned()),
            Stage::Window { issued, of } => {
                self.cell.pace.add(self.cell.began.elapsed(), issued);
                let now = self.cell.pace.per_second();
                let now = now.map(|rate| format!("{} statements/s now, ", whole(rate))).unwrap_or_default();
                (issued, of, format!("{now}{} %", issued * 100 / of.max(1)))
            }
        };
        bars.cell = Bar { done, of: of.max(1), message: format!("{doing}: {}", self.cell.what) };
        let left = match stage {
            Stage::Window { issued, of } => self.cell.left(issued, of),
            _ => self.cell.left(0, 0),
        };
        bars.run.message = format!("{} of {}, about {} left", bars.run.done + 1, bars.run.of, time(left));
        if !is_window || bars.canvas.is_due() {
            bars.draw();
        }
    }

    fn generation_ended(&mut self, so_far: &SoFar<'_>) {
        let SoFar { run, cells, generation, of, is_whole, left } = *so_far;
        self.generations = of;
        if !self.watches {
            return;
        }
        let began = Instant::now();
        let is_due = self.watched.is_none_or(|(at, took)| at.elapsed() >= took.saturating_mul(PART_FOR_TABLES));
        match &mut self.shown {
            Shown::Bars(bars) if is_due && (is_whole || generation == 1) => {
                let (width, height) = terminal::size_of_progress().unwrap_or((usize::MAX, usize::MAX));
                bars.tables = live(&Analysis::watched(run, cells), width, height.saturating_sub(BELOW));
                bars.draw();
            }
            Shown::Lines if is_whole => {
                let figures = if is_due { live_line(&Analysis::watched(run, cells)) } else { String::new() };
                let left = if left.is_zero() { String::new() } else { format!(", {} left", time(left)) };
                self.say(&format!("generation {generation} of {of}{figures}{left}"));
            }
            _ => return,
        }
        self.watched = Some((Instant::now(), began.elapsed()));
    }

    fn cell_ended(&mut self, cell: &Cell, left: Duration) {
        let said = match (&cell.failed, &cell.void) {
            (Some(why), _) => format!("failed: {}", plain(why)),
            (None, Some(why)) => format!("void: {}", plain(why)),
            (None, None) => figures(cell),
        };
        let said = said.trim_end_matches('.');
        let Running { number, what, who, .. } = &self.cell;
        // In a generation it is one of several.
        let of = |what: &str| match cell.round {
            None => what.to_owned(),
            Some(_) => format!("{} {what}", plain(&cell.label)),
        };
        let (what, who) = (of(what), of(who));
        let line = match &mut self.shown {
            Shown::Bars(bars) => {
                // The result comes first: a narrow line may be cut.
                let last = if cell.counts() { figure(cell).unwrap_or("done".to_owned()) } else { said.to_owned() };
                bars.last = format!("last: {last}: {what}");
                bars.run.done += u64::from(cell.round.is_none());
                format!("{what}: {said}")
            }
            Shown::Lines => format!("{what}: {said}; about {} left", time(left)),
            Shown::Nothing => format!("{who}: {said}."),
        };
        let number = number.clone();
        match (&self.shown, cell.counts()) {
            // Failures stay; other results are in the tables.
            (Shown::Bars(_) | Shown::Nothing, true) => {}
            (Shown::Lines, true) if cell.round.is_some() => {}
            (Shown::Lines, _) => self.say(&format!("{number} {line}")),
            (_, false) => self.warn(&number, line),
        }
    }
}

/// `[7/90]`.
fn number_of(start: &CellStart<'_>) -> String {
    let width = start.of.to_string().len();
    format!("[{:>width$}/{}]", start.number, start.of)
}

/// Contender, scenario and arrangement.
fn place(start: &CellStart<'_>) -> String {
    [start.label, start.scenario, start.arrangement].map(plain).join(" ").trim_start().to_owned()
}

/// Its block or pass.
fn doing(start: &CellStart<'_>) -> String {
    match start.pass {
        Pass::Timing => {
            let attempt = if start.attempt > 1 { format!(", attempt {}", start.attempt) } else { String::new() };
            format!("generation {}{attempt}", start.block)
        }
        _ => start.doing.to_owned(),
    }
}

/// The figure that the cell's pass is about.
fn figure(cell: &Cell) -> Option<String> {
    let (id, what) = cqldyno_bench::headline(cell.pass);
    match cell.measures.get(id)?.reason() {
        None => Some(format!("{} {what}", three_digits(cell.get(id)?))),
        Some(why) => Some(plain(why.split_inclusive(". ").next()?).trim().to_owned()),
    }
}

fn figures(cell: &Cell) -> String {
    let rate = cell.get(measure::THROUGHPUT).filter(|_| cell.pass == Pass::Timing);
    let rate = rate.map(|rate| format!("{} statements/s", whole(rate)));
    let parts: Vec<String> = rate.into_iter().chain(figure(cell)).collect();
    if parts.is_empty() { "done".to_owned() } else { parts.join(", ") }
}

/// Wrapped between words; a text with a longer path stays whole, so that the path can be copied.
fn in_lines(text: &str, width: Option<usize>) -> String {
    match width {
        Some(width) if text.split(' ').all(|word| word.len() + 2 <= width) => wrap(text, width, 2),
        _ => text.to_owned(),
    }
}

fn number(number: u64) -> String {
    whole(number as f64)
}

/// A thread that panicked leaves nothing half done in such a state.
fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A duration in the unit that fits.
pub fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 1.5 => "a second".to_owned(),
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
        assert_eq!(time(Duration::from_millis(1_400)), "a second");
        assert_eq!(time(Duration::from_millis(1_600)), "2 s");
        assert_eq!(time(Duration::from_secs(45)), "45 s");
        assert_eq!(time(Duration::from_secs(140)), "2.3 min");
        assert_eq!(time(Duration::from_secs(2_400)), "40 min");
        assert_eq!(time(Duration::from_secs(9_000)), "2.5 h");
    }

    #[test]
    fn an_estimate_is_another_one_if_it_differs_by_a_quarter_and_ten_seconds() {
        let differs = |total, promised| differs_much(Duration::from_secs(total), Duration::from_secs(promised));
        assert!(differs(51, 40) && differs(29, 40) && differs(126, 100) && differs(11, 0));
        assert!(!differs(50, 40) && !differs(125, 100) && !differs(75, 100) && !differs(9, 1));
    }

    #[test]
    fn sentences_are_broken_between_words_on_a_terminal_and_paths_never() {
        let text = "The run is kept in some/folder.";
        assert_eq!(in_lines(text, Some(24)), "The run is kept in\n  some/folder.");
        assert_eq!(in_lines(text, Some(12)), text);
        assert_eq!(in_lines(text, None), text);
    }

    #[test]
    fn the_time_left_is_never_less_than_what_the_cells_behind_take() {
        let hour = Duration::from_secs(3_600);
        let mut cell = Running::new(String::new(), String::new(), "", hour * 2, hour);
        assert!(cell.left(0, 0) > hour && cell.left(0, 0) <= hour * 2);
        cell.left = Duration::ZERO;
        assert_eq!(cell.left(0, 0), hour);
        cell.pace.add(Duration::from_secs(10), 0);
        cell.pace.add(Duration::from_secs(20), 1_000);
        assert_eq!(cell.left(1_000, 3_000), hour + Duration::from_secs(20));
    }
}
