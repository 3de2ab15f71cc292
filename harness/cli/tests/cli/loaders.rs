//! The load of a contender from several workers, each behind a launcher command.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{
    CQLDYNO, Running, Serving, cqldyno, executable, json, refused, run, says_hello, stderr, stdout, words,
};

const SIZE: [&str; 10] =
    ["--blocks", "1", "--concurrency", "32", "--warmup", "500", "--pass", "none", "--limits", "noise=none"];

/// The cells of a comparison of floor, and its exit code.
fn compared(folder: &Path, count: &str, arguments: &[&str]) -> (Vec<Value>, Option<i32>) {
    let all =
        [&["compare", "floor", "--count", count, "--format", "json", "--out", "run"], &SIZE[..], arguments].concat();
    let output = cqldyno(folder, &all).output().unwrap();
    let cells = json(&output)["cells"].as_array().unwrap().clone();
    fs::rename(folder.join("run"), folder.join(format!("run-{}", arguments.len()))).unwrap();
    (cells, output.status.code())
}

fn figure(of: &Value, id: &str) -> f64 {
    of["measures"][id]["value"].as_f64().unwrap_or_else(|| panic!("{id}: {}", of["measures"][id]))
}

/// Answers in the cell's histogram.
fn answers(run: &Path, cell: &Value) -> u64 {
    let log = fs::read_to_string(run.join(cell["files"]["hdr"].as_str().unwrap())).unwrap();
    let line = log.lines().rfind(|line| !line.starts_with(['#', '"'])).unwrap();
    let bytes = STANDARD.decode(line.rsplit(',').next().unwrap()).unwrap();
    let found: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
    found.len()
}

/// A busy machine may start two processes too far apart, which is no matter of sums.
fn is_sound(cell: &Value) -> bool {
    let void = cell["void"].as_str().unwrap_or("The loaders ");
    cell["failed"].is_null() && void.split(". ").all(|one| one.starts_with("The loaders ") || one.starts_with("On "))
}

/// The sums of two loaders on this target are those of one worker: statements, answers, and what servers of ours count.
#[track_caller]
fn adds_up(folder: &Path, target: &str, loaders: &[&str]) -> Value {
    let asked = ["--scenario", "mixed", "--target", target];
    let (alone, code) = compared(folder, "6001", &asked);
    assert_eq!((code, alone.len()), (Some(0), 1));
    let together = [&asked, loaders].concat();
    let run = folder.join(format!("run-{}", together.len()));
    let (together, _) = compared(folder, "6001", &together);
    let (one, two) = (&alone[0], &together[0]);
    assert!(is_sound(two), "{two}");
    let counted = if target == "embedded" {
        &["statements", "verified", "server_executes"][..]
    } else {
        &["statements", "verified"]
    };
    for id in counted {
        assert_eq!((id, figure(one, id)), (id, 6_001.0));
        assert_eq!((id, figure(two, id)), (id, 6_001.0));
    }
    assert_eq!(figure(one, "read_back"), figure(two, "read_back"));
    assert_eq!(one["issued_by_statement"], two["issued_by_statement"]);
    let parts = two["loaders"].as_array().unwrap();
    assert_eq!((parts.len(), figure(&parts[0], "statements"), figure(&parts[1], "statements")), (2, 3_000.0, 3_001.0));
    let bytes = |of: &Value, way: &str| {
        (figure(of, &format!("bytes_{way}_per_statement")) * figure(of, "verified")).round() as u64
    };
    for way in ["sent", "received"] {
        assert_eq!(bytes(two, way), bytes(one, way), "{way}");
        assert_eq!(bytes(two, way), parts.iter().map(|part| bytes(part, way)).sum::<u64>(), "{way}");
    }
    assert_eq!(answers(&run, two), 6_001);
    let by_second = two["series"]["answered"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum::<u64>();
    assert_eq!(by_second, 6_001, "{}", two["series"]);
    assert!(figure(two, "loader_start_skew") >= 0.0 && figure(two, "threads") >= 2.0);
    two.clone()
}

#[test]
fn two_loaders_issue_what_one_worker_would_and_their_sums_are_exact() {
    let folder = tempfile::tempdir().unwrap();
    let cell = adds_up(folder.path(), "embedded", &["--loaders", "2", "--launch", "env"]);
    assert_eq!(cell["loaders"][0]["clock_error_ns"], 0, "one machine has one clock");
    let report = cqldyno(folder.path(), &["report", "run-8", "--wide"]).output().unwrap();
    assert!(stdout(&report).contains("each loader"), "{}", stdout(&report));
}

#[test]
fn turns_and_a_rate_are_shared_and_every_turn_has_all_of_its_statements() {
    let folder = tempfile::tempdir().unwrap();
    let turns = ["--scenario", "writes", "--turn", "1k", "--loaders", "3", "--pass", "latency", "--rate", "3001"];
    let arguments = ["compare", "floor", "noop", "--count", "4000", "--format", "json", "-c", "8", "--warmup", "10"];
    let output =
        cqldyno(folder.path(), &[&arguments[..], &turns, &["--limits", "noise=none"]].concat()).output().unwrap();
    let cells = json(&output)["cells"].as_array().unwrap().clone();
    let of = |pass: &str, contender: &str| {
        let mine = cells.iter().filter(|cell| cell["pass"] == pass && cell["contender"] == contender);
        mine.cloned().collect::<Vec<Value>>()
    };
    for contender in ["floor", "noop"] {
        let timed = of("timing", contender);
        assert!(timed.iter().all(is_sound), "{timed:?}");
        assert_eq!(timed.iter().map(|cell| figure(cell, "verified")).sum::<f64>(), 4_000.0);
        let paced = of("latency", contender);
        assert!(!paced.is_empty() && paced.iter().all(is_sound), "{paced:?}");
        assert!(paced.iter().all(|cell| figure(cell, "verified") == 9_003.0));
    }
}

#[test]
fn what_loaders_cannot_share_is_refused_before_anything_runs() {
    let asked = |arguments: &[&str]| words(&refused(&[&["compare", "floor"], arguments].concat()));
    for (arguments, sentence) in [
        (&["--launch", "ssh {host}"][..], "the following required arguments were not provided: --loaders"),
        (&["--loaders", "0"], "write how many there are, from 1 to 1000, or their hosts with commas between"),
        (&["--loaders", "a,,b"], "or their hosts with commas between"),
        (&["--loaders", "2", "--launch", "ssh {host}"], "--launch has {host}, but --loaders names no host"),
        (
            &["--loaders", "a,b"],
            "it names hosts, but --launch has no {host}; write --launch 'ssh {host}', or --loaders N",
        ),
        (&["--loaders", "2", "--launch", "ssh 'a"], "cannot be read as words of a shell; close its quotes"),
        (&["--loaders", "2", "--pass", "flamegraph"], "the pass flamegraph works with one worker only"),
        (&["--loaders", "9", "-c", "8"], "the scenario writes has 8 in flight, fewer than 9 loaders"),
        (&["--loaders", "2", "--scenario", "connect"], "the scenario connect opens sessions, idles or has a script"),
        (
            &["--loaders", "9", "--rate", "8"],
            "--rate 8 is less than one statement per second for each of 9 loaders; raise --rate",
        ),
        (
            &["--submit", "spawn"],
            "no longer has the flag --submit; write the way after the scenario: --scenario reads+stream",
        ),
        (&["--explain"], "no longer has the flag --explain; write --pass explain"),
    ] {
        let error = asked(arguments);
        assert!(error.contains(sentence), "{arguments:?}: {error}");
    }
}

/// What is said, and the cells, if loaders `a` and `b` start as this script says: `$host` is one, the rest of the arguments its command.
fn launched(text: &str) -> (String, Option<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("launch");
    executable(&script, &format!("host=$1; shift\n{text}"));
    let launch = format!("{} {{host}}", script.display());
    let all = ["compare", "floor", "--count", "1000", "--format", "json", "--loaders", "a,b", "--launch", &launch];
    let output = cqldyno(folder.path(), &[&all, &SIZE[..], &["--scenario", "writes"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let cells = (!output.stdout.is_empty()).then(|| json(&output)["cells"][0].clone());
    (words(&stderr(&output)), cells)
}

#[test]
fn a_loader_that_does_not_start_or_is_another_build_is_named_with_the_reason() {
    let (said, cells) = launched("[ $host = a ] || { echo 'no such host' >&2; exit 3; }\nexec \"$@\"");
    assert!(cells.is_none() && said.contains("loader on b exited with code 3; its log ends: no such host"), "{said}");

    let (said, cells) = launched(
        "[ $host = a ] || { echo '{\"loader\":\"0.0\",\"host\":\"b\",\"kernel\":\"\",\"cores\":[],\"boot\":\"\"}'; cat; }\nexec \"$@\"",
    );
    let other =
        "The loader on b is another build of cqldyno: version \"0.0\" with build id \"\", and this is version \"0.";
    assert!(cells.is_none() && said.contains(other), "{said}");

    // The same version, as a build of other sources has it.
    let told = |what: &str| format!("[ $host = a ] || {{ \"$@\" </dev/null | sed '{what}'; exit; }}");
    let (said, cells) =
        launched(&format!("{}\nexec \"$@\"", told("s/\"build\":\"[^\"]*/\"build\":\"0123456789abcdef/")));
    assert!(cells.is_none() && said.contains("with build id \"0123456789abcdef\", and this is"), "{said}");

    let boot = told("s/\"cores\":.[^]]*/\"cores\":[0,1,2,3/; s/\"boot\":\"[^\"]*/\"boot\":\"x/");
    let elsewhere = format!("{boot}\nexec taskset -c 0 \"$@\"");
    let (said, cells) = launched(&elsewhere);
    assert!(
        cells.is_none() && said.contains("The loader on a may use fewer cores than the one on b: 1 and 4."),
        "{said}"
    );
    let (said, cells) = launched(&elsewhere.replace(",1,2,3", ""));
    assert!(cells.is_none() && said.contains("The loader on b is on another machine than cqldyno, and"), "{said}");

    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other");
    executable(&other, &says_hello("floor", "other"));
    let (_, cell) =
        launched(&format!("[ $host = a ] || [ $# -lt 3 ] || exec \"$1\" loader -- {}\nexec \"$@\"", other.display()));
    let failed = cell.unwrap()["failed"].as_str().unwrap().to_owned();
    assert!(
        failed.starts_with("On b: The worker cqldyno-driver-floor is another than at the start of the run"),
        "{failed}"
    );
}

/// A launcher whose loader seems to be on a machine with a clock that is five seconds ahead.
const AHEAD: &str = r#"#!/usr/bin/env python3
import json, subprocess, sys, threading
loader = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def told(line, by_ns):
    message = json.loads(line)
    if isinstance(message, dict) and "boot" in message:
        message["boot"] = "another machine"
    if isinstance(message, dict) and message.get("at_ns") is not None:
        message["at_ns"] += by_ns
    return (json.dumps(message) + "\n").encode()
def down():
    for line in sys.stdin.buffer:
        loader.stdin.write(told(line, -5_000_000_000))
        loader.stdin.flush()
    loader.stdin.close()
threading.Thread(target=down, daemon=True).start()
for line in loader.stdout:
    sys.stdout.buffer.write(told(line, 5_000_000_000))
    sys.stdout.buffer.flush()
sys.exit(loader.wait())
"#;

#[test]
fn a_clock_that_is_ahead_is_compared_and_its_loader_begins_with_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let (ahead, launch) = (folder.path().join("ahead"), folder.path().join("launch"));
    fs::write(&ahead, AHEAD).unwrap();
    executable(
        &launch,
        &format!("host=$1; shift\n[ $host = a ] || exec \"$@\"\nexec python3 {} \"$@\"", ahead.display()),
    );
    let serving = Serving::start(&[], &[]);
    let launch = format!("{} {{host}}", launch.display());
    let loaders = ["--target", &serving.address, "--loaders", "a,b", "--launch", &launch, "--scenario", "writes"];
    let (cells, _) = compared(folder.path(), "6000", &loaders);
    assert!(is_sound(&cells[0]) && figure(&cells[0], "verified") == 6_000.0, "{}", cells[0]);
    let [a, b] = [0, 1].map(|nth: usize| cells[0]["loaders"][nth].clone());
    let error_ns = a["clock_error_ns"].as_u64().unwrap();
    assert!(error_ns > 0 && a["clock_ahead_ns"].as_u64().unwrap().abs_diff(5_000_000_000) <= error_ns, "{a}");
    assert_eq!((&b["clock_ahead_ns"], &b["clock_error_ns"]), (&Value::from(0), &Value::from(0)));
    // Five seconds apart they would be without the comparison.
    assert!(figure(&cells[0], "loader_start_skew") < 4e6, "{}", cells[0]);
}

/// A launcher whose loader on `b` seems to be on another machine. What the watch there is told is kept, and something is the matter with it.
const WATCHED: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys, threading
how, host, command = sys.argv[1], sys.argv[2], sys.argv[3:]
loader = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def down():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if len(command) == 2 and message != {"type": "beat"}:
            kept = message if isinstance(message, str) else list(message)[0]
            with open(f"told-{how}-{host}", "a") as told:
                told.write(kept + "\n")
            if host == "b" and how == "floorless" and kept == "start":
                message["start"]["witness"]["Ok"]["floor"] = "/nowhere/floor"
            if host == "b" and how == "killed" and kept == "between":
                loader.kill()
        try:
            loader.stdin.write((json.dumps(message) + "\n").encode())
            loader.stdin.flush()
        except BrokenPipeError:
            return
    loader.stdin.close()
threading.Thread(target=down, daemon=True).start()
for line in loader.stdout:
    message = json.loads(line)
    if host == "b" and "boot" in message:
        message["boot"] = "another machine"
    if "round" in message and message["round"]:
        message["round"]["others_s"] = message["round"]["wall_s"] * (1.5 if host == "b" and how == "busy" else 0)
        message["round"]["steal_s"] = 0
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
os._exit(loader.wait() & 127)
"#;

#[test]
fn every_host_is_watched_and_has_a_witness_and_the_reason_names_the_one_that_was_busy() {
    let (folder, serving) = (tempfile::tempdir().unwrap(), Serving::start(&[], &[]));
    fs::write(folder.path().join("watched"), WATCHED).unwrap();
    let compared = |how: &str| {
        let launch = format!("python3 watched {how} {{host}}");
        let hosts = ["--target", &serving.address, "--loaders", "a,b", "--launch", &launch, "--scenario", "writes"];
        let size = ["--count", "4000", "--blocks", "1", "-c", "32", "--warmup", "500", "--pass", "none"];
        let arguments = [&["compare", "floor", "--format", "json", "--out", how], &hosts[..], &size].concat();
        let output = cqldyno(folder.path(), &arguments).output().unwrap();
        let cell = json(&output)["cells"][0].clone();
        assert!(is_sound(&cell) && figure(&cell, "verified") == 4_000.0, "{how}: {cell}");
        let told = ["a", "b"].map(|host| {
            let told = fs::read_to_string(folder.path().join(format!("told-{how}-{host}"))).unwrap();
            told.lines().map(str::to_owned).collect::<Vec<_>>()
        });
        (cell, told, words(&stderr(&output)))
    };
    let each = ["start", "begin", "between", "ended", "round"];
    let (cell, told, _) = compared("quiet");
    assert_eq!(told, [each, each]);
    assert!(cell["cores"]["witness_us"].as_f64().unwrap() > 0.0 && cell["cores"]["others_s"] == 0.0, "{cell}");

    let (cell, told, said) = compared("busy");
    assert_eq!(
        (told, &cell["cores"]["host"]),
        ([each, each].map(|one| one.map(str::to_owned).to_vec()), &Value::from("b"))
    );
    assert!(said.contains("% of the cores of b"), "{said}");

    let (cell, _, _) = compared("floorless");
    let without = "This round is not checked for slowness, because `floor` failed: On b: The worker floor ";
    assert!(cell["findings"].to_string().contains(without), "{cell}");
    assert!(cell["cores"]["witness_us"].is_null() && cell["cores"]["wall_s"].as_f64().unwrap() > 0.0, "{cell}");

    let (cell, _, said) = compared("killed");
    let unwatched = "The cores of the loaders' hosts are not watched: The worker loader on b ";
    assert!(cell["cores"]["unavailable"].as_str().unwrap().starts_with(unwatched), "{cell}");
    assert!(said.contains("loader on b"), "{said}");
}

#[test]
fn the_cpu_time_of_loaders_is_not_counted_as_that_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["--loaders", "2", "--launch", "env", "--scenario", "writes", "--blocks", "1", "--pass", "none"];
    let size = ["compare", "floor", "--count", "2M", "--format", "json"];
    let output = cqldyno(folder.path(), &[&size[..], &asked].concat()).output().unwrap();
    let cell = &json(&output)["cells"][0];
    let had = |what: &str| cell["cores"][what].as_f64().unwrap();
    let ours_s =
        (figure(cell, "cpu_per_statement") + figure(cell, "server_cpu_per_statement")) * figure(cell, "verified") / 1e6;
    // Whatever others do: if it were counted twice, there would be more than the cores have.
    assert!(ours_s > 0.0 && had("others_s") + ours_s < 1.1 * had("cores") * had("wall_s"), "{ours_s}: {cell}");
}

/// A server and its client, each a process of its own; the server works when it is told to.
const CONNECTED: &str = r#"
import json, os, socket, subprocess, sys, time
listener = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listener.getsockname())
server, _ = listener.accept()
listener.close()
child = os.fork()
if child == 0:
    server.close()
    while True: time.sleep(1)
client.close()
watches = [subprocess.Popen([sys.argv[1], "loader"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
def asked(message):
    for watch in watches:
        print(json.dumps(message(watch) if callable(message) else message), file=watch.stdin, flush=True)
    return [json.loads(watch.stdout.readline()) for watch in watches]
[watch.stdout.readline() for watch in watches]
asked({"start": {"witness": {"Err": "none"}, "apart": False}})
cores = sorted(os.sched_getaffinity(0))
asked(lambda watch: {"begin": {"processes": [child] if watch is watches[0] else [], "cores": cores}})
asked("between")
began = time.process_time()
while time.process_time() < began + 0.5: pass
asked("ended")
print(json.dumps([told["round"]["others_s"] for told in asked("round")]))
os.kill(child, 9)
[watch.stdin.close() for watch in watches]
"#;

#[test]
fn a_cluster_of_ones_own_on_the_host_of_a_loader_is_no_other_process() {
    let output = Command::new("python3").args(["-c", CONNECTED, CQLDYNO]).output().unwrap();
    let [with, without]: [f64; 2] =
        serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert!(without - with > 0.3, "{with} {without}");
}

/// A comparison whose window does not end by itself.
fn endless(folder: &Path, launch: &str) -> Running {
    let text = r#"
name = "endless"
about = "It goes on for a day."
schema = ["CREATE KEYSPACE IF NOT EXISTS endless WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE IF NOT EXISTS endless.kv (id bigint PRIMARY KEY, v bigint)"]
[[statement]]
name = "insert"
keys = 1000
cql = "INSERT INTO endless.kv (id, v) VALUES (?, ?)"
values = [{ type = "bigint" }, { type = "bigint" }]
"#;
    fs::write(folder.join("endless.toml"), text).unwrap();
    let all = ["compare", "floor", "--count", "4000M", "--format", "json", "--loaders", "2", "--launch", launch];
    // Each of Slurm's two nodes has room for one loader.
    let limits = if launch.contains("srun") { "noise=none,stall=5s" } else { "stall=5s" };
    let size = ["--turn", "all", "--warmup", "0", "-c", "4", "--pass", "none", "--limits", limits];
    let arguments = [&all[..], &["--scenario", "endless.toml"], &size].concat();
    Running(cqldyno(folder, &arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
}

/// The processes that work in this folder, with their command lines: those of a comparison there, wherever an engine started them.
fn processes(folder: &Path) -> Vec<(i32, String)> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    let of = |pid: i32| {
        let is_there = fs::read_link(format!("/proc/{pid}/cwd")).ok()? == folder;
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?.replace('\0', " ");
        is_there.then_some((pid, line))
    };
    entries.filter_map(of).collect()
}

fn waits_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(120) {
        if let Some(found) = look() {
            return found;
        }
        sleep(Duration::from_millis(20));
    }
    panic!("it took two minutes: {what}");
}

/// The kernel's figure for this process whose number, from the state on, is `nth`.
fn stat(pid: i32, nth: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(nth)?.parse().ok()
}

/// The processes of a comparison whose two workers are at work: they use CPU time.
fn at_work(folder: &Path) -> Vec<(i32, String)> {
    waits_for("two workers at work", || {
        let all = processes(folder);
        let workers =
            all.iter().filter(|(_, line)| line.contains("cqldyno-driver-floor") && !line.contains(" loader "));
        (workers.filter(|(pid, _)| stat(*pid, 11).is_some_and(|ticks| ticks > 20)).count() == 2).then_some(all)
    })
}

/// No process of a comparison in this folder is left.
fn are_gone(folder: &Path) {
    waits_for("every process ends", || processes(folder).is_empty().then_some(()));
}

/// Why the cell of a comparison failed of which this process got this signal; nothing of it is left then.
fn failed_after(launch: &str, of: &str, signal: Signal) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut running = endless(folder.path(), launch);
    let all = at_work(folder.path());
    // Without the watch of the host, whose end fails no row. `srun` has a child of the same name, whose number may be the lower one.
    let is_it = |(pid, line): &&(i32, String)| {
        stat(*pid, 1) == Some(running.0.id().into()) && line.contains(of) && line.contains(" loader -- ")
    };
    let (pid, _) = all.iter().find(is_it).unwrap_or_else(|| panic!("{of}: {all:?}"));
    kill(Pid::from_raw(*pid), signal).unwrap();
    let mut output = running.0.stdout.take().unwrap();
    let text = std::thread::spawn(move || std::io::read_to_string(&mut output).unwrap());
    assert_eq!(running.code(), Some(1));
    let text = text.join().unwrap();
    are_gone(folder.path());
    let result: Value = serde_json::from_str(&text).unwrap();
    result["cells"][0]["failed"].as_str().unwrap_or_else(|| panic!("{text}")).to_owned()
}

#[test]
fn a_loader_that_is_killed_or_stands_still_fails_the_row_with_its_name_and_leaves_nothing_behind() {
    let killed = failed_after("env", " loader -- ", Signal::SIGKILL);
    assert!(
        killed.starts_with("The worker cqldyno-driver-floor of loader ") && killed.contains("was ended by SIGKILL"),
        "{killed}"
    );
    let stopped = failed_after("", " loader -- ", Signal::SIGSTOP);
    assert!(stopped.contains("of loader ") && stopped.contains("issued no statement for 5 s"), "{stopped}");
}

#[test]
fn a_launcher_or_a_parent_that_is_killed_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("launch");
    executable(&script, "cat | \"$@\" | cat");
    let killed = failed_after(script.to_str().unwrap(), script.to_str().unwrap(), Signal::SIGKILL);
    assert!(killed.contains("of loader ") && killed.contains("was ended by SIGKILL"), "{killed}");

    let mut running = endless(folder.path(), script.to_str().unwrap());
    at_work(folder.path());
    running.signal(Signal::SIGKILL);
    running.0.wait().unwrap();
    are_gone(folder.path());
}

#[test]
fn what_an_engine_starts_is_printed() {
    let slurm = stdout(&run(&["launch", "slurm", "--loaders", "3"]));
    for part in ["#SBATCH --nodes=3\n", CQLDYNO, "--launch 'srun --overlap -N1 -n1 -w {host}'"] {
        assert!(slurm.contains(part), "{part}: {slurm}");
    }
    let pods = stdout(&run(&["launch", "kubernetes", "--loaders", "2"]));
    assert_eq!(pods.matches("kind: Pod").count(), 2);
    assert!(
        pods.contains("--loaders cqldyno-loader-0,cqldyno-loader-1 --launch 'kubectl exec -i {host} --'"),
        "{pods}"
    );
    assert!(!pods.contains("NUMBER"), "{pods}");
    // kubectl reads all of it as what it is, and needs no cluster for that.
    let mut kubectl = Command::new("kubectl");
    kubectl.args(["set", "image", "--local", "-f", "-", "loader=own:1", "-o", "yaml"]);
    let Ok(mut kubectl) = kubectl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        eprintln!("The pods were not read by kubectl, which is not here.");
        return;
    };
    kubectl.stdin.take().unwrap().write_all(pods.as_bytes()).unwrap();
    let read = stdout(&kubectl.wait_with_output().unwrap());
    assert_eq!((read.matches("kind: Pod").count(), read.matches("image: own:1").count()), (2, 2), "{read}");
}

/// Set where Slurm may be started: `make test-all` does, and CI.
const SLURM: &str = "CQLDYNO_SLURM";
/// Set where a Cassandra may be started, too.
const CASSANDRA: &str = "CQLDYNO_CASSANDRA";

/// A Slurm of two nodes on this machine, until it is dropped.
struct Slurm {
    folder: tempfile::TempDir,
    processes: Vec<Running>,
}

impl Slurm {
    /// `None` with a sentence where there is none, or nobody asked for it.
    fn start() -> Option<Slurm> {
        let is_there = |name: &str| Path::new("/usr/sbin").join(name).exists();
        if std::env::var_os(SLURM).is_none() || !["slurmctld", "slurmd", "munged"].into_iter().all(is_there) {
            println!(
                "Skipped: {SLURM} is not set, or Slurm is missing; install the package slurm-wlm and run `make test-all` as root."
            );
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display().to_string();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
        let ports: Vec<u16> = (0..3)
            .map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap())
            .map(|one| one.local_addr().unwrap().port())
            .collect();
        let nodes: String = (0..2)
            .map(|nth| {
                format!(
                    "NodeName=n{} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=100\n",
                    nth + 1,
                    ports[nth + 1]
                )
            })
            .collect();
        let socket = folder.path().join("munge");
        let text = format!(
            "ClusterName=dyno\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={}\nStateSaveLocation={path}/state\nSlurmdSpoolDir={path}/spool.%n\nSlurmctldPidFile={path}/ctld.pid\n\
             SlurmdPidFile={path}/slurmd.%n.pid\nSlurmctldLogFile={path}/ctld.log\nSlurmdLogFile={path}/slurmd.%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nReturnToService=2\n{nodes}PartitionName=main Nodes=ALL Default=YES State=UP\n",
            ports[0],
            socket.display()
        );
        fs::create_dir(folder.path().join("state")).unwrap();
        fs::write(folder.path().join("slurm.conf"), text).unwrap();
        let mut slurm = Slurm { folder, processes: Vec::new() };
        let key = slurm.folder.path().join("munge.key");
        fs::write(&key, [7u8; 64]).unwrap();
        let own = |name: &str, what: &str| format!("--{name}={}", slurm.folder.path().join(what).display());
        let munged = [
            own("key-file", "munge.key"),
            format!("--socket={}", socket.display()),
            own("pid-file", "munged.pid"),
            own("log-file", "munged.log"),
            own("seed-file", "munged.seed"),
        ];
        fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let munged: Vec<&str> = munged.iter().map(String::as_str).collect();
        slurm.daemon("munged", &[&["--foreground", "--force"], &munged[..]].concat());
        waits_for("munge answers", || socket.exists().then_some(()));
        slurm.daemon("slurmctld", &["-D"]);
        slurm.daemon("slurmd", &["-D", "-N", "n1"]);
        slurm.daemon("slurmd", &["-D", "-N", "n2"]);
        waits_for("both nodes are idle", || {
            let shown = slurm.command("sinfo", &["-h", "-o", "%D %t"]).output().unwrap();
            (stdout(&shown).trim() == "2 idle").then_some(())
        });
        Some(slurm)
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path());
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    fn daemon(&mut self, program: &str, arguments: &[&str]) {
        let mut command = self.command(&format!("/usr/sbin/{program}"), arguments);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.processes.push(Running(quiet.spawn().unwrap()));
    }
}

impl Drop for Slurm {
    /// The nodes first, and munge last.
    fn drop(&mut self) {
        while let Some(mut process) = self.processes.pop() {
            process.signal(Signal::SIGTERM);
            process.code();
        }
    }
}

#[test]
fn on_slurm_sums_are_exact_and_a_missing_host_or_a_full_partition_is_named() {
    let Some(slurm) = Slurm::start() else { return };
    let script = slurm.folder.path().join("job.sh");
    fs::write(&script, stdout(&run(&["launch", "slurm", "--loaders", "2"]))).unwrap();
    let tried = slurm.command("sbatch", &["--test-only", "job.sh"]).output().unwrap();
    assert!(tried.status.success(), "{}", stderr(&tried));

    // The printed script runs as it is, with another contender and size.
    let (serving, text) = (Serving::start(&[], &[]), fs::read_to_string(&script).unwrap());
    let size = "--scenario writes -n 4000 --blocks 1 -c 32 --warmup 500 --pass none --format json >out.json";
    fs::write(&script, text.replace("scylla cdrs-tokio", "floor").replace("--turn all -n 10M", size)).unwrap();
    let mut job = slurm.command("sbatch", &["--wait", "--output=said", "job.sh"]);
    job.env("TARGET", &serving.address).status().unwrap();
    let [out, said] =
        ["out.json", "said"].map(|file| fs::read_to_string(slurm.folder.path().join(file)).unwrap_or_default());
    let cell = serde_json::from_str::<Value>(&out).unwrap_or_else(|_| panic!("{said}"))["cells"][0].clone();
    assert!(is_sound(&cell) && figure(&cell, "verified") == 4_000.0, "{cell}");
    assert!(cell["loaders"][1]["host"] == "n2" && cell["cores"]["witness_us"].as_f64().unwrap() > 0.0, "{cell}");

    // Every command below finds the configuration.
    let launch = format!("env SLURM_CONF={}/slurm.conf srun -N1 -n1 -w {{host}}", slurm.folder.path().display());
    let folder = tempfile::tempdir().unwrap();
    let loaders = ["--loaders", "n1,n2", "--launch", &launch];
    adds_up(folder.path(), "embedded", &loaders);
    if std::env::var_os(CASSANDRA).is_some() {
        adds_up(tempfile::tempdir().unwrap().path(), "cassandra", &loaders);
    }

    let is_free = || {
        waits_for("no job is left", || {
            let shown = slurm.command("squeue", &["-h"]).output().unwrap();
            (shown.status.success() && shown.stdout.is_empty()).then_some(())
        });
    };
    // Slurm does not end a loader's input when its launcher is gone.
    let anywhere = launch.replace(" -w {host}", "");
    let killed = failed_after(&anywhere, "srun ", Signal::SIGKILL);
    assert!(killed.contains("of loader ") && killed.contains("was ended by SIGKILL"), "{killed}");
    is_free();
    let mut running = endless(folder.path(), &anywhere);
    at_work(folder.path());
    running.signal(Signal::SIGKILL);
    running.0.wait().unwrap();
    are_gone(folder.path());
    is_free();

    let asked = |hosts: &str, launch: &str| {
        let output =
            cqldyno(folder.path(), &["compare", "floor", "--count", "100", "--loaders", hosts, "--launch", launch])
                .output()
                .unwrap();
        assert_eq!(output.status.code(), Some(1));
        words(&stderr(&output))
    };
    let missing = asked("n1,n9", &launch);
    assert!(
        missing.contains("loader on n9 exited with code 1; its log ends: srun: error: ")
            && missing.contains("nvalid node name"),
        "{missing}"
    );
    let mut busy = Running(slurm.command("srun", &["-N1", "-n1", "-w", "n2", "sleep", "600"]).spawn().unwrap());
    waits_for("n2 is taken", || {
        let shown = slurm.command("squeue", &["-h", "-t", "R", "-o", "%N"]).output().unwrap();
        (stdout(&shown).trim() == "n2").then_some(())
    });
    let full = asked("n1,n2", &launch);
    assert!(
        full.contains("loader on n2 said nothing new for 20 s and was ended")
            && full.contains("queued and waiting for resources"),
        "{full}"
    );
    busy.signal(Signal::SIGTERM);
    busy.code();
}
