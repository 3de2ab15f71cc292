//! One session from beginning to end, with the same statements for every driver, which is recorded to compare servers.

use std::net::{SocketAddr, ToSocketAddrs};

use super::{Failure, check, execute, same};
use cqldyno_driver_api::{ConnectOptions, Driver, ErrorKind, Session, Value};

/// The keyspace that the session creates and drops.
const KEYSPACE: &str = "recorded";

const PAGE: i32 = 10;
const ROWS: i32 = 25;

const TYPES: [&str; 2] = [
    "(pk bigint PRIMARY KEY, a_boolean boolean, an_int int, a_double double, a_timestamp timestamp, a_uuid uuid, a_text text, \
     a_blob blob)",
    "(pk, a_boolean, an_int, a_double, a_timestamp, a_uuid, a_text, a_blob)",
];

/// The address that the last argument of the process names.
///
/// # Errors
/// When it is no `HOST:PORT`.
pub fn address_of_arguments() -> Result<SocketAddr, Failure> {
    let last = std::env::args().next_back().unwrap_or_default();
    let address = last.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    address.ok_or_else(|| Failure::new(format!("the last argument is `{last}`, which is no HOST:PORT")))
}

/// Connects with equal settings and pages of ten rows, creates tables, writes, reads, pages, changes, makes mistakes, and drops
/// everything again.
///
/// # Errors
/// When the server did otherwise than a session expects.
pub async fn session<D: Driver>(server: SocketAddr) -> Result<(), Failure> {
    let options = ConnectOptions { page_size: PAGE, ..ConnectOptions::new(vec![server]) };
    let session = D::default().connect(&options).await?;
    session.query(&format!("DROP KEYSPACE IF EXISTS {KEYSPACE}")).await?;
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.query(&format!("CREATE KEYSPACE {KEYSPACE} WITH replication = {replication}")).await?;
    session.query(&format!("CREATE TABLE {KEYSPACE}.types {}", TYPES[0])).await?;
    session
        .query(&format!(
            "CREATE TABLE {KEYSPACE}.paged (pk int, ck int, kept text static, v text, PRIMARY KEY (pk, ck))"
        ))
        .await?;
    types(&session).await?;
    pages(&session).await?;
    changes(&session).await?;
    mistakes(&session).await?;
    session.query(&format!("DROP TABLE {KEYSPACE}.types")).await?;
    session.query(&format!("DROP KEYSPACE {KEYSPACE}")).await?;
    Ok(())
}

async fn types(session: &impl Session) -> Result<(), Failure> {
    let insert = format!("INSERT INTO {KEYSPACE}.types {} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", TYPES[1]);
    let insert = session.prepare(&insert).await?;
    let full = [
        Value::Bigint(i64::MIN),
        Value::Boolean(true),
        Value::Int(-7),
        Value::Double(-0.1),
        Value::Timestamp(1_700_000_000_123),
        Value::Uuid(*b"\x0f\x0e\x0d\x0c\x0b\x0a\x49\x08\x87\x06\x05\x04\x03\x02\x01\x00"),
        Value::Text("gr\u{fc}\u{df}e \u{1f980}"),
        Value::Blob(&[0, 255, 1]),
    ];
    execute(session, &insert, &full).await?;
    let mut nulls = [Value::Null; 8];
    nulls[0] = Value::Bigint(2);
    execute(session, &insert, &nulls).await?;
    let columns = "a_boolean, an_int, a_double, a_timestamp, a_uuid, a_text, a_blob";
    let select = session.prepare(&format!("SELECT {columns} FROM {KEYSPACE}.types WHERE pk = ?")).await?;
    for (pk, rows) in [(i64::MIN, 1), (2, 1), (3, 0)] {
        same("rows", execute(session, &select, &[Value::Bigint(pk)]).await?.len(), rows)?;
    }
    let all = session.prepare(&format!("SELECT * FROM {KEYSPACE}.types")).await?;
    same("rows", execute(session, &all, &[]).await?.len(), 2)?;
    let some =
        session.prepare(&format!("SELECT pk AS key, a_text FROM {KEYSPACE}.types WHERE pk IN (2, 9) LIMIT 5")).await?;
    same("rows", execute(session, &some, &[]).await?.len(), 1)
}

async fn pages(session: &impl Session) -> Result<(), Failure> {
    let insert = session.prepare(&format!("INSERT INTO {KEYSPACE}.paged (pk, ck, v) VALUES (?, ?, ?)")).await?;
    for ck in 0..ROWS {
        execute(session, &insert, &[Value::Int(1), Value::Int(ck), Value::Text(&format!("row {ck}"))]).await?;
    }
    let select = session.prepare(&format!("SELECT ck, v FROM {KEYSPACE}.paged WHERE pk = ?")).await?;
    execute(session, &select, &[Value::Int(1)]).await?;
    let limited = format!("SELECT ck FROM {KEYSPACE}.paged WHERE pk = ? AND ck >= 3 ORDER BY ck DESC LIMIT 20");
    let limited = session.prepare(&limited).await?;
    execute(session, &limited, &[Value::Int(1)]).await?;
    let range = session.prepare(&format!("SELECT ck FROM {KEYSPACE}.paged WHERE pk = ? AND ck < ?")).await?;
    // Exactly one page.
    execute(session, &range, &[Value::Int(1), Value::Int(PAGE)]).await?;
    Ok(())
}

async fn changes(session: &impl Session) -> Result<(), Failure> {
    let update = session.prepare(&format!("UPDATE {KEYSPACE}.paged SET v = ? WHERE pk = ? AND ck = ?")).await?;
    execute(session, &update, &[Value::Text("changed"), Value::Int(1), Value::Int(0)]).await?;
    execute(session, &update, &[Value::Text("new by an update"), Value::Int(2), Value::Int(0)]).await?;
    let keep = session.prepare(&format!("UPDATE {KEYSPACE}.paged SET kept = ? WHERE pk = ?")).await?;
    execute(session, &keep, &[Value::Text("for all rows"), Value::Int(2)]).await?;
    execute(session, &keep, &[Value::Text("without rows"), Value::Int(3)]).await?;
    session
        .query(&format!(
            "BEGIN BATCH INSERT INTO {KEYSPACE}.paged (pk, ck, v) VALUES (4, 1, 'one'); \
             INSERT INTO {KEYSPACE}.paged (pk, ck, v) VALUES (4, 2, 'two'); \
             DELETE v FROM {KEYSPACE}.paged WHERE pk = 4 AND ck = 3; APPLY BATCH"
        ))
        .await?;
    let delete = session.prepare(&format!("DELETE FROM {KEYSPACE}.paged WHERE pk = ? AND ck = ?")).await?;
    execute(session, &delete, &[Value::Int(4), Value::Int(2)]).await?;
    let part = session.prepare(&format!("DELETE FROM {KEYSPACE}.paged WHERE pk = ? AND ck > ?")).await?;
    execute(session, &part, &[Value::Int(1), Value::Int(3)]).await?;
    let all = session.prepare(&format!("SELECT pk, ck, kept, v FROM {KEYSPACE}.paged")).await?;
    execute(session, &all, &[]).await?;
    let count = session.prepare(&format!("SELECT count(*) FROM {KEYSPACE}.paged WHERE pk = ?")).await?;
    execute(session, &count, &[Value::Int(1)]).await?;
    session.query(&format!("TRUNCATE {KEYSPACE}.paged")).await?;
    same("rows", execute(session, &all, &[]).await?.len(), 0)
}

async fn mistakes(session: &impl Session) -> Result<(), Failure> {
    let expected = [
        ("SELECT * FROM KEYSPACE.missing", ErrorKind::Invalid),
        ("SELECT missing FROM KEYSPACE.types WHERE pk = 1", ErrorKind::Invalid),
        ("SELECT * FROM KEYSPACE.types WHERE a_text = 'x'", ErrorKind::Invalid),
        ("SELECT * FROM nosuchkeyspace.t", ErrorKind::Invalid),
        ("INSERT INTO KEYSPACE.types (pk, an_int) VALUES (1, 'text')", ErrorKind::Invalid),
        ("INSERT INTO KEYSPACE.types (an_int) VALUES (1)", ErrorKind::Invalid),
        ("UPDATE KEYSPACE.paged SET v = 'x' WHERE pk = 1", ErrorKind::Invalid),
        ("SELEKT 1", ErrorKind::Syntax),
        ("SELECT * FROM KEYSPACE.types WHERE", ErrorKind::Syntax),
        ("CREATE TABLE KEYSPACE.types (pk int PRIMARY KEY)", ErrorKind::AlreadyExists),
        (
            "CREATE KEYSPACE KEYSPACE WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            ErrorKind::AlreadyExists,
        ),
        ("DROP TABLE KEYSPACE.missing", ErrorKind::Invalid),
    ];
    for (cql, kind) in expected {
        let cql = cql
            .replace("KEYSPACE.", &format!("{KEYSPACE}."))
            .replace("KEYSPACE KEYSPACE", &format!("KEYSPACE {KEYSPACE}"));
        match session.query(&cql).await {
            Ok(()) => return Err(Failure::new(format!("`{cql}` was no error"))),
            Err(error) => check(error.kind() == kind, || format!("`{cql}` gave {error}"))?,
        }
    }
    for cql in ["SELECT v FROM nosuchkeyspace.t WHERE pk = ?", "INSERT INTO"] {
        check(session.prepare(cql).await.is_err(), || format!("`{cql}` could be prepared"))?;
    }
    let gone = session.prepare(&format!("SELECT ck FROM {KEYSPACE}.paged WHERE pk = ? AND ck = ?")).await?;
    session.query(&format!("DROP TABLE {KEYSPACE}.paged")).await?;
    let answered = execute(session, &gone, &[Value::Int(1), Value::Int(2)]).await;
    check(answered.is_err(), || "a select of a dropped table was no error".to_owned())
}
