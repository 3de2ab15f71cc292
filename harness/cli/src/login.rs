//! User and password: the password comes from a file or the environment, never from an argument.

use std::path::PathBuf;

use anyhow::Result;
use cqldyno_protocol::Credentials;

use crate::count::nonempty;
use crate::outcome::usage;

/// User and password.
#[derive(clap::Args)]
pub struct Login {
    /// User that drivers log in as
    ///
    /// The password comes from --password-file or CQLDYNO_PASSWORD, and is never shown.
    #[arg(long, value_name = "USER", value_parser = nonempty(NO_USER))]
    user: Option<String>,
    /// Read the password from the first line of FILE
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

const NO_USER: &str = "a user's name has at least one character; leave --user out if the cluster asks for none";

impl Login {
    /// User and password; `None` without a user.
    pub fn read(&self) -> Result<Option<Credentials>> {
        cqldyno_bench::credentials(self.user.as_deref(), self.password_file.as_deref()).map_err(usage)
    }
}
