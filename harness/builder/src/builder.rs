//! From an order to a worker in the cache.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::cargo::{Cargo, executable};
use crate::checkout::{self, Checkout, checkout};
use crate::error::BuildError;
use crate::family::{Choice, Family, choose, releases};
use crate::key::{flags, key, sources};
use crate::order::Order;
use crate::package::Package;
use crate::sources::Sources;
use crate::version::Version;

/// The environment variable that names the cache.
pub const CACHE_VARIABLE: &str = "CQLDYNO_CACHE";
/// How often a wait for another process looks again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often cargo may refuse a dependency's version before that is the end.
const MOST_TURNS: usize = 20;
/// What the behaviour suite prints before the name of such a capability.
const NOT_DECLARED: &str = "not declared: ";
/// Tells the worker's build script which lock file is in force.
const LOCK_FILE_VARIABLE: &str = "CQLDYNO_LOCK_FILE";

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

/// Where a build is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another cqldyno builds; this one waits.
    Waiting,
    /// Versions of dependencies are chosen.
    Locking,
    /// cargo compiles.
    Compiling {
        /// Crates that are done.
        done: u64,
        /// All crates.
        of: u64,
    },
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

/// What is built, before its dependencies are locked.
struct Prepared {
    package: Package,
    /// Where the package is written.
    folder: PathBuf,
    ask: String,
    environment: Vec<(String, String)>,
    /// The dependency that is the driver.
    library: Option<String>,
    built: Built,
}

impl Builder {
    /// With the sources of the executable `program`, and the user's cache.
    ///
    /// # Errors
    /// When there are no sources, or no folder for the cache is known.
    pub fn find(program: &Path) -> Result<Builder, BuildError> {
        let cache = cache()?;
        Builder::new(Sources::find(program)?, &cache, Path::new("cargo"))
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
        releases(&self.families(driver)?)
    }

    /// Whether the cache has a worker of this order; other sources or dependencies may ask for another one.
    pub fn has_built(&self, order: &Order) -> bool {
        let order = order.to_string();
        let folders = fs::read_dir(self.cache.join("workers")).into_iter().flatten().flatten();
        let texts = folders.filter_map(|entry| fs::read_to_string(entry.path().join("built.json")).ok());
        let mut built = texts.filter_map(|text| serde_json::from_str::<serde_json::Value>(&text).ok());
        built.any(|built| built.get("order").is_some_and(|known| *known == order))
    }

    /// Refuses what no adapter speaks, without building anything.
    ///
    /// # Errors
    /// [`BuildError::is_refusal`] tells one from a manifest that cannot be read.
    pub fn check(&self, order: &Order) -> Result<(), BuildError> {
        choose(&self.families(&order.driver)?, order.version.as_ref(), None).map(drop)
    }

    /// The capabilities, by their names in the worker protocol, and the types that what is ordered lacks, as far as the adapter's
    /// manifest tells. What a folder or a commit lacks is not known before it is looked at.
    ///
    /// # Errors
    /// When no adapter speaks it.
    pub fn lacks(&self, order: &Order) -> Result<BTreeSet<String>, BuildError> {
        let families = self.families(&order.driver)?;
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

    /// The worker that is ordered: from the cache, or built. Two processes never build at once.
    ///
    /// # Errors
    /// When it cannot be built, or the user ends it.
    pub fn build<'a>(&'a self, order: &Order, watch: &mut Watch<'a>) -> Result<Built, BuildError> {
        let _lock = self.lock(watch)?;
        let prepared = self.prepare(order, false, watch)?;
        let (cargo, failed) = (self.cargo(&prepared, watch), self.failed());
        let lock = self.resolve(order, &prepared, &cargo, watch.progress)?;
        let name = format!("cqldyno-driver-{}", order.driver);
        let key = key(&[("ask", &prepared.ask), ("lock", &lock)]);
        let folder = self.cache.join("workers").join(&key);
        let (worker, lock_file) = (folder.join(&name), folder.join("Cargo.lock"));
        let built = Built { worker, lock_file, key, ..prepared.built };
        if built.worker.is_file() && built.lock_file.is_file() {
            return Ok(built);
        }
        let (manifest, target) = (prepared.folder.join("Cargo.toml"), self.cache.join("target"));
        let arguments = ["rustc", "--release", "--locked", "--bin", &name, "--message-format", "json"].map(OsStr::new);
        let place =
            [OsStr::new("--manifest-path"), manifest.as_os_str(), OsStr::new("--target-dir"), target.as_os_str()];
        let linker = link_arguments(order);
        let linker = [OsStr::new("--")].into_iter().chain(linker.iter().map(OsStr::new));
        let progress = &mut *watch.progress;
        let said = cargo.run(arguments.into_iter().chain(place).chain(linker), &mut |(done, of)| {
            progress(Progress::Compiling { done, of });
        })?;
        let executable = executable(&said)
            .ok_or_else(|| BuildError::Failed("cargo built everything and named no executable".to_owned()))?;

        let part = folder.with_extension("part");
        let keep = || -> io::Result<()> {
            let _ = fs::remove_dir_all(&part);
            fs::create_dir_all(&part)?;
            fs::copy(&executable, part.join(&name))?;
            fs::write(part.join("Cargo.lock"), &lock)?;
            fs::write(part.join("Cargo.toml"), &prepared.package.manifest)?;
            fs::write(part.join("built.json"), serde_json::to_string_pretty(&built)?)?;
            let _ = fs::remove_dir_all(&folder);
            fs::rename(&part, &folder)
        };
        keep().map_err(failed)?;
        Ok(built)
    }

    /// Runs the behaviour suite of the family that speaks the order's version, after clippy if `lints`. Returns the capabilities that
    /// the adapter does not declare, as far as the suite looks.
    ///
    /// # Errors
    /// When it cannot be built, or fails.
    pub fn test<'a>(
        &'a self,
        order: &Order,
        lints: bool,
        watch: &mut Watch<'a>,
    ) -> Result<BTreeSet<String>, BuildError> {
        let _lock = self.lock(watch)?;
        let prepared = self.prepare(order, true, watch)?;
        let cargo = self.cargo(&prepared, watch);
        self.resolve(order, &prepared, &cargo, watch.progress)?;
        let (manifest, target) = (prepared.folder.join("Cargo.toml"), self.cache.join("target"));
        let place =
            [OsStr::new("--manifest-path"), manifest.as_os_str(), OsStr::new("--target-dir"), target.as_os_str()];
        let progress = &mut *watch.progress;
        let mut call = |before: &[&'static str], after: &[&'static str]| {
            let (before, after) = (before.iter().map(OsStr::new), after.iter().map(OsStr::new));
            let arguments = before.chain(place).chain([OsStr::new("--")]).chain(after);
            cargo.hear(arguments, &mut |(done, of)| progress(Progress::Compiling { done, of }))
        };
        if lints {
            let said = call(&["clippy", "--locked", "--lib"], &["-D", "warnings"])?;
            if !said.success {
                return Err(said.failure());
            }
        }
        let said = call(&["test", "--locked", "--test", "behaviour"], &["--show-output"])?;
        let failed: Vec<&str> =
            said.out.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED")).collect();
        match (said.success, failed.is_empty()) {
            (true, _) => {
                Ok(said.out.lines().filter_map(|line| line.strip_prefix(NOT_DECLARED)).map(str::to_owned).collect())
            }
            (false, false) => Err(BuildError::Failed(format!("these tests fail: {}", failed.join(", ")))),
            (false, true) => Err(said.failure()),
        }
    }

    pub(crate) fn failed(&self) -> impl Fn(io::Error) -> BuildError + use<> {
        let cache = self.cache.clone();
        move |error| BuildError::Cache(cache.clone(), error)
    }

    /// Waits until no other process builds.
    pub(crate) fn lock(&self, watch: &mut Watch<'_>) -> Result<File, BuildError> {
        let failed = self.failed();
        fs::create_dir_all(&self.cache).map_err(&failed)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(self.cache.join("lock")).map_err(&failed)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) if (watch.cancelled)() => return Err(BuildError::Cancelled),
                Err(TryLockError::WouldBlock) => {
                    (watch.progress)(Progress::Waiting);
                    std::thread::sleep(LOOK_EVERY);
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
    }

    fn cargo<'a>(&'a self, prepared: &Prepared, watch: &Watch<'a>) -> Cargo<'a> {
        Cargo { environment: prepared.environment.clone(), ..self.bare(watch.log, watch.cancelled) }
    }

    /// cargo without what a worker needs.
    pub(crate) fn bare<'a>(&'a self, log: Option<&'a Path>, cancelled: &'a dyn Fn() -> bool) -> Cargo<'a> {
        Cargo { program: &self.cargo, folder: self.sources.folder(), environment: Vec::new(), log, cancelled }
    }

    fn prepare(&self, order: &Order, tested: bool, watch: &Watch<'_>) -> Result<Prepared, BuildError> {
        let bare = self.bare(watch.log, watch.cancelled);
        let families = self.families(&order.driver)?;
        let library = families.iter().find_map(|family| family.library.as_deref()).unwrap_or(&order.driver);
        // Before anything is fetched for it.
        let first = choose(&families, order.version.as_ref(), None)?;
        let checkout = checkout(order.version.as_ref(), library, &self.cache, &bare)?;
        let Choice { family, requirement } = match &checkout {
            Some(found) => choose(&families, order.version.as_ref(), Some(&found.version))?,
            None => first,
        };
        let family = &families[family];
        let package = Package::new(&self.sources, family, requirement.as_deref(), checkout.as_ref(), order, tested)?;
        let toolchain = bare.run(["-vV"].map(OsStr::new), &mut |_| ())?;
        let compiler = Cargo { program: Path::new("rustc"), ..bare };
        let toolchain = toolchain + &compiler.run(["-vV"].map(OsStr::new), &mut |_| ())?;
        let native = self.native(order, &compiler)?;

        let manifest = family.folder.join("Cargo.toml");
        let own = sources(&self.sources, family).map_err(|error| BuildError::Manifest(manifest, error.to_string()))?;
        let base = fs::read_to_string(self.base_lock()).map_err(self.failed())?;
        let driver = checkout.as_ref().map_or(String::new(), Checkout::state);
        let native_text: String = native.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let pins: String = order.pins.iter().map(|(name, version)| format!("{name} {version}\n")).collect();
        let ask = key(&[
            ("manifest", &package.manifest),
            ("main", &package.main),
            ("sources", &own),
            ("driver", &driver),
            ("base", &base),
            ("pins", &pins),
            ("toolchain", &toolchain),
            ("flags", &(flags(&self.sources, env::vars_os()) + &link_arguments(order).concat())),
            ("native", &native_text),
        ]);
        let folder = self.cache.join("packages").join(&ask);
        let lock_file = (LOCK_FILE_VARIABLE.to_owned(), folder.join("Cargo.lock").display().to_string());
        let built = Built {
            adapter: family.name(&self.sources),
            order: order.to_string(),
            revision: checkout.as_ref().and_then(|checkout| checkout.revision.clone()),
            dirty: checkout.as_ref().is_some_and(|checkout| checkout.dirty),
            toolchain: toolchain.lines().find(|line| line.starts_with("rustc ")).unwrap_or_default().to_owned(),
            ..Built::default()
        };
        let environment = native.into_iter().chain([lock_file]).collect();
        Ok(Prepared { package, folder, ask, environment, library: family.library.clone(), built })
    }

    fn base_lock(&self) -> PathBuf {
        self.sources.folder().join("Cargo.lock")
    }

    /// The variables that cargo needs for a driver with native libraries, which the executable `native` in its folder provides.
    fn native(&self, order: &Order, like: &Cargo<'_>) -> Result<Vec<(String, String)>, BuildError> {
        let program = self.sources.folder().join("drivers").join(&order.driver).join("native");
        if !program.is_file() {
            return Ok(Vec::new());
        }
        let target = self.cache.join("target");
        let provide = Cargo { program: &program, environment: Vec::new(), ..*like };
        let said = provide.hear([target.as_os_str()], &mut |_| ())?;
        match said.success {
            true => {
                let variables = said.out.lines().filter_map(|line| line.split_once('='));
                // As a shell would read them.
                Ok(variables.map(|(name, value)| (name.to_owned(), value.replace('\\', ""))).collect())
            }
            false => Err(BuildError::Failed(said.errors.last().cloned().unwrap_or_default())),
        }
    }

    /// The lock file of the package: what was chosen once stays, unless a newer release may be meant by now.
    fn resolve(
        &self,
        order: &Order,
        prepared: &Prepared,
        cargo: &Cargo<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<String, BuildError> {
        let (folder, failed) = (&prepared.folder, self.failed());
        let (manifest, lock, is_locked) = (folder.join("Cargo.toml"), folder.join("Cargo.lock"), folder.join("locked"));
        let stays = order.version.as_ref().is_none_or(Version::is_exact);
        if stays && is_locked.is_file() {
            return fs::read_to_string(&lock).map_err(failed);
        }
        progress(Progress::Locking);
        let write = || -> io::Result<()> {
            fs::create_dir_all(folder)?;
            if is_locked.exists() {
                fs::remove_file(&is_locked)?;
            }
            fs::write(folder.join("main.rs"), &prepared.package.main)?;
            fs::write(&manifest, &prepared.package.manifest)?;
            fs::copy(self.base_lock(), &lock).map(drop)
        };
        write().map_err(&failed)?;
        let update = |further: &[&str]| {
            let arguments = ["update", "--manifest-path"].map(OsStr::new).into_iter().chain([manifest.as_os_str()]);
            cargo.run(arguments.chain(further.iter().map(OsStr::new)), &mut |_| ())
        };
        update(&["--workspace", "--quiet"])?;
        if let (false, Some(library)) = (stays, &prepared.library) {
            // Ours has a release that may be meant, but need not be the newest.
            update(&["--package", library])?;
        }
        let mut open: Vec<(String, String)> = order.pins.clone().into_iter().collect();
        // One may stand in another's way until that has its turn.
        let mut refused = None;
        let mut turns = MOST_TURNS;
        while let Some((name, version)) = open.pop() {
            let text = fs::read_to_string(&lock).map_err(&failed)?;
            match update(&["--package", &locked(&text, &name, &version)?, "--precise", &version]) {
                Ok(_) => refused = None,
                Err(BuildError::Failed(why)) => {
                    turns -= 1;
                    let behind = in_step(&why, &text, &name).map(|other| (other, version.clone()));
                    let why = BuildError::Failed(format!("{name} cannot be had at {version}: {why}"));
                    let is_last = open.is_empty() && behind.is_none();
                    let first = refused.take().unwrap_or(why);
                    if is_last || turns == 0 {
                        return Err(first);
                    }
                    refused = Some(first);
                    match behind {
                        Some(behind) => open.extend([(name, version), behind]),
                        None => open.insert(0, (name, version)),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        let text = fs::read_to_string(&lock).map_err(&failed)?;
        // One that was chosen later may have moved it.
        if let Some((name, version)) = order.pins.iter().find(|(name, version)| !is_in(&text, name, version)) {
            let why = format!("{name} cannot be had at {version}: another dependency needs another version of it");
            return Err(BuildError::Failed(why));
        }
        fs::write(&is_locked, "").map_err(&failed)?;
        Ok(text)
    }
}

/// The package that keeps `name` where it is although both are released in step, such as `futures` of `futures-util`.
fn in_step(refusal: &str, lock: &str, name: &str) -> Option<String> {
    let (_, by) = refusal.split_once("required by package `")?;
    let (other, version) = by.split_once('`')?.0.split_once(" v")?;
    let version = version.split(' ').next()?;
    (is_in(lock, name, version) && is_in(lock, other, version)).then(|| other.to_owned())
}

/// Whether a lock file has the package in this version, whatever build metadata comes after it.
fn is_in(lock: &str, name: &str, version: &str) -> bool {
    ['"', '+'].iter().any(|end| lock.contains(&format!("name = \"{name}\"\nversion = \"{version}{end}")))
}

/// How cargo calls the package `name` of which another version is wanted: among several, the one that is compatible with it.
fn locked(lock: &str, name: &str, wanted: &str) -> Result<String, BuildError> {
    let packages: toml::Table = lock.parse().unwrap_or_default();
    let all = packages.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let text = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(str::to_owned);
    let versions: BTreeSet<String> = all
        .filter(|package| text(package, "name").as_deref() == Some(name))
        .filter_map(|package| text(package, "version"))
        .collect();
    let line = |version: &str| {
        let version = semver::Version::parse(version).ok()?;
        Some((version.major, if version.major == 0 { version.minor } else { 0 }))
    };
    let compatible = |version: &&String| line(version).is_some_and(|own| line(wanted) == Some(own));
    match (versions.len(), versions.iter().find(compatible)) {
        (0, _) => Err(BuildError::Failed(format!(
            "version {wanted} of {name} was asked for, and the worker does not depend on {name}; name one of its dependencies"
        ))),
        (1, _) => Ok(name.to_owned()),
        (_, Some(version)) => Ok(format!("{name}@{version}")),
        (_, None) => {
            let there: Vec<String> = versions.into_iter().collect();
            Err(BuildError::Failed(format!(
                "version {wanted} of {name} was asked for, and the worker has {name} {}, which that cannot replace",
                there.join(" and ")
            )))
        }
    }
}

/// What the compiler is told of the last step of a build. A seed above 0 makes lld shuffle functions the same way each time; GNU ld
/// does not know the argument and fails.
fn link_arguments(order: &Order) -> Vec<String> {
    order.layout.iter().map(|seed| format!("-Clink-arg=-Wl,--shuffle-sections=.text*={seed}")).collect()
}

#[cfg(test)]
pub(crate) mod tests;
