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
#[derive(Clone, Debug, Default)]
pub struct Rows {
    cells: Vec<Cell>,
    row_ends: Vec<usize>,
    text: String,
    blobs: Vec<u8>,
    pages: u32,
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
        if self.pages != 0 || !self.row_ends.is_empty() || !self.cells.is_empty() {
            self.forget();
        }
    }

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
}

#[cfg(test)]
mod tests {
    use super::*;

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
