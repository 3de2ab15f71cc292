//! Slow servers and servers that go.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::server::Server;
use super::{Failure, Outcome, Verdict, check, declared, execute};
use cqldyno_driver_api::{Capability, Driver, DriverError, ErrorKind, Rows, Session, Value};

/// The longest that a statement may take to fail after the server is gone.
const FAILS_WITHIN: Duration = Duration::from_secs(30);
/// The longest that a driver may take to find a server that is back.
const RECONNECTS_WITHIN: Duration = Duration::from_secs(60);
/// A driver without a node for so long has given it up.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// An attempt at a statement is given up after so long.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Statements that are tried without a control connection.
const OF_STATEMENTS: u64 = 40;
const LIMIT: Duration = Duration::from_millis(300);
const SLOW: Duration = Duration::from_millis(1_500);

/// Executes the statement until it succeeds, or fails otherwise than by this outage.
///
/// If all connections break, so does the control connection, which may be the last to open again. For a driver that declares not
/// to go on then, it is cut once more, which mends it.
async fn until_back<D: Driver>(
    server: &Server,
    session: &D::Session,
    statement: &<D::Session as Session>::Statement,
    values: &[Value<'_>],
) -> Result<Result<Rows, DriverError>, Failure> {
    let mut may_be_lost = !declared::<D>(Capability::ControlConnection)?;
    let begun = Instant::now();
    let mut said = None;
    let attempts = async {
        loop {
            // A driver without a time limit may wait for ever for an answer to what it wrote just before the cut.
            match timeout(ANSWERS_WITHIN, execute(session, statement, values)).await {
                Err(_) => {}
                Ok(Err(error)) if is_outage(error.kind()) => {
                    said = Some(error);
                    sleep(Duration::from_millis(50)).await;
                }
                Ok(result) => return result,
            }
            if may_be_lost && begun.elapsed() > LOST_AFTER {
                may_be_lost = false;
                server.relay.cut_control_connections();
            }
        }
    };
    let outcome = timeout(RECONNECTS_WITHIN, attempts).await;
    outcome.map_err(|_| {
        let (seconds, limit) = (RECONNECTS_WITHIN.as_secs(), ANSWERS_WITHIN.as_secs());
        let said = said.map_or_else(|| format!("none was answered within {limit} seconds"), |error| error.to_string());
        Failure::new(format!("for {seconds} seconds no statement went through; the last error: {said}"))
    })
}

fn is_outage(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionLost | ErrorKind::Connect | ErrorKind::RequestTimeout)
}

/// The answer takes longer than the time limit: a driver that declares one gives up, any other gets the answer.
pub async fn a_slow_answer_is_waited_for_as_long_as_declared<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let unlimited = server.connect::<D>().await?;
    let table = server.create_table(&unlimited, "slow", "pk bigint PRIMARY KEY, v bigint").await?;
    let mut options = server.options();
    options.request_timeout = Some(LIMIT);
    let session = D::default().connect(&options).await?;
    let select = session.prepare(&format!("SELECT v FROM {table} WHERE pk = ?")).await?;
    until_back::<D>(&server, &session, &select, &[Value::Bigint(1)]).await??;
    server.relay.delay(SLOW);
    let result = execute(&session, &select, &[Value::Bigint(1)]).await;
    server.relay.delay(Duration::ZERO);
    match (declared::<D>(Capability::RequestTimeout)?, result) {
        (true, Err(error)) if error.kind() == ErrorKind::RequestTimeout => {}
        (true, Err(error)) => return Err(Failure::new(format!("{error} where a request timeout was expected"))),
        (true, Ok(_)) => return Err(Failure::new("a time limit is declared, and the answer was waited for beyond it")),
        (false, Ok(_)) => {}
        (false, Err(error)) => {
            return Err(Failure::new(format!("no time limit is declared, and the answer was not waited for: {error}")));
        }
    }
    until_back::<D>(&server, &session, &select, &[Value::Bigint(1)]).await??;
    server.end(&unlimited).await
}

/// Statements in flight when the server goes, and later ones, fail; when it is back, statements succeed again as declared.
pub async fn a_server_that_is_gone_gives_errors_until_it_is_back<D: Driver>() -> Outcome {
    let mut server = Server::start().await?;
    let session = Arc::new(server.connect::<D>().await?);
    let table = server.create_table(&*session, "gone", "pk bigint PRIMARY KEY, v bigint").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let insert = Arc::new(insert);
    execute(&*session, &insert, &[Value::Bigint(0), Value::Bigint(0)]).await?;

    server.relay.delay(Duration::from_secs(5));
    let mut in_flight = JoinSet::new();
    let most = D::default().describe()?.in_flight_per_connection.unwrap_or(64);
    for key in 0..most as i64 {
        let (session, insert) = (Arc::clone(&session), Arc::clone(&insert));
        in_flight.spawn(async move { execute(&*session, &insert, &[Value::Bigint(key), Value::Bigint(key)]).await });
    }
    sleep(Duration::from_millis(100)).await;
    server.stop().await;
    server.relay.delay(Duration::ZERO);
    let all = async {
        while let Some(result) = in_flight.join_next().await {
            expect_outage(result?)?;
        }
        Ok::<(), Failure>(())
    };
    let notices = declared::<D>(Capability::NoticesClose)?;
    let within = if notices { FAILS_WITHIN } else { LOST_AFTER };
    match (notices, timeout(within, all).await) {
        (true, Ok(result)) => result?,
        (true, Err(_)) => return Err(Failure::new("a statement in flight hangs when the server goes")),
        (false, Ok(_)) => return Err(Failure::new("no statement in flight hangs, which is not declared")),
        (false, Err(_)) => in_flight.abort_all(),
    }
    // The first write to a connection that the server closed still succeeds.
    let mut may_hang = !notices;
    for _ in 0..5 {
        match timeout(within, execute(&*session, &insert, &[Value::Bigint(1), Value::Bigint(1)])).await {
            Ok(attempt) => expect_outage(attempt)?,
            Err(_) if may_hang => may_hang = false,
            Err(_) => return Err(Failure::new("a statement hangs when the server is gone")),
        }
    }

    // A node of the behaviour's own really restarts, and knows no prepared statement.
    server.restart().await?;
    if declared::<D>(Capability::Reconnect)? {
        match until_back::<D>(&server, &session, &insert, &[Value::Bigint(2), Value::Bigint(2)]).await? {
            Err(error) if error.kind() == ErrorKind::Unprepared && !declared::<D>(Capability::Reprepare)? => {}
            result => drop(result?),
        }
        return server.end(&server.connect::<D>().await?).await;
    }
    for _ in 0..20 {
        sleep(Duration::from_millis(100)).await;
        let result = execute(&*session, &insert, &[Value::Bigint(2), Value::Bigint(2)]).await;
        check(result.is_err(), || "the driver reconnected, which it does not declare".to_owned())?;
    }
    server.end(&server.connect::<D>().await?).await
}

fn expect_outage(result: Result<Rows, DriverError>) -> Result<(), Failure> {
    match result {
        Ok(_) => Err(Failure::new("a statement went through although the server was gone")),
        Err(error) => check(is_outage(error.kind()), || format!("{error} where the server was gone")),
    }
}

/// Only the connection for events breaks: statements go on as declared.
pub async fn a_control_connection_that_breaks_alone_costs_the_session_as_declared<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "control", "pk bigint PRIMARY KEY, v bigint").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let values = [Value::Bigint(1), Value::Bigint(1)];
    execute(&session, &insert, &values).await?;

    let before = server.relay.control_connections();
    server.relay.cut_control_connections();
    let back = async {
        // A driver that asks for no events has nothing to lose.
        while before > 0 && server.relay.control_connections() == before {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let notices = declared::<D>(Capability::NoticesClose)?;
    let within = if notices { RECONNECTS_WITHIN } else { LOST_AFTER };
    match (notices, timeout(within, back).await) {
        (true, Err(_)) => {
            let seconds = within.as_secs();
            return Err(Failure::new(format!("the control connection was not open again within {seconds} seconds")));
        }
        (false, Ok(())) if before > 0 => {
            return Err(Failure::new("the control connection was open again, which is not declared"));
        }
        _ => {}
    }
    let mut failed = 0;
    for _ in 0..OF_STATEMENTS {
        let result = timeout(FAILS_WITHIN, execute(&session, &insert, &values)).await;
        failed += u64::from(!matches!(result, Ok(Ok(_))));
        sleep(Duration::from_millis(50)).await;
    }
    match declared::<D>(Capability::ControlConnection)? {
        true => check(failed == 0, || {
            format!("{failed} of {OF_STATEMENTS} statements failed although only the control connection broke")
        })?,
        false if failed == 0 && server.stats().is_none() => {
            return Ok(Verdict::NotRun("what this server says of itself does not cost the driver its node"));
        }
        false => check(failed == OF_STATEMENTS, || {
            format!(
                "{failed} of {OF_STATEMENTS} statements failed, all of which do without the control connection by what is declared"
            )
        })?,
    }
    // Without reconnecting, the session is lost for good.
    if declared::<D>(Capability::Reconnect)? {
        until_back::<D>(&server, &session, &insert, &values).await??;
    }
    server.end(&server.connect::<D>().await?).await
}

/// The server has forgotten the prepared statement: the driver prepares it again as declared, or reports it as unprepared.
pub async fn a_statement_prepared_before_a_restart_is_prepared_again_as_declared<D: Driver>() -> Outcome {
    let mut server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "restart", "pk bigint PRIMARY KEY, v bigint").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    execute(&session, &insert, &[Value::Bigint(1), Value::Bigint(1)]).await?;
    if declared::<D>(Capability::Reconnect)? {
        server.restart().await?;
    } else {
        server.forget_prepared();
    }
    let result = until_back::<D>(&server, &session, &insert, &[Value::Bigint(2), Value::Bigint(2)]).await?;
    match (declared::<D>(Capability::Reprepare)?, result) {
        (true, Ok(_)) => {}
        (true, Err(error)) => {
            return Err(Failure::new(format!("declared to prepare again, and failed: {error}")));
        }
        (false, Err(error)) if error.kind() == ErrorKind::Unprepared => {}
        (false, Err(error)) => return Err(Failure::new(format!("{error} where unprepared was expected"))),
        (false, Ok(_)) => return Err(Failure::new("the driver prepared again, which it does not declare")),
    }
    server.end(&server.connect::<D>().await?).await
}
