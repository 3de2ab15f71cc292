//! What a driver says of itself.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{ConnectOptions, Settings};

/// What a driver can do beyond preparing and executing. The behaviour suite checks that it can what it declares, and nothing
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// Has a time limit per statement of its own.
    RequestTimeout,
    /// Reads a result page by page.
    Paging,
    /// Prepares again by itself when the server no longer knows the prepared id.
    Reprepare,
    /// Reconnects by itself when a server that was gone is back.
    Reconnect,
    /// Goes on when only its control connection breaks.
    ControlConnection,
    /// Notices that the server closed a connection: what is in flight there fails, and a control connection is opened again.
    NoticesClose,
    /// Closes the connections of a session that is closed or dropped.
    ClosesSessions,
    /// Logs in with user and password.
    Credentials,
    /// Encrypts its connections, verifies the nodes' certificates, and shows one of its own.
    Tls,
    /// Sends nothing, so that no cluster is needed: noop, and a worker that plays tapes under a name that ends in `-noop`.
    Offline,
    /// Sends several rows of a prepared statement as one BATCH, unlogged or logged.
    Batch,
    /// Takes values with a statement that was not prepared.
    Unprepared,
    /// Preparing is asking the server, each time.
    Prepare,
    /// A session can be made, used and closed again and again in one process.
    Connect,
}

impl Capability {
    /// What a driver of a cluster can that lacks only these and TLS, which an adapter adds that has it.
    pub fn all_but(lacks: &[Capability]) -> BTreeSet<Capability> {
        let all = [
            Capability::RequestTimeout,
            Capability::Paging,
            Capability::Reprepare,
            Capability::Reconnect,
            Capability::ControlConnection,
            Capability::NoticesClose,
            Capability::ClosesSessions,
            Capability::Credentials,
            Capability::Batch,
            Capability::Unprepared,
            Capability::Prepare,
            Capability::Connect,
        ];
        all.into_iter().filter(|capability| !lacks.contains(capability)).collect()
    }
}

/// The types beyond bigint, int, double, boolean, timestamp, uuid, text, ascii and blob, for an adapter that has none of them
/// ([`DriverInfo::lacks_types`]).
pub const LATER_TYPES: [&str; 17] = [
    "tinyint", "smallint", "float", "varint", "decimal", "date", "time", "timeuuid", "inet", "duration", "counter",
    "list", "set", "map", "tuple", "udt", "vector",
];

/// A library in the worker, read from the build or the running process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Library {
    /// Its name, for example `tokio` or `libcassandra`.
    pub name: String,
    /// Its exact version.
    pub version: String,
    /// Where it came from if not from the lock file, for example the path of a shared object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// One of the equal settings, and what the driver made of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// Its name, one of those in [`Setting::equal`].
    pub name: String,
    /// What the driver runs with.
    pub value: String,
    /// Whether that is what was asked; `false` is a caveat of the row.
    pub as_asked: bool,
}

impl Setting {
    /// The eleven settings as a driver runs with them that takes all of `options`; each of `own` replaces the one of its name.
    pub fn equal(options: &ConnectOptions, own: impl IntoIterator<Item = Setting>) -> Vec<Setting> {
        let limit = options.request_timeout.map_or("none".to_owned(), |limit| format!("{limit:?}"));
        let routing = match &options.datacenter {
            None => "token-aware".to_owned(),
            Some(datacenter) => format!("token-aware in {datacenter}"),
        };
        let mut settings = vec![
            Setting::taken("protocol version", "v4"),
            Setting::taken("consistency", options.consistency),
            Setting::taken("compression", "none"),
            Setting::taken("retries", "none"),
            Setting::taken("speculative execution", "none"),
            Setting::taken("routing", routing),
            Setting::taken("connections", format_args!("{} per node", options.connections)),
            Setting::taken("page size", options.page_size),
            Setting::taken("request timeout", limit),
            Setting::taken("timestamps", "server"),
            Setting::taken("serial consistency", "none"),
        ];
        for own in own {
            if let Some(setting) = settings.iter_mut().find(|setting| setting.name == own.name) {
                *setting = own;
            }
        }
        settings
    }

    /// A setting that the driver took as asked.
    pub fn taken(name: &str, value: impl ToString) -> Setting {
        Setting { name: name.to_owned(), value: value.to_string(), as_asked: true }
    }

    /// A setting that the driver cannot take; `value` says what it does instead.
    pub fn refused(name: &str, value: impl ToString) -> Setting {
        Setting { name: name.to_owned(), value: value.to_string(), as_asked: false }
    }
}

/// An option of a contender, written `NAME+KEY=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverOption {
    /// Its key.
    pub name: Cow<'static, str>,
    /// What it takes, divided by `|`: a value in lower case, or a word in capitals for any value of that kind, such as `PATH`. Some
    /// kinds are whole numbers from 1 on: `COUNT`, `BYTES`, `SECONDS`, `MICROSECONDS`, `PERCENT`.
    pub values: Cow<'static, str>,
    /// What holds if it is not set.
    pub default: Cow<'static, str>,
    /// What it does, in one sentence.
    pub about: Cow<'static, str>,
    /// A value to try where its values are a kind, such as `65536` for `BYTES`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<Cow<'static, str>>,
}

impl DriverOption {
    /// An option as an adapter declares it.
    pub const fn new(
        name: &'static str,
        values: &'static str,
        default: &'static str,
        about: &'static str,
    ) -> DriverOption {
        DriverOption {
            name: Cow::Borrowed(name),
            values: Cow::Borrowed(values),
            default: Cow::Borrowed(default),
            about: Cow::Borrowed(about),
            tried: None,
        }
    }

    /// An option whose values are a kind, with a value that the price list tries.
    pub const fn tried(
        name: &'static str,
        values: &'static str,
        default: &'static str,
        about: &'static str,
        tried: &'static str,
    ) -> DriverOption {
        DriverOption {
            name: Cow::Borrowed(name),
            values: Cow::Borrowed(values),
            default: Cow::Borrowed(default),
            about: Cow::Borrowed(about),
            tried: Some(Cow::Borrowed(tried)),
        }
    }

    /// Whether `value` is one of its values. The adapter reads a value of any kind that is no number.
    pub fn takes(&self, value: &str) -> bool {
        self.values.split('|').any(|known| match known {
            kind if NUMBERS.contains(&kind) => value.parse::<u64>().is_ok_and(|number| number > 0),
            kind if kind.starts_with(|c: char| c.is_ascii_uppercase()) => true,
            word => word == value,
        })
    }

    /// Its values, and what a number is.
    pub fn taken(&self) -> String {
        match self.values.split('|').find(|kind| NUMBERS.contains(kind)) {
            Some(kind) => format!("{}; {kind} is a whole number from 1 on", self.values),
            None => self.values.to_string(),
        }
    }
}

/// The kinds of values that are whole numbers from 1 on.
const NUMBERS: [&str; 5] = ["COUNT", "BYTES", "SECONDS", "MICROSECONDS", "PERCENT"];

/// What a driver says of itself, in `hello` and in every result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DriverInfo {
    /// The driver's name: `scylla`, `cdrs-tokio`, `cassandra-cpp`.
    pub name: String,
    /// The driver's exact version, from the lock file of the build.
    pub version: String,
    /// What distinguishes this contender beyond name and version: the part after `+` in its label, such as `lib=scylla-2.16.2`.
    /// Empty for most.
    #[serde(default)]
    pub variant: String,
    /// The libraries that shape the figure: the async runtime, a native library, a TLS stack.
    pub libraries: Vec<Library>,
    /// What it can do.
    pub capabilities: BTreeSet<Capability>,
    /// CQL types that it cannot bind or cannot decode, by name; a user-defined type is `udt`. A scenario that has one is not asked of
    /// it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub lacks_types: BTreeSet<Cow<'static, str>>,
    /// Full sentences for the row: what favours or hinders the driver here.
    pub caveats: Vec<String>,
    /// The options that a contender of this driver can set. With them others are refused before a run; `None` leaves that to the worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<DriverOption>>,
    /// The most statements that it can have in flight, per settings. Absent if only stream ids limit them, or if more just wait.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub most_in_flight: BTreeMap<Settings, usize>,
    /// The most statements in flight on one connection, of a driver that blocks. If fewer than are asked for result, its row has
    /// this concurrency of its own, and no verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_per_connection: Option<usize>,
    /// The requests that the driver's bounded channel to a connection takes by default; further ones wait for room and do not fail.
    /// Absent if it has none, or if nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_per_connection: Option<usize>,
    /// The option of the worker that gives this channel another size, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_option: Option<String>,
}

impl DriverInfo {
    /// The contender's label: `NAME@VERSION`, with `+VARIANT` where there is one.
    pub fn label(&self) -> String {
        match self.variant.as_str() {
            "" => format!("{}@{}", self.name, self.version),
            variant => format!("{}@{}+{variant}", self.name, self.version),
        }
    }
}
