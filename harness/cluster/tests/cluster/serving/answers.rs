use std::collections::BTreeSet;
use std::io::{ErrorKind, Read};
use std::num::NonZeroUsize;
use std::time::Duration;

use cqldyno_cluster::{Answers, Delay, Node, NodeOptions};
use cqldyno_script::{Action, Step};

use super::pipe::{OPTIONS, Pipe, frame};

const REQUESTS: i16 = 500;

/// The streams of the answers to requests that were sent at once, and how many writes they took.
fn streams(answers: Answers) -> (Vec<i16>, u64) {
    let node = Node::start(NodeOptions { answers, ..NodeOptions::default() }).unwrap();
    let mut pipe = Pipe::start(node.address());
    let before = node.stats().writes;
    let requests: Vec<u8> = (0..REQUESTS).flat_map(|stream| frame(0, stream, OPTIONS, &[])).collect();
    pipe.send(&requests);
    let streams = pipe.answers(REQUESTS as usize).into_iter().map(|answer| answer.0).collect();
    // A write is published with the next read.
    pipe.request(OPTIONS, &[]);
    (streams, node.stats().writes - before)
}

#[test]
fn batched_answers_come_in_order_with_few_writes() {
    let (streams, writes) = streams(Answers::Batched);
    assert!(streams.iter().copied().eq(0..REQUESTS));
    // Other than one write only when the requests came in more than one read.
    assert!(writes < 50, "{writes} writes");
}

#[test]
fn each_answer_can_have_a_write_of_its_own() {
    let (streams, writes) = streams(Answers::UpTo(NonZeroUsize::MIN));
    assert!(streams.iter().copied().eq(0..REQUESTS));
    assert!(writes >= REQUESTS as u64, "{writes} writes");
}

#[test]
fn a_write_can_have_at_most_so_many_answers() {
    let (streams, writes) = streams("32".parse().unwrap());
    assert!(streams.iter().copied().eq(0..REQUESTS));
    assert!((16..100).contains(&writes), "{writes} writes");
}

#[test]
fn reordered_answers_are_all_there_in_another_order() {
    let (streams, _) = streams(Answers::Reordered);
    assert!(!streams.is_sorted());
    assert_eq!(streams.into_iter().collect::<BTreeSet<_>>().len(), REQUESTS as usize);
}

#[test]
fn a_delay_holds_answers_back_until_it_is_over() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut pipe = Pipe::start(node.address());
    node.set_delay(Duration::from_secs(3_600));
    pipe.send(&frame(0, 7, OPTIONS, &[]));
    pipe.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let error = pipe.stream.read(&mut [0; 1]).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
    // The request is counted before its answer is written.
    assert_eq!(node.stats().opcodes["OPTIONS"], 1);
    node.set_delay(Duration::from_millis(1));
    let mut other = Pipe::start(node.address());
    let requests: Vec<u8> = (0..REQUESTS).flat_map(|stream| frame(0, stream, OPTIONS, &[])).collect();
    other.send(&requests);
    assert!(other.answers(REQUESTS as usize).into_iter().map(|answer| answer.0).eq(0..REQUESTS));
}

#[test]
fn answers_that_are_late_by_drawn_times_overtake_none_before_them() {
    let microseconds = |text: &str| Ok(Duration::from_micros(text.parse().unwrap()));
    let delay = Delay::parse("300±100%", microseconds).unwrap();
    // A script makes connections send answers in the order in which they are due.
    for script in [Vec::new(), vec![Step { at: Some("10min".parse().unwrap()), ..Step::new(Action::Forget) }]] {
        let node = Node::start(NodeOptions { delay, script, ..NodeOptions::default() }).unwrap();
        let mut pipe = Pipe::start(node.address());
        for stream in 0..REQUESTS {
            pipe.send(&frame(0, stream, OPTIONS, &[]));
        }
        assert!(pipe.answers(REQUESTS as usize).into_iter().map(|answer| answer.0).eq(0..REQUESTS));
    }
}
