//! The package that a worker is built as: the adapter's manifest with absolute paths, and a `main` with the allocator.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

use crate::checkout::Checkout;
use crate::error::BuildError;
use crate::family::Family;
use crate::order::{ALLOCATORS, Order};
use crate::sources::Sources;

/// The files that cargo is given, without their lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) manifest: String,
    pub(crate) main: String,
}

/// What of a manifest names targets and lints, and follows from where it lies.
const OWN_TARGETS: [&str; 9] = ["bin", "lib", "test", "example", "bench", "lints", "profile", "workspace", "features"];

/// The path of a dependency, and what would contradict it.
const ORIGINS: [&str; 9] =
    ["version", "path", "git", "rev", "branch", "tag", "registry", "registry-index", "workspace"];

impl Package {
    /// For the family's driver in the version that cargo chooses by `requirement`, or in `checkout`; with its behaviour suite if `tested`.
    pub(crate) fn new(
        sources: &Sources,
        family: &Family,
        requirement: Option<&str>,
        checkout: Option<&Checkout>,
        order: &Order,
        tested: bool,
    ) -> Result<Package, BuildError> {
        let root_path = sources.folder().join("Cargo.toml");
        let wrong = |path: &Path, why: &dyn std::fmt::Display| BuildError::Manifest(path.to_owned(), why.to_string());
        let root = fs::read_to_string(&root_path).map_err(|error| wrong(&root_path, &error))?;
        let root: Table = root.parse().map_err(|error| wrong(&root_path, &error))?;
        let mut shared = root.get("workspace").and_then(Value::as_table).cloned().unwrap_or_default();
        shared.retain(|key, _| ["resolver", "package", "dependencies", "lints"].contains(&key));
        absolute(shared.get_mut("dependencies"), sources.folder());

        let mut manifest = family.manifest.clone();
        let features = manifest.get("features").cloned();
        let library = manifest.get("lib").and_then(|own| own.get("path")?.as_str()).unwrap_or("src/lib.rs").to_owned();
        OWN_TARGETS.iter().for_each(|key| drop(manifest.remove(*key)));
        absolute(manifest.get_mut("dependencies"), &family.folder);
        absolute(manifest.get_mut("build-dependencies"), &family.folder);
        match tested {
            true => absolute(manifest.get_mut("dev-dependencies"), &family.folder),
            false => drop(manifest.remove("dev-dependencies")),
        }
        manifest.extend(features.map(|features| ("features".to_owned(), features)));

        if let Some(library) = &family.library {
            let own = manifest.get_mut("dependencies").and_then(|all| all.get_mut(library));
            let is_shared = own.as_ref().is_some_and(|entry| entry.get("workspace").is_some());
            let entry = match is_shared {
                true => shared.get_mut("dependencies").and_then(|all| all.get_mut(library)),
                false => own,
            };
            let origin = match (requirement, checkout) {
                (_, Some(checkout)) => Some(("path", checkout.package.display().to_string())),
                (Some(requirement), None) => Some(("version", requirement.to_owned())),
                (None, None) => None,
            };
            if let (Some(entry), Some((key, value))) = (entry, origin) {
                let mut detailed = entry.as_table().cloned().unwrap_or_default();
                ORIGINS.iter().for_each(|key| drop(detailed.remove(*key)));
                detailed.insert(key.to_owned(), Value::String(value));
                *entry = Value::Table(detailed);
            }
        }

        let package = manifest.get_mut("package").and_then(Value::as_table_mut);
        if let Some(package) = package {
            package.remove("metadata");
            for automatic in ["autobins", "autoexamples", "autotests", "autobenches"] {
                package.insert(automatic.to_owned(), Value::Boolean(false));
            }
            let script = family.folder.join(package.get("build").and_then(Value::as_str).unwrap_or("build.rs"));
            let script = if script.is_file() { text(&script) } else { Value::Boolean(false) };
            package.insert("build".to_owned(), script);
        }
        let target = |name: &str, path: Value| {
            Table::from_iter([("name".to_owned(), Value::String(name.to_owned())), ("path".to_owned(), path)])
        };
        let name = format!("cqldyno-driver-{}", family.driver);
        let library = target(&name.replace('-', "_"), text(&family.folder.join(library)));
        manifest.insert("lib".to_owned(), Value::Table(library));
        // An older family has them only if they are not the newest one's.
        let newest = sources.folder().join("drivers").join(&family.driver);
        let file = |name: &str| Some(family.folder.join(name)).filter(|own| own.is_file()).unwrap_or(newest.join(name));
        let (kind, only) = match tested {
            true => ("test", target("behaviour", text(&file("tests/behaviour.rs")))),
            false => ("bin", target(&name, Value::String("main.rs".to_owned()))),
        };
        manifest.remove("bin");
        manifest.insert(kind.to_owned(), Value::Array(vec![Value::Table(only)]));
        if tested {
            let lints = Table::from_iter([("workspace".to_owned(), Value::Boolean(true))]);
            manifest.insert("lints".to_owned(), Value::Table(lints));
        }
        manifest.insert("workspace".to_owned(), Value::Table(shared));
        manifest.insert("profile".to_owned(), Value::Table(profile(&root, order)));

        let main_path = file("src/main.rs");
        let mut main = fs::read_to_string(&main_path).map_err(|error| wrong(&main_path, &error))?;
        if let Some((allocator, dependency, value)) = order.own_allocator().and_then(allocator) {
            main += &format!("\n#[global_allocator]\nstatic ALLOCATOR: {value} = {value};\n");
            if let Some(all) = manifest.get_mut("dependencies").and_then(Value::as_table_mut) {
                all.insert(allocator.to_owned(), dependency);
            }
        }
        let manifest = toml::to_string(&manifest).map_err(|error| wrong(&family.folder.join("Cargo.toml"), &error))?;
        Ok(Package { manifest, main })
    }
}

fn text(path: &Path) -> Value {
    Value::String(path.display().to_string())
}

/// Makes the paths of these dependencies those from `folder`.
fn absolute(dependencies: Option<&mut Value>, folder: &Path) {
    for (_, entry) in dependencies.and_then(Value::as_table_mut).into_iter().flatten() {
        if let Some(Value::String(path)) = entry.get_mut("path") {
            let full = folder.join(&*path);
            *path = full.canonicalize().unwrap_or(full).display().to_string();
        }
    }
}

fn profile(root: &Table, order: &Order) -> Table {
    let mut profile = root.get("profile").and_then(Value::as_table).cloned().unwrap_or_default();
    let release = profile.entry("release").or_insert_with(|| Value::Table(Table::new()));
    if let (Some(lto), Some(release)) = (&order.lto, release.as_table_mut()) {
        release.insert("lto".to_owned(), Value::String(lto.clone()));
    }
    profile
}

/// The crate of one of [`ALLOCATORS`], its dependency, and the type that has a value of the same name.
fn allocator(name: &str) -> Option<(&'static str, Value, &'static str)> {
    let version = |version: &str| Value::String(version.to_owned());
    match ALLOCATORS.iter().position(|known| *known == name)? {
        1 => Some(("tikv-jemallocator", version("0.6"), "tikv_jemallocator::Jemalloc")),
        2 => Some(("mimalloc", version("0.1"), "mimalloc::MiMalloc")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::tests::sources_of;

    const NEWEST: &str = r#"
        [package]
        name = "cqldyno-driver-scylla"
        version.workspace = true
        edition.workspace = true
        [lints]
        workspace = true
        [dependencies]
        cqldyno-worker.workspace = true
        scylla.workspace = true
        [dev-dependencies]
        tempfile.workspace = true
    "#;
    const OLDER: &str = r#"
        [package]
        name = "cqldyno-driver-scylla"
        version = "0.1.0"
        [package.metadata.cqldyno]
        crate = "scylla"
        versions = "<1.0.0"
        tested = ["0.3.1"]
        [workspace]
        [dependencies]
        cqldyno-worker = { path = "../../../harness/worker" }
        scylla = { version = "=0.3.1", features = ["ssl"] }
    "#;

    fn order(change: impl FnOnce(&mut Order)) -> Order {
        let mut order = Order { driver: "scylla".to_owned(), ..Order::default() };
        change(&mut order);
        order
    }

    fn package(folder: &str, requirement: Option<&str>, checkout: Option<&Checkout>, order: &Order) -> (Table, String) {
        let (_dir, sources) = sources_of(&[("scylla", NEWEST), ("scylla/0.3", OLDER)]);
        let families = Family::all(&sources, "scylla").unwrap();
        let family = families.iter().find(|family| family.name(&sources) == folder).unwrap();
        let package = Package::new(&sources, family, requirement, checkout, order, false).unwrap();
        let worker = sources.folder().join("harness/worker").display().to_string();
        assert!(package.manifest.contains(&format!("path = \"{worker}\"")), "{}", package.manifest);
        (package.manifest.parse().unwrap(), package.main)
    }

    #[test]
    fn the_driver_is_pinned_where_it_is_declared_and_the_rest_stays() {
        let (manifest, main) = package("drivers/scylla", Some("=1.8.0"), None, &order(|_| ()));
        assert_eq!(manifest["workspace"]["dependencies"]["scylla"]["version"].as_str(), Some("=1.8.0"));
        assert!(manifest["dependencies"]["scylla"].get("workspace").is_some());
        assert_eq!(manifest["profile"]["release"]["debug"].as_str(), Some("line-tables-only"));
        assert!(manifest["lib"]["path"].as_str().unwrap().ends_with("drivers/scylla/src/lib.rs"));
        assert!(manifest.get("lints").is_none() && manifest.get("dev-dependencies").is_none());
        assert_eq!(main, "//! A worker.\n\nfn main() {}\n");
        let (manifest, _) = package("drivers/scylla/0.3", Some("=0.3.0"), None, &order(|_| ()));
        let driver = &manifest["dependencies"]["scylla"];
        assert_eq!((driver["version"].as_str(), driver["features"][0].as_str()), (Some("=0.3.0"), Some("ssl")));
        let (manifest, _) = package("drivers/scylla/0.3", None, None, &order(|_| ()));
        assert_eq!(manifest["dependencies"]["scylla"]["version"].as_str(), Some("=0.3.1"));
    }

    #[test]
    fn a_checkout_takes_the_place_of_the_release() {
        let checkout = Checkout {
            package: "/checkout/scylla".into(),
            version: semver::Version::new(1, 9, 0),
            revision: None,
            dirty: false,
            contents: String::new(),
            links: Vec::new(),
        };
        let (manifest, _) = package("drivers/scylla", None, Some(&checkout), &order(|_| ()));
        let driver = &manifest["workspace"]["dependencies"]["scylla"];
        assert_eq!((driver["path"].as_str(), driver.get("version")), (Some("/checkout/scylla"), None));
    }

    #[test]
    fn allocator_and_lto_are_built_in() {
        let asked = order(|order| (order.allocator, order.lto) = (Some("jemalloc".to_owned()), Some("fat".to_owned())));
        let (manifest, main) = package("drivers/scylla", None, None, &asked);
        assert_eq!(manifest["profile"]["release"]["lto"].as_str(), Some("fat"));
        assert!(manifest["dependencies"].get("tikv-jemallocator").is_some());
        assert!(main.contains("#[global_allocator]\nstatic ALLOCATOR: tikv_jemallocator::Jemalloc"), "{main}");
        let asked = order(|order| order.allocator = Some("system".to_owned()));
        assert!(!package("drivers/scylla", None, None, &asked).1.contains("global_allocator"));
    }
}
