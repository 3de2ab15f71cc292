//! The JSON Schema of the messages (`drivers/protocol.schema.json`) is made from the types, and holds for what both sides write.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cqldyno_driver_api::{DriverInfo, ErrorKind, Setting};
use cqldyno_scenarios::{Scenario, builtins};
use jsonschema::Validator;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::{
    BuildInfo, Done, End, ErrorCount, Failed, FailureKind, Hello, Job, Mode, PROTOCOL_VERSION, Pace, ParentMessage,
    Ready, Runtime, Traced, WorkerMessage,
};

/// Set to write the schema instead of comparing it: `make schema`.
const WRITE: &str = "CQLDYNO_WRITE_SCHEMA";

/// One line between cqldyno and a worker, in either direction.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only its schema is wanted")]
enum Line {
    /// On the worker's standard output.
    FromWorker(WorkerMessage),
    /// On the worker's standard input.
    FromParent(ParentMessage),
}

/// Of what is read: what one side must write.
fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<Line>();
    let title = format!("cqldyno: one line of the worker protocol, version {PROTOCOL_VERSION}");
    schema.insert("title".to_owned(), title.into());
    let mut schema = Value::from(schema);
    each_object(&mut schema, &mut |object| {
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = prose(text);
        }
    });
    schema
}

/// A documentation comment without its lines and links.
fn prose(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<String> = words.split("[`").map(|part| part.replacen("`]", "`", 1)).collect();
    // `Links`(with::targets) keep their words only.
    let unlinked = parts.join("`").replace("`(crate::MAX_BATCH)", "`").replace("`(crate::DEFAULT_EXPONENT)", "`");
    unlinked.replace("`crate::", "`").replace("::", ".")
}

fn each_object(value: &mut Value, change: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            change(object);
            object.values_mut().for_each(|inner| each_object(inner, change));
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| each_object(inner, change)),
        _ => {}
    }
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drivers/protocol.schema.json")
}

/// A validator of the committed schema.
fn validator() -> Validator {
    jsonschema::draft202012::new(&serde_json::from_str(&fs::read_to_string(path()).unwrap()).unwrap()).unwrap()
}

fn is_valid(message: &impl Serialize) -> bool {
    validator().is_valid(&serde_json::to_value(message).unwrap())
}

#[test]
fn the_committed_schema_is_what_the_types_give() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os(WRITE).is_some() {
        return fs::write(path(), text).unwrap();
    }
    assert!(
        fs::read_to_string(path()).unwrap_or_default() == text,
        "drivers/protocol.schema.json is not what the types give; write it again by `make schema`"
    );
}

#[test]
fn every_field_of_the_schema_says_what_it_is() {
    each_object(&mut schema(), &mut |object| {
        for (field, inner) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_known = ["description", "$ref", "const"].iter().any(|key| inner.get(key).is_some());
            assert!(is_known, "{field} has no description: {inner}");
        }
        let text = object.get("description").and_then(Value::as_str).unwrap_or_default();
        assert!(!text.contains("::") && !text.contains("[`") && !text.contains('\n'), "{text}");
    });
}

/// A job with every field.
fn job(scenario: Scenario) -> Job {
    Job {
        mode: Mode::Measure,
        scenario,
        count: 10,
        turns: 2,
        warmup: 5,
        concurrency: 3,
        rate: Some(1_000),
        seed: u64::MAX,
        runtime: Runtime::Multi { workers: 2 },
        target: vec![([127, 0, 0, 1], 9042).into(), "[::1]:9042".parse().unwrap()],
        credentials: Some(crate::Credentials { user: "u".to_owned(), password: "p".to_owned() }),
        tls: Some(cqldyno_driver_api::Tls {
            ca: Some("/etc/ca.pem".into()),
            client: Some(cqldyno_driver_api::ClientCertificate {
                certificate: "/etc/client.pem".into(),
                key: "/etc/client.key".into(),
            }),
        }),
        datacenter: Some("dc1".to_owned()),
        connections: 1,
        consistency: cqldyno_driver_api::Consistency::LocalOne,
        page_size: 5_000,
        request_timeout_ms: Some(100),
        settings: cqldyno_driver_api::Settings::Equal,
        options: BTreeMap::from([("lib".to_owned(), "/x".to_owned())]),
        progress_ms: 500,
        trace: Some(crate::Trace { patience_ms: 1_000 }),
        slice: Some(crate::Slice { part: 1, of: 3 }),
        tape: Some(crate::Tape {
            path: "/tmp/tape".into(),
            statements: vec![crate::TapeTypes { values: vec!["map<text, int>".to_owned()], columns: Vec::new() }],
        }),
    }
}

#[test]
fn whatever_either_side_says_holds_against_the_schema() {
    for scenario in builtins() {
        let name = scenario.name.clone();
        assert!(is_valid(&ParentMessage::Job(Box::new(job(scenario)))), "{name}");
    }
    for message in [ParentMessage::Go { at_ns: Some(1) }, ParentMessage::Ack, ParentMessage::Stop] {
        assert!(is_valid(&message), "{message:?}");
    }
    let settings = vec![Setting::taken("consistency", "LOCAL_ONE")];
    let hello = Hello {
        protocol: PROTOCOL_VERSION,
        driver: DriverInfo {
            capabilities: cqldyno_driver_api::Capability::all_but(&[]),
            most_in_flight: [(cqldyno_driver_api::Settings::Default, 8_192)].into(),
            ..DriverInfo::default()
        },
        settings: settings.clone(),
        build: BuildInfo::default(),
        turns: true,
        tape: true,
        language: Some("Java".to_owned()),
        machine: Some(crate::Machine { host: "a".to_owned(), cores: 2, kernel: "6.1.0".to_owned() }),
    };
    let errors = [(ErrorKind::WrongRow, ErrorCount { count: 1, first: "no row".to_owned() })].into();
    let pace = Pace {
        rate: 1,
        lasted_ns: 2,
        response: String::new(),
        lateness: String::new(),
        late_after_ns: 3,
        late: 4,
        latest_ns: 5,
    };
    let trace = Traced {
        failed: [4, 5, 9].into_iter().collect(),
        unanswered: [6].into_iter().collect(),
        answers_per_10ms: vec![3, 0, 3],
    };
    let runtime = Some(crate::RuntimeShare { gc_cpu_ns: Some(1), jit_cpu_ns: None });
    let end = End {
        wall_ns: 1,
        at_ns: None,
        user_us: 2,
        sys_us: 3,
        voluntary_switches: 4,
        involuntary_switches: 5,
        minor_faults: 6,
        major_faults: 7,
        steady: None,
    };
    for message in [
        WorkerMessage::Hello(Box::new(hello)),
        WorkerMessage::Ready(Ready { settings, connections: Some(2), threads: 3 }),
        WorkerMessage::Progress { issued: 1 },
        WorkerMessage::End(end),
        WorkerMessage::Done(Box::new(Done {
            errors,
            pace: Some(pace),
            trace: Some(trace),
            runtime,
            ..Done::default()
        })),
        WorkerMessage::Failed(Failed { kind: FailureKind::WarmUp, message: "No.".to_owned() }),
    ] {
        assert!(is_valid(&message), "{message:?}");
    }
}

#[test]
fn what_is_no_message_is_none_for_the_schema_either() {
    for line in [
        json!({"type": "dance"}),
        json!({"type": "progress"}),
        json!({"type": "progress", "issued": -1}),
        json!({"type": "failed", "kind": "mood", "message": "No."}),
        json!({"type": "end", "wall_ns": 1}),
        json!({"type": "done", "issued": 1, "answered": 1, "verified": 1, "issued_by_statement": {}, "errors": {}, "threads": 1,
               "trace": {"failed": [[1]], "unanswered": [], "answers_per_10ms": []}}),
        json!(["hello"]),
    ] {
        assert!(!is_valid(&line) && serde_json::from_value::<WorkerMessage>(line.clone()).is_err(), "{line}");
    }
}
