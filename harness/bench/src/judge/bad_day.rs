//! What an application saw of a bad day: the worker's account of single statements beside what the server counted and what floor read.

use cqldyno_driver_api::ErrorKind;
use cqldyno_meter::BadDay;
use cqldyno_protocol::{Done, LONGEST_TRACE, Tickets, Traced};
use cqldyno_scenarios::{Operation, Scenario, Statement, Workload};

use crate::judge::agreement::{Counted, grouped, text};

/// The longest window that is traced, in tens of milliseconds.
const MOST_TENS: usize = (LONGEST_TRACE.as_millis() / 10) as usize;
const NOT_TRACED: &str = "This worker cannot track single statements; bring it up to the current worker protocol.";
const OTHER_REQUESTS: &str = "Some statements are not one EXECUTE each, so how often each was sent is not known.";
const OTHER_WRITES: &str =
    "Some statements write other than one row of their own, so how often each was executed is not known.";

/// Whether a statement writes one row that is its own.
fn inserts_one(statement: &Statement) -> bool {
    let is_own = statement.keys.is_none() && !statement.is_on_loaded_rows();
    is_own && statement.read_back.is_some() && statement.adds.is_none() && statement.rows() == 1
}

/// What became of the statements at this rate. `wrong` are the tickets whose rows floor did not find as they should be, or why it read none.
pub(crate) fn of(
    (scenario, workload): (&Scenario, &Workload),
    rate: u64,
    done: &Done,
    counted: &Result<Counted, String>,
    wrong: Result<&Tickets, String>,
) -> BadDay {
    let Some(traced) = &done.trace else {
        let (answers_per_10ms, why) = (Vec::new(), NOT_TRACED.to_owned());
        let (received, doubled) = (Err(why.clone()), Err(why.clone()));
        return BadDay { rate, answers_per_10ms, unanswered: 0, received, doubled, rows: Err(why) };
    };
    // Up to the intended start of the last statement: the worker ends with the last right answer, before or after it.
    let mut answers_per_10ms = traced.answers_per_10ms.clone();
    let lasts = usize::try_from(done.issued.saturating_mul(100).div_ceil(rate.max(1))).unwrap_or(usize::MAX);
    answers_per_10ms.resize(lasts.min(MOST_TENS), 0);
    BadDay {
        rate,
        answers_per_10ms,
        unanswered: traced.unanswered.count(),
        received: counted.as_ref().map_err(Clone::clone).and_then(|counted| received(scenario, counted)),
        doubled: counted.as_ref().map_err(Clone::clone).and_then(|counted| doubled(scenario, counted)),
        rows: wrong.map(|wrong| lost_and_stored((scenario, workload), done.issued, traced, wrong)),
    }
}

/// Whether each statement is one EXECUTE.
fn is_plain(scenario: &Scenario) -> bool {
    scenario.statements.iter().all(|one| one.operation == Operation::Execute && scenario.pages(one) == 1)
}

/// The EXECUTEs that came to the nodes: those that were executed, and those that steps refused.
fn received(scenario: &Scenario, counted: &Counted) -> Result<u64, String> {
    let all = || counted.executes() + counted.executes_refused;
    is_plain(scenario).then(all).ok_or_else(|| OTHER_REQUESTS.to_owned())
}

/// The writes that made no new row, because their row was there already.
fn doubled(scenario: &Scenario, counted: &Counted) -> Result<u64, String> {
    let writes = || scenario.statements.iter().filter(|one| one.expect.is_none());
    if !is_plain(scenario) || !writes().all(|one| inserts_one(one) && scenario.uncounted(one).is_none()) {
        return Err(OTHER_WRITES.to_owned());
    }
    let mut texts: Vec<String> = writes().map(|one| text(&one.cql)).collect();
    texts.sort_unstable();
    texts.dedup();
    let executed: u64 = texts.iter().filter_map(|text| counted.by_text.get(text)).sum();
    Ok(executed.saturating_sub(counted.new_rows.try_into().unwrap_or(0)))
}

/// Of the statements that write: those acknowledged whose row is `wrong`, and those failed or unanswered whose row is right. Tickets are
/// taken in their order, so the first ones were issued.
fn lost_and_stored(
    (scenario, workload): (&Scenario, &Workload),
    issued: u64,
    traced: &Traced,
    wrong: &Tickets,
) -> (u64, u64) {
    let is_acknowledged = |ticket: u64| !traced.failed.contains(ticket) && !traced.unanswered.contains(ticket);
    let writes = |ticket: &u64| {
        let statement = scenario.statements.get(workload.issue(*ticket).statement);
        *ticket < issued && statement.is_some_and(|one| one.read_back.is_some())
    };
    let lost = wrong.iter().filter(writes).filter(|ticket| is_acknowledged(*ticket)).count();
    let without = traced.failed.iter().chain(traced.unanswered.iter());
    let stored = without.filter(writes).filter(|ticket| !wrong.contains(*ticket)).count();
    (lost as u64, stored as u64)
}

/// What voids a bad day: wrong rows, and a worker that does not do what was asked. Failed statements are what it shows.
pub(crate) fn voids(done: &Done, asked: u64) -> Vec<String> {
    let wrong = done.errors.get(&ErrorKind::WrongRow).map(|wrong| {
        format!(
            "{} statements returned wrong rows; the first: {}.",
            grouped(wrong.count),
            wrong.first.trim_end_matches('.')
        )
    });
    let unstarted = asked.saturating_sub(done.issued);
    let unstarted = (unstarted > 0).then(|| {
        format!(
            "{} of {} statements never started, because so many others waited for an answer; ask for a lower --rate.",
            grouped(unstarted),
            grouped(asked)
        )
    });
    wrong.into_iter().chain(unstarted).chain(done.trace.is_none().then(|| NOT_TRACED.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use cqldyno_protocol::ErrorCount;

    use super::*;

    fn tickets(all: &[u64]) -> Tickets {
        all.iter().copied().collect()
    }

    /// A hundred statements, of which some failed and one had no answer.
    fn done() -> Done {
        let trace = Traced { failed: tickets(&[3, 4, 50]), unanswered: tickets(&[99]), answers_per_10ms: vec![60, 36] };
        Done { issued: 100, answered: 99, verified: 96, trace: Some(trace), ..Done::default() }
    }

    #[test]
    fn lost_are_acknowledged_writes_without_a_row_and_stored_are_failed_ones_with_one() {
        let scenario = cqldyno_scenarios::builtin("writes").unwrap();
        let workload = Workload::new(&scenario, 120, 0, 1).unwrap();
        let counted = Counted {
            by_text: [(text(&scenario.statements[0].cql), 99)].into(),
            new_rows: 97,
            executes_refused: 5,
            ..Counted::default()
        };
        // 110 was never issued.
        let day = of((&scenario, &workload), 50, &done(), &Ok(counted), Ok(&tickets(&[4, 7, 99, 110])));
        assert_eq!((day.rows, day.doubled, day.received), (Ok((1, 2)), Ok(2), Ok(104)));
        assert_eq!((day.unanswered, day.rate, day.answers_per_10ms.len()), (1, 50, 200), "up to the end of the window");
    }

    #[test]
    fn what_nobody_counted_says_why() {
        let scenario = cqldyno_scenarios::builtin("writes").unwrap();
        let workload = Workload::new(&scenario, 120, 0, 1).unwrap();
        let untold = Done { trace: None, ..done() };
        let not = |why: &str| Err::<Counted, String>(why.to_owned());
        let day = of((&scenario, &workload), 50, &untold, &not("No server."), Ok(&tickets(&[])));
        assert_eq!(day.rows, Err(NOT_TRACED.to_owned()));
        let day = of((&scenario, &workload), 50, &done(), &not("No server."), Err("No rows.".to_owned()));
        assert_eq!((day.rows, day.received), (Err("No rows.".to_owned()), Err("No server.".to_owned())));
        let on_loaded = cqldyno_scenarios::builtin("batch").unwrap();
        assert_eq!(doubled(&on_loaded, &Counted::default()), Err(OTHER_WRITES.to_owned()));
    }

    #[test]
    fn only_wrong_rows_and_a_worker_that_keeps_no_track_void_a_bad_day() {
        let error = |kind| (kind, ErrorCount { count: 2, first: "it failed.".to_owned() });
        let failed = Done { errors: [error(ErrorKind::ConnectionLost)].into(), ..done() };
        assert_eq!(voids(&failed, 100), [""; 0]);
        let few = voids(&failed, 1_100);
        assert!(few[0].starts_with("1,000 of 1,100 statements never started"), "{few:?}");
        let wrong = Done { errors: [error(ErrorKind::WrongRow)].into(), trace: None, ..done() };
        assert_eq!(voids(&wrong, 100), ["2 statements returned wrong rows; the first: it failed.", NOT_TRACED]);
    }
}
