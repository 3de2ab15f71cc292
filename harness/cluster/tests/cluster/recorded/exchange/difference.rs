//! Comparing two servers' answers to one recording, field by field.

use std::fmt;

use serde_json::Value;

use super::recording::Recording;
use super::replay::Replayed;

/// A field that two servers answered differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// What was asked, in words.
    pub request: String,
    /// The field as a JSON pointer.
    pub path: String,
    /// The expected value; null for none.
    pub expected: Value,
    /// The value found instead.
    pub found: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} is {} instead of {}", self.request, self.path, self.found, self.expected)
    }
}

/// A difference between the embedded node and Cassandra that is meant to be.
#[derive(Clone, Copy, Debug)]
pub struct Deliberate {
    /// What the request's words begin with.
    pub request: &'static str,
    /// What the path begins with.
    pub path: &'static str,
    /// The only value that is meant to be there.
    pub found: Option<Found>,
    /// Why.
    pub why: &'static str,
}

/// All differences that are meant to be.
pub const DELIBERATE: &[Deliberate] = &[
    Deliberate {
        request: "OPTIONS",
        path: "/body/PROTOCOL_VERSIONS/",
        found: None,
        why: "The node speaks protocol versions 3 and 4, and none that are younger.",
    },
    Deliberate {
        request: "QUERY \"SELECT * FROM system.local",
        path: "/body/rows/0/11",
        found: Some(Found::Text("4")),
        why: "`native_protocol_version` is the greatest that the server speaks.",
    },
    Deliberate { request: "", path: "/warnings", found: Some(Found::Nothing), why: NO_WARNINGS },
    Deliberate { request: "", path: "/flags", found: Some(Found::Nothing), why: NO_WARNINGS },
];

const NO_WARNINGS: &str =
    "The node gives no warnings (of aggregates without a key, of USE with prepared statements): drivers only log them.";

/// What may replace Cassandra's value.
#[derive(Clone, Copy, Debug)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// This text.
    Text(&'static str),
}

impl Found {
    fn matches(self, value: &Value) -> bool {
        match self {
            Found::Nothing => value.is_null(),
            Found::Text(text) => value == text,
        }
    }
}

impl Deliberate {
    /// Whether it is about this difference.
    pub fn covers(&self, difference: &Difference) -> bool {
        difference.request.starts_with(self.request)
            && difference.path.starts_with(self.path)
            && self.found.is_none_or(|found| found.matches(&difference.found))
    }
}

/// Every field in which `found` differs from `expected`, the deliberate ones among them.
pub fn differences(recording: &Recording, expected: &Replayed, found: &Replayed) -> Vec<Difference> {
    let mut differences = Vec::new();
    let count = expected.answers.len().max(found.answers.len());
    for number in 0..count {
        let request = recording.requests.get(number).map_or_else(
            || format!("request {number}, which is not in the recording"),
            |request| format!("{} (request {number})", request.words(&recording.requests)),
        );
        let answer = |of: &Replayed| of.answers.get(number).cloned().unwrap_or(Value::Null);
        compare(&request, "", &answer(expected), &answer(found), &mut differences);
    }
    let events = |of: &Replayed| serde_json::to_value(&of.events).unwrap_or(Value::Null);
    compare("events", "", &events(expected), &events(found), &mut differences);
    differences
}

fn compare(request: &str, path: &str, expected: &Value, found: &Value, into: &mut Vec<Difference>) {
    match (expected, found) {
        (Value::Object(left), Value::Object(right)) => {
            let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
            for key in keys {
                let at = |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or(Value::Null);
                compare(request, &format!("{path}/{key}"), &at(left), &at(right), into);
            }
        }
        (Value::Array(left), Value::Array(right)) => {
            for at in 0..left.len().max(right.len()) {
                let item = |array: &[Value]| array.get(at).cloned().unwrap_or_else(|| "(nothing)".into());
                compare(request, &format!("{path}/{at}"), &item(left), &item(right), into);
            }
        }
        _ if expected == found => {}
        _ => into.push(Difference {
            request: request.to_owned(),
            path: path.to_owned(),
            expected: expected.clone(),
            found: found.clone(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::recording::{Part, Request};
    use super::*;

    #[test]
    fn a_difference_names_the_request_the_field_and_both_values() {
        let request = Request {
            connection: 0,
            version: 4,
            flags: 0,
            stream: 1,
            opcode: "QUERY".to_owned(),
            body: vec![Part::Cql("SELECT v FROM t".to_owned())],
        };
        let recording = Recording { requests: vec![request] };
        let answer = |rows: Value| Replayed { answers: vec![json!({ "rows": rows })], ..Replayed::default() };
        let same = differences(&recording, &answer(json!([[1]])), &answer(json!([[1]])));
        assert!(same.is_empty());
        let found = differences(&recording, &answer(json!([[1], [2]])), &answer(json!([[3]])));
        let texts: Vec<String> = found.iter().map(Difference::to_string).collect();
        assert_eq!(
            texts,
            [
                r#"QUERY "SELECT v FROM t" (request 0): /rows/0/0 is 3 instead of 1"#,
                r#"QUERY "SELECT v FROM t" (request 0): /rows/1 is "(nothing)" instead of [2]"#,
            ]
        );
        let missing = differences(&recording, &answer(json!([])), &Replayed::default());
        assert_eq!((missing.len(), missing[0].path.as_str()), (1, ""));
    }
}
