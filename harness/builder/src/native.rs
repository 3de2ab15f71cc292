//! Releases that the executable `native` in the driver's folder builds: those of drivers which cargo does not know.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

use serde::Deserialize;
use toml::Table;

use crate::builder::{Builder, Built, Watch, worker_name};
use crate::cached::{BUILT, mark_used};
use crate::cargo::{Cargo, Progress};
use crate::checkout::digest;
use crate::error::BuildError;
use crate::family::{Family, native_release};
use crate::key::{WITHOUT, key};
use crate::order::Order;

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
