//! Collections and tuples as bytes (native_protocol_v4.spec section 6).

use std::borrow::Cow;

use super::{CqlType, Read, Reader, UserType, write};

/// Consecutive `[bytes]`; the last item is an error when they are cut short.
pub(super) struct Components<'a>(Reader<'a>);

impl<'a> Components<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Components(Reader::new(bytes))
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.0.rest
    }
}

impl<'a> Iterator for Components<'a> {
    type Item = Read<Option<&'a [u8]>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest().is_empty() {
            return None;
        }
        let component = self.0.bytes();
        if component.is_err() {
            self.0 = Reader::new(&[]);
        }
        Some(component)
    }
}

/// The elements of a valid serialised list or set; for a map its keys and values in turn. Stops at invalid bytes.
pub fn elements(collection: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    Components::new(collection.get(4..).unwrap_or_default()).map_while(Result::ok)
}

fn write_count(count: usize, out: &mut Vec<u8>) {
    write::int(out, i32::try_from(count).unwrap_or(i32::MAX));
}

/// Serialises a list.
pub fn write_list<'a>(elements: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut out = Vec::new();
    write_count(elements.len(), &mut out);
    elements.for_each(|element| write::bytes(&mut out, Some(element)));
    out
}

/// Serialises a set of the element type: sorted, each element once.
pub fn write_set(ty: &CqlType, mut elements: Vec<&[u8]>) -> Vec<u8> {
    elements.sort_by(|a, b| ty.compare(a, b));
    elements.dedup_by(|a, b| ty.compare(a, b).is_eq());
    write_list(elements.into_iter())
}

/// Serialises a map of the key type: sorted, each key once with its last value.
pub fn write_map(ty: &CqlType, mut entries: Vec<(&[u8], &[u8])>) -> Vec<u8> {
    entries.reverse();
    entries.sort_by(|a, b| ty.compare(a.0, b.0));
    entries.dedup_by(|later, kept| ty.compare(later.0, kept.0).is_eq());
    let mut out = Vec::new();
    write_count(entries.len(), &mut out);
    for (key, value) in entries {
        write::bytes(&mut out, Some(key));
        write::bytes(&mut out, Some(value));
    }
    out
}

/// Serialises a tuple.
pub fn write_tuple<'a>(components: impl Iterator<Item = Option<&'a [u8]>>) -> Vec<u8> {
    let mut out = Vec::new();
    components.for_each(|component| write::bytes(&mut out, component));
    out
}

impl CqlType {
    /// A valid serialised value as Cassandra keeps it: sets and maps sorted without duplicates, user-defined types that are not
    /// frozen with all fields. An empty one that is not frozen is `None` (null); values of other types stay as they are.
    pub fn normalise<'a>(&self, bytes: impl Into<Cow<'a, [u8]>>) -> Option<Cow<'a, [u8]>> {
        let bytes = bytes.into();
        if let CqlType::User(user) = self {
            return user.write(&user.fields(&bytes)).map(Cow::Owned);
        }
        if self.is_multi_cell() && bytes.get(..4) == Some(&[0; 4]) {
            return None;
        }
        if self.is_sorted_collection(&bytes) {
            return Some(bytes);
        }
        let parts: Vec<&[u8]> = elements(&bytes).flatten().collect();
        Some(Cow::Owned(self.write_collection(&parts)))
    }

    /// Serialises a list, set or map, frozen or not; of a map each key is before its value.
    pub fn write_collection<B: AsRef<[u8]>>(&self, parts: &[B]) -> Vec<u8> {
        let parts = parts.iter().map(AsRef::as_ref);
        match self.unfrozen() {
            CqlType::Set(element) => write_set(element, parts.collect()),
            CqlType::Map(entry) => {
                let (keys, values) = (parts.clone().step_by(2), parts.skip(1).step_by(2));
                write_map(&entry[0], keys.zip(values).collect())
            }
            _ => write_list(parts),
        }
    }

    fn is_sorted_collection(&self, bytes: &[u8]) -> bool {
        let (key, step) = match self.unfrozen() {
            CqlType::Set(element) => (&**element, 1),
            CqlType::Map(entry) => (&entry[0], 2),
            _ => return true,
        };
        elements(bytes).step_by(step).flatten().is_sorted_by(|a, b| key.compare(a, b).is_lt())
    }
}

impl UserType {
    /// The fields of a valid serialised value; those that are missing are null.
    pub fn fields<'a>(&self, bytes: &'a [u8]) -> Vec<Option<&'a [u8]>> {
        let mut components = Components::new(bytes);
        self.types.iter().map(|_| components.next().and_then(Result::ok).flatten()).collect()
    }

    /// Serialises all fields; `None` if each of them is null.
    pub fn write(&self, fields: &[Option<&[u8]>]) -> Option<Vec<u8>> {
        fields.iter().any(Option::is_some).then(|| write_tuple(fields.iter().copied()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_and_maps_are_sorted_and_have_no_doubles() {
        let set = write_set(&CqlType::Tinyint, vec![&[2], &[0xff], &[2]]);
        assert_eq!(set, [0, 0, 0, 2, 0, 0, 0, 1, 0xff, 0, 0, 0, 1, 2]);
        let map = write_map(&CqlType::Tinyint, vec![(&[2], b"a"), (&[1], b"b"), (&[2], b"c")]);
        assert_eq!(elements(&map).flatten().collect::<Vec<_>>(), [&[1][..], b"b", &[2], b"c"]);
        let unsorted = [0, 0, 0, 2, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1];
        let normal = CqlType::Set(Box::new(CqlType::Tinyint)).normalise(&unsorted);
        assert_eq!(normal.as_deref(), Some(&[0, 0, 0, 2, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2][..]));
    }

    #[test]
    fn an_empty_collection_is_null_unless_it_is_frozen() {
        let list = CqlType::List(Box::new(CqlType::Int));
        assert_eq!(list.normalise(&[0; 4]), None);
        assert_eq!(list.freeze().normalise(&[0; 4]).as_deref(), Some(&[0; 4][..]));
    }
}
