//! No room of the crate uses one that comes after it in the first page of `src/lib.rs`.

#![cfg(test)]

use std::path::{Path, PathBuf};

/// The rooms in the order of the crate's first page; `node`'s are its files.
fn order() -> Vec<String> {
    let page = std::fs::read_to_string(source().join("lib.rs")).unwrap();
    let lines = page.lines().filter_map(|line| line.strip_prefix("//! - "));
    let names = lines.flat_map(|line| {
        let prefix = if line.starts_with("`node`") { "node::" } else { "" };
        let names = line.split('`').skip(1).step_by(2).map(move |name| format!("{prefix}{name}"));
        names.filter(|name| name != "node::node").collect::<Vec<_>>()
    });
    names.collect()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The place of a module's room in the order.
fn place(order: &[String], module: &str) -> Option<usize> {
    order.iter().position(|room| module == room || module.starts_with(&format!("{room}::")))
}

#[test]
fn no_import_runs_against_the_order_of_the_rooms() {
    let order = order();
    assert!(order.len() > 15, "{order:?}");
    let mut all = Vec::new();
    files(&source(), &mut all);
    let (mut seen, mut wrong) = (vec![false; order.len()], Vec::new());
    for path in all {
        let module = path.strip_prefix(source()).unwrap().with_extension("");
        let module = module.to_str().unwrap().trim_end_matches("/mod").replace('/', "::");
        if ["lib", "node", "counters"].contains(&module.as_str()) || module.ends_with("tests") {
            continue;
        }
        let own = place(&order, &module).unwrap_or_else(|| panic!("{module} is in no room of the first page"));
        seen[own] = true;
        let text = std::fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code = product.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
        let parent = module.rsplit_once("::").map_or(String::new(), |(parent, _)| format!("{parent}::"));
        let code = code.replace("super::", &format!("crate::{parent}"));
        for used in code.split("crate::").skip(1) {
            let end = used.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(used.len());
            if place(&order, &used[..end]).is_some_and(|place| place > own) {
                wrong.push(format!("{module} uses {}", &used[..end]));
            }
        }
    }
    assert!(wrong.is_empty(), "against the order {order:?}:\n{}", wrong.join("\n"));
    assert!(seen.iter().all(|seen| *seen), "a room of the first page has no file: {order:?} {seen:?}");
}
