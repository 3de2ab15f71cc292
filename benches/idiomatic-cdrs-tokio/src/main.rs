//! The program that the documentation of the crate `cdrs-tokio` would have you write.

use std::net::SocketAddr;
use std::process::ExitCode;
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
use cqldyno_idiomatic::{INSERT, PAGE_SIZE, Program, SELECT, Statement, Tickets};

fn main() -> ExitCode {
    cqldyno_idiomatic::main::<Client>()
}

type LoadBalancing = TopologyAwareLoadBalancingStrategy<TransportTcp, TcpConnectionManager>;

struct Client {
    session: Session<TransportTcp, TcpConnectionManager, LoadBalancing>,
    insert: PreparedQuery,
    select: PreparedQuery,
}

impl Program for Client {
    type Adapter = cqldyno_driver_cdrs_tokio::CdrsTokio;

    async fn connect(node: SocketAddr) -> anyhow::Result<Client> {
        // No compression is the driver's own; it has no time limit per statement, and selects carry the page size.
        let nodes =
            NodeTcpConfigBuilder::new().with_contact_point(node.into()).with_version(Version::V4).build().await?;
        let session = TcpSessionBuilder::new(TopologyAwareLoadBalancingStrategy::new(None, false), nodes)
            .with_retry_policy(Box::new(FallthroughRetryPolicy))
            .with_connection_pool_config(ConnectionPoolConfigBuilder::new().with_local_size(1).build())
            .build()
            .await?;
        let (insert, select) = (session.prepare(INSERT).await?, session.prepare(SELECT).await?);
        Ok(Client { session, insert, select })
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
                        verified += u64::from(row == tickets.row(pk));
                    }
                }
            }
        }
        Ok(verified)
    }
}
