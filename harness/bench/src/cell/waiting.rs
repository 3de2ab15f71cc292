//! The third stage: the contender waits for `go`. Windows come from it, and with one or more of them it is judged.

use std::mem::take;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use cqldyno_driver_api::Settings;
use cqldyno_meter::{Attachment, Seen, Window as Told};
use cqldyno_protocol::{Done, End, Ready, tickets};
use cqldyno_reports::{Cell, Pass, Series};
use cqldyno_scenarios::Operation;
use tempfile::TempDir;

use super::Stage;
use super::served::{Served, between};
use super::setup::Setup;
use crate::judge::agreement::Counted;
use crate::judge::due::{rows, sessions};
use crate::judge::latency::Latencies;
use crate::judge::readings::{below_concurrency, errors, measure, read, reads, utilisation, window_of};
use crate::judge::{Evidence, ReadBack};
use crate::plan::pass::Shape;
use crate::process::failure::CellFailure;
use crate::process::introduction::{sentence, setting};
use crate::process::worker::Worker;

/// The measure of what was read back.
const READ_BACK: &str = "read_back";

/// The order of the fields is that in which they end: no process outlives what it needs.
pub(super) struct Waiting<'a> {
    pub attachments: Vec<Box<dyn Attachment>>,
    pub worker: Worker<'a>,
    /// Files of meters.
    pub scratch: TempDir,
    pub served: Served<'a>,
    pub ready: Ready,
    /// Sentences about workers that exited badly after their work.
    pub exits: Vec<String>,
    pub setup: &'a Setup<'a>,
}

/// What one window gave.
pub(super) struct Window {
    /// From 0.
    nth: u32,
    began: SystemTime,
    end: End,
    done: Done,
    counted: Result<Counted, String>,
    connections: Result<u64, String>,
    seen: Vec<Seen>,
}

impl Waiting<'_> {
    /// The window `nth`, from 0: as many as the job has, in their order.
    pub(super) fn window(&mut self, nth: u32, stage: &mut dyn FnMut(Stage)) -> Result<Window, CellFailure> {
        self.measure(nth, stage).map_err(|failure| self.served.blame(failure, self.setup.bench.context.cancel))
    }

    /// `go`, the window, `end`. The meters are read at its edges; the last one at `go` is the first one at `end`.
    fn measure(&mut self, nth: u32, stage: &mut dyn FnMut(Stage)) -> Result<Window, CellFailure> {
        let (cancel, pid) = (self.setup.bench.context.cancel, self.worker.pid());
        let (of, before_it) = (self.setup.load.count, self.setup.tickets(nth).start);
        let before = self.served.edge(pid, cancel)?;
        let began = SystemTime::now();
        stage(Stage::Window { issued: before_it, of });
        self.attachments.iter_mut().rev().for_each(|attachment| attachment.at_go());
        let mut look = || {
            self.attachments.iter_mut().for_each(|attachment| attachment.meanwhile());
            self.served.ended()
        };
        let end = self.worker.go(&mut look, |issued| stage(Stage::Window { issued: before_it + issued, of }))?;
        let seen = self.attachments.iter_mut().map(|attachment| attachment.at_end()).collect();
        let after = self.served.edge(pid, cancel)?;
        let done = self.worker.ack()?;
        let (counted, connections) = between((before, after), &self.setup.scenario, &done);
        Ok(Window { nth, began, end, done, counted, connections, seen })
    }

    /// One cell like `cell` per window, with its figures and what voids them.
    pub(super) fn judge(self, windows: Vec<Window>, cell: &Cell) -> Result<Vec<Cell>, CellFailure> {
        let Waiting { attachments, worker, scratch: _scratch, mut served, ready, mut exits, setup } = self;
        exits.extend(worker.finish());
        let mut readings = Vec::new();
        for mut window in windows {
            let seen = take(&mut window.seen);
            let Window { nth, began, end, done, counted, connections, .. } = &window;
            let lasted = Duration::from_nanos(end.wall_ns);
            let latencies = Latencies::of(done, *began, lasted, &setup.load);
            let (latencies, unread) =
                latencies.map_or_else(|why| (Latencies::default(), Some(why)), |told| (told, None));
            let told = window_of(end, done, counted, connections, rows(&setup.scenario, done));
            let mut outcome = read(seen, &Told { latencies: latencies.told.clone(), ..told });
            outcome.findings.extend(unread);
            outcome.files.extend(latencies.log);
            let number = (setup.windows() > 1).then_some(nth + 1);
            let started = if *nth == 0 { cell.started } else { (*began).try_into().unwrap_or(cell.started) };
            readings.push((
                window,
                outcome,
                Cell { window: number, started, latency: latencies.driver, ..cell.clone() },
            ));
        }
        drop(attachments);
        let read_back = setup.read_back(&mut served, &mut exits)?;
        let judged = readings
            .into_iter()
            .map(|(window, outcome, cell)| setup.judged(cell, window, outcome, &ready, &served, &read_back, &exits));
        Ok(judged.collect())
    }
}

impl Setup<'_> {
    /// The statements of the contender's window `nth`, from 0.
    fn tickets(&self, nth: u32) -> Range<u64> {
        tickets(self.load.count, self.windows(), nth)
    }

    #[expect(clippy::too_many_arguments, reason = "they are what a cell is judged from")]
    fn judged(
        &self,
        mut cell: Cell,
        window: Window,
        mut outcome: cqldyno_meter::Outcome,
        ready: &Ready,
        served: &Served<'_>,
        read_back: &ReadBack,
        exits: &[String],
    ) -> Cell {
        let Window { nth, end, done, counted, connections, .. } = window;
        let folder = self.bench.context.folder;
        let own = self.introduced.own.in_force(self.bench.context.plan);
        let redact = |text: &str| self.bench.redaction.apply(text);
        let nodes = served.nodes().len().max(1) as u64;
        let asked = ready.connections.unwrap_or(own.connections) as u64;

        let taken = outcome.readings.iter().filter(|reading| reading.measure.is_taken_in(cell.pass));
        cell.measures.extend(taken.map(|reading| (reading.measure.id.to_owned(), measure(reading))));
        let data_connections = connections.as_ref().copied().unwrap_or(asked * nodes);
        let used: Vec<_> = utilisation(&cell.measures, self.placement, data_connections).collect();
        cell.measures.extend(reads(&counted).into_iter().chain(used).map(|(id, measure)| (id.to_owned(), measure)));
        cell.measures.insert(READ_BACK.to_owned(), read_back.measure.clone());
        cell.breakdowns.extend(outcome.breakdowns.into_iter().map(|(kind, figures)| (kind.to_owned(), figures)));
        let mut of = |series| outcome.series.remove(series).unwrap_or_default();
        cell.series = Series::new(done.per_second.clone(), of("cpu_us"), of("server_cpu_us"));

        cell.findings.extend(outcome.findings.iter().chain(exits).map(|finding| redact(finding)));
        if cell.pass == Pass::Timing {
            cell.findings.extend(below_concurrency(&done));
        }
        let stem = cell.window.map_or_else(|| self.stem.to_owned(), |number| format!("{}-{number}", self.stem));
        for artifact in outcome.files {
            match folder.write_artifact(&stem, &artifact) {
                Ok(name) => drop(cell.files.insert(artifact.kind.to_owned(), name)),
                Err(error) => cell.findings.push(sentence(&error.to_string())),
            }
        }
        cell.settings = ready.settings.iter().map(setting).collect();
        cell.settings.iter_mut().for_each(|setting| setting.value = redact(&setting.value));
        cell.error_kinds = errors(&done, &redact);

        let Range { start, end: behind } = self.tickets(nth);
        let asked_for = behind - start;
        let connecting = self.load.shape == Shape::Connecting;
        let has_own = self.scenario.statements.iter().any(|one| one.operation != Operation::Connect);
        let is_asked = own.settings == Settings::Equal && !connecting;
        let mut voids = Evidence {
            scenario: &self.scenario,
            workload: &self.workload,
            load: &self.load,
            asked: asked_for,
            done: &done,
            wall_ns: end.wall_ns,
            counted: counted.as_ref().ok(),
            connections: connections.ok().filter(|_| is_asked).map(|found| (found, asked, nodes, has_own)),
            sessions: sessions(&self.scenario, &done),
        }
        .voids();
        voids.extend(outcome.voids);
        // Replicas may lag behind at a consistency that allows it.
        match served {
            Served::Cluster(_) => cell.findings.extend(read_back.doubt.as_deref().map(redact)),
            Served::Nobody | Served::Node(_) => voids.extend(read_back.doubt.clone()),
        }
        cell.void = (!voids.is_empty()).then(|| redact(&voids.join(" ")));
        cell.issued_by_statement = done.issued_by_statement;
        cell
    }
}
