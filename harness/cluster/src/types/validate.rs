//! Whether bytes are a value of a type, with Cassandra's texts when they are not.

use super::collection::Components;
use super::{CqlType, duration};

impl CqlType {
    /// Checks a serialised value. The error is that of Cassandra's serialisers: `Expected 4 or 0 byte int (3)`.
    #[inline]
    pub fn validate(&self, bytes: &[u8]) -> Result<(), String> {
        match (self, bytes.len()) {
            (CqlType::Bigint | CqlType::Timestamp | CqlType::Double, 8) | (CqlType::Int, 4) | (CqlType::Blob, _) => {
                Ok(())
            }
            _ => self.validate_other(bytes),
        }
    }

    fn validate_other(&self, bytes: &[u8]) -> Result<(), String> {
        let length = bytes.len();
        if let Some(native) = self.as_native()
            && !native.lengths.is_empty()
            && !native.lengths.contains(&length)
        {
            return Err(format!("{} ({length})", native.refusal));
        }
        match self {
            CqlType::Timeuuid if length == 16 && bytes[6] >> 4 != 1 => {
                Err("Invalid version for TimeUUID type.".to_owned())
            }
            CqlType::Decimal if length != 0 && length < 4 => Err(format!("Expected 0 or at least 4 bytes ({length})")),
            CqlType::Text if std::str::from_utf8(bytes).is_err() => Err("String didn't validate.".to_owned()),
            CqlType::Ascii => match bytes.iter().find(|byte| !byte.is_ascii()) {
                Some(byte) => Err(format!("Invalid byte for ascii: {}", *byte as i8)),
                None => Ok(()),
            },
            CqlType::Duration => duration::validate(bytes),
            CqlType::List(_) => validate_elements("list", bytes, self.elements()),
            CqlType::Set(_) => validate_elements("set", bytes, self.elements()),
            CqlType::Map(_) => validate_elements("map", bytes, self.elements()),
            CqlType::Tuple(types) => validate_parts(bytes, types, "tuple", |at| format!("{at}th component")),
            CqlType::User(user) => {
                let field = |at: usize| format!("{at}th field {}", user.names.get(at).map_or("", |name| name));
                validate_parts(bytes, &user.types, "UDT", field)
            }
            CqlType::Vector(dimension) => validate_vector(self, bytes, 4 * usize::from(*dimension)),
            CqlType::Frozen(inner) => inner.validate(bytes),
            _ => Ok(()),
        }
    }
}

fn validate_elements(name: &str, bytes: &[u8], types: &[CqlType]) -> Result<(), String> {
    let not_enough = || format!("Not enough bytes to read a {name}");
    let (count, content) = bytes.split_first_chunk::<4>().ok_or_else(not_enough)?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| not_enough())?;
    let mut components = Components::new(content);
    for _ in 0..count {
        for ty in types {
            let element = components.next().ok_or_else(not_enough)?.map_err(|_| not_enough())?;
            ty.validate(element.ok_or("Null value read when not allowed")?)?;
        }
    }
    if components.rest().is_empty() { Ok(()) } else { Err(format!("Unexpected extraneous bytes after {name} value")) }
}

/// Checks the components of a tuple or the fields of a user-defined type; those that are missing are null.
fn validate_parts(bytes: &[u8], types: &[CqlType], what: &str, part: impl Fn(usize) -> String) -> Result<(), String> {
    let mut components = Components::new(bytes);
    for (index, ty) in types.iter().enumerate() {
        let Some(component) = components.next() else { return Ok(()) };
        let component = component.map_err(|_| format!("Not enough bytes to read {}", part(index)))?;
        let wrong =
            |error| if what == "UDT" { format!("Failure validating the {}; {error}", part(index)) } else { error };
        component.map_or(Ok(()), |component| ty.validate(component)).map_err(wrong)?;
    }
    if components.rest().is_empty() { Ok(()) } else { Err(format!("Invalid remaining data after end of {what} value")) }
}

fn validate_vector(ty: &CqlType, bytes: &[u8], length: usize) -> Result<(), String> {
    match bytes.len().checked_sub(length) {
        _ if bytes.is_empty() => Err("Invalid empty vector value".to_owned()),
        Some(0) => Ok(()),
        Some(more) => Err(format!("Unexpected {more} extraneous bytes after {ty} value")),
        None => Err(format!("Not enough bytes to read a {ty}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_lengths_have_cassandras_texts() {
        assert_eq!(CqlType::Int.validate(&[0; 3]), Err("Expected 4 or 0 byte int (3)".to_owned()));
        assert_eq!(CqlType::Bigint.validate(&[0; 4]), Err("Expected 8 or 0 byte long (4)".to_owned()));
        assert_eq!(CqlType::Text.validate(&[0xff]), Err("String didn't validate.".to_owned()));
        assert_eq!(CqlType::Tinyint.validate(&[]), Err("Expected 1 byte for a tinyint (0)".to_owned()));
        assert_eq!(CqlType::Bigint.validate(&[]), Ok(()));
    }

    #[test]
    fn a_collection_that_announces_more_than_it_has_is_refused() {
        let list = CqlType::List(Box::new(CqlType::Int));
        assert!(list.validate(&[0x7f, 0xff, 0xff, 0xff]).is_err());
        assert!(list.validate(&[0, 0, 0, 1, 0, 0, 0, 9, 1]).is_err());
        assert!(list.validate(&[0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(list.validate(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]).is_err());
        assert!(list.validate(&[0, 0, 0, 0, 1]).is_err());
        assert_eq!(list.validate(&[0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1]), Ok(()));
    }

    #[test]
    fn a_tuple_may_be_short_and_have_nulls_but_no_rest() {
        let tuple = CqlType::Tuple(vec![CqlType::Int, CqlType::Text]);
        assert_eq!(tuple.validate(&[0, 0, 0, 4, 0, 0, 0, 1]), Ok(()));
        assert_eq!(tuple.validate(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, b'a']), Ok(()));
        assert!(tuple.validate(&[0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 9]).is_err());
    }
}
