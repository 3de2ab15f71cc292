//! The third stage: the contender waits for `go`. It takes its turns, and with the last one it is closed.

use std::ops::Range;
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant, SystemTime};

use cqldyno_driver_api::Settings;
use cqldyno_meter::{
    Asleep, Attachment, BadDay, Outcome, SKEW, Seen, Window, cpu_disagreement, process_cpu_ns, untold_us,
};
use cqldyno_protocol::{Done, End, Ready, Steady};
use cqldyno_reports::{Cell, Pass, Series, Setting, sentence};
use cqldyno_script::Played;
use tempfile::TempDir;

use super::Stage;
use super::served::{Edge, Served, between};
use super::setup::Setup;
use crate::judge::agreement::Counted;
use crate::judge::due::{rows, sessions};
use crate::judge::latency::Latencies;
use crate::judge::readings::{
    below_concurrency, errors, measure, read, reads, routes, utilisation, window_of, worked_asleep, worked_beside,
};
use crate::judge::{Evidence, ReadBack, bad_day, merged, script};
use crate::plan::pass::Shape;
use crate::process::failure::CellFailure;
use crate::process::introduction::setting;
use crate::process::loaders::{Parts, Workers};
use crate::record::folder::file_stem;

const READ_BACK: &str = "read_back";
const NOT_ALL_READ: &str = "floor could not read every row.";

/// What a worker uses for so long after the end of a turn belongs to the turn.
const TAIL: Duration = Duration::from_millis(100);

/// How long connections of closed sessions may take to close, where many do at once.
const CLOSED_WITHIN: Duration = Duration::from_secs(5);

/// How often the processes are looked at in an idle span, and the server while connections close.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The order of the fields is that in which they end: no process outlives what it needs.
pub(super) struct Waiting<'a> {
    pub attachments: Vec<Box<dyn Attachment>>,
    /// Those of meters that are read over the idle span.
    pub idle_attachments: Vec<Box<dyn Attachment>>,
    pub worker: Workers<'a>,
    /// Files of meters.
    pub scratch: TempDir,
    pub served: Served<'a>,
    pub ready: Ready,
    /// Sentences about workers that exited badly after their work.
    pub exits: Vec<String>,
    pub setup: &'a Setup<'a>,
    pub whole: Whole,
}

/// What all turns so far came to together.
#[derive(Default)]
pub(super) struct Whole {
    turns: u32,
    began: Option<(Edge, Instant)>,
    /// Without histograms.
    done: Done,
    played: Vec<Played>,
    /// Connections that the server accepted, and PREPAREs that it got.
    opened: (u64, u64),
    /// The CPU time that its turns are charged with up to `end`, in microseconds.
    cpu_us: u64,
    /// The same without the edges of turns, and the statements of that part.
    steady: (f64, u64),
    /// At the edges of turns.
    edges: (f64, u64),
    /// What it did while it was asleep between them.
    asleep: Asleep,
    /// What its process clock says of its turns, in nanoseconds, if it could be read at every edge.
    clock_ns: Option<u64>,
    /// What it used beside its turns, in microseconds: after `ready` and before the first `go`, and between each `end` and `done`.
    beside_us: u64,
    /// The worker's CPU clock when it fell asleep.
    slept_at: Option<Clock>,
}

/// Edges may cost so many times what a statement costs between them. On 2026-11-26 it was 0.8 to 1.8 times for four drivers.
const DEAR: f64 = 3.0;
/// What the clocks of one turn may differ by, in microseconds.
const SLACK_US: f64 = 1_000.0;

impl Whole {
    /// Of workers that have said `ready`.
    pub(super) fn of(workers: &mut Workers<'_>) -> Result<Whole, CellFailure> {
        let slept_at = workers.cpu_ns()?.zip(Some(Instant::now()));
        Ok(Whole { clock_ns: Some(0), slept_at, ..Whole::default() })
    }

    fn add(&mut self, turn: &Turn) {
        self.turns += 1;
        self.cpu_us += turn.end.user_us + turn.end.sys_us + turn.untold_us;
        self.asleep = self.asleep + turn.asleep.unwrap_or_default();
        self.played.resize(turn.played.len(), Played::default());
        for (sum, one) in self.played.iter_mut().zip(&turn.played) {
            sum.fired += one.fired;
            sum.touched += one.touched;
        }
        for counted in turn.counted.iter().chain(&turn.idle) {
            self.opened.0 += counted.opened;
            self.opened.1 += counted.prepared;
        }
        merged::add_counts(&mut self.done, &turn.done);
    }

    /// The part of a turn between its edges, `None` if the turn counts as a whole: it does if the edges of all turns so far cost far more
    /// than the rest, so no work that a driver does at edges is left out. Of one turn alone a burst of work by chance could say so.
    fn without_edges(&mut self, end: &End, issued: u64) -> Option<Steady> {
        let part = end.steady.filter(|part| part.statements > 0)?;
        let part_us = part.cpu_ns as f64 / 1e3;
        self.steady = (self.steady.0 + part_us, self.steady.1 + part.statements);
        let edges_us = (end.user_us + end.sys_us) as f64 - part_us;
        self.edges = (self.edges.0 + edges_us, self.edges.1 + issued.saturating_sub(part.statements));
        let each_us = self.steady.0 / self.steady.1 as f64;
        let limit_us = DEAR * each_us * self.edges.1 as f64 + SLACK_US * f64::from(self.turns);
        Some(part).filter(|_| self.edges.0 <= limit_us)
    }
}

/// A worker's CPU clock in nanoseconds, and when it was read.
type Clock = (u64, Instant);

pub(super) struct Turn {
    /// Its statements.
    tickets: Range<u64>,
    began: SystemTime,
    /// What the worker did in the idle span after it, else while it was asleep before; `None` in its first turn without an idle span.
    asleep: Option<Asleep>,
    /// What the server counted in the idle span.
    idle: Option<Counted>,
    /// Connections of sessions that were opened in it and stay open, [`CLOSED_WITHIN`] at least.
    left_open: Option<u64>,
    /// The worker's CPU clock when it had said `done`, in nanoseconds, and what it says at the end of [`TAIL`], with that time.
    tail: Option<(u64, JoinHandle<Option<Clock>>)>,
    /// CPU time of the worker within [`TAIL`], in microseconds, when the turn is settled.
    tail_us: u64,
    /// CPU time in the window that only the process clock shows, in microseconds.
    untold_us: u64,
    end: End,
    done: Done,
    after: Edge,
    counted: Result<Counted, String>,
    connections: Result<u64, String>,
    seen: Vec<Seen>,
    /// What each step of the script did.
    played: Vec<Played>,
    /// What voids it according to the server's log.
    uncommitted: Vec<String>,
    /// Each loader's part, if there are several.
    parts: Option<Parts>,
}

/// What worker and server did between `end` and `ack`.
#[derive(Default)]
struct Held {
    /// The worker's CPU clock at the end of [`TAIL`], and at the end of the whole.
    tail_ns: Option<u64>,
    last_ns: Option<u64>,
    /// Connections that the server had open at the end of [`TAIL`], or when those of closed sessions were closed.
    open: Option<u64>,
    /// What the worker did in the idle span, and what the server counted.
    asleep: Option<Asleep>,
    idle: Option<Counted>,
}

/// What is known of a contender only after its last turn.
struct Closing {
    read_back: ReadBack,
    /// Sentences about workers that exited badly after their work, and about the worker's sleep.
    findings: Vec<String>,
    /// What voids all of its turns.
    voids: Vec<String>,
}

impl Waiting<'_> {
    /// `go`, the window, `end`. The meters are read at its edges; the last one at `go` is the first one at `end`.
    pub(super) fn turn(
        &mut self,
        stage: &mut dyn FnMut(Stage),
        before_ack: &mut dyn FnMut() -> Result<(), CellFailure>,
    ) -> Result<Turn, CellFailure> {
        let (cancel, pid) = (self.setup.bench.context.cancel, self.worker.pid());
        let tickets = self.setup.tickets(self.whole.turns);
        let of = tickets.end - tickets.start;
        if self.setup.planned.rounds.is_some() {
            self.worker.wake()?;
        }
        self.worker.compare_clocks()?;
        let before = self.served.edge(pid, cancel)?;
        let open_before = before.open_connections();
        self.served.play(&self.setup.scenario, cancel)?;
        let at_go = self.worker.cpu_ns()?;
        let slept = self
            .whole
            .slept_at
            .zip(at_go)
            .map(|((was, since), is)| Asleep { cpu_us: is.saturating_sub(was) / 1_000, lasted: since.elapsed() });
        let asleep = slept.filter(|_| self.whole.turns > 0);
        let (began, clock) = (SystemTime::now(), Instant::now());
        stage(Stage::Window { issued: 0, of });
        self.attachments.iter_mut().rev().for_each(|attachment| attachment.at_go());
        let mut look = || {
            self.attachments.iter_mut().for_each(|attachment| attachment.meanwhile());
            self.served.attend()
        };
        let end = self.worker.go(&mut look, &mut |issued| stage(Stage::Window { issued, of }))?;
        // First: a runtime that compiles goes on with it.
        let at_end = self.worker.cpu_ns()?;
        let due = Instant::now() + TAIL;
        let mut seen: Vec<Seen> = self.attachments.iter_mut().map(|attachment| attachment.at_end()).collect();
        let idle = self.setup.idle();
        // A script goes on in the idle span.
        let (mut played, mut told) = match idle {
            None => self.served.end_script(&self.setup.scenario, cancel)?,
            Some(_) => (Vec::new(), Vec::new()),
        };
        let after = self.served.edge(pid, cancel)?;
        // What loaders do in the tail nobody reads here while it goes on.
        let mut held = match idle.is_some() || self.setup.opens_sessions() || self.worker.is_elsewhere() {
            true => Some(self.hold(due, open_before, idle, &after, &mut seen)?),
            false => None,
        };
        if idle.is_some() {
            (played, told) = self.served.end_script(&self.setup.scenario, cancel)?;
        }
        self.exits.extend(told);
        before_ack()?;
        let (done, parts) = self.worker.ack()?;
        // A loader may have ended with its last turn.
        let is_last = self.whole.turns + 1 == self.setup.planned.turns();
        let at_done = self.worker.cpu_ns().or_else(|failure| if is_last { Ok(None) } else { Err(failure) })?;
        let clock_ns = match &parts {
            Some(parts) => parts.clock_ns,
            None => at_go.zip(at_end).map(|(go, end)| end.saturating_sub(go)),
        };
        self.whole.clock_ns = self.whole.clock_ns.zip(clock_ns).map(|(sum, clock_ns)| sum + clock_ns);
        let before_us = slept.filter(|_| self.whole.turns == 0).map(|slept| slept.cpu_us);
        self.whole.beside_us +=
            before_us.unwrap_or(0) + since_us(held.as_ref().map_or(at_end, |held| held.last_ns), at_done).unwrap_or(0);
        let has_tail = self.setup.planned.pass == Pass::Timing;
        let tail = at_done.filter(|_| has_tail && held.is_none()).and_then(|done| {
            let at_due = move || {
                sleep(due.saturating_duration_since(Instant::now()));
                process_cpu_ns(pid).ok().zip(Some(Instant::now()))
            };
            // Without a thread the tail is not known, and counts nothing.
            Some((done, Builder::new().name("tail".to_owned()).spawn(at_due).ok()?))
        });
        let (counted, connections) = between((&before, &after), &self.setup.scenario, &done, &played);
        let connections = match &parts {
            Some(parts) if matches!(before, Edge::Carried(..) | Edge::Logged(..)) => parts.connections.clone(),
            _ => connections,
        };
        let uncommitted = self.served.uncommitted((&before, &after), &self.setup.scenario, &done);
        let untold = |clock_ns| untold_us(end.user_us + end.sys_us, clock_ns, self.setup.placement.worker.len());
        let untold_us = parts.as_ref().map_or_else(|| clock_ns.map_or(0, untold), |parts| parts.untold_us);
        let mut tail_us = if has_tail { untold_us } else { 0 };
        if let Some(held) = &held {
            tail_us += since_us(at_end, held.tail_ns).filter(|_| has_tail).unwrap_or(0);
            self.whole.slept_at = at_done.zip(Some(Instant::now()));
        }
        let left_open = held.as_ref().and_then(|held| Some(held.open?.saturating_sub(open_before?)));
        self.whole.began.get_or_insert((before, clock));
        let mut turn = Turn {
            tickets,
            began,
            asleep: held.as_ref().and_then(|held| held.asleep).or(asleep),
            idle: held.as_mut().and_then(|held| held.idle.take()),
            left_open,
            tail,
            tail_us,
            untold_us,
            end,
            done,
            after,
            counted,
            connections,
            seen,
            played,
            uncommitted,
            parts,
        };
        self.whole.add(&turn);
        turn.end.steady = self.whole.without_edges(&turn.end, turn.done.issued);
        Ok(turn)
    }

    /// Keeps the worker from going on after `end`, while its session is open: up to the end of [`TAIL`] or until no more connections are
    /// open than `open_before`, and over the `idle` span, if the scenario has one.
    fn hold(
        &mut self,
        due: Instant,
        open_before: Option<u64>,
        idle: Option<Duration>,
        window_end: &Edge,
        seen: &mut Vec<Seen>,
    ) -> Result<Held, CellFailure> {
        let (cancel, pid) = (self.setup.bench.context.cancel, self.worker.pid());
        sleep(due.saturating_duration_since(Instant::now()));
        let mut open = self.served.edge(pid, cancel)?.open_connections();
        let is_closing = |open: Option<u64>| open.zip(open_before).is_some_and(|(open, before)| open > before);
        while self.setup.opens_sessions() && is_closing(open) && due.elapsed() < CLOSED_WITHIN {
            sleep(LOOK_EVERY);
            open = self.served.edge(pid, cancel)?.open_connections();
        }
        let tail_ns = self.worker.cpu_ns()?;
        let held = Held { tail_ns, open, last_ns: tail_ns, ..Held::default() };
        let Some(span) = idle else { return Ok(held) };
        self.idle_attachments.iter_mut().rev().for_each(|attachment| attachment.at_go());
        let (was, began) = (self.worker.cpu_ns()?, Instant::now());
        while let Some(left) = span.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            sleep(left.min(LOOK_EVERY));
            if cancel.is_cancelled() {
                return Err(CellFailure::Cancelled);
            }
            self.worker.wake()?;
            self.served.attend().map_or(Ok(()), Err)?;
        }
        let last_ns = self.worker.cpu_ns()?;
        let asleep = since_us(was, last_ns).map(|cpu_us| Asleep { cpu_us, lasted: began.elapsed() });
        seen.extend(self.idle_attachments.iter_mut().map(|attachment| attachment.at_end()));
        let after = self.served.edge(pid, cancel)?;
        // What the server counts between window and span belongs to the span.
        let (counted, _) = between((window_end, &after), &self.setup.scenario, &Done::default(), &[]);
        Ok(Held { asleep, idle: counted.ok(), last_ns, ..held })
    }

    /// The turn with all that belongs to it: waits for the end of [`TAIL`], from which on the worker is asleep.
    pub(super) fn settle(&mut self, mut turn: Turn) -> Turn {
        if let Some((done, tail)) = turn.tail.take() {
            self.whole.slept_at = tail.join().ok().flatten();
            turn.tail_us += since_us(Some(done), self.whole.slept_at.map(|(is, _)| is)).unwrap_or(0);
        }
        turn
    }

    /// The figures of a turn after which others follow, and what voids them.
    pub(super) fn judge(&self, cell: Cell, mut turn: Turn) -> Cell {
        let (cell, outcome) = self.setup.figures(Cell { more: true, ..cell }, &mut turn, None);
        self.setup.judged(cell, turn, outcome, &self.ready, &self.served, None)
    }

    /// Ends the worker after its last turn: the turn's figures, with what voids all of its turns.
    pub(super) fn close(self, cell: Cell, mut turn: Turn) -> Result<Cell, CellFailure> {
        let Waiting {
            attachments,
            idle_attachments,
            worker,
            scratch: _scratch,
            mut served,
            ready,
            mut exits,
            setup,
            whole,
        } = self;
        exits.extend(worker.finish());
        let mut read_back = setup.read_back(&mut served, &mut exits)?;
        let (cell, outcome) = setup.figures(cell, &mut turn, Some(&read_back));
        drop((attachments, idle_attachments));
        let voids = match whole.began {
            Some((before, clock)) if whole.turns > 1 => {
                let (counted, connections) =
                    between((&before, &turn.after), &setup.scenario, &whole.done, &whole.played);
                let lasted = u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
                let asked = setup.load.count;
                let found = setup.evidence(asked, &whole.done, lasted, &counted, &connections, &ready, &served).voids();
                let clock = whole.clock_ns.filter(|clock_ns| whole.cpu_us * 1_000 < *clock_ns);
                let cores = turn.parts.as_ref().map_or(setup.placement.worker.len(), |parts| parts.cores);
                let untold = clock
                    .and_then(|clock_ns| cpu_disagreement(whole.cpu_us, clock_ns, whole.turns, cores, Duration::ZERO));
                found.into_iter().chain(untold).map(|sentence| format!("Over all its turns: {sentence}")).collect()
            }
            _ => Vec::new(),
        };
        let script = &setup.scenario.script;
        exits.extend(script::told(script, &whole.played, whole.opened, &whole.done));
        // Rows of statements that the script made fail may be missing.
        exits.extend(read_back.excused(script::slack(script, &whole.played, &whole.done)));
        // Rows that are missing are figures of a bad day.
        read_back.doubt = read_back.doubt.filter(|_| read_back.tickets.is_none());
        // Of an idle span that was asked for there is a figure.
        exits.extend(worked_asleep(whole.asleep, whole.cpu_us).filter(|_| setup.idle().is_none()));
        exits.extend(worked_beside(whole.beside_us, whole.cpu_us, whole.turns));
        let closing = Closing { read_back, findings: exits, voids };
        Ok(setup.judged(cell, turn, outcome, &ready, &served, Some(closing)))
    }
}

/// Microseconds from one look at a CPU clock to another.
fn since_us(was_ns: Option<u64>, is_ns: Option<u64>) -> Option<u64> {
    was_ns.zip(is_ns).map(|(was, is)| is.saturating_sub(was) / 1_000)
}

impl Setup<'_> {
    /// With what floor read back if it was the worker's last turn.
    fn figures(&self, cell: Cell, turn: &mut Turn, read_back: Option<&ReadBack>) -> (Cell, Outcome) {
        let seen = std::mem::take(&mut turn.seen);
        let Turn { tickets, began, asleep, idle, left_open, tail_us, end, done, counted, connections, .. } = &*turn;
        let tag = cell.round.map(|_| self.tag(&cell));
        let latencies = Latencies::of(done, (*began, Duration::from_nanos(end.wall_ns)), &self.load, tag.as_deref());
        let (latencies, unread) = latencies.map_or_else(|why| (Latencies::default(), Some(why)), |told| (told, None));
        // What a script leads to are requests and connections, as other operations have them.
        let operated = rows(&self.scenario, &self.workload, tickets.clone(), done)
            .or_else(|| (!self.scenario.script.is_empty()).then_some(done.issued));
        let counted_in_window = counted;
        let counted = counted.clone().map(|counted| match idle {
            Some(idle) => counted.with_idle(idle),
            None => counted,
        });
        let nodes = self.bench.context.plan.ring(None).nodes();
        let told = window_of(end, done, &counted, connections, operated, nodes);
        let (sessions, left_open) = (sessions(&self.scenario, done), *left_open);
        let bad_day = self.bad_day(done, counted_in_window, read_back);
        let window = Window {
            bad_day,
            latencies: latencies.told,
            asleep: *asleep,
            tail_us: *tail_us,
            sessions,
            left_open,
            skew: turn.parts.as_ref().map(|parts| parts.skew).filter(|_| self.takes(&SKEW.measures[0])),
            ..told
        };
        let mut outcome = read(seen, &window);
        if let Some(parts) = &turn.parts {
            merged::add_readings(&mut outcome, &parts.metered(), parts.is_shared);
        }
        outcome.findings.extend(unread);
        outcome.files.extend(latencies.log);
        let started = cell.round.and_then(|_| (*began).try_into().ok()).unwrap_or(cell.started);
        (Cell { started, latency: latencies.driver, ..cell }, outcome)
    }

    /// What became of single statements, if it is a bad day.
    fn bad_day(&self, done: &Done, counted: &Result<Counted, String>, read_back: Option<&ReadBack>) -> Option<BadDay> {
        let Shape::AtRate(rate) = self.load.shape else { return None };
        let read_back = read_back.filter(|_| self.bench.context.plan.faults)?;
        let why = || read_back.measure.reason().unwrap_or(NOT_ALL_READ).to_owned();
        let wrong = read_back.tickets.as_ref().ok_or_else(why);
        Some(bad_day::of((&self.scenario, &self.workload), rate, done, counted, wrong))
    }

    fn tag(&self, cell: &Cell) -> String {
        let parts = [&cell.contender, &cell.scenario, &cell.arrangement].map(|part| file_stem(part)).join("/");
        format!("{parts}/{}/{}/{}", cell.block, cell.round.unwrap_or_default(), cell.attempt)
    }

    /// What the statements `asked` are judged from, of which the worker says `done`.
    #[expect(clippy::too_many_arguments, reason = "they are what a turn is judged from")]
    fn evidence<'e>(
        &'e self,
        asked: u64,
        done: &'e Done,
        wall_ns: u64,
        counted: &'e Result<Counted, String>,
        connections: &Result<u64, String>,
        ready: &Ready,
        served: &Served<'_>,
    ) -> Evidence<'e> {
        let own = self.introduced.contender.own.in_force(self.bench.context.plan, Some(&self.scenario));
        let nodes = served.nodes().len().max(1) as u64;
        let due = ready.connections.unwrap_or(own.connections) as u64 * self.workers();
        let connecting = self.load.shape == Shape::Connecting;
        let is_asked = own.settings == Settings::Equal && !connecting;
        Evidence {
            scenario: &self.scenario,
            workload: &self.workload,
            load: &self.load,
            asked,
            done,
            wall_ns,
            uncommitted: &[],
            is_bad_day: self.bench.context.plan.faults,
            is_encrypted: self.ca.is_some(),
            counted: counted.as_ref().ok(),
            connections: connections.as_ref().ok().filter(|_| is_asked).map(|found| (*found, due, nodes)),
            workers: self.workers(),
        }
    }

    fn judged(
        &self,
        mut cell: Cell,
        turn: Turn,
        mut outcome: Outcome,
        ready: &Ready,
        served: &Served<'_>,
        closing: Option<Closing>,
    ) -> Cell {
        let Turn { tickets, end, done, counted, connections, played, uncommitted, parts, .. } = turn;
        let folder = self.bench.context.folder;
        let own = self.introduced.contender.own.in_force(self.bench.context.plan, Some(&self.scenario));
        let redact = |text: &str| self.bench.redaction.apply(text);

        let taken = outcome.readings.iter().filter(|reading| self.takes(&reading.measure));
        cell.measures.extend(taken.map(|reading| (reading.measure.id.to_owned(), measure(reading))));
        let each = ready.connections.unwrap_or(own.connections) as u64 * self.workers();
        let due = each * served.nodes().len().max(1) as u64;
        let unpinned = parts.as_ref().filter(|_| self.placement.worker_cores().is_none());
        let used: Vec<_> = utilisation(
            &cell.measures,
            self.placement,
            (self.workers(), unpinned.map_or(self.placement.worker.len(), |parts| parts.cores)),
            served.cores_at_work(connections.as_ref().copied().unwrap_or(due)),
        )
        .collect();
        let routes = routes(&counted, self.bench.context.plan.ring(Some(&self.scenario)).shards().is_some());
        let more = reads(&counted).into_iter().chain(routes).chain(used);
        cell.measures.extend(more.map(|(id, measure)| (id.to_owned(), measure)));
        cell.breakdowns.extend(script::breakdown(&self.scenario.script, &played, done.issued));
        cell.breakdowns.extend(outcome.breakdowns.into_iter().map(|(kind, figures)| (kind.to_owned(), figures)));
        let mut of = |series| outcome.series.remove(series).unwrap_or_default();
        let (mut cpu_us, server_cpu_us) = (of("cpu_us"), of("server_cpu_us"));
        if let Some(parts) = parts {
            cell.breakdowns.extend(merged::breakdowns(&parts.metered()));
            cpu_us = merged::series(&parts.metered(), "cpu_us");
            cell.loaders = parts.each.into_iter().map(|(part, ..)| part).collect();
        }
        cell.series = Series::new(done.per_second.clone(), cpu_us, server_cpu_us);

        cell.findings.extend(outcome.findings.iter().map(|finding| redact(finding)));
        if cell.pass == Pass::Timing {
            cell.findings.extend(below_concurrency(&done, self.load.concurrency));
        }
        for artifact in outcome.files {
            match folder.keep_artifact(cell.round.is_none().then_some(&*self.stem), &artifact) {
                Ok(name) => drop(cell.files.insert(artifact.kind.to_owned(), name)),
                Err(error) => cell.findings.push(sentence(&error.to_string())),
            }
        }
        let redacted = |setting: Setting| Setting { value: redact(&setting.value), ..setting };
        cell.settings = Setting::shared(ready.settings.iter().map(|one| redacted(setting(one))).collect());
        cell.error_kinds = errors(&done, &redact);

        let evidence =
            self.evidence(tickets.end - tickets.start, &done, end.wall_ns, &counted, &connections, ready, served);
        let evidence = Evidence { uncommitted: &uncommitted, ..evidence };
        cell.findings.extend(evidence.findings());
        let mut voids = evidence.voids();
        voids.extend(outcome.voids);
        if let Some(Closing { read_back, findings, voids: of_all }) = closing {
            cell.measures.insert(READ_BACK.to_owned(), read_back.measure);
            cell.findings.extend(findings.iter().map(|finding| redact(finding)));
            voids.extend(of_all);
            // Replicas may lag behind at a consistency that allows it.
            match served {
                Served::Cluster(_) | Served::Cassandra(..) => {
                    cell.findings.extend(read_back.doubt.as_deref().map(redact))
                }
                Served::Nobody | Served::Node(_) | Served::Postgres(_) => voids.extend(read_back.doubt),
            }
        }
        cell.void = (!voids.is_empty()).then(|| redact(&voids.join(" ")));
        cell.issued_by_statement = done.issued_by_statement.into_iter().collect();
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: End = End {
        wall_ns: 10_000_000,
        at_ns: None,
        user_us: 0,
        sys_us: 0,
        voluntary_switches: 0,
        involuntary_switches: 0,
        minor_faults: 0,
        major_faults: 0,
        steady: None,
    };

    #[test]
    fn a_turn_counts_as_a_whole_while_the_edges_of_all_so_far_cost_more_than_three_times_as_much() {
        let steady = Some(Steady { wall_ns: 9_000_000, cpu_ns: 9_000_000, statements: 9_000 });
        // Of 10,000 statements, with so much CPU time at the edges.
        let even = |edges_us: &[u64]| {
            let mut whole = Whole::default();
            let counts = edges_us.iter().map(|edges_us| {
                let end = End { user_us: 9_000 + edges_us, steady, ..END };
                whole.turns += 1;
                whole.without_edges(&end, 10_000).is_some()
            });
            counts.collect::<Vec<_>>()
        };
        assert_eq!(even(&[1_000, 3_900]), [true, true], "as clocks may differ");
        assert_eq!(even(&[8_000, 8_000, 8_000]), [false, false, false], "8 us each beside 1 us");
        assert_eq!(even(&[1_000, 1_000, 9_000]), [true, true, true], "one burst of work");
        assert!(Whole::default().without_edges(&END, 10_000).is_none(), "a worker that tells of no edges");
    }
}
