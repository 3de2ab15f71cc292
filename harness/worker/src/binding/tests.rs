use super::*;
use crate::verify::verify;
use cqldyno_scenarios::{Issue, MAX_VALUES, Scenario, Workload};
use std::collections::HashSet;

/// A generator of every type.
pub(crate) fn one_of_each() -> Vec<Column> {
    let kinds = [
        Kind::Bigint { times: 3, plus: -1 },
        Kind::Int { times: 1 << 31, plus: 5 },
        Kind::Double { times: 2, plus: 0 },
        Kind::Boolean { times: 1, plus: 0 },
        Kind::Timestamp { times: 1_000, plus: 7 },
        Kind::Uuid { plus: 4 },
        Kind::Text { length: 5.into(), plus: 0, unicode: false },
        Kind::Blob { length: 3.into(), plus: 0 },
        Kind::Text { length: 12.into(), plus: 9, unicode: true },
        Kind::Blob { length: 0.into(), plus: 0 },
        Kind::Null {},
        Kind::Partition { rows: NonZeroU64::new(4).unwrap() },
    ];
    kinds.map(Column::from).into()
}

/// A generator of every other type.
pub(crate) fn one_of_each_other() -> Vec<Column> {
    let (times, plus, length) = (3, -1, Amount::from(3));
    let dimensions = NonZeroU64::new(3).unwrap();
    let kinds = [
        Kind::Tinyint { times, plus },
        Kind::Smallint { times, plus },
        Kind::Float { times, plus },
        Kind::Varint { times, plus },
        Kind::Decimal { times, plus, scale: 2 },
        Kind::Date { times, plus },
        Kind::Time { times, plus },
        Kind::Duration { times, plus },
        Kind::Counter { times, plus },
        Kind::Inet { times, plus, v6: false },
        Kind::Inet { times, plus, v6: true },
        Kind::Timeuuid { plus },
        Kind::Ascii { length: 7.into(), plus },
        Kind::List { of: Box::new(Kind::Int { times, plus }), length },
        Kind::Set { of: Box::new(Kind::Text { length: 4.into(), plus, unicode: false }), length },
        Kind::Map {
            keys: Box::new(Kind::Blob { length: 3.into(), plus }),
            of: Box::new(Kind::Set { of: Box::new(Kind::Text { length: 5.into(), plus, unicode: false }), length }),
            length,
        },
        Kind::Tuple {
            of: vec![Kind::Text { length: 4.into(), plus, unicode: true }, Kind::Boolean { times: 1, plus }],
        },
        Kind::Udt { of: vec![Kind::Date { times, plus }, Kind::Vector { length: dimensions, times, plus }] },
        Kind::Vector { length: dimensions, times, plus },
    ];
    kinds.map(Column::from).into()
}

#[test]
fn elements_follow_from_numbers_of_their_own_and_those_of_a_set_never_repeat() {
    let columns = Columns::new(&one_of_each_other());
    let (mut room, mut values) = (vec![0; columns.room()], Values::<MAX_VALUES>::new());
    let values = columns.bind(7, &mut values, &mut room);
    let of = |index: usize| values[index].nested().unwrap().1;
    let list: Vec<Value<'_>> = of(13).iter().map(|item| item.value()).collect();
    // 3 * number - 1 for the numbers 21, 22 and 23.
    assert_eq!(list, [62, 65, 68].map(Value::Int));
    assert!(of(18).iter().map(|item| item.value()).eq([62.0, 65.0, 68.0].map(Value::Float)));
    assert!(of(17).iter().map(|item| item.value()).take(1).eq([Value::Date(20)]));
    let texts: HashSet<_> = of(14).iter().collect();
    assert_eq!(texts.len(), 3);
    let (keys, sets): (HashSet<_>, HashSet<_>) = of(15).pairs().unzip();
    assert_eq!((keys.len(), sets.len()), (3, 3));
    for (_, set) in of(15).pairs() {
        let (kind, items) = set.value().nested().unwrap();
        assert_eq!((kind, items.iter().collect::<HashSet<_>>().len()), (Nested::Set, 3));
    }
    assert_eq!(values[12], Value::Text(Texts::letters(7, -1).of(7)));
}

#[test]
fn elements_of_drawn_lengths_have_room_whatever_the_number_is() {
    let text = |plus| Box::new(Kind::Text { length: "uniform(8..60)".parse().unwrap(), plus, unicode: false });
    let length = "zipf(1..4)".parse().unwrap();
    let blobs =
        Kind::List { of: Box::new(Kind::Blob { length: "exponential(0..90)".parse().unwrap(), plus: 1 }), length };
    let kinds = [Kind::Set { of: text(0), length }, Kind::Map { keys: text(1), of: Box::new(blobs), length }];
    let columns = Columns::new(&kinds.clone().map(Column::from));
    let mut counts = HashSet::new();
    for number in 0..2_000 {
        let (mut room, mut values) = (vec![0; columns.room()], Values::<MAX_VALUES>::new());
        let values = columns.bind(number, &mut values, &mut room);
        let items = |index: usize| values[index].nested().map(|(_, items)| items.iter().count());
        let due = kinds.each_ref().map(|kind| length.of(number, kind.plus()));
        assert_eq!([items(0), items(1)], [Some(due[0]), Some(2 * due[1])], "{number}");
        counts.insert(due);
    }
    assert_eq!(counts.len(), 16);
}

/// The statement `part` of a scenario, which expects this.
fn part(values: &str, expect: &str) -> (Scenario, Workload) {
    let text = format!(
        r#"
name = "part"
about = "A part."
schema = ["CREATE TABLE ks.t (a text, b int, ck bigint, v text, PRIMARY KEY ((a, b), ck))"]
[[statement]]
name = "part"
keys = 500
cql = "SELECT a, b, ck, v FROM ks.t WHERE {}"
values = [{values}]
[statement.expect]
columns = [{{ type = "text", length = 9, by = "key" }}, {{ type = "int", by = "key" }}, {{ type = "bigint", times = 3 }}, {{ type = "text", length = 9 }}]
{expect}
[statement.load]
cql = "INSERT INTO ks.t (a, b, ck, v) VALUES (?, ?, ?, ?)"
values = [{{ type = "text", length = 9, by = "key" }}, {{ type = "int", by = "key" }}, {{ type = "bigint", times = 3 }}, {{ type = "text", length = 9 }}]
"#,
        "? ".repeat(values.matches("type").count() - values.matches(" of =").count())
    );
    let scenario = Scenario::from_toml(&text, "part").unwrap();
    let workload = Workload::new(&scenario, 400, 50, 7).unwrap();
    (scenario, workload)
}

#[test]
fn values_that_a_statement_binds_follow_from_the_rows_that_come_back() {
    let each = r#"{ type = "text", length = 9 }, { type = "bigint", times = 3, at = 0 }, { type = "int", by = "place", at = -1 },
            { type = "each", of = { type = "bigint", times = 3 } }, { type = "int", by = "rows" }"#;
    let (scenario, workload) = part(
        each,
        "rows = \"uniform(1..9)\"\nfrom = \"uniform(0..5)\"\nstored = \"uniform(8..20)\"\ndescending = true",
    );
    let statement = &scenario.statements[0];
    let (bound, keys) = (Columns::bound(statement), workload.keys(0));
    let expected = Columns::expected(statement.expect.as_ref().unwrap(), &keys);
    let mut counts = HashSet::new();
    let issues =
        (0..400).map(|ticket| workload.issue(ticket)).chain((0..50).map(|ticket| workload.warmup_issue(ticket)));
    for Issue { key, .. } in issues {
        let (own, mut room, mut values) = (Answer::key(key), vec![0; bound.room()], Values::<MAX_VALUES>::new());
        assert!(keys.iter().any(|keys| keys.contains(&own)));
        let values = bound.bind(key, &mut values, &mut room);
        let mut numbers: Vec<u64> = expected.rows_of(key).numbers().collect();
        numbers.reverse();
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        assert_eq!(first / 20, own);
        assert_eq!(values[0], Value::Text(Texts::letters(9, 0).of(own)));
        assert_eq!(values[1..3], [Value::Bigint(3 * first as i64), Value::Int((last % 20) as i32)]);
        let listed: Vec<Value<'_>> = values[3].nested().unwrap().1.iter().map(|item| item.value()).collect();
        assert_eq!(listed, numbers.iter().map(|number| Value::Bigint(3 * *number as i64)).collect::<Vec<_>>());
        assert_eq!(values[4], Value::Int(numbers.len() as i32));
        let mut rows = Rows::new();
        expected.fill(key, &mut rows);
        assert_eq!(verify(Some(&expected), key, &rows), Ok(()));
        counts.insert((first % 20, numbers.len()));
    }
    assert!(counts.len() > 40, "{counts:?}");
}

#[test]
fn each_range_of_tokens_has_the_loaded_rows_whose_tokens_are_in_it() {
    let (scenario, workload) = part(
        r#"{ type = "token", at = 0 }, { type = "token", at = -1 }"#,
        "rows = \"uniform(1..5)\"\nranges = 7\ncheck = \"content\"",
    );
    let (statement, keys) = (&scenario.statements[0], workload.keys(0));
    let partition: Vec<Column> = scenario.scanned(0).unwrap().into_iter().cloned().collect();
    let key_columns = Columns::of_rows(&partition, NonZeroU64::new(5).unwrap());
    let expected = Columns::scanned(statement.expect.as_ref().unwrap(), 7, &keys, &partition);
    let (bound, mut seen, mut ends) = (Columns::bound(statement), HashSet::new(), vec![i64::MIN]);
    for key in 0..7 {
        let mut values = Values::<MAX_VALUES>::new();
        let [Value::Bigint(above), Value::Bigint(most)] = bound.bind(key, &mut values, &mut [])[..] else { panic!() };
        assert_eq!(ends.last(), Some(&above));
        ends.push(most);
        for number in expected.rows_of(key).numbers() {
            assert!(seen.insert(number));
            let token = key_columns.token(number);
            assert!(above < token && token <= most, "{number}: {token}");
        }
        assert_eq!(expected.rows_of(key + 70).count, expected.rows_of(key).count);
        let mut rows = Rows::new();
        expected.fill(key, &mut rows);
        assert_eq!(verify(Some(&expected), key + 7, &rows), Ok(()));
        let other = expected.rows_of(key + 1).numbers().next().unwrap();
        let mut wrong = Rows::new();
        for (at, number) in expected.rows_of(key).numbers().enumerate() {
            expected.fill_row(if at == 0 { other } else { number }, &mut wrong);
        }
        let error = verify(Some(&expected), key, &wrong).unwrap_err();
        let said = format!("rows of range {} of the 7 of all tokens are not those that were loaded", key + 1);
        assert!(error.message().contains(&said), "{error}");
        expected.fill_row(1, &mut rows);
        assert!(verify(Some(&expected), key, &rows).is_err(), "one row more");
    }
    assert_eq!(ends.last(), Some(&i64::MAX));
    assert_eq!(seen.len() as u64, workload.load()[0].rows());
}

/// The same with nulls in between.
pub(crate) fn one_of_each_with_nulls() -> Vec<Column> {
    let with_nulls = |(index, column)| Column { null_every: (index % 2 == 0).then_some(8), ..column };
    one_of_each().into_iter().enumerate().map(with_nulls).collect()
}

/// The commonest columns, which have a path of their own.
pub(crate) fn bigints() -> Vec<Column> {
    (1..=3).map(|times| Kind::Bigint { times, plus: 0 }.into()).collect()
}

#[test]
fn every_type_is_generated_from_the_number_as_the_scenario_says() {
    let expected = [
        Value::Bigint(20),
        Value::Int((7i64 * (1 << 31) + 5) as i32),
        Value::Double(14.0),
        Value::Boolean(true),
        Value::Timestamp(7_007),
        Value::Uuid(Kind::uuid(7, 4)),
        Value::Text(Texts::letters(5, 0).of(7)),
        Value::Blob(Blobs::new(3, 0).of(7)),
        Value::Text(Texts::unicode(12, 9).of(7)),
        Value::Blob(&[]),
        Value::Null,
        Value::Bigint(1),
    ];
    let mut values = Values::<MAX_VALUES>::new();
    assert_eq!(Columns::new(&one_of_each()).bind(7, &mut values, &mut []), expected);
    // 7 is the eighth number.
    let with_nulls = Columns::new(&one_of_each_with_nulls()).bind(7, &mut values, &mut []);
    let nulled = |(index, value): (usize, &Value<'static>)| if index % 2 == 0 { Value::Null } else { *value };
    assert_eq!(with_nulls, expected.iter().enumerate().map(nulled).collect::<Vec<_>>());
    let with_nulls = Columns::new(&one_of_each_with_nulls()).bind(6, &mut values, &mut []);
    assert_eq!(with_nulls.iter().filter(|value| **value == Value::Null).count(), 1);
}

#[test]
fn a_value_follows_from_the_rows_number_from_its_key_or_from_its_place() {
    let by = |by| Column { by, ..Kind::Bigint { times: 1, plus: 0 }.into() };
    let columns = Columns::of_rows(&[by(By::Row), by(By::Key), by(By::Place)], NonZeroU64::new(100).unwrap());
    let mut values = Values::<MAX_VALUES>::new();
    assert_eq!(*columns.bind(703, &mut values, &mut []), [703, 7, 3].map(Value::Bigint));
}

#[test]
fn the_rows_of_a_batch_have_the_values_of_their_numbers() {
    let columns = Columns::new(&one_of_each_with_nulls());
    let mut together = Vec::new();
    columns.bind_rows(5..8, &mut together, &mut []);
    for (row, number) in together.chunks(columns.len()).zip(5..8) {
        let mut values = Values::<MAX_VALUES>::new();
        assert_eq!(row, columns.bind(number, &mut values, &mut []), "row {number}");
    }
    assert_eq!(together.len(), 3 * columns.len());
}

#[test]
fn a_filled_row_reads_back_as_the_values() {
    for columns in [one_of_each(), one_of_each_other(), one_of_each_with_nulls(), bigints()] {
        let columns = Columns::new(&columns);
        let mut rows = Rows::new();
        columns.fill(7, &mut rows);
        let row = rows.get(0).unwrap();
        assert_eq!((rows.len(), rows.pages(), row.len()), (1, 1, columns.len()));
        let (mut room, mut values) = (vec![0; columns.room()], Values::<MAX_VALUES>::new());
        let values = columns.bind(7, &mut values, &mut room);
        for (index, value) in values.iter().enumerate() {
            assert_eq!(row.get(index), Some(*value));
        }
        assert!(columns.is_row(7, row) && !columns.is_row(15, row));
    }
}

/// A unique column of every type that has them, and one of its kind that is not.
pub(crate) fn unique() -> Vec<Column> {
    let kinds = [
        Kind::Text { length: 5.into(), plus: 0, unicode: false },
        Kind::Blob { length: 3.into(), plus: 0 },
        Kind::Text { length: 12.into(), plus: 9, unicode: true },
        Kind::Uuid { plus: 4 },
    ];
    kinds.iter().flat_map(|kind| [true, false].map(|unique| Column { unique, ..kind.clone().into() })).collect()
}

#[test]
fn unique_columns_of_two_rows_never_have_the_same_value_and_others_are_as_ever() {
    let plain_columns: Vec<Column> = unique().into_iter().map(|column| Column { unique: false, ..column }).collect();
    let (columns, plain) = (Columns::new(&unique()), Columns::new(&plain_columns));
    assert_eq!((columns.room(), plain.room()), (5 + 3 + 12, 0));
    let mut seen = HashSet::new();
    for number in 0..50_000 {
        let (mut room, mut values) = (vec![0; columns.room()], Values::<MAX_VALUES>::new());
        let mut others = Values::<MAX_VALUES>::new();
        let values = columns.bind(number, &mut values, &mut room);
        let others = plain.bind(number, &mut others, &mut []);
        for (index, (value, other)) in values.iter().zip(others).enumerate() {
            match index % 2 {
                0 => assert!(seen.insert(format!("{index} {value:?}")), "{number}: {value:?}"),
                _ => assert_eq!(value, other),
            }
        }
    }
}

#[test]
fn the_unique_values_of_a_batch_and_of_a_filled_row_are_those_of_their_numbers() {
    let columns = Columns::new(&unique());
    let (mut room, mut together) = (vec![0; 3 * columns.room()], Vec::new());
    columns.bind_rows(5..8, &mut together, &mut room);
    for (row, number) in together.chunks(columns.len()).zip(5..8) {
        let (mut room, mut values) = (vec![0; columns.room()], Values::<MAX_VALUES>::new());
        assert_eq!(row, columns.bind(number, &mut values, &mut room), "row {number}");
        let mut rows = Rows::new();
        columns.fill(number, &mut rows);
        assert!(columns.is_row(number, rows.get(0).unwrap()) && !columns.is_row(number + 1, rows.get(0).unwrap()));
    }
}
