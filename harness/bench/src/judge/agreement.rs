//! The server agrees: what it counted in the window must be what the worker says that it issued.

use std::collections::{BTreeMap, BTreeSet};

use cqldyno_cluster::{OperationSnapshot, Request, without_comment};
use cqldyno_meter::Span;
use cqldyno_protocol::Done;
use cqldyno_reports::whole;
use cqldyno_scenarios::{Operation, Scenario, Statement, Workload};

use crate::judge::due::{Due, due};

/// What the server has counted since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// CPU time of the server process by its own account, nanoseconds.
    pub cpu_ns: u64,
    /// Requests of any kind.
    pub requests: u64,
    /// EXECUTEs by the prepared statement's text and the connection's number.
    pub executes: BTreeMap<(String, u64), u64>,
    /// How it read, by the connection's number.
    pub reads: BTreeMap<u64, Reads>,
    /// QUERYs, EXECUTEs and BATCHes.
    pub statements: u64,
    /// Rows in all tables.
    pub rows: u64,
    /// When it received the first and the last EXECUTE since the snapshot before, by the prepared statement's text.
    pub received: BTreeMap<String, Span>,
    /// EXECUTEs of connections that are no longer told one by one, by the prepared statement's text.
    pub forgotten_executes: BTreeMap<String, u64>,
    /// How many of these connections there were since the snapshot before, by the prepared statement's text.
    pub forgotten_connections: BTreeMap<String, u64>,
    /// PREPAREs, QUERYs and BATCHes by text.
    pub operations: Vec<OperationSnapshot>,
    /// Connections since its start.
    pub opened: u64,
}

impl Snapshot {
    /// Requests and rows of this kind about the statement of this text.
    fn operated(&self, request: Request, text: &str) -> (u64, u64) {
        let found = self.operations.iter().find(|one| one.request == request && one.text == text);
        found.map_or((0, 0), |one| (one.count, one.rows))
    }
}

/// How a server reads its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Reads that brought bytes.
    pub count: u64,
    /// Request frames that were in them.
    pub frames: u64,
    /// Bytes that were in them.
    pub bytes: u64,
}

/// What the server counted in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// EXECUTEs by the statement's text, for the scenario's statements only.
    pub by_text: BTreeMap<String, u64>,
    /// The scenario's PREPAREs, QUERYs and BATCHes with their rows, by the statement's text without a comment at its end.
    pub operations: BTreeMap<(Request, String), (u64, u64)>,
    /// Connections that carried them.
    pub connections: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Requests of any kind.
    pub requests: u64,
    /// All other requests.
    pub control_requests: u64,
    /// CPU time of the server, nanoseconds.
    pub cpu_ns: u64,
    /// How it read these connections.
    pub reads: Reads,
    /// QUERYs, EXECUTEs and BATCHes that were none of them: the driver's own.
    pub own_statements: u64,
    /// Rows in all tables, after less before.
    pub new_rows: i64,
    /// When the first and the last of the scenario's statements were received.
    pub received: Option<Span>,
}

impl Counted {
    /// The difference of two snapshots, as far as it concerns `scenario`.
    pub fn between(before: &Snapshot, after: &Snapshot, scenario: &Scenario) -> Counted {
        let mut by_text: BTreeMap<String, u64> =
            scenario.statements.iter().map(|statement| (text(&statement.cql), 0)).collect();
        let (mut connections, mut forgotten) = (BTreeSet::new(), 0);
        for ((cql, connection), count) in &after.executes {
            let earlier = before.executes.get(&(cql.clone(), *connection)).copied().unwrap_or(0);
            let count = count.saturating_sub(earlier);
            if let Some(sum) = by_text.get_mut(&text(cql)).filter(|_| count > 0) {
                *sum += count;
                connections.insert(*connection);
            }
        }
        for (cql, count) in &after.forgotten_executes {
            if let Some(sum) = by_text.get_mut(&text(cql)) {
                let earlier = before.forgotten_executes.get(cql).copied().unwrap_or(0);
                *sum += count.saturating_sub(earlier);
                forgotten += after.forgotten_connections.get(cql).copied().unwrap_or(0);
            }
        }
        let mut operations: BTreeMap<(Request, String), (u64, u64)> = BTreeMap::new();
        let mut operated = Vec::new();
        for (request, text) in scenario.statements.iter().flat_map(requests_of) {
            let (was, is) = (before.operated(request, &text), after.operated(request, &text));
            let found = after.operations.iter().find(|one| one.request == request && one.text == text);
            operations.insert((request, text), (is.0.saturating_sub(was.0), is.1.saturating_sub(was.1)));
            operated.extend(found);
        }
        // A driver may prepare where it does not execute: only what a scenario asks for as such says where its data go.
        let prepares = scenario.statements.iter().any(|statement| statement.operation == Operation::Prepare);
        for found in operated.iter().filter(|one| prepares || one.request != Request::Prepare) {
            connections.extend(&found.connections);
            forgotten += found.forgotten_connections;
        }
        let reads = |at: &Snapshot, pick: fn(&Reads) -> u64| -> u64 {
            connections.iter().filter_map(|connection| at.reads.get(connection)).map(pick).sum()
        };
        let more = |pick| reads(after, pick).saturating_sub(reads(before, pick));
        let reads = Reads {
            count: more(|reads| reads.count),
            frames: more(|reads| reads.frames),
            bytes: more(|reads| reads.bytes),
        };
        let requests = after.requests.saturating_sub(before.requests);
        let executes: u64 = by_text.values().sum();
        let of = |is_statement: &dyn Fn(Request) -> bool| -> u64 {
            operations.iter().filter(|((request, _), _)| is_statement(*request)).map(|(_, (count, _))| count).sum()
        };
        let asked_for = executes + of(&|_| true);
        let issued = executes + of(&|request| request != Request::Prepare);
        let statements = after.statements.saturating_sub(before.statements);
        let received = after.received.iter().filter(|(cql, _)| by_text.contains_key(&text(cql))).map(|(_, span)| *span);
        let span =
            |one: &&OperationSnapshot| one.times.map(|times| Span { first_ns: times.first_ns, last_ns: times.last_ns });
        let received = received.chain(operated.iter().filter_map(span));
        let received = received.reduce(|one, other| Span {
            first_ns: one.first_ns.min(other.first_ns),
            last_ns: one.last_ns.max(other.last_ns),
        });
        Counted {
            own_statements: statements.saturating_sub(issued),
            new_rows: after.rows.cast_signed().saturating_sub(before.rows.cast_signed()),
            received,
            by_text,
            operations,
            connections: connections.len() as u64 + forgotten,
            opened: after.opened.saturating_sub(before.opened),
            requests,
            control_requests: requests.saturating_sub(asked_for),
            cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
            reads,
        }
    }

    /// EXECUTEs of the scenario's statements.
    pub fn executes(&self) -> u64 {
        self.by_text.values().sum()
    }

    /// A sentence for each statement of which the server counted another number than the worker issued.
    pub fn disagreements(&self, scenario: &Scenario, done: &Done) -> Vec<String> {
        due(scenario, done).iter().flat_map(|due| self.disagrees(due)).collect()
    }

    /// Sentences about one text.
    fn disagrees(&self, due: &Due<'_>) -> Vec<String> {
        let of = |request, text: &str| self.operations.get(&(request, text.to_owned())).copied().unwrap_or_default();
        let differ = |counted: u64, what: &str, issued: u64| {
            let differ = format!(
                "The server counted {} {what} of the statement {} in the window and the worker says that it issued {}.",
                grouped(counted),
                due.names.join(" and "),
                grouped(issued)
            );
            (counted != issued).then_some(differ)
        };
        let executes = self.by_text.get(&due.text).copied().unwrap_or(0);
        let mut sentences = Vec::new();
        if due.unprepared {
            let (queries, _) = of(Request::Query, &due.uncommented);
            sentences.extend(differ(executes + queries, "EXECUTEs and QUERYs", due.executes));
        } else {
            sentences.extend(differ(executes, "EXECUTEs", due.executes));
        }
        if let Some(issued) = due.prepares {
            sentences.extend(differ(of(Request::Prepare, &due.prepared_as).0, "PREPAREs", issued));
        }
        if let Some((batches, rows)) = due.batches {
            let (counted, counted_rows) = of(Request::UnloggedBatch, &due.uncommented);
            sentences.extend(differ(counted, "unlogged BATCHes", batches));
            sentences.extend(differ(counted_rows, "rows in unlogged BATCHes", rows));
            sentences.extend(differ(of(Request::LoggedBatch, &due.uncommented).0, "logged BATCHes", 0));
        }
        sentences
    }
}

/// The requests besides EXECUTE that a statement is issued as, or may be, each with the text by which the server counts them.
fn requests_of(statement: &Statement) -> Vec<(Request, String)> {
    let uncommented = || without_comment(&statement.cql).to_owned();
    match statement.operation {
        Operation::Execute => Vec::new(),
        Operation::Batch => vec![(Request::UnloggedBatch, uncommented()), (Request::LoggedBatch, uncommented())],
        Operation::Prepare => vec![(Request::Prepare, text(&statement.cql))],
        Operation::Unprepared => vec![(Request::Query, uncommented()), (Request::Prepare, uncommented())],
        Operation::Connect => vec![(Request::Prepare, uncommented())],
    }
}

/// Beside every 10,000 statements asked for, the driver may send one of its own, and this many in any case and for every minute:
/// drivers ask for the cluster's state again and again.
const OWN_STATEMENTS: u64 = 100;
/// What a driver may send for each session that it is asked to make.
const OWN_STATEMENTS_A_SESSION: u64 = 100;
const MINUTE_NS: u128 = 60_000_000_000;

impl Counted {
    /// A sentence when the driver sent so many statements of its own that they could be what was asked for in another way:
    /// unprepared, prepared under another text, in batches, or again. The window took `wall_ns`.
    pub fn own_statements_void(&self, issued: u64, sessions: u64, wall_ns: u64) -> Option<String> {
        let in_time = u64::try_from(u128::from(OWN_STATEMENTS) * u128::from(wall_ns) / MINUTE_NS).unwrap_or(u64::MAX);
        let most = (OWN_STATEMENTS + issued / 10_000 + OWN_STATEMENTS_A_SESSION * sessions).saturating_add(in_time);
        (self.own_statements > most).then(|| {
            format!(
                "The server counted {} statements of the driver's own in the window, beside the {} asked for; more than {} could \
                 be the same ones sent in another way.",
                grouped(self.own_statements),
                grouped(issued),
                grouped(most)
            )
        })
    }

    /// A sentence when the tables have not got as many new rows as the window's statements write; nothing where the scenario
    /// does not say how many that is: every statement must either expect rows or say how its own is read back.
    pub fn rows_void(&self, scenario: &Scenario, workload: &Workload, done: &Done) -> Option<String> {
        let statements = &scenario.statements;
        let is_known =
            |one: &Statement| one.expect.is_some() || one.read_back.is_some() || one.operation == Operation::Prepare;
        if !statements.iter().all(is_known) {
            return None;
        }
        let writes = statements.iter().enumerate().filter(|(_, one)| one.read_back.is_some());
        let written = |(index, one): (usize, &Statement)| {
            workload.rows_written(index, done.issued_by_statement.get(&one.name).copied().unwrap_or(0))
        };
        let asked: u64 = writes.map(written).sum::<Option<u64>>()?;
        (self.new_rows != asked.cast_signed()).then(|| {
            format!(
                "The server has {}{} rows more than before the window, and {} were to be inserted, each with a key of its own.",
                if self.new_rows < 0 { "-" } else { "" },
                grouped(self.new_rows.unsigned_abs()),
                grouped(asked)
            )
        })
    }
}

/// A statement's text as it is compared: without white space around it.
pub(crate) fn text(cql: &str) -> String {
    cql.trim().to_owned()
}

/// What voids the figures of a cell by the worker's own account.
pub fn voids(done: &Done, asked: u64) -> Vec<String> {
    let mut voids = Vec::new();
    let by_statement: u64 = done.issued_by_statement.values().sum();
    if by_statement != done.issued {
        voids.push(format!(
            "The worker says that it issued {} statements and, by statement, {}.",
            grouped(done.issued),
            grouped(by_statement)
        ));
    }
    if done.issued != asked {
        voids.push(format!("{} statements were asked for and {} were issued.", grouped(asked), grouped(done.issued)));
    }
    let errors: u64 = done.errors.values().map(|error| error.count).sum();
    if errors > 0 {
        let kinds: Vec<String> =
            done.errors.iter().map(|(kind, error)| format!("{} of kind {kind}", grouped(error.count))).collect();
        voids.push(format!("{} of {} statements failed: {}.", grouped(errors), grouped(done.issued), kinds.join(", ")));
    } else if done.verified != done.issued {
        voids.push(format!(
            "{} statements were issued and {} answered as the scenario says.",
            grouped(done.issued),
            grouped(done.verified)
        ));
    }
    voids
}

/// What voids the figures because the driver had another number of data connections; `sessions` are those that were made for one
/// statement each, beside the worker's own where it `has_own` statements.
pub fn connection_void(found: u64, asked: u64, nodes: u64, sessions: u64, has_own: bool) -> Option<String> {
    let expected = if has_own { asked * nodes + sessions } else { sessions };
    (found != expected).then(|| {
        if sessions > 0 {
            return format!(
                "{} connections carried the statements, and {} were due: one for each of {} sessions that were made for one.",
                grouped(found),
                grouped(expected),
                grouped(sessions)
            );
        }
        format!(
            "{found} connections carried the statements, and {asked} to each of {nodes} {} were asked for.",
            if nodes == 1 { "node" } else { "nodes" }
        )
    })
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    whole(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::ErrorKind;
    use cqldyno_protocol::ErrorCount;

    const SELECT: &str = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?";
    const INSERT: &str = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)";

    fn mixed() -> Scenario {
        cqldyno_scenarios::builtin("mixed").unwrap()
    }

    fn snapshot(requests: u64, executes: &[(&str, u64, u64)]) -> Snapshot {
        let executes = executes.iter().map(|(cql, at, count)| (((*cql).to_owned(), *at), *count)).collect();
        Snapshot { cpu_ns: requests * 10, requests, statements: requests, executes, ..Snapshot::default() }
    }

    fn done(select: u64, insert: u64) -> Done {
        let issued = select + insert;
        let by = [("select".to_owned(), select), ("insert".to_owned(), insert)];
        Done { issued, answered: issued, verified: issued, issued_by_statement: by.into(), ..Done::default() }
    }

    #[test]
    fn only_the_windows_executes_of_the_scenarios_statements_count() {
        let mut before = snapshot(1_000, &[(INSERT, 1, 900), (SELECT, 2, 50)]);
        let mut after =
            snapshot(1_150, &[(INSERT, 1, 900), (INSERT, 2, 40), (SELECT, 2, 110), ("SELECT x FROM s", 3, 9)]);
        let read = |n| Reads { count: n, frames: 10 * n, bytes: 100 * n };
        before.reads = [(1, read(70)), (2, read(5))].into();
        after.reads = [(1, read(70)), (2, read(12)), (3, read(20))].into();
        let counted = Counted::between(&before, &after, &mixed());
        assert_eq!(counted.executes(), 100);
        assert_eq!(counted.connections, 1, "connection 1 loaded before, 3 is the driver's own");
        assert_eq!(counted.control_requests, 50);
        assert_eq!(counted.cpu_ns, 1_500);
        assert_eq!(counted.reads, read(7), "of the connection that carried the scenario's");
        assert!(counted.disagreements(&mixed(), &done(60, 40)).is_empty());
        assert_eq!(counted.own_statements, 50);
    }

    #[test]
    fn the_scenarios_statements_were_received_from_the_first_to_the_last_of_any_of_them() {
        let span = |first_ns, last_ns| Span { first_ns, last_ns };
        let received = [(SELECT, span(20, 30)), (INSERT, span(25, 70)), ("SELECT x FROM s", span(1, 99))];
        let received = received.map(|(cql, span)| (cql.to_owned(), span)).into();
        let after = Snapshot { received, ..snapshot(10, &[]) };
        assert_eq!(Counted::between(&Snapshot::default(), &after, &mixed()).received, Some(span(20, 70)));
        assert_eq!(Counted::between(&after, &snapshot(20, &[]), &mixed()).received, None);
    }

    fn operated(request: Request, text: &str, count: u64, rows: u64) -> OperationSnapshot {
        let times = Some(cqldyno_cluster::ExecuteTimes { first_ns: 30, last_ns: 40 });
        let (connections, forgotten_connections) = (vec![2], 0);
        OperationSnapshot { request, text: text.to_owned(), count, rows, times, connections, forgotten_connections }
    }

    fn one(name: &str) -> (Scenario, String) {
        let scenario = cqldyno_scenarios::builtin(name).unwrap();
        let cql = scenario.statements[0].cql.clone();
        (scenario, cql)
    }

    fn issued(scenario: &Scenario, count: u64) -> Done {
        let by = [(scenario.statements[0].name.clone(), count)];
        Done { issued: count, answered: count, verified: count, issued_by_statement: by.into(), ..Done::default() }
    }

    #[test]
    fn batches_and_their_rows_must_be_as_many_as_were_issued_and_unlogged() {
        let (batch, cql) = one("batch");
        let workload = Workload::new(&batch, 10, 0, 1).unwrap();
        let before = Snapshot { operations: vec![operated(Request::UnloggedBatch, &cql, 5, 320)], ..snapshot(5, &[]) };
        let counted = |operations| {
            let after = Snapshot { operations, rows: 640, ..snapshot(15, &[]) };
            Counted::between(&before, &after, &batch)
        };
        let right = counted(vec![operated(Request::UnloggedBatch, &cql, 15, 960)]);
        assert_eq!(right.disagreements(&batch, &issued(&batch, 10)), [""; 0]);
        assert_eq!(right.rows_void(&batch, &workload, &issued(&batch, 10)), None);
        assert_eq!((right.own_statements, right.control_requests, right.connections), (0, 0, 1));
        assert_eq!(right.received, Some(Span { first_ns: 30, last_ns: 40 }));
        let split = counted(vec![operated(Request::UnloggedBatch, &cql, 25, 960)]);
        assert_eq!(
            split.disagreements(&batch, &issued(&batch, 10)),
            [
                "The server counted 20 unlogged BATCHes of the statement batch in the window and the worker says that it issued 10."
            ]
        );
        let logged = counted(vec![operated(Request::LoggedBatch, &cql, 10, 640)]);
        assert_eq!(logged.disagreements(&batch, &issued(&batch, 10)).len(), 3, "none unlogged, no rows, ten logged");
        assert!(right.rows_void(&batch, &workload, &issued(&batch, 11)).is_some());
    }

    #[test]
    fn prepares_and_sessions_must_be_as_many_as_were_issued() {
        let (prepare, cql) = one("prepare");
        let after = Snapshot { operations: vec![operated(Request::Prepare, &cql, 9, 0)], ..snapshot(9, &[]) };
        let counted = Counted::between(&Snapshot::default(), &after, &prepare);
        assert_eq!(counted.disagreements(&prepare, &issued(&prepare, 9)), [""; 0]);
        assert_eq!((counted.connections, counted.control_requests), (1, 0));
        assert_eq!(
            counted.disagreements(&prepare, &issued(&prepare, 10)),
            [
                "The server counted 9 PREPAREs of the statement prepare in the window and the worker says that it issued 10."
            ]
        );
        let (connect, cql) = one("connect");
        let mut after = snapshot(90, &[(&cql, 7, 1), (&cql, 8, 1)]);
        after.forgotten_executes = [(cql.clone(), 3)].into();
        after.forgotten_connections = [(cql.clone(), 3)].into();
        after.operations = vec![operated(Request::Prepare, &cql, 5, 0)];
        after.opened = 10;
        let counted = Counted::between(&Snapshot::default(), &after, &connect);
        assert_eq!((counted.connections, counted.opened, counted.control_requests), (5, 10, 80));
        assert_eq!(counted.disagreements(&connect, &issued(&connect, 5)), [""; 0]);
        assert_eq!(counted.disagreements(&connect, &issued(&connect, 6)).len(), 2);
        assert_eq!(counted.own_statements_void(5, 5, 0), None, "each session has statements of its own");
    }

    #[test]
    fn an_unprepared_statement_is_a_query_or_prepared_and_executed_as_the_driver_does_it() {
        let (unprepared, cql) = one("unprepared");
        for (queries, executes) in [(8, 0), (0, 8)] {
            let mut after = snapshot(20, &[(&cql, 2, executes)]);
            after.operations = vec![operated(Request::Query, &cql, queries, 0)];
            let counted = Counted::between(&Snapshot::default(), &after, &unprepared);
            assert_eq!(counted.disagreements(&unprepared, &issued(&unprepared, 8)), [""; 0]);
            assert_eq!(counted.disagreements(&unprepared, &issued(&unprepared, 7)).len(), 1);
            assert_eq!(counted.connections, 1);
        }
    }

    #[test]
    fn many_statements_of_the_drivers_own_are_void() {
        let own = |own_statements, wall_ns| {
            Counted { own_statements, ..Counted::default() }.own_statements_void(250_000, 0, wall_ns)
        };
        let minute = 60_000_000_000;
        assert_eq!(own(125, 0), None);
        assert_eq!(own(225, minute), None);
        assert!(own(226, minute).unwrap().contains("more than 225 could be"));
        assert_eq!(own(1_125, 10 * minute), None, "a long window");
        assert!(own(u64::MAX, u64::MAX).is_some());
        assert_eq!(
            own(250, 0).unwrap(),
            "The server counted 250 statements of the driver's own in the window, beside the 250,000 asked for; more than 125 \
             could be the same ones sent in another way."
        );
    }

    #[test]
    fn as_many_rows_as_were_inserted_must_be_there() {
        let rows = |new_rows, scenario: &Scenario| {
            let workload = Workload::new(scenario, 1_100, 10, 7).unwrap();
            Counted { new_rows, ..Counted::default() }.rows_void(scenario, &workload, &done(60, 1_040))
        };
        assert_eq!(rows(1_040, &mixed()), None);
        assert_eq!(
            rows(1_039, &mixed()).unwrap(),
            "The server has 1,039 rows more than before the window, and 1,040 were to be inserted, each with a key of its own."
        );
        assert!(rows(-60, &mixed()).unwrap().contains("has -60 rows more"));
        let mut unknown = mixed();
        unknown.statements[1].read_back = None;
        assert_eq!(rows(0, &unknown), None, "an insert that may meet a row that is there");
        let mut few = mixed();
        few.statements[0].weight = 3;
        few.statements[1].weight = 52;
        few.statements[1].keys = Some(100);
        assert_eq!(rows(100, &few), None, "keys that come again make no new row");
        assert!(rows(1_040, &few).unwrap().contains("and 100 were to be inserted"));
    }

    #[test]
    fn one_statement_more_or_less_on_either_side_is_a_sentence_with_both_numbers() {
        let after = snapshot(2_000, &[(INSERT, 2, 1_000), (SELECT, 2, 1_000)]);
        let counted = Counted::between(&Snapshot::default(), &after, &mixed());
        assert_eq!(
            counted.disagreements(&mixed(), &done(1_000, 1_001)),
            [
                "The server counted 1,000 EXECUTEs of the statement insert in the window and the worker says that it issued \
              1,001."
            ]
        );
        assert_eq!(
            counted.disagreements(&mixed(), &done(999, 1_001)).len(),
            2,
            "the sums agree, the statements do not"
        );
    }

    #[test]
    fn every_page_of_an_answer_is_an_execute() {
        let rows = cqldyno_scenarios::builtin("rows").unwrap();
        let text = &rows.statements[0].cql;
        let done = done(1_000, 0);
        let disagreements = |executes| {
            Counted::between(&Snapshot::default(), &snapshot(5_000, &[(text, 2, executes)]), &rows)
                .disagreements(&rows, &done)
        };
        assert!(disagreements(4_000).is_empty());
        assert_eq!(disagreements(3_999).len(), 1);
    }

    #[test]
    fn errors_wrong_rows_and_missing_statements_void() {
        assert!(voids(&done(5, 5), 10).is_empty());
        assert_eq!(voids(&done(5, 4), 10), ["10 statements were asked for and 9 were issued."]);
        let unverified = Done { verified: 9, ..done(5, 5) };
        assert_eq!(voids(&unverified, 10), ["10 statements were issued and 9 answered as the scenario says."]);
        let wrong = ErrorCount { count: 2, first: "x".to_owned() };
        let failed = Done { verified: 8, errors: [(ErrorKind::WrongRow, wrong)].into(), ..done(5, 5) };
        assert_eq!(voids(&failed, 10), ["2 of 10 statements failed: 2 of kind wrong row."]);
        let lie = Done { issued: 10, verified: 10, ..done(5, 4) };
        assert_eq!(voids(&lie, 10), ["The worker says that it issued 10 statements and, by statement, 9."]);
    }

    #[test]
    fn another_number_of_connections_voids() {
        assert_eq!(connection_void(2, 1, 2, 0, true), None);
        assert_eq!(connection_void(100, 1, 1, 100, false), None);
        assert_eq!(connection_void(101, 1, 1, 100, true), None);
        assert_eq!(
            connection_void(99, 1, 1, 100, false).unwrap(),
            "99 connections carried the statements, and 100 were due: one for each of 100 sessions that were made for one."
        );
        assert_eq!(
            connection_void(3, 1, 1, 0, true).unwrap(),
            "3 connections carried the statements, and 1 to each of 1 node were asked for."
        );
    }

    #[test]
    fn numbers_have_commas() {
        assert_eq!(["0", "999", "1,000", "10,000,000"], [0, 999, 1_000, 10_000_000].map(grouped));
    }
}
