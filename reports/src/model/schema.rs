//! The published JSON Schemas (`reports/schema`) are made from the types, and hold for what is written.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jsonschema::Validator;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::export::json::Ladders;
use crate::export::shown::{against, json, several};
use crate::{Agreement, Analysis, Cell, Checksum, CombinedRow, Look, Recorded, Run, SummaryRow, sample};

/// Set to write the schemas instead of comparing them: `make schema`.
const WRITE: &str = "CQLDYNO_WRITE_SCHEMA";

/// What `--format json` prints: a run, its cells, and what they come to.
#[derive(Deserialize, JsonSchema)]
struct Document {
    /// What was asked, of whom, on what machine.
    run: Run,
    /// What was measured.
    cells: Vec<Cell>,
    /// The id of the contender that the summary's ratios are taken against, if it is not the run's own reference.
    #[serde(default)]
    reference: Option<String>,
    /// One row per scenario, arrangement, contender and meter, in the order of the run.
    summary: Vec<SummaryRow>,
    /// What a run of ladders came to, in the order of its scenarios, arrangements and contenders.
    #[serde(default)]
    ladders: Vec<Ladders>,
    /// What makes the run or tables of it doubtful, each a full sentence.
    warnings: Vec<String>,
    /// What was found, each a full sentence.
    #[serde(default)]
    findings: Vec<String>,
}

/// What `report RUN RUN --format json` prints: runs beside each other, without a ratio between them, and runs of one plan combined.
#[derive(Deserialize, JsonSchema)]
struct Several {
    /// The runs, in the order in which they were named.
    runs: Vec<Named>,
    /// How the combined table is to be read, or why there is none, and in what the runs differ, each a full sentence.
    remarks: Vec<String>,
    /// All runs together; absent if their plans differ.
    #[serde(default)]
    combined: Option<Together>,
}

/// Runs of one plan together.
#[derive(Deserialize, JsonSchema)]
struct Together {
    /// The id of the contender that ratios are taken against.
    reference: Option<String>,
    /// One row per meter, scenario, arrangement and contender.
    rows: Vec<CombinedRow>,
    /// What a run adds to a ratio of CPU time beyond the noise within it: a standard deviation, as a share.
    spread: f64,
    /// How many differences between two runs lie within the interval of that difference.
    agreement: Agreement,
    /// What makes the table or one of the runs doubtful, each a full sentence.
    warnings: Vec<String>,
    /// What was found, each a full sentence.
    findings: Vec<String>,
}

/// One of several runs, as a document.
#[derive(Deserialize, JsonSchema)]
struct Named {
    /// The path by which the run was named.
    name: String,
    /// What a reader must know of how it was kept, each a full sentence.
    notes: Vec<String>,
    /// What was asked, of whom, on what machine.
    run: Run,
    /// What was measured.
    cells: Vec<Cell>,
    /// One row per scenario, arrangement, contender and meter, in the order of the run; ratios are within the run.
    summary: Vec<SummaryRow>,
    /// What a run of ladders came to.
    #[serde(default)]
    ladders: Vec<Ladders>,
    /// What makes the run or tables of it doubtful, each a full sentence.
    warnings: Vec<String>,
    /// What was found, each a full sentence.
    #[serde(default)]
    findings: Vec<String>,
}

fn schemas() -> [(&'static str, Value); 4] {
    [
        ("run", of::<Run>("cqldyno: a run (run.json)")),
        ("cell", of::<Cell>("cqldyno: a cell (one line of cells.jsonl)")),
        ("document", of::<Document>("cqldyno: a run as one document (--format json)")),
        ("runs", of::<Several>("cqldyno: several runs as one document (report RUN RUN --format json)")),
    ]
}

/// Of what is read, which is what all versions that are read have written.
fn of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
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
    parts.join("`").replace("`crate::", "`").replace("::", ".")
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

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("schema/{name}.schema.json"))
}

/// The committed schema.
fn committed(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path(name)).unwrap()).unwrap()
}

/// A validator of the committed schema.
pub(crate) fn validator(name: &str) -> Validator {
    jsonschema::draft202012::new(&committed(name)).unwrap()
}

/// What the schema says of `value`, each with where it is.
pub(crate) fn complaints(validator: &Validator, value: &Value) -> Vec<String> {
    let said = validator.iter_errors(value);
    said.map(|error| format!("at {}: {error}", error.instance_path())).collect()
}

/// The committed schema, with which nothing may be in a file that it does not describe.
fn strict(name: &str) -> Validator {
    let mut schema = committed(name);
    each_object(&mut schema, &mut |object| {
        if object.contains_key("properties") && !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".to_owned(), false.into());
        }
    });
    jsonschema::draft202012::new(&schema).unwrap()
}

#[test]
fn the_committed_schemas_are_what_the_types_give() {
    for (name, schema) in schemas() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os(WRITE).is_some() {
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            fs::write(path(name), text).unwrap();
            continue;
        }
        let found = fs::read_to_string(path(name)).unwrap_or_default();
        assert!(
            found == text,
            "reports/schema/{name}.schema.json is not what the types give; write the schemas again by `make schema`"
        );
    }
}

#[test]
fn every_object_of_a_schema_says_what_it_is() {
    for (name, mut schema) in schemas() {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        let described = |schema: &Schema| schema.get("description").is_some() || schema.get("$ref").is_some();
        each_object(&mut schema, &mut |object| {
            for (property, inner) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let inner = Schema::try_from(inner.clone()).unwrap();
                assert!(described(&inner), "{name}: {property} has no description");
            }
            let text = object.get("description").and_then(Value::as_str).unwrap_or_default();
            assert!(!text.contains("::") && !text.contains("[`") && !text.contains('\n'), "{name}: {text}");
        });
    }
}

#[test]
fn what_is_written_holds_against_the_schemas_and_has_nothing_that_they_do_not_tell() {
    for (run, cells) in [sample::run(), sample::blocks(12)] {
        let run = Run { checksum: Some(Checksum::of_cells(&cells)), ..run };
        let of_run = serde_json::to_value(&run).unwrap();
        assert_eq!(complaints(&strict("run"), &of_run), [""; 0]);
        for cell in &cells {
            assert_eq!(complaints(&strict("cell"), &serde_json::to_value(cell).unwrap()), [""; 0]);
        }
        let document: Value = serde_json::from_str(&json(&run, &cells)).unwrap();
        assert_eq!(complaints(&strict("document"), &document), [""; 0]);
        let read = Document::deserialize(document).unwrap();
        assert_eq!(read.reference, None);
        let other = Value::from_str(&against("json", &run, &cells, "cdrs-tokio")).unwrap();
        assert_eq!(complaints(&strict("document"), &other), [""; 0]);
        assert_eq!(Document::deserialize(other).unwrap().reference.as_deref(), Some("cdrs-tokio"));
        let analysis = Analysis::new(&run, &cells);
        assert_eq!((&read.run, &read.cells), (&run, &cells));
        assert_eq!(read.summary, analysis.rows);
        assert_eq!((read.warnings.as_slice(), read.findings.as_slice()), (&*analysis.warnings, &*analysis.findings));
        assert!(read.ladders.is_empty());
    }
}

#[test]
fn several_runs_as_one_document_hold_against_their_schema() {
    let of = |(run, cells): (Run, Vec<Cell>)| Recorded { run, cells, notes: vec!["It has no end.".to_owned()] };
    let (one, other) = (of(sample::run()), of(sample::blocks(12)));
    let named = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let document = Value::from_str(&several("json", &named, Look::default())).unwrap();
    assert_eq!(complaints(&strict("runs"), &document), [""; 0]);
    let read = Several::deserialize(document).unwrap();
    assert!(!read.remarks.is_empty());
    for (found, (name, recorded)) in read.runs.into_iter().zip(named) {
        let analysis = Analysis::new(&recorded.run, &recorded.cells);
        assert_eq!((found.name, found.run, found.cells), (name, recorded.run.clone(), recorded.cells.clone()));
        assert_eq!((found.summary.as_slice(), found.warnings.as_slice()), (&*analysis.rows, &*analysis.warnings));
        assert!(found.ladders.is_empty());
        assert_eq!((found.findings.as_slice(), &found.notes), (&*analysis.findings, &recorded.notes));
    }
}

#[test]
fn runs_of_one_plan_as_one_document_have_a_combined_table_that_holds_against_the_schema() {
    let of = |days: u32| {
        let (run, cells) = sample::repeated(12, days);
        Recorded { run, cells, notes: Vec::new() }
    };
    let (one, other, third) = (of(0), of(1), of(2));
    let named = [("one".to_owned(), &one), ("other".to_owned(), &other), ("third".to_owned(), &third)];
    let document = Value::from_str(&several("json", &named, Look::default())).unwrap();
    assert_eq!(complaints(&strict("runs"), &document), [""; 0]);
    let read = Several::deserialize(document).unwrap().combined.unwrap();
    assert_eq!((read.reference.as_deref(), read.agreement), (Some("scylla"), Agreement { within: 6, of: 6 }));
    assert!(read.spread < 0.01 && read.rows.iter().any(|row| row.held == Some(3)));
    assert_eq!((read.warnings.len(), read.findings.is_empty()), (0, false));
}

#[test]
fn what_is_no_run_and_no_cell_is_refused_with_its_place() {
    let (run, cells) = sample::run();
    let mut later = serde_json::to_value(&run).unwrap();
    later["schema"] = 3.into();
    later["contenders"][1]["role"] = "passenger".into();
    let said = complaints(&validator("run"), &later);
    assert!(said.iter().any(|one| one.starts_with("at /schema: 3 is greater than the maximum of 2")), "{said:?}");
    assert!(said.iter().any(|one| one.starts_with("at /contenders/1/role: \"passenger\"")), "{said:?}");
    let mut cell = serde_json::to_value(&cells[0]).unwrap();
    cell["measures"]["wall"]["unit"] = "fortnight".into();
    cell["block"] = Value::from(-1);
    cell.as_object_mut().unwrap().remove("scenario");
    let said = complaints(&validator("cell"), &cell);
    for place in ["at /measures/wall: ", "at /block: -1", "at : \"scenario\" is a required property"] {
        assert!(said.iter().any(|one| one.starts_with(place)), "{place}: {said:?}");
    }
}
