//! The prepared statements of a connection: found without a lock, and counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::consistency::Levels;
use crate::counters::operations::{Operation, Request, TextNumber};
use crate::counters::snapshot::Routed;
use crate::counters::stats::{ConnectionStats, Place, Tally};
use crate::execute::group::PointStatements;
use crate::execute::point::PointStatement;
use crate::node::state::NodeState;
use crate::node::statement::Statement;
use crate::prepared::StatementId;
use crate::ring::{Replicas, shard_of};
use crate::token;
use crate::types::Value;

/// Statements that are kept. A client with more of them needs the node's map whenever the cache is emptied.
const LEN: usize = 128;

#[derive(Debug)]
struct Cached {
    id: StatementId,
    statement: Arc<Statement>,
    /// EXECUTEs that are not yet published.
    executes: u64,
    /// Set if they can come to a wrong place.
    routes: Option<Routes>,
    /// The consistency levels that pass without a look at the schema.
    levels: Levels,
}

/// Who should get the EXECUTEs of a statement, and who got those that are not yet published.
#[derive(Debug)]
struct Routes {
    replicas: Replicas,
    shards: Option<usize>,
    routed: Routed,
}

impl Routes {
    /// Apart from the path of a cluster that needs none of it.
    #[inline(never)]
    fn count(&mut self, place: Place, token: i64) {
        let is_replica = self.replicas.has(place.node, token);
        let is_shard = self.shards.map(|shards| shard_of(token, shards)) == place.shard;
        self.routed.keyed += 1;
        self.routed.to_replica += u64::from(is_replica);
        self.routed.to_shard += u64::from(is_replica && is_shard);
    }
}

#[derive(Debug)]
pub(crate) struct StatementCache {
    place: Place,
    cached: Vec<Cached>,
    last: usize,
    generation: u64,
    /// Requests other than EXECUTE that are not yet published.
    operations: Vec<Operation>,
}

impl StatementCache {
    pub(crate) fn new(place: Place) -> Self {
        StatementCache { place, cached: Vec::new(), last: 0, generation: 0, operations: Vec::new() }
    }

    /// Forgets all if the node forgot a statement, or if there are too many. No statements may wait under their numbers.
    pub(crate) fn refresh(&mut self, state: &NodeState, stats: &ConnectionStats, tally: &mut Tally) {
        let generation = state.generation.load(Ordering::Acquire);
        if generation != self.generation || self.cached.len() > LEN {
            self.publish(stats, tally);
            self.cached.clear();
            self.generation = generation;
        }
    }

    /// The statement of an id, with its number and consistency levels.
    #[inline]
    pub(crate) fn find(&mut self, state: &NodeState, id: &StatementId) -> Option<(u16, Levels, &Arc<Statement>)> {
        if self.cached.get(self.last).is_none_or(|cached| cached.id != *id) {
            self.last = match self.cached.iter().position(|cached| cached.id == *id) {
                Some(at) => at,
                None => {
                    if self.cached.len() >= usize::from(u16::MAX) {
                        return None;
                    }
                    let statement = state.statement(self.place.node, id).ok()?;
                    let replicas = state.replicas(&statement.prepared);
                    let shards = state.options.topology.shards;
                    let routes = replicas.map(|replicas| Routes { replicas, shards, routed: Routed::default() });
                    let levels = state.levels(&statement.prepared.plan);
                    self.cached.push(Cached { id: *id, statement, executes: 0, routes, levels });
                    self.cached.len() - 1
                }
            };
        }
        let number = self.last as u16;
        self.cached.get(self.last).map(|cached| (number, cached.levels, &cached.statement))
    }

    /// Counts an EXECUTE, with its key's token if that is known.
    #[inline]
    pub(crate) fn count(&mut self, number: u16, token: Option<i64>) {
        if let Some(cached) = self.cached.get_mut(usize::from(number)) {
            cached.executes += 1;
            if let (Some(routes), Some(token)) = (&mut cached.routes, token) {
                routes.count(self.place, token);
            }
        }
    }

    /// Counts where an EXECUTE with these values came that was counted without a token.
    pub(crate) fn count_route(&mut self, number: u16, values: &[Value<'_>]) {
        let Some(Cached { routes: Some(routes), statement, .. }) = self.cached.get_mut(usize::from(number)) else {
            return;
        };
        let component = |index: &u16| match values.get(usize::from(*index)) {
            Some(Value::Bytes(bytes)) => Some(*bytes),
            _ => None,
        };
        let components: Option<Vec<&[u8]>> = statement.prepared.partition_key_indexes.iter().map(component).collect();
        if let Some(components) = components {
            let mut key = Vec::new();
            token::routing_key(components.into_iter(), &mut key);
            routes.count(self.place, token::token(&key));
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
        let taken = counted.map(|cached| {
            let routed = cached.routes.as_mut().map(|routes| std::mem::take(&mut routes.routed));
            (cached.id, std::mem::take(&mut cached.executes), routed.unwrap_or_default())
        });
        stats.publish(tally, taken);
    }
}

impl PointStatements for StatementCache {
    #[inline]
    fn point(&self, number: u16) -> Option<&PointStatement> {
        self.cached.get(usize::from(number)).and_then(|cached| cached.statement.point.as_ref())
    }

    fn id(&self, number: u16) -> Option<StatementId> {
        self.cached.get(usize::from(number)).map(|cached| cached.id)
    }
}
