//! The JSON Schema of scenario files (`scenarios/scenario.schema.json`), by which an editor completes and checks them, is made from the
//! types, and has the fields that the TOML form takes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cqldyno_scenarios::{Column, Scenario, builtin_toml, builtins, days};
use cqldyno_script::{Step, Time};
use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Set to write the schema instead of comparing it: `make schema`.
const WRITE: &str = "CQLDYNO_WRITE_SCHEMA";

/// What stands before the statement of a file, and the statement without what is tried.
const HEAD: &str = "name = \"a\"\nabout = \"A.\"\nschema = []\n";
const STATEMENT: &str = "[[statement]]\nname = \"a\"\ncql = \"a\"\n";

/// Names in documentation comments, and what an editor says instead.
const NAMES: [(&str, &str); 9] = [
    ("`(crate::MAX_BATCH)", "`"),
    ("`(crate::DEFAULT_EXPONENT)", "`"),
    ("`MAX_VALUES`", "256"),
    ("`MAX_BATCH`", "1,024"),
    ("`DEFAULT_BATCH`", "64"),
    ("`DEFAULT_EXPONENT`", "0.99"),
    ("Of `Order::Zipf` alone", "For the order zipf alone"),
    ("`Operation::Batch`", "the operation batch"),
    ("`Operation::Prepare`", "the operation prepare"),
];

/// Of draft 7, which editors know.
fn schema() -> Value {
    let mut generator = SchemaSettings::draft07().for_deserialize().into_generator();
    let further = [
        ("script", generator.subschema_for::<Vec<Step>>()),
        ("idle", generator.subschema_for::<Time>()),
        ("tape", generator.subschema_for::<String>()),
    ];
    let columns = Value::from(generator.subschema_for::<Vec<Column>>());
    let column = columns["items"].clone();
    let mut schema = Value::from(generator.into_root_schema_for::<Scenario>());
    each_object(&mut schema, &mut plain);
    // No worker is told of these, and a sweep sets the point.
    let about = [
        "What the embedded cluster does on purpose in every window.",
        "How long a worker is left idle after its turn.",
        "An Arrow or Parquet file whose rows are issued in their order, with columns named as the markers.",
    ];
    for ((name, further), about) in further.into_iter().zip(about) {
        schema["properties"][name] = described(Value::from(further), about);
    }
    schema["properties"].as_object_mut().unwrap().remove("point");
    schema["definitions"].as_object_mut().unwrap().remove("Point");
    // A bad day has both or neither.
    schema["required"] = json!(["name", "about"]);
    schema["dependencies"] = json!({ "statement": ["schema"], "schema": ["statement"] });
    // A tape has the values.
    let of_values = json!({ "required": ["values"] });
    let read_back = json!({ "required": ["values", "columns"] });
    let of_statement = json!({ "required": ["values"], "properties": { "load": of_values, "read_back": read_back } });
    schema["if"] = json!({ "not": { "required": ["tape"] } });
    schema["then"] = json!({ "properties": { "statement": { "items": of_statement } } });
    schema["title"] = "cqldyno: a scenario".into();

    let definitions = &mut schema["definitions"];
    for owner in ["Statement", "Load", "ReadBack"] {
        let values = &mut definitions[owner]["properties"]["values"];
        let about = values["description"].as_str().unwrap().to_owned();
        let named = json!({ "type": "object", "additionalProperties": column.clone() });
        *values = described(json!({ "anyOf": [columns.clone(), named] }), &about);
        let required = definitions[owner]["required"].as_array_mut().unwrap();
        required.retain(|field| field != "values" && field != "columns");
    }
    let expectation = &mut definitions["Expectation"];
    expectation["properties"]["applied"] =
        json!({ "type": "boolean", "description": "What a statement with IF answers in its first column." });
    expectation.as_object_mut().unwrap().remove("required");
    expectation["anyOf"] = json!([{ "required": ["columns"] }, { "required": ["applied"] }]);
    let common = definitions["Column"].as_object_mut().unwrap().remove("properties").unwrap();
    for (owner, common) in [("Column", common), ("Kind", json!({}))] {
        for kind in definitions[owner]["oneOf"].as_array_mut().unwrap() {
            let all = kind["properties"].as_object_mut().unwrap();
            all.extend(common.as_object().unwrap().clone());
            if all["type"]["const"] == "text" {
                all.insert("type".to_owned(), json!({ "type": "string", "enum": ["text", "varchar"] }));
            }
            let taken = taken(&of_kind(owner, kind));
            kind["properties"].as_object_mut().unwrap().retain(|field, _| taken.contains(field));
            kind["additionalProperties"] = false.into();
        }
    }
    schema
}

fn described(mut schema: Value, about: &str) -> Value {
    schema["description"] = about.into();
    schema
}

/// TOML has no null, and an editor shows what a documentation comment says, without its lines and links.
fn plain(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get_mut("description") {
        let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        // A reference to a type in brackets is for readers of the code.
        while let Some((before, after)) = words.split_once(" ([`")
            && let Some((_, rest)) = after.split_once("`])")
        {
            words = format!("{before}{rest}");
        }
        let parts: Vec<String> = words.split("[`").map(|part| part.replacen("`]", "`", 1)).collect();
        let mut unlinked = parts.join("`");
        for (name, said) in NAMES {
            unlinked = unlinked.replace(name, said);
        }
        *text = unlinked.replace("::", ".");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            *object.get_mut("type").unwrap() = only.clone();
        }
    }
    let some = object.get_mut("anyOf").and_then(Value::as_array_mut).and_then(|any| {
        any.retain(|one| one["type"] != "null");
        (any.len() == 1).then(|| any.remove(0))
    });
    if let Some(some) = some {
        object.remove("anyOf");
        object.insert("allOf".to_owned(), json!([some]));
    }
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

/// A file with a field that nothing has, in a column or an element of this kind.
fn of_kind(owner: &str, kind: &Value) -> String {
    let name = &kind["properties"]["type"];
    let name = name["const"].as_str().or_else(|| name["enum"][0].as_str()).unwrap();
    let required =
        kind["required"].as_array().unwrap().iter().filter_map(Value::as_str).filter(|field| *field != "type");
    let value = |field: &str| match (field, kind["properties"][field]["type"].as_str()) {
        ("length" | "rows", _) => "1",
        (_, Some("array")) => "[{ type = \"int\" }]",
        _ => "{ type = \"int\" }",
    };
    let fields: String = required.map(|field| format!(", {field} = {}", value(field))).collect();
    let wrong = format!("{{ type = \"{name}\"{fields}, zz = 1 }}");
    let values = match owner {
        "Kind" => format!("[{{ type = \"list\", length = 1, of = {wrong} }}]"),
        _ => format!("[{wrong}]"),
    };
    format!("{HEAD}{STATEMENT}values = {values}\n")
}

/// The fields that the form takes where this file has one that it does not take.
fn taken(file: &str) -> BTreeSet<String> {
    let error = Scenario::from_toml(file, "a").unwrap_err().to_string();
    let (_, fields) = error.split_once("has no field zz; its fields are ").unwrap_or_else(|| panic!("{error}\n{file}"));
    let fields = fields.lines().next().unwrap().split('.').next().unwrap();
    fields.split(", ").map(str::to_owned).collect()
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenario.schema.json")
}

/// A validator of the committed schema.
fn validator() -> Validator {
    jsonschema::draft7::new(&serde_json::from_str(&fs::read_to_string(path()).unwrap()).unwrap()).unwrap()
}

fn complaints(validator: &Validator, file: &str) -> Vec<String> {
    let file: Value = toml::from_str(file).unwrap();
    validator.iter_errors(&file).map(|error| format!("at {}: {error}", error.instance_path())).collect()
}

#[test]
fn the_committed_schema_is_what_the_types_give() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os(WRITE).is_some() {
        return fs::write(path(), text).unwrap();
    }
    assert!(
        fs::read_to_string(path()).unwrap_or_default() == text,
        "scenarios/scenario.schema.json is not what the types give; write it again by `make schema`"
    );
}

#[test]
fn the_schema_has_the_fields_that_the_form_takes_and_describes_each() {
    let mut schema = schema();
    let has = |table: &Value| table["properties"].as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let within = |table: &str| format!("{HEAD}{STATEMENT}values = []\n{table}\nzz = 1\n");
    assert_eq!(has(&schema), taken(&format!("{HEAD}zz = 1\n")));
    for (name, table) in [
        ("Statement", ""),
        ("Expectation", "[statement.expect]\ncolumns = []"),
        ("Load", "[statement.load]\ncql = \"a\"\nvalues = []"),
        ("ReadBack", "[statement.read_back]\ncql = \"a\"\nvalues = []\ncolumns = []"),
        ("Limits", "[limits]"),
        ("Step", "[[script]]\ndo = \"close\""),
    ] {
        assert_eq!(has(&schema["definitions"][name]), taken(&within(table)), "{name}");
    }
    for owner in ["Column", "Kind"] {
        for kind in schema["definitions"][owner]["oneOf"].as_array().unwrap() {
            assert_eq!(has(kind), taken(&of_kind(owner, kind)), "{owner}: {kind}");
        }
    }
    // What the condition asks for is described above.
    schema.as_object_mut().unwrap().remove("then");
    each_object(&mut schema, &mut |object| {
        for (field, inner) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_known = ["description", "const", "enum"].iter().any(|key| inner.get(key).is_some());
            assert!(is_known, "{field} has no description: {inner}");
        }
        let text = object.get("description").and_then(Value::as_str).unwrap_or_default();
        let is_of_code = ["::", "[`", "crate", "MAX_", "DEFAULT_"].iter().any(|part| text.contains(part));
        assert!(!is_of_code, "{text}");
    });
}

#[test]
fn every_scenario_and_bad_day_of_ours_is_valid_and_the_examples_are_too() {
    let validator = validator();
    let ours = builtins().into_iter().chain(days());
    let mut files: Vec<(String, String)> =
        ours.map(|one| (one.name.clone(), builtin_toml(&one.name).unwrap().to_owned())).collect();
    for name in ["example.toml", "cassandra.toml", "cassandra-types.toml"] {
        files.push((name.to_owned(), fs::read_to_string(path().with_file_name(name)).unwrap()));
    }
    assert!(files.len() > 20);
    for (name, file) in files {
        assert_eq!(complaints(&validator, &file), [""; 0], "{name}");
    }
}

#[test]
fn what_the_form_refuses_is_not_valid_either() {
    let validator = validator();
    let of = |rest: &str| format!("{HEAD}{STATEMENT}{rest}\n");
    assert_eq!(
        complaints(&validator, &of("values = { k = { type = \"varchar\", length = \"uniform(1..3)\" } }")),
        [""; 0]
    );
    let played = format!("tape = \"rows.parquet\"\n{STATEMENT}[statement.load]\ncql = \"a\"\n");
    assert_eq!(complaints(&validator, &format!("{HEAD}{played}")), [""; 0]);
    assert_eq!(complaints(&validator, &of("values = []\n[statement.expect]\napplied = true")), [""; 0]);
    for wrong in [
        of("values = [{ type = \"bigint\", length = 3 }]"),
        of("values = [{ type = \"list\", length = 3, of = { type = \"int\", by = \"key\" } }]"),
        of("values = [{ type = \"number\" }]"),
        of("values = [{ type = \"text\" }]"),
        of("values = [{ type = \"int\", unique = true }]"),
        of("values = []\norder = \"random\""),
        of("values = []\n[statement.expect]\nrows = 1"),
        of("values = []\n[[script]]\ndo = \"close\"\nat = \"soon\""),
        of("values = []\n[[script]]\nat = \"1s\""),
        of(""),
        of("values = []\n[statement.load]\ncql = \"a\""),
        format!("{HEAD}point = {{ in_flight = 1 }}\n"),
        HEAD.to_owned(),
    ] {
        assert!(!complaints(&validator, &wrong).is_empty(), "{wrong}");
        assert!(Scenario::from_toml(&wrong, "a").is_err(), "{wrong}");
    }
}
