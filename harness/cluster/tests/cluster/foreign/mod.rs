//! Clients that others wrote, at their defaults: they connect, create, prepare, insert, read back, page, use IF and TTL, and describe.
//! Those in Python and Java use counters and user-defined types, too, and alter tables.
//!
//! They are fetched by their package clients, so they run only if `CQLDYNO_FOREIGN` is set: `CQLDYNO_FOREIGN=1` runs those whose
//! runtimes are there, `CQLDYNO_FOREIGN=required` fails without one. `CQLDYNO_OFFLINE=1` leaves all out.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cqldyno_cluster::{Node, NodeOptions};

const FOREIGN: &str = "CQLDYNO_FOREIGN";
const OFFLINE: &str = "CQLDYNO_OFFLINE";

/// The folder of a client's packages; `None`, with a message, if the test is skipped.
fn folder(client: &str, programs: &[&str]) -> Option<PathBuf> {
    let asked = env::var(FOREIGN).unwrap_or_default();
    let why = if env::var_os(OFFLINE).is_some() {
        format!("{OFFLINE} is set")
    } else if asked.is_empty() {
        format!("{FOREIGN} is not set; {FOREIGN}=1 fetches and runs it")
    } else {
        let runs = |program: &&&str| Command::new(program).arg("--help").output().is_ok();
        let Some(missing) = programs.iter().find(|program| !runs(program)) else {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign").join(client);
            fs::create_dir_all(&folder).unwrap();
            return Some(folder);
        };
        assert_ne!(
            asked, "required",
            "the {client} client needs {missing}, which this machine does not have: install it"
        );
        format!("this machine has no {missing}")
    };
    eprintln!("skipped the {client} client: {why}");
    None
}

fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/foreign").join(file)
}

/// Runs a command that must succeed, and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} did not start: {error}"));
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?} failed ({}):\n{printed}\n{errors}", output.status);
    printed.into_owned()
}

/// Fetches packages once.
fn fetch(folder: &Path, command: &mut Command) {
    let done = folder.join("fetched");
    if !done.exists() {
        run(command);
        fs::write(done, "").unwrap();
    }
}

/// Runs a client, with address and port of a node as its last arguments.
fn against_a_node(command: &mut Command) -> String {
    let node = Node::start(NodeOptions::default()).unwrap();
    let address = node.address();
    run(command.arg(address.ip().to_string()).arg(address.port().to_string()))
}

fn assert_done(command: &mut Command) {
    let printed = against_a_node(command);
    assert!(printed.trim_end().ends_with("done"), "{printed}");
}

/// A virtual environment with a package.
fn python(folder: &Path, package: &str) -> PathBuf {
    let environment = folder.join("environment");
    if !folder.join("fetched").exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    }
    let programs = environment.join("bin");
    fetch(folder, Command::new(programs.join("pip")).args(["install", "--quiet", package]));
    programs
}

#[test]
fn the_go_driver_works_at_its_defaults() {
    let Some(folder) = folder("go", &["go"]) else { return };
    fs::copy(source("client.go"), folder.join("main.go")).unwrap();
    let module = "module foreign\n\ngo 1.24\n\nrequire github.com/apache/cassandra-gocql-driver/v2 v2.1.2\n";
    fs::write(folder.join("go.mod"), module).unwrap();
    run(Command::new("go").args(["build", "-mod=mod", "-o", "client", "."]).current_dir(&folder));
    assert_done(&mut Command::new(folder.join("client")));
}

#[test]
fn the_python_driver_works_at_its_defaults() {
    let Some(folder) = folder("python", &["python3"]) else { return };
    let programs = python(&folder, "cassandra-driver==3.30.1");
    assert_done(Command::new(programs.join("python")).arg(source("client.py")));
}

#[test]
fn the_node_driver_works_at_its_defaults() {
    let Some(folder) = folder("node", &["node", "npm"]) else { return };
    let install = ["install", "--silent", "--no-audit", "--no-fund", "cassandra-driver@4.10.0", "--prefix"];
    fetch(&folder, Command::new("npm").args(install).arg(&folder));
    assert_done(Command::new("node").arg(source("client.js")).env("NODE_PATH", folder.join("node_modules")));
}

#[test]
fn the_java_driver_works_at_its_defaults() {
    let Some(folder) = folder("java", &["java", "mvn"]) else { return };
    let copy = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";
    let output = format!("-DoutputDirectory={}", folder.display());
    let mut maven = Command::new("mvn");
    fetch(&folder, maven.arg("-q").arg("-f").arg(source("pom.xml")).args([copy, "-DincludeScope=runtime", &output]));
    assert_done(Command::new("java").arg("-cp").arg(folder.join("*")).arg(source("Client.java")));
}

#[test]
fn cqlsh_works_whole_at_its_defaults() {
    let Some(folder) = folder("cqlsh", &["python3"]) else { return };
    let programs = python(&folder, "cqlsh==6.2.2");
    // Its history is written to the user's folder.
    let mut cqlsh = Command::new(programs.join("cqlsh"));
    let printed = against_a_node(cqlsh.current_dir(&folder).env("HOME", &folder).arg("-f").arg(source("session.cql")));
    for expected in [
        "     False |  2 | null | two",
        "Consistency level set to QUORUM.",
        "Serial consistency level set to LOCAL_SERIAL.",
        "@ Row 1\n",
        "Page size: 1",
        "2 rows exported to 1 files",
        "2 rows imported from 1 files",
        "Tracing session: ",
        "Tracing the steps of a request is not supported by the embedded cluster",
        "Partitioner: Murmur3Partitioner",
        "Range ownership:",
        "CREATE KEYSPACE cqlsh WITH replication = {'class': 'SimpleStrategy', 'replication_factor': '1'}",
        "CREATE TABLE cqlsh.t (\n    pk int PRIMARY KEY,\n    v text,\n    l list<int>\n) WITH ID = ",
        "VIRTUAL KEYSPACE system_virtual_schema;",
    ] {
        assert!(printed.contains(expected), "{expected:?} is not in\n{printed}");
    }
    let rows = printed.matches("  1 | one\n  2 | two\n").count();
    assert!(rows >= 1, "what was copied from the file is not there:\n{printed}");
}
