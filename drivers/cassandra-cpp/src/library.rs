//! The libcassandra that this process has loaded.
//!
//! The C/C++ driver exports no function for its version. It sends name and version in its STARTUP (native_protocol_v4.spec
//! section 4.1.1), so it is made to connect to a loopback listener here.

use std::fs;
use std::future::Future;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use cassandra_cpp::Cluster;
use cqldyno_driver_api::{DriverError, ErrorKind};

/// How long the library may take to name itself.
const TIME_LIMIT: Duration = Duration::from_secs(2);

const OPCODE_ERROR: u8 = 0x00;
const OPCODE_STARTUP: u8 = 0x01;
const OPCODE_OPTIONS: u8 = 0x05;
const OPCODE_SUPPORTED: u8 = 0x06;
/// The error code "protocol error" (native_protocol_v4.spec section 9).
const PROTOCOL_ERROR: u32 = 0x000A;
const PROTOCOL_VERSION: u8 = 4;
/// Longer than any STARTUP or OPTIONS of a client.
const MAX_BODY: usize = 64 * 1024;

/// The libcassandra that this process has loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedLibrary {
    /// `DRIVER_NAME` of its STARTUP, for example `Scylla Shard-Aware C/C++ Driver`.
    pub name: String,
    /// `DRIVER_VERSION` of its STARTUP, for example `2.16.2`.
    pub version: String,
    /// The shared object, from the process' memory map.
    pub path: PathBuf,
}

impl LoadedLibrary {
    /// `scylla` or `datastax` for the two known libraries, else the name in lower case with dashes.
    pub fn short_name(&self) -> String {
        let name = self.name.to_ascii_lowercase();
        for known in ["scylla", "datastax"] {
            if name.starts_with(known) {
                return known.to_owned();
            }
        }
        let words = name.split(|character: char| !character.is_ascii_alphanumeric());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    }

    /// The library's path for results, relative to the worker's folder if it came with the build: a published result must not
    /// show its machine's folders.
    pub fn origin(&self) -> String {
        let executable = std::env::current_exe().ok();
        let build = executable.as_deref().and_then(Path::parent).and_then(Path::parent);
        match build.and_then(|build| self.path.strip_prefix(build).ok()) {
            Some(from_build) => Path::new("..").join(from_build).display().to_string(),
            None => self.path.display().to_string(),
        }
    }

    /// Whether the library lies at `asked`, a directory or the shared object itself.
    ///
    /// # Errors
    /// [`ErrorKind::Other`] when it lies elsewhere; the message says where, and what to do.
    pub fn check_lies_at(&self, asked: &str) -> Result<(), DriverError> {
        let real = |path: &Path| fs::canonicalize(path).ok();
        let asked_path = real(Path::new(asked)).ok_or_else(|| {
            DriverError::new(ErrorKind::Other, format!("lib={asked} was asked for, but there is no such path"))
        })?;
        let loaded = real(&self.path).unwrap_or_else(|| self.path.clone());
        if loaded == asked_path || loaded.parent() == Some(asked_path.as_path()) {
            return Ok(());
        }
        // A directory may hold a link to the loaded file under the name that the loader asks for.
        let through_a_link = fs::read_dir(&asked_path)
            .into_iter()
            .flatten()
            .flatten()
            .any(|entry| real(&entry.path()).as_deref() == Some(loaded.as_path()));
        if through_a_link {
            return Ok(());
        }
        Err(DriverError::new(
            ErrorKind::Other,
            format!(
                "lib={asked} was asked for, but this process has loaded {}; a directory must hold the library under the \
                 name that the executable was linked to (libcassandra.so or libcassandra.so.2)",
                self.path.display()
            ),
        ))
    }
}

/// The library that this process has loaded; determined once, within two seconds.
///
/// # Errors
/// [`ErrorKind::Other`] when the library does not name itself or is not in the memory map.
pub fn loaded() -> Result<&'static LoadedLibrary, DriverError> {
    static LOADED: OnceLock<Result<LoadedLibrary, DriverError>> = OnceLock::new();
    LOADED.get_or_init(find_out).as_ref().map_err(Clone::clone)
}

fn find_out() -> Result<LoadedLibrary, DriverError> {
    let failed =
        |what: String| DriverError::new(ErrorKind::Other, format!("libcassandra's version is unknown: {what}"));
    let path = mapped_path().map_err(|error| failed(format!("/proc/self/maps could not be read: {error}")))?;
    let path = path.ok_or_else(|| failed("no libcassandra.so is in this process' memory map".to_owned()))?;
    let startup = startup()
        .map_err(|error| failed(format!("{} did not name itself on a loopback connection: {error}", path.display())))?;
    let option = |key: &str| {
        option(&startup, key).ok_or_else(|| failed(format!("{} sent a STARTUP without {key}", path.display())))
    };
    Ok(LoadedLibrary { name: option("DRIVER_NAME")?, version: option("DRIVER_VERSION")?, path: path.clone() })
}

/// The path of the shared object, from the process' memory map.
fn mapped_path() -> io::Result<Option<PathBuf>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let mut paths = maps.lines().filter_map(|line| line.find('/').and_then(|start| line.get(start..)));
    let is_libcassandra = |path: &&str| {
        let name = Path::new(path).file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with("libcassandra.so"))
    };
    Ok(paths.find(is_libcassandra).map(PathBuf::from))
}

/// Lets the library connect to a listener here and returns the body of its STARTUP.
fn startup() -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIME_LIMIT;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    // A thread of its own, because dropping a session that connects makes libcassandra wait for ever.
    let (ended, wait_for_end) = mpsc::channel();
    thread::Builder::new().name("ask-libcassandra".to_owned()).spawn(move || {
        let outcome = connect_and_be_refused(port);
        // The other end is gone if the time was up.
        let _ = ended.send(outcome);
    })?;
    let options = serve_until_startup(&listener, deadline);
    drop(listener);
    match wait_for_end.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(Err(error)) => Err(io::Error::other(error)),
        Ok(Ok(())) | Err(_) => options,
    }
}

/// Connects to the listener, which reads the STARTUP and refuses it. Only a failure to begin is an error.
fn connect_and_be_refused(port: u16) -> Result<(), String> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let refused = |error: cassandra_cpp::Error| error.to_string();
    let mut cluster = Cluster::default();
    cluster.set_contact_points(&Ipv4Addr::LOCALHOST.to_string()).map_err(refused)?;
    cluster.set_port(port).map_err(refused)?;
    cluster.set_protocol_version(i32::from(PROTOCOL_VERSION)).map_err(refused)?;
    cluster.set_connect_timeout(TIME_LIMIT);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut attempt = pin!(cluster.connect());
    while attempt.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        thread::park();
    }
    Ok(())
}

fn serve_until_startup(listener: &TcpListener, deadline: Instant) -> io::Result<Vec<u8>> {
    listener.set_nonblocking(true)?;
    while Instant::now() < deadline {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(startup) = converse(&stream, deadline)? {
                    return Ok(startup);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("no STARTUP within {} s", TIME_LIMIT.as_secs())))
}

/// Answers one connection until its STARTUP; `None` if it was closed before, as after a refused protocol version.
fn converse(mut stream: &TcpStream, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
    stream.set_nonblocking(false)?;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.set_read_timeout(Some(left))?;
        let mut header = [0; 9];
        match stream.read_exact(&mut header) {
            Ok(()) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        let [version, _flags, stream_id @ .., opcode, l0, l1, l2, l3] = header;
        let length = u32::from_be_bytes([l0, l1, l2, l3]) as usize;
        if length > MAX_BODY {
            return Err(io::Error::other(format!("a message of {length} bytes came before STARTUP")));
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        if version != PROTOCOL_VERSION {
            let refusal = "Invalid or unsupported protocol version; the lowest is 3, the greatest 4";
            stream.write_all(&error_frame(stream_id, refusal))?;
            continue;
        }
        match opcode {
            OPCODE_OPTIONS => stream.write_all(&frame(stream_id, OPCODE_SUPPORTED, &[0, 0]))?,
            OPCODE_STARTUP => {
                stream.write_all(&error_frame(stream_id, "only asked for the driver's name"))?;
                return Ok(Some(body));
            }
            other => return Err(io::Error::other(format!("it sent opcode {other:#04x} before STARTUP"))),
        }
    }
}

fn frame(stream_id: [u8; 2], opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x80 | PROTOCOL_VERSION, 0, stream_id[0], stream_id[1], opcode];
    frame.extend((body.len() as u32).to_be_bytes());
    frame.extend(body);
    frame
}

fn error_frame(stream_id: [u8; 2], message: &str) -> Vec<u8> {
    let mut body = PROTOCOL_ERROR.to_be_bytes().to_vec();
    body.extend((message.len() as u16).to_be_bytes());
    body.extend(message.as_bytes());
    frame(stream_id, OPCODE_ERROR, &body)
}

/// The value of `key` in a `[string map]` whose keys are no values (native_protocol_v4.spec section 3).
fn option(body: &[u8], key: &str) -> Option<String> {
    let at = body.windows(key.len()).position(|bytes| bytes == key.as_bytes())?;
    let (length, rest) = body.get(at + key.len()..)?.split_first_chunk::<2>()?;
    let value = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
    String::from_utf8(value.to_vec()).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaded_library_says_its_name_and_version_and_where_it_lies() {
        crate::set_log_level();
        let loaded = loaded().unwrap();
        assert!(loaded.version.split('.').count() >= 3, "{loaded:?}");
        assert!(loaded.path.is_file(), "{loaded:?}");
        assert!(!loaded.short_name().is_empty());
    }

    #[test]
    fn a_library_elsewhere_than_asked_is_refused_by_name() {
        crate::set_log_level();
        let loaded = loaded().unwrap();
        let directory = loaded.path.parent().unwrap().to_str().unwrap();
        loaded.check_lies_at(directory).unwrap();
        loaded.check_lies_at(loaded.path.to_str().unwrap()).unwrap();
        let elsewhere = loaded.check_lies_at("/proc").unwrap_err();
        assert!(elsewhere.message().contains("/proc") && elsewhere.message().contains(directory), "{elsewhere}");
        let nowhere = loaded.check_lies_at("/no/such/directory").unwrap_err();
        assert!(nowhere.message().contains("/no/such/directory"), "{nowhere}");
    }

    #[test]
    fn a_directory_may_link_to_the_library_and_a_file_beside_such_a_link_is_another() {
        let folder = std::env::temp_dir().join(format!("cqldyno-lies-at-{}", std::process::id()));
        let (there, linked) = (folder.join("there"), folder.join("linked"));
        fs::create_dir_all(&there).unwrap();
        fs::create_dir_all(&linked).unwrap();
        let library = there.join("libcassandra.so.2.16");
        let other = linked.join("libcassandra-other.so");
        fs::write(&library, "one").unwrap();
        fs::write(&other, "another").unwrap();
        let link = linked.join("libcassandra.so.2");
        std::os::unix::fs::symlink(&library, &link).unwrap();

        let loaded = LoadedLibrary { name: String::new(), version: String::new(), path: library.clone() };
        let lies_at = |path: &Path| loaded.check_lies_at(path.to_str().unwrap());
        for right in [&there, &linked, &library, &link] {
            lies_at(right).unwrap();
        }
        let refused = lies_at(&other).unwrap_err();
        assert!(refused.message().contains("libcassandra-other.so"), "{refused}");
        lies_at(&folder).unwrap_err();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn short_names_are_fit_for_a_label() {
        let named = |name: &str| LoadedLibrary { name: name.to_owned(), version: String::new(), path: PathBuf::new() };
        assert_eq!(named("Scylla Shard-Aware C/C++ Driver").short_name(), "scylla");
        assert_eq!(named("DataStax C/C++ Driver for Apache Cassandra").short_name(), "datastax");
        assert_eq!(named("My own C/C++ (fork)").short_name(), "my-own-c-c-fork");
    }

    #[test]
    fn a_truncated_startup_names_nothing() {
        assert_eq!(option(&[0, 1, 0, 1, b'a', 0, 1, b'b'], "a").as_deref(), Some("b"));
        assert_eq!(option(&[0, 1, 0, 1, b'a', 0, 2, b'b'], "a"), None);
        assert_eq!(option(&[0, 1, 0, 1, b'a', 0], "a"), None);
        assert_eq!(option(&[0], "a"), None);
    }
}
