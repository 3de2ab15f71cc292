//! Why a request is refused: the ERROR codes of native_protocol_v4.spec section 9, with Cassandra's texts.

use std::fmt;

use crate::types::Malformed;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CqlError {
    /// 0x0000: the server's own fault.
    #[error("{0}")]
    Server(String),
    /// 0x000A: the client breaks the protocol.
    #[error("{0}")]
    Protocol(String),
    /// 0x0100: wrong credentials.
    #[error("{0}")]
    BadCredentials(String),
    /// 0x1000: too few replicas are up.
    #[error("Cannot achieve consistency level {what}")]
    Unavailable {
        /// The level's name, perhaps with its data center.
        what: String,
        /// The level's code.
        level: u16,
        /// The replicas that must answer.
        required: i32,
        /// Those that can.
        alive: i32,
    },
    /// 0x1001: the node has too much to do.
    #[error("{0}")]
    Overloaded(String),
    /// 0x1002: the node is starting.
    #[error("{0}")]
    Bootstrapping(String),
    /// 0x1100 or 0x1200: too few replicas answered a write or a read in time.
    #[error("Operation timed out - received only {received} responses.")]
    Timeout {
        /// Whether that was a write.
        writes: bool,
        /// The level's code.
        level: u16,
        /// The replicas that answered.
        received: i32,
        /// Those that had to.
        required: i32,
    },
    /// 0x2000: the text is no statement.
    #[error("{0}")]
    Syntax(String),
    /// 0x2100: the user may not do this.
    #[error("{0}")]
    Unauthorized(String),
    /// 0x2200: a statement that is syntactically right and wrong otherwise.
    #[error("{0}")]
    Invalid(String),
    /// 0x2200: a table was dropped or altered after the statement was read. Who holds the text reads it again.
    #[error("The table was dropped or altered meanwhile")]
    Stale,
    /// 0x2300: a refused option of a keyspace or table.
    #[error("{0}")]
    Config(String),
    /// 0x2400: there is this keyspace, or this table in it, already.
    #[error("{}", match .table {
        Some(table) => format!("Cannot add already existing table \"{table}\" to keyspace \"{keyspace}\""),
        None => format!("Cannot add existing keyspace \"{keyspace}\""),
    })]
    AlreadyExists {
        /// The keyspace.
        keyspace: String,
        /// The table; `None` when it is the keyspace that exists.
        table: Option<String>,
    },
    /// 0x2500: an EXECUTE of an id that is not known here (any more).
    #[error(
        "Prepared query with ID {} not found (either the query was not prepared on this host (maybe the host has been \
         restarted?) or you have prepared too many queries and it has been evicted from the internal cache)",
        Hex(.0)
    )]
    Unprepared(Vec<u8>),
}

/// The result of what may refuse a request.
pub type Result<T, E = CqlError> = std::result::Result<T, E>;

impl CqlError {
    /// The code that an ERROR frame carries.
    pub fn code(&self) -> i32 {
        match self {
            CqlError::Server(_) => 0x0000,
            CqlError::Protocol(_) => 0x000A,
            CqlError::BadCredentials(_) => 0x0100,
            CqlError::Unavailable { .. } => 0x1000,
            CqlError::Overloaded(_) => 0x1001,
            CqlError::Bootstrapping(_) => 0x1002,
            CqlError::Timeout { writes: true, .. } => 0x1100,
            CqlError::Timeout { .. } => 0x1200,
            CqlError::Syntax(_) => 0x2000,
            CqlError::Unauthorized(_) => 0x2100,
            CqlError::Invalid(_) | CqlError::Stale => 0x2200,
            CqlError::Config(_) => 0x2300,
            CqlError::AlreadyExists { .. } => 0x2400,
            CqlError::Unprepared(_) => 0x2500,
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        CqlError::Invalid(message.into())
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        CqlError::Config(message.into())
    }

    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        CqlError::Protocol(message.into())
    }

    /// Of a SELECT, for example.
    pub(crate) fn not_in_a_batch() -> Self {
        CqlError::invalid("Invalid statement in batch: only UPDATE, INSERT and DELETE statements are allowed.")
    }

    /// CQL that Cassandra has and this node has not (0x2200).
    pub(crate) fn unsupported(what: impl fmt::Display) -> Self {
        CqlError::Invalid(format!(
            "{what} is not supported by the embedded cluster; Cassandra has it: use --target cassandra"
        ))
    }
}

/// Refuses a statement as invalid (0x2200).
pub(crate) fn invalid<T>(message: impl Into<String>) -> Result<T> {
    Err(CqlError::invalid(message))
}

impl From<Malformed> for CqlError {
    fn from(malformed: Malformed) -> Self {
        CqlError::protocol(malformed.0)
    }
}

/// Bytes as lower case hexadecimal digits.
pub struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
