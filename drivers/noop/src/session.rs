//! A session with nothing behind it.

use std::sync::Arc;

use cqldyno_driver_api::{BatchRows, DriverError, Rows, Session, Value};
use tokio::task::JoinHandle;

use crate::queue::Queue;

/// A session that sends nothing.
#[derive(Debug)]
pub struct NoopSession {
    /// Where statements wait, and the task that answers them; `None` when they are answered at once.
    later: Option<(Arc<Queue>, JoinHandle<()>)>,
}

impl NoopSession {
    pub(crate) fn ready() -> NoopSession {
        NoopSession { later: None }
    }

    /// Spawns the answering task on the runtime that this is called on.
    pub(crate) fn pending() -> NoopSession {
        let queue = Arc::new(Queue::default());
        let answering = Arc::clone(&queue);
        NoopSession { later: Some((queue, tokio::spawn(async move { answering.answer_all().await }))) }
    }
}

impl Drop for NoopSession {
    fn drop(&mut self) {
        if let Some((_, task)) = &self.later {
            task.abort();
        }
    }
}

impl Session for NoopSession {
    type Statement = ();

    async fn query(&self, _cql: &str) -> Result<(), DriverError> {
        Ok(())
    }

    async fn prepare(&self, _cql: &str) -> Result<(), DriverError> {
        Ok(())
    }

    async fn execute(&self, _statement: &(), _values: &[Value<'_>], _rows: &mut Rows) -> Result<(), DriverError> {
        if let Some((queue, _)) = &self.later {
            queue.wait().await;
        }
        Ok(())
    }

    async fn batch(&self, statement: &(), rows: BatchRows<'_>) -> Result<(), DriverError> {
        self.execute(statement, rows.get(0), &mut Rows::new()).await
    }

    async fn query_values(&self, _cql: &str, values: &[Value<'_>], rows: &mut Rows) -> Result<(), DriverError> {
        self.execute(&(), values, rows).await
    }
}
