//! Values of terms, and whether rows pass filters: what is off the hot path of the executor.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::{Builder, Uuid};

use super::{Computed, Filter, Generated, Limit, OneOf, Range, Term};
use crate::cql::Operator;
use crate::error::{CqlError, Result};
use crate::schema::Column;
use crate::token;
use crate::types::{self, CqlType, Evaluated, Value};

impl Term {
    /// The value of any term. A null or unset value within a collection is refused.
    pub fn evaluate<'a>(&'a self, values: &[Value<'a>]) -> Result<Evaluated<'a>> {
        match self {
            Term::Computed(computed) => computed.evaluate(values),
            Term::Marker(index) => Ok(marked(*index, values).map(|bytes| Cow::Borrowed(*bytes))),
            Term::Constant(Some(bytes)) => Ok(Evaluated::Bytes(Cow::Borrowed(bytes))),
            Term::Constant(None) => Ok(Evaluated::Null),
        }
    }
}

/// The value of a marker. One beyond the values is unset: their number is checked once per request, before.
fn marked<'a>(index: u16, values: &[Value<'a>]) -> Value<'a> {
    values.get(usize::from(index)).copied().unwrap_or(Value::Unset)
}

fn inside<'a>(term: &'a Term, values: &[Value<'a>]) -> Result<Cow<'a, [u8]>> {
    match term.evaluate(values)? {
        Evaluated::Bytes(bytes) => Ok(bytes),
        Evaluated::Null => Err(CqlError::invalid("null is not supported inside collections")),
        Evaluated::Unset => Err(CqlError::invalid("unset value is not supported inside collections")),
    }
}

fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

impl Generated {
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Generated::Now => time_uuid().as_bytes().to_vec(),
            Generated::Uuid => Uuid::new_v4().as_bytes().to_vec(),
            Generated::CurrentTimestamp => now_millis().to_be_bytes().to_vec(),
            Generated::CurrentDate => types::date_of(now_millis()).to_be_bytes().to_vec(),
            Generated::CurrentTime => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let nanos = (since.as_secs() % (24 * 60 * 60)) * 1_000_000_000 + u64::from(since.subsec_nanos());
                nanos.to_be_bytes().to_vec()
            }
        }
    }
}

impl Computed {
    pub fn evaluate<'a>(&'a self, values: &[Value<'a>]) -> Result<Evaluated<'a>> {
        let all = |terms: &'a [Term]| terms.iter().map(|term| inside(term, values)).collect::<Result<Vec<_>, _>>();
        let bytes = match self {
            Computed::Generated(generated) => generated.bytes(),
            Computed::Converted(conversion, ty, term) => {
                return match term.evaluate(values)? {
                    Evaluated::Bytes(bytes) => Ok(conversion
                        .of(ty, &bytes)
                        .map_or(Evaluated::Null, |bytes| Evaluated::Bytes(Cow::Owned(bytes)))),
                    Evaluated::Null => Ok(Evaluated::Null),
                    Evaluated::Unset => Err(CqlError::Invalid(format!(
                        "Invalid unset value for argument in call to function {}",
                        conversion.name()
                    ))),
                };
            }
            Computed::Nested(CqlType::Vector(_), terms) => all(terms)?.concat(),
            Computed::Nested(ty, terms) if !ty.is_collection() => {
                let mut components = Vec::with_capacity(terms.len());
                for term in terms {
                    components.push(match term.evaluate(values)? {
                        Evaluated::Unset => return Err(unset_field(ty, components.len())),
                        other => other.bytes(),
                    });
                }
                types::write_tuple(components.iter().map(|component| component.as_deref()))
            }
            Computed::Nested(ty, terms) => ty.write_collection(&all(terms)?),
            Computed::Token(terms) => {
                let components = all(terms)?;
                let mut key = Vec::new();
                token::routing_key(components.iter().map(AsRef::as_ref), &mut key);
                token::token(&key).to_be_bytes().to_vec()
            }
        };
        Ok(Evaluated::Bytes(Cow::Owned(bytes)))
    }
}

fn unset_field(ty: &CqlType, at: usize) -> CqlError {
    match ty.user() {
        Some(user) => CqlError::Invalid(format!(
            "Invalid unset value for field '{}' of user defined type {}",
            user.names.get(at).map_or("", |name| name),
            user.name
        )),
        None => CqlError::invalid("Invalid unset value for tuple field"),
    }
}

/// A version 1 UUID of now, later than all before it.
pub fn time_uuid() -> Uuid {
    use std::sync::atomic::{AtomicU64, Ordering as Memory};
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ticks = u64::try_from(now.as_nanos() / 100).unwrap_or(u64::MAX);
    let previous = LAST.fetch_update(Memory::Relaxed, Memory::Relaxed, |last| Some(last.saturating_add(1).max(ticks)));
    let ticks = previous.unwrap_or(0).saturating_add(1).max(ticks);
    let since_gregorian = ticks.saturating_add(0x01b2_1dd2_1381_4000);
    Builder::from_gregorian_timestamp(since_gregorian, 0, &[1, 0, 0, 0, 0, 1]).into_uuid()
}

impl OneOf {
    /// The values that the column may have, sorted in the type's order, each once.
    pub fn evaluate<'a>(&'a self, column: &Column, values: &[Value<'a>]) -> Result<Vec<Cow<'a, [u8]>>> {
        let mut found = match self {
            OneOf::Term(term) => vec![term.evaluate_key(column, values)?],
            OneOf::Terms(terms) => {
                terms.iter().map(|term| term.evaluate_key(column, values)).collect::<Result<_, _>>()?
            }
            OneOf::List(index) => {
                let refused = |what| CqlError::Invalid(format!("Invalid {what} value for IN({})", column.name));
                let list = match marked(*index, values) {
                    Value::Bytes(bytes) => bytes,
                    Value::Null => return Err(refused("null")),
                    Value::Unset => return Err(refused("unset")),
                };
                let ty = CqlType::List(Box::new(column.ty.clone()));
                ty.validate(list).map_err(CqlError::Invalid)?;
                types::elements(list).flatten().map(Cow::Borrowed).collect()
            }
        };
        found.sort_by(|a, b| column.ty.compare(a, b));
        found.dedup();
        Ok(found)
    }
}

impl Term {
    /// The value that a column is compared with: never null or unset, and valid for the column's type.
    pub fn evaluate_key<'a>(&'a self, column: &Column, values: &[Value<'a>]) -> Result<Cow<'a, [u8]>> {
        match self.evaluate(values)? {
            Evaluated::Bytes(bytes) => {
                if !matches!(self, Term::Constant(_)) {
                    column.ty.validate(&bytes).map_err(CqlError::Invalid)?;
                }
                Ok(bytes)
            }
            Evaluated::Null => {
                Err(CqlError::Invalid(format!("Invalid null value in condition for column {}", column.name)))
            }
            Evaluated::Unset => Err(CqlError::Invalid(format!("Invalid unset value for column {}", column.name))),
        }
    }

    /// The number that a term of type bigint or int is; `None` when it is unset. `what` is for the refusal of null.
    pub fn number(&self, what: &str, values: &[Value<'_>]) -> Result<Option<i64>> {
        let bytes = match self.evaluate(values)? {
            Evaluated::Bytes(bytes) => bytes,
            Evaluated::Unset => return Ok(None),
            Evaluated::Null => Cow::Borrowed(&[][..]),
        };
        match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            (Some(long), _) => Ok(Some(i64::from_be_bytes(*long))),
            (None, Some(int)) => Ok(Some(i64::from(i32::from_be_bytes(*int)))),
            (None, None) => Err(CqlError::Invalid(format!("Invalid null value of {what}"))),
        }
    }
}

/// One end of a range: a value for each column compared, and whether they are inside.
pub type EvaluatedLimit<'a> = Option<(Vec<Cow<'a, [u8]>>, bool)>;

impl Range {
    /// The values of the lower and the upper end; `columns` are those compared, the first one first.
    pub fn evaluate<'a>(&'a self, columns: &[Column], values: &[Value<'a>]) -> Result<[EvaluatedLimit<'a>; 2]> {
        let end = |limit: &'a Limit| {
            let terms = limit.terms.iter().zip(columns);
            let evaluated = terms.map(|(term, column)| term.evaluate_key(column, values)).collect::<Result<_, _>>()?;
            Ok::<_, CqlError>((evaluated, limit.inclusive))
        };
        Ok([self.lower.as_ref().map(end).transpose()?, self.upper.as_ref().map(end).transpose()?])
    }

    /// The first and the last token of [`super::PartitionSelection::Tokens`]; `None` when there are none between.
    pub fn tokens(&self, values: &[Value<'_>]) -> Result<Option<(i64, i64)>> {
        let first = match &self.lower {
            None => Some(i64::MIN),
            Some(limit) => limit.token(values)?.checked_add(i64::from(!limit.inclusive)),
        };
        let last = match &self.upper {
            None => Some(i64::MAX),
            Some(limit) => limit.token(values)?.checked_sub(i64::from(!limit.inclusive)),
        };
        Ok(first.zip(last).filter(|(first, last)| first <= last))
    }
}

#[derive(Clone, Debug)]
pub struct EvaluatedFilter<'a> {
    pub column: usize,
    ty: &'a CqlType,
    operator: Operator,
    values: Vec<Cow<'a, [u8]>>,
}

impl Filter {
    pub fn evaluate<'a>(&'a self, columns: &'a [Column], values: &[Value<'a>]) -> Result<EvaluatedFilter<'a>> {
        let Some(column) = columns.get(self.column) else {
            return Err(CqlError::Invalid(format!("the filter's column {} is not one of the table's", self.column)));
        };
        let element = match self.operator {
            Operator::Contains | Operator::ContainsKey => column.ty.contained(self.operator == Operator::ContainsKey),
            _ => None,
        };
        let evaluated = match element {
            Some(ty) => self.value.evaluate(&Column { ty: ty.clone(), ..column.clone() }, values)?,
            None => self.value.evaluate(column, values)?,
        };
        Ok(EvaluatedFilter { column: self.column, ty: &column.ty, operator: self.operator, values: evaluated })
    }
}

impl EvaluatedFilter<'_> {
    /// Whether a cell passes; null never does.
    pub fn matches(&self, cell: Option<&[u8]>) -> bool {
        let Some(cell) = cell else { return false };
        let any = |matches: &dyn Fn(&[u8]) -> bool| self.values.iter().any(|value| matches(value));
        match self.operator {
            Operator::Contains | Operator::ContainsKey => {
                let is_map = matches!(self.ty.unfrozen(), CqlType::Map(_));
                let skip = usize::from(is_map && self.operator == Operator::Contains);
                let step = if is_map { 2 } else { 1 };
                any(&|value| types::elements(cell).skip(skip).step_by(step).any(|element| element == Some(value)))
            }
            operator => any(&|value| operator.takes(self.ty.compare(cell, value))),
        }
    }
}

impl Limit {
    fn token(&self, values: &[Value<'_>]) -> Result<i64> {
        let Some(term) = self.terms.first() else { return Err(CqlError::invalid("Invalid null token value")) };
        match term.evaluate(values)? {
            Evaluated::Bytes(bytes) => match <[u8; 8]>::try_from(&*bytes) {
                Ok(token) => Ok(i64::from_be_bytes(token)),
                Err(_) => Err(CqlError::Invalid(format!("Expected 8 or 0 byte long ({})", bytes.len()))),
            },
            Evaluated::Null | Evaluated::Unset => Err(CqlError::invalid("Invalid null token value")),
        }
    }
}
