//! Values of every type go in and come out unchanged.

use super::server::Server;
use super::{Failure, Outcome, cell, check, execute};
use cqldyno_driver_api::{Driver, Session, Value};

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

    #[test]
    fn a_long_value_is_shown_shortened() {
        assert_eq!(shown(&Value::Int(3)), "Int(3)");
        assert!(shown(&Value::Blob(&[1; 1000])).ends_with("characters)"));
        assert!(shown(&Value::Text(&"ż".repeat(1000))).len() < 600);
    }
}
