//! The session whose requests are recorded (`harness/cluster/recorded/README.md`); the last argument is the server. A second one
//! has the driver's own defaults, batches and unprepared values.

use std::error::Error;

use cassandra_cpp::{BatchType, BindRustType, Cluster};
use cqldyno_driver_cassandra_cpp::CassandraCpp;
use cqldyno_driver_tests::session::{address_of_arguments, session};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = address_of_arguments().map_err(|failure| format!("{failure:?}"))?;
    session::<CassandraCpp>(server).await.map_err(|failure| format!("{failure:?}"))?;
    let mut cluster = Cluster::default();
    cluster.set_contact_points(&server.ip().to_string())?;
    cluster.set_port(server.port())?;
    let session = cluster.connect().await?;
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.execute(&format!("CREATE KEYSPACE recorded WITH replication = {replication}")).await?;
    session.execute("USE recorded").await?;
    session.execute("CREATE TABLE recorded.batched (pk bigint PRIMARY KEY, v text)").await?;
    let insert = session.prepare("INSERT INTO recorded.batched (pk, v) VALUES (?, ?)").await?;
    for kind in [BatchType::LOGGED, BatchType::UNLOGGED] {
        let mut batch = session.batch(kind);
        let mut statement = insert.bind();
        statement.bind(0, 1_i64)?.bind(1, "prepared")?;
        batch.add_statement(statement)?;
        let mut statement = session.statement("INSERT INTO recorded.batched (pk, v) VALUES (?, ?)");
        statement.bind(0, 2_i64)?.bind(1, "text")?;
        batch.add_statement(statement)?;
        batch.add_statement(session.statement("DELETE FROM recorded.batched WHERE pk = 7"))?;
        batch.execute().await?;
    }
    let mut select = session.statement("SELECT pk, v FROM recorded.batched WHERE pk = ?");
    select.bind(0, 1_i64)?;
    select.execute().await?;
    session.execute("SELECT v, pk FROM recorded.batched").await?;
    session.execute("DROP KEYSPACE recorded").await?;
    Ok(())
}
