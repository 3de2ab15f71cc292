//! `cqldyno man`: manual pages, for whoever packs the program.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::outcome::{Outcome, usage};

/// Write a manual page for each command into a folder
#[derive(clap::Args)]
#[command(hide = true)]
pub struct Arguments {
    /// The folder, which is made if need be
    folder: PathBuf,
}

pub fn run(arguments: &Arguments, command: clap::Command) -> Result<Outcome> {
    let folder = &arguments.folder;
    let write = || {
        fs::create_dir_all(folder)?;
        clap_mangen::generate_to(command, folder)
    };
    write().map_err(|error| {
        usage(format!("manual pages cannot be written into {}: {error}; name another folder", folder.display()))
    })?;
    Ok(Outcome::Done)
}
