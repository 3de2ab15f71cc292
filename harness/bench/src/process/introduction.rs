//! Who a contender is: its worker starts, says `hello`, and is ended.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cqldyno_protocol::Hello;
use cqldyno_reports::{Contender as Row, Library, Setting};

use crate::plan::Deadlines;
use crate::plan::contender::Contender;
use crate::process::cancel::Cancel;
use crate::process::child::{Launch, file_name};
use crate::process::executable::Executable;
use crate::process::failure::CellFailure;
use crate::process::programs::{KNOWN, Programs};
use crate::process::worker::{Bounds, WorkerAtGate};

/// A contender whose worker is there.
#[derive(Clone, Debug)]
pub(crate) struct Introduced {
    /// The worker.
    pub program: PathBuf,
    /// The folder in which the dynamic loader looks first.
    pub library_folder: Option<PathBuf>,
    /// Options of the adapter.
    pub options: BTreeMap<String, String>,
    /// The worker's file as it was.
    pub executable: Executable,
    /// What it says of itself.
    pub hello: Hello,
}

impl Introduced {
    /// Refuses a worker that is another by now, as after a build: results name the one that was introduced.
    pub(crate) fn same(&self, hello: &Hello) -> Result<(), CellFailure> {
        let known = &self.hello;
        let (name, other) = match self.executable.changed(&self.program) {
            true => (self.executable.name(), "another file".to_owned()),
            false => (String::new(), String::new()),
        };
        let pairs = [
            ("executable", &name, &other),
            ("driver", &known.driver.name, &hello.driver.name),
            ("version", &known.driver.version, &hello.driver.version),
            ("variant", &known.driver.variant, &hello.driver.variant),
            ("build", &known.build.id, &hello.build.id),
            ("adapter's build", &known.build.adapter, &hello.build.adapter),
        ];
        match pairs.into_iter().find(|(_, introduced, found)| introduced != found) {
            None => Ok(()),
            Some((what, introduced, found)) => Err(CellFailure::Worker(format!(
                "The worker {} is another than at the start of the run: its {what} was {introduced:?} and is {found:?} now. Run this \
                 again, without building meanwhile.",
                file_name(&self.program)
            ))),
        }
    }
}

/// Asks the contender's worker for its `hello`; its log goes to `log`.
pub(crate) fn introduce(
    programs: &Programs,
    contender: &Contender,
    deadlines: Deadlines,
    log: Option<PathBuf>,
    cancel: &Cancel,
) -> Result<Introduced, CellFailure> {
    let unavailable = |error: &dyn std::fmt::Display| CellFailure::Unavailable(sentence(&error.to_string()));
    let program = programs.worker(&contender.name).map_err(|error| unavailable(&error))?;
    let library_folder = contender.library_folder().map_err(|error| unavailable(&error))?;
    let executable = Executable::read(&program);
    let launch = Launch { library_folder: library_folder.clone(), ..Launch::new(&programs.cqldyno, &program, log) };
    let hello = hello(launch, deadlines, cancel)?;
    contender.check_version(&hello).map_err(|error| unavailable(&error))?;
    Ok(Introduced { program, library_folder, options: contender.options.clone(), executable, hello })
}

fn hello(launch: Launch<'_>, deadlines: Deadlines, cancel: &Cancel) -> Result<Hello, CellFailure> {
    let (_worker, hello) = WorkerAtGate::start(launch, Bounds { deadlines, memory_bytes: None, cancel })?.open()?;
    Ok(hello)
}

/// A message as a full sentence.
pub(crate) fn sentence(message: &str) -> String {
    let mut characters = message.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    let end = if message.ends_with('.') { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

/// The contender as results hold it.
pub(crate) fn row(id: &str, contender: &Contender, found: &Result<Introduced, CellFailure>) -> Row {
    let hello = found.as_ref().ok().map(|introduced| &introduced.hello);
    let repeated = id != contender.to_string();
    let label = match hello {
        Some(hello) => label(hello, contender) + if repeated { &id[id.rfind('#').unwrap_or(id.len())..] } else { "" },
        None => id.to_owned(),
    };
    let driver = hello.map(|hello| &hello.driver);
    Row {
        id: id.to_owned(),
        label,
        role: contender.role(),
        control: repeated,
        version: driver.map(|driver| driver.version.clone()).unwrap_or_default(),
        libraries: driver.map(|driver| driver.libraries.iter().map(library).collect()).unwrap_or_default(),
        settings: hello.map(|hello| hello.settings.iter().map(setting).collect()).unwrap_or_default(),
        caveats: driver.map(|driver| driver.caveats.clone()).unwrap_or_default(),
        build: hello.map(|hello| hello.build.id.clone()).unwrap_or_default(),
        executable: found.as_ref().map(|introduced| introduced.executable.hash.clone()).unwrap_or_default(),
        compiler: hello.map(|hello| hello.build.compiler.clone()).unwrap_or_default(),
        in_flight: None,
        unavailable: found.as_ref().err().map(CellFailure::to_string),
    }
}

/// The driver's label with the options that its variant does not mention. A second build of a driver has a worker of another name, and
/// the label has that name.
fn label(hello: &Hello, contender: &Contender) -> String {
    let spoken_of = |key: &str| hello.driver.variant.strip_prefix(key).is_some_and(|rest| rest.starts_with('='));
    let options = contender.options.iter().filter(|(key, _)| !spoken_of(key));
    let label = hello.driver.label();
    let label = match label.strip_prefix(&hello.driver.name) {
        Some(rest) => format!("{}{rest}", contender.name),
        None => label,
    };
    label + &options.map(|(key, value)| format!("+{key}={value}")).collect::<String>()
}

fn library(library: &cqldyno_driver_api::Library) -> Library {
    Library { name: library.name.clone(), version: library.version.clone(), origin: library.origin.clone() }
}

/// The caveat of a worker that has another name than its driver.
pub(crate) fn own_build(contender: &Contender, introduced: &Introduced) -> Option<String> {
    let driver = &introduced.hello.driver;
    (driver.name != contender.name).then(|| {
        format!(
            "Its worker is a build of its own under this name: {} (SHA-256 {}...), which says that it has {}.",
            file_name(&introduced.program),
            introduced.executable.name(),
            driver.label(),
        )
    })
}

/// A setting as results hold it.
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
    /// What it says of itself, or a full sentence that says why it cannot be asked.
    pub hello: Result<Hello, String>,
}

/// Every driver that has a worker here or should have one, each asked who it is.
pub fn drivers(programs: &Programs, cancel: &Cancel) -> Vec<DriverListing> {
    let mut names = programs.names();
    names.retain(|name| KNOWN.contains(&name.as_str()) || programs.worker(name).is_ok());
    names
        .into_iter()
        .map(|name| match programs.worker(&name) {
            Err(error) => DriverListing { name, worker: None, hello: Err(error.to_string()) },
            Ok(worker) => {
                let launch = Launch::new(&programs.cqldyno, &worker, None);
                let hello = hello(launch, Deadlines::default(), cancel);
                DriverListing { name, hello: hello.map_err(|error| error.to_string()), worker: Some(worker) }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_a_sentence() {
        assert_eq!(sentence("there is none; do this"), "There is none; do this.");
        assert_eq!(sentence("Done."), "Done.");
    }

    #[test]
    fn a_label_has_the_options_that_the_driver_does_not_speak_of_itself() {
        let mut hello: Hello = serde_json::from_str(
            r#"{"protocol":1,"driver":{"name":"a","version":"1","variant":"lib=b-2","libraries":[],"capabilities":[],"caveats":[]},
            "settings":[],"build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        let contender: Contender = "a+lib=/tmp/b+form=ready".parse().unwrap();
        assert_eq!(label(&hello, &contender), "a@1+lib=b-2+form=ready");
        let introduced = Introduced {
            program: "cqldyno-driver-a".into(),
            library_folder: None,
            options: BTreeMap::new(),
            executable: Executable::default(),
            hello: hello.clone(),
        };
        assert_eq!(introduced.same(&hello), Ok(()));
        assert_eq!(own_build(&contender, &introduced), None);
        let head: Contender = "a-head+form=ready".parse().unwrap();
        assert_eq!(label(&hello, &head), "a-head@1+lib=b-2+form=ready");
        let said = own_build(&head, &introduced).unwrap();
        assert!(
            said.starts_with("Its worker is a build of its own under this name: cqldyno-driver-a (SHA-256 unknown"),
            "{said}"
        );
        assert!(said.ends_with("which says that it has a@1+lib=b-2."), "{said}");
        hello.driver.variant.clear();
        let sentence = introduced.same(&hello).unwrap_err().to_string();
        assert!(sentence.contains("its variant was \"lib=b-2\" and is \"\" now"), "{sentence}");
        assert_eq!(label(&hello, &"a".parse().unwrap()), "a@1");
    }
}
