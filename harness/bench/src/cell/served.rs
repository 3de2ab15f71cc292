//! The first stage: who answers the statements of the cell.

use std::net::SocketAddr;

use cqldyno_cluster::Snapshot;
use cqldyno_meter::{Refusal, Traffic};
use cqldyno_protocol::Done;
use cqldyno_scenarios::Scenario;

use super::Stage;
use super::setup::Setup;
use crate::judge::agreement::Counted;
use crate::judge::due::sessions;
use crate::judge::readings::busy;
use crate::plan::target::Target;
use crate::process::cancel::Cancel;
use crate::process::child::Launch;
use crate::process::failure::CellFailure;
use crate::process::server::Server;

const NOBODY: &str = "This contender sends nothing, so no server took part.";
const FOREIGN: &str = "The target is not ours: what it did and what it cost is not known.";

/// Who answers.
pub(super) enum Served<'a> {
    /// Nobody: noop sends nothing.
    Nobody,
    /// An embedded node, started for this contender.
    Node(Server),
    /// A cluster that is not ours.
    Cluster(&'a [SocketAddr]),
}

/// What the server did until an edge of a window.
pub(super) enum Edge {
    /// There is none.
    Nothing,
    /// It counted this.
    Counted(Box<Snapshot>),
    /// It is not ours: what the worker's connections carried.
    Carried(Result<Traffic, Refusal>),
}

impl<'a> Served<'a> {
    pub(super) fn start(setup: &Setup<'a>, stage: &mut dyn FnMut(Stage)) -> Result<Served<'a>, CellFailure> {
        let context = &setup.bench.context;
        match &context.plan.target {
            _ if setup.is_noop() => Ok(Served::Nobody),
            Target::Addresses { nodes, .. } => Ok(Served::Cluster(nodes)),
            Target::Embedded => {
                stage(Stage::Server);
                let launch = setup.logged(&context.programs.cqldyno, "-server");
                let launch = Launch { cores: setup.placement.server_cores(), ..launch };
                let (rows, arguments) = (setup.workload.rows(), &context.plan.serve_arguments);
                Server::start(launch, rows, arguments, context.cancel).map(Served::Node)
            }
        }
    }

    /// Where it listens; empty for nobody.
    pub(super) fn nodes(&self) -> &[SocketAddr] {
        match self {
            Served::Nobody => &[],
            Served::Node(server) => server.nodes(),
            Served::Cluster(nodes) => nodes,
        }
    }

    /// The process to measure, or why there is none.
    pub(super) fn process(&self) -> Result<i32, String> {
        match self {
            Served::Nobody => Err(NOBODY.to_owned()),
            Served::Node(server) => Ok(server.pid()),
            Served::Cluster(_) => Err(FOREIGN.to_owned()),
        }
    }

    /// Why the embedded node is gone, if it is.
    pub(super) fn ended(&mut self) -> Option<CellFailure> {
        match self {
            Served::Node(server) => server.ended(),
            Served::Nobody | Served::Cluster(_) => None,
        }
    }

    /// What failed: the worker, or the embedded node that no longer answers it. A worker knows only its own side.
    pub(super) fn blame(&mut self, failure: CellFailure, cancel: &Cancel) -> CellFailure {
        match (self, &failure) {
            (Served::Node(server), CellFailure::Worker(_)) => server.silent(cancel).unwrap_or(failure),
            _ => failure,
        }
    }

    /// What it did until now.
    pub(super) fn edge(&mut self, worker: i32, cancel: &Cancel) -> Result<Edge, CellFailure> {
        Ok(match self {
            Served::Nobody => Edge::Nothing,
            Served::Node(server) => Edge::Counted(Box::new(server.snapshot(cancel)?)),
            Served::Cluster(nodes) => Edge::Carried(Traffic::of(worker, nodes)),
        })
    }
}

/// What the server counted between two edges, and the connections that carried the statements; else why that is not known.
pub(super) fn between(
    edges: (&Edge, &Edge),
    scenario: &Scenario,
    done: &Done,
) -> (Result<Counted, String>, Result<u64, String>) {
    match edges {
        (Edge::Counted(before), Edge::Counted(after)) => {
            let counted = Counted::between(before, after, scenario);
            let connections = counted.connections;
            (Ok(counted), Ok(connections))
        }
        (Edge::Carried(before), Edge::Carried(after)) => {
            let connections = match sessions(scenario, done) {
                0 => busy(before, after),
                _ => Err("Each of these statements had connections of its own, which only a target of ours counts."
                    .to_owned()),
            };
            (Err(FOREIGN.to_owned()), connections)
        }
        _ => (Err(NOBODY.to_owned()), Err(NOBODY.to_owned())),
    }
}
