//! How a user logs in: the password comes from a file or the environment, never from an argument.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_protocol::JobCredentials;

use crate::outcome::usage;

/// User and password.
#[derive(clap::Args)]
pub struct Login {
    /// The cluster asks for a user: USER; the password comes from --password-file or from the environment variable
    /// CQLDYNO_PASSWORD, and is shown nowhere
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Read the password from the first line of FILE
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

impl Login {
    /// User and password; `None` without a user.
    ///
    /// # Errors
    /// When one is given without the other, or the file cannot be read.
    pub fn read(&self) -> Result<Option<JobCredentials>> {
        let found = cqldyno_bench::credentials(self.user.as_deref(), self.password_file.as_deref()).map_err(usage)?;
        match found {
            Some(found) if found.password.is_empty() => Err(usage(format!(
                "the password of the user {:?} is empty; a password needs at least one character",
                found.user
            ))),
            found => Ok(found),
        }
    }
}
