//! Changes of what cargo compiled.

use std::time::SystemTime;

use super::*;

/// A driver's checkout with what cargo compiles for it: a source behind a link, a hidden file, and a folder that its build script reads. A
/// crate outside of the workspace needs another one.
fn compiled(workshop: &Workshop) -> (tempfile::TempDir, Order) {
    let driver = tempfile::tempdir().unwrap();
    let compiled = ["elsewhere/lib.rs", "a/.hidden", "beyond/further/src/lib.rs", "beyond/protocols"];
    for file in ["a/Cargo.toml", "beyond/further/Cargo.toml", "beyond/protocols/one"].iter().chain(&compiled[..3]) {
        let path = driver.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        ages(&driver.path().join(file), 1);
    }
    std::os::unix::fs::symlink(driver.path().join("elsewhere"), driver.path().join("a/src")).unwrap();
    let paths = compiled.map(|file| driver.path().join(file).display().to_string());
    fs::write(workshop.dir.path().join("compiles"), paths.join(" ")).unwrap();
    let order = order(&format!("path:{}", driver.path().join("a").display()));
    (driver, order)
}

/// Makes the file that many hours old.
fn ages(file: &Path, hours: u64) {
    let time = SystemTime::now() - Duration::from_secs(hours * 3_600);
    File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_change_of_anything_that_was_compiled_is_another_worker_wherever_it_lies() {
    let workshop = Workshop::new();
    let (driver, order) = compiled(&workshop);
    let first = workshop.build(&order).unwrap();
    assert_eq!(workshop.build(&order).unwrap(), first);
    let mut keys = vec![first.key.clone()];
    for file in [
        "elsewhere/lib.rs",
        "a/.hidden",
        "beyond/further/src/lib.rs",
        "beyond/further/Cargo.toml",
        "beyond/protocols/one",
    ] {
        fs::write(driver.path().join(file), "changed").unwrap();
        ages(&driver.path().join(file), 0);
        let (builds, updates) = (workshop.calls("rustc"), workshop.calls("update"));
        keys.push(workshop.build(&order).unwrap().key);
        assert!(workshop.calls("rustc") > builds && workshop.calls("update") > updates, "{file}");
    }
    assert!((1..keys.len()).all(|at| !keys[..at].contains(&keys[at])), "{keys:?}");
}

#[test]
fn what_cargo_cannot_see_has_changed_is_compiled_again() {
    let workshop = Workshop::new();
    let (driver, order) = compiled(&workshop);
    workshop.build(&order).unwrap();
    let cleaned = workshop.calls("clean");
    let source = driver.path().join("elsewhere/lib.rs");
    fs::write(&source, "newer").unwrap();
    ages(&source, 0);
    workshop.build(&order).unwrap();
    assert_eq!(workshop.calls("clean"), cleaned, "cargo sees that it is newer");
    fs::write(&source, "older").unwrap();
    ages(&source, 2);
    workshop.build(&order).unwrap();
    assert_eq!(workshop.calls("clean"), cleaned + 1);
    let calls = fs::read_to_string(workshop.dir.path().join("calls")).unwrap();
    assert!(calls.contains("--package tokio --package twin"), "all that comes from no registry: {calls}");
    fs::create_dir(driver.path().join("other")).unwrap();
    fs::remove_file(driver.path().join("a/src")).unwrap();
    std::os::unix::fs::symlink(driver.path().join("other"), driver.path().join("a/src")).unwrap();
    workshop.build(&order).unwrap();
    assert_eq!(workshop.calls("clean"), cleaned + 2, "a link leads elsewhere");
}

#[test]
fn what_a_real_cargo_compiles_is_noticed_and_compiled_again() {
    let workshop = Workshop::new();
    let builder = Builder::new(workshop.builder.sources.clone(), workshop.builder.cache(), Path::new("cargo")).unwrap();
    let main = "extern crate a;\nfn main() { println!(\"{}\", a::said()); }\n";
    fs::write(workshop.sources.path().join("drivers/a/src/main.rs"), main).unwrap();
    let driver = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = driver.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    };
    let manifest = |name: &str, more: &str| {
        let text = format!(
            "[package]\nname = \"{name}\"\nversion = \"1.2.0\"\nedition = \"2021\"\n[dependencies]\n{more}\n[workspace]\n"
        );
        write(&format!("{name}/Cargo.toml"), &text)
    };
    manifest("a", "b = { path = \"../b\" }");
    manifest("b", "c = { path = \"../c\" }");
    manifest("c", "");
    write(
        "a/build.rs",
        "fn main() {\n    println!(\"cargo::rerun-if-changed=words\");\n    println!(\"cargo::rustc-env=WORD={}\", std::fs::read_to_string(\"words/one\").unwrap());\n}\n",
    );
    let said =
        r#"pub fn said() -> String { [include_str!("../a/.hidden"), b::said(), env!("WORD"), part::said()].concat() }"#;
    let lib = write("elsewhere/lib.rs", &format!("#[path = \"../a b/part.rs\"]\nmod part;\n{said}\n"));
    let says = |word: &str| format!("pub fn said() -> &'static str {{ \"{word}\" }}\n");
    write("b/src/lib.rs", "pub fn said() -> &'static str { c::said() }\n");
    let changes = [("a/.hidden", "h"), ("a/words/one", "w"), ("c/src/lib.rs", "c"), ("a b/part.rs", "p")];
    let text = |file: &str, word: &str| if file.ends_with(".rs") { says(word) } else { word.to_owned() };
    for (file, word) in changes {
        ages(&write(file, &text(file, word)), 1);
    }
    std::os::unix::fs::symlink(lib.parent().unwrap(), driver.path().join("a/src")).unwrap();

    let order = order(&format!("path:{}", driver.path().join("a").display()));
    let build = || {
        let mut watch = Watch { progress: &mut |_| (), cancelled: &|| false, log: None };
        builder.build(&order, &mut watch).unwrap_or_else(|error| panic!("{error}"))
    };
    let says = |built: &Built| String::from_utf8(Command::new(&built.worker).output().unwrap().stdout).unwrap();
    let first = build();
    assert_eq!((says(&first).as_str(), build()), ("hcwp\n", first.clone()));
    for (at, (file, word)) in changes.into_iter().enumerate() {
        // Older than what cargo compiled.
        ages(&write(file, &text(file, &word.to_uppercase())), 2 + at as u64);
        assert!(says(&build()).contains(&word.to_uppercase()), "{file}");
    }
    fs::write(&lib, fs::read_to_string(&lib).unwrap().replace(".concat()", ".join(\"-\")")).unwrap();
    assert_eq!(says(&build()), "H-C-W-P\n");
}

#[test]
fn a_worker_whose_sources_changed_during_the_build_is_built_again() {
    let workshop = Workshop::new();
    let (driver, order) = compiled(&workshop);
    fs::write(workshop.dir.path().join("meddles"), driver.path().join("a/.hidden").display().to_string()).unwrap();
    workshop.build(&order).unwrap();
    fs::remove_file(workshop.dir.path().join("meddles")).unwrap();
    ages(&driver.path().join("a/.hidden"), 1);
    let second = workshop.build(&order).unwrap();
    assert_eq!((workshop.calls("rustc"), workshop.build(&order).unwrap()), (2, second));
}
