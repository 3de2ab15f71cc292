//! The seam between the bench, which runs a cell, and the meters.

use std::collections::BTreeMap;
use std::mem::replace;
use std::net::SocketAddr;
use std::ops::Add;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cqldyno_protocol::{Allocations, End, Steady};

use crate::{BadDay, Better, Declaration, Latencies, Pass, Skew, Unit};

/// What to measure, whether this machine allows it, and how to attach to a cell.
pub struct Meter {
    /// Its name for `doctor`, in words.
    pub name: &'static str,
    /// Its measures.
    pub measures: &'static [Declaration],
    /// What it needs of the machine, in words.
    pub needs: &'static str,
    /// What it adds to the worker's work in the window, in words; `None` if that is nothing.
    pub costs: Option<&'static str>,
    /// Whether it is read at the edges of the idle span after a window, and not at those of the window.
    pub over_idle: bool,
    probe: fn() -> Probe,
    attach: Attach,
    /// How it attaches where the worker is behind a loader, if it says anything there that the loader does not.
    elsewhere: Option<Attach>,
}

type Attach = fn(&Subject) -> Box<dyn Attachment>;

impl Meter {
    /// A meter that needs and costs nothing.
    pub(crate) const fn new(name: &'static str, measures: &'static [Declaration], attach: Attach) -> Meter {
        let probe: fn() -> Probe = || Ok(());
        Meter {
            name,
            measures,
            needs: "nothing",
            costs: None,
            over_idle: false,
            probe,
            attach,
            elsewhere: Some(attach),
        }
    }

    /// It reads the worker's process, so where that is behind a loader the loader alone has it.
    pub(crate) const fn at_worker(self) -> Meter {
        Meter { elsewhere: None, ..self }
    }

    pub(crate) const fn elsewhere(self, attach: Attach) -> Meter {
        Meter { elsewhere: Some(attach), ..self }
    }

    pub(crate) const fn needs(self, needs: &'static str) -> Meter {
        Meter { needs, ..self }
    }

    pub(crate) const fn costs(self, costs: &'static str) -> Meter {
        Meter { costs: Some(costs), ..self }
    }

    pub(crate) const fn over_idle(self) -> Meter {
        Meter { over_idle: true, ..self }
    }

    pub(crate) const fn probed(self, probe: fn() -> Probe) -> Meter {
        Meter { probe, ..self }
    }

    /// Tries whether this machine allows it.
    ///
    /// # Errors
    /// Why not, with what to change.
    pub fn probe(&self) -> Probe {
        (self.probe)()
    }

    /// Attaches to the worker's process before it starts the worker's program. This never fails: an attachment that cannot read
    /// gives readings with the reason.
    pub fn attach(&self, subject: &Subject) -> Box<dyn Attachment> {
        (self.attach)(subject)
    }

    /// The same for workers behind loaders, of which the window has the sums; `None` if the loaders have all of it.
    pub fn attach_elsewhere(&self, subject: &Subject) -> Option<Box<dyn Attachment>> {
        self.elsewhere.map(|attach| attach(subject))
    }
}

/// A measure of the timing pass.
pub(crate) const fn timed(id: &'static str, unit: Unit, better: Better, about: &'static str) -> Declaration {
    Declaration::new(Pass::Timing, id, unit, better, about)
}

/// A measure of the timing pass of which less is better.
pub(crate) const fn lower(id: &'static str, unit: Unit, about: &'static str) -> Declaration {
    timed(id, unit, Better::Lower, about)
}

/// Whether this machine allows a meter.
pub type Probe = Result<(), Refusal>;

/// Why a meter gives no figure: the same in `doctor` and in every result, where it stands in place of the figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}. {remedy}")]
pub struct Refusal {
    /// What cannot be done, as the beginning of a sentence.
    pub what: &'static str,
    /// Why not, as the rest of that sentence without its full stop.
    pub why: String,
    /// What to change: full sentences, with the command if there is one.
    pub remedy: String,
}

impl Refusal {
    pub(crate) fn new(what: &'static str, why: impl ToString, remedy: impl Into<String>) -> Refusal {
        let why = why.to_string().trim_end_matches('.').to_owned();
        Refusal { what, why, remedy: remedy.into() }
    }

    /// What cannot be done and why: a full sentence.
    pub fn sentence(&self) -> String {
        format!("{}: {}.", self.what, self.why)
    }
}

/// A meter at one cell, which has one window or several, one after the other.
pub trait Attachment: Send {
    /// Just before the worker starts a window.
    fn at_go(&mut self) {}

    /// At least every 100 ms in the window, for a few microseconds.
    fn meanwhile(&mut self) {}

    /// Just after the window, while the worker waits: what was seen of this window alone.
    fn at_end(&mut self) -> Seen;
}

/// What a meter saw of one window: its readings, after the worker has reported its counts and other windows may have passed.
pub type Seen = Box<dyn FnOnce(&Window) -> Outcome + Send>;

/// The processes of one cell.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The worker's process id.
    pub worker: i32,
    /// The process ids of the server, one per process, or the sentence that says why there is none to measure.
    pub server: Result<Vec<i32>, String>,
    /// The cores that the processes of the cell may use, by the kernel's numbers.
    pub cores: Vec<usize>,
    /// A folder of the cell's own, empty before the worker starts and gone afterwards.
    pub scratch: PathBuf,
    /// The nodes that the worker connects to; empty if it sends nothing.
    pub nodes: Vec<SocketAddr>,
}

/// The account of the window by worker and server: differences between its edges.
#[derive(Clone, Debug)]
pub struct Window {
    /// The edges as the worker saw them.
    pub end: End,
    /// Statements issued.
    pub issued: u64,
    /// Statements answered as the scenario says; every rate divides by these.
    pub verified: u64,
    /// Statements answered with an error or with wrong rows.
    pub errors: u64,
    /// Rows of the statements issued; `None` if all of these are EXECUTEs.
    pub rows: Option<u64>,
    /// Statements issued while fewer than 99 % of the slots were at work; `None` if the worker does not count them.
    pub below_concurrency: Option<u64>,
    /// How often the statements' futures were polled; `None` if the worker does not count it.
    pub polls: Option<u64>,
    /// The worker's own records of allocations; `None` if it has none.
    pub allocations: Option<Allocations>,
    /// Sessions that were opened for one statement each.
    pub sessions: u64,
    /// Connections of these sessions that the server still had open 5 s after the window; `None` if nobody knows.
    pub left_open: Option<u64>,
    /// The server's side, or the sentence that says why it is not known.
    pub server: Result<ServerWindow, String>,
    /// Data connections of the worker, or the sentence that says why they could not be counted.
    pub connections: Result<u64, String>,
    /// How long answers took; `None` if the worker does not say.
    pub latencies: Option<Latencies>,
    /// What the worker did in the idle span after the window, else while it was asleep before; `None` if it had neither.
    pub asleep: Option<Asleep>,
    /// CPU time of the worker just after the window, which belongs to its statements, microseconds.
    pub tail_us: u64,
    /// What became of single statements; `None` but on a bad day.
    pub bad_day: Option<BadDay>,
    /// How far apart several loaders began and ended; `None` for one worker.
    pub skew: Option<Skew>,
}

/// What a worker did while it had nothing to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asleep {
    /// Its CPU time, microseconds.
    pub cpu_us: u64,
    /// How long it waited.
    pub lasted: Duration,
}

impl Asleep {
    /// The share of a core that it used; `None` if it did not wait.
    pub fn share(self) -> Option<f64> {
        (!self.lasted.is_zero()).then(|| self.cpu_us as f64 / 1e6 / self.lasted.as_secs_f64())
    }
}

impl Add for Asleep {
    type Output = Asleep;

    fn add(self, other: Asleep) -> Asleep {
        Asleep { cpu_us: self.cpu_us + other.cpu_us, lasted: self.lasted + other.lasted }
    }
}

/// The server's own account of the window.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerWindow {
    /// EXECUTEs of the scenario's statements.
    pub executes: u64,
    /// Requests of any kind.
    pub requests: u64,
    /// Connections that were accepted, those of the idle span after the window included.
    pub opened: u64,
    /// Bytes of all requests, and of all answers and events, before they are encrypted.
    pub bytes: [u64; 2],
    /// The share of the scenario's EXECUTEs that came to the node that got most of them; `None` with one node, or without EXECUTEs.
    pub busiest_share: Option<f64>,
    /// Requests other than the scenario's EXECUTEs: the driver's control traffic.
    pub control_requests: u64,
    /// PREPAREs of the statements that the scenario prepares; of any text, and those of the idle span included, if it prepares none.
    pub prepares: u64,
    /// Statements that the scenario did not ask for, those of the idle span included.
    pub own_statements: u64,
    /// CPU time of the server process by its own account, nanoseconds.
    pub cpu_ns: u64,
    /// When it received the first and the last of these EXECUTEs; `None` if there was none.
    pub received: Option<Span>,
}

/// Two moments by CLOCK_MONOTONIC, which all processes of a machine share, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first_ns: u64,
    /// The last.
    pub last_ns: u64,
}

/// One value, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The measure, with its id and unit.
    pub measure: Declaration,
    /// The value in the measure's unit.
    pub value: Result<f64, String>,
}

/// What one meter read off one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// One reading per measure.
    pub readings: Vec<Reading>,
    /// Full sentences about what does not fit together.
    pub findings: Vec<String>,
    /// Full sentences about what does not fit together and makes the cell's figures worthless.
    pub voids: Vec<String>,
    /// Figures per statement by kind and name, for example `syscalls` by the name of the system call.
    pub breakdowns: BTreeMap<&'static str, BTreeMap<String, f64>>,
    /// One figure per second of the window, by kind.
    pub series: BTreeMap<&'static str, Vec<u64>>,
    /// Files to keep in the run folder.
    pub files: Vec<Artifact>,
}

/// A file that a meter leaves in the run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The name of its folder, for example `flamegraph`.
    pub kind: &'static str,
    /// The end of its name without a dot, for example `svg`.
    pub extension: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl Outcome {
    /// The readings of `measures`, value by value in their order.
    pub(crate) fn of(measures: &[Declaration], values: impl IntoIterator<Item = Result<f64, String>>) -> Outcome {
        Outcome::of_those(measures, values.into_iter().map(Some))
    }

    /// The readings of those `measures` that have a value.
    pub(crate) fn of_those(
        measures: &[Declaration],
        values: impl IntoIterator<Item = Option<Result<f64, String>>>,
    ) -> Outcome {
        let reading = |(measure, value): (&Declaration, Option<_>)| Some(Reading { measure: *measure, value: value? });
        Outcome { readings: measures.iter().zip(values).filter_map(reading).collect(), ..Outcome::default() }
    }
}

const NO_WINDOW: &str = "The window never began.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edge {
    Go,
    End,
}

/// What was seen at both edges of the window, or the sentence that says why not.
pub(crate) type Both<'a, T> = Result<(&'a T, &'a T), String>;

/// An attachment that looks once at each edge of a window and makes its figures from both looks.
pub(crate) fn at_edges<T: Send + 'static>(
    look: impl FnMut(Edge) -> Result<T, String> + Send + 'static,
    figures: impl Fn(Both<T>, &Window) -> Outcome + Send + Sync + 'static,
) -> Box<dyn Attachment> {
    Box::new(AtEdges { look, figures: Arc::new(figures), go: Err(NO_WINDOW.to_owned()) })
}

/// An attachment that makes its figures from the worker's own account.
pub(crate) fn from_worker(figures: fn(&Window) -> Outcome) -> Box<dyn Attachment> {
    at_edges(|_| Ok(()), move |_, window| figures(window))
}

struct AtEdges<T, L, F> {
    look: L,
    figures: Arc<F>,
    go: Result<T, String>,
}

impl<T, L, F> Attachment for AtEdges<T, L, F>
where
    T: Send + 'static,
    L: FnMut(Edge) -> Result<T, String> + Send,
    F: Fn(Both<T>, &Window) -> Outcome + Send + Sync + 'static,
{
    fn at_go(&mut self) {
        self.go = (self.look)(Edge::Go);
    }

    fn at_end(&mut self) -> Seen {
        let end = (self.look)(Edge::End);
        let (go, figures) = (replace(&mut self.go, Err(NO_WINDOW.to_owned())), Arc::clone(&self.figures));
        Box::new(move |window| match (&go, &end) {
            (Ok(go), Ok(end)) => figures(Ok((go, end)), window),
            (Err(why), _) | (_, Err(why)) => figures(Err(why.clone()), window),
        })
    }
}

/// How far a counter went between the edges.
pub(crate) fn difference(both: Both<u64>) -> Result<u64, String> {
    both.map(|(go, end)| end.saturating_sub(*go))
}

/// `amount` shared among the verified statements of the window.
pub(crate) fn per_statement(amount: f64, window: &Window) -> Result<f64, String> {
    match window.verified {
        0 => Err("No statement was answered as the scenario says, so there is nothing to divide by.".to_owned()),
        verified => Ok(amount / verified as f64),
    }
}

/// An amount per statement: of the window without its edges, or of the whole window if it has no edges or statements failed.
pub(crate) fn per_steady_statement(of: impl Fn(&Steady) -> f64, whole: f64, window: &Window) -> Result<f64, String> {
    match window.end.steady.filter(|steady| steady.statements > 0 && window.verified == window.issued) {
        Some(steady) => Ok(of(&steady) / steady.statements as f64),
        None => per_statement(whole, window),
    }
}

/// Beyond the highest process id that Linux gives (PID_MAX_LIMIT, 2^22).
#[cfg(test)]
pub(crate) const NO_PROCESS: i32 = (1 << 22) + 1;

/// Keeps other tests from the memory of this process: they would free what was there before, or forget its peak.
#[cfg(test)]
pub(crate) fn alone() -> std::sync::MutexGuard<'static, ()> {
    static MEMORY: std::sync::Mutex<()> = std::sync::Mutex::new(());
    MEMORY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A cell of the process `worker`, without a server.
#[cfg(test)]
pub(crate) fn subject(worker: i32) -> Subject {
    Subject {
        worker,
        server: Err("There is no server.".to_owned()),
        cores: vec![0],
        scratch: PathBuf::new(),
        nodes: Vec::new(),
    }
}

#[cfg(test)]
pub(crate) fn window() -> Window {
    Window {
        end: End {
            wall_ns: 2_000_000_000,
            at_ns: None,
            user_us: 700_000,
            sys_us: 300_000,
            voluntary_switches: 10,
            involuntary_switches: 5,
            minor_faults: 3,
            major_faults: 0,
            steady: None,
        },
        issued: 1_000_000,
        verified: 1_000_000,
        errors: 0,
        rows: None,
        below_concurrency: Some(100),
        polls: None,
        allocations: None,
        sessions: 0,
        left_open: None,
        server: Ok(ServerWindow {
            executes: 1_000_000,
            requests: 1_000_007,
            opened: 2,
            bytes: [90_000_000, 180_000_000],
            busiest_share: None,
            control_requests: 7,
            prepares: 3,
            own_statements: 5,
            cpu_ns: 500_000_000,
            received: None,
        }),
        connections: Ok(1),
        latencies: None,
        asleep: None,
        tail_us: 0,
        bad_day: None,
        skew: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WALL;

    /// What attachment and window make of the looks that come in this order, at the edges of so many windows.
    fn made_of(looks: Vec<Result<u64, String>>, windows: usize) -> Vec<Result<f64, String>> {
        let mut looks = looks.into_iter();
        let mut attached = at_edges(
            move |_| looks.next().unwrap(),
            |both, _| Outcome::of(&WALL.measures[..1], [difference(both).map(|difference| difference as f64)]),
        );
        let seen: Vec<Seen> = (0..windows)
            .map(|_| {
                attached.at_go();
                attached.at_end()
            })
            .collect();
        drop(attached);
        seen.into_iter().map(|seen| seen(&window()).readings[0].value.clone()).collect()
    }

    #[test]
    fn a_figure_comes_from_the_looks_at_both_edges_or_is_the_reason_of_the_first_that_failed() {
        let failed = |why: &str| Err(why.to_owned());
        assert_eq!(made_of(vec![Ok(3), Ok(10)], 1), [Ok(7.0)]);
        assert_eq!(made_of(vec![failed("No go."), failed("No end.")], 1), [Err("No go.".to_owned())]);
        assert_eq!(made_of(vec![Ok(3), failed("No end.")], 1), [Err("No end.".to_owned())]);
        let mut never_began =
            at_edges(|_| Ok(0), |both, _| Outcome { findings: both.err().into_iter().collect(), ..Outcome::default() });
        assert_eq!(never_began.at_end()(&window()).findings, [NO_WINDOW]);
    }

    #[test]
    fn every_window_has_its_own_edges_even_if_all_are_read_after_the_last_one() {
        let looks = vec![Ok(3), Ok(10), Err("No go.".to_owned()), Ok(11), Ok(20), Ok(25)];
        assert_eq!(made_of(looks, 3), [Ok(7.0), Err("No go.".to_owned()), Ok(5.0)]);
    }

    #[test]
    fn a_refusal_is_a_sentence_with_one_full_stop_and_then_its_remedy() {
        let refusal = Refusal::new("Nothing can be counted", "the machine is off.", "Switch it on.");
        assert_eq!(refusal.sentence(), "Nothing can be counted: the machine is off.");
        assert_eq!(refusal.to_string(), "Nothing can be counted: the machine is off. Switch it on.");
    }
}
