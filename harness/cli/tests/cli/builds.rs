//! Workers that are built on demand, with a stand-in for cargo.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cqldyno_bench::builder::{Builder, Order, Sources};
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{
    Running, cqldyno, drivers, executable, json, says_hello, stderr, stdout, words, worker, workers_and,
};

const ADAPTER: &str = r#"
[package]
name = "cqldyno-driver-honest"
[package.metadata.cqldyno]
crate = "honest"
versions = ">=1.0.0, <2.0.0"
tested = ["1.2.3"]
calls = { execute = "`Session::execute` of prepared statements" }
[dependencies]
honest = "=1.2.3"
"#;

/// Sources with one adapter, and a cargo that does `build` when it is to build.
pub fn workshop(folder: &Path, build: &str) {
    let write = |file: &str, text: &str| {
        let path = folder.join("sources").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("Cargo.toml", include_str!("../../../../Cargo.toml"));
    write("Cargo.lock", "version = 4\n\n[[package]]\nname = \"tokio\"\nversion = \"1.54.1\"\n");
    write("harness/worker/Cargo.toml", "[package]\nname = \"cqldyno-worker\"\n");
    write("drivers/honest/Cargo.toml", ADAPTER);
    write("drivers/honest/src/main.rs", "fn main() {}\n");
    let cargo = format!(
        "here=$(dirname \"$0\")\necho \"$*\" >> $here/calls\ncase \"$*\" in\nrustc*)\n: > $here/built.d\n{build}\n;;\n\
         metadata*) echo '{{\"workspace_root\":\"'$(dirname \"$6\")'\",\"packages\":[{{\"name\":\"honest\",\"version\":\"1.2.3\",\
         \"manifest_path\":\"'$6'\"}}]}}' ;;\n\
         *--precise*) for last; do :; done; sed -i \"s/1.54.1/$last/\" \"$(dirname \"$3\")/Cargo.lock\" ;;\nesac"
    );
    executable(&folder.join("cargo"), &cargo);
    executable(&folder.join("built"), &(says_hello("honest", "") + "exit 3"));
}

/// The stand-in has built a worker.
const BUILDS: &str = r#"echo "{\"reason\":\"compiler-artifact\",\"executable\":\"$here/built\"}""#;

fn compare(folder: &Path, contenders: &[&str]) -> std::process::Command {
    let mut all = vec!["compare"];
    all.extend(contenders);
    all.extend([
        "--scenario",
        "writes",
        "-n",
        "1000",
        "--blocks",
        "1",
        "--pass",
        "none",
        "--format",
        "json",
        "--out",
        "kept",
    ]);
    in_workshop(folder, &all)
}

/// `cqldyno` with these arguments and the workshop's cargo.
pub fn in_workshop(folder: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = cqldyno(folder, arguments);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", folder.display())).env("CQLDYNO_SOURCES", folder.join("sources"));
    command.env("CQLDYNO_CACHE", folder.join("cache"));
    command
}

fn contender<'a>(whole: &'a Value, id: &str) -> &'a Value {
    whole["run"]["contenders"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap()
}

fn calls(folder: &Path) -> String {
    fs::read_to_string(folder.join("calls")).unwrap_or_default()
}

#[test]
fn a_release_is_built_before_anything_is_measured_and_its_lock_file_is_kept() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let run = |out: &str| -> Output {
        let mut command = compare(folder.path(), &["noop", "honest@1.2.3+tokio=1.44.2+settings=default"]);
        command.arg("--reference").arg("noop").args(["--seed", "7"]);
        let output = command.output().unwrap();
        fs::rename(folder.path().join("kept"), folder.path().join(out)).unwrap();
        output
    };
    let first = run("first");
    let said = stderr(&first);
    let built = said.find("Built honest@1.2.3+tokio=1.44.2 in ").unwrap_or_else(|| panic!("{said}"));
    let announced = said.find("Building honest@1.2.3+tokio=1.44.2, which takes about 60 s ...");
    assert!(announced.unwrap_or_else(|| panic!("{said}")) < built, "{said}");
    assert!(built < said.find("[1/").unwrap_or_else(|| panic!("{said}")), "{said}");
    let whole = json(&first);
    let row = contender(&whole, "honest@1.2.3+settings=default+tokio=1.44.2");
    assert_eq!(row["label"], "honest@1.2.3+settings=default+tokio=1.44.2");
    assert_eq!(row["built"]["adapter"], "drivers/honest");
    assert_eq!(row["built"]["dependencies"]["tokio"], "1.44.2");
    let lock = row["built"]["lock_file"].as_str().unwrap();
    assert!(fs::read_to_string(folder.path().join("first").join(lock)).unwrap().contains("tokio"));
    assert!(calls(folder.path()).contains("--package tokio --precise 1.44.2"), "{}", calls(folder.path()));
    let again = run("again");
    assert!(!stderr(&again).contains("Buil"), "it is in the cache: {}", stderr(&again));
    assert_eq!(calls(folder.path()).lines().filter(|call| call.starts_with("rustc ")).count(), 1);
}

/// A driver whose `native` ends with `ends`.
fn builds_itself(folder: &Path, ends: &str) {
    let own = folder.join("sources/drivers/snake");
    fs::create_dir_all(&own).unwrap();
    let releases = "[[family]]\ncrate = \"snake\"\nversions = \"*\"\ntested = [\"1.0.0\", \"1.2.0\"]\n";
    fs::write(own.join("releases.toml"), releases).unwrap();
    executable(&own.join("native"), &format!("[ $1 = --toolchain ] && {{ echo snake 1; exit; }}\n{ends}"));
}

#[test]
fn a_driver_that_builds_itself_is_built_at_its_newest_release_when_it_is_named() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/example-python/cqldyno-driver-example-python");
    builds_itself(folder.path(), &format!("cp '{example}' $1/cqldyno-driver-snake && echo $2 >$1/lock"));
    let output = compare(folder.path(), &["snake", "floor"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("Built snake in "), "{}", stderr(&output));
    let whole = json(&output);
    let row = contender(&whole, "snake");
    assert_eq!((&row["built"]["adapter"], &row["language"]), (&"drivers/snake".into(), &"Python".into()));
    let lock = folder.path().join("kept").join(row["built"]["lock_file"].as_str().unwrap());
    assert_eq!(fs::read_to_string(lock).unwrap(), "1.2.0\n");
    assert!(whole["cells"].as_array().unwrap().iter().all(|cell| cell["void"].is_null() && cell["failed"].is_null()));

    builds_itself(folder.path(), "echo 'Snake was not found; install it.' >&2; exit 1");
    fs::rename(folder.path().join("kept"), folder.path().join("first")).unwrap();
    let output = compare(folder.path(), &["snake", "floor"]).output().unwrap();
    let why = contender(&json(&output), "snake")["unavailable"].as_str().unwrap().to_owned();
    assert!(why.contains("Snake was not found; install it"), "{why}");
}

#[test]
fn what_no_adapter_speaks_is_refused_before_a_build_and_leaves_no_run() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let output = compare(folder.path(), &["honest@2.0.0", "honest@1.2.3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "Error: honest 2.0.0 was asked for, and no adapter of cqldyno speaks it: they speak >=1.0.0, <2.0.0; ask for one of these\n"
    );
    assert!(!folder.path().join("kept").exists() && calls(folder.path()).is_empty());
    let output = compare(folder.path(), &["honest@fast"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("has the version \"fast\"; write a release such as 1.9.0"), "{}", stderr(&output));
}

#[test]
fn a_key_that_the_driver_does_not_have_is_refused_before_a_build_and_leaves_no_run() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let options =
        r#""options":[{"name":"metadata","values":"each|cached","default":"each","about":"Whose."}],"caveats""#;
    let worker = says_hello("honest", "").replace(r#""caveats""#, options) + "exit 3";
    executable(&folder.path().join("cqldyno-driver-honest"), &worker);
    let refused = |contender: &str| {
        let mut command = compare(folder.path(), &["noop", contender]);
        let output = command.env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(!folder.path().join("kept").exists() && calls(folder.path()).is_empty(), "{contender}");
        stderr(&output)
    };
    for version in ["", "@1.2.0"] {
        let known =
            "honest@1.2.3 does not know. Did you mean `connections`? It has metadata; the harness has settings,";
        let error = refused(&format!("honest{version}+conections=2"));
        assert!(error.contains(&format!("has the key `conections`, which {known}")), "{error}");
        let error = refused(&format!("honest{version}+metadata=cachd"));
        assert!(error.contains("takes each|cached. Did you mean `cached`?"), "{error}");
        let error = refused(&format!("honest{version}+timeout=30s"));
        assert!(error.contains("a time limit per statement, and honest@1.2.3 cannot set one"), "{error}");
        let error = refused(&format!("honest{version}+page-size=9+settings=default"));
        assert!(error.contains("the key `page-size` and the settings `default`"), "{error}");
    }
}

#[test]
fn what_the_manifest_says_that_a_release_lacks_is_not_built_for() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let manifest = folder.path().join("sources/drivers/honest/Cargo.toml");
    let lacks = "lacks = { batch = \"<1.2.4\", request_timeout = \"*\" }\nlacks_types = [\"bigint\"]\ntested = ";
    fs::write(&manifest, ADAPTER.replace("tested = ", lacks)).unwrap();
    let unavailable = |contenders: &[&str], id: &str, scenario: &str| {
        let asked = [&["compare"], contenders, &["--scenario", scenario, "-n", "1000", "--blocks", "1"]].concat();
        let more = ["--pass", "none", "--format", "json", "--reference", "noop"];
        let output = in_workshop(folder.path(), &[&asked[..], &more].concat()).output().unwrap();
        contender(&json(&output), id)["unavailable"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(
        unavailable(&["noop", "honest@1.2.3"], "honest@1.2.3", "writes"),
        "It cannot bind or decode a value of the type bigint, which the statement insert has. So no worker was built."
    );
    fs::write(&manifest, ADAPTER.replace("tested = ", &lacks.replace("bigint", "udt"))).unwrap();
    assert_eq!(
        unavailable(&["noop", "honest@1.2.3"], "honest@1.2.3", "batch"),
        "It does not declare the capability `batch`, which the statement batch needs. So no worker was built."
    );
    let limited = compare(folder.path(), &["noop", "honest@1.2.3+timeout=30s"]).output().unwrap();
    assert_eq!(limited.status.code(), Some(2), "{}", stderr(&limited));
    assert!(stderr(&limited).contains("a time limit per statement, and honest@1.2.3 cannot set one"));
    assert_eq!(calls(folder.path()), "", "nothing was built");
    let of_all =
        unavailable(&["noop", "honest@all+timeout=30s", "--within", "20min"], "honest@1.2.3+timeout=30s", "writes");
    assert!(of_all.ends_with("and honest@1.2.3 cannot set one; leave `timeout` out."), "{of_all}");
    assert_eq!(unavailable(&["noop", "honest@1.2.5"], "honest@1.2.5", "batch"), "", "a later release is built");
    assert!(calls(folder.path()).contains("rustc "), "{}", calls(folder.path()));
}

#[test]
fn workers_that_are_built_are_named_once_each() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let contenders = ["honest@1.2.3", "honest@1.2.3+settings=default", "honest@1.2.0", "honest@1.2.0+connections=2"];
    let output = compare(folder.path(), &contenders).output().unwrap();
    let said = words(&stderr(&output));
    assert!(said.contains("2 workers will be built first") && said.contains(": honest@1.2.3, honest@1.2.0."), "{said}");
}

#[test]
fn the_manifests_say_what_the_workers_lack_that_are_here() {
    let checkout = Sources::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))).unwrap();
    let builder = Builder::new(checkout, Path::new("none"), Path::new("cargo")).unwrap();
    for driver in drivers() {
        let mut worker = Command::new(worker(driver).unwrap());
        let said = stdout(&worker.stdin(Stdio::null()).output().unwrap());
        let hello: Value = serde_json::from_str(said.lines().next().unwrap()).unwrap();
        let has = |name: &str| hello["driver"]["capabilities"].as_array().unwrap().contains(&name.into());
        let order = Order { driver: driver.to_owned(), ..Order::default() };
        let lacks = builder.lacks(&order).unwrap();
        let all =
            ["request_timeout", "reprepare", "reconnect", "control_connection", "notices_close", "closes_sessions"];
        let all = all.into_iter().chain(["tls", "batch", "unprepared", "prepare", "connect"]);
        // The clients of ours declare for themselves.
        for name in all.filter(|_| !["floor", "noop"].contains(&driver)) {
            assert_eq!(!has(name), lacks.contains(name), "{driver}: {name}");
        }
        for name in hello["driver"]["lacks_types"].as_array().into_iter().flatten() {
            assert!(lacks.contains(name.as_str().unwrap()), "{driver}: {name}");
        }
    }
}

#[test]
fn a_key_that_only_the_built_worker_does_not_have_is_refused_before_the_first_cell() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let worker = says_hello("honest", "").replace(r#""caveats""#, r#""options":[],"caveats""#) + "exit 3";
    executable(&folder.path().join("built"), &worker);
    let output = compare(folder.path(), &["noop", "honest@1.2.3+metadata=cached"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    let error = stderr(&output);
    assert!(error.contains("has the key `metadata`, which honest@1.2.3 does not know. It has no option"), "{error}");
    assert!(!folder.path().join("kept").exists() && !error.contains("[1/"), "{error}");
}

#[test]
fn a_worker_that_lists_no_options_refuses_them_itself_and_one_that_cannot_be_built_takes_no_key_of_the_builder() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    executable(&folder.path().join("cqldyno-driver-foreign"), &(says_hello("foreign", "") + "exit 3"));
    let run = |contender: &str| {
        let mut command = compare(folder.path(), &["noop", contender]);
        command.env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap()
    };
    let left_to_it = run("foreign+conections=2");
    assert_eq!(left_to_it.status.code(), Some(1), "{}", stderr(&left_to_it));
    assert!(contender(&json(&left_to_it), "foreign+conections=2")["unavailable"].is_null());
    fs::remove_dir_all(folder.path().join("kept")).unwrap();
    for (key, value) in [("allocator", "jemalloc"), ("lto", "fat"), ("layout", "2"), ("tokio", "1.44.2")] {
        let output = run(&format!("foreign+{key}={value}"));
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let expected = format!("the key `{key}`, which is for workers that cargo builds, and foreign is none; leave");
        assert!(stderr(&output).contains(&expected), "{}", stderr(&output));
    }
}

#[test]
fn a_build_that_fails_is_a_row_with_the_compilers_first_error() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let fails = r#"echo '{"reason":"compiler-message","package_id":"x#honest@1.2.3","message":{"level":"error","message":"no method `x`"}}'; exit 101"#;
    workshop(folder.path(), fails);
    let output = compare(folder.path(), &["noop", "honest@1.2.3"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(
        contender(&json(&output), "honest@1.2.3")["unavailable"],
        "There is no worker for honest@1.2.3: it could not be built: honest 1.2.3: no method `x`; logs/build-honest-1.2.3.log has all of it."
    );
    assert!(folder.path().join("kept/logs/build-honest-1.2.3.log").exists());
}

#[test]
fn ctrl_c_ends_a_build_and_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), "touch $here/builds; sleep 100");
    let mut running = Running(compare(folder.path(), &["honest@1.2.3"]).spawn().unwrap());
    appears(&folder.path().join("builds"));
    running.signal(Signal::SIGINT);
    assert_eq!(running.code(), Some(130));
    assert!(!folder.path().join("kept").exists());
}

/// Waits until the file is there, and has all of its text.
fn appears(file: &Path) -> String {
    loop {
        match fs::read_to_string(file) {
            Ok(text) => return text,
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

#[test]
fn cargo_and_all_that_it_started_end_with_a_killed_cqldyno() {
    let folder = tempfile::tempdir().unwrap();
    let builds = "sleep 1000 & echo $$ $! > $here/part; mv $here/part $here/started; wait";
    workshop(folder.path(), builds);
    let running = Running(compare(folder.path(), &["honest@1.2.3"]).spawn().unwrap());
    let started = appears(&folder.path().join("started"));
    running.signal(Signal::SIGKILL);
    for process in started.split_whitespace() {
        let status = || fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        // Nobody may have waited for it yet.
        while !(status().is_empty() || status().contains(") Z ")) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

#[test]
fn a_build_holds_up_nobody_but_who_wants_the_same_worker() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    let waits = "while grep -q '=1.2.3' \"$9\" && [ ! -e $here/go ]; do touch $here/builds; sleep 0.1; done";
    workshop(folder.path(), &format!("{waits}\n{BUILDS}"));
    let started = |contender: &str, out: &str| {
        let mut command = compare(folder.path(), &[contender]);
        fs::create_dir(folder.path().join(out)).unwrap();
        command.current_dir(folder.path().join(out)).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut first = Running(started("honest@1.2.3", "first"));
    appears(&folder.path().join("builds"));
    let other = started("honest@1.2.4", "other").wait_with_output().unwrap();
    assert!(stderr(&other).contains("Built honest@1.2.4 in "), "{}", stderr(&other));
    let again = started("honest@1.2.4", "again").wait_with_output().unwrap();
    assert!(!stderr(&again).contains("Buil") && !stderr(&again).contains("Waiting"), "{}", stderr(&again));
    assert_eq!(started("honest@2.0.0", "refused").wait_with_output().unwrap().status.code(), Some(2));

    let mut same = Running(started("honest@1.2.3", "same"));
    let mut said = String::new();
    let mut errors = BufReader::new(same.0.stderr.take().unwrap());
    while !said.contains("Waiting") {
        assert!(errors.read_line(&mut said).unwrap() > 0, "{said}");
    }
    let process = first.0.id();
    let waits = format!("Waiting for process {process}, which builds honest@1.2.3 or fetches its sources.\n");
    assert!(said.ends_with(&waits), "{said}");
    fs::write(folder.path().join("go"), "").unwrap();
    errors.read_to_string(&mut said).unwrap();
    assert!(!said.contains("Buil"), "it is in the cache by then: {said}");
    assert!(first.0.wait().is_ok() && same.0.wait().is_ok());
    assert_eq!(calls(folder.path()).lines().filter(|call| call.starts_with("rustc ")).count(), 2);
}

#[test]
fn a_drivers_options_and_releases_are_listed() {
    drivers();
    let folder = tempfile::tempdir().unwrap();
    workshop(folder.path(), BUILDS);
    let list = |name: &str| {
        let mut command = cqldyno(folder.path(), &["drivers", name]);
        command.env("CQLDYNO_SOURCES", folder.path().join("sources")).env("CQLDYNO_CACHE", folder.path().join("cache"));
        command.env("CQLDYNO_WORKERS", workers_and(folder.path())).output().unwrap()
    };
    let text = words(&stdout(&list("noop")));
    assert!(text.contains("+form=") && text.contains("[default: pending]"), "{text}");
    assert!(!text.contains("+allocator=") && !text.contains("@git:"), "nothing builds it: {text}");
    assert!(text.contains("+connections=N") && !text.contains("+timeout="), "it has no time limit: {text}");
    let text = words(&stdout(&list("honest")));
    assert!(text.contains("+allocator=system|jemalloc|mimalloc") && text.contains("+timeout=none|TIME"), "{text}");
    assert!(text.contains("@1.2.3 >=1.0.0, <2.0.0 (adapter drivers/honest; tested: 1.2.3)"), "{text}");
    let unknown = list("honesty");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("there is no driver \"honesty\": there are scylla"), "{}", stderr(&unknown));
}

/// A worker that says what it is built from.
fn built_from(folder: &Path, name: &str, id: &str, parts: &str) {
    let says = says_hello(name, id).replace(r#""compiler":"#, &format!(r#""parts":{parts},"compiler":"#));
    executable(&folder.join(format!("cqldyno-driver-{name}")), &(says + "exit 3"));
}

#[test]
fn workers_are_refused_for_another_load_generator_and_compared_with_another_library() {
    let folder = tempfile::tempdir().unwrap();
    built_from(folder.path(), "one", "b1", r#"{"harness/worker/src/gauge.rs":"1","library tokio":"1.54.1"}"#);
    built_from(folder.path(), "two", "b1", r#"{"harness/worker/src/gauge.rs":"1","library tokio":"1.44.2"}"#);
    built_from(folder.path(), "six", "b2", r#"{"harness/worker/src/gauge.rs":"2","library tokio":"1.54.1"}"#);
    let run = |contenders: &[&str], out: &str| {
        let mut command = compare(folder.path(), contenders);
        command.env("CQLDYNO_WORKERS", workers_and(folder.path())).args(["--seed", "7"]);
        let output = command.output().unwrap();
        fs::rename(folder.path().join("kept"), folder.path().join(out)).unwrap();
        output
    };
    let refused = run(&["one", "six"], "refused");
    assert_eq!(refused.status.code(), Some(1));
    let said = words(&stderr(&refused));
    assert!(
        said.contains("the workers of one@1.2.3 and six@1.2.3 do not have the same load generator: harness/worker/src/gauge.rs differs. Build"),
        "{said}"
    );
    let compared = run(&["one", "two"], "compared");
    assert_eq!(
        json(&compared)["run"]["differences"][0],
        "The workers' builds differ: tokio is 1.44.2 for two@1.2.3, 1.54.1 for one@1.2.3."
    );
    let notes = cqldyno(folder.path(), &["report", "compared", "--notes"]).output().unwrap();
    assert!(words(&stdout(&notes)).contains("tokio is 1.44.2 for two@1.2.3"), "{}", stdout(&notes));
}
