//! As many tasks as statements are in flight.

use std::sync::Arc;

use crate::{Program, Tickets};

/// Executes all tickets in `concurrency` tasks, each of which runs `execute_some` until there are no more; what it gives
/// is the number of right answers.
///
/// # Errors
/// The first error of a task.
pub(crate) async fn execute_all<P: Program>(
    client: &Arc<P>,
    tickets: &Arc<Tickets>,
    concurrency: usize,
) -> anyhow::Result<u64> {
    let slots: Vec<_> =
        (0..concurrency).map(|_| tokio::spawn(P::execute_some(Arc::clone(client), Arc::clone(tickets)))).collect();
    let mut verified = 0;
    for slot in slots {
        verified += slot.await??;
    }
    Ok(verified)
}
