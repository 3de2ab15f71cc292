//! Several embedded nodes: where each driver sends its statements.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{cqldyno, drivers, json, refused, stderr, stdout};

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
