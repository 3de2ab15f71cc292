//! The program that the documentation of the crate `cdrs-tokio` would have you write.

use std::sync::Arc;

use anyhow::Context;
use cdrs_tokio::cluster::connection_pool::ConnectionPoolConfigBuilder;
use cdrs_tokio::cluster::session::{Session, SessionBuilder, TcpSessionBuilder};
use cdrs_tokio::cluster::{NodeTcpConfigBuilder, TcpConnectionManager};
use cdrs_tokio::consistency::Consistency;
use cdrs_tokio::frame::Version;
use cdrs_tokio::load_balancing::TopologyAwareLoadBalancingStrategy;
use cdrs_tokio::query::PreparedQuery;
use cdrs_tokio::query_values;
use cdrs_tokio::retry::FallthroughRetryPolicy;
use cdrs_tokio::statement::StatementParamsBuilder;
use cdrs_tokio::transport::TransportTcp;
use cdrs_tokio::types::ByIndex;
use cqldyno_idiomatic::{
    Arguments, CREATE_KEYSPACE, CREATE_TABLE, INSERT, PAGE_SIZE, SELECT, Statement, Tickets, Window, execute_all,
};

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::of_command_line();
    arguments.build_runtime()?.block_on(run(&arguments))
}

type LoadBalancing = TopologyAwareLoadBalancingStrategy<TransportTcp, TcpConnectionManager>;

struct Client {
    session: Session<TransportTcp, TcpConnectionManager, LoadBalancing>,
    insert: PreparedQuery,
    select: PreparedQuery,
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // No compression is the driver's own; it has no time limit a statement, and selects carry the page size.
    let nodes = NodeTcpConfigBuilder::new()
        .with_contact_point(arguments.target.into())
        .with_version(Version::V4)
        .build()
        .await?;
    let session = TcpSessionBuilder::new(TopologyAwareLoadBalancingStrategy::new(None, false), nodes)
        .with_retry_policy(Box::new(FallthroughRetryPolicy))
        .with_connection_pool_config(ConnectionPoolConfigBuilder::new().with_local_size(1).build())
        .build()
        .await?;
    session.query(CREATE_KEYSPACE).await?;
    session.query(CREATE_TABLE).await?;
    let (insert, select) = (session.prepare(INSERT).await?, session.prepare(SELECT).await?);
    let client = Arc::new(Client { session, insert, select });

    execute_all(&client, Tickets::warm_up(arguments), arguments.concurrency, execute_some).await?;
    let window = Window::start()?;
    let verified = execute_all(&client, Tickets::window(arguments), arguments.concurrency, execute_some).await?;
    println!("{}", window.end(arguments.count, verified)?);
    Ok(())
}

async fn execute_some(client: Arc<Client>, tickets: Arc<Tickets>) -> anyhow::Result<u64> {
    let Client { session, insert, select } = &*client;
    let mut verified = 0;
    while let Some(statement) = tickets.take() {
        let parameters = StatementParamsBuilder::new().with_consistency(Consistency::LocalOne);
        match statement {
            Statement::Insert(pk) => {
                let parameters = parameters.with_values(query_values!(pk, 2 * pk, 3 * pk)).build();
                session.exec_with_params(insert, &parameters).await?;
                verified += 1;
            }
            Statement::Select(pk) => {
                let parameters = parameters.with_values(query_values!(pk)).with_page_size(PAGE_SIZE).build();
                let body = session.exec_with_params(select, &parameters).await?.response_body()?;
                for row in body.into_rows().context("the select was not answered with rows")? {
                    let row: (i64, i64, i64) = (row.r_by_index(0)?, row.r_by_index(1)?, row.r_by_index(2)?);
                    verified += u64::from(row == (pk, 2 * pk, 3 * pk));
                }
            }
        }
    }
    Ok(verified)
}
