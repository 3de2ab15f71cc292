//! The session whose requests are recorded (`harness/cluster/recorded/README.md`); the last argument is the server. A second one
//! has the driver's own defaults, batches and unprepared values.

use std::error::Error;

use cdrs_tokio::cluster::NodeTcpConfigBuilder;
use cdrs_tokio::cluster::session::{SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::consistency::Consistency;
use cdrs_tokio::frame::Version;
use cdrs_tokio::frame::message_batch::BatchType;
use cdrs_tokio::load_balancing::RoundRobinLoadBalancingStrategy;
use cdrs_tokio::query::BatchQueryBuilder;
use cdrs_tokio::query_values;
use cqldyno_driver_cdrs_tokio::CdrsTokio;
use cqldyno_driver_tests::session::{address_of_arguments, session};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = address_of_arguments().map_err(|failure| format!("{failure:?}"))?;
    session::<CdrsTokio>(server).await.map_err(|failure| format!("{failure:?}"))?;
    let nodes = NodeTcpConfigBuilder::new().with_contact_point(server.into()).with_version(Version::V4).build().await?;
    let session = TcpSessionBuilder::new(RoundRobinLoadBalancingStrategy::new(), nodes).build().await?;
    let replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    session.query(format!("CREATE KEYSPACE recorded WITH replication = {replication}")).await?;
    session.query("USE recorded").await?;
    session.query("CREATE TABLE recorded.batched (pk bigint PRIMARY KEY, v text)").await?;
    let insert = session.prepare("INSERT INTO recorded.batched (pk, v) VALUES (?, ?)").await?;
    for kind in [BatchType::Logged, BatchType::Unlogged] {
        let batch = BatchQueryBuilder::new()
            .with_batch_type(kind)
            .with_consistency(Consistency::One)
            .add_query_prepared(&insert, query_values!(1_i64, "prepared"))
            .add_query("INSERT INTO recorded.batched (pk, v) VALUES (?, ?)", query_values!(2_i64, "text"))
            .add_query("DELETE FROM recorded.batched WHERE pk = 7", query_values!())
            .build()?;
        session.batch(batch).await?;
    }
    session.query_with_values("SELECT pk, v FROM recorded.batched WHERE pk = ?", query_values!(1_i64)).await?;
    let named = query_values!("v" => "by name", "pk" => 3_i64);
    session.query_with_values("INSERT INTO recorded.batched (pk, v) VALUES (:pk, :v)", named).await?;
    session.query("SELECT v, pk FROM recorded.batched").await?;
    session.query("DROP KEYSPACE recorded").await?;
    Ok(())
}
