//! From an order to a worker in the cache.

mod compile;
mod prepare;
mod resolve;
mod suite;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use serde::Serialize;

use crate::cached::{BUILT, entries};
use crate::cargo::{Cargo, Progress};
use crate::checkout;
use crate::error::BuildError;
use crate::family::{Family, choose, native_release, releases};
use crate::inputs::Inputs;
use crate::order::Order;
use crate::sources::Sources;
use crate::version::Version;

/// The environment variable that names the cache.
pub const CACHE_VARIABLE: &str = "CQLDYNO_CACHE";
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Builds workers into a cache.
#[derive(Clone, Debug)]
pub struct Builder {
    sources: Sources,
    cache: PathBuf,
    cargo: PathBuf,
}

/// The user's cache, of workers and of whatever else is fetched once.
///
/// # Errors
/// When no folder for it is known.
pub fn cache() -> Result<PathBuf, BuildError> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set(CACHE_VARIABLE)
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("cqldyno")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/cqldyno")));
    let unknown = || BuildError::Cache(PathBuf::from("~/.cache/cqldyno"), io::Error::other("HOME is not set"));
    std::path::absolute(cache.ok_or_else(unknown)?).map_err(|error| BuildError::Cache(PathBuf::new(), error))
}

/// Who follows a build.
pub struct Watch<'a> {
    /// Hears how far it is.
    pub progress: &'a mut dyn FnMut(Progress),
    /// Says whether the user wants it to end.
    pub cancelled: &'a dyn Fn() -> bool,
    /// Where everything that cargo prints is kept.
    pub log: Option<&'a Path>,
}

/// A worker that was built, now or earlier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Built {
    /// The executable.
    #[serde(skip)]
    pub worker: PathBuf,
    /// The lock file that it was built with.
    #[serde(skip)]
    pub lock_file: PathBuf,
    /// What the cache knows it by: a digest of everything that it was built from.
    pub key: String,
    /// The adapter's folder below that of the sources.
    pub adapter: String,
    /// As a contender is written.
    pub order: String,
    /// The commit of the driver's own sources; `None` for a release.
    pub revision: Option<String>,
    /// Whether files differ from the commit's.
    pub dirty: bool,
    /// The compiler.
    pub toolchain: String,
}

impl Builder {
    /// With the sources of this program, and the user's cache.
    ///
    /// # Errors
    /// When there are no sources, or no folder for the cache is known.
    pub fn find() -> Result<Builder, BuildError> {
        let cache = cache()?;
        Builder::new(Sources::find(&cache)?, &cache, Path::new("cargo"))
    }

    /// With this cache and this cargo.
    ///
    /// # Errors
    /// When the cache has no place.
    pub fn new(sources: Sources, cache: &Path, cargo: &Path) -> Result<Builder, BuildError> {
        let cache = std::path::absolute(cache).map_err(|error| BuildError::Cache(cache.to_path_buf(), error))?;
        Ok(Builder { sources, cache, cargo: cargo.to_path_buf() })
    }

    /// The sources of the adapters.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The families of `driver`, the newest first.
    ///
    /// # Errors
    /// When there is none.
    pub fn families(&self, driver: &str) -> Result<Vec<Family>, BuildError> {
        Family::all(&self.sources, driver)
    }

    /// The newest release of each minor one that the adapters of `driver` list as tested, the oldest first.
    ///
    /// # Errors
    /// When there is no adapter, or the driver is one of ours.
    pub fn releases(&self, driver: &str) -> Result<Vec<semver::Version>, BuildError> {
        releases(&self.any_families(driver)?)
    }

    /// Those that cargo builds, or those of an adapter that builds its releases itself.
    ///
    /// # Errors
    /// When there is none.
    pub fn any_families(&self, driver: &str) -> Result<Vec<Family>, BuildError> {
        match self.native_families(driver)? {
            none if none.is_empty() => self.families(driver),
            native => Ok(native),
        }
    }

    /// Whether the cache has a worker of this order; other sources or dependencies may ask for another one.
    pub fn has_built(&self, order: &Order) -> bool {
        let order = order.to_string();
        let folders = entries(&self.cache.join("workers")).into_iter();
        let texts = folders.filter_map(|folder| fs::read_to_string(folder.join(BUILT)).ok());
        let mut built = texts.filter_map(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        built.any(|built| built.get("order").is_some_and(|known| *known == order))
    }

    /// Refuses what no adapter speaks, without building anything.
    ///
    /// # Errors
    /// [`BuildError::is_refusal`] tells one from a manifest that cannot be read.
    pub fn check(&self, order: &Order) -> Result<(), BuildError> {
        match self.native_families(&order.driver)? {
            none if none.is_empty() => choose(&self.families(&order.driver)?, order.version.as_ref(), None).map(drop),
            native => native_release(&native, order).map(drop),
        }
    }

    /// The capabilities, by their names in the worker protocol, and the types that what is ordered lacks, as far as the adapter's
    /// manifest tells. What a folder or a commit lacks is not known before it is looked at.
    ///
    /// # Errors
    /// When no adapter speaks it.
    pub fn lacks(&self, order: &Order) -> Result<BTreeSet<String>, BuildError> {
        let families = self.any_families(&order.driver)?;
        let family = &families[choose(&families, order.version.as_ref(), None)?.family];
        Ok(match &order.version {
            None => family.lacks(family.tested.last()),
            Some(Version::Release(release)) => family.lacks(Some(release)),
            Some(Version::Begins(_) | Version::Newest) => family.lacks(None),
            Some(Version::Path(_) | Version::Git { .. }) => BTreeSet::new(),
        })
    }

    /// The root of the repository that `folder` belongs to.
    ///
    /// # Errors
    /// When it belongs to none.
    pub fn repository(&self, folder: &Path) -> Result<PathBuf, BuildError> {
        checkout::repository(folder, &self.bare(None, &|| false))
    }

    /// The whole name of a commit, tag or branch of the repository in `folder`.
    ///
    /// # Errors
    /// When it has no such commit.
    pub fn commit(&self, folder: &Path, name: &str) -> Result<String, BuildError> {
        checkout::commit(folder, name, &self.bare(None, &|| false))
    }

    /// The drivers with an adapter whose crate the workspace in `folder` has.
    ///
    /// # Errors
    /// When cargo cannot read the workspace.
    pub fn drivers_in(&self, folder: &Path) -> Result<Vec<String>, BuildError> {
        let packages = checkout::packages(folder, &self.bare(None, &|| false))?;
        let is_here = |name: &String| {
            let families = self.families(name).unwrap_or_default();
            families.into_iter().filter_map(|family| family.library).any(|library| packages.contains(&library))
        };
        Ok(self.sources.drivers().into_iter().filter(is_here).collect())
    }

    /// The worker that is ordered: from the cache, or built. Two processes never build the same worker at once, and what is in the cache
    /// waits for nobody.
    ///
    /// # Errors
    /// When it cannot be built, or the user ends it.
    pub fn build<'a>(&'a self, order: &Order, watch: &mut Watch<'a>) -> Result<Built, BuildError> {
        let native = self.native_families(&order.driver)?;
        if !native.is_empty() {
            return self.build_native(order, &native, watch);
        }
        let prepared = self.prepare(order, false, watch)?;
        if let Some(built) = prepared.locked(order).and_then(|lock| self.found(order, &prepared, &lock)) {
            return Ok(built);
        }
        let _lock = self.lock(&prepared.folder, watch)?;
        if Inputs::read(&prepared.inputs()).is_some_and(|noted| noted != noted.now()) {
            // A manifest may be among them.
            prepared.unlock().map_err(self.failed())?;
        }
        let lock = self.resolve(order, &prepared, &self.cargo(&prepared, watch), watch.progress)?;
        match self.found(order, &prepared, &lock) {
            Some(built) => Ok(built),
            None => self.compile(order, &prepared, &lock, watch),
        }
    }

    /// Where cargo keeps what it compiles, for all workers; another cargo waits meanwhile.
    fn target(&self) -> PathBuf {
        self.cache.join("target")
    }

    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> BuildError + use<> {
        let cache = self.cache.clone();
        move |error| BuildError::Cache(cache.clone(), error)
    }

    /// Waits until no other process has the folder's lock, and takes it.
    pub(crate) fn lock(&self, folder: &Path, watch: &mut Watch<'_>) -> Result<File, BuildError> {
        let (failed, path) = (self.failed(), folder.join("lock"));
        fs::create_dir_all(folder).map_err(&failed)?;
        let mut file = File::options().create(true).truncate(false).write(true).open(&path).map_err(&failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => {
                    let told = file.set_len(0).and_then(|()| write!(file, "{}", process::id()));
                    return told.map(|()| file).map_err(failed);
                }
                Err(TryLockError::WouldBlock) if (watch.cancelled)() => return Err(BuildError::Cancelled),
                Err(TryLockError::WouldBlock) => {
                    let process = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
                    process.into_iter().for_each(|process| (watch.progress)(Progress::Waiting { process }));
                    std::thread::sleep(LOOK_EVERY);
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    /// cargo without what a worker needs.
    pub(crate) fn bare<'a>(&'a self, log: Option<&'a Path>, cancelled: &'a dyn Fn() -> bool) -> Cargo<'a> {
        Cargo { program: &self.cargo, folder: self.sources.folder(), environment: Vec::new(), log, cancelled }
    }
}

pub(crate) fn worker_name(order: &Order) -> String {
    format!("cqldyno-driver-{}", order.driver)
}
