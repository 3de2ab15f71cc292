//! The first stage: who answers the statements of the cell.

use std::fs;
use std::net::SocketAddr;
use std::thread::sleep;
use std::time::{Duration, Instant};

use cqldyno_cassandra::{CassandraError, Cluster, Gate};
use cqldyno_cluster::Snapshot;
use cqldyno_meter::{Refusal, Traffic};
use cqldyno_postgres::{Committed, Position};
use cqldyno_protocol::Done;
use cqldyno_reports::sentence;
use cqldyno_scenarios::{Scenario, Statement};
use cqldyno_script::Played;

use super::Stage;
use super::setup::Setup;
use crate::judge::agreement::{Counted, grouped};
use crate::judge::due::sessions;
use crate::judge::readings::busy;
use crate::plan::target::Target;
use crate::process::cancel::Cancel;
use crate::process::child::Launch;
use crate::process::failure::CellFailure;
use crate::process::gate;
use crate::process::server::Server;

/// Linux keeps the port of a closed connection for a minute.
const PORTS_WITHIN: Duration = Duration::from_secs(70);

const NOBODY: &str = "This contender sends nothing, so no server took part.";
const CASSANDRA: &str = "Apache Cassandra does not say what it did for these connections.";
const POSTGRES: &str = "PostgreSQL counts commits, not requests.";
const BACKENDS: &str = "PostgreSQL has a process for each connection, whose CPU time is not summed up.";
const FOREIGN: &str = "The target is not ours: what it did and what it cost is not known.";

pub(super) enum Served<'a> {
    /// Nobody: noop sends nothing.
    Nobody,
    /// An embedded node, started for this contender.
    Node(Server),
    /// The run's own, with the gate through which it starts nodes.
    Cassandra(&'a Cluster, Gate<'a>),
    Postgres(&'a cqldyno_postgres::Server),
    /// A cluster that is not ours.
    Cluster(&'a [SocketAddr]),
}

/// What the server did until an edge of a window.
pub(super) enum Edge {
    Nothing,
    Counted(Box<Snapshot>),
    /// It does not count for us, as the sentence says: what the worker's connections carried.
    Carried(Result<Traffic, Refusal>, &'static str),
    /// The same, with the place in PostgreSQL's log.
    Logged(Result<Traffic, Refusal>, Position),
}

impl Edge {
    /// Connections that were open, if the server tells.
    pub(super) fn open_connections(&self) -> Option<u64> {
        match self {
            Edge::Counted(snapshot) => Some(snapshot.open_connections()),
            Edge::Nothing | Edge::Carried(..) | Edge::Logged(..) => None,
        }
    }
}

impl<'a> Served<'a> {
    pub(super) fn start(setup: &Setup<'a>, stage: &mut dyn FnMut(Stage)) -> Result<Served<'a>, CellFailure> {
        let context = &setup.bench.context;
        let begun = Instant::now();
        while setup.opens_sessions() && are_ports_scarce() && begun.elapsed() < PORTS_WITHIN {
            if context.cancel.is_cancelled() {
                return Err(CellFailure::Cancelled);
            }
            sleep(Duration::from_millis(100));
        }
        match &context.plan.target {
            _ if setup.is_noop() => Ok(Served::Nobody),
            Target::Addresses { nodes, .. } => Ok(Served::Cluster(nodes)),
            Target::Cassandra(order) => match &setup.bench.cassandra {
                Some(cluster) => {
                    let gate = gate::of(&context.programs.cqldyno);
                    // What a cell left that failed.
                    ended(cluster.end_play(gate, &|| context.cancel.is_cancelled()))?;
                    Ok(Served::Cassandra(cluster, gate))
                }
                None => Err(CellFailure::Server(format!("{} was not started.", order.name()))),
            },
            Target::Postgres(order) => match &setup.bench.postgres {
                Some(server) => Ok(Served::Postgres(server)),
                None => Err(CellFailure::Server(format!("{} was not started.", order.about()))),
            },
            Target::Embedded => {
                stage(Stage::Server);
                let launch = setup.logged(&context.programs.cqldyno, "-server");
                let launch = Launch { cores: setup.placement.server_cores(), ..launch };
                let (rows, arguments) = (setup.workload.rows(), setup.serve_arguments());
                let mut server = Server::start(launch, rows, arguments, context.cancel)?;
                if !setup.scenario.script.is_empty() {
                    server.set_script(setup.scenario.script.clone(), context.cancel)?;
                }
                Ok(Served::Node(server))
            }
        }
    }

    pub(super) fn nodes(&self) -> &[SocketAddr] {
        match self {
            Served::Nobody => &[],
            Served::Node(server) => server.nodes(),
            Served::Cassandra(cluster, _) => cluster.nodes(),
            Served::Postgres(server) => std::slice::from_ref(&server.address),
            Served::Cluster(nodes) => nodes,
        }
    }

    /// The processes to measure, or why there are none.
    pub(super) fn processes(&self) -> Result<Vec<i32>, String> {
        match self {
            Served::Nobody => Err(NOBODY.to_owned()),
            Served::Node(server) => Ok(vec![server.pid()]),
            Served::Cassandra(cluster, _) => Ok(cluster.processes()),
            Served::Postgres(_) => Err(BACKENDS.to_owned()),
            Served::Cluster(_) => Err(FOREIGN.to_owned()),
        }
    }

    /// How many cores can serve so many connections at most.
    pub(super) fn cores_at_work(&self, connections: u64) -> u64 {
        match self {
            // Its threads share the statements of a connection.
            Served::Cassandra(..) | Served::Postgres(_) => u64::MAX,
            _ => connections,
        }
    }

    /// Why the server that we started is gone, if it is.
    pub(super) fn ended(&mut self) -> Option<CellFailure> {
        match self {
            Served::Node(server) => server.ended(),
            Served::Cassandra(cluster, _) => cluster.ended().map(CellFailure::Server),
            Served::Postgres(server) => server.ended().map(CellFailure::Server),
            Served::Nobody | Served::Cluster(_) => None,
        }
    }

    /// What failed: the worker, or the server that no longer answers it. A worker knows only its own side.
    pub(super) fn blame(&mut self, failure: CellFailure, cancel: &Cancel) -> CellFailure {
        let its = match (&failure, self) {
            (CellFailure::Worker(_), Served::Node(server)) => server.silent(cancel),
            (CellFailure::Worker(_), served) => served.ended(),
            _ => None,
        };
        its.unwrap_or(failure)
    }

    /// Starts the script of the scenario, if it has one.
    pub(super) fn play(&mut self, scenario: &Scenario, cancel: &Cancel) -> Result<(), CellFailure> {
        match self {
            Served::Node(server) if !scenario.script.is_empty() => server.play(cancel),
            Served::Cassandra(cluster, _) if !scenario.script.is_empty() => {
                cluster.play(&scenario.script);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Goes on with the script, where the server does not by itself; why the server is gone, if it is.
    pub(super) fn attend(&mut self) -> Option<CellFailure> {
        if let Served::Cassandra(cluster, gate) = self
            && let Err(error) = cluster.attend(*gate)
        {
            return Some(CellFailure::Server(error.to_string()));
        }
        self.ended()
    }

    /// Ends the script: what each of its steps did, and sentences about steps that another server played.
    pub(super) fn end_script(
        &mut self,
        scenario: &Scenario,
        cancel: &Cancel,
    ) -> Result<(Vec<Played>, Vec<String>), CellFailure> {
        match self {
            Served::Node(server) if !scenario.script.is_empty() => Ok((server.end_script(cancel)?, Vec::new())),
            Served::Cassandra(cluster, gate) => {
                Ok((Vec::new(), ended(cluster.end_play(*gate, &|| cancel.is_cancelled()))?))
            }
            _ => Ok((Vec::new(), Vec::new())),
        }
    }

    /// What it did until now.
    pub(super) fn edge(&mut self, worker: i32, cancel: &Cancel) -> Result<Edge, CellFailure> {
        Ok(match self {
            Served::Nobody => Edge::Nothing,
            Served::Node(server) => Edge::Counted(Box::new(server.snapshot(cancel)?)),
            Served::Cassandra(cluster, _) => Edge::Carried(Traffic::of(worker, cluster.nodes()), CASSANDRA),
            Served::Postgres(server) => {
                let position = server.position().map_err(|error| CellFailure::Server(sentence(&error.to_string())))?;
                Edge::Logged(Traffic::of(worker, self.nodes()), position)
            }
            Served::Cluster(nodes) => Edge::Carried(Traffic::of(worker, nodes), FOREIGN),
        })
    }

    /// Sentences that void a window because PostgreSQL's log has other commits and rows than the worker says.
    pub(super) fn uncommitted(&self, edges: (&Edge, &Edge), scenario: &Scenario, done: &Done) -> Vec<String> {
        let (Served::Postgres(server), (Edge::Logged(_, from), Edge::Logged(_, to))) = (self, edges) else {
            return Vec::new();
        };
        let committed = match server.committed(from, to) {
            Ok(committed) => committed,
            Err(error) => return vec![sentence(&error.to_string())],
        };
        let inserts =
            scenario.statements.iter().filter(|one| one.cql.trim_start().to_ascii_uppercase().starts_with("INSERT"));
        let issued = |one: &Statement| done.issued_by_statement.get(&one.name).copied().unwrap_or(0);
        let inserted: u64 = inserts.map(issued).sum();
        differ(committed, inserted).into_iter().collect()
    }
}

/// A script of Cassandra that has ended.
fn ended(told: Result<Vec<String>, CassandraError>) -> Result<Vec<String>, CellFailure> {
    told.map_err(|error| match error {
        CassandraError::Cancelled => CellFailure::Cancelled,
        other => CellFailure::Server(other.to_string()),
    })
}

/// Whether closed connections still hold more than a third of the local ports. A driver that chooses its ports finds them busy, and so
/// does every other after it.
fn are_ports_scarce() -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let numbers = |text: &str| text.split_whitespace().map_while(|number| number.parse().ok()).collect::<Vec<u64>>();
    let held = read("/proc/net/sockstat").split_once(" tw ").map(|(_, rest)| numbers(rest));
    match (held.as_deref(), &numbers(&read("/proc/sys/net/ipv4/ip_local_port_range"))[..]) {
        (Some([held, ..]), [first, last]) => *held > last.saturating_sub(*first) / 3,
        _ => false,
    }
}

/// A sentence if PostgreSQL's log has another number of commits, or fewer rows, than were `inserted`.
fn differ(committed: Committed, inserted: u64) -> Option<String> {
    let [transactions, rows] = [committed.transactions, committed.rows];
    (transactions != inserted || rows < inserted).then(|| {
        format!(
            "PostgreSQL's log has {} commits and {} inserted rows in the window, and the worker says that it issued {} inserts.",
            grouped(transactions),
            grouped(rows),
            grouped(inserted)
        )
    })
}

/// What the server counted between two edges, and the connections that carried the statements; else why that is not known.
pub(super) fn between(
    edges: (&Edge, &Edge),
    scenario: &Scenario,
    done: &Done,
    played: &[Played],
) -> (Result<Counted, String>, Result<u64, String>) {
    match edges {
        (Edge::Counted(before), Edge::Counted(after)) => {
            let counted = Counted { played: played.to_vec(), ..Counted::between(before, after, scenario) };
            let connections = counted.connections;
            (Ok(counted), Ok(connections))
        }
        // The worker has no control connections, and a server short of cores may use some of them little.
        (Edge::Logged(..), Edge::Logged(after, _)) => {
            let open = after.as_ref().map(|traffic| traffic.open());
            (Err(POSTGRES.to_owned()), open.map_err(ToString::to_string))
        }
        (Edge::Carried(before, why), Edge::Carried(after, _)) => {
            let connections = match sessions(scenario, done) {
                0 => busy(before, after),
                _ => Err("Each of these statements had connections of its own, which only a target of ours counts."
                    .to_owned()),
            };
            (Err((*why).to_owned()), connections)
        }
        _ => (Err(NOBODY.to_owned()), Err(NOBODY.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_of_commits_or_rows_in_the_log_is_a_sentence() {
        let of = |transactions, rows| differ(Committed { transactions, rows }, 1_000);
        assert_eq!(of(1_000, 1_000), None);
        let expected = "PostgreSQL's log has 999 commits and 1,000 inserted rows in the window, and the worker says that it issued 1,000 \
                        inserts.";
        assert_eq!(of(999, 1_000).unwrap(), expected);
        assert!(of(1_000, 999).is_some() && of(0, 0).is_some());
        assert_eq!(of(1_000, 1_001), None, "a row may be logged that another one replaces");
    }
}
