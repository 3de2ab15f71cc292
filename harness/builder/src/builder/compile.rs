//! Compiles a package whose dependencies are locked, and keeps its worker in the cache.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::prepare::{Prepared, link_arguments};
use super::{Builder, Built, Watch, worker_name};
use crate::cached::{BUILT, PACKAGE, mark_used};
use crate::cargo::{Progress, executable};
use crate::error::BuildError;
use crate::inputs::{Inputs, listed};
use crate::key::key;
use crate::lockfile::{Locked, packages};
use crate::order::Order;

impl Builder {
    pub(super) fn compile<'a>(
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
    pub(super) fn found(&self, order: &Order, prepared: &Prepared, lock: &str) -> Option<Built> {
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
}
