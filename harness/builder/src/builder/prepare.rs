//! From an order to a package: the adapter, the driver's own sources, and everything that tells its worker from others.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Builder, Built, Watch};
use crate::cargo::{Cargo, Progress};
use crate::checkout::{Checkout, checkout};
use crate::error::BuildError;
use crate::family::{Choice, choose};
use crate::key::{flags, key, sources};
use crate::order::Order;
use crate::package::Package;

/// Tells the worker's build script which lock file is in force.
const LOCK_FILE_VARIABLE: &str = "CQLDYNO_LOCK_FILE";
const BUILD_FOLDER_VARIABLE: &str = "CARGO_BUILD_BUILD_DIR";
/// Tells the worker's build script that the compiler has to have been told of the timer.
const TIMER_VARIABLE: &str = "CQLDYNO_ALTERNATIVE_TIMER";

/// What is built, before its dependencies are locked.
pub(super) struct Prepared {
    pub(super) package: Package,
    /// Where the package is written.
    pub(super) folder: PathBuf,
    pub(super) ask: String,
    environment: Vec<(String, String)>,
    /// The dependency that is the driver.
    pub(super) library: Option<String>,
    /// Links among the driver's own sources.
    pub(super) links: Vec<PathBuf>,
    /// Where it is noted from what cargo last compiled adapter and driver, whatever for.
    pub(super) compiled: PathBuf,
    pub(super) built: Built,
}

impl Prepared {
    /// The lock file, if dependencies were chosen and a newer release cannot be meant by now.
    pub(super) fn locked(&self, order: &Order) -> Option<String> {
        let is_chosen = order.is_exact() && self.folder.join("locked").is_file();
        is_chosen.then(|| fs::read_to_string(self.folder.join("Cargo.lock")).ok()).flatten()
    }

    /// The arguments that name the package and where cargo puts what it builds.
    pub(super) fn place(&self) -> [OsString; 4] {
        let [manifest, target] = ["Cargo.toml", "target"].map(|name| self.folder.join(name).into());
        ["--manifest-path".into(), manifest, "--target-dir".into(), target]
    }

    /// Where it is noted from what the worker was compiled.
    pub(super) fn inputs(&self) -> PathBuf {
        self.folder.join("inputs")
    }

    /// Dependencies are to be chosen again.
    pub(super) fn unlock(&self) -> io::Result<()> {
        let is_locked = self.folder.join("locked");
        if is_locked.exists() { fs::remove_file(is_locked) } else { Ok(()) }
    }
}

impl Builder {
    pub(super) fn prepare(&self, order: &Order, tested: bool, watch: &mut Watch<'_>) -> Result<Prepared, BuildError> {
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

    pub(super) fn base_lock(&self) -> PathBuf {
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

    /// cargo with what the worker needs.
    pub(super) fn cargo<'a>(&'a self, prepared: &Prepared, watch: &Watch<'a>) -> Cargo<'a> {
        Cargo { environment: prepared.environment.clone(), ..self.bare(watch.log, watch.cancelled) }
    }
}

/// What the compiler is told of the last step of a build. A seed above 0 makes lld shuffle functions the same way each time; GNU ld
/// does not know the argument and fails.
pub(super) fn link_arguments(order: &Order) -> Vec<String> {
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
