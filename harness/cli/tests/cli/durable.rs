//! Durable writes. A PostgreSQL is started only where CQLDYNO_POSTGRES asks for it.

use std::process::Command;

use crate::support::{cqldyno, json, refused, stderr, stdout};

/// Set to `required`, or to something else to skip the tests where no PostgreSQL is installed.
const ASKED: &str = "CQLDYNO_POSTGRES";

/// Whether a PostgreSQL is to be started.
fn starts() -> bool {
    let asked = std::env::var(ASKED).unwrap_or_default();
    let is_there = std::path::Path::new("/usr/lib/postgresql").is_dir()
        || Command::new("postgres").arg("--version").output().is_ok_and(|output| output.status.success());
    match asked.as_str() {
        "" => println!("Skipped: set {ASKED}=required to start a PostgreSQL."),
        "required" => return true,
        _ if !is_there => println!("Skipped: no PostgreSQL is installed (Debian: the package postgresql)."),
        _ => return true,
    }
    false
}

#[test]
fn servers_and_contenders_that_do_not_fit_are_refused_before_anything_runs() {
    let error = refused(&["durable", "cassandra,commitlog=always"]);
    assert!(error.contains("commitlog=always is not one of batch, group and periodic; write cassandra["), "{error}");
    let error = refused(&["durable", "cassandra:4.0.11,commitlog=batch"]);
    assert!(error.contains("commitlog=batch needs Cassandra 4.1 or newer, which 4.0.11 is not"), "{error}");
    let error = refused(&["compare", "noop", "--target", "postgres,fsync=off"]);
    assert!(error.contains("fsync is none of its options; write postgres[,synchronous_commit=on|off]"), "{error}");
    let error = refused(&["compare", "noop", "--target", "postgres"]);
    assert!(error.contains("noop was asked for on the target postgres, and does not speak its protocol"), "{error}");
    let error = refused(&["compare", "noop", "--target", "postgres://ada@db/test"]);
    assert!(error.contains("cqldyno starts a PostgreSQL of its own"), "{error}");
}

#[test]
fn commits_and_rows_agree_with_the_log_of_a_server_that_is_gone_afterwards() {
    if !starts() {
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let words = ["durable", "postgres", "postgres,synchronous_commit=off", "-c", "1,8", "-n", "50", "--out", "run"];
    let output = cqldyno(folder.path(), &words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    let table = stdout(&output);
    for part in
        ["postgres,synchronous_commit=off", "disk, one write and fdatasync", "On the disk before the answer: postgres."]
    {
        assert!(table.contains(part), "{table}");
    }
    let output = cqldyno(folder.path(), &["report", "run", "--format", "json"]).output().unwrap();
    let found = json(&output);
    let cells = found["cells"].as_array().unwrap();
    let of = |who: &str| cells.iter().filter(|cell| cell["contender"] == who).collect::<Vec<_>>();
    for who in ["postgres", "postgres,synchronous_commit=off"] {
        assert_eq!(of(who).len(), 2);
        for cell in of(who) {
            assert!(cell["void"].is_null() && cell["failed"].is_null(), "{cell}");
            assert!(cell["measures"]["read_back"]["value"].as_f64().unwrap() > 0.0, "{cell}");
        }
    }
    assert_eq!(of("disk, one write and fdatasync at a time").len(), 2, "one line over both numbers in flight");
    let left = ["1-postgres", "2-postgres-synchronous-commit-off"].map(|one| folder.path().join("run").join(one));
    assert!(left.iter().all(|run| run.join("run.json").is_file() && !run.join("postgres").exists()));
}
