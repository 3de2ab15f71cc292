//! One connection, shared by the statements in flight on it.
//!
//! A statement takes a stream id, appends its frame to a shared buffer, and waits in the slot of its stream id ([`exchange`]).
//! [`writing`] decides who writes the buffer, and when. The connection's task ([`crate::socket`]) reads, hands answers to the
//! slots, and writes the rest.

mod exchange;
mod writing;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use cqldyno_driver_api::{DriverError, ErrorKind};
use tokio::net::tcp::OwnedWriteHalf;

use crate::requests::HEADER;

pub(crate) use writing::Attention;

/// Stream ids are the non-negative `i16` (native_protocol_v4.spec section 2.3).
const MAX_STREAMS: usize = 1 << 15;
/// A frame's body may have 256 MiB (section 2.5).
const MAX_BODY: usize = 256 << 20;
/// The version byte of a response in protocol v4.
const RESPONSE_VERSION: u8 = 0x84;

/// A connection and its slots.
#[derive(Debug)]
pub(crate) struct Connection {
    shared: Mutex<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// The socket; `None` while there is no connection.
    writer: Option<Arc<OwnedWriteHalf>>,
    /// Counts the sockets that this connection has had.
    epoch: u64,
    /// Why there is no connection.
    why_lost: String,
    /// Frames to be written.
    out: Vec<u8>,
    /// The number of frames in `out`.
    queued: usize,
    /// The memory of the last write.
    spare: Vec<u8>,
    /// Somebody is writing, or the connection's task is to write `unsent` first.
    writing: bool,
    /// What the socket did not take, from `unsent_from` on.
    unsent: Vec<u8>,
    unsent_from: usize,
    /// A write failed: the connection's task is to give the socket up.
    broken: Option<String>,
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// Statements that were woken by their answers and have not been polled yet.
    woken: usize,
    /// Whether the connection's task will look for unwritten frames, and what `woken` was at its last look.
    watching: bool,
    woken_when_watched: usize,
    /// Wakes the connection's task.
    task: Option<Waker>,
}

#[derive(Debug, Default)]
struct Slot {
    state: State,
    waker: Option<Waker>,
    flags: u8,
    opcode: u8,
    body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    /// The frame is in `out` or sent.
    Waiting,
    /// The answer is in the slot.
    Answered,
    /// The connection broke before the answer.
    Lost,
    /// No statement waits any more; the stream id is free again when its answer has come.
    Abandoned,
}

impl Connection {
    pub(crate) fn new(writer: OwnedWriteHalf) -> Connection {
        let shared = Shared { writer: Some(Arc::new(writer)), ..Shared::default() };
        Connection { shared: Mutex::new(shared) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the whole frames at the front of `input` to their slots and returns their length; `woken` gets the wakers.
    ///
    /// # Errors
    /// A sentence if `input` is not CQL; the connection is then of no use.
    pub(crate) fn dispatch(&self, input: &[u8], woken: &mut Vec<Waker>) -> Result<usize, String> {
        let mut guard = self.lock();
        let shared = &mut *guard;
        let mut consumed = 0;
        while let Some(([version, flags, s0, s1, opcode, l0, l1, l2, l3], rest)) =
            input.get(consumed..).and_then(<[u8]>::split_first_chunk::<HEADER>)
        {
            let length = u32::from_be_bytes([*l0, *l1, *l2, *l3]) as usize;
            if *version != RESPONSE_VERSION || length > MAX_BODY {
                return Err(format!(
                    "the server sent a frame with version {version:#04x} and a body of {length} bytes"
                ));
            }
            let Some(body) = rest.get(..length) else { break };
            consumed += HEADER + length;
            let stream = i16::from_be_bytes([*s0, *s1]);
            let Ok(index) = u16::try_from(stream) else {
                // An event, though none was asked for.
                continue;
            };
            let Some(slot) = shared.slots.get_mut(usize::from(index)) else {
                return Err(format!("the server answered on stream {stream}, which was never used"));
            };
            match slot.state {
                State::Waiting => {
                    slot.state = State::Answered;
                    slot.flags = *flags;
                    slot.opcode = *opcode;
                    slot.body.clear();
                    slot.body.extend_from_slice(body);
                    shared.woken += 1;
                    woken.extend(slot.waker.take());
                }
                State::Abandoned => {
                    slot.state = State::Free;
                    shared.free.push(index);
                }
                State::Free | State::Answered | State::Lost => {
                    return Err(format!("the server answered on stream {stream}, on which nobody waits"));
                }
            }
        }
        Ok(consumed)
    }

    /// The socket is gone: fails all statements that wait on it.
    pub(crate) fn lose(&self, why: String) {
        let mut woken = Vec::new();
        {
            let mut guard = self.lock();
            let shared = &mut *guard;
            shared.writer = None;
            shared.epoch += 1;
            shared.why_lost = why;
            shared.out.clear();
            shared.queued = 0;
            shared.unsent.clear();
            shared.writing = false;
            shared.watching = false;
            shared.broken = None;
            for (slot, index) in shared.slots.iter_mut().zip(0..) {
                match slot.state {
                    State::Waiting => {
                        slot.state = State::Lost;
                        woken.extend(slot.waker.take());
                    }
                    State::Abandoned => {
                        slot.state = State::Free;
                        shared.free.push(index);
                    }
                    State::Free | State::Answered | State::Lost => {}
                }
            }
        }
        woken.into_iter().for_each(Waker::wake);
    }

    /// There is a socket again.
    pub(crate) fn restore(&self, writer: OwnedWriteHalf) {
        self.lock().writer = Some(Arc::new(writer));
    }
}

impl Shared {
    #[inline]
    fn take_stream(&mut self) -> Result<u16, DriverError> {
        if let Some(stream) = self.free.pop() {
            return Ok(stream);
        }
        if self.slots.len() == MAX_STREAMS {
            let message = "all 32,768 streams of the connection are in flight; ask for more connections";
            return Err(DriverError::new(ErrorKind::QueueFull, message));
        }
        self.slots.push(Slot::default());
        Ok((self.slots.len() - 1) as u16)
    }
}
