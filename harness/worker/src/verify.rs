//! Checks that the rows that came back are the scenario's.

use std::fmt::Display;

use cqldyno_driver_api::{DriverError, ErrorKind, Row, Rows, Value};
use cqldyno_scenarios::{Answer, RowCheck};

use crate::binding::Columns;
use crate::partition;

/// The longest text or blob that a message shows, in characters or bytes.
const SHOWN: usize = 40;

const SHOWN_ELEMENTS: usize = 4;

/// Checks every column of `rows` for `key`: exactly one row of `expected`'s columns, or no row if none is expected.
///
/// # Errors
/// [`ErrorKind::WrongRow`], naming key, column, expected and found value.
#[inline(always)]
pub(crate) fn verify(expected: Option<&Columns>, key: u64, rows: &Rows) -> Result<(), DriverError> {
    let is_right = match expected {
        None => rows.is_empty(),
        Some(expected) => rows.only().is_some_and(|row| expected.is_row(key, row)),
    };
    if is_right { Ok(()) } else { verify_others(expected, key, rows) }
}

/// The same if several rows came, or none, or a wrong one, or one where none is expected.
#[inline(never)]
fn verify_others(expected: Option<&Columns>, key: u64, rows: &Rows) -> Result<(), DriverError> {
    let Some(expected) = expected else { return Err(wrong_count(key, 0, rows.len())) };
    if let Some(row) = rows.only() {
        return match row.len() == expected.len() {
            false => Err(wrong_width(key, expected.len(), row.len())),
            true if is_only(expected, key, row) => Ok(()),
            true => Err(wrong_in_row(expected, key, row)),
        };
    }
    let count = expected.rows_of(key).count;
    let Some(known) = expected.known().filter(|_| rows.len() as u64 == count) else {
        return Err(wrong_count(key, count as usize, rows.len()));
    };
    if expected.check() == RowCheck::Count {
        let wrong = rows.iter().map(|row| row.len()).find(|width| *width != expected.len());
        return wrong.map_or(Ok(()), |width| Err(wrong_width(key, expected.len(), width)));
    }
    match partition::found(rows, expected.len(), expected.check()) {
        Ok(sums) if sums == known.get(expected, key) => Ok(()),
        Ok(_) if expected.check() == RowCheck::Content => {
            let own = Answer::key(key);
            if let Some((range, ranges)) = expected.range(own) {
                return Err(wrong(format_args!(
                    "the {count} rows of range {} of the {ranges} of all tokens are not those that were loaded",
                    range + 1
                )));
            }
            Err(wrong(format_args!("the {count} rows of key {own} are not those that it has, in whatever order")))
        }
        Ok(_) => Err(wrong_cell(expected, key, rows)),
        Err(at) => Err(wrong_width(key, expected.len(), rows.get(at).map_or(0, |row| row.len()))),
    }
}

/// Whether the row is the one that comes back of several that a key has.
fn is_only(expected: &Columns, key: u64, row: Row<'_>) -> bool {
    let due = expected.rows_of(key);
    let is_it = || due.numbers().all(|number| expected.first_wrong(number, row).is_none());
    due.count == 1 && (expected.check() == RowCheck::Count || is_it())
}

/// Looks for what makes a checksum wrong: the order of the rows, or a cell.
#[cold]
fn wrong_cell(expected: &Columns, key: u64, rows: &Rows) -> DriverError {
    let (all, own) = (rows.len(), Answer::key(key));
    match partition::other_order(expected, key, rows) {
        Some((.., true)) => {
            return wrong(format_args!(
                "the {all} rows of key {own} came in the reverse order of their places; add ORDER BY with the other direction (ASC or \
                 DESC) to the cql, or turn CLUSTERING ORDER in the schema round"
            ));
        }
        Some((at, place, false)) => {
            return wrong(format_args!(
                "the {all} rows of key {own} came in another order than that of their places: the first that differs is row {}, which \
                 should be row {}; order them by a clustering column whose values rise with the place, such as a bigint, a timestamp or \
                 a timeuuid",
                at + 1,
                place + 1
            ));
        }
        None => {}
    }
    for (at, (number, row)) in expected.rows_of(key).numbers().zip(rows.iter()).enumerate() {
        if let Some(column) = expected.first_wrong(number, row) {
            let place = format!("row {} of the {all} of key {own}", at + 1);
            return wrong_value(expected, &place, number, column, row);
        }
    }
    wrong(format_args!("the checksums of the {all} rows of key {own} are not as they should be"))
}

#[cold]
pub(crate) fn wrong(message: impl Display) -> DriverError {
    DriverError::new(ErrorKind::WrongRow, message)
}

pub(crate) fn rows(count: usize) -> String {
    match count {
        0 => "no row".to_owned(),
        1 => "1 row".to_owned(),
        count => format!("{count} rows"),
    }
}

#[cold]
fn wrong_count(key: u64, expected: usize, found: usize) -> DriverError {
    let (were, key) = (if expected > 1 { "were" } else { "was" }, Answer::key(key));
    wrong(format_args!("for key {key} {} {were} expected, and {} came back", rows(expected), rows(found)))
}

#[cold]
fn wrong_width(key: u64, expected: usize, found: usize) -> DriverError {
    let key = Answer::key(key);
    wrong(format_args!("for key {key} a row of {expected} columns was expected, and one of {found} came back"))
}

#[cold]
fn wrong_in_row(expected: &Columns, key: u64, row: Row<'_>) -> DriverError {
    let due = expected.rows_of(key);
    let number = due.numbers().next().filter(|_| due.count == 1);
    match number.and_then(|number| Some((number, expected.first_wrong(number, row)?))) {
        Some((number, column)) => {
            wrong_value(expected, &format!("the row of key {}", Answer::key(key)), number, column, row)
        }
        None => wrong_count(key, due.count as usize, 1),
    }
}

#[cold]
fn wrong_value(expected: &Columns, place: &str, number: u64, column: usize, row: Row<'_>) -> DriverError {
    let (expected, found) = (expected.with_value(number, column, shown), shown(row.get(column)));
    wrong(format_args!("in {place} column {} should be {expected}, and {found} was found", column + 1))
}

pub(crate) fn shown(value: Option<Value<'_>>) -> String {
    value.map_or_else(|| "nothing".to_owned(), show)
}

fn show(value: Value<'_>) -> String {
    let kind = value.type_name();
    if let Some((_, items)) = value.nested() {
        let shown: Vec<String> = items.iter().take(SHOWN_ELEMENTS).map(|item| show(item.value())).collect();
        return format!("{kind} [{}] of {}", shown.join(", "), items.count());
    }
    match value {
        Value::Uuid(value) | Value::Timeuuid(value) => format!("{kind} {:032x}", u128::from_be_bytes(value)),
        Value::Text(value) => {
            let shown: String = value.chars().take(SHOWN).collect();
            format!("{kind} {shown:?} of {} bytes", value.len())
        }
        Value::Blob(value) => {
            let shown: String = value.iter().take(SHOWN).map(|byte| format!("{byte:02x}")).collect();
            format!("{kind} 0x{shown} of {} bytes", value.len())
        }
        Value::Date(value) => format!("{kind} of day {value}"),
        Value::Decimal { unscaled, scale } => format!("{kind} {unscaled}e-{scale}"),
        Value::Duration { months, days, nanoseconds } => format!("{kind} {months}mo{days}d{nanoseconds}ns"),
        plain => plain.shown().map_or_else(|| kind.to_owned(), |shown| format!("{kind} {shown}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::Values;
    use crate::binding::tests::{bigints, one_of_each, one_of_each_other, one_of_each_with_nulls};
    use cqldyno_scenarios::{Kind, MAX_VALUES};

    fn message(result: Result<(), DriverError>) -> String {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WrongRow);
        error.into_message()
    }

    #[test]
    fn the_right_row_passes_and_another_keys_row_does_not() {
        let expected = Columns::new(&one_of_each());
        let mut rows = Rows::new();
        expected.fill(7, &mut rows);
        assert_eq!(verify(Some(&expected), 7, &rows), Ok(()));
        assert_eq!(
            message(verify(Some(&expected), 8, &rows)),
            "in the row of key 8 column 1 should be bigint 23, and bigint 20 was found"
        );
    }

    /// For each type: everything right but that one column, which is a null, and then another key's value. Where columns may be null,
    /// every second one is due to be in the row of key 7, and another key's value is what should not be there.
    #[test]
    fn a_null_or_a_wrong_value_is_found_in_every_column_of_every_type() {
        for columns in [one_of_each(), one_of_each_other(), one_of_each_with_nulls(), bigints()] {
            let expected = Columns::new(&columns);
            let (mut values, mut others) = (Values::<MAX_VALUES>::new(), Values::<MAX_VALUES>::new());
            let mut rooms = [7, 8].map(|_| vec![0; expected.room()]);
            let [room, other_room] = &mut rooms;
            let (values, others) = (expected.bind(7, &mut values, room), expected.bind(8, &mut others, other_room));
            for wrong in 0..columns.len() {
                for instead in [Value::Null, others[wrong]] {
                    let mut rows = Rows::new();
                    for (index, &value) in values.iter().enumerate() {
                        rows.push(if index == wrong { instead } else { value });
                    }
                    rows.end_row();
                    let result = verify(Some(&expected), 7, &rows);
                    // A null column stays null, an empty blob is the same for every key.
                    if instead == values[wrong] {
                        assert_eq!(result, Ok(()), "{instead:?} in column {}", wrong + 1);
                    } else {
                        let message = message(result);
                        assert!(message.contains(&format!("column {} should be", wrong + 1)), "{message}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_column_behind_the_last_one_is_found() {
        for columns in [one_of_each(), one_of_each_with_nulls(), bigints()] {
            let expected = Columns::new(&columns);
            let mut values = Values::<MAX_VALUES>::new();
            let values = expected.bind(7, &mut values, &mut []);
            let mut rows = Rows::new();
            values.iter().for_each(|value| rows.push(*value));
            rows.push_null();
            rows.end_row();
            assert_eq!(
                message(verify(Some(&expected), 7, &rows)),
                format!(
                    "for key 7 a row of {} columns was expected, and one of {} came back",
                    columns.len(),
                    columns.len() + 1
                )
            );
        }
    }

    #[test]
    fn a_value_of_the_right_number_and_the_wrong_type_is_found() {
        let expected = Columns::new(&[Kind::Bigint { times: 1, plus: 0 }.into()]);
        let mut rows = Rows::new();
        rows.push_int(7);
        rows.end_row();
        assert_eq!(
            message(verify(Some(&expected), 7, &rows)),
            "in the row of key 7 column 1 should be bigint 7, and int 7 was found"
        );
    }

    #[test]
    fn missing_and_additional_rows_and_columns_are_found() {
        let expected = Columns::new(&one_of_each());
        let mut rows = Rows::new();
        assert_eq!(verify(None, 7, &rows), Ok(()));
        assert_eq!(message(verify(Some(&expected), 7, &rows)), "for key 7 1 row was expected, and no row came back");
        rows.push_bigint(20);
        rows.end_row();
        assert_eq!(
            message(verify(Some(&expected), 7, &rows)),
            "for key 7 a row of 12 columns was expected, and one of 1 came back"
        );
        assert_eq!(message(verify(None, 7, &rows)), "for key 7 no row was expected, and 1 row came back");
        rows.clear();
        expected.fill(7, &mut rows);
        expected.fill(7, &mut rows);
        assert_eq!(message(verify(Some(&expected), 7, &rows)), "for key 7 1 row was expected, and 2 rows came back");
    }

    #[test]
    fn long_values_are_shortened_in_messages() {
        assert_eq!(show(Value::Text(&"a".repeat(100))), format!("text {:?} of 100 bytes", "a".repeat(40)));
        assert!(show(Value::Blob(&[0xab; 1_000_000])).len() < 120);
        let elements = [3, 0].repeat(100);
        let list = show(Value::List(cqldyno_driver_api::Items::new(&elements)));
        assert!(list.len() < 120, "{list}");
    }
}
