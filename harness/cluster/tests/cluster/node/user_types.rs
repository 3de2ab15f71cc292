//! User-defined types, as drivers meet them.

use super::client::{Answer, Bind, Client, REGISTER, int, node, write_string};

const PLACE: &str = "CREATE TYPE place (x int, name text)";

/// A value of fields, each with its length.
fn fields(of: &[Option<&[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in of {
        out.extend_from_slice(&field.map_or(-1, |field| field.len() as i32).to_be_bytes());
        out.extend_from_slice(field.unwrap_or_default());
    }
    out
}

fn option() -> Vec<u8> {
    let mut option = vec![0, 0x30];
    write_string(&mut option, "ks");
    write_string(&mut option, "place");
    option.extend_from_slice(&[0, 2]);
    write_string(&mut option, "x");
    option.extend_from_slice(&[0, 9]);
    write_string(&mut option, "name");
    option.extend_from_slice(&[0, 0x0D]);
    option
}

#[test]
fn metadata_have_keyspace_name_and_fields_however_the_type_is_nested() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(PLACE);
    client.run("CREATE TABLE t (pk int PRIMARY KEY, a place, b frozen<place>, c list<frozen<place>>)");
    let insert = client.prepare("INSERT INTO t (pk, a, b, c) VALUES (1, ?, ?, ?)");
    let types: Vec<_> = insert.markers.iter().map(|marker| marker.ty.clone()).collect();
    assert_eq!(types, [option(), option(), [&[0, 0x20][..], &option()].concat()]);
    let value = fields(&[Some(&7i32.to_be_bytes()), Some(b"seven")]);
    let list = [&1i32.to_be_bytes()[..], &fields(&[Some(&value)])].concat();
    let values = [&value, &value, &list].map(|value| Bind::Bytes(value.clone()));
    assert_eq!(client.execute(&insert.id, &values), Answer::Void);
    let rows = client.rows("SELECT a, b, c FROM t");
    assert!(rows.columns.iter().map(|column| &column.ty).eq(&types));
    assert_eq!(rows.rows, [[Some(value.clone()), Some(value), Some(list)]]);
}

#[test]
fn fields_are_set_and_read_one_by_one() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(PLACE);
    client.run("CREATE TABLE t (pk int, ck int, s place static, a place, PRIMARY KEY (pk, ck))");
    let update = client.prepare("UPDATE t SET a.x = ?, s.name = ? WHERE pk = 1 AND ck = 1");
    assert_eq!(update.markers.iter().map(|marker| &*marker.name).collect::<Vec<_>>(), ["a.x", "s.name"]);
    assert_eq!(client.execute(&update.id, &[int(4), Bind::Bytes(b"n".to_vec())]), Answer::Void);
    client.run("UPDATE t SET a.name = 'later' WHERE pk = 1 AND ck = 1");
    let four = 4i32.to_be_bytes();
    let expected =
        [Some(fields(&[Some(&four), Some(b"later")])), Some(fields(&[None, Some(b"n")])), Some(four.to_vec())];
    assert_eq!(client.rows("SELECT a, s, a.x FROM t").rows, [expected]);
    client.run("DELETE a.x, a.name FROM t WHERE pk = 1 AND ck = 1");
    client.run("UPDATE t SET s.name = null WHERE pk = 1");
    assert!(client.rows("SELECT a, s FROM t").rows.is_empty(), "an updated row goes with its last field");
}

#[test]
fn a_change_of_a_type_is_told_with_the_tables_that_use_it() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    let mut listener = Client::connect(&node);
    let mut body = vec![0, 1];
    write_string(&mut body, "SCHEMA_CHANGE");
    assert_eq!(listener.request(REGISTER, &body), Answer::Ready);
    for statement in [
        PLACE,
        "CREATE TABLE t (pk int PRIMARY KEY, a frozen<place>)",
        "CREATE TABLE u (pk int PRIMARY KEY)",
        "ALTER TYPE place ADD more int",
        "DROP TABLE t",
        "DROP TYPE place",
    ] {
        client.run(statement);
    }
    let told = ["CREATED TYPE place", "CREATED TABLE t", "CREATED TABLE u", "UPDATED TYPE place", "UPDATED TABLE t"];
    for expected in told.into_iter().chain(["DROPPED TABLE t", "DROPPED TYPE place"]) {
        let frame = listener.frame().unwrap();
        let Answer::Event(event) = listener.read(&frame) else { panic!("no event: {frame:?}") };
        assert_eq!(format!("{} {} {}", event.change, event.target, event.table.unwrap_or_default()), expected);
    }
}
