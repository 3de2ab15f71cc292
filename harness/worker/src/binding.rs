//! From a row's key to its values, without allocating.

use std::cell::RefCell;
use std::mem::take;
use std::num::NonZeroU64;
use std::ops::Range;

use cqldyno_driver_api::{Row, Rows, Value};
use cqldyno_scenarios::{Blobs, Column, Kind, Texts, UniqueBlobs, UniqueTexts};

use crate::partition::Known;

/// Room for the values of one statement, at most `N`.
#[derive(Debug)]
pub(crate) struct Values<'a, const N: usize>([Value<'a>; N]);

impl<const N: usize> Values<'_, N> {
    #[inline]
    pub(crate) fn new() -> Self {
        Values([Value::Null; N])
    }
}

/// Makes the values of a column from a number.
#[derive(Clone, Debug)]
enum Generator {
    Bigint { times: i64, plus: i64 },
    Int { times: i64, plus: i64 },
    Double { times: i64, plus: i64 },
    Boolean { times: i64, plus: i64 },
    Timestamp { times: i64, plus: i64 },
    Uuid { plus: i64 },
    Text(Texts),
    Blob(Blobs),
    Partition { rows: NonZeroU64 },
    Null,
    UniqueUuid { plus: i64 },
    UniqueText(Box<UniqueTexts>),
    UniqueBlob(Box<UniqueBlobs>),
}

impl Generator {
    fn of(column: &Column) -> Generator {
        match column.kind {
            Kind::Uuid { plus } if column.unique => Generator::UniqueUuid { plus },
            Kind::Text { length, plus, unicode } if column.unique => {
                let texts = if unicode { Texts::unicode(length, plus) } else { Texts::letters(length, plus) };
                Generator::UniqueText(Box::new(texts.unique()))
            }
            Kind::Blob { length, plus } if column.unique => {
                Generator::UniqueBlob(Box::new(Blobs::new(length, plus).unique()))
            }
            Kind::Bigint { times, plus } => Generator::Bigint { times, plus },
            Kind::Int { times, plus } => Generator::Int { times, plus },
            Kind::Double { times, plus } => Generator::Double { times, plus },
            Kind::Boolean { times, plus } => Generator::Boolean { times, plus },
            Kind::Timestamp { times, plus } => Generator::Timestamp { times, plus },
            Kind::Uuid { plus } => Generator::Uuid { plus },
            Kind::Text { length, plus, unicode: false } => Generator::Text(Texts::letters(length, plus)),
            Kind::Text { length, plus, unicode: true } => Generator::Text(Texts::unicode(length, plus)),
            Kind::Blob { length, plus } => Generator::Blob(Blobs::new(length, plus)),
            Kind::Partition { rows } => Generator::Partition { rows },
            Kind::Null {} => Generator::Null,
        }
    }

    /// The value of `number`; a unique text or blob takes its bytes from the front of `room`.
    #[inline(always)]
    fn value<'a>(&self, number: u64, room: &mut &'a mut [u8]) -> Value<'a> {
        match *self {
            Generator::Bigint { times, plus } => Value::Bigint(Kind::number(number, times, plus)),
            Generator::Int { times, plus } => Value::Int(Kind::number(number, times, plus) as i32),
            Generator::Double { times, plus } => Value::Double(Kind::number(number, times, plus) as f64),
            Generator::Boolean { times, plus } => Value::Boolean(Kind::number(number, times, plus) & 1 == 1),
            Generator::Timestamp { times, plus } => Value::Timestamp(Kind::number(number, times, plus)),
            Generator::Uuid { plus } => Value::Uuid(Kind::uuid(number, plus)),
            Generator::Text(texts) => Value::Text(texts.of(number)),
            Generator::Blob(blobs) => Value::Blob(blobs.of(number)),
            Generator::Partition { rows } => Value::Bigint(Kind::partition(number, rows)),
            Generator::Null => Value::Null,
            Generator::UniqueUuid { plus } => Value::Uuid(Kind::unique_uuid(number, plus)),
            Generator::UniqueText(ref texts) => Value::Text(texts.of(number, front(room, texts.length()))),
            Generator::UniqueBlob(ref blobs) => Value::Blob(blobs.of(number, front(room, blobs.length()))),
        }
    }
}

/// Takes `length` bytes from the front of `room`, which has them.
fn front<'a>(room: &mut &'a mut [u8], length: usize) -> &'a mut [u8] {
    let (front, rest) = take(room).split_at_mut_checked(length).unwrap_or_default();
    *room = rest;
    front
}

/// Calls `work` with room of so many bytes, which the thread keeps for the next call.
fn with_room<R>(bytes: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    thread_local! {
        static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    if bytes == 0 {
        return work(&mut []);
    }
    let mut room = ROOM.take();
    room.resize(room.len().max(bytes), 0);
    let done = work(&mut room);
    ROOM.set(room);
    done
}

/// A bigint column whose value follows from the row's own number.
#[derive(Clone, Copy, Debug)]
struct Bigint {
    times: i64,
    plus: i64,
}

impl Bigint {
    fn of(column: &Column) -> Option<Bigint> {
        match column.kind {
            Kind::Bigint { times, plus } if column.is_plain() => Some(Bigint { times, plus }),
            _ => None,
        }
    }

    #[inline(always)]
    fn value(self, number: u64) -> Value<'static> {
        Value::Bigint(Kind::number(number, self.times, self.plus))
    }
}

/// Generators of consecutive columns.
///
/// The commonest columns have a path of their own, with few instructions and numbers that lie together.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// All columns if each is such a bigint and a key has one expected row; else empty.
    bigints: Box<[Bigint]>,
    any: Box<Any>,
}

/// Columns of any kind.
#[derive(Clone, Debug)]
struct Any {
    generators: Vec<Generator>,
    /// Every value is the generator's for the row's own number.
    plain: bool,
    columns: Vec<Column>,
    /// Rows of a key.
    rows: NonZeroU64,
    /// Rows that come together: those of a key, or one.
    together: NonZeroU64,
    /// Checksums of a key's rows, if several are expected.
    known: Option<Known>,
    /// Bytes of the unique texts and blobs of a row.
    room: usize,
}

impl Columns {
    /// Of keys with one row.
    pub(crate) fn new(columns: &[Column]) -> Columns {
        Columns::of_rows(columns, NonZeroU64::MIN)
    }

    /// Of keys with so many rows.
    pub(crate) fn of_rows(columns: &[Column], rows: NonZeroU64) -> Columns {
        let any = Any {
            generators: columns.iter().map(Generator::of).collect(),
            plain: columns.iter().all(Column::is_plain),
            columns: columns.to_vec(),
            rows,
            together: NonZeroU64::MIN,
            known: None,
            room: columns.iter().filter(|column| column.unique).map(Column::length).sum(),
        };
        let bigints: Option<Box<[Bigint]>> = columns.iter().map(Bigint::of).collect();
        Columns { bigints: bigints.unwrap_or_default(), any: Box::new(any) }
    }

    /// Of expected rows, so many per key; `keys` are the keys that will come.
    pub(crate) fn expected(columns: &[Column], rows: NonZeroU64, keys: &[Range<u64>]) -> Columns {
        let mut columns = Columns::of_rows(columns, rows);
        if rows > NonZeroU64::MIN {
            columns.bigints = Box::default();
            columns.any.plain = false;
            columns.any.together = rows;
            columns.any.known = Some(Known::of(&columns, keys));
        }
        columns
    }

    /// The numbers of the rows that come together for `key`.
    #[inline]
    pub(crate) fn rows_of(&self, key: u64) -> Range<u64> {
        let together = self.any.together.get();
        let start = key.wrapping_mul(together);
        start..start.wrapping_add(together)
    }

    /// The checksums that the rows of a key should have, if several are expected.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Known> {
        self.any.known.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.any.generators.len()
    }

    /// Bytes that the unique texts and blobs of a row need.
    pub(crate) fn room(&self) -> usize {
        self.any.room
    }

    /// The values of the row with this number, in the order of the markers. Unique texts and blobs lie in `room`, which has
    /// [`Columns::room`] bytes.
    ///
    /// The scenario is checked beforehand, so that all values fit.
    #[inline]
    pub(crate) fn bind<'r, 'a, const N: usize>(
        &self,
        row: u64,
        values: &'r mut Values<'a, N>,
        room: &'a mut [u8],
    ) -> &'r [Value<'a>] {
        let len = if self.bigints.is_empty() {
            self.bind_any_kind(row, &mut values.0, room);
            self.len()
        } else {
            for (value, bigint) in values.0.iter_mut().zip(&self.bigints) {
                // Written in place: moving a finished value here costs 5 ns, because the copy of 24 bytes waits for the stores of
                // tag and number (perf annotate shows it).
                *value = bigint.value(row);
            }
            self.bigints.len()
        };
        values.0.get(..len).unwrap_or(&values.0)
    }

    #[inline(never)]
    fn bind_any_kind<'a>(&self, row: u64, values: &mut [Value<'a>], mut room: &'a mut [u8]) {
        if self.any.plain {
            for (value, generator) in values.iter_mut().zip(&self.any.generators) {
                *value = generator.value(row, &mut room);
            }
            return;
        }
        for (index, value) in values.iter_mut().enumerate().take(self.len()) {
            *value = self.value(row, index, &mut room).unwrap_or(Value::Null);
        }
    }

    /// The value of the column at `index` in the row with this number, in the front of `room` if it needs any.
    #[inline]
    pub(crate) fn value<'a>(&self, row: u64, index: usize, room: &mut &'a mut [u8]) -> Option<Value<'a>> {
        let (column, generator) = (self.any.columns.get(index)?, self.any.generators.get(index)?);
        let number = column.by.number(row, self.any.rows);
        Some(if column.is_null(number) { Value::Null } else { generator.value(number, room) })
    }

    /// What `work` makes of the value of the column at `index` in the row with this number.
    #[inline]
    pub(crate) fn with_value<R>(&self, row: u64, index: usize, work: impl FnOnce(Option<Value<'_>>) -> R) -> R {
        with_room(self.any.room, |mut room| work(self.value(row, index, &mut room)))
    }

    /// Appends the values of the rows with these numbers, row by row; `room` has [`Columns::room`] bytes for each.
    pub(crate) fn bind_rows<'a>(&self, rows: Range<u64>, values: &mut Vec<Value<'a>>, mut room: &'a mut [u8]) {
        for row in rows {
            values.extend((0..self.len()).filter_map(|index| self.value(row, index, &mut room)));
        }
    }

    /// Whether `found` is the row of `key`, which has one.
    #[inline(always)]
    pub(crate) fn is_row(&self, key: u64, found: Row<'_>) -> bool {
        if self.bigints.is_empty() {
            return self.is_row_of_any_kind(key, found);
        }
        found.len() == self.bigints.len()
            && self.bigints.iter().enumerate().all(|(index, bigint)| found.holds(index, bigint.value(key)))
    }

    #[inline(never)]
    fn is_row_of_any_kind(&self, key: u64, found: Row<'_>) -> bool {
        if found.len() != self.len() {
            return false;
        }
        if self.any.plain && self.any.room == 0 {
            let mut generators = self.any.generators.iter().enumerate();
            return generators
                .all(|(index, generator)| found.holds(index, generator.value(key, &mut <&mut [u8]>::default())));
        }
        // A checksum is of several rows.
        self.known().is_none() && self.first_wrong(key, found).is_none()
    }

    /// The index of the first column of `found` that differs from the row with this number. Both have as many columns.
    pub(crate) fn first_wrong(&self, row: u64, found: Row<'_>) -> Option<usize> {
        let is_right = |index, value: Option<Value<'_>>| value.is_some_and(|value| found.holds(index, value));
        (0..self.len()).find(|index| !self.with_value(row, *index, |value| is_right(*index, value)))
    }

    /// Puts the rows of `key` into `rows`, as an adapter that received them does.
    pub(crate) fn fill(&self, key: u64, rows: &mut Rows) {
        self.rows_of(key).for_each(|row| self.fill_row(row, rows));
        rows.end_page();
    }

    fn fill_row(&self, row: u64, rows: &mut Rows) {
        if self.bigints.is_empty() {
            for index in 0..self.len() {
                self.with_value(row, index, |value| push(rows, value.unwrap_or(Value::Null)));
            }
        }
        for bigint in &self.bigints {
            rows.push_bigint(Kind::number(row, bigint.times, bigint.plus));
        }
        rows.end_row();
    }
}

/// Appends the value to the current row.
pub(crate) fn push(rows: &mut Rows, value: Value<'_>) {
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use cqldyno_scenarios::{By, MAX_VALUES};
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
            Kind::Text { length: 5, plus: 0, unicode: false },
            Kind::Blob { length: 3, plus: 0 },
            Kind::Text { length: 12, plus: 9, unicode: true },
            Kind::Blob { length: 0, plus: 0 },
            Kind::Null {},
            Kind::Partition { rows: NonZeroU64::new(4).unwrap() },
        ];
        kinds.map(Column::from).into()
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
        for columns in [one_of_each(), one_of_each_with_nulls(), bigints()] {
            let columns = Columns::new(&columns);
            let mut rows = Rows::new();
            columns.fill(7, &mut rows);
            let row = rows.get(0).unwrap();
            assert_eq!((rows.len(), rows.pages(), row.len()), (1, 1, columns.len()));
            let mut values = Values::<MAX_VALUES>::new();
            let values = columns.bind(7, &mut values, &mut []);
            for (index, value) in values.iter().enumerate() {
                assert_eq!(row.get(index), Some(*value));
            }
            assert!(columns.is_row(7, row) && !columns.is_row(15, row));
        }
    }

    /// A unique column of every type that has them, and one of its kind that is not.
    pub(crate) fn unique() -> Vec<Column> {
        let kinds = [
            Kind::Text { length: 5, plus: 0, unicode: false },
            Kind::Blob { length: 3, plus: 0 },
            Kind::Text { length: 12, plus: 9, unicode: true },
            Kind::Uuid { plus: 4 },
        ];
        kinds.iter().flat_map(|kind| [true, false].map(|unique| Column { unique, ..kind.clone().into() })).collect()
    }

    #[test]
    fn unique_columns_of_two_rows_never_have_the_same_value_and_others_are_as_ever() {
        let plain_columns: Vec<Column> =
            unique().into_iter().map(|column| Column { unique: false, ..column }).collect();
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
}
