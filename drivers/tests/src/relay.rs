//! A relay between driver and server: it counts and watches frames, and slows, fails and cuts connections.
//!
//! It knows frame headers (native_protocol_v4.spec section 2), STARTUP, PREPARE, EXECUTE, REGISTER and their answers. Because it
//! is separate from both, the same behaviours can be tried against any server.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

const ERROR: u8 = 0x00;
const STARTUP: u8 = 0x01;
const RESULT: u8 = 0x08;
const PREPARE: u8 = 0x09;
const EXECUTE: u8 = 0x0A;
const REGISTER: u8 = 0x0B;
const HEADER: usize = 9;
const COMPRESSED: u8 = 0x01;
/// The flags of query parameters (section 4.1.4).
const VALUES: u8 = 0x01;
const PAGE_SIZE: u8 = 0x04;
const NAMES: u8 = 0x40;
const UNPREPARED: i32 = 0x2500;
const UNAVAILABLE: i32 = 0x1000;
const READ_TIMEOUT: i32 = 0x1200;

/// What was seen on one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connection {
    /// EXECUTEs by the text that was prepared.
    pub(crate) executes: BTreeMap<String, u64>,
    /// The protocol versions of the driver's frames.
    pub(crate) versions: BTreeSet<u8>,
    /// The consistency levels of its EXECUTEs of the behaviour's statements.
    pub(crate) consistencies: BTreeSet<u16>,
    /// The flags of these EXECUTEs.
    pub(crate) flags: BTreeSet<u8>,
    /// The page sizes of its EXECUTEs of the behaviour's selects; `None` is one without a page size.
    pub(crate) page_sizes: BTreeSet<Option<i32>>,
    /// Whether STARTUP asked for compression or any frame was compressed.
    pub(crate) compressed: bool,
    /// Whether it asked for events (section 4.1.8), which makes it the driver's control connection.
    control: bool,
    /// Whether it is to be cut.
    cut: Arc<Notify>,
}

#[derive(Default)]
struct State {
    /// The prefix of the behaviour's own tables.
    own: String,
    connections: Vec<Connection>,
    /// Prepared ids and their texts.
    texts: HashMap<Vec<u8>, String>,
    /// Ids that are answered as unprepared until they are prepared again.
    forgotten: HashSet<Vec<u8>>,
    delay: Duration,
    /// The error code with which EXECUTEs of the behaviour's statements are answered.
    fail: Option<i32>,
}

/// A relay in front of one server.
pub(crate) struct Relay {
    server: SocketAddr,
    /// Where the driver is to connect.
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    accepting: Option<JoinHandle<()>>,
}

struct Frame(Vec<u8>);

impl Frame {
    async fn read(from: &mut OwnedReadHalf) -> io::Result<Frame> {
        let mut frame = vec![0; HEADER];
        from.read_exact(&mut frame).await?;
        let length = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]) as usize;
        frame.resize(HEADER + length, 0);
        from.read_exact(&mut frame[HEADER..]).await?;
        Ok(Frame(frame))
    }

    /// An ERROR in answer to this request (section 9).
    fn error(&self, code: i32, id: &[u8]) -> Frame {
        let message = b"answered by the behaviour suite";
        let mut body = code.to_be_bytes().to_vec();
        body.extend_from_slice(&(message.len() as u16).to_be_bytes());
        body.extend_from_slice(message);
        match code {
            UNPREPARED => {
                body.extend_from_slice(&(id.len() as u16).to_be_bytes());
                body.extend_from_slice(id);
            }
            // LOCAL_ONE, of 1 replica 0 are alive.
            UNAVAILABLE => body.extend_from_slice(&[0, 0x0A, 0, 0, 0, 1, 0, 0, 0, 0]),
            // LOCAL_ONE, 1 of 1 replica answered, without the data: default retry policies try this again at once.
            READ_TIMEOUT => body.extend_from_slice(&[0, 0x0A, 0, 0, 0, 1, 0, 0, 0, 1, 0]),
            _ => {}
        }
        let mut frame = vec![0x84, 0, self.0[2], self.0[3], ERROR];
        frame.extend_from_slice(&(body.len() as u32).to_be_bytes());
        frame.extend_from_slice(&body);
        Frame(frame)
    }

    fn flags(&self) -> u8 {
        self.0[1]
    }

    fn stream(&self) -> [u8; 2] {
        [self.0[2], self.0[3]]
    }

    fn opcode(&self) -> u8 {
        self.0[4]
    }

    fn body(&self) -> &[u8] {
        &self.0[HEADER..]
    }
}

/// The `[short bytes]` at the start of `body` and what follows.
fn short_bytes(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = body.split_first_chunk::<2>()?;
    rest.split_at_checked(u16::from_be_bytes(*length) as usize)
}

/// The page size of an EXECUTE's query parameters (section 4.1.4): outside, whether they could be read; inside, whether
/// there is one.
fn page_size(parameters: &[u8]) -> Option<Option<i32>> {
    let (_consistency, rest) = parameters.split_first_chunk::<2>()?;
    let (&flags, mut rest) = rest.split_first()?;
    if flags & PAGE_SIZE == 0 {
        return Some(None);
    }
    if flags & VALUES != 0 {
        let (count, values) = rest.split_first_chunk::<2>()?;
        rest = values;
        for _ in 0..u16::from_be_bytes(*count) {
            if flags & NAMES != 0 {
                (_, rest) = short_bytes(rest)?;
            }
            let (length, value) = rest.split_first_chunk::<4>()?;
            // Below 0 it is a null or a value that is not set.
            let length = usize::try_from(i32::from_be_bytes(*length)).unwrap_or(0);
            (_, rest) = value.split_at_checked(length)?;
        }
    }
    rest.first_chunk::<4>().map(|size| Some(i32::from_be_bytes(*size)))
}

impl Relay {
    /// Starts a relay to `server` on the same IP address (a driver asks the server for its address and keeps the port).
    pub(crate) async fn start(server: SocketAddr, own: &str) -> io::Result<Relay> {
        let address = SocketAddr::new(server.ip(), 0);
        let state = State { own: own.to_owned(), ..State::default() };
        let mut relay = Relay { server, address, state: Arc::new(Mutex::new(state)), accepting: None };
        relay.resume().await?;
        Ok(relay)
    }

    /// Cuts all connections and accepts no more: the server is gone.
    pub(crate) async fn stop(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // Cancelled is how it ends; afterwards its sockets are closed.
            let _ended = accepting.await;
        }
    }

    /// Accepts connections at the same address again.
    pub(crate) async fn resume(&mut self) -> io::Result<()> {
        let listener = TcpListener::bind(self.address).await?;
        self.address = listener.local_addr()?;
        self.accepting = Some(tokio::spawn(accept(listener, self.server, Arc::clone(&self.state))));
        Ok(())
    }

    /// Answers EXECUTE as unprepared until the statement is prepared again, as after a restart.
    pub(crate) fn forget_prepared(&self) {
        let mut state = lock(&self.state);
        state.forgotten = state.texts.keys().cloned().collect();
    }

    /// Holds every answer back for so long.
    pub(crate) fn delay(&self, delay: Duration) {
        lock(&self.state).delay = delay;
    }

    /// Answers EXECUTEs of the behaviour's statements with this error code, without asking the server.
    pub(crate) fn fail_with(&self, code: Option<i32>) {
        lock(&self.state).fail = code;
    }

    /// Cuts the connections that asked for events and no other.
    pub(crate) fn cut_control_connections(&self) {
        let state = lock(&self.state);
        state.connections.iter().filter(|connection| connection.control).for_each(|control| control.cut.notify_one());
    }

    /// How many connections have asked for events so far.
    pub(crate) fn control_connections(&self) -> usize {
        lock(&self.state).connections.iter().filter(|connection| connection.control).count()
    }

    /// What was seen so far, connection by connection.
    pub(crate) fn connections(&self) -> Vec<Connection> {
        lock(&self.state).connections.clone()
    }

    /// How often a statement of this text was executed, over all connections.
    pub(crate) fn executes(&self, text: &str) -> u64 {
        let state = lock(&self.state);
        state.connections.iter().filter_map(|connection| connection.executes.get(text)).sum()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, server: SocketAddr, state: Arc<Mutex<State>>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        connections.spawn(async move {
            // Either side may go at any time; then the other is closed too.
            let _ended = relay(client, server, state).await;
        });
    }
}

type Pending = Arc<Mutex<HashMap<[u8; 2], String>>>;
type Writer = Arc<tokio::sync::Mutex<OwnedWriteHalf>>;

async fn relay(client: TcpStream, server: SocketAddr, state: Arc<Mutex<State>>) -> io::Result<()> {
    let server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let connection = Connection::default();
    let cut = Arc::clone(&connection.cut);
    let index = {
        let mut state = lock(&state);
        state.connections.push(connection);
        state.connections.len() - 1
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let to_client: Writer = Arc::new(tokio::sync::Mutex::new(to_client));
    let preparing = Pending::default();
    tokio::select! {
        ended = requests(from_client, to_server, Arc::clone(&to_client), &state, &preparing, index) => ended,
        ended = answers(from_server, to_client, &state, &preparing) => ended,
        () = cut.notified() => Ok(()),
    }
}

async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    back: Writer,
    state: &Mutex<State>,
    preparing: &Pending,
    index: usize,
) -> io::Result<()> {
    loop {
        let frame = Frame::read(&mut from).await?;
        if frame.opcode() == PREPARE
            && let Some(text) = frame.body().get(4..)
        {
            let text = String::from_utf8_lossy(text).into_owned();
            preparing.lock().unwrap_or_else(PoisonError::into_inner).insert(frame.stream(), text);
        }
        let answer = lock(state).request(&frame, index);
        match answer {
            Some(answer) => back.lock().await.write_all(&answer.0).await?,
            None => to.write_all(&frame.0).await?,
        }
    }
}

async fn answers(mut from: OwnedReadHalf, to: Writer, state: &Mutex<State>, preparing: &Pending) -> io::Result<()> {
    loop {
        let frame = Frame::read(&mut from).await?;
        let text = preparing.lock().unwrap_or_else(PoisonError::into_inner).remove(&frame.stream());
        if let Some(text) = text
            && frame.opcode() == RESULT
            && let Some((id, _)) = frame.body().strip_prefix(&[0, 0, 0, 4]).and_then(short_bytes)
        {
            let mut state = lock(state);
            state.forgotten.remove(id);
            state.texts.insert(id.to_vec(), text);
        }
        let delay = lock(state).delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        to.lock().await.write_all(&frame.0).await?;
    }
}

impl State {
    /// Notes a request; returns the answer if the relay itself answers.
    fn request(&mut self, frame: &Frame, index: usize) -> Option<Frame> {
        let connection = self.connections.get_mut(index)?;
        connection.versions.insert(frame.0[0]);
        connection.compressed |= frame.flags() & COMPRESSED != 0;
        match frame.opcode() {
            STARTUP => {
                connection.compressed |= frame.body().windows(11).any(|window| window == b"COMPRESSION");
                None
            }
            REGISTER => {
                connection.control = true;
                None
            }
            EXECUTE => {
                let (id, parameters) = short_bytes(frame.body())?;
                let text = self.texts.get(id)?;
                *connection.executes.entry(text.clone()).or_default() += 1;
                if !text.contains(&self.own) {
                    return None;
                }
                if let Some(&[high, low, flags]) = parameters.first_chunk::<3>() {
                    connection.consistencies.insert(u16::from_be_bytes([high, low]));
                    connection.flags.insert(flags);
                }
                if text.starts_with("SELECT")
                    && let Some(page_size) = page_size(parameters)
                {
                    connection.page_sizes.insert(page_size);
                }
                if self.forgotten.contains(id) {
                    return Some(frame.error(UNPREPARED, id));
                }
                self.fail.map(|code| frame.error(code, id))
            }
            _ => None,
        }
    }
}
