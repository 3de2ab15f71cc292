//! Results page by page.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::server::Server;
use super::{Outcome, Verdict, cell, check, declared, execute, same};
use cqldyno_driver_api::{Capability, Driver, Session, Value};

const ROWS: i32 = 1_000;
const PAGE: i32 = 100;

/// 1,000 rows of one partition with a page size of 100 all come, in order. A driver that pages gets them in ten pages, or eleven:
/// Cassandra learns only from an empty page that a full one was the last.
pub async fn a_partition_of_a_thousand_rows_comes_in_pages_of_a_hundred<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let mut options = server.options();
    options.page_size = PAGE;
    let session = Arc::new(D::default().connect(&options).await?);
    let table = server.create_table(&*session, "paged", "pk int, ck int, v text, PRIMARY KEY (pk, ck)").await?;
    let insert = Arc::new(session.prepare(&format!("INSERT INTO {table} (pk, ck, v) VALUES (7, ?, ?)")).await?);
    let mut slots = JoinSet::new();
    for slot in 0..20 {
        let (session, insert) = (Arc::clone(&session), Arc::clone(&insert));
        slots.spawn(async move {
            for ck in (slot..ROWS).step_by(20) {
                execute(&*session, &insert, &[Value::Int(ck), Value::Text(&format!("row {ck}"))]).await?;
            }
            Ok::<(), cqldyno_driver_api::DriverError>(())
        });
    }
    while let Some(slot) = slots.join_next().await {
        slot??;
    }
    let select = session.prepare(&format!("SELECT ck, v FROM {table} WHERE pk = ?")).await?;
    let rows = execute(&*session, &select, &[Value::Int(7)]).await?;
    same("rows", rows.len(), ROWS as usize)?;
    for ck in 0..ROWS {
        same("clustering key", cell(&rows, ck as usize, 0)?, Value::Int(ck))?;
        same("value", cell(&rows, ck as usize, 1)?, Value::Text(&format!("row {ck}")))?;
    }
    let pages = rows.pages();
    if declared::<D>(Capability::Paging)? {
        check((10..=11).contains(&pages), || format!("{pages} pages of 100 rows each were read of 1000 rows"))?;
    } else {
        same("pages of a driver that does not declare paging", pages, 1)?;
    }
    server.end(&*session).await
}

/// A select that finds nothing is no error and has no rows.
pub async fn an_empty_result_has_no_rows<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "empty", "pk bigint PRIMARY KEY, v bigint").await?;
    let select = session.prepare(&format!("SELECT pk, v FROM {table} WHERE pk = ?")).await?;
    let rows = execute(&session, &select, &[Value::Bigint(1)]).await?;
    same("rows", rows.len(), 0)?;
    same("pages", rows.pages(), 1)?;
    let insert = session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?)")).await?;
    let rows = execute(&session, &insert, &[Value::Bigint(1), Value::Bigint(2)]).await?;
    same("rows of an insert", rows.len(), 0)?;
    same("pages of an insert", rows.pages(), 0)?;
    server.end(&session).await.map(|_| Verdict::Holds)
}
