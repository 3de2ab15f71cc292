//! One connection: reads as much as there is, answers all of it, and writes once.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::codec::frame::{
    FLAG_COMPRESSION, FLAG_CUSTOM_PAYLOAD, FLAG_TRACING, HEADER_LEN, Header, HeaderError, MAX_FRAME_LEN, Opcode,
};
use crate::codec::request;
use crate::codec::response::{self, ReplyTo};
use crate::counters::stats::{ConnectionStats, Tally, monotonic_ns};
use crate::error::{CqlError, Result};
use crate::execute::group::PointGroup;
use crate::node::alarm::Alarm;
use crate::node::play;
use crate::node::requests::{Answer, Requests};
use crate::node::script::{Effect, Event, Late, Play};
use crate::node::state::{Answers, NodeState};
use crate::node::statement_cache::StatementCache;
use crate::node::tls::Encryption;
use crate::prepared::{StatementId, time_uuid};

/// Bytes of the read buffer, unless a longer frame is read.
const INPUT_LEN: usize = 256 * 1024;

/// Answers are written at this length, even if more requests were read.
const OUTPUT_LEN: usize = 1024 * 1024;

/// The most bytes of delayed answers; no more requests are taken then.
const DELAYED_LEN: usize = 64 * 1024 * 1024;

const GROUP_LEN: usize = 4_096;

/// Fewer requests of a read are as good as no work: its thread naps, if it is to.
const LITTLE_WORK: usize = 16;

/// How long a refused client may take to read why and close.
const LINGER: Duration = Duration::from_secs(2);

pub(crate) async fn serve(stream: TcpStream, state: Arc<NodeState>, stats: Arc<ConnectionStats>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("connection {} may be slow: {error}", stats.id);
    }
    // Before a handshake, so that a step of the script closes a connection in it, too.
    let script = script_state(&state);
    match state.options.tls.clone() {
        None => serve_stream(stream, state, stats, script).await,
        // Apart from the path without it, whose future stays small.
        Some(tls) => Box::pin(serve_encrypted(tls, stream, state, stats, script)).await,
    }
}

/// What a connection has of the script, if there is one.
pub(crate) fn script_state(state: &NodeState) -> Option<ScriptState> {
    let begun = || ScriptState { effects: state.script.effects.subscribe(), play: None, late: Late::default() };
    state.script.is_set().then(begun)
}

async fn serve_encrypted(
    tls: Encryption,
    stream: TcpStream,
    state: Arc<NodeState>,
    stats: Arc<ConnectionStats>,
    script: Option<ScriptState>,
) {
    match tls.accept(stream).await {
        Ok(stream) => {
            let suite = stream.get_ref().1.negotiated_cipher_suite();
            stats.describe(|client| client.cipher = suite.map(|suite| format!("{:?}", suite.suite())));
            serve_stream(stream, state, stats, script).await;
        }
        Err(error) => {
            tracing::debug!("connection {} made no TLS handshake: {error}", stats.id);
            drop(Open(state, stats));
        }
    }
}

pub(crate) async fn serve_stream<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    state: Arc<NodeState>,
    stats: Arc<ConnectionStats>,
    script: Option<ScriptState>,
) {
    let _open = Open(state.clone(), stats.clone());
    let id = stats.id;
    if let Err(error) = Connection::new(stream, state, stats, script).run().await {
        tracing::debug!("connection {id} ended: {error}");
    }
}

struct Open(Arc<NodeState>, Arc<ConnectionStats>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.stats.closed(&self.1);
    }
}

enum Wake {
    /// This many bytes were read; 0: the client closed.
    Read(usize),
    Event(Option<Arc<Event>>),
    Due,
    /// Of the script.
    Effect(Effect),
}

/// What a connection that was accepted with a script has of it.
pub(crate) struct ScriptState {
    effects: broadcast::Receiver<Effect>,
    play: Option<Arc<Play>>,
    /// How late the answers in `out` are.
    late: Late,
}

struct Connection<S> {
    stream: S,
    state: Arc<NodeState>,
    stats: Arc<ConnectionStats>,
    /// Bytes read are in `input[start..end]`.
    input: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes still to come of a frame that is too long.
    skip_len: u64,
    out: Vec<u8>,
    /// So many bytes of `out` are not compressed: the answer to STARTUP.
    plain_len: usize,
    group: PointGroup,
    cache: StatementCache,
    requests: Requests,
    tally: Tally,
    delayed: VecDeque<(Instant, Vec<u8>)>,
    delayed_len: usize,
    alarm: Alarm,
    /// When the last answers that were delayed are due, unless the script makes them later.
    last_due: Instant,
    random: fastrand::Rng,
    script: Option<ScriptState>,
    /// Requests of the last read.
    found: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    fn new(stream: S, state: Arc<NodeState>, stats: Arc<ConnectionStats>, script: Option<ScriptState>) -> Self {
        let id = stats.id;
        Connection {
            script,
            stream,
            requests: Requests::new(state.clone(), stats.clone()),
            cache: StatementCache::new(stats.place),
            state,
            stats,
            input: vec![0; INPUT_LEN],
            start: 0,
            end: 0,
            skip_len: 0,
            out: Vec::new(),
            plain_len: 0,
            group: PointGroup::default(),
            tally: Tally::default(),
            delayed: VecDeque::new(),
            delayed_len: 0,
            alarm: Alarm::default(),
            last_due: Instant::now(),
            random: fastrand::Rng::with_seed(id),
            found: 0,
        }
    }

    async fn run(mut self) -> io::Result<()> {
        loop {
            match self.wake().await? {
                Wake::Read(0) => return Ok(()),
                Wake::Read(len) => {
                    self.end += len;
                    self.tally.totals.reads += 1;
                    self.tally.totals.read_bytes += len as u64;
                    self.tally.read_at_ns = monotonic_ns();
                    let input = std::mem::take(&mut self.input);
                    let flow = match self.script {
                        None => self.process::<false>(&input).await,
                        Some(_) => self.process::<true>(&input).await,
                    };
                    self.input = input;
                    self.send().await?;
                    let nap = self.state.options.nap;
                    if self.found < LITTLE_WORK && !nap.is_zero() {
                        // It blocks on purpose: nobody wakes a thread that sleeps between two looks for work.
                        std::thread::sleep(nap);
                    }
                    if flow?.is_break() {
                        return self.linger().await;
                    }
                    self.make_room();
                }
                Wake::Event(event) => {
                    if let Some(event) = event {
                        self.requests.tell(&event, &mut self.out);
                        self.send().await?;
                    }
                }
                Wake::Effect(Effect::Close(closing)) => {
                    if closing.takes(self.stats.place, self.requests.events.is_some()) {
                        return if closing.is_half { self.half_close().await } else { Ok(()) };
                    }
                }
                Wake::Effect(Effect::End) => {
                    self.send_what_is_held();
                }
                // The listener sees to these.
                Wake::Effect(Effect::Stop(_) | Effect::Start(_)) => {}
                Wake::Due => self.write_delayed().await?,
            }
        }
    }

    async fn wake(&mut self) -> io::Result<Wake> {
        let free = self.input.get_mut(self.end..).unwrap_or_default();
        if self.requests.events.is_none() && self.delayed.is_empty() && self.script.is_none() {
            return self.stream.read(free).await.map(Wake::Read);
        }
        let due = self.delayed.front().map(|(due, _)| *due);
        let alarm = &mut self.alarm;
        let wait = async {
            match due {
                Some(due) => alarm.at(due).await,
                None => std::future::pending().await,
            }
        };
        let events = &mut self.requests.events;
        let event = async {
            match events {
                // An error means too many changes for a slow client, which sees the schema when it asks.
                Some(events) => events.recv().await.ok(),
                None => std::future::pending().await,
            }
        };
        let script = &mut self.script;
        let effect = async {
            match script {
                // An error means too many effects for a busy connection: it takes the next one.
                Some(one) => loop {
                    match one.effects.recv().await {
                        Ok(effect) => return effect,
                        Err(RecvError::Lagged(_)) => {}
                        Err(RecvError::Closed) => std::future::pending().await,
                    }
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            effect = effect => Ok(Wake::Effect(effect)),
            () = wait => Ok(Wake::Due),
            event = event => Ok(Wake::Event(event)),
            read = self.stream.read(free) => read.map(Wake::Read),
        }
    }

    /// Moves half a frame to the front, and grows the buffer while a long frame arrives.
    fn make_room(&mut self) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.input.len() > INPUT_LEN {
                self.input = vec![0; INPUT_LEN];
            }
            return;
        }
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.input.len() {
            let longer = (self.input.len() * 2).min(MAX_FRAME_LEN);
            self.input.resize(longer, 0);
        }
    }

    /// Answers all complete frames of `input[start..end]`.
    async fn process<const SCRIPTED: bool>(&mut self, input: &[u8]) -> io::Result<ControlFlow<()>> {
        if SCRIPTED && let Some(one) = &mut self.script {
            one.play = self.state.script.playing();
        }
        self.cache.refresh(&self.state, &self.stats, &mut self.tally);
        self.skip(self.skip_len);
        self.found = 0;
        loop {
            let bytes = &input[self.start..self.end];
            let header = match Header::parse(bytes) {
                Ok(Some(header)) if bytes.len() >= HEADER_LEN + header.length => header,
                Ok(_) => break,
                Err(error) => {
                    self.execute_group(input).await?;
                    if self.refuse(error).is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                    continue;
                }
            };
            let body = (self.start + HEADER_LEN, self.start + HEADER_LEN + header.length);
            if SCRIPTED && self.is_answered_by_script(&header, input).await? {
                self.start = body.1;
                self.found += 1;
                continue;
            }
            let had_others = !self.group.is_empty();
            if !self.add_to_group(&header, input, body) {
                self.execute_group(input).await?;
                if !had_others || !self.add_to_group(&header, input, body) {
                    let error = self.answer(&header, &input[body.0..body.1]).await;
                    self.tally.count_answer(error);
                }
            }
            self.start = body.1;
            self.found += 1;
            if self.group.len() >= GROUP_LEN {
                self.execute_group(input).await?;
            }
            if self.out.len() >= OUTPUT_LEN {
                self.send().await?;
            }
        }
        self.execute_group(input).await?;
        Ok(ControlFlow::Continue(()))
    }

    /// Does what the script says of a request. Returns whether its answer is written already.
    async fn is_answered_by_script(&mut self, header: &Header, input: &[u8]) -> io::Result<bool> {
        let Some(opcode) = Opcode::from_byte(header.opcode).filter(|opcode| opcode.is_request()) else {
            return Ok(false);
        };
        let (place, playing) = (self.stats.place, self.script.as_ref().and_then(|one| one.play.clone()));
        let is_statement = matches!(opcode, Opcode::Query | Opcode::Execute | Opcode::Batch);
        if let Some(play) = playing.as_ref().filter(|_| is_statement)
            && play::count(&self.state, play)
        {
            // Those before it are executed with what was prepared then.
            self.execute_group(input).await?;
            self.cache.refresh(&self.state, &self.stats, &mut self.tally);
        }
        let body = &input[self.start + HEADER_LEN..][..header.length];
        if playing.as_ref().is_some_and(|play| play.drops(place, opcode)) {
            self.execute_group(input).await?;
            // The client hears no more of it.
            let before = (std::mem::take(&mut self.out), self.plain_len);
            self.answer(header, body).await;
            (self.out, self.plain_len) = before;
            return Ok(true);
        }
        let late = playing.as_ref().map_or_else(Late::default, |play| play.late(place, opcode));
        if self.script.as_ref().is_some_and(|one| one.late != late) {
            self.execute_group(input).await?;
            self.send().await?;
            self.script.iter_mut().for_each(|one| one.late = late);
        }
        let Some(play) = playing else { return Ok(false) };
        let Some(error) = play.error(place, opcode) else { return Ok(false) };
        self.tally.count_opcode(Some(opcode));
        if opcode == Opcode::Execute
            && let Some(id) = self.executed_id(header, body)
            && (self.cache.find(&self.state, &id).is_some() || play.has_forgotten(place.node, id))
        {
            self.tally.refused.push(id);
        }
        self.tally.count_answer(Some(error.code()));
        let to = ReplyTo { version: self.requests.version_to(header.version), stream: header.stream };
        response::error(&mut self.out, to, &error);
        Ok(true)
    }

    /// The id in an EXECUTE, if its body is in order.
    fn executed_id(&self, header: &Header, body: &[u8]) -> Option<StatementId> {
        let body = self.decompressed(header, body).ok()?;
        let execute = request::execute(without_payload(header, &body).ok()?, header.version).ok()?;
        StatementId::try_from(execute.id).ok()
    }

    /// Adds a frame to the group, if it is an EXECUTE of a point statement.
    #[inline]
    fn add_to_group(&mut self, header: &Header, input: &[u8], (at, end): (usize, usize)) -> bool {
        if header.opcode != Opcode::Execute as u8 || header.flags != 0 || !self.requests.takes(header.version) {
            return false;
        }
        let Some((&[0, 16], rest)) = input[at..end].split_first_chunk::<2>() else { return false };
        let Some((id, rest)) = rest.split_first_chunk::<16>() else { return false };
        let Some(&consistency) = rest.first_chunk::<2>() else { return false };
        let Some((number, levels, statement)) = self.cache.find(&self.state, id) else { return false };
        if !levels.have(u16::from_be_bytes(consistency)) {
            return false;
        }
        let (Some(point), Some(store)) = (&statement.point, &statement.store) else { return false };
        let Some(token) = self.group.add(point, store, number, header, input, (at + 18, end)) else { return false };
        self.cache.count(number, Some(token));
        self.tally.count_opcode(Some(Opcode::Execute));
        true
    }

    async fn execute_group(&mut self, input: &[u8]) -> io::Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.group.execute(&self.cache, input, &mut self.state.database.clock.begin());
        while !self.group.answer(&self.cache, input, &mut self.out, &mut self.tally, OUTPUT_LEN) {
            self.send().await?;
        }
        Ok(())
    }

    /// Writes the answer to a request. Returns its code if it is an error.
    async fn answer(&mut self, header: &Header, body: &[u8]) -> Option<i32> {
        // A frame of another version is answered in the connection's version.
        let to = ReplyTo { version: self.requests.version_to(header.version), stream: header.stream };
        self.tally.count_opcode(Opcode::from_byte(header.opcode));
        let is_traced = header.flags & FLAG_TRACING != 0;
        let begun = is_traced.then(Instant::now);
        let start = self.out.len();
        let was_plain = self.requests.compression.is_none();
        let body = self.decompressed(header, body);
        let answered = match &body {
            Ok(body) => self.answer_or_error(header, body).await,
            Err(error) => Err(error.clone()),
        };
        let is_run = !matches!(answered, Err(CqlError::Protocol(_)));
        let code = answered.as_ref().err().map(CqlError::code);
        if let Err(error) = answered {
            if let (CqlError::Unprepared(id), Some(ScriptState { play: Some(play), .. })) = (&error, &self.script) {
                let forgotten = play.unprepared(self.stats.place.node, id);
                self.tally.refused.extend(forgotten.filter(|_| header.opcode == Opcode::Execute as u8));
            }
            response::error(&mut self.out, to, &error);
        }
        if let (Some(begun), Some(opcode)) = (begun.filter(|_| is_run), Opcode::from_byte(header.opcode))
            && opcode.is_traceable()
        {
            let id = time_uuid();
            response::trace(&mut self.out, start, *id.as_bytes());
            self.requests.keep_trace(id, begun.elapsed(), opcode, header.version, &body.unwrap_or_default());
        }
        if was_plain && self.requests.compression.is_some() {
            self.plain_len = self.out.len();
        }
        code
    }

    fn decompressed<'b>(&self, header: &Header, body: &'b [u8]) -> Result<Cow<'b, [u8]>> {
        if header.flags & FLAG_COMPRESSION == 0 {
            return Ok(Cow::Borrowed(body));
        }
        let Some(compression) = self.requests.compression else {
            let text = "A frame is marked as compressed, and STARTUP asked for no compression";
            return Err(CqlError::protocol(text));
        };
        compression.decompress(body).map(Cow::Owned)
    }

    async fn answer_or_error(&mut self, header: &Header, body: &[u8]) -> Result<()> {
        let Some(opcode) = Opcode::from_byte(header.opcode) else {
            return Err(CqlError::Protocol(format!("Unknown opcode {}", header.opcode)));
        };
        if !opcode.is_request() {
            return Err(CqlError::Protocol(format!(
                "Wrong protocol direction (expected REQUEST, got RESPONSE) for opcode {} ({opcode})",
                header.opcode
            )));
        }
        let body = without_payload(header, body)?;
        let answer = Answer { out: &mut self.out, to: ReplyTo::request(header) };
        self.requests.answer(opcode, body, &mut self.cache, answer).await?;
        // It may have changed the schema.
        self.cache.refresh(&self.state, &self.stats, &mut self.tally);
        Ok(())
    }

    /// Answers a frame with a refused header. The connection can go on after a frame that is too long.
    fn refuse(&mut self, error: HeaderError) -> ControlFlow<()> {
        let (version, stream) = error.place();
        let to = ReplyTo { version, stream };
        let answer = CqlError::from(error);
        self.tally.count_opcode(None);
        self.tally.count_answer(Some(answer.code()));
        response::error(&mut self.out, to, &answer);
        let HeaderError::Length { length, .. } = error else { return ControlFlow::Break(()) };
        self.skip(length);
        ControlFlow::Continue(())
    }

    /// Drops the next `len` bytes of the input, those that are still to come too.
    fn skip(&mut self, len: u64) {
        let here = usize::try_from(len).unwrap_or(usize::MAX).min(self.end - self.start);
        self.start += here;
        self.skip_len = len - here as u64;
    }

    /// Publishes the counters, then writes the answers or delays them.
    async fn send(&mut self) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.out);
        if let Some(compression) = self.requests.compression.filter(|_| !out.is_empty()) {
            let plain_len = std::mem::take(&mut self.plain_len);
            out = compression.compress(&out, plain_len).map_err(io::Error::other)?;
        }
        self.tally.totals.written_bytes += out.len() as u64;
        self.cache.publish(&self.stats, &mut self.tally);
        if out.is_empty() {
            self.out = out;
            return Ok(());
        }
        if self.state.options.answers == Answers::Reordered {
            out = self.shuffled(&out);
        }
        let delay = self.state.delay(&mut self.random);
        let (is_scripted, late) = self.script.as_ref().map_or((false, None), |one| (true, one.late.due()));
        if delay.is_some() || late.is_some() || !(self.delayed.is_empty() || is_scripted) {
            // As on a network, answers overtake no others because of their delay.
            self.last_due = self.last_due.max(Instant::now() + delay.unwrap_or_default());
            let due = self.last_due.max(late.unwrap_or(self.last_due));
            self.delayed_len += out.len();
            // What a script holds back is no reason for others to wait.
            let at = match is_scripted {
                true => self.delayed.partition_point(|(other, _)| *other <= due),
                false => self.delayed.len(),
            };
            self.delayed.insert(at, (due, out));
            while self.delayed_len >= DELAYED_LEN {
                self.write_delayed().await?;
            }
            return Ok(());
        }
        self.write(&out).await?;
        out.clear();
        out.shrink_to(2 * OUTPUT_LEN);
        self.out = out;
        Ok(())
    }

    /// The script has ended: what it holds back is due.
    fn send_what_is_held(&mut self) {
        let now = Instant::now();
        self.delayed.iter_mut().for_each(|(due, _)| *due = now.min(*due));
        self.script.iter_mut().for_each(|one| one.late = Late::default());
    }

    async fn write_delayed(&mut self) -> io::Result<()> {
        if let Some((due, answers)) = self.delayed.pop_front() {
            self.delayed_len -= answers.len();
            let script = &mut self.script;
            let ended = async {
                match script {
                    Some(one) => while !matches!(one.effects.recv().await, Ok(Effect::End) | Err(RecvError::Closed)) {},
                    None => std::future::pending().await,
                }
            };
            let has_ended = tokio::select! {
                biased;
                () = self.alarm.at(due) => false,
                () = ended => true,
            };
            if has_ended {
                self.send_what_is_held();
            }
            self.write(&answers).await?;
        }
        Ok(())
    }

    async fn write(&mut self, answers: &[u8]) -> io::Result<()> {
        let Answers::UpTo(most) = self.state.options.answers else {
            self.tally.totals.writes += 1;
            self.stream.write_all(answers).await?;
            return self.stream.flush().await;
        };
        let mut left = answers;
        while !left.is_empty() {
            let length = response::frames(left).take(most.get()).map(<[u8]>::len).sum();
            let (now, later) = left.split_at(length);
            self.tally.totals.writes += 1;
            self.stream.write_all(now).await?;
            self.stream.flush().await?;
            left = later;
        }
        Ok(())
    }

    fn shuffled(&mut self, answers: &[u8]) -> Vec<u8> {
        let mut frames: Vec<&[u8]> = response::frames(answers).collect();
        self.random.shuffle(&mut frames);
        frames.concat()
    }

    /// Shuts the write side down. What the client sends from now on is read and dropped, until it closes or the script ends.
    async fn half_close(mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        // Nobody gets these any more.
        self.delayed.clear();
        loop {
            (self.start, self.end) = (0, 0);
            match self.wake().await? {
                Wake::Read(0) | Wake::Effect(Effect::End) => return Ok(()),
                _ => {}
            }
        }
    }

    /// Lets the client read the error: closing with unread bytes would discard it.
    async fn linger(mut self) -> io::Result<()> {
        while !self.delayed.is_empty() {
            self.write_delayed().await?;
        }
        self.stream.shutdown().await?;
        let drain = async {
            while self.stream.read(&mut self.input).await? > 0 {}
            Ok(())
        };
        tokio::time::timeout(LINGER, drain).await.unwrap_or(Ok(()))
    }
}

/// The body of a request after its custom payload, if it has one.
fn without_payload<'b>(header: &Header, body: &'b [u8]) -> Result<&'b [u8]> {
    if header.flags & FLAG_CUSTOM_PAYLOAD == 0 || header.version < 4 {
        return Ok(body);
    }
    Ok(request::after_custom_payload(body)?)
}
