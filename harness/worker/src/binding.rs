//! From a row's key to its values, without allocating.

use std::cell::RefCell;
use std::convert::Infallible;
use std::mem::take;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::ops::Range;

use cqldyno_driver_api::{Elements, Items, Nested, Row, Rows, Value, token};
use cqldyno_scenarios::{
    Amount, Answer, Blobs, By, Column, Expectation, Kind, Operation, RowCheck, Statement, Texts, UniqueBlobs,
    UniqueTexts, range_end,
};

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
    /// Lists of one value of each row that comes back, at most so many.
    Each(Box<NestedGenerator>),
}

impl Generator {
    /// Of a column whose keys have so many rows.
    fn of_column(column: &Column, rows: NonZeroU64) -> Generator {
        let Column { kind, unique, compressible, .. } = column;
        let Kind::Each { of } = kind else { return Generator::of(kind, *unique, *compressible) };
        let rows = usize::try_from(rows.get()).unwrap_or(usize::MAX);
        let elements = vec![Generator::of(of, *unique, *compressible)];
        Generator::Each(Box::new(NestedGenerator::new(Nested::List, (rows.into(), 0), elements)))
    }

    fn of(kind: &Kind, unique: bool, compressible: Option<f64>) -> Generator {
        if let Some(texts) = kind.texts() {
            let texts = compressible.map_or(texts, |share| texts.compressible(share));
            return if unique { Generator::UniqueText(Box::new(texts.unique())) } else { Generator::Text(texts) };
        }
        if let Some(blobs) = kind.blobs() {
            let blobs = compressible.map_or(blobs, |share| blobs.compressible(share));
            return if unique { Generator::UniqueBlob(Box::new(blobs.unique())) } else { Generator::Blob(blobs) };
        }
        if let Some((nested, length, of)) = kind.elements() {
            // The elements of a set and the keys of a map, which come first, never repeat.
            let differ = |at| at == 0 && matches!(nested, Nested::Set | Nested::Map);
            let mut elements: Vec<Generator> =
                of.into_iter().enumerate().map(|(at, of)| Generator::of(of, differ(at), None)).collect();
            if let Kind::Vector { times, plus, .. } = *kind {
                elements.push(Generator::Plain(Kind::Float { times, plus }));
            }
            return Generator::Nested(Box::new(NestedGenerator::new(nested, (length, kind.plus()), elements)));
        }
        match *kind {
            Kind::Uuid { plus } if unique => Generator::UniqueUuid { plus },
            ref plain => Generator::Plain(plain.clone()),
        }
    }

    /// Bytes that a value takes from the room.
    fn room(&self) -> usize {
        match self {
            Generator::UniqueText(texts) => texts.length().most(),
            Generator::UniqueBlob(blobs) => blobs.length().most(),
            Generator::Nested(nested) | Generator::Each(nested) => nested.room,
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
            // Of a drawn number of elements all may be missing.
            Generator::Nested(nested) if nested.length.is_drawn() => nested.room - nested.aside,
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
            Generator::Nested(ref nested) => nested.value(nested.numbers(number), room),
            Generator::Each(ref nested) => nested.value(std::iter::once(number), room),
        }
    }
}

#[derive(Clone, Debug)]
struct NestedGenerator {
    kind: Nested,
    /// How often each of `elements` makes one.
    length: Amount,
    /// Seeds how often, if that is drawn.
    plus: i64,
    elements: Vec<Generator>,
    /// Bytes that making one element takes, at any depth.
    aside: usize,
    /// Those, and the bytes of all elements.
    room: usize,
}

impl NestedGenerator {
    fn new(kind: Nested, (length, plus): (Amount, i64), elements: Vec<Generator>) -> NestedGenerator {
        let aside = elements.iter().map(|element| match element {
            Generator::Nested(nested) => nested.aside,
            other => other.room(),
        });
        let aside = aside.max().unwrap_or(0);
        let mut nested = NestedGenerator { kind, length: length.most().into(), plus, elements, aside, room: 0 };
        // The first one with the most elements, and each of these may be the shortest.
        let mut bytes = Vec::new();
        let Ok(()) = nested.fill(nested.numbers(0), &mut vec![0; aside], &mut Elements::new(&mut bytes));
        nested.room = aside + bytes.len() + nested.span();
        nested.length = length;
        nested
    }

    fn span(&self) -> usize {
        let of_one: usize = self.elements.iter().map(Generator::span).sum();
        self.length.most().saturating_mul(of_one)
    }

    /// What the elements of the value of `number` follow from.
    fn numbers(&self, number: u64) -> impl Iterator<Item = u64> + use<> {
        let most = self.length.most();
        (0..self.length.of(number, self.plus)).map(move |index| Kind::element(number, most, index))
    }

    /// With an element, or a key and its value, of each of these numbers.
    fn value<'a>(&self, numbers: impl Iterator<Item = u64>, room: &mut &'a mut [u8]) -> Value<'a> {
        thread_local! {
            static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut bytes = BYTES.take();
        bytes.clear();
        let aside = front(room, self.aside);
        let Ok(()) = Elements::new(&mut bytes).all(self.kind, |out| self.fill(numbers, aside, out));
        let kept = front(room, bytes.len());
        kept.iter_mut().zip(&bytes).for_each(|(to, from)| *to = *from);
        BYTES.set(bytes);
        self.kind.of(Items::new(kept))
    }

    fn fill(
        &self,
        numbers: impl Iterator<Item = u64>,
        aside: &mut [u8],
        out: &mut Elements<'_>,
    ) -> Result<(), Infallible> {
        for number in numbers {
            for element in &self.elements {
                match element {
                    Generator::Nested(nested) => {
                        out.nested(nested.kind, |out| nested.fill(nested.numbers(number), aside, out))?;
                    }
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

/// The rows that come together for a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due<'a> {
    /// The least number.
    first: u64,
    /// How many.
    pub count: u64,
    descends: bool,
    /// Their numbers, if these do not follow each other.
    listed: Option<&'a [u64]>,
}

impl<'a> Due<'a> {
    /// Their numbers, in their order.
    pub fn numbers(self) -> impl Iterator<Item = u64> + use<'a> {
        let Due { first, count, descends, listed } = self;
        let listed = move |place: u64| listed?.get(place as usize).copied();
        (0..count).map(move |place| {
            listed(place).unwrap_or(first.wrapping_add(if descends { count - 1 - place } else { place }))
        })
    }
}

/// The rows of each range of tokens, by their numbers.
#[derive(Clone, Debug)]
struct Scan(Vec<Vec<u64>>);

impl Scan {
    /// Of the rows of these keys, which have these partition keys.
    fn new(ranges: u64, answer: Answer, keys: &[Range<u64>], partition: &Columns) -> Scan {
        let mut scan = Scan((0..ranges.max(1)).map(|_| Vec::new()).collect());
        for key in keys.iter().cloned().flatten() {
            for place in answer.places(key) {
                let number = key.wrapping_mul(answer.most()).wrapping_add(place);
                let token = partition.token(number);
                // The range to which the token belongs as a fraction of all, which is rounded as the ends of ranges are.
                let above = u128::from(token.cast_unsigned() ^ (1 << 63));
                let at = ((above * u128::from(ranges)) >> 64) as usize;
                let at = if at > 0 && token <= range_end(ranges, at as u64) { at - 1 } else { at };
                if let Some(range) = scan.0.get_mut(at) {
                    range.push(number);
                }
            }
        }
        scan
    }

    fn of(&self, key: u64) -> &[u64] {
        self.0.get((key % (self.0.len() as u64).max(1)) as usize).map_or(&[], Vec::as_slice)
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
    /// What comes together for a key: some of its rows; `None` for the one of a number.
    answer: Option<Answer>,
    descends: bool,
    check: RowCheck,
    /// Whether the columns are the values that a statement binds for a key, of which that is the answer.
    is_bound: bool,
    /// The ranges of tokens of which a key reads one, or has the ends bound, and their rows.
    ranges: u64,
    scan: Option<Scan>,
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
        let generators: Vec<Generator> = columns.iter().map(|column| Generator::of_column(column, rows)).collect();
        let any = Any {
            plain: columns.iter().all(Column::is_plain),
            columns: columns.to_vec(),
            rows,
            answer: None,
            descends: false,
            check: RowCheck::Order,
            is_bound: false,
            ranges: 1,
            scan: None,
            known: None,
            room: generators.iter().map(Generator::room).sum(),
            generators,
        };
        let bigints: Option<Box<[Bigint]>> = columns.iter().map(Bigint::of).collect();
        Columns { bigints: bigints.unwrap_or_default(), any: Box::new(any) }
    }

    /// Of the values that a statement binds.
    pub(crate) fn bound(statement: &Statement) -> Columns {
        let (columns, answer) = (&statement.values, statement.answer());
        let rows = NonZeroU64::new(answer.most()).unwrap_or(NonZeroU64::MIN);
        if statement.operation == Operation::Batch {
            return Columns::of_rows(columns, rows);
        }
        if !answer.is_drawn() && !columns.iter().any(Column::follows_from_rows) {
            return Columns::new(columns);
        }
        let mut bound = Columns::of_rows(columns, rows);
        bound.bigints = Box::default();
        (bound.any.plain, bound.any.is_bound, bound.any.answer) = (false, true, Some(answer));
        bound.any.ranges = statement.expect.as_ref().and_then(|expect| expect.ranges).unwrap_or(1);
        bound
    }

    /// Of the rows that a scan reads: those of `keys` with these columns as partition key.
    pub(crate) fn scanned(expect: &Expectation, ranges: u64, keys: &[Range<u64>], partition: &[Column]) -> Columns {
        let stored = NonZeroU64::new(expect.stored()).unwrap_or(NonZeroU64::MIN);
        let mut columns = Columns::of_rows(&expect.columns, stored);
        columns.bigints = Box::default();
        let scan = Scan::new(ranges, expect.answer(), keys, &Columns::of_rows(partition, stored));
        let any = &mut columns.any;
        (any.plain, any.check, any.ranges, any.scan) = (false, expect.check, ranges, Some(scan));
        let kept = if expect.check == RowCheck::Count { 0..0 } else { 0..ranges };
        columns.any.known = Some(Known::of(&columns, &[kept]));
        columns
    }

    /// The token of the row with this number, of which these columns are the partition key.
    fn token(&self, row: u64) -> i64 {
        let mut parts = vec![Vec::new(); self.len()];
        for (index, part) in parts.iter_mut().enumerate() {
            self.with_value(row, index, |value| match value {
                Some(Value::Text(text)) => part.extend_from_slice(text.as_bytes()),
                Some(Value::Blob(bytes)) => part.extend_from_slice(bytes),
                Some(Value::Inet(IpAddr::V4(address))) => part.extend_from_slice(&address.octets()),
                Some(Value::Inet(IpAddr::V6(address))) => part.extend_from_slice(&address.octets()),
                other => _ = other.map(|value| value.put_bytes(part)),
            });
        }
        let mut key = Vec::new();
        token::routing_key(parts.iter().map(Vec::as_slice), &mut key);
        token::token(&key)
    }

    /// Of expected rows; `keys` are the keys that will come.
    pub(crate) fn expected(expect: &Expectation, keys: &[Range<u64>]) -> Columns {
        let stored = NonZeroU64::new(expect.stored()).unwrap_or(NonZeroU64::MIN);
        let mut columns = Columns::of_rows(&expect.columns, stored);
        if stored > NonZeroU64::MIN {
            columns.bigints = Box::default();
            columns.any.plain = false;
            let answer = expect.answer();
            columns.any.answer = Some(answer);
            (columns.any.descends, columns.any.check) = (expect.descending, expect.check);
            // One row is compared by itself, what is counted is not compared, and what is drawn anew each time is not known before.
            let is_summed = expect.rows() > 1 && expect.check != RowCheck::Count && !answer.is_drawn();
            columns.any.known = Some(Known::of(&columns, if is_summed { keys } else { &[] }));
        }
        columns
    }

    /// The rows that come together for `key`.
    #[inline]
    pub(crate) fn rows_of(&self, key: u64) -> Due<'_> {
        if let Some(scan) = &self.any.scan {
            let listed = scan.of(key);
            return Due { first: 0, count: listed.len() as u64, descends: false, listed: Some(listed) };
        }
        let Some(answer) = self.any.answer else {
            return Due { first: key, count: 1, descends: false, listed: None };
        };
        let (places, own) = (answer.places(key), Answer::key(key));
        Due {
            first: own.wrapping_mul(answer.most()).wrapping_add(places.start),
            count: places.end - places.start,
            descends: self.any.descends,
            listed: None,
        }
    }

    /// The range of tokens that a key reads, counted from 0, and how many there are; `None` if it reads rows of its own.
    pub(crate) fn range(&self, key: u64) -> Option<(u64, u64)> {
        self.any.scan.as_ref().map(|_| (key % self.any.ranges, self.any.ranges))
    }

    /// What is checked of the rows that come together.
    pub(crate) fn check(&self) -> RowCheck {
        self.any.check
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
        if let Kind::Token {} = column.kind {
            let nth = Answer::key(row) % self.any.ranges + u64::from(column.at.is_some_and(|at| at < 0));
            return Some(Value::Bigint(range_end(self.any.ranges, nth)));
        }
        let number = match self.any.is_bound {
            true => self.number_bound(column, row),
            false => column.by.number(row, self.any.rows),
        };
        if let Generator::Each(each) = generator {
            let numbers = self.rows_of(row).numbers().map(|row| column.by.number(row, self.any.rows));
            return Some(each.value(numbers, room));
        }
        Some(if column.is_null(number) { Value::Null } else { generator.value(number, room) })
    }

    /// What a value that is bound for the key of an issue follows from.
    fn number_bound(&self, column: &Column, issued: u64) -> u64 {
        let due = self.rows_of(issued);
        match column.at {
            _ if column.by == By::Rows => due.count,
            None => Answer::key(issued),
            Some(at) => {
                let from = if at < 0 { due.first.wrapping_add(due.count) } else { due.first };
                column.by.number(from.wrapping_add_signed(at), self.any.rows)
            }
        }
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
            let [Value::Bigint(above), Value::Bigint(most)] = bound.bind(key, &mut values, &mut [])[..] else {
                panic!()
            };
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
