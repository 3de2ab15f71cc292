//! A timer that is exact to microseconds. The runtime's own wakes at whole milliseconds.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, sleep_until};

#[derive(Debug)]
struct Timer(TimerFd);

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}

/// Opened when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    timer: Option<AsyncFd<Timer>>,
    set_for: Option<Instant>,
}

impl Alarm {
    /// Waits for a time; at a later one where the machine has no timer left.
    pub(crate) async fn at(&mut self, due: Instant) {
        if self.exactly(due).await.is_err() {
            sleep_until(due).await;
        }
    }

    async fn exactly(&mut self, due: Instant) -> io::Result<()> {
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let timer = match &mut self.timer {
                Some(timer) => timer,
                none => none.insert(opened()?),
            };
            if self.set_for != Some(due) {
                let alarm = Expiration::OneShot(TimeSpec::from_duration(left));
                timer.get_ref().0.set(alarm, TimerSetTimeFlags::empty())?;
                self.set_for = Some(due);
            }
            // An alarm that was set before may still be ready, and has nothing to read then.
            let mut ready = timer.readable().await?;
            if let Ok(rang) = ready.try_io(|timer| Ok(timer.get_ref().0.wait()?)) {
                rang?;
                ready.clear_ready();
                self.set_for = None;
            }
        }
    }
}

#[allow(deprecated, reason = "the timer owns its descriptor, and what takes its place is unsafe code")]
fn opened() -> io::Result<AsyncFd<Timer>> {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
    AsyncFd::new(Timer(timer))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_alarm_rings_for_the_time_that_was_asked_for_last() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut alarm, begun) = (Alarm::default(), Instant::now());
            let after = |micros| begun + Duration::from_micros(micros);
            alarm.at(begun).await;
            tokio::select! {
                biased;
                () = alarm.at(after(3_600_000_000)) => panic!("an hour is not over"),
                () = tokio::task::yield_now() => {}
            }
            for micros in [300, 900, 600, 1_500] {
                alarm.at(after(micros)).await;
                assert!(Instant::now() >= after(micros));
            }
            assert!(alarm.timer.is_some(), "the machine has timers");
        });
    }
}
