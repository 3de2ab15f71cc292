//! Why a plan cannot be carried out.

use cqldyno_protocol::MOST_IN_FLIGHT;
use cqldyno_reports::{count, whole};
use cqldyno_scenarios::{ScenarioError, Submit, WorkloadError};

use crate::plan::arrangement::Arrangement;
use crate::plan::contender::ContenderError;
use crate::plan::placement::PlacementError;
use crate::plan::target::Target;

/// The most statements in flight on a connection: protocol v4 has 32,768 stream ids, and cdrs-tokio leaves out 0.
pub(super) const STREAMS: usize = 32_767;

/// The most connections to a node: Linux has some 28,000 ports for a client of one address.
pub(super) const MOST_CONNECTIONS: usize = 20_000;

/// Files that worker and node have open besides data connections: their streams, logs, pipes and control connections.
pub(super) const OTHER_FILES: u64 = 64;

/// A plan that cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("a run needs at least one {0}; name one")]
    Nothing(&'static str),
    #[error("{0} was set to 0; use 1 or more")]
    Zero(&'static str),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    #[error(
        "response times are taken at a rate, and the way of submitting {1} of {0} keeps none; leave the pass latency out, or submit by \
         slots"
    )]
    NoRate(String, Submit),
    /// A bad day whose statements cannot be tracked, and why.
    #[error("the day {0} cannot run: {1}")]
    Untraceable(String, String),
    /// A scenario that has no ladder, and why.
    #[error("the scenario {0} has no ladder: {1}")]
    Unclimbable(String, &'static str),
    #[error("the {0} {1} is asked for twice; name it once")]
    Twice(&'static str, String),
    /// A reference that is not among the contenders, and who is.
    #[error("the reference {0:?} is none of the contenders: {1}; name one of them")]
    NoReference(String, String),
    #[error("--concurrency {} was asked for, and at most {} can be in flight; ask for fewer", .0, whole(MOST_IN_FLIGHT as f64))]
    Concurrency(usize),
    /// A point of a sweep that a scenario never reaches: what it is called, the most that it has in flight, and what was asked for.
    #[error("the scenario {0} has at most {1} in flight, and --concurrency asks for {2}; name numbers up to {1}")]
    Point(String, u64, u64),
    #[error(
        "--concurrency {} was asked for, and at most {} can be in flight over {} to a node; ask for fewer, or for more \
         --connections (up to {} in flight)",
        .0,
        whole((STREAMS * .1) as f64),
        count(*.1 as u64, "connection"),
        whole(MOST_IN_FLIGHT as f64)
    )]
    Streams(usize, usize),
    #[error(
        "--connections {} was asked for, and at most {} to a node are possible, because a client has no more ports to one \
         address; ask for fewer",
        .0,
        whole(MOST_CONNECTIONS as f64)
    )]
    Ports(usize),
    #[error(
        "--connections {0} was asked for, and a process may have {1} files open here, of which {OTHER_FILES} are left for other \
         things; ask for fewer, or raise that with `ulimit -n`"
    )]
    Files(usize, u64),
    /// A scenario whose sessions open more connections than files are possible: it, sessions at once, connections of each, and files.
    #[error(
        "the scenario {} opens {} at once with up to {} each, and a process may have {} files open here, of which {OTHER_FILES} are left \
         for other things; ask for a lower --concurrency, or raise that with `ulimit -Hn`",
        .0,
        count(*.1 as u64, "session"),
        count(*.2 as u64, "connection"),
        whole(*.3 as f64)
    )]
    SessionFiles(String, usize, usize, u64),
    /// A scenario whose keyspace the embedded cluster cannot have, and why.
    #[error("the schema of the scenario {0} is refused: {1}")]
    Replication(String, String),
    /// A scenario with a tape that nobody read.
    #[error("the scenario {0} has a tape, which `cqldyno compare` plays; compare with it, or leave the tape out")]
    Unread(String),
    /// A scenario with a script that the cluster cannot play, and why.
    #[error("the script of the scenario {0} cannot be played: {1}")]
    Script(String, String),
    /// A scenario in a keyspace that its schema does not make.
    #[error(
        "the scenario {0} names tables in a keyspace that its schema does not create, or not under a plain name of at most 28 characters, \
         so it would use one of the cluster's; create the keyspace in its schema, or end --target with `,keep`"
    )]
    OthersKeyspace(String),
    /// Loaders that cannot share the load: what was asked, and what to do.
    #[error("--loaders was given, and {0}")]
    Loaders(String),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// An arrangement with cores of its own for a server that we do not place.
    #[error(
        "the arrangement {0} gives the server cores of its own, and the target {1} runs on all; leave pinned+ and --pin out, or pin a \
         cluster of yours and name its address"
    )]
    Unplaced(Arrangement, Target),
    /// A contender that does not speak the target's protocol, the target, and what to do.
    #[error("the contender {0} was asked for on the target {1}, and does not speak its protocol; {2}")]
    OtherProtocol(String, Target, &'static str),
    /// A scenario that has no counterpart in SQL, and its statement.
    #[error(
        "PostgreSQL cannot run the scenario {0}: its statement {1} is not a prepared INSERT or SELECT; leave --target postgres out, or name \
         a scenario such as writes"
    )]
    NotInSql(String, String),
    /// What was asked for in flight, with the number of contenders.
    #[error(
        "PostgreSQL takes at most {2} connections, and each statement in flight has a connection of its own; lower --concurrency from {0} \
         ({1} x {0} were asked for)"
    )]
    Backends(usize, usize, usize),
    /// A contender that encrypts, and a target that is reached without TLS.
    #[error(
        "the contender {0} encrypts its connections, and the target {1} is reached without TLS; add --tls ca=FILE if it is a cluster of \
         yours that encrypts, or leave +tls=on out"
    )]
    Unencrypted(String, Target),
    #[error(transparent)]
    Contender(#[from] ContenderError),
    #[error(transparent)]
    Placement(#[from] PlacementError),
}
