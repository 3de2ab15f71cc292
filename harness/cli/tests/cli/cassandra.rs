//! A real Cassandra as a target. What is missing for one is said everywhere; one is started only where CQLDYNO_CASSANDRA asks for it.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{CQLDYNO, Running, cqldyno, executable, json, refused, stderr, stdout};

/// Set to `required` where Java and Maven are, and a minute or two may be spent.
const ASKED: &str = "CQLDYNO_CASSANDRA";

/// `cqldyno compare noop` on this target, on a machine with these fake programs alone; nothing may be fetched or started.
fn with(target: &str, programs: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("path");
    std::fs::create_dir(&path).unwrap();
    programs.iter().for_each(|(name, text)| executable(&path.join(name), text));
    let mut command = cqldyno(folder.path(), &["compare", "noop", "--target", target, "--out", "run"]);
    command.env("PATH", &path).env_remove("JAVA_HOME").env("CQLDYNO_CACHE", folder.path().join("cache"));
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{}", stderr(&output));
    let is_there = ["run", "cache", "fetched"].map(|name| folder.path().join(name).exists());
    assert_eq!(is_there, [false; 3]);
    stderr(&output).trim_end().to_owned()
}

const JAVA: (&str, &str) = ("java", "echo 'openjdk version \"17.0.9\" 2023-10-17' >&2");
const MAVEN: (&str, &str) = ("mvn", "touch fetched");

#[test]
fn what_is_missing_for_a_cassandra_is_said_before_anything_is_fetched() {
    assert_eq!(
        with("cassandra", &[MAVEN]),
        "Error: Apache Cassandra 5.0.9 was asked for, which needs Java 11 or 17, and no `java` was found; install a JDK 17, or name \
         one in JAVA_HOME"
    );
    let old = "echo 'openjdk version \"1.8.0_402\"' >&2";
    let error = with("cassandra:4.1", &[("java", old), MAVEN]);
    assert!(
        error.starts_with("Error: Apache Cassandra 4.1.10 was asked for, which needs Java 11 or 17, and "),
        "{error}"
    );
    assert!(error.ends_with("/path/java is Java 1.8.0_402; name a JDK 11 or 17 in JAVA_HOME"), "{error}");
    assert!(with("cassandra", &[("java", "exit 1"), MAVEN]).contains("is a program that does not tell its version"));
    assert_eq!(
        with("cassandra:5.0.5", &[JAVA]),
        "Error: Apache Cassandra 5.0.5 was asked for, which is fetched once with Maven, and no `mvn` was found; install Maven and \
         start this again"
    );
    let error = with("cassandra,nodes=9,heap=256G", &[JAVA, MAVEN]);
    assert!(
        error.contains("9 nodes, heap 256 GiB each was asked for, which takes about 2308 GiB of memory, and"),
        "{error}"
    );
    assert!(error.contains("available here; ask for a smaller heap"), "{error}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = with(&format!("cassandra,port={}", address.port()), &[JAVA, MAVEN]);
    let expected =
        format!("was asked for on port {}, and {address} cannot be used (Address already in use", address.port());
    assert!(error.contains(&expected) && error.contains("leave ,port= out and a free port is found"), "{error}");
}

#[test]
fn what_a_cassandra_of_ours_does_not_have_is_refused() {
    let of = |further: &[&str]| refused(&[&["compare", "noop", "--target", "cassandra"], further].concat());
    assert!(of(&["--delay", "1ms"]).contains("--delay was given with the target cassandra:5.0.9"));
    assert!(of(&["--tls"]).contains("--tls was given with the target cassandra:5.0.9"));
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "secret").unwrap();
    let error = of(&["--user", "ada", "--password-file", password.to_str().unwrap()]);
    assert!(
        error.contains("a user was given for the target cassandra:5.0.9, which is started without users"),
        "{error}"
    );
    assert!(of(&["--arrangement", "pinned+multi:1"]).contains("the target cassandra:5.0.9 runs on all; leave pinned+"));
    let error = refused(&["compare", "noop", "--target", "cassandra:4"]);
    assert!(error.contains("HOST[:PORT]") || error.contains("no whole version"), "{error}");
    assert!(refused(&["compare", "--target", "cassandra,nodes=many"]).contains("nodes=many is not a number of nodes"));
    assert!(refused(&["cluster", "start", "127.0.0.1"]).contains("write cassandra[:VERSION]"));
}

#[test]
fn without_a_kept_cluster_status_and_stop_say_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    for action in ["status", "stop"] {
        let output = cqldyno(folder.path(), &["cluster", action]).env("CQLDYNO_CACHE", folder.path()).output().unwrap();
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""));
        assert_eq!(stderr(&output), "No cluster is kept. `cqldyno cluster start` starts one.\n");
    }
}

/// A cache, with a stand-in for Maven that fetches one file, and one for Java. A cluster that is left is stopped.
struct StandIns(tempfile::TempDir);

impl StandIns {
    /// `node` is what Java does as a node that may use the variables `yaml` and `port`.
    fn new(node: &str) -> StandIns {
        let all = StandIns(tempfile::tempdir().unwrap());
        let folder = all.0.path();
        executable(
            &folder.join("mvn"),
            "for word; do case \"$word\" in -DoutputDirectory=*) out=${word#*=} ;; esac; done\n\
             mkdir \"$out/repository\"; echo jar > \"$out/cassandra-all-5.0.9.jar\"",
        );
        let java = format!(
            "if [ \"$1\" = -version ]; then {}; exit; fi\n\
             for word; do case \"$word\" in -Dcassandra.config=*) yaml=${{word#*=file://}} ;; esac; done\n\
             port=$(sed -n 's/^native_transport_port: //p' \"$yaml\")\nexec {node}",
            JAVA.1
        );
        executable(&folder.join("java"), &java);
        all
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = cqldyno(self.0.path(), arguments);
        let path = format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap());
        command.env("PATH", path).env_remove("JAVA_HOME").env("CQLDYNO_CACHE", self.0.path().join("cache"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Changes what is known of the kept cluster.
    fn change(&self, what: &str, to: &str) {
        let path = self.0.path().join("cache/cassandra/kept/cluster.json");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(what), "{text}");
        std::fs::write(path, text.replace(what, to)).unwrap();
    }

    /// Waits until a node is begun in a folder below that of the stand-ins.
    fn wait_for_node(&self, folder: &str) {
        let path = self.0.path().join(folder).join("cluster.json");
        while !std::fs::read_to_string(&path).is_ok_and(|text| text.contains("\"pid\"") && text.contains("\"log\"")) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

impl Drop for StandIns {
    fn drop(&mut self) {
        let _ = self.command(&["cluster", "stop"]).output();
    }
}

const START: [&str; 3] = ["cluster", "start", "cassandra,heap=256M"];

#[test]
fn of_two_starts_at_once_one_has_the_cluster_and_status_says_what_each_node_does() {
    let all = StandIns::new(&format!("{CQLDYNO} serve --port $port"));
    let both = [0; 2].map(|_| all.command(&START).spawn().unwrap());
    let mut both = both.map(|child| child.wait_with_output().unwrap());
    both.sort_by_key(|output| output.status.code());
    let said = both.each_ref().map(stderr);
    assert_eq!(both.each_ref().map(|output| output.status.code()), [Some(0), Some(1)], "{said:?}");
    let target = stdout(&both[0]).trim_end().to_owned();
    assert!(said[1].contains(&format!("Error: a cluster runs already at {target}; use it with --target {target}")));
    let status = || {
        let output = all.command(&["cluster", "status"]).output().unwrap();
        (output.status.code(), stdout(&output).trim_end().to_owned(), stderr(&output))
    };
    let (code, addresses, _) = status();
    assert_eq!((code, &addresses), (Some(0), &target));
    // As after a start that was killed.
    all.change("\"asked\": 1", "\"asked\": 3");
    let (code, addresses, said) = status();
    assert_eq!((code, addresses.as_str()), (Some(1), ""));
    for part in ["1 of 3 nodes answer.", &format!("{target} answers (process "), "Not begun: 2 nodes."] {
        assert!(said.contains(part), "{said}");
    }
    let again = all.command(&START).output().unwrap();
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("and not all of its nodes answer; `cqldyno cluster status` describes them"));
    all.change(&target, "127.0.0.1:9");
    let (code, _, said) = status();
    assert!(code == Some(1) && said.contains("127.0.0.1:9 runs and answers no query (process "), "{said}");
    all.change("\"started\": ", "\"started\": 1");
    let (code, _, said) = status();
    assert!(code == Some(1) && said.contains("0 of 3 nodes answer.") && said.contains(":9 has ended (log "), "{said}");
    all.change("\"started\": 1", "\"started\": ");
    assert!(all.command(&["cluster", "stop"]).output().unwrap().status.success());
    assert!(status().2.contains("No cluster is kept."));
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_start_whose_end_speaks_of_the_cluster() {
    let all = StandIns::new("sleep 1000");
    let asked = ["compare", "noop", "--target", "cassandra,heap=256M", "--scenario", "writes", "--count", "1k"];
    let mut killed = Running(all.command(&[&asked[..], &["--out", "run"]].concat()).spawn().unwrap());
    all.wait_for_node("run/cassandra");
    killed.signal(Signal::SIGKILL);
    killed.code();
    assert!(all.0.path().join("run/cassandra/node1").is_dir());
    let starting = all.command(&START).spawn().unwrap();
    all.wait_for_node("cache/cassandra/kept");
    assert!(!all.0.path().join("run/cassandra").exists());
    kill(Pid::from_raw(starting.id().cast_signed()), Signal::SIGINT).unwrap();
    let output = starting.wait_with_output().unwrap();
    let said = stderr(&output);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(130), ""), "{said}");
    let ending = "Ending the start of the cluster: nothing of it will be left running. Press Ctrl-C again";
    assert!(said.contains(ending) && !said.contains("will be shown"), "{said}");
    let status = all.command(&["cluster", "status"]).output().unwrap();
    assert_eq!(status.status.code(), Some(1));
    assert!(stderr(&status).contains("No cluster is kept."), "{}", stderr(&status));
}

/// `cqldyno` in `folder` with a JVM that starts quickly and computes slowly.
fn quick(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = cqldyno(folder, arguments);
    command.env("CQLDYNO_CASSANDRA_JVM", "-XX:TieredStopAtLevel=1").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// One test at a time has a Cassandra: a machine of two cores has no room for more. `None` unless it is asked for.
pub fn asked_for() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if std::env::var(ASKED).is_ok_and(|value| value == "required") {
        return Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner));
    }
    eprintln!("skipped: {ASKED}=required starts a real Cassandra");
    None
}

/// Whether a process has this word among its arguments.
fn is_running(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines
        .filter(|line| line.starts_with(b"/") && line.ends_with(b"CassandraDaemon\0"))
        .any(|line| String::from_utf8_lossy(&line).contains(word))
}

#[test]
fn a_cassandra_is_started_warmed_up_compared_on_and_gone_afterwards() {
    let Some(_alone) = asked_for() else { return };
    let folder = tempfile::tempdir().unwrap();
    let asked = ["compare", "floor", "--target", "cassandra,heap=512M", "--scenario", "writes", "--count", "20k"];
    let rest = ["--blocks", "1", "--pass", "none", "--limits", "noise=none", "--format", "json", "--out", "run"];
    let output = quick(folder.path(), &[&asked[..], &rest].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    for part in ["start and warm up the server", "is ready after", "Warm-up: ", "compact"] {
        assert!(said.contains(part), "{said}");
    }
    let all = json(&output);
    let about = "Apache Cassandra 5.0.9, 1 node, heap 512 MiB, on this machine, on the same cores; a keyspace for each contender";
    assert_eq!(all["run"]["plan"]["target"]["about"], about);
    let prepared = all["run"]["environment"]["more"]["Cassandra"].as_str().unwrap();
    assert!(prepared.contains("with Java") && prepared.contains("statements/s in"), "{prepared}");
    let cell = &all["cells"][0];
    assert_eq!((&cell["failed"], &cell["void"]), (&serde_json::Value::Null, &serde_json::Value::Null), "{cell}");
    assert!(cell["measures"]["server_cpu"]["value"].as_f64().unwrap() > 0.0, "{cell}");
    assert!(!folder.path().join("run/cassandra").exists() && folder.path().join("run/logs/cassandra-1.log").exists());
    assert!(!is_running(folder.path().to_str().unwrap()));
}

#[test]
fn a_cqldyno_that_is_killed_takes_its_cassandra_with_it() {
    let Some(_alone) = asked_for() else { return };
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let folder = tempfile::tempdir().unwrap();
        let word = folder.path().to_str().unwrap();
        let asked = ["compare", "floor", "--target", "cassandra,heap=512M", "--scenario", "writes", "--count", "20k"];
        let mut running = Running(quick(folder.path(), &[&asked[..], &["--out", "run"]].concat()).spawn().unwrap());
        let wait_for = |wanted: bool| {
            (0..2_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(100));
                is_running(word) == wanted
            })
        };
        assert!(wait_for(true));
        running.signal(signal);
        running.code();
        assert!(wait_for(false));
    }
}

#[test]
fn a_kept_cluster_of_three_nodes_is_compared_on_by_its_address_and_ends_when_it_is_stopped() {
    let Some(_alone) = asked_for() else { return };
    let folder = tempfile::tempdir().unwrap();
    let cache = cqldyno_builder::cache().unwrap();
    // A cache of its own for what is kept, with what was fetched before.
    let own = folder.path().join("cache/cassandra");
    std::fs::create_dir_all(&own).unwrap();
    let release = cache.join("cassandra/5.0.9");
    std::fs::create_dir_all(&release).unwrap();
    if release.join("SHA256SUMS").exists() {
        std::os::unix::fs::symlink(&release, own.join("5.0.9")).unwrap();
    }
    let call = |arguments: &[&str]| -> Output {
        quick(folder.path(), arguments).env("CQLDYNO_CACHE", folder.path().join("cache")).output().unwrap()
    };
    let started = call(&["cluster", "start", "cassandra,nodes=3,heap=384M"]);
    assert!(started.status.success(), "{}", stderr(&started));
    let target = stdout(&started).trim_end().to_owned();
    assert_eq!(target.split(',').count(), 3, "{target}");
    let again = call(&["cluster", "start"]);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains(&format!("a cluster runs already at {target}")));
    assert_eq!(stdout(&call(&["cluster", "status"])).trim_end(), target);
    let asked = ["compare", "floor", "--target", &target, "--scenario", "writes", "--count", "20k", "--blocks", "1"];
    let compared = call(&[&asked[..], &["--pass", "none", "--out", "run"]].concat());
    assert!(compared.status.success(), "{}", stderr(&compared));
    let stopped = call(&["cluster", "stop"]);
    assert!(
        stderr(&stopped).contains("3 nodes, heap 384 MiB each was ended, and its data is gone."),
        "{}",
        stderr(&stopped)
    );
    assert!(!is_running(folder.path().to_str().unwrap()));
    assert_eq!(call(&["cluster", "status"]).status.code(), Some(1));
}

#[test]
fn a_node_is_killed_and_another_day_frozen_and_no_acknowledged_write_is_lost() {
    let Some(_alone) = asked_for() else { return };
    let folder = tempfile::tempdir().unwrap();
    let asked =
        ["faults", "scylla", "--target", "cassandra,heap=384M", "--day", "node-stopped,node-frozen", "--rate", "500"];
    let rest = ["--lasts", "5s", "--request-timeout", "2s", "--format", "json", "--out", "run"];
    let output = quick(folder.path(), &[&asked[..], &rest].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let all = json(&output);
    for (day, deeds) in [("node-stopped", ["was killed", "was started"]), ("node-frozen", ["was frozen", "went on"])] {
        let cells = all["cells"].as_array().unwrap();
        let cell = cells.iter().find(|cell| cell["scenario"] == day).unwrap();
        assert_eq!((&cell["failed"], &cell["void"]), (&serde_json::Value::Null, &serde_json::Value::Null), "{cell}");
        let findings = cell["findings"].to_string();
        assert!(deeds.iter().all(|deed| findings.contains(deed)) && findings.contains("Node 2 "), "{findings}");
        assert_eq!(cell["measures"]["lost"]["value"], 0.0, "{cell}");
        let why = cell["measures"]["doubled"].to_string();
        assert!(why.contains("Apache Cassandra does not say what it did"), "{why}");
    }
    assert!(!is_running(folder.path().to_str().unwrap()));
}
