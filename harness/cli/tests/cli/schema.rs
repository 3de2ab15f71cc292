//! What a run leaves behind, held against the published JSON Schemas by a validator that is none of ours.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

/// Fails unless `run.json`, every line of `cells.jsonl` and `result.json` of the folder are what the schemas say.
#[track_caller]
pub fn check_schema(folder: &Path) {
    let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    check("run", &text("run.json"));
    check("document", &text("result.json"));
    for line in text("cells.jsonl").lines() {
        check("cell", line);
    }
}

/// Fails unless the text is what the schema of that name says.
#[track_caller]
pub fn check(name: &str, text: &str) {
    let complaints: Vec<String> = validator(name)
        .iter_errors(&parsed(text))
        .map(|error| format!("at {}: {error}", error.instance_path()))
        .collect();
    assert!(complaints.is_empty(), "{name}: {complaints:?}");
}

fn validator(name: &str) -> Validator {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reports/schema");
    let text = fs::read_to_string(schemas.join(format!("{name}.schema.json"))).unwrap();
    jsonschema::draft202012::new(&parsed(&text)).unwrap()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
