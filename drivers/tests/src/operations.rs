//! Operations besides a prepared EXECUTE.

use std::time::{Duration, Instant};

use cqldyno_cluster::Request;

use super::server::Server;
use super::{Failure, Outcome, Verdict, cell, check, declared, execute, same};
use cqldyno_driver_api::{BatchRows, Capability, Driver, DriverError, Rows, Session, Value};

const ROWS: i64 = 64;

/// For how long a closed session's connections may stay open.
const CLOSED_WITHIN: Duration = Duration::from_secs(20);
/// For how long they stay open at least where closing them is not declared.
const OPEN_FOR: Duration = Duration::from_secs(2);

fn refused(what: &str, result: Result<(), DriverError>) -> Result<(), Failure> {
    check(result.is_err(), || format!("{what} went through, which is not declared"))
}

/// Requests of a kind that the server counted for this text, with the rows of batches; `None` if it is only an address.
fn counted(server: &Server, request: Request, text: &str) -> Option<(u64, u64)> {
    let seen = server.stats()?;
    let found = seen.operations.iter().find(|one| one.request == request && one.text == text);
    Some(found.map_or((0, 0), |one| (one.count, one.rows)))
}

/// Batches of 64 rows, one of another size, and a logged one: all rows are there, and the server received one BATCH for each.
pub async fn a_batch_writes_all_its_rows_in_one_request<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "batched", "pk bigint, ck bigint, v text, PRIMARY KEY (pk, ck)").await?;
    let text = format!("INSERT INTO {table} (pk, ck, v) VALUES (?, ?, ?)");
    let insert = session.prepare(&text).await?;
    let texts: Vec<String> = (0..ROWS).map(|ck| format!("row {ck}")).collect();
    let values = |pk| -> Vec<Value<'_>> {
        let rows = (0..ROWS).zip(&texts);
        rows.flat_map(|(ck, text)| [Value::Bigint(pk), Value::Bigint(ck), Value::Text(text)]).collect()
    };
    if !declared::<D>(Capability::Batch)? {
        refused("a batch", session.batch(&insert, BatchRows::new(&values(1), 64)).await)?;
        return server.end(&session).await;
    }
    for pk in [1, 2] {
        session.batch(&insert, BatchRows::new(&values(pk), 64)).await?;
    }
    session.batch(&insert, BatchRows::new(&values(3)[..9], 3)).await?;
    session.batch(&insert, BatchRows::new(&values(4), 64).logged()).await?;
    let select = session.prepare(&format!("SELECT ck, v FROM {table} WHERE pk = ?")).await?;
    for (pk, expected) in [(1, 64), (2, 64), (3, 3), (4, 64)] {
        let rows = execute(&session, &select, &[Value::Bigint(pk)]).await?;
        same("rows of a batch", rows.len(), expected)?;
        same("the last row's text", cell(&rows, expected - 1, 1)?, Value::Text(&texts[expected - 1]))?;
    }
    if let Some(found) = counted(&server, Request::UnloggedBatch, &text) {
        same("unlogged batches and their rows", found, (3, 131))?;
    }
    if let Some(found) = counted(&server, Request::LoggedBatch, &text) {
        same("logged batches and their rows", found, (1, 64))?;
    }
    server.end(&session).await
}

/// A row with too few values, and one with a value of another type: an error, and no row is written.
pub async fn a_batch_with_a_wrong_value_is_an_error_and_writes_nothing<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "wrongly", "pk bigint PRIMARY KEY, v bigint").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let wrong = [Value::Bigint(1), Value::Bigint(2), Value::Bigint(3), Value::Text("four")];
    for (what, values, rows) in
        [("a batch with a text for a bigint", &wrong[..], 2), ("a batch with a value too few", &wrong[..1], 1)]
    {
        check(session.batch(&insert, BatchRows::new(values, rows)).await.is_err(), || format!("{what} went through"))?;
    }
    let select = session.prepare(&format!("SELECT pk FROM {table}")).await?;
    same("rows behind the errors", execute(&session, &select, &[]).await?.len(), 0)?;
    server.end(&session).await
}

/// Values of every type go out with a statement that was not prepared, and its rows come back decoded, page by page.
pub async fn an_unprepared_statement_takes_values_and_gives_rows<D: Driver>() -> Outcome {
    const COLUMNS: [&str; 8] = ["bigint", "int", "text", "blob", "boolean", "double", "uuid", "timestamp"];
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let columns = COLUMNS.map(|kind| format!("c_{kind} {kind}")).join(", ");
    let table =
        server.create_table(&session, "unprepared", &format!("id int, {columns}, PRIMARY KEY (id, c_bigint)")).await?;
    let names = COLUMNS.map(|kind| format!("c_{kind}")).join(", ");
    let insert = format!("INSERT INTO {table} (id, {names}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
    let select = format!("SELECT {names} FROM {table} WHERE id = ?");
    let full = [
        Value::Bigint(i64::MIN),
        Value::Int(-7),
        Value::Text("Grüße"),
        Value::Blob(&[0, 255, 1]),
        Value::Boolean(true),
        Value::Double(-0.1),
        Value::Uuid(*b"0123456789abcdef"),
        Value::Timestamp(1_700_000_000_123),
    ];
    let mut rows = Rows::new();
    let written = session.query_values(&insert, &[&[Value::Int(1)], &full[..]].concat(), &mut rows).await;
    if !declared::<D>(Capability::Unprepared)? {
        refused("an unprepared statement with values", written)?;
        return server.end(&session).await;
    }
    written?;
    let mut nulls = [Value::Null; 8];
    nulls[0] = Value::Bigint(1);
    session.query_values(&insert, &[&[Value::Int(1)], &nulls[..]].concat(), &mut rows).await?;
    same("rows of an insert", rows.len(), 0)?;
    session.query_values(&select, &[Value::Int(1)], &mut rows).await?;
    same("rows", rows.len(), 2)?;
    for (column, (full, null)) in full.iter().zip(nulls).enumerate() {
        same("a column of the first row", cell(&rows, 0, column)?, *full)?;
        same("a column of the second row", cell(&rows, 1, column)?, null)?;
    }
    if let (Some((queries, _)), Some(executes)) = (counted(&server, Request::Query, &select), server.executed(&select))
    {
        same("requests that executed the select", queries + executes, 1)?;
    }
    let wrong = session.query_values(&select, &[Value::Int(1), Value::Int(2)], &mut rows).await;
    check(wrong.is_err(), || "two values for one marker went through".to_owned())?;
    server.end(&session).await
}

/// As many PREPAREs as statements were prepared under different texts, each of them usable.
pub async fn preparing_another_text_asks_the_server_each_time<D: Driver>() -> Outcome {
    const TEXTS: usize = 20;
    same("whether preparing is declared", declared::<D>(Capability::Prepare)?, true)?;
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "prepared", "pk bigint PRIMARY KEY").await?;
    let select = format!("SELECT pk FROM {table} WHERE pk = ?");
    let before = counted(&server, Request::Prepare, &select);
    let mut last = None;
    for nth in 0..TEXTS {
        last = Some(session.prepare(&format!("{select} /* {nth} */")).await?);
    }
    if let (Some((before, _)), Some((after, _))) = (before, counted(&server, Request::Prepare, &select)) {
        same("PREPAREs", after - before, TEXTS as u64)?;
    }
    if let Some(last) = last {
        same("rows", execute(&session, &last, &[Value::Bigint(1)]).await?.len(), 0)?;
    }
    server.end(&session).await
}

/// Sessions made, used and closed in turn: each statement arrives once, and connections stay open only as declared.
pub async fn sessions_made_and_closed_in_turn_leave_connections_open_as_declared<D: Driver>() -> Outcome {
    const SESSIONS: i64 = 10;
    if !declared::<D>(Capability::Connect)? {
        return Ok(Verdict::NotRun("the driver does not declare that it connects again and again"));
    }
    let closes = declared::<D>(Capability::ClosesSessions)?;
    let server = Server::start().await?;
    let setup = server.connect::<D>().await?;
    let table = server.create_table(&setup, "turns", "pk bigint PRIMARY KEY").await?;
    let text = format!("INSERT INTO {table} (pk) VALUES (?)");
    let open = server.open_connections();
    for key in 0..SESSIONS {
        let session = server.connect::<D>().await?;
        let insert = session.prepare(&text).await?;
        execute(&session, &insert, &[Value::Bigint(key)]).await?;
        drop(insert);
        session.close().await;
    }
    let since = Instant::now();
    while !closes && since.elapsed() < OPEN_FOR {
        check(open.is_none() || server.open_connections() > open, || {
            "closed sessions closed all their connections, which is not declared".to_owned()
        })?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    while closes && server.open_connections() > open {
        check(since.elapsed() < CLOSED_WITHIN, || {
            format!(
                "{:?} connections are open after {SESSIONS} sessions, and {open:?} were before",
                server.open_connections()
            )
        })?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if let (Some(executed), Some((prepares, _))) = (server.executed(&text), counted(&server, Request::Prepare, &text)) {
        same("EXECUTEs and PREPAREs", (executed, prepares), (SESSIONS as u64, SESSIONS as u64))?;
    }
    server.end(&setup).await
}
