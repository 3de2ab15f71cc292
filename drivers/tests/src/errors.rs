//! Errors come back by kind, as errors and not as panics.

use super::server::Server;
use super::{Failure, Outcome, check, execute, same};
use cqldyno_driver_api::{Driver, DriverError, ErrorKind, Session, Value};

fn expect_kind<T>(what: &str, result: Result<T, DriverError>, kind: ErrorKind) -> Result<(), Failure> {
    match result {
        Ok(_) => Err(Failure::new(format!("{what} went through; {kind} was expected"))),
        Err(error) if error.kind() == kind && !error.message().is_empty() => Ok(()),
        Err(error) => Err(Failure::new(format!("{what} failed with `{error}`; {kind} was expected, with a message"))),
    }
}

/// Queries and preparations of a table that is not there.
pub async fn a_missing_table_is_invalid<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    server.create_keyspace(&session).await?;
    let cql = format!("SELECT pk FROM {}.missing WHERE pk = 1", server.keyspace);
    expect_kind("a query of a missing table", session.query(&cql).await, ErrorKind::Invalid)?;
    expect_kind("a preparation on a missing table", session.prepare(&cql).await, ErrorKind::Invalid)?;
    server.end(&session).await
}

/// Queries and preparations of something that is no CQL.
pub async fn what_is_no_cql_is_a_syntax_error<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    expect_kind("a query that is no CQL", session.query("SELEKT 1").await, ErrorKind::Syntax)?;
    expect_kind("a preparation that is no CQL", session.prepare("SELECT FROM WHERE").await, ErrorKind::Syntax)?;
    server.end(&session).await
}

/// A table and a keyspace created a second time.
pub async fn a_table_that_is_there_already_exists<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "twice", "pk int PRIMARY KEY").await?;
    let again = session.query(&format!("CREATE TABLE {table} (pk int PRIMARY KEY)")).await;
    expect_kind("a second CREATE TABLE", again, ErrorKind::AlreadyExists)?;
    let cql = format!(
        "CREATE KEYSPACE {} WITH replication = {{'class': 'SimpleStrategy', 'replication_factor': 1}}",
        server.keyspace
    );
    expect_kind("a second CREATE KEYSPACE", session.query(&cql).await, ErrorKind::AlreadyExists)?;
    server.end(&session).await
}

/// Too few values, too many, and one of another type than the marker's.
pub async fn values_of_wrong_number_or_type_are_an_error_and_the_session_lives_on<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "strict", "pk bigint PRIMARY KEY, v int").await?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let wrong: [(&str, &[Value<'_>]); 5] = [
        ("no value for two markers", &[]),
        ("one value for two markers", &[Value::Bigint(1)]),
        ("three values for two markers", &[Value::Bigint(1), Value::Int(2), Value::Int(3)]),
        ("a text for a bigint", &[Value::Text("abc"), Value::Int(2)]),
        ("a bigint for an int", &[Value::Bigint(1), Value::Bigint(2)]),
    ];
    for (what, values) in wrong {
        match execute(&session, &insert, values).await {
            Ok(_) => return Err(Failure::new(format!("{what} went through"))),
            Err(error) => {
                check(matches!(error.kind(), ErrorKind::Codec | ErrorKind::Invalid | ErrorKind::Protocol), || {
                    format!("{what} failed with `{error}`, which does not say that the values were wrong")
                })?
            }
        }
    }
    execute(&session, &insert, &[Value::Bigint(1), Value::Int(2)]).await?;
    let select = session.prepare(&format!("SELECT v FROM {table} WHERE pk = ?")).await?;
    let rows = execute(&session, &select, &[Value::Bigint(1)]).await?;
    same("the row written after the errors", super::cell(&rows, 0, 0)?, Value::Int(2))?;
    server.end(&session).await
}
