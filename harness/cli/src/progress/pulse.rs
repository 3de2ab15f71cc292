//! A line now and then while nothing else is printed, so that a log shows that a run goes on.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::time;

/// The longest time without a line.
pub const EVERY: Duration = Duration::from_secs(60);

/// What is heard of a run.
pub enum Beat {
    /// A line was printed.
    Said,
    /// Something begins: what it is, and the time for it and all that follows.
    Begins(String, Duration),
}

/// Says what is under way whenever nothing was printed for so long, until nobody can be heard any more.
pub fn pulse(every: Duration, heard: &Receiver<Beat>, mut say: impl FnMut(&str)) {
    let mut due = Instant::now() + every;
    let mut under_way: Option<(String, Duration, Instant)> = None;
    loop {
        match heard.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(Beat::Said) => due = Instant::now() + every,
            Ok(Beat::Begins(what, left)) => under_way = Some((what, left, Instant::now())),
            Err(RecvTimeoutError::Timeout) => {
                if let Some((what, left, began)) = &under_way {
                    let left = left.saturating_sub(began.elapsed());
                    say(&format!("{what}: under way for {}; about {} left", time(began.elapsed()), time(left)));
                }
                due = Instant::now() + every;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn what_is_under_way_is_said_again_and_again_until_the_run_ends() {
        let (beats, heard) = channel();
        let (says, said) = channel();
        let thread = std::thread::spawn(move || {
            pulse(Duration::from_millis(1), &heard, |line| drop(says.send(line.to_owned())));
        });
        beats.send(Beat::Begins("[1/2] scylla writes".to_owned(), Duration::from_secs(7_200))).unwrap();
        for _ in 0..2 {
            assert_eq!(said.recv().unwrap(), "[1/2] scylla writes: under way for a second; about 2.0 h left");
        }
        drop(beats);
        thread.join().unwrap();
    }

    #[test]
    fn nothing_is_said_while_other_lines_are_printed_or_before_anything_begins() {
        let (beats, heard) = channel();
        for _ in 0..100 {
            beats.send(Beat::Said).unwrap();
        }
        beats.send(Beat::Begins("a".to_owned(), Duration::ZERO)).unwrap();
        drop(beats);
        pulse(Duration::from_secs(3_600), &heard, |line| panic!("{line}"));
        let (beats, heard) = channel::<Beat>();
        let thread = std::thread::spawn(move || pulse(Duration::from_millis(1), &heard, |line| panic!("{line}")));
        std::thread::sleep(Duration::from_millis(20));
        drop(beats);
        thread.join().unwrap();
    }
}
