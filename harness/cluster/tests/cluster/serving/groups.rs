//! EXECUTEs that arrive together run together, on their own path; a frame with a flag in its header does not. Both paths must
//! give the same answers, byte for byte.

use cqldyno_cluster::{Node, NodeOptions};
use proptest::prelude::*;

use super::pipe::{Answer, EXECUTE, Pipe, execute, frame};

/// A flag that the node ignores in a request (warnings).
const ALONE: u8 = 0x08;

const SCHEMA: [&str; 3] = [
    "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE k.t (pk bigint PRIMARY KEY, a text, b int, c blob)",
    "CREATE TABLE k.other (pk text PRIMARY KEY, v int)",
];

const STATEMENTS: [&str; 9] = [
    "INSERT INTO k.t (pk, a, b, c) VALUES (?, ?, ?, ?)",
    "INSERT INTO k.t (c, pk, a) VALUES (?, ?, ?)",
    "INSERT INTO k.t (b, pk, a) VALUES (7, ?, ?)",
    "SELECT * FROM k.t WHERE pk = ?",
    "SELECT c, pk, b AS x FROM k.t WHERE pk = ?",
    "SELECT a, writetime(a) FROM k.t WHERE pk = ?",
    "DELETE b FROM k.t WHERE pk = ?",
    "DELETE FROM k.t WHERE pk = ?",
    "INSERT INTO k.other (pk, v) VALUES (?, ?)",
];

#[derive(Clone, Debug)]
struct Call {
    statement: usize,
    values: Vec<Result<Vec<u8>, i32>>,
    skip_metadata: bool,
    timestamp: i64,
}

fn value() -> impl Strategy<Value = Result<Vec<u8>, i32>> {
    prop_oneof![
        4 => (0i64..4).prop_map(|key| Ok(key.to_be_bytes().to_vec())),
        2 => "[a-cé]{0,6}".prop_map(|text| Ok(text.into_bytes())),
        2 => (0i32..3).prop_map(|number| Ok(number.to_be_bytes().to_vec())),
        1 => prop::collection::vec(any::<u8>(), 0..50).prop_map(Ok),
        1 => Just(Err(-1)),
        1 => Just(Err(-2)),
    ]
}

/// Mostly of the right number and types.
fn values(statement: usize) -> BoxedStrategy<Vec<Result<Vec<u8>, i32>>> {
    let key = || prop_oneof![19 => (0i64..4).prop_map(|key| Ok(key.to_be_bytes().to_vec())), 1 => value()];
    let text = || prop_oneof![8 => "[a-cé]{0,6}".prop_map(|text| Ok(text.into_bytes())), 2 => value()];
    let int = || prop_oneof![8 => (0i32..3).prop_map(|number| Ok(number.to_be_bytes().to_vec())), 1 => value()];
    let right = match statement {
        0 => (key(), text(), int(), value()).prop_map(|(k, a, b, c)| vec![k, a, b, c]).boxed(),
        1 => (value(), key(), text()).prop_map(|(c, k, a)| vec![c, k, a]).boxed(),
        2 => (key(), text()).prop_map(|(k, a)| vec![k, a]).boxed(),
        8 => (text(), int()).prop_map(|(k, v)| vec![k, v]).boxed(),
        _ => key().prop_map(|k| vec![k]).boxed(),
    };
    prop_oneof![30 => right, 1 => prop::collection::vec(value(), 0..4)].boxed()
}

fn call() -> impl Strategy<Value = Call> {
    (0..STATEMENTS.len(), any::<bool>(), 1i64..20).prop_flat_map(|(statement, skip_metadata, timestamp)| {
        values(statement).prop_map(move |values| Call { statement, values, skip_metadata, timestamp })
    })
}

fn run(pipe: &mut Pipe, flags: u8, calls: &[Call], with_timestamps: bool) -> Vec<Answer> {
    let ids = STATEMENTS.map(|statement| pipe.prepare(statement));
    let mut frames = Vec::new();
    for (stream, call) in (0..).zip(calls) {
        let values: Vec<_> = call.values.iter().map(|value| value.as_deref().map_err(|length| *length)).collect();
        let timestamp = with_timestamps.then_some(call.timestamp);
        let body = execute(&ids[call.statement], if call.skip_metadata { 2 } else { 0 }, &values, timestamp);
        frames.extend(frame(flags, stream, EXECUTE, &body));
    }
    pipe.send(&frames);
    pipe.answers(calls.len())
}

fn fresh(node: &Node) -> Pipe {
    let mut pipe = Pipe::start(node.address());
    pipe.query("DROP KEYSPACE IF EXISTS k");
    SCHEMA.iter().for_each(|statement| drop(pipe.query(statement)));
    pipe
}

#[test]
fn statements_are_answered_alike_in_a_group_and_alone() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 150, ..ProptestConfig::default() });
    let with_timestamps = prop::collection::vec(call(), 1..80);
    runner
        .run(&with_timestamps, |calls| {
            let together = run(&mut fresh(&node), 0, &calls, true);
            let alone = run(&mut fresh(&node), ALONE, &calls, true);
            prop_assert_eq!(together, alone);
            Ok(())
        })
        .unwrap();
}

#[test]
fn writes_without_timestamps_take_effect_in_the_order_of_their_requests() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases: 100, ..ProptestConfig::default() });
    // Without writetime(), which tells the time.
    let calls = prop::collection::vec(call().prop_filter("a time", |call| call.statement != 5), 1..80);
    runner
        .run(&calls, |calls| {
            // With timestamps that ascend, what comes later wins: as it must without.
            let ascending: Vec<Call> =
                (1..).zip(&calls).map(|(timestamp, call)| Call { timestamp, ..call.clone() }).collect();
            let expected = run(&mut fresh(&node), ALONE, &ascending, true);
            prop_assert_eq!(&run(&mut fresh(&node), 0, &calls, false), &expected);
            prop_assert_eq!(&run(&mut fresh(&node), ALONE, &calls, false), &expected);
            Ok(())
        })
        .unwrap();
}

#[test]
fn long_rows_that_are_asked_for_at_once_all_come() {
    const LENGTH: usize = 1024 * 1024;
    const REQUESTS: usize = 40;
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut pipe = fresh(&node);
    let insert = pipe.prepare(STATEMENTS[0]);
    let select = pipe.prepare("SELECT c FROM k.t WHERE pk = ?");
    for key in 0..4i64 {
        let blob = vec![key as u8; LENGTH];
        let body = execute(&insert, 0, &[Ok(&key.to_be_bytes()), Err(-1), Err(-1), Ok(&blob)], None);
        assert_eq!(pipe.request(EXECUTE, &body).1, 8);
    }
    let requests: Vec<u8> = (0..REQUESTS as i16)
        .flat_map(|stream| {
            let key = i64::from(stream % 5).to_be_bytes();
            frame(0, stream, EXECUTE, &execute(&select, 2, &[Ok(&key)], None))
        })
        .collect();
    pipe.send(&requests);
    for (at, (stream, opcode, body)) in pipe.answers(REQUESTS).into_iter().enumerate() {
        assert_eq!((usize::try_from(stream), opcode), (Ok(at), 8));
        let rows = u32::from_be_bytes(body[12..16].try_into().unwrap());
        if at % 5 == 4 {
            assert_eq!((rows, body.len()), (0, 16));
        } else {
            assert_eq!(rows, 1);
            assert!(body[20..].len() == LENGTH && body[20..].iter().all(|byte| usize::from(*byte) == at % 5));
        }
    }
}

#[test]
fn executes_are_counted_by_statement_and_connection_before_they_are_answered() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut pipe = fresh(&node);
    let id = pipe.prepare(STATEMENTS[2]);
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut expected = 0;
    for round in 1..50i64 {
        let frames: Vec<u8> = (0..round)
            .flat_map(|key| {
                let flags = if key % 7 == 0 { ALONE } else { 0 };
                frame(flags, 0, EXECUTE, &execute(&id, 0, &[Ok(&key.to_be_bytes()), Ok(b"x")], None))
            })
            .collect();
        pipe.send(&frames);
        pipe.answers(round as usize);
        expected += round as u64;
        let stats = node.stats();
        assert_eq!(stats.executes_of(&hex), expected);
        assert_eq!(stats.opcodes["EXECUTE"], expected);
        assert_eq!(stats.prepared[&hex], STATEMENTS[2]);
    }
}
