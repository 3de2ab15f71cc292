//! What the worker counted: statements and answers, polls of their futures, and its rusage.
//!
//! perf's own counter of context switches reads 0 if the kernel is excluded, so these are the rusage's.

use cqldyno_measure::list::declared;

use crate::meter::{from_worker, lower, per_statement};
use crate::{Declaration, Meter, Outcome, Unit, Window};

const fn count(id: &'static str, about: &'static str) -> Declaration {
    lower(id, Unit::Count, about)
}

const COUNTS: [Declaration; 4] =
    [declared::STATEMENTS, declared::VERIFIED, declared::ERRORS, declared::BELOW_CONCURRENCY];

const NOT_COUNTED: &str = "The worker does not count statements issued below the concurrency.";

/// Statements, verified answers, errors, and statements issued below the concurrency.
pub const STATEMENTS: Meter = Meter::new("statements", &COUNTS, |_| from_worker(statements));

fn statements(window: &Window) -> Outcome {
    let below = window.below_concurrency.ok_or_else(|| NOT_COUNTED.to_owned());
    let counts = [Ok(window.issued), Ok(window.verified), Ok(window.errors), below];
    Outcome::of(&COUNTS, counts.map(|count| count.map(|count| count as f64)))
}

// It is the same in every pass.
const POLLED: [Declaration; 1] = [Declaration {
    pass: None,
    ..count("polls_per_statement", "polls of a statement's future, if the way of submitting counts them")
        .titled("polls/\nstatement")
}];

/// Polls of the statements' futures, an exact count whatever the load of the machine, if the way of submitting counts them.
pub const POLLS: Meter = Meter::new("polls of futures", &POLLED, |_| from_worker(polls));

fn polls(window: &Window) -> Outcome {
    let polls = window.polls.map(|polls| per_statement(polls as f64, window));
    Outcome::of(&POLLED, polls)
}

const SWITCHED: [Declaration; 3] = [
    declared::CONTEXT_SWITCHES,
    count("voluntary_switches", "context switches because the worker waited"),
    count("involuntary_switches", "context switches because the kernel gave the core to another thread"),
];

/// Context switches of the worker in the window.
pub const SWITCHES: Meter =
    Meter::new("context switches", &SWITCHED, |_| from_worker(switches)).needs("getrusage in the worker");

fn switches(window: &Window) -> Outcome {
    let (voluntary, involuntary) = (window.end.voluntary_switches, window.end.involuntary_switches);
    Outcome::of(&SWITCHED, [voluntary + involuntary, voluntary, involuntary].map(|count| Ok(count as f64)))
}

const FAULTED: [Declaration; 2] = [
    count("minor_faults", "page faults of the worker that needed no I/O").titled("minor\nfaults"),
    count("major_faults", "page faults of the worker that needed I/O").titled("major\nfaults"),
];

/// Page faults of the worker in the window.
pub const FAULTS: Meter = Meter::new("page faults", &FAULTED, |_| from_worker(faults)).needs("getrusage in the worker");

fn faults(window: &Window) -> Outcome {
    Outcome::of(&FAULTED, [window.end.minor_faults, window.end.major_faults].map(|count| Ok(count as f64)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::window;
    use cqldyno_protocol::End;

    #[test]
    fn a_count_that_a_worker_does_not_give_is_told_and_is_no_zero() {
        let below = |window: &Window| {
            let found = statements(window).readings.into_iter().find(|one| one.measure.id == "below_concurrency");
            found.unwrap().value
        };
        assert_eq!(below(&window()), Ok(100.0));
        assert_eq!(below(&Window { below_concurrency: None, ..window() }), Err(NOT_COUNTED.to_owned()));
    }

    #[test]
    fn switches_of_both_kinds_add_up() {
        let outcome = switches(&Window {
            end: End { voluntary_switches: 3, involuntary_switches: 4, ..window().end },
            ..window()
        });
        let values: Vec<_> = outcome.readings.into_iter().map(|reading| reading.value.unwrap()).collect();
        assert_eq!(values, [7.0, 3.0, 4.0]);
    }

    #[test]
    fn faults_are_told_by_the_worker() {
        let outcome = faults(&Window { end: End { minor_faults: 7, major_faults: 2, ..window().end }, ..window() });
        let values: Vec<_> =
            outcome.readings.iter().map(|reading| (reading.measure.id, reading.value.clone())).collect();
        assert_eq!(values, [("minor_faults", Ok(7.0)), ("major_faults", Ok(2.0))]);
    }

    #[test]
    fn polls_are_shared_among_the_statements_and_are_no_measure_where_nobody_counts_them() {
        assert_eq!(polls(&window()), Outcome::default());
        let counted = Window { polls: Some(5 * window().verified / 4), ..window() };
        assert_eq!(polls(&counted).readings[0].value, Ok(1.25));
    }
}
