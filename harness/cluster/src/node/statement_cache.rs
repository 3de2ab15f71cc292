//! The prepared statements of a connection: found without a lock, and counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::counters::operations::{Operation, Request, TextNumber};
use crate::counters::stats::{ConnectionStats, Tally};
use crate::execute::group::PointStatements;
use crate::execute::point::Point;
use crate::node::state::NodeState;
use crate::node::statement::Statement;
use crate::plan::StatementId;

/// Statements that are kept. A client with more of them needs the node's map whenever the cache is emptied.
const LEN: usize = 128;

#[derive(Debug)]
struct Cached {
    id: StatementId,
    statement: Arc<Statement>,
    /// EXECUTEs that are not yet published.
    executes: u64,
}

#[derive(Debug, Default)]
pub(crate) struct StatementCache {
    cached: Vec<Cached>,
    last: usize,
    generation: u64,
    /// Requests other than EXECUTE that are not yet published.
    operations: Vec<Operation>,
}

impl StatementCache {
    /// Forgets all if the node forgot a statement, or if there are too many. No statements may wait under their numbers.
    pub(crate) fn refresh(&mut self, state: &NodeState, stats: &ConnectionStats, tally: &mut Tally) {
        let generation = state.generation.load(Ordering::Acquire);
        if generation != self.generation || self.cached.len() > LEN {
            self.publish(stats, tally);
            self.cached.clear();
            self.generation = generation;
        }
    }

    /// The statement of an id, and its number.
    #[inline]
    pub(crate) fn find(&mut self, state: &NodeState, id: &StatementId) -> Option<(u16, &Arc<Statement>)> {
        if self.cached.get(self.last).is_none_or(|cached| cached.id != *id) {
            self.last = match self.cached.iter().position(|cached| cached.id == *id) {
                Some(at) => at,
                None => {
                    if self.cached.len() >= usize::from(u16::MAX) {
                        return None;
                    }
                    let statement = state.statement(id).ok()?;
                    self.cached.push(Cached { id: *id, statement, executes: 0 });
                    self.cached.len() - 1
                }
            };
        }
        let number = self.last as u16;
        self.cached.get(self.last).map(|cached| (number, &cached.statement))
    }

    #[inline]
    pub(crate) fn count(&mut self, number: u16) {
        if let Some(cached) = self.cached.get_mut(usize::from(number)) {
            cached.executes += 1;
        }
    }

    /// Counts another request for the statement of this text.
    pub(crate) fn count_operation(&mut self, request: Request, text: TextNumber, rows: u64) {
        match self.operations.last_mut() {
            Some(last) if (last.request, last.text) == (request, text) => {
                last.count += 1;
                last.rows += rows;
            }
            _ => self.operations.push(Operation { request, text, count: 1, rows }),
        }
    }

    pub(crate) fn publish(&mut self, stats: &ConnectionStats, tally: &mut Tally) {
        tally.operations.append(&mut self.operations);
        let counted = self.cached.iter_mut().filter(|cached| cached.executes > 0);
        let counted = counted.inspect(|cached| cached.statement.set_used());
        stats.publish(tally, counted.map(|cached| (cached.id, std::mem::take(&mut cached.executes))));
    }
}

impl PointStatements for StatementCache {
    #[inline]
    fn point(&self, number: u16) -> Option<&Point> {
        self.cached.get(usize::from(number)).and_then(|cached| cached.statement.point.as_ref())
    }
}
