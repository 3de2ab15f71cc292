//! Several nodes: what each says of the others, and which of them got an EXECUTE that was its own.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use cqldyno_cluster::{Node, NodeOptions, Routed, Topology, token::token};

use super::client::{Answer, Client, OPTIONS, bigint, text};

fn cluster(nodes: u64, tokens: u64, shards: Option<u64>) -> Node {
    let topology = Topology::new(nodes, tokens, 1, shards).unwrap();
    Node::start(NodeOptions { topology, ..NodeOptions::default() }).unwrap()
}

fn ready(address: SocketAddr) -> Client {
    let mut client = Client::silent(address);
    assert_eq!(client.startup(), Answer::Ready);
    client
}

fn keyspace(client: &mut Client, factor: usize) {
    client.query(&format!(
        "CREATE KEYSPACE ks WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': {factor}}}"
    ));
    client.run("CREATE TABLE ks.t (pk bigint PRIMARY KEY, v text)");
    client.run("CREATE TABLE ks.u (a bigint, b text, c bigint, PRIMARY KEY ((a, b), c))");
}

fn routed(node: &Node) -> Routed {
    let mut sum = Routed::default();
    node.stats().routed.into_values().for_each(|routed| sum.add(routed));
    sum
}

#[test]
fn every_node_tells_its_own_address_and_tokens_and_those_of_the_others() {
    let node = cluster(3, 4, None);
    let addresses = node.addresses();
    let ips: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
    assert_eq!(ips, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    assert!(addresses.iter().all(|address| address.port() == node.address().port()));
    let (mut tokens, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for address in &addresses {
        let mut client = ready(*address);
        let local = client.rows("SELECT rpc_address, host_id, tokens FROM system.local").rows;
        let IpAddr::V4(own) = address.ip() else { panic!("{address}") };
        assert_eq!(local[0][0].as_deref(), Some(&own.octets()[..]));
        hosts.insert(local[0][1].clone());
        tokens.insert(local[0][2].clone());
        for (table, column) in [("peers", "rpc_address"), ("peers_v2", "native_address")] {
            let peers = client.rows(&format!("SELECT {column}, tokens FROM system.{table}")).rows;
            assert_eq!(peers.len(), 2, "{table}");
            assert!(peers.iter().all(|peer| peer[0] != local[0][0] && peer[1] != local[0][2]), "{table}");
        }
    }
    assert_eq!((hosts.len(), tokens.len()), (3, 3));
}

#[test]
fn a_node_knows_which_executes_are_its_own_in_groups_one_by_one_and_after_alter_keyspace() {
    let node = cluster(3, 1, None);
    let mut clients: Vec<Client> = node.addresses().into_iter().map(ready).collect();
    keyspace(&mut clients[0], 1);
    // The tokens of three nodes divide the ring at these.
    let ends = node.addresses().len() as i128;
    let owner = |key: &[u8]| {
        let place = i128::from(token(key)) + (1 << 63);
        let end = |node: i128| (2 * node + 1) * (1i128 << 63) / ends;
        (0..ends).find(|node| place <= end(*node)).unwrap_or(0) as usize
    };
    let mut expected = Routed::default();
    for (nth, client) in clients.iter_mut().enumerate() {
        let insert = client.prepare("INSERT INTO ks.t (pk, v) VALUES (?, ?)");
        let update = client.prepare("UPDATE ks.t SET v = ? WHERE pk = ?");
        let wide = client.prepare("INSERT INTO ks.u (c, b, a) VALUES (?, ?, ?)");
        for key in 0..50i64 {
            assert_eq!(client.execute(&insert.id, &[bigint(key), text("a")]), Answer::Void);
            assert_eq!(client.execute(&update.id, &[text("b"), bigint(key)]), Answer::Void);
            assert_eq!(client.execute(&wide.id, &[bigint(1), text("b"), bigint(key)]), Answer::Void);
            let pair = [&[0, 8], &key.to_be_bytes()[..], &[0, 0, 1, b'b', 0]].concat();
            let own = [&key.to_be_bytes()[..], &key.to_be_bytes(), &pair].map(|key| owner(key) == nth);
            let own = own.into_iter().filter(|own| *own).count() as u64;
            expected.add(Routed { keyed: 3, to_replica: own, to_shard: own });
        }
    }
    assert_eq!(routed(&node), expected);
    assert_eq!(expected.to_replica, 150, "each key has one owner");
    clients[0].query("ALTER KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}");
    let again = clients[2].prepare("INSERT INTO ks.t (pk, v) VALUES (?, ?)");
    for key in 0..50 {
        assert_eq!(clients[2].execute(&again.id, &[bigint(key), text("c")]), Answer::Void);
    }
    expected.add(Routed { keyed: 50, to_replica: 50, to_shard: 50 });
    assert_eq!(routed(&node), expected);
}

#[test]
fn each_node_prepares_for_itself_and_all_have_the_same_rows() {
    let node = cluster(2, 1, None);
    let [mut one, mut other] = [0, 1].map(|nth| ready(node.addresses()[nth]));
    keyspace(&mut one, 1);
    let insert = one.prepare("INSERT INTO ks.t (pk, v) VALUES (?, ?)");
    assert_eq!(one.execute(&insert.id, &[bigint(1), text("a")]), Answer::Void);
    assert!(matches!(other.execute(&insert.id, &[bigint(2), text("a")]), Answer::Error { code: 0x2500, .. }));
    assert_eq!(other.rows("SELECT pk FROM ks.t WHERE pk = 1").rows.len(), 1);
}

#[test]
fn a_replication_factor_above_the_number_of_nodes_is_refused() {
    let node = cluster(2, 1, None);
    let mut client = ready(node.address());
    let create = |factor| {
        format!("CREATE KEYSPACE ks WITH replication = {{'class': 'NetworkTopologyStrategy', 'datacenter1': {factor}}}")
    };
    let (code, message) = client.query(&create(3)).error();
    assert_eq!(code, 0x2300);
    assert_eq!(
        message,
        "The keyspace ks was to have 3 replicas of each row, and the embedded cluster has 2 nodes; write a replication factor of at \
         most 2, or ask for more --nodes"
    );
    assert!(matches!(client.query(&create(2)), Answer::SchemaChange(_)));
}

/// What SUPPORTED says, as keys and values.
fn supported(client: &mut Client) -> Vec<(String, Vec<String>)> {
    match client.request(OPTIONS, &[]) {
        Answer::Supported(options) => options,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_connection_has_the_shard_of_its_source_port_or_the_idlest_one() {
    const SHARDS: u64 = 5;
    let node = cluster(2, 1, Some(SHARDS));
    let of = |client: &mut Client| -> Vec<String> {
        let options = supported(client);
        let value = |name: &str| options.iter().find(|(key, _)| key == name).unwrap().1[0].clone();
        ["SHARD", "NR_SHARDS", "SHARD_AWARE_PORT", "PARTITIONER", "SHARDING_ALGORITHM", "SHARDING_IGNORE_MSB"]
            .map(|name| value(&format!("SCYLLA_{name}")))
            .to_vec()
    };
    for address in node.addresses() {
        let mut clients: Vec<Client> = (0..SHARDS).map(|_| ready(address)).collect();
        let told: Vec<Vec<String>> = clients.iter_mut().map(of).collect();
        let shards: BTreeSet<&String> = told.iter().map(|told| &told[0]).collect();
        assert_eq!(shards.len() as u64, SHARDS, "each has one");
        assert_eq!(told[0][1], "5");
        assert_eq!(told[0][3..], ["org.apache.cassandra.dht.Murmur3Partitioner", "biased-token-round-robin", "12"]);
        let aware = SocketAddr::new(address.ip(), told[0][2].parse().unwrap());
        for _ in 0..10 {
            let mut client = Client::silent(aware);
            let expected = u64::from(client.socket.local_addr().unwrap().port()) % SHARDS;
            assert_eq!(of(&mut client)[0], expected.to_string());
        }
    }
    let mut client = ready(node.address());
    let peers = client.rows("SELECT peer FROM system.peers USING TIMEOUT 2000ms").rows;
    assert_eq!(peers.len(), 1, "clients of ScyllaDB ask so");
    let plain = supported(&mut ready(cluster(2, 1, None).address()));
    assert!(plain.iter().all(|(key, _)| !key.starts_with("SCYLLA_")), "{plain:?}");
}

#[test]
fn a_shard_owns_its_part_of_the_nodes_keys() {
    let node = cluster(1, 1, Some(4));
    let mut clients: Vec<Client> = (0..4).map(|_| ready(node.address())).collect();
    keyspace(&mut clients[0], 1);
    for client in &mut clients {
        let insert = client.prepare("INSERT INTO ks.t (pk, v) VALUES (?, ?)");
        for key in 0..100 {
            assert_eq!(client.execute(&insert.id, &[bigint(key), text("a")]), Answer::Void);
        }
    }
    assert_eq!(routed(&node), Routed { keyed: 400, to_replica: 400, to_shard: 100 });
}
