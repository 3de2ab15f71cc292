//! Text to the parser and the analyzer: statements divided by zero bytes, each against the catalog that those before left.

#![no_main]

use std::sync::LazyLock;

use cqldyno_cluster::statements::{Catalog, CqlPlan, analyze, catalog};
use libfuzzer_sys::fuzz_target;

static START: LazyLock<Catalog> = LazyLock::new(|| {
    let mut catalog = catalog();
    for definition in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ks.bench (pk bigint PRIMARY KEY, v1 bigint, v2 bigint)",
        "CREATE TABLE ks.wide (a int, b text, c1 int, c2 timestamp, s text STATIC, v int, m map<text, int>, \
         f frozen<list<int>>, PRIMARY KEY ((a, b), c1, c2)) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC)",
        "CREATE TABLE ks.types (k uuid PRIMARY KEY, l list<int>, t tuple<int, text>, u timeuuid, ts timestamp, \
         d decimal, i inet, dd date, du duration, vi varint, x set<frozen<map<text, blob>>>)",
    ] {
        if let Ok(CqlPlan::Ddl(ddl)) = analyze(definition, &catalog, None).map(|prepared| prepared.plan) {
            let _ = catalog.apply(&ddl);
        }
    }
    catalog
});

fuzz_target!(|data: &[u8]| {
    let mut catalog = START.clone();
    for text in data.split(|byte| *byte == 0) {
        let Ok(text) = std::str::from_utf8(text) else { continue };
        let prepared = match analyze(text, &catalog, Some("ks")) {
            Ok(prepared) => prepared,
            Err(error) => {
                assert!(error.code() >= 0x2000 && !error.to_string().is_empty());
                continue;
            }
        };
        assert!(prepared.partition_key_indexes.iter().all(|index| usize::from(*index) < prepared.bind_markers.len()));
        match &prepared.plan {
            CqlPlan::Ddl(ddl) => {
                let version = catalog.schema_version();
                let changed = matches!(catalog.apply(ddl), Ok(Some(_)));
                assert_eq!(changed, catalog.schema_version() != version);
            }
            CqlPlan::Select(select) => assert_eq!(select.selectors.len(), prepared.result_columns.len()),
            _ => {}
        }
    }
});
