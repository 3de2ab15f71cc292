//! Runs the behaviour suite of every adapter on each release that its manifest lists as tested, and writes `drivers/VERSIONS.md`.
//!
//! Arguments name the drivers; without any it is all of them. Rows of other drivers stay.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use cqldyno_builder::{Builder, Order, Progress, Version, Watch};

const HEAD: &str = "\
# Which releases were tested

The behaviour suite of each adapter, on each release that its manifest lists. `make test-versions` writes this table. Other releases in an
adapter's range are built, too, and have not been tested.

| driver | release | adapter | behaviour suite |
| --- | --- | --- | --- |
";

fn main() -> Result<(), Box<dyn Error>> {
    let builder = Builder::find(&std::env::current_exe()?)?;
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let drivers = builder.sources().folder().join("drivers");
    let mut names: Vec<String> =
        std::fs::read_dir(&drivers)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let table = Path::new(&drivers).join("VERSIONS.md");
    let known = std::fs::read_to_string(&table).unwrap_or_default();
    let mut text = HEAD.to_owned();
    let mut has_failed = false;
    for name in names {
        let Ok(mut families) = builder.families(&name) else { continue };
        if !asked.is_empty() && !asked.contains(&name) {
            let rows = known.lines().filter(|line| line.starts_with(&format!("| {name} | ")));
            rows.for_each(|row| text += &format!("{row}\n"));
            continue;
        }
        families.retain(|family| family.library.is_some());
        for family in families.iter().rev() {
            for release in &family.tested {
                let version = Some(Version::Release(release.clone()));
                let order = Order { driver: name.clone(), version, ..Order::default() };
                eprintln!("{order} ...");
                let mut progress = |progress| {
                    if let Progress::Compiling { done, of } = progress {
                        eprint!("\r{done} of {of} crates ");
                    }
                };
                let mut watch = Watch { progress: &mut progress, cancelled: &|| false, log: None };
                let result = builder.test(&order, &mut watch);
                has_failed |= result.is_err();
                let result = result.map_or_else(|error| error.to_string().replace('|', "/"), |()| "passes".to_owned());
                eprintln!("\r{order}: {result}");
                writeln!(text, "| {name} | {release} | {} | {result} |", family.name(builder.sources()))?;
            }
        }
    }
    std::fs::write(&table, text)?;
    if has_failed { Err("a release failed its behaviour suite; the table says which".into()) } else { Ok(()) }
}
