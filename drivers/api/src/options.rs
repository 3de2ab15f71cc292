//! How an adapter connects: the settings that are equal for all contenders.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{DriverError, DriverOption, ErrorKind};

crate::words! {
    /// The consistency level of a statement (native_protocol_v4.spec section 3).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum Consistency {
        /// One replica.
        One = "ONE",
        /// Two replicas.
        Two = "TWO",
        /// Three replicas.
        Three = "THREE",
        /// A majority of all replicas.
        Quorum = "QUORUM",
        /// All replicas.
        All = "ALL",
        /// A majority of the replicas of the coordinator's data centre.
        LocalQuorum = "LOCAL_QUORUM",
        /// A majority in every data centre.
        EachQuorum = "EACH_QUORUM",
        /// One replica of the coordinator's data centre; the default of every comparison.
        #[default]
        LocalOne = "LOCAL_ONE",
    }
}

/// Whether a driver runs with equal settings, or as its documentation's first example would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Settings {
    /// What every driver can do is set the same for all. What one cannot do, all go without where they can. What still differs is
    /// the driver's own default, a caveat, and an option with a price (harness/METHOD.md).
    #[default]
    Equal,
    /// Address, user and password only; everything else is the driver's default.
    Default,
}

/// User and password. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "JobCredentials"))]
pub struct Credentials {
    /// The role to log in as.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Credentials(..)")
    }
}

/// TLS to every node, by PEM files with absolute paths. Nodes are reached by address, so that is what a certificate is compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tls {
    /// The certificates that sign the nodes' ones. Absent if a node's certificate and address are not verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
    /// What the client shows, if the cluster asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientCertificate>,
}

/// The client's own certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientCertificate {
    /// The certificate, and those between it and its CA.
    pub certificate: PathBuf,
    /// Its private key, without a passphrase.
    pub key: PathBuf,
}

/// How an adapter is to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Addresses of the cluster's nodes, at least one.
    pub contact_points: Vec<SocketAddr>,
    /// User and password, if the cluster asks for them.
    pub credentials: Option<Credentials>,
    /// TLS, if the cluster asks for it.
    pub tls: Option<Tls>,
    /// The datacenter whose nodes get the statements, with equal settings; `None` for all nodes.
    pub datacenter: Option<String>,
    /// Data connections to each node, at least 1; control connections come on top.
    pub connections: usize,
    /// The most statements in flight, for a driver that has to make room for them.
    pub in_flight: usize,
    /// Consistency of every statement.
    pub consistency: Consistency,
    /// Rows a page.
    pub page_size: i32,
    /// The client's own time limit per statement; `None` for no limit. A driver that has one declares it
    /// ([`crate::Capability::RequestTimeout`]).
    pub request_timeout: Option<Duration>,
    /// Equal settings or the driver's own.
    pub settings: Settings,
    /// Options of the contender (`NAME+KEY=VALUE`); an adapter refuses those that it does not know.
    pub options: BTreeMap<String, String>,
}

impl ConnectOptions {
    /// Equal settings for `contact_points`: one data connection per node, 1,024 statements in flight, LOCAL_ONE, pages of 5,000 rows,
    /// no time limit per statement, no credentials, no TLS, nodes of all datacenters.
    pub fn new(contact_points: Vec<SocketAddr>) -> ConnectOptions {
        ConnectOptions {
            contact_points,
            credentials: None,
            tls: None,
            datacenter: None,
            connections: 1,
            in_flight: 1_024,
            consistency: Consistency::LocalOne,
            page_size: 5_000,
            request_timeout: None,
            settings: Settings::Equal,
            options: BTreeMap::new(),
        }
    }

    /// Refuses options of the contender that are not among `known`, values that theirs do not include, and no connections; every
    /// adapter calls this before it connects.
    ///
    /// # Errors
    /// [`ErrorKind::Other`], naming the driver, the option and what there is instead.
    pub fn check(&self, driver: &str, known: &[DriverOption]) -> Result<(), DriverError> {
        let refused = |message: String| Err(DriverError::new(ErrorKind::Other, message));
        if self.connections == 0 {
            return refused("0 connections per node were asked for; ask for at least 1".to_owned());
        }
        for (key, value) in &self.options {
            let Some(option) = known.iter().find(|option| option.name == *key) else {
                if known.is_empty() {
                    return refused(format!(
                        "{driver} has no option `{key}`: it has none at all; leave it out of the contender's name"
                    ));
                }
                let names: Vec<&str> = known.iter().map(|option| &*option.name).collect();
                return refused(format!("{driver} has no option `{key}`: it has {}", names.join(", ")));
            };
            if !option.takes(value) {
                return refused(format!("{driver}'s option `{key}` was set to {value:?}; it takes {}", option.taken()));
            }
        }
        Ok(())
    }

    /// The value of the contender's option `name`, if it is set.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// The value of the contender's option `name` as a whole number of at least 1, if it is set.
    ///
    /// # Errors
    /// [`ErrorKind::Other`], naming the driver, the option and the value.
    pub fn number(&self, driver: &str, name: &str) -> Result<Option<u32>, DriverError> {
        let Some(value) = self.option(name) else { return Ok(None) };
        match value.parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(DriverError::new(
                ErrorKind::Other,
                format!(
                    "{driver}'s option `{name}` was set to {value:?}; it takes a whole number from 1 to {}",
                    u32::MAX
                ),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_and_an_unknown_value_are_refused_by_name() {
        let lib = DriverOption::new("lib", "PATH", "the one it was linked with", "The shared library.");
        let form = DriverOption::new("form", "queue|ready", "queue", "How a statement ends.");
        let mut options = ConnectOptions::new(vec![SocketAddr::from(([127, 0, 0, 1], 9042))]);
        assert_eq!(options.check("scylla", &[]), Ok(()));
        options.options.insert("lib".to_owned(), "/tmp/x.so".to_owned());
        assert_eq!(options.check("cassandra-cpp", std::slice::from_ref(&lib)), Ok(()));
        assert_eq!(options.option("lib"), Some("/tmp/x.so"));
        let error = options.check("scylla", &[]).unwrap_err();
        assert!(error.message().contains("`lib`") && error.message().contains("scylla"), "{error}");
        let error = options.check("floor", std::slice::from_ref(&form)).unwrap_err();
        assert!(error.message().contains("`lib`: it has form"), "{error}");
        options.options.insert("form".to_owned(), "ready".to_owned());
        assert_eq!(options.check("noop", &[lib.clone(), form.clone()]), Ok(()));
        let wait = DriverOption::new("form", "off|MICROSECONDS", "off", "How long it waits.");
        let error = options.check("noop", &[lib.clone(), wait.clone()]).unwrap_err();
        assert!(
            error.message().ends_with("it takes off|MICROSECONDS; MICROSECONDS is a whole number from 1 on"),
            "{error}"
        );
        assert!(["off", "1", "250"].iter().all(|value| wait.takes(value)) && !wait.takes("0") && !wait.takes("-1"));
        options.options.insert("form".to_owned(), "later".to_owned());
        let error = options.check("noop", &[lib, form]).unwrap_err();
        assert!(
            error.message().ends_with("noop's option `form` was set to \"later\"; it takes queue|ready"),
            "{error}"
        );
    }

    #[test]
    fn a_number_that_is_none_is_refused_with_what_there_could_be() {
        let mut options = ConnectOptions::new(vec![SocketAddr::from(([127, 0, 0, 1], 9042))]);
        assert_eq!(options.number("floor", "buffer"), Ok(None));
        for (value, number) in [("1", Some(1)), ("8192", Some(8_192)), ("0", None), ("many", None), ("-1", None)] {
            options.options.insert("buffer".to_owned(), value.to_owned());
            match options.number("floor", "buffer") {
                Ok(found) => assert_eq!(found, number),
                Err(error) => {
                    assert_eq!(number, None, "{error}");
                    let expected =
                        format!("floor's option `buffer` was set to {value:?}; it takes a whole number from 1");
                    assert!(error.message().starts_with(&expected), "{error}");
                }
            }
        }
    }

    #[test]
    fn neither_user_nor_password_appears_in_a_debug_print() {
        let mut options = ConnectOptions::new(vec![SocketAddr::from(([127, 0, 0, 1], 9042))]);
        options.credentials = Some(Credentials { user: "ada".to_owned(), password: "secret".to_owned() });
        let print = format!("{options:?}");
        assert!(!print.contains("ada") && !print.contains("secret"), "{print}");
    }
}
