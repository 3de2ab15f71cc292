//! From a row's key to its values, without allocating.

use std::cell::RefCell;
use std::convert::Infallible;
use std::mem::take;
use std::num::NonZeroU64;
use std::ops::Range;

use cqldyno_driver_api::{Elements, Items, Nested, Row, Rows, Value};
use cqldyno_scenarios::{Blobs, Column, Expectation, Kind, RowCheck, Texts, UniqueBlobs, UniqueTexts};

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

#[derive(Clone, Debug)]
enum Generator {
    /// Of a kind whose values take no room.
    Plain(Kind),
    Text(Texts),
    Blob(Blobs),
    UniqueUuid {
        plus: i64,
    },
    UniqueText(Box<UniqueTexts>),
    UniqueBlob(Box<UniqueBlobs>),
    Nested(Box<NestedGenerator>),
}

impl Generator {
    fn of(kind: &Kind, unique: bool) -> Generator {
        if let Some(texts) = kind.texts() {
            return if unique { Generator::UniqueText(Box::new(texts.unique())) } else { Generator::Text(texts) };
        }
        if let Some((nested, length, of)) = kind.elements() {
            // The elements of a set and the keys of a map, which come first, never repeat.
            let differ = |at| at == 0 && matches!(nested, Nested::Set | Nested::Map);
            let mut elements: Vec<Generator> =
                of.into_iter().enumerate().map(|(at, of)| Generator::of(of, differ(at))).collect();
            if let Kind::Vector { times, plus, .. } = *kind {
                elements.push(Generator::Plain(Kind::Float { times, plus }));
            }
            return Generator::Nested(Box::new(NestedGenerator::new(nested, length, elements)));
        }
        match *kind {
            Kind::Blob { length, plus } if unique => Generator::UniqueBlob(Box::new(Blobs::new(length, plus).unique())),
            Kind::Blob { length, plus } => Generator::Blob(Blobs::new(length, plus)),
            Kind::Uuid { plus } if unique => Generator::UniqueUuid { plus },
            ref plain => Generator::Plain(plain.clone()),
        }
    }

    /// Bytes that a value takes from the room.
    fn room(&self) -> usize {
        match self {
            Generator::UniqueText(texts) => texts.length().most(),
            Generator::UniqueBlob(blobs) => blobs.length().most(),
            Generator::Nested(nested) => nested.room,
            _ => 0,
        }
    }

    /// By how many bytes a value may be longer than another one.
    fn span(&self) -> usize {
        match self {
            Generator::Text(texts) => texts.length().span(),
            Generator::Blob(blobs) => blobs.length().span(),
            Generator::UniqueText(texts) => texts.length().span(),
            Generator::UniqueBlob(blobs) => blobs.length().span(),
            Generator::Nested(nested) => nested.span(),
            _ => 0,
        }
    }

    /// The value of `number`; a unique text or blob, and elements, take their bytes from the front of `room`.
    #[inline(always)]
    fn value<'a>(&self, number: u64, room: &mut &'a mut [u8]) -> Value<'a> {
        match *self {
            Generator::Plain(ref kind) => kind.value(number),
            Generator::Text(texts) => Value::Text(texts.of(number)),
            Generator::Blob(blobs) => Value::Blob(blobs.of(number)),
            Generator::UniqueUuid { plus } => Value::Uuid(Kind::unique_uuid(number, plus)),
            Generator::UniqueText(ref texts) => Value::Text(texts.of(number, front(room, texts.length().most()))),
            Generator::UniqueBlob(ref blobs) => Value::Blob(blobs.of(number, front(room, blobs.length().most()))),
            Generator::Nested(ref nested) => nested.value(number, room),
        }
    }
}

#[derive(Clone, Debug)]
struct NestedGenerator {
    kind: Nested,
    /// How often each of `elements` makes one.
    length: NonZeroU64,
    elements: Vec<Generator>,
    /// Bytes that making one element takes, at any depth.
    aside: usize,
    /// Those, and the bytes of all elements.
    room: usize,
}

impl NestedGenerator {
    fn new(kind: Nested, length: NonZeroU64, elements: Vec<Generator>) -> NestedGenerator {
        let aside = elements.iter().map(|element| match element {
            Generator::Nested(nested) => nested.aside,
            other => other.room(),
        });
        let aside = aside.max().unwrap_or(0);
        let mut nested = NestedGenerator { kind, length, elements, aside, room: 0 };
        // The first one may be the shortest.
        let mut bytes = Vec::new();
        let Ok(()) = nested.fill(0, &mut vec![0; aside], &mut Elements::new(&mut bytes));
        nested.room = aside + bytes.len() + nested.span();
        nested
    }

    fn span(&self) -> usize {
        let of_one: usize = self.elements.iter().map(Generator::span).sum();
        usize::try_from(self.length.get()).unwrap_or(usize::MAX).saturating_mul(of_one)
    }

    fn value<'a>(&self, number: u64, room: &mut &'a mut [u8]) -> Value<'a> {
        thread_local! {
            static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut bytes = BYTES.take();
        bytes.clear();
        let aside = front(room, self.aside);
        let Ok(()) = Elements::new(&mut bytes).all(self.kind, |out| self.fill(number, aside, out));
        let kept = front(room, bytes.len());
        kept.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
        BYTES.set(bytes);
        self.kind.of(Items::new(kept))
    }

    fn fill(&self, number: u64, aside: &mut [u8], out: &mut Elements<'_>) -> Result<(), Infallible> {
        for index in 0..self.length.get() {
            let number = Kind::element(number, self.length, index);
            for element in &self.elements {
                match element {
                    Generator::Nested(nested) => out.nested(nested.kind, |out| nested.fill(number, aside, out))?,
                    other => out.push(other.value(number, &mut &mut *aside)),
                }
            }
        }
        Ok(())
    }
}

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

/// Which of the `each` rows of a key come together.
#[derive(Clone, Copy, Debug)]
struct Answer {
    each: u64,
    from: u64,
    rows: u64,
    descends: bool,
    check: RowCheck,
}

/// The rows that come together for a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    /// The least number.
    first: u64,
    /// How many.
    pub count: u64,
    descends: bool,
}

impl Due {
    /// Their numbers, in their order.
    pub fn numbers(self) -> impl Iterator<Item = u64> {
        let Due { first, count, descends } = self;
        (0..count).map(move |place| first.wrapping_add(if descends { count - 1 - place } else { place }))
    }
}

#[derive(Clone, Debug)]
struct Any {
    generators: Vec<Generator>,
    /// Every value is the generator's for the row's own number.
    plain: bool,
    columns: Vec<Column>,
    /// Rows of a key.
    rows: NonZeroU64,
    /// What comes together for a key: some of its rows, or one of a number.
    answer: Answer,
    /// Checksums of a key's rows, if several are expected.
    known: Option<Known>,
    /// Bytes of the unique texts and blobs of a row, and of its elements.
    room: usize,
}

impl Columns {
    /// Of keys with one row.
    pub(crate) fn new(columns: &[Column]) -> Columns {
        Columns::of_rows(columns, NonZeroU64::MIN)
    }

    pub(crate) fn of_rows(columns: &[Column], rows: NonZeroU64) -> Columns {
        let generators: Vec<Generator> =
            columns.iter().map(|column| Generator::of(&column.kind, column.unique)).collect();
        let any = Any {
            plain: columns.iter().all(Column::is_plain),
            columns: columns.to_vec(),
            rows,
            answer: Answer { each: 1, from: 0, rows: 1, descends: false, check: RowCheck::Order },
            known: None,
            room: generators.iter().map(Generator::room).sum(),
            generators,
        };
        let bigints: Option<Box<[Bigint]>> = columns.iter().map(Bigint::of).collect();
        Columns { bigints: bigints.unwrap_or_default(), any: Box::new(any) }
    }

    /// Of expected rows; `keys` are the keys that will come.
    pub(crate) fn expected(expect: &Expectation, keys: &[Range<u64>]) -> Columns {
        let stored = NonZeroU64::new(expect.stored()).unwrap_or(NonZeroU64::MIN);
        let mut columns = Columns::of_rows(&expect.columns, stored);
        if stored > NonZeroU64::MIN {
            columns.bigints = Box::default();
            columns.any.plain = false;
            let (each, from, rows, descends) = (stored.get(), expect.from, expect.rows(), expect.descending);
            columns.any.answer = Answer { each, from, rows, descends, check: expect.check };
            // One row is compared by itself, and what is counted is not compared.
            let is_summed = rows > 1 && expect.check != RowCheck::Count;
            columns.any.known = Some(Known::of(&columns, if is_summed { keys } else { &[] }));
        }
        columns
    }

    /// The rows that come together for `key`.
    #[inline]
    pub(crate) fn rows_of(&self, key: u64) -> Due {
        let Answer { each, from, rows, descends, .. } = self.any.answer;
        Due { first: key.wrapping_mul(each).wrapping_add(from), count: rows, descends }
    }

    /// What is checked of the rows that come together.
    pub(crate) fn check(&self) -> RowCheck {
        self.any.answer.check
    }

    /// The checksums that the rows of a key should have, if several are expected.
    #[inline]
    pub(crate) fn known(&self) -> Option<&Known> {
        self.any.known.as_ref()
    }

    pub(crate) fn len(&self) -> usize {
        self.any.generators.len()
    }

    /// Bytes that the unique texts and blobs of a row need, and its elements.
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

    /// As [`Columns::bind`] does, in a vector that is empty.
    #[inline]
    pub(crate) fn bind_into<'r, 'a>(
        &self,
        row: u64,
        values: &'r mut Vec<Value<'a>>,
        room: &'a mut [u8],
    ) -> &'r [Value<'a>] {
        if self.bigints.is_empty() {
            self.bind_rows(row..row.saturating_add(1), values, room);
        }
        values.extend(self.bigints.iter().map(|bigint| bigint.value(row)));
        values
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
        self.rows_of(key).numbers().for_each(|row| self.fill_row(row, rows));
        rows.end_page();
    }

    fn fill_row(&self, row: u64, rows: &mut Rows) {
        if self.bigints.is_empty() {
            for index in 0..self.len() {
                self.with_value(row, index, |value| rows.push(value.unwrap_or(Value::Null)));
            }
        }
        for bigint in &self.bigints {
            rows.push_bigint(Kind::number(row, bigint.times, bigint.plus));
        }
        rows.end_row();
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
        let (times, plus, length) = (3, -1, NonZeroU64::new(3).unwrap());
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
            Kind::Udt { of: vec![Kind::Date { times, plus }, Kind::Vector { length, times, plus }] },
            Kind::Vector { length, times, plus },
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
        let length = NonZeroU64::new(3).unwrap();
        let blobs =
            Kind::List { of: Box::new(Kind::Blob { length: "exponential(0..90)".parse().unwrap(), plus: 0 }), length };
        let kinds = [Kind::Set { of: text(0), length }, Kind::Map { keys: text(1), of: Box::new(blobs), length }];
        let columns = Columns::new(&kinds.map(Column::from));
        for number in 0..2_000 {
            let (mut room, mut values) = (vec![0; columns.room()], Values::<MAX_VALUES>::new());
            let values = columns.bind(number, &mut values, &mut room);
            let items = |index: usize| values[index].nested().map(|(_, items)| items.iter().count());
            assert_eq!([items(0), items(1)], [Some(3), Some(6)], "{number}");
        }
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
