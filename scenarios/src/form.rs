//! The TOML form of a scenario, read so that every mistake in it has a place and a sentence.

mod fields;
mod mistake;
pub(crate) mod regression;

use std::num::NonZeroU64;
use std::ops::{Range, RangeInclusive};
use std::path::PathBuf;

use cqldyno_driver_api::{Nested, Scalar};
use cqldyno_script::{Action, Answer, Event, Kind as RequestKind, Step, Time};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::fields::{Entry, Fields, find};
use self::mistake::Mistake;
use crate::column::{By, Column, Kind};
use crate::cql::bind_markers;
use crate::distribution::Amount;
use crate::fault::{Fault, Segment};
use crate::operation::{Limits, MAX_BATCH, Operation};
use crate::order::Order;
use crate::scenario::{
    Expectation, Load, MAX_EXPONENT, MAX_RANGES, MAX_ROWS, MIN_EXPONENT, OwnRows, ReadBack, RowCheck, Scenario,
    ScenarioError, Statement,
};
use crate::stream::COMPRESSIBLE;
use crate::submit::Submit;
use crate::validation::check_script;
use crate::workload::MOST;

/// Reads a scenario and checks it; `origin` names the text in messages.
pub(crate) fn read(text: &str, origin: &str, tape: Option<PathBuf>) -> Result<Scenario, ScenarioError> {
    read_document(text, tape).map_err(|mistake| mistake.within("scenario", origin, text))
}

/// Reads a script alone and checks it; `origin` names the text in messages.
///
/// # Errors
/// The first mistake: text that is not TOML, a field that is missing, unknown or of the wrong kind, or one that makes no sense.
pub fn script(text: &str, origin: &str) -> Result<Vec<Step>, ScenarioError> {
    script_document(text).map_err(|mistake| mistake.within("script", origin, text))
}

fn read_document(text: &str, tape: Option<PathBuf>) -> Result<Scenario, Mistake> {
    checked(Fields::new("a scenario", parsed(text)?.get_ref(), 0..0), tape)
}

/// The scenario that these fields describe, if it can be run; `tape` takes the place of the file that it names.
fn checked(fields: Fields<'_>, tape: Option<PathBuf>) -> Result<Scenario, Mistake> {
    let table = fields.table;
    let mut scenario = scenario(fields, tape)?;
    scenario.mark_keys();
    scenario.check().map_err(|Fault { path, message }| Mistake { span: place(table, &path), message })?;
    Ok(scenario)
}

fn parsed(text: &str) -> Result<Spanned<DeTable<'_>>, Mistake> {
    DeTable::parse(text).map_err(|error| Mistake {
        span: error.span().unwrap_or_default(),
        message: format!("this is not TOML: {}", error.message().replace('\n', "; ")),
    })
}

/// Where the part at the end of `path` is, or the last part on the way that exists.
fn place(table: &DeTable<'_>, path: &[Segment]) -> Range<usize> {
    let mut span = 0..0;
    let mut fields = Some(table);
    let mut items = None;
    for segment in path {
        let value = match segment {
            Segment::Field(name) => fields.and_then(|table| find(table, name)),
            Segment::Item(index) => items.and_then(|items: &toml::de::DeArray<'_>| items.get(*index)),
        };
        let Some(value) = value else { break };
        // A list of tables has no place of its own, but they have.
        if !value.span().is_empty() || matches!(segment, Segment::Item(_)) {
            span = value.span();
        }
        (fields, items) = match value.get_ref() {
            DeValue::Table(table) => (Some(table), None),
            DeValue::Array(array) => (None, Some(array)),
            _ => (None, None),
        };
    }
    span
}

fn scenario(mut fields: Fields<'_>, tape: Option<PathBuf>) -> Result<Scenario, Mistake> {
    let played = tape.is_some() || find(fields.table, "tape").is_some();
    let scenario = Scenario {
        point: None,
        name: fields.required("name", text)?,
        about: fields.required("about", text)?,
        schema: fields.required("schema", |entry| entry.list(text))?,
        limits: fields.optional("limits", limits)?.unwrap_or_default(),
        page_size: fields.optional("page_size", |entry| entry.whole(1..=i128::from(i32::MAX)))?.map(|size| size as u32),
        submit: fields.optional("submit", |entry| entry.word(&Submit::WORDS))?.unwrap_or_default(),
        statements: fields
            .optional("statement", |entry| entry.list(|entry| statement(entry, played)))?
            .unwrap_or_default(),
        script: fields.optional("script", |entry| entry.list(step))?.unwrap_or_default(),
        idle: fields.optional("idle", time)?,
        tape: tape.or(fields.optional("tape", text)?.map(PathBuf::from)).map(OwnRows::at),
    };
    fields.end(scenario)
}

fn script_document(text: &str) -> Result<Vec<Step>, Mistake> {
    let document = parsed(text)?;
    let table = document.get_ref();
    let mut fields = Fields::new("a script", table, 0..0);
    let steps = fields.required("script", |entry| entry.list(step))?;
    check_script(&steps).map_err(|Fault { path, message }| Mistake { span: place(table, &path), message })?;
    fields.end(steps)
}

fn step(entry: Entry<'_>) -> Result<Step, Mistake> {
    let mut fields = entry.fields("a step of the script")?;
    let action = fields.required("do", |entry| entry.word(&Action::WORDS))?;
    let number = |entry: Entry<'_>| entry.whole(1..=i128::from(i64::MAX)).map(|number| number as u64);
    let place = |least| move |entry: Entry<'_>| entry.whole(least..=i128::from(u16::MAX)).map(|place| place as usize);
    let step = Step {
        action,
        at: fields.optional("at", time)?,
        after: fields.optional("after", number)?,
        every: fields.optional("every", number)?,
        node: fields.optional("node", place(1))?,
        shard: fields.optional("shard", place(0))?,
        kind: fields.optional("kind", |entry| entry.word(&RequestKind::WORDS))?,
        connections: fields.optional("connections", number)?,
        control: fields.optional("control", Entry::truth)?,
        lasts: fields.optional("for", time)?,
        by: fields.optional("by", time)?,
        one_in: fields.optional("one_in", number)?,
        error: fields.optional("error", |entry| entry.word(&Answer::WORDS))?,
        event: fields.optional("event", |entry| entry.word(&Event::WORDS))?,
        times: fields.optional("times", number)?,
    };
    fields.end(step)
}

fn time(entry: Entry<'_>) -> Result<Time, Mistake> {
    entry.text()?.parse().map_err(|message: String| entry.mistake(message))
}

fn limits(entry: Entry<'_>) -> Result<Limits, Mistake> {
    let mut fields = entry.fields("[limits]")?;
    let mut most = |name, least| {
        fields.optional(name, |entry| entry.whole(least..=i128::from(i64::MAX))).map(|n| n.map(|n| n as u64))
    };
    let limits = Limits {
        count: most("count", 1)?,
        concurrency: most("concurrency", 1)?,
        warmup: most("warmup", 0)?,
        usual: most("usual", 1)?,
    };
    fields.end(limits)
}

fn text(entry: Entry<'_>) -> Result<String, Mistake> {
    entry.text().map(str::to_owned)
}

/// One whose values come from a tape needs none here.
fn statement(entry: Entry<'_>, played: bool) -> Result<Statement, Mistake> {
    let mut fields = entry.fields("a statement")?;
    let name = fields.required("name", text)?;
    let cql = fields.required("cql", text)?;
    let statement = Statement {
        weight: fields.optional("weight", |entry| entry.whole(1..=i128::from(u32::MAX)))?.map_or(1, |n| n as u32),
        operation: fields.optional("operation", |entry| entry.word(&Operation::WORDS))?.unwrap_or_default(),
        size: fields.optional("size", |entry| amount(entry, 1..=MAX_BATCH as u64))?,
        logged: fields.optional("logged", Entry::truth)?.unwrap_or_default(),
        values: values(&mut fields, &cql, played)?,
        keys: fields.optional("keys", |entry| entry.whole(1..=i128::from(MOST)))?.map(|keys| keys as u64),
        keys_of: fields.optional("keys_of", text)?,
        adds: fields
            .optional("adds", |entry| entry.whole(-i128::from(MAX_ROWS)..=MAX_ROWS.into()))?
            .map(|rows| rows as i64),
        order: fields.optional("order", |entry| entry.word(&Order::WORDS))?.unwrap_or_default(),
        exponent: fields.optional("exponent", |entry| entry.number(MIN_EXPONENT..=MAX_EXPONENT))?,
        expect: fields.optional("expect", expectation)?,
        load: fields.optional("load", |entry| load(entry, played))?,
        read_back: fields.optional("read_back", |entry| read_back(entry, played))?,
        name,
        cql,
    };
    fields.end(statement)
}

fn expectation(entry: Entry<'_>) -> Result<Expectation, Mistake> {
    let mut fields = entry.fields("[statement.expect]")?;
    let mut number = |name, least| fields.optional(name, |entry| amount(entry, least..=MAX_ROWS));
    let (rows, stored, from) = (number("rows", 1)?, number("stored", 1)?, number("from", 0)?);
    let last = fields.optional("last", Entry::truth)?.unwrap_or_default();
    let ranges = fields.optional("ranges", |entry| entry.whole(1..=MAX_RANGES.into()))?.map(|ranges| ranges as u64);
    let descending = fields.optional("descending", Entry::truth)?.unwrap_or_default();
    let check = fields.optional("check", |entry| entry.word(&RowCheck::WORDS))?.unwrap_or_default();
    let columns = match fields.optional("applied", Entry::truth)? {
        None => fields.required("columns", columns)?,
        Some(applied) => {
            // An odd number is true.
            let first = Column::from(Kind::Boolean { times: 0, plus: applied.into() });
            let others = fields.optional("columns", columns)?.unwrap_or_default();
            std::iter::once(first).chain(others).collect()
        }
    };
    fields.end(Expectation { rows, stored, from, last, ranges, descending, check, columns })
}

fn load(entry: Entry<'_>, played: bool) -> Result<Load, Mistake> {
    let mut fields = entry.fields("[statement.load]")?;
    let cql = fields.required("cql", text)?;
    let load = Load {
        values: values(&mut fields, &cql, played)?,
        shift: fields.optional("shift", Entry::truth)?.unwrap_or_default(),
        cql,
    };
    fields.end(load)
}

fn read_back(entry: Entry<'_>, played: bool) -> Result<ReadBack, Mistake> {
    let mut fields = entry.fields("[statement.read_back]")?;
    let cql = fields.required("cql", text)?;
    let read_back = ReadBack {
        values: values(&mut fields, &cql, played)?,
        columns: match played {
            true => fields.optional("columns", columns)?.unwrap_or_default(),
            false => fields.required("columns", columns)?,
        },
        cql,
    };
    fields.end(read_back)
}

fn values(fields: &mut Fields<'_>, cql: &str, played: bool) -> Result<Vec<Column>, Mistake> {
    let read = |entry: Entry<'_>| bound(entry, cql);
    if played { Ok(fields.optional("values", read)?.unwrap_or_default()) } else { fields.required("values", read) }
}

/// The columns that `cql` binds, in the order of its markers: written in that order, or each under its marker's name.
fn bound(entry: Entry<'_>, cql: &str) -> Result<Vec<Column>, Mistake> {
    let Some(named) = entry.named(column) else { return columns(entry) };
    let (named, markers) = (named?, bind_markers(cql));
    let Some(names) = markers.into_iter().collect::<Option<Vec<String>>>() else {
        return Err(entry
            .mistake("values has names here, and the cql has a marker without one; use a list, or name every marker"));
    };
    // As CQL reads a name without quotes, unless there is one in these very letters.
    let of = |name: &String| {
        let exact = named.iter().position(|(found, _)| found == name);
        exact.or_else(|| named.iter().position(|(found, _)| found.to_lowercase() == *name))
    };
    let used: Vec<Option<usize>> = names.iter().map(of).collect();
    if let Some((_, (unknown, _))) = named.iter().enumerate().find(|(at, _)| !used.contains(&Some(*at))) {
        return Err(entry.mistake(format!("values has {unknown}, and the cql has no marker :{unknown}; leave it out")));
    }
    let value = |(name, at): (&String, &Option<usize>)| match at.and_then(|at| named.get(at)) {
        Some((_, column)) => Ok(column.clone()),
        None => Err(entry.mistake(format!("values has no {name}, and the cql has the marker :{name}; add it"))),
    };
    names.iter().zip(&used).map(value).collect()
}

fn columns(entry: Entry<'_>) -> Result<Vec<Column>, Mistake> {
    entry.list(column)
}

/// The words for [`Kind`]: every type, other words for text, and values that are of any type.
fn types() -> impl Iterator<Item = &'static str> {
    let named = Scalar::ALL.iter().map(|one| one.name()).chain(Nested::ALL.iter().map(|one| one.name()));
    named.chain(["varchar", "ascii", "partition", "each", "token", "null"])
}

const MOST_ELEMENTS: u64 = 65_535;

const MOST_DEEP: usize = 4;

const BY: [(&str, By); 4] = [("row", By::Row), ("key", By::Key), ("place", By::Place), ("rows", By::Rows)];

fn column(entry: Entry<'_>) -> Result<Column, Mistake> {
    let (mut fields, kind) = with_type(entry, "a column", 0)?;
    let mut column = Column::from(kind);
    if matches!(column.kind, Kind::Text { .. } | Kind::Ascii { .. } | Kind::Blob { .. }) {
        column.compressible = fields.optional("compressible", |entry| entry.number(COMPRESSIBLE))?;
    }
    let is_plain = !matches!(column.kind, Kind::Partition { .. } | Kind::Null {} | Kind::Each { .. } | Kind::Token {});
    if is_plain || matches!(column.kind, Kind::Each { .. }) {
        let words = if is_plain { &BY[..] } else { &BY[..BY.len() - 1] };
        column.by = fields.optional("by", |entry| entry.word(words))?.unwrap_or_default();
    }
    if is_plain || matches!(column.kind, Kind::Token {}) {
        column.at = fields.optional("at", Entry::i64)?;
    }
    if is_plain {
        let null_every = fields.optional("null_every", |entry| entry.whole(1..=i128::from(i64::MAX)))?;
        column.null_every = null_every.map(|every| every as u64);
        column.nulls = fields.optional("nulls", |entry| entry.number(0.0..=1.0))?;
        if column.null_every.is_some() && column.nulls.is_some() {
            return Err(entry.mistake("a column has either nulls or null_every; leave one of them out"));
        }
    }
    fields.end(column)
}

/// What a collection has for elements.
fn element(entry: Entry<'_>, depth: usize) -> Result<Kind, Mistake> {
    if depth > MOST_DEEP {
        let message = format!("elements are nested {depth} deep here; at most {MOST_DEEP} are possible");
        return Err(entry.mistake(message));
    }
    let (fields, kind) = with_type(entry, "an element", depth)?;
    fields.end(kind)
}

/// Reads the fields that all that has this type has; the rest is left.
fn with_type<'a>(entry: Entry<'a>, what: &str, depth: usize) -> Result<(Fields<'a>, Kind), Mistake> {
    let mut fields = entry.fields(&format!("{what}, such as {{ type = \"bigint\" }},"))?;
    fields.are_of(what);
    let types: Vec<(&str, &str)> = types().map(|name| (name, name)).collect();
    let name = fields.required("type", |entry| entry.word(&types))?;
    fields.are_of(&format!("{what} of type {name}"));
    let kind = kind(name, &mut fields, depth)?;
    Ok((fields, kind))
}

/// A number of `range`, or a distribution of such numbers.
fn amount(entry: Entry<'_>, range: RangeInclusive<u64>) -> Result<Amount, Mistake> {
    let Ok(text) = entry.text() else {
        let range = i128::from(*range.start())..=i128::from(*range.end());
        return entry.whole(range).map(|number| Amount::from(number as usize));
    };
    let drawn: Amount = text.parse().map_err(|message: String| entry.mistake(message))?;
    match range.contains(&(drawn.least() as u64)) && range.contains(&(drawn.most() as u64)) {
        true => Ok(drawn),
        false => Err(entry.mistake(format!(
            "{text:?} has numbers that are out of range; use {} to {}",
            range.start(),
            range.end()
        ))),
    }
}

fn kind(name: &str, fields: &mut Fields<'_>, depth: usize) -> Result<Kind, Mistake> {
    let times = |fields: &mut Fields<'_>| fields.optional("times", Entry::i64).map(|times| times.unwrap_or(1));
    let plus = |fields: &mut Fields<'_>| fields.optional("plus", Entry::i64).map(Option::unwrap_or_default);
    let truth = |fields: &mut Fields<'_>, name| fields.optional(name, Entry::truth).map(Option::unwrap_or_default);
    let length = |fields: &mut Fields<'_>| fields.required("length", |entry| amount(entry, 0..=i64::MAX as u64));
    let of = |fields: &mut Fields<'_>, name| fields.required(name, |entry| element(entry, depth + 1)).map(Box::new);
    let parts = |fields: &mut Fields<'_>| fields.required("of", |entry| entry.list(|entry| element(entry, depth + 1)));
    let some = |fields: &mut Fields<'_>, name, most| {
        let number = fields.required(name, |entry| entry.whole(1..=most))?;
        Ok(NonZeroU64::new(number as u64).unwrap_or(NonZeroU64::MIN))
    };
    let elements = |fields: &mut Fields<'_>| fields.required("length", |entry| amount(entry, 1..=MOST_ELEMENTS));
    // Fields are asked for in the order in which a mistake lists them.
    Ok(match name {
        "uuid" => Kind::Uuid { plus: plus(fields)? },
        "timeuuid" => Kind::Timeuuid { plus: plus(fields)? },
        "text" | "varchar" => {
            Kind::Text { length: length(fields)?, plus: plus(fields)?, unicode: truth(fields, "unicode")? }
        }
        "ascii" => Kind::Ascii { length: length(fields)?, plus: plus(fields)? },
        "blob" => Kind::Blob { length: length(fields)?, plus: plus(fields)? },
        "decimal" => {
            let (times, plus) = (times(fields)?, plus(fields)?);
            let scale = fields.optional("scale", |entry| entry.whole(0..=1_000))?.map_or(2, |scale| scale as i32);
            Kind::Decimal { times, plus, scale }
        }
        "inet" => Kind::Inet { times: times(fields)?, plus: plus(fields)?, v6: truth(fields, "v6")? },
        "list" => Kind::List { of: of(fields, "of")?, length: elements(fields)? },
        "set" => Kind::Set { of: of(fields, "of")?, length: elements(fields)? },
        "map" => Kind::Map { keys: of(fields, "keys")?, of: of(fields, "of")?, length: elements(fields)? },
        "tuple" => Kind::Tuple { of: parts(fields)? },
        "udt" => Kind::Udt { of: parts(fields)? },
        "vector" => Kind::Vector {
            length: some(fields, "length", MOST_ELEMENTS.into())?,
            times: times(fields)?,
            plus: plus(fields)?,
        },
        "each" => Kind::Each { of: of(fields, "of")? },
        "token" => Kind::Token {},
        "partition" => Kind::Partition { rows: some(fields, "rows", i64::MAX.into())? },
        other => match Scalar::ALL.iter().find(|scalar| scalar.name() == other) {
            Some(number) => Kind::of_number(*number, times(fields)?, plus(fields)?).unwrap_or(Kind::Null {}),
            None => Kind::Null {},
        },
    })
}

#[cfg(test)]
mod tests;
