//! Counters: what is added is in the sum, whoever adds it.

use std::thread;

use super::client::{Answer, BatchStatement, Bind, Client, bigint, int, node};

const TABLE: &str =
    "CREATE TABLE counts (pk bigint, ck int, s counter static, c counter, d counter, PRIMARY KEY (pk, ck))";

fn sums(client: &mut Client, pk: i64) -> Vec<Vec<Option<i64>>> {
    let long = |cell: Vec<u8>| i64::from_be_bytes(cell.try_into().unwrap());
    let rows = client.rows(&format!("SELECT s, c, d FROM counts WHERE pk = {pk}")).rows;
    rows.into_iter().map(|row| row.into_iter().map(|cell| cell.map(long)).collect()).collect()
}

#[test]
fn connections_that_add_at_once_lose_nothing() {
    const EACH: i64 = 300;
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run("CREATE TABLE one (pk bigint PRIMARY KEY, c counter)");
    client.run(TABLE);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut client = Client::connect(&node);
                let one = client.prepare("UPDATE ks.one SET c = c + ? WHERE pk = ?");
                let many = client.prepare("UPDATE ks.counts SET c = c + ?, d = d - ?, s += 1 WHERE pk = 1 AND ck = ?");
                for turn in 0..EACH {
                    assert_eq!(client.execute(&one.id, &[bigint(2), bigint(turn % 3)]), Answer::Void);
                    assert_eq!(client.execute(&many.id, &[bigint(1), bigint(turn), int(1)]), Answer::Void);
                }
            });
        }
    });
    assert_eq!(sums(&mut client, 1), [[4 * EACH, 4 * EACH, -4 * EACH * (EACH - 1) / 2].map(Some)]);
    let one = client.rows("SELECT c FROM one").rows;
    assert!(one.iter().all(|row| row[0] == Some((8 * EACH / 3).to_be_bytes().to_vec())), "{one:?}");
    let rows = node.stats().rows_by_table;
    assert_eq!((rows["ks.one"], rows["ks.counts"]), (3, 1));
}

#[test]
fn prepared_tells_the_type_and_the_key() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    let add = client.prepare("UPDATE counts SET c = c + ?, d -= :less WHERE pk = ? AND ck = 1");
    let markers: Vec<_> = add.markers.iter().map(|marker| (&*marker.name, &marker.ty[..])).collect();
    assert_eq!(markers, [("c", &[0, 5][..]), ("less", &[0, 5]), ("pk", &[0, 2])]);
    assert_eq!(add.key, [2]);
    let read = client.prepare("SELECT c FROM counts WHERE pk = ?");
    assert_eq!(read.columns[0].ty, [0, 5]);
}

#[test]
fn batches_of_counters_add_every_statement() {
    let node = node();
    let mut client = Client::in_keyspace(&node);
    client.run(TABLE);
    client.run("CREATE TABLE t (pk int PRIMARY KEY)");
    let add = client.prepare("UPDATE counts SET c = c + ? WHERE pk = 1 AND ck = 1");
    let three: [Bind; 1] = [bigint(3)];
    let text = BatchStatement::Text("UPDATE ks.counts SET c = c - 1, s = s + 5 WHERE pk = 1 AND ck = 1");
    let statements = [(BatchStatement::Id(&add.id), &three[..]), (text, &[]), (BatchStatement::Id(&add.id), &three)];
    for kind in [1, 2] {
        assert_eq!(client.batch_of_kind(kind, &statements, None), Answer::Void);
    }
    assert_eq!(sums(&mut client, 1), [[Some(10), Some(10), None]]);
    let (code, message) = client.batch_of_kind(0, &statements, None).error();
    assert_eq!((code, &*message), (0x2200, "Cannot include a counter statement in a logged batch"));
    let other = (BatchStatement::Text("INSERT INTO ks.t (pk) VALUES (1)"), &[][..]);
    let (code, message) = client.batch_of_kind(2, &[other], None).error();
    assert_eq!((code, &*message), (0x2200, "Cannot include non-counter statement in a counter batch"));
    assert_eq!(sums(&mut client, 1), [[Some(10), Some(10), None]], "a refused batch adds nothing");
}
