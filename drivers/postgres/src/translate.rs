//! SQL from the CQL of a scenario: as much of it as an insert and a read by key need.

use cqldyno_driver_api::{DriverError, ErrorKind};

/// The types of columns, in CQL and in SQL.
pub(crate) const TYPES: [(&str, &str); 3] = [("bigint", "bigint"), ("text", "text"), ("blob", "bytea")];

/// Words of CQL after which a statement means something that SQL does not.
const UNKNOWN: [&str; 6] = ["using", "if", "allow", "limit", "token", "ttl"];

/// The statement in SQL.
///
/// # Errors
/// [`ErrorKind::Invalid`] when it has no counterpart here, with what has one.
pub(crate) fn sql(cql: &str) -> Result<String, DriverError> {
    let text = cql.trim().trim_end_matches(';');
    let words: Vec<&str> = text.split_whitespace().collect();
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    let name = |at: usize| words.get(at).copied().ok_or_else(|| unknown(cql));
    let is_plain = || lower.iter().all(|word| !UNKNOWN.contains(word));
    match lower.as_slice() {
        ["create", "keyspace", "if", "not", "exists", ..] => Ok(format!("CREATE SCHEMA IF NOT EXISTS {}", name(5)?)),
        ["create", "keyspace", ..] => Ok(format!("CREATE SCHEMA {}", name(2)?)),
        ["drop", "keyspace", "if", "exists", ..] => Ok(format!("DROP SCHEMA IF EXISTS {} CASCADE", name(4)?)),
        ["drop", "keyspace", ..] => Ok(format!("DROP SCHEMA {} CASCADE", name(2)?)),
        ["drop", "table", ..] => Ok(text.to_owned()),
        ["create", "table", ..] => table(text).ok_or_else(|| unknown(cql)),
        ["insert", ..] | ["select", ..] if is_plain() => Ok(numbered(text)),
        _ => Err(unknown(cql)),
    }
}

#[cold]
fn unknown(cql: &str) -> DriverError {
    let why = format_args!(
        "the statement {cql:?} has no counterpart in SQL here; there are CREATE and DROP KEYSPACE, CREATE and DROP TABLE with columns of \
         the types bigint, text and blob, and INSERT and SELECT by key"
    );
    DriverError::new(ErrorKind::Invalid, why)
}

/// The table with the types of SQL, `None` if a column has another type, or if partition or options are asked for.
fn table(text: &str) -> Option<String> {
    let (head, columns) = text.split_once('(')?;
    let columns = columns.strip_suffix(')')?;
    let (before, key) = match columns.to_ascii_uppercase().find("PRIMARY KEY (") {
        Some(at) => columns.split_at(at),
        None => (columns, ""),
    };
    let column = |part: &str| {
        let mut words = part.split_whitespace();
        let (name, kind) = (words.next()?, words.next()?);
        let (_, kind) = TYPES.iter().find(|(cql, _)| kind.eq_ignore_ascii_case(cql))?;
        Some([name, *kind].into_iter().chain(words).collect::<Vec<_>>().join(" "))
    };
    let parts = before.split(',').map(str::trim).filter(|part| !part.is_empty());
    let mut columns: Vec<String> = parts.map(column).collect::<Option<_>>()?;
    columns.extend((!key.is_empty()).then(|| key.trim().to_owned()));
    (!key.contains("((")).then(|| format!("{head}({})", columns.join(", ")))
}

/// Markers as SQL numbers them, outside of quoted texts.
fn numbered(text: &str) -> String {
    let (mut markers, mut quoted, mut sql) = (0, false, String::with_capacity(text.len() + 8));
    for c in text.chars() {
        quoted ^= c == '\'';
        match c {
            '?' if !quoted => {
                markers += 1;
                sql.push_str(&format!("${markers}"));
            }
            other => sql.push(other),
        }
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_an_insert_and_a_read_by_key_have_counterparts() {
        let keyspace = "CREATE KEYSPACE IF NOT EXISTS k WITH replication = {'class': 'SimpleStrategy'}";
        for (cql, expected) in [
            (keyspace, "CREATE SCHEMA IF NOT EXISTS k"),
            ("DROP KEYSPACE IF EXISTS k", "DROP SCHEMA IF EXISTS k CASCADE"),
            ("DROP TABLE IF EXISTS k.t;", "DROP TABLE IF EXISTS k.t"),
            ("CREATE TABLE k.t (a bigint PRIMARY KEY, b blob)", "CREATE TABLE k.t (a bigint PRIMARY KEY, b bytea)"),
            (
                "CREATE TABLE k.t (a bigint, b text, PRIMARY KEY (a, b))",
                "CREATE TABLE k.t (a bigint, b text, PRIMARY KEY (a, b))",
            ),
            ("INSERT INTO k.t (a, b) VALUES (?, ?)", "INSERT INTO k.t (a, b) VALUES ($1, $2)"),
            ("SELECT a FROM k.t WHERE a = ? AND b = '?'", "SELECT a FROM k.t WHERE a = $1 AND b = '?'"),
        ] {
            assert_eq!(sql(cql).unwrap(), expected);
        }
    }

    #[test]
    fn what_means_something_else_in_sql_is_refused_with_what_there_is() {
        for cql in [
            "CREATE TABLE k.t (a bigint PRIMARY KEY, b list<int>)",
            "CREATE TABLE k.t (a bigint, b bigint, PRIMARY KEY ((a, b)))",
            "CREATE TABLE k.t (a bigint PRIMARY KEY) WITH comment = 'x'",
            "INSERT INTO k.t (a) VALUES (?) USING TTL 5",
            "INSERT INTO k.t (a) VALUES (?) IF NOT EXISTS",
            "UPDATE k.t SET b = ? WHERE a = ?",
        ] {
            let error = sql(cql).unwrap_err();
            let told = error.message();
            assert!(
                told.contains("has no counterpart in SQL here") && told.contains("bigint, text and blob"),
                "{told}"
            );
        }
    }
}
