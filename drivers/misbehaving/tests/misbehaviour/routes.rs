//! Where statements came: a driver with another hash than Cassandra's sends them to replicas by chance only.

use cqldyno_cluster::token;
use cqldyno_reports::measure::{TO_REPLICA, TO_SHARD};

use crate::place::{Place, misbehaving};

#[path = "../worker/textbook.rs"]
mod textbook;

const NODES: usize = 3;
const KEYS: i64 = 1_000_000;

fn cassandras(key: i64) -> i64 {
    token::token(&key.to_be_bytes())
}

#[test]
fn both_hashes_agree_on_small_bigints_and_differ_on_58_of_100_below_ten_million() {
    let differ = |keys: std::ops::Range<i64>| keys.filter(|key| cassandras(*key) != textbook::token(*key)).count();
    assert_eq!(differ(0..32_768), 0);
    assert_ne!(cassandras(32_768), textbook::token(32_768));
    let share = differ(0..10_000_000) as f64 / 1e7;
    assert!((0.575..0.585).contains(&share), "{share}");
}

#[test]
fn a_driver_with_the_textbooks_hash_reaches_as_many_replicas_as_both_hashes_say() {
    let place = Place::new();
    let plan = place.plan("writes", &["floor", "routes-by-textbook"]).with_blocks(1, KEYS as u64);
    let plan = plan.with(|plan| plan.serve.nodes = Some(NODES.to_string().parse().unwrap()));
    let cells = place.run(&plan);
    let floor = cells.iter().find(|cell| cell.contender.starts_with("floor")).unwrap();
    let in_turn = floor.measures[TO_REPLICA].get().unwrap();
    assert!((in_turn - 100.0 / NODES as f64).abs() < 1.0, "{in_turn} % in turn");
    assert!(!floor.measures.contains_key(TO_SHARD), "there are no shards");
    let cell = misbehaving(cells);
    assert_eq!((cell.failed.as_deref(), cell.void.as_deref()), (None, None));
    let right = |key: &i64| {
        let [asked, owns] = [textbook::token(*key), cassandras(*key)].map(|token| textbook::owner(token, NODES));
        asked == owns
    };
    let expected = 100.0 * (0..KEYS).filter(right).count() as f64 / KEYS as f64;
    let found = cell.measures[TO_REPLICA].get().unwrap();
    assert!((60.0..80.0).contains(&expected), "{expected} %");
    assert!((found - expected).abs() < 1.0, "{found} % came to a replica, and {expected} % were expected");
}
