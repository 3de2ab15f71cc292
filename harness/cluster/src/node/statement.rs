//! Prepared statements, bounded in number and length of text like Cassandra's cache.
//!
//! When there are too many, the oldest unused one is forgotten (second chance, Corbato 1968); its next EXECUTE is UNPREPARED.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::execute::point::PointStatement;
use crate::prepared::{Prepared, StatementId};
use crate::storage::table::TableStore;

pub(crate) const MOST_STATEMENTS: usize = 16_384;

/// The most bytes of their texts together.
const MOST_TEXT: usize = 64 << 20;

pub(crate) const LONGEST_TEXT: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) id: StatementId,
    pub(crate) query: String,
    pub(crate) prepared: Arc<Prepared>,
    /// Set for the statements that run in groups.
    pub(crate) point: Option<PointStatement>,
    /// The rows of its table, if that is not virtual.
    pub(crate) store: Option<Arc<TableStore>>,
    /// Whether it was used since this was last read.
    used: AtomicBool,
}

impl Statement {
    pub(crate) fn new(id: StatementId, query: String, prepared: Prepared, store: Option<Arc<TableStore>>) -> Self {
        let point = store.as_ref().and_then(|store| PointStatement::of(&prepared, store));
        Statement { id, query, prepared: Arc::new(prepared), point, store, used: AtomicBool::new(false) }
    }

    /// Keeps it from being forgotten before unused ones.
    pub(crate) fn set_used(&self) {
        // Without a write the cache line stays with all cores that read it.
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    pub(crate) by_id: HashMap<StatementId, Arc<Statement>>,
    order: VecDeque<StatementId>,
    text: usize,
}

impl PreparedStatements {
    /// Keeps a statement. Returns whether older ones were removed to make room.
    pub(crate) fn insert(&mut self, statement: Arc<Statement>) -> bool {
        let (id, length) = (statement.id, statement.query.len());
        let (mut removed, mut looks) = (false, self.order.len());
        while self.by_id.len() >= MOST_STATEMENTS || self.text + length > MOST_TEXT {
            let Some(oldest) = self.order.pop_front() else { break };
            // Statements in constant use must not keep this from ending.
            if looks > 0
                && self.by_id.get(&oldest).is_some_and(|statement| statement.used.swap(false, Ordering::Relaxed))
            {
                looks -= 1;
                self.order.push_back(oldest);
                continue;
            }
            self.forget(&oldest);
            removed = true;
        }
        self.text += length;
        match self.by_id.insert(id, statement) {
            Some(known) => self.text -= known.query.len(),
            None => self.order.push_back(id),
        }
        removed
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&Statement) -> bool) {
        let gone: Vec<StatementId> = self.by_id.values().filter(|one| !keep(one)).map(|one| one.id).collect();
        gone.iter().for_each(|id| self.forget(id));
        self.order.retain(|id| self.by_id.contains_key(id));
    }

    /// Forgets one of so many, beginning with the oldest, and returns them.
    pub(crate) fn forget_one_in(&mut self, one_in: usize) -> Vec<Arc<Statement>> {
        let ids: Vec<StatementId> = self.order.iter().step_by(one_in.max(1)).copied().collect();
        let gone = ids.iter().filter_map(|id| self.by_id.get(id).cloned()).collect();
        ids.iter().for_each(|id| self.forget(id));
        self.order.retain(|id| self.by_id.contains_key(id));
        gone
    }

    fn forget(&mut self, id: &StatementId) {
        if let Some(known) = self.by_id.remove(id) {
            self.text -= known.query.len();
        }
    }
}
