//! Several embedded nodes: where each driver sends its statements.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{CQLDYNO, cqldyno, drivers, json, refused, stderr, stdout, words, worker};

/// The measures of each contender's cell.
fn measured(
    scenario: &str,
    arguments: &[&str],
    contenders: &[String],
    measures: &[&str],
) -> BTreeMap<String, Vec<f64>> {
    let folder = tempfile::tempdir().unwrap();
    let mut all = vec!["compare"];
    all.extend(contenders.iter().map(String::as_str));
    all.extend(["--scenario", scenario, "--count", "30k", "--concurrency", "128", "--warmup", "2k", "--blocks", "1"]);
    all.extend(["--pass", "none", "--limits", "noise=none", "--format", "json"]);
    all.extend(arguments);
    let output = cqldyno(folder.path(), &all).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
    let whole = json(&output);
    let of = |cell: &Value| {
        let values =
            measures.iter().map(|id| cell["measures"][id]["value"].as_f64().unwrap_or_else(|| panic!("{cell}")));
        (cell["contender"].as_str().unwrap().to_owned(), values.collect())
    };
    whole["cells"].as_array().unwrap().iter().map(of).collect()
}

/// The token-aware drivers that are here.
fn token_aware() -> Vec<&'static str> {
    let here = drivers();
    ["scylla", "cdrs-tokio", "cassandra-cpp"].into_iter().filter(|name| here.contains(name)).collect()
}

#[test]
fn token_aware_drivers_reach_replicas_and_round_robin_ones_by_chance() {
    let ways = ["token-aware", "round-robin"].iter();
    let contenders: Vec<String> =
        ways.flat_map(|way| token_aware().into_iter().map(move |name| format!("{name}+routing={way}"))).collect();
    let shares =
        measured("reads", &["--nodes", "3,tokens=16"], &contenders, &["to_replica", "connections", "busiest_node"]);
    for contender in &contenders {
        let [share, connections, busiest] = shares[contender][..] else { panic!("{shares:?}") };
        assert!((33.3..60.0).contains(&busiest), "{contender}: {busiest} %");
        assert_eq!(connections, 3.0, "{contender}");
        match contender.ends_with("token-aware") {
            true => assert!(share > 99.9, "{contender}: {share} %"),
            false => assert!((share - 100.0 / 3.0).abs() < 3.0, "{contender}: {share} %"),
        }
    }
}

#[test]
fn replicas_are_those_that_drivers_expect_over_racks_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replicated.toml");
    let one = "{'class': 'SimpleStrategy', 'replication_factor': 1}";
    let text = cqldyno_scenarios::builtin_toml("reads")
        .unwrap()
        .replace(one, "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}");
    assert!(text.contains("NetworkTopologyStrategy"), "{text}");
    std::fs::write(&file, text).unwrap();
    let contenders: Vec<String> = token_aware().into_iter().map(str::to_owned).collect();
    let file = file.to_str().unwrap();
    let ring = ["--nodes", "5,tokens=8,racks=3"];
    for (contender, shares) in measured(file, &ring, &contenders, &["to_replica"]) {
        assert!(shares[0] > 99.9, "{contender}: {shares:?}");
    }
    let error = refused(&["compare", "--nodes", "2", "--scenario", file]);
    let sentence =
        "The keyspace cqldyno was to have 3 replicas of each row, and the embedded cluster has 2 nodes; write a";
    assert!(error.contains(sentence), "{error}");
}

#[test]
fn a_shard_aware_driver_reaches_the_shards_of_its_rows() {
    let contenders = ["scylla".to_owned()];
    for settings in ["equal", "default"] {
        let ring = ["--nodes", "2", "--shards", "3", "--settings", settings];
        let shares = &measured("reads", &ring, &contenders, &["to_replica", "to_shard", "connections"])["scylla"];
        assert!(shares[0] > 99.9 && shares[1] > 99.9, "{settings}: {shares:?}");
        assert_eq!(shares[2], 6.0, "one per shard");
    }
}

#[test]
fn every_number_of_shards_has_nodes_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let asked = ["compare", "scylla", "--scenario", "reads", "--shards", "1,3", "--count", "2k", "--blocks", "1"];
    let further = ["-c", "8", "--pass", "none", "--limits", "noise=none", "--format", "json"];
    let output = cqldyno(folder.path(), &[&asked[..], &further].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
    let whole = json(&output);
    let figure = |shards: &str, measure: &str| {
        let name = format!("reads, 8 in flight on {shards}");
        let is_it = |cell: &&Value| cell["contender"] == "scylla" && cell["scenario"] == name.as_str();
        whole["cells"].as_array().unwrap().iter().find(is_it).unwrap()["measures"][measure]["value"].as_f64()
    };
    assert_eq!((figure("1 shard", "connections"), figure("3 shards", "connections")), (Some(1.0), Some(3.0)));
    assert!(figure("3 shards", "to_shard").is_some_and(|share| share > 99.9));
}

/// What a scenario of sessions is run with.
const SESSIONS: [&str; 10] =
    ["--scenario", "connect", "--count", "100", "--blocks", "1", "--pass", "none", "--limits", "noise=none"];

#[test]
fn sessions_are_opened_many_at_once_and_all_are_closed() {
    drivers();
    let here = ["floor", "scylla", "cdrs-tokio", "gocql"].into_iter().filter(|name| worker(name).is_some());
    let here: Vec<&str> = here.collect();
    for (ring, floors) in [(&[][..], 100.0), (&["--nodes", "3", "--shards", "2"], 600.0)] {
        let folder = tempfile::tempdir().unwrap();
        let all = [&["compare"], &here[..], &SESSIONS, &["-c", "20", "--format", "json"], ring].concat();
        let output = cqldyno(folder.path(), &all).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
        let whole = json(&output);
        let cells = whole["cells"].as_array().unwrap();
        assert_eq!(cells.len(), here.len());
        for cell in cells {
            let figure = |id: &str| cell["measures"][id]["value"].as_f64().unwrap_or_else(|| panic!("{id}: {cell:#}"));
            assert!(cell["void"].is_null() && cell["failed"].is_null(), "{cell:#}");
            // Each session sends its statement over one of its connections.
            let exact = ["statements", "verified", "server_executes", "connections"].map(figure);
            assert_eq!((exact, figure("connections_left_open")), ([100.0; 4], 0.0), "{cell:#}");
            let accepted = figure("connections_accepted");
            match cell["contender"].as_str() {
                Some("floor") => assert_eq!(accepted, floors, "{cell:#}"),
                // At least one of data and one of control.
                _ => assert!(accepted >= 200.0, "{cell:#}"),
            }
            assert!(figure("prepares_per_statement") >= 1.0 && figure("requests_per_statement") >= 3.0, "{cell:#}");
            for id in
                ["first_answer_p50", "bytes_sent_per_statement", "bytes_received_per_statement", "server_peak_rss"]
            {
                assert!(figure(id) > 0.0, "{id}: {cell:#}");
            }
        }
    }
}

#[test]
fn several_numbers_of_sessions_at_once_are_a_sweep_and_without_a_number_they_come_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let all = [&["compare", "floor"], &SESSIONS[..], more].concat();
        let output = cqldyno(folder.path(), &all).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}\n{}", stderr(&output), stdout(&output));
        stdout(&output)
    };
    let text = run(&["-c", "1,50", "--out", "swept"]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let rows = text.lines().filter_map(|line| line.strip_prefix("floor ")?.split_whitespace().next());
    let rows: Vec<&str> = rows.collect();
    assert!(text.contains("connect, sessions:") && rows.ends_with(&["1", "50", "1", "50"]), "{text}");
    let text = run(&["--out", "alone"]);
    assert!(text.contains("100 statements, 1 in flight on multi:2"), "{text}");
    let error = refused(&["compare", "floor", "--scenario", "connect", "-c", "1,2000"]);
    assert!(
        error.contains("the scenario connect has at most 1000 in flight, and --concurrency asks for 2000"),
        "{error}"
    );
}

#[test]
fn sessions_have_as_many_files_as_the_system_allows_and_too_few_are_told_before_anything_runs() {
    drivers();
    let limited = |limit: &str| {
        let folder = tempfile::tempdir().unwrap();
        let asked = ["compare", "floor", "-c", "50", "--nodes", "3"];
        let all = [&asked[..], &SESSIONS, &["--format", "json"]].concat();
        let script = format!("{limit} && exec \"$0\" \"$@\"");
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script, CQLDYNO]).args(all).current_dir(folder.path());
        shell.output().unwrap()
    };
    let raised = limited("ulimit -Sn 100");
    assert_eq!(raised.status.code(), Some(0), "{}", stderr(&raised));
    assert!(json(&raised)["cells"].as_array().unwrap().iter().all(|cell| cell["void"].is_null()));
    let few = limited("ulimit -n 100");
    let sentence = "the scenario connect opens 50 sessions at once with up to 5 connections each, and a process may have 100 files open \
                    here, of which 64 are left for other things; ask for a lower --concurrency, or raise that with `ulimit -Hn`";
    assert_eq!((few.status.code(), stdout(&few).as_str()), (Some(2), ""), "{}", stderr(&few));
    assert!(words(&stderr(&few)).contains(sentence), "{}", stderr(&few));
}

#[test]
fn a_cluster_that_cannot_be_is_refused() {
    for (arguments, sentence) in [
        (["--nodes", "0"], "--nodes 0 was asked for, and the embedded cluster has 1 to 64"),
        (["--nodes", "1,tokens=257"], "tokens 257 was asked for, and the embedded cluster has 1 to 256 per node"),
        (["--nodes", "1,racks=2"], "2 racks were asked for, and a rack has at least one node, of which there are 1"),
        (["--shards", "0"], "write a whole number from 1 on"),
        (["--shards", "16385"], "choose a shard by a port from 49152 to 65535; ask for a number from 1 to 16384"),
    ] {
        for command in ["serve", "compare"] {
            let error = refused(&[command, arguments[0], arguments[1]]);
            assert!(error.contains(sentence), "{error}");
        }
    }
}
