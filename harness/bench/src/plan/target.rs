//! The cluster that answers: the embedded one, a Cassandra or PostgreSQL of ours, or addresses of an existing one.

use std::fmt;
use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::thread;
use std::time::Duration;

use cqldyno_builder::{BuildError, cache};
use cqldyno_cassandra::{CassandraError, Order};
use cqldyno_driver_api::Tls;
use cqldyno_postgres::PostgresError;
use cqldyno_protocol::Credentials;
use cqldyno_reports::TlsInfo;

/// The environment variable that holds a password; no child inherits it.
pub const PASSWORD_VARIABLE: &str = "CQLDYNO_PASSWORD";

/// The port of the CQL binary protocol.
const DEFAULT_PORT: u16 = 9042;
/// What files in UTF-8 and UTF-16 may begin with (Unicode 16.0, section 23.8).
const BYTE_ORDER_MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
/// How long a node may take to accept a connection before a run.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node of ours, in memory, started afresh for each cell.
    Embedded,
    /// A real one that is started for the run, on this machine and on the same cores.
    Cassandra(Order),
    /// A PostgreSQL that is started for the run, on this machine and on the same cores.
    Postgres(cqldyno_postgres::Order),
    /// An existing cluster.
    Addresses {
        /// As it was written.
        text: String,
        /// One address a node.
        nodes: Vec<SocketAddr>,
    },
}

/// A target or credentials that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// A part that is no address, and what the system said.
    #[error(
        "the target {0:?} was asked for and is no address ({1}); write `embedded`, `cassandra`, `postgres` or HOST[:PORT][,HOST[:PORT]]..."
    )]
    NotAnAddress(String, String),
    #[error(
        "the user {0:?} was given without a password; set the environment variable {PASSWORD_VARIABLE} or name a file with \
         --password-file"
    )]
    NoPassword(String),
    #[error("the password of the user {0:?} is empty; a password needs at least one character")]
    EmptyPassword(String),
    #[error("the password file {0} cannot be read: {1}; it holds the password in its first line")]
    PasswordFile(String, io::Error),
    /// A password with a mark of its encoding, and where it comes from.
    #[error(
        "{0} begins with a byte order mark (BOM), which would be a part of the password; save the password as UTF-8 without BOM"
    )]
    ByteOrderMark(String),
    #[error("a password file was given without a user; name the user with --user")]
    NoUser,
    /// A target with addresses that accept no connection, each with what the system said.
    #[error(
        "the target {0} was asked for, and nothing accepts a connection at {1}; start the cluster there, or name in a new run only \
         addresses and ports at which its nodes listen for CQL"
    )]
    NobodyListens(String, String),
    #[error(transparent)]
    Cassandra(#[from] CassandraError),
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    #[error(transparent)]
    Cache(#[from] BuildError),
    /// A Cassandra that cannot be warmed up, and why.
    #[error("Apache Cassandra was started and could not be warmed up: {0}")]
    WarmUp(String),
    #[error("{0}")]
    Refused(String),
    /// The cluster answered before, and no longer does, as the clause says.
    #[error("the target {0} no longer answers, so the run ended: {1}")]
    Gone(String, String),
    /// A target on which nothing can be made, and why.
    #[error("the target {0} was asked for, and floor, which makes keyspaces and loads rows, cannot use it: {1}")]
    Unusable(String, String),
}

/// What it takes to be let in to an existing cluster; it is in no result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// User and password, if the cluster asks for them.
    pub credentials: Option<Credentials>,
    /// TLS, if the cluster asks for it.
    pub tls: Option<Tls>,
}

impl Access {
    /// What results say of it.
    pub(crate) fn tls_info(&self) -> Option<TlsInfo> {
        let info = |tls: &Tls| TlsInfo { verified: tls.ca.is_some(), client_certificate: tls.client.is_some() };
        self.tls.as_ref().map(info)
    }
}

impl Target {
    /// Reads `embedded`, `cassandra[:VERSION][,KEY=VALUE]...`, `postgres[,KEY=VALUE]` or `HOST[:PORT][,HOST[:PORT]]...`; names are looked up.
    ///
    /// # Errors
    /// When a part is no address or has none, or the server has no such option.
    pub fn parse(text: &str) -> Result<Target, TargetError> {
        if text == "embedded" {
            return Ok(Target::Embedded);
        }
        if let Some(order) = Order::parse(text) {
            return Ok(Target::Cassandra(order?));
        }
        if let Some(order) = cqldyno_postgres::Order::parse(text) {
            return Ok(Target::Postgres(order?));
        }
        let nodes = text.split(',').map(|part| address(part.trim())).collect::<Result<Vec<SocketAddr>, _>>()?;
        Ok(Target::Addresses { text: text.to_owned(), nodes })
    }

    /// Checks that the target can be used: nodes accept connections within five seconds, or this machine has the programs to start it.
    ///
    /// # Errors
    /// When one does not, or something is missing.
    pub(crate) fn check(&self) -> Result<(), TargetError> {
        match self {
            Target::Embedded => Ok(()),
            Target::Cassandra(order) => Ok(cqldyno_cassandra::check(order, &cache()?)?),
            Target::Postgres(_) => Ok(cqldyno_postgres::check()?),
            Target::Addresses { text, nodes } => match silent(nodes).as_slice() {
                [] => Ok(()),
                silent => Err(TargetError::NobodyListens(text.clone(), silent.join(" and "))),
            },
        }
    }

    /// Whether the server is ours, and tells what it did.
    pub fn is_embedded(&self) -> bool {
        *self == Target::Embedded
    }

    /// How many nodes it has.
    pub(crate) fn nodes(&self) -> usize {
        match self {
            Target::Embedded | Target::Postgres(_) => 1,
            Target::Cassandra(order) => order.nodes.into(),
            Target::Addresses { nodes, .. } => nodes.len(),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Embedded => out.write_str("embedded"),
            Target::Cassandra(order) => order.fmt(out),
            Target::Postgres(order) => order.fmt(out),
            Target::Addresses { text, .. } => out.write_str(text),
        }
    }
}

/// Those of `nodes` that accept no connection within [`PATIENCE`], each with what the system said.
pub(crate) fn silent(nodes: &[SocketAddr]) -> Vec<String> {
    thread::scope(|scope| {
        let connect = |node| scope.spawn(move || TcpStream::connect_timeout(node, PATIENCE).err());
        let tries: Vec<_> = nodes.iter().map(|node| (node, connect(node))).collect();
        let failed = tries.into_iter().filter_map(|(node, tried)| Some((node, tried.join().ok()??)));
        failed.map(|(node, error)| format!("{node} ({error})")).collect()
    })
}

fn address(part: &str) -> Result<SocketAddr, TargetError> {
    let fail = |error: &str| TargetError::NotAnAddress(part.to_owned(), error.to_owned());
    if part.is_empty() {
        return Err(fail("it is empty"));
    }
    let found = match part.to_socket_addrs() {
        Ok(found) => Ok(found),
        // Without a port std refuses the text whatever the host is.
        Err(error) if part.contains(':') => (part, DEFAULT_PORT).to_socket_addrs().map_err(|_| error),
        Err(_) => (part, DEFAULT_PORT).to_socket_addrs(),
    };
    let found: Vec<SocketAddr> = found.map_err(|error| fail(&error.to_string()))?.collect();
    // Clusters listen on IPv4 far more often, and `localhost` is both.
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| fail("the name has no address"))
}

/// User and password for an existing cluster: the password is the first line of `password_file`, or the environment
/// variable `CQLDYNO_PASSWORD`. `None` without a user.
///
/// # Errors
/// When one is given without the other, the file cannot be read, or the password is empty.
pub fn credentials(user: Option<&str>, password_file: Option<&Path>) -> Result<Option<Credentials>, TargetError> {
    let Some(user) = user else {
        return if password_file.is_some() { Err(TargetError::NoUser) } else { Ok(None) };
    };
    let password = match password_file {
        Some(path) => {
            let failed = |error| TargetError::PasswordFile(path.display().to_string(), error);
            let bytes = fs::read(path).map_err(failed)?;
            if BYTE_ORDER_MARKS.iter().any(|mark| bytes.starts_with(mark)) {
                return Err(TargetError::ByteOrderMark(format!("the password file {}", path.display())));
            }
            let text = String::from_utf8(bytes).map_err(|error| failed(io::Error::other(error.utf8_error())))?;
            text.lines().next().unwrap_or_default().to_owned()
        }
        None => match std::env::var(PASSWORD_VARIABLE) {
            Ok(text) if text.starts_with('\u{feff}') => {
                return Err(TargetError::ByteOrderMark(PASSWORD_VARIABLE.to_owned()));
            }
            text => text.map_err(|_| TargetError::NoPassword(user.to_owned()))?,
        },
    };
    match password.is_empty() {
        true => Err(TargetError::EmptyPassword(user.to_owned())),
        false => Ok(Some(Credentials { user: user.to_owned(), password })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_with_and_without_a_port() {
        let Target::Addresses { nodes, .. } = Target::parse("127.0.0.1:9043,127.0.0.2").unwrap() else { panic!() };
        assert_eq!(nodes, ["127.0.0.1:9043".parse().unwrap(), "127.0.0.2:9042".parse().unwrap()]);
        assert_eq!(Target::parse("embedded").unwrap(), Target::Embedded);
        for text in ["", "127.0.0.1:9042,", "127.0.0.1:99999"] {
            let error = Target::parse(text).unwrap_err().to_string();
            assert!(error.contains("write `embedded`, `cassandra`, `postgres` or HOST"), "{error}");
        }
    }

    #[test]
    fn a_cluster_at_which_nothing_listens_is_found_before_a_run() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        assert!(Target::Embedded.check().is_ok());
        assert!(Target::parse(&format!("{here},{here}")).unwrap().check().is_ok());
        // Ports below 1024 are nobody's by chance, and this one ("discard") is nowhere in use any more.
        let message = |text: &str| Target::parse(text).unwrap().check().unwrap_err().to_string();
        assert_eq!(
            message(&format!("{here},127.0.0.1:9")),
            format!(
                "the target {here},127.0.0.1:9 was asked for, and nothing accepts a connection at 127.0.0.1:9 (Connection refused (os error \
                 111)); start the cluster there, or name in a new run only addresses and ports at which its nodes listen for CQL"
            )
        );
        let both = message("127.0.0.2:9,127.0.0.1:9");
        assert!(both.contains("at 127.0.0.2:9 (Connection refused (os error 111)) and 127.0.0.1:9 (Conn"), "{both}");
    }

    #[test]
    fn a_name_that_nobody_knows_is_told_as_such_with_and_without_a_port() {
        // No name is that long, so that no network is asked.
        let name = "x".repeat(64);
        for text in [name.clone(), format!("{name}:9042")] {
            let error = Target::parse(&text).unwrap_err().to_string();
            assert!(error.contains("failed to lookup address information"), "{error}");
        }
    }

    #[test]
    fn a_password_comes_from_the_first_line_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("password");
        fs::write(&file, "secret word\n\n").unwrap();
        let found = credentials(Some("ada"), Some(&file)).unwrap().unwrap();
        assert_eq!((found.user.as_str(), found.password.as_str()), ("ada", "secret word"));
        assert!(credentials(None, None).unwrap().is_none());
        assert!(credentials(None, Some(&file)).unwrap_err().to_string().contains("--user"));
        for mark in [&b"\xef\xbb\xbfsecret\n"[..], b"\xff\xfes\0", b"\xfe\xff\0s"] {
            fs::write(&file, mark).unwrap();
            let error = credentials(Some("ada"), Some(&file)).unwrap_err().to_string();
            let expected = format!("the password file {} begins with a byte order mark (BOM)", file.display());
            assert!(
                error.starts_with(&expected) && error.ends_with("save the password as UTF-8 without BOM"),
                "{error}"
            );
        }
        fs::write(&file, b"secr\xe9t").unwrap();
        let error = credentials(Some("ada"), Some(&file)).unwrap_err().to_string();
        assert!(error.contains("cannot be read: invalid utf-8 sequence"), "{error}");
        let error = credentials(Some("ada"), Some(&dir.path().join("none"))).unwrap_err().to_string();
        assert!(error.contains("none cannot be read"), "{error}");
    }
}
