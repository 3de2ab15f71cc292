//! What statements in flight on one connection may do to each other: nothing.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use cqldyno_cluster::{Node, NodeOptions};
use cqldyno_driver_api::{ConnectOptions, Driver, Rows, Session, Value};
use cqldyno_driver_floor::{Floor, FloorSession, FloorStatement};
use tokio::time::timeout;

/// Long enough for any machine: only a hang gets there.
const HANGS_AFTER: Duration = Duration::from_secs(60);

struct Client {
    session: FloorSession,
    insert: FloorStatement,
    select: FloorStatement,
    _node: Node,
}

async fn client() -> Client {
    let node = Node::start(NodeOptions::default()).unwrap();
    let session = Floor.connect(&ConnectOptions::new(vec![node.address()])).await.unwrap();
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.query(&format!("CREATE KEYSPACE flight WITH replication = {replication}")).await.unwrap();
    session.query("CREATE TABLE flight.t (pk bigint PRIMARY KEY, v blob)").await.unwrap();
    let insert = session.prepare("INSERT INTO flight.t (pk, v) VALUES (?, ?)").await.unwrap();
    let select = session.prepare("SELECT pk, v FROM flight.t WHERE pk = ?").await.unwrap();
    Client { session, insert, select, _node: node }
}

impl Client {
    async fn insert(&self, pk: i64, v: &[u8]) {
        let mut rows = Rows::new();
        let values = [Value::Bigint(pk), Value::Blob(v)];
        timeout(HANGS_AFTER, self.session.execute(&self.insert, &values, &mut rows)).await.expect("it hangs").unwrap();
    }

    async fn select(&self, pk: i64) -> Rows {
        let mut rows = Rows::new();
        let values = [Value::Bigint(pk)];
        timeout(HANGS_AFTER, self.session.execute(&self.select, &values, &mut rows)).await.expect("it hangs").unwrap();
        rows
    }
}

/// Sends a statement without waiting for its answer.
async fn start(statement: &mut Pin<Box<impl Future>>) {
    poll_fn(|context| match statement.as_mut().poll(context) {
        Poll::Pending => Poll::Ready(()),
        Poll::Ready(_) => panic!("an answer came before the statement was sent"),
    })
    .await;
}

#[tokio::test]
async fn statements_that_nobody_polls_again_do_not_hold_up_others() {
    let client = client().await;
    let mut rows: Vec<Rows> = (0..40).map(|_| Rows::new()).collect();
    let mut left = Vec::new();
    for rows in &mut rows {
        let mut statement = Box::pin(client.session.execute(&client.select, &[Value::Bigint(1)], rows));
        start(&mut statement).await;
        left.push(statement);
    }
    for pk in 0..200 {
        client.insert(pk, b"x").await;
        assert_eq!(client.select(pk).await.len(), 1);
    }
    for statement in left {
        statement.await.unwrap();
    }
}

#[tokio::test]
async fn statements_dropped_in_flight_give_their_streams_back() {
    let client = client().await;
    // More than a connection has streams.
    for round in 0..80 {
        for _ in 0..500 {
            let mut rows = Rows::new();
            let mut statement = Box::pin(client.session.execute(&client.select, &[Value::Bigint(1)], &mut rows));
            start(&mut statement).await;
        }
        client.insert(round, b"y").await;
    }
    assert_eq!(client.select(79).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_longer_than_the_buffers_reach_their_statements() {
    let client = client().await;
    let long = vec![7; 3 << 20];
    client.insert(1, &long).await;
    client.insert(2, b"short").await;
    let (first, second, third) = tokio::join!(client.select(1), client.select(2), client.select(1));
    assert_eq!(first.get(0).unwrap().get(1), Some(Value::Blob(&long)));
    assert_eq!(second.get(0).unwrap().get(1), Some(Value::Blob(b"short")));
    assert_eq!(third.get(0).unwrap().get(1), Some(Value::Blob(&long)));
}
