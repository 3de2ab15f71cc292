//! Releases that the executable `native` in the driver's folder builds: those of drivers which cargo does not know.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use serde::Deserialize;
use toml::Table;

use crate::builder::{BUILT, Builder, Built, Watch, worker_name};
use crate::cached::mark_used;
use crate::cargo::{Cargo, Progress};
use crate::checkout::digest;
use crate::error::BuildError;
use crate::family::{Family, choose};
use crate::key::{WITHOUT, key};
use crate::order::Order;
use crate::version::Version;

/// Where the driver's folder lists them.
const LIST: &str = "releases.toml";

/// The families, the newest first.
#[derive(Deserialize)]
struct Listed {
    family: Vec<Family>,
}

impl Builder {
    /// The families of `driver` that its own `native` builds, the newest first; none if cargo builds them.
    ///
    /// # Errors
    /// When their list cannot be used.
    pub fn native_families(&self, driver: &str) -> Result<Vec<Family>, BuildError> {
        let folder = self.sources().folder().join("drivers").join(with_driver(driver));
        let path = folder.join(LIST);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(Vec::new()) };
        let wrong = |why: String| BuildError::Manifest(path.clone(), why);
        let listed: Listed = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let family = |own: Family| own.of(driver, &folder, Table::new()).map_err(|error| wrong(error.to_string()));
        listed.family.into_iter().map(family).collect()
    }

    /// The release that is ordered: from the cache, or built.
    pub(crate) fn build_native<'a>(
        &'a self,
        order: &Order,
        families: &[Family],
        watch: &mut Watch<'a>,
    ) -> Result<Built, BuildError> {
        let (family, release) = native_release(families, order)?;
        (watch.progress)(Progress::Preparing);
        let builder = family.folder.join("native");
        let native = Cargo { program: &builder, ..self.bare(watch.log, watch.cancelled) };
        let toolchain = native.ask([OsStr::new("--toolchain")])?.trim().to_owned();
        let own = digest(&family.folder, &WITHOUT).map_err(self.failed())?;
        let release = release.to_string();
        let key = key(&[("release", &release), ("sources", &own), ("toolchain", &toolchain)]);
        let folder = self.cache().join("workers").join(&key);
        let program = worker_name(&Order { driver: with_driver(&order.driver).to_owned(), ..Order::default() });
        let built = Built {
            worker: folder.join(&program),
            lock_file: folder.join("lock"),
            adapter: family.name(self.sources()),
            order: order.to_string(),
            toolchain,
            ..Built { key, ..Built::default() }
        };
        let is_there = || built.worker.is_file() && built.lock_file.is_file();
        let named = || -> Result<Built, BuildError> {
            mark_used(&built.worker);
            let named = folder.join(worker_name(order));
            if !named.is_file() {
                symlink(&program, &named).map_err(self.failed())?;
            }
            Ok(Built { worker: named, ..built.clone() })
        };
        if is_there() {
            return named();
        }
        let _lock = self.lock(&self.cache().join("packages").join(&built.key), watch)?;
        if is_there() {
            return named();
        }
        (watch.progress)(Progress::Compiling { done: 0, of: 0 });
        let part = folder.with_extension("part");
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).map_err(self.failed())?;
        if let Err(error) = native.ask([part.as_os_str(), OsStr::new(&release)]) {
            let _ = fs::remove_dir_all(&part);
            return Err(error);
        }
        let keep = || -> io::Result<()> {
            fs::write(part.join(BUILT), serde_json::to_string_pretty(&built)?)?;
            let _ = fs::remove_dir_all(&folder);
            fs::rename(&part, &folder)
        };
        keep().map_err(self.failed())?;
        match is_there() {
            true => named(),
            false => Err(BuildError::Failed(format!("{} left no worker and no `lock`", builder.display()))),
        }
    }
}

/// The driver itself: a worker whose name ends in `-noop` is the same program without it.
fn with_driver(driver: &str) -> &str {
    driver.strip_suffix("-noop").unwrap_or(driver)
}

/// The release that is ordered, with its family. A beginning means the newest that is listed, and no version the newest of all; nothing else
/// of an order can be built.
pub(crate) fn native_release<'a>(
    families: &'a [Family],
    order: &Order,
) -> Result<(&'a Family, semver::Version), BuildError> {
    let plain = Order { version: order.version.clone(), ..Order { driver: order.driver.clone(), ..Order::default() } };
    let no_adapter = || BuildError::NoAdapter(order.driver.clone(), "crates alone".to_owned());
    let none_listed = |family: &Family| {
        let tested: Vec<String> = family.tested.iter().map(ToString::to_string).collect();
        BuildError::NotSpoken(
            order.driver.clone(),
            order.version.as_ref().map_or_else(String::new, ToString::to_string),
            ", because no release that is listed begins so".to_owned(),
            tested.join(", "),
        )
    };
    if plain != *order {
        return Err(no_adapter());
    }
    let version = order.version.as_ref().unwrap_or(&Version::Newest);
    let family = &families[choose(families, Some(version), None)?.family];
    let newest = || family.tested.iter().rev().find(|tested| version.takes(tested)).cloned();
    let release = match version {
        Version::Release(release) => Some(release.clone()),
        Version::Begins(_) | Version::Newest => newest(),
        Version::Path(_) | Version::Git { .. } => None,
    };
    match version {
        Version::Begins(_) if release.is_none() => Err(none_listed(family)),
        _ => release.map(|release| (family, release)).ok_or_else(no_adapter),
    }
}
