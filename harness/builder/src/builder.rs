//! From an order to a worker in the cache.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::cached::{PACKAGE, entries, mark_used};
use crate::cargo::{Cargo, Progress, executable};
use crate::checkout::{self, Checkout, checkout};
use crate::error::BuildError;
use crate::family::{Choice, Family, choose, releases};
use crate::inputs::{Inputs, listed};
use crate::key::{flags, key, sources};
use crate::native::native_release;
use crate::order::Order;
use crate::package::Package;
use crate::sources::Sources;
use crate::version::Version;

/// The environment variable that names the cache.
pub const CACHE_VARIABLE: &str = "CQLDYNO_CACHE";
/// In a worker's folder: what it was built from.
pub(crate) const BUILT: &str = "built.json";
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often cargo may refuse a dependency's version before that is the end.
const MOST_TURNS: usize = 20;
/// What the behaviour suite prints before the name of such a capability.
const NOT_DECLARED: &str = "not declared: ";
/// Tells the worker's build script which lock file is in force.
const LOCK_FILE_VARIABLE: &str = "CQLDYNO_LOCK_FILE";
/// The first tokio with the alternative timer.
const FIRST_TIMER: semver::Version = semver::Version::new(1, 49, 0);
const BUILD_FOLDER_VARIABLE: &str = "CARGO_BUILD_BUILD_DIR";
/// Tells the worker's build script that the compiler has to have been told of the timer.
const TIMER_VARIABLE: &str = "CQLDYNO_ALTERNATIVE_TIMER";

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

/// What is built, before its dependencies are locked.
struct Prepared {
    package: Package,
    /// Where the package is written.
    folder: PathBuf,
    ask: String,
    environment: Vec<(String, String)>,
    /// The dependency that is the driver.
    library: Option<String>,
    /// Links among the driver's own sources.
    links: Vec<PathBuf>,
    /// Where it is noted from what cargo last compiled adapter and driver, whatever for.
    compiled: PathBuf,
    built: Built,
}

impl Prepared {
    /// The lock file, if dependencies were chosen and a newer release cannot be meant by now.
    fn locked(&self, order: &Order) -> Option<String> {
        let is_chosen = order.is_exact() && self.folder.join("locked").is_file();
        is_chosen.then(|| fs::read_to_string(self.folder.join("Cargo.lock")).ok()).flatten()
    }

    /// The arguments that name the package and where cargo puts what it builds.
    fn place(&self) -> [OsString; 4] {
        let [manifest, target] = ["Cargo.toml", "target"].map(|name| self.folder.join(name).into());
        ["--manifest-path".into(), manifest, "--target-dir".into(), target]
    }

    /// Where it is noted from what the worker was compiled.
    fn inputs(&self) -> PathBuf {
        self.folder.join("inputs")
    }

    /// Dependencies are to be chosen again.
    fn unlock(&self) -> io::Result<()> {
        let is_locked = self.folder.join("locked");
        if is_locked.exists() { fs::remove_file(is_locked) } else { Ok(()) }
    }
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

    fn compile<'a>(
        &'a self,
        order: &Order,
        prepared: &Prepared,
        lock: &str,
        watch: &mut Watch<'a>,
    ) -> Result<Built, BuildError> {
        let (cargo, progress) = (self.cargo(prepared, watch), &mut *watch.progress);
        let (place, target) = (prepared.place(), prepared.folder.join("target"));
        let place = place.iter().map(OsString::as_os_str);
        progress(Progress::Compiling { done: 0, of: 0 });
        if Inputs::changed_unseen(&prepared.compiled) {
            // Those that come from no registry or repository.
            let local: Vec<Locked> = packages(lock).into_iter().filter(|package| package.source.is_none()).collect();
            let packages = local.iter().flat_map(|package| [OsStr::new("--package"), OsStr::new(&package.name)]);
            let clean = ["clean", "--release", "--locked"].map(OsStr::new);
            cargo.run(clean.into_iter().chain(place.clone()).chain(packages), progress)?;
        }
        // What is compiled from now on, perhaps in part, is not what was noted.
        let _ = fs::remove_file(&prepared.compiled);
        let since = SystemTime::now();
        let name = worker_name(order);
        let arguments = ["rustc", "--release", "--locked", "--bin", &name, "--message-format", "json"].map(OsStr::new);
        let linker = link_arguments(order);
        let linker = [OsStr::new("--")].into_iter().chain(linker.iter().map(OsStr::new));
        let said = cargo.run(arguments.into_iter().chain(place).chain(linker), progress)?;
        let executable = executable(&said)
            .ok_or_else(|| BuildError::Failed("cargo built everything and named no executable".to_owned()))?;
        let built = self.keep(order, prepared, lock, Path::new(&executable), since).map_err(self.failed())?;
        mark_used(&built.worker);
        let _ = fs::remove_dir_all(&target);
        Ok(built)
    }

    /// Puts the executable of a build that began `since` into the cache, and notes from what it was compiled.
    fn keep(
        &self,
        order: &Order,
        prepared: &Prepared,
        lock: &str,
        executable: &Path,
        since: SystemTime,
    ) -> io::Result<Built> {
        // Without cargo's list nothing is known to be the same later, so it is built again.
        let dep_info = fs::read_to_string(executable.with_extension("d")).ok();
        let own = [self.target(), prepared.folder.clone()].map(|folder| folder.canonicalize().unwrap_or(folder));
        let mut paths = listed(dep_info.as_deref().unwrap_or_default(), &own.each_ref().map(PathBuf::as_path));
        paths.extend(prepared.links.iter().cloned());
        let inputs = Inputs::after(paths, since);
        let built = self.worker(order, prepared, lock, &inputs);
        let folder = self.cache.join("workers").join(&built.key);
        let part = folder.with_extension("part");
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part)?;
        fs::copy(executable, part.join(worker_name(order)))?;
        fs::write(part.join("Cargo.lock"), lock)?;
        fs::write(part.join("Cargo.toml"), &prepared.package.manifest)?;
        fs::write(part.join(PACKAGE), &prepared.ask)?;
        fs::write(part.join(BUILT), serde_json::to_string_pretty(&built)?)?;
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&part, &folder)?;
        if dep_info.is_some() {
            fs::create_dir_all(self.target())?;
            fs::write(&prepared.compiled, inputs.text())?;
            let part = prepared.folder.join("inputs.part");
            fs::write(&part, inputs.text())?;
            fs::rename(&part, prepared.inputs())?;
        }
        Ok(built)
    }

    /// The worker with this lock file, if the cache has one and all from which it was compiled is as it was.
    fn found(&self, order: &Order, prepared: &Prepared, lock: &str) -> Option<Built> {
        let inputs = Inputs::read(&prepared.inputs())?.now();
        let built = self.worker(order, prepared, lock, &inputs);
        let is_there = built.worker.is_file() && built.lock_file.is_file();
        is_there.then(|| mark_used(&built.worker));
        is_there.then_some(built)
    }

    /// A worker in the cache, or where it will be there.
    fn worker(&self, order: &Order, prepared: &Prepared, lock: &str, inputs: &Inputs) -> Built {
        let key = key(&[("ask", &prepared.ask), ("lock", lock), ("inputs", &inputs.text())]);
        let folder = self.cache.join("workers").join(&key);
        Built {
            worker: folder.join(worker_name(order)),
            lock_file: folder.join("Cargo.lock"),
            key,
            ..prepared.built.clone()
        }
    }

    /// Where cargo keeps what it compiles, for all workers; another cargo waits meanwhile.
    fn target(&self) -> PathBuf {
        self.cache.join("target")
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
        let prepared = self.prepare(order, true, watch)?;
        let _lock = self.lock(&prepared.folder, watch)?;
        let cargo = self.cargo(&prepared, watch);
        self.resolve(order, &prepared, &cargo, watch.progress)?;
        let place = prepared.place();
        let progress = &mut *watch.progress;
        let mut call = |before: &[&'static str], after: &[&'static str]| {
            let (before, after) = (before.iter().map(OsStr::new), after.iter().map(OsStr::new));
            let arguments = before.chain(place.iter().map(OsString::as_os_str)).chain([OsStr::new("--")]).chain(after);
            cargo.hear(arguments, progress)
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

    fn cargo<'a>(&'a self, prepared: &Prepared, watch: &Watch<'a>) -> Cargo<'a> {
        Cargo { environment: prepared.environment.clone(), ..self.bare(watch.log, watch.cancelled) }
    }

    /// cargo without what a worker needs.
    pub(crate) fn bare<'a>(&'a self, log: Option<&'a Path>, cancelled: &'a dyn Fn() -> bool) -> Cargo<'a> {
        Cargo { program: &self.cargo, folder: self.sources.folder(), environment: Vec::new(), log, cancelled }
    }

    fn prepare(&self, order: &Order, tested: bool, watch: &mut Watch<'_>) -> Result<Prepared, BuildError> {
        (watch.progress)(Progress::Preparing);
        let bare = self.bare(watch.log, watch.cancelled);
        let families = self.families(&order.driver)?;
        let library = families.iter().find_map(|family| family.library.as_deref()).unwrap_or(&order.driver);
        // Before anything is fetched for it.
        let first = choose(&families, order.version.as_ref(), None)?;
        let checkout =
            checkout(order.version.as_ref(), library, &self.cache, &bare, &mut |folder| self.lock(folder, watch))?;
        let Choice { family, requirement } = match &checkout {
            Some(found) => choose(&families, order.version.as_ref(), Some(&found.version))?,
            None => first,
        };
        let family = &families[family];
        let package = Package::new(&self.sources, family, requirement.as_deref(), checkout.as_ref(), order, tested)?;
        let toolchain = bare.run(["-vV"].map(OsStr::new), &mut |_| ())?;
        let compiler = Cargo { program: Path::new("rustc"), ..bare };
        let toolchain = toolchain + &compiler.run(["-vV"].map(OsStr::new), &mut |_| ())?;
        let native = self.native(order, &compiler, watch)?;

        let manifest = family.folder.join("Cargo.toml");
        let own = sources(&self.sources, family).map_err(|error| BuildError::Manifest(manifest, error.to_string()))?;
        let base = fs::read_to_string(self.base_lock()).map_err(self.failed())?;
        let driver = checkout.as_ref().map_or(String::new(), Checkout::state);
        let native_text: String = native.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let told = compiler_flags(order).map(|(name, flags)| format!("{name}={flags}"));
        let arguments = link_arguments(order).concat() + &told.unwrap_or_default();
        let pins: String = order.pins.iter().map(|(name, version)| format!("{name} {version}\n")).collect();
        let ask = key(&[
            ("manifest", &package.manifest),
            ("main", &package.main),
            ("sources", &own),
            ("driver", &driver),
            ("base", &base),
            ("pins", &pins),
            ("toolchain", &toolchain),
            ("flags", &(flags(&self.sources, env::vars_os()) + &arguments)),
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
        let build_folder = (BUILD_FOLDER_VARIABLE.to_owned(), self.target().display().to_string());
        let timer = order.has_alternative_timer().then(|| (TIMER_VARIABLE.to_owned(), "1".to_owned()));
        let environment =
            native.into_iter().chain([lock_file, build_folder]).chain(compiler_flags(order)).chain(timer).collect();
        let place = checkout.as_ref().map_or(String::new(), |checkout| checkout.package.display().to_string());
        let compiled =
            self.target().join(format!("compiled-{}", key(&[("adapter", &built.adapter), ("driver", &place)])));
        let links = checkout.map_or(Vec::new(), |checkout| checkout.links);
        Ok(Prepared { package, folder, ask, environment, library: family.library.clone(), links, compiled, built })
    }

    fn base_lock(&self) -> PathBuf {
        self.sources.folder().join("Cargo.lock")
    }

    /// The variables that cargo needs for a driver with native libraries, which the executable `native` in its folder provides.
    fn native(
        &self,
        order: &Order,
        like: &Cargo<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<(String, String)>, BuildError> {
        let program = self.sources.folder().join("drivers").join(&order.driver).join("native");
        if !program.is_file() {
            return Ok(Vec::new());
        }
        let target = self.target();
        let _lock = self.lock(&target, watch)?;
        let provide = Cargo { program: &program, environment: Vec::new(), ..*like };
        let said = provide.ask([target.as_os_str()])?;
        let variables = said.lines().filter_map(|line| line.split_once('='));
        // As a shell would read them.
        Ok(variables.map(|(name, value)| (name.to_owned(), value.replace('\\', ""))).collect())
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
        if let Some(chosen) = prepared.locked(order) {
            return Ok(chosen);
        }
        progress(Progress::Locking);
        let write = || -> io::Result<()> {
            prepared.unlock()?;
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
        if let (false, Some(library)) = (order.is_exact(), &prepared.library) {
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
        let tokio = packages(&text).into_iter().find(|one| one.name == "tokio" && order.has_alternative_timer());
        let lacks = |one: &Locked| semver::Version::parse(&one.version).is_ok_and(|version| version < FIRST_TIMER);
        if let Some(Locked { version: tokio, .. }) = tokio.filter(lacks) {
            return Err(BuildError::Failed(format!(
                "tokio's alternative timer was asked for, and the worker has tokio {tokio}, which has none before {FIRST_TIMER}; leave \
                 `timer` out, or ask for a later tokio"
            )));
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
    let versions: BTreeSet<String> =
        packages(lock).into_iter().filter(|package| package.name == name).map(|package| package.version).collect();
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

/// One package of a lock file.
#[derive(Deserialize)]
pub(crate) struct Locked {
    pub(crate) name: String,
    pub(crate) version: String,
    source: Option<String>,
}

/// The packages of a lock file; none if it is none.
pub(crate) fn packages(lock: &str) -> Vec<Locked> {
    let lock: toml::Table = lock.parse().unwrap_or_default();
    lock.get("package").and_then(|packages| packages.clone().try_into().ok()).unwrap_or_default()
}

pub(crate) fn worker_name(order: &Order) -> String {
    format!("cqldyno-driver-{}", order.driver)
}

/// What the compiler is told of the last step of a build. A seed above 0 makes lld shuffle functions the same way each time; GNU ld
/// does not know the argument and fails.
fn link_arguments(order: &Order) -> Vec<String> {
    order.layout.iter().map(|seed| format!("-Clink-arg=-Wl,--shuffle-sections=.text*={seed}")).collect()
}

/// The variable that tells the compiler of the timer, after the flags that hold anyway: cargo heeds one variable of the three alone.
fn compiler_flags(order: &Order) -> Option<(String, String)> {
    let own = ["--cfg", "tokio_unstable", "--cfg", "cqldyno_alternative_timer"];
    let (name, between) = [("CARGO_ENCODED_RUSTFLAGS", "\x1f"), ("RUSTFLAGS", " "), ("CARGO_BUILD_RUSTFLAGS", " ")]
        .into_iter()
        .find(|(name, _)| *name == "CARGO_BUILD_RUSTFLAGS" || env::var_os(name).is_some())?;
    let before = env::var(name).ok().filter(|flags| !flags.is_empty());
    let all = before.iter().map(String::as_str).chain(own).collect::<Vec<_>>().join(between);
    order.has_alternative_timer().then(|| (name.to_owned(), all))
}

#[cfg(test)]
pub(crate) mod tests;
