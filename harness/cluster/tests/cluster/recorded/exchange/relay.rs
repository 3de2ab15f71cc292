//! A relay between a driver and a server that keeps every frame.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use cqldyno_cluster::codec::frame::HEADER_LEN;

/// The longest frame that is kept: longer than any server sends.
const LONGEST: usize = 256 * 1024 * 1024;

/// A frame that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// Which connection, counting from 0 in the order in which they were opened.
    pub connection: usize,
    /// Whether it came from the server.
    pub is_answer: bool,
    /// Header and body.
    pub bytes: Vec<u8>,
}

/// A relay in front of one server, on the loopback interface. Its threads end with their connections, and with the process.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    passed: Arc<Mutex<Vec<Passed>>>,
}

impl Relay {
    /// Starts to listen.
    ///
    /// # Errors
    /// When the machine has no port or no thread left.
    pub fn start(server: SocketAddr) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let passed = Arc::default();
        std::thread::Builder::new().name("relay".to_owned()).spawn({
            let passed = Arc::clone(&passed);
            move || accept(&listener, server, &passed)
        })?;
        Ok(Relay { address, passed })
    }

    /// Where the driver is to connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What has passed so far, in the order in which it did: a request is before its answer.
    pub fn passed(&self) -> Vec<Passed> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn accept(listener: &TcpListener, server: SocketAddr, passed: &Arc<Mutex<Vec<Passed>>>) {
    for (connection, client) in listener.incoming().enumerate() {
        let begun = client.and_then(|client| {
            let server = TcpStream::connect(server)?;
            client.set_nodelay(true)?;
            server.set_nodelay(true)?;
            for (from, to, is_answer) in [(&client, &server, false), (&server, &client, true)] {
                let (from, to, passed) = (from.try_clone()?, to.try_clone()?, Arc::clone(passed));
                std::thread::Builder::new().name("relay".to_owned()).spawn(move || {
                    // Either side may close at any time, which closes the other.
                    let _ended = pass(&from, &to, (connection, is_answer), &passed);
                    let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
                })?;
            }
            Ok(())
        });
        if let Err(error) = begun {
            tracing::warn!("connection {connection} could not be relayed: {error}");
        }
    }
}

fn pass(
    mut from: &TcpStream,
    mut to: &TcpStream,
    (connection, is_answer): (usize, bool),
    passed: &Mutex<Vec<Passed>>,
) -> io::Result<()> {
    loop {
        let bytes = read_frame(&mut from)?;
        passed.lock().unwrap_or_else(PoisonError::into_inner).push(Passed {
            connection,
            is_answer,
            bytes: bytes.clone(),
        });
        to.write_all(&bytes)?;
    }
}

/// The next frame, header and body.
pub(super) fn read_frame(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; HEADER_LEN];
    from.read_exact(&mut frame)?;
    let length = u32::from_be_bytes([frame[5], frame[6], frame[7], frame[8]]) as usize;
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a frame of {length} bytes was announced")));
    }
    frame.resize(HEADER_LEN + length, 0);
    from.read_exact(&mut frame[HEADER_LEN..])?;
    Ok(frame)
}
