//! Round trips of every type, bound and as a literal.

use super::client::{Answer, Bind, Client, node};

/// A type, a literal of it, its bytes, and its `[option]`.
fn all() -> Vec<(&'static str, &'static str, Vec<u8>, Vec<u8>)> {
    let list = |elements: &[&[u8]]| {
        let mut bytes = (elements.len() as i32).to_be_bytes().to_vec();
        for element in elements {
            bytes.extend_from_slice(&(element.len() as i32).to_be_bytes());
            bytes.extend_from_slice(element);
        }
        bytes
    };
    let int = |value: i32| value.to_be_bytes();
    let map = {
        let mut bytes = list(&[b"a", &int(1), b"b", &int(2)]);
        bytes[..4].copy_from_slice(&int(2));
        bytes
    };
    let tuple = list(&[&int(7), b"x"])[4..].to_vec();
    let mut duration_class = vec![0, 0, 0, 44];
    duration_class.extend_from_slice(b"org.apache.cassandra.db.marshal.DurationType");
    let vector = b"org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 2)";
    let vector_class = [&[0, 0, 0, vector.len() as u8], &vector[..]].concat();
    let uuid = "123e4567e89b12d3a456426614174000";
    let uuid = (0..16).map(|at| u8::from_str_radix(&uuid[2 * at..2 * at + 2], 16).unwrap()).collect::<Vec<_>>();
    vec![
        ("ascii", "'plain'", b"plain".to_vec(), vec![0, 1]),
        ("bigint", "-9223372036854775808", i64::MIN.to_be_bytes().to_vec(), vec![0, 2]),
        ("blob", "0x00ff", vec![0, 0xff], vec![0, 3]),
        ("boolean", "true", vec![1], vec![0, 4]),
        ("decimal", "-1.50", [&int(2)[..], &[0xff, 0x6a]].concat(), vec![0, 6]),
        ("double", "1.5e3", 1500f64.to_be_bytes().to_vec(), vec![0, 7]),
        ("float", "-0.25", (-0.25f32).to_be_bytes().to_vec(), vec![0, 8]),
        ("int", "42", int(42).to_vec(), vec![0, 9]),
        ("timestamp", "'1970-01-01T00:00:01Z'", 1000i64.to_be_bytes().to_vec(), vec![0, 0xB]),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", uuid.clone(), vec![0, 0xC]),
        ("text", "'ünïcode 🦀 ''quoted'''", "ünïcode 🦀 'quoted'".as_bytes().to_vec(), vec![0, 0xD]),
        ("varint", "-129", vec![0xff, 0x7f], vec![0, 0xE]),
        ("timeuuid", "123e4567-e89b-12d3-a456-426614174000", uuid, vec![0, 0xF]),
        ("inet", "'127.0.0.1'", vec![127, 0, 0, 1], vec![0, 0x10]),
        ("date", "'1970-01-02'", vec![0x80, 0, 0, 1], vec![0, 0x11]),
        ("time", "'00:00:00.000000001'", 1i64.to_be_bytes().to_vec(), vec![0, 0x12]),
        ("smallint", "-2", (-2i16).to_be_bytes().to_vec(), vec![0, 0x13]),
        ("tinyint", "-3", vec![0xfd], vec![0, 0x14]),
        ("duration", "1mo2d3ns", vec![2, 4, 6], duration_class),
        ("list<int>", "[2, 1]", list(&[&int(2), &int(1)]), vec![0, 0x20, 0, 9]),
        ("set<text>", "{'b', 'a'}", list(&[b"a", b"b"]), vec![0, 0x22, 0, 0xD]),
        ("map<text, int>", "{'b': 2, 'a': 1}", map, vec![0, 0x21, 0, 0xD, 0, 9]),
        ("frozen<list<int>>", "[]", list(&[]), vec![0, 0x20, 0, 9]),
        ("tuple<int, text>", "(7, 'x')", tuple, vec![0, 0x31, 0, 2, 0, 9, 0, 0xD]),
        ("vector<float, 2>", "[1, -0.5]", [1f32.to_be_bytes(), (-0.5f32).to_be_bytes()].concat(), vector_class),
    ]
}

#[test]
fn every_type_comes_back_as_it_was_bound() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    for (at, (ty, _, bytes, option)) in all().into_iter().enumerate() {
        client.run(&format!("CREATE TABLE t{at} (pk int PRIMARY KEY, v {ty})"));
        let insert = client.prepare(&format!("INSERT INTO t{at} (pk, v) VALUES (1, ?)"));
        assert_eq!(insert.markers[0].ty, option, "{ty}");
        assert_eq!(client.execute(&insert.id, &[Bind::Bytes(bytes.clone())]), Answer::Void, "{ty}");
        let rows = client.rows(&format!("SELECT v FROM t{at} WHERE pk = 1"));
        assert_eq!(rows.columns[0].ty, option, "{ty}");
        assert_eq!(rows.rows, [[Some(bytes)]], "{ty}");
        assert_eq!(client.execute(&insert.id, &[Bind::Null]), Answer::Void, "{ty}");
        assert_eq!(client.rows(&format!("SELECT v FROM t{at}")).rows, [[None]], "{ty}");
    }
}

#[test]
fn every_type_has_its_literals() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    for (at, (ty, literal, bytes, _)) in all().into_iter().enumerate() {
        client.run(&format!("CREATE TABLE t{at} (pk int PRIMARY KEY, v {ty})"));
        client.run(&format!("INSERT INTO t{at} (pk, v) VALUES (1, {literal})"));
        assert_eq!(client.rows(&format!("SELECT v FROM t{at} WHERE pk = 1")).rows, [[Some(bytes)]], "{ty}");
    }
}

#[test]
fn every_type_but_some_can_be_a_key() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    for (at, (ty, literal, bytes, _)) in all().into_iter().enumerate() {
        let create = format!("CREATE TABLE t{at} (pk {ty}, c {ty}, PRIMARY KEY (pk, c))");
        let multi_cell = ["list<", "set<", "map<"].iter().any(|start| ty.starts_with(start));
        if multi_cell || ty == "duration" {
            assert_eq!(client.query(&create).error().0, 0x2200, "{ty}");
            continue;
        }
        // A node may decline to sort a type, but not silently.
        if let Answer::Error { code, message, .. } = client.query(&create) {
            assert_eq!(code, 0x2200, "{message}");
            continue;
        }
        client.run(&format!("INSERT INTO t{at} (pk, c) VALUES ({literal}, {literal})"));
        let rows = client.rows(&format!("SELECT pk, c FROM t{at} WHERE pk = {literal} AND c = {literal}"));
        assert_eq!(rows.rows, [[Some(bytes.clone()), Some(bytes)]], "{ty}");
    }
}

#[test]
fn clustering_columns_sort_by_value_in_every_type_that_is_taken() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    for (at, (ty, sorted)) in [
        ("int", &["-5", "0", "7", "300"][..]),
        ("bigint", &["-9223372036854775808", "-1", "0", "9223372036854775807"]),
        ("smallint", &["-300", "-1", "2"]),
        ("double", &["-1e10", "-0.5", "0.25", "1e300"]),
        ("text", &["''", "'B'", "'a'", "'aa'", "'b'"]),
        ("blob", &["0x", "0x00", "0x0001", "0xff"]),
        ("boolean", &["false", "true"]),
        ("timestamp", &["'1960-01-01'", "'1970-01-01'", "'2020-01-01'"]),
        ("date", &["'1960-01-01'", "'1970-01-01'", "'2020-01-01'"]),
        ("timeuuid", &["ffffffff-0000-1000-8000-000000000000", "00000000-0001-1000-8000-000000000000"]),
        ("varint", &["-1000", "-129", "-1", "0", "128", "99999999999999999999"]),
        ("decimal", &["-1.5", "0", "0.5", "10"]),
    ]
    .into_iter()
    .enumerate()
    {
        for (order, name) in [("ASC", "up"), ("DESC", "down")] {
            let table = format!("t{at}{name}");
            let create = format!(
                "CREATE TABLE {table} (pk int, c {ty}, n int, PRIMARY KEY (pk, c)) WITH CLUSTERING ORDER BY (c {order})"
            );
            if let Answer::Error { code, message, .. } = client.query(&create) {
                assert_eq!(code, 0x2200, "{message}");
                continue;
            }
            for (n, value) in sorted.iter().enumerate().rev() {
                client.run(&format!("INSERT INTO {table} (pk, c, n) VALUES (1, {value}, {n})"));
            }
            let mut found = client.rows(&format!("SELECT n FROM {table} WHERE pk = 1")).rows;
            if order == "DESC" {
                found.reverse();
            }
            let expected = (0..sorted.len() as i32).map(|n| vec![Some(n.to_be_bytes().to_vec())]);
            assert_eq!(found, expected.collect::<Vec<_>>(), "{ty} {order}");
        }
    }
}

#[test]
fn sets_and_maps_are_kept_sorted_and_empty_collections_are_null() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE t (pk int PRIMARY KEY, s set<tinyint>, l list<int>)");
    let insert = client.prepare("INSERT INTO t (pk, s, l) VALUES (1, ?, ?)");
    let unsorted = vec![0, 0, 0, 3, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2];
    let values = [Bind::Bytes(unsorted), Bind::Bytes(vec![0; 4])];
    assert_eq!(client.execute(&insert.id, &values), Answer::Void);
    let rows = client.rows("SELECT s, l FROM t");
    assert_eq!(rows.cell(0, "s"), Some(&[0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2][..]));
    assert_eq!(rows.cell(0, "l"), None);
}

#[test]
fn values_that_are_none_of_their_type_are_refused_with_cassandras_sentence() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    for (at, (ty, bytes, message)) in [
        ("int", vec![0; 3], "Expected 4 or 0 byte int (3)"),
        ("text", vec![0xff], "String didn't validate."),
        ("boolean", vec![0; 2], "Expected 1 or 0 byte value (2)"),
        ("uuid", vec![0; 15], "UUID should be 16 or 0 bytes (15)"),
        ("list<int>", vec![0, 0, 0, 1], "Not enough bytes to read a list"),
    ]
    .into_iter()
    .enumerate()
    {
        client.run(&format!("CREATE TABLE t{at} (pk int PRIMARY KEY, v {ty})"));
        let insert = client.prepare(&format!("INSERT INTO t{at} (pk, v) VALUES (1, ?)"));
        assert_eq!(client.execute(&insert.id, &[Bind::Bytes(bytes)]).error(), (0x2200, message.to_owned()), "{ty}");
    }
}

/// `toJson` of the collections of the only row.
fn collections(client: &mut Client) -> String {
    let rows = client.rows("SELECT toJson(s), toJson(m), toJson(l) FROM c");
    let texts = rows.rows[0].iter().map(|cell| String::from_utf8(cell.clone().unwrap()).unwrap());
    texts.collect::<Vec<_>>().join(" ")
}

#[test]
fn parts_of_collections_are_added_set_and_removed() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE c (pk int PRIMARY KEY, s set<int>, m map<text, int>, l list<int>)");
    for (set, after) in [
        ("s = s + {3, 1}, m = m + {'a': 1}, l = l + [2, 3]", "[1, 3] {\"a\": 1} [2, 3]"),
        ("s = s + {2}, m['b'] = 2, m['c'] = 3, l = [1] + l", "[1, 2, 3] {\"a\": 1, \"b\": 2, \"c\": 3} [1, 2, 3]"),
        ("s = s - {1, 9}, m = m - {'a', 'x'}, l = l - [3, 1]", "[2, 3] {\"b\": 2, \"c\": 3} [2]"),
        ("s += {7}, m['b'] = null, l[0] = 5", "[2, 3, 7] {\"c\": 3} [5]"),
        ("s -= {2, 3, 7}, m['c'] = 4, l = l + [5, 6]", "null {\"c\": 4} [5, 5, 6]"),
        ("s = {1}, l = l - [5]", "[1] {\"c\": 4} [6]"),
    ] {
        client.run(&format!("UPDATE c SET {set} WHERE pk = 1"));
        assert_eq!(collections(&mut client), after, "{set}");
    }
    client.run("DELETE s[1], m['c'], l[0] FROM c WHERE pk = 1");
    assert_eq!(client.rows("SELECT * FROM c").rows.len(), 0, "nothing is left of a row that was not inserted");
    client.run("UPDATE c SET m = {'a': 1, 'b': 2}, s = {1} WHERE pk = 1");
    client.run("DELETE m['a'], m FROM c WHERE pk = 1");
    assert_eq!(collections(&mut client), "[1] null null", "all of the map, not only an element");
    client.run("DELETE s FROM c WHERE pk = 1");
    // Both statements of a batch have one timestamp.
    client.run(
        "BEGIN BATCH UPDATE c SET s = s + {1, 2} WHERE pk = 1; UPDATE c SET s = s - {1} WHERE pk = 1; APPLY BATCH",
    );
    assert_eq!(collections(&mut client), "[2] null null");
}

#[test]
fn parts_of_collections_are_bound_with_the_types_of_elements() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client
        .run("CREATE TABLE c (pk int, ck int, s set<int> static, m map<text, int>, l list<int>, PRIMARY KEY (pk, ck))");
    let update = client.prepare("UPDATE c SET m[?] = ?, l = ? + l, s = s + {8} WHERE pk = 1 AND ck = 2");
    let names: Vec<&str> = update.markers.iter().map(|marker| marker.name.as_str()).collect();
    assert_eq!(names, ["key(m)", "value(m)", "l"]);
    let list = Bind::Bytes(vec![0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9]);
    for value in [1, 2] {
        let values = [super::client::text("k"), super::client::int(value), list.clone()];
        assert_eq!(client.execute(&update.id, &values), Answer::Void);
    }
    assert_eq!(collections(&mut client), "[8] {\"k\": 2} [9, 9]");
    let unset = [super::client::text("k"), Bind::Unset, Bind::Null];
    assert_eq!(client.execute(&update.id, &unset), Answer::Void);
    assert_eq!(collections(&mut client), "[8] {\"k\": 2} [9, 9]", "what is not set changes nothing");
    for (statement, text) in [
        ("UPDATE c SET l[2] = 1 WHERE pk = 1 AND ck = 2", "List index 2 out of bound, list has size 2"),
        ("DELETE l[-1] FROM c WHERE pk = 1 AND ck = 2", "List index -1 out of bound, list has size 2"),
        ("UPDATE c SET l[0] = 1 WHERE pk = 1 AND ck = 3", "Attempted to set an element on a list which is null"),
        ("DELETE l[0] FROM c WHERE pk = 1 AND ck = 3", "Attempted to delete an element from a list which is null"),
        ("UPDATE c SET m[null] = 1 WHERE pk = 1 AND ck = 3", "Invalid null map key"),
        ("UPDATE c SET s[1] = null WHERE pk = 1", "Invalid operation (s[...] = ...) for set column s"),
        ("UPDATE c SET s[1] = 1 WHERE pk = 1", "Invalid operation (s[...] = ...) for set column s"),
    ] {
        assert_eq!(client.query(statement).error(), (0x2200, text.to_owned()), "{statement}");
    }
}
