//! The server agrees: what it counted in the window must be what the worker says that it issued.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use cqldyno_cluster::{
    ConnectionSnapshot, ExecuteTimes, Request, Routed, Snapshot, reads_system_table, without_comment,
};
use cqldyno_meter::Span;
use cqldyno_protocol::Done;
use cqldyno_reports::{count, whole};
use cqldyno_scenarios::{Operation, Scenario, Statement, Workload};
use cqldyno_script::Played;

use crate::judge::due::{Due, due};
use crate::judge::script::slack;

/// The text of a prepared id, as it is compared. An id without a text is no statement of the scenario: those were prepared before the
/// window.
fn text_of<'a>(at: &'a Snapshot, id: &'a str) -> &'a str {
    at.prepared.get(id).map_or(id, String::as_str).trim()
}

/// EXECUTEs by the statement's text and the connection's number.
fn executes(at: &Snapshot) -> BTreeMap<(&str, u64), u64> {
    let mut sums = BTreeMap::new();
    for connection in &at.connections {
        for (id, count) in &connection.executes {
            *sums.entry((text_of(at, id), connection.id)).or_default() += count;
        }
    }
    sums
}

/// Requests and rows of this kind about the statement of this text.
fn operated(at: &Snapshot, request: Request, text: &str) -> (u64, u64) {
    let found = at.operations.iter().find(|one| one.request == request && one.text == text);
    found.map_or((0, 0), |one| (one.count, one.rows))
}

fn statements(at: &Snapshot) -> u64 {
    ["QUERY", "EXECUTE", "BATCH"].iter().filter_map(|opcode| at.opcodes.get(*opcode)).sum()
}

/// QUERYs and EXECUTEs that read system tables, but for those of the texts that `is_asked`.
fn of_system(at: &Snapshot, is_asked: impl Fn(&str) -> bool) -> u64 {
    let is_own = |text: &str| !is_asked(text) && reads_system_table(text);
    let queries = at.operations.iter().filter(|one| one.request == Request::Query && is_own(&one.text));
    let executes = executes(at).into_iter().filter(|((text, _), _)| is_own(text)).map(|(_, count)| count);
    let forgotten = at.executes_forgotten.iter().filter(|(id, _)| is_own(text_of(at, id))).map(|(_, count)| count);
    queries.map(|one| one.count).chain(executes).chain(forgotten.copied()).sum()
}

fn span(times: &ExecuteTimes) -> Span {
    Span { first_ns: times.first_ns, last_ns: times.last_ns }
}

/// How a server reads its connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Reads that brought bytes.
    pub count: u64,
    /// Request frames that were in them.
    pub frames: u64,
    /// Bytes that were in them.
    pub bytes: u64,
}

/// What the server counted in the window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// EXECUTEs by the statement's text, for the scenario's statements only.
    pub by_text: BTreeMap<String, u64>,
    /// The scenario's PREPAREs, QUERYs and BATCHes with their rows, by the statement's text without a comment at its end.
    pub operations: BTreeMap<(Request, String), (u64, u64)>,
    /// Connections that carried them.
    pub connections: u64,
    /// Those of each node that has any, without connections that are closed and no longer listed.
    pub connections_by_node: BTreeMap<usize, u64>,
    /// Open connections of each node to places (a node, or one of its shards) that got none of the statements while others did. Those
    /// that asked for events are left out, because they are control connections.
    pub resting_by_node: BTreeMap<usize, u64>,
    /// EXECUTEs of the scenario that each node got, without those of connections that are no longer listed.
    pub executes_by_node: BTreeMap<usize, u64>,
    /// Where the scenario's EXECUTEs came, if they could have come to a wrong place.
    pub routed: Routed,
    /// Those with each cipher suite, and `None` for no encryption, without those that are closed and no longer listed.
    pub ciphers: BTreeMap<Option<String>, u64>,
    /// Connections that were opened.
    pub opened: u64,
    /// Bytes of all requests, and of all answers and events, before they are encrypted.
    pub bytes: [u64; 2],
    /// Requests of any kind.
    pub requests: u64,
    /// All other requests.
    pub control_requests: u64,
    /// PREPAREs of any text.
    pub prepared: u64,
    /// What each of its steps did.
    pub played: Vec<Played>,
    /// ERROR answers of a cluster that plays a script: what it refuses may be sent again.
    pub refused: u64,
    /// EXECUTEs of the scenario that the script had refused, so that they are in no other count.
    pub executes_refused: u64,
    /// CPU time of the server, nanoseconds.
    pub cpu_ns: u64,
    /// How it read these connections.
    pub reads: Reads,
    /// QUERYs, EXECUTEs and BATCHes that were none of them: the driver's own.
    pub own_statements: u64,
    /// Those among them that read system tables, as drivers do to learn of nodes and schema.
    pub system_statements: u64,
    /// Rows in all tables, after less before.
    pub new_rows: i64,
    /// When the first and the last of the scenario's statements were received.
    pub received: Option<Span>,
}

impl Counted {
    /// The difference of two snapshots, as far as it concerns `scenario`.
    pub fn between(before: &Snapshot, after: &Snapshot, scenario: &Scenario) -> Counted {
        let mut by_text: BTreeMap<String, u64> =
            scenario.statements.iter().map(|statement| (text(&statement.cql), 0)).collect();
        let (mut connections, mut forgotten) = (BTreeSet::new(), 0);
        let mut executes_by_node = BTreeMap::new();
        let nodes: BTreeMap<u64, usize> = after.connections.iter().map(|one| (one.id, one.node)).collect();
        let earlier = executes(before);
        for ((cql, connection), count) in executes(after) {
            let count = count.saturating_sub(earlier.get(&(cql, connection)).copied().unwrap_or(0));
            if let Some(sum) = by_text.get_mut(cql).filter(|_| count > 0) {
                *sum += count;
                connections.insert(connection);
                nodes
                    .get(&connection)
                    .into_iter()
                    .for_each(|node| *executes_by_node.entry(*node).or_default() += count);
            }
        }
        // What they had executed before is no part of the window, whether or not they were listed then.
        let has_gone = |one: &&ConnectionSnapshot| !nodes.contains_key(&one.id);
        let of_gone = |id: &str| -> u64 {
            before.connections.iter().filter(has_gone).filter_map(|one| one.executes.get(id)).sum()
        };
        for (id, count) in &after.executes_forgotten {
            if let Some(sum) = by_text.get_mut(text_of(after, id)) {
                let earlier = before.executes_forgotten.get(id).copied().unwrap_or(0) + of_gone(id);
                *sum += count.saturating_sub(earlier);
                forgotten += after.executes_forgotten_connections.get(id).copied().unwrap_or(0);
            }
        }
        let mut operations: BTreeMap<(Request, String), (u64, u64)> = BTreeMap::new();
        let mut asked = Vec::new();
        for (request, text) in scenario.statements.iter().flat_map(requests_of) {
            let (was, is) = (operated(before, request, &text), operated(after, request, &text));
            let found = after.operations.iter().find(|one| one.request == request && one.text == text);
            operations.insert((request, text), (is.0.saturating_sub(was.0), is.1.saturating_sub(was.1)));
            asked.extend(found);
        }
        // A driver may prepare where it does not execute: only what a scenario asks for as such says where its data go.
        let prepares = scenario.statements.iter().any(|statement| statement.operation == Operation::Prepare);
        for found in asked.iter().filter(|one| prepares || one.request != Request::Prepare) {
            connections.extend(&found.connections);
            forgotten += found.forgotten_connections;
        }
        let grown = |of: &dyn Fn(&Snapshot) -> u64| of(after).saturating_sub(of(before));
        let (mut ciphers, mut connections_by_node, mut places) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        for one in after.connections.iter().filter(|one| connections.contains(&one.id)) {
            *ciphers.entry(one.cipher.clone()).or_default() += 1;
            *connections_by_node.entry(one.node).or_default() += 1;
            places.insert((one.node, one.shard));
        }
        let mut resting_by_node = BTreeMap::new();
        let rests = |one: &&ConnectionSnapshot| one.open && !one.registered && !places.contains(&(one.node, one.shard));
        for one in after.connections.iter().filter(rests).filter(|_| !places.is_empty()) {
            *resting_by_node.entry(one.node).or_default() += 1;
        }
        let routed = |at: &Snapshot, pick: fn(&Routed) -> u64| -> u64 {
            let of_scenario = at.routed.iter().filter(|(id, _)| by_text.contains_key(text_of(at, id)));
            of_scenario.map(|(_, routed)| pick(routed)).sum()
        };
        let routed_more = |pick| routed(after, pick).saturating_sub(routed(before, pick));
        let routed = Routed {
            keyed: routed_more(|one| one.keyed),
            to_replica: routed_more(|one| one.to_replica),
            to_shard: routed_more(|one| one.to_shard),
        };
        let reads = |at: &Snapshot, pick: fn(&ConnectionSnapshot) -> u64| -> u64 {
            at.connections.iter().filter(|one| connections.contains(&one.id)).map(pick).sum()
        };
        let more = |pick| reads(after, pick).saturating_sub(reads(before, pick));
        let reads =
            Reads { count: more(|one| one.reads), frames: more(|one| one.frames), bytes: more(|one| one.read_bytes) };
        let has_script = !scenario.script.is_empty();
        let executes_refused = grown(&|at| {
            let of_scenario = at.executes_refused.iter().filter(|(id, _)| by_text.contains_key(text_of(at, id)));
            of_scenario.map(|(_, count)| count).sum()
        });
        let requests = grown(&|at| at.frames);
        let executes: u64 = by_text.values().sum();
        let of = |is_statement: &dyn Fn(Request) -> bool| -> u64 {
            operations.iter().filter(|((request, _), _)| is_statement(*request)).map(|(_, (count, _))| count).sum()
        };
        let asked_for = executes + of(&|_| true);
        let issued = executes + of(&|request| request != Request::Prepare);
        let own_statements = grown(&statements).saturating_sub(issued);
        let is_asked = |text: &str| by_text.contains_key(text) || operations.keys().any(|(_, asked)| asked == text);
        let system_statements = grown(&|at| of_system(at, is_asked));
        let received = after.execute_times.iter().filter(|(id, _)| by_text.contains_key(text_of(after, id)));
        let received = received.map(|(_, times)| times).chain(asked.iter().filter_map(|one| one.times.as_ref()));
        let received = received.map(span).reduce(|one, other| Span {
            first_ns: one.first_ns.min(other.first_ns),
            last_ns: one.last_ns.max(other.last_ns),
        });
        Counted {
            own_statements,
            system_statements: system_statements.min(own_statements),
            new_rows: after.rows.cast_signed().saturating_sub(before.rows.cast_signed()),
            received,
            by_text,
            operations,
            connections: connections.len() as u64 + forgotten,
            connections_by_node,
            resting_by_node,
            executes_by_node,
            routed,
            ciphers,
            opened: grown(&|at| at.connections_ever),
            bytes: [grown(&|at| at.read_bytes), grown(&|at| at.written_bytes)],
            requests,
            control_requests: requests.saturating_sub(asked_for),
            prepared: grown(&|at| at.opcodes.get("PREPARE").copied().unwrap_or(0)),
            played: Vec::new(),
            refused: grown(&|at| if has_script { at.errors.values().sum() } else { 0 }),
            executes_refused,
            cpu_ns: grown(&|at| (at.cpu_user_us + at.cpu_sys_us) * 1_000),
            reads,
        }
    }

    /// EXECUTEs of the scenario's statements.
    pub fn executes(&self) -> u64 {
        self.by_text.values().sum()
    }

    /// PREPAREs of the statements that the scenario prepares; of any text if it prepares none, because they are the driver's own.
    pub fn prepares(&self) -> u64 {
        let of = |((request, _), (count, _)): (&(Request, String), &(u64, u64))| {
            (*request == Request::Prepare).then_some(*count)
        };
        let mut counts = self.operations.iter().filter_map(of).peekable();
        if counts.peek().is_some() { counts.sum() } else { self.prepared }
    }

    /// The share of the scenario's EXECUTEs that came to the node of `nodes` that got most of them; `None` with one node, or without any.
    pub fn busiest_share(&self, nodes: usize) -> Option<f64> {
        let most = self.executes_by_node.values().max().filter(|_| nodes > 1)?;
        Some(*most as f64 / self.executes_by_node.values().sum::<u64>() as f64)
    }

    /// With the connections, PREPAREs and own statements of `idle`, the idle span after the window.
    #[must_use]
    pub fn with_idle(self, idle: &Counted) -> Counted {
        Counted {
            opened: self.opened + idle.opened,
            prepared: self.prepared + idle.prepared,
            own_statements: self.own_statements + idle.own_statements,
            ..self
        }
    }

    /// A sentence when connections that carried the statements were not encrypted.
    pub fn plain_void(&self) -> Option<String> {
        self.ciphers.get(&None).map(|plain| {
            let connections = count(self.connections, "connection");
            format!("{} of {connections} with statements had no TLS, which was asked for.", grouped(*plain))
        })
    }

    /// A sentence about the cipher suites of connections that were encrypted.
    pub fn encrypted_by(&self) -> Option<String> {
        let suites: Vec<&str> = self.ciphers.keys().flatten().map(String::as_str).collect();
        (!suites.is_empty()).then(|| format!("Its connections are encrypted by {}.", suites.join(" and ")))
    }

    /// A sentence for each statement whose number differs between server and worker.
    pub fn disagreements(&self, scenario: &Scenario, workload: &Workload, done: &Done) -> Vec<String> {
        let slack = slack(&scenario.script, &self.played, done);
        due(scenario, workload, done).iter().flat_map(|due| self.disagrees(due, slack)).collect()
    }

    /// The server may have counted so many statements less than the worker says.
    fn disagrees(&self, due: &Due<'_>, slack: u64) -> Vec<String> {
        let of = |request, text: &str| self.operations.get(&(request, text.to_owned())).copied().unwrap_or_default();
        // Each of them may have been several requests or rows.
        let between = |counted: u64, what: &str, issued: &RangeInclusive<u64>, each: u64| {
            let (least, most) = (*issued.start(), *issued.end());
            let issued = if least < most { format!("{} to {}", grouped(least), grouped(most)) } else { grouped(most) };
            let differ = format!(
                "The server counted {} {what} of the statement {} in the window and the worker says that it issued {issued}.",
                grouped(counted),
                due.names.join(" and "),
            );
            (counted > most || least.saturating_sub(counted) > slack.saturating_mul(each)).then_some(differ)
        };
        let differ = |counted, what, issued, each| between(counted, what, &(issued..=issued), each);
        let executes = self.by_text.get(&due.text).copied().unwrap_or(0);
        let mut sentences = Vec::new();
        if due.unprepared {
            let (queries, _) = of(Request::Query, &due.uncommented);
            sentences.extend(between(executes + queries, "EXECUTEs and QUERYs", &due.executes, 1));
        } else {
            sentences.extend(between(executes, "EXECUTEs", &due.executes, due.pages));
        }
        if let Some(issued) = due.prepares {
            // A driver may prepare on every node, which is a figure of its own.
            let counted = of(Request::Prepare, &due.prepared_as).0;
            sentences.extend(differ(counted.min(issued), "PREPAREs", issued, 1));
        }
        let kinds = [(Request::UnloggedBatch, "unlogged BATCHes"), (Request::LoggedBatch, "logged BATCHes")];
        for ((batches, rows), (request, what)) in due.batches.iter().flatten().zip(kinds) {
            let (counted, counted_rows) = of(request, &due.uncommented);
            let each = rows.end().div_ceil((*batches).max(1));
            sentences.extend(differ(counted, what, *batches, 1));
            sentences.extend(between(counted_rows, &format!("rows in {what}"), rows, each));
        }
        sentences
    }
}

/// The requests besides EXECUTE that a statement may be, each with the text under which the server counts them.
fn requests_of(statement: &Statement) -> Vec<(Request, String)> {
    let uncommented = || without_comment(&statement.cql).to_owned();
    match statement.operation {
        Operation::Execute => Vec::new(),
        Operation::Batch => vec![(Request::UnloggedBatch, uncommented()), (Request::LoggedBatch, uncommented())],
        Operation::Prepare => vec![(Request::Prepare, text(&statement.cql))],
        Operation::Unprepared => vec![(Request::Query, uncommented()), (Request::Prepare, uncommented())],
        Operation::Connect => vec![(Request::Prepare, uncommented())],
    }
}

/// A driver may send so many statements of its own in any case and per minute, and one per 10,000 that are asked for: drivers ask for
/// the cluster's state again and again.
const OWN_STATEMENTS: u64 = 100;
/// What a driver may send for each session that it is asked to make.
const OWN_STATEMENTS_A_SESSION: u64 = 100;
const MINUTE_NS: u128 = 60_000_000_000;

impl Counted {
    /// A sentence when the driver's own statements are so many that they could be those asked for in another way: unprepared, prepared
    /// under another text, in batches, or again. Those that read system tables are left out: their number is a figure. The window took
    /// `wall_ns`.
    pub fn own_statements_void(&self, issued: u64, sessions: u64, wall_ns: u64) -> Option<String> {
        let in_time = u64::try_from(u128::from(OWN_STATEMENTS) * u128::from(wall_ns) / MINUTE_NS).unwrap_or(u64::MAX);
        let most = (OWN_STATEMENTS + issued / 10_000 + OWN_STATEMENTS_A_SESSION * sessions).saturating_add(in_time);
        let own = (self.own_statements - self.system_statements).saturating_sub(self.refused);
        (own > most).then(|| {
            format!(
                "The server counted {} statements of the driver's own in the window, beside the {} asked for; more than {} could \
                 be the same ones sent in another way.",
                grouped(own),
                grouped(issued),
                grouped(most)
            )
        })
    }

    /// A sentence when the tables have another number of new rows than the window's statements write; nothing where that number is
    /// unknown.
    pub fn rows_void(&self, scenario: &Scenario, workload: &Workload, done: &Done) -> Option<String> {
        let statements = &scenario.statements;
        if statements.iter().any(|one| scenario.uncounted(one).is_some()) {
            return None;
        }
        let added = |(index, one): (usize, &Statement)| {
            let issued = done.issued_by_statement.get(&one.name).copied().unwrap_or(0);
            match one.adds {
                Some(rows) => Some(rows.saturating_mul(workload.keys_used(index, issued)?.cast_signed())),
                None if one.read_back.is_some() && !one.is_on_loaded_rows() => {
                    workload.rows_written(index, issued).map(u64::cast_signed)
                }
                // What it changes was loaded.
                None => Some(0),
            }
        };
        let asked: i64 = statements.iter().enumerate().map(added).sum::<Option<i64>>()?;
        let signed = |rows: i64| format!("{}{}", if rows < 0 { "-" } else { "" }, grouped(rows.unsigned_abs()));
        let is_said = statements.iter().any(|one| one.adds.is_some());
        let all = if is_said { "added by the statements" } else { "inserted, each with a key of its own" };
        let most_rows = statements.iter().map(Statement::rows).max().unwrap_or(1);
        let slack = slack(&scenario.script, &self.played, done).saturating_mul(most_rows);
        (self.new_rows.abs_diff(asked) > slack).then(|| {
            let [found, asked] = [self.new_rows, asked].map(signed);
            format!("The server has {found} rows more than before the window, and {asked} were to be {all}.")
        })
    }
}

/// A sentence when new rows of `scenario` are not counted, with the statements because of which they are not.
pub fn rows_not_counted(scenario: &Scenario) -> Option<String> {
    let because = |one: &Statement| Some(format!("the statement {} {}", one.name, scenario.uncounted(one)?));
    let because: Vec<String> = scenario.statements.iter().filter_map(because).collect();
    (!because.is_empty())
        .then(|| format!("New rows in the tables were not counted, because {}.", because.join(" and ")))
}

/// A statement's text as it is compared: without white space around it.
pub(crate) fn text(cql: &str) -> String {
    cql.trim().to_owned()
}

/// What voids a window according to the worker itself.
pub fn voids(done: &Done, asked: u64) -> Vec<String> {
    issued_voids(done, asked).into_iter().chain(answers_void(done)).collect()
}

/// What voids a window because the worker issued another number of statements.
pub fn issued_voids(done: &Done, asked: u64) -> Vec<String> {
    let mut voids = Vec::new();
    let by_statement: u64 = done.issued_by_statement.values().sum();
    if by_statement != done.issued {
        voids.push(format!(
            "The worker says that it issued {} statements and, by statement, {}.",
            grouped(done.issued),
            grouped(by_statement)
        ));
    }
    if done.issued != asked {
        voids.push(format!("{} statements were asked for and {} were issued.", grouped(asked), grouped(done.issued)));
    }
    voids
}

/// What voids a window because statements failed, or were not answered as the scenario says.
pub fn answers_void(done: &Done) -> Option<String> {
    let errors: u64 = done.errors.values().map(|error| error.count).sum();
    if errors > 0 {
        let kinds: Vec<String> =
            done.errors.iter().map(|(kind, error)| format!("{} of kind {kind}", grouped(error.count))).collect();
        return Some(format!(
            "{} of {} statements failed: {}.",
            grouped(errors),
            grouped(done.issued),
            kinds.join(", ")
        ));
    }
    (done.verified != done.issued).then(|| {
        format!(
            "{} statements were issued and {} answered as the scenario says.",
            grouped(done.issued),
            grouped(done.verified)
        )
    })
}

/// What voids a window because the driver had another number of data connections. `sessions` were made for one statement each, beside
/// the worker's own where it `has_own` statements.
pub fn connection_void(found: u64, asked: u64, nodes: u64, sessions: u64, has_own: bool) -> Option<String> {
    let expected = if has_own { asked * nodes + sessions } else { sessions };
    (found != expected).then(|| {
        if sessions > 0 {
            return format!(
                "{} connections carried the statements, and {} were due: one for each of {} sessions that were made for one.",
                grouped(found),
                grouped(expected),
                grouped(sessions)
            );
        }
        format!(
            "{found} connections carried the statements, and {asked} to each of {nodes} {} were asked for.",
            if nodes == 1 { "node" } else { "nodes" }
        )
    })
}

/// Whether connections may stay idle: with fewer statements `in_flight` than there are connections, a driver never needs all of them.
pub fn may_idle(found: u64, asked: u64, nodes: u64, in_flight: u64) -> bool {
    let due = asked * nodes;
    in_flight < due && (1..=due).contains(&found)
}

impl Counted {
    /// The connections of each node, with `asked` at most: those that carried statements, and those that could have, if all statements
    /// went where their keys are.
    pub fn ready_by_node(&self, asked: u64) -> BTreeMap<usize, u64> {
        let mut ready = self.connections_by_node.clone();
        let Routed { keyed, to_replica, to_shard } = self.routed;
        let leads_there = keyed > 0 && (to_replica, to_shard) == (keyed, keyed);
        for (node, resting) in self.resting_by_node.iter().filter(|_| leads_there) {
            let found = ready.entry(*node).or_default();
            *found += asked.saturating_sub(*found).min(*resting);
        }
        ready
    }

    /// A sentence when nodes or shards got none of the statements although the driver has connections to them.
    pub fn hot_node(&self, asked: u64, nodes: u64) -> Option<String> {
        let resting = self.ready_by_node(asked).values().sum::<u64>() - self.connections_by_node.values().sum::<u64>();
        let (node, count) = self.executes_by_node.iter().max_by_key(|(_, count)| **count).filter(|_| resting > 0)?;
        let place = match nodes {
            1 => "Some of the node's shards got all".to_owned(),
            _ => format!("Node {} of {nodes} got {:.0} %", node + 1, 100.0 * *count as f64 / self.executes() as f64),
        };
        Some(format!(
            "{place} of the EXECUTEs, and {} of the driver's open connections carried none: its routing sends these keys there.",
            grouped(resting)
        ))
    }
}

/// What voids a window because a node of several had another number of data connections, as `by_node` has them.
pub fn node_void(by_node: &BTreeMap<usize, u64>, asked: u64, nodes: u64) -> Option<String> {
    let of = |node: u64| by_node.get(&(node as usize)).copied().unwrap_or(0);
    let node = (0..nodes).find(|node| nodes > 1 && of(*node) != asked)?;
    Some(format!(
        "{} connections carried the statements to node {} of {nodes}, and {asked} to each were asked for.",
        grouped(of(node)),
        node + 1
    ))
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: u64) -> String {
    whole(number as f64)
}

#[cfg(test)]
mod tests;
