//! Runs the behaviour suite of every adapter on each release that its manifest lists as tested, and writes `drivers/VERSIONS.md`.
//!
//! Arguments name drivers or releases, such as `scylla` or `scylla@0.3.1`; without any it is all of them. The other rows stay.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use cqldyno_builder::{Builder, Order, Progress, Sources, Version, Watch, cache};

const HEAD: &str = "\
# Which releases were tested

The behaviour suite of each adapter, on each release that its manifest lists. `make test-versions` writes this table. Other releases in an
adapter's range are built, too, and have not been tested.

*Not declared* lists what a release cannot do; its README says why. The suite then skips the test, or checks that the release really cannot.

| word | what the release cannot do |
| --- | --- |
| ClosesSessions | close the connections of a session that is dropped |
| ControlConnection | keep the session when only the control connection breaks |
| NoticesClose | notice that the server closed a connection |
| Reconnect | open a broken connection again |
| Reprepare | prepare a statement again that the server forgot |
| RequestTimeout | limit the time of a statement |

| driver | release | adapter | behaviour suite |
| --- | --- | --- | --- |
";

fn main() -> Result<(), Box<dyn Error>> {
    // The checkout: it has the behaviour suite, and the table that is written.
    let checkout = Sources::at(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    let checkout = checkout.ok_or("the checkout that this was built from is gone")?;
    let builder = Builder::new(checkout, &cache()?, Path::new("cargo"))?;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let mut plan = Vec::new();
    for name in builder.sources().drivers() {
        let Ok(mut families) = builder.families(&name) else { continue };
        families.retain(|family| family.library.is_some());
        for family in families.into_iter().rev() {
            let adapter = family.name(builder.sources());
            plan.extend(family.tested.iter().map(|release| (adapter.clone(), name.clone(), release.clone())));
        }
    }

    let table = builder.sources().folder().join("drivers/VERSIONS.md");
    let known = std::fs::read_to_string(&table).unwrap_or_default();
    let begin = |(adapter, name, release): &(String, String, _)| format!("| {name} | {release} | {adapter} | ");
    let row_of = |entry| Some((begin(entry), known.lines().find(|row| row.starts_with(&begin(entry)))?.to_owned()));
    let mut rows: HashMap<String, String> = plan.iter().filter_map(row_of).collect();
    let mut has_failed = false;
    for entry in &plan {
        let (adapter, name, release) = entry;
        let order =
            Order { driver: name.clone(), version: Some(Version::Release(release.clone())), ..Order::default() };
        if !asked.is_empty() && !asked.contains(name) && !asked.contains(&order.to_string()) {
            continue;
        }
        eprintln!("{order} ...");
        let mut progress = |progress| {
            if let Progress::Compiling { done, of } = progress {
                eprint!("\r{done} of {of} crates ");
            }
        };
        let mut watch = Watch { progress: &mut progress, cancelled: &|| false, log: None };
        let is_newest = plan.iter().rfind(|(other, ..)| other == adapter) == Some(entry);
        let result = builder.test(&order, is_newest, &mut watch);
        has_failed |= result.is_err();
        let result = result.map(|lacks| match lacks.into_iter().collect::<Vec<_>>().join(", ") {
            lacks if lacks.is_empty() => "passes".to_owned(),
            lacks => format!("passes; not declared: {lacks}"),
        });
        let result = result.unwrap_or_else(|error| {
            error.to_string().replace('|', "/").replace("it could not be built: these tests", "these tests")
        });
        eprintln!("\r{order}: {result}");
        rows.insert(begin(entry), format!("{}{result} |", begin(entry)));
        // After each release, so that a run that is ended keeps what it found.
        let text = plan.iter().filter_map(|entry| rows.get(&begin(entry))).map(|row| format!("{row}\n"));
        std::fs::write(&table, HEAD.to_owned() + &text.collect::<String>())?;
    }
    if has_failed { Err("a release failed its behaviour suite; the table says which".into()) } else { Ok(()) }
}
