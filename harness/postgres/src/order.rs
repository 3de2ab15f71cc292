//! What is asked for.

use std::fmt;

use crate::error::{PostgresError, Result};

/// The word that stands for a PostgreSQL of ours.
const WORD: &str = "postgres";

/// The only user of a server of ours.
pub const USER: &str = "cqldyno";

/// Characters of its password, which is made for each server.
pub const PASSWORD_LENGTH: usize = 32;

/// A PostgreSQL that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Whether a commit is on the disk before it is acknowledged.
    pub synchronous_commit: bool,
}

impl Order {
    /// Reads `postgres[,synchronous_commit=on|off]`; `None` for a text that names no PostgreSQL of ours. A host of that name has a port.
    ///
    /// # Errors
    /// When an option cannot be read, or the text is the address of a server.
    pub fn parse(text: &str) -> Option<Result<Order>> {
        let wrong = |why: String| Some(Err(PostgresError::Order(text.to_owned(), why)));
        if ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme)) {
            return wrong("cqldyno starts a PostgreSQL of its own, whose commits it can count".to_owned());
        }
        let mut parts = text.split(',');
        parts.next().filter(|word| *word == WORD)?;
        let mut order = Order { synchronous_commit: true };
        for part in parts {
            match part.split_once('=') {
                Some(("synchronous_commit", "on")) => order.synchronous_commit = true,
                Some(("synchronous_commit", "off")) => order.synchronous_commit = false,
                Some(("synchronous_commit", value)) => {
                    return wrong(format!("synchronous_commit={value} is not one of on and off"));
                }
                _ => return wrong(format!("{} is none of its options", part.split('=').next().unwrap_or(part))),
            }
        }
        Some(Ok(order))
    }

    fn word(self) -> &'static str {
        if self.synchronous_commit { "on" } else { "off" }
    }

    /// What a run says of it, before its version is known.
    pub fn about(&self) -> String {
        format!("PostgreSQL, synchronous_commit={}, fsync=on, autovacuum=off", self.word())
    }

    /// The settings of the server that differ from its defaults.
    pub(crate) fn settings(self) -> [String; 4] {
        [
            format!("synchronous_commit={}", self.word()),
            "fsync=on".to_owned(),
            // Its transactions would be counted with those of the window.
            "autovacuum=off".to_owned(),
            // What is counted is still there at the end of a window.
            "wal_keep_size=1GB".to_owned(),
        ]
    }
}

impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{WORD}{}", if self.synchronous_commit { "" } else { ",synchronous_commit=off" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_and_written_and_a_host_of_that_name_is_none() {
        for (text, whole) in [
            ("postgres", "postgres"),
            ("postgres,synchronous_commit=on", "postgres"),
            ("postgres,synchronous_commit=off", "postgres,synchronous_commit=off"),
        ] {
            assert_eq!(Order::parse(text).unwrap().unwrap().to_string(), whole);
        }
        for text in ["postgres:9042", "postgres.example.org", "postgres-1,postgres-2", "127.0.0.1"] {
            assert!(Order::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_what_can() {
        for (text, why) in [
            ("postgres,synchronous_commit=local", "synchronous_commit=local is not one of on and off"),
            ("postgres,fsync=off", "fsync is none of its options"),
            ("postgres://ada@db/test", "cqldyno starts a PostgreSQL of its own"),
        ] {
            let error = Order::parse(text).unwrap().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("; write postgres[,synchronous_commit=on|off]"), "{error}");
        }
    }
}
