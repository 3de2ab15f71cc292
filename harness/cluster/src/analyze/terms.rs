//! Terms: constants become bytes, markers get a type and a name.

use super::{Analyzer, unknown_function};
use crate::cql::{RawTerm, Using};
use crate::error::{CqlError, Result, invalid};
use crate::prepared::{Computed, Conversion, Generated, Term};
use crate::schema::Table;
use crate::types::{ColumnSpec, CqlType};

impl Analyzer<'_> {
    /// Resolves a term for its receiver: a column, or a part of one.
    pub(super) fn term(&mut self, raw: &RawTerm, receiver: &ColumnSpec) -> Result<Term> {
        let ty = receiver.ty.unfrozen();
        match (raw, ty) {
            (RawTerm::Marker { index, name }, _) => {
                let mut spec = receiver.clone();
                if let Some(name) = name {
                    spec.name = name.as_str().into();
                }
                self.set_marker(*index, spec);
                Ok(Term::Marker(*index))
            }
            (RawTerm::Null, CqlType::Counter) => invalid("Invalid null value for counter increment/decrement"),
            (RawTerm::Null, _) => Ok(Term::Constant(None)),
            (RawTerm::Literal(literal), _) => {
                if !ty.accepts(literal.kind) {
                    let shown: String = literal.text.chars().take(100).collect();
                    let (kind, name) = (literal.kind, &receiver.name);
                    return invalid(format!(
                        "Invalid {kind} constant ({shown}) for \"{name}\" of type {}",
                        receiver.ty
                    ));
                }
                let bytes = ty.literal_bytes(literal).map_err(CqlError::Invalid)?;
                Ok(Term::Constant(Some(bytes.into())))
            }
            (RawTerm::List(items), CqlType::List(element)) | (RawTerm::Set(items), CqlType::Set(element)) => {
                let items = items.iter().map(|item| self.element(item, element, receiver, "value"));
                folded(receiver, items.collect::<Result<_>>()?)
            }
            (RawTerm::Set(items), CqlType::Map(_)) if items.is_empty() => folded(receiver, Vec::new()),
            (RawTerm::Map(entries), CqlType::Map(entry)) => {
                let mut terms = Vec::with_capacity(2 * entries.len());
                for (key, value) in entries {
                    terms.push(self.element(key, &entry[0], receiver, "key")?);
                    terms.push(self.element(value, &entry[1], receiver, "value")?);
                }
                folded(receiver, terms)
            }
            (RawTerm::List(items), CqlType::Vector(dimension)) => {
                if items.len() != usize::from(*dimension) {
                    return invalid(format!(
                        "Invalid vector literal for {} of type {ty}; expected {dimension} elements, but given {}",
                        receiver.name,
                        items.len()
                    ));
                }
                if items.contains(&RawTerm::Null) {
                    return invalid("null is not supported inside vectors");
                }
                let items = items.iter().map(|item| self.element(item, &CqlType::Float, receiver, "value"));
                folded(receiver, items.collect::<Result<_>>()?)
            }
            (RawTerm::Map(entries), _) if entries.iter().all(|(key, _)| matches!(key, RawTerm::Column(_))) => {
                self.fields(entries, receiver)
            }
            (RawTerm::List(_), _) => {
                invalid(format!("Unexpected receiver type '{}'; only list and vector are expected", receiver.ty))
            }
            (RawTerm::Set(_), _) => wrong_literal("set", receiver),
            (RawTerm::Map(_), _) => wrong_literal("map", receiver),
            (RawTerm::Tuple(items), _) => self.tuple(items, receiver),
            (RawTerm::Function(name, arguments), _) => self.function(name, arguments, receiver),
            (RawTerm::Column(name), _) => invalid(format!("{name} is a column's name where a value is expected")),
            (RawTerm::Sum(..) | RawTerm::Operation, _) => {
                Err(CqlError::unsupported(format!("An operation on the value of {}", receiver.name)))
            }
        }
    }

    pub(super) fn set_marker(&mut self, index: u16, spec: ColumnSpec) {
        let index = usize::from(index);
        if self.markers.len() <= index {
            self.markers.resize(index + 1, None);
        }
        self.markers[index] = Some(spec);
    }

    fn element(&mut self, raw: &RawTerm, ty: &CqlType, of: &ColumnSpec, what: &str) -> Result<Term> {
        if *raw == RawTerm::Null {
            return invalid("null is not supported inside collections");
        }
        let receiver = ColumnSpec { name: format!("{what}({})", of.name).into(), ty: ty.clone(), ..of.clone() };
        self.term(raw, &receiver)
    }

    /// A literal of a user-defined type: fields that are not in it are null.
    fn fields(&mut self, entries: &[(RawTerm, RawTerm)], receiver: &ColumnSpec) -> Result<Term> {
        let Some(user) = receiver.ty.user() else { return wrong_literal("user type", receiver) };
        let mut terms = vec![Term::Constant(None); user.names.len()];
        for (name, value) in entries {
            let RawTerm::Column(name) = name else { continue };
            let Some(at) = user.names.iter().position(|field| **field == **name) else {
                return invalid(format!("Unknown field '{name}' in value of user defined type {}", user.name));
            };
            let ty = user.types[at].clone();
            if let RawTerm::Literal(literal) = value
                && !ty.accepts(literal.kind)
            {
                let receiver = &receiver.name;
                return invalid(format!("Invalid user type literal for {receiver}: field {name} is not of type {ty}"));
            }
            let name = format!("{}.{name}", receiver.name).into();
            terms[at] = self.term(value, &ColumnSpec { name, ty, ..receiver.clone() })?;
        }
        folded(receiver, terms)
    }

    fn tuple(&mut self, items: &[RawTerm], receiver: &ColumnSpec) -> Result<Term> {
        let CqlType::Tuple(types) = receiver.ty.unfrozen() else {
            // Brackets around a single term change nothing.
            return match items {
                [item] => self.term(item, receiver),
                _ => wrong_literal("tuple", receiver),
            };
        };
        if items.len() > types.len() {
            return invalid(format!(
                "Invalid tuple literal for {}: too many elements. Type {} expects {} but got {}",
                receiver.name,
                receiver.ty,
                types.len(),
                items.len()
            ));
        }
        let mut terms = Vec::with_capacity(items.len());
        for (index, (item, ty)) in items.iter().zip(types).enumerate() {
            let name = format!("{}[{index}]", receiver.name).into();
            terms.push(self.term(item, &ColumnSpec { name, ty: ty.clone(), ..receiver.clone() })?);
        }
        folded(receiver, terms)
    }

    fn function(&mut self, name: &str, arguments: &[RawTerm], receiver: &ColumnSpec) -> Result<Term> {
        let (term, ty) = self.call(name, arguments, receiver)?;
        let fits = ty == receiver.ty
            || matches!(
                (&ty, &receiver.ty),
                (CqlType::Timeuuid, CqlType::Uuid) | (CqlType::Timestamp, CqlType::Bigint)
            );
        if let Some(conversion) = Conversion::named(name).filter(|one| !fits && one.arguments().len() > 1) {
            return Err(no_signature(conversion, name));
        }
        if !fits {
            return invalid(format!(
                "Type error: cannot assign result of function system.{name} (type {ty}) to {} (type {})",
                receiver.name, receiver.ty
            ));
        }
        Ok(term)
    }

    /// A function with its arguments, and the type of what it returns.
    fn call(&mut self, name: &str, arguments: &[RawTerm], receiver: &ColumnSpec) -> Result<(Term, CqlType)> {
        let found = match arguments {
            [] => generated(name, false),
            [RawTerm::Function(now, none)] if now == "now" && none.is_empty() => generated(name, true),
            _ => None,
        };
        if let Some((generated, ty)) = found {
            return Ok((Term::Computed(Box::new(Computed::Generated(generated))), ty));
        }
        let Some(conversion) = Conversion::named(name) else { return Err(unknown_function(name, "as a value")) };
        let [argument] = arguments else { return Err(no_signature(conversion, name)) };
        let (argument, ty) = match argument {
            RawTerm::Function(inner, arguments) => self.call(inner, arguments, receiver)?,
            _ => {
                let fits = |ty: &&CqlType| match argument {
                    RawTerm::Literal(literal) => ty.accepts(literal.kind),
                    _ => true,
                };
                let ty = match conversion.arguments().iter().filter(fits).collect::<Vec<_>>()[..] {
                    [] => return Err(no_signature(conversion, name)),
                    [only] => only.clone(),
                    ref several => return Err(ambiguous(conversion, name, several)),
                };
                let name = format!("arg0(system.{name})").into();
                (self.term(argument, &ColumnSpec { name, ty: ty.clone(), ..receiver.clone() })?, ty)
            }
        };
        if !conversion.arguments().contains(&ty) {
            return Err(no_signature(conversion, name));
        }
        let is_constant = matches!(argument, Term::Constant(_));
        let term = Term::Computed(Box::new(Computed::Converted(conversion, ty, argument)));
        let term = match is_constant {
            true => Term::Constant(term.evaluate(&[])?.bytes().map(|bytes| bytes.into_owned().into())),
            false => term,
        };
        Ok((term, conversion.result()))
    }

    /// The terms of USING TIMESTAMP and TTL; `about` is the keyspace and the table of a marker's specification.
    pub(super) fn using(&mut self, using: &Using, about: (&str, &str)) -> Result<[Option<Term>; 2]> {
        let mut term = |raw: &Option<RawTerm>, name: &str, ty: CqlType| {
            raw.as_ref().map(|raw| self.term(raw, &ColumnSpec::special(about, name, ty))).transpose()
        };
        let timestamp = term(&using.timestamp, "[timestamp]", CqlType::Bigint)?;
        Ok([timestamp, term(&using.ttl, "[ttl]", CqlType::Int)?])
    }

    /// A limit: an int above zero.
    pub(super) fn limit(&mut self, raw: Option<&RawTerm>, name: &str, table: &Table) -> Result<Option<Term>> {
        let Some(raw) = raw else { return Ok(None) };
        let term = self.term(raw, &table.special(name, CqlType::Int))?;
        if let Term::Constant(bytes) = &term {
            let value = bytes.as_ref().and_then(|bytes| bytes.as_ref().try_into().ok()).map(i32::from_be_bytes);
            let Some(value) = value else { return invalid("Invalid null value of limit") };
            if value <= 0 {
                let what = if name == "[limit]" { "LIMIT" } else { "PER PARTITION LIMIT" };
                return invalid(format!("{what} must be strictly positive"));
            }
        }
        Ok(Some(term))
    }
}

fn signatures(conversion: Conversion, name: &str, arguments: &[&CqlType]) -> String {
    let result = conversion.result();
    let all = arguments.iter().map(|argument| format!("system.{name} : ({argument}) -> {result}"));
    all.collect::<Vec<_>>().join(", ")
}

/// The refusal of a call with wrong arguments.
pub(super) fn no_signature(conversion: Conversion, name: &str) -> CqlError {
    let known = signatures(conversion, name, &conversion.arguments().iter().collect::<Vec<_>>());
    CqlError::Invalid(format!(
        "Invalid call to function {name}, none of its type signatures match (known type signatures: {known})"
    ))
}

fn ambiguous(conversion: Conversion, name: &str, arguments: &[&CqlType]) -> CqlError {
    let known = signatures(conversion, name, arguments);
    CqlError::Invalid(format!(
        "Ambiguous call to function {name} (can be matched by following signatures: {known}): use type casts to disambiguate"
    ))
}

fn wrong_literal<T>(what: &str, receiver: &ColumnSpec) -> Result<T> {
    invalid(format!("Invalid {what} literal for {} of type {}", receiver.name, receiver.ty))
}

/// The collection or tuple of these terms: a constant when all of them are constants.
fn folded(receiver: &ColumnSpec, terms: Vec<Term>) -> Result<Term> {
    let ty = &receiver.ty;
    let is_constant = terms.iter().all(|term| matches!(term, Term::Constant(_)));
    let term = Term::Computed(Box::new(Computed::Nested(ty.clone(), terms)));
    if !is_constant {
        return Ok(term);
    }
    let constant = term.evaluate(&[])?.bytes().and_then(|bytes| ty.normalise(bytes));
    Ok(Term::Constant(constant.map(|bytes| bytes.into_owned().into())))
}

/// What a function without arguments generates, or one whose only argument is `now()`.
pub(super) fn generated(name: &str, of_now: bool) -> Option<(Generated, CqlType)> {
    Some(match (name, of_now) {
        ("now" | "currenttimeuuid" | "current_timeuuid", false) => (Generated::Now, CqlType::Timeuuid),
        ("uuid", false) => (Generated::Uuid, CqlType::Uuid),
        ("currenttimestamp" | "current_timestamp", false) | ("totimestamp" | "to_timestamp", true) => {
            (Generated::CurrentTimestamp, CqlType::Timestamp)
        }
        ("tounixtimestamp" | "to_unix_timestamp", true) => (Generated::CurrentTimestamp, CqlType::Bigint),
        ("currentdate" | "current_date", false) | ("todate" | "to_date", true) => {
            (Generated::CurrentDate, CqlType::Date)
        }
        ("currenttime" | "current_time", false) => (Generated::CurrentTime, CqlType::Time),
        _ => return None,
    })
}
