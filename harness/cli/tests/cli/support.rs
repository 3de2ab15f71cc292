//! The real executables, as a user starts them.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cqldyno_bench::COMPARED;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// The executable under test.
pub const CQLDYNO: &str = env!("CARGO_BIN_EXE_cqldyno");
/// Names drivers, with commas, that have no worker here because the machine cannot build them.
const ABSENT: &str = "CQLDYNO_ABSENT_WORKERS";

/// `cqldyno` with these arguments, in a folder of its own, without terminal, colours or what the caller's shell sets.
pub fn cqldyno(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(CQLDYNO);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    for variable in ["CQLDYNO_PASSWORD", "RUST_LOG", "NO_COLOR", "COLUMNS"] {
        command.env_remove(variable);
    }
    command
}

/// What it does in a folder that is removed afterwards.
pub fn run(arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    cqldyno(folder.path(), arguments).output().unwrap()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Fails unless the arguments are refused as wrong usage, with nothing on standard output; gives the sentence.
#[track_caller]
pub fn refused(arguments: &[&str]) -> String {
    let output = run(arguments);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert_eq!(stdout(&output), "");
    assert!(error.starts_with("Error: ") && !error.contains("error:"), "{error}");
    error
}

/// The drivers whose workers must be here: all of a comparison without names, but those that CQLDYNO_ABSENT_WORKERS names. Fails
/// when one of the others is missing: `make test` builds them beforehand.
#[track_caller]
pub fn drivers() -> Vec<&'static str> {
    let absent = std::env::var(ABSENT).unwrap_or_default();
    let present: Vec<&str> =
        COMPARED.iter().copied().filter(|name| !absent.split(',').any(|one| one == *name)).collect();
    for driver in &present {
        assert!(
            worker(driver).is_some(),
            "the worker cqldyno-driver-{driver} is missing: run `make build` and set CQLDYNO_WORKERS to target/release, or \
             name the driver in {ABSENT}"
        );
    }
    present
}

/// The worker of a driver, where `cqldyno` finds it.
pub fn worker(driver: &str) -> Option<PathBuf> {
    let beside = Path::new(CQLDYNO).parent().map(Path::to_path_buf);
    let named = std::env::var_os("CQLDYNO_WORKERS");
    let named = named.iter().flat_map(std::env::split_paths).collect::<Vec<_>>();
    named
        .into_iter()
        .chain(beside)
        .map(|folder| folder.join(format!("cqldyno-driver-{driver}")))
        .find(|path| path.is_file())
}

/// A shell script as a worker of the driver `name` in `folder`.
pub fn script(folder: &Path, name: &str, text: &str) {
    executable(&folder.join(format!("cqldyno-driver-{name}")), text);
}

/// A shell script that can be started.
///
/// Another process writes it: a file that this one had open for writing could be busy, because a child that another thread forks
/// meanwhile has it open, too, until it starts its own program.
pub fn executable(path: &Path, text: &str) {
    let mut writer = Command::new("sh");
    writer.args(["-c", r#"cat > "$0" && chmod 755 "$0""#]).arg(path);
    let mut writer = writer.stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut writer.stdin.take().unwrap(), format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success(), "{}", path.display());
}

/// What a stand-in worker of that build does until it has its job.
pub fn says_hello(name: &str, build: &str) -> String {
    let hello = r#"{"type":"hello","protocol":3,"driver":{"name":"NAME","version":"1.2.3","libraries":[],"capabilities":[],"caveats":[]},"settings":[],"build":{"id":"BUILD","compiler":"none","profile":"release"}}"#;
    format!("echo '{}'; read job || exit; ", hello.replace("NAME", name).replace("BUILD", build))
}

/// CQLDYNO_WORKERS with one more folder.
pub fn workers_and(folder: &Path) -> std::ffi::OsString {
    let named = std::env::var_os("CQLDYNO_WORKERS");
    let folders: Vec<PathBuf> = named.iter().flat_map(std::env::split_paths).chain([folder.to_path_buf()]).collect();
    std::env::join_paths(folders).unwrap()
}

/// The JSON on standard output.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// The words of a text with one space between them, to compare what is wrapped.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A child that is killed when the test ends.
pub struct Running(pub Child);

impl Running {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.id().cast_signed()), signal).unwrap();
    }

    /// Its exit code, when it ends within a minute.
    #[track_caller]
    pub fn code(&mut self) -> Option<i32> {
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not end within a minute");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A cluster of ours with the address where it listens.
pub struct Serving {
    pub running: Running,
    pub address: String,
    /// What it said until it listened.
    pub said: String,
    rest: BufReader<std::process::ChildStderr>,
}

impl Serving {
    /// `cqldyno serve --port 0` with further arguments.
    #[track_caller]
    pub fn start(arguments: &[&str], environment: &[(&str, &str)]) -> Serving {
        Serving::at("0", arguments, environment)
    }

    /// The same at a port.
    #[track_caller]
    pub fn at(port: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Serving {
        let folder = std::env::temp_dir();
        let mut command = cqldyno(&folder, &["serve", "--port", port]);
        command.args(arguments).envs(environment.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().unwrap());
        let mut rest = BufReader::new(running.0.stderr.take().unwrap());
        let mut said = String::new();
        loop {
            let mut line = String::new();
            assert!(rest.read_line(&mut line).unwrap() > 0, "it ended: {said}");
            said.push_str(&line);
            let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.") && word.contains(':'));
            if let Some(address) = address {
                let address = address.trim_end_matches(['.', ',']).to_owned();
                return Serving { running, address, said, rest };
            }
        }
    }

    /// Everything that it says until it ends.
    pub fn rest(&mut self) -> String {
        let mut text = String::new();
        self.rest.read_to_string(&mut text).unwrap();
        text
    }
}
