//! The worker protocol (`drivers/PROTOCOL.md`) for a worker that reads nothing in its window.

use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use cqldyno_protocol::{Job, ParentMessage, WorkerMessage, decode, encode};
use tokio::time::{Instant, interval_at};

use crate::Tickets;

/// The program that started this one.
#[derive(Default)]
pub(crate) struct Parent {
    /// What `progress` tells of, while there is a window.
    window: Mutex<Option<Arc<Tickets>>>,
}

impl Parent {
    /// Says `message`, with which a turn is over.
    ///
    /// # Errors
    /// When nobody listens.
    pub(crate) fn say(&self, message: &WorkerMessage) -> anyhow::Result<()> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        *window = None;
        write(message)
    }

    /// The job, which is the first message.
    ///
    /// # Errors
    /// When something else came.
    pub(crate) fn job(&self) -> anyhow::Result<Box<Job>> {
        match read()? {
            ParentMessage::Job(job) => Ok(job),
            _ => bail!("`job` was expected from the parent, and something else came"),
        }
    }

    /// Waits for `go` or `ack`; nothing else is to be done meanwhile.
    ///
    /// # Errors
    /// When something else came.
    pub(crate) fn wait_for(&self, expected: &ParentMessage) -> anyhow::Result<()> {
        wait(expected, read)
    }

    /// Says `progress` from now on until something else is said, as often as an adapter's worker.
    pub(crate) fn tell_of(self: &Arc<Parent>, window: &Arc<Tickets>, every: Duration) {
        if every.is_zero() {
            return;
        }
        *self.window.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(window));
        let every = every.max(Duration::from_millis(500));
        let (parent, own) = (Arc::clone(self), Arc::clone(window));
        tokio::spawn(async move {
            let mut ticks = interval_at(Instant::now() + every, every);
            loop {
                ticks.tick().await;
                let window = parent.window.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(tickets) = window.as_ref().filter(|tickets| Arc::ptr_eq(tickets, &own)) else { return };
                // A missing parent is noticed at the window's end.
                let _ = write(&WorkerMessage::Progress { issued: tickets.taken() });
            }
        });
    }
}

fn write(message: &WorkerMessage) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(encode(message)?.as_bytes()).and_then(|()| output.flush()).context("nobody reads standard output")
}

/// Takes messages from `read` until the expected one.
fn wait(expected: &ParentMessage, mut read: impl FnMut() -> anyhow::Result<ParentMessage>) -> anyhow::Result<()> {
    let mut found = read()?;
    if found == ParentMessage::Stop && *expected == ParentMessage::Ack {
        // A late `stop`: the window is over.
        found = read()?;
    }
    match found {
        found if found == *expected => Ok(()),
        _ => bail!("`{}` was expected from the parent, and something else came", encode(expected)?.trim_end()),
    }
}

fn read() -> anyhow::Result<ParentMessage> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("standard input could not be read")?;
    if line.is_empty() {
        bail!("standard input ended early; `cqldyno` starts this program and speaks the worker protocol with it");
    }
    Ok(decode(&line)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_taken_where_it_crosses_the_windows_end_and_nowhere_else() {
        let wait_for = |expected: ParentMessage| {
            let mut messages = [ParentMessage::Stop, expected.clone()].into_iter();
            wait(&expected, || messages.next().context("no message is left"))
        };
        wait_for(ParentMessage::Ack).unwrap();
        let error = wait_for(ParentMessage::Go { at_ns: None }).unwrap_err().to_string();
        assert!(error.contains("was expected from the parent, and something else came"), "{error}");
    }
}
