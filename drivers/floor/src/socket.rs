//! Opens a socket; a task reads from it and opens another when it is gone.

use std::future::poll_fn;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use cqldyno_driver_api::wire::malformed;
use cqldyno_driver_api::{Credentials, DriverError, ErrorKind};
use cqldyno_driver_tls::ClientConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, copy_bidirectional};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use crate::answers::{AUTH_SUCCESS, AUTHENTICATE, Answer, READY};
use crate::connection::{Attention, Connection};
use crate::requests::{self, HEADER};

const CONNECT_TIME_LIMIT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// The memory for what one read gives; it grows for longer frames.
const READ_BUFFER: usize = 64 << 10;
/// Longer than any answer to STARTUP or AUTH_RESPONSE.
const MAX_GREETING: usize = 64 << 10;

/// Where to connect, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) address: SocketAddr,
    pub(crate) credentials: Option<Credentials>,
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

/// What a TLS server sends to a client that speaks CQL in plain text: an alert (RFC 8446 section 5.1).
const TLS_ALERT: u8 = 0x15;

impl Login {
    /// Connects and logs in.
    pub(crate) async fn open(&self) -> Result<(OwnedReadHalf, OwnedWriteHalf), DriverError> {
        let refused = |error: &dyn std::fmt::Display| {
            DriverError::new(ErrorKind::Connect, format_args!("no connection to {}: {error}", self.address))
        };
        let opened = timeout(CONNECT_TIME_LIMIT, async {
            let stream = match &self.tls {
                None => {
                    let mut stream = TcpStream::connect(self.address).await.map_err(|error| refused(&error))?;
                    stream.set_nodelay(true).map_err(|error| refused(&error))?;
                    self.log_in(&mut stream).await?;
                    stream
                }
                Some(config) => {
                    let connecting = cqldyno_driver_tls::connect(Arc::clone(config), self.address, true);
                    let mut stream = connecting.await.map_err(|error| refused(&format_args!("with TLS: {error}")))?;
                    self.log_in(&mut stream).await?;
                    bridged(stream).await.map_err(|error| refused(&error))?
                }
            };
            Ok(stream.into_split())
        });
        opened.await.unwrap_or_else(|_| Err(refused(&format_args!("none in {} s", CONNECT_TIME_LIMIT.as_secs()))))
    }

    async fn log_in(&self, stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> Result<(), DriverError> {
        let mut frame = Vec::new();
        requests::startup(&mut frame)?;
        match self.greet(stream, &frame).await? {
            READY => return Ok(()),
            AUTHENTICATE => {}
            other => return Err(malformed(format_args!("opcode {other:#04x} came after STARTUP"))),
        }
        let credentials = self.credentials.as_ref().ok_or_else(|| {
            DriverError::new(ErrorKind::BadCredentials, "the server asks for user and password, and none were given")
        })?;
        frame.clear();
        requests::auth_response(credentials, &mut frame)?;
        match self.greet(stream, &frame).await? {
            AUTH_SUCCESS => Ok(()),
            other => Err(malformed(format_args!("opcode {other:#04x} came after AUTH_RESPONSE"))),
        }
    }

    /// Sends one frame; returns the opcode of its answer.
    async fn greet(&self, stream: &mut (impl AsyncRead + AsyncWrite + Unpin), frame: &[u8]) -> Result<u8, DriverError> {
        let broken = |why: &dyn std::fmt::Display| {
            let address = self.address;
            DriverError::new(ErrorKind::Connect, format_args!("the connection to {address} broke at its start: {why}"))
        };
        // A server that wants another kind of client says little or nothing.
        let closed = |why: &dyn std::fmt::Display| match &self.tls {
            Some(config) if config.client_auth_cert_resolver.has_certs() => broken(why),
            Some(_) => {
                broken(&format_args!("{why}; if it asks for a client certificate, add `,cert=FILE,key=FILE` to --tls"))
            }
            None => broken(&format_args!("{why}; if it speaks TLS there, give --tls ca=FILE")),
        };
        let failed = |error: io::Error| closed(&error);
        let speaks_tls = || broken(&"the server speaks TLS there; give --tls ca=FILE, or another port");
        stream.write_all(frame).await.map_err(failed)?;
        stream.flush().await.map_err(failed)?;
        let mut header = [0; HEADER];
        let mut filled = 0;
        while filled < HEADER {
            match stream.read(header.get_mut(filled..).unwrap_or_default()).await {
                Ok(more @ 1..) => filled += more,
                // An alert is shorter than a header.
                Ok(_) | Err(_) if filled > 0 && header.first() == Some(&TLS_ALERT) => return Err(speaks_tls()),
                Ok(_) => return Err(closed(&"the server closed it")),
                Err(error) => return Err(failed(error)),
            }
        }
        let [version, flags, _, _, opcode, l0, l1, l2, l3] = header;
        if version == TLS_ALERT && self.tls.is_none() {
            return Err(speaks_tls());
        }
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_GREETING {
            return Err(malformed(format_args!("a body of {length} bytes came before the connection was ready")));
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.map_err(failed)?;
        Answer { flags, opcode, body: &body }.into_opcode()
    }
}

/// A plain socket whose other end a task encrypts. So the connection's own code knows one kind of socket, and costs without TLS what
/// it cost before.
async fn bridged(mut encrypted: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> io::Result<TcpStream> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let inner = TcpStream::connect(listener.local_addr()?).await?;
    let own = inner.local_addr()?;
    // Nobody else of this machine comes in between.
    let mut outer = loop {
        match listener.accept().await? {
            (outer, from) if from == own => break outer,
            _ => {}
        }
    };
    inner.set_nodelay(true)?;
    outer.set_nodelay(true)?;
    // Either end that closes ends both.
    tokio::spawn(async move { copy_bidirectional(&mut encrypted, &mut outer).await });
    Ok(inner)
}

/// The connection's task: reads until the socket is gone, fails all that wait, and connects again until it succeeds.
pub(crate) async fn tend(connection: Arc<Connection>, mut reader: OwnedReadHalf, login: Login) {
    loop {
        let mut inbox = Inbox { reader, buffer: vec![0; READ_BUFFER], filled: 0, woken: Vec::new() };
        let why = poll_fn(|context| inbox.poll(&connection, context)).await;
        drop(inbox);
        connection.lose(why);
        let mut pause = FIRST_PAUSE;
        reader = loop {
            match login.open().await {
                Ok((reader, writer)) => {
                    connection.restore(writer);
                    break reader;
                }
                Err(_) => sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        };
    }
}

struct Inbox {
    reader: OwnedReadHalf,
    /// What was read, up to `filled`; it begins with the header of a frame.
    buffer: Vec<u8>,
    filled: usize,
    woken: Vec<Waker>,
}

impl Inbox {
    /// Ready when the socket is gone, with the reason.
    fn poll(&mut self, connection: &Connection, context: &mut Context<'_>) -> Poll<String> {
        loop {
            match connection.attend(context.waker()) {
                Attention::Idle => {}
                Attention::Again => context.waker().wake_by_ref(),
                Attention::Blocked(writer) => match writer.as_ref().as_ref().poll_write_ready(context) {
                    Poll::Ready(Ok(())) => continue,
                    Poll::Ready(Err(error)) => {
                        return Poll::Ready(format!("the connection broke while writing: {error}"));
                    }
                    Poll::Pending => {}
                },
                Attention::Broken(why) => return Poll::Ready(why),
            }
            let mut free = ReadBuf::new(self.buffer.get_mut(self.filled..).unwrap_or_default());
            match Pin::new(&mut self.reader).poll_read(context, &mut free) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(error)) => return Poll::Ready(format!("the connection broke while reading: {error}")),
                Poll::Ready(Ok(())) if free.filled().is_empty() => {
                    return Poll::Ready("the server closed the connection".to_owned());
                }
                Poll::Ready(Ok(())) => self.filled += free.filled().len(),
            }
            if let Err(why) = self.dispatch(connection) {
                return Poll::Ready(why);
            }
        }
    }

    fn dispatch(&mut self, connection: &Connection) -> Result<(), String> {
        let input = self.buffer.get(..self.filled).unwrap_or_default();
        let consumed = connection.dispatch(input, &mut self.woken)?;
        self.woken.drain(..).for_each(Waker::wake);
        self.buffer.copy_within(consumed..self.filled, 0);
        self.filled -= consumed;
        if self.filled == self.buffer.len() {
            // A frame that is longer than the buffer.
            self.buffer.resize(self.buffer.len() * 2, 0);
        } else if self.filled == 0 && self.buffer.len() > READ_BUFFER {
            self.buffer.truncate(READ_BUFFER);
            self.buffer.shrink_to_fit();
        }
        Ok(())
    }
}
