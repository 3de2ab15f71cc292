//! What the server sees of each option.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use cqldyno_driver_api::{ConnectOptions, Driver, DriverError, ErrorKind, Rows, Session, Value};
use cqldyno_driver_scylla::{Scylla, ScyllaSession};
use cqldyno_driver_tests::Failure;
use cqldyno_driver_tests::tap::{Request, Tap, opcode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Flags of an EXECUTE (native_protocol_v4.spec section 4.1.4).
const SKIP_METADATA: u8 = 0x02;
const DEFAULT_TIMESTAMP: u8 = 0x20;

async fn connect(tap: &Tap, key: &str, value: &str) -> Result<ScyllaSession, DriverError> {
    let mut options = ConnectOptions::new(vec![tap.address]);
    options.options.insert(key.to_owned(), value.to_owned());
    Scylla.connect(&options).await
}

/// The flags of the only EXECUTE that was sent with these bytes.
fn flags_with(tap: &Tap, bytes: &[u8]) -> u8 {
    let requests = tap.requests();
    let sent = requests.iter().filter(|request| request.opcode == opcode::EXECUTE && request.has(bytes));
    let flags: Vec<u8> = sent.filter_map(Request::execute_flags).collect();
    assert_eq!(flags.len(), 1, "EXECUTEs with the value");
    flags[0]
}

/// Writes and reads one row with the option; returns the flags of both EXECUTEs.
async fn flags(key: &str, value: &str) -> Result<(u8, u8), Failure> {
    let tap = Tap::start().await?;
    let session = connect(&tap, key, value).await?;
    session.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await?;
    session.query("CREATE TABLE k.t (pk text PRIMARY KEY, v text)").await?;
    let insert = session.prepare("INSERT INTO k.t (pk, v) VALUES (?, ?)").await?;
    let select = session.prepare("SELECT v FROM k.t WHERE pk = ?").await?;
    let mut rows = Rows::new();
    session.execute(&insert, &[Value::Text("a key"), Value::Text("written")], &mut rows).await?;
    let written = flags_with(&tap, b"written");
    tap.forget();
    session.execute(&select, &[Value::Text("a key")], &mut rows).await?;
    assert_eq!(rows.only().and_then(|row| row.get(0)), Some(Value::Text("written")));
    Ok((written, flags_with(&tap, b"a key")))
}

#[tokio::test]
async fn cached_metadata_is_not_asked_for_with_rows() -> Result<(), Failure> {
    assert_eq!(flags("metadata", "each").await?.1 & SKIP_METADATA, 0);
    assert_ne!(flags("metadata", "cached").await?.1 & SKIP_METADATA, 0);
    Ok(())
}

#[tokio::test]
async fn timestamps_of_the_client_go_with_statements() -> Result<(), Failure> {
    assert_eq!(flags("timestamps", "server").await?.0 & DEFAULT_TIMESTAMP, 0);
    assert_ne!(flags("timestamps", "client").await?.0 & DEFAULT_TIMESTAMP, 0);
    Ok(())
}

#[tokio::test]
async fn a_session_works_without_coalescing_and_without_token_aware_routing() -> Result<(), Failure> {
    flags("coalescing", "off").await?;
    flags("routing", "round-robin").await?;
    Ok(())
}

#[tokio::test]
async fn a_schema_that_is_not_fetched_is_not_asked_for() -> Result<(), Failure> {
    for (value, asked) in [("fetched", true), ("none", false)] {
        let tap = Tap::start().await?;
        let _session = connect(&tap, "schema", value).await?;
        assert_eq!(tap.requests().iter().any(|request| request.has(b"system_schema.columns")), asked, "{value}");
    }
    Ok(())
}

/// After a change of the schema: from 1.9 on, nothing else is read again.
#[tokio::test]
async fn metadata_is_read_again_after_as_many_seconds_as_asked() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    let session = connect(&tap, "refresh", "1").await?;
    session.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await?;
    let (requests, since) = (tap.requests().len(), Instant::now());
    // The default is 60 seconds.
    while tap.requests().len() < requests + 3 {
        assert!(since.elapsed() < Duration::from_secs(20), "the metadata was not read again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let refused = connect(&tap, "refresh", "often").await.err().map(DriverError::into_message).unwrap_or_default();
    assert!(refused.contains("`refresh` was set to \"often\""), "{refused}");
    Ok(())
}

/// Without any change of the schema.
#[tokio::test]
async fn a_full_refresh_reads_the_schema_again_each_time() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    let mut options = ConnectOptions::new(vec![tap.address]);
    options.options.extend([("refresh", "1"), ("refresh-mode", "full")].map(|(a, b)| (a.to_owned(), b.to_owned())));
    let _session = Scylla.connect(&options).await?;
    let (requests, since) = (tap.requests().len(), Instant::now());
    while tap.requests().len() < requests + 8 {
        assert!(since.elapsed() < Duration::from_secs(20), "the metadata was not read again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn the_pager_gives_every_row_of_every_page_in_their_order() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    let mut options = ConnectOptions { page_size: 2, ..ConnectOptions::new(vec![tap.address]) };
    options.options.insert("api".to_owned(), "pager".to_owned());
    let session = Scylla.connect(&options).await?;
    session.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await?;
    session.query("CREATE TABLE k.t (pk text, ck bigint, v text, w list<int>, PRIMARY KEY (pk, ck))").await?;
    let insert = session.prepare("INSERT INTO k.t (pk, ck, v) VALUES (?, ?, ?)").await?;
    let select = session.prepare("SELECT ck, v, w FROM k.t WHERE pk = ?").await?;
    let mut rows = Rows::new();
    for ck in 0..5 {
        session.execute(&insert, &[Value::Text("a key"), Value::Bigint(ck), Value::Text("v")], &mut rows).await?;
    }
    assert!(rows.is_empty(), "an insert has no pager");
    tap.forget();
    session.execute(&select, &[Value::Text("a key")], &mut rows).await?;
    let found: Vec<_> = rows.iter().map(|row| [row.get(0), row.get(1), row.get(2)]).collect();
    let expected = |ck| [Value::Bigint(ck), Value::Text("v"), Value::Null].map(Some);
    assert_eq!(found, (0..5).map(expected).collect::<Vec<_>>());
    let is_page = |one: &&Request| one.opcode == opcode::EXECUTE && one.has(b"a key");
    assert_eq!(tap.requests().iter().filter(is_page).count(), 3);
    rows.clear();
    session.execute(&select, &[Value::Text("another key")], &mut rows).await?;
    assert!(rows.is_empty());
    let refused = session.execute(&select, &[Value::Bigint(1)], &mut rows).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Codec);
    Ok(())
}

#[tokio::test]
async fn a_compression_is_asked_for_and_statements_run_with_it() -> Result<(), Failure> {
    for algorithm in ["lz4", "snappy"] {
        let tap = Tap::start().await?;
        let session = connect(&tap, "compression", algorithm).await?;
        session
            .query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            .await?;
        let is_startup = |one: &Request| one.opcode == opcode::STARTUP && one.has(algorithm.as_bytes());
        assert!(tap.requests().iter().any(is_startup), "no STARTUP has {algorithm}");
    }
    Ok(())
}

#[tokio::test]
async fn a_compression_that_the_server_does_not_offer_is_refused() -> Result<(), Failure> {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = server.local_addr().unwrap();
    let offers_none = async {
        let (mut client, _) = server.accept().await?;
        client.read_exact(&mut [0; 9]).await?;
        // SUPPORTED of a server that says nothing of itself.
        client.write_all(&[0x84, 0, 0, 0, 6, 0, 0, 0, 2, 0, 0]).await
    };
    let mut options = ConnectOptions::new(vec![address]);
    options.options.insert("compression".to_owned(), "lz4".to_owned());
    let (refused, answered) = tokio::join!(Scylla.connect(&options), offers_none);
    answered.unwrap();
    let Err(refused) = refused else { panic!("lz4 was taken") };
    assert_eq!(refused.kind(), ErrorKind::Other);
    let begin = format!("compression=lz4 was asked for, and {address} does not offer it");
    assert!(refused.message().starts_with(&begin), "{refused}");
    Ok(())
}

#[test]
fn an_option_that_was_asked_for_stands_among_the_settings() {
    let mut options = ConnectOptions::new(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 1))]);
    options.options.insert("routing".to_owned(), "round-robin".to_owned());
    let settings = Scylla.settings(&options);
    let routing = settings.iter().find(|setting| setting.name == "routing").unwrap();
    assert_eq!((routing.value.as_str(), routing.as_asked), ("round-robin", true));
}
