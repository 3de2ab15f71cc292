//! The threads on which the driver blocks: one for each connection.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use cqldyno_driver_api::{DriverError, ErrorKind};
use tokio::sync::oneshot;

/// What one of the threads is to do, given its number.
type Work<S> = Box<dyn FnOnce(&S, usize) + Send>;

/// Threads that share `S` and end when this is dropped.
pub(crate) struct Threads<S> {
    work: Sender<Work<S>>,
    count: usize,
}

impl<S: Send + Sync + 'static> Threads<S> {
    pub(crate) fn start(shared: S, count: usize) -> Result<Threads<S>, DriverError> {
        let (sender, receiver) = channel::<Work<S>>();
        let (shared, receiver) = (Arc::new(shared), Arc::new(Mutex::new(receiver)));
        for thread in 0..count {
            let (shared, receiver) = (Arc::clone(&shared), Arc::clone(&receiver));
            let run = move || {
                while let Some(work) = next(&receiver) {
                    work(&shared, thread);
                }
            };
            let started = thread::Builder::new().name(format!("cdrs-{thread}")).spawn(run);
            started.map_err(|error| DriverError::new(ErrorKind::Other, format!("no thread for cdrs: {error}")))?;
        }
        Ok(Threads { work: sender, count })
    }

    /// How many there are; their numbers are from 0.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs `work` on the next free thread.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&S, usize) -> R + Send + 'static,
    ) -> Result<R, DriverError> {
        let (answer, answered) = oneshot::channel();
        let work: Work<S> = Box::new(move |shared, thread| {
            // Nobody waits for the answer any more if this fails.
            let _unheard = answer.send(work(shared, thread));
        });
        self.work.send(work).map_err(|_| ended())?;
        answered.await.map_err(|_| ended())
    }
}

fn next<S>(receiver: &Mutex<Receiver<Work<S>>>) -> Option<Work<S>> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cold]
fn ended() -> DriverError {
    DriverError::new(ErrorKind::Other, "cdrs panicked on its thread; the worker's log has its message")
}
