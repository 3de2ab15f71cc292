//! What the server must have counted, and what is said where it did not.

use super::*;
use cqldyno_cluster::OperationSnapshot;
use cqldyno_driver_api::ErrorKind;
use cqldyno_protocol::ErrorCount;

const SELECT: &str = "SELECT pk, v1, v2 FROM cqldyno.bench WHERE pk = ?";
const INSERT: &str = "INSERT INTO cqldyno.bench (pk, v1, v2) VALUES (?, ?, ?)";

fn mixed() -> Scenario {
    cqldyno_scenarios::builtin("mixed").unwrap()
}

fn planned(scenario: &Scenario) -> Workload {
    Workload::new(scenario, 100, 0, 1).unwrap()
}

fn snapshot(requests: u64, executes: &[(&str, u64, u64)]) -> Snapshot {
    let connections = executes.iter().map(|(cql, at, count)| ConnectionSnapshot {
        id: *at,
        executes: [((*cql).to_owned(), *count)].into(),
        ..ConnectionSnapshot::default()
    });
    Snapshot {
        connections: connections.collect(),
        cpu_user_us: requests,
        frames: requests,
        opcodes: [("QUERY".to_owned(), requests)].into(),
        ..Snapshot::default()
    }
}

fn done(select: u64, insert: u64) -> Done {
    let issued = select + insert;
    let by = [("select".to_owned(), select), ("insert".to_owned(), insert)];
    Done { issued, answered: issued, verified: issued, issued_by_statement: by.into(), ..Done::default() }
}

#[test]
fn only_the_windows_executes_of_the_scenarios_statements_count() {
    let mut before = snapshot(1_000, &[(INSERT, 1, 900), (SELECT, 2, 50)]);
    let mut after = snapshot(1_150, &[(INSERT, 1, 900), (INSERT, 2, 40), (SELECT, 2, 110), ("SELECT x FROM s", 3, 9)]);
    let read = |n| Reads { count: n, frames: 10 * n, bytes: 100 * n };
    let read_by = |at: &mut Snapshot, connection: usize, n| {
        let Reads { count, frames, bytes } = read(n);
        let one = &mut at.connections[connection];
        (one.reads, one.frames, one.read_bytes) = (count, frames, bytes);
    };
    read_by(&mut before, 0, 70);
    read_by(&mut before, 1, 5);
    read_by(&mut after, 0, 70);
    read_by(&mut after, 1, 12);
    read_by(&mut after, 3, 20);
    let counted = Counted::between(&before, &after, &mixed());
    assert_eq!(counted.executes(), 100);
    assert_eq!(counted.connections, 1, "connection 1 loaded before, 3 is the driver's own");
    assert_eq!(counted.control_requests, 50);
    assert_eq!(counted.cpu_ns, 150_000);
    assert_eq!(counted.reads, read(7), "of the connection that carried the scenario's");
    assert!(counted.disagreements(&mixed(), &planned(&mixed()), &done(60, 40)).is_empty());
    assert_eq!(counted.own_statements, 50);
}

#[test]
fn what_connections_executed_before_the_window_in_which_they_leave_the_list_is_no_part_of_it() {
    let mut before = snapshot(10, &[(SELECT, 1, 3), (SELECT, 2, 5)]);
    before.executes_forgotten = [(SELECT.to_owned(), 7)].into();
    let mut after = snapshot(30, &[(SELECT, 2, 6), (SELECT, 4, 2)]);
    // Of connection 1, which executes once more, and of connection 3.
    after.executes_forgotten = [(SELECT.to_owned(), 7 + 4 + 9)].into();
    after.executes_forgotten_connections = [(SELECT.to_owned(), 2)].into();
    let counted = Counted::between(&before, &after, &mixed());
    assert_eq!((counted.executes(), counted.connections), (1 + 2 + 1 + 9, 4));
}

#[test]
fn connections_that_were_not_encrypted_as_was_asked_are_told_and_others_by_their_cipher() {
    let mut after = snapshot(10, &[(INSERT, 1, 10), (SELECT, 2, 10), ("SELECT x FROM s", 3, 9)]);
    after.connections[0].cipher = Some("TLS13_AES_256_GCM_SHA384".to_owned());
    let counted = |after: &Snapshot| Counted::between(&Snapshot::default(), after, &mixed());
    let void = "1 of 2 connections with statements had no TLS, which was asked for.";
    assert_eq!(counted(&after).plain_void().as_deref(), Some(void));
    after.connections[1].cipher = after.connections[0].cipher.clone();
    assert_eq!(counted(&after).plain_void(), None, "the third one is the driver's own");
    let by = "Its connections are encrypted by TLS13_AES_256_GCM_SHA384.";
    assert_eq!(counted(&after).encrypted_by().as_deref(), Some(by));
    assert_eq!(counted(&snapshot(10, &[(INSERT, 1, 10)])).encrypted_by(), None);
}

#[test]
fn the_scenarios_statements_were_received_from_the_first_to_the_last_of_any_of_them() {
    let times = [(SELECT, 20, 30), (INSERT, 25, 70), ("SELECT x FROM s", 1, 99)];
    let times = times.map(|(cql, first_ns, last_ns)| (cql.to_owned(), ExecuteTimes { first_ns, last_ns }));
    let after = Snapshot { execute_times: times.into(), ..snapshot(10, &[]) };
    assert_eq!(
        Counted::between(&Snapshot::default(), &after, &mixed()).received,
        Some(Span { first_ns: 20, last_ns: 70 })
    );
    assert_eq!(Counted::between(&after, &snapshot(20, &[]), &mixed()).received, None);
}

fn operated(request: Request, text: &str, count: u64, rows: u64) -> OperationSnapshot {
    let times = Some(ExecuteTimes { first_ns: 30, last_ns: 40 });
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
    assert_eq!(right.disagreements(&batch, &planned(&batch), &issued(&batch, 10)), [""; 0]);
    assert_eq!(right.rows_void(&batch, &workload, &issued(&batch, 10)), None);
    assert_eq!((right.own_statements, right.control_requests, right.connections), (0, 0, 1));
    assert_eq!(right.received, Some(Span { first_ns: 30, last_ns: 40 }));
    let split = counted(vec![operated(Request::UnloggedBatch, &cql, 25, 960)]);
    assert_eq!(
        split.disagreements(&batch, &planned(&batch), &issued(&batch, 10)),
        [
            "The server counted 20 unlogged BATCHes of the statement batch in the window and the worker says that it issued 10."
        ]
    );
    let logged = counted(vec![operated(Request::LoggedBatch, &cql, 10, 640)]);
    assert_eq!(
        logged.disagreements(&batch, &planned(&batch), &issued(&batch, 10)).len(),
        4,
        "none unlogged, no rows, ten logged with rows"
    );
    assert!(right.rows_void(&batch, &workload, &issued(&batch, 11)).is_some());
}

#[test]
fn prepares_and_sessions_must_be_as_many_as_were_issued() {
    let (prepare, cql) = one("prepare");
    let after = Snapshot { operations: vec![operated(Request::Prepare, &cql, 9, 0)], ..snapshot(9, &[]) };
    let counted = Counted::between(&Snapshot::default(), &after, &prepare);
    assert_eq!(counted.disagreements(&prepare, &planned(&prepare), &issued(&prepare, 9)), [""; 0]);
    assert_eq!((counted.connections, counted.control_requests, counted.prepares()), (1, 0, 9));
    assert_eq!(
        counted.disagreements(&prepare, &planned(&prepare), &issued(&prepare, 3)),
        [""; 0],
        "once on each of three nodes"
    );
    let own = Snapshot { opcodes: [("PREPARE".to_owned(), 4)].into(), ..snapshot(9, &[]) };
    assert_eq!(Counted::between(&Snapshot::default(), &own, &mixed()).prepares(), 4, "the driver's own");
    assert_eq!(
        counted.disagreements(&prepare, &planned(&prepare), &issued(&prepare, 10)),
        ["The server counted 9 PREPAREs of the statement prepare in the window and the worker says that it issued 10."]
    );
    let (connect, cql) = one("connect");
    let mut after = snapshot(90, &[(&cql, 7, 1), (&cql, 8, 1)]);
    after.executes_forgotten = [(cql.clone(), 3)].into();
    after.executes_forgotten_connections = [(cql.clone(), 3)].into();
    after.operations = vec![operated(Request::Prepare, &cql, 5, 0)];
    after.connections_ever = 10;
    let counted = Counted::between(&Snapshot::default(), &after, &connect);
    assert_eq!((counted.connections, counted.opened, counted.control_requests), (5, 10, 80));
    assert_eq!(counted.disagreements(&connect, &planned(&connect), &issued(&connect, 5)), [""; 0]);
    assert_eq!(counted.disagreements(&connect, &planned(&connect), &issued(&connect, 6)).len(), 2);
    assert_eq!(counted.own_statements_void(5, 5, 0), None, "each session has statements of its own");
}

#[test]
fn an_unprepared_statement_is_a_query_or_prepared_and_executed_as_the_driver_does_it() {
    let (unprepared, cql) = one("unprepared");
    for (queries, executes) in [(8, 0), (0, 8)] {
        let mut after = snapshot(20, &[(&cql, 2, executes)]);
        after.operations = vec![operated(Request::Query, &cql, queries, 0)];
        let counted = Counted::between(&Snapshot::default(), &after, &unprepared);
        assert_eq!(counted.disagreements(&unprepared, &planned(&unprepared), &issued(&unprepared, 8)), [""; 0]);
        assert_eq!(counted.disagreements(&unprepared, &planned(&unprepared), &issued(&unprepared, 7)).len(), 1);
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
fn statements_that_read_system_tables_are_a_figure_and_void_nothing() {
    let (unprepared, cql) = one("unprepared");
    let mut before = snapshot(50, &[("SELECT * FROM system.local", 3, 20)]);
    before.operations = vec![operated(Request::Query, "SELECT * FROM system.peers", 30, 0)];
    let mut after = snapshot(950, &[("SELECT * FROM system.local", 3, 320)]);
    after.operations = vec![
        operated(Request::Query, &cql, 8, 0),
        operated(Request::Query, "SELECT * FROM system.peers", 580, 0),
        operated(Request::Query, "SELECT v FROM cqldyno.other", 42, 0),
    ];
    let counted = Counted::between(&before, &after, &unprepared);
    assert_eq!((counted.own_statements, counted.system_statements), (892, 850));
    assert_eq!(counted.own_statements_void(8, 0, 0), None);
    let more = Counted { own_statements: 951, ..counted };
    assert!(more.own_statements_void(8, 0, 0).unwrap().starts_with("The server counted 101 statements"));
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
    assert_eq!(rows_not_counted(&mixed()), None);
    let mut unknown = mixed();
    unknown.statements[1].read_back = None;
    assert_eq!(rows(0, &unknown), None, "an insert that may meet a row that is there");
    unknown.statements[0].cql = "DELETE FROM cqldyno.bench WHERE pk = ?".to_owned();
    assert_eq!(rows(-60, &unknown), None);
    assert_eq!(
        rows_not_counted(&unknown).unwrap(),
        "New rows in the tables were not counted, because the statement select deletes rows and the statement insert writes and \
         has no [statement.read_back]."
    );
    (unknown.statements[0].adds, unknown.statements[1].adds) = (Some(-1), Some(2));
    assert_eq!((rows(2 * 1_040 - 60, &unknown), rows_not_counted(&unknown)), (None, None), "they say what they add");
    assert_eq!(
        rows(-60, &unknown).unwrap(),
        "The server has -60 rows more than before the window, and 2,020 were to be added by the statements."
    );
    let mut conditional = mixed();
    conditional.statements[1].cql.push_str(" IF NOT EXISTS");
    conditional.statements[1].expect = conditional.statements[0].expect.clone();
    assert!(rows(1_039, &conditional).is_some(), "it says how its rows are read back");
    conditional.statements[1].load = conditional.statements[0].load.clone();
    assert_eq!(rows(0, &conditional), None, "its rows were there before");
    (conditional.statements[1].load, conditional.statements[1].read_back) = (None, None);
    assert_eq!(rows(7, &conditional), None, "nobody says which rows it writes");
    let mut few = mixed();
    few.statements[0].weight = 3;
    few.statements[1].weight = 52;
    few.statements[1].keys = Some(100);
    assert_eq!(rows(100, &few), None, "keys that come again make no new row");
    assert!(rows(1_040, &few).unwrap().contains("and 100 were to be inserted"));
    few.statements[1].adds = Some(-1);
    assert_eq!(rows(-100, &few), None, "nor do they delete a row twice");
}

#[test]
fn one_statement_more_or_less_on_either_side_is_a_sentence_with_both_numbers() {
    let after = snapshot(2_000, &[(INSERT, 2, 1_000), (SELECT, 2, 1_000)]);
    let counted = Counted::between(&Snapshot::default(), &after, &mixed());
    assert_eq!(
        counted.disagreements(&mixed(), &planned(&mixed()), &done(1_000, 1_001)),
        ["The server counted 1,000 EXECUTEs of the statement insert in the window and the worker says that it issued \
          1,001."]
    );
    assert_eq!(
        counted.disagreements(&mixed(), &planned(&mixed()), &done(999, 1_001)).len(),
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
        Counted::between(&Snapshot::default(), &snapshot(5_000, &[(text, 2, executes)]), &rows).disagreements(
            &rows,
            &planned(&rows),
            &done,
        )
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
fn connections_may_idle_only_with_fewer_statements_in_flight_and_never_be_more_or_none() {
    let of = |found, in_flight| may_idle(found, 2, 2, in_flight);
    assert_eq!([of(1, 1), of(4, 1), of(3, 3)], [true; 3]);
    assert_eq!([of(0, 1), of(5, 1), of(3, 4)], [false; 3]);
}

#[test]
fn a_node_of_several_with_another_number_of_connections_voids() {
    let by_node = |counts: &[u64]| (0..).zip(counts.iter().copied()).collect();
    assert_eq!(node_void(&by_node(&[2, 2, 2]), 2, 3), None);
    assert_eq!(node_void(&by_node(&[7]), 2, 1), None, "all connections together say it of one node");
    assert_eq!(
        node_void(&by_node(&[2, 3, 1]), 2, 3).unwrap(),
        "3 connections carried the statements to node 2 of 3, and 2 to each were asked for."
    );
    assert!(node_void(&by_node(&[2]), 2, 2).unwrap().starts_with("0 connections carried the statements to node 2"));
}

#[test]
fn connections_to_nodes_that_got_nothing_are_there_and_the_node_that_got_all_is_named() {
    let mut after = snapshot(20, &[("SELECT x FROM s", 1, 3), (SELECT, 2, 8), ("SELECT x FROM s", 3, 2)]);
    for (node, one) in after.connections.iter_mut().enumerate() {
        (one.node, one.open) = (node, true);
    }
    let control = ConnectionSnapshot { id: 4, node: 2, open: true, registered: true, ..ConnectionSnapshot::default() };
    after.connections.push(control);
    after.routed = [(SELECT.to_owned(), Routed { keyed: 8, to_replica: 8, to_shard: 8 })].into();
    let counted = Counted::between(&Snapshot::default(), &after, &mixed());
    assert_eq!((counted.connections, &counted.connections_by_node), (1, &[(1, 1)].into()));
    assert_eq!(node_void(&counted.ready_by_node(1), 1, 3), None);
    assert_eq!(
        counted.hot_node(1, 3).unwrap(),
        "Node 2 of 3 got 100 % of the EXECUTEs, and 2 of the driver's open connections carried none: its routing sends these keys \
         there."
    );
    assert!(node_void(&counted.ready_by_node(2), 2, 3).is_some(), "one more to each was asked for");
    assert!(counted.hot_node(1, 1).unwrap().starts_with("Some of the node's shards got all of the EXECUTEs, and 2 of"));
    let mut elsewhere = after.clone();
    elsewhere.routed = [(SELECT.to_owned(), Routed { keyed: 8, to_replica: 5, to_shard: 5 })].into();
    let pinned = Counted::between(&Snapshot::default(), &elsewhere, &mixed());
    assert!(node_void(&pinned.ready_by_node(1), 1, 3).is_some(), "their keys are on other nodes, too");
    assert_eq!(pinned.hot_node(1, 3), None);
    after.connections.remove(2);
    let broken = Counted::between(&Snapshot::default(), &after, &mixed()).ready_by_node(1);
    assert!(node_void(&broken, 1, 3).unwrap().starts_with("0 connections carried the statements to node 3 of 3"));
    let idle = Snapshot { connections: vec![after.connections.remove(0)], ..Snapshot::default() };
    let none = Counted::between(&Snapshot::default(), &idle, &mixed());
    assert_eq!((none.ready_by_node(1), none.hot_node(1, 1)), (BTreeMap::new(), None), "nothing was sent at all");
}

#[test]
fn routes_and_connections_of_each_node_are_those_of_the_scenarios_statements_in_the_window() {
    let routed = |keyed, to_replica, to_shard| Routed { keyed, to_replica, to_shard };
    let mut before = snapshot(10, &[(INSERT, 1, 4)]);
    before.routed = [(INSERT.to_owned(), routed(4, 4, 1))].into();
    let mut after = snapshot(20, &[(INSERT, 1, 9), (SELECT, 2, 6), (SELECT, 3, 6), ("SELECT x FROM s", 4, 8)]);
    (1..).zip(&mut after.connections[1..]).for_each(|(node, one)| one.node = node.min(2));
    after.routed = [
        (INSERT.to_owned(), routed(9, 8, 2)),
        (SELECT.to_owned(), routed(12, 5, 3)),
        ("SELECT x FROM s".to_owned(), routed(8, 0, 0)),
    ]
    .into();
    let counted = Counted::between(&before, &after, &mixed());
    assert_eq!(counted.routed, routed(17, 9, 4));
    assert_eq!(counted.connections_by_node, [(0, 1), (1, 1), (2, 1)].into());
}

#[test]
fn numbers_have_commas() {
    assert_eq!(["0", "999", "1,000", "10,000,000"], [0, 999, 1_000, 10_000_000].map(grouped));
}

#[test]
fn executes_are_summed_by_text_and_connection() {
    let mut after = snapshot(20, &[("aa", 1, 5), ("aa", 2, 7), ("bb", 2, 1)]);
    after.prepared = [("aa".to_owned(), format!(" {INSERT} "))].into();
    assert_eq!(executes(&after)[&(INSERT, 2)], 7);
    assert_eq!(executes(&after)[&("bb", 2)], 1);
    after.opcodes =
        [("QUERY", 3), ("EXECUTE", 13), ("BATCH", 1), ("OPTIONS", 3)].map(|(of, n)| (of.to_owned(), n)).into();
    assert_eq!(statements(&after), 17);
    (after.cpu_user_us, after.cpu_sys_us) = (3, 4);
    let counted = Counted::between(&Snapshot::default(), &after, &mixed());
    assert_eq!((counted.executes(), counted.connections, counted.cpu_ns), (12, 2, 7_000));
}

#[test]
fn the_busiest_of_several_nodes_has_a_share_of_what_all_got() {
    let counted = Counted { executes_by_node: [(0, 60), (1, 30), (2, 10)].into(), ..Counted::default() };
    assert_eq!((counted.busiest_share(3), counted.busiest_share(1)), (Some(0.6), None));
    assert_eq!(Counted::default().busiest_share(3), None);
}

#[test]
fn connections_prepares_and_own_statements_of_an_idle_span_count_and_its_requests_do_not() {
    let of = |number| Counted {
        opened: number,
        prepared: number,
        own_statements: number,
        requests: number,
        ..Counted::default()
    };
    let both = of(3).with_idle(&of(40));
    assert_eq!((both.opened, both.prepared, both.own_statements, both.requests), (43, 43, 43, 3));
}
