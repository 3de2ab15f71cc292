//! What the server sees of each option.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cqldyno_driver_api::{ConnectOptions, Driver, DriverError, Rows, Session, Value};
use cqldyno_driver_cdrs_tokio::{CdrsTokio, CdrsTokioSession};
use cqldyno_driver_tests::Failure;
use cqldyno_driver_tests::tap::{Tap, opcode};

fn options(tap: &Tap, chosen: &[(&str, &str)]) -> ConnectOptions {
    let mut options = ConnectOptions::new(vec![tap.address]);
    options.options = chosen.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    options
}

async fn connect(tap: &Tap, chosen: &[(&str, &str)]) -> Result<CdrsTokioSession, DriverError> {
    CdrsTokio::default().connect(&options(tap, chosen)).await
}

/// Writes rows and reads them.
async fn writes_and_reads(session: &CdrsTokioSession) -> Result<(), Failure> {
    session.query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}").await?;
    session.query("CREATE TABLE k.t (pk bigint PRIMARY KEY, v text)").await?;
    let insert = session.prepare("INSERT INTO k.t (pk, v) VALUES (?, ?)").await?;
    let select = session.prepare("SELECT v FROM k.t WHERE pk = ?").await?;
    for key in 0..20 {
        let mut rows = Rows::new();
        session.execute(&insert, &[Value::Bigint(key), Value::Text("written")], &mut rows).await?;
        session.execute(&select, &[Value::Bigint(key)], &mut rows).await?;
        assert_eq!(rows.only().and_then(|row| row.get(0)), Some(Value::Text("written")));
    }
    Ok(())
}

#[tokio::test]
async fn a_session_works_with_each_of_the_options_and_tells_what_they_change() -> Result<(), Failure> {
    for (chosen, setting) in [
        ([("routing", "round-robin")], Some(("routing", "round-robin"))),
        ([("buffer", "1")], None),
        ([("nodelay", "off")], None),
        ([("compression", "none")], Some(("compression", "none"))),
    ] {
        let tap = Tap::start().await?;
        writes_and_reads(&connect(&tap, &chosen).await?).await?;
        let told: BTreeMap<String, String> = CdrsTokio::default()
            .settings(&options(&tap, &chosen))
            .into_iter()
            .map(|one| (one.name, one.value))
            .collect();
        if let Some((name, value)) = setting {
            assert_eq!(told[name], value);
        }
    }
    Ok(())
}

#[tokio::test]
async fn compression_is_asked_for_and_statements_run_with_it() -> Result<(), Failure> {
    for algorithm in ["lz4", "snappy"] {
        let tap = Tap::start().await?;
        let session = connect(&tap, &[("compression", algorithm)]).await?;
        session
            .query("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
            .await?;
        let asked = tap.requests();
        assert!(
            asked.iter().any(|one| one.opcode == opcode::STARTUP && one.has(algorithm.as_bytes())),
            "{asked:?} has no STARTUP with {algorithm}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_heartbeat_is_sent_as_often_as_asked_for() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    let _session = connect(&tap, &[("heartbeat", "1")]).await?;
    let is_heartbeat = |one: &cqldyno_driver_tests::tap::Request| one.opcode == opcode::OPTIONS;
    let since = Instant::now();
    while !tap.requests().iter().any(is_heartbeat) {
        assert!(since.elapsed() < Duration::from_secs(20), "no OPTIONS was sent");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_number_that_is_none_is_refused() -> Result<(), Failure> {
    let tap = Tap::start().await?;
    for (name, value) in [("buffer", "0"), ("buffer", "much"), ("heartbeat", "1ms")] {
        let error = connect(&tap, &[(name, value)]).await.err().map(DriverError::into_message).unwrap_or_default();
        assert!(error.starts_with(&format!("cdrs-tokio's option `{name}` was set to {value:?}")), "{error}");
    }
    assert_eq!(tap.requests(), [], "it is refused before anything is sent");
    Ok(())
}
