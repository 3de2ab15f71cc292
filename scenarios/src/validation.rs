//! What makes a scenario impossible to run, beyond what the types say: one sentence and one place each.

use cqldyno_script::Step;

use crate::cql::{Uses, bind_markers};
use crate::fault::Segment::{Field, Item};
use crate::fault::{Fault, ensure};
use crate::keys::different_elements;
use crate::operation::MAX_BATCH;
use crate::scenario::{MAX_EXPONENT, MAX_RANGES, MAX_ROWS, MAX_VALUE_BYTES, MAX_VALUES, MIN_EXPONENT};
use crate::stream::COMPRESSIBLE;
use crate::workload::MOST;
use crate::{Amount, By, Column, Kind, Operation, Order, RowCheck, Scenario, Statement};

impl Scenario {
    /// The first reason why it cannot run.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        ensure(is_word(&self.name), &[Field("name")], || {
            format!("the name is {:?}; use a word of lower-case letters, digits and hyphens", self.name)
        })?;
        let limits =
            [("count", self.limits.count), ("concurrency", self.limits.concurrency), ("usual", self.limits.usual)];
        for (field, limit) in limits {
            ensure(limit != Some(0), &[Field("limits"), Field(field)], || {
                format!("the {field} of [limits] is 0; use 1 or more, or leave it out")
            })?;
        }
        ensure(self.idle.is_none_or(|time| !time.duration().is_zero()), &[Field("idle")], || {
            "idle is 0; use how long a worker is left alone after its turn, such as \"5s\", or leave it out".to_owned()
        })?;
        ensure(!self.statements.is_empty(), &[Field("statement")], || {
            "a scenario has no [[statement]] here; add at least one with name, cql and values".to_owned()
        })?;
        for (index, statement) in self.statements.iter().enumerate() {
            let (here, name) = ([Field("statement"), Item(index)], &statement.name);
            let is_new = !self.statements[..index].iter().any(|other| other.name == *name);
            ensure(is_new, &[here[0], here[1], Field("name")], || {
                format!("two statements are named {name}; give each a name of its own")
            })?;
            if self.tape.is_some() {
                self.check_played(statement).map_err(|fault| fault.within(&here))?;
                continue;
            }
            statement.check().map_err(|fault| fault.within(&here))?;
            if let Some(other) = &statement.keys_of {
                // Rows of another statement are there if it loads them; else this one says how many it adds.
                let is_counted = statement.expect.is_none() && statement.adds.is_some();
                let has_keys = |one: &Statement| {
                    let has_rows = one.load.is_some() || is_counted;
                    one.name == *other && one.keys_of.is_none() && one.amount() == statement.amount() && has_rows
                };
                ensure(self.statements.iter().any(has_keys), &[here[0], here[1], Field("keys_of")], || {
                    format!(
                        "keys_of of the statement {name} names {other:?}; name a statement that has keys of its own, as many rows per key, \
                         and [statement.load]"
                    )
                })?;
            }
            self.check_scan(index, statement).map_err(|fault| fault.within(&here))?;
            let is_submitted = self.submit.has_slots() || statement.operation == Operation::Execute;
            ensure(is_submitted, &[Field("submit")], || {
                format!(
                    "the way of submitting {} takes prepared statements alone, and the statement {name} is issued as {}; \
                     use slots or sequential",
                    self.submit, statement.operation
                )
            })?;
        }
        check_script(&self.script)
    }

    /// Refuses a statement of which no row of a tape is one execution.
    fn check_played(&self, statement: &Statement) -> Result<(), Fault> {
        let (name, operation) = (&statement.name, statement.operation);
        statement.check_name()?;
        let is_one = !matches!(operation, Operation::Batch | Operation::Prepare);
        ensure(is_one, &[Field("operation")], || {
            format!(
                "the statement {name} is issued as {operation}, and a row of a tape is one execution with its own values; use another \
                 operation, or leave the tape out"
            )
        })?;
        ensure(!statement.is_conditional(), &[Field("cql")], || {
            format!("the statement {name} has IF, and no tape has its answers; leave IF or the tape out")
        })?;
        ensure(self.submit.has_slots(), &[Field("submit")], || {
            format!(
                "the way of submitting {} plays no tape; use slots or sequential, or leave the tape out",
                self.submit
            )
        })
    }

    /// Refuses a scan whose rows nobody knows.
    fn check_scan(&self, index: usize, scan: &Statement) -> Result<(), Fault> {
        if scan.expect.as_ref().is_none_or(|expect| expect.ranges.is_none()) {
            return Ok(());
        }
        let (here, name) = ([Field("expect"), Field("ranges")], &scan.name);
        let has_token = |column: &Column| {
            let is_bytes = matches!(column.kind, Kind::Text { .. } | Kind::Ascii { .. } | Kind::Blob { .. });
            let is_id = matches!(column.kind, Kind::Uuid { .. } | Kind::Timeuuid { .. } | Kind::Partition { .. });
            let is_number = matches!(
                column.kind,
                Kind::Bigint { .. }
                    | Kind::Int { .. }
                    | Kind::Smallint { .. }
                    | Kind::Tinyint { .. }
                    | Kind::Timestamp { .. }
            );
            is_bytes || is_id || is_number || matches!(column.kind, Kind::Boolean { .. } | Kind::Inet { .. })
        };
        let keyed = self.scanned(index);
        ensure(keyed.is_some_and(|key| key.iter().all(|column| has_token(column))), &here, || {
            format!(
                "statement {name} reads ranges of tokens, so the tokens of its rows must be known; load them by an INSERT that binds the whole \
                 partition key, of text, blob, uuid, timeuuid, inet, boolean, timestamp or whole numbers"
            )
        })?;
        let tables = self.tables();
        let table = |cql: &str| Uses::of(cql, &tables).map(|uses| uses.table);
        let (own, source) = (table(&scan.cql), scan.source().unwrap_or(name));
        let writes = |one: &&Statement| {
            let loads = one.load.as_ref().is_some_and(|load| table(&load.cql) == own);
            one.source().unwrap_or(&one.name) != source && (loads || one.writes() && table(&one.cql) == own)
        };
        let other = self.statements.iter().find(writes);
        ensure(other.is_none(), &here, || {
            format!(
                "statement {name} reads all rows of a range of its table, and statement {} writes or loads others there; give one of them a \
                 table of its own",
                other.map_or("", |other| &other.name)
            )
        })
    }
}

/// The first step of a script that makes no sense.
pub(crate) fn check_script(steps: &[Step]) -> Result<(), Fault> {
    let checked = steps.iter().enumerate().map(|(index, step)| {
        let of_step = |fault: cqldyno_script::Fault| Fault::new(&[Field(fault.field)], fault.message);
        step.check().map_err(|fault| of_step(fault).within(&[Field("script"), Item(index)]))
    });
    checked.collect()
}

impl Statement {
    fn check_name(&self) -> Result<(), Fault> {
        ensure(is_word(&self.name), &[Field("name")], || {
            format!("a statement is named {:?}; use a word of lower-case letters, digits and hyphens", self.name)
        })
    }

    fn check(&self) -> Result<(), Fault> {
        let name = &self.name;
        self.check_name()?;
        ensure(self.weight > 0, &[Field("weight")], || {
            format!("statement {name} has weight 0; use 1 or more, or leave the statement out")
        })?;
        self.check_operation()?;
        self.check_keys()?;
        ensure(self.adds.is_none() || self.writes(), &[Field("adds")], || {
            format!("statement {name} writes nothing, so it adds no rows; leave adds out")
        })?;
        match self.operation {
            Operation::Batch => check_at(name, &self.values)?,
            _ => self.check_bound()?,
        }
        if let Some(expect) = &self.expect {
            let here = [Field("expect"), Field("columns")];
            check_length(name, "expects", &expect.columns).map_err(|fault| fault.within(&here))?;
            self.check_by(&expect.columns, self.stored()).map_err(|fault| fault.within(&here))?;
            if let Some(ranges) = expect.ranges {
                let is_plain = expect.check != RowCheck::Order && expect.stored.is_none() && !expect.descending;
                ensure(is_plain && (1..=MAX_RANGES).contains(&ranges), &[Field("expect"), Field("ranges")], || {
                    format!(
                        "statement {name} reads all rows of one of {ranges} ranges of tokens, in any order; use 1 to {MAX_RANGES} ranges and \
                         check = \"content\" or \"count\", and leave stored and descending out"
                    )
                })?;
            }
            ensure((1..=MAX_ROWS).contains(&self.rows()), &[Field("expect"), Field("rows")], || {
                format!("statement {name} expects {} rows; 1 to {MAX_ROWS} are possible", self.rows())
            })?;
            let from = expect.from.map_or(0, |from| from.most() as u64);
            let end = from.saturating_add(expect.rows());
            // Of a drawn slice as many rows come back as there are.
            let is_there = end <= expect.stored() || expect.from.is_some_and(Amount::is_drawn);
            ensure(is_there && expect.stored() <= MAX_ROWS, &[Field("expect"), Field("stored")], || {
                format!(
                    "statement {name} expects {} rows from place {from} on, and a key has {}; set stored to {end} or more, and to {MAX_ROWS} \
                     at most",
                    expect.rows(),
                    expect.stored(),
                )
            })?;
            ensure(expect.answer().least() > 0, &[Field("expect"), Field("from")], || {
                format!(
                    "statement {name} expects rows from place {from} on, and a key may have fewer; set stored or from so that one comes back"
                )
            })?;
            let is_part = !expect.last || (expect.stored.is_some() && expect.from.is_none());
            ensure(is_part, &[Field("expect"), Field("last")], || {
                format!(
                    "statement {name} expects the last rows of its key; say with stored how many it has, and leave from out"
                )
            })?;
            let is_all = expect.stored.is_none() || expect.rows == expect.stored && !expect.answer().is_drawn();
            let is_named =
                self.values.iter().any(|value| value.at.is_some() || matches!(value.kind, Kind::Each { .. }));
            ensure(
                expect.check != RowCheck::Content || is_all || is_named,
                &[Field("expect"), Field("check")],
                || {
                    format!(
                        "statement {name} expects some of the rows of its key in any order, and nobody knows which; use check = \"order\" or \
                     \"count\""
                    )
                },
            )?;
            let has_several = expect.stored() > 1 || expect.ranges.is_some();
            ensure(expect.check == RowCheck::Order || has_several, &[Field("expect"), Field("check")], || {
                format!(
                    "statement {name} expects the only row of its key, which is compared value by value; leave check out"
                )
            })?;
            ensure(!expect.descending || expect.rows() > 1, &[Field("expect"), Field("descending")], || {
                format!("statement {name} expects one row, which has no order; leave descending out, or set rows")
            })?;
            ensure(!self.writes() || self.is_conditional(), &[Field("expect")], || {
                format!(
                    "statement {name} writes without IF, so its answer has no row; leave [statement.expect] out: \
                     [statement.read_back] checks what it wrote"
                )
            })?;
        }
        if let Some(load) = &self.load {
            let (here, values) = ([Field("load")], [Field("load"), Field("values")]);
            check_values(name, "its load", &load.cql, &load.values).map_err(|fault| fault.within(&here))?;
            self.check_by(&load.values, self.stored()).map_err(|fault| fault.within(&values))?;
            ensure(self.expect.is_some() || self.writes(), &here, || match self.reads() {
                true => format!("statement {name} loads rows but expects none; add [statement.expect]"),
                false => format!("statement {name} neither reads nor writes rows; leave [statement.load] out"),
            })?;
            ensure(!load.shift || self.expect.is_some(), &[Field("load"), Field("shift")], || {
                format!("statement {name} expects no row that could be shifted; leave shift out")
            })?;
        }
        if let Some(read_back) = &self.read_back {
            let within = |fault: Fault| fault.within(&[Field("read_back")]);
            check_values(name, "its read_back", &read_back.cql, &read_back.values).map_err(within)?;
            check_length(name, "reads back", &read_back.columns)
                .map_err(|fault| within(fault.within(&[Field("columns")])))?;
            for (field, columns) in [("values", &read_back.values), ("columns", &read_back.columns)] {
                self.check_by(columns, self.stored()).map_err(|fault| within(fault.within(&[Field(field)])))?;
            }
            ensure(self.writes(), &[Field("read_back")], || {
                format!("statement {name} writes no rows that could be read back; leave [statement.read_back] out")
            })?;
        }
        self.check_counters()?;
        let is_known = self.is_on_loaded_rows() || self.values.is_empty() || self.is_conditional();
        ensure(self.expect.is_none() || is_known, &[Field("expect")], || {
            format!(
                "statement {name} expects rows by its keys, which no other statement has, and nothing loads them; add \
                 [statement.load]"
            )
        })
    }

    /// Refuses values that do not follow from the key, nor from the rows that come back for it.
    fn check_bound(&self) -> Result<(), Fault> {
        let (name, answer) = (&self.name, self.answer());
        let of_key: Vec<Column> = self
            .values
            .iter()
            .map(|value| if value.follows_from_rows() { Kind::Null {}.into() } else { value.clone() })
            .collect();
        self.check_by(&of_key, 1).map_err(|fault| fault.within(&[Field("values")]))?;
        for (index, value) in self.values.iter().enumerate().filter(|(_, value)| value.follows_from_rows()) {
            let here = [Field("values"), Item(index)];
            let is_range = matches!(value.kind, Kind::Token {});
            let has_ranges = self.expect.as_ref().is_some_and(|expect| expect.ranges.is_some());
            ensure(is_range == has_ranges, &here, || match has_ranges {
                true => format!(
                    "statement {name} reads a range of tokens, whose rows are not known beforehand; bind values of type token only"
                ),
                false => format!("statement {name} binds a token; set ranges in [statement.expect]"),
            })?;
            if is_range {
                let is_end = value.at.is_some_and(|at| at == 0 || at == -1);
                ensure(is_end, &[here[0], here[1], Field("at")], || {
                    format!(
                        "statement {name} binds a token; add at = 0 for that before its range, or at = -1 for the last one"
                    )
                })?;
                continue;
            }
            ensure(self.expect.is_some() && answer.most() > 1, &here, || {
                format!(
                    "statement {name} binds a value of the rows that come back, and each key has one row; set rows in [statement.expect], or \
                     leave at and by = \"rows\" out"
                )
            })?;
            let (least, at) = (answer.least(), value.at.unwrap_or(0));
            // That no row comes back is refused with the expectation.
            let is_there = least == 0 || (at < least.cast_signed() && at >= -least.cast_signed());
            ensure(is_there, &[here[0], here[1], Field("at")], || {
                format!(
                    "statement {name} binds a value of row {at} of its answer, and only {least} may come back; use a smaller at"
                )
            })?;
        }
        Ok(())
    }

    /// Refuses `by` if these columns have one row per key.
    fn check_by(&self, columns: &[Column], rows: u64) -> Result<(), Fault> {
        check_at(&self.name, columns)?;
        let other = columns.iter().position(|column| column.by != By::Row).filter(|_| rows == 1);
        ensure(other.is_none(), &[Item(other.unwrap_or(0)), Field("by")], || {
            let name = &self.name;
            match self.stored() {
                // Its own values.
                2.. => format!(
                    "statement {name} binds its own values once per key, so they follow from the key; leave by out"
                ),
                _ if self.reads() => format!(
                    "statement {name} has one row per key, and by is for several; leave by out, or set rows in [statement.expect]"
                ),
                _ => format!("statement {name} has one row per key, and by is for several; leave by out"),
            }
        })
    }

    /// A counter that is read back must have been added to once.
    fn check_counters(&self) -> Result<(), Fault> {
        let repeats =
            self.keys.is_some() || self.keys_of.is_some() || !matches!(self.order, Order::Permuted | Order::Sequential);
        let counts = self.values.iter().any(|column| matches!(column.kind, Kind::Counter { .. }));
        ensure(!counts || !repeats || self.read_back.is_none(), &[Field("read_back")], || {
            format!(
                "statement {} adds to a counter and its keys repeat, so its sum is unknown; leave out keys and order, or \
                 [statement.read_back]",
                self.name
            )
        })
    }

    fn check_keys(&self) -> Result<(), Fault> {
        let (name, keys) = (&self.name, self.keys.unwrap_or(1));
        ensure((1..=MOST).contains(&keys), &[Field("keys")], || {
            format!("statement {name} has {keys} keys; 1 to {MOST} are possible")
        })?;
        let has_own = self.keys.is_some() || self.load.is_some();
        ensure(self.keys_of.is_none() || !has_own, &[Field("keys_of")], || {
            format!("statement {name} has the keys and rows of another one; leave keys and [statement.load] out")
        })?;
        let Some(exponent) = self.exponent else { return Ok(()) };
        ensure(self.order.has_exponent(), &[Field("exponent")], || {
            format!(
                "statement {name} has an exponent, which only the orders zipf and latest take; set one of them, or leave exponent out"
            )
        })?;
        ensure((MIN_EXPONENT..=MAX_EXPONENT).contains(&exponent), &[Field("exponent")], || {
            format!("statement {name} has the exponent {exponent}; {MIN_EXPONENT} to {MAX_EXPONENT} are possible")
        })
    }

    fn check_operation(&self) -> Result<(), Fault> {
        let (name, operation, rows) = (&self.name, self.operation, self.rows());
        ensure(self.size.is_none() || operation == Operation::Batch, &[Field("size")], || {
            format!("statement {name} has a size and is no batch; add operation = \"batch\", or leave the size out")
        })?;
        ensure(!self.logged || operation == Operation::Batch, &[Field("logged")], || {
            format!("statement {name} is logged and is no batch; add operation = \"batch\", or leave logged out")
        })?;
        let is_size = |size: Amount| size.least() > 0 && size.most() <= MAX_BATCH;
        ensure(self.size.is_none_or(is_size), &[Field("size")], || {
            format!("statement {name} is a batch of size {rows}; sizes from 1 to {MAX_BATCH} are possible")
        })?;
        let returns = !matches!(operation, Operation::Batch | Operation::Prepare);
        ensure(returns || self.expect.is_none(), &[Field("expect")], || {
            format!(
                "statement {name} expects rows, and operation = \"{operation}\" returns none; leave [statement.expect] out"
            )
        })?;
        if operation == Operation::Prepare {
            let field = match self {
                Statement { values, .. } if !values.is_empty() => "values",
                Statement { load: Some(_), .. } => "load",
                Statement { read_back: Some(_), .. } => "read_back",
                _ => return Ok(()),
            };
            return ensure(false, &[Field(field)], || {
                format!(
                    "statement {name} is prepared and never executed; use values = [], and leave [statement.load] and \
                     [statement.read_back] out"
                )
            });
        }
        ensure(!self.is_conditional() || self.expect.is_some(), &[Field("cql")], || {
            let advice = match operation {
                Operation::Batch => "no batch can expect that; leave IF or operation = \"batch\" out",
                _ => "add [statement.expect] with applied = true, or applied = false and the columns that are there",
            };
            format!("statement {name} has IF, so its answer says whether it was applied; {advice}")
        })?;
        check_values(name, "its cql", &self.cql, &self.values)?;
        let times = |bytes: usize| bytes.saturating_mul(usize::try_from(rows).unwrap_or(usize::MAX));
        let listed: Vec<Column> =
            self.values.iter().filter(|value| matches!(value.kind, Kind::Each { .. })).cloned().collect();
        ensure(times(bytes(&listed)) <= MAX_VALUE_BYTES, &[Field("values")], || {
            format!(
                "statement {name} binds a list of {rows} values of {} bytes together; at most {MAX_VALUE_BYTES} fit into a frame: expect \
                 fewer rows",
                times(bytes(&listed))
            )
        })?;
        let bytes = if operation == Operation::Batch { times(bytes(&self.values)) } else { 0 };
        ensure(bytes <= MAX_VALUE_BYTES, &[Field("size")], || {
            format!(
                "statement {name} has batches of {rows} rows with values of {bytes} bytes together; at most \
                 {MAX_VALUE_BYTES} fit into a frame: use a smaller size"
            )
        })
    }
}

/// Refuses columns that follow from rows that come back where these are not what is asked for.
fn check_at(name: &str, columns: &[Column]) -> Result<(), Fault> {
    let other = columns.iter().position(Column::follows_from_rows);
    ensure(other.is_none(), &[Item(other.unwrap_or(0))], || {
        format!(
            "statement {name} has a column with at, by = \"rows\" or type = \"each\", which only the values of a statement that reads have; \
             use by = \"row\", \"key\" or \"place\""
        )
    })
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

fn check_values(statement: &str, what: &str, cql: &str, values: &[Column]) -> Result<(), Fault> {
    let here = [Field("values")];
    ensure(values.len() <= MAX_VALUES, &here, || {
        format!("statement {statement} binds {} values; at most {MAX_VALUES} are possible", values.len())
    })?;
    let markers = bind_markers(cql).len();
    ensure(markers == values.len(), &here, || {
        let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        format!(
            "statement {statement} has {} for the {} of {what}; give one for each ?",
            counted(values.len(), "value"),
            counted(markers, "bind marker"),
        )
    })?;
    check_length(statement, "binds", values).map_err(|fault| fault.within(&here))
}

/// Refuses values that no frame can carry, and more columns than a slot has room for.
fn check_length(statement: &str, does: &str, columns: &[Column]) -> Result<(), Fault> {
    ensure(columns.len() <= MAX_VALUES, &[], || {
        format!("statement {statement} {does} {} columns; at most {MAX_VALUES} are possible", columns.len())
    })?;
    for (index, column) in columns.iter().enumerate() {
        check_elements(&column.kind).map_err(|fault| fault.within(&[Item(index)]))?;
        let compresses = |share: f64| {
            let is_kind =
                matches!(column.kind, Kind::Text { unicode: false, .. } | Kind::Ascii { .. } | Kind::Blob { .. });
            is_kind && COMPRESSIBLE.contains(&share)
        };
        ensure(column.compressible.is_none_or(compresses), &[Item(index), Field("compressible")], || {
            format!(
                "statement {statement} {does} a {} that compresses; compressible takes {} to {}, for texts without unicode and blobs",
                column.kind.name(),
                COMPRESSIBLE.start(),
                COMPRESSIBLE.end()
            )
        })?;
    }
    let bytes = bytes(columns);
    ensure(bytes <= MAX_VALUE_BYTES, &[], || {
        format!(
            "statement {statement} {does} values of {bytes} bytes together; at most {MAX_VALUE_BYTES} fit into a \
             frame: use smaller lengths"
        )
    })
}

/// Refuses drawn lengths where characters have several bytes, elements that no collection has, and sets and maps whose elements or keys would not all differ.
fn check_elements(kind: &Kind) -> Result<(), Fault> {
    for one in kind.all() {
        let is_none = |of: &&&Kind| {
            matches!(
                of,
                Kind::Counter { .. } | Kind::Partition { .. } | Kind::Each { .. } | Kind::Token {} | Kind::Null {}
            )
        };
        if let Some(other) = one.all().iter().skip(1).find(is_none) {
            let message = format!("a {} cannot be an element of a {}; use another type", other.name(), one.name());
            return Err(Fault::new(&[Field("of")], message));
        }
        if let Kind::Text { length, unicode: true, .. } = one {
            ensure(!length.is_drawn(), &[Field("length")], || {
                format!("a text with unicode = true has one length; set a number instead of \"{length}\"")
            })?;
        }
        let is_empty = |kind: &Kind| kind.elements().is_some_and(|(.., length, _)| length.least() == 0);
        ensure(!is_empty(one), &[Field("length")], || {
            format!("a {} of 0 elements is null for the server; use a length of 1 or more", one.name())
        })?;
        let (what, field, of, length) = match one {
            Kind::Set { of, length } => ("elements", "of", of, *length),
            Kind::Map { keys, length, .. } => ("keys", "keys", keys, *length),
            _ => continue,
        };
        let different = different_elements(of);
        ensure(different >= length.most() as u128, &[Field(field)], || {
            format!(
                "a {} of {} {what} of type {} could have two that are equal, of which the server keeps one; {}",
                one.name(),
                length.most(),
                of.name(),
                match different {
                    1 => "use another type".to_owned(),
                    more => format!("use another type, or a length of at most {more}"),
                }
            )
        })?;
    }
    Ok(())
}

fn bytes(columns: &[Column]) -> usize {
    columns.iter().fold(0usize, |sum, column| sum.saturating_add(column.length()))
}

#[cfg(test)]
mod tests;
