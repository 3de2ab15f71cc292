use std::io::Read;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use cqldyno_cluster::{Node, NodeOptions, StartError};

use super::pipe::{OPTIONS, Pipe};

#[test]
fn only_loopback_addresses_are_listened_on() {
    for address in [Ipv4Addr::UNSPECIFIED, Ipv4Addr::new(192, 0, 2, 1)] {
        let error = Node::start(NodeOptions { address, ..NodeOptions::default() }).unwrap_err();
        assert!(matches!(error, StartError::NotLoopback(_)));
        assert!(error.to_string().contains(&address.to_string()), "{error}");
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
}

#[test]
fn a_port_in_use_is_told_with_what_to_do() {
    let first = Node::start(NodeOptions::default()).unwrap();
    let port = first.address().port();
    let error = Node::start(NodeOptions { port, ..NodeOptions::default() }).unwrap_err();
    assert!(matches!(error, StartError::InUse { .. }), "{error}");
    assert!(error.to_string().contains(&port.to_string()), "{error}");
}

#[test]
fn several_addresses_can_share_a_port() {
    let first = Node::start(NodeOptions::default()).unwrap();
    let (address, port) = (Ipv4Addr::new(127, 0, 0, 2), first.address().port());
    let second = Node::start(NodeOptions { address, port, ..NodeOptions::default() }).unwrap();
    for node in [&first, &second] {
        assert_eq!(Pipe::start(node.address()).request(OPTIONS, &[]).1, 6);
    }
}

#[test]
fn a_node_can_start_again_with_its_tables_or_without() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let address = node.address();
    let mut pipe = Pipe::start(address);
    pipe.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    pipe.query("CREATE TABLE k.t (pk int PRIMARY KEY)");
    pipe.query("INSERT INTO k.t (pk) VALUES (1)");
    let node = node.restart().unwrap();
    assert_eq!((node.address(), node.stats().rows), (address, 1));
    let node = node.stop().start_empty().unwrap();
    assert_eq!((node.address(), node.stats().rows), (address, 0));
}

#[test]
fn a_node_can_be_started_and_stopped_within_a_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let node = Node::start(NodeOptions { threads: Some(1), ..NodeOptions::default() }).unwrap();
        drop(node.restart().unwrap());
    });
}

#[test]
fn clients_that_are_disconnected_can_connect_again() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut pipe = Pipe::start(node.address());
    node.disconnect_all();
    // The end of the stream, or an error.
    assert_eq!(pipe.stream.read(&mut [0; 1]).unwrap_or(0), 0);
    let mut again = Pipe::start(node.address());
    assert_eq!(again.request(OPTIONS, &[]).1, 6);
    assert_eq!(node.stats().connections_ever, 2);
    // A client may see the end of its connection before the thread that serves it has counted it as closed.
    let open = || node.stats().connections.iter().filter(|connection| connection.open).count();
    let given_up = Instant::now() + Duration::from_secs(60);
    while open() != 1 && Instant::now() < given_up {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(open(), 1);
}

#[test]
fn forgotten_statements_are_unprepared_on_open_connections() {
    let node = Node::start(NodeOptions::default()).unwrap();
    let mut pipe = Pipe::start(node.address());
    let id = pipe.prepare("SELECT key FROM system.local");
    let execute = super::pipe::execute(&id, 0, &[], None);
    assert_eq!(pipe.request(super::pipe::EXECUTE, &execute).1, 8);
    node.forget_prepared();
    let (_, opcode, body) = pipe.request(super::pipe::EXECUTE, &execute);
    assert_eq!((opcode, &body[..4]), (0, &[0, 0, 0x25, 0][..]));
}
