//! What each request does, and its answer.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::broadcast;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::analyze::check_counters;
use crate::codec::Opcode;
use crate::codec::compression::{self, Compression};
use crate::codec::request::{self, BatchQuery, QueryParameters, Values};
use crate::codec::response::{self, MadeRows, ReplyTo};
use crate::counters::operations::Request;
use crate::counters::stats::ConnectionStats;
use crate::cql::{BatchKind, Describe};
use crate::error::{CqlError, Result};
use crate::execute::conditional::conditional;
use crate::execute::select::select;
use crate::execute::values::bind;
use crate::execute::write::{Target, TimestampSource, modify, using_timestamp};
use crate::node::auth::{self, AUTHENTICATOR};
use crate::node::script::{Event, Notice};
use crate::node::state::NodeState;
use crate::node::statement::Statement;
use crate::node::statement_cache::StatementCache;
use crate::prepared::{CqlPlan, Modification, Prepared, StatementId};
use crate::storage::table::TableStore;
use crate::system::{self, SystemView, Trace};
use crate::types::Value;

/// The last statements of a batch, where the next one is looked up first.
const STATEMENTS_REMEMBERED: usize = 16;

/// How often statements are read again because their table was altered meanwhile.
const MOST_AGAIN: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Established,
    Authenticating,
    Ready,
}

pub(crate) struct Requests {
    state: Arc<NodeState>,
    stats: Arc<ConnectionStats>,
    phase: Phase,
    /// The protocol version of STARTUP, and of events.
    pub(crate) version: u8,
    /// That of STARTUP.
    pub(crate) compression: Option<Compression>,
    keyspace: Option<String>,
    /// If the client asked for any.
    pub(crate) events: Option<broadcast::Receiver<Arc<Event>>>,
    /// The types of events that it asked for.
    event_types: Vec<String>,
}

/// An answer: where it is written, and where it goes.
pub(crate) struct Answer<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    pub(crate) to: ReplyTo,
}

impl Requests {
    pub(crate) fn new(state: Arc<NodeState>, stats: Arc<ConnectionStats>) -> Self {
        Requests {
            state,
            stats,
            phase: Phase::Established,
            version: 4,
            compression: None,
            keyspace: None,
            events: None,
            event_types: Vec::new(),
        }
    }

    /// Whether the connection takes statements in frames of this version.
    #[inline]
    pub(crate) fn takes(&self, version: u8) -> bool {
        self.phase == Phase::Ready && version == self.version
    }

    /// The version of an answer: that of STARTUP, once there was one.
    pub(crate) fn version_to(&self, asked: u8) -> u8 {
        if self.phase == Phase::Established { asked } else { self.version }
    }

    /// Writes the answer to a request, unless it is an error.
    pub(crate) async fn answer(
        &mut self,
        opcode: Opcode,
        body: &[u8],
        cache: &mut StatementCache,
        answer: Answer<'_>,
    ) -> Result<()> {
        let Answer { out, to } = answer;
        self.check_version(to.version)?;
        self.check_phase(opcode)?;
        match opcode {
            Opcode::Options => self.supported(out, to),
            Opcode::Startup => self.startup(body, out, to)?,
            Opcode::AuthResponse => {
                let token = request::auth_response(body)?;
                self.state.options.credentials.as_ref().map_or(Ok(()), |known| auth::check(known, token))?;
                self.phase = Phase::Ready;
                response::auth_success(out, to);
            }
            Opcode::Register => {
                self.register(body)?;
                response::ready(out, to);
            }
            Opcode::Prepare => {
                let query = request::prepare(body)?;
                cache.count_operation(Request::Prepare, self.state.texts.number(query), 0);
                let found = self.state.prepare(self.stats.place.node, query, self.keyspace.as_deref())?;
                let Prepared { bind_markers, partition_key_indexes, result_columns, .. } = &*found.prepared;
                response::prepared(out, to, &found.id, bind_markers, partition_key_indexes, result_columns);
            }
            Opcode::Query | Opcode::Batch => {
                let mut answered = Err(CqlError::Stale);
                for _ in 0..=MOST_AGAIN {
                    if answered == Err(CqlError::Stale) {
                        answered = match opcode {
                            Opcode::Query => self.query(body, cache, Answer { out, to }).await,
                            _ => self.batch(body, cache, Answer { out, to }),
                        };
                    }
                }
                answered?;
            }
            Opcode::Execute => self.execute(body, cache, Answer { out, to }).await?,
            other => return Err(CqlError::Protocol(format!("{other} is not a request"))),
        }
        Ok(())
    }

    fn supported(&self, out: &mut Vec<u8>, to: ReplyTo) {
        let extension = self.state.extension(self.stats.place.shard);
        let extension: Vec<_> = extension.iter().map(|(key, value)| (*key, [value.as_str()])).collect();
        let mut options: Vec<(&str, &[&str])> = vec![
            ("COMPRESSION", &compression::OFFERED),
            ("CQL_VERSION", &[system::CQL_VERSION]),
            ("PROTOCOL_VERSIONS", &["3/v3", "4/v4"]),
        ];
        options.extend(extension.iter().map(|(key, value)| (*key, &value[..])));
        response::supported(out, to, &options);
    }

    /// Keeps what was asked for with a trace, and how long it took.
    pub(crate) fn keep_trace(&self, id: Uuid, took: Duration, opcode: Opcode, version: u8, body: &[u8]) {
        let prepared = |id: &[u8]| self.state.statement(self.stats.place.node, id).map(|found| found.query.clone());
        let (request, query) = match opcode {
            Opcode::Query => {
                ("Execute CQL3 query", request::query(body, version).ok().map(|query| query.query.to_owned()))
            }
            Opcode::Prepare => ("Preparing CQL3 query", request::prepare(body).ok().map(str::to_owned)),
            Opcode::Execute => {
                let id = request::execute(body, version).ok().map(|execute| execute.id);
                ("Execute CQL3 prepared query", id.and_then(|id| prepared(id).ok()))
            }
            _ => ("Execute batch of CQL3 queries", None),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.state.keep_trace(Trace {
            id,
            client: self.stats.peer.ip(),
            coordinator: self.state.nodes[self.stats.place.node].address,
            started_ms: i64::try_from(now.saturating_sub(took).as_millis()).unwrap_or(i64::MAX),
            duration_us: i32::try_from(took.as_micros()).unwrap_or(i32::MAX),
            request,
            query: query.unwrap_or_default(),
        });
    }

    /// A connection keeps the version of its STARTUP.
    fn check_version(&self, version: u8) -> Result<()> {
        if self.phase == Phase::Established || version == self.version {
            return Ok(());
        }
        Err(CqlError::Protocol(format!(
            "Invalid message version. Got {version}/v{version} but previous messages on this connection had version {0}/v{0}",
            self.version
        )))
    }

    /// As org.apache.cassandra.transport.ServerConnection.
    fn check_phase(&self, opcode: Opcode) -> Result<()> {
        let why = match (self.phase, opcode) {
            (Phase::Established, Opcode::Startup | Opcode::Options) => return Ok(()),
            (Phase::Established, _) => "expecting STARTUP or OPTIONS",
            (Phase::Authenticating, Opcode::AuthResponse) => return Ok(()),
            (Phase::Authenticating, _) => "expecting AUTH_RESPONSE",
            (Phase::Ready, Opcode::Startup) => "the connection is already initialized",
            (Phase::Ready, Opcode::AuthResponse) => "no authentication is going on",
            (Phase::Ready, _) => return Ok(()),
        };
        Err(CqlError::Protocol(format!("Unexpected message {opcode}, {why}")))
    }

    fn startup(&mut self, body: &[u8], out: &mut Vec<u8>, to: ReplyTo) -> Result<()> {
        let options = request::startup(body)?;
        let option =
            |name: &str| options.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| *value);
        let missing = || CqlError::protocol("Missing value CQL_VERSION in STARTUP message");
        let asked = option("CQL_VERSION").ok_or_else(missing)?;
        let major = asked.split('.').next().and_then(|major| major.parse().ok());
        if major.is_none_or(|major: u32| major < 3) {
            return Err(CqlError::Protocol(format!(
                "CQL version {asked} is not supported by the binary protocol (supported version are >= 3.0.0)"
            )));
        }
        let compression = option("COMPRESSION").filter(|compression| !compression.is_empty());
        self.compression = compression.map(Compression::named).transpose()?;
        self.version = to.version;
        let (name, driver_version) = (option("DRIVER_NAME"), option("DRIVER_VERSION"));
        self.stats.describe(|client| {
            client.driver_name = name.map(str::to_owned);
            client.driver_version = driver_version.map(str::to_owned);
        });
        if self.state.options.credentials.is_some() {
            self.phase = Phase::Authenticating;
            response::authenticate(out, to, AUTHENTICATOR);
        } else {
            self.phase = Phase::Ready;
            response::ready(out, to);
        }
        Ok(())
    }

    fn register(&mut self, body: &[u8]) -> Result<()> {
        let kinds = request::register(body)?;
        let known = ["SCHEMA_CHANGE", "TOPOLOGY_CHANGE", "STATUS_CHANGE"];
        if let Some(kind) = kinds.iter().find(|kind| !known.contains(kind)) {
            return Err(CqlError::Protocol(format!("Invalid value '{kind}' for Type")));
        }
        self.event_types.extend(kinds.iter().map(|kind| (*kind).to_owned()));
        self.events.get_or_insert_with(|| self.state.events.subscribe());
        self.stats.describe(|client| client.registered = true);
        Ok(())
    }

    /// Writes the events that the client asked for.
    pub(crate) fn tell(&self, event: &Event, out: &mut Vec<u8>) {
        if !self.event_types.iter().any(|kind| kind == event.notice.kind()) {
            return;
        }
        for _ in 0..event.times {
            match &event.notice {
                Notice::Schema(change) => response::schema_change_event(out, self.version, change),
                Notice::Node(kind, change, node) => response::node_event(out, self.version, kind, change, *node),
            }
        }
        if let Some(fired) = &event.by {
            fired.touch(1);
        }
    }

    async fn query(&mut self, body: &[u8], cache: &mut StatementCache, answer: Answer<'_>) -> Result<()> {
        let query = request::query(body, answer.to.version)?;
        cache.count_operation(Request::Query, self.state.texts.number(query.query), 0);
        let (prepared, store) = self.state.resolve(query.query, self.keyspace.as_deref())?;
        let wrong = |_, _| "Invalid amount of bind variables".to_owned();
        let (level, serial) = (query.parameters.consistency, query.parameters.serial_consistency);
        self.state.check_consistency(&prepared.plan, level, serial)?;
        let values = bind(&prepared.bind_markers, &query.parameters.values, wrong)?;
        self.run(&prepared, store, &values, &query.parameters, answer).await
    }

    async fn execute(&mut self, body: &[u8], cache: &mut StatementCache, answer: Answer<'_>) -> Result<()> {
        let execute = request::execute(body, answer.to.version)?;
        let id = StatementId::try_from(execute.id).map_err(|_| CqlError::Unprepared(execute.id.to_vec()))?;
        let Some((number, levels, statement)) = cache.find(&self.state, &id) else {
            return Err(CqlError::Unprepared(execute.id.to_vec()));
        };
        let (prepared, store) = (statement.prepared.clone(), statement.store.clone());
        cache.count(number, None);
        let (level, serial) = (execute.parameters.consistency, execute.parameters.serial_consistency);
        if !levels.have(level) {
            self.state.check_consistency(&prepared.plan, level, serial)?;
        }
        let wrong = |markers, given| format!("there were {markers} markers(?) in CQL but {given} bound variables");
        let values = bind(&prepared.bind_markers, &execute.parameters.values, wrong)?;
        cache.count_route(number, &values);
        match self.run(&prepared, store, &values, &execute.parameters, answer).await {
            // As in Cassandra, which forgets the statements on a table that it alters.
            Err(CqlError::Stale) => Err(CqlError::Unprepared(execute.id.to_vec())),
            ran => ran,
        }
    }

    async fn run(
        &mut self,
        prepared: &Prepared,
        store: Option<Arc<TableStore>>,
        values: &[Value<'_>],
        parameters: &QueryParameters<'_>,
        Answer { out, to }: Answer<'_>,
    ) -> Result<()> {
        match &prepared.plan {
            CqlPlan::Select(plan) => {
                let own = |view: &SystemView<'_>| system::store(&plan.table, view).map(Arc::new);
                let store = if plan.table.is_virtual { Some(self.viewed(own)?) } else { store };
                let store = store.ok_or(CqlError::Stale)?;
                let rows = select(&store, plan, values, parameters).await?;
                response::rows(out, to, &prepared.result_columns, parameters.skip_metadata, &rows);
            }
            CqlPlan::Modify(plan) => {
                let store = store.ok_or(CqlError::Stale)?;
                let clock = &self.state.database.clock;
                if plan.condition.is_some() {
                    let (columns, rows) = conditional(&store, &[(plan, values)], clock, false)?;
                    response::rows(out, to, &columns, false, &rows);
                    return Ok(());
                }
                let source = match parameters.timestamp {
                    Some(timestamp) => TimestampSource::Fixed(timestamp),
                    None => TimestampSource::Server(clock.begin()),
                };
                modify(&store, plan, values, source, Target::Shards)?;
                response::void(out, to);
            }
            CqlPlan::Batch(batch) => {
                let own = using_timestamp(batch.timestamp.as_ref(), values)?;
                let mut statements = Vec::with_capacity(batch.statements.len());
                for plan in &batch.statements {
                    let store = self.state.database.store(&plan.table).ok_or(CqlError::Stale)?;
                    statements.push((plan, values, store));
                }
                self.modify_all(&statements, own.or(parameters.timestamp), Answer { out, to })?;
            }
            CqlPlan::Describe(describe, keyspace) => {
                let (columns, rows) = self.describe(describe, keyspace.as_deref())?;
                response::rows(out, to, &columns, false, &rows);
            }
            CqlPlan::Truncate(_) => {
                let store = store.ok_or(CqlError::Stale)?;
                aside(move || store.truncate()).await??;
                response::void(out, to);
            }
            CqlPlan::Use(keyspace) => {
                self.keyspace = Some(keyspace.clone());
                response::set_keyspace(out, to, keyspace);
            }
            CqlPlan::Ddl(ddl) => {
                let (state, ddl) = (self.state.clone(), ddl.clone());
                // Preparing or freeing a table's memory may take a second: not on a thread that serves connections.
                match aside(move || state.apply(&ddl)).await?? {
                    Some(change) => response::schema_change(out, to, &change),
                    None => response::void(out, to),
                }
            }
        }
        Ok(())
    }

    fn describe(&self, describe: &Describe, keyspace: Option<&str>) -> Result<MadeRows> {
        self.viewed(|view| {
            let replicas = keyspace.and_then(|keyspace| self.state.owners(view.catalog, keyspace));
            let owners = replicas.as_ref().map(|replicas| (replicas, &self.state.nodes[..]));
            system::describe(describe, keyspace, owners, view)
        })
    }

    /// Calls `look` with what the node and its peers are, and with the schema.
    fn viewed<T>(&self, look: impl FnOnce(&SystemView<'_>) -> T) -> T {
        let catalog = self.state.database.catalog();
        let mut peers = self.state.nodes.clone();
        let node = peers.remove(self.stats.place.node);
        let traces = self.state.traces.lock().unwrap_or_else(PoisonError::into_inner);
        look(&SystemView { node: &node, peers: &peers, catalog: &catalog, traces: &traces })
    }

    fn batch(&mut self, body: &[u8], cache: &mut StatementCache, answer: Answer<'_>) -> Result<()> {
        let batch = request::batch(body, answer.to.version)?;
        let kind = match batch.kind {
            0 => BatchKind::Logged,
            2 => BatchKind::Counter,
            _ => BatchKind::Unlogged,
        };
        let mut resolved = Vec::with_capacity(batch.statements.len());
        // The prepared statements of the batch with their rows: most batches have one.
        let mut in_it: Vec<(Arc<Statement>, u64)> = Vec::new();
        for (what, values) in batch.statements {
            let (prepared, store) = match what {
                BatchQuery::Text(text) => {
                    let (prepared, store) = self.state.resolve(text, self.keyspace.as_deref())?;
                    (Arc::new(prepared), store)
                }
                BatchQuery::Id(id) => {
                    let mut lately = (0..in_it.len()).rev().take(STATEMENTS_REMEMBERED);
                    let at = match lately.find(|at| in_it[*at].0.id == *id) {
                        Some(at) => at,
                        None => {
                            let statement = self.state.statement(self.stats.place.node, id)?;
                            statement.set_used();
                            in_it.push((statement, 0));
                            in_it.len() - 1
                        }
                    };
                    let (statement, rows) = &mut in_it[at];
                    *rows += 1;
                    (statement.prepared.clone(), statement.store.clone())
                }
            };
            resolved.push((prepared, store, Values::Positional(values)));
        }
        let plans = resolved.iter().map(|(prepared, _, _)| match &prepared.plan {
            CqlPlan::Modify(plan) => Ok(plan),
            _ => Err(CqlError::not_in_a_batch()),
        });
        let plans: Vec<&Modification> = plans.collect::<Result<_>>()?;
        check_counters(kind, plans.iter().copied())?;
        self.state.check_batch(&plans, batch.consistency, batch.serial_consistency)?;
        let request = if kind == BatchKind::Logged { Request::LoggedBatch } else { Request::UnloggedBatch };
        for (statement, rows) in &in_it {
            cache.count_operation(request, self.state.texts.number(&statement.query), *rows);
        }
        let mut statements = Vec::with_capacity(resolved.len());
        for (plan, (prepared, store, values)) in plans.iter().zip(&resolved) {
            let wrong = |markers, given| format!("There were {markers} markers(?) in CQL but {given} bound variables");
            let values = bind(&prepared.bind_markers, values, wrong)?;
            let store = store.clone().ok_or(CqlError::Stale)?;
            statements.push((*plan, values, store));
        }
        let statements: Vec<_> =
            statements.iter().map(|(plan, values, store)| (*plan, &values[..], store.clone())).collect();
        self.modify_all(&statements, batch.timestamp, answer)
    }

    /// Runs all statements of a batch at one timestamp, after a check of each.
    fn modify_all(
        &self,
        statements: &[(&Modification, &[Value<'_>], Arc<TableStore>)],
        timestamp: Option<i64>,
        Answer { out, to }: Answer<'_>,
    ) -> Result<()> {
        let clock = &self.state.database.clock;
        if let Some((_, _, store)) = statements.iter().find(|(plan, ..)| plan.condition.is_some()) {
            let all: Vec<_> = statements.iter().map(|(plan, values, _)| (*plan, *values)).collect();
            let (columns, rows) = conditional(store, &all, clock, true)?;
            response::rows(out, to, &columns, false, &rows);
            return Ok(());
        }
        let timestamp = timestamp.unwrap_or_else(|| clock.begin().timestamp);
        for target in [|| Target::Nowhere, || Target::Shards] {
            for (plan, values, store) in statements {
                modify(store, plan, values, TimestampSource::Fixed(timestamp), target())?;
            }
        }
        response::void(out, to);
        Ok(())
    }
}

async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    spawn_blocking(work).await.map_err(|error| CqlError::Server(format!("The statement was not finished: {error}")))
}
