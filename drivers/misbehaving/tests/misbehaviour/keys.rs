//! Primary keys of every type: a driver that does what it is asked gets a clean row.

use crate::place::Place;
use cqldyno_bench::Plan;
use cqldyno_reports::Pass;
use cqldyno_scenarios::Scenario;

const SCENARIO: &str = r#"
name = "keys"
about = "Texts, blobs and uuids in primary keys, executed, in batches and unprepared."
schema = [
    "CREATE KEYSPACE IF NOT EXISTS keys WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "DROP TABLE IF EXISTS keys.names",
    "CREATE TABLE keys.names (name text PRIMARY KEY, v bigint)",
    "DROP TABLE IF EXISTS keys.pairs",
    "CREATE TABLE keys.pairs (id blob, part text, v text, PRIMARY KEY ((id, part)))",
    "DROP TABLE IF EXISTS keys.items",
    "CREATE TABLE keys.items (list text, item uuid, v text, PRIMARY KEY (list, item))",
]

[[statement]]
name = "insert"
weight = 8
cql = "INSERT INTO keys.names (name, v) VALUES (?, ?)"
values = [{ type = "text", length = 5 }, { type = "bigint" }]

[statement.read_back]
cql = "SELECT name, v FROM keys.names WHERE name = ?"
values = [{ type = "text", length = 5 }]
columns = [{ type = "text", length = 5 }, { type = "bigint" }]

[[statement]]
name = "select"
cql = "SELECT id, part, v FROM keys.pairs WHERE id = ? AND part = ?"
values = [{ type = "blob", length = 3 }, { type = "text", length = 9, unicode = true }]

[statement.expect]
columns = [{ type = "blob", length = 3 }, { type = "text", length = 9, unicode = true }, { type = "text", length = 9, unicode = true }]

[statement.load]
cql = "INSERT INTO keys.pairs (id, part, v) VALUES (?, ?, ?)"
values = [{ type = "blob", length = 3 }, { type = "text", length = 9, unicode = true }, { type = "text", length = 9, unicode = true }]
shift = true
"#;

const OPERATIONS: &str = r#"
[[statement]]
name = "unprepared"
operation = "unprepared"
cql = "SELECT * FROM keys.names WHERE name = ?"
keys = 100
values = [{ type = "text", length = 5 }]

[statement.expect]
columns = [{ type = "text", length = 5 }, { type = "bigint" }]

[statement.load]
cql = "INSERT INTO keys.names (name, v) VALUES (?, ?)"
values = [{ type = "text", length = 5 }, { type = "bigint" }]

[[statement]]
name = "batch"
operation = "batch"
size = 7
cql = "INSERT INTO keys.items (list, item, v) VALUES (?, ?, ?)"
values = [{ type = "text", length = 4, by = "key" }, { type = "uuid" }, { type = "text", length = 20 }]

[statement.read_back]
cql = "SELECT item, v FROM keys.items WHERE list = ? AND item = ?"
values = [{ type = "text", length = 4, by = "key" }, { type = "uuid" }]
columns = [{ type = "uuid" }, { type = "text", length = 20 }]
"#;

/// The texts of the load generator repeat once in a million pairs, which these would be sure to meet.
#[test]
fn texts_blobs_and_uuids_of_a_primary_key_differ_from_row_to_row() {
    for (scenario, rate) in [(SCENARIO, None), (&[SCENARIO, OPERATIONS].concat(), None), (SCENARIO, Some(20_000))] {
        let place = Place::new();
        let scenarios = vec![Scenario::from_toml(scenario, "keys").unwrap()];
        let count = if rate.is_some() { 5_000 } else { 40_000 };
        let passes = rate.map(|_| Pass::Latency).into_iter().collect();
        let plan = Plan { scenarios, ..place.plan("writes", &["floor"]) };
        let plan = plan.with(|plan| (plan.rate, plan.passes) = (rate, passes)).with_blocks(1, count);
        assert_eq!(place.run(&plan)[0].measures["verified"].get(), Some(count as f64));
    }
}
