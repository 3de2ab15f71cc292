//! Why there is no Cassandra.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no Cassandra.
#[derive(Debug, thiserror::Error)]
pub enum CassandraError {
    /// What was asked for, and what is wrong with it.
    #[error(
        "the target {0:?} was asked for, and {1}; write cassandra[:VERSION][,nodes=3][,heap=1G][,port=9042][,commitlog=batch|group|periodic]"
    )]
    Order(String, String),
    /// What was asked for, without any Java.
    #[error(
        "{0} was asked for, which needs Java 11 or 17, and no `java` was found; install a JDK 17, or name one in JAVA_HOME"
    )]
    NoJava(String),
    /// What was asked for, the program that was found, and its version.
    #[error("{0} was asked for, which needs Java 11 or 17, and {1} is {2}; name a JDK 11 or 17 in JAVA_HOME")]
    WrongJava(String, PathBuf, String),
    /// What was asked for, without Maven.
    #[error(
        "{0} was asked for, which is fetched once with Maven, and no `mvn` was found; install Maven and start this again"
    )]
    NoMaven(String),
    /// What was asked for, what it takes, and what is there.
    #[error(
        "{0} was asked for, which takes about {1} of memory, and {2} are available here; ask for a smaller heap, such as ,heap=512M, or for fewer nodes"
    )]
    Memory(String, String, String),
    /// What was asked for, an address, and what the system said.
    #[error("{0} was asked for on port {port}, and {1} cannot be used ({2}); end what listens there, or leave ,port= out and a free port is found", port = .1.rsplit(':').next().unwrap_or_default())]
    Port(String, String, io::Error),
    /// What was asked for, without a port that is free on all addresses.
    #[error("{0} was asked for, and no port is free for it on 127.0.0.1; end what listens there")]
    NoPort(String),
    /// What was asked for, and what Maven said first.
    #[error(
        "{0} could not be fetched with Maven: {1}; connect this machine to Maven Central or a mirror of it, and start this again"
    )]
    Fetch(String, String),
    /// What is other than Maven verified, and the folder of the release.
    #[error("{0}; delete the folder {1}, and it is fetched again")]
    Damaged(String, PathBuf),
    /// What was asked for, how it ended, and its log.
    #[error("{0} was started and {1}; its log is {2}")]
    NotReady(String, String, PathBuf),
    /// A file or a process of ours, and what the system said.
    #[error("{0} cannot be used: {1}")]
    Io(PathBuf, io::Error),
    /// A cluster is kept already, at these addresses.
    #[error("a cluster runs already at {0}; use it with --target {0}, or end it with `cqldyno cluster stop`")]
    Runs(String),
    /// A cluster is kept already that is not whole.
    #[error(
        "a cluster was started already at {0}, and not all of its nodes answer; `cqldyno cluster status` describes them, and `cqldyno cluster stop` ends it"
    )]
    NotWhole(String),
    /// The user ended it.
    #[error("the start of Apache Cassandra was ended; nothing of it is left running")]
    Cancelled,
}

pub(crate) type Result<T, E = CassandraError> = std::result::Result<T, E>;

/// Names the file in an error of the system.
pub(crate) fn of(path: &Path) -> impl Fn(io::Error) -> CassandraError + use<> {
    let path = path.to_path_buf();
    move |error| CassandraError::Io(path.clone(), error)
}
