//! Values of every type go in and come out unchanged.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::server::Server;
use super::{Failure, Outcome, Verdict, cell, check, execute, same};
use cqldyno_driver_api::{Driver, Elements, ErrorKind, Items, Nested, Session, Value};

const COLUMNS: [&str; 8] = ["bigint", "int", "text", "blob", "boolean", "double", "uuid", "timestamp"];

/// A table with a column of every type and the statements to write and read one row of it by its key.
struct Typed<S: Session> {
    session: S,
    insert: S::Statement,
    select: S::Statement,
    next_id: i32,
}

impl<S: Session> Typed<S> {
    async fn new<D: Driver<Session = S>>(server: &Server) -> Result<Typed<S>, Failure> {
        let session = server.connect::<D>().await?;
        let columns = COLUMNS.map(|kind| format!("c_{kind} {kind}")).join(", ");
        let table = server.create_table(&session, "typed", &format!("id int PRIMARY KEY, {columns}")).await?;
        let names = COLUMNS.map(|kind| format!("c_{kind}")).join(", ");
        let markers = COLUMNS.map(|_| "?").join(", ");
        let insert = session.prepare(&format!("INSERT INTO {table} (id, {names}) VALUES (?, {markers})")).await?;
        let select = session.prepare(&format!("SELECT {names} FROM {table} WHERE id = ?")).await?;
        Ok(Typed { session, insert, select, next_id: 0 })
    }

    /// Writes one row, reads it back and compares.
    async fn round_trip(&mut self, values: [Value<'_>; 8]) -> Result<(), Failure> {
        self.next_id += 1;
        let id = [Value::Int(self.next_id)];
        execute(&self.session, &self.insert, &[&id[..], &values[..]].concat()).await?;
        let rows = execute(&self.session, &self.select, &id).await?;
        check(rows.len() == 1, || format!("{} rows came back for one key", rows.len()))?;
        for (column, (value, kind)) in values.iter().zip(COLUMNS).enumerate() {
            let found = cell(&rows, 0, column)?;
            let equal = match (found, *value) {
                (Value::Double(found), Value::Double(value)) => found.to_bits() == value.to_bits(),
                (found, value) => found == value,
            };
            check(equal, || format!("the {kind} {} came back as {}", shown(value), shown(&found)))?;
        }
        Ok(())
    }
}

const LOCALHOST: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// Each further type: a column of it, and values at its extremes. `items` has what values with elements borrow.
fn further(items: &Elementary) -> Vec<(&'static str, Vec<Value<'_>>)> {
    let decimal = |unscaled, scale| Value::Decimal { unscaled, scale };
    let duration = |months, days, nanoseconds| Value::Duration { months, days, nanoseconds };
    let varints = [i64::MIN, i64::MAX, 0, -1, 127, 128, -128, -129];
    vec![
        ("tinyint", [i8::MIN, i8::MAX, -1].map(Value::Tinyint).into()),
        ("smallint", [i16::MIN, i16::MAX, -1].map(Value::Smallint).into()),
        ("float", [f32::MAX, -0.0, f32::INFINITY, f32::MIN_POSITIVE / 2.0].map(Value::Float).into()),
        ("varint", varints.map(Value::Varint).into()),
        ("decimal", vec![decimal(i64::MIN, 0), decimal(12_345, 3), decimal(-1, 30), decimal(0, 2)]),
        ("date", [i32::MIN, i32::MAX, 0, -1].map(Value::Date).into()),
        ("time", [0, 1, 86_399_999_999_999].map(Value::Time).into()),
        ("timeuuid", vec![Value::Timeuuid(*b"\x13\x81\x40\x00\x1d\xd2\x11\xb2\x80\x80\x80\x80\x80\x80\x80\x80")]),
        ("inet", LOCALHOST.map(Value::Inet).into()),
        (
            "duration",
            vec![
                duration(0, 0, 0),
                duration(1, 2, 3),
                duration(-1, -200, -300_000_000_000),
                duration(i32::MAX, i32::MAX, i64::MAX),
            ],
        ),
        ("list<int>", vec![Value::List(items.of("ints"))]),
        ("list<frozen<list<text>>>", vec![Value::List(items.of("lists"))]),
        ("set<text>", vec![Value::Set(items.of("texts"))]),
        ("map<text, bigint>", vec![Value::Map(items.of("pairs"))]),
        ("map<int, frozen<set<text>>>", vec![Value::Map(items.of("sets"))]),
        (
            "tuple<int, text, frozen<list<int>>>",
            vec![Value::Tuple(items.of("fields")), Value::Tuple(items.of("nulls"))],
        ),
        ("frozen<SUITE_TYPE>", vec![Value::Udt(items.of("fields")), Value::Udt(items.of("nulls"))]),
        ("vector<float, 3>", vec![Value::Vector(items.of("floats"))]),
        ("counter", vec![Value::Counter(1 << 40), Value::Counter(-7)]),
    ]
}

/// Elements of values, by a name.
struct Elementary(Vec<(&'static str, Vec<u8>)>);

impl Elementary {
    fn new() -> Elementary {
        let put = |name, kind, values: &[Value<'_>]| {
            let mut bytes = Vec::new();
            let fill = |out: &mut Elements<'_>| -> Result<(), Infallible> {
                values.iter().for_each(|value| out.push(*value));
                Ok(())
            };
            let _ = Elements::new(&mut bytes).all(kind, fill);
            (name, bytes)
        };
        let ints = put("ints", Nested::List, &[-1, 0, 1, i32::MAX].map(Value::Int));
        let texts = put("texts", Nested::Set, &["", "żółć", "a", "b"].map(Value::Text));
        let inner = Value::List(Items::new(&texts.1));
        let lists = put("lists", Nested::List, &[inner, inner]);
        let pairs =
            put("pairs", Nested::Map, &[Value::Text("b"), Value::Bigint(-2), Value::Text("a"), Value::Bigint(1)]);
        let set = Value::Set(Items::new(&texts.1));
        let sets = put("sets", Nested::Map, &[Value::Int(3), set, Value::Int(-3), set]);
        let fields =
            put("fields", Nested::Tuple, &[Value::Int(-1), Value::Text("two"), Value::List(Items::new(&ints.1))]);
        let nulls = put("nulls", Nested::Tuple, &[Value::Null, Value::Text(""), Value::Null]);
        let floats = put("floats", Nested::Vector, &[0.5, -1.5, f32::MAX].map(Value::Float));
        Elementary(vec![ints, texts, lists, pairs, sets, fields, nulls, floats])
    }

    fn of(&self, name: &str) -> Items<'_> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        Items::new(found.map_or(&[], |(_, bytes)| bytes))
    }
}

/// Values of every other type, at their extremes. What the driver declares that it lacks is an error or another value; what the
/// embedded node lacks is left out.
pub async fn every_further_type_round_trips_or_is_declared_lacking<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let lacks = D::default().describe()?.lacks_types;
    server.create_keyspace(&session).await?;
    let suite_type = format!("{}.fields", server.keyspace);
    let has_udt =
        session.query(&format!("CREATE TYPE {suite_type} (a int, b text, c frozen<list<int>>)")).await.is_ok();
    let items = Elementary::new();
    for (number, (column, values)) in further(&items).into_iter().enumerate() {
        let name = values.first().map_or("null", Value::type_name);
        let column = column.replace("SUITE_TYPE", &suite_type);
        if name == "udt" && !has_udt {
            eprintln!("udt was not tried: the server has no CREATE TYPE");
            continue;
        }
        let table = format!("id int PRIMARY KEY, v {column}");
        let table = match server.create_table(&session, &format!("further_{number}"), &table).await {
            Ok(table) => table,
            Err(refused) if server.stats().is_some() => {
                eprintln!("{column} was not tried: {refused:?}");
                continue;
            }
            Err(refused) => return Err(refused),
        };
        let outcome = round_trips(&session, &table, name, &values).await;
        let outcome = outcome.map_err(|Failure(message)| Failure(format!("{column}: {message}")));
        match lacks.contains(name) {
            false => outcome?,
            true => {
                println!("not declared: {name}");
                check(outcome.is_err(), || format!("{column} round-trips, which is declared as lacking"))?;
            }
        }
    }
    server.end(&session).await
}

async fn round_trips<S: Session>(session: &S, table: &str, name: &str, values: &[Value<'_>]) -> Result<(), Failure> {
    let write = match name {
        "counter" => format!("UPDATE {table} SET v = v + ? WHERE id = ?"),
        _ => format!("INSERT INTO {table} (v, id) VALUES (?, ?)"),
    };
    let write = session.prepare(&write).await?;
    let select = session.prepare(&format!("SELECT v FROM {table} WHERE id = ?")).await?;
    let null = (name != "counter").then_some(Value::Null);
    for (id, value) in (0..).zip(values.iter().copied().chain(null)) {
        execute(session, &write, &[value, Value::Int(id)]).await?;
        let rows = execute(session, &select, &[Value::Int(id)]).await?;
        let found = cell(&rows, 0, 0)?;
        check(rows.get(0).is_some_and(|row| row.holds(0, value)), || {
            format!("the {name} {} came back as {}", shown(&value), shown(&found))
        })?;
    }
    Ok(())
}

/// An INSERT with IF NOT EXISTS answers that it was applied, and then that it was not, with the row that is there.
pub async fn a_lightweight_transaction_answers_with_a_row_of_its_own<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let session = server.connect::<D>().await?;
    let table = server.create_table(&session, "conditional", "pk bigint PRIMARY KEY, v text").await?;
    let insert = match session.prepare(&format!("INSERT INTO {table} (pk, v) VALUES (?, ?) IF NOT EXISTS")).await {
        Ok(insert) => insert,
        Err(error) if error.kind() == ErrorKind::Invalid && server.stats().is_some() => {
            server.end(&session).await?;
            return Ok(Verdict::NotRun("the embedded node has no lightweight transactions"));
        }
        Err(error) => return Err(error.into()),
    };
    let values = [Value::Bigint(7), Value::Text("seven")];
    let applied = execute(&session, &insert, &values).await?;
    same("columns of the answer", applied.get(0).map(|row| row.len()), Some(1))?;
    same("[applied]", cell(&applied, 0, 0)?, Value::Boolean(true))?;
    let refused = execute(&session, &insert, &values).await?;
    for (column, value) in [Value::Boolean(false), values[0], values[1]].into_iter().enumerate() {
        same("the row that is there", cell(&refused, 0, column)?, value)?;
    }
    server.end(&session).await
}

fn shown(value: &Value<'_>) -> String {
    let mut text = format!("{value:?}");
    if text.len() > 200 {
        text = format!("{} ... ({} characters)", text.chars().take(200).collect::<String>(), text.len());
    }
    text
}

/// Smallest, largest, zero and otherwise special values of every type.
pub async fn every_type_round_trips_at_its_extremes<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let mut typed = Typed::new::<D>(&server).await?;
    let every_byte: Vec<u8> = (0..=255).collect();
    let rows: [[Value<'_>; 8]; 5] = [
        [
            Value::Bigint(i64::MAX),
            Value::Int(i32::MAX),
            Value::Text("ascii"),
            Value::Blob(&every_byte),
            Value::Boolean(true),
            Value::Double(f64::MAX),
            Value::Uuid([0xff; 16]),
            Value::Timestamp(i64::MAX),
        ],
        [
            Value::Bigint(i64::MIN),
            Value::Int(i32::MIN),
            Value::Text("'quoted' \"text\"; -- ? \\"),
            Value::Blob(&[0]),
            Value::Boolean(false),
            Value::Double(f64::MIN),
            Value::Uuid([0; 16]),
            Value::Timestamp(i64::MIN),
        ],
        [
            Value::Bigint(0),
            Value::Int(0),
            Value::Text(" "),
            Value::Blob(&[0xff; 3]),
            Value::Boolean(true),
            Value::Double(-0.0),
            Value::Uuid(*b"0123456789abcdef"),
            Value::Timestamp(0),
        ],
        [
            Value::Bigint(-1),
            Value::Int(-1),
            Value::Text("\t\r\n\u{0}\u{7f}"),
            Value::Blob(b"plain"),
            Value::Boolean(false),
            Value::Double(f64::INFINITY),
            Value::Uuid([1; 16]),
            Value::Timestamp(-1),
        ],
        [
            Value::Bigint(1 << 32),
            Value::Int(1 << 16),
            Value::Text("end"),
            Value::Blob(b"end"),
            Value::Boolean(true),
            Value::Double(f64::MIN_POSITIVE / 2.0),
            Value::Uuid([2; 16]),
            Value::Timestamp(1_700_000_000_123),
        ],
    ];
    for row in rows {
        typed.round_trip(row).await?;
    }
    server.end(&typed.session).await
}

/// A null in each column in turn, and in all of them.
pub async fn every_type_takes_a_null<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let mut typed = Typed::new::<D>(&server).await?;
    let full = [
        Value::Bigint(1),
        Value::Int(2),
        Value::Text("three"),
        Value::Blob(b"four"),
        Value::Boolean(true),
        Value::Double(6.5),
        Value::Uuid([7; 16]),
        Value::Timestamp(8),
    ];
    for column in 0..full.len() {
        let mut row = full;
        row[column] = Value::Null;
        typed.round_trip(row).await?;
    }
    typed.round_trip([Value::Null; 8]).await?;
    server.end(&typed.session).await
}

/// Text of one to four bytes a character, right to left, combined, and empty; an empty blob beside it.
pub async fn text_of_every_script_round_trips<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let mut typed = Typed::new::<D>(&server).await?;
    let long = "żółć 🦀 ".repeat(5_000);
    let texts =
        ["", "Grüße", "Ελληνικά", "שלום עולם", "日本語テキスト", "e\u{301}\u{200d}\u{fffd}\u{10ffff}", "👩‍👩‍👧‍👦🇵🇱", &long];
    for text in texts {
        let mut row = [Value::Null; 8];
        row[2] = Value::Text(text);
        row[3] = Value::Blob(b"");
        typed.round_trip(row).await?;
    }
    server.end(&typed.session).await
}

/// One blob of 1 MiB.
pub async fn a_blob_of_one_mebibyte_round_trips<D: Driver>() -> Outcome {
    let server = Server::start().await?;
    let mut typed = Typed::new::<D>(&server).await?;
    let blob: Vec<u8> = (0..1u32 << 20).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut row = [Value::Null; 8];
    row[3] = Value::Blob(&blob);
    typed.round_trip(row).await?;
    server.end(&typed.session).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::Scalar;

    #[test]
    fn every_type_of_the_table_is_tried() {
        let items = Elementary::new();
        let further: Vec<&str> = further(&items).iter().map(|(_, values)| values[0].type_name()).collect();
        let types = Scalar::ALL.iter().map(|kind| kind.name()).chain(Nested::ALL.iter().map(|kind| kind.name()));
        for name in types {
            assert!(COLUMNS.contains(&name) != further.contains(&name), "{name}");
        }
    }

    #[test]
    fn a_long_value_is_shown_shortened() {
        assert_eq!(shown(&Value::Int(3)), "Int(3)");
        assert!(shown(&Value::Blob(&[1; 1000])).ends_with("characters)"));
        assert!(shown(&Value::Text(&"ż".repeat(1000))).len() < 600);
    }
}
