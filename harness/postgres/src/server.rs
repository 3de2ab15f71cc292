//! A server that runs, from its start until it is stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cqldyno_cassandra::Gate;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, chown};

use crate::error::{PostgresError, Result, of};
use crate::machine::{Machine, on_disk};
use crate::order::{Order, PASSWORD_LENGTH, USER};

/// Connections that it takes, each of which is a process.
pub const MOST_CONNECTIONS: usize = 1_100;

const READY_WITHIN: Duration = Duration::from_secs(60);
const END_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What to start, and where.
pub struct Start<'a> {
    /// What is asked for.
    pub order: Order,
    /// The server's own, for its data; what is there is removed.
    pub folder: &'a Path,
    /// What it says.
    pub log: &'a Path,
    /// Ends what is started here with this thread.
    pub gate: Gate<'a>,
    /// Hears a sentence about each step that takes long.
    pub says: &'a mut dyn FnMut(&str),
    /// Whether the user wants it to end.
    pub cancelled: &'a dyn Fn() -> bool,
}

/// A running server. It is stopped and its folder removed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    folder: PathBuf,
    /// Where it listens.
    pub address: SocketAddr,
    /// The password of [`USER`], which is made for this server.
    pub password: String,
    /// Its version, as it says itself.
    pub version: String,
    log: PathBuf,
    pub(crate) machine: Machine,
}

impl Server {
    /// Makes a server's data, starts it, and waits until it answers.
    ///
    /// # Errors
    /// When something is missing, a step fails, or the user ends it. Nothing is left running then.
    pub fn start(start: Start<'_>) -> Result<Server> {
        let folder = std::path::absolute(start.folder).map_err(of(start.folder))?;
        let _ = fs::remove_dir_all(&folder);
        Server::begin(start, folder.clone()).inspect_err(|_| drop(fs::remove_dir_all(&folder)))
    }

    fn begin(start: Start<'_>, folder: PathBuf) -> Result<Server> {
        let Start { order, log, gate, says, cancelled, .. } = start;
        let machine = Machine::here()?;
        fs::create_dir_all(&folder).map_err(of(&folder))?;
        on_disk(&folder)?;
        says(&format!("Starting {} ...", order.about()));
        let password = password()?;
        let file = folder.join("password");
        let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
        new.and_then(|mut new| new.write_all(password.as_bytes())).map_err(of(&file))?;
        if let Some((uid, gid)) = machine.user {
            for path in [&folder, &file] {
                chown(path, Some(uid), Some(gid)).map_err(|error| of(path)(error.into()))?;
            }
        }
        let output = File::create(log).map_err(of(log))?;
        let quiet = || output.try_clone().map(Stdio::from).map_err(of(log));
        let words = machine.words("initdb")?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("--pgdata").arg(folder.join("data")).arg("--pwfile").arg(&file);
        // A log-in costs little then, and the password is worth nothing after the run.
        command.args(["--username", USER, "--auth=md5", "--encoding=UTF8", "--no-locale"]).current_dir(&folder);
        // Ctrl-C is for cqldyno, which ends what it started.
        command.process_group(0).stdin(Stdio::null()).stdout(quiet()?).stderr(quiet()?);
        let made = command.status().map_err(of(Path::new(&words[0])))?;
        let _ = fs::remove_file(&file);
        if !made.success() {
            return Err(PostgresError::NotReady("its data could not be made", last_words(log), log.to_path_buf()));
        }
        // A port that is free now.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = free.map_err(of(Path::new("127.0.0.1")))?;
        let words = machine.words("postgres")?;
        let mut command = gate.command(Path::new(&words[0]));
        command.args(&words[1..]).arg("-D").arg(folder.join("data")).args(["-p", &address.port().to_string()]);
        let own = ["listen_addresses=127.0.0.1".to_owned(), "unix_socket_directories=".to_owned()];
        let most = format!("max_connections={MOST_CONNECTIONS}");
        for setting in order.settings().into_iter().chain(own).chain([most]) {
            command.args(["-c", &setting]);
        }
        command.current_dir(&folder).process_group(0).stdin(Stdio::piped()).stdout(quiet()?).stderr(quiet()?);
        let mut child = command.spawn().map_err(of(Path::new(&words[0])))?;
        let opened = gate.open(&mut child);
        let mut server =
            Server { child, folder, address, password, version: String::new(), log: log.to_path_buf(), machine };
        opened.map_err(of(Path::new(&words[0])))?;
        server.version = server.ready(cancelled)?;
        Ok(server)
    }

    /// Waits until it answers; its version.
    fn ready(&mut self, cancelled: &dyn Fn() -> bool) -> Result<String> {
        let began = Instant::now();
        loop {
            if cancelled() {
                return Err(PostgresError::Cancelled);
            }
            if let Ok(version) = self.query("SHOW server_version") {
                return Ok(version.split(' ').next().unwrap_or_default().to_owned());
            }
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended || began.elapsed() > READY_WITHIN {
                let what = if ended { "ended at once" } else { "does not answer" };
                return Err(PostgresError::NotReady(what, last_words(&self.log), self.log.clone()));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Why it no longer answers, as a full sentence, if it ended.
    pub fn ended(&self) -> Option<String> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let state = stat.rsplit_once(") ").map_or("Z", |(_, rest)| rest);
        state.starts_with('Z').then(|| format!("PostgreSQL ended; its log ends: {}.", last_words(&self.log)))
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// The first line that answers `sql`, with `|` between its columns.
    pub(crate) fn query(&self, sql: &str) -> Result<String> {
        let said = |why: &str| PostgresError::NoAnswer(format!("it said: {}", why.trim().trim_end_matches('.')));
        let words = self.machine.words("psql")?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["-X", "-A", "-t", "-q", "-h", "127.0.0.1", "-U", USER, "-d", "postgres", "-w"]);
        command.args(["-p", &self.address.port().to_string(), "-c", sql]).env("PGPASSWORD", &self.password);
        command.env("PGCONNECT_TIMEOUT", "10").process_group(0).stdin(Stdio::null()).current_dir(&self.folder);
        let output = command.output().map_err(|error| said(&error.to_string()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()),
            false => Err(said(&String::from_utf8_lossy(&output.stderr))),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.child.id().cast_signed());
        let (began, mut over) = (Instant::now(), matches!(self.child.try_wait(), Ok(Some(_))));
        // A fast shutdown: it disconnects everybody, and ends all of its processes.
        if !over && kill(pid, Signal::SIGINT).is_ok() {
            while !over && began.elapsed() < END_WITHIN {
                std::thread::sleep(LOOK_EVERY);
                over = !matches!(self.child.try_wait(), Ok(None));
            }
        }
        if !over {
            let _ = killpg(pid, Signal::SIGKILL);
            let _ = self.child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A password that nobody guesses.
fn password() -> Result<String> {
    let (source, mut bytes) = (Path::new("/dev/urandom"), [0; PASSWORD_LENGTH / 2]);
    File::open(source).and_then(|mut file| file.read_exact(&mut bytes)).map_err(of(source))?;
    Ok(format!("{:0PASSWORD_LENGTH$x}", u128::from_be_bytes(bytes)))
}

/// The last line of a log, as a part of a sentence.
fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let fatal = text.lines().find(|line| line.contains("FATAL") || line.contains("error:"));
    let last = fatal.or_else(|| text.lines().rfind(|line| !line.trim().is_empty()));
    last.unwrap_or("it said nothing").trim().trim_end_matches('.').to_owned()
}
