//! cargo as a child process: what it prints, how far it is, and what it says first when it fails.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;

use crate::error::BuildError;

const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The longest reason that fits a table's notes.
const LONGEST_REASON: usize = 400;
/// What cargo says if it reaches no registry.
const OFFLINE: [&str; 4] =
    ["failed to download", "Could not resolve host", "spurious network error", "failed to query replaced source"];
/// Variables of a cargo, a make or a git above us, which mean their own children.
pub(crate) const NOT_OURS: [&str; 9] = [
    "MAKEFLAGS",
    "MFLAGS",
    "CARGO_MAKEFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
];

/// Where a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Compiler and sources are looked at; sources and libraries that are missing are fetched.
    Preparing,
    /// Another process builds the same worker, or fetches its sources; this one waits.
    Waiting {
        /// The other process's id.
        process: u32,
    },
    /// cargo waits for another cargo, which compiles in the same folder.
    Blocked,
    /// Versions of dependencies are chosen.
    Locking,
    /// cargo is about to compile, or compiles.
    Compiling {
        /// Crates that are done.
        done: u64,
        /// All crates; 0 before they are known.
        of: u64,
    },
}

pub(crate) struct Cargo<'a> {
    pub(crate) program: &'a Path,
    /// Where it runs, because it takes toolchain and configuration from there.
    pub(crate) folder: &'a Path,
    pub(crate) environment: Vec<(String, String)>,
    /// Where everything that it prints is kept.
    pub(crate) log: Option<&'a Path>,
    pub(crate) cancelled: &'a dyn Fn() -> bool,
}

pub(crate) struct Said {
    pub(crate) success: bool,
    pub(crate) out: String,
    /// Lines of standard error that stay.
    pub(crate) errors: Vec<String>,
    /// The compiler's first error.
    first: Option<String>,
}

impl Said {
    pub(crate) fn failure(self) -> BuildError {
        let begins = self.errors.iter().position(|line| line.starts_with("error"));
        let text = self.errors[begins.unwrap_or(0)..].iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        let is_offline = OFFLINE.iter().any(|words| text.contains(words)) && !text.contains("status code");
        let mut reason = self.first.unwrap_or_else(|| text.trim_start_matches("error: ").to_owned());
        if reason.is_empty() {
            reason = "cargo failed without a word".to_owned();
        }
        if let Some((at, _)) = reason.char_indices().nth(LONGEST_REASON) {
            reason.truncate(at);
            reason.push_str("...");
        }
        let reason = reason.trim_end_matches('.').to_owned();
        if is_offline { BuildError::NoNetwork(reason) } else { BuildError::Failed(reason) }
    }
}

/// A piece of output: a line of standard output, or of standard error where a line may be drawn over.
enum Line {
    Out(String),
    Err(String),
}

/// A compiler's message as cargo passes it on.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    message: Option<Diagnostic>,
    #[serde(default)]
    executable: Option<String>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    is_primary: bool,
}

impl Cargo<'_> {
    /// Standard output of cargo with these arguments; `progress` hears how far it is.
    pub(crate) fn run<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<String, BuildError> {
        let said = self.hear(arguments, progress)?;
        if said.success { Ok(said.out) } else { Err(said.failure()) }
    }

    /// Standard output of a program of ours, whose last line is why it failed.
    pub(crate) fn ask<'a>(&self, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<String, BuildError> {
        let said = self.hear(arguments, &mut |_| ())?;
        match said.success {
            true => Ok(said.out),
            false => Err(BuildError::Failed(said.errors.last().cloned().unwrap_or_default())),
        }
    }

    /// All that it says. It ends with all that it started when we end, however we do.
    pub(crate) fn hear<'a>(
        &self,
        arguments: impl IntoIterator<Item = &'a OsStr>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Said, BuildError> {
        let mut command = Command::new(self.program);
        command.args(arguments).current_dir(self.folder);
        command.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", "100");
        command.env("CARGO_TERM_COLOR", "never").env("CARGO_TERM_QUIET", "false");
        for name in NOT_OURS {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(a, b)| (a, b)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::new()?;
        command.process_group(group.id());
        let mut log = self.log.and_then(|path| File::options().create(true).append(true).open(path).ok());
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if self.program == Path::new("git") => {
                BuildError::NoProgram("git", "install it, and try again")
            }
            io::ErrorKind::NotFound => {
                BuildError::NoProgram("cargo", "install Rust 1.95 or newer from https://rustup.rs, and try again")
            }
            _ => BuildError::Failed(format!("{} could not be started: {error}", self.program.display())),
        })?;
        let child = group.child.insert(child);
        let (sender, lines) = sync_channel(64);
        follow(child.stdout.take(), sender.clone(), Line::Out);
        follow(child.stderr.take(), sender, Line::Err);
        let (mut out, mut errors, mut first) = (String::new(), Vec::new(), None);
        loop {
            if (self.cancelled)() {
                return Err(BuildError::Cancelled);
            }
            match lines.recv_timeout(LOOK_EVERY) {
                Ok(Line::Err(line)) => match heard(&line) {
                    Some(found) => progress(found),
                    None => {
                        note(&mut log, &line);
                        errors.push(line);
                    }
                },
                Ok(Line::Out(line)) => {
                    if let Some(diagnostic) = error_of(&line) {
                        note(&mut log, &diagnostic.1);
                        first.get_or_insert(diagnostic.0);
                    }
                    out.push_str(&line);
                    out.push('\n');
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let status = child.wait().map_err(|error| BuildError::Failed(format!("cargo was lost: {error}")))?;
        Ok(Said { success: status.success(), out, errors, first })
    }
}

/// A process group of a child with all that it starts. Its leader is a shell that waits for the end of a pipe which only we hold, so that
/// the group ends with us even if we are killed.
struct Group {
    leader: Child,
    child: Option<Child>,
}

impl Group {
    /// A group without a child. Ctrl-C on the terminal does not reach it.
    fn new() -> Result<Group, BuildError> {
        let mut leader = Command::new("sh");
        leader.args(["-c", "read -r line; kill -s KILL 0"]);
        leader.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let failed =
            |error| BuildError::Failed(format!("sh, which ends cargo with cqldyno, could not be started: {error}"));
        Ok(Group { leader: leader.spawn().map_err(failed)?, child: None })
    }

    fn id(&self) -> i32 {
        self.leader.id().cast_signed()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.id()), Signal::SIGKILL);
        let _ = self.child.as_mut().map(Child::wait);
        let _ = self.leader.wait();
    }
}

fn note(log: &mut Option<File>, line: &str) {
    // A log that cannot be kept costs nothing else.
    let _ = log.as_mut().map(|log| writeln!(log, "{line}"));
}

/// Sends the lines of a stream from a thread of its own, which ends with the stream.
fn follow(stream: Option<impl Read + Send + 'static>, lines: SyncSender<Line>, kind: fn(String) -> Line) {
    std::thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let (mut line, mut buffer) = (Vec::new(), [0; 8 * 1024]);
        while let Ok(read @ 1..) = stream.read(&mut buffer) {
            for byte in &buffer[..read] {
                match byte {
                    b'\n' | b'\r' if line.is_empty() => {}
                    b'\n' | b'\r' => {
                        if lines.send(kind(String::from_utf8_lossy(&line).into_owned())).is_err() {
                            return;
                        }
                        line.clear();
                    }
                    byte => line.push(*byte),
                }
            }
        }
        if !line.is_empty() {
            let _ = lines.send(kind(String::from_utf8_lossy(&line).into_owned()));
        }
    });
}

/// What a line says of the progress: `Building [===>   ] 12/87: tokio`, or that another cargo has the folder.
fn heard(line: &str) -> Option<Progress> {
    let line = line.trim_start();
    if line.starts_with("Blocking waiting for file lock") {
        return Some(Progress::Blocked);
    }
    let rest = line.strip_prefix("Building [").and_then(|rest| rest.split_once("] "))?.1;
    let (done, rest) = rest.split_once('/')?;
    let of = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Progress::Compiling { done: done.trim().parse().ok()?, of: of.parse().ok()? })
}

/// The first line and the whole of a compiler's error, if the line is one.
fn error_of(line: &str) -> Option<(String, String)> {
    let message: Message =
        serde_json::from_str(line).ok().filter(|message: &Message| message.reason == "compiler-message")?;
    let error = message.message.filter(|message| message.level == "error")?;
    let place = error.spans.iter().find(|span| span.is_primary);
    let place = place.map(|span| format!(" ({}:{})", span.file_name, span.line_start)).unwrap_or_default();
    let name = package_name(&message.package_id);
    Some((format!("{name}: {}{place}", error.message), error.rendered.unwrap_or_default()))
}

pub(crate) fn executable(messages: &str) -> Option<String> {
    messages.lines().rev().find_map(|line| serde_json::from_str::<Message>(line).ok()?.executable)
}

/// `tokio 1.44.2` of a package's id such as `registry+https://...#tokio@1.44.2` or `path+file:///x/tokio#1.44.2`.
fn package_name(id: &str) -> String {
    let (place, name) = id.rsplit_once('#').unwrap_or(("", id));
    match name.split_once('@') {
        Some((name, version)) => format!("{name} {version}"),
        None => format!("{} {name}", place.rsplit('/').next().unwrap_or_default()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;
    use std::path::PathBuf;

    use super::*;

    /// A shell script in the place of cargo.
    pub(crate) fn fake(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("cargo");
        startable(&path, script);
        path
    }

    /// A shell script that can be started.
    ///
    /// Another process writes it: a file that this one had open for writing could be busy, because a child that another thread forks
    /// meanwhile has it open, too, until it starts its own program.
    pub(crate) fn startable(path: &Path, script: &str) {
        let mut writer = Command::new("sh");
        writer.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path);
        let mut writer = writer.stdin(Stdio::piped()).spawn().unwrap();
        writer.stdin.take().unwrap().write_all(format!("#!/bin/sh\n{script}\n").as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success(), "{}", path.display());
    }

    fn run(script: &str, cancelled: &dyn Fn() -> bool) -> (Result<String, BuildError>, Vec<Progress>, String) {
        let dir = tempfile::tempdir().unwrap();
        let (program, log) = (fake(dir.path(), script), dir.path().join("log"));
        let cargo =
            Cargo { program: &program, folder: dir.path(), environment: Vec::new(), log: Some(&log), cancelled };
        let mut seen = Vec::new();
        let said = cargo.run(std::iter::empty(), &mut |progress| seen.push(progress));
        (said, seen, std::fs::read_to_string(log).unwrap_or_default())
    }

    #[test]
    fn progress_is_read_from_lines_that_are_drawn_over_and_from_a_wait_for_another_cargo() {
        let script = r"printf '    Blocking waiting for file lock on build directory\n   Compiling a v1\n    Building [==>   ] 1/3: a\r    Building [====> ] 2/3: b, c\r' >&2; echo out";
        let (said, seen, log) = run(script, &|| false);
        assert_eq!(said.unwrap(), "out\n");
        let compiling = |done| Progress::Compiling { done, of: 3 };
        assert_eq!(seen, [Progress::Blocked, compiling(1), compiling(2)]);
        assert_eq!(log, "   Compiling a v1\n");
    }

    #[test]
    fn the_compilers_first_error_is_the_reason() {
        let script = r#"echo '{"reason":"compiler-message","package_id":"registry+https://x#scylla@0.1.0","message":{"level":"error","message":"no field `x`","rendered":"error: all of it","spans":[{"file_name":"src/a.rs","line_start":7,"is_primary":true}]}}'
            echo '{"reason":"compiler-message","package_id":"x#y@1","message":{"level":"error","message":"second","spans":[]}}'
            echo 'error: could not compile' >&2; exit 101"#;
        let (said, _, log) = run(script, &|| false);
        assert_eq!(said.unwrap_err().to_string(), "it could not be built: scylla 0.1.0: no field `x` (src/a.rs:7)");
        assert!(log.contains("error: all of it") && log.contains("error: could not compile"), "{log}");
    }

    #[test]
    fn what_cargo_itself_refuses_is_told_in_its_words_and_a_missing_network_with_what_to_do() {
        let (said, ..) =
            run("echo '    Updating index' >&2; echo 'error: failed to select\n  a version.' >&2; exit 101", &|| false);
        assert_eq!(said.unwrap_err().to_string(), "it could not be built: failed to select a version");
        let (said, ..) =
            run("echo 'error: failed to download `x`\n Could not resolve host: y' >&2; exit 101", &|| false);
        let said = said.unwrap_err().to_string();
        assert!(said.starts_with("cargo could not download what the worker needs (failed to download"), "{said}");
        assert!(said.ends_with("connect this machine to the network and try again"), "{said}");
        assert_eq!(
            run("exit 1", &|| false).0.unwrap_err().to_string(),
            "it could not be built: cargo failed without a word"
        );
    }

    #[test]
    fn a_build_that_is_ended_takes_its_children_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("pid");
        let script = format!("sleep 100 & echo $! > {0}.part; mv {0}.part {0}; wait", file.display());
        let (said, ..) = run(&script, &|| file.exists());
        assert!(matches!(said, Err(BuildError::Cancelled)));
        let child = std::fs::read_to_string(&file).unwrap();
        let status = || std::fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap_or_default();
        // Nobody may have waited for it yet.
        while !(status().is_empty() || status().contains(") Z ")) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn without_cargo_it_is_said_how_to_get_it() {
        let here = std::env::temp_dir();
        let cargo = Cargo {
            program: Path::new("/nowhere/cargo"),
            folder: &here,
            environment: Vec::new(),
            log: None,
            cancelled: &|| false,
        };
        let error = cargo.run(std::iter::empty(), &mut |_| ()).unwrap_err().to_string();
        assert_eq!(
            error,
            "cargo was not found, and a worker is built with it; install Rust 1.95 or newer from https://rustup.rs, and try again"
        );
    }

    #[test]
    fn a_packages_id_is_shown_as_name_and_version() {
        assert_eq!(package_name("registry+https://github.com/x#tokio@1.44.2"), "tokio 1.44.2");
        assert_eq!(package_name("path+file:///x/scylla#1.9.0"), "scylla 1.9.0");
        assert_eq!(
            executable("{\"reason\":\"x\"}\n{\"reason\":\"compiler-artifact\",\"executable\":\"/a\"}"),
            Some("/a".to_owned())
        );
    }
}
