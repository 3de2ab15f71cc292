//! SELECT: finding rows by key, in slices of partitions and by token, a page at a time, without holding a lock for long.

use std::collections::VecDeque;
use std::ops::Bound;

use super::paging::Position;
use super::rows::{Collector, RowView};
use super::values::{Slices, check_combinations, key_components, partition_keys, slices};
use crate::codec::request::QueryParameters;
use crate::codec::response::Rows;
use crate::error::{CqlError, Result};
use crate::prepared::{PartitionSelection, Select, Term};
use crate::storage::partitions::Partition;
use crate::storage::record::{self, Row};
use crate::storage::table::{Place, Shard, TableStore};
use crate::token;
use crate::types::Value;

/// Rows between two releases of the lock, when other tasks can run.
const ROWS_A_STEP: usize = 2_048;

fn limit(name: &str, term: Option<&Term>, values: &[Value<'_>]) -> Result<Option<u64>> {
    let Some(term) = term else { return Ok(None) };
    match term.number(&name.to_lowercase(), values)? {
        Some(limit) if limit > 0 => Ok(Some(limit as u64)),
        Some(_) => Err(CqlError::Invalid(format!("{name} must be strictly positive"))),
        None => Ok(None),
    }
}

/// One page of the rows that a SELECT finds.
pub async fn select(
    store: &TableStore,
    select: &Select,
    values: &[Value<'_>],
    parameters: &QueryParameters<'_>,
) -> Result<Rows> {
    let position = parameters.paging_state.map(Position::decode).transpose()?;
    let filters = select.filters.iter().map(|filter| filter.evaluate(&select.table.columns, values));
    let page_size = parameters.page_size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size > 0);
    // The client's paging state can shorten a LIMIT, never lengthen it.
    let left = position.as_ref().and_then(|position| position.limit_left).unwrap_or(u64::MAX);
    let limit_left = limit("LIMIT", select.limit.as_ref(), values)?.map(|limit| limit.min(left));
    let collector = Collector::new(select, filters.collect::<Result<_>>()?, page_size, limit_left);
    let needs_cells = collector.needs_cells();
    let per_partition = limit("PER PARTITION LIMIT", select.per_partition_limit.as_ref(), values)?;
    let search = Search {
        store,
        select,
        slices: slices(&select.table, &select.clustering, values)?,
        per_partition: if select.distinct { Some(1) } else { per_partition },
        needs_cells,
        collector,
        position: position.clone().unwrap_or_default(),
        budget: ROWS_A_STEP,
    };
    match &select.partition {
        PartitionSelection::Tokens(range) => {
            let Some((first, last)) = range.tokens(values)? else { return Ok(search.finish(false)) };
            search.by_token(first, last, position).await
        }
        named => {
            let keys = partition_keys(&select.table, named, values)?;
            check_combinations([keys.len(), search.slices.len()])?;
            search.by_key(&keys, position).await
        }
    }
}

/// Records whose keys are read ahead, so that their cache misses overlap.
const RECORDS_AHEAD: usize = 32;

struct Ahead<I: Iterator> {
    found: I,
    ahead: VecDeque<I::Item>,
}

impl<I: Iterator> Iterator for Ahead<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if self.ahead.is_empty() {
            self.ahead.extend(self.found.by_ref().take(RECORDS_AHEAD));
        }
        self.ahead.pop_front()
    }
}

/// Why the search in a partition or a shard stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    End,
    /// It is others' turn.
    Budget,
    PageFull,
    Limit,
}

struct Search<'s> {
    store: &'s TableStore,
    select: &'s Select,
    slices: Slices,
    per_partition: Option<u64>,
    needs_cells: bool,
    collector: Collector<'s>,
    position: Position,
    budget: usize,
}

impl Search<'_> {
    async fn by_key(mut self, keys: &[Vec<u8>], from: Option<Position>) -> Result<Rows> {
        let mut remaining = keys;
        if let Some(from) = &from {
            let Some(at) = keys.iter().position(|key| *key == from.key) else {
                return Err(CqlError::protocol("Invalid value for the paging state"));
            };
            remaining = &keys[at + usize::from(from.clustering.is_none())..];
        }
        for (left, key) in (0..remaining.len()).rev().zip(remaining) {
            loop {
                match self.named_partition(key)? {
                    Stop::End => break,
                    Stop::Budget => self.rest().await,
                    Stop::PageFull => {
                        let more = left > 0 || self.position.clustering.is_some();
                        return Ok(self.finish(more));
                    }
                    Stop::Limit => return Ok(self.finish(false)),
                }
            }
            if self.budget == 0 {
                self.rest().await;
            }
        }
        Ok(self.finish(false))
    }

    async fn by_token(mut self, first: i64, last: i64, from: Option<Position>) -> Result<Rows> {
        let mut first = first;
        if let Some(from) = from {
            first = first.max(token::token(&from.key));
        }
        if first > last {
            return Ok(self.finish(false));
        }
        let mut place = self.store.place(first);
        let end = self.store.place(last);
        loop {
            match self.shard(&mut place, first, last)? {
                Stop::End => {
                    place = Place { shard: place.shard + 1, hash: 0 };
                    if place.shard > end.shard {
                        return Ok(self.finish(false));
                    }
                }
                Stop::Budget => {}
                Stop::PageFull => return Ok(self.finish(true)),
                Stop::Limit => return Ok(self.finish(false)),
            }
            self.rest().await;
        }
    }

    /// Gives other connections their turn.
    async fn rest(&mut self) {
        self.budget = ROWS_A_STEP;
        tokio::task::yield_now().await;
    }

    fn finish(mut self, more: bool) -> Rows {
        self.position.limit_left = self.collector.limit_left;
        Rows { paging_state: more.then(|| self.position.encode()), ..self.collector.finish() }
    }

    fn named_partition(&mut self, key: &[u8]) -> Result<Stop> {
        let Place { shard, hash } = self.store.place(token::token(key));
        match &*self.store.shards[shard].lock() {
            Shard::Rows(rows) => rows.get(hash, key).map_or(Ok(Stop::End), |record| self.row(key, record)),
            Shard::Partitions(all) => all.get(hash, key).map_or(Ok(Stop::End), |found| self.partition(found)),
            Shard::Moved => Err(CqlError::Stale),
        }
    }

    /// Searches the partitions of one shard after the position, in the order of (token, key).
    fn shard(&mut self, place: &mut Place, first: i64, last: i64) -> Result<Stop> {
        let shard = self.store.shards[place.shard].lock();
        match &*shard {
            Shard::Moved => Err(CqlError::Stale),
            Shard::Rows(rows) => {
                let records = rows.records_from(place.hash).map(|(hash, record)| (hash, record::key(record), record));
                self.in_token_order(records, place, (first, last), |search, key, record| search.row(key, record))
            }
            Shard::Partitions(all) => {
                let partitions = all.partitions_from(place.hash).map(|(hash, found)| (hash, &*found.key, found));
                self.in_token_order(partitions, place, (first, last), |search, _, found| search.partition(found))
            }
        }
    }

    fn in_token_order<'p, P: Copy>(
        &mut self,
        found: impl Iterator<Item = (u32, &'p [u8], P)>,
        place: &mut Place,
        (first, last): (i64, i64),
        mut look: impl FnMut(&mut Self, &[u8], P) -> Result<Stop>,
    ) -> Result<Stop> {
        let mut found = Ahead { found, ahead: VecDeque::with_capacity(RECORDS_AHEAD) }.peekable();
        let mut group: Vec<(i64, &[u8], P)> = Vec::new();
        // Once one partition is after the position, all later ones are.
        let seen = (!self.position.key.is_empty()).then(|| (token::token(&self.position.key), self.position.clone()));
        let mut seen = seen.as_ref();
        while let Some((hash, key, content)) = found.next() {
            place.hash = hash;
            group.clear();
            group.push((token::token(key), key, content));
            // Seldom more than one.
            while let Some((_, key, content)) = found.next_if(|next| next.0 == hash) {
                group.push((token::token(key), key, content));
            }
            if group.len() > 1 {
                group.sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
            }
            for (token, key, content) in &group {
                if *token < first {
                    continue;
                }
                if *token > last {
                    return Ok(Stop::Limit);
                }
                if let Some((seen_token, position)) = seen {
                    let order = (*token, *key).cmp(&(*seen_token, &*position.key));
                    if order.is_lt() || (order.is_eq() && position.clustering.is_none()) {
                        continue;
                    }
                    seen = None;
                }
                match look(self, key, *content)? {
                    Stop::End => {}
                    stop => return Ok(stop),
                }
            }
            if self.budget == 0 {
                return Ok(Stop::Budget);
            }
        }
        Ok(Stop::End)
    }

    fn seen(&mut self, key: &[u8], clustering: Option<&[u8]>) {
        self.position.key.clear();
        self.position.key.extend_from_slice(key);
        match (&mut self.position.clustering, clustering) {
            (Some(seen), Some(clustering)) => {
                seen.clear();
                seen.extend_from_slice(clustering);
            }
            (seen, clustering) => *seen = clustering.map(<[u8]>::to_vec),
        }
    }

    /// A partition of a table without clustering columns.
    fn row(&mut self, key: &[u8], record: &[u8]) -> Result<Stop> {
        self.budget = self.budget.saturating_sub(1);
        let columns = self.store.cells;
        if record::is_live(record, columns) {
            let row = if self.needs_cells { Row::decode(record, columns) } else { Row::empty(0) };
            let several;
            let components: &[&[u8]] = if self.select.table.partition_key_len == 1 {
                &[key]
            } else {
                several = key_components(&self.select.table, key);
                &several
            };
            let view = RowView { key, components, clustering: &[], statics: None, cells: Some(&row) };
            self.collector.offer(view)?;
        }
        self.seen(key, None);
        Ok(self.enough().unwrap_or(Stop::End))
    }

    /// Whether LIMIT is reached or the page is full. A full page has a next one even if that will be empty, as in Cassandra.
    fn enough(&self) -> Option<Stop> {
        if self.collector.limit_left == Some(0) {
            Some(Stop::Limit)
        } else {
            (self.collector.page_left == 0).then_some(Stop::PageFull)
        }
    }

    fn partition(&mut self, partition: &Partition) -> Result<Stop> {
        let table = &*self.select.table;
        let key = &*partition.key;
        let after = if self.position.key == key { self.position.clustering.clone() } else { None };
        if after.is_none() {
            (self.position.rows_in_partition, self.position.has_rows) = (0, false);
        }
        let components = key_components(table, key);
        let statics = partition.statics.as_deref().map(|record| Row::decode(record, table.static_len));
        let columns = self.store.cells;
        let slices = std::mem::take(&mut self.slices);
        let stop = self.in_slices(partition, &slices, after.as_deref(), |search, sortable, record| {
            search.budget = search.budget.saturating_sub(1);
            if record::is_live(record, columns) {
                search.position.has_rows = true;
                let row = if search.needs_cells { Row::decode(record, columns) } else { Row::empty(0) };
                let clustering = values_of(record::key(record), table.clustering_len);
                let view = RowView {
                    key,
                    components: &components,
                    clustering: &clustering,
                    statics: statics.as_ref(),
                    cells: Some(&row),
                };
                if search.collector.offer(view)? {
                    search.position.rows_in_partition += 1;
                }
            }
            search.seen(key, Some(sortable));
            if search.per_partition.is_some_and(|most| search.position.rows_in_partition >= most) {
                return Ok(Some(Stop::End));
            }
            Ok(search.enough().or((search.budget == 0).then_some(Stop::Budget)))
        });
        self.slices = slices;
        match stop? {
            Some(Stop::End) | None => {}
            Some(stop) => return Ok(stop),
        }
        // Static columns without a row count as a row, unless the statement restricts rows.
        if let Some(statics) = statics.as_ref().filter(|statics| statics.is_live())
            && !self.position.has_rows
            && self.select.clustering.is_all()
        {
            let view = RowView { key, components: &components, clustering: &[], statics: Some(statics), cells: None };
            self.collector.offer(view)?;
        }
        self.seen(key, None);
        Ok(self.enough().unwrap_or(Stop::End))
    }

    /// Calls `look` for the rows of the slices after `after`, in the order asked for, until it returns a reason to stop.
    fn in_slices(
        &mut self,
        partition: &Partition,
        slices: &Slices,
        after: Option<&[u8]>,
        mut look: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<Option<Stop>>,
    ) -> Result<Option<Stop>> {
        let reversed = self.select.reversed;
        let ordered: Box<dyn Iterator<Item = &(Vec<u8>, Vec<u8>)>> =
            if reversed { Box::new(slices.iter().rev()) } else { Box::new(slices.iter()) };
        for (start, end) in ordered {
            let (mut start, mut end) = (Bound::Included(&**start), &**end);
            if let Some(after) = after {
                match start {
                    Bound::Included(first) if !reversed && after >= first => start = Bound::Excluded(after),
                    _ if reversed && after < end => end = after,
                    _ => {}
                }
            }
            let mut rows = partition.rows(start, Bound::Excluded(end));
            while let Some((sortable, record)) = if reversed { rows.next_back() } else { rows.next() } {
                if let Some(stop) = look(self, sortable, record)? {
                    return Ok(Some(stop));
                }
            }
        }
        Ok(None)
    }
}

/// `count` consecutive `[bytes]`.
pub fn values_of(wire: &[u8], count: usize) -> Vec<&[u8]> {
    let mut at = 0;
    (0..count)
        .map(|_| {
            let (value, end) = record::value_at(wire, at);
            at = end;
            value.bytes().unwrap_or_default()
        })
        .collect()
}
