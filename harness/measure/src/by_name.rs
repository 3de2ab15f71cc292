//! Values by name, for runs of thousands of cells that all have the same names.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::ops::Index;
use std::sync::{Mutex, PoisonError};
use std::{fmt, iter, mem, slice};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The only copy of a value that thousands of cells have alike; `copies` has those that are there.
///
/// It stays until the process ends, so it is for values of which a run has few different ones.
pub fn shared<T: Ord + ?Sized>(
    copies: &Mutex<BTreeSet<&'static T>>,
    value: impl AsRef<T> + Into<Box<T>>,
) -> &'static T {
    let mut copies = copies.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = copies.get(value.as_ref()) {
        return known;
    }
    let value = Box::leak(value.into());
    copies.insert(value);
    value
}

/// A map with sorted names: in files it is what a `BTreeMap<String, V>` is.
///
/// It holds its values in one piece of memory, and each name exists once in the process.
#[derive(Clone, PartialEq, Eq)]
pub struct ByName<V>(Vec<(&'static str, V)>);

/// Names and values, by name.
type Iter<'a, V> = iter::Map<slice::Iter<'a, (&'static str, V)>, fn(&'a (&'static str, V)) -> (&'a str, &'a V)>;

impl<V> ByName<V> {
    /// Where the name is, or belongs.
    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| (*known).cmp(name))
    }

    /// The value under the name.
    pub fn get(&self, name: &str) -> Option<&V> {
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    /// The value under the name, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.place(name).ok().map(|at| &mut self.0[at].1)
    }

    /// Puts the value under the name, and returns the one that was there.
    pub fn insert(&mut self, name: impl Into<String>, value: V) -> Option<V> {
        let name = name.into();
        match self.place(&name) {
            Ok(at) => Some(mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (shared(&NAMES, name), value));
                None
            }
        }
    }

    /// Takes the value under the name away, and returns it.
    pub fn remove(&mut self, name: &str) -> Option<V> {
        self.place(name).ok().map(|at| self.0.remove(at).1)
    }

    /// Takes away what `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(&str, &mut V) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    /// Takes everything away.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Whether there is a value under the name.
    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Names and values, by name.
    pub fn iter(&self) -> Iter<'_, V> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// The names, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(name, _)| name)
    }

    /// The values, by name.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The values, by name, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<V> Default for ByName<V> {
    fn default() -> ByName<V> {
        ByName(Vec::new())
    }
}

impl<V: fmt::Debug> fmt::Debug for ByName<V> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V> Index<&str> for ByName<V> {
    type Output = V;

    #[expect(clippy::panic, reason = "a BTreeMap panics, too")]
    fn index(&self, name: &str) -> &V {
        self.get(name).unwrap_or_else(|| panic!("there is no {name:?}"))
    }
}

impl<'a, V> IntoIterator for &'a ByName<V> {
    type Item = (&'a str, &'a V);
    type IntoIter = Iter<'a, V>;

    fn into_iter(self) -> Iter<'a, V> {
        self.iter()
    }
}

impl<N: Into<String>, V> Extend<(N, V)> for ByName<V> {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, more: I) {
        more.into_iter().for_each(|(name, value)| drop(self.insert(name, value)));
        self.0.shrink_to_fit();
    }
}

impl<N: Into<String>, V> FromIterator<(N, V)> for ByName<V> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(all: I) -> ByName<V> {
        let mut map = ByName::default();
        map.extend(all);
        map
    }
}

impl<N: Into<String>, V, const COUNT: usize> From<[(N, V); COUNT]> for ByName<V> {
    fn from(all: [(N, V); COUNT]) -> ByName<V> {
        all.into_iter().collect()
    }
}

impl<V: Serialize> Serialize for ByName<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for ByName<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ByName<V>, D::Error> {
        struct Entries<V>(PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
            type Value = ByName<V>;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByName<V>, A::Error> {
                iter::from_fn(|| map.next_entry::<String, V>().transpose()).collect()
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

#[cfg(feature = "schema")]
impl<V: schemars::JsonSchema> schemars::JsonSchema for ByName<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::collections::BTreeMap::<String, V>::schema_name()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        std::collections::BTreeMap::<String, V>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_reads_and_writes_what_a_map_of_strings_does() {
        let text = r#"{"b":2,"":0,"a":1,"b":3}"#;
        let (map, expected): (ByName<u32>, BTreeMap<String, u32>) =
            (serde_json::from_str(text).unwrap(), serde_json::from_str(text).unwrap());
        assert_eq!(serde_json::to_string(&map).unwrap(), serde_json::to_string(&expected).unwrap());
        assert_eq!(map, expected.into_iter().collect());
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::from_value::<ByName<u32>>(value).unwrap(), map);
        assert!(serde_json::from_str::<ByName<u32>>("[]").is_err());
    }

    #[test]
    fn a_value_is_found_changed_and_taken_away_by_its_name() {
        let mut map = ByName::from([("b", 2), ("a", 1)]);
        assert_eq!((map.get("a"), map.get("c"), map["b"], map.contains_key("")), (Some(&1), None, 2, false));
        assert_eq!((map.insert("b", 4), map.insert("c", 3)), (Some(2), None));
        map.values_mut().for_each(|value| *value *= 10);
        *map.get_mut("a").unwrap() += 1;
        map.retain(|name, _| name != "b");
        assert_eq!(format!("{map:?}"), r#"{"a": 11, "c": 30}"#);
        assert_eq!((map.remove("a"), map.remove("a"), map.keys().collect::<Vec<_>>()), (Some(11), None, vec!["c"]));
    }

    #[test]
    fn a_name_exists_once_in_the_process() {
        let [one, other] = [(); 2].map(|()| serde_json::from_str::<ByName<u32>>(r#"{"wall":1}"#).unwrap());
        assert!(std::ptr::eq(one.keys().next().unwrap(), other.keys().next().unwrap()));
    }
}
