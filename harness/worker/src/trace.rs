//! What becomes of single statements.
//!
//! Each statement of a traced run has a state of its own, so none is lost when the slots that still wait are ended: it was right,
//! failed, has no answer, or was never issued.

use std::iter;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use cqldyno_driver_api::{DriverError, ErrorKind};
use cqldyno_protocol::{Job, LONGEST_TRACE, MOST_TRACED, Mode, Tickets, Trace, Traced};
use cqldyno_scenarios::{Answer, Issue, LoadPart, Operation, Scenario, Workload};

use crate::gauge::Gauge;

/// Right answers are counted in stretches of this length, in nanoseconds.
const STRETCH_NS: u64 = 10_000_000;

/// The most rows that are read back for the tickets of a window: each takes a byte.
const MOST_ROWS: u64 = 1 << 24;

/// That of a statement without an answer.
const UNANSWERED: u8 = 0;
const RIGHT: u8 = 1;
const FAILED: u8 = 2;
/// Of a row that could not be read.
const UNREAD: u8 = 3;

/// Why the statements of `job` cannot be traced, if it asks for that and they cannot.
pub(crate) fn refusal(job: &Job) -> Option<String> {
    let Trace { patience_ms } = job.trace?;
    let statements = &job.scenario.statements;
    if job.count > MOST_TRACED {
        return Some(format!(
            "{} statements were to be traced one by one; at most {MOST_TRACED} are possible: set count to fewer",
            job.count
        ));
    }
    match (job.mode, job.rate) {
        (Mode::ReadBack, _) => {
            let most = statements.iter().filter(|one| one.read_back.is_some()).map(|one| one.answer().most()).max();
            let rows = job.count.saturating_mul(most.unwrap_or(0));
            (rows > MOST_ROWS).then(|| {
                format!(
                    "up to {rows} rows were to be read back one by one; at most {MOST_ROWS} are possible: set count to fewer"
                )
            })
        }
        (Mode::Measure, Some(rate)) => {
            if let Some(one) = statements.iter().find(|one| one.operation == Operation::Connect) {
                return Some(format!(
                    "the statement {} of the scenario {} opens a session of its own, so it cannot be traced; use another \
                     operation, or leave trace out",
                    one.name, job.scenario.name
                ));
            }
            let lasts = Duration::from_secs(job.count / rate.max(1)).saturating_add(Duration::from_millis(patience_ms));
            (lasts > LONGEST_TRACE).then(|| {
                format!(
                    "a window of {} s with its patience was to be traced; at most {} s are possible: set a higher rate, a lower \
                     count or less patience",
                    lasts.as_secs(),
                    LONGEST_TRACE.as_secs()
                )
            })
        }
        _ => Some(
            "single statements were to be traced, and the job has neither a rate nor the mode read_back; set one of them, or leave \
             trace out"
                .to_owned(),
        ),
    }
}

/// The statements of one run, counted from 0, and what became of each.
#[derive(Debug)]
pub(crate) struct Tracer {
    states: Vec<AtomicU8>,
    /// Right answers by stretch since the first intended start; later ones count in the last.
    right: Vec<AtomicU64>,
    /// How long answers are waited for after the last intended start; `None` for all of them, however long it takes.
    pub(crate) patience: Option<Duration>,
    reads_back: bool,
}

fn zeros<T: Default>(count: u64) -> Vec<T> {
    iter::repeat_with(T::default).take(count as usize).collect()
}

impl Tracer {
    /// Of the job's window with these tickets, or of the rows that it reads back; `None` if it asks for no trace.
    pub(crate) fn of(job: &Job, gauge: &Gauge) -> Option<Tracer> {
        let trace = job.trace?;
        Some(match job.rate {
            Some(rate) if job.mode == Mode::Measure => Tracer::of_window(gauge, rate, trace),
            // Statements that each read a row back.
            _ => Tracer { states: zeros(gauge.count()), right: Vec::new(), patience: None, reads_back: true },
        })
    }

    pub(crate) fn of_window(gauge: &Gauge, rate: u64, trace: Trace) -> Tracer {
        let patience = Duration::from_millis(trace.patience_ms);
        // With a second for slots that end late.
        let lasts =
            Duration::from_secs(gauge.count() / rate.max(1) + 2).saturating_add(patience).min(2 * LONGEST_TRACE);
        let stretches = lasts.as_nanos() as u64 / STRETCH_NS;
        Tracer { states: zeros(gauge.count()), right: zeros(stretches), patience: Some(patience), reads_back: false }
    }

    /// Notes an answer that came so long after the first intended start.
    pub(crate) fn answered(&self, nth: u64, outcome: &Result<(), DriverError>, after_ns: u64) {
        let state = match outcome {
            Ok(()) => RIGHT,
            Err(error) if self.reads_back && error.kind() != ErrorKind::WrongRow => UNREAD,
            Err(_) => FAILED,
        };
        if let Some(of) = self.states.get(nth as usize) {
            of.store(state, Ordering::Relaxed);
        }
        let stretch = self.right.get((after_ns / STRETCH_NS) as usize).or(self.right.last());
        if let Some(stretch) = stretch.filter(|_| outcome.is_ok()) {
            stretch.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn in_state(&self, state: u8) -> impl Iterator<Item = u64> {
        let states = (0..).zip(&self.states);
        states.filter(move |(_, of)| of.load(Ordering::Relaxed) == state).map(|(nth, _)| nth)
    }

    /// What became of the window's tickets, after it. A slot issues every statement that it takes.
    pub(crate) fn told(&self, gauge: &Gauge) -> Traced {
        let (first, issued) = (gauge.first(), gauge.taken());
        let mut answers_per_10ms: Vec<u64> = self.right.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        let used = answers_per_10ms.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        answers_per_10ms.truncate(used);
        Traced {
            failed: self.in_state(FAILED).map(|nth| first + nth).collect(),
            unanswered: self.in_state(UNANSWERED).take_while(|nth| *nth < issued).map(|nth| first + nth).collect(),
            answers_per_10ms,
        }
    }

    /// The window's tickets whose rows these statements found missing or wrong, and those whose rows they could not read.
    pub(crate) fn told_of(&self, written: &Written) -> Traced {
        let failed: Tickets = self.in_state(FAILED).map(|row| written.ticket(row)).collect();
        let unread = self.in_state(UNREAD).map(|row| written.ticket(row));
        let unanswered = unread.filter(|ticket| !failed.contains(*ticket)).collect();
        Traced { failed, unanswered, answers_per_10ms: Vec::new() }
    }
}

/// The rows that a window's tickets wrote and that can be read back, ticket by ticket.
#[derive(Debug)]
pub(crate) struct Written {
    workload: Workload,
    /// By the scenario's statement, if it is read back: which prepared statement does that, and the rows of a key.
    readers: Vec<Option<(usize, Answer)>>,
    /// Rows of all tickets up to each.
    ends: Vec<u64>,
}

impl Written {
    /// By the statements that `parts` read back, in the order in which they are prepared.
    pub(crate) fn new(workload: Workload, scenario: &Scenario, parts: &[LoadPart]) -> Written {
        let reader = |statement| parts.iter().position(|part| part.statement == statement);
        let readers = scenario.statements.iter().enumerate().map(|(index, one)| Some((reader(index)?, one.answer())));
        let mut written = Written { readers: readers.collect(), ends: Vec::new(), workload };
        let mut end = 0;
        let up_to = |ticket| {
            let issue = written.workload.issue(ticket);
            end += written.reader(issue).map_or(0, |(_, answer)| answer.rows(issue.key));
            end
        };
        written.ends = (0..written.workload.count()).map(up_to).collect();
        written
    }

    fn reader(&self, issue: Issue) -> Option<(usize, Answer)> {
        self.readers.get(issue.statement).copied().flatten()
    }

    pub(crate) fn rows(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The ticket that wrote the row at this index.
    fn ticket(&self, row: u64) -> u64 {
        self.ends.partition_point(|end| *end <= row) as u64
    }

    /// What reads the row at this index back: the index of the prepared statement, and the number of the row.
    pub(crate) fn issue(&self, row: u64) -> Issue {
        let ticket = self.ticket(row);
        let before = ticket.checked_sub(1).and_then(|before| self.ends.get(before as usize)).copied().unwrap_or(0);
        let issue = self.workload.issue(ticket);
        let Some((statement, answer)) = self.reader(issue) else { return issue };
        Issue { statement, key: Answer::key(issue.key).wrapping_mul(answer.most()).wrapping_add(row - before) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_scenarios::{Order, builtin};

    fn written(scenario: &Scenario, count: u64) -> Written {
        let workload = Workload::new(scenario, count, 10, 7).unwrap();
        let parts = workload.read_back();
        Written::new(workload, scenario, &parts)
    }

    fn issues(written: &Written) -> Vec<(u64, Issue)> {
        (0..written.rows()).map(|row| (written.ticket(row), written.issue(row))).collect()
    }

    #[test]
    fn every_row_that_a_ticket_wrote_is_read_back_and_nothing_else_is() {
        let mixed = builtin("mixed").unwrap();
        let of_mixed = written(&mixed, 1_001);
        let inserts = (0..1_001)
            .map(|ticket| (ticket, of_mixed.workload.issue(ticket)))
            .filter(|(_, issue)| issue.statement == 1);
        // The insert is the only statement that is prepared to read back.
        let due: Vec<_> = inserts.map(|(ticket, issue)| (ticket, Issue { statement: 0, ..issue })).collect();
        assert_eq!((issues(&of_mixed), due.len()), (due.clone(), 501));
        assert_eq!(written(&builtin("reads").unwrap(), 100).rows(), 0);

        let mut batch = builtin("batch").unwrap();
        for size in [cqldyno_scenarios::Amount::from(64), "uniform(1..64)".parse().unwrap()] {
            batch.statements[0].size = Some(size);
            let of_batch = written(&batch, 50);
            let answer = batch.statements[0].answer();
            let rows = |ticket| {
                let key = of_batch.workload.issue(ticket).key;
                answer.places(key).map(move |place| (ticket, Issue { statement: 0, key: key * 64 + place }))
            };
            assert_eq!(issues(&of_batch), (0..50).flat_map(rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn tickets_with_one_key_share_its_row() {
        let mut writes = builtin("writes").unwrap();
        (writes.statements[0].keys, writes.statements[0].order) = (Some(10), Order::Zipf);
        let of_writes = written(&writes, 100);
        let rows = issues(&of_writes);
        assert!(rows.iter().map(|(ticket, _)| *ticket).eq(0..100));
        assert!(rows.iter().all(|(ticket, issue)| issue.key == of_writes.workload.issue(*ticket).key));
    }

    #[test]
    fn a_row_that_is_wrong_is_told_from_one_that_could_not_be_read() {
        let mut batch = builtin("batch").unwrap();
        batch.statements[0].size = Some(2.into());
        let written = written(&batch, 5);
        let tracer = Tracer { states: zeros(written.rows()), right: Vec::new(), patience: None, reads_back: true };
        let error = |kind| Err(DriverError::new(kind, "no"));
        for (row, outcome) in [
            (0, Ok(())),
            (1, error(ErrorKind::WrongRow)),
            (2, error(ErrorKind::Unavailable)),
            (3, Ok(())),
            (4, error(ErrorKind::RequestTimeout)),
            (5, error(ErrorKind::WrongRow)),
            (6, Ok(())),
            (7, Ok(())),
        ] {
            tracer.answered(row, &outcome, 0);
        }
        let told = tracer.told_of(&written);
        assert_eq!((told.failed, told.unanswered), ([0, 2].into_iter().collect(), [1].into_iter().collect()));
        assert!(told.answers_per_10ms.is_empty());
    }

    #[test]
    fn right_answers_are_counted_by_the_time_since_the_first_intended_start() {
        let gauge = Gauge::of(10..15, 1);
        let tracer = Tracer::of_window(&gauge, 1_000, Trace { patience_ms: 0 });
        let wrong = Err(DriverError::new(ErrorKind::WrongRow, "no row"));
        for (nth, outcome, after_ms) in [(0, &Ok(()), 0), (1, &Ok(()), 9), (2, &wrong, 15), (3, &Ok(()), 30)] {
            tracer.answered(nth, outcome, after_ms * 1_000_000);
        }
        let told = tracer.told(&gauge);
        assert_eq!(told.answers_per_10ms, [2, 0, 0, 1], "without those after the last");
        assert_eq!((told.failed, told.unanswered.count()), ([12].into_iter().collect(), 0), "the last was not issued");
        // A clock that jumps costs no memory.
        tracer.answered(4, &Ok(()), u64::MAX);
        assert_eq!(tracer.told(&gauge).answers_per_10ms.len(), 200);
    }
}
