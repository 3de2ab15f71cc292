//! A statement's side of the connection: its frame goes out on its own stream, and its answer is decoded in place.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use cqldyno_driver_api::{DriverError, ErrorKind};

use super::{Connection, State};
use crate::answers::Answer;
use crate::requests;

/// A longer body is decoded outside the lock, and its buffer is not kept.
const LONG_BODY: usize = 16 << 10;

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

/// No connection, or one that broke.
#[cold]
fn lost(why: &str) -> DriverError {
    DriverError::new(ErrorKind::ConnectionLost, why)
}

impl Connection {
    /// Sends the frame that `encode` appends, and returns what `decode` makes of its answer.
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
}
