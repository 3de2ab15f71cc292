//! As many tasks as statements are in flight.

use std::sync::Arc;

use crate::Tickets;

/// Executes all tickets in `concurrency` tasks, each of which runs `execute_some` until there are no more; what it gives
/// is the number of right answers.
///
/// # Errors
/// The first error of a task.
pub async fn execute_all<C, F>(
    client: &Arc<C>,
    tickets: Tickets,
    concurrency: usize,
    execute_some: fn(Arc<C>, Arc<Tickets>) -> F,
) -> anyhow::Result<u64>
where
    F: Future<Output = anyhow::Result<u64>> + Send + 'static,
{
    let tickets = Arc::new(tickets);
    let slots: Vec<_> =
        (0..concurrency).map(|_| tokio::spawn(execute_some(Arc::clone(client), Arc::clone(&tickets)))).collect();
    let mut verified = 0;
    for slot in slots {
        verified += slot.await??;
    }
    Ok(verified)
}
