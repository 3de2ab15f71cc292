//! A node in its own process: this test's executable, which serves if a variable is set.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use cqldyno_cluster::{Listening, NodeOptions, ServeOptions, Snapshot, serve};

use super::client::{Answer, Client};

const SERVE: &str = "CQLDYNO_TEST_SERVE";

/// Not a test by itself: what the process runs.
#[test]
fn served_process() {
    if std::env::var_os(SERVE).is_some() {
        serve(ServeOptions { node: NodeOptions::default(), control: true }).unwrap();
    }
}

struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    listening: Listening,
}

impl Process {
    fn start() -> Process {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["node::process::served_process", "--exact", "--nocapture", "--test-threads=1"])
            .env(SERVE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let listening = reply(&mut stdout);
        Process { child, stdin, stdout, listening }
    }

    fn connect(&self) -> Client {
        let mut client = Client::silent(self.listening.listening);
        assert_eq!(client.startup(), Answer::Ready);
        client
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    fn ended(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// The next JSON line; the process's test harness writes other lines.
fn reply<T: serde::de::DeserializeOwned>(stdout: &mut BufReader<ChildStdout>) -> T {
    let mut line = String::new();
    loop {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "the process ended");
        if let Some(at) = line.find('{') {
            return serde_json::from_str(&line[at..]).unwrap();
        }
    }
}

fn monotonic_ns() -> u64 {
    let now = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC).unwrap();
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

#[test]
fn signals_end_a_node_cleanly() {
    for name in ["-TERM", "-INT"] {
        let process = Process::start();
        let mut client = process.connect();
        assert_eq!(client.rows("SELECT key FROM system.local").rows.len(), 1);
        process.signal(name);
        assert!(client.is_closed());
        assert!(process.ended().success(), "{name}");
    }
}

#[test]
fn a_node_ends_when_it_is_told_to_and_when_its_parent_is_gone() {
    let mut process = Process::start();
    process.tell(r#"{"shutdown":true}"#);
    assert!(process.ended().success());
    let mut process = Process::start();
    process.stdin = None;
    assert!(process.ended().success());
}

#[test]
fn a_node_tells_what_it_counted() {
    let mut process = Process::start();
    assert_eq!(process.listening.pid, process.child.id());
    let mut client = process.connect();
    client.query("CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}");
    client.run("CREATE TABLE ks.t (pk int PRIMARY KEY)");
    let insert = client.prepare("INSERT INTO ks.t (pk) VALUES (?)");
    let begin = monotonic_ns();
    for pk in 0..7 {
        assert_eq!(client.execute(&insert.id, &[super::client::int(pk)]), Answer::Void);
    }
    process.tell(r#"{"snapshot":true}"#);
    let snapshot: Snapshot = reply(&mut process.stdout);
    assert_eq!(snapshot.rows, 7);
    let id = insert.id.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(snapshot.prepared[&id], "INSERT INTO ks.t (pk) VALUES (?)");
    assert_eq!(snapshot.executes_of(&id), 7);
    assert_eq!(snapshot.rows_by_table, BTreeMap::from([("ks.t".to_owned(), 7)]));
    let times = snapshot.execute_times[&id];
    assert!(begin < times.first_ns && times.first_ns < times.last_ns && times.last_ns < monotonic_ns(), "{times:?}");
    // An EXECUTE: header, id, consistency, flags, one value.
    let execute_len = 9 + (2 + 16) + 2 + 1 + 2 + (4 + 4);
    assert!(snapshot.reads > 7 && snapshot.read_bytes > 7 * execute_len, "{snapshot:?}");
    let connection = &snapshot.connections[0];
    assert_eq!(
        (connection.frames, connection.reads, connection.read_bytes),
        (snapshot.frames, snapshot.reads, snapshot.read_bytes)
    );
    process.tell(r#"{"snapshot":true}"#);
    let later: Snapshot = reply(&mut process.stdout);
    assert!(later.execute_times.is_empty(), "times are of EXECUTEs since the snapshot before");
    for (line, why) in [
        ("nonsense", "is no command"),
        (r#"{"script":[{"do":"close","after":1,"node":0}]}"#, "the first node is 1"),
        (r#"{"script":[{"do":"close","after":1,"node":2}]}"#, "names node 2, and the embedded cluster has 1"),
    ] {
        process.tell(line);
        let error: serde_json::Value = reply(&mut process.stdout);
        assert!(error["error"].as_str().is_some_and(|error| error.contains(why)), "{error}");
    }
    process.tell(r#"{"shutdown":true}"#);
    assert!(process.ended().success());
}
