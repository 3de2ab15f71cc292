//! A script while it is played: what its steps do to which requests, and what they did so far.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use cqldyno_script::{Action, Answer, Kind, Played, Step};
use tokio::sync::broadcast;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::codec::Opcode;
use crate::counters::stats::{Place, lock};
use crate::error::CqlError;
use crate::node::statement::{MOST_STATEMENTS, Statement};
use crate::prepared::StatementId;
use crate::schema::SchemaChange;

/// Effects and events that wait for a busy connection before it misses some.
const BEHIND: usize = 1_024;

const FOR_EVER: u64 = u64::MAX;

/// What connections and listeners are to do.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Close(Arc<Closing>),
    /// Closes the listener and all connections of a node.
    Stop(Fired),
    /// Opens the listener of a node again.
    Start(Fired),
    /// The script has ended: what is closed opens, and what is held is sent.
    End,
}

/// Which connections are to be closed.
#[derive(Debug)]
pub(crate) struct Closing {
    by: Fired,
    pub(crate) is_half: bool,
    left: AtomicU64,
}

impl Closing {
    /// Whether the connection of this place is to be closed, which it counts as touched then. A control connection asked for events.
    pub(crate) fn takes(&self, place: Place, is_control: bool) -> bool {
        let has_left = |left: u64| left.checked_sub(1);
        let is_meant = self.by.is_of(place) && self.by.step().is_of_control() == is_control;
        let takes = is_meant && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_left).is_ok();
        if takes {
            self.by.touch(1);
        }
        takes
    }
}

/// A step of a script that is played.
#[derive(Clone, Debug)]
pub(crate) struct Fired {
    play: Arc<Play>,
    at: usize,
}

impl Fired {
    pub(crate) fn step(&self) -> &Step {
        &self.play.acts[self.at].step
    }

    pub(crate) fn touch(&self, count: u64) {
        self.play.acts[self.at].touched.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn is_of(&self, place: Place) -> bool {
        is_of(self.step(), place)
    }

    /// The number of its node, counting up from 0.
    pub(crate) fn node(&self) -> Option<usize> {
        self.step().node.map(|node| node - 1)
    }

    pub(crate) fn begin(&self) {
        let (act, now) = (&self.play.acts[self.at], self.play.now_us());
        let until = act.step.lasts.map_or(FOR_EVER, |lasts| now.saturating_add(micros(lasts.duration())));
        act.until_us.fetch_max(until, Ordering::Relaxed);
    }

    /// Which connections are to be closed.
    pub(crate) fn closing(&self) -> Closing {
        let step = self.step();
        let left = AtomicU64::new(step.connections.unwrap_or(u64::MAX));
        Closing { by: self.clone(), is_half: step.action == Action::HalfClose, left }
    }

    /// Holds the end of the play back; `None` if it has ended.
    pub(crate) fn goes_on(&self) -> Option<MutexGuard<'_, bool>> {
        Some(lock(&self.play.ended)).filter(|ended| !**ended)
    }

    /// Remembers a statement that a node forgot, as long as there are no more than a node keeps.
    pub(crate) fn forgot(&self, node: usize, statement: Arc<Statement>) {
        let mut forgotten = lock(&self.play.forgotten);
        if forgotten.len() < MOST_STATEMENTS {
            forgotten.insert((node, statement.id), (self.at, statement));
        }
    }
}

fn is_of(step: &Step, place: Place) -> bool {
    step.node.is_none_or(|node| node - 1 == place.node) && step.shard.is_none_or(|shard| Some(shard) == place.shard)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A step, and what it did.
#[derive(Debug)]
struct Act {
    step: Step,
    fired: AtomicU64,
    touched: AtomicU64,
    /// Requests that it is about, if it touches one in several.
    seen: AtomicU64,
    /// Since the start of the play; 0 if it is not going on.
    until_us: AtomicU64,
}

impl Act {
    fn is_about(&self, place: Place, opcode: Opcode) -> bool {
        let kind = match opcode {
            Opcode::Query => Some(Kind::Query),
            Opcode::Prepare => Some(Kind::Prepare),
            Opcode::Execute => Some(Kind::Execute),
            Opcode::Batch => Some(Kind::Batch),
            Opcode::Options => Some(Kind::Options),
            Opcode::Startup => Some(Kind::Startup),
            Opcode::Register => Some(Kind::Register),
            _ => None,
        };
        let is_asked = match self.step.kind {
            None if matches!(self.step.action, Action::Error | Action::Drop) => kind.is_some_and(Kind::is_statement),
            None => true,
            asked => asked == kind,
        };
        is_asked && is_of(&self.step, place)
    }

    /// Counts a request that it is about. Whether it touches this one: one in so many.
    fn picks(&self) -> bool {
        let Some(one_in) = self.step.one_in else { return true };
        (self.seen.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(one_in)
    }
}

/// How late answers are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Late {
    until: Option<Instant>,
    by: Duration,
}

impl Late {
    /// When an answer is due that is ready now; `None` if that is now.
    pub(crate) fn due(self) -> Option<Instant> {
        let by = (!self.by.is_zero()).then(|| Instant::now() + self.by);
        self.until.max(by)
    }
}

/// The step that forgot it and the statement, for each node and id.
type Forgotten = HashMap<(usize, StatementId), (usize, Arc<Statement>)>;

/// One play of a script, from its start to its end.
#[derive(Debug)]
pub(crate) struct Play {
    pub(crate) began: Instant,
    /// QUERYs, EXECUTEs and BATCHes so far.
    statements: AtomicU64,
    acts: Vec<Act>,
    /// What nodes forgot, and because of which step.
    forgotten: Mutex<Forgotten>,
    /// Waits for the next step that has a time.
    pub(crate) timer: OnceLock<AbortHandle>,
    /// Whether it has ended. It is held while a step fires, so that none does so later.
    ended: Mutex<bool>,
}

impl Play {
    fn new(steps: &[Step]) -> Play {
        let act = |step: &Step| Act {
            step: step.clone(),
            fired: AtomicU64::new(0),
            touched: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            until_us: AtomicU64::new(0),
        };
        Play {
            began: Instant::now(),
            statements: AtomicU64::new(0),
            acts: steps.iter().map(act).collect(),
            forgotten: Mutex::default(),
            timer: OnceLock::new(),
            ended: Mutex::new(false),
        }
    }

    fn now_us(&self) -> u64 {
        micros(self.began.elapsed())
    }

    /// The step of this number fires.
    pub(crate) fn fired(self: &Arc<Self>, at: usize) -> Fired {
        self.acts[at].fired.fetch_add(1, Ordering::Relaxed);
        Fired { play: self.clone(), at }
    }

    /// Counts a statement. Returns the steps that fire with it.
    pub(crate) fn count(self: &Arc<Self>) -> Vec<Fired> {
        let number = self.statements.fetch_add(1, Ordering::Relaxed) + 1;
        let fires =
            |step: &Step| step.after == Some(number) || step.every.is_some_and(|every| number.is_multiple_of(every));
        (0..self.acts.len()).filter(|at| fires(&self.acts[*at].step)).map(|at| self.fired(at)).collect()
    }

    /// The steps with a time, in the order of their times.
    pub(crate) fn timed(&self) -> Vec<(Duration, usize)> {
        let at = |(at, act): (usize, &Act)| Some((act.step.at?.duration(), at));
        let mut timed: Vec<(Duration, usize)> = self.acts.iter().enumerate().filter_map(at).collect();
        timed.sort();
        timed
    }

    /// The steps of an action that go on now.
    fn going_on(&self, actions: &[Action]) -> impl Iterator<Item = &Act> {
        let now = self.now_us();
        self.acts
            .iter()
            .filter(move |act| actions.contains(&act.step.action) && act.until_us.load(Ordering::Relaxed) > now)
    }

    /// The error that answers such a request now, if any.
    pub(crate) fn error(&self, place: Place, opcode: Opcode) -> Option<CqlError> {
        self.picked(Action::Error, place, opcode)?.step.error.map(error)
    }

    /// Whether the answer to such a request is dropped now.
    pub(crate) fn drops(&self, place: Place, opcode: Opcode) -> bool {
        self.picked(Action::Drop, place, opcode).is_some()
    }

    /// The first step of this action that touches such a request now.
    fn picked(&self, action: Action, place: Place, opcode: Opcode) -> Option<&Act> {
        let actions = [action];
        let mut going_on = self.going_on(&actions).filter(|act| act.is_about(place, opcode));
        // Each counts the requests that the ones before it leave.
        let act = going_on.find(|act| act.picks())?;
        act.touched.fetch_add(1, Ordering::Relaxed);
        Some(act)
    }

    /// How late the answer to such a request is.
    pub(crate) fn late(&self, place: Place, opcode: Opcode) -> Late {
        let mut late = Late::default();
        let touch = |act: &&Act| act.is_about(place, opcode) && act.picks();
        for act in self.going_on(&[Action::Hold, Action::Delay]).filter(touch) {
            act.touched.fetch_add(1, Ordering::Relaxed);
            match act.step.by {
                Some(by) => late.by = late.by.max(by.duration()),
                None => {
                    let until = Duration::from_micros(act.until_us.load(Ordering::Relaxed));
                    late.until = late.until.max(Some(self.began + until));
                }
            }
        }
        late
    }

    /// Whether the node closes a new connection at once, which counts as touched then.
    pub(crate) fn refuses(&self, node: usize) -> bool {
        let mut refusing = self.going_on(&[Action::Refuse]);
        let act = refusing.find(|act| act.step.node.is_none_or(|one| one - 1 == node));
        act.map(|act| act.touched.fetch_add(1, Ordering::Relaxed)).is_some()
    }

    /// Whether a step made the node forget this statement.
    pub(crate) fn has_forgotten(&self, node: usize, id: StatementId) -> bool {
        lock(&self.forgotten).contains_key(&(node, id))
    }

    /// Counts an UNPREPARED answer of the node, if a step is why. Returns the id then.
    pub(crate) fn unprepared(&self, node: usize, id: &[u8]) -> Option<StatementId> {
        let id = StatementId::try_from(id).ok()?;
        let (at, _) = lock(&self.forgotten).get(&(node, id)).cloned()?;
        self.acts[at].touched.fetch_add(1, Ordering::Relaxed);
        Some(id)
    }
}

fn error(answer: Answer) -> CqlError {
    /// LOCAL_ONE.
    const LEVEL: u16 = 0x000A;
    let by_script = |what: &str| format!("{what}: the script of the embedded cluster says so");
    match answer {
        Answer::ServerError => CqlError::Server(by_script("Server error")),
        Answer::Unavailable => {
            CqlError::Unavailable { what: "LOCAL_ONE".to_owned(), level: LEVEL, required: 1, alive: 0 }
        }
        Answer::Overloaded => CqlError::Overloaded(by_script("Overloaded")),
        Answer::Bootstrapping => CqlError::Bootstrapping(by_script("The node is starting")),
        Answer::WriteTimeout | Answer::ReadTimeout => {
            CqlError::Timeout { writes: answer == Answer::WriteTimeout, level: LEVEL, received: 0, required: 1 }
        }
        Answer::Unauthorized => CqlError::Unauthorized(by_script("Unauthorized")),
        Answer::Invalid => CqlError::Invalid(by_script("Invalid")),
    }
}

/// An event, and how often it is in the write.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) notice: Notice,
    pub(crate) times: u64,
    pub(crate) by: Option<Fired>,
}

/// What an event is about.
#[derive(Debug)]
pub(crate) enum Notice {
    Schema(SchemaChange),
    /// STATUS_CHANGE or TOPOLOGY_CHANGE, what changed, and the node's address.
    Node(&'static str, &'static str, SocketAddr),
}

impl Notice {
    /// The type that clients register for.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Notice::Schema(_) => "SCHEMA_CHANGE",
            Notice::Node(kind, ..) => kind,
        }
    }
}

/// The script of a cluster.
#[derive(Debug)]
pub(crate) struct Script {
    steps: RwLock<Vec<Step>>,
    /// Whether connections that are accepted now may be told to do something.
    is_set: AtomicBool,
    /// Whether the first connection starts it.
    waits: AtomicBool,
    pub(crate) effects: broadcast::Sender<Effect>,
    play: RwLock<Option<Arc<Play>>>,
}

impl Script {
    /// The first connection starts it, if there are steps.
    pub(crate) fn new(steps: Vec<Step>) -> Script {
        Script {
            is_set: AtomicBool::new(!steps.is_empty()),
            waits: AtomicBool::new(!steps.is_empty()),
            steps: RwLock::new(steps),
            effects: broadcast::Sender::new(BEHIND),
            play: RwLock::default(),
        }
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Acquire)
    }

    /// Sets the steps of connections to come.
    pub(crate) fn set(&self, steps: Vec<Step>) {
        let is_set = !steps.is_empty();
        *self.steps.write().unwrap_or_else(PoisonError::into_inner) = steps;
        self.is_set.store(is_set, Ordering::Release);
    }

    /// Whether this connection is the one that starts it.
    pub(crate) fn starts(&self) -> bool {
        self.waits.load(Ordering::Relaxed) && self.waits.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn playing(&self) -> Option<Arc<Play>> {
        self.play.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn begin(&self) -> Arc<Play> {
        let play = Arc::new(Play::new(&self.steps.read().unwrap_or_else(PoisonError::into_inner)));
        *self.play.write().unwrap_or_else(PoisonError::into_inner) = Some(play.clone());
        play
    }

    /// Ends the play: what its steps did, and what nodes forgot.
    pub(crate) fn end(&self) -> (Vec<Played>, Vec<(usize, Arc<Statement>)>) {
        let play = self.play.write().unwrap_or_else(PoisonError::into_inner).take();
        let Some(play) = play else { return Default::default() };
        if let Some(timer) = play.timer.get() {
            timer.abort();
        }
        *lock(&play.ended) = true;
        // It is no error if nobody listens.
        let _ = self.effects.send(Effect::End);
        let told = |act: &Act| Played {
            fired: act.fired.load(Ordering::Relaxed),
            touched: act.touched.load(Ordering::Relaxed),
        };
        let forgotten = lock(&play.forgotten).drain().map(|((node, _), (_, statement))| (node, statement)).collect();
        (play.acts.iter().map(told).collect(), forgotten)
    }
}
