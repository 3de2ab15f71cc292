//! The server's errors, by kind, in all releases.

use cqldyno_driver_api::ErrorKind;

use crate::errors::DbError;

#[allow(clippy::unneeded_struct_pattern, reason = "a variant without fields in releases before 0.3")]
pub(crate) fn server_kind(error: &DbError) -> ErrorKind {
    match error {
        DbError::ProtocolError => ErrorKind::Protocol,
        DbError::AuthenticationError => ErrorKind::BadCredentials,
        DbError::Unavailable { .. } => ErrorKind::Unavailable,
        DbError::Overloaded => ErrorKind::Overloaded,
        DbError::IsBootstrapping => ErrorKind::Bootstrapping,
        DbError::WriteTimeout { .. } | DbError::ReadTimeout { .. } => ErrorKind::ServerTimeout,
        DbError::SyntaxError => ErrorKind::Syntax,
        DbError::Unauthorized => ErrorKind::Unauthorized,
        DbError::Invalid => ErrorKind::Invalid,
        DbError::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        DbError::Unprepared { .. } => ErrorKind::Unprepared,
        DbError::Other(code) => ErrorKind::from_code(*code),
        _ => ErrorKind::Server,
    }
}
