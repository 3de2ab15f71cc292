//! Statements that wait for another task to answer them.

use std::future::poll_fn;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Statements that wait, answered batch by batch.
///
/// A statement remembers its batch and is answered with it. So nothing is allocated per statement, and a task that is polled
/// without having been woken goes on waiting. It wakes the task that asked first: the slots of the load generator stay in theirs.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    waiting: Mutex<Waiting>,
    /// Batches below this number are answered.
    answered: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    batch: u64,
    statements: Vec<Waker>,
    /// The answering task, while it has nothing to do.
    idle: Option<Waker>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits as a statement.
    pub(crate) async fn wait(&self) {
        let mut batch = None;
        poll_fn(|context| match batch {
            Some(batch) if self.answered.load(Ordering::Acquire) > batch => Poll::Ready(()),
            Some(_) => Poll::Pending,
            None => {
                let mut waiting = self.lock();
                batch = Some(waiting.batch);
                waiting.statements.push(context.waker().clone());
                let idle = waiting.idle.take();
                drop(waiting);
                if let Some(idle) = idle {
                    idle.wake();
                }
                Poll::Pending
            }
        })
        .await;
    }

    /// Waits until all statements wait that the runtime's other tasks can issue now. The runtime returns to a task that yields
    /// before it polled all others, hence until none was added.
    async fn wait_for_statements(&self) {
        poll_fn(|context| {
            let mut waiting = self.lock();
            if waiting.statements.is_empty() {
                waiting.idle = Some(context.waker().clone());
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
        let mut before = 0;
        loop {
            let waiting = self.lock().statements.len();
            if waiting == before {
                return;
            }
            before = waiting;
            tokio::task::yield_now().await;
        }
    }

    /// Answers all that wait now and returns their number; `taken` is a buffer to reuse.
    fn answer(&self, taken: &mut Vec<Waker>) -> usize {
        let mut waiting = self.lock();
        mem::swap(taken, &mut waiting.statements);
        waiting.batch += 1;
        self.answered.store(waiting.batch, Ordering::Release);
        drop(waiting);
        let answered = taken.len();
        for statement in taken.drain(..) {
            statement.wake();
        }
        answered
    }

    /// The answering task: lets all tasks that can run ask first, then answers all at once.
    pub(crate) async fn answer_all(&self) {
        let mut taken = Vec::new();
        loop {
            self.wait_for_statements().await;
            self.answer(&mut taken);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tokio::runtime::Builder;

    #[test]
    fn all_slots_of_a_current_thread_runtime_are_pending_at_once() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let queue = Arc::new(Queue::default());
        let most = runtime.block_on(async {
            let slots: Vec<_> = (0..1_024)
                .map(|_| {
                    let queue = Arc::clone(&queue);
                    tokio::spawn(async move {
                        for _ in 0..10 {
                            queue.wait().await;
                        }
                    })
                })
                .collect();
            let (mut sum, mut most, mut taken) = (0, 0, Vec::new());
            while sum < 10_240 {
                queue.wait_for_statements().await;
                let answered = queue.answer(&mut taken);
                (sum, most) = (sum + answered, most.max(answered));
            }
            for slot in slots {
                slot.await.unwrap();
            }
            most
        });
        assert_eq!(most, 1_024);
    }

    #[test]
    fn a_statement_that_is_polled_before_its_answer_goes_on_waiting() {
        let queue = Queue::default();
        let mut wait = std::pin::pin!(queue.wait());
        let mut context = std::task::Context::from_waker(Waker::noop());
        assert!(wait.as_mut().poll(&mut context).is_pending());
        assert!(wait.as_mut().poll(&mut context).is_pending());
        assert_eq!(queue.answer(&mut Vec::new()), 1);
        assert!(wait.as_mut().poll(&mut context).is_ready());
    }
}
