//! Decoded rows, in a buffer that is used again for every statement.

use crate::Value;

#[derive(Clone, Copy, Debug)]
enum Cell {
    Null,
    Boolean(bool),
    Int(i32),
    Bigint(i64),
    Double(f64),
    Timestamp(i64),
    Uuid([u8; 16]),
    Text { start: usize, end: usize },
    Blob { start: usize, end: usize },
}

/// Where an adapter puts the rows that it decoded, column by column, in the order of the result's columns.
///
/// One `Rows` belongs to one slot of the load generator and is cleared before every statement, so that after
/// the first few statements nothing is allocated. An adapter pushes every column of every row and ends each
/// row with [`Rows::end_row`].
// A thousand slots have one each, more than the processor's second cache holds: what every statement touches is one line.
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct Rows {
    cells: Vec<Cell>,
    row_ends: Vec<usize>,
    pages: u32,
    text: String,
    blobs: Vec<u8>,
}

impl Rows {
    /// An empty buffer; it allocates when the first row arrives.
    pub fn new() -> Rows {
        Rows::default()
    }

    /// Forgets rows and pages and keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        // Most statements answer without rows: what was not used is not touched, which keeps it out of the cache.
        if (self.pages as usize | self.row_ends.len() | self.cells.len()) != 0 {
            self.forget();
        }
    }

    #[inline]
    fn forget(&mut self) {
        self.cells.clear();
        self.row_ends.clear();
        self.text.clear();
        self.blobs.clear();
        self.pages = 0;
    }

    /// Appends a null to the current row.
    #[inline]
    pub fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    /// Appends a `boolean` to the current row.
    #[inline]
    pub fn push_boolean(&mut self, value: bool) {
        self.cells.push(Cell::Boolean(value));
    }

    /// Appends an `int` to the current row.
    #[inline]
    pub fn push_int(&mut self, value: i32) {
        self.cells.push(Cell::Int(value));
    }

    /// Appends a `bigint` to the current row.
    #[inline]
    pub fn push_bigint(&mut self, value: i64) {
        self.cells.push(Cell::Bigint(value));
    }

    /// Appends a `double` to the current row.
    #[inline]
    pub fn push_double(&mut self, value: f64) {
        self.cells.push(Cell::Double(value));
    }

    /// Appends a `timestamp`, in milliseconds since the Unix epoch, to the current row.
    #[inline]
    pub fn push_timestamp(&mut self, milliseconds: i64) {
        self.cells.push(Cell::Timestamp(milliseconds));
    }

    /// Appends a `uuid` to the current row.
    #[inline]
    pub fn push_uuid(&mut self, value: [u8; 16]) {
        self.cells.push(Cell::Uuid(value));
    }

    /// Appends a `text` to the current row; the bytes are copied.
    #[inline]
    pub fn push_text(&mut self, value: &str) {
        let start = self.text.len();
        self.text.push_str(value);
        self.cells.push(Cell::Text { start, end: self.text.len() });
    }

    /// Appends a `blob` to the current row; the bytes are copied.
    #[inline]
    pub fn push_blob(&mut self, value: &[u8]) {
        let start = self.blobs.len();
        self.blobs.extend_from_slice(value);
        self.cells.push(Cell::Blob { start, end: self.blobs.len() });
    }

    /// Ends the current row: what was pushed since the last end is its columns.
    #[inline]
    pub fn end_row(&mut self) {
        self.row_ends.push(self.cells.len());
    }

    /// Notes that one page (one response of kind Rows) was received.
    #[inline]
    pub fn end_page(&mut self) {
        self.pages += 1;
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.row_ends.len()
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.row_ends.is_empty()
    }

    /// The number of pages that the rows came in; 0 for a statement that returns no rows.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The row at `index`, counted from 0 in the order of arrival, or `None` behind the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Row<'_>> {
        let end = *self.row_ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => *self.row_ends.get(before)?,
            None => 0,
        };
        Some(Row { rows: self, cells: self.cells.get(start..end)? })
    }

    /// The rows in the order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// One decoded row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    rows: &'a Rows,
    cells: &'a [Cell],
}

impl<'a> Row<'a> {
    /// The number of columns.
    #[inline]
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether the row has no column.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The value of the column at `index`, counted from 0, or `None` behind the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        Some(match *self.cells.get(index)? {
            Cell::Null => Value::Null,
            Cell::Boolean(value) => Value::Boolean(value),
            Cell::Int(value) => Value::Int(value),
            Cell::Bigint(value) => Value::Bigint(value),
            Cell::Double(value) => Value::Double(value),
            Cell::Timestamp(value) => Value::Timestamp(value),
            Cell::Uuid(value) => Value::Uuid(value),
            Cell::Text { start, end } => Value::Text(self.rows.text.get(start..end)?),
            Cell::Blob { start, end } => Value::Blob(self.rows.blobs.get(start..end)?),
        })
    }

    /// Whether the column at `index` is there, of `value`'s type, and equal to it; doubles are equal by their bits.
    ///
    /// The same as comparing what [`Row::get`] gives, in a few instructions where the type of `value` is plain.
    #[inline(always)]
    pub fn holds(&self, index: usize, value: Value<'_>) -> bool {
        let Some(cell) = self.cells.get(index) else { return false };
        match value {
            Value::Null => matches!(cell, Cell::Null),
            Value::Boolean(value) => matches!(*cell, Cell::Boolean(found) if found == value),
            Value::Int(value) => matches!(*cell, Cell::Int(found) if found == value),
            Value::Bigint(value) => matches!(*cell, Cell::Bigint(found) if found == value),
            Value::Double(value) => matches!(*cell, Cell::Double(found) if found.to_bits() == value.to_bits()),
            Value::Timestamp(value) => matches!(*cell, Cell::Timestamp(found) if found == value),
            Value::Uuid(value) => matches!(*cell, Cell::Uuid(found) if found == value),
            Value::Text(value) => {
                matches!(*cell, Cell::Text { start, end } if self.rows.text.get(start..end) == Some(value))
            }
            Value::Blob(value) => {
                matches!(*cell, Cell::Blob { start, end } if self.rows.blobs.get(start..end) == Some(value))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each value in the place of each, and other values of the same types: `holds` says what `get` says.
    #[test]
    fn a_row_holds_a_value_where_that_value_is_what_it_gives_and_nowhere_else() {
        let values = [
            Value::Null,
            Value::Boolean(true),
            Value::Int(3),
            Value::Bigint(3),
            Value::Double(3.0),
            Value::Timestamp(3),
            Value::Uuid([3; 16]),
            Value::Text("3"),
            Value::Blob(b"3"),
        ];
        let others = [
            Value::Boolean(false),
            Value::Int(4),
            Value::Bigint(4),
            Value::Double(-3.0),
            Value::Timestamp(4),
            Value::Uuid([4; 16]),
            Value::Text(""),
            Value::Blob(b"33"),
        ];
        let mut rows = Rows::new();
        rows.push_null();
        rows.push_boolean(true);
        rows.push_int(3);
        rows.push_bigint(3);
        rows.push_double(3.0);
        rows.push_timestamp(3);
        rows.push_uuid([3; 16]);
        rows.push_text("3");
        rows.push_blob(b"3");
        rows.end_row();
        let row = rows.get(0).unwrap();
        for (index, expected) in values.iter().enumerate() {
            assert_eq!(row.get(index), Some(*expected));
            for value in values.iter().chain(&others) {
                assert_eq!(row.holds(index, *value), value == expected, "{value:?} at {index}");
            }
        }
        assert!(!row.holds(values.len(), Value::Null));
    }

    #[test]
    fn doubles_are_held_by_their_bits() {
        let mut rows = Rows::new();
        rows.push_double(f64::NAN);
        rows.push_double(0.0);
        rows.end_row();
        let row = rows.get(0).unwrap();
        assert!(row.holds(0, Value::Double(f64::NAN)));
        assert!(row.holds(1, Value::Double(0.0)) && !row.holds(1, Value::Double(-0.0)));
    }

    #[test]
    fn rows_give_back_what_was_pushed_and_nothing_after_clear() {
        let mut rows = Rows::new();
        for round in 0..2 {
            rows.clear();
            rows.push_bigint(7 + round);
            rows.push_text("grün");
            rows.push_blob(&[1, 2, 3]);
            rows.push_null();
            rows.end_row();
            rows.push_uuid([9; 16]);
            rows.push_text("");
            rows.end_row();
            rows.end_page();
            assert_eq!((rows.len(), rows.pages()), (2, 1));
            let first = rows.get(0).unwrap();
            assert_eq!(first.len(), 4);
            assert_eq!(first.get(0), Some(Value::Bigint(7 + round)));
            assert_eq!(first.get(1), Some(Value::Text("grün")));
            assert_eq!(first.get(2), Some(Value::Blob(&[1, 2, 3])));
            assert_eq!(first.get(3), Some(Value::Null));
            assert_eq!(first.get(4), None);
            let second = rows.get(1).unwrap();
            assert_eq!(second.len(), 2);
            assert_eq!(second.get(1), Some(Value::Text("")));
            assert!(rows.get(2).is_none());
        }
        rows.clear();
        assert!(rows.is_empty());
        assert_eq!(rows.pages(), 0);
    }
}
