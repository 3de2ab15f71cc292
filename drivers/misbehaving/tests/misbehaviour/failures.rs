//! Every way to break is a row with the reason and the last lines of the log, and the others go on.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::place::{Place, misbehaving};
use cqldyno_bench::{CellStart, Deadlines, Observer, Plan, Stage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Why the cell of `how` between two of floor's has no figures; those of floor are clean.
fn failure(how: &str, change: impl FnOnce(&mut Plan)) -> String {
    let place = Place::new();
    let mut plan = place.plan("writes", &["floor", how, "floor"]);
    change(&mut plan);
    let cells = place.run(&plan);
    assert_eq!(cells.len(), 3);
    let cell = misbehaving(cells);
    cell.failed.unwrap_or_else(|| panic!("{how} did not fail: {:?}", cell.void))
}

/// Long enough for floor on a busy machine.
const STALL: Duration = Duration::from_secs(5);

fn stall(plan: &mut Plan) {
    plan.deadlines = Deadlines { stall: STALL, ..plan.deadlines };
}

#[test]
fn a_driver_that_hangs_or_waits_for_a_lost_answer_is_ended_after_the_time_of_a_stall() {
    std::thread::scope(|scope| {
        for how in ["hangs", "loses-an-answer"] {
            scope.spawn(move || {
                let sentence = failure(how, stall);
                let what =
                    "issued no statement for 5 s (the limit `stall`) and was ended in the window: an answer was lost";
                assert!(sentence.contains(what), "{sentence}");
            });
        }
        let sentence = failure("hangs-in-warm-up", stall);
        assert!(sentence.contains("said nothing new for 5 s and was ended; that was while it"), "{sentence}");
    });
}

#[test]
fn a_driver_that_leaks_is_ended_at_the_limit() {
    let sentence = failure("leaks", |plan| (plan.count, plan.memory_limit_bytes) = (1_000_000, Some(300 << 20)));
    assert!(sentence.contains("resident, more than the limit of 300.0 MiB, and was ended"), "{sentence}");
}

#[test]
fn a_driver_that_crashes_or_exits_is_a_row_with_how_and_its_last_words() {
    let sentence = failure("panics", |_| {});
    assert!(sentence.contains("The driver panicked") && sentence.contains("statement 3000 is cursed"), "{sentence}");
    let sentence = failure("aborts", |_| {});
    assert!(
        sentence.contains("was ended by SIGABRT; its log ends: ") && sentence.contains("about to abort"),
        "{sentence}"
    );
    let sentence = failure("exits", |_| {});
    assert!(
        sentence.contains("exited with code 7; its log ends: ") && sentence.contains("about to exit"),
        "{sentence}"
    );
}

#[test]
fn garbage_in_the_middle_of_a_window_is_a_row_that_quotes_it() {
    let sentence = failure("prints-garbage", |_| {});
    assert!(sentence.contains("broke the worker protocol where `progress` or `end` was expected"), "{sentence}");
    assert!(sentence.contains("Segmentation fault (core dumped)"), "{sentence}");
}

#[test]
fn a_driver_that_floods_its_log_is_held_up_by_nobody_and_its_log_is_not_endless() {
    let place = Place::new();
    let cell = misbehaving(place.run(&place.plan("writes", &["floods-log", "floor"])));
    assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None));
    let log = place.path().join("out").join(cell.log.as_ref().unwrap());
    assert!((1 << 20..5 << 20).contains(&fs::metadata(log).unwrap().len()));
}

/// Ends the server of the misbehaving contender's cells when their windows have begun.
struct KillServer {
    program: PathBuf,
    is_due: bool,
    killed: usize,
}

impl KillServer {
    /// Processes of this test's own folder that serve: no other test has one of that path.
    fn servers(&self) -> Vec<Pid> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let is_ours = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0);
            words.next() == Some(self.program.as_os_str().as_encoded_bytes()) && words.next() == Some(b"serve")
        };
        numbers.filter(is_ours).map(Pid::from_raw).collect()
    }
}

impl Observer for KillServer {
    fn cell_starts(&mut self, _: &CellStart<'_>) {
        self.is_due = true;
    }

    fn stage(&mut self, stage: Stage) {
        if self.is_due && matches!(stage, Stage::Window { .. }) {
            self.is_due = false;
            for server in self.servers() {
                kill(server, Signal::SIGKILL).unwrap();
                self.killed += 1;
            }
        }
    }
}

#[test]
fn a_server_that_is_killed_in_the_window_is_the_reason_and_the_next_generation_has_a_fresh_one() {
    let place = Place::new();
    // The driver never notices, and the time of a stall is longer than this test may take.
    let plan = place.plan("writes", &["hangs"]).with_blocks(2, 5_000);
    let mut observer = KillServer { program: place.path().join("bin/cqldyno"), is_due: false, killed: 0 };
    let cells = place.run_with(&plan, &mut observer);
    assert_eq!((cells.len(), observer.killed), (2, 2));
    for cell in &cells {
        let sentence = cell.failed.as_deref().unwrap();
        assert!(sentence.starts_with("The embedded cluster was ended by SIGKILL"), "{sentence}");
    }
}
