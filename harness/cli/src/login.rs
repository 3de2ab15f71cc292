//! User and password: the password comes from a file or the environment, never from an argument.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_protocol::JobCredentials;

use crate::outcome::usage;

/// User and password.
#[derive(clap::Args)]
pub struct Login {
    /// User that drivers log in as
    ///
    /// The password comes from --password-file or CQLDYNO_PASSWORD, and is never shown.
    #[arg(long, value_name = "USER", value_parser = user)]
    user: Option<String>,
    /// Read the password from the first line of FILE
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

fn user(name: &str) -> Result<String, String> {
    match name.is_empty() {
        true => {
            Err("a user's name has at least one character; leave --user out if the cluster asks for none".to_owned())
        }
        false => Ok(name.to_owned()),
    }
}

impl Login {
    /// User and password; `None` without a user.
    ///
    /// # Errors
    /// When one is given without the other, the file cannot be read, or the password is empty.
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
