//! TLS on the embedded cluster, which makes its own CA.

use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::support::{Serving, cqldyno, json, stderr, stdout, words, worker};

/// Those of the drivers with TLS that have a worker here.
fn drivers() -> Vec<&'static str> {
    ["floor", "scylla", "cdrs-tokio", "cassandra-cpp", "gocql"]
        .into_iter()
        .filter(|name| worker(name).is_some())
        .collect()
}

fn compared(folder: &Path, contenders: &[&str], more: &[&str]) -> std::process::Output {
    let load = ["--scenario", "mixed", "--count", "2k", "--warmup", "100", "--blocks", "1", "--concurrency", "32"];
    let limits = ["--pass", "none", "--limits", "noise=none", "--format", "json"];
    cqldyno(folder, &[&["compare"], contenders, &load[..], &limits, more].concat()).output().unwrap()
}

/// Each contender did what it was asked.
#[track_caller]
fn is_well(output: &std::process::Output, contenders: &[&str]) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(output), stdout(output));
    let whole = json(output);
    for name in contenders {
        let mut cells = whole["cells"].as_array().unwrap().iter().filter(|cell| cell["contender"] == *name);
        let cell = cells.next().unwrap_or_else(|| panic!("{name}: {whole:#}"));
        assert!(cell["failed"].is_null() && cell["void"].is_null(), "{cell:#}");
        assert_eq!(cell["measures"]["verified"]["value"], 2_000.0, "{cell:#}");
    }
    whole
}

#[test]
fn drivers_encrypt_to_nodes_that_have_certificates_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let output = compared(folder.path(), &drivers(), &["--nodes", "3", "--out", "kept", "--tls"]);
    let whole = is_well(&output, &drivers());
    let about = whole["run"]["plan"]["target"]["about"].as_str().unwrap();
    assert!(about.contains("with TLS, which the server's CPU time includes --nodes 3 --tls"), "{about}");
    let kept = folder.path().join("kept").display().to_string();
    let report = cqldyno(folder.path(), &["report", &kept, "--notes"]).output().unwrap();
    let text = words(&stdout(&report));
    assert!(text.contains(" --nodes 3 --tls"), "{text}\n{}", stderr(&report));
}

#[test]
fn a_contender_encrypts_beside_itself_in_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let encrypted: Vec<String> = drivers().iter().map(|name| format!("{name}+tls=on")).collect();
    let all: Vec<&str> = drivers().into_iter().chain(encrypted.iter().map(String::as_str)).collect();
    let output = compared(folder.path(), &all, &["--nodes", "2"]);
    let whole = is_well(&output, &all);
    for cell in whole["cells"].as_array().unwrap() {
        let findings: Vec<&str> = cell["findings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let cipher = findings.iter().filter(|one| one.starts_with("Its connections are encrypted by TLS13_AES_"));
        let is_asked = cell["contender"].as_str().unwrap().ends_with("+tls=on");
        assert_eq!(cipher.count(), usize::from(is_asked), "{cell:#}");
    }
    let elsewhere = ["compare", "scylla", "scylla+tls=on", "--target", "127.0.0.1:1"];
    let output = cqldyno(folder.path(), &elsewhere).output().unwrap();
    let sentence = "the contender scylla+tls=on encrypts its connections, and the target 127.0.0.1:1 is reached without TLS; add --tls ca=FILE";
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{}", stderr(&output));
    assert!(words(&stderr(&output)).contains(sentence), "{}", stderr(&output));
    let asked = ["prices", "scylla", "--only", "tls=on", "--scenario", "reads", "-n", "2k", "--blocks", "1"];
    let output = cqldyno(folder.path(), &asked).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).lines().any(|line| line.starts_with("tls=on ")), "{}", stdout(&output));
    let asked = ["compare", "noop+tls=on", "--scenario", "writes", "-n", "2k", "--blocks", "1"];
    let output = cqldyno(folder.path(), &asked).output().unwrap();
    let sentence = "has tls=on, and noop@0.1.0 has no TLS here; leave `tls` out";
    assert!(words(&stderr(&output)).contains(sentence), "{}", stderr(&output));
}

#[test]
fn clients_of_serve_take_the_ca_that_it_writes_and_no_plain_text_is_spoken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let (named, mut unnamed) =
        (Serving::start(&["--tls", file.to_str().unwrap()], &[]), Serving::start(&["--tls"], &[]));
    let path = |said: &str| PathBuf::from(said.lines().next().unwrap().strip_prefix("TLS with the CA in ").unwrap());
    let temporary = path(&unnamed.said);
    assert_eq!(path(&named.said), file);
    for (serving, ca) in [(&named, &file), (&unnamed, &temporary)] {
        let target = ["--target", &serving.address, "--tls", &format!("ca={}", ca.display()), "--out"];
        let own = folder.path().join(serving.address.replace(':', "-"));
        is_well(&compared(folder.path(), &["floor"], &[&target[..], &[own.to_str().unwrap()]].concat()), &["floor"]);
    }
    for tls in [&[][..], &["--tls", &format!("ca={}", temporary.display())]] {
        let refused = compared(folder.path(), &["floor"], &[&["--target", &named.address], tls].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    }
    unnamed.running.signal(Signal::SIGTERM);
    assert_eq!(unnamed.running.code(), Some(0));
    assert!(file.exists() && !temporary.exists(), "{}", temporary.display());
}
