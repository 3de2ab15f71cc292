//! The rooms of a crate use each other in one direction only: in the order of its first page.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The first pages of the crates whose rooms have an order.
const PAGES: [&str; 4] =
    ["harness/bench/src/lib.rs", "harness/cli/src/main.rs", "harness/cluster/src/lib.rs", "reports/src/lib.rs"];

/// The rooms that a page lists, as paths of modules. Names after the colon are rooms in the one before it, or that one's own file.
fn order(page: &str) -> Vec<String> {
    let quoted = |text: &str| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let of_line = |line: &str| match line.split_once(": ") {
        Some((room, inner)) if inner.starts_with('`') => {
            let room = quoted(room).remove(0);
            quoted(inner)
                .iter()
                .map(|name| if *name == room { room.clone() } else { format!("{room}::{name}") })
                .collect()
        }
        Some((rooms, _)) => quoted(rooms),
        None => quoted(line),
    };
    page.lines().filter_map(|line| line.strip_prefix("//! - ")).flat_map(of_line).collect()
}

/// The paths of a tree of imports, such as `a::B` and `a::c` of `a::{B, c}`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((before, inner)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inner.trim_end().strip_suffix('}').unwrap_or(inner).chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if depth == 0 && c == ',' { parts.push(String::new()) } else { parts.last_mut().unwrap().push(c) }
    }
    let named = parts.iter().filter(|part| !part.trim().is_empty());
    named.flat_map(|part| expanded(part)).map(|path| format!("{}{path}", before.trim())).collect()
}

/// The paths below `crate` that the code names.
fn used(code: &str) -> Vec<String> {
    let tree = |rest: &str| {
        let mut depth = 0;
        let ends = |(_, c): &(usize, char)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth < 0 || depth == 0 && !(c.is_alphanumeric() || "_:}".contains(*c))
        };
        let end = rest.char_indices().find(ends).map_or(rest.len(), |(end, _)| end);
        expanded(&rest[..end])
    };
    code.split("crate::").skip(1).flat_map(tree).collect()
}

/// What the page gives another name, by that name.
fn renamed(page: &str) -> BTreeMap<String, String> {
    let trees = page.split(';').filter_map(|statement| statement.rsplit_once("use ").map(|(_, tree)| tree));
    let paths = trees.flat_map(expanded).map(|path| path.trim_start_matches("crate::").to_owned());
    paths.map(|path| (path.rsplit("::").next().unwrap_or_default().to_owned(), path)).collect()
}

/// Every module of the crate with its code, without comments and tests.
fn modules(source: &Path) -> Vec<(String, String)> {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }
    let rust = files(source).into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let all: Vec<(PathBuf, String)> = rust.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
    let tests = |head: &str| ["", "pub(crate) ", "pub "].map(|public| format!("#[cfg(test)]\n{public}mod {head}"));
    let is_test = |path: &Path| {
        let name = path.file_stem().unwrap().to_str().unwrap();
        tests(&format!("{name};")).iter().any(|declared| all.iter().any(|(_, text)| text.contains(declared)))
    };
    let of = |(path, text): &(PathBuf, String)| {
        let module = path.strip_prefix(source).unwrap().with_extension("").to_str().unwrap().replace('/', "::");
        let product = tests("tests {").iter().fold(text.as_str(), |text, begin| text.split(begin).next().unwrap());
        let code: Vec<&str> = product.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n").replace("self::", &format!("crate::{module}::"));
        // The farthest first: `super::super::` ends with `super::`.
        let outer = |levels: usize| {
            let path: Vec<&str> = module.split("::").collect();
            let parent = path[..path.len().saturating_sub(levels)].iter().map(|part| format!("{part}::"));
            format!("crate::{}", parent.collect::<String>())
        };
        let code =
            [3, 2, 1].into_iter().fold(code, |code, levels| code.replace(&"super::".repeat(levels), &outer(levels)));
        (module.clone(), code)
    };
    all.iter()
        .filter(|(path, _)| !is_test(path))
        .map(of)
        .filter(|(module, _)| module != "lib" && module != "main")
        .collect()
}

#[test]
fn no_room_uses_one_that_comes_after_it() {
    for page in PAGES {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = fs::read_to_string(&page).unwrap();
        let (order, renamed) = (order(&text), renamed(&text));
        assert!(order.len() > 6, "{}: {order:?}", page.display());
        let place = |module: &str| {
            let holds = |room: &String| module == room || module.starts_with(&format!("{room}::"));
            let longest = order.iter().enumerate().filter(|(_, room)| holds(room)).max_by_key(|(_, room)| room.len());
            longest.map(|(place, _)| place)
        };
        let has_rooms = |module: &str| order.iter().any(|room| room.starts_with(&format!("{module}::")));
        let (mut seen, mut wrong) = (vec![false; order.len()], Vec::new());
        for (module, code) in modules(page.parent().unwrap()) {
            // A room with rooms in it is its own file alone.
            let found = place(&module).filter(|at| order[*at] == module || !has_rooms(&order[*at]));
            let Some(own) = found else {
                assert!(has_rooms(&module), "{module} is in no room of {}", page.display());
                continue;
            };
            seen[own] = true;
            for path in used(&code) {
                let (first, rest) = path.split_once("::").unwrap_or((&path, ""));
                let known = renamed.get(first).map_or(path.clone(), |known| format!("{known}::{rest}"));
                if place(&path).or_else(|| place(&known)).is_some_and(|other| other > own) {
                    wrong.push(format!("{module} uses {path}"));
                }
            }
        }
        assert!(wrong.is_empty(), "against the order {order:?} of {}:\n{}", page.display(), wrong.join("\n"));
        assert!(seen.iter().all(|seen| *seen), "a room of {} has no file: {order:?} {seen:?}", page.display());
    }
}
