//! What a package is built with, by the lock file: its own entry and those of everything beneath it.

use std::collections::BTreeMap;

/// The entries of `package` and of all that it depends on, directly or not, each once and in order. Another version of what only
/// others depend on, such as a driver's, changes nothing of it.
pub fn closure(lock: &str, package: &str) -> Vec<String> {
    let blocks: Vec<&str> = lock.split("[[package]]").skip(1).map(str::trim).collect();
    let mut found = BTreeMap::new();
    let mut open = vec![package.to_owned()];
    while let Some(asked) = open.pop() {
        // An entry is NAME, or NAME VERSION where there are several, or NAME VERSION (SOURCE).
        let mut words = asked.split(' ');
        let (name, version) = (words.next(), words.next());
        for block in &blocks {
            let is = field(block, "name") == name && (version.is_none() || field(block, "version") == version);
            if is && found.insert((*block).to_owned(), ()).is_none() {
                open.extend(dependencies(block));
            }
        }
    }
    found.into_keys().collect()
}

fn field<'a>(block: &'a str, key: &str) -> Option<&'a str> {
    let value = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    Some(value.trim().trim_matches('"'))
}

fn dependencies(block: &str) -> Vec<String> {
    let list = block.split_once("dependencies = [").map_or("", |(_, list)| list);
    let list = list.split_once(']').map_or("", |(list, _)| list);
    let entries = list.lines().map(|line| line.trim().trim_matches([',', '"']));
    entries.filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = r#"
version = 4

[[package]]
name = "driver"
version = "1.0.0"
dependencies = [
 "hash 0.1.0",
 "runtime",
]

[[package]]
name = "generator"
version = "0.1.0"
dependencies = [
 "hash 0.2.0",
 "runtime",
]

[[package]]
name = "hash"
version = "0.1.0"

[[package]]
name = "hash"
version = "0.2.0"

[[package]]
name = "runtime"
version = "1.0.0"
dependencies = [
 "bytes",
]

[[package]]
name = "bytes"
version = "1.0.0"
"#;

    #[test]
    fn a_package_is_built_with_what_is_beneath_it() {
        let blocks = closure(LOCK, "generator");
        let names: Vec<_> =
            blocks.iter().filter_map(|block| Some((field(block, "name")?, field(block, "version")?))).collect();
        assert_eq!(names, [("bytes", "1.0.0"), ("generator", "0.1.0"), ("hash", "0.2.0"), ("runtime", "1.0.0")]);
    }

    #[test]
    fn another_version_of_a_driver_changes_nothing_and_one_of_a_shared_library_does() {
        let driver = LOCK.replacen("1.0.0", "1.1.0", 1).replace("hash 0.1.0", "hash 0.2.0");
        assert_ne!(driver, LOCK);
        assert_eq!(closure(&driver, "generator"), closure(LOCK, "generator"));
        let bytes = LOCK.replace("\"bytes\"\nversion = \"1.0.0\"", "\"bytes\"\nversion = \"1.0.1\"");
        assert_ne!(closure(&bytes, "generator"), closure(LOCK, "generator"));
    }

    #[test]
    fn the_load_generator_is_built_with_a_runtime_and_without_drivers() {
        let blocks = closure(include_str!("../../../../Cargo.lock"), env!("CARGO_PKG_NAME"));
        let has = |name: &str| blocks.iter().any(|block| field(block, "name") == Some(name));
        assert!(has("cqldyno-worker") && has("tokio") && has("hdrhistogram"), "{blocks:?}");
        assert!(!has("scylla") && !has("cdrs-tokio") && !has("cassandra-cpp"), "{blocks:?}");
    }
}
