//! From a row's key to its values, without allocating.

use std::num::NonZeroU64;
use std::ops::Range;

use cqldyno_driver_api::{Row, Rows, Value};
use cqldyno_scenarios::{Blobs, Column, Kind, Texts};

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

/// How the values of a column are made, from a number and nothing else.
#[derive(Clone, Copy, Debug)]
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
}

impl Generator {
    fn of(kind: &Kind) -> Generator {
        match *kind {
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

    #[inline(always)]
    fn value(&self, number: u64) -> Value<'static> {
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
        }
    }
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

/// Generators of consecutive columns, bound to nothing but a row's number.
///
/// The commonest columns have a path of their own: few instructions, which lie in the caller, and numbers that lie together.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// All columns where each is such a bigint, unless several rows of a key are expected; else empty.
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
    /// Checksums of a key's rows, where they are several and expected.
    known: Option<Known>,
}

impl Columns {
    /// Of rows of which a key has one.
    pub(crate) fn new(columns: &[Column]) -> Columns {
        Columns::of_rows(columns, NonZeroU64::MIN)
    }

    /// Of rows of which a key has so many.
    pub(crate) fn of_rows(columns: &[Column], rows: NonZeroU64) -> Columns {
        let any = Any {
            generators: columns.iter().map(|column| Generator::of(&column.kind)).collect(),
            plain: columns.iter().all(Column::is_plain),
            columns: columns.to_vec(),
            rows,
            together: NonZeroU64::MIN,
            known: None,
        };
        let bigints: Option<Box<[Bigint]>> = columns.iter().map(Bigint::of).collect();
        Columns { bigints: bigints.unwrap_or_default(), any: Box::new(any) }
    }

    /// Of rows that are expected, of which a key has so many; the keys that will come are in `keys`.
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

    /// The checksums that the rows of a key should have, where several are expected.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Known> {
        self.any.known.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.any.generators.len()
    }

    /// The values of the row with this number, in the order of the markers, in `values`.
    ///
    /// A scenario with more values than fit is refused before, so that none is ever left out.
    #[inline]
    pub(crate) fn bind<'r, 'a, const N: usize>(&self, row: u64, values: &'r mut Values<'a, N>) -> &'r [Value<'a>] {
        let len = if self.bigints.is_empty() {
            self.bind_any_kind(row, &mut values.0);
            self.len()
        } else {
            for (value, bigint) in values.0.iter_mut().zip(&self.bigints) {
                // Written where it belongs: one value that is made elsewhere and moved here costs 5 ns, because a copy of 24
                // bytes has to wait for the stores of tag and number (perf annotate shows the failed forwarding).
                *value = bigint.value(row);
            }
            self.bigints.len()
        };
        values.0.get(..len).unwrap_or(&values.0)
    }

    #[inline(never)]
    fn bind_any_kind(&self, row: u64, values: &mut [Value<'_>]) {
        if self.any.plain {
            for (value, generator) in values.iter_mut().zip(&self.any.generators) {
                *value = generator.value(row);
            }
            return;
        }
        for (index, value) in values.iter_mut().enumerate().take(self.len()) {
            *value = self.value(row, index).unwrap_or(Value::Null);
        }
    }

    /// The value of the column at `index` in the row with this number.
    #[inline]
    pub(crate) fn value(&self, row: u64, index: usize) -> Option<Value<'static>> {
        let (column, generator) = (self.any.columns.get(index)?, self.any.generators.get(index)?);
        let number = column.by.number(row, self.any.rows);
        Some(if column.is_null(number) { Value::Null } else { generator.value(number) })
    }

    /// Appends the values of the rows with these numbers, row by row.
    pub(crate) fn bind_rows(&self, rows: Range<u64>, values: &mut Vec<Value<'static>>) {
        for row in rows {
            values.extend((0..self.len()).filter_map(|index| self.value(row, index)));
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
        if self.any.plain {
            let mut generators = self.any.generators.iter().enumerate();
            return generators.all(|(index, generator)| found.holds(index, generator.value(key)));
        }
        // A checksum is of several rows.
        self.known().is_none() && self.first_wrong(key, found).is_none()
    }

    /// The index of the first column of `found` that is not that of the row with this number. Both must have as many columns.
    pub(crate) fn first_wrong(&self, row: u64, found: Row<'_>) -> Option<usize> {
        (0..self.len()).find(|index| !self.value(row, *index).is_some_and(|value| found.holds(*index, value)))
    }

    /// Puts the rows of `key` into `rows`, as an adapter does that received them.
    pub(crate) fn fill(&self, key: u64, rows: &mut Rows) {
        self.rows_of(key).for_each(|row| self.fill_row(row, rows));
        rows.end_page();
    }

    fn fill_row(&self, row: u64, rows: &mut Rows) {
        if self.bigints.is_empty() {
            for index in 0..self.len() {
                push(rows, self.value(row, index).unwrap_or(Value::Null));
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
        assert_eq!(Columns::new(&one_of_each()).bind(7, &mut values), expected);
        // 7 is the eighth number.
        let with_nulls = Columns::new(&one_of_each_with_nulls()).bind(7, &mut values);
        let nulled = |(index, value): (usize, &Value<'static>)| if index % 2 == 0 { Value::Null } else { *value };
        assert_eq!(with_nulls, expected.iter().enumerate().map(nulled).collect::<Vec<_>>());
        let with_nulls = Columns::new(&one_of_each_with_nulls()).bind(6, &mut values);
        assert_eq!(with_nulls.iter().filter(|value| **value == Value::Null).count(), 1);
    }

    #[test]
    fn a_value_follows_from_the_rows_number_from_its_key_or_from_its_place() {
        let by = |by| Column { by, ..Kind::Bigint { times: 1, plus: 0 }.into() };
        let columns = Columns::of_rows(&[by(By::Row), by(By::Key), by(By::Place)], NonZeroU64::new(100).unwrap());
        let mut values = Values::<MAX_VALUES>::new();
        assert_eq!(*columns.bind(703, &mut values), [703, 7, 3].map(Value::Bigint));
    }

    #[test]
    fn the_rows_of_a_batch_have_the_values_of_their_numbers() {
        let columns = Columns::new(&one_of_each_with_nulls());
        let mut together = Vec::new();
        columns.bind_rows(5..8, &mut together);
        for (row, number) in together.chunks(columns.len()).zip(5..8) {
            let mut values = Values::<MAX_VALUES>::new();
            assert_eq!(row, columns.bind(number, &mut values), "row {number}");
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
            let values = columns.bind(7, &mut values);
            for (index, value) in values.iter().enumerate() {
                assert_eq!(row.get(index), Some(*value));
            }
            assert!(columns.is_row(7, row) && !columns.is_row(15, row));
        }
    }
}
