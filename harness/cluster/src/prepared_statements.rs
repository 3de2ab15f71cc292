//! The prepared statements of a node, bounded in number and in the length of their texts, as Cassandra's cache is. When there are
//! too many, the oldest is forgotten that was not used since it was last looked at (second chance, Corbato 1968): a client that
//! executes a forgotten one is answered UNPREPARED.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::statement::{Statement, StatementId};

/// The most that are kept.
const MOST_STATEMENTS: usize = 16_384;

/// The most bytes that their texts have together.
const MOST_TEXT: usize = 64 << 20;

/// The longest text that is prepared, bytes.
pub(crate) const LONGEST_TEXT: usize = 1 << 20;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PreparedStatements {
    by_id: HashMap<StatementId, Arc<Statement>>,
    /// The ids, oldest first.
    order: VecDeque<StatementId>,
    text: usize,
}

impl PreparedStatements {
    pub(crate) fn get(&self, id: &StatementId) -> Option<&Arc<Statement>> {
        self.by_id.get(id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Statement>> {
        self.by_id.values()
    }

    /// Keeps a statement; says whether older ones were removed to make room.
    pub(crate) fn insert(&mut self, statement: Arc<Statement>) -> bool {
        let (id, length) = (statement.id, statement.query.len());
        let (mut removed, mut looks) = (false, self.order.len());
        while self.by_id.len() >= MOST_STATEMENTS || self.text + length > MOST_TEXT {
            let Some(oldest) = self.order.pop_front() else { break };
            // One that is used again and again must not keep this from ending.
            if looks > 0 && self.by_id.get(&oldest).is_some_and(|statement| statement.take_used()) {
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

    /// Keeps those for which `keep` holds.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Statement) -> bool) {
        let gone: Vec<StatementId> = self.all().filter(|one| !keep(one)).map(|one| one.id).collect();
        gone.iter().for_each(|id| self.forget(id));
        self.order.retain(|id| self.by_id.contains_key(id));
    }

    pub(crate) fn clear(&mut self) {
        *self = PreparedStatements::default();
    }

    fn forget(&mut self, id: &StatementId) {
        if let Some(known) = self.by_id.remove(id) {
            self.text -= known.query.len();
        }
    }
}
