//! A real Cassandra that asks for passwords and certificates. Nodes are started only where CQLDYNO_CASSANDRA asks for them.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use cqldyno_bench::gate;
use cqldyno_cassandra::{Cluster, Order, Start};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::Value;

use crate::cassandra::asked_for;
use crate::support::{CQLDYNO, cqldyno, drivers, json, stderr, stdout, worker};

/// User and password that every new Cassandra has.
const OWN: &str = "cassandra";
/// No run that is refused takes longer: drivers give up sooner, and the machine is busy.
const SOON: Duration = Duration::from_secs(60);

/// Certificates and keys, each in a PEM file.
struct Files(tempfile::TempDir);

/// A certificate that `by` signed, and its key; it is valid until this year.
fn signed(by: &Issuer<'_, KeyPair>, year: i32) -> (String, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(year, 1, 1));
    (params.signed_by(&key, by).unwrap().pem(), key)
}

impl Files {
    fn new() -> Files {
        let files = Files(tempfile::tempdir().unwrap());
        let authority = |name: &str| {
            let key = KeyPair::generate().unwrap();
            let mut params = CertificateParams::new(Vec::new()).unwrap();
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.distinguished_name.push(rcgen::DnType::CommonName, name);
            files.write(&format!("{name}.pem"), &params.self_signed(&key).unwrap().pem());
            Issuer::new(params, key)
        };
        let (ours, _others) = (authority("ca"), authority("other-ca"));
        for (name, year) in [("server", 4000), ("client", 4000), ("expired-server", 2021), ("expired-client", 2021)] {
            let (certificate, key) = signed(&ours, year);
            files.write(&format!("{name}.pem"), &certificate);
            files.write(&format!("{name}.key"), &key.serialize_pem());
            files.write(&format!("{name}.store"), &format!("{}{certificate}", key.serialize_pem()));
        }
        files.write("password", OWN);
        files.write("wrong-password", "another-stallion-charger");
        files
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn of_tls(&self) -> [String; 2] {
        ["--tls".to_owned(), format!("ca={}", self.path("ca.pem"))]
    }

    fn of_client(&self, ca: &str, name: &str) -> [String; 2] {
        let file = |name: &str| self.path(name);
        let (ca, cert, key) = (file(ca), file(&format!("{name}.pem")), file(&format!("{name}.key")));
        ["--tls".to_owned(), format!("ca={ca},cert={cert},key={key}")]
    }

    fn of_user(&self, password: &str) -> [String; 4] {
        ["--user", OWN, "--password-file", &self.path(password)].map(str::to_owned)
    }
}

/// A node with a port for plain text and one for TLS.
struct Secured {
    cluster: Cluster,
    tls: SocketAddr,
    folder: tempfile::TempDir,
}

impl Secured {
    fn start(files: &Files, server: &str, has_users: bool, asks_clients: bool) -> Secured {
        let folder = tempfile::tempdir().unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let encryption = format!(
            "{{enabled: true, optional: false, require_client_auth: {asks_clients}, keystore: '{}', truststore: '{}', \
             ssl_context_factory: {{class_name: org.apache.cassandra.security.PEMBasedSslContextFactory}}}}",
            files.path(&format!("{server}.store")),
            files.path("ca.pem")
        );
        let mut yaml =
            vec![("native_transport_port_ssl", free.port().to_string()), ("client_encryption_options", encryption)];
        if has_users {
            yaml.push(("authenticator", "PasswordAuthenticator".to_owned()));
            yaml.push(("authorizer", "CassandraAuthorizer".to_owned()));
            yaml.push(("role_manager", "CassandraRoleManager".to_owned()));
        }
        let yaml: Vec<(String, String)> = yaml.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let order = Order::parse("cassandra,heap=512M").unwrap().unwrap();
        let logs = folder.path().to_path_buf();
        let started = Cluster::start(Start {
            order: &order,
            cache: &cqldyno_builder::cache().unwrap(),
            folder: &folder.path().join("cluster"),
            log: &|node| logs.join(format!("cassandra-{node}.log")),
            gate: gate::of(Path::new(CQLDYNO)),
            kept: false,
            yaml: &yaml,
            login: has_users.then(|| (OWN.to_owned(), OWN.to_owned())),
            says: &mut |_| (),
            cancelled: &|| false,
        });
        let cluster = started.unwrap_or_else(|error| {
            let log = fs::read_to_string(folder.path().join("cassandra-1.log")).unwrap_or_default();
            panic!("{error}\n{log}")
        });
        Secured { cluster, tls: free, folder }
    }

    fn plain(&self) -> SocketAddr {
        self.cluster.nodes()[0]
    }

    /// A comparison of these drivers, with what it left in its folder.
    fn compared(&self, names: &[&str], target: SocketAddr, further: &[&[String]]) -> Compared {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap();
        let target = target.to_string();
        let mut asked = vec!["compare", "-v"];
        asked.extend(names);
        asked.extend(["--target", &target, "--scenario", "mixed", "--count", "2k", "--warmup", "100", "--blocks", "1"]);
        asked.extend([
            "--concurrency",
            "32",
            "--pass",
            "none",
            "--limits",
            "noise=none",
            "--format",
            "json",
            "--out",
            "kept",
        ]);
        asked.extend(further.iter().flat_map(|part| part.iter().map(String::as_str)));
        let mut command = cqldyno(folder.path(), &asked);
        let began = Instant::now();
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let parent = child.id();
        let (stop, watching) = std::sync::mpsc::channel::<()>();
        let watch = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while watching.try_recv().is_err() {
                seen.extend(of_processes(parent));
                std::thread::sleep(Duration::from_millis(10));
            }
            seen
        });
        let output = child.wait_with_output().unwrap();
        stop.send(()).unwrap();
        Compared { output, folder, took: began.elapsed(), processes: watch.join().unwrap() }
    }
}

struct Compared {
    output: Output,
    folder: tempfile::TempDir,
    took: Duration,
    /// Every command line and environment that its processes had.
    processes: BTreeSet<String>,
}

impl Compared {
    /// Every contender did what it was asked.
    #[track_caller]
    fn is_well(&self, names: &[&str]) -> Value {
        assert_eq!(self.output.status.code(), Some(0), "{}\n{}", stderr(&self.output), stdout(&self.output));
        let whole = json(&self.output);
        let cells = whole["cells"].as_array().unwrap().clone();
        assert_eq!(cells.len(), names.len());
        for cell in &cells {
            assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell}");
            assert_eq!(cell["measures"]["verified"]["value"], 2_000.0, "{cell}");
        }
        whole
    }

    /// It ended soon, before any contender was measured, with one of these in its sentence.
    #[track_caller]
    fn is_refused(&self, causes: &[&str]) {
        let error = stderr(&self.output);
        assert_eq!((self.output.status.code(), stdout(&self.output).as_str()), (Some(1), ""), "{error}");
        assert!(self.took < SOON, "{:?}: {error}", self.took);
        assert!(causes.iter().any(|cause| error.contains(cause)), "none of {causes:?}: {error}");
        assert!(!self.folder.path().join("kept").exists(), "a run without a cell leaves nothing");
    }

    /// None of these is in what it printed, kept, or started.
    #[track_caller]
    fn hides(&self, secrets: &[&str]) {
        assert!(self.processes.iter().any(|text| text.contains("cqldyno-driver-floor")), "{:?}", self.processes);
        let mut texts = vec![stdout(&self.output), stderr(&self.output)];
        texts.extend(self.processes.iter().cloned());
        let mut open = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = open.pop() {
            for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    open.push(path);
                } else {
                    texts.push(String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
                }
            }
        }
        for secret in secrets {
            assert!(!texts.iter().any(|text| text.contains(secret)), "a secret got out");
        }
    }
}

/// Command lines and environments of a process and of all below it.
fn of_processes(top: u32) -> Vec<String> {
    let parent = |folder: &Path| {
        let stat = fs::read_to_string(folder.join("stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let all: Vec<(u32, PathBuf)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .collect();
    let mut ours = vec![top];
    let mut at = 0;
    while let Some(of) = ours.get(at).copied() {
        ours.extend(all.iter().filter(|(_, folder)| parent(folder) == Some(of)).map(|(id, _)| *id));
        at += 1;
    }
    let read = |id: &u32| ["cmdline", "environ"].map(|file| fs::read(format!("/proc/{id}/{file}")).unwrap_or_default());
    ours.iter().flat_map(read).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}

/// All drivers that have TLS, with gocql if it is here.
fn everybody() -> Vec<&'static str> {
    let mut names = drivers();
    names.extend(worker("gocql").map(|_| "gocql"));
    names
}

/// A line from the middle of a key.
fn part_of_key(files: &Files, name: &str) -> String {
    fs::read_to_string(files.path(&format!("{name}.key"))).unwrap().lines().nth(1).unwrap().to_owned()
}

#[test]
fn all_drivers_log_in_with_a_password_in_plain_text_and_over_tls_and_the_first_wrong_one_ends_the_run() {
    let Some(_alone) = asked_for() else { return };
    let (files, names) = (Files::new(), everybody());
    let node = Secured::start(&files, "server", true, false);
    let user = files.of_user("password");
    let plain = node.compared(&names, node.plain(), &[&user]);
    plain.is_well(&names);
    let over_tls = node.compared(&names, node.tls, &[&user, &files.of_tls()]);
    let whole = over_tls.is_well(&names);
    let about = whole["run"]["plan"]["target"]["about"].as_str().unwrap();
    assert_eq!(about, "an existing cluster, with a keyspace for each contender; TLS, verified");

    for (target, tls) in [(node.plain(), &[][..]), (node.tls, &files.of_tls())] {
        let wrong = node.compared(&names, target, &[&files.of_user("wrong-password"), tls]);
        wrong.is_refused(&["the cluster refused the login"]);
        assert_eq!(stderr(&wrong.output).matches("bad credentials").count(), 1, "{}", stderr(&wrong.output));
        wrong.hides(&["another-stallion-charger"]);
        node.compared(&names, target, &[tls]).is_refused(&["asks for user and password, and none were given"]);
    }
    node.compared(&names, node.plain(), &[&user, &files.of_tls()])
        .is_refused(&["the server seems to speak no TLS there"]);
    node.compared(&names, node.tls, &[&user]).is_refused(&["the server speaks TLS there", "if it speaks TLS there"]);
}

#[test]
fn all_drivers_show_a_certificate_where_the_cluster_asks_for_one_and_no_secret_gets_out() {
    let Some(_alone) = asked_for() else { return };
    let (files, names) = (Files::new(), everybody());
    let node = Secured::start(&files, "server", true, true);
    let (user, tls, client) = (files.of_user("password"), files.of_tls(), files.of_client("ca.pem", "client"));
    let all = node.compared(&names, node.tls, &[&user, &client]);
    let whole = all.is_well(&names);
    let command = whole["run"]["command"].as_str().unwrap();
    assert!(command.ends_with("--user USER --password-file FILE --tls ca=FILE,cert=FILE,key=FILE"), "{command}");
    all.hides(&[&part_of_key(&files, "client"), "BEGIN PRIVATE KEY"]);
    // Its user is called as its password is, so that cannot be looked for here.

    let of = |further: &[&[String]]| node.compared(&names, node.tls, &[&[&user[..]], further].concat());
    of(&[&tls]).is_refused(&["if it asks for a client certificate, add `,cert=FILE,key=FILE` to --tls"]);
    // If the node closes before its alert is read, that is all that there is to tell.
    of(&[&files.of_client("ca.pem", "expired-client")]).is_refused(&["CertificateExpired", "Connection reset by peer"]);
    of(&[&files.of_client("other-ca.pem", "client")]).is_refused(&["UnknownIssuer"]);
    of(&[]).is_refused(&["the server speaks TLS there", "if it speaks TLS there"]);
}

#[test]
fn an_expired_certificate_of_a_node_is_refused_and_without_a_ca_none_is_looked_at() {
    let Some(_alone) = asked_for() else { return };
    let (files, names) = (Files::new(), everybody());
    let node = Secured::start(&files, "expired-server", false, false);
    let refused = node.compared(&names, node.tls, &[&files.of_tls()]);
    refused.is_refused(&["certificate expired", "Expired"]);
    let unverified = node.compared(&names, node.tls, &[&["--tls", "unverified"].map(str::to_owned)]);
    unverified.is_well(&names);
    assert!(stderr(&unverified.output).contains("certificates are not verified, because --tls has no `ca`"));
    // Every adapter refuses it by itself, too: floor stands in the way of none here.
    for name in names.iter().filter(|name| **name != "noop") {
        let error = alone(name, node.tls, &files);
        assert!(error.to_lowercase().contains("cert"), "{name}: {error}");
    }
}

/// What the worker of a driver says when it connects to this address with our CA.
fn alone(name: &str, target: SocketAddr, files: &Files) -> String {
    use std::io::{BufRead, BufReader, Write};
    let mut child = std::process::Command::new(worker(name).unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let scenario = cqldyno_scenarios::builtin("writes").unwrap();
    let mut job = serde_json::json!({
        "type": "job", "mode": "measure", "scenario": scenario, "count": 10, "warmup": 0, "concurrency": 1, "seed": 1,
        "runtime": {"kind": "current"}, "target": [target], "tls": {"ca": files.path("ca.pem")}, "connections": 1,
        "consistency": "LOCAL_ONE", "page_size": 5000, "settings": "equal", "options": {}, "progress_ms": 0
    });
    // It makes no values, and opens its tape after it has connected.
    if name == "gocql" {
        fs::write(files.path("tape"), b"CQLTAPE1\0\0\0\0").unwrap();
        job["tape"] = serde_json::json!({ "path": files.path("tape"), "statements": [{ "values": ["bigint", "bigint"], "columns": [] }] });
    }
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{job}").unwrap();
    let mut said = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        said = line.unwrap();
    }
    let _ = child.kill();
    let _ = child.wait();
    assert!(said.contains("\"failed\"") && said.contains("\"connect\""), "{name}: {said}");
    said
}
