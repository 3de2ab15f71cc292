//! The packages of a lock file.

/// One package of a lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its exact version.
    pub version: &'a str,
    /// All of its entry.
    pub entry: &'a str,
}

impl<'a> Package<'a> {
    /// The packages that it depends on. An entry is `NAME`, or `NAME VERSION` where the lock file has several versions.
    pub fn dependencies(&self, lock: &'a str) -> impl Iterator<Item = Package<'a>> + use<'a> {
        let list = self.entry.split_once("\ndependencies = [").map_or("", |(_, list)| list);
        let list = list.split_once(']').map_or("", |(list, _)| list);
        list.lines().filter_map(move |line| {
            let mut words = line.trim().trim_matches([',', '"']).split(' ');
            let (name, version) = (words.next().filter(|name| !name.is_empty())?, words.next());
            packages(lock).find(|found| found.name == name && version.is_none_or(|version| found.version == version))
        })
    }
}

/// All packages of a lock file.
pub fn packages(lock: &str) -> impl Iterator<Item = Package<'_>> {
    let package = |entry| Some(Package { name: field(entry, "name")?, version: field(entry, "version")?, entry });
    lock.split("[[package]]").skip(1).filter_map(package)
}

/// The value of `key` in a package's entry.
pub fn field<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let value = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    Some(value.trim().trim_matches('"'))
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) const LOCK: &str = r#"
version = 4

[[package]]
name = "driver"
version = "1.9.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = [
 "hash 0.2.0",
 "only",
]

[[package]]
name = "generator"
version = "0.1.0"
dependencies = [
 "hash 0.10.0",
 "only",
]

[[package]]
name = "hash"
version = "0.2.0"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "hash"
version = "0.10.0"
source = "git+https://example.org/hash#0123"

[[package]]
name = "hash"
version = "0.10.0-rc.1"

[[package]]
name = "only"
version = "3.1.4"
source = "registry+https://github.com/rust-lang/crates.io-index"
dependencies = [
 "beneath",
]

[[package]]
name = "beneath"
version = "1.0.0"
"#;
}
