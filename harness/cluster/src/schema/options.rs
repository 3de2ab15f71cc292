//! The options of a table: Cassandra 5.0's, with its checks, defaults and spelling. None but `default_time_to_live` changes what the
//! node does.

use std::collections::BTreeMap;
use std::fmt;

use crate::cql::{Properties, PropertyValue};
use crate::error::{CqlError, Result};

/// The greatest time to live in seconds: twenty years.
pub const MAX_TTL: i32 = 20 * 365 * 24 * 60 * 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Upper,
    /// A speculative retry: `99p`, `10ms`, `ALWAYS` or `NEVER`.
    Policy,
    Bool,
    Int,
    Double,
    Map,
}

/// All options in the order in which they are described, with their defaults.
const KNOWN: [(&str, Kind, &str); 19] = [
    ("additional_write_policy", Kind::Policy, "99p"),
    ("allow_auto_snapshot", Kind::Bool, "true"),
    ("bloom_filter_fp_chance", Kind::Double, "0.01"),
    ("caching", Kind::Map, ""),
    ("cdc", Kind::Bool, "false"),
    ("comment", Kind::Text, ""),
    ("compaction", Kind::Map, ""),
    ("compression", Kind::Map, ""),
    ("memtable", Kind::Text, "default"),
    ("crc_check_chance", Kind::Double, "1.0"),
    (DEFAULT_TTL, Kind::Int, "0"),
    ("extensions", Kind::Map, ""),
    ("gc_grace_seconds", Kind::Int, "864000"),
    ("incremental_backups", Kind::Bool, "true"),
    ("max_index_interval", Kind::Int, "2048"),
    ("memtable_flush_period_in_ms", Kind::Int, "0"),
    ("min_index_interval", Kind::Int, "128"),
    ("read_repair", Kind::Upper, "BLOCKING"),
    ("speculative_retry", Kind::Policy, "99p"),
];

const DEFAULT_TTL: &str = "default_time_to_live";

/// Options of older versions, and of other servers, whose clients set them.
const IGNORED: [&str; 4] = ["dclocal_read_repair_chance", "id", "nodesync", "read_repair_chance"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOptions {
    values: BTreeMap<&'static str, PropertyValue>,
    /// The seconds after which what is written expires; 0 for never.
    pub default_time_to_live: u32,
}

impl Default for TableOptions {
    fn default() -> Self {
        let value = |name: &str, kind: Kind, default: &str| match kind {
            Kind::Map => PropertyValue::Map(map_option(name, BTreeMap::new()).unwrap_or_default()),
            _ => PropertyValue::Text(default.to_owned()),
        };
        let values = KNOWN.iter().map(|(name, kind, default)| (*name, value(name, *kind, default))).collect();
        TableOptions { values, default_time_to_live: 0 }
    }
}

impl TableOptions {
    /// From the properties after WITH.
    pub fn define(properties: &Properties) -> Result<TableOptions> {
        let mut options = TableOptions::default().with(properties)?;
        let compaction = options.map("compaction").and_then(|map| map.get("class"));
        let is_leveled = compaction.is_some_and(|class| class.ends_with("LeveledCompactionStrategy"));
        if is_leveled && !properties.iter().any(|(name, _)| name == "bloom_filter_fp_chance") {
            options.values.insert("bloom_filter_fp_chance", PropertyValue::Text("0.1".to_owned()));
        }
        Ok(options)
    }

    /// With other values for the options of ALTER TABLE.
    pub fn with(&self, properties: &Properties) -> Result<TableOptions> {
        let mut options = self.clone();
        for (at, (name, value)) in properties.iter().enumerate() {
            if properties[..at].iter().any(|(before, _)| before == name) {
                return Err(CqlError::Syntax(format!("Multiple definitions for property '{name}'")));
            }
            if IGNORED.contains(&name.as_str()) {
                continue;
            }
            let Some((name, kind, _)) = KNOWN.iter().find(|(known, ..)| known == name) else {
                return Err(CqlError::Syntax(format!("Unknown property '{name}'")));
            };
            let value = match (kind, value) {
                (Kind::Map, PropertyValue::Map(map)) => PropertyValue::Map(map_option(name, map.clone())?),
                (Kind::Map, PropertyValue::Text(_)) => {
                    return Err(CqlError::Syntax(format!("Invalid value for property '{name}'. It should be a map.")));
                }
                (_, PropertyValue::Map(_)) => {
                    return Err(CqlError::Syntax(format!(
                        "Invalid value for property '{name}'. It should be a string."
                    )));
                }
                (kind, PropertyValue::Text(text)) => PropertyValue::Text(text_option(name, *kind, text)?),
            };
            options.values.insert(name, value);
        }
        options.default_time_to_live = options.text(DEFAULT_TTL).parse().unwrap_or(0);
        Ok(options)
    }

    /// The value of an option that is no map.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(PropertyValue::Text(text)) => text,
            _ => "",
        }
    }

    /// The value of an option that is a map.
    pub fn map(&self, name: &str) -> Option<&BTreeMap<String, String>> {
        match self.values.get(name) {
            Some(PropertyValue::Map(map)) => Some(map),
            _ => None,
        }
    }

    /// Each option as CQL, `name = value`, in Cassandra's order.
    pub fn described(&self) -> impl Iterator<Item = String> {
        KNOWN.iter().map(|(name, kind, _)| match (kind, self.map(name)) {
            (Kind::Map, map) => format!("{name} = {}", CqlMap(map.unwrap_or(&BTreeMap::new()))),
            (Kind::Text | Kind::Upper | Kind::Policy, _) => format!("{name} = {}", quoted(self.text(name))),
            _ => format!("{name} = {}", self.text(name)),
        })
    }
}

/// A text as CQL writes it.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A map of texts as CQL writes it, the class first as it is in every replication.
pub struct CqlMap<'m>(pub &'m BTreeMap<String, String>);

impl fmt::Display for CqlMap<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().map(|(key, value)| format!("{}: {}", quoted(key), quoted(value)));
        write!(f, "{{{}}}", entries.collect::<Vec<_>>().join(", "))
    }
}

fn text_option(name: &str, kind: Kind, text: &str) -> Result<String> {
    let syntax = |what: &str| CqlError::Syntax(format!("Invalid {what} value {text} for '{name}'"));
    match kind {
        Kind::Int => {
            let number: i32 = text.parse().map_err(|_| syntax("integer"))?;
            if number < 0 {
                return Err(CqlError::Config(format!("{name} must be greater than or equal to 0 (got {number})")));
            }
            if name == DEFAULT_TTL && number > MAX_TTL {
                return Err(CqlError::Config(format!("{name} must be less than or equal to {MAX_TTL} (got {number})")));
            }
            Ok(number.to_string())
        }
        Kind::Double => text.parse().map(|number: f64| format!("{number:?}")).map_err(|_| syntax("double")),
        Kind::Bool => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Ok("true".to_owned()),
            "false" | "no" | "0" => Ok("false".to_owned()),
            _ => Err(CqlError::Syntax(format!(
                "Invalid boolean value {text} for '{name}'. Positive values can be '1', 'true' or 'yes'. Negative values can be \
                 '0', 'false' or 'no'."
            ))),
        },
        Kind::Policy => {
            let upper = text.to_ascii_uppercase();
            let number = |end: &str| upper.strip_suffix(end).and_then(|number| number.parse::<f64>().ok());
            match (upper.as_str(), number("PERCENTILE").or(number("P")), number("MS")) {
                ("NONE" | "NEVER", ..) => Ok("NEVER".to_owned()),
                ("ALWAYS", ..) => Ok(upper),
                (_, Some(percentile), _) => Ok(format!("{percentile}p")),
                (_, _, Some(millis)) => Ok(format!("{millis}ms")),
                _ => Err(CqlError::Config(format!("Invalid value {text} for option '{name}'"))),
            }
        }
        Kind::Upper => Ok(text.to_ascii_uppercase()),
        Kind::Text | Kind::Map => Ok(text.to_owned()),
    }
}

/// A map option with what Cassandra adds to it.
fn map_option(name: &str, mut map: BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let mut default = |option: &str, value: &str| {
        map.entry(option.to_owned()).or_insert_with(|| value.to_owned());
    };
    let (package, classes, what) = match name {
        "caching" => {
            default("keys", "ALL");
            default("rows_per_partition", "NONE");
            if !["ALL", "NONE"].contains(&map["keys"].as_str()) {
                return Err(CqlError::Config(format!(
                    "Invalid value '{}' for caching sub-option 'keys': only 'ALL' and 'NONE' are allowed",
                    map["keys"]
                )));
            }
            return Ok(map);
        }
        "compaction" => {
            default("class", "SizeTieredCompactionStrategy");
            if !map["class"].ends_with("UnifiedCompactionStrategy") {
                map.entry("max_threshold".to_owned()).or_insert_with(|| "32".to_owned());
                map.entry("min_threshold".to_owned()).or_insert_with(|| "4".to_owned());
            }
            let classes = "SizeTieredCompactionStrategy LeveledCompactionStrategy TimeWindowCompactionStrategy \
                           UnifiedCompactionStrategy";
            ("org.apache.cassandra.db.compaction.", classes, "Unable to find compaction strategy class ")
        }
        "compression" => {
            let off = |option: &str| map.get(option).is_some_and(String::is_empty);
            if off("class")
                || off("sstable_compression")
                || map.get("enabled").is_some_and(|enabled| enabled == "false")
            {
                return Ok(BTreeMap::from([("enabled".to_owned(), "false".to_owned())]));
            }
            for (old, new) in [("sstable_compression", "class"), ("chunk_length_kb", "chunk_length_in_kb")] {
                if let Some(value) = map.remove(old) {
                    map.entry(new.to_owned()).or_insert(value);
                }
            }
            map.entry("chunk_length_in_kb".to_owned()).or_insert_with(|| "16".to_owned());
            map.entry("class".to_owned()).or_insert_with(|| "LZ4Compressor".to_owned());
            let classes = "LZ4Compressor SnappyCompressor DeflateCompressor ZstdCompressor NoopCompressor";
            ("org.apache.cassandra.io.compress.", classes, "Could not create Compression for type ")
        }
        _ => return Ok(map),
    };
    let short = map["class"].strip_prefix(package).unwrap_or(&map["class"]).to_owned();
    if !classes.split(' ').any(|class| class == short) {
        let quote = if name == "compaction" { "'" } else { "" };
        return Err(CqlError::Config(format!("{what}{quote}{package}{short}{quote}")));
    }
    map.insert("class".to_owned(), format!("{package}{short}"));
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn define(name: &str, value: &str) -> Result<TableOptions> {
        TableOptions::define(&vec![(name.to_owned(), PropertyValue::Text(value.to_owned()))])
    }

    fn define_map(name: &str, entries: &[(&str, &str)]) -> Result<TableOptions> {
        let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        TableOptions::define(&vec![(name.to_owned(), PropertyValue::Map(entries))])
    }

    #[test]
    fn values_are_spelled_as_cassandra_describes_them() {
        let described = |options: Result<TableOptions>, name: &str| {
            let start = format!("{name} = ");
            options.unwrap().described().find_map(|option| option.strip_prefix(&start).map(str::to_owned)).unwrap()
        };
        for (name, value, text) in [
            ("speculative_retry", "NONE", "'NEVER'"),
            ("speculative_retry", "99PERCENTILE", "'99p'"),
            ("additional_write_policy", "10ms", "'10ms'"),
            ("read_repair", "none", "'NONE'"),
            ("crc_check_chance", "1", "1.0"),
            ("cdc", "Yes", "true"),
            ("comment", "it's", "'it''s'"),
        ] {
            assert_eq!(described(define(name, value), name), text);
        }
        let leveled = [("class", "LeveledCompactionStrategy")];
        assert_eq!(
            described(define_map("compaction", &leveled), "compaction"),
            "{'class': 'org.apache.cassandra.db.compaction.LeveledCompactionStrategy', 'max_threshold': '32', 'min_threshold': '4'}"
        );
        assert_eq!(described(define_map("compaction", &leveled), "bloom_filter_fp_chance"), "0.1");
        assert_eq!(
            described(define_map("compression", &[("enabled", "false")]), "compression"),
            "{'enabled': 'false'}"
        );
        assert_eq!(
            described(define_map("caching", &[("keys", "NONE")]), "caching"),
            "{'keys': 'NONE', 'rows_per_partition': 'NONE'}"
        );
    }

    #[test]
    fn a_wrong_value_is_refused_with_cassandras_text() {
        for (name, value, code, text) in [
            ("default_time_to_live", "-1", 0x2300, "default_time_to_live must be greater than or equal to 0 (got -1)"),
            (
                "default_time_to_live",
                "630720001",
                0x2300,
                "default_time_to_live must be less than or equal to 630720000 (got 630720001)",
            ),
            ("gc_grace_seconds", "abc", 0x2000, "Invalid integer value abc for 'gc_grace_seconds'"),
            ("bloom_filter_fp_chance", "x", 0x2000, "Invalid double value x for 'bloom_filter_fp_chance'"),
            ("speculative_retry", "x", 0x2300, "Invalid value x for option 'speculative_retry'"),
            ("compaction", "x", 0x2000, "Invalid value for property 'compaction'. It should be a map."),
            ("nope", "x", 0x2000, "Unknown property 'nope'"),
        ] {
            let error = define(name, value).unwrap_err();
            assert_eq!((error.code(), error.to_string()), (code, text.to_owned()));
        }
        let error = define_map("compaction", &[("class", "Nope")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Unable to find compaction strategy class 'org.apache.cassandra.db.compaction.Nope'"
        );
        let error = define_map("compression", &[("class", "Nope")]).unwrap_err();
        assert_eq!(error.to_string(), "Could not create Compression for type org.apache.cassandra.io.compress.Nope");
    }
}
