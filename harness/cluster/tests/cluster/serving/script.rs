//! What a node does on purpose. Nothing here waits for a time: a step is seen by what comes, or by what the next step brings.

use std::io::Read;
use std::net::TcpStream;

use cqldyno_cluster::{Node, NodeOptions, Topology};
use cqldyno_script::{Action, Answer, Event, Kind, Played, Step};

use super::pipe::{self, EXECUTE, OPTIONS, Pipe, QUERY, execute, frame};

const SELECT: &str = "SELECT key FROM system.local";
const ERROR: u8 = 0;
const RESULT: u8 = 8;
const EVENT: u8 = 12;

fn node(steps: &[Step], nodes: usize) -> Node {
    let topology: Topology = nodes.to_string().parse().unwrap();
    let node = Node::start(NodeOptions { topology, ..NodeOptions::default() }).unwrap();
    node.set_script(steps.to_vec());
    node
}

fn step(action: Action) -> Step {
    Step { every: Some(2), ..Step::new(action) }
}

fn code(body: &[u8]) -> [u8; 4] {
    [body[0], body[1], body[2], body[3]]
}

fn query(pipe: &mut Pipe) -> (u8, Vec<u8>) {
    let mut body = (SELECT.len() as u32).to_be_bytes().to_vec();
    body.extend_from_slice(SELECT.as_bytes());
    body.extend_from_slice(&[0, 1, 0]);
    let (_, opcode, body) = pipe.request(QUERY, &body);
    (opcode, body)
}

/// What comes until the end of the stream.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    // A reset is an end, too.
    let _ = stream.read_to_end(&mut all);
    all
}

#[test]
fn a_forgotten_id_is_unprepared_until_it_is_prepared_again_and_known_again_at_the_end() {
    let node = node(&[step(Action::Forget)], 1);
    let mut pipe = Pipe::start(node.address());
    let id = pipe.prepare(SELECT);
    let body = execute(&id, 0, &[], None);
    assert_eq!(pipe.request(EXECUTE, &body).1, RESULT, "it is not played yet");
    node.play();
    assert_eq!(pipe.request(EXECUTE, &body).1, RESULT);
    for _ in 0..3 {
        let (_, opcode, error) = pipe.request(EXECUTE, &body);
        assert_eq!((opcode, code(&error)), (ERROR, [0, 0, 0x25, 0]));
    }
    pipe.prepare(SELECT);
    assert_eq!(pipe.request(EXECUTE, &body).1, RESULT);
    assert_eq!(pipe.request(EXECUTE, &body).1, ERROR);
    assert_eq!(node.end_script(), [Played { fired: 3, touched: 4 }]);
    assert_eq!(pipe.request(EXECUTE, &body).1, RESULT, "nothing leaks");
    assert_eq!(node.end_script(), []);
}

#[test]
fn one_id_in_several_is_forgotten_on_the_node_that_is_named() {
    let steps = [Step { after: Some(1), every: None, one_in: Some(2), node: Some(2), ..step(Action::Forget) }];
    let node = node(&steps, 2);
    let mut pipes: Vec<Pipe> = node.addresses().into_iter().map(Pipe::start).collect();
    let texts = ["SELECT key FROM system.local", "SELECT host_id FROM system.local", "SELECT rack FROM system.local"];
    let ids: Vec<Vec<Vec<u8>>> = pipes.iter_mut().map(|pipe| texts.map(|text| pipe.prepare(text)).to_vec()).collect();
    node.play();
    let opcodes: Vec<Vec<u8>> = pipes
        .iter_mut()
        .zip(&ids)
        .map(|(pipe, ids)| ids.iter().map(|id| pipe.request(EXECUTE, &execute(id, 0, &[], None)).1).collect())
        .collect();
    assert_eq!(opcodes, [[RESULT; 3], [ERROR, RESULT, ERROR]]);
}

#[test]
fn a_batch_of_requests_is_answered_with_what_was_prepared_before_and_after_a_step() {
    let node = node(&[Step { after: Some(3), every: None, ..step(Action::Forget) }], 1);
    let mut pipe = Pipe::start(node.address());
    let id = pipe.prepare(SELECT);
    node.play();
    pipe.send(&(0..5).flat_map(|stream| frame(0, stream, EXECUTE, &execute(&id, 0, &[], None))).collect::<Vec<_>>());
    let mut answers = pipe.answers(5);
    answers.sort_by_key(|(stream, ..)| *stream);
    let opcodes: Vec<u8> = answers.iter().map(|(_, opcode, _)| *opcode).collect();
    assert_eq!(opcodes, [RESULT, RESULT, ERROR, ERROR, ERROR]);
}

#[test]
fn data_connections_are_closed_or_half_closed_and_control_connections_stay() {
    for action in [Action::Close, Action::HalfClose] {
        let node = node(&[step(action)], 1);
        let mut control = Pipe::start(node.address());
        assert_eq!(control.request(0x0B, b"\0\x01\0\x0dSTATUS_CHANGE").1, 2, "READY");
        let (mut idle, mut busy) = (Pipe::start(node.address()), Pipe::start(node.address()));
        node.play();
        assert_eq!((query(&mut busy).0, query(&mut busy).0), (RESULT, RESULT));
        assert!(rest(&mut busy.stream).is_empty() && rest(&mut idle.stream).is_empty());
        if action == Action::HalfClose {
            busy.send(&frame(0, 0, OPTIONS, &[]));
        }
        assert_eq!(control.request(OPTIONS, &[]).1, 6);
        assert_eq!(node.end_script(), [Played { fired: 1, touched: 2 }]);
        assert_eq!(query(&mut Pipe::start(node.address())).0, RESULT);
    }
}

#[test]
fn control_connections_are_closed_or_half_closed_and_data_connections_stay() {
    for action in [Action::Close, Action::HalfClose] {
        let node = node(&[Step { control: Some(true), ..step(action) }], 1);
        let mut control = Pipe::start(node.address());
        assert_eq!(control.request(0x0B, b"\0\x01\0\x0dSTATUS_CHANGE").1, 2, "READY");
        let (mut idle, mut busy) = (Pipe::start(node.address()), Pipe::start(node.address()));
        node.play();
        assert_eq!((query(&mut busy).0, query(&mut busy).0), (RESULT, RESULT));
        assert!(rest(&mut control.stream).is_empty());
        assert_eq!((idle.request(OPTIONS, &[]).1, busy.request(OPTIONS, &[]).1), (6, 6));
        assert_eq!(node.end_script(), [Played { fired: 1, touched: 1 }]);
    }
}

#[test]
fn an_event_comes_several_times_to_those_that_asked_for_its_type() {
    let steps = [Step { event: Some(Event::Down), node: Some(2), times: Some(3), ..step(Action::Event) }];
    let node = node(&steps, 2);
    let mut told = Pipe::start(node.address());
    assert_eq!(told.request(0x0B, b"\0\x01\0\x0dSTATUS_CHANGE").1, 2, "READY");
    let mut other = Pipe::start(node.address());
    assert_eq!(other.request(0x0B, b"\0\x01\0\x0dSCHEMA_CHANGE").1, 2, "READY");
    node.play();
    assert_eq!((query(&mut other).0, query(&mut other).0), (RESULT, RESULT));
    let mut expected = b"\0\x0dSTATUS_CHANGE\0\x04DOWN\x04\x7f\0\0\x02".to_vec();
    expected.extend_from_slice(&u32::from(node.address().port()).to_be_bytes());
    assert_eq!(told.answers(3), [(); 3].map(|()| (-1, EVENT, expected.clone())));
    assert_eq!(node.end_script(), [Played { fired: 1, touched: 1 }]);
    assert_eq!(other.request(OPTIONS, &[]).1, 6, "nothing came in between");
}

#[test]
fn held_answers_wait_and_others_pass_them() {
    let lasts = Some("10min".parse().unwrap());
    let steps = [Step { after: Some(1), every: None, kind: Some(Kind::Query), lasts, ..step(Action::Hold) }];
    let node = node(&steps, 1);
    let mut pipe = Pipe::start(node.address());
    node.play();
    let mut body = (SELECT.len() as u32).to_be_bytes().to_vec();
    body.extend_from_slice(SELECT.as_bytes());
    body.extend_from_slice(&[0, 1, 0]);
    pipe.send(&frame(0, 7, QUERY, &body));
    pipe.send(&frame(0, 8, OPTIONS, &[]));
    let (stream, opcode, _) = pipe.answer();
    assert_eq!((stream, opcode), (8, 6));
    assert_eq!(node.end_script(), [Played { fired: 1, touched: 1 }]);
    let (stream, opcode, _) = pipe.answer();
    assert_eq!((stream, opcode), (7, RESULT));
}

#[test]
fn what_a_script_held_back_holds_nothing_back_after_its_end() {
    let lasts = Some("10min".parse().unwrap());
    let steps = [Step { after: Some(1), every: None, kind: Some(Kind::Query), lasts, ..step(Action::Hold) }];
    let node = node(&steps, 1);
    let (mut told, mut other) = (Pipe::start(node.address()), Pipe::start(node.address()));
    assert_eq!(told.request(0x0B, b"\0\x01\0\x0dSCHEMA_CHANGE").1, 2, "READY");
    node.play();
    let mut body = (SELECT.len() as u32).to_be_bytes().to_vec();
    body.extend_from_slice(SELECT.as_bytes());
    body.extend_from_slice(&[0, 1, 0]);
    // Both are in one read, and the answer to the first says that the second is being answered.
    told.send(&[frame(0, 8, OPTIONS, &[]), frame(0, 7, QUERY, &body)].concat());
    assert_eq!(told.answer().0, 8);
    node.end_script();
    assert_eq!(told.answer().0, 7);
    other.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    assert_eq!(told.answer().1, EVENT);
}

#[test]
fn one_answer_in_several_is_late_and_others_pass_it() {
    let by = Some("10min".parse().unwrap());
    let steps = [Step { after: Some(1), every: None, by, one_in: Some(2), ..step(Action::Delay) }];
    let node = node(&steps, 1);
    let mut pipe = Pipe::start(node.address());
    let id = pipe.prepare(SELECT);
    node.play();
    pipe.send(&(0..5).flat_map(|stream| frame(0, stream, EXECUTE, &execute(&id, 0, &[], None))).collect::<Vec<_>>());
    let streams = |answers: &[pipe::Answer]| answers.iter().map(|(stream, ..)| *stream).collect::<Vec<_>>();
    assert_eq!(streams(&pipe.answers(3)), [0, 2, 4]);
    assert_eq!(node.end_script(), [Played { fired: 1, touched: 2 }]);
    assert_eq!(streams(&pipe.answers(2)), [1, 3]);
}

#[test]
fn a_dropped_answer_never_comes_and_its_request_is_executed() {
    let node = node(&[Step { after: Some(1), every: None, one_in: Some(3), ..step(Action::Drop) }], 1);
    let mut pipe = Pipe::start(node.address());
    pipe.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    pipe.query("CREATE TABLE k.t (id bigint PRIMARY KEY, v bigint)");
    let id = pipe.prepare("INSERT INTO k.t (id, v) VALUES (?, ?)");
    node.play();
    let insert = |stream: i16| {
        let value = i64::from(stream).to_be_bytes();
        frame(0, stream, EXECUTE, &execute(&id, 0, &[Ok(&value), Ok(&value)], None))
    };
    pipe.send(&(0..6).flat_map(insert).collect::<Vec<_>>());
    pipe.send(&frame(0, 6, OPTIONS, &[]));
    let streams: Vec<i16> = pipe.answers(5).iter().map(|(stream, ..)| *stream).collect();
    assert_eq!(streams, [0, 1, 3, 4, 6], "OPTIONS is no statement");
    let counted = node.stats();
    assert_eq!((counted.rows, counted.frames - counted.answers), (6, 2));
    assert_eq!(node.end_script(), [Played { fired: 1, touched: 2 }]);
    pipe.send(&frame(0, 7, OPTIONS, &[]));
    assert_eq!(pipe.answer().0, 7, "what was dropped stays so");
}

#[test]
fn executes_that_a_step_refuses_are_counted_apart_from_those_that_are_executed() {
    let from = |after, action| Step { after: Some(after), every: None, ..step(action) };
    let steps = [
        Step { one_in: Some(4), ..from(1, Action::Drop) },
        Step { one_in: Some(3), error: Some(Answer::Overloaded), ..from(1, Action::Error) },
        from(6, Action::Forget),
    ];
    let node = node(&steps, 1);
    let mut pipe = Pipe::start(node.address());
    let id = pipe.prepare(SELECT);
    node.play();
    pipe.send(&(1..9).flat_map(|stream| frame(0, stream, EXECUTE, &execute(&id, 0, &[], None))).collect::<Vec<_>>());
    let mut answers = pipe.answers(6);
    answers.sort_by_key(|(stream, ..)| *stream);
    let of = |(stream, opcode, body): &pipe::Answer| (*stream, if *opcode == ERROR { code(body) } else { [0; 4] });
    let (overloaded, unprepared) = ([0, 0, 0x10, 1], [0, 0, 0x25, 0]);
    let expected = [(1, [0; 4]), (2, [0; 4]), (3, overloaded), (5, [0; 4]), (6, unprepared), (7, overloaded)];
    assert_eq!(answers.iter().map(of).collect::<Vec<_>>(), expected);
    // The eighth is dropped, and is UNPREPARED all the same.
    pipe.request(OPTIONS, &[]);
    let counted = node.stats();
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((counted.executes_of(&id), counted.executes_refused[&id], counted.opcodes["EXECUTE"]), (4, 4, 8));
}

#[test]
fn a_script_that_starts_again_gives_back_what_it_took() {
    let node = node(&[step(Action::Forget)], 1);
    let mut pipe = Pipe::start(node.address());
    let body = execute(&pipe.prepare(SELECT), 0, &[], None);
    node.play();
    assert_eq!([(); 2].map(|()| pipe.request(EXECUTE, &body).1), [RESULT, ERROR]);
    node.play();
    assert_eq!([(); 2].map(|()| pipe.request(EXECUTE, &body).1), [RESULT, ERROR]);
}

#[test]
fn one_request_in_several_is_answered_with_an_error_and_not_executed() {
    let steps = [
        Step { after: Some(1), every: None, error: Some(Answer::WriteTimeout), one_in: Some(3), ..step(Action::Error) },
        Step { after: Some(1), every: None, by: Some("1ms".parse().unwrap()), ..step(Action::Delay) },
    ];
    let node = node(&steps, 1);
    let mut pipe = Pipe::start(node.address());
    node.play();
    let answers: Vec<(u8, Vec<u8>)> = (0..6).map(|_| query(&mut pipe)).collect();
    let opcodes: Vec<u8> = answers.iter().map(|(opcode, _)| *opcode).collect();
    assert_eq!(opcodes, [RESULT, RESULT, ERROR, RESULT, RESULT, ERROR]);
    assert_eq!(code(&answers[2].1), [0, 0, 0x11, 0]);
    assert!(answers[2].1.ends_with(b"\0\x0a\0\0\0\0\0\0\0\x01\0\x06SIMPLE"));
    assert_eq!(pipe.request(OPTIONS, &[]).1, 6, "no statement");
    assert_eq!(node.end_script(), [Played { fired: 1, touched: 2 }, Played { fired: 1, touched: 7 }]);
}

#[test]
fn a_node_stops_and_starts_and_is_there_at_the_end_in_any_case() {
    let of = |action, after| Step { after: Some(after), every: None, node: Some(2), ..step(action) };
    let node = node(&[of(Action::Stop, 1), of(Action::Start, 2), of(Action::Stop, 3)], 2);
    let addresses = node.addresses();
    let (mut first, mut second) = (Pipe::start(addresses[0]), Pipe::start(addresses[1]));
    let is_there = |expected: bool| while TcpStream::connect(addresses[1]).is_ok() != expected {};
    node.play();
    query(&mut first);
    assert!(rest(&mut second.stream).is_empty());
    is_there(false);
    query(&mut first);
    is_there(true);
    assert_eq!(query(&mut Pipe::start(addresses[1])).0, RESULT);
    is_there(false);
    let played = node.end_script();
    assert_eq!(played.iter().map(|one| one.fired).collect::<Vec<_>>(), [1, 1, 1]);
    assert_eq!(played[0].touched, 1);
    is_there(true);
}

#[test]
fn new_connections_are_closed_at_once_while_they_are_refused() {
    let lasts = Some("10min".parse().unwrap());
    let node = node(&[Step { after: Some(1), every: None, lasts, ..step(Action::Refuse) }], 1);
    let mut pipe = Pipe::start(node.address());
    node.play();
    assert_eq!(query(&mut pipe).0, RESULT);
    assert!(rest(&mut TcpStream::connect(node.address()).unwrap()).is_empty());
    assert_eq!(query(&mut pipe).0, RESULT, "open ones stay");
    assert_eq!(node.end_script(), [Played { fired: 1, touched: 1 }]);
    assert_eq!(query(&mut Pipe::start(node.address())).0, RESULT);
}

#[test]
fn a_script_of_its_own_starts_with_the_first_connection() {
    let script = vec![Step {
        error: Some(Answer::Overloaded),
        every: None,
        at: Some("0s".parse().unwrap()),
        ..step(Action::Error)
    }];
    let node = Node::start(NodeOptions { script, ..NodeOptions::default() }).unwrap();
    let mut pipe = Pipe::start(node.address());
    while query(&mut pipe).0 != ERROR {}
    let (_, error) = query(&mut pipe);
    assert_eq!(code(&error), [0, 0, 0x10, 1]);
    assert_eq!(node.end_script()[0].fired, 1);
    assert_eq!(query(&mut pipe).0, RESULT);
}
