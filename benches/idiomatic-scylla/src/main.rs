//! The program that the documentation of the crate `scylla` would have you write.

use std::num::NonZeroUsize;
use std::sync::Arc;

use cqldyno_idiomatic::{Arguments, CREATE_KEYSPACE, CREATE_TABLE, INSERT, SELECT, Statement, Tickets, Window};
use scylla::client::PoolSize;
use scylla::client::execution_profile::ExecutionProfile;
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::policies::retry::FallthroughRetryPolicy;
use scylla::statement::Consistency;
use scylla::statement::prepared::PreparedStatement;

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::of_command_line();
    arguments.runtime.build()?.block_on(run(&arguments))
}

struct Client {
    session: Session,
    insert: PreparedStatement,
    select: PreparedStatement,
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let profile = ExecutionProfile::builder()
        .consistency(Consistency::LocalOne)
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
    let (insert, select) = (session.prepare(INSERT).await?, session.prepare(SELECT).await?);
    let client = Arc::new(Client { session, insert, select });

    execute_all(&client, Tickets::warm_up(arguments), arguments.concurrency).await?;
    let window = Window::start()?;
    let verified = execute_all(&client, Tickets::window(arguments), arguments.concurrency).await?;
    println!("{}", window.end(arguments.count, verified)?);
    Ok(())
}

/// Executes all tickets in as many tasks as are in flight; what it gives is the number of right answers.
async fn execute_all(client: &Arc<Client>, tickets: Tickets, concurrency: usize) -> anyhow::Result<u64> {
    let tickets = Arc::new(tickets);
    let slots: Vec<_> =
        (0..concurrency).map(|_| tokio::spawn(execute_some(Arc::clone(client), Arc::clone(&tickets)))).collect();
    let mut verified = 0;
    for slot in slots {
        verified += slot.await??;
    }
    Ok(verified)
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
                let result = session.execute_unpaged(select, (pk,)).await?.into_rows_result()?;
                for row in result.rows::<(i64, i64, i64)>()? {
                    verified += u64::from(row? == (pk, 2 * pk, 3 * pk));
                }
            }
        }
    }
    Ok(verified)
}
