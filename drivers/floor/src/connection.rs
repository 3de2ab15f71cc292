//! One connection, shared by the statements that are in flight on it.
//!
//! A statement takes a stream id, appends its frame to a buffer that all share, and waits in the slot of its stream id. The
//! buffer is written by whichever statement is the last that can be expected now: an answer batch wakes its statements,
//! each of which will probably send the next frame, so frames are held back until those have had their turn, or until a
//! quarter of what is in flight is there, so that client and server work at the same time. The connection's task
//! ([`crate::socket`]) reads, hands answers to the slots, and writes what nobody else did.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use cqldyno_driver_api::{DriverError, ErrorKind};
use std::io::ErrorKind as IoErrorKind;
use tokio::net::tcp::OwnedWriteHalf;

use crate::answers::Answer;
use crate::errors::lost;
use crate::requests::{self, HEADER};

/// Stream ids are the non-negative `i16` (native_protocol_v4.spec section 2.3).
const MAX_STREAMS: usize = 1 << 15;
/// A frame's body may have 256 MiB (section 2.5).
const MAX_BODY: usize = 256 << 20;
/// The version byte of a response in protocol v4.
const RESPONSE_VERSION: u8 = 0x84;
/// Fewer frames than this wait for all the statements that may still send one now.
const FEWEST_IN_A_WRITE: usize = 16;
/// In so many writes goes what is in flight, when all of it can be sent at once.
const WRITES_IN_FLIGHT: usize = 4;
/// A longer body is decoded outside the lock, and its buffer is not kept.
const LONG_BODY: usize = 16 << 10;

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
    /// The connection's task will look whether frames are left unwritten, and what `woken` was when it last did.
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
    /// Nobody waits any more; the stream id is free again when its answer has come.
    Abandoned,
}

/// What the connection's task is told by [`Connection::attend`].
pub(crate) enum Attention {
    /// Nothing is left to write.
    Idle,
    /// Look again when the socket can be written.
    Blocked(Arc<OwnedWriteHalf>),
    /// Look again after the tasks that are ready now.
    Again,
    /// The socket is of no use any more, for this reason.
    Broken(String),
}

impl Connection {
    pub(crate) fn new(writer: OwnedWriteHalf) -> Connection {
        let shared = Shared { writer: Some(Arc::new(writer)), ..Shared::default() };
        Connection { shared: Mutex::new(shared) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the frame that `encode` appends, and gives what `decode` makes of its answer.
    #[inline]
    pub(crate) fn exchange<T, E, D>(&self, encode: E, decode: D) -> Exchange<'_, E, D>
    where
        E: FnOnce(&mut Vec<u8>) -> Result<(), DriverError> + Unpin,
        D: FnOnce(Answer<'_>) -> Result<T, DriverError> + Unpin,
    {
        Exchange { connection: self, stream: None, encode: Some(encode), decode: Some(decode) }
    }

    #[inline]
    fn begin(
        &self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), DriverError>,
        waker: &Waker,
    ) -> Result<u16, DriverError> {
        let mut guard = self.lock();
        let shared = &mut *guard;
        if shared.writer.is_none() {
            return Err(lost(&shared.why_lost));
        }
        let stream = shared.take_stream()?;
        let start = shared.out.len();
        if let Err(error) = encode(&mut shared.out) {
            shared.out.truncate(start);
            shared.free.push(stream);
            return Err(error);
        }
        requests::set_stream(&mut shared.out, start, stream as i16);
        if let Some(slot) = shared.slots.get_mut(usize::from(stream)) {
            slot.state = State::Waiting;
            slot.waker = Some(waker.clone());
        }
        shared.queued += 1;
        if shared.writing {
            // Whoever writes looks at the buffer again afterwards.
        } else if shared.is_due() {
            self.write(guard);
        } else if let Some(task) = shared.watch() {
            drop(guard);
            task.wake();
        }
        Ok(stream)
    }

    #[inline]
    fn finish<T>(
        &self,
        stream: u16,
        waker: &Waker,
        decode: &mut Option<impl FnOnce(Answer<'_>) -> Result<T, DriverError>>,
    ) -> Poll<Result<T, DriverError>> {
        let mut guard = self.lock();
        let shared = &mut *guard;
        let Some(slot) = shared.slots.get_mut(usize::from(stream)) else {
            return Poll::Ready(Err(ended()));
        };
        match slot.state {
            State::Waiting => {
                match &mut slot.waker {
                    Some(known) if known.will_wake(waker) => {}
                    known => *known = Some(waker.clone()),
                }
                return Poll::Pending;
            }
            State::Answered => shared.woken -= 1,
            State::Lost => {
                slot.state = State::Free;
                shared.free.push(stream);
                return Poll::Ready(Err(lost(&shared.why_lost)));
            }
            State::Free | State::Abandoned => return Poll::Ready(Err(ended())),
        }
        slot.state = State::Free;
        shared.free.push(stream);
        let Some(decode) = decode.take() else {
            return Poll::Ready(Err(ended()));
        };
        let (flags, opcode) = (slot.flags, slot.opcode);
        if slot.body.len() > LONG_BODY {
            let body = mem::take(&mut slot.body);
            drop(guard);
            return Poll::Ready(decode(Answer { flags, opcode, body: &body }));
        }
        Poll::Ready(decode(Answer { flags, opcode, body: &slot.body }))
    }

    /// The statement that had `stream` was dropped before its end.
    #[cold]
    fn abandon(&self, stream: u16) {
        let mut guard = self.lock();
        let shared = &mut *guard;
        let Some(slot) = shared.slots.get_mut(usize::from(stream)) else { return };
        slot.waker = None;
        match slot.state {
            State::Waiting => slot.state = State::Abandoned,
            State::Answered | State::Lost => {
                shared.woken -= usize::from(slot.state == State::Answered);
                slot.state = State::Free;
                shared.free.push(stream);
            }
            State::Free | State::Abandoned => {}
        }
    }

    /// Writes what is in the buffer, and what comes to be due meanwhile.
    fn write<'a>(&'a self, mut guard: MutexGuard<'a, Shared>) {
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

    /// What the connection's task does about writing, whenever it runs.
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
        // When none of the woken statements was polled since the last look, they are not going to be soon.
        if shared.is_due() || shared.woken == shared.woken_when_watched {
            shared.watching = false;
            self.write(guard);
            return Attention::Idle;
        }
        shared.woken_when_watched = shared.woken;
        Attention::Again
    }

    /// Hands the whole frames at the front of `input` to their slots and gives their length; `woken` gets the wakers of
    /// those that wait.
    ///
    /// # Errors
    /// A sentence when `input` is not CQL, after which the connection is of no use.
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

    /// The socket is gone: all that wait on it are told.
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

    /// Whether the buffer is to be written now.
    #[inline]
    fn is_due(&self) -> bool {
        let in_flight = self.slots.len() - self.free.len();
        self.woken == 0 || self.queued >= FEWEST_IN_A_WRITE.max(in_flight / WRITES_IN_FLIGHT)
    }

    #[inline]
    fn take_frames(&mut self) -> Vec<u8> {
        self.queued = 0;
        let spare = mem::take(&mut self.spare);
        mem::replace(&mut self.out, spare)
    }

    /// Asks the connection's task to look after the buffer; the waker to call when it does not do so already.
    #[inline]
    fn watch(&mut self) -> Option<Waker> {
        if self.watching {
            return None;
        }
        self.watching = true;
        self.woken_when_watched = usize::MAX;
        self.task.clone()
    }
}

/// The answer to one frame.
#[must_use]
pub(crate) struct Exchange<'c, E, D> {
    connection: &'c Connection,
    stream: Option<u16>,
    encode: Option<E>,
    decode: Option<D>,
}

impl<T, E, D> Future for Exchange<'_, E, D>
where
    E: FnOnce(&mut Vec<u8>) -> Result<(), DriverError> + Unpin,
    D: FnOnce(Answer<'_>) -> Result<T, DriverError> + Unpin,
{
    type Output = Result<T, DriverError>;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if let Some(encode) = this.encode.take() {
            return match this.connection.begin(encode, context.waker()) {
                Ok(stream) => {
                    this.stream = Some(stream);
                    Poll::Pending
                }
                Err(error) => Poll::Ready(Err(error)),
            };
        }
        let Some(stream) = this.stream else {
            return Poll::Ready(Err(ended()));
        };
        let finished = this.connection.finish(stream, context.waker(), &mut this.decode);
        if finished.is_ready() {
            this.stream = None;
        }
        finished
    }
}

impl<E, D> Drop for Exchange<'_, E, D> {
    #[inline]
    fn drop(&mut self) {
        if let Some(stream) = self.stream {
            self.connection.abandon(stream);
        }
    }
}

#[cold]
fn ended() -> DriverError {
    DriverError::new(ErrorKind::Other, "a statement was polled after its end")
}

fn wake_task(mut guard: MutexGuard<'_, Shared>) {
    let task = guard.task.take();
    drop(guard);
    task.into_iter().for_each(Waker::wake);
}

/// Writes until all is written or the socket takes no more; the number of bytes.
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
