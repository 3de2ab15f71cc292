//! When and by whom the frames of a connection are written.
//!
//! The last statement that can be expected now writes the buffer. A batch of answers wakes its statements, and each will probably
//! send the next frame. So frames wait until those have run, or until a quarter of what is in flight is there, so that client and
//! server work at the same time. The connection's task writes what no statement wrote and what the socket did not take.

use std::io::ErrorKind as IoErrorKind;
use std::mem;
use std::sync::{Arc, MutexGuard};
use std::task::Waker;

use tokio::net::tcp::OwnedWriteHalf;

use super::{Connection, Shared};

/// Fewer frames than this wait for all the statements that may still send one now.
const FEWEST_IN_A_WRITE: usize = 16;
/// The number of writes for all statements in flight, if all can be sent at once.
const WRITES_IN_FLIGHT: usize = 4;

/// What [`Connection::attend`] asks of the connection's task.
pub(crate) enum Attention {
    /// Nothing is left to write.
    Idle,
    /// Look again when the socket can be written.
    Blocked(Arc<OwnedWriteHalf>),
    /// Look again after the tasks that are ready now.
    Again,
    /// The socket is of no use, for this reason.
    Broken(String),
}

impl Connection {
    /// Writes the buffer, and what falls due meanwhile.
    pub(super) fn write<'a>(&'a self, mut guard: MutexGuard<'a, Shared>) {
        let Some(writer) = guard.writer.clone() else { return };
        let epoch = guard.epoch;
        guard.writing = true;
        let mut frames = guard.take_frames();
        loop {
            drop(guard);
            let sent = write_some(&writer, &frames);
            guard = self.lock();
            if guard.epoch != epoch {
                return;
            }
            match sent {
                Ok(sent) if sent == frames.len() => {
                    frames.clear();
                    guard.spare = frames;
                    if guard.out.is_empty() || !guard.is_due() {
                        break;
                    }
                    frames = guard.take_frames();
                }
                Ok(sent) => {
                    guard.unsent = frames;
                    guard.unsent_from = sent;
                    return wake_task(guard);
                }
                Err(error) => {
                    guard.broken = Some(format!("the connection broke while writing: {error}"));
                    return wake_task(guard);
                }
            }
        }
        guard.writing = false;
        if !guard.out.is_empty()
            && let Some(task) = guard.watch()
        {
            drop(guard);
            task.wake();
        }
    }

    /// The connection's task writes, whenever it runs.
    pub(crate) fn attend(&self, task: &Waker) -> Attention {
        let mut guard = self.lock();
        let shared = &mut *guard;
        match &mut shared.task {
            Some(known) if known.will_wake(task) => {}
            known => *known = Some(task.clone()),
        }
        if let Some(why) = shared.broken.take() {
            return Attention::Broken(why);
        }
        if !shared.unsent.is_empty() {
            let Some(writer) = shared.writer.clone() else { return Attention::Idle };
            match write_some(&writer, shared.unsent.get(shared.unsent_from..).unwrap_or_default()) {
                Ok(sent) if shared.unsent_from + sent < shared.unsent.len() => {
                    shared.unsent_from += sent;
                    return Attention::Blocked(writer);
                }
                Ok(_) => {
                    shared.unsent.clear();
                    shared.spare = mem::take(&mut shared.unsent);
                    shared.writing = false;
                    if !shared.out.is_empty() {
                        self.write(guard);
                    }
                    return Attention::Again;
                }
                Err(error) => return Attention::Broken(format!("the connection broke while writing: {error}")),
            }
        }
        if !shared.watching {
            return Attention::Idle;
        }
        if shared.writing || shared.out.is_empty() {
            shared.watching = false;
            return Attention::Idle;
        }
        // If no woken statement was polled since the last look, none will be soon.
        if shared.is_due() || shared.woken == shared.woken_when_watched {
            shared.watching = false;
            self.write(guard);
            return Attention::Idle;
        }
        shared.woken_when_watched = shared.woken;
        Attention::Again
    }
}

impl Shared {
    /// Whether the buffer is to be written now.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        let in_flight = self.slots.len() - self.free.len();
        self.woken == 0 || self.queued >= FEWEST_IN_A_WRITE.max(in_flight / WRITES_IN_FLIGHT)
    }

    #[inline]
    fn take_frames(&mut self) -> Vec<u8> {
        self.queued = 0;
        let spare = mem::take(&mut self.spare);
        mem::replace(&mut self.out, spare)
    }

    /// Asks the connection's task to look at the buffer; returns the waker to call unless it already will.
    #[inline]
    pub(super) fn watch(&mut self) -> Option<Waker> {
        if self.watching {
            return None;
        }
        self.watching = true;
        self.woken_when_watched = usize::MAX;
        self.task.clone()
    }
}

fn wake_task(mut guard: MutexGuard<'_, Shared>) {
    let task = guard.task.take();
    drop(guard);
    task.into_iter().for_each(Waker::wake);
}

/// Writes until all is written or the socket takes no more; returns the number of bytes.
fn write_some(writer: &OwnedWriteHalf, bytes: &[u8]) -> std::io::Result<usize> {
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        match writer.try_write(rest) {
            Ok(0) => return Err(IoErrorKind::WriteZero.into()),
            Ok(written) => sent += written,
            Err(error) if error.kind() == IoErrorKind::WouldBlock => break,
            Err(error) if error.kind() == IoErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(sent)
}
