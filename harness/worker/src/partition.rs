//! The rows of a partition, checked by one checksum per column instead of row by row.
//!
//! A column's checksum is a polynomial of its cells' hashes in the order of the rows. Every step is a bijection of one hash, so
//! one wrong cell always changes it. Missing, doubled or swapped cells go unnoticed with a chance below 2^-40. Expected checksums
//! are computed before the window for as many keys as there is room for.

use std::net::IpAddr;
use std::ops::Range;

use cqldyno_driver_api::{Row, Rows, Value};
use cqldyno_scenarios::RowCheck;

use crate::binding::Columns;

/// The most checksums that are kept: 8 MiB.
const MOST_KEPT: u64 = 1 << 20;

/// The factor of the polynomial: odd, and 3 modulo 8, so that its powers differ in their low bits.
const POINT: u64 = 0x9e37_79b9_7f4a_7c1b;
const ODD: u64 = 0xd6e8_feb8_6659_fd93;

/// Checksums that a key has at most.
const SUMS: usize = 32;

/// Checksums of the columns. Columns whose indexes differ by a multiple of [`SUMS`] share one, row by row in turn.
pub(crate) type Sums = [u64; SUMS];

/// The expected checksums of as many keys as are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    parts: Vec<(Range<u64>, Vec<u64>)>,
}

impl Known {
    /// Computes those of `ranges` for which there is room.
    pub(crate) fn of(columns: &Columns, ranges: &[Range<u64>]) -> Known {
        let width = columns.len().min(SUMS);
        let mut room = MOST_KEPT / width.max(1) as u64;
        let mut parts = Vec::new();
        for range in ranges {
            let kept = range.start..range.end.min(range.start.saturating_add(room));
            room -= kept.end - kept.start;
            let sums = kept.clone().flat_map(|key| due(columns, key).into_iter().take(width)).collect();
            parts.push((kept, sums));
        }
        Known { parts }
    }

    #[inline]
    pub(crate) fn get(&self, columns: &Columns, key: u64) -> Sums {
        let key = columns.range(key).map_or(key, |(range, _)| range);
        let width = columns.len().min(SUMS);
        for (range, sums) in &self.parts {
            if range.contains(&key)
                && let Some(found) = sums.chunks_exact(width.max(1)).nth((key - range.start) as usize)
            {
                let mut all = [0; SUMS];
                all.iter_mut().zip(found).for_each(|(sum, found)| *sum = *found);
                return all;
            }
        }
        due(columns, key)
    }
}

/// The expected checksums of `key`, computed cell by cell.
fn due(columns: &Columns, key: u64) -> Sums {
    let mut sums: Sums = [0; SUMS];
    if columns.check() == RowCheck::Content {
        let row = |number| {
            stir((0..columns.len()).fold(0, |sum, at| columns.with_value(number, at, |value| with(sum, value))))
        };
        sums[0] = columns.rows_of(key).numbers().map(row).fold(0, u64::wrapping_add);
        return sums;
    }
    for row in columns.rows_of(key).numbers() {
        for first in (0..columns.len()).step_by(SUMS) {
            for (index, sum) in (first..columns.len()).zip(&mut sums) {
                *sum = columns.with_value(row, index, |value| with(*sum, value));
            }
        }
    }
    sums
}

/// The checksums of the columns of `rows`, each with so many; of rows in any order one of all. `Err` has the index of a row with another
/// number of columns.
#[inline]
pub(crate) fn found(rows: &Rows, width: usize, check: RowCheck) -> Result<Sums, usize> {
    let mut sums: Sums = [0; SUMS];
    for (at, row) in rows.iter().enumerate() {
        if row.len() != width {
            return Err(at);
        }
        if check == RowCheck::Content {
            sums[0] = sums[0].wrapping_add(stir((0..width).fold(0u64, |sum, at| with(sum, row.get(at)))));
            continue;
        }
        for first in (0..width).step_by(SUMS) {
            for (index, sum) in (first..width).zip(&mut sums) {
                *sum = with(*sum, row.get(index));
            }
        }
    }
    Ok(sums)
}

/// A checksum of rows in any order.
pub(crate) fn in_any_order<'a>(rows: impl Iterator<Item = Row<'a>>) -> u64 {
    rows.map(|row| stir((0..row.len()).fold(0, |sum, at| with(sum, row.get(at))))).fold(0, u64::wrapping_add)
}

/// Whether the rows that came are those of `key` in another order: then the first place with another row, that row's own place, and
/// whether they came in the reverse order.
#[cold]
pub(crate) fn other_order(columns: &Columns, key: u64, rows: &Rows) -> Option<(usize, usize, bool)> {
    let width = columns.len();
    let due_row = |row| (0..width).fold(0, |sum, at| columns.with_value(row, at, |value| with(sum, value)));
    let due: Vec<u64> = columns.rows_of(key).numbers().map(due_row).collect();
    let found: Vec<u64> = rows.iter().map(|row| (0..width).fold(0u64, |sum, at| with(sum, row.get(at)))).collect();
    let sorted = |of: &[u64]| {
        let mut sorted = of.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let at = due.iter().zip(&found).position(|(due, found)| due != found)?;
    let own = due.iter().position(|due| found.get(at) == Some(due))?;
    (sorted(&due) == sorted(&found)).then(|| (at, own, due.iter().rev().eq(&found)))
}

/// The checksum with one cell more.
#[inline(always)]
fn with(sum: u64, cell: Option<Value<'_>>) -> u64 {
    sum.wrapping_mul(POINT).wrapping_add(hash(cell))
}

#[inline(always)]
fn hash(cell: Option<Value<'_>>) -> u64 {
    match cell {
        None => stir(1),
        Some(Value::Null) => stir(2),
        Some(Value::Boolean(value)) => stir(stir(3) ^ u64::from(value)),
        Some(Value::Int(value)) => stir(stir(4) ^ u64::from(value.cast_unsigned())),
        Some(Value::Bigint(value)) => stir(stir(5) ^ value.cast_unsigned()),
        Some(Value::Double(value)) => stir(stir(6) ^ value.to_bits()),
        Some(Value::Timestamp(value)) => stir(stir(7) ^ value.cast_unsigned()),
        Some(Value::Uuid(value)) => bytes(8, &value),
        Some(Value::Text(value)) => bytes(9, value.as_bytes()),
        Some(Value::Blob(value)) => bytes(10, value),
        Some(other) => hash_other(other),
    }
}

/// The hash of a value whose type is not among the commonest.
#[inline(never)]
fn hash_other(value: Value<'_>) -> u64 {
    let two = |kind, one: u64, other: u64| stir(stir(stir(kind) ^ one) ^ other);
    match value {
        Value::Tinyint(value) => stir(stir(11) ^ u64::from(value.cast_unsigned())),
        Value::Smallint(value) => stir(stir(12) ^ u64::from(value.cast_unsigned())),
        Value::Float(value) => stir(stir(13) ^ u64::from(value.to_bits())),
        Value::Date(value) => stir(stir(14) ^ u64::from(value.cast_unsigned())),
        Value::Time(value) => stir(stir(15) ^ value.cast_unsigned()),
        Value::Inet(IpAddr::V4(value)) => bytes(16, &value.octets()),
        Value::Inet(IpAddr::V6(value)) => bytes(16, &value.octets()),
        Value::Timeuuid(value) => bytes(17, &value),
        Value::Varint(value) => stir(stir(18) ^ value.cast_unsigned()),
        Value::Decimal { unscaled, scale } => two(19, unscaled.cast_unsigned(), scale.cast_unsigned().into()),
        Value::Duration { months, days, nanoseconds } => {
            let months_and_days = (u64::from(months.cast_unsigned()) << 32) | u64::from(days.cast_unsigned());
            two(20, months_and_days, nanoseconds.cast_unsigned())
        }
        Value::Counter(value) => stir(stir(21) ^ value.cast_unsigned()),
        other => match other.nested() {
            Some((kind, items)) => bytes(1 + kind as u64, items.bytes()),
            None => stir(1),
        },
    }
}

#[inline]
fn bytes(kind: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = stir(stir(kind) ^ bytes.len() as u64);
    for word in words {
        hash = stir(hash ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    stir(hash ^ u64::from_le_bytes(last))
}

/// A bijection that mixes.
#[inline(always)]
fn stir(x: u64) -> u64 {
    let x = x.wrapping_add(ODD).wrapping_mul(ODD);
    x ^ (x >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cqldyno_driver_api::{DriverError, ErrorKind};
    use cqldyno_scenarios::{By, Column, Expectation, Kind};

    use crate::binding::tests::one_of_each_other;
    use crate::verify::verify;

    fn several(columns: Vec<Column>, rows: usize) -> Expectation {
        Expectation {
            rows: Some(rows.into()),
            stored: None,
            from: None,
            last: false,
            ranges: None,
            descending: false,
            check: RowCheck::Order,
            columns,
        }
    }

    const ROWS: usize = 20;
    const KEY: u64 = 7;

    fn columns() -> Vec<Column> {
        let place = Column { by: By::Place, ..Kind::Int { times: 1, plus: 0 }.into() };
        let some = Column { nulls: Some(0.3), ..Kind::Double { times: 3, plus: 1 }.into() };
        let kinds = [
            Kind::Text { length: 13.into(), plus: 0, unicode: true },
            Kind::Blob { length: 21.into(), plus: 0 },
            Kind::Uuid { plus: 1 },
            Kind::Timestamp { times: 1_000, plus: 5 },
            Kind::Boolean { times: 1, plus: 0 },
            Kind::Bigint { times: 1, plus: 0 },
        ];
        [place, some].into_iter().chain(kinds.map(Column::from)).collect()
    }

    fn expected(keys: &[Range<u64>]) -> Columns {
        Columns::expected(&several(columns(), ROWS), keys)
    }

    type Cells = Vec<Vec<Value<'static>>>;

    fn cells(columns: &Columns) -> Cells {
        let row = |row| {
            (0..columns.len()).map(|index| columns.value(row, index, &mut <&mut [u8]>::default()).unwrap()).collect()
        };
        columns.rows_of(KEY).numbers().map(row).collect()
    }

    fn rows(cells: &Cells) -> Rows {
        let mut rows = Rows::new();
        for row in cells {
            for cell in row {
                rows.push(*cell);
            }
            rows.end_row();
        }
        rows
    }

    /// What is said of a partition that was changed, by checksums that were kept and by those that were not.
    fn check(change: impl Fn(&mut Cells)) -> Result<(), DriverError> {
        let [kept, unkept] = [&[5..9, 20..21][..], &[]].map(|keys| {
            let expected = expected(keys);
            let mut cells = cells(&expected);
            change(&mut cells);
            verify(Some(&expected), KEY, &rows(&cells))
        });
        assert_eq!(kept, unkept);
        kept
    }

    fn message(change: impl Fn(&mut Cells)) -> String {
        let error = check(change).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongRow);
        error.into_message()
    }

    #[test]
    fn an_answer_may_be_a_part_of_what_a_key_has_and_in_the_other_order() {
        let verified = |of: Expectation, numbers: &[u64]| {
            let (expected, mut rows) = (Columns::expected(&of, &[0..5, 5..9]), Rows::new());
            for number in numbers {
                rows.push(Value::Bigint(number.cast_signed()));
                rows.end_row();
            }
            rows.end_page();
            verify(Some(&expected), KEY, &rows).map_err(|error| error.to_string())
        };
        let part = |rows, from: usize, descending| Expectation {
            stored: Some(20.into()),
            from: Some(from.into()),
            descending,
            ..several(vec![Kind::Bigint { times: 1, plus: 0 }.into()], rows)
        };
        assert_eq!(verified(part(2, 5, false), &[145, 146]), Ok(()));
        assert!(verified(part(2, 5, false), &[146, 145]).unwrap_err().contains("reverse order"));
        assert_eq!(verified(part(2, 18, true), &[159, 158]), Ok(()));
        assert_eq!(verified(part(1, 19, false), &[159]), Ok(()));
        assert!(
            verified(part(1, 0, false), &[7]).unwrap_err().contains("should be bigint 140, and bigint 7 was found")
        );
        assert!(verified(part(1, 0, false), &[140, 141]).unwrap_err().contains("1 row was expected, and 2 rows came"));
        assert!(verified(part(2, 0, false), &[140]).unwrap_err().contains("2 rows were expected, and 1 row came"));
    }

    #[test]
    fn rows_are_checked_in_any_order_or_by_their_number_where_that_is_asked() {
        let verified = |check, numbers: &[u64]| {
            let of = Expectation { check, ..several(vec![Kind::Bigint { times: 1, plus: 0 }.into(); 2], 3) };
            let (expected, mut rows) = (Columns::expected(&of, &[0..5, 5..9]), Rows::new());
            for number in numbers {
                rows.push(Value::Bigint(number.cast_signed()));
                rows.push(Value::Bigint(number.cast_signed()));
                rows.end_row();
            }
            rows.end_page();
            verify(Some(&expected), KEY, &rows).map_err(|error| error.to_string())
        };
        assert_eq!(verified(RowCheck::Content, &[22, 21, 23]), Ok(()));
        for wrong in [[21, 21, 23], [21, 22, 24]] {
            assert!(
                verified(RowCheck::Content, &wrong).unwrap_err().contains("3 rows of key 7 are not those that it has")
            );
        }
        assert_eq!(verified(RowCheck::Count, &[1, 1, 1]), Ok(()));
        let only = Expectation {
            rows: Some(1.into()),
            stored: Some(20.into()),
            check: RowCheck::Count,
            ..several(Vec::new(), 1)
        };
        let only = Expectation { columns: vec![Kind::Bigint { times: 1, plus: 0 }.into()], ..only };
        let mut any = Rows::new();
        any.push(Value::Bigint(-1));
        any.end_row();
        any.end_page();
        assert_eq!(verify(Some(&Columns::expected(&only, &[])), KEY, &any), Ok(()));
        for check in [RowCheck::Content, RowCheck::Count] {
            assert!(verified(check, &[21, 22]).unwrap_err().contains("3 rows were expected, and 2 rows came back"));
        }
    }

    #[test]
    fn the_rows_of_a_key_in_their_order_are_right_and_those_of_another_are_not() {
        assert_eq!(check(|_| ()), Ok(()));
        let expected = expected(&[]);
        assert!(verify(Some(&expected), KEY + 1, &rows(&cells(&expected))).is_err());
        let mut offline = Rows::new();
        expected.fill(KEY, &mut offline);
        assert_eq!(verify(Some(&expected), KEY, &offline), Ok(()));
    }

    #[test]
    fn every_single_wrong_cell_is_found_and_told_with_its_row_and_column() {
        let width = columns().len();
        for row in 0..ROWS {
            for column in 0..width {
                let wrong = |cells: &mut Cells| {
                    cells[row][column] = match cells[row][column] {
                        Value::Null => Value::Double(0.0),
                        Value::Boolean(value) => Value::Boolean(!value),
                        Value::Int(value) => Value::Int(value ^ 1),
                        Value::Bigint(value) => Value::Bigint(value ^ (1 << 40)),
                        Value::Double(value) => Value::Double(-value),
                        Value::Timestamp(value) => Value::Timestamp(value + 1),
                        Value::Uuid(value) => Value::Uuid((u128::from_be_bytes(value) ^ 1).to_be_bytes()),
                        Value::Text(_) => Value::Text("abcdefghijklm"),
                        Value::Blob(value) => Value::Blob(&value[1..]),
                        other => panic!("{other:?} is not among the columns"),
                    };
                };
                let message = message(wrong);
                let place = format!("in row {} of the 20 of key 7 column {} should be", row + 1, column + 1);
                assert!(message.starts_with(&place), "{message}");
                assert!(check(|cells| cells[row][column] = Value::Null).is_err() || column == 1);
            }
        }
    }

    #[test]
    fn every_wrong_or_swapped_cell_of_more_columns_than_checksums_is_found() {
        let columns = 2 * SUMS + 3;
        let kinds: Vec<Column> =
            (0..columns).map(|plus| Kind::Bigint { times: 1, plus: 100 * plus as i64 }.into()).collect();
        for kept in [&[5..9, 20..21][..], &[]] {
            let expected = Columns::expected(&several(Vec::clone(&kinds), 3), kept);
            let verified = |change: &dyn Fn(&mut Cells)| {
                let mut cells = cells(&expected);
                change(&mut cells);
                verify(Some(&expected), KEY, &rows(&cells))
            };
            assert_eq!(verified(&|_| ()), Ok(()));
            for column in 0..columns {
                assert!(verified(&|cells| cells[1][column] = Value::Bigint(-1)).is_err(), "column {column}");
            }
            assert!(verified(&|cells| cells[1].swap(1, 1 + SUMS)).is_err(), "two columns that share a checksum");
        }
    }

    #[test]
    fn values_of_every_other_type_are_checked_by_their_checksums() {
        let columns = Columns::expected(&several(one_of_each_other(), 3), &[]);
        let mut rows = Rows::new();
        columns.fill(KEY, &mut rows);
        assert_eq!(verify(Some(&columns), KEY, &rows), Ok(()));
        for wrong in 0..columns.len() {
            let mut rows = Rows::new();
            for number in columns.rows_of(KEY).numbers() {
                for index in 0..columns.len() {
                    let other = number + u64::from(index == wrong);
                    columns.with_value(other, index, |value| rows.push(value.unwrap()));
                }
                rows.end_row();
            }
            let error = verify(Some(&columns), KEY, &rows).unwrap_err();
            let place = format!("in row 1 of the 3 of key {KEY} column {} should be", wrong + 1);
            assert!(error.message().starts_with(&place), "{error}");
        }
    }

    #[test]
    fn a_value_of_another_type_is_found() {
        let column = columns().len() - 1;
        assert!(
            message(|cells| cells[3][column] = Value::Timestamp(143))
                .ends_with("be bigint 143, and timestamp 143 was found")
        );
    }

    #[test]
    fn missing_doubled_and_swapped_rows_and_cells_are_found() {
        assert_eq!(message(|cells| drop(cells.pop())), "for key 7 20 rows were expected, and 19 rows came back");
        assert_eq!(message(|cells| cells.truncate(1)), "for key 7 20 rows were expected, and 1 row came back");
        assert_eq!(message(Cells::clear), "for key 7 20 rows were expected, and no row came back");
        assert_eq!(
            message(|cells| cells.push(cells[19].clone())),
            "for key 7 20 rows were expected, and 21 rows came back"
        );
        assert!(
            message(|cells| cells[4] = cells[3].clone()).starts_with("in row 5 of the 20"),
            "one instead of another"
        );
        for (one, other) in [(0, 1), (0, 19), (3, 11), (17, 18)] {
            assert!(check(|cells| cells.swap(one, other)).is_err(), "rows {one} and {other}");
            for column in [0, 2, 3, 4, 5, 7] {
                let swapped = check(|cells| {
                    let kept = cells[one][column];
                    cells[one][column] = cells[other][column];
                    cells[other][column] = kept;
                });
                assert!(swapped.is_err(), "column {column} of rows {one} and {other}");
            }
        }
    }

    #[test]
    fn the_right_rows_in_another_order_are_told_from_wrong_ones_with_the_way_out() {
        assert_eq!(
            message(|cells| cells.rotate_left(1)),
            "the 20 rows of key 7 came in another order than that of their places: the first that differs is row 1, which should be \
             row 2; order them by a clustering column whose values rise with the place, such as a bigint, a timestamp or a timeuuid"
        );
        assert_eq!(
            message(|cells| cells.reverse()),
            "the 20 rows of key 7 came in the reverse order of their places; add ORDER BY with the other direction (ASC or DESC) to \
             the cql, or turn CLUSTERING ORDER in the schema round"
        );
        assert!(
            message(|cells| {
                cells.reverse();
                cells[4][5] = Value::Null;
            })
            .starts_with("in row 1 of the 20 of key 7 column 1 should be")
        );
    }

    #[test]
    fn a_row_of_another_width_is_found() {
        assert_eq!(
            message(|cells| cells[4].truncate(7)),
            "for key 7 a row of 8 columns was expected, and one of 7 came back"
        );
    }

    #[test]
    fn one_row_where_several_are_expected_is_a_wrong_count_even_when_it_is_a_right_row() {
        for (kind, value) in [(Kind::Null {}, Value::Null), (Kind::Bigint { times: 1, plus: 0 }, Value::Bigint(0))] {
            let expected = Columns::expected(&several(vec![kind.into()], 2), &[]);
            let mut rows = Rows::new();
            rows.push(value);
            rows.end_row();
            assert_eq!(
                verify(Some(&expected), 0, &rows).unwrap_err().message(),
                "for key 0 2 rows were expected, and 1 row came back"
            );
        }
    }
}
