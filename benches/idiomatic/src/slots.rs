//! As many tasks as statements are in flight.

use std::sync::Arc;

use crate::{Program, Tickets};

/// Executes all tickets in `concurrency` tasks, each of which runs `execute_some`; returns the number of right answers.
///
/// # Errors
/// The first error of a task.
pub(crate) async fn execute_all<P: Program>(
    client: &Arc<P>,
    tickets: &Arc<Tickets>,
    concurrency: usize,
) -> anyhow::Result<u64> {
    let (client, tickets) = (Arc::clone(client), Arc::clone(tickets));
    // Spawned by a task, as in the load generator: otherwise each would wake a thread of the runtime by a system call.
    let slots = tokio::spawn(async move {
        let slot = |_| tokio::spawn(P::execute_some(Arc::clone(&client), Arc::clone(&tickets)));
        (0..concurrency).map(slot).collect::<Vec<_>>()
    });
    let mut verified = 0;
    for slot in slots.await? {
        verified += slot.await??;
    }
    Ok(verified)
}
