//! Statements against a small catalog: what they resolve to, and what they are refused with.

use super::*;
use crate::cql::Operator;
use crate::prepared::{
    Assignment, ClusteringSelection, Limit, Modification, ModificationKind, OneOf, PartitionSelection, Range, Select,
    Selector,
};
use crate::schema::ColumnKind;
use crate::types::{CqlType, Evaluated, Value};

fn catalog() -> Catalog {
    let mut catalog = crate::system::catalog();
    for definition in [
        "CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE ks.bench (pk bigint PRIMARY KEY, v2 bigint, v1 bigint)",
        "CREATE TABLE ks.wide (a int, b text, c1 int, c2 timestamp, s text STATIC, v int, m map<text, int>, \
         f frozen<list<int>>, PRIMARY KEY ((a, b), c1, c2)) WITH CLUSTERING ORDER BY (c1 DESC, c2 ASC) AND comment = 'x'",
        "CREATE TYPE ks.place (x int, name text)",
        "CREATE TABLE ks.places (pk int PRIMARY KEY, u place, f frozen<place>, v vector<float, 3>)",
        "CREATE TABLE ks.counts (pk int PRIMARY KEY, c counter)",
        "CREATE TABLE ks.types (k uuid PRIMARY KEY, l list<int>, t tuple<int, text>, u timeuuid, ts timestamp, d double)",
    ] {
        apply(&mut catalog, definition).unwrap();
    }
    catalog
}

fn apply(catalog: &mut Catalog, text: &str) -> Result<Option<crate::schema::SchemaChange>> {
    let CqlPlan::Ddl(ddl) = analyze(text, catalog, Some("ks"))?.plan else { panic!("{text} is no DDL") };
    catalog.apply(&ddl)
}

fn prepared(text: &str) -> Prepared {
    match analyze(text, &catalog(), Some("ks")) {
        Ok(prepared) => prepared,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn modification(text: &str) -> Modification {
    let CqlPlan::Modify(modification) = prepared(text).plan else { panic!("{text} is no modification") };
    modification
}

/// The terms of a whole partition key.
fn key(partition: &PartitionSelection) -> &[Term] {
    let PartitionSelection::One(terms) = partition else { panic!("{partition:?} is no key") };
    terms
}

fn select(text: &str) -> Select {
    let CqlPlan::Select(select) = prepared(text).plan else { panic!("{text} is no SELECT") };
    select
}

fn int(value: i32) -> Term {
    Term::Constant(Some(value.to_be_bytes().to_vec().into()))
}

#[test]
fn the_hot_insert_and_select_resolve_to_markers_by_column() {
    let prepared = prepared("INSERT INTO ks.bench (pk, v1, v2) VALUES (?, ?, ?)");
    let CqlPlan::Modify(insert) = &prepared.plan else { panic!("no INSERT") };
    assert_eq!(insert.kind, ModificationKind::Insert);
    assert_eq!(*key(&insert.partition), [Term::Marker(0)]);
    let assigned = |column, marker| Assignment { column, value: Term::Marker(marker), edit: None };
    assert_eq!(*insert.assignments, [assigned(1, 1), assigned(2, 2)]);
    assert_eq!(prepared.partition_key_indexes, [0]);
    let names = prepared.bind_markers.iter().map(|spec| (&*spec.name, &spec.ty)).collect::<Vec<_>>();
    assert_eq!(names, [("pk", &CqlType::Bigint), ("v1", &CqlType::Bigint), ("v2", &CqlType::Bigint)]);
    assert!(prepared.result_columns.is_empty());

    let prepared = super::tests::prepared("SELECT v1, v2 FROM bench WHERE pk = ?");
    let CqlPlan::Select(select) = &prepared.plan else { panic!("no SELECT") };
    assert_eq!(select.partition, PartitionSelection::One([Term::Marker(0)].into()));
    assert_eq!(*select.selectors, [Selector::Column(1), Selector::Column(2)]);
    assert!(select.clustering.is_all() && select.filters.is_empty() && !select.reversed);
    assert_eq!(prepared.partition_key_indexes, [0]);
    assert_eq!(prepared.result_columns.len(), 2);
}

#[test]
fn columns_are_ordered_as_select_star_gives_them() {
    let prepared = prepared("SELECT * FROM wide");
    let names = prepared.result_columns.iter().map(|spec| &*spec.name).collect::<Vec<_>>();
    assert_eq!(names, ["a", "b", "c1", "c2", "s", "f", "m", "v"]);
    let CqlPlan::Select(select) = prepared.plan else { panic!("no SELECT") };
    let table = &select.table;
    assert_eq!((table.partition_key_len, table.clustering_len, table.static_len), (2, 2, 1));
    assert!(table.columns[2].descending && !table.columns[3].descending);
    assert_eq!(table.columns[4].kind, ColumnKind::Static);
}

#[test]
fn partition_key_indexes_are_in_the_order_of_the_key() {
    assert_eq!(prepared("SELECT * FROM wide WHERE b = ? AND a = ?").partition_key_indexes, [1, 0]);
    assert_eq!(prepared("SELECT * FROM wide WHERE b = 'x' AND a = ?").partition_key_indexes, [0u16; 0]);
    // Cassandra gives the last one of each part, and drivers that route by it expect no other.
    assert_eq!(prepared("SELECT * FROM bench WHERE pk IN (?, ?)").partition_key_indexes, [1]);
    assert_eq!(prepared("SELECT * FROM bench WHERE pk IN ?").partition_key_indexes, [0u16; 0]);
    let update = prepared("UPDATE bench USING TIMESTAMP ? AND TTL ? SET v1 = ? WHERE pk = ?");
    assert_eq!(update.partition_key_indexes, [3]);
    let names = update.bind_markers.iter().map(|spec| &*spec.name).collect::<Vec<_>>();
    assert_eq!(names, ["[timestamp]", "[ttl]", "v1", "pk"]);
    assert!(update.bind_markers.iter().all(|spec| (&*spec.keyspace, &*spec.table) == ("ks", "bench")));
    let batch = "BEGIN BATCH INSERT INTO bench (v1, pk) VALUES (?, ?); DELETE FROM bench WHERE pk = ?; APPLY BATCH";
    assert_eq!(prepared(batch).partition_key_indexes, [2]);
}

#[test]
fn named_markers_keep_their_names() {
    let names = prepared("SELECT * FROM bench WHERE pk = :key LIMIT :\"Most\"").bind_markers;
    assert_eq!(names.iter().map(|spec| &*spec.name).collect::<Vec<_>>(), ["key", "Most"]);
    assert_eq!(names[1].ty, CqlType::Int);
}

#[test]
fn constants_are_serialised_and_collections_folded() {
    let insert = modification(
        "INSERT INTO wide (a, b, c1, c2, m, f) VALUES (-1, 'it''s', 2, '1970-01-01', {'z': 1, 'a': 2}, [3])",
    );
    assert_eq!(key(&insert.partition)[0], int(-1));
    assert_eq!(insert.clustering.prefix.len(), 2);
    let Term::Constant(Some(map)) = &insert.assignments[1].value else { panic!("the map is a constant") };
    assert_eq!(map[..12], [0, 0, 0, 2, 0, 0, 0, 1, b'a', 0, 0, 0]);
    let empty = super::tests::modification("INSERT INTO wide (a, b, c1, c2, m, f) VALUES (1, 'b', 2, 3, {}, [])");
    assert_eq!(empty.assignments[1].value, Term::Constant(None));
    assert_eq!(empty.assignments[0].value, Term::Constant(Some(vec![0; 4].into())));
}

#[test]
fn collections_with_markers_and_functions_wait_for_the_execution() {
    let insert = modification(
        "INSERT INTO types (k, l, t, u, ts) VALUES (uuid(), [1, ?], (?, null), now(), toTimestamp(now()))",
    );
    let value = 7i32.to_be_bytes();
    let values = [Value::Bytes(&value), Value::Bytes(&value)];
    for assignment in &insert.assignments {
        let Ok(Evaluated::Bytes(bytes)) = assignment.value.evaluate(&values) else { panic!("{assignment:?}") };
        let ty = &insert.table.columns[assignment.column].ty;
        assert_eq!(ty.validate(&bytes), Ok(()), "{ty}");
    }
    let list = insert.assignments[0].value.evaluate(&[Value::Null, Value::Null]);
    assert_eq!(list, Err(CqlError::invalid("null is not supported inside collections")));
    let Ok(Evaluated::Bytes(id)) = key(&insert.partition)[0].evaluate(&values) else { panic!("no id") };
    assert_eq!(id[6] >> 4, 4);
}

#[test]
fn rows_are_selected_by_prefix_and_range() {
    let select = select(
        "SELECT * FROM wide WHERE a = 1 AND b = 'x' AND c1 IN (1, 2) AND c2 > ? AND c2 <= ? ORDER BY c1 ASC, c2 DESC LIMIT 10",
    );
    assert_eq!(*select.clustering.prefix, [OneOf::Terms(vec![int(1), int(2)])]);
    let limit = |marker, inclusive| Some(Limit { terms: [Term::Marker(marker)].into(), inclusive });
    assert_eq!(select.clustering.range, Some(Range { lower: limit(0, false), upper: limit(1, true) }));
    assert!(select.reversed);
    assert_eq!(select.limit, Some(int(10)));
    let same = super::tests::select("SELECT * FROM wide WHERE a = 1 AND b = 'x' ORDER BY c1 DESC");
    assert!(!same.reversed);
}

#[test]
fn partitions_are_selected_by_in_and_token() {
    let select = select("SELECT * FROM wide WHERE a IN ? AND b = 'x'");
    let PartitionSelection::Product(parts) = &select.partition else { panic!("no product") };
    assert_eq!(parts[0], OneOf::List(0));
    let marker = &prepared("SELECT * FROM wide WHERE a IN ? AND b = 'x'").bind_markers[0];
    assert_eq!((&*marker.name, marker.ty.to_string()), ("in(a)", "list<int>".to_owned()));
    let select = super::tests::select("SELECT pk FROM bench WHERE token(pk) > ? AND token(pk) <= token(5)");
    let PartitionSelection::Tokens(range) = &select.partition else { panic!("no tokens") };
    let five = 5i64.to_be_bytes();
    let tokens = range.tokens(&[Value::Bytes(&five)]).unwrap();
    assert_eq!(tokens, Some((6, crate::token::token(&five))).filter(|(first, last)| first <= last));
    assert_eq!(super::tests::select("SELECT * FROM bench").partition, PartitionSelection::Tokens(Range::default()));
}

#[test]
fn what_no_key_takes_becomes_a_filter_when_it_is_allowed() {
    let select = select("SELECT * FROM wide WHERE a = 1 AND v >= 2 AND m CONTAINS KEY 'x' ALLOW FILTERING");
    let filters = select.filters.iter().map(|filter| (filter.column, filter.operator)).collect::<Vec<_>>();
    assert_eq!(filters, [(0, Operator::Equal), (6, Operator::ContainsKey), (7, Operator::GreaterOrEqual)]);
}

#[test]
fn functions_have_cassandras_names_and_types() {
    let columns = prepared("SELECT count(*), count(v1) AS n FROM bench").result_columns;
    let shown =
        |columns: &[ColumnSpec]| columns.iter().map(|spec| format!("{} {}", spec.name, spec.ty)).collect::<Vec<_>>();
    assert_eq!(shown(&columns), ["count bigint", "n bigint"]);
    let columns = prepared("SELECT token(pk), writetime(v1), ttl(v1), toJson(v2) FROM bench").result_columns;
    assert_eq!(
        shown(&columns),
        ["system.token(pk) bigint", "writetime(v1) bigint", "ttl(v1) int", "system.tojson(v2) text"]
    );
}

#[test]
fn deletes_and_updates_tell_cells_rows_and_partitions_apart() {
    let delete = |text: &str| {
        let delete = modification(text);
        assert_eq!(delete.kind, ModificationKind::Delete);
        assert!(delete.assignments.iter().all(|cell| cell.value == Term::Constant(None)));
        delete
    };
    let columns = |text: &str| delete(text).assignments.iter().map(|cell| cell.column).collect::<Vec<_>>();
    assert!(delete("DELETE FROM wide WHERE a = 1 AND b = 'x'").clustering.is_all());
    assert_eq!(columns("DELETE s FROM wide WHERE a = 1 AND b = 'x'"), [4]);
    assert_eq!(columns("DELETE v, m FROM wide WHERE a = 1 AND b = 'x' AND c1 = 1 AND c2 = 2"), [6, 7]);
    let range = delete("DELETE FROM wide WHERE a = 1 AND b = 'x' AND c1 >= 5").clustering;
    assert!(matches!(range, ClusteringSelection { range: Some(Range { lower: Some(_), upper: None }), .. }));
    let update = modification("UPDATE wide SET s = 'y' WHERE a = 1 AND b = 'x'");
    assert!(update.kind == ModificationKind::Update && update.clustering.is_all());
    assert_eq!(update.assignments[0].column, 4);
}

#[test]
fn refusals_are_in_cassandras_words() {
    let many = [
        ("SELECT * FROM nosuch", "table nosuch does not exist"),
        ("SELECT * FROM nosuch.t", "keyspace nosuch does not exist"),
        ("SELECT x FROM bench", "Undefined column name x in table ks.bench"),
        ("SELECT * FROM bench WHERE v1 = 1", "Cannot execute this query as it might involve data filtering"),
        ("SELECT * FROM wide WHERE a = 1", "Cannot execute this query as it might involve data filtering"),
        ("SELECT * FROM bench WHERE pk > 1", "Only EQ and IN relation are supported on the partition key"),
        ("SELECT * FROM bench WHERE pk = 1 AND pk = 2", "pk cannot be restricted by more than one relation"),
        ("SELECT * FROM bench LIMIT 0", "LIMIT must be strictly positive"),
        ("SELECT * FROM bench ORDER BY pk", "ORDER BY is only supported when the partition key is restricted"),
        ("SELECT v FROM wide WHERE a = 1 AND b = 'x' AND c2 = 1", "PRIMARY KEY column \"c2\" cannot be restricted"),
        ("SELECT v FROM wide WHERE a = 1 AND b = 'x' AND c1 > 1 AND c2 = 1", "Clustering column \"c2\" cannot be"),
        ("SELECT f(v1) FROM bench", "Unknown function 'f'"),
        ("SELECT writetime(pk) FROM bench", "Cannot use selection function writetime on PRIMARY KEY part pk"),
        ("INSERT INTO bench (v1) VALUES (1)", "Some partition key parts are missing: pk"),
        ("INSERT INTO wide (a, b, v) VALUES (1, 'x', 2)", "Some clustering keys are missing: c1, c2"),
        ("INSERT INTO bench (pk, v1) VALUES (1)", "Unmatched column names/values"),
        ("INSERT INTO bench (pk, pk) VALUES (1, 2)", "The column names contains duplicates"),
        ("INSERT INTO bench (pk) VALUES ('x')", "Invalid STRING constant (x) for \"pk\" of type bigint"),
        ("INSERT INTO bench (pk) VALUES (99999999999999999999)", "Unable to make long from '99999999999999999999'"),
        ("INSERT INTO bench (pk) VALUES (null)", "Invalid null value in condition for column pk"),
        (
            "INSERT INTO bench (pk) VALUES (1) IF NOT EXISTS USING TIMESTAMP 5",
            "Cannot provide custom timestamp for conditional",
        ),
        ("UPDATE bench SET v1 = 1 WHERE pk = 1 IF pk = 1", "PRIMARY KEY column 'pk' cannot have IF conditions"),
        ("UPDATE bench SET v1 = 1 WHERE pk = 1 IF no = 1", "Undefined column name no in table ks.bench"),
        (
            "UPDATE bench SET v1 = 1 WHERE pk IN (1, 2) IF EXISTS",
            "IN on the partition key is not supported with conditional updates",
        ),
        (
            "DELETE FROM bench WHERE pk IN (1, 2) IF EXISTS",
            "IN on the partition key is not supported with conditional deletions",
        ),
        ("UPDATE wide SET s = 'x' WHERE a = 1 AND b = 'x' IF v = 1", "Some clustering keys are missing: c1, c2"),
        (
            "DELETE FROM wide WHERE a = 1 AND b = 'x' IF s = 'x'",
            "DELETE statements must restrict all PRIMARY KEY columns",
        ),
        (
            "UPDATE wide SET v = 1 WHERE a = 1 AND b = 'x' AND c1 = 1 AND c2 IN (1, 2) IF EXISTS",
            "IN on the clustering key columns is not supported with conditional updates",
        ),
        (
            "BEGIN BATCH USING TIMESTAMP 5 DELETE FROM bench WHERE pk = 1 IF EXISTS; APPLY BATCH",
            "Cannot provide custom timestamp for conditional BATCH",
        ),
        ("BEGIN BATCH USING TTL 5 DELETE FROM bench WHERE pk = 1; APPLY BATCH", "Global TTL on the BATCH statement"),
        ("UPDATE bench SET pk = 1 WHERE pk = 2", "PRIMARY KEY part pk found in SET part"),
        ("UPDATE bench SET v1 = v1 + 1 WHERE pk = 2", "Invalid operation (v1 = v1 + ...) for non counter column v1"),
        ("UPDATE bench SET v1 = 1 WHERE pk = 2 AND v2 = 3", "Non PRIMARY KEY columns found in where clause: v2 "),
        ("UPDATE wide SET v = 1 WHERE a = 1 AND b = 'x'", "Some clustering keys are missing: c1, c2"),
        ("UPDATE bench SET v1['k'] = 1 WHERE pk = 2", "Invalid operation (v1[...] = ...) for non collection column v1"),
        ("DELETE v1 FROM bench WHERE v1 = 1", "Some partition key parts are missing: pk"),
        ("DELETE v FROM wide WHERE a = 1 AND b = 'x' AND c1 > 1", "Range deletions are not supported for specific"),
        ("USE nosuch", "Keyspace 'nosuch' does not exist"),
        ("CREATE INDEX ON bench (v1)", "CREATE INDEX is not supported by the embedded cluster"),
        ("CREATE TABLE t (a int)", "No PRIMARY KEY specifed for table 't'"),
        ("CREATE TABLE t (a list<int> PRIMARY KEY)", "Invalid non-frozen collection type list<int> for PRIMARY KEY"),
        ("CREATE TABLE t (a int PRIMARY KEY, a int)", "Duplicate column 'a' declaration for table 't'"),
        ("CREATE TABLE t (a int, PRIMARY KEY (b))", "Unknown column 'b' referenced in PRIMARY KEY for table 't'"),
        ("CREATE TABLE t (a int PRIMARY KEY, b list<list<int>>)", "Non-frozen collections are not allowed inside"),
        ("CREATE TABLE t (a int PRIMARY KEY, b nosuch)", "Unknown type ks.nosuch"),
    ];
    for (text, expected) in many {
        let error = analyze(text, &catalog(), Some("ks")).expect_err(text);
        assert!(error.to_string().starts_with(expected), "{text}: {error}");
        assert_eq!(error.code(), 0x2200, "{text}");
    }
    let no_keyspace = analyze("SELECT * FROM bench", &catalog(), None).expect_err("no keyspace");
    assert!(no_keyspace.to_string().starts_with("No keyspace has been specified."));
}

#[test]
fn what_the_node_lacks_is_called_unsupported_and_no_mistake() {
    for (text, what) in [
        ("CREATE TABLE t (a int PRIMARY KEY, v vector<int, 3>)", "A vector of int"),
        ("SELECT CAST(v1 AS text) FROM bench", "CAST in a SELECT clause"),
        ("SELECT abs(v1) FROM bench", "The function abs in a SELECT clause"),
        ("SELECT * FROM bench WHERE pk IN (1) ORDER BY v1 ANN OF [1.0]", "ORDER BY ... ANN OF, a search by vectors,"),
        ("SELECT * FROM wide WHERE m['k'] = 1 ALLOW FILTERING", "A restriction on an element of a collection"),
        ("SELECT * FROM wide WHERE (c1, c2) IN ((1, 2))", "IN on several columns at once"),
        (
            "UPDATE wide SET v = 1 WHERE a = 1 AND b = 'x' AND c1 = 1 AND c2 = 1 IF m['k'] = 1",
            "A condition on an element of a collection",
        ),
        ("CREATE TABLE t (a int PRIMARY KEY, v text MASKED WITH DEFAULT)", "A masked column"),
        ("ALTER TABLE bench DROP v1 USING TIMESTAMP 5", "ALTER TABLE ... DROP ... USING TIMESTAMP"),
        ("CREATE INDEX IF NOT EXISTS i ON bench (v1)", "CREATE INDEX"),
        ("CREATE INDEX ON bench (v1) USING 'sai'", "CREATE INDEX"),
        ("DROP INDEX ks.i", "DROP INDEX"),
        ("CREATE CUSTOM INDEX ON bench (v1) USING 'sai'", "CREATE CUSTOM INDEX"),
        ("CREATE MATERIALIZED VIEW v AS SELECT * FROM bench", "CREATE MATERIALIZED VIEW"),
        ("ALTER MATERIALIZED VIEW v WITH comment = 'x'", "ALTER MATERIALIZED VIEW"),
        ("DROP MATERIALIZED VIEW IF EXISTS v", "DROP MATERIALIZED VIEW"),
        (
            "CREATE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$ return a; $$",
            "CREATE FUNCTION",
        ),
        ("CREATE AGGREGATE s (int) SFUNC f STYPE int", "CREATE AGGREGATE"),
        ("DROP FUNCTION f", "DROP FUNCTION"),
        ("DROP AGGREGATE IF EXISTS s", "DROP AGGREGATE"),
        ("CREATE TRIGGER t ON bench USING 'x'", "CREATE TRIGGER"),
        ("SELECT JSON * FROM bench", "SELECT JSON"),
        ("INSERT INTO bench JSON '{}'", "INSERT JSON"),
        ("SELECT pk, count(*) FROM bench GROUP BY pk", "GROUP BY"),
        ("INSERT INTO bench (pk, v1) VALUES (1, 2 + 3)", "An operation on the value of v1"),
        ("SELECT a.b.c FROM bench", "A field of anything but a column in a SELECT clause"),
        ("CREATE OR REPLACE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS int", "CREATE OR REPLACE FUNCTION"),
        ("CREATE ROLE r", "CREATE ROLE"),
        ("LIST ROLES", "LIST ROLES"),
        ("GRANT r TO s", "GRANT"),
        ("SELECT v1 + 1 FROM bench", "Arithmetic in a SELECT clause"),
        ("SELECT v1 * v2 / 2 % 3 FROM bench", "Arithmetic in a SELECT clause"),
        ("SELECT -v1 AS minus FROM bench", "Arithmetic in a SELECT clause"),
        ("SELECT m['k'] FROM wide", "An element of a collection in a SELECT clause"),
        ("SELECT m['a'..'k'] FROM wide", "An element of a collection in a SELECT clause"),
        ("SELECT intAsBlob(5) FROM bench", "The function intasblob in a SELECT clause"),
        ("SELECT max(v1) FROM bench", "The function max in a SELECT clause"),
        ("SELECT maxWritetime(v1) FROM bench", "The function maxwritetime in a SELECT clause"),
        ("SELECT token(1) FROM bench", "The function token of anything but columns"),
        ("SELECT 'x', v1 FROM bench", "A constant in a SELECT clause"),
        ("INSERT INTO bench (pk) VALUES (blobAsBigint(0x01))", "The function blobasbigint as a value"),
    ] {
        let error = analyze(text, &catalog(), Some("ks")).expect_err(text);
        let expected =
            format!("{what} is not supported by the embedded cluster; Cassandra has it: use --target cassandra");
        assert_eq!(error.to_string(), expected, "{text}");
        assert_eq!(error.code(), 0x2200, "{text}");
    }
}

#[test]
fn a_clustering_order_may_name_only_the_first_columns() {
    let descending = |order: &str| {
        let text =
            format!("CREATE TABLE t (a int, b int, c int, PRIMARY KEY (a, b, c)) WITH CLUSTERING ORDER BY ({order})");
        let CqlPlan::Ddl(Ddl { definition: Definition::CreateTable(table), .. }) =
            analyze(&text, &catalog(), Some("ks"))?.plan
        else {
            panic!("{text} creates no table")
        };
        Ok(table.clustering().iter().map(|column| column.descending).collect::<Vec<_>>())
    };
    assert_eq!(descending("b DESC"), Ok(vec![true, false]));
    assert_eq!(descending("b DESC, c DESC"), Ok(vec![true, true]));
    assert_eq!(descending("c DESC"), Err(CqlError::invalid("Missing CLUSTERING ORDER for column b")));
    let text = "The order of columns in the CLUSTERING ORDER directive must match that of the clustering columns \
                (b must appear before c)";
    assert_eq!(descending("c DESC, b ASC"), Err(CqlError::invalid(text)));
}

#[test]
fn every_other_code_has_its_statement() {
    for (text, code) in [
        ("SELECT", 0x2000),
        ("UPDATE bench SET v1 = v2 + 1 WHERE pk = 2", 0x2000),
        ("UPDATE bench SET v1 = 1, v1 = 2 WHERE pk = 2", 0x2000),
        ("CREATE TABLE t (a int PRIMARY KEY, b frozen<int>)", 0x2000),
        ("CREATE TABLE t (a int PRIMARY KEY) WITH nosuch = 1", 0x2000),
        ("CREATE TABLE system.t (a int PRIMARY KEY)", 0x2100),
        ("INSERT INTO system.local (key) VALUES ('x')", 0x2100),
        ("DROP KEYSPACE system_schema", 0x2100),
        ("CREATE KEYSPACE k WITH replication = {'class': 'NoSuchStrategy'}", 0x2300),
        ("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy'}", 0x2300),
        ("CREATE KEYSPACE k", 0x2300),
    ] {
        assert_eq!(analyze(text, &catalog(), Some("ks")).expect_err(text).code(), code, "{text}");
    }
    let mut catalog = catalog();
    let again = "CREATE KEYSPACE ks WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 1}";
    assert_eq!(apply(&mut catalog, again).expect_err("exists").code(), 0x2400);
    let again = apply(&mut catalog, "CREATE TABLE bench (a int PRIMARY KEY)").expect_err("exists");
    assert_eq!(again.to_string(), "Cannot add already existing table \"bench\" to keyspace \"ks\"");
}

#[test]
fn the_schema_version_changes_with_each_change_and_only_then() {
    let mut catalog = catalog();
    let first = catalog.schema_version();
    let table = catalog.table("ks", "bench").unwrap().id;
    assert_eq!(apply(&mut catalog, "CREATE TABLE IF NOT EXISTS bench (a int PRIMARY KEY)"), Ok(None));
    assert_eq!(apply(&mut catalog, "DROP TABLE IF EXISTS nosuch"), Ok(None));
    assert_eq!(catalog.schema_version(), first);
    let dropped = apply(&mut catalog, "DROP TABLE bench").unwrap().unwrap();
    assert_eq!(dropped.dropped.len(), 1);
    assert_ne!(catalog.schema_version(), first);
    apply(&mut catalog, "CREATE TABLE bench (a int PRIMARY KEY)").unwrap();
    assert_ne!(catalog.table("ks", "bench").unwrap().id, table);
    assert_eq!(apply(&mut catalog, "DROP KEYSPACE ks").unwrap().unwrap().dropped.len(), 5);
    let gone = apply(&mut catalog, "DROP TABLE ks.bench").expect_err("gone");
    assert_eq!(gone.to_string(), "Keyspace 'ks' doesn't exist");
}

#[test]
fn types_that_grow_with_every_use_are_bounded() {
    let mut catalog = catalog();
    apply(&mut catalog, "CREATE TYPE t0 (a int, b int)").unwrap();
    let tripled = |at: usize| format!("CREATE TYPE t{at} (a frozen<t{0}>, b frozen<t{0}>, c frozen<t{0}>)", at - 1);
    let too_large = (1..40).find_map(|at| apply(&mut catalog, &tripled(at)).err()).unwrap().to_string();
    assert!(too_large.contains("has more than 1024 fields, with those of the types within it"), "{too_large}");
    let more = |at: usize| format!("ALTER TYPE t0 ADD d{at} int");
    let too_large = (0..1024).find_map(|at| apply(&mut catalog, &more(at)).err()).unwrap().to_string();
    assert!(too_large.starts_with("The type t4 has more than 1024 fields"), "{too_large}");
    let nested = "CREATE TYPE deep (a frozen<list<frozen<list<frozen<list<frozen<t4>>>>>>>)";
    assert!(apply(&mut catalog, nested).expect_err("too deep").to_string().contains("levels"));
}

#[test]
fn names_are_bounded() {
    let long = format!("CREATE TABLE t (a int PRIMARY KEY, \"{}\" int)", "x".repeat(70_000));
    assert_eq!(analyze(&long, &catalog(), Some("ks")).expect_err("too long").code(), 0x2200);
    let many = (0..5000).map(|at| format!("c{at} int, ")).collect::<String>();
    let many = format!("CREATE TABLE t ({many} PRIMARY KEY (c0))");
    assert_eq!(analyze(&many, &catalog(), Some("ks")).expect_err("too many").code(), 0x2200);
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_analyzer_panic(words in proptest::collection::vec(proptest::sample::select(WORDS), 0..24)) {
        let _ = analyze(&words.join(" "), &catalog(), Some("ks"));
    }
}

/// What statements are made of, in a mixture that is seldom one.
const WORDS: &[&str] = &[
    "SELECT * FROM bench WHERE",
    "SELECT v, m FROM wide WHERE a = 1 AND b = 'x' AND",
    "INSERT INTO wide (a, b, c1, c2, m) VALUES (",
    "UPDATE wide SET v = 1 WHERE",
    "DELETE FROM wide WHERE",
    "BEGIN BATCH",
    "APPLY BATCH",
    "CREATE TABLE x (",
    "PRIMARY KEY",
    "pk",
    "v1",
    "a",
    "b",
    "c1",
    "c2",
    "m",
    "f",
    "=",
    "<",
    ">=",
    "IN",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    ";",
    "?",
    ":n",
    "1",
    "-2",
    "'x'",
    "1.5",
    "0xff",
    "null",
    "true",
    "token(",
    "now()",
    "AND",
    "ORDER BY",
    "LIMIT",
    "ALLOW FILTERING",
    "USING TIMESTAMP",
    "frozen<",
    "list<",
    "map<",
    ">",
    "text",
    "int",
    "STATIC",
    "DESC",
    "CONTAINS KEY",
    "IF NOT EXISTS",
    "123e4567-e89b-12d3-a456-426614174000",
    "count(*)",
    "AS",
    "CREATE TYPE x (",
    "ALTER TYPE place",
    "ALTER TABLE wide",
    "ADD",
    "DROP",
    "RENAME",
    "TO",
    "UPDATE places SET",
    "UPDATE counts SET",
    "WHERE pk = 1",
    "SELECT u.x, minTimeuuid(",
    "BEGIN COUNTER BATCH",
    "u.x =",
    "c = c +",
    "c",
    "{x: 1}",
    "place",
    "counter",
    "vector<float, 3>",
];
