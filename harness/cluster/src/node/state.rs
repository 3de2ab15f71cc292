//! What the connections of a running node share.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::broadcast;

use crate::analyze::analyze;
use crate::counters::operations::Texts;
use crate::counters::snapshot::Snapshot;
use crate::counters::stats::Stats;
use crate::error::{CqlError, Hex, invalid};
use crate::node::auth::Credentials;
use crate::node::statement::{LONGEST_TEXT, PreparedStatements, Statement};
use crate::plan::{Plan, Prepared, StatementId, statement_id};
use crate::schema::{Ddl, SchemaChange};
use crate::storage::database::Database;
use crate::storage::table::TableStore;
use crate::system::NodeIdentity;

/// Prepared statements in a snapshot beside the executed ones.
const OTHERS_SHOWN: u32 = 1_024;

/// Schema changes that wait for a slow connection before it misses some.
const EVENTS_BEHIND: usize = 1_024;

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

impl Answers {
    /// The most answers of a write.
    pub(crate) fn most_per_write(self) -> usize {
        match self {
            Answers::UpTo(most) => most.get(),
            Answers::Batched | Answers::Reordered => usize::MAX,
        }
    }
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
    /// An address of this machine's loopback interface (127.0.0.0/8).
    pub address: Ipv4Addr,
    /// The port; 0 takes one that is free.
    pub port: u16,
    /// The user and password that clients need; `None` lets anybody in.
    pub credentials: Option<Credentials>,
    /// The delay of each answer.
    pub delay: Duration,
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
}

impl Default for NodeOptions {
    fn default() -> Self {
        NodeOptions {
            address: Ipv4Addr::LOCALHOST,
            port: 0,
            credentials: None,
            delay: Duration::ZERO,
            answers: Answers::default(),
            nap: Duration::ZERO,
            expect_rows: 0,
            threads: None,
            cluster_name: "cqldyno".to_owned(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct NodeState {
    pub(crate) database: Arc<Database>,
    pub(crate) options: NodeOptions,
    pub(crate) identity: NodeIdentity,
    pub(crate) stats: Stats,
    pub(crate) texts: Texts,
    pub(crate) events: broadcast::Sender<Arc<SchemaChange>>,
    delay_us: AtomicU64,
    prepared: RwLock<PreparedStatements>,
    /// Changes when a prepared statement is removed, so that connections empty their caches.
    pub(crate) generation: AtomicU64,
}

impl NodeState {
    pub(crate) fn new(database: Arc<Database>, options: NodeOptions) -> Self {
        let mut identity = NodeIdentity::new(IpAddr::V4(options.address), options.port);
        identity.cluster_name.clone_from(&options.cluster_name);
        let delay = options.delay;
        let state = NodeState {
            database,
            options,
            identity,
            stats: Stats::default(),
            texts: Texts::default(),
            events: broadcast::Sender::new(EVENTS_BEHIND),
            delay_us: AtomicU64::new(0),
            prepared: RwLock::default(),
            generation: AtomicU64::new(0),
        };
        state.set_delay(delay);
        state
    }

    pub(crate) fn set_delay(&self, delay: Duration) {
        self.delay_us.store(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn delay(&self) -> Option<Duration> {
        match self.delay_us.load(Ordering::Relaxed) {
            0 => None,
            delay => Some(Duration::from_micros(delay)),
        }
    }

    pub(crate) fn statement(&self, id: &[u8]) -> Result<Arc<Statement>, CqlError> {
        let found = StatementId::try_from(id)
            .ok()
            .and_then(|id| self.prepared.read().unwrap_or_else(PoisonError::into_inner).by_id.get(&id).cloned());
        found.ok_or_else(|| CqlError::Unprepared(id.to_vec()))
    }

    pub(crate) fn prepare(&self, query: &str, keyspace: Option<&str>) -> Result<Arc<Statement>, CqlError> {
        let id = statement_id(keyspace, query);
        if let Ok(statement) = self.statement(&id) {
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
        let mut all = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
        if all.insert(statement.clone()) {
            self.generation.fetch_add(1, Ordering::Release);
        }
        drop(all);
        drop(catalog);
        Ok(statement)
    }

    pub(crate) fn resolve(
        &self,
        query: &str,
        keyspace: Option<&str>,
    ) -> Result<(Prepared, Option<Arc<TableStore>>), CqlError> {
        let prepared = analyze(query, &self.database.catalog(), keyspace)?;
        let store = self.store_of(&prepared);
        Ok((prepared, store))
    }

    fn store_of(&self, prepared: &Prepared) -> Option<Arc<TableStore>> {
        match &prepared.plan {
            Plan::Batch(_) => None,
            plan => plan.tables().first().and_then(|table| self.database.store(table)),
        }
    }

    /// Changes the schema, forgets the statements of dropped tables, and sends events.
    pub(crate) fn apply(&self, ddl: &Ddl) -> Result<Option<SchemaChange>, CqlError> {
        let Some(change) = self.database.apply(ddl)? else { return Ok(None) };
        if !change.dropped.is_empty() {
            let mut all = self.prepared.write().unwrap_or_else(PoisonError::into_inner);
            all.retain(|statement| {
                let tables = statement.prepared.plan.tables();
                !tables.iter().any(|table| change.dropped.iter().any(|dropped| dropped.id == table.id))
            });
            self.generation.fetch_add(1, Ordering::Release);
        }
        // It is no error if nobody listens.
        if change.table.is_none() {
            for table in &change.dropped {
                let _ = self.events.send(Arc::new(SchemaChange::of_table(change.change, table)));
            }
        }
        let _ = self.events.send(Arc::new(change.clone()));
        Ok(Some(change))
    }

    /// Forgets all prepared statements, as a restart does.
    pub(crate) fn forget_prepared(&self) {
        *self.prepared.write().unwrap_or_else(PoisonError::into_inner) = PreparedStatements::default();
        self.generation.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.stats.snapshot(&self.texts.by_number());
        let listed = snapshot.connections.iter().flat_map(|connection| connection.executes.keys());
        let executed: HashSet<&String> = listed.chain(snapshot.executes_forgotten.keys()).collect();
        let all = self.prepared.read().unwrap_or_else(PoisonError::into_inner);
        let mut others = 0..OTHERS_SHOWN;
        let told = all.by_id.values().map(|statement| (Hex(&statement.id).to_string(), statement));
        let told = told.filter(|(id, _)| executed.contains(id) || others.next().is_some());
        let told: BTreeMap<String, String> = told.map(|(id, statement)| (id, statement.query.clone())).collect();
        drop(all);
        snapshot.prepared = told;
        snapshot.rows_by_table = self.database.rows_by_table();
        snapshot.rows = snapshot.rows_by_table.values().sum();
        snapshot
    }
}
