//! The embedded cluster answers drivers as Cassandra 5.0 does, field by field: `recorded/README.md`.

use std::path::Path;

use cqldyno_cluster::{Node, NodeOptions};

use super::exchange::{DELIBERATE, KEYSPACE, Recording, Relay, Replayed, differences, replay};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn recording(of: &str) -> Recording {
    Recording::from_lines(&file(&format!("{of}.requests.jsonl"))).unwrap()
}

fn cassandras_answers(of: &str) -> Replayed {
    Replayed::from_lines(&file(&format!("{of}.cassandra-5.0.9.jsonl"))).unwrap()
}

/// Sends an embedded node the requests that Cassandra answered.
fn is_answered_as_cassandra_answers(of: &str) {
    let (recording, expected) = (recording(of), cassandras_answers(of));
    assert_eq!(recording.requests.len(), expected.answers.len());
    let node = Node::start(NodeOptions { threads: Some(2), ..NodeOptions::default() }).unwrap();
    let found = replay(&recording, node.address(), Some(expected.event_count())).unwrap().masked(KEYSPACE);
    let unmeant: Vec<String> = differences(&recording, &expected, &found)
        .iter()
        .filter(|difference| !DELIBERATE.iter().any(|deliberate| deliberate.covers(difference)))
        .map(ToString::to_string)
        .collect();
    assert!(unmeant.is_empty(), "{} differences:\n{}", unmeant.len(), unmeant.join("\n"));
}

#[test]
fn scylla_is_answered_as_by_cassandra() {
    is_answered_as_cassandra_answers("scylla");
}

#[test]
fn cdrs_tokio_is_answered_as_by_cassandra() {
    is_answered_as_cassandra_answers("cdrs-tokio");
}

#[test]
fn cassandra_cpp_is_answered_as_by_cassandra() {
    is_answered_as_cassandra_answers("cassandra-cpp");
}

#[test]
fn floor_is_answered_as_by_cassandra() {
    is_answered_as_cassandra_answers("floor");
}

#[test]
fn statements_written_by_hand_are_answered_as_by_cassandra() {
    is_answered_as_cassandra_answers("by-hand");
}

#[test]
fn counters_types_and_alterations_are_answered_as_by_cassandra() {
    is_answered_as_cassandra_answers("counters-types-alter");
}

#[test]
fn every_deliberate_difference_is_one() {
    let mut seen = vec![false; DELIBERATE.len()];
    for of in ["scylla", "cdrs-tokio", "by-hand"] {
        let (recording, expected) = (recording(of), cassandras_answers(of));
        let node = Node::start(NodeOptions { threads: Some(2), ..NodeOptions::default() }).unwrap();
        let found = replay(&recording, node.address(), Some(expected.event_count())).unwrap().masked(KEYSPACE);
        for difference in differences(&recording, &expected, &found) {
            for (seen, deliberate) in seen.iter_mut().zip(DELIBERATE) {
                *seen |= deliberate.covers(&difference);
            }
        }
    }
    let unneeded: Vec<_> = seen.iter().zip(DELIBERATE).filter(|(seen, _)| !**seen).map(|(_, one)| one.why).collect();
    assert!(unneeded.is_empty(), "no longer needed: {unneeded:?}");
}

#[test]
fn what_is_recorded_through_a_relay_is_what_was_sent() {
    let node = Node::start(NodeOptions { threads: Some(2), ..NodeOptions::default() }).unwrap();
    let relay = Relay::start(node.address()).unwrap();
    let asked = recording("cdrs-tokio");
    let straight = replay(&asked, relay.address(), Some(cassandras_answers("cdrs-tokio").event_count())).unwrap();
    let recorded = Recording::of(&relay.passed()).unwrap();
    assert_eq!(recorded, asked);
    assert_eq!(Recording::from_lines(&recorded.to_lines()).unwrap(), asked);
    let masked = straight.masked(KEYSPACE);
    assert_eq!(Replayed::from_lines(&masked.to_lines()).unwrap(), masked);
}

#[test]
fn a_recording_that_cannot_be_says_why() {
    let error = Recording::from_lines("{}\n").unwrap_err().to_string();
    assert!(error.starts_with("Line 1 of the recording is no request: missing field"), "{error}");
    let later = r#"{"connection":0,"stream":0,"opcode":"EXECUTE","body":[{"prepared":0}]}"#;
    let node = Node::start(NodeOptions { threads: Some(1), ..NodeOptions::default() }).unwrap();
    let error = replay(&Recording::from_lines(later).unwrap(), node.address(), Some(0)).unwrap_err().to_string();
    assert_eq!(
        error,
        "Request 0 of the recording is not whole: it needs the answer to request 0, which is not before it. Record the session again"
    );
    let address = node.address();
    drop(node.stop());
    let error = replay(&recording("floor"), address, Some(0)).unwrap_err().to_string();
    assert!(error.contains("There is no server at 127.0.0.1:") && error.contains("Start one there"), "{error}");
}
