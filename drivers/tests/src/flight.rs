//! Many statements at once.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::server::Server;
use super::{Failure, Outcome, cell, check, execute, same};
use cqldyno_driver_api::{Driver, DriverError, ErrorKind, Session, Value};

const IN_FLIGHT: i64 = 1_024;

/// 1,024 tasks on one session, each with keys of its own: no answer goes to another.
pub async fn a_thousand_statements_in_flight_each_get_their_own_answer<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = Arc::new(server.connect::<D>().await?);
    let table = server.create_table(&*session, "flight", "pk bigint PRIMARY KEY, v bigint, t text").await?;
    let insert = Arc::new(session.prepare(&format!("INSERT INTO {table} (pk, v, t) VALUES (?, ?, ?)")).await?);
    let select = Arc::new(session.prepare(&format!("SELECT v, t FROM {table} WHERE pk = ?")).await?);
    let mut slots = JoinSet::new();
    for slot in 0..IN_FLIGHT {
        let (session, insert, select) = (Arc::clone(&session), Arc::clone(&insert), Arc::clone(&select));
        slots.spawn(async move {
            for round in 0..4 {
                let key = round * IN_FLIGHT + slot;
                let text = format!("text of {key}");
                execute(&*session, &insert, &[Value::Bigint(key), Value::Bigint(3 * key), Value::Text(&text)]).await?;
                let rows = execute(&*session, &select, &[Value::Bigint(key)]).await?;
                same("rows of one key", rows.len(), 1)?;
                same("the number of its row", cell(&rows, 0, 0)?, Value::Bigint(3 * key))?;
                same("the text of its row", cell(&rows, 0, 1)?, Value::Text(&text))?;
            }
            Ok::<(), Failure>(())
        });
    }
    while let Some(slot) = slots.join_next().await {
        slot??;
    }
    server.end(&*session).await
}

/// Every statement is sent once, even if the server answers with errors after which a driver might try again.
pub async fn nothing_is_sent_twice<D: Driver>() -> Outcome {
    const STATEMENTS: i64 = 500;
    let server = Server::start().await?;
    let session = Arc::new(server.connect::<D>().await?);
    let table = server.create_table(&*session, "once", "pk bigint PRIMARY KEY, v bigint").await?;
    let text = format!("INSERT INTO {table} (pk, v) VALUES (?, ?)");
    let insert = Arc::new(session.prepare(&text).await?);
    let mut slots = JoinSet::new();
    for slot in 0..STATEMENTS {
        let (session, insert) = (Arc::clone(&session), Arc::clone(&insert));
        slots.spawn(async move {
            execute(&*session, &insert, &[Value::Bigint(slot), Value::Bigint(slot)]).await?;
            Ok::<(), DriverError>(())
        });
    }
    while let Some(slot) = slots.join_next().await {
        slot??;
    }
    same("EXECUTEs on the wire", server.relay.executes(&text), STATEMENTS as u64)?;
    if let Some(executed) = server.executed(&text) {
        same("EXECUTEs that the server counted", executed, STATEMENTS as u64)?;
    }

    let mut sent = STATEMENTS as u64;
    let caveats = D::default().describe()?.caveats;
    let answers = [
        (0x0000, ErrorKind::Server),
        (0x1000, ErrorKind::Unavailable),
        (0x1001, ErrorKind::Overloaded),
        (0x1002, ErrorKind::Bootstrapping),
        (0x1200, ErrorKind::ServerTimeout),
    ];
    for (code, kind) in answers {
        // On a session of its own: some drivers give a connection up after a server error.
        let session = server.connect::<D>().await?;
        let insert = session.prepare(&text).await?;
        server.relay.fail_with(Some(code));
        let result = execute(&session, &insert, &[Value::Bigint(1), Value::Bigint(1)]).await;
        server.relay.fail_with(None);
        match result {
            Ok(_) => return Err(Failure::new(format!("an answer with error {code:#06x} was taken for a success"))),
            Err(error) => {
                // A driver may take a bootstrapping node's refusal to the next node, because the statement was not executed.
                // There is no other node here, and a caveat names the code.
                let no_next_node = kind == ErrorKind::Bootstrapping
                    && error.kind() == ErrorKind::ConnectionLost
                    && caveats.iter().any(|caveat| caveat.contains("0x1002"));
                check(error.kind() == kind || no_next_node, || {
                    format!("`{error}` at error {code:#06x} where {kind} was expected")
                })?
            }
        }
        sent += 1;
        same("EXECUTEs after an error", server.relay.executes(&text), sent)?;
    }
    server.end(&*session).await
}
