//! Types as they were written to types, and the user-defined ones of a keyspace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::definition::check_length;
use crate::cql::{RawType, TypeAlteration};
use crate::error::{CqlError, Result, invalid};
use crate::types::{CqlType, MAX_DEPTH, UserType};

/// The user-defined types of a keyspace, by name.
pub type UserTypes = BTreeMap<String, Arc<UserType>>;

/// The most types within a user-defined type: all that recurse over it take no more steps.
const MAX_PARTS: usize = 1024;

/// The type that was written, within a keyspace that has these user-defined types.
pub fn resolve(raw: &RawType, keyspace: &str, known: &UserTypes) -> Result<CqlType> {
    let built = nested(raw, keyspace, known)?;
    let unfrozen = built.elements().iter().find(|element| element.is_multi_cell());
    match unfrozen.filter(|_| built.is_multi_cell() && built.is_collection()) {
        // They may nest if a frozen<> is around all of it.
        Some(element) => {
            let what = if element.is_collection() { "collections" } else { "UDTs" };
            invalid(format!("Non-frozen {what} are not allowed inside collections: {built}"))
        }
        None => Ok(built),
    }
}

fn nested(raw: &RawType, keyspace: &str, known: &UserTypes) -> Result<CqlType> {
    let name = raw.name.name.as_str();
    if let (Some(dimension), [element]) = (&raw.dimension, raw.arguments.as_slice()) {
        return vector(&nested(element, keyspace, known)?, dimension);
    }
    if raw.arguments.is_empty() {
        let native = if raw.name.keyspace.is_none() { CqlType::native(name) } else { None };
        return native.map_or_else(|| user(raw, keyspace, known), Ok);
    }
    let arguments = raw.arguments.iter().map(|argument| nested(argument, keyspace, known));
    let mut arguments = arguments.collect::<Result<Vec<_>>>()?;
    let is_counter = arguments.contains(&CqlType::Counter);
    match (name, arguments.as_slice()) {
        ("tuple", _) if is_counter => invalid("Counters are not allowed inside tuples"),
        ("list" | "set", [_]) | ("map", [_, _]) if is_counter => {
            let of: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            invalid(format!("Counters are not allowed inside collections: {name}<{}>", of.join(", ")))
        }
        ("set" | "map", [CqlType::Duration, ..]) => {
            invalid(format!("Durations are not allowed inside {}", if name == "set" { "sets" } else { "map keys" }))
        }
        ("tuple", _) => Ok(CqlType::Tuple(arguments.into_iter().map(CqlType::freeze).collect())),
        ("frozen", [inner]) if inner.is_collection() || inner.user().is_some() => Ok(arguments.remove(0).freeze()),
        ("frozen", [inner @ CqlType::Tuple(_)]) => Ok(inner.clone()),
        ("frozen", [other]) => Err(CqlError::Syntax(format!(
            "frozen<> is only allowed on collections, tuples, and user-defined types (got {other})"
        ))),
        ("list", [element]) => Ok(CqlType::List(Box::new(element.clone()))),
        ("set", [element]) => Ok(CqlType::Set(Box::new(element.clone()))),
        ("map", [key, value]) => Ok(CqlType::Map(Box::new([key.clone(), value.clone()]))),
        _ => invalid(format!("Unknown type {name} with {} arguments", arguments.len())),
    }
}

fn vector(element: &CqlType, dimension: &str) -> Result<CqlType> {
    if *element != CqlType::Float {
        return Err(CqlError::unsupported(format!("A vector of {element}")));
    }
    match dimension.parse::<u16>() {
        Ok(0) => invalid("vectors may only have positive dimensions; given 0"),
        Ok(dimension) => Ok(CqlType::Vector(dimension)),
        Err(_) => invalid(format!("A vector can have at most {} elements, got {dimension}", u16::MAX)),
    }
}

fn user(raw: &RawType, keyspace: &str, known: &UserTypes) -> Result<CqlType> {
    let name = &raw.name.name;
    if let Some(of) = raw.name.keyspace.as_ref().filter(|of| *of != keyspace) {
        return invalid(format!(
            "Statement on keyspace {keyspace} cannot refer to a user type in keyspace {of}; user types can only be used in the \
             keyspace they are defined in"
        ));
    }
    match known.get(name) {
        Some(user) => Ok(CqlType::User(user.clone())),
        None => invalid(format!("Unknown type {keyspace}.{name}")),
    }
}

/// A type from CREATE TYPE.
pub fn define_type(
    (keyspace, name): (&str, &str),
    fields: &[(String, RawType)],
    known: &UserTypes,
) -> Result<UserType> {
    check_length("type", name)?;
    let mut new = UserType { keyspace: keyspace.into(), name: name.into(), names: Vec::new(), types: Vec::new() };
    let mut seen = BTreeSet::new();
    for (field, ty) in fields {
        if !seen.insert(field) {
            return invalid(format!("Duplicate field name '{field}' in type '{name}'"));
        }
        check_length("field", field)?;
        add_field(&mut new, field, field_type(ty, keyspace, known)?)?;
    }
    Ok(new)
}

fn field_type(raw: &RawType, keyspace: &str, known: &UserTypes) -> Result<CqlType> {
    if raw.arguments.is_empty() && CqlType::native(&raw.name.name).is_none() {
        return invalid("A user type cannot contain non-frozen UDTs");
    }
    resolve(raw, keyspace, known)
}

fn add_field(user: &mut UserType, name: &str, ty: CqlType) -> Result<()> {
    if ty == CqlType::Counter {
        return invalid("A user type cannot contain counters");
    }
    if depth(&ty) + 1 >= MAX_DEPTH {
        return invalid(format!("The field {name} nests deeper than {MAX_DEPTH} levels"));
    }
    user.names.push(name.into());
    user.types.push(ty);
    check_size(user)
}

/// Refuses a type that has too many fields, with those of the types within it.
pub fn check_size(user: &UserType) -> Result<()> {
    fn parts(types: &[CqlType]) -> usize {
        types.iter().map(|ty| 1 + parts(ty.elements())).sum()
    }
    if parts(&user.types) > MAX_PARTS {
        return invalid(format!(
            "The type {} has more than {MAX_PARTS} fields, with those of the types within it: the embedded cluster takes no more",
            user.name
        ));
    }
    Ok(())
}

fn depth(ty: &CqlType) -> usize {
    ty.elements().iter().map(|element| 1 + depth(element)).max().unwrap_or(0)
}

/// A type after ALTER TYPE; equal if that changes nothing.
pub fn altered_type(old: &UserType, alteration: &TypeAlteration, known: &UserTypes) -> Result<UserType> {
    let mut new = old.clone();
    let shown = format!("{}.{}", old.keyspace, old.name);
    let has = |user: &UserType, field: &str| user.names.iter().any(|name| **name == *field);
    match alteration {
        TypeAlteration::Add { name, .. } if has(old, name) => {
            if let TypeAlteration::Add { conditional: false, .. } = alteration {
                return invalid(format!(
                    "Cannot add field {name} to type {shown}: a field with name {name} already exists"
                ));
            }
        }
        TypeAlteration::Add { name, ty, .. } => {
            check_length("field", name)?;
            let ty = field_type(ty, &old.keyspace, known)?;
            if ty.uses(&old.name) {
                let ty = match ty.user() {
                    Some(user) => format!("frozen<{}.{}>", user.keyspace, user.name),
                    None => ty.to_string(),
                };
                return invalid(format!(
                    "Cannot add new field {name} of type {ty} to user type {shown} as it would create a circular reference"
                ));
            }
            add_field(&mut new, name, ty)?;
        }
        TypeAlteration::Rename { fields, conditional } => {
            for (from, to) in fields {
                check_length("field", to)?;
                match new.names.iter().position(|name| **name == **from) {
                    Some(at) => new.names[at] = to.as_str().into(),
                    None if *conditional => {}
                    None => return invalid(format!("Unkown field {from} in user type {shown}")),
                }
            }
            if let Some(twice) = (1..).zip(&new.names).find(|(next, name)| new.names[*next..].contains(name)) {
                // Cassandra names the keyspace.
                return invalid(format!("Duplicate field name {} in type {}", twice.1, old.keyspace));
            }
        }
    }
    Ok(new)
}
