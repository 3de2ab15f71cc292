//! The program that the documentation of the crate `cassandra-cpp` would have you write.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use cassandra_cpp::{Cluster, LendingIterator, LogLevel, PreparedStatement, RetryPolicy, TimestampGen, set_level};
use cqldyno_idiomatic::{INSERT, PAGE_SIZE, Program, SELECT, Statement, Tickets};

fn main() -> ExitCode {
    cqldyno_idiomatic::main::<Client>()
}

struct Client {
    insert: PreparedStatement,
    select: PreparedStatement,
}

impl Program for Client {
    type Adapter = cqldyno_driver_cassandra_cpp::CassandraCpp;

    async fn connect(node: SocketAddr) -> anyhow::Result<Client> {
        set_level(LogLevel::DISABLED);
        // LOCAL_ONE, token-aware routing, one I/O thread and one connection are the defaults; selects carry the page size.
        let mut cluster = Cluster::default();
        cluster.set_contact_points(&node.ip().to_string()).map_err(sentence)?;
        cluster.set_port(node.port()).map_err(sentence)?;
        cluster.set_protocol_version(4).map_err(sentence)?;
        cluster.set_request_timeout(Duration::ZERO);
        cluster.set_timestamp_gen(&TimestampGen::gen_server_side_new());
        cluster.set_tcp_keepalive(false, Duration::ZERO);
        cluster.set_retry_policy(RetryPolicy::fallthrough_new());
        let session = cluster.connect().await.map_err(sentence)?;
        let insert = session.prepare(INSERT).await.map_err(sentence)?;
        let select = session.prepare(SELECT).await.map_err(sentence)?;
        Ok(Client { insert, select })
    }

    async fn execute_some(client: Arc<Client>, tickets: Arc<Tickets>) -> anyhow::Result<u64> {
        let Client { insert, select } = &*client;
        let mut verified = 0;
        while let Some(statement) = tickets.take() {
            match statement {
                Statement::Insert(pk) => {
                    let mut statement = insert.bind();
                    statement.bind_int64(0, pk).map_err(sentence)?;
                    statement.bind_int64(1, 2 * pk).map_err(sentence)?;
                    statement.bind_int64(2, 3 * pk).map_err(sentence)?;
                    statement.execute().await.map_err(sentence)?;
                    verified += 1;
                }
                Statement::Select(pk) => {
                    let mut statement = select.bind();
                    statement.set_paging_size(PAGE_SIZE).map_err(sentence)?;
                    statement.bind_int64(0, pk).map_err(sentence)?;
                    let result = statement.execute().await.map_err(sentence)?;
                    let mut rows = result.iter();
                    while let Some(row) = rows.next() {
                        let column = |index| row.get_column(index).map_err(sentence)?.get_i64().map_err(sentence);
                        verified += u64::from((column(0)?, column(1)?, column(2)?) == tickets.row(pk));
                    }
                }
            }
        }
        Ok(verified)
    }
}

/// The crate's errors cannot be shared between threads, so they go on as text.
fn sentence(error: cassandra_cpp::Error) -> anyhow::Error {
    anyhow!("{error}")
}
