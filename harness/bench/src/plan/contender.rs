//! A contender as it is written: `NAME[@VERSION][+KEY=VALUE]...`.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::once;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;

use cqldyno_builder::{ALLOCATORS, LTO, Order, TIMERS, Version};
use cqldyno_driver_api::{Capability, DriverInfo, DriverOption, Settings};
use cqldyno_protocol::Hello;
use cqldyno_reports::{Role, is_key, options_at};
use cqldyno_scenarios::{Scenario, suggestion};

use crate::plan::Plan;
use crate::plan::serve::duration;

/// A driver with its version, how it is built, and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The driver, its version and dependencies: what a worker is built from if the one that is there is another.
    pub order: Order,
    /// Values of the run that this contender has instead.
    pub own: Own,
    /// Options of the adapter.
    pub options: BTreeMap<String, String>,
    /// All that it has after its version, as it is written.
    pub(crate) written: BTreeMap<String, String>,
}

/// What the harness sets for every driver, where a contender has a value of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Equal settings or the driver's own.
    pub settings: Option<Settings>,
    /// Data connections per node.
    pub connections: Option<usize>,
    /// The client's own time limit per statement in milliseconds; `Some(None)` for no limit.
    pub timeout_ms: Option<Option<u64>>,
    /// Rows per page with equal settings, whatever the scenario says.
    pub page_size: Option<u32>,
    /// Whether its connections are encrypted.
    pub tls: bool,
    /// Whether it plays a tape.
    pub tape: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InForce {
    pub(crate) settings: Settings,
    pub(crate) connections: usize,
    pub(crate) request_timeout_ms: Option<u64>,
}

impl Own {
    /// Its own values, else those of the scenario's point in a sweep, else those of the plan.
    pub(crate) fn in_force(&self, plan: &Plan, scenario: Option<&Scenario>) -> InForce {
        let point = scenario.and_then(|scenario| scenario.point);
        let point = point.and_then(|point| usize::try_from(point.connections.or(point.shards)?).ok());
        InForce {
            settings: self.settings.unwrap_or(plan.settings),
            connections: self.connections.or(point).unwrap_or(plan.connections as usize),
            request_timeout_ms: self.timeout_ms.unwrap_or(plan.request_timeout_ms),
        }
    }

    /// Rows per page: its own, else the smaller of the scenario's and the plan's. `None` with the driver's own settings: each has
    /// another page size, which is more than any answer has here, or none.
    pub(crate) fn page_size(&self, plan: &Plan, scenario: &Scenario) -> Option<u32> {
        let asked = || u32::try_from(plan.page_size).unwrap_or(u32::MAX);
        let smaller = || scenario.page_size.map_or_else(asked, |own| own.min(asked()));
        match self.settings.unwrap_or(plan.settings) {
            Settings::Equal => Some(self.page_size.unwrap_or_else(smaller)),
            Settings::Default => None,
        }
    }
}

/// A contender that cannot be read, or is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContenderError {
    /// A text that is none or that nobody can do as written, and what is wrong with it.
    #[error("the contender {0:?} {1}")]
    Unreadable(String, String),
    /// A driver without an adapter of ours, the version that was asked for, the one that its worker has, and what to do.
    #[error(
        "version {1} of {0} was asked for, the worker cqldyno-driver-{0} has {2}, and cqldyno has no adapter to build another one from; {3}"
    )]
    OtherVersion(String, String, String, String),
    /// A driver with `+lib=PATH` where there is nothing at the path.
    #[error(
        "the library {1} was asked for {0}, and there is no such file or folder; give the path of libcassandra.so.2"
    )]
    NoLibrary(String, String),
}

const LIBRARY: &str = "lib";

/// Drivers that this project has an adapter for, in the order in which they are shown: those of `drivers/LIST`.
pub static KNOWN: LazyLock<Vec<&str>> = LazyLock::new(|| listed().map(|(name, _)| name).collect());

/// Those of [`KNOWN`] that a comparison without names has.
pub static COMPARED: LazyLock<Vec<&str>> =
    LazyLock::new(|| listed().filter(|(_, how)| how.is_empty()).map(|(name, _)| name).collect());

/// How many times as long the driver takes for a start and for a statement as is guessed for any.
pub(crate) fn slowness(name: &str) -> f64 {
    let how = listed().find(|(known, _)| *known == name).map_or("", |(_, how)| how);
    how.split(' ').find_map(|word| word.strip_prefix("slow=")?.parse().ok()).unwrap_or(1.0)
}

/// The drivers of the list, each with the words after its name.
fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drivers/LIST")).lines();
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_once(' ').unwrap_or((line, "")))
}

/// A key that means the same for every driver: name, values, default, and what it does in one sentence.
type Key = (&'static str, &'static str, &'static str, &'static str);

/// The keys that a worker is built with, for a driver with an adapter of ours.
pub const BUILDER_KEYS: [Key; 5] = [
    (
        "CRATE",
        "X.Y.Z",
        "as in Cargo.lock",
        "Builds the worker with this version of a dependency, such as tokio=1.44.2.",
    ),
    ("allocator", "system|jemalloc|mimalloc", "system", "Builds the worker with this allocator."),
    ("layout", "N", "the compiler's", "Builds the worker with its functions in another order, which N chooses."),
    ("lto", "off|thin|fat", "off", "Builds the worker with link-time optimisation."),
    (
        "timer",
        "own|alternative",
        "own",
        "Builds the worker with tokio's unstable alternative timer, which `multi:N` has.",
    ),
];

/// The end of the name of a worker that plays tapes and sends nothing.
pub(crate) const WITHOUT_DRIVER: &str = "-noop";

/// The keys that the harness takes for every driver.
pub const COMMON_KEYS: [Key; 6] = [
    (
        "settings",
        "equal|default",
        "--settings",
        "Settings that are equal for all, or those of the driver's documentation.",
    ),
    ("connections", "N", "--connections", "Data connections to each node."),
    ("timeout", "none|TIME", "--request-timeout", "The driver's own time limit per statement."),
    ("page-size", "N", "5000, or less as the scenario says", "Rows per page."),
    ("tls", "on", "--tls", "Encrypts its connections; on the embedded cluster its own nodes speak TLS."),
    ("tape", "on", "as its worker needs", "Plays values and due rows from a file, instead of making them as it goes."),
];

/// Those of [`COMMON_KEYS`] that the driver can follow.
pub fn common_keys(driver: &DriverInfo) -> impl Iterator<Item = Key> {
    let needs = |name: &str| match name {
        "timeout" => Some(Capability::RequestTimeout),
        "tls" => Some(Capability::Tls),
        _ => None,
    };
    COMMON_KEYS.into_iter().filter(move |(name, ..)| needs(name).is_none_or(|one| driver.capabilities.contains(&one)))
}

impl FromStr for Contender {
    type Err = ContenderError;

    fn from_str(text: &str) -> Result<Contender, ContenderError> {
        let (head, options) = split(text);
        let (name, version) = head.split_once('@').map_or((head, None), |(name, version)| (name, Some(version)));
        let unreadable = |what: String| ContenderError::Unreadable(text.to_owned(), what);
        let wrong = |what: &str| Err(unreadable(what.to_owned()));
        if name.is_empty() {
            return wrong(
                "has no driver's name; write NAME[@VERSION][+KEY=VALUE], for example `scylla` or \
                 `cassandra-cpp+lib=/opt/lib/libcassandra.so.2`",
            );
        }
        if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
            return wrong(&format!(
                "names the driver {name:?}; a driver's name has lower-case letters, digits and hyphens, as `cqldyno drivers` lists \
                 them"
            ));
        }
        if version.is_some_and(str::is_empty) {
            return wrong("has an `@` and no version after it; leave the `@` out for the version that was built");
        }
        let version = version.map(str::parse).transpose().map_err(unreadable)?;
        let mut contender = Contender {
            order: Order { driver: name.to_owned(), version, ..Order::default() },
            own: Own::default(),
            options: BTreeMap::new(),
            written: BTreeMap::new(),
        };
        for option in options {
            let Some((key, value)) = option.split_once('=').filter(|(key, value)| is_key(key) && !value.is_empty())
            else {
                return wrong(&format!(
                    "has the option {option:?}; write +KEY=VALUE, for example `+lib=/opt/lib/libcassandra.so.2`"
                ));
            };
            if contender.written.insert(key.to_owned(), value.to_owned()).is_some() {
                return wrong(&format!("has the option `{key}` twice; give it once"));
            }
            contender.set(key, value).map_err(|takes| unreadable(format!("has {key}={value}; write {takes}")))?;
        }
        Ok(contender)
    }
}

/// What comes before the first `+` and the options after it. Because a path or an address may have a `+`, those of a version that has one
/// come after the first `+` that begins KEY=VALUE.
fn split(text: &str) -> (&str, Vec<&str>) {
    let has_place =
        text.split_once('@').is_some_and(|(_, version)| version.starts_with("path:") || version.starts_with("git:"));
    let begin = options_at(text);
    let first = if has_place { begin.first().copied() } else { text.find('+') };
    let Some(first) = first else { return (text, Vec::new()) };
    let begin: Vec<usize> = once(first).chain(begin.into_iter().filter(|at| *at > first)).collect();
    let ends = begin.iter().skip(1).copied().chain([text.len()]);
    (&text[..first], begin.iter().zip(ends).map(|(at, end)| &text[at + 1..end]).collect())
}

/// What is wrong with a key that neither the `driver`, which has the options `known`, nor the harness has.
fn unknown(key: &str, label: &str, driver: &DriverInfo, known: &[DriverOption]) -> String {
    let own: Vec<&str> = known.iter().map(|option| &*option.name).collect();
    let common: Vec<&str> = common_keys(driver).map(|(name, ..)| name).collect();
    let of_the_builder = BUILDER_KEYS.iter().map(|(name, ..)| name);
    let near = suggestion(key, own.iter().chain(&common).chain(of_the_builder).copied());
    let own = if own.is_empty() { "no option of its own".to_owned() } else { own.join(", ") };
    let common = common.join(", ");
    format!("has the key `{key}`, which {label} does not know.{near} It has {own}; the harness has {common}")
}

fn timeout(text: &str) -> Option<Option<u64>> {
    if text == "none" {
        return Some(None);
    }
    let time = duration(text).ok()?;
    u64::try_from(time.as_millis()).ok().filter(|ms| *ms > 0).map(Some)
}

impl fmt::Display for Contender {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())?;
        if let Some(version) = &self.order.version {
            write!(out, "@{version}")?;
        }
        self.written.iter().try_for_each(|(key, value)| write!(out, "+{key}={value}"))
    }
}

impl Contender {
    /// The driver's name: its worker is `cqldyno-driver-NAME`.
    pub fn name(&self) -> &str {
        &self.order.driver
    }

    /// Takes a key by what it means; an error says what it takes.
    fn set(&mut self, key: &str, value: &str) -> Result<(), &'static str> {
        let one_of = |known: &[&str]| known.contains(&value).then(|| value.to_owned());
        let is_on = || if value == "on" { Ok(true) } else { Err("on, or leave it out") };
        match key {
            "allocator" => self.order.allocator = Some(one_of(&ALLOCATORS).ok_or("system, jemalloc or mimalloc")?),
            "layout" => {
                let seed = value.parse().ok().filter(|seed| *seed > 0);
                self.order.layout = Some(seed.ok_or("a number from 1 on")?);
            }
            "lto" => self.order.lto = Some(one_of(&LTO).ok_or("off, thin or fat")?),
            "timer" => self.order.timer = Some(one_of(&TIMERS).ok_or("own or alternative")?),
            "settings" => {
                self.own.settings = Some(match value {
                    "equal" => Settings::Equal,
                    "default" => Settings::Default,
                    _ => return Err("equal or default"),
                });
            }
            "connections" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                self.own.connections = Some(number.ok_or("a number from 1 on")?);
            }
            "page-size" => {
                let number = value.parse().ok().filter(|number| (1..=i32::MAX.cast_unsigned()).contains(number));
                self.own.page_size = Some(number.ok_or("a number of rows from 1 to 2147483647")?);
            }
            "timeout" => self.own.timeout_ms = Some(timeout(value).ok_or("none, or a time of 1ms or more such as 5s")?),
            "tls" => self.own.tls = is_on()?,
            "tape" => self.own.tape = is_on()?,
            // A whole version is that of a dependency; anything else is the adapter's.
            _ if key != LIBRARY && semver::Version::parse(value).is_ok() => {
                self.order.pins.insert(key.to_owned(), value.to_owned());
            }
            _ => drop(self.options.insert(key.to_owned(), value.to_owned())),
        }
        Ok(())
    }

    /// Refuses keys that change nothing. `plan` has the settings if it names none itself.
    ///
    /// # Errors
    /// [`ContenderError::Unreadable`] if one of its keys is ignored with the driver's own settings.
    pub fn check(&self, plan: Settings) -> Result<(), ContenderError> {
        let Own { settings, connections, timeout_ms, page_size, tls: _, tape: _ } = self.own;
        let given = [
            ("connections", connections.is_some()),
            ("timeout", timeout_ms.is_some()),
            ("page-size", page_size.is_some()),
        ];
        let is_default = settings.unwrap_or(plan) == Settings::Default;
        let key = given.into_iter().find_map(|(key, is_given)| (is_given && is_default).then_some(key));
        key.map_or(Ok(()), |key| {
            Err(self.unfit(&format!(
                "has the key `{key}` and the settings `default`, with which a driver keeps its own; leave `{key}` out, or set \
                 settings=equal"
            )))
        })
    }

    /// Refuses what the `driver` of its worker does not have. Options are the worker's own to refuse if it does not list any.
    pub(crate) fn fits(&self, driver: &DriverInfo) -> Result<(), ContenderError> {
        let label = format!("{}@{}", self.name(), driver.version);
        if self.own.timeout_ms.flatten().is_some() && !driver.capabilities.contains(&Capability::RequestTimeout) {
            return Err(
                self.unfit(&format!("has a time limit per statement, and {label} cannot set one; leave `timeout` out"))
            );
        }
        if self.own.tls && !driver.capabilities.contains(&Capability::Tls) {
            return Err(self.unfit(&format!("has tls=on, and {label} has no TLS here; leave `tls` out")));
        }
        let Some(known) = &driver.options else { return Ok(()) };
        for (key, value) in &self.options {
            let Some(option) = known.iter().find(|option| option.name == *key) else {
                return Err(self.unfit(&unknown(key, &label, driver, known)));
            };
            if !option.takes(value) {
                let near = suggestion(value, option.values.split('|'));
                let taken = option.taken();
                return Err(self.unfit(&format!("has {key}={value}, and `{key}` of {label} takes {taken}.{near}")));
            }
        }
        Ok(())
    }

    /// Refuses keys that a worker is built with, for a driver whose worker cannot be built here.
    pub(crate) fn check_not_built(&self) -> Result<(), ContenderError> {
        let Order { pins, .. } = &self.order;
        let is_of_the_builder =
            |key: &&String| pins.contains_key(*key) || BUILDER_KEYS.iter().any(|(name, ..)| name == key);
        self.written.keys().find(is_of_the_builder).map_or(Ok(()), |key| {
            let name = self.name();
            Err(self.unfit(&format!(
                "has the key `{key}`, which is for workers that cargo builds, and {name} is none; leave `{key}` out"
            )))
        })
    }

    fn unfit(&self, what: &str) -> ContenderError {
        ContenderError::Unreadable(self.to_string(), what.to_owned())
    }

    /// What the contender is in a comparison.
    pub fn role(&self) -> Role {
        match self.name() {
            "floor" => Role::Floor,
            "noop" => Role::Noop,
            // A worker that plays tapes, without its driver.
            name if name.ends_with(WITHOUT_DRIVER) => Role::Noop,
            _ => Role::Driver,
        }
    }

    pub(crate) fn is_served_by(&self, hello: &Hello) -> bool {
        let Order { version, pins, allocator, lto, timer, layout, .. } = &self.order;
        let is_version = match version {
            None => true,
            Some(Version::Release(release)) => hello.driver.version == release.to_string(),
            Some(_) => false,
        };
        let is_plain = allocator.is_none() && lto.is_none() && timer.is_none() && layout.is_none();
        is_version && pins.is_empty() && is_plain
    }

    /// The folder in which the dynamic loader is to look first: that of `+lib=PATH`.
    ///
    /// # Errors
    /// [`ContenderError::NoLibrary`] when PATH leads nowhere.
    pub fn library_folder(&self) -> Result<Option<PathBuf>, ContenderError> {
        let Some(path) = self.options.get(LIBRARY) else { return Ok(None) };
        let absent = || ContenderError::NoLibrary(self.name().to_owned(), path.clone());
        let absolute = Path::new(path).canonicalize().map_err(|_| absent())?;
        if absolute.is_dir() {
            return Ok(Some(absolute));
        }
        // The loader looks for the library by name in the folder that was named, not in the one that a link leads to.
        let folder = Path::new(path).parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        folder.canonicalize().map(Some).map_err(|_| absent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Contender {
        text.parse().unwrap()
    }

    fn error(text: &str) -> String {
        text.parse::<Contender>().unwrap_err().to_string()
    }

    #[test]
    fn a_comparison_without_names_has_the_drivers_of_the_published_table() {
        assert_eq!(*COMPARED, ["scylla", "cdrs-tokio", "cassandra-cpp", "floor", "noop"]);
        assert!(COMPARED.iter().all(|name| KNOWN.contains(name)) && KNOWN.contains(&"gocql"));
    }

    #[test]
    fn name_version_and_options_are_read_and_printed_again() {
        for text in [
            "scylla",
            "scylla@1.9.0",
            "scylla@0.5",
            "scylla@newest+allocator=jemalloc+lto=fat+metadata=cached+tokio=1.44.2",
            "scylla@path:/x+y/z@1+timeout=none",
            "scylla@git:ssh://git@x.org/y.git#main+connections=4+settings=default+timeout=30s",
            "cassandra-cpp@3.0.2+lib=/opt/c++/x@1/libcassandra.so.2",
            "a+b=1+c=2",
        ] {
            assert_eq!(parse(text).to_string(), text);
        }
        let contender = parse("cassandra-cpp@3.0.2+lib=/opt/c++/x@1/libcassandra.so.2");
        assert_eq!(contender.name(), "cassandra-cpp");
        assert_eq!(contender.order.version, Some("3.0.2".parse().unwrap()));
        assert_eq!(contender.options["lib"], "/opt/c++/x@1/libcassandra.so.2");
    }

    #[test]
    fn keys_are_the_builders_the_harness_or_the_adapters() {
        let found = parse(
            "scylla+tokio=1.44.2+lto=thin+allocator=mimalloc+settings=default+connections=2+timeout=5s+page-size=70+tls=on+tape=on+io-threads=2",
        );
        assert_eq!(found.order.pins, BTreeMap::from([("tokio".to_owned(), "1.44.2".to_owned())]));
        assert_eq!((found.order.lto.as_deref(), found.order.allocator.as_deref()), (Some("thin"), Some("mimalloc")));
        let own = Own {
            settings: Some(Settings::Default),
            connections: Some(2),
            timeout_ms: Some(Some(5_000)),
            page_size: Some(70),
            tls: true,
            tape: true,
        };
        assert_eq!(found.own, own);
        assert_eq!(found.options, BTreeMap::from([("io-threads".to_owned(), "2".to_owned())]));
        assert_eq!(parse("scylla+timeout=none").own.timeout_ms, Some(None));
        assert_eq!(parse("cassandra-cpp+lib=2.16.2").order.pins.len(), 0, "a folder may be named after a version");
    }

    #[test]
    fn a_worker_that_is_there_serves_its_own_version_without_keys_of_the_builder() {
        let hello: Hello = serde_json::from_str(
            r#"{"protocol":3,"driver":{"name":"a","version":"1.9.0","libraries":[],"capabilities":[],"caveats":[]},"settings":[],
            "build":{"id":"","compiler":"","profile":""}}"#,
        )
        .unwrap();
        for text in ["a", "a@1.9.0", "a+form=ready+connections=2"] {
            assert!(parse(text).is_served_by(&hello), "{text}");
        }
        for text in [
            "a@1.8.0",
            "a@1.9",
            "a@newest",
            "a@path:x",
            "a+tokio=1.44.2",
            "a@1.9.0+lto=fat",
            "a+layout=1",
            "a+allocator=system",
            "a+timer=own",
        ] {
            assert!(!parse(text).is_served_by(&hello), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_what_to_write() {
        assert!(error("").contains("has no driver's name; write NAME[@VERSION][+KEY=VALUE]"));
        assert!(error("@1").contains("has no driver's name"));
        assert!(error("Scylla").contains("names the driver \"Scylla\"; a driver's name has lower-case letters"));
        assert!(error("../x").contains("\"../x\""));
        assert!(error("scylla@").contains("no version after it"));
        assert!(error("scylla+fast").contains("has the option \"fast\"; write +KEY=VALUE"));
        assert!(error("scylla+lib=").contains("has the option \"lib=\""));
        assert!(error("a+lib=1+lib=2").contains("has the option `lib` twice"));
        assert!(error("scylla@fast").contains("has the version \"fast\"; write a release such as 1.9.0"));
        assert!(error("scylla+allocator=none").ends_with("has allocator=none; write system, jemalloc or mimalloc"));
        assert!(error("scylla+lto=on").ends_with("has lto=on; write off, thin or fat"));
        assert!(error("scylla+timer=fast").ends_with("has timer=fast; write own or alternative"));
        assert!(error("scylla+layout=0").ends_with("has layout=0; write a number from 1 on"));
        assert!(error("scylla+settings=fast").ends_with("write equal or default"));
        assert!(error("scylla+connections=0").ends_with("write a number from 1 on"));
        assert!(error("scylla+timeout=0s").ends_with("write none, or a time of 1ms or more such as 5s"));
        for size in ["0", "many", "3000000000"] {
            let error = error(&format!("scylla+page-size={size}"));
            assert!(error.ends_with("write a number of rows from 1 to 2147483647"), "{error}");
        }
    }

    /// Why a worker of the release 1.9.0 with these capabilities and options is not the one that is meant.
    fn unfit(text: &str, capabilities: &[Capability], options: Option<Vec<DriverOption>>) -> Option<String> {
        let version = "1.9.0".to_owned();
        let capabilities = capabilities.iter().copied().collect();
        let driver = DriverInfo { version, capabilities, options, ..DriverInfo::default() };
        parse(text).fits(&driver).err().map(|error| error.to_string())
    }

    #[test]
    fn an_option_or_a_value_that_the_worker_does_not_list_is_refused_with_those_there_are_and_the_nearest() {
        let known = || {
            let routing = DriverOption::new("routing", "token-aware|round-robin", "token-aware", "Whom it asks.");
            let refresh = DriverOption::new("refresh", "off|SECONDS", "60", "How often it asks.");
            Some(vec![routing, refresh, DriverOption::new("lib", "PATH", "its own", "The library.")])
        };
        for text in ["a", "a+routing=round-robin+lib=x+connections=2", "a+refresh=60+refresh2=1.0.0", "a+refresh=off"] {
            assert_eq!(unfit(text, &[], known()), None, "{text}");
        }
        assert_eq!(
            unfit("a@1.9.0+conections=2", &[], known()).unwrap(),
            "the contender \"a@1.9.0+conections=2\" has the key `conections`, which a@1.9.0 does not know. Did you mean `connections`? \
             It has routing, refresh, lib; the harness has settings, connections, page-size, tape"
        );
        assert!(unfit("a+alocator=jemalloc", &[], known()).unwrap().contains("Did you mean `allocator`?"));
        let far = unfit("a+clock=alternative", &[], Some(Vec::new())).unwrap();
        assert!(far.contains("does not know. It has no option of its own; the harness has settings"), "{far}");
        assert_eq!(
            unfit("a+routing=round-robbin", &[], known()).unwrap(),
            "the contender \"a+routing=round-robbin\" has routing=round-robbin, and `routing` of a@1.9.0 takes token-aware|round-robin. \
             Did you mean `round-robin`?"
        );
        for value in ["often", "0", "-1", "1.5"] {
            let error = unfit(&format!("a+refresh={value}"), &[], known()).unwrap();
            assert!(error.ends_with("takes off|SECONDS; SECONDS is a whole number from 1 on."), "{error}");
        }
        assert_eq!(unfit("a+anything=goes", &[], None), None, "a worker that lists no options refuses by itself");
    }

    #[test]
    fn a_time_limit_is_refused_for_a_driver_that_has_none() {
        assert_eq!(unfit("a+timeout=30s", &[Capability::RequestTimeout], None), None);
        assert_eq!(unfit("a+timeout=none", &[], None), None);
        assert_eq!(
            unfit("a+timeout=30s", &[], None).unwrap(),
            "the contender \"a+timeout=30s\" has a time limit per statement, and a@1.9.0 cannot set one; leave `timeout` out"
        );
    }

    #[test]
    fn keys_that_change_nothing_with_the_drivers_own_settings_are_refused() {
        for (text, key) in [
            ("a+page-size=9+settings=default", "page-size"),
            ("a+connections=2+settings=default", "connections"),
            ("a+timeout=none+settings=default", "timeout"),
        ] {
            let error = parse(text).check(Settings::Equal).unwrap_err().to_string();
            let expected = format!("has the key `{key}` and the settings `default`, with which a driver keeps its own");
            assert!(error.contains(&expected) && error.ends_with("or set settings=equal"), "{error}");
        }
        assert!(parse("a+connections=2").check(Settings::Default).is_err());
        for text in ["a+connections=2", "a+settings=default+routing=round-robin"] {
            assert_eq!(parse(text).check(Settings::Equal), Ok(()));
        }
        assert_eq!(parse("a+connections=2+settings=equal").check(Settings::Default), Ok(()));
    }

    #[test]
    fn keys_of_the_builder_are_refused_where_nothing_can_be_built() {
        for (text, key) in [
            ("a+lto=fat", "lto"),
            ("a+allocator=system", "allocator"),
            ("a+layout=2", "layout"),
            ("a+timer=alternative", "timer"),
            ("a+tokio=1.44.2", "tokio"),
        ] {
            let error = parse(text).check_not_built().unwrap_err().to_string();
            let expected = format!("has the key `{key}`, which is for workers that cargo builds, and a is none; ");
            assert!(error.contains(&expected) && error.ends_with(&format!("leave `{key}` out")), "{error}");
        }
        assert_eq!(parse("a@1.9.0+connections=2+form=ready").check_not_built(), Ok(()));
    }

    #[test]
    fn a_contenders_own_page_size_goes_before_that_of_the_scenario() {
        let plan = crate::plan::plan(&["floor"], &["rows", "reads"]);
        let of = |text: &str, at: usize| parse(text).own.page_size(&plan, &plan.scenarios[at]);
        assert_eq!([of("a", 0), of("a", 1)], [Some(30), Some(5_000)]);
        assert_eq!([of("a+page-size=70", 0), of("a+page-size=9", 1)], [Some(70), Some(9)]);
        assert_eq!(of("a+page-size=70+settings=default", 0), None, "the driver's own");
    }

    #[test]
    fn a_library_that_is_not_there_is_refused_and_one_that_is_gives_its_folder() {
        assert_eq!(parse("scylla").library_folder(), Ok(None));
        let error = parse("cassandra-cpp+lib=/nowhere/libcassandra.so.2").library_folder().unwrap_err().to_string();
        assert!(error.contains("/nowhere/libcassandra.so.2") && error.contains("no such file"), "{error}");
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("libcassandra.so.2");
        std::fs::write(&file, "").unwrap();
        let folder = dir.path().canonicalize().unwrap();
        assert_eq!(parse(&format!("cassandra-cpp+lib={}", file.display())).library_folder(), Ok(Some(folder.clone())));
        assert_eq!(parse(&format!("cassandra-cpp+lib={}", folder.display())).library_folder(), Ok(Some(folder)));
    }
}
