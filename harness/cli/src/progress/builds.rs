//! Builds of workers: what is said of them, and how long they take, by a guess at first and then by what is measured.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cqldyno_bench::builder::Progress;
use cqldyno_reports::count;

use super::time;

/// What a worker takes to build, on two cores: a guess.
const GUESS: Duration = Duration::from_secs(60);
/// Before, the crates that are done are no measure of the others: the first ones are small.
const LEAST_MEASURED: Duration = Duration::from_secs(10);
/// One in so many crates must be done before.
const LEAST_SHARE: u64 = 10;
/// A change of less is not worth a line.
const LEAST_CHANGE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub struct Builds {
    /// Workers that were announced and are not built yet.
    announced: BTreeSet<String>,
    /// How many were built, and the time that they took.
    built: (u32, Duration),
    /// The worker that is built, or waited for.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    since: Instant,
    /// When crates began to be counted.
    compiles: Option<Instant>,
    /// When all builds are to be over, as it was last said; `None` before this one is announced.
    ends: Option<Instant>,
    /// The last sentence about it.
    said: String,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Heard {
    pub since: Instant,
    pub done: u64,
    pub of: u64,
    /// The beginning of a sentence.
    pub doing: String,
    /// Time until all workers are built.
    pub left: Option<Duration>,
    /// What is said once.
    pub sentence: Option<String>,
}

impl Builds {
    /// These workers are to be built.
    pub fn announce(&mut self, labels: impl Iterator<Item = String>) {
        self.announced = labels.collect();
    }

    /// What all take that are to be built.
    pub fn all(&self) -> Duration {
        self.each().saturating_mul(self.workers())
    }

    /// The worker was built, found in the cache, or could not be built. Returns whether its build was announced.
    pub fn ended(&mut self, label: &str, lasted: Duration) -> bool {
        self.announced.remove(label);
        let was_built = self.running.take().is_some_and(|build| build.ends.is_some());
        if was_built {
            self.built = (self.built.0 + 1, self.built.1 + lasted);
        }
        was_built
    }

    /// The build of the worker `label` goes on.
    pub fn heard(&mut self, label: &str, progress: Progress, now: Instant) -> Heard {
        self.announced.insert(label.to_owned());
        let (each, all) = (self.each(), self.all());
        let fresh = || Running { since: now, compiles: None, ends: None, said: String::new() };
        let mut build = self.running.take().unwrap_or_else(fresh);
        let mut left = build.ends.map(|ends| ends.saturating_duration_since(now));
        let (mut counted, mut sentence) = ((0, 1), None);
        let doing = match progress {
            Progress::Waiting { process } => {
                format!("Waiting for process {process}, which builds {label} or fetches its sources")
            }
            Progress::Blocked => format!("Building {label} waits for another cargo, which builds in the same folder"),
            Progress::Preparing => format!("Preparing the build of {label}"),
            Progress::Locking => format!("Choosing dependencies of {label}"),
            Progress::Compiling { of: 0, .. } => {
                (left, build.ends) = (Some(all), now.checked_add(all));
                sentence = Some(format!("Building {label}, which takes about {} ...", time(each)));
                format!("Building {label}")
            }
            Progress::Compiling { done, of } => {
                let elapsed = now.saturating_duration_since(*build.compiles.get_or_insert(now));
                let measured = self.left(elapsed, done, of);
                if let Some((measured, _)) =
                    measured.zip(left).filter(|(measured, said)| differs_much(*said, *measured))
                {
                    build.ends = now.checked_add(measured);
                    let workers = count(self.workers().into(), "worker");
                    let more = time(measured);
                    sentence = Some(format!("Building {workers} takes about {more} more, as measured so far."));
                }
                (left, counted) = (measured.or(left), (done, of));
                format!("Building {label} ({done} of {of} crates)")
            }
        };
        if matches!(progress, Progress::Waiting { .. } | Progress::Blocked) {
            sentence = Some(format!("{doing}."));
        }
        // A wait goes on with the same sentence.
        let sentence = sentence.filter(|sentence| *sentence != build.said);
        sentence.iter().for_each(|sentence| build.said.clone_from(sentence));
        let since = self.running.insert(build).since;
        Heard { since, done: counted.0, of: counted.1, doing, left, sentence }
    }

    /// How many workers are to be built from now on, the running one included.
    fn workers(&self) -> u32 {
        u32::try_from(self.announced.len()).unwrap_or(u32::MAX).max(1)
    }

    /// What one takes, by those that were built.
    fn each(&self) -> Duration {
        self.built.1.checked_div(self.built.0).unwrap_or(GUESS)
    }

    /// What all take from now on, by the crates that are done of the running one; `None` while that tells nothing.
    fn left(&self, elapsed: Duration, done: u64, of: u64) -> Option<Duration> {
        if elapsed < LEAST_MEASURED || done.saturating_mul(LEAST_SHARE) < of.max(1) {
            return None;
        }
        let own = elapsed.mul_f64(of.saturating_sub(done) as f64 / done as f64);
        Some(own + (elapsed + own).saturating_mul(self.workers() - 1))
    }
}

/// Whether what is left differs so much from what was said that it is said again.
fn differs_much(said: Duration, left: Duration) -> bool {
    let (less, more) = (said.min(left), said.max(left));
    more > less * 2 && more - less >= LEAST_CHANGE
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn labels(labels: &str) -> impl Iterator<Item = String> {
        labels.split(' ').map(str::to_owned)
    }

    const BEGINS: Progress = Progress::Compiling { done: 0, of: 0 };

    /// The sentences about one worker, with the time in seconds at which each would be said.
    fn sentences(builds: &mut Builds, label: &str, heard: &[(u64, Progress)]) -> Vec<String> {
        let began = Instant::now();
        let sentence = |(at, progress): &(u64, Progress)| builds.heard(label, *progress, began + seconds(*at)).sentence;
        heard.iter().filter_map(sentence).collect()
    }

    #[test]
    fn a_build_is_announced_with_what_it_takes_by_what_was_measured_before() {
        let mut builds = Builds::default();
        builds.announce(labels("a b c"));
        assert_eq!(builds.all(), seconds(180));
        assert_eq!(
            sentences(&mut builds, "a", &[(0, Progress::Preparing), (0, Progress::Locking), (1, BEGINS)]),
            ["Building a, which takes about 60 s ..."]
        );
        assert!(builds.ended("a", seconds(300)));
        assert_eq!(builds.all(), seconds(600));
        assert_eq!(sentences(&mut builds, "b", &[(0, BEGINS)]), ["Building b, which takes about 5.0 min ..."]);
    }

    #[test]
    fn a_worker_that_was_only_waited_for_was_not_built() {
        let mut builds = Builds::default();
        let waiting = |process| Progress::Waiting { process };
        let said = sentences(&mut builds, "a", &[(0, waiting(7)), (1, waiting(7)), (2, waiting(8))]);
        let sentence = |process| format!("Waiting for process {process}, which builds a or fetches its sources.");
        assert_eq!(said, [sentence(7), sentence(8)]);
        assert!(!builds.ended("a", seconds(300)));
        assert_eq!(builds.all(), GUESS);
        assert_eq!(
            sentences(&mut builds, "a", &[(0, Progress::Blocked)]),
            ["Building a waits for another cargo, which builds in the same folder."]
        );
    }

    #[test]
    fn the_time_that_is_left_follows_the_crates_and_is_said_again_when_it_differs_much() {
        let mut builds = Builds::default();
        builds.announce(labels("a b c d"));
        let crates = |done| Progress::Compiling { done, of: 100 };
        let heard =
            [(0, BEGINS), (300, crates(1)), (305, crates(90)), (400, crates(9)), (400, crates(25)), (401, crates(26))];
        let said = sentences(&mut builds, "a", &heard);
        assert_eq!(
            said[1..],
            ["Building 4 workers takes about 25 min more, as measured so far."],
            "300 s and 3 times 400 s"
        );
        let heard = builds.heard("a", crates(50), Instant::now() + seconds(500));
        assert_eq!((heard.doing.as_str(), heard.done, heard.of), ("Building a (50 of 100 crates)", 50, 100));
        assert!(heard.sentence.is_none());
    }

    #[test]
    fn only_what_differs_much_is_said_again() {
        assert!(differs_much(seconds(240), seconds(1_200)) && differs_much(seconds(240), seconds(60)));
        assert!(!differs_much(seconds(240), seconds(400)) && !differs_much(seconds(2), seconds(20)));
    }
}
