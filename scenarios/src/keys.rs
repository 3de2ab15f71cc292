//! Primary keys: no two rows of a scenario share a whole one.

use std::ops::Range;

use cqldyno_driver_api::{DAY, Scalar};

use crate::cql::{Table, Uses, begins_with, has_in};
use crate::workload::{Workload, WorkloadError};
use crate::{Blobs, By, Column, Kind, Operation, Scenario, Statement};

impl Scenario {
    pub(crate) fn tables(&self) -> Vec<Table> {
        self.schema.iter().filter_map(|cql| Table::created_by(cql)).collect()
    }

    /// Marks the texts, blobs and uuids of primary keys as unique.
    pub(crate) fn mark_keys(&mut self) {
        if self.tape.is_some() {
            return;
        }
        let tables = self.tables();
        let mark = |cql: &str, bound: &mut [Column], selected: &mut [Column]| {
            let Some(uses) = Uses::of(cql, &tables) else { return };
            let Some(table) = tables.iter().find(|table| table.name == uses.table) else { return };
            let named = bound.iter_mut().zip(&uses.bound).chain(selected.iter_mut().zip(&uses.selected));
            for (column, name) in named {
                let kind = if let Kind::Each { of } = &column.kind { of } else { &column.kind };
                let could_repeat =
                    matches!(*kind, Kind::Text { .. } | Kind::Ascii { .. } | Kind::Blob { .. } | Kind::Uuid { .. });
                column.unique = could_repeat && name.as_ref().is_some_and(|name| table.key.contains(name));
            }
        };
        for statement in &mut self.statements {
            let expected = statement.expect.as_mut().map(|expect| expect.columns.as_mut_slice());
            mark(&statement.cql, &mut statement.values, expected.unwrap_or_default());
            if let Some(load) = &mut statement.load {
                mark(&load.cql, &mut load.values, &mut []);
            }
            if let Some(read_back) = &mut statement.read_back {
                mark(&read_back.cql, &mut read_back.values, &mut read_back.columns);
            }
        }
    }

    /// Why nobody knows how many rows `statement` adds to its table; `None` if it adds none, or one per key.
    pub fn uncounted(&self, statement: &Statement) -> Option<&'static str> {
        let (cql, loads) = (&statement.cql, statement.is_on_loaded_rows());
        if statement.operation == Operation::Prepare || statement.reads() || statement.adds.is_some() {
            return None;
        }
        if self.tape.is_some() {
            return Some("is of a tape, whose rows may be the same");
        }
        if begins_with(cql, &["delete"]) {
            return Some("deletes rows");
        }
        if begins_with(cql, &["begin"]) {
            return Some("is a batch of several statements");
        }
        let inserts = begins_with(cql, &["insert"]);
        if !inserts && !begins_with(cql, &["update"]) {
            return Some("is neither SELECT, INSERT nor UPDATE");
        }
        if statement.is_conditional() && loads {
            return None;
        }
        if !inserts && has_in(cql) {
            return Some("updates several rows at once");
        }
        match (inserts, loads) {
            (true, true) => Some("inserts rows beside those that it loads, or in their place"),
            (false, true) => None,
            _ if self.is_fixed(statement) => Some("writes the same row again and again"),
            _ => statement.read_back.is_none().then_some("writes and has no [statement.read_back]"),
        }
    }

    /// Whether no value of `statement` is part of a primary key.
    fn is_fixed(&self, statement: &Statement) -> bool {
        let tables = self.tables();
        let Some(uses) = Uses::of(&statement.cql, &tables) else { return false };
        let table = tables.iter().find(|table| table.name == uses.table);
        table.is_some_and(|table| !uses.bound.iter().flatten().any(|column| table.key.contains(column)))
    }

    /// Refuses a primary key that does not tell all rows of `workload` apart. A key of which this cannot be known, because no bind
    /// marker or another kind of statement sets it, is left to the server.
    pub(crate) fn check_keys(&self, workload: &Workload) -> Result<(), WorkloadError> {
        if self.tape.is_some() {
            return Ok(());
        }
        let tables = self.tables();
        let mut writers: Vec<Writer<'_>> = Vec::new();
        for (index, statement) in self.statements.iter().enumerate() {
            let load = statement.load.as_ref().map(|load| (&load.cql, &load.values));
            for (cql, values) in [(&statement.cql, &statement.values)].into_iter().chain(load) {
                let Some(writer) = Writer::of(statement, cql, values, workload.keys(index), &tables) else { continue };
                let (distinct, needed) = writer.told_apart();
                if distinct < needed {
                    return Err(WorkloadError(format!(
                        "statement {} of the scenario {} needs {needed} rows, warm-up included, and the primary key {} tells \
                         {distinct} apart; use longer key columns, or ask for fewer statements",
                        statement.name, self.name, writer.table
                    )));
                }
                // A statement may write the rows that it loads, or that another one loads whose keys it has.
                let source = |one: &'_ Statement| one.source().unwrap_or(&one.name).to_owned();
                let mut others = writers.iter().filter(|other| source(other.statement) != source(statement));
                if let Some(other) = others.find(|other| other.meets(&writer)) {
                    return Err(WorkloadError(format!(
                        "the statements {} and {} of the scenario {} make rows with the same primary key {}; give one of them \
                         other values or a table of its own",
                        other.statement.name, statement.name, self.name, writer.table
                    )));
                }
                writers.push(writer);
            }
        }
        Ok(())
    }
}

/// A statement that makes rows of a table.
struct Writer<'a> {
    statement: &'a Statement,
    table: &'a Table,
    /// The primary key's columns, in their order.
    key: Vec<&'a Column>,
    /// Keys of the window and of the warm-up.
    keys: [Range<u64>; 2],
}

impl<'a> Writer<'a> {
    fn of(
        statement: &'a Statement,
        cql: &str,
        values: &'a [Column],
        keys: [Range<u64>; 2],
        tables: &'a [Table],
    ) -> Option<Writer<'a>> {
        let uses = Uses::of(cql, tables).filter(|uses| uses.writes)?;
        let table = tables.iter().find(|table| table.name == uses.table)?;
        let column = |name: &String| {
            let at = uses.bound.iter().position(|bound| bound.as_ref() == Some(name))?;
            values.get(at)
        };
        let key = table.key.iter().map(column).collect::<Option<Vec<_>>>()?;
        Some(Writer { statement, table, key, keys })
    }

    /// How many rows the primary key tells apart, and how many it has to.
    fn told_apart(&self) -> (u128, u128) {
        let rows = u128::from(self.statement.stored());
        let keys = self.keys.clone().map(|keys| u128::from(keys.start)..u128::from(keys.end));
        let all = keys.clone().map(|keys| keys.start * rows..keys.end * rows);
        let of = |by| Apart::of(self.key.iter().copied().filter(|column| column.by == by && !is_partition(column)));
        let (by_row, by_key, by_place) = (of(By::Row), of(By::Key), of(By::Place));
        // Rows of one value of these columns, which tell all such blocks of rows apart.
        let partitions = self.key.iter().filter_map(|column| match column.kind {
            Kind::Partition { rows } => Some(u128::from(rows.get())),
            _ => None,
        });
        let block = partitions.chain((by_key.told(&keys) == amount(&keys)).then_some(rows)).min().unwrap_or(u128::MAX);
        let places = by_place.told(&[0..rows, 0..0]);
        let needed = block.min(amount(&all));
        let told =
            |apart: Apart| if block < amount(&all) { apart.told_in_a_row(needed, &all) } else { apart.told(&all) };
        let distinct = match places == rows {
            true => told(by_row.and(Apart { modulo: by_key.modulo.saturating_mul(rows), below: 0 })),
            false if block == rows => told(by_row).max(places),
            false => told(by_row),
        };
        (distinct, needed)
    }

    /// Whether each column of the primary key has a value that both make, as far as that can be told.
    fn meets(&self, other: &Writer<'_>) -> bool {
        if self.table != other.table {
            return false;
        }
        // Columns that follow from one number on both sides have values in common if that number has.
        let mut together: Vec<(Numbers, Numbers, i128, Apart)> = Vec::new();
        for (ours, theirs) in self.key.iter().zip(&other.key) {
            let Some(offset) = offset(&ours.kind, &theirs.kind) else { return false };
            let (one, two, apart) = (self.numbers(ours), other.numbers(theirs), Apart::of([*ours].into_iter()));
            match together.iter_mut().find(|(a, b, by, _)| (a, b, *by) == (&one, &two, offset)) {
                Some((.., all)) => *all = all.and(apart),
                None => together.push((one, two, offset, apart)),
            }
        }
        together.iter().all(|(ours, theirs, offset, apart)| {
            ours.iter().any(|ours| theirs.iter().any(|theirs| apart.meet(ours, theirs, *offset)))
        })
    }

    fn numbers(&self, column: &Column) -> Numbers {
        let rows = self.statement.stored();
        self.keys.clone().map(|keys| {
            let (start, end) = match (column.by, &column.kind) {
                (_, Kind::Partition { rows: part }) => {
                    (keys.start * rows / part.get(), (keys.end * rows).div_ceil(part.get()))
                }
                (By::Row | By::Rows, _) => (keys.start * rows, keys.end * rows),
                (By::Key, _) => (keys.start, keys.end),
                (By::Place, _) => (0, rows),
            };
            start.into()..end.into()
        })
    }
}

/// How much greater the number is for which the first column has a value than that for which the second has it; `None` where they
/// have no value in common, or that cannot be told.
fn offset(first: &Kind, second: &Kind) -> Option<i128> {
    match (first, second) {
        (Kind::Bigint { times, plus }, Kind::Bigint { times: factor, plus: more })
        | (Kind::Int { times, plus }, Kind::Int { times: factor, plus: more })
        | (Kind::Timestamp { times, plus }, Kind::Timestamp { times: factor, plus: more })
            if times == factor && *times != 0 =>
        {
            let (apart, times) = (i128::from(*more) - i128::from(*plus), i128::from(*times));
            (apart % times == 0).then_some(apart / times)
        }
        (Kind::Text { length, unicode, .. }, Kind::Text { length: bytes, unicode: script, .. }) => {
            (length == bytes && unicode == script).then_some(0)
        }
        (Kind::Blob { length, .. }, Kind::Blob { length: bytes, .. })
        | (Kind::Ascii { length, .. }, Kind::Ascii { length: bytes, .. }) => (length == bytes).then_some(0),
        _ => (first == second).then_some(0),
    }
}

fn is_partition(column: &Column) -> bool {
    matches!(column.kind, Kind::Partition { .. })
}

fn is_null_at_times(column: &Column) -> bool {
    column.null_every.is_some() || column.nulls.is_some()
}

/// Numbers of the window and of the warm-up.
type Numbers = [Range<i128>; 2];

/// More than there are numbers.
const BEYOND: u128 = 1 << 100;

/// Which numbers have values of their own.
#[derive(Clone, Copy, Debug)]
struct Apart {
    /// Numbers that differ modulo this have values that differ.
    modulo: u128,
    /// So have numbers below this, whatever the modulus is.
    below: u128,
}

/// How many elements of a set, or keys of a map, differ whatever number they follow from.
pub(crate) fn different_elements(of: &Kind) -> u128 {
    Apart::of_column(&Column::from(of.clone())).modulo
}

impl Apart {
    /// Of columns that follow from one number.
    fn of<'a>(columns: impl Iterator<Item = &'a Column>) -> Apart {
        columns.map(Apart::of_column).fold(Apart { modulo: 1, below: 0 }, Apart::and)
    }

    fn of_column(column: &Column) -> Apart {
        // Of `times * number + plus` modulo a power of two.
        let power = |bits: u32, times: i64| 1 << bits.saturating_sub(times.trailing_zeros());
        let modulo = match column.kind {
            _ if is_null_at_times(column) => 1,
            Kind::Decimal { times, .. } | Kind::Inet { times, v6: true, .. } => power(64, times),
            Kind::Inet { times, v6: false, .. } => power(32, times),
            Kind::Timeuuid { .. } => 1 << 56,
            Kind::Uuid { .. } | Kind::Partition { .. } => 1 << 64,
            Kind::Blob { length, plus } => Blobs::new(length, plus).unique().distinct.into(),
            ref other => match (other.texts(), other.number_of()) {
                (Some(texts), _) => texts.unique().distinct.into(),
                // Also of those whose elements might tell more apart.
                (_, None) => 1,
                (_, Some((Scalar::Boolean, times, _))) => power(1, times),
                (_, Some((scalar, times, _))) => match scalar {
                    Scalar::Double | Scalar::Float | Scalar::Time | Scalar::Duration | Scalar::Counter => 1,
                    whole => power(8 * whole.width().unwrap_or(0) as u32, times),
                },
            },
        };
        let up_to = |most: u128, times: i64, plus: i64| {
            most.saturating_sub(plus.unsigned_abs().into()).checked_div(times.unsigned_abs().into()).unwrap_or(0)
        };
        let below = match column.kind {
            _ if is_null_at_times(column) => 0,
            // Whole numbers up to 2^53 are exact, and those above come again as no rule says.
            Kind::Double { times, plus } => up_to(1 << 53, times, plus),
            Kind::Float { times, plus } => up_to(1 << 24, times, plus),
            // Those of one day.
            Kind::Time { times, plus } if plus >= 0 => up_to(DAY.unsigned_abs().into(), times, plus),
            _ => 0,
        };
        Apart { modulo, below }
    }

    fn and(self, other: Apart) -> Apart {
        let modulo = least_common_multiple(self.modulo, other.modulo).min(BEYOND);
        Apart { modulo, below: self.below.max(other.below) }
    }

    /// How many of these numbers have values that no other of them has, but for one of those that share a value.
    fn told(self, numbers: &[Range<u128>; 2]) -> u128 {
        let exact = numbers.clone().map(|part| part.start.min(self.below)..part.end.min(self.below));
        self.residues(numbers).max(amount(&exact))
    }

    /// As many of any `row` consecutive ones among these numbers.
    fn told_in_a_row(self, row: u128, numbers: &[Range<u128>; 2]) -> u128 {
        let is_exact = numbers.iter().all(|part| part.is_empty() || part.end <= self.below);
        if is_exact { row } else { self.modulo.min(row) }
    }

    /// How many residues these numbers have, which are no number twice.
    fn residues(self, [one, other]: &[Range<u128>; 2]) -> u128 {
        let [first, second] = [one, other].map(|part| amount(&[part.clone(), 0..0]).min(self.modulo));
        // Where the second part begins after the first one, on the circle of residues.
        let behind = (other.start % self.modulo + self.modulo - one.start % self.modulo) % self.modulo;
        let shared = first.saturating_sub(behind).min(second);
        let around = (behind + second).saturating_sub(self.modulo).min(first);
        (first + second - shared - around).min(self.modulo)
    }

    /// Whether one of `ours` and one of `theirs`, which is `offset` less, may have one value.
    fn meet(self, ours: &Range<i128>, theirs: &Range<i128>, offset: i128) -> bool {
        let theirs = theirs.start + offset..theirs.end + offset;
        if ours.is_empty() || theirs.is_empty() {
            return false;
        }
        let is_exact = ours.end.max(theirs.end).cast_unsigned() <= self.below && ours.start.min(theirs.start) >= 0;
        let modulo = if is_exact { BEYOND } else { self.modulo }.cast_signed();
        let behind = (theirs.start - ours.start).rem_euclid(modulo);
        behind < ours.end - ours.start || modulo - behind < theirs.end - theirs.start
    }
}

fn amount(parts: &[Range<u128>; 2]) -> u128 {
    parts.iter().map(|part| part.end.saturating_sub(part.start)).sum()
}

fn least_common_multiple(one: u128, other: u128) -> u128 {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (one / divisor.max(1)).saturating_mul(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Texts;
    use std::collections::HashSet;
    use std::num::NonZeroU64;

    /// Writes `key`, given as the TOML of its columns, as rows of a table with the primary key (a, b ...).
    fn scenario(key: &str, more: &str) -> String {
        let columns = key.matches("type").count();
        let names: Vec<String> = ('a'..).take(columns).map(String::from).collect();
        let (names, markers) = (names.join(", "), vec!["?"; columns].join(", "));
        let definitions = names.replace(',', " text,");
        format!(
            "name = \"x\"\nabout = \"\"\nschema = [\"CREATE TABLE ks.t ({definitions} text, v text, PRIMARY KEY ({names}))\"]\n\
             [[statement]]\nname = \"insert\"\n{more}\ncql = \"INSERT INTO ks.t ({names}, v) VALUES ({markers}, ?)\"\n\
             values = [{key}, {{ type = \"text\", length = 2 }}]\n"
        )
    }

    fn asked(text: &str, count: u64, warmup: u64) -> Result<(), String> {
        let scenario = Scenario::from_toml(text, "x").unwrap();
        Workload::new(&scenario, count, warmup, 7).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn rows_are_counted_unless_a_statement_may_add_another_number_than_one_per_key() {
        let read_back = "[statement.read_back]\ncql = \"SELECT v FROM ks.t WHERE a = ?\"\nvalues = [{ type = \"bigint\" }]\ncolumns = []\n";
        let insert = scenario("{ type = \"bigint\" }", "");
        let mut known = Scenario::from_toml(&format!("{insert}{read_back}"), "x").unwrap();
        assert_eq!(known.uncounted(&known.statements[0]), None);
        let unread = Scenario::from_toml(&insert, "x").unwrap();
        assert_eq!(unread.uncounted(&unread.statements[0]), Some("writes and has no [statement.read_back]"));
        let load = crate::builtin("reads").unwrap().statements.remove(0).load;
        for (cql, loads, why) in [
            ("SELECT v FROM ks.t WHERE a = ?", false, None),
            ("UPDATE ks.t SET v = ? WHERE a = ?", false, None),
            ("UPDATE ks.t SET v = ? WHERE a = ?", true, None),
            ("UPDATE ks.t SET v = ? WHERE a = ? IF v IN ('x')", true, None),
            ("INSERT INTO ks.t (a, v) VALUES (?, ?) IF NOT EXISTS", true, None),
            ("INSERT INTO ks.t (a, v) VALUES ('x', ?)", false, Some("writes the same row again and again")),
            ("UPDATE ks.t SET v = ? WHERE a IN (?, ?)", false, Some("updates several rows at once")),
            (
                "INSERT INTO ks.t (a, v) VALUES (?, ?)",
                true,
                Some("inserts rows beside those that it loads, or in their place"),
            ),
            ("DELETE FROM ks.t WHERE a = ? IF EXISTS", true, Some("deletes rows")),
            (
                "BEGIN BATCH INSERT INTO ks.t (a) VALUES (?); APPLY BATCH",
                false,
                Some("is a batch of several statements"),
            ),
            ("TRUNCATE ks.t", false, Some("is neither SELECT, INSERT nor UPDATE")),
        ] {
            let statement = &mut known.statements[0];
            (statement.cql, statement.load) = (cql.to_owned(), load.clone().filter(|_| loads));
            assert_eq!(known.uncounted(&known.statements[0]), why, "{cql}");
        }
        known.statements[0].operation = Operation::Prepare;
        assert_eq!(known.uncounted(&known.statements[0]), None, "it is never executed");
    }

    #[test]
    fn a_key_column_that_is_too_small_is_refused_with_both_numbers() {
        let text = scenario("{ type = \"text\", length = 3 }", "");
        assert_eq!(asked(&text, 17_000, 576), Ok(()));
        assert_eq!(
            asked(&text, 17_000, 577).unwrap_err(),
            "statement insert of the scenario x needs 17577 rows, warm-up included, and the primary key (a) of ks.t tells 17576 apart; \
             use longer key columns, or ask for fewer statements"
        );
        for (column, distinct) in [
            ("{ type = \"boolean\" }", 2),
            ("{ type = \"boolean\", times = 2 }", 1),
            ("{ type = \"int\", times = 16777216 }", 256),
            ("{ type = \"bigint\", times = 0 }", 1),
            ("{ type = \"tinyint\" }", 256),
            ("{ type = \"smallint\", times = 64 }", 1_024),
            ("{ type = \"inet\", times = 16777216 }", 256),
            ("{ type = \"float\", plus = 16777116 }", 100),
            ("{ type = \"time\", times = 1000000000000 }", 86),
            ("{ type = \"ascii\", length = 1 }", 26),
            ("{ type = \"double\", plus = 9007199254740892 }", 100),
            ("{ type = \"text\", length = 0 }", 1),
            ("{ type = \"text\", length = 3, unicode = true }", 26 * 32),
            ("{ type = \"blob\", length = 1 }", 256),
            ("{ type = \"bigint\", nulls = 0.1 }", 1),
        ] {
            assert_eq!(asked(&scenario(column, ""), distinct, 0), Ok(()), "{column}");
            let error = asked(&scenario(column, ""), distinct, 1).unwrap_err();
            assert!(error.contains(&format!("tells {distinct} apart")), "{error}");
        }
        for column in ["{ type = \"int\" }", "{ type = \"timestamp\", times = 1000 }", "{ type = \"uuid\" }"] {
            assert_eq!(asked(&scenario(column, ""), 1 << 30, 1 << 20), Ok(()), "{column}");
        }
    }

    #[test]
    fn what_the_columns_of_a_key_tell_apart_together_counts() {
        let bits = "{ type = \"boolean\" }, { type = \"blob\", length = 1 }, { type = \"text\", length = 1 }";
        assert_eq!(asked(&scenario(bits, ""), 256 * 13, 0), Ok(()));
        assert!(asked(&scenario(bits, ""), 256 * 13 + 1, 0).unwrap_err().contains("tells 3328 apart"));
        let batch = "operation = \"batch\"\nsize = 64";
        let partition = "{ type = \"partition\", rows = 64 }, { type = \"blob\", length = 1, by = \"place\" }";
        assert_eq!(asked(&scenario(partition, batch), 1 << 30, 0), Ok(()));
        let narrow = "{ type = \"partition\", rows = 64 }, { type = \"text\", length = 1, by = \"place\" }";
        let error = asked(&scenario(narrow, batch), 10, 0).unwrap_err();
        assert!(error.contains("needs 64 rows") && error.contains("tells 26 apart"), "{error}");
        let by_key = "{ type = \"text\", length = 1, by = \"key\" }, { type = \"int\", by = \"place\" }";
        assert_eq!(asked(&scenario(by_key, batch), 26, 0), Ok(()));
        assert!(asked(&scenario(by_key, batch), 27, 0).unwrap_err().contains("needs 1728 rows"));
    }

    #[test]
    fn statements_that_would_write_the_same_rows_are_refused_by_name() {
        let one = scenario("{ type = \"bigint\" }", "operation = \"batch\"\nsize = 64");
        let two = scenario("{ type = \"bigint\" }", "weight = 3").replace("\"insert\"", "\"other\"");
        let both = |one: &str, two: &str| format!("{one}{}", two.split_at(two.find("[[statement]]").unwrap()).1);
        assert_eq!(asked(&both(&two, &one), 1_000, 10), Ok(()), "the batches' rows come behind");
        let error = asked(&both(&one, &two), 1_000, 10).unwrap_err();
        assert!(error.contains("the statements insert and other of the scenario x"), "{error}");
        let other = |column: &str| asked(&both(&one, &two.replace("{ type = \"bigint\" }", column)), 1_000, 10);
        assert!(other("{ type = \"bigint\", plus = 1 }").is_err());
        assert_eq!(other("{ type = \"bigint\", plus = 1000000 }"), Ok(()), "values far from the others");
        assert_eq!(other("{ type = \"bigint\", times = 3 }"), Ok(()), "nothing is known of these");
        let text = |text: &str| text.replace("{ type = \"bigint\" }", "{ type = \"text\", length = 9 }");
        assert!(asked(&both(&text(&one), &text(&two)), 1_000, 10).is_err());
        assert_eq!(asked(&both(&text(&two), &text(&one)), 1_000, 10), Ok(()));
    }

    #[test]
    fn a_statement_needs_its_own_rows_only_wherever_its_keys_begin() {
        let text = "{ type = \"text\", length = 2 }";
        let (one, two) = (scenario(text, ""), scenario(text, "").replace("\"insert\"", "\"other\""));
        // The table of the second statement is another one.
        let [one, two] = [
            one.replace("schema = [", "schema = [\"CREATE TABLE ks.u (a text PRIMARY KEY, v text)\", "),
            two.replace("INTO ks.t", "INTO ks.u"),
        ];
        let apart = format!("{one}{}", two.split_at(two.find("[[statement]]").unwrap()).1);
        assert_eq!(asked(&apart, 1_352, 0), Ok(()), "keys from 676 on are as good as those from 0 on");
        assert_eq!(
            asked(&apart, 680, 4).unwrap_err(),
            "statement insert of the scenario x needs 344 rows, warm-up included, and the primary key (a) of ks.t tells 340 apart; use \
             longer key columns, or ask for fewer statements"
        );
        let together = apart.replace("INTO ks.u", "INTO ks.t");
        assert_eq!(asked(&together, 600, 30), Ok(()));
        let error = asked(&together, 1_352, 0).unwrap_err();
        assert!(error.contains("the statements insert and other of the scenario x"), "{error}");
    }

    #[test]
    fn doubles_of_a_batch_are_told_apart_only_as_far_as_all_of_them_are_exact() {
        let batch = "operation = \"batch\"\nsize = 64";
        let key = "{ type = \"partition\", rows = 64 }, { type = \"double\", plus = 9007199254734592 }";
        assert_eq!(asked(&scenario(key, batch), 100, 0), Ok(()));
        assert!(asked(&scenario(key, batch), 101, 0).unwrap_err().contains("needs 64 rows"));
    }

    #[test]
    fn what_sets_a_key_without_a_bind_marker_is_left_to_the_server() {
        let text = scenario("{ type = \"boolean\" }", "").replace("VALUES (?, ?)", "VALUES (now(), ?)");
        let text = text.replace("{ type = \"boolean\" }, ", "");
        assert_eq!(asked(&text, 1_000, 10), Ok(()));
    }

    #[test]
    fn every_scenario_that_comes_with_the_program_has_keys_for_many_rows() {
        let example = Scenario::from_toml(include_str!("../example.toml"), "x").unwrap();
        for scenario in crate::builtins().into_iter().chain([example]) {
            assert!(Workload::new(&scenario, 1 << 30, 1 << 20, 7).is_ok(), "{}", scenario.name);
        }
    }

    #[test]
    fn texts_blobs_and_uuids_of_a_key_are_unique_wherever_they_stand_and_other_columns_are_not() {
        let example = Scenario::from_toml(include_str!("../example.toml"), "x").unwrap();
        let unique = |columns: &[Column]| columns.iter().map(|column| column.unique).collect::<Vec<_>>();
        let look_up = &example.statements[1];
        assert_eq!(unique(&look_up.values), [true]);
        assert_eq!(unique(&look_up.expect.as_ref().unwrap().columns), [false; 3]);
        assert_eq!(unique(&look_up.load.as_ref().unwrap().values), [true, false, false, false]);
        assert_eq!(unique(&example.statements[0].values), [false; 4], "numbers are unique by themselves");
        let text = scenario("{ type = \"text\", length = 9 }", "");
        let read_back = "[statement.read_back]\ncql = \"SELECT * FROM ks.t WHERE a = ?\"\nvalues = [{ type = \"text\", length = 9 }]\n\
                         columns = [{ type = \"text\", length = 9 }, { type = \"text\", length = 2 }]\n";
        let scenario = Scenario::from_toml(&(text + read_back), "x").unwrap();
        let read_back = scenario.statements[0].read_back.as_ref().unwrap();
        assert_eq!((unique(&read_back.values), unique(&read_back.columns)), (vec![true], vec![true, false]));
        assert_eq!(unique(&scenario.statements[0].values), [true, false]);
    }

    /// The value of a column in a row, of rows with six per key.
    fn value(column: &Column, row: u64, rows: NonZeroU64) -> Vec<u8> {
        let number = column.by.number(row, rows);
        let mut room = [0; 8];
        match column.kind {
            Kind::Boolean { times, plus } => vec![(Kind::number(number, times, plus) & 1) as u8],
            Kind::Int { times, plus } => (Kind::number(number, times, plus) as i32).to_be_bytes().to_vec(),
            Kind::Double { times, plus } => (Kind::number(number, times, plus) as f64).to_be_bytes().to_vec(),
            Kind::Text { length, plus, .. } => {
                Texts::letters(length, plus).unique().of(number, &mut room).as_bytes().to_vec()
            }
            Kind::Partition { rows } => Kind::partition(number, rows).to_be_bytes().to_vec(),
            _ => panic!(),
        }
    }

    fn columns() -> Vec<Column> {
        let boolean = |by, times| Column { by, ..Kind::Boolean { times, plus: 0 }.into() };
        let int = |by, bits: i64| Column { by, ..Kind::Int { times: 1 << (32 - bits), plus: 5 }.into() };
        let part = |rows| Column::from(Kind::Partition { rows: NonZeroU64::new(rows).unwrap() });
        let double = |plus| Column::from(Kind::Double { times: 1, plus });
        let text = |by| Column { by, unique: true, ..Kind::Text { length: 1.into(), plus: 3, unicode: false }.into() };
        let mut columns: Vec<Column> =
            [By::Row, By::Place, By::Key].into_iter().flat_map(|by| [boolean(by, 1), int(by, 3), text(by)]).collect();
        columns.extend([int(By::Key, 20), part(4), part(6), double(7), double((1 << 53) - 40)]);
        columns
    }

    /// By brute force, over all pairs of columns.
    #[test]
    fn no_key_that_is_taken_has_two_rows_alike() {
        let rows = NonZeroU64::new(6).unwrap();
        let columns = columns();
        let text = scenario("{ type = \"int\" }, { type = \"int\" }", "operation = \"batch\"\nsize = 6");
        let second =
            text.split_at(text.find("[[statement]]").unwrap()).1.replace("\"insert\"", "\"other\"\nweight = 2");
        let alone = Scenario::from_toml(&text, "x").unwrap();
        let beside = Scenario::from_toml(&(text + &second), "x").unwrap();
        for (first, second) in columns.iter().flat_map(|first| columns.iter().map(move |second| (first, second))) {
            for mut scenario in [alone.clone(), beside.clone()] {
                for statement in &mut scenario.statements {
                    (statement.values[0], statement.values[1]) = (first.clone(), second.clone());
                }
                for (count, warmup) in (3..40).flat_map(|count| [(count, 0), (count, 3)]) {
                    let Ok(workload) = Workload::new(&scenario, count, warmup, 7) else { continue };
                    let mut seen = HashSet::new();
                    let keys = (0..scenario.statements.len()).flat_map(|statement| workload.keys(statement));
                    let mut all = keys.flat_map(|keys| keys.start * 6..keys.end * 6);
                    let tell = all.all(|row| seen.insert((value(first, row, rows), value(second, row, rows))));
                    assert!(tell, "{first:?} {second:?} {count} {warmup}");
                }
            }
        }
    }

    #[test]
    fn a_key_column_that_two_statements_share_is_no_matter_if_another_one_tells_them_apart() {
        let text = scenario(
            "{ type = \"int\", by = \"key\" }, { type = \"int\", by = \"place\" }",
            "operation = \"batch\"\nsize = 6",
        );
        let second =
            text.split_at(text.find("[[statement]]").unwrap()).1.replace("\"insert\"", "\"other\"\nweight = 2");
        let scenario = Scenario::from_toml(&(text + &second), "x").unwrap();
        assert!(Workload::new(&scenario, 30, 3, 7).is_ok());
    }

    #[test]
    fn a_key_of_one_column_is_refused_only_if_two_rows_are_alike() {
        let one = NonZeroU64::MIN;
        let text = scenario("{ type = \"int\" }", "");
        let second =
            text.split_at(text.find("[[statement]]").unwrap()).1.replace("\"insert\"", "\"other\"\nweight = 3");
        let mut scenario = Scenario::from_toml(&(text + &second), "x").unwrap();
        for column in columns().into_iter().filter(|column| !is_partition(column) && column.by == By::Row) {
            scenario.statements.iter_mut().for_each(|statement| statement.values[0] = column.clone());
            for (count, warmup) in (4..60).flat_map(|count| (0..12).map(move |warmup| (count, warmup))) {
                let taken = Workload::new(&scenario, count, warmup, 7).is_ok();
                let [quarter, behind] = [count / 4, count + warmup];
                let keys = [0..quarter, quarter..count, count..behind, behind..behind + warmup];
                let mut seen = HashSet::new();
                let tell = keys.into_iter().flatten().all(|row| seen.insert(value(&column, row, one)));
                let is_rounded = matches!(column.kind, Kind::Double { plus, .. } if plus > 7);
                assert!(tell == taken || (tell && is_rounded), "{column:?} {count} {warmup}");
            }
        }
    }
}
