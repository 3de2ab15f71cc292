//! Slow servers and servers that go.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::server::Server;
use super::{Failure, Outcome, Verdict, check, declared, execute};
use crate::{Capability, Driver, DriverError, ErrorKind, Rows, Session, Value};

/// How long a statement may take to fail when the server is gone.
const FAILS_WITHIN: Duration = Duration::from_secs(30);
/// How long a driver may take to find a server that is back.
const RECONNECTS_WITHIN: Duration = Duration::from_secs(60);
/// The same for one that may be never back, because it declares not to go on without its control connection.
const RECONNECTS_BY_CHANCE_WITHIN: Duration = Duration::from_secs(20);
/// How many chances more such a one has.
const MORE_CHANCES: usize = 2;
/// After how long an attempt at a statement is given up for another one.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_millis(300);
const SLOW: Duration = Duration::from_millis(1_500);

/// Why a behaviour with an outage in it does not hold.
enum Broken {
    /// No statement went through any more.
    NeverBack(Failure),
    Otherwise(Failure),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Broken {
        Broken::Otherwise(failure)
    }
}

impl From<DriverError> for Broken {
    fn from(error: DriverError) -> Broken {
        Broken::Otherwise(error.into())
    }
}

impl From<Broken> for Failure {
    fn from(broken: Broken) -> Failure {
        match broken {
            Broken::NeverBack(failure) | Broken::Otherwise(failure) => failure,
        }
    }
}

/// Tries a behaviour in which all connections break, the control connection among them. It may be the last to be open
/// again: then a driver that declares not to go on without it is never back, and is given another chance.
async fn by_chance<D: Driver, F>(behaviour: impl Fn() -> F) -> Outcome
where
    F: Future<Output = Result<Verdict, Broken>>,
{
    let more = if declared::<D>(Capability::ControlConnection)? { 0 } else { MORE_CHANCES };
    for _ in 0..more {
        match behaviour().await {
            Err(Broken::NeverBack(_)) => {}
            ended => return Ok(ended?),
        }
    }
    Ok(behaviour().await?)
}

/// Executes the statement until it goes through, or fails otherwise than by the outage that is being waited out.
async fn until_back<D: Driver>(
    session: &D::Session,
    statement: &<D::Session as Session>::Statement,
    values: &[Value<'_>],
) -> Result<Result<Rows, DriverError>, Broken> {
    let within = match declared::<D>(Capability::ControlConnection)? {
        true => RECONNECTS_WITHIN,
        false => RECONNECTS_BY_CHANCE_WITHIN,
    };
    let mut said = None;
    let attempts = async {
        loop {
            // A driver without a time limit may wait for ever for an answer to what it wrote just before the connection broke.
            match timeout(ANSWERS_WITHIN, execute(session, statement, values)).await {
                Err(_) => {}
                Ok(Err(error)) if is_outage(error.kind) => {
                    said = Some(error);
                    sleep(Duration::from_millis(50)).await;
                }
                Ok(result) => return result,
            }
        }
    };
    let outcome = timeout(within, attempts).await;
    outcome.map_err(|_| {
        let (seconds, limit) = (within.as_secs(), ANSWERS_WITHIN.as_secs());
        let said = said.map_or_else(|| format!("none was answered within {limit} seconds"), |error| error.to_string());
        Broken::NeverBack(Failure::new(format!(
            "for {seconds} seconds no statement went through; the last error: {said}"
        )))
    })
}

fn is_outage(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::ConnectionLost | ErrorKind::Connect | ErrorKind::RequestTimeout)
}

/// The answer takes longer than the time limit: a driver that declares one gives up, any other waits and gets it.
pub async fn a_slow_answer_is_waited_for_as_long_as_declared<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let unlimited = server.connect::<D>().await?;
    let table = server.create_table(&unlimited, "slow", "pk bigint PRIMARY KEY, v bigint").await?;
    let mut options = server.options();
    options.request_timeout = Some(LIMIT);
    let session = D::default().connect(&options).await?;
    let select = session.prepare(&format!("SELECT v FROM {table} WHERE pk = ?")).await?;
    until_back::<D>(&session, &select, &[Value::Bigint(1)]).await??;
    server.relay().delay(SLOW);
    let result = execute(&session, &select, &[Value::Bigint(1)]).await;
    server.relay().delay(Duration::ZERO);
    match (declared::<D>(Capability::RequestTimeout)?, result) {
        (true, Err(error)) if error.kind == ErrorKind::RequestTimeout => {}
        (true, Err(error)) => return Err(Failure::new(format!("{error} where a request timeout was expected"))),
        (true, Ok(_)) => return Err(Failure::new("a time limit is declared, and the answer was waited for beyond it")),
        (false, Ok(_)) => {}
        (false, Err(error)) => {
            return Err(Failure::new(format!("no time limit is declared, and the answer was not waited for: {error}")));
        }
    }
    until_back::<D>(&session, &select, &[Value::Bigint(1)]).await??;
    server.end(&unlimited).await
}

/// In flight when the server goes, and after: every statement ends, with an error; when it is back, statements go
/// through again as declared.
pub async fn a_server_that_is_gone_gives_errors_until_it_is_back<D: Driver>() -> Outcome {
    by_chance::<D, _>(gone_and_back::<D>).await
}

async fn gone_and_back<D: Driver>() -> Result<Verdict, Broken> {
    let mut server = Server::start().await?;
    let session = Arc::new(server.connect::<D>().await?);
    let table = server.create_table(&*session, "gone", "pk bigint PRIMARY KEY, v bigint").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let insert = Arc::new(insert);
    execute(&*session, &insert, &[Value::Bigint(0), Value::Bigint(0)]).await?;

    server.relay().delay(Duration::from_secs(5));
    let mut in_flight = JoinSet::new();
    for key in 0..64 {
        let (session, insert) = (Arc::clone(&session), Arc::clone(&insert));
        in_flight.spawn(async move { execute(&*session, &insert, &[Value::Bigint(key), Value::Bigint(key)]).await });
    }
    sleep(Duration::from_millis(100)).await;
    server.stop().await;
    server.relay().delay(Duration::ZERO);
    let all = async {
        while let Some(result) = in_flight.join_next().await {
            expect_outage(result?)?;
        }
        Ok::<(), Failure>(())
    };
    timeout(FAILS_WITHIN, all)
        .await
        .map_err(|_| Failure::new("a statement in flight hangs when the server goes"))??;
    for _ in 0..5 {
        let attempt = timeout(FAILS_WITHIN, execute(&*session, &insert, &[Value::Bigint(1), Value::Bigint(1)])).await;
        expect_outage(attempt.map_err(|_| Failure::new("a statement hangs when the server is gone"))?)?;
    }

    // Not only the way to it was cut: a node of the behaviour's own ends and starts, and knows no prepared statement.
    server.restart().await?;
    if declared::<D>(Capability::Reconnect)? {
        match until_back::<D>(&session, &insert, &[Value::Bigint(2), Value::Bigint(2)]).await? {
            Err(error) if error.kind == ErrorKind::Unprepared && !declared::<D>(Capability::Reprepare)? => {}
            result => drop(result?),
        }
        return Ok(server.end(&server.connect::<D>().await?).await?);
    }
    for _ in 0..20 {
        sleep(Duration::from_millis(100)).await;
        let result = execute(&*session, &insert, &[Value::Bigint(2), Value::Bigint(2)]).await;
        check(result.is_err(), || "the driver reconnected, which it does not declare".to_owned())?;
    }
    Ok(server.end(&server.connect::<D>().await?).await?)
}

fn expect_outage(result: Result<Rows, DriverError>) -> Result<(), Failure> {
    match result {
        Ok(_) => Err(Failure::new("a statement went through although the server was gone")),
        Err(error) => check(is_outage(error.kind), || format!("{error} where the server was gone")),
    }
}

/// The driver's connection for events breaks, the others and the server do not: statements go on as declared.
pub async fn a_control_connection_that_breaks_alone_costs_the_session_as_declared<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "control", "pk bigint PRIMARY KEY, v bigint").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let values = [Value::Bigint(1), Value::Bigint(1)];
    execute(&session, &insert, &values).await?;

    let cut = server.relay().cut_control_connections();
    let back = async {
        // A driver that asks for no events has nothing to lose.
        while cut > 0 && server.relay().control_connections() == cut {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let seconds = RECONNECTS_WITHIN.as_secs();
    timeout(RECONNECTS_WITHIN, back)
        .await
        .map_err(|_| Failure::new(format!("the control connection was not open again within {seconds} seconds")))?;
    let mut results = Vec::new();
    for _ in 0..40 {
        results.push(timeout(FAILS_WITHIN, execute(&session, &insert, &values)).await);
        sleep(Duration::from_millis(50)).await;
    }
    let (all, failed) = (results.len(), results.iter().filter(|result| !matches!(result, Ok(Ok(_)))).count());
    if declared::<D>(Capability::ControlConnection)? {
        check(failed == 0, || {
            format!("{failed} of {all} statements failed although only the control connection broke")
        })?;
    } else {
        // It takes the driver a moment to read what it then loses the node by.
        let last = results.pop().ok_or_else(|| Failure::new("no statement was tried"))?;
        let lost = matches!(&last, Ok(Err(error)) if is_outage(error.kind));
        check(lost, || "the driver went on without its control connection, which it does not declare".to_owned())?;
    }
    server.end(&server.connect::<D>().await?).await
}

/// The server has forgotten the prepared statement: the driver prepares it again as declared, or says that it is
/// unprepared.
pub async fn a_statement_prepared_before_a_restart_is_prepared_again_as_declared<D: Driver>() -> Outcome {
    by_chance::<D, _>(prepared_before_a_restart::<D>).await
}

async fn prepared_before_a_restart<D: Driver>() -> Result<Verdict, Broken> {
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
    let result = until_back::<D>(&session, &insert, &[Value::Bigint(2), Value::Bigint(2)]).await?;
    match (declared::<D>(Capability::Reprepare)?, result) {
        (true, Ok(_)) => {}
        (true, Err(error)) => {
            return Err(Failure::new(format!("declared to prepare again, and failed: {error}")).into());
        }
        (false, Err(error)) if error.kind == ErrorKind::Unprepared => {}
        (false, Err(error)) => return Err(Failure::new(format!("{error} where unprepared was expected")).into()),
        (false, Ok(_)) => return Err(Failure::new("the driver prepared again, which it does not declare").into()),
    }
    Ok(server.end(&server.connect::<D>().await?).await?)
}
