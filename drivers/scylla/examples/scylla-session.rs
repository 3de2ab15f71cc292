//! The session whose requests are recorded (`harness/cluster/recorded/README.md`); the last argument is the server. A second one
//! has the driver's own defaults, batches and unprepared values.

use std::error::Error;

use cqldyno_driver_scylla::Scylla;
use cqldyno_driver_tests::session::{address_of_arguments, session};
use scylla::client::session_builder::SessionBuilder;
use scylla::statement::batch::{Batch, BatchType};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = address_of_arguments().map_err(|failure| format!("{failure:?}"))?;
    session::<Scylla>(server).await.map_err(|failure| format!("{failure:?}"))?;
    let session = SessionBuilder::new().known_node_addr(server).build().await?;
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.query_unpaged(format!("CREATE KEYSPACE recorded WITH replication = {replication}"), ()).await?;
    session.use_keyspace("recorded", false).await?;
    session.query_unpaged("CREATE TABLE batched (pk bigint PRIMARY KEY, v text)", ()).await?;
    let insert = session.prepare("INSERT INTO batched (pk, v) VALUES (?, ?)").await?;
    for kind in [BatchType::Logged, BatchType::Unlogged] {
        let mut batch = Batch::new(kind);
        batch.append_statement(insert.clone());
        batch.append_statement("INSERT INTO batched (pk, v) VALUES (2, 'text')");
        batch.append_statement("DELETE FROM batched WHERE pk = 7");
        session.batch(&batch, ((1_i64, "prepared"), (), ())).await?;
    }
    session.query_unpaged("SELECT pk, v FROM batched WHERE pk = ?", (1_i64,)).await?;
    session.query_unpaged("SELECT v, pk FROM batched", ()).await?;
    session.query_unpaged("DROP KEYSPACE recorded", ()).await?;
    Ok(())
}
