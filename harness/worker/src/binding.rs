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
            Generator::Text(texts) => texts.length.span(),
            Generator::Blob(blobs) => blobs.length.span(),
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
        match column.at {
            None if column.by != By::Rows => Answer::key(issued),
            _ if column.by == By::Rows => self.rows_of(issued).count,
            None => 0,
            Some(at) => {
                let due = self.rows_of(issued);
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
pub(crate) mod tests;
