//! Which statement and which key each ticket is.

use std::sync::atomic::{AtomicU64, Ordering};

use cqldyno_scenarios::Permutation;

use crate::{Arguments, Scenario};

/// One statement to execute, with the key of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// [`crate::INSERT`] of this key.
    Insert(i64),
    /// [`crate::SELECT`] of this key.
    Select(i64),
}

/// Where the slots get what to execute next, in the order and with the keys of the built-in scenarios.
#[derive(Debug)]
pub struct Tickets {
    next: AtomicU64,
    end: u64,
    scenario: Scenario,
    part: Part,
}

#[derive(Debug)]
enum Part {
    /// The keys `0..count`, permuted.
    Window { permutation: Permutation, loaded: u64 },
    /// Keys behind the window's: those that are read first, then those that are written.
    WarmUp { count: u64, warmup: u64 },
}

impl Tickets {
    /// The statements of the window.
    pub fn window(arguments: &Arguments) -> Tickets {
        let permutation = Permutation::new(arguments.count, arguments.seed);
        let part = Part::Window { permutation, loaded: arguments.count / 2 };
        Tickets { next: AtomicU64::new(0), end: arguments.count, scenario: arguments.scenario, part }
    }

    /// The statements before the window, on other keys, of which those to be read may not be there.
    pub fn warm_up(arguments: &Arguments) -> Tickets {
        let part = Part::WarmUp { count: arguments.count, warmup: arguments.warmup };
        Tickets { next: AtomicU64::new(0), end: arguments.warmup, scenario: arguments.scenario, part }
    }

    /// The next statement, or `None` when all were taken.
    #[inline]
    pub fn take(&self) -> Option<Statement> {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        (ticket < self.end).then(|| self.statement(ticket))
    }

    #[inline]
    fn statement(&self, ticket: u64) -> Statement {
        let (key, insert_key, is_select) = match &self.part {
            Part::Window { permutation, loaded } => {
                let key = permutation.apply(ticket);
                (key, key, key < *loaded)
            }
            Part::WarmUp { count, warmup } => (count + ticket, count + warmup + ticket, ticket.is_multiple_of(2)),
        };
        match self.scenario {
            Scenario::Reads => Statement::Select(key as i64),
            Scenario::Writes => Statement::Insert(key as i64),
            Scenario::Mixed if is_select => Statement::Select(key as i64),
            Scenario::Mixed => Statement::Insert(insert_key as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use cqldyno_scenarios::{Workload, builtin};

    fn arguments(scenario: &str) -> Arguments {
        let line = format!("x --target 127.0.0.1:1 --scenario {scenario} --count 1001 --warmup 30 --seed 7");
        Arguments::try_parse_from(line.split(' ')).unwrap()
    }

    #[test]
    fn tickets_are_the_statements_and_keys_of_the_built_in_scenarios() {
        for name in ["writes", "reads", "mixed"] {
            let scenario = builtin(name).unwrap();
            let workload = Workload::new(&scenario, 1001, 30, 7).unwrap();
            let expected = |issue: cqldyno_scenarios::Issue| {
                let key = issue.key as i64;
                match scenario.statements[issue.statement].expect {
                    Some(_) => Statement::Select(key),
                    None => Statement::Insert(key),
                }
            };
            let window = Tickets::window(&arguments(name));
            for ticket in 0..1001 {
                assert_eq!(window.take(), Some(expected(workload.issue(ticket))), "{name} {ticket}");
            }
            assert_eq!(window.take(), None);
            let warm_up = Tickets::warm_up(&arguments(name));
            for ticket in 0..30 {
                assert_eq!(warm_up.take(), Some(expected(workload.warmup_issue(ticket))), "{name} {ticket}");
            }
            assert_eq!(warm_up.take(), None);
        }
    }
}
