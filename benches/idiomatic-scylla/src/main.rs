//! The program that the documentation of the crate `scylla` would have you write.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Arc;

use cqldyno_idiomatic::{INSERT, PAGE_SIZE, Program, SELECT, Statement, Tickets};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::PagingState;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;

fn main() -> ExitCode {
    cqldyno_idiomatic::main::<Client>()
}

struct Client {
    session: Session,
    insert: PreparedStatement,
    select: PreparedStatement,
}

impl Program for Client {
    type Adapter = cqldyno_driver_scylla::Scylla;

    async fn connect(node: SocketAddr) -> anyhow::Result<Client> {
        // Protocol v4, token-aware routing and no compression are the driver's own.
        let profile = ExecutionProfile::builder()
            .consistency(Consistency::LocalOne)
            .serial_consistency(None)
            .request_timeout(None)
            .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
            .build();
        let session = SessionBuilder::new()
            .known_node_addr(node)
            .default_execution_profile_handle(profile.into_handle())
            .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
            .build()
            .await?;
        let (insert, mut select) = (session.prepare(INSERT).await?, session.prepare(SELECT).await?);
        select.set_page_size(PAGE_SIZE);
        Ok(Client { session, insert, select })
    }

    async fn execute_some(client: Arc<Client>, tickets: Arc<Tickets>) -> anyhow::Result<u64> {
        let Client { session, insert, select } = &*client;
        let mut verified = 0;
        while let Some(statement) = tickets.take() {
            match statement {
                Statement::Insert(pk) => {
                    session.execute_unpaged(insert, (pk, 2 * pk, 3 * pk)).await?;
                    verified += 1;
                }
                Statement::Select(pk) => {
                    // Page by page, as the driver's documentation has it for selects; a key is one page.
                    let (result, _) = session.execute_single_page(select, (pk,), PagingState::start()).await?;
                    for row in result.into_rows_result()?.rows::<(i64, i64, i64)>()? {
                        verified += u64::from(row? == tickets.row(pk));
                    }
                }
            }
        }
        Ok(verified)
    }
}
