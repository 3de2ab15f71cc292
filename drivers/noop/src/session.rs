//! A session with nothing behind it.

use std::pin::Pin;
use std::sync::Arc;

use cqldyno_driver_api::{BatchRows, DriverError, Rows, Session, Value};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::queue::Queue;

/// A session that sends nothing.
#[derive(Debug)]
pub struct NoopSession(pub(crate) Form);

/// How a statement ends.
#[derive(Debug)]
pub(crate) enum Form {
    /// At once.
    Ready,
    /// At once, through a channel that is resolved before it is first polled.
    Oneshot,
    /// Later: where statements wait, and the task that answers them.
    Later(Arc<Queue>, JoinHandle<()>),
}

impl Form {
    /// Spawns the answering task on the runtime that this is called on.
    pub(crate) fn later() -> Form {
        let queue = Arc::new(Queue::default());
        let answering = Arc::clone(&queue);
        Form::Later(queue, tokio::spawn(async move { answering.answer_all().await }))
    }
}

impl Drop for NoopSession {
    fn drop(&mut self) {
        if let Form::Later(_, task) = &self.0 {
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
        match &self.0 {
            Form::Ready => {}
            Form::Oneshot => resolved().await,
            Form::Later(queue, _) => queue.wait().await,
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

/// Waits for a channel that is resolved already. Boxed, so that the other forms keep their small future.
#[cold]
fn resolved() -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let (sender, receiver) = oneshot::channel();
    // Neither can fail: both ends are here.
    let _ = sender.send(());
    Box::pin(async move { drop(receiver.await) })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn a_statement_of_the_form_oneshot_is_answered_when_it_is_first_polled() {
        let session = NoopSession(Form::Oneshot);
        let mut rows = Rows::new();
        let execute = pin!(session.execute(&(), &[], &mut rows));
        assert_eq!(execute.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())));
    }
}
