//! Which statement and which key each ticket is.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cqldyno_protocol::tickets;
use cqldyno_scenarios::Permutation;
use cqldyno_worker::Edges;

use crate::asked::{Asked, Mix};

/// One statement to execute, with the key of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statement {
    /// [`crate::INSERT`] of this key.
    Insert(i64),
    /// [`crate::SELECT`] of this key.
    Select(i64),
}

/// The statements to execute, in the order and with the keys of the built-in scenarios.
#[derive(Debug)]
pub struct Tickets {
    next: AtomicU64,
    range: Range<u64>,
    mix: Mix,
    phase: Phase,
    shift: i64,
    pub(crate) edges: Edges,
}

#[derive(Debug)]
enum Phase {
    /// The keys `0..count`, permuted.
    Window { permutation: Permutation, loaded: u64 },
    /// Keys after the window's: first those that are read, then those that are written.
    WarmUp { count: u64, warmup: u64 },
}

impl Tickets {
    /// The statements of the turn `nth`, from 0.
    pub(crate) fn turn(asked: &Asked, nth: u32) -> Tickets {
        let permutation = Permutation::new(asked.count, asked.seed);
        let range = tickets(asked.count, asked.turns, nth);
        let edges = Edges::of(range.clone(), asked.concurrency);
        Tickets { edges, ..Tickets::of(asked, range, Phase::Window { permutation, loaded: asked.count / 2 }) }
    }

    /// The statements before the first turn, on other keys.
    pub(crate) fn warm_up(asked: &Asked) -> Tickets {
        Tickets::of(asked, 0..asked.warmup, Phase::WarmUp { count: asked.count, warmup: asked.warmup })
    }

    fn of(asked: &Asked, range: Range<u64>, phase: Phase) -> Tickets {
        Tickets {
            next: AtomicU64::new(range.start),
            range,
            mix: asked.mix,
            phase,
            shift: asked.shift,
            edges: Edges::default(),
        }
    }

    /// How many were taken.
    pub(crate) fn taken(&self) -> u64 {
        self.next.load(Ordering::Relaxed).min(self.range.end) - self.range.start
    }

    /// Statements by the scenario's names.
    pub(crate) fn by_statement(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for ticket in self.range.clone() {
            let name = match self.statement(ticket) {
                Statement::Select(_) => "select",
                Statement::Insert(_) => "insert",
            };
            *counts.entry(name).or_default() += 1;
        }
        counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
    }

    /// The loaded row of this key: pk, v1 and v2.
    #[inline]
    pub fn row(&self, pk: i64) -> (i64, i64, i64) {
        (pk, 2 * pk + self.shift, 3 * pk + self.shift)
    }

    /// The next statement, or `None` when all were taken.
    #[inline]
    pub fn take(&self) -> Option<Statement> {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        self.edges.pass(ticket..ticket + 1);
        (ticket < self.range.end).then(|| self.statement(ticket))
    }

    #[inline]
    fn statement(&self, ticket: u64) -> Statement {
        let (key, insert_key, is_select) = match &self.phase {
            Phase::Window { permutation, loaded } => {
                let key = permutation.apply(ticket);
                (key, key, key < *loaded)
            }
            Phase::WarmUp { count, warmup } => (count + ticket, count + warmup + ticket, ticket.is_multiple_of(2)),
        };
        match self.mix {
            Mix::Reads => Statement::Select(key as i64),
            Mix::Writes => Statement::Insert(key as i64),
            Mix::Mixed if is_select => Statement::Select(key as i64),
            Mix::Mixed => Statement::Insert(insert_key as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::tests::job;
    use cqldyno_scenarios::{Kind, Workload};

    #[test]
    fn tickets_are_the_statements_keys_and_rows_of_the_built_in_scenarios() {
        for name in ["writes", "reads", "mixed"] {
            let job = job(name);
            let asked = Asked::of(&job).unwrap();
            let workload = Workload::new(&job.scenario, job.count, job.warmup, job.seed).unwrap();
            let window = Tickets::turn(&asked, 0);
            let expected = |issue: cqldyno_scenarios::Issue| {
                let key = issue.key as i64;
                let Some(expect) = &job.scenario.statements[issue.statement].expect else {
                    return Statement::Insert(key);
                };
                let value = |column: usize| match expect.columns[column].kind {
                    Kind::Bigint { times, plus } => times * key + plus,
                    _ => unreachable!(),
                };
                assert_eq!(window.row(key), (value(0), value(1), value(2)), "{name}");
                Statement::Select(key)
            };
            for ticket in 0..1001 {
                assert_eq!(window.take(), Some(expected(workload.issue(ticket))), "{name} {ticket}");
            }
            assert_eq!((window.take(), window.taken()), (None, 1001));
            let second = Tickets::turn(&Asked { turns: 3, ..asked.clone() }, 1);
            assert_eq!((second.take(), second.taken()), (Some(expected(workload.issue(333))), 1));
            let whole: u64 = second.by_statement().values().sum();
            let selects = window.by_statement().get("select").copied().unwrap_or(0);
            let due =
                [("writes", 0), ("reads", 1_001), ("mixed", 500)].into_iter().find(|one| one.0 == name).unwrap().1;
            assert_eq!((whole, selects), (334, due));
            let warm_up = Tickets::warm_up(&asked);
            for ticket in 0..30 {
                assert_eq!(warm_up.take(), Some(expected(workload.warmup_issue(ticket))), "{name} {ticket}");
            }
            assert_eq!(warm_up.take(), None);
        }
    }
}
