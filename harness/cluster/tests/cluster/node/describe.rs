//! DESCRIBE, compared with what Cassandra 5.0.9 answered.

use super::client::{Client, node};

fn texts(client: &mut Client, query: &str) -> Vec<Vec<String>> {
    let text = |cell: &Option<Vec<u8>>| String::from_utf8(cell.clone().unwrap()).unwrap();
    client.rows(query).rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn described(client: &mut Client, query: &str) -> String {
    texts(client, query)[0][3].clone()
}

#[test]
fn a_table_is_described_as_cassandra_describes_it() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(
        "CREATE TABLE wide (b text, a int, c int, d text, s text STATIC, v int, m map<text, int>, w text, \"select\" int, \
         PRIMARY KEY ((a, b), c, d)) WITH CLUSTERING ORDER BY (c DESC, d ASC) AND comment = 'it''s' \
         AND gc_grace_seconds = 5 AND default_time_to_live = 100 AND compaction = {'class': 'LeveledCompactionStrategy'} \
         AND compression = {'enabled': 'false'} AND caching = {'keys': 'NONE'}",
    );
    let text = "CREATE TABLE ks.wide (
    a int,
    b text,
    c int,
    d text,
    s text static,
    \"select\" int,
    v int,
    w text,
    m map<text, int>,
    PRIMARY KEY ((a, b), c, d)
) WITH CLUSTERING ORDER BY (c DESC, d ASC)
    AND additional_write_policy = '99p'
    AND allow_auto_snapshot = true
    AND bloom_filter_fp_chance = 0.1
    AND caching = {'keys': 'NONE', 'rows_per_partition': 'NONE'}
    AND cdc = false
    AND comment = 'it''s'
    AND compaction = {'class': 'org.apache.cassandra.db.compaction.LeveledCompactionStrategy', 'max_threshold': '32', 'min_threshold': '4'}
    AND compression = {'enabled': 'false'}
    AND memtable = 'default'
    AND crc_check_chance = 1.0
    AND default_time_to_live = 100
    AND extensions = {}
    AND gc_grace_seconds = 5
    AND incremental_backups = true
    AND max_index_interval = 2048
    AND memtable_flush_period_in_ms = 0
    AND min_index_interval = 128
    AND read_repair = 'BLOCKING'
    AND speculative_retry = '99p';";
    let rows = client.rows("DESCRIBE TABLE ks.wide");
    let names: Vec<_> = rows.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["keyspace_name", "type", "name", "create_statement"]);
    assert_eq!(texts(&mut client, "DESCRIBE TABLE ks.wide"), [["ks", "table", "wide", text]]);
    for query in ["DESC COLUMNFAMILY wide", "DESCRIBE wide", "DESCRIBE ks.wide"] {
        assert_eq!(described(&mut client, query), text, "{query}");
    }
    // What is described can be created again, and is the same then.
    client.run("DROP TABLE wide");
    client.run(text);
    assert_eq!(described(&mut client, "DESCRIBE TABLE wide"), text);
    let internals = described(&mut client, "DESCRIBE TABLE wide WITH INTERNALS");
    assert!(
        internals.contains(") WITH ID = ") && internals.contains("\n    AND CLUSTERING ORDER BY (c DESC"),
        "{internals}"
    );
}

#[test]
fn a_keyspace_comes_with_its_tables_and_the_schema_without_the_system() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE KEYSPACE \"Dq\" WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1} AND durable_writes = false");
    client.run("CREATE TABLE \"Dq\".\"Tq\" (a int PRIMARY KEY)");
    let keyspace = "CREATE KEYSPACE \"Dq\" WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': '1'}  \
                    AND durable_writes = false;";
    let elements = texts(&mut client, "DESCRIBE KEYSPACE \"Dq\"");
    assert_eq!(elements[0], ["\"Dq\"", "keyspace", "\"Dq\"", keyspace]);
    assert_eq!(elements[1][..3], ["\"Dq\"", "table", "\"Tq\""]);
    assert!(elements[1][3].starts_with("CREATE TABLE \"Dq\".\"Tq\" (\n    a int PRIMARY KEY\n) WITH additional"));
    assert_eq!(texts(&mut client, "DESCRIBE ONLY KEYSPACE \"Dq\"").len(), 1);
    let names = |rows: Vec<Vec<String>>| rows.into_iter().map(|row| row[2].clone()).collect::<Vec<_>>();
    assert_eq!(names(texts(&mut client, "DESCRIBE SCHEMA")), ["\"Dq\"", "\"Tq\"", "ks"]);
    let full = names(texts(&mut client, "DESCRIBE FULL SCHEMA"));
    assert!(full.contains(&"system".to_owned()) && full.contains(&"local".to_owned()), "{full:?}");
    assert!(names(texts(&mut client, "DESCRIBE KEYSPACES")).contains(&"\"Dq\"".to_owned()));
    // In the keyspace in use, which has no table.
    assert!(texts(&mut client, "DESCRIBE TABLES").is_empty());
    assert_eq!(texts(&mut client, "DESCRIBE KEYSPACE").len(), 1);
    let cluster = client.rows("DESCRIBE CLUSTER");
    assert_eq!(cluster.columns.len(), 4, "with the ranges of the keyspace in use");
    assert_eq!(cluster.cell(0, "partitioner"), Some(&b"Murmur3Partitioner"[..]));
}

#[test]
fn what_is_not_there_is_told_in_cassandras_words() {
    let node = node();
    let mut outside = Client::connect(&node);
    let mut inside = Client::in_keyspace(&node);
    for (query, text) in [
        ("DESCRIBE KEYSPACE", "No keyspace specified and no current keyspace"),
        ("DESCRIBE TABLE t", "No keyspace specified and no current keyspace"),
        ("DESCRIBE KEYSPACE Nope", "'nope' not found in keyspaces"),
        ("DESCRIBE nope", "'nope' not found in keyspaces"),
    ] {
        assert_eq!(outside.query(query).error(), (0x2200, text.to_owned()), "{query}");
    }
    for (query, text) in [
        ("DESCRIBE nope", "'nope' not found in keyspace 'ks'"),
        ("DESCRIBE TABLE nope", "Table 'nope' not found in keyspace 'ks'"),
        ("DESCRIBE TABLE nope.t", "'nope' not found in keyspaces"),
        ("DESCRIBE TYPE nope", "User defined type 'nope' not found in 'ks'"),
        ("DESCRIBE FUNCTION nope", "User defined function 'nope' not found in 'ks'"),
        ("DESCRIBE AGGREGATE nope", "User defined aggregate 'nope' not found in 'ks'"),
        ("DESCRIBE INDEX nope", "Table for existing index 'nope' not found in 'ks'"),
        ("DESCRIBE MATERIALIZED VIEW nope", "Materialized view 'nope' not found in 'ks'"),
    ] {
        assert_eq!(inside.query(query).error(), (0x2200, text.to_owned()), "{query}");
    }
    for query in ["DESCRIBE TYPES", "DESCRIBE FUNCTIONS", "DESCRIBE AGGREGATES"] {
        assert!(texts(&mut inside, query).is_empty());
    }
}
