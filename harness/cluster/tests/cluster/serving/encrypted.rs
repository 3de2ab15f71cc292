//! TLS: clients verify the node, and what they send and get is what plain text has.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use cqldyno_cluster::{Encryption, Node, NodeOptions};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::pipe::{OPTIONS, Pipe, frame};

const REQUESTS: u16 = 5_000;

fn node() -> (Node, Encryption) {
    let options = NodeOptions::default();
    let tls = options.encryption().unwrap();
    (Node::start(NodeOptions { tls: Some(tls.clone()), ..options }).unwrap(), tls)
}

/// A client that verifies nodes against this CA.
fn client(address: SocketAddr, tls: &Encryption) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(tls.ca.as_bytes()).unwrap()).unwrap();
    let config =
        ClientConfig::builder_with_provider(Arc::new(default_provider())).with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), address.ip().into()).unwrap();
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    StreamOwned::new(connection, stream)
}

#[test]
fn all_requests_of_an_encrypted_connection_are_answered() {
    let (node, tls) = node();
    let mut stream = client(node.address(), &tls);
    let requests: Vec<u8> = (0..REQUESTS).flat_map(|number| frame(0, number.cast_signed(), OPTIONS, &[])).collect();
    stream.write_all(&requests).unwrap();
    for number in 0..REQUESTS {
        let mut header = [0; 9];
        stream.read_exact(&mut header).unwrap();
        let [_, _, high, low, opcode, length @ ..] = header;
        stream.read_exact(&mut vec![0; u32::from_be_bytes(length) as usize]).unwrap();
        assert_eq!((u16::from_be_bytes([high, low]), opcode), (number, 6));
    }
    assert_eq!(node.stats().opcodes["OPTIONS"], u64::from(REQUESTS));
    // It keeps its certificate.
    let node = node.restart().unwrap();
    client(node.address(), &tls).write_all(&frame(0, 0, OPTIONS, &[])).unwrap();
}

#[test]
fn a_client_refuses_a_node_of_another_ca_and_the_node_a_client_without_tls() {
    let (node, tls) = node();
    let other = Encryption::new([Ipv4Addr::LOCALHOST]).unwrap();
    let elsewhere = Encryption::new([Ipv4Addr::new(127, 0, 0, 9)]).unwrap();
    let node_elsewhere = Node::start(NodeOptions { tls: Some(elsewhere.clone()), ..NodeOptions::default() }).unwrap();
    for (address, ca) in [(node.address(), &other), (node_elsewhere.address(), &elsewhere)] {
        let error = client(address, ca).write_all(b"x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    }
    let mut plain = Pipe::connect(node.address());
    plain.send(&frame(0, 0, OPTIONS, &[]));
    let mut said = Vec::new();
    // A reset is an end, too.
    let _ = plain.stream.read_to_end(&mut said);
    assert_eq!(said.first(), Some(&21), "an alert of TLS, and no frame");
    let mut stream = client(node.address(), &tls);
    stream.write_all(&frame(0, 0, OPTIONS, &[])).unwrap();
    stream.read_exact(&mut [0; 9]).unwrap();
    let is_closed = (0..60_000).any(|_| {
        std::thread::sleep(Duration::from_millis(1));
        node.open_connections() <= 1
    });
    assert!(is_closed, "those that failed stay open");
}
