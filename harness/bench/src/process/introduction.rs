//! Who a contender is: its worker starts, says `hello`, and is ended.

use std::path::PathBuf;

use cqldyno_builder::{BuildError, Built, Order, Version};
use cqldyno_protocol::Hello;
use cqldyno_reports::{Contender as Row, Library, Setting, sentence};

use crate::plan::Deadlines;
use crate::plan::contender::{Contender, ContenderError, KNOWN};
use crate::process::cancel::Cancel;
use crate::process::child::{Launch, file_name};
use crate::process::executable::Executable;
use crate::process::failure::CellFailure;
use crate::process::programs::{Programs, WORKER_PREFIX};
use crate::process::worker::{Bounds, Worker};

#[derive(Clone, Debug)]
pub(crate) struct Introduced {
    /// The worker.
    pub program: PathBuf,
    /// The folder in which the dynamic loader looks first.
    pub library_folder: Option<PathBuf>,
    /// As it was asked for.
    pub contender: Contender,
    /// The worker's file as it was.
    pub executable: Executable,
    pub hello: Hello,
    /// How it was built, if it was built on demand.
    pub built: Option<Built>,
    /// The same worker with its functions in other orders, which generations take turns with.
    pub layouts: Vec<Introduced>,
}

impl Introduced {
    /// The worker of the generation with this number, from 1.
    pub(crate) fn of_generation(&self, number: u32) -> &Introduced {
        let nth = (number as usize).checked_rem(self.layouts.len());
        nth.map_or(self, |nth| &self.layouts[nth])
    }

    /// Refuses a worker that is another by now, as after a build: results name the one that was introduced.
    pub(crate) fn same(&self, hello: &Hello) -> Result<(), CellFailure> {
        let (name, other) = match self.executable.changed(&self.program) {
            true => (self.executable.name(), "another file".to_owned()),
            false => (String::new(), String::new()),
        };
        let file =
            [("executable", &name, &other), ("adapter's build", &self.hello.build.adapter, &hello.build.adapter)];
        match self.told(hello).into_iter().chain(file).find(|(_, introduced, found)| introduced != found) {
            None => Ok(()),
            Some((what, introduced, found)) => Err(CellFailure::Worker(format!(
                "The worker {} is another than at the start of the run: its {what} was {introduced:?} and is {found:?} now. Run this \
                 again, without building meanwhile.",
                file_name(&self.program)
            ))),
        }
    }

    /// Refuses `other`, the same worker in another order of functions, if it differs in more: its sources changed since, for example.
    pub(crate) fn in_other_order(&self, other: Introduced) -> Result<Introduced, CellFailure> {
        let sentence = self.told(&other.hello).into_iter().find(|(_, plain, found)| plain != found).map(|(what, plain, found)| {
            format!(
                "The worker {} was built with its functions in another order and differs in more: its {what} is {found:?} instead of \
                 {plain:?}. Build all workers of the same sources with `make build`, and start the run again.",
                file_name(&other.program)
            )
        });
        sentence.map_or(Ok(other), |sentence| Err(CellFailure::Worker(sentence)))
    }

    /// What this worker and one that says `hello` say of their driver and load generator: names and both values.
    fn told<'a>(&'a self, hello: &'a Hello) -> [(&'static str, &'a String, &'a String); 4] {
        let known = &self.hello;
        [
            ("driver", &known.driver.name, &hello.driver.name),
            ("version", &known.driver.version, &hello.driver.version),
            ("variant", &known.driver.variant, &hello.driver.variant),
            ("build", &known.build.id, &hello.build.id),
        ]
    }
}

/// A contender's worker, before any is built.
pub(crate) enum Sought {
    /// The worker that is there, or why there is none and none can be built.
    There(Box<Result<Introduced, CellFailure>>),
    /// One has to be built; what the one that is there says of itself.
    Build(Option<Box<Hello>>),
}

impl Sought {
    /// What the worker that is there says of itself.
    pub(crate) fn hello(&self) -> Option<&Hello> {
        match self {
            Sought::There(found) => found.as_ref().as_ref().ok().map(|found| &found.hello),
            Sought::Build(instead) => instead.as_deref(),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Reception<'a> {
    pub programs: &'a Programs,
    pub deadlines: Deadlines,
    pub cancel: &'a Cancel,
}

impl Reception<'_> {
    /// Looks for the contender's worker among those that are there; its log goes to `log`.
    pub(crate) fn seek(&self, contender: &Contender, log: Option<PathBuf>) -> Sought {
        let there = |found| Sought::There(Box::new(found));
        let is_plain = contender.order == Order { driver: contender.name().to_owned(), ..Order::default() };
        let release = match &contender.order.version {
            Some(Version::Release(release)) => self.programs.release(contender.name(), release),
            _ => None,
        };
        match release.map_or_else(|| self.programs.worker(contender.name()), Ok) {
            Ok(program) => match self.introduce(contender, program, log) {
                Ok(found) if contender.is_served_by(&found.hello) => there(Ok(found)),
                Ok(found) => Sought::Build(Some(Box::new(found.hello))),
                // Another build may work where this one does not.
                Err(CellFailure::Worker(_)) if !is_plain => Sought::Build(None),
                Err(failure) => there(Err(failure)),
            },
            Err(error) if is_plain && error.has_failed => there(Err(CellFailure::Unavailable(error.to_string()))),
            Err(_) => Sought::Build(None),
        }
    }

    fn introduce(
        &self,
        contender: &Contender,
        program: PathBuf,
        log: Option<PathBuf>,
    ) -> Result<Introduced, CellFailure> {
        let library_folder = contender.library_folder();
        let library_folder = library_folder.map_err(|error| CellFailure::Unavailable(sentence(&error.to_string())))?;
        let executable = Executable::read(&program);
        let launch =
            Launch { library_folder: library_folder.clone(), ..Launch::new(&self.programs.cqldyno, &program, log) };
        let hello = hello(launch, self.deadlines, self.cancel)?;
        let contender = contender.clone();
        Ok(Introduced { program, library_folder, contender, executable, hello, built: None, layouts: Vec::new() })
    }

    /// Asks the worker for its `hello` that was built for the contender, or says why there is none; `instead` is what the one that is
    /// there says of itself.
    pub(crate) fn introduce_built(
        &self,
        contender: &Contender,
        built: Result<Built, BuildError>,
        instead: Option<&Hello>,
        log: Option<PathBuf>,
    ) -> Result<Introduced, CellFailure> {
        let built = built.map_err(|error| match (error, &contender.order.version, instead) {
            (BuildError::Cancelled, ..) => CellFailure::Cancelled,
            (BuildError::NoAdapter(..), Some(asked), Some(hello)) => {
                let (name, there) = (contender.name().to_owned(), hello.driver.version.clone());
                let beside = self.programs.releases(&name);
                let all = [vec![name.clone(), format!("{name}@{there}")], beside].concat();
                let all = all.iter().map(|one| format!("`{one}`")).collect::<Vec<_>>().join(", ");
                let advice = match asked {
                    Version::Release(_) => {
                        format!("ask for one of {all}, or provide a worker {WORKER_PREFIX}{name}-{asked}")
                    }
                    _ => format!("ask for one of {all}"),
                };
                let error = ContenderError::OtherVersion(name, asked.to_string(), there, advice);
                CellFailure::Unavailable(sentence(&error.to_string()))
            }
            (BuildError::NoAdapter(..), _, None) => {
                let missing = self.programs.worker(contender.name()).err();
                CellFailure::Unavailable(missing.map(|missing| missing.to_string()).unwrap_or_default())
            }
            (error, ..) => {
                CellFailure::Unavailable(sentence(&format!("there is no worker for {}: {error}", contender.order)))
            }
        })?;
        let found = self.introduce(contender, built.worker.clone(), log)?;
        Ok(Introduced { built: Some(built), ..found })
    }
}

fn hello(launch: Launch<'_>, deadlines: Deadlines, cancel: &Cancel) -> Result<Hello, CellFailure> {
    let (_worker, hello) =
        Worker::at_gate(launch, Bounds { deadlines, memory_bytes: None, cancel, transcript: None })?.open()?;
    Ok(hello)
}

pub(crate) fn row(id: &str, contender: &Contender, found: &Result<Introduced, CellFailure>) -> Row {
    let repeated = id != contender.to_string();
    let row = Row { id: id.to_owned(), role: contender.role(), control: repeated, ..Row::default() };
    let found = match found {
        Ok(found) => found,
        Err(failure) => return Row { label: id.to_owned(), unavailable: Some(failure.to_string()), ..row },
    };
    let Hello { driver, settings, build, language, .. } = &found.hello;
    let number = if repeated { &id[id.rfind('#').unwrap_or(id.len())..] } else { "" };
    Row {
        label: label(&found.hello, contender, found.built.as_ref()) + number,
        version: driver.version.clone(),
        language: language.clone(),
        libraries: driver.libraries.iter().map(library).collect(),
        settings: settings.iter().map(setting).collect(),
        caveats: driver.caveats.clone(),
        build: build.id.clone(),
        executable: found.executable.hash.clone(),
        compiler: build.compiler.clone(),
        layouts: found.layouts.iter().map(|one| one.executable.hash.clone()).collect(),
        ..row
    }
}

/// The driver's label with where it comes from, if not from a release, and the keys that its variant does not mention. A second build of a
/// driver has a worker of another name, and the label has that name.
fn label(hello: &Hello, contender: &Contender, built: Option<&Built>) -> String {
    let driver = &hello.driver;
    let spoken_of = |key: &str| driver.variant.strip_prefix(key).is_some_and(|rest| rest.starts_with('='));
    let name = if driver.label().starts_with(&driver.name) { contender.name() } else { &driver.name };
    let mut label = format!("{name}@{}", driver.version);
    if let Some(place @ (Version::Path(_) | Version::Git { .. })) = &contender.order.version {
        match place {
            Version::Git { revision, .. } => label += &format!(" git:{revision}"),
            place => label += &format!(" {place}"),
        }
        let revision = built.and_then(|built| built.revision.as_deref());
        label += &revision.map(|revision| format!(" {}", &revision[..revision.len().min(7)])).unwrap_or_default();
        label += if built.is_some_and(|built| built.dirty) { " dirty" } else { "" };
    }
    if !driver.variant.is_empty() {
        label += &format!("+{}", driver.variant);
    }
    let written = contender.written.iter().filter(|(key, _)| !spoken_of(key));
    label + &written.map(|(key, value)| format!("+{key}={value}")).collect::<String>()
}

fn library(library: &cqldyno_driver_api::Library) -> Library {
    Library { name: library.name.clone(), version: library.version.clone(), origin: library.origin.clone() }
}

/// The caveat of a worker that has another name than its driver.
pub(crate) fn own_build(contender: &Contender, introduced: &Introduced) -> Option<String> {
    let driver = &introduced.hello.driver;
    (driver.name != contender.name()).then(|| {
        format!(
            "Its worker is a build of its own under this name: {} (SHA-256 {}...), which says that it has {}.",
            file_name(&introduced.program),
            introduced.executable.name(),
            driver.label(),
        )
    })
}

pub(crate) fn setting(setting: &cqldyno_driver_api::Setting) -> Setting {
    Setting { name: setting.name.clone(), value: setting.value.clone(), as_asked: setting.as_asked }
}

/// A driver, as `cqldyno drivers` lists it.
#[derive(Clone, Debug)]
pub struct DriverListing {
    /// Its name.
    pub name: String,
    /// Its worker, if there is one.
    pub worker: Option<PathBuf>,
    /// Whether there is none yet, and a run builds it.
    pub on_demand: bool,
    /// What it says of itself, or a full sentence that says why it cannot be asked.
    pub hello: Result<Hello, String>,
}

impl DriverListing {
    /// The label that it gives itself, else its name.
    pub fn label(&self) -> String {
        self.hello.as_ref().map_or_else(|_| self.name.clone(), |hello| hello.driver.label())
    }
}

/// Every driver that has a worker here or should have one, each asked who it is.
pub fn drivers(programs: &Programs, cancel: &Cancel) -> Vec<DriverListing> {
    let mut names = programs.names();
    names.retain(|name| KNOWN.contains(&name.as_str()) || programs.worker(name).is_ok());
    names
        .into_iter()
        .map(|name| match programs.worker(&name) {
            Err(error) => {
                let on_demand = !error.has_failed && KNOWN.contains(&name.as_str());
                DriverListing { name, worker: None, on_demand, hello: Err(error.to_string()) }
            }
            Ok(worker) => {
                let launch = Launch::new(&programs.cqldyno, &worker, None);
                let hello = hello(launch, Deadlines::default(), cancel);
                let hello = hello.map_err(|error| error.to_string());
                DriverListing { name, hello, worker: Some(worker), on_demand: false }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_the_options_that_the_driver_does_not_speak_of_itself() {
        let mut hello: Hello = serde_json::from_str(
            r#"{"protocol":3,"driver":{"name":"a","version":"1","variant":"lib=b-2","libraries":[],"capabilities":[],"caveats":[]},
            "settings":[],"build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        let contender: Contender = "a+lib=/tmp/b+form=ready".parse().unwrap();
        assert_eq!(label(&hello, &contender, None), "a@1+lib=b-2+form=ready");
        let introduced = Introduced {
            program: "cqldyno-driver-a".into(),
            library_folder: None,
            contender: contender.clone(),
            executable: Executable::default(),
            hello: hello.clone(),
            built: None,
            layouts: Vec::new(),
        };
        assert_eq!(introduced.same(&hello), Ok(()));
        assert_eq!(introduced.of_generation(7).program, introduced.program, "one worker for all generations");
        let layout = |name: &str| Introduced { program: name.into(), ..introduced.clone() };
        let several = Introduced { layouts: ["x", "y", "z"].map(layout).to_vec(), ..introduced.clone() };
        let programs = (1..=5).map(|number| several.of_generation(number).program.display().to_string());
        assert_eq!(programs.collect::<Vec<_>>(), ["y", "z", "x", "y", "z"]);
        assert_eq!(own_build(&contender, &introduced), None);
        let head: Contender = "a-head+form=ready".parse().unwrap();
        assert_eq!(label(&hello, &head, None), "a-head@1+lib=b-2+form=ready");
        let said = own_build(&head, &introduced).unwrap();
        assert!(
            said.starts_with("Its worker is a build of its own under this name: cqldyno-driver-a (SHA-256 unknown"),
            "{said}"
        );
        assert!(said.ends_with("which says that it has a@1+lib=b-2."), "{said}");
        assert_eq!(introduced.in_other_order(layout("x")).unwrap().program.as_os_str(), "x");
        let mut later = layout("cqldyno-driver-a-2");
        later.hello.build.adapter = "another order".to_owned();
        assert!(introduced.in_other_order(later.clone()).is_ok());
        later.hello.build.id = "another".to_owned();
        let sentence = introduced.in_other_order(later).unwrap_err().to_string();
        assert!(
            sentence.contains("cqldyno-driver-a-2 was built") && sentence.contains("its build is \"another\" instead")
        );
        hello.driver.variant.clear();
        let sentence = introduced.same(&hello).unwrap_err().to_string();
        assert!(sentence.contains("its variant was \"lib=b-2\" and is \"\" now"), "{sentence}");
        assert_eq!(label(&hello, &"a".parse().unwrap(), None), "a@1");
    }
}
