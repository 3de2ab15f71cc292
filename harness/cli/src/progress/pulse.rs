//! A line now and then where lines are not drawn again, so that a long wait does not look like a standstill.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{Voice, locked, time};

/// The longest time without a line.
const LONGEST_SILENCE: Duration = Duration::from_secs(60);

/// What goes on, and when a line was last printed.
pub struct Pulse(Arc<Mutex<State>>);

struct State {
    said: Instant,
    doing: Option<Doing>,
}

struct Doing {
    /// The beginning of a sentence.
    what: String,
    since: Instant,
    /// When it is to be over, as far as that is known.
    ends: Option<Instant>,
}

impl Pulse {
    /// Prints a line whenever none was printed for too long, until it is dropped.
    pub fn start(voice: Voice) -> Pulse {
        let state = Arc::new(Mutex::new(State { said: Instant::now(), doing: None }));
        let watched = Arc::downgrade(&state);
        let watch = move || {
            while let Some(state) = watched.upgrade() {
                let (line, next) = locked(&state).line(Instant::now());
                line.into_iter().for_each(|line| voice.say(&line));
                drop(state);
                std::thread::sleep(next);
            }
        };
        // Without a thread there are fewer lines.
        let _ = std::thread::Builder::new().name("pulse".to_owned()).spawn(watch);
        Pulse(state)
    }

    /// A line was printed.
    pub fn said(&self) {
        locked(&self.0).said = Instant::now();
    }

    /// From now on this goes on, which began `since`, and takes as much more as is `left`.
    pub fn does(&self, what: String, since: Instant, left: Option<Duration>) {
        let ends = left.and_then(|left| Instant::now().checked_add(left));
        locked(&self.0).doing = Some(Doing { what, since, ends });
    }

    pub fn rests(&self) {
        locked(&self.0).doing = None;
    }
}

impl State {
    /// The line that is due, and the time until the next one may be.
    fn line(&mut self, now: Instant) -> (Option<String>, Duration) {
        let silent = now.saturating_duration_since(self.said);
        if silent < LONGEST_SILENCE {
            return (None, LONGEST_SILENCE - silent);
        }
        self.said = now;
        let line = self.doing.as_ref().map(|Doing { what, since, ends }| {
            let left = ends.map(|ends| ends.saturating_duration_since(now)).filter(|left| !left.is_zero());
            let left = left.map_or(String::new(), |left| format!(", about {} left", time(left)));
            format!("{what}: {} so far{left}.", time(now.saturating_duration_since(*since)))
        });
        (line, LONGEST_SILENCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_after_a_minute_without_one_and_tells_what_goes_on() {
        let began = Instant::now();
        let after = |seconds| began + Duration::from_secs(seconds);
        let doing = Doing { what: "Building a (1 of 9 crates)".to_owned(), since: began, ends: Some(after(200)) };
        let mut state = State { said: began, doing: Some(doing) };
        assert_eq!(state.line(after(20)), (None, Duration::from_secs(40)));
        let line = "Building a (1 of 9 crates): 80 s so far, about 2.0 min left.";
        assert_eq!(state.line(after(80)), (Some(line.to_owned()), LONGEST_SILENCE));
        assert_eq!(state.line(after(81)).0, None);
        let overdue = "Building a (1 of 9 crates): 5.0 min so far.";
        assert_eq!(state.line(after(300)).0, Some(overdue.to_owned()));
        state.doing = None;
        assert_eq!(state.line(after(400)), (None, LONGEST_SILENCE));
    }
}
