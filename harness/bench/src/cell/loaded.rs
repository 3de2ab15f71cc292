//! The second stage: tables and rows are there. Nobody needs none.

use std::path::Path;

use cqldyno_driver_api::Capability;
use cqldyno_meter::{ALL, Attachment, Meter, Subject};
use cqldyno_protocol::{Mode, Ready};

use super::Stage;
use super::served::Served;
use super::setup::Setup;
use super::waiting::{Waiting, Whole};
use crate::plan::pass::Shape;
use crate::process::child::{Launch, file_name};
use crate::process::failure::CellFailure;
use crate::process::loaders::Workers;
use crate::process::worker::{Bounds, Worker};

pub(super) struct Loaded<'a> {
    served: Served<'a>,
    /// Sentences about workers that exited badly after their work.
    exits: Vec<String>,
}

impl<'a> Served<'a> {
    /// floor makes the schema and loads what the scenario reads: never the contender. It writes the contender's tape, too.
    pub(super) fn load(mut self, setup: &Setup<'a>, stage: &mut dyn FnMut(Stage)) -> Result<Loaded<'a>, CellFailure> {
        if matches!(self, Served::Nobody) && (setup.tape().is_none() || setup.recording.is_some()) {
            return Ok(Loaded { served: self, exits: Vec::new() });
        }
        let nodes = self.nodes().to_vec();
        match setup.load_rows(&nodes, &mut || self.ended(), stage) {
            Ok(exit) => Ok(Loaded { served: self, exits: exit.into_iter().collect() }),
            Err(failure) => Err(match self.blame(failure, setup.bench.context.cancel) {
                failure @ (CellFailure::Cancelled | CellFailure::Refused(_) | CellFailure::Server(_)) => failure,
                other => CellFailure::Worker(format!("Floor could not make the tables or load their rows: {other}")),
            }),
        }
    }
}

impl<'a> Loaded<'a> {
    /// Starts the contender's worker with the meters attached, and waits until it is connected, prepared and warm.
    pub(super) fn connect(
        self,
        setup: &'a Setup<'a>,
        stage: &mut dyn FnMut(Stage),
    ) -> Result<Waiting<'a>, CellFailure> {
        stage(Stage::Connecting);
        let Loaded { mut served, exits } = self;
        let scratch = tempfile::tempdir().map_err(|error| {
            CellFailure::Machine(format!("a folder for temporary files could not be made: {error}"))
        })?;
        match start(setup, &mut served, scratch.path()) {
            Ok(([attachments, idle_attachments], mut worker, ready)) => {
                let whole = Whole::of(&mut worker)?;
                Ok(Waiting { attachments, idle_attachments, worker, scratch, served, ready, exits, setup, whole })
            }
            Err(failure) => Err(served.blame(failure, setup.bench.context.cancel)),
        }
    }
}

/// The attachments over windows and over idle spans, the worker, and what it said.
type Started<'a> = ([Vec<Box<dyn Attachment>>; 2], Workers<'a>, Ready);

fn start<'a>(setup: &'a Setup<'a>, served: &mut Served<'_>, scratch: &Path) -> Result<Started<'a>, CellFailure> {
    let nodes = served.nodes().to_vec();
    let (launch, bounds) = setup.contender(scratch);
    let subject = |worker| Subject {
        worker,
        server: served.processes(),
        cores: setup.cores(),
        scratch: scratch.to_path_buf(),
        nodes: nodes.clone(),
    };
    // A meter without a measure has something else to say of every cell.
    let meters = ALL.iter().filter(|meter| {
        let measures = meter.measures;
        measures.is_empty() || measures.iter().any(|measure| setup.takes(measure))
    });
    let (over_idle, over_window): (Vec<_>, Vec<_>) = meters.partition(|meter| meter.over_idle);
    let over_idle = if setup.idle().is_some() { over_idle } else { Vec::new() };
    let (attachments, mut workers, hello) = if let Some((launcher, start)) = setup.launcher(&nodes) {
        let bounds = Bounds { memory_bytes: None, ..bounds };
        let launch = Launch { library_folder: None, cores: None, ..launch };
        let workers = launcher.workers(setup.introduced, &launch, bounds, &start)?;
        let subject = subject(workers.pid());
        let attached = over_window.into_iter().filter_map(|meter: &Meter| meter.attach_elsewhere(&subject)).collect();
        ([attached, Vec::new()], workers, setup.introduced.hello.clone())
    } else {
        let gate = Worker::at_gate(launch, bounds)?;
        let subject = subject(gate.pid());
        let attached = |meters: Vec<&Meter>| meters.into_iter().map(|meter| meter.attach(&subject)).collect();
        let attachments = [attached(over_window), attached(over_idle)];
        let (worker, hello) = gate.open()?;
        (attachments, Workers::Here(Box::new(worker)), hello)
    };
    setup.introduced.same(&hello)?;
    if hello.driver.capabilities.contains(&Capability::Offline) && !setup.is_noop() {
        return Err(CellFailure::Worker(format!(
            "The worker {} declares that it sends nothing (capability `offline`), and only noop may: no server could count its \
             statements, and nobody could check its rows.",
            file_name(&setup.introduced.program)
        )));
    }
    let mode = if setup.load.shape == Shape::Connecting { Mode::Connect } else { Mode::Measure };
    let ready = workers.job(setup.job(mode, &nodes), &mut || served.ended())?;
    Ok((attachments, workers, ready))
}
