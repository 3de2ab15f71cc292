//! What the connections of a running node share.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use cqldyno_driver_api::Credentials;
use cqldyno_script::Step;
use tokio::sync::broadcast;

use crate::analyze::analyze;
use crate::consistency::{Access, Levels, ReplicaCount, SERIAL};
use crate::counters::operations::Texts;
use crate::counters::snapshot::Snapshot;
use crate::counters::stats::Stats;
use crate::error::{CqlError, Hex, Result, invalid};
use crate::node::delay::Delay;
use crate::node::script::{Event, Fired, Notice, Script};
use crate::node::statement::{LONGEST_TEXT, PreparedStatements, Statement};
use crate::node::tls::{Encryption, EncryptionError};
use crate::prepared::{CqlPlan, Modification, Prepared, StatementId, statement_id};
use crate::ring::{IGNORED_BITS, Replicas, Ring, Topology};
use crate::schema::{Catalog, Ddl, Definition, SchemaChange, Table, is_of_the_system};
use crate::storage::database::Database;
use crate::storage::table::TableStore;
use crate::system::{self, NodeIdentity, PARTITIONER, Trace, VIRTUAL_SCHEMA};

/// Prepared statements in a snapshot beside the executed ones.
const OTHERS_SHOWN: u32 = 1_024;

/// Schema changes that wait for a slow connection before it misses some.
const EVENTS_BEHIND: usize = 1_024;

const TRACES_KEPT: usize = 64;

/// How answers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Answers {
    /// The answers to all requests of one read with one write, in the order of the requests.
    #[default]
    Batched,
    /// At most so many answers per write.
    UpTo(NonZeroUsize),
    /// As batched, with the answers of a write in random order.
    Reordered,
}

impl fmt::Display for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answers::Batched => f.write_str("batched"),
            Answers::UpTo(NonZeroUsize::MIN) => f.write_str("each"),
            Answers::UpTo(most) => write!(f, "{most}"),
            Answers::Reordered => f.write_str("reordered"),
        }
    }
}

impl FromStr for Answers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "batched" => Ok(Answers::Batched),
            "each" => Ok(Answers::UpTo(NonZeroUsize::MIN)),
            "reordered" => Ok(Answers::Reordered),
            number => number.parse().map(Answers::UpTo).map_err(|_| {
                format!("answers can be written batched, each, reordered or at most COUNT per write, not {text:?}")
            }),
        }
    }
}

/// The settings of a node.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// An address of this machine's loopback interface (127.0.0.0/8); further nodes have those that follow.
    pub address: Ipv4Addr,
    /// The port of every node; 0 takes one that is free.
    pub port: u16,
    /// How many nodes there are, and what each has.
    pub topology: Topology,
    /// The user and password that clients need; `None` lets anybody in.
    pub credentials: Option<Credentials>,
    /// What connections are encrypted with; `None` for plain text. See [`NodeOptions::encryption`].
    pub tls: Option<Encryption>,
    /// The delay of each answer.
    pub delay: Delay,
    /// How answers are written.
    pub answers: Answers,
    /// How long a thread sleeps after a read of few requests, as those of an idle pool may; zero for not at all.
    pub nap: Duration,
    /// Rows of the first table whose memory is ready beforehand, so that inserts cause no page faults.
    pub expect_rows: u64,
    /// Threads that serve connections; `None`: one per core.
    pub threads: Option<usize>,
    /// The name in `system.local`.
    pub cluster_name: String,
    /// What it does on purpose. The first connection starts the clock of the script.
    pub script: Vec<Step>,
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            address: Ipv4Addr::LOCALHOST,
            port: 0,
            topology: Topology::default(),
            credentials: None,
            tls: None,
            delay: Delay::default(),
            answers: Answers::default(),
            nap: Duration::ZERO,
            expect_rows: 0,
            threads: None,
            cluster_name: "cqldyno".to_owned(),
            script: Vec::new(),
        }
    }
}

impl NodeOptions {
    /// TLS with a certificate for the addresses of its nodes.
    ///
    /// # Errors
    /// When the cryptography fails.
    pub fn encryption(&self) -> Result<Encryption, EncryptionError> {
        Encryption::new((0..self.topology.nodes).map(|node| self.address_of(node)))
    }

    /// The address of a node, counting up from 0.
    pub(crate) fn address_of(&self, node: usize) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(self.address).saturating_add(node as u32))
    }
}

/// Where a connection's shard follows from the client's port: as far from the usual port as ScyllaDB's.
pub(crate) fn shard_aware_port(port: u16) -> u16 {
    const APART: u16 = 10_000;
    port.checked_add(APART).unwrap_or(port - APART)
}

/// Refuses a CREATE KEYSPACE that such a cluster refuses, and lets any other text pass.
///
/// # Errors
/// The sentence of the cluster's error.
pub fn check_keyspace(cql: &str, topology: Topology) -> Result<(), String> {
    match analyze(cql, &system::catalog(), None).map(|prepared| prepared.plan) {
        Ok(CqlPlan::Ddl(Ddl { definition: Definition::CreateKeyspace(keyspace), .. })) => {
            topology.check(&keyspace.name, &keyspace.replication).map_err(|error| error.to_string())
        }
        _ => Ok(()),
    }
}

/// What a statement does; `None` for what has no replicas.
fn access(plan: &CqlPlan, serial: Option<u16>) -> Option<Access<'_>> {
    match plan {
        CqlPlan::Select(select) => (&*select.table.keyspace != VIRTUAL_SCHEMA).then_some(Access::Read),
        CqlPlan::Modify(plan) if plan.table.has_counters() => Some(Access::Count(&plan.table.name)),
        CqlPlan::Modify(plan) if plan.condition.is_none() => Some(Access::Write),
        CqlPlan::Modify(_) => Some(Access::Conditional(serial.unwrap_or(SERIAL))),
        CqlPlan::Batch(_) => Some(Access::Batch),
        CqlPlan::Truncate(_) | CqlPlan::Use(_) | CqlPlan::Ddl(_) | CqlPlan::Describe(..) => None,
    }
}

#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) database: Arc<Database>,
    pub(crate) options: NodeOptions,
    /// One per node.
    pub(crate) nodes: Vec<NodeIdentity>,
    ring: Ring,
    pub(crate) stats: Stats,
    pub(crate) texts: Texts,
    pub(crate) events: broadcast::Sender<Arc<Event>>,
    pub(crate) script: Script,
    delay_us: AtomicU64,
    /// The last requests that were traced.
    pub(crate) traces: Mutex<Vec<Trace>>,
    /// One per node.
    prepared: Vec<RwLock<PreparedStatements>>,
    /// Changes when a prepared statement is removed, so that connections empty their caches.
    pub(crate) generation: AtomicU64,
}

impl NodeState {
    pub(crate) fn new(database: Arc<Database>, options: NodeOptions) -> Self {
        let (topology, ring) = (options.topology, Ring::new(options.topology));
        let node = |number: usize| NodeIdentity {
            cluster_name: options.cluster_name.clone(),
            rack: topology.rack(number),
            tokens: ring.tokens_of(number),
            ..NodeIdentity::new(IpAddr::V4(options.address_of(number)), options.port)
        };
        let nodes: Vec<NodeIdentity> = (0..topology.nodes).map(node).collect();
        let (delay, script) = (options.delay, Script::new(options.script.clone()));
        let state = NodeState {
            database,
            options,
            prepared: nodes.iter().map(|_| RwLock::default()).collect(),
            nodes,
            ring,
            stats: Stats::default(),
            texts: Texts::default(),
            events: broadcast::Sender::new(EVENTS_BEHIND),
            script,
            delay_us: AtomicU64::new(0),
            traces: Mutex::default(),
            generation: AtomicU64::new(0),
        };
        state.set_delay(delay.mean());
        state
    }

    pub(crate) fn set_delay(&self, delay: Duration) {
        self.delay_us.store(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// How late the next answers are.
    pub(crate) fn delay(&self, random: &mut fastrand::Rng) -> Option<Duration> {
        match self.delay_us.load(Ordering::Relaxed) {
            0 => None,
            mean => Some(self.options.delay.drawn(Duration::from_micros(mean), random)),
        }
    }

    pub(crate) fn statement(&self, node: usize, id: &[u8]) -> Result<Arc<Statement>> {
        let found = StatementId::try_from(id)
            .ok()
            .and_then(|id| self.prepared[node].read().unwrap_or_else(PoisonError::into_inner).by_id.get(&id).cloned());
        found.ok_or_else(|| CqlError::Unprepared(id.to_vec()))
    }

    pub(crate) fn prepare(&self, node: usize, query: &str, keyspace: Option<&str>) -> Result<Arc<Statement>> {
        let id = statement_id(keyspace, query);
        if let Ok(statement) = self.statement(node, &id) {
            statement.set_used();
            return Ok(statement);
        }
        if query.len() > LONGEST_TEXT {
            let len = query.len();
            return invalid(format!(
                "The statement to prepare has {len} bytes, the embedded cluster takes at most {LONGEST_TEXT}"
            ));
        }
        // The catalog stays locked until the statement is kept, where a change of the catalog finds it.
        let catalog = self.database.catalog();
        let prepared = analyze(query, &catalog, keyspace)?;
        let store = self.store_of(&prepared);
        let statement = Arc::new(Statement::new(id, query.to_owned(), prepared, store));
        let mut all = self.prepared[node].write().unwrap_or_else(PoisonError::into_inner);
        if all.insert(statement.clone()) {
            self.generation.fetch_add(1, Ordering::Release);
        }
        drop(all);
        drop(catalog);
        Ok(statement)
    }

    pub(crate) fn resolve(&self, query: &str, keyspace: Option<&str>) -> Result<(Prepared, Option<Arc<TableStore>>)> {
        let prepared = analyze(query, &self.database.catalog(), keyspace)?;
        let store = self.store_of(&prepared);
        Ok((prepared, store))
    }

    /// Who owns the rows of a statement, if its EXECUTEs can come to a wrong place.
    pub(crate) fn replicas(&self, prepared: &Prepared) -> Option<Replicas> {
        if !self.options.topology.can_misroute() || prepared.partition_key_indexes.is_empty() {
            return None;
        }
        let tables = prepared.plan.tables();
        let catalog = self.database.catalog();
        Some(self.ring.replicas(&catalog.keyspace(&tables.first()?.keyspace)?.replication))
    }

    /// Who owns the ranges of a keyspace; `None` for those that each node has for itself.
    pub(crate) fn owners(&self, catalog: &Catalog, keyspace: &str) -> Option<Replicas> {
        let keyspace = catalog.keyspace(keyspace).filter(|keyspace| !is_of_the_system(&keyspace.name))?;
        Some(self.ring.replicas(&keyspace.replication))
    }

    /// The consistency levels at which a statement can be executed. Batches and conditions are decided elsewhere: here they get none.
    pub(crate) fn levels(&self, plan: &CqlPlan) -> Levels {
        match access(plan, None) {
            None => Levels::ALL,
            Some(Access::Batch | Access::Conditional(_)) => Levels::default(),
            Some(access) => self.replica_count(plan.tables().first().copied()).levels(access),
        }
    }

    /// Refuses a consistency level that does not fit a statement, or that needs more replicas than there are nodes.
    pub(crate) fn check_consistency(&self, plan: &CqlPlan, level: u16, serial: Option<u16>) -> Result<()> {
        match plan {
            CqlPlan::Batch(batch) => self.check_batch(&batch.statements.iter().collect::<Vec<_>>(), level, serial),
            _ => access(plan, serial)
                .map_or(Ok(()), |access| self.replica_count(plan.tables().first().copied()).check(level, access)),
        }
    }

    pub(crate) fn check_batch(&self, plans: &[&Modification], level: u16, serial: Option<u16>) -> Result<()> {
        let access = match plans.iter().any(|plan| plan.condition.is_some()) {
            true => Access::Conditional(serial.unwrap_or(SERIAL)),
            false => Access::Batch,
        };
        // Most batches are of one keyspace.
        let mut of_keyspaces = plans.chunk_by(|one, next| one.table.keyspace == next.table.keyspace);
        of_keyspaces
            .try_for_each(|plans| self.replica_count(plans.first().map(|plan| &plan.table)).check(level, access))
    }

    fn replica_count(&self, table: Option<&Arc<Table>>) -> ReplicaCount {
        let catalog = self.database.catalog();
        let keyspace = table.and_then(|table| catalog.keyspace(&table.keyspace));
        keyspace.map_or(ReplicaCount::LOCAL, |keyspace| ReplicaCount::of(&keyspace.replication, self.options.topology))
    }

    /// What SUPPORTED says of ScyllaDB's sharding extension on a connection to this shard.
    pub(crate) fn extension(&self, shard: Option<usize>) -> Vec<(&'static str, String)> {
        let of = |shard: usize, shards: usize| {
            vec![
                ("SCYLLA_SHARD", shard.to_string()),
                ("SCYLLA_NR_SHARDS", shards.to_string()),
                ("SCYLLA_PARTITIONER", PARTITIONER.to_owned()),
                ("SCYLLA_SHARDING_ALGORITHM", "biased-token-round-robin".to_owned()),
                ("SCYLLA_SHARDING_IGNORE_MSB", IGNORED_BITS.to_string()),
                ("SCYLLA_SHARD_AWARE_PORT", shard_aware_port(self.options.port).to_string()),
            ]
        };
        shard.zip(self.options.topology.shards).map_or_else(Vec::new, |(shard, shards)| of(shard, shards))
    }

    fn store_of(&self, prepared: &Prepared) -> Option<Arc<TableStore>> {
        match &prepared.plan {
            CqlPlan::Batch(_) => None,
            plan => plan.tables().first().and_then(|table| self.database.store(table)),
        }
    }

    /// Changes the schema, forgets the statements of dropped and altered tables, and sends events.
    pub(crate) fn apply(&self, ddl: &Ddl) -> Result<Option<SchemaChange>> {
        if let Definition::CreateKeyspace(keyspace) | Definition::AlterKeyspace(keyspace) = &ddl.definition
            && !keyspace.replication.is_empty()
        {
            self.options.topology.check(&keyspace.name, &keyspace.replication)?;
        }
        let Some(change) = self.database.apply(ddl, |change| self.forget_changed(ddl, change))? else {
            return Ok(None);
        };
        for event in change.events() {
            // It is no error if nobody listens.
            let _ = self.events.send(Arc::new(Event { notice: Notice::Schema(event), times: 1, by: None }));
        }
        Ok(Some(change))
    }

    /// Forgets the statements on tables that are dropped or altered.
    fn forget_changed(&self, ddl: &Ddl, change: &SchemaChange) {
        let altered = change.altered.iter().filter(|altered| altered.affects_statements()).map(|altered| &altered.old);
        let gone: Vec<&Arc<Table>> = change.dropped.iter().chain(altered).collect();
        if !gone.is_empty() {
            for prepared in &self.prepared {
                prepared.write().unwrap_or_else(PoisonError::into_inner).retain(|statement| {
                    let tables = statement.prepared.plan.tables();
                    !tables.iter().any(|table| gone.iter().any(|gone| gone.id == table.id))
                });
            }
        }
        // Connections look up who the replicas are when a statement is not in their cache.
        if !gone.is_empty() || matches!(ddl.definition, Definition::AlterKeyspace(_)) {
            self.generation.fetch_add(1, Ordering::Release);
        }
    }

    /// Keeps a trace, and forgets the oldest one of many.
    pub(crate) fn keep_trace(&self, trace: Trace) {
        let mut traces = self.traces.lock().unwrap_or_else(PoisonError::into_inner);
        if traces.len() >= TRACES_KEPT {
            traces.remove(0);
        }
        traces.push(trace);
    }

    /// Forgets all prepared statements, as a restart does.
    pub(crate) fn forget_prepared(&self) {
        for prepared in &self.prepared {
            *prepared.write().unwrap_or_else(PoisonError::into_inner) = PreparedStatements::default();
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Forgets what a step of the script says, on its node or on all.
    pub(crate) fn forget(&self, fired: &Fired) {
        let one_in = usize::try_from(fired.step().one_in.unwrap_or(1)).unwrap_or(usize::MAX);
        for (node, prepared) in self.prepared.iter().enumerate() {
            if fired.node().is_none_or(|one| one == node) {
                let gone = prepared.write().unwrap_or_else(PoisonError::into_inner).forget_one_in(one_in);
                gone.into_iter().for_each(|statement| fired.forgot(node, statement));
            }
        }
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Knows these statements again, each on its node.
    pub(crate) fn remember(&self, forgotten: Vec<(usize, Arc<Statement>)>) {
        // A table may have been dropped meanwhile, or made anew.
        let is_there = |statement: &Statement| {
            let tables = statement.prepared.plan.tables();
            statement.store.is_none() || tables.iter().all(|table| self.database.store(table).is_some())
        };
        for (node, statement) in forgotten.into_iter().filter(|(_, statement)| is_there(statement)) {
            let mut prepared = self.prepared[node].write().unwrap_or_else(PoisonError::into_inner);
            if !prepared.by_id.contains_key(&statement.id) {
                prepared.insert(statement);
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.stats.snapshot(&self.texts.by_number());
        let listed = snapshot.connections.iter().flat_map(|connection| connection.executes.keys());
        let executed: HashSet<&String> =
            listed.chain(snapshot.executes_forgotten.keys()).chain(snapshot.executes_refused.keys()).collect();
        let mut prepared: BTreeMap<String, String> = BTreeMap::new();
        let mut others = 0..OTHERS_SHOWN;
        for all in &self.prepared {
            let all = all.read().unwrap_or_else(PoisonError::into_inner);
            let told = all.by_id.values().map(|statement| (Hex(&statement.id).to_string(), statement));
            let told = told.filter(|(id, _)| executed.contains(id) || others.next().is_some());
            prepared.extend(told.map(|(id, statement)| (id, statement.query.clone())));
        }
        snapshot.prepared = prepared;
        snapshot.rows_by_table = self.database.rows_by_table();
        snapshot.rows = snapshot.rows_by_table.values().sum();
        snapshot
    }
}
