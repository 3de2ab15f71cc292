//! From a row's key to its values, without allocating.

use arrayvec::ArrayVec;
use cqldyno_driver_api::{Rows, Value};
use cqldyno_scenarios::{Column, MAX_VALUES};

/// The values of one statement, in the order of its markers.
pub(crate) type Values<'a> = ArrayVec<Value<'a>, MAX_VALUES>;

/// The bytes of text and blob values, in buffers that a slot keeps.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    text: String,
    blobs: Vec<u8>,
}

/// Generators of consecutive columns, bound to nothing but the key.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    /// Whether there is a text or a blob, which must be generated before it can be borrowed.
    has_bytes: bool,
}

impl Columns {
    pub(crate) fn new(columns: &[Column]) -> Columns {
        let has_bytes = columns.iter().any(|column| matches!(column, Column::Text { .. } | Column::Blob { .. }));
        Columns { columns: columns.to_vec(), has_bytes }
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The values that `key` gives, in order; text and blobs lie in `scratch`.
    #[inline]
    pub(crate) fn values<'a>(&'a self, key: u64, scratch: &'a mut Scratch) -> impl Iterator<Item = Value<'a>> + 'a {
        if self.has_bytes {
            self.generate_bytes(key, scratch);
        }
        let (mut text, mut blobs) = (scratch.text.as_str(), scratch.blobs.as_slice());
        self.columns.iter().map(move |column| match *column {
            Column::Bigint { times, plus } => Value::Bigint(Column::number(key, times, plus)),
            Column::Int { times, plus } => Value::Int(Column::number(key, times, plus) as i32),
            Column::Double { times, plus } => Value::Double(Column::number(key, times, plus) as f64),
            Column::Boolean { times, plus } => Value::Boolean(Column::number(key, times, plus) & 1 == 1),
            Column::Timestamp { times, plus } => Value::Timestamp(Column::number(key, times, plus)),
            Column::Uuid { plus } => Value::Uuid(Column::uuid(key, plus)),
            Column::Text { length, .. } => {
                let (value, rest) = text.split_at_checked(length).unwrap_or((text, ""));
                text = rest;
                Value::Text(value)
            }
            Column::Blob { length, .. } => {
                let (value, rest) = blobs.split_at_checked(length).unwrap_or((blobs, &[]));
                blobs = rest;
                Value::Blob(value)
            }
            Column::Null {} => Value::Null,
        })
    }

    #[cold]
    fn generate_bytes(&self, key: u64, scratch: &mut Scratch) {
        scratch.text.clear();
        scratch.blobs.clear();
        for column in &self.columns {
            match *column {
                Column::Text { length, plus } => Column::append_text(key, length, plus, &mut scratch.text),
                Column::Blob { length, plus } => Column::append_blob(key, length, plus, &mut scratch.blobs),
                _ => {}
            }
        }
    }

    /// Puts the one row that `key` gives into `rows`, as an adapter does that received it.
    pub(crate) fn fill(&self, key: u64, scratch: &mut Scratch, rows: &mut Rows) {
        for value in self.values(key, scratch) {
            match value {
                Value::Null => rows.push_null(),
                Value::Boolean(value) => rows.push_boolean(value),
                Value::Int(value) => rows.push_int(value),
                Value::Bigint(value) => rows.push_bigint(value),
                Value::Double(value) => rows.push_double(value),
                Value::Timestamp(value) => rows.push_timestamp(value),
                Value::Uuid(value) => rows.push_uuid(value),
                Value::Text(value) => rows.push_text(value),
                Value::Blob(value) => rows.push_blob(value),
            }
        }
        rows.end_row();
        rows.end_page();
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A generator of every type.
    pub(crate) fn one_of_each() -> Vec<Column> {
        vec![
            Column::Bigint { times: 3, plus: -1 },
            Column::Int { times: 1 << 31, plus: 5 },
            Column::Double { times: 2, plus: 0 },
            Column::Boolean { times: 1, plus: 0 },
            Column::Timestamp { times: 1_000, plus: 7 },
            Column::Uuid { plus: 4 },
            Column::Text { length: 5, plus: 0 },
            Column::Blob { length: 3, plus: 0 },
            Column::Text { length: 2, plus: 9 },
            Column::Blob { length: 0, plus: 0 },
            Column::Null {},
        ]
    }

    #[test]
    fn every_type_is_generated_from_the_key_as_the_scenario_says() {
        let columns = Columns::new(&one_of_each());
        let mut scratch = Scratch::default();
        // A round before, so that leftovers in the buffers would show.
        assert_eq!(columns.values(99, &mut scratch).count(), columns.len());
        let (mut text, mut blob, mut other) = (String::new(), Vec::new(), String::new());
        Column::append_text(7, 5, 0, &mut text);
        Column::append_blob(7, 3, 0, &mut blob);
        Column::append_text(7, 2, 9, &mut other);
        let values: Vec<Value<'_>> = columns.values(7, &mut scratch).collect();
        let expected = [
            Value::Bigint(20),
            Value::Int((7i64 * (1 << 31) + 5) as i32),
            Value::Double(14.0),
            Value::Boolean(true),
            Value::Timestamp(7_007),
            Value::Uuid(Column::uuid(7, 4)),
            Value::Text(&text),
            Value::Blob(&blob),
            Value::Text(&other),
            Value::Blob(&[]),
            Value::Null,
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn a_filled_row_reads_back_as_the_values() {
        let columns = Columns::new(&one_of_each());
        let (mut scratch, mut rows) = (Scratch::default(), Rows::new());
        columns.fill(3, &mut scratch, &mut rows);
        let row = rows.get(0).unwrap();
        assert_eq!((rows.len(), rows.pages(), row.len()), (1, 1, columns.len()));
        for (index, value) in columns.values(3, &mut scratch).enumerate() {
            assert_eq!(row.get(index), Some(value));
        }
    }
}
