//! Decoded rows, in a buffer that every statement reuses.

use std::cell::RefCell;

use crate::{Elements, Items, Nested, Value};

#[derive(Clone, Copy, Debug)]
enum Cell {
    /// A value that borrows nothing.
    Plain(Value<'static>),
    /// Where a text begins and ends among the texts.
    Text(usize, usize),
    /// Where a blob begins and ends among the blobs.
    Blob(usize, usize),
    /// Elements among the blobs: where they begin, and their number of bytes.
    Nested(Nested, usize, u32),
}

/// Makes the methods that push a value of one of the commonest types.
macro_rules! pushes {
    ($($push:ident $kind:ident($rust:ty),)*) => {
        $(
            #[doc = concat!("Appends a [`Value::", stringify!($kind), "`] to the current row.")]
            #[inline]
            pub fn $push(&mut self, value: $rust) {
                self.buffer().cells.push(Cell::Plain(Value::$kind(value)));
            }
        )*
    };
}

/// Where an adapter puts decoded rows, column by column, in the order of the result's columns.
///
/// Each slot of the load generator has one, and clears it as soon as an answer was checked. An adapter pushes every column of
/// every row and ends each row with [`Rows::end_row`]. A cleared `Rows` leaves its memory to the next one on the same thread, so
/// that nothing is allocated after the first few statements.
// Buffers for a thousand slots would be more than the processor's second cache holds. Rows are mostly cleared at once, so that
// one buffer per thread serves all of its slots and stays in the first cache.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// `None` while there is nothing in it.
    buffer: Option<Box<Buffer>>,
}

#[derive(Clone, Debug, Default)]
struct Buffer {
    cells: Vec<Cell>,
    row_ends: Vec<usize>,
    pages: u32,
    text: String,
    blobs: Vec<u8>,
}

/// The most buffers that a thread keeps: as many as there are slots by default.
const MOST_SPARE: usize = 1_024;

thread_local! {
    #[expect(clippy::vec_box, reason = "a buffer goes from hand to hand by its pointer")]
    static SPARE: RefCell<Vec<Box<Buffer>>> = const { RefCell::new(Vec::new()) };
}

impl Buffer {
    #[inline(never)]
    fn spare() -> Box<Buffer> {
        // There are none while the thread ends.
        SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default()
    }

    #[inline(never)]
    fn put_back(mut self: Box<Buffer>) {
        self.cells.clear();
        self.row_ends.clear();
        self.pages = 0;
        self.text.clear();
        self.blobs.clear();
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.len() < MOST_SPARE {
                spare.push(self);
            }
        });
    }
}

impl Rows {
    /// Without rows.
    pub fn new() -> Rows {
        Rows::default()
    }

    #[inline(always)]
    fn buffer(&mut self) -> &mut Buffer {
        self.buffer.get_or_insert_with(Buffer::spare)
    }

    /// Forgets rows and pages.
    #[inline]
    pub fn clear(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            buffer.put_back();
        }
    }

    pushes! {
        push_boolean Boolean(bool),
        push_int Int(i32),
        push_bigint Bigint(i64),
        push_double Double(f64),
        push_timestamp Timestamp(i64),
        push_uuid Uuid([u8; 16]),
    }

    /// Appends a null to the current row.
    #[inline]
    pub fn push_null(&mut self) {
        self.buffer().cells.push(Cell::Plain(Value::Null));
    }

    /// Appends a `text` to the current row; the bytes are copied.
    #[inline]
    pub fn push_text(&mut self, value: &str) {
        let Buffer { cells, text, .. } = self.buffer();
        let start = text.len();
        text.push_str(value);
        cells.push(Cell::Text(start, text.len()));
    }

    /// Appends a `blob` to the current row; the bytes are copied.
    #[inline]
    pub fn push_blob(&mut self, value: &[u8]) {
        let Buffer { cells, blobs, .. } = self.buffer();
        let start = blobs.len();
        blobs.extend_from_slice(value);
        cells.push(Cell::Blob(start, blobs.len()));
    }

    /// Appends a value of any type to the current row. The commonest types have a way of their own.
    #[inline(never)]
    pub fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Text(value) => self.push_text(value),
            Value::Blob(value) => self.push_blob(value),
            other => {
                let Buffer { cells, blobs, .. } = self.buffer();
                if let Some((kind, items)) = other.nested() {
                    let (start, length) = (blobs.len(), u32::try_from(items.bytes().len()).unwrap_or(u32::MAX));
                    blobs.extend_from_slice(items.bytes());
                    cells.push(Cell::Nested(kind, start, length));
                } else {
                    cells.push(Cell::Plain(other.owned().unwrap_or(Value::Null)));
                }
            }
        }
    }

    /// The same for a value that lives as long as the process, of which nothing is copied.
    pub fn push_static(&mut self, value: Value<'static>) {
        self.buffer().cells.push(Cell::Plain(value));
    }

    /// Appends a value with elements to the current row; `fill` puts them in, one by one.
    ///
    /// # Errors
    /// That of `fill`.
    pub fn push_nested<E>(
        &mut self,
        kind: Nested,
        fill: impl FnOnce(&mut Elements<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Buffer { cells, blobs, .. } = self.buffer();
        let start = blobs.len();
        Elements::new(blobs).all(kind, fill)?;
        let length = u32::try_from(blobs.len() - start).unwrap_or(u32::MAX);
        cells.push(Cell::Nested(kind, start, length));
        Ok(())
    }

    /// Ends the current row; its columns are the values pushed since the last end.
    #[inline]
    pub fn end_row(&mut self) {
        let Buffer { cells, row_ends, .. } = self.buffer();
        row_ends.push(cells.len());
    }

    /// Notes that one page (one response of kind Rows) was received.
    #[inline]
    pub fn end_page(&mut self) {
        self.buffer().pages += 1;
    }

    /// The number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.buffer.as_ref().map_or(0, |buffer| buffer.row_ends.len())
    }

    /// Whether there is no row.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of pages that the rows came in; 0 for a statement that returns no rows.
    pub fn pages(&self) -> u32 {
        self.buffer.as_ref().map_or(0, |buffer| buffer.pages)
    }

    /// The row at `index`, counted from 0 in the order of arrival; `None` after the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Row<'_>> {
        let buffer = &**self.buffer.as_ref()?;
        let end = *buffer.row_ends.get(index)?;
        let start = match index.checked_sub(1) {
            Some(before) => *buffer.row_ends.get(before)?,
            None => 0,
        };
        Some(Row { buffer, cells: buffer.cells.get(start..end)? })
    }

    /// The row, where there is exactly one.
    #[inline]
    pub fn only(&self) -> Option<Row<'_>> {
        let buffer = &**self.buffer.as_ref()?;
        match buffer.row_ends[..] {
            [end] => Some(Row { buffer, cells: buffer.cells.get(..end)? }),
            _ => None,
        }
    }

    /// The rows in the order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

/// One decoded row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    buffer: &'a Buffer,
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

    /// The value of the column at `index`, counted from 0; `None` after the last one.
    #[inline]
    pub fn get(&self, index: usize) -> Option<Value<'a>> {
        Some(match *self.cells.get(index)? {
            Cell::Plain(value) => value,
            Cell::Text(start, end) => Value::Text(self.buffer.text.get(start..end)?),
            Cell::Blob(start, end) => Value::Blob(self.buffer.blobs.get(start..end)?),
            Cell::Nested(kind, start, length) => {
                let end = start.checked_add(usize::try_from(length).ok()?)?;
                kind.of(Items::new(self.buffer.blobs.get(start..end)?))
            }
        })
    }

    /// Whether the column at `index` exists, has `value`'s type and equals it; doubles are compared by their bits.
    ///
    /// The same as comparing [`Row::get`], in a few instructions if the type of `value` is plain.
    #[inline(always)]
    pub fn holds(&self, index: usize, value: Value<'_>) -> bool {
        let Some(cell) = self.cells.get(index) else { return false };
        let plain = if let Cell::Plain(found) = cell { Some(found) } else { None };
        match value {
            Value::Null => matches!(plain, Some(Value::Null)),
            Value::Boolean(value) => matches!(plain, Some(Value::Boolean(found)) if *found == value),
            Value::Int(value) => matches!(plain, Some(Value::Int(found)) if *found == value),
            Value::Bigint(value) => matches!(plain, Some(Value::Bigint(found)) if *found == value),
            Value::Double(value) => matches!(plain, Some(Value::Double(found)) if found.to_bits() == value.to_bits()),
            Value::Timestamp(value) => matches!(plain, Some(Value::Timestamp(found)) if *found == value),
            Value::Uuid(value) => matches!(plain, Some(Value::Uuid(found)) if *found == value),
            Value::Text(value) => {
                matches!(*cell, Cell::Text(start, end) if self.buffer.text.get(start..end) == Some(value))
            }
            Value::Blob(value) => {
                matches!(*cell, Cell::Blob(start, end) if self.buffer.blobs.get(start..end) == Some(value))
            }
            other => self.holds_other(index, other),
        }
    }

    #[inline(never)]
    fn holds_other(&self, index: usize, value: Value<'_>) -> bool {
        match (value, self.get(index)) {
            (Value::Float(value), Some(Value::Float(found))) => found.to_bits() == value.to_bits(),
            (value, found) => found == Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::tests::SCALARS;

    #[test]
    fn a_cell_is_no_larger_than_a_value() {
        assert_eq!(size_of::<Cell>(), size_of::<Value<'_>>());
    }

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
            Value::Float(3.0),
            Value::Counter(3),
            Value::List(Items::new(&[7, 3])),
            Value::Set(Items::new(&[7, 3])),
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
            Value::Float(-3.0),
            Value::Counter(4),
            Value::List(Items::new(&[7, 4])),
            Value::Tuple(Items::new(&[7, 3])),
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
        values.iter().skip(9).for_each(|value| rows.push(*value));
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
    fn a_value_of_every_type_is_given_back_as_it_was_pushed() {
        let mut rows = Rows::new();
        SCALARS.iter().for_each(|value| rows.push(*value));
        let fill = |out: &mut Elements<'_>| -> Result<(), ()> {
            SCALARS.iter().for_each(|value| out.push(*value));
            Ok(())
        };
        rows.push_nested(Nested::Udt, fill).unwrap();
        rows.end_row();
        let row = rows.get(0).unwrap();
        for (index, value) in SCALARS.iter().enumerate() {
            assert_eq!(row.get(index), Some(*value));
            assert!(row.holds(index, *value));
        }
        let Some(Value::Udt(items)) = row.get(SCALARS.len()) else { panic!("{:?}", row.get(SCALARS.len())) };
        assert!(items.iter().map(|item| item.value()).eq(SCALARS));
    }

    #[test]
    fn a_text_that_is_not_copied_is_the_same_one() {
        let mut rows = Rows::new();
        let text = "kept";
        rows.push_static(Value::Text(text));
        rows.end_row();
        let Some(Value::Text(found)) = rows.get(0).unwrap().get(0) else { panic!("{rows:?}") };
        assert_eq!((found, found.as_ptr()), (text, text.as_ptr()));
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
            assert!(rows.get(2).is_none() && rows.only().is_none());
        }
        rows.clear();
        assert!(rows.is_empty() && rows.only().is_none());
        assert_eq!(rows.pages(), 0);
        rows.push_int(1);
        assert!(rows.only().is_none(), "a row that has not ended");
        rows.end_row();
        rows.push_int(2);
        assert_eq!(rows.only().map(|row| (row.len(), row.get(0))), Some((1, Some(Value::Int(1)))));
    }

    fn one(value: i64) -> Rows {
        let mut rows = Rows::new();
        rows.push_bigint(value);
        rows.end_row();
        rows.end_page();
        rows
    }

    fn place(rows: &Rows) -> *const Buffer {
        &**rows.buffer.as_ref().unwrap()
    }

    #[test]
    fn the_memory_of_rows_that_were_cleared_serves_the_next_ones_and_holds_nothing_of_them() {
        let mut first = one(1);
        first.push_text("left over");
        first.push_blob(b"left over");
        let memory = place(&first);
        first.clear();
        assert!(first.buffer.is_none());
        let second = one(2);
        assert_eq!(place(&second), memory);
        let buffer = second.buffer.as_ref().unwrap();
        assert_eq!((buffer.text.len(), buffer.blobs.len(), second.len(), second.pages()), (0, 0, 1, 1));
        assert_eq!(second.get(0).unwrap().get(0), Some(Value::Bigint(2)));
    }

    #[test]
    fn rows_that_are_there_at_the_same_time_share_nothing() {
        let mut all: Vec<Rows> = (0..2 * MOST_SPARE as i64).map(one).collect();
        for (value, rows) in (0..).zip(&all) {
            assert_eq!(rows.get(0).unwrap().get(0), Some(Value::Bigint(value)));
        }
        all.iter_mut().for_each(Rows::clear);
        assert_eq!(SPARE.with_borrow(Vec::len), MOST_SPARE, "no more than these are kept");
    }

    #[test]
    fn rows_go_from_thread_to_thread() {
        let mut rows = one(7);
        std::thread::spawn(move || {
            assert_eq!(rows.get(0).unwrap().get(0), Some(Value::Bigint(7)));
            rows.clear();
            assert_eq!(one(8).len(), 1);
        })
        .join()
        .unwrap();
    }
}
