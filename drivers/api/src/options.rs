//! How an adapter connects: the settings that are equal for all contenders.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The consistency level of a statement (native_protocol_v4.spec section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Consistency {
    /// One replica.
    One,
    /// Two replicas.
    Two,
    /// Three replicas.
    Three,
    /// A majority of all replicas.
    Quorum,
    /// All replicas.
    All,
    /// A majority of the replicas of the coordinator's data centre.
    LocalQuorum,
    /// A majority in every data centre.
    EachQuorum,
    /// One replica of the coordinator's data centre: the setting of every comparison unless told otherwise.
    #[default]
    LocalOne,
}

/// Whether a driver runs with the settings that are equal for all, or as its documentation's first example would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settings {
    /// Protocol v4, the given consistency and page size, no compression, no retries, no speculative execution,
    /// token-aware routing, the given number of data connections a node.
    #[default]
    Equal,
    /// Address, user and password only; everything else is the driver's default.
    Default,
}

/// User and password. `Debug` shows neither.
#[derive(Clone, PartialEq, Eq)]
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

/// What an adapter is told before it connects.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Addresses of the cluster's nodes, at least one.
    pub contact_points: Vec<SocketAddr>,
    /// User and password, if the cluster asks for them.
    pub credentials: Option<Credentials>,
    /// Data connections to each node, at least 1; control connections come on top.
    pub connections: usize,
    /// Consistency of every statement.
    pub consistency: Consistency,
    /// Rows a page.
    pub page_size: i32,
    /// The client's own time limit for a statement; `None` is no limit. A driver that has none declares it
    /// ([`crate::Capability::RequestTimeout`]).
    pub request_timeout: Option<Duration>,
    /// Equal settings or the driver's own.
    pub settings: Settings,
    /// Options of the contender (`NAME+KEY=VALUE`); an adapter refuses those that it does not know.
    pub options: BTreeMap<String, String>,
}

impl ConnectOptions {
    /// Equal settings for `contact_points`: one data connection a node, LOCAL_ONE, pages of 5,000 rows, a limit of
    /// 30 seconds a statement, no credentials.
    pub fn new(contact_points: Vec<SocketAddr>) -> ConnectOptions {
        ConnectOptions {
            contact_points,
            credentials: None,
            connections: 1,
            consistency: Consistency::LocalOne,
            page_size: 5_000,
            request_timeout: Some(Duration::from_secs(30)),
            settings: Settings::Equal,
            options: BTreeMap::new(),
        }
    }
}
