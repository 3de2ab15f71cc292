//! What the server sees of each option.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cqldyno_driver_api::{ConnectOptions, Driver, DriverError, ErrorKind, Rows, Session, Value};
use cqldyno_driver_cassandra_cpp::{CassandraCpp, CassandraCppSession};
use cqldyno_driver_tests::Failure;
use cqldyno_driver_tests::tap::{Request, Tap, opcode};
use tokio::task::JoinSet;

/// The flag of an EXECUTE with a timestamp (native_protocol_v4.spec section 4.1.4).
const DEFAULT_TIMESTAMP: u8 = 0x20;

fn options(tap: &Tap, key: &str, value: &str) -> ConnectOptions {
    let mut options = ConnectOptions::new(vec![tap.address]);
    options.options.insert(key.to_owned(), value.to_owned());
    options
}

async fn connect(tap: &Tap, key: &str, value: &str) -> Result<CassandraCppSession, DriverError> {
    CassandraCpp.connect(&options(tap, key, value)).await
}

/// Writes a hundred rows at once; returns the EXECUTEs.
async fn writes(tap: &Tap, session: CassandraCppSession) -> Result<Vec<Request>, Failure> {
    session.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await?;
    session.query("CREATE TABLE k.t (pk bigint PRIMARY KEY, v text)").await?;
    let insert = Arc::new(session.prepare("INSERT INTO k.t (pk, v) VALUES (?, ?)").await?);
    let (session, mut slots) = (Arc::new(session), JoinSet::new());
    for key in 0..100 {
        let (session, insert) = (Arc::clone(&session), Arc::clone(&insert));
        slots.spawn(async move {
            let values = [Value::Bigint(key), Value::Text("written")];
            session.execute(&insert, &values, &mut Rows::new()).await
        });
    }
    while let Some(slot) = slots.join_next().await {
        slot??;
    }
    let mut requests = tap.requests();
    requests.retain(|one| one.opcode == opcode::EXECUTE && one.has(b"written"));
    assert_eq!(requests.len(), 100);
    Ok(requests)
}

#[tokio::test]
async fn timestamps_go_with_statements_unless_they_are_left_to_the_server() -> Result<(), Failure> {
    for (value, expected) in [("client", DEFAULT_TIMESTAMP), ("server", 0)] {
        let tap = Tap::start().await?;
        let requests = writes(&tap, connect(&tap, "timestamps", value).await?).await?;
        assert!(
            requests.iter().all(|one| one.execute_flags().map(|flags| flags & DEFAULT_TIMESTAMP) == Some(expected))
        );
    }
    Ok(())
}

#[tokio::test]
async fn each_io_thread_has_connections_of_its_own_and_they_are_told() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    let asked = options(&tap, "io-threads", "2");
    assert_eq!(CassandraCpp.connections(&asked), 2);
    let told = CassandraCpp.settings(&asked).into_iter().find(|one| one.name == "connections").map(|one| one.value);
    assert_eq!(told.as_deref(), Some("2 per node: 1 for each of 2 I/O threads"));
    let requests = writes(&tap, CassandraCpp.connect(&asked).await?).await?;
    let connections: BTreeSet<usize> = requests.iter().map(|one| one.connection).collect();
    assert_eq!(connections.len(), 2, "connections that carried the statements");
    Ok(())
}

#[tokio::test]
async fn a_schema_that_is_not_fetched_is_not_asked_for() -> Result<(), Failure> {
    for (value, is_asked) in [("fetched", true), ("none", false)] {
        let tap = Tap::start().await?;
        let _session = connect(&tap, "schema", value).await?;
        assert_eq!(tap.requests().iter().any(|one| one.has(b"system_schema.tables")), is_asked, "schema={value}");
    }
    Ok(())
}

#[tokio::test]
async fn a_heartbeat_is_sent_as_often_as_asked_for() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    let _session = connect(&tap, "heartbeat", "1").await?;
    tap.forget();
    let since = Instant::now();
    while !tap.requests().iter().any(|one| one.opcode == opcode::OPTIONS) {
        assert!(since.elapsed() < Duration::from_secs(20), "no OPTIONS was sent");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_session_works_without_nodelay_and_with_other_routing() -> Result<(), Failure> {
    for (key, value) in [("nodelay", "off"), ("routing", "round-robin"), ("queue", "1024")] {
        let tap = Tap::start().await?;
        writes(&tap, connect(&tap, key, value).await?).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_number_that_is_none_is_refused() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    for (name, value) in [("io-threads", "0"), ("queue", "much"), ("heartbeat", "1s")] {
        let Err(error) = connect(&tap, name, value).await else {
            return Err(DriverError::new(ErrorKind::Other, format!("{name}={value} was taken")).into());
        };
        assert!(
            error.message().starts_with(&format!("cassandra-cpp's option `{name}` was set to {value:?}")),
            "{error}"
        );
    }
    Ok(())
}
