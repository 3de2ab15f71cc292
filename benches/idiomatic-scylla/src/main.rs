//! The program that the documentation of the crate `scylla` would have you write.

use std::num::NonZeroUsize;
use std::sync::Arc;

use cqldyno_idiomatic::{
    Arguments, CREATE_KEYSPACE, CREATE_TABLE, INSERT, PAGE_SIZE, REQUEST_TIMEOUT, SELECT, Statement, Tickets, Window,
    execute_all,
};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::response::PagingState;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::of_command_line();
    arguments.build_runtime()?.block_on(run(&arguments))
}

struct Client {
    session: Session,
    insert: PreparedStatement,
    select: PreparedStatement,
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    // Protocol v4, token-aware routing and no compression are the driver's own.
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::LocalOne)
        .request_timeout(Some(REQUEST_TIMEOUT))
        .retry_policy(Arc::new(FallthroughRetryPolicy::new()))
        .build();
    let session = SessionBuilder::new()
        .known_node_addr(arguments.target)
        .default_execution_profile_handle(profile.into_handle())
        .pool_size(PoolSize::PerHost(NonZeroUsize::MIN))
        .build()
        .await?;
    session.query_unpaged(CREATE_KEYSPACE, ()).await?;
    session.query_unpaged(CREATE_TABLE, ()).await?;
    let (insert, mut select) = (session.prepare(INSERT).await?, session.prepare(SELECT).await?);
    select.set_page_size(PAGE_SIZE);
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
        match statement {
            Statement::Insert(pk) => {
                session.execute_unpaged(insert, (pk, 2 * pk, 3 * pk)).await?;
                verified += 1;
            }
            Statement::Select(pk) => {
                // Page by page, as the driver's documentation has it for selects; a key is one page.
                let (result, _) = session.execute_single_page(select, (pk,), PagingState::start()).await?;
                for row in result.into_rows_result()?.rows::<(i64, i64, i64)>()? {
                    verified += u64::from(row? == (pk, 2 * pk, 3 * pk));
                }
            }
        }
    }
    Ok(verified)
}
