//! The tickets of a turn: what they bind, and what must come back.

use std::ops::Range;
use std::sync::Arc;

use cqldyno_driver_api::{DriverError, Row, Rows, Value};
use cqldyno_scenarios::RowCheck;

use crate::generator::of_statement;
use crate::partition::in_any_order;
use crate::verify::{rows, shown, wrong};

/// What must come back.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) check: RowCheck,
    pub(super) count: usize,
    /// Where its rows begin.
    pub(super) first: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Due {
    Nothing,
    Inline(Answer),
    /// With its own rows, which begin at 0.
    Pooled(Arc<(Answer, Rows)>),
}

#[derive(Clone, Debug)]
pub(super) struct Ticket {
    pub(super) statement: usize,
    /// The rows of its values: those of a batch, else one.
    pub(super) bound: Range<usize>,
    pub(super) due: Due,
}

/// The tickets of one turn, or of the warm-up, decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reel {
    /// The number of the first one.
    pub(super) first: u64,
    pub(super) tickets: Vec<Ticket>,
    pub(super) bound: Rows,
    pub(super) due: Rows,
}

impl Reel {
    fn ticket(&self, ticket: u64) -> Option<&Ticket> {
        self.tickets.get(usize::try_from(ticket.checked_sub(self.first)?).ok()?)
    }

    pub(crate) fn count(&self) -> u64 {
        self.tickets.len() as u64
    }

    pub(crate) fn statement(&self, ticket: u64) -> usize {
        self.ticket(ticket).map_or(0, |one| one.statement)
    }

    /// Appends the values of a ticket, row after row; returns the number of rows.
    pub(crate) fn bind<'a>(&'a self, ticket: u64, values: &mut Vec<Value<'a>>) -> u64 {
        let rows = self.ticket(ticket).map_or(0..0, |one| one.bound.clone());
        let count = rows.len() as u64;
        for row in rows.filter_map(|row| self.bound.get(row)) {
            values.extend((0..row.len()).filter_map(|index| row.get(index)));
        }
        count
    }

    /// What is due: `None` for no rows at all.
    pub(super) fn due(&self, ticket: u64) -> Option<(&Answer, impl Iterator<Item = Row<'_>> + Clone)> {
        let (answer, rows) = match &self.ticket(ticket)?.due {
            Due::Nothing => return None,
            Due::Inline(answer) => (answer, &self.due),
            Due::Pooled(pooled) => (&pooled.0, &pooled.1),
        };
        let Answer { first, count, .. } = *answer;
        Some((answer, (first..first + count).filter_map(move |row| rows.get(row))))
    }

    /// Puts the rows that are due into `rows`, as an adapter that received them does.
    fn fill(&self, ticket: u64, rows: &mut Rows) {
        let Some((answer, due)) = self.due(ticket) else { return };
        for row in due {
            (0..row.len()).filter_map(|index| row.get(index)).for_each(|value| rows.push(value));
            rows.end_row();
        }
        // Of those that are only counted the tape has none.
        (rows.len()..answer.count).for_each(|_| rows.end_row());
        rows.end_page();
    }

    /// Compares every column of every row with what is due to a ticket of the statement `name`. Offline they take an answer's place.
    pub(crate) fn check(&self, ticket: u64, offline: bool, rows: &mut Rows, name: &str) -> Result<(), DriverError> {
        if offline {
            self.fill(ticket, rows);
        }
        self.compare(ticket, rows).map_err(|error| of_statement(name, &error))
    }

    fn compare(&self, ticket: u64, found: &Rows) -> Result<(), DriverError> {
        let Some((answer, due)) = self.due(ticket) else {
            return if found.is_empty() { Ok(()) } else { Err(wrong_count(ticket, 0, found.len())) };
        };
        if found.len() != answer.count {
            return Err(wrong_count(ticket, answer.count, found.len()));
        }
        match answer.check {
            RowCheck::Count => Ok(()),
            RowCheck::Content if in_any_order(due.clone()) == in_any_order(found.iter()) => Ok(()),
            RowCheck::Content => Err(wrong(format_args!(
                "the {} rows of ticket {ticket} are not those that are due, in whatever order",
                answer.count
            ))),
            RowCheck::Order => due.zip(found.iter()).zip(1..).try_for_each(|((due, found), nth)| {
                let is_right = |index: &usize| due.get(*index).is_some_and(|value| found.holds(*index, value));
                match (0..due.len().max(found.len())).find(|index| !is_right(index)) {
                    None => Ok(()),
                    Some(index) => Err(wrong(format_args!(
                        "in row {nth} of ticket {ticket} column {} should be {}, and {} was found",
                        index + 1,
                        shown(due.get(index)),
                        shown(found.get(index))
                    ))),
                }
            }),
        }
    }
}

#[cold]
fn wrong_count(ticket: u64, due: usize, found: usize) -> DriverError {
    let were = if due > 1 { "were" } else { "was" };
    wrong(format_args!("for ticket {ticket} {} {were} due, and {} came back", rows(due), rows(found)))
}
